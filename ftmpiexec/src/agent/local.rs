//! Copies of the images of this host's ranks on this host (`--images local+remote`).
//!
//! The agent writes here what goes to the checkpoint server, and a rank that begins again on the
//! same host reads its image from here. When all ranks of a coordinated job return to a wave, only
//! those of lost hosts ask the server. The server's copy is the one that counts: an image is
//! committed when the server has it. A copy that is missing or damaged costs only the way to the
//! server. Copies are checked as a whole before they are used, need not survive a loss of power,
//! and go with the job.
//!
//! Copies leave room on the disk for the program and for what must be there: when they take more
//! than a share of what is free (or than `--image-space`), older ones go, then none are made.

use crate::tuning::{COPIES_ROOM_SHARE, LOCAL_COPIES_KEPT};
use ftmpi_protocols::image_catalogue::{ConnId, ImageCatalogue};
use ftmpi_servers::files::Files;
use ftmpi_servers::image_store::{Disk, ImageReader, Upload};
use ftmpi_servers::private_directory::PrivateDir;
use ftmpi_wire::{ImageId, ImageNo, Rank};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The copies of one host.
#[derive(Debug)]
pub struct Local {
    disk: Disk,
    kept: Mutex<Kept>,
    /// Bytes of copies that are being written.
    coming: AtomicU64,
    /// Bytes that copies may take; `None`: a share of what is free.
    most: Option<u64>,
    room: Room,
    next: AtomicU64,
    dir: PathBuf,
}

/// The copies that are whole, and their bytes.
type Kept = BTreeMap<Rank, BTreeMap<ImageNo, (ImageId, u64)>>;

/// Whether there was room for all copies so far.
#[derive(Debug, Default)]
struct Room {
    missing: AtomicBool,
    told: AtomicBool,
}

/// A copy that is being written.
#[derive(Debug)]
pub struct Copy {
    local: Arc<Local>,
    conn: ConnId,
    name: ImageId,
    /// `None` after the first error, or where there is no room.
    upload: Option<Upload>,
    bytes: u64,
}

impl Local {
    /// Opens the copies in this directory, also those of an earlier agent. They may take `most`
    /// bytes.
    ///
    /// # Errors
    /// The directory cannot be made or read.
    pub fn open(dir: &Path, most: Option<u64>) -> anyhow::Result<Self> {
        let mut catalogue = ImageCatalogue::new(u64::MAX);
        let private = PrivateDir::take(dir)?;
        let disk = Disk::open(private, Files::volatile(), &mut catalogue, |_| ())?;
        let kept = catalogue.ranks().map(|state| {
            let rank = state.rank;
            let names = state.images.iter().map(|stored| {
                let (image, incarnation) = (stored.image, stored.incarnation);
                (image, (ImageId { rank, image, incarnation }, stored.bytes))
            });
            (rank, names.collect())
        });
        let kept = Mutex::new(kept.collect());
        let (next, coming, room) = (AtomicU64::new(0), AtomicU64::new(0), Room::default());
        Ok(Self { disk, kept, coming, most, room, next, dir: dir.to_owned() })
    }

    /// Begins a copy.
    pub fn begin(self: &Arc<Self>, id: ImageId) -> Copy {
        let conn = ConnId(self.next.fetch_add(1, Ordering::Relaxed));
        // A copy of an earlier incarnation that was given up.
        let other = self.lock().get_mut(&id.rank).and_then(|images| images.remove(&id.image));
        if let Some((other, _)) = other {
            self.disk.remove(other);
        }
        // Without room on the disk nothing is copied.
        let upload = self.disk.receive(conn, id.rank).ok();
        Copy { local: self.clone(), conn, name: id, upload, bytes: 0 }
    }

    /// Whether there was no room for a copy. `true` only once.
    pub fn lacks_room(&self) -> bool {
        let missing = self.room.missing.load(Ordering::Relaxed);
        missing && !self.room.told.swap(true, Ordering::Relaxed)
    }

    fn bytes(&self, kept: &Kept) -> u64 {
        let whole: u64 = kept.values().flat_map(BTreeMap::values).map(|(_, bytes)| bytes).sum();
        whole + self.coming.load(Ordering::Relaxed) + self.disk.retired_bytes()
    }

    fn has_room(&self, kept: &Kept) -> bool {
        let most = self.most.unwrap_or_else(|| self.disk.free_bytes() / COPIES_ROOM_SHARE);
        self.bytes(kept) <= most
    }

    /// Whether there is room for what has come, when all older copies are gone.
    fn make_room(&self) -> bool {
        let mut kept = self.lock();
        if self.has_room(&kept) {
            return true;
        }
        for images in kept.values_mut() {
            while images.len() > 1 {
                let Some((_, (older, _))) = images.pop_first() else { break };
                self.disk.remove(older);
            }
        }
        let has_room = self.has_room(&kept);
        self.room.missing.fetch_or(!has_room, Ordering::Relaxed);
        has_room
    }

    /// The copy of this image, if it is there and whole. The call reads all of it.
    pub fn find(&self, rank: Rank, image: ImageNo) -> Option<ImageReader> {
        let name = self.lock().get(&rank)?.get(&image)?.0;
        let checked = self.disk.check(name).ok();
        if checked.is_none() {
            self.lock().entry(rank).or_default().remove(&image);
            self.disk.remove(name);
        }
        checked
    }

    /// Removes all copies: the job is over.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.dir);
        // The last agent on this machine removes the job's directory.
        let _ = self.dir.parent().map(std::fs::remove_dir);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic while it is locked")
    }
}

impl Copy {
    /// Adds the next bytes of the container.
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(upload) = &mut self.upload else { return };
        let more = bytes.len() as u64;
        self.bytes += more;
        self.local.coming.fetch_add(more, Ordering::Relaxed);
        if upload.write(bytes).is_err() || !self.local.make_room() {
            self.upload = None;
            self.is_no_more_coming();
        }
    }

    fn is_no_more_coming(&mut self) -> u64 {
        let bytes = std::mem::take(&mut self.bytes);
        self.local.coming.fetch_sub(bytes, Ordering::Relaxed);
        bytes
    }

    /// The image is committed. `keep`: the other images that are kept, where waves decide that.
    pub fn commit(mut self, keep: Option<[ImageNo; 2]>) {
        let name = self.name;
        let Some(upload) = &mut self.upload else { return };
        if upload.finish(name).is_err() || self.local.disk.publish(self.conn, name).is_err() {
            return;
        }
        let bytes = self.is_no_more_coming();
        let local = &self.local;
        let mut kept = local.lock();
        let images = kept.entry(name.rank).or_default();
        images.insert(name.image, (name, bytes));
        let surplus: Vec<_> = match keep {
            Some(keep) => {
                let stays = |image: &ImageNo| keep.contains(image) || *image == name.image;
                let names = images.values().map(|(name, _)| *name);
                names.filter(|name| !stays(&name.image)).collect()
            }
            None => {
                let count = images.len().saturating_sub(LOCAL_COPIES_KEPT);
                images.values().take(count).map(|(name, _)| *name).collect()
            }
        };
        images.retain(|_, (name, _)| !surplus.contains(name));
        drop(kept);
        for old in surplus {
            local.disk.remove(old);
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.is_no_more_coming();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_checkpoint::container::{ChunkIndex, Compression, Decoder, Encoder};
    use ftmpi_servers::image_note;
    use ftmpi_wire::Incarnation;
    use ftmpi_wire::image_store::Note;

    const R: Rank = Rank(2);

    fn id(image: u64) -> ImageId {
        ImageId { rank: R, incarnation: Incarnation(1), image: ImageNo(image) }
    }

    fn container(image: u64, known: &mut ChunkIndex) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder =
            Encoder::incremental(id(image), Compression::Stored, std::mem::take(known));
        for piece in 0..4_u64 {
            let byte = if piece == image % 4 { image as u8 } else { 0 };
            encoder.push(&[&piece.to_le_bytes()[..], &[byte; 5000]].concat(), &mut out);
            encoder.cut(&mut out);
        }
        let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
        let note = Note { bases, ..Note::default() };
        let (_, after) = encoder.finish_with(&image_note::encode(&note), &mut out);
        *known = after;
        out
    }

    fn copy(local: &Arc<Local>, image: u64, known: &mut ChunkIndex, keep: Option<[ImageNo; 2]>) {
        let mut copy = local.begin(id(image));
        for piece in container(image, known).chunks(700) {
            copy.write(piece);
        }
        copy.commit(keep);
    }

    fn has(local: &Local, image: u64) -> bool {
        let Some(mut checked) = local.find(R, ImageNo(image)) else { return false };
        let (mut decoder, mut bytes, mut raw) = (Decoder::new(), Vec::new(), Vec::new());
        while checked.read(&mut bytes).unwrap() {}
        decoder.push(&bytes, &mut raw).unwrap();
        assert_eq!(raw.len(), 4 * 5008);
        decoder.finish().unwrap().id == id(image)
    }

    #[test]
    fn copies_follow_what_the_server_keeps_and_are_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job/host-0");
        let local = Arc::new(Local::open(&path, None).unwrap());
        let mut known = ChunkIndex::default();
        for image in 1..=4 {
            copy(&local, image, &mut known, None);
        }
        assert!(!has(&local, 1) && !has(&local, 2) && has(&local, 3) && has(&local, 4));
        // Image 3 stays as long as its wave is the last complete one.
        for image in 5..=7 {
            copy(&local, image, &mut known, Some([ImageNo(2), ImageNo(3)]));
        }
        assert!(has(&local, 3) && !has(&local, 5) && !has(&local, 6) && has(&local, 7));
        drop(local);
        let local = Arc::new(Local::open(&path, None).unwrap());
        assert!(has(&local, 3) && has(&local, 7));
        // A copy that is damaged, or rests on a missing image, is not offered.
        for entry in std::fs::read_dir(&path).unwrap().flatten() {
            if entry.file_name().to_string_lossy().contains("i00000000000000000003") {
                std::fs::write(entry.path(), b"rubbish").unwrap();
            }
        }
        assert!(!has(&local, 3));
        let mut elsewhere = ChunkIndex::default();
        let _ = container(20, &mut elsewhere);
        copy(&local, 21, &mut elsewhere, None);
        assert!(!has(&local, 21));
        local.remove();
        assert!(!dir.path().join("job").exists());
    }

    #[test]
    fn older_copies_go_first_and_then_none_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let mut known = ChunkIndex::default();
        let one = container(1, &mut known).len() as u64;
        // Room for two whole copies and not for three.
        let open = |most| Arc::new(Local::open(&dir.path().join("job/host-0"), most).unwrap());
        let whole =
            |local: &Arc<Local>, image| copy(local, image, &mut ChunkIndex::default(), None);
        let local = open(Some(2 * one + one / 2));
        whole(&local, 1);
        whole(&local, 2);
        assert!(has(&local, 1) && has(&local, 2) && !local.lacks_room());
        whole(&local, 3);
        assert!(!has(&local, 1) && has(&local, 2) && has(&local, 3) && !local.lacks_room());
        drop(local);
        // Copies of an earlier agent count, and what did not come to an end does not.
        let local = open(Some(one + one / 2));
        whole(&local, 4);
        assert!(!has(&local, 2) && has(&local, 3) && !has(&local, 4));
        assert!(local.lacks_room() && !local.lacks_room());
        assert_eq!(local.bytes(&local.lock()), one);
        let parts = std::fs::read_dir(&local.dir).unwrap().flatten();
        assert!(
            !parts
                .map(|entry| entry.file_name())
                .any(|name| name.as_encoded_bytes().ends_with(b".part"))
        );
    }
}

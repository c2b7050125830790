//! Images on disk: one file each, whose name says whose it is.
//!
//! Guarantees: a file has an image's name only if it was whole, verified and synced before it got
//! it; names and records are durable when the call returns; what a dead server left half-done is
//! removed at the next start.

use crate::files::{Files, StoreFile};
use crate::note;
use crate::shell::PrivateDir;
use anyhow::Context;
use ftmpi_checkpoint::container::{ImageId, Verifier, note_of};
use ftmpi_protocols::image_catalogue::{CheckError, ConnId, ImageCatalogue, ImageName, Record};
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Disk {
    dir: PrivateDir,
    files: Files,
}

fn image_name(name: ImageName) -> String {
    let ImageName { rank, image, incarnation } = name;
    format!("r{:010}-i{:020}-n{:010}.image", rank.0, image.0, incarnation.0)
}

/// Whose image a file of this name is; `suffix` is `.image`, or `.damaged` for those set aside.
#[must_use]
pub fn parse_image_name(text: &str, suffix: &str) -> Option<ImageName> {
    let mut parts = text.strip_suffix(suffix)?.split('-');
    let mut part = |letter| parts.next().and_then(|p| p.strip_prefix(letter));
    let name = ImageName {
        rank: Rank(part('r')?.parse().ok()?),
        image: ImageNo(part('i')?.parse().ok()?),
        incarnation: Incarnation(part('n')?.parse().ok()?),
    };
    parts.next().is_none().then_some(name)
}

fn record_name(rank: Rank) -> String {
    format!("r{:010}.record", rank.0)
}

fn parse_record_name(text: &str) -> Option<Rank> {
    Some(Rank(text.strip_prefix('r')?.strip_suffix(".record")?.parse().ok()?))
}

fn encode_record(record: Record) -> String {
    let Record { incarnation, start_offered } = record;
    let line = format!("incarnation={incarnation} start_offered={}", u8::from(start_offered));
    format!("{line} crc={:08x}\n", crc32c::crc32c(line.as_bytes()))
}

fn decode_record(text: &str) -> Option<Record> {
    let (line, crc) = text.strip_suffix('\n')?.rsplit_once(" crc=")?;
    if u32::from_str_radix(crc, 16).ok()? != crc32c::crc32c(line.as_bytes()) {
        return None;
    }
    let (incarnation, start) = line.split_once(' ')?;
    Some(Record {
        incarnation: Incarnation(incarnation.strip_prefix("incarnation=")?.parse().ok()?),
        start_offered: start == "start_offered=1",
    })
}

impl Disk {
    /// Finds what is there, tells the catalogue, and removes what was left half-done.
    pub fn open(
        dir: PrivateDir,
        files: Files,
        catalogue: &mut ImageCatalogue,
        mut say: impl FnMut(String),
    ) -> anyhow::Result<Self> {
        let about = || format!("directory {}", dir.path().display());
        let (mut images, mut records) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(dir.path()).with_context(about)? {
            let entry = entry.with_context(about)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let bytes = || entry.metadata().map_or(0, |m| m.len());
            if name.ends_with(".part") {
                let _ = files.remove(&entry.path());
            } else if let Some(image) = parse_image_name(name, ".image") {
                images.push((image, bytes(), false));
            } else if let Some(image) = parse_image_name(name, ".damaged") {
                images.push((image, bytes(), true));
            } else if let Some(rank) = parse_record_name(name) {
                let text = std::fs::read(entry.path()).with_context(about)?;
                records.push((rank, std::str::from_utf8(&text).ok().and_then(decode_record)));
            }
        }
        for (rank, record) in records {
            let record = record.unwrap_or_else(|| {
                say(format!(
                    "the record of rank {rank} is damaged; its images serve, but not its start"
                ));
                Record { incarnation: Incarnation(0), start_offered: false }
            });
            catalogue.restore_record(rank, record);
        }
        let disk = Self { dir, files };
        for (image, bytes, set_aside) in images {
            let counts = match disk.counts(image) {
                _ if set_aside => None,
                Ok(counts) => Some(counts),
                Err(why) => {
                    let ImageName { rank, image: number, .. } = image;
                    say(format!("image {number} of rank {rank} is damaged ({why})"));
                    disk.set_aside(image);
                    None
                }
            };
            catalogue.restore_image(image, bytes, counts);
        }
        Ok(disk)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where this connection's image lies until it is published.
    pub fn temporary(&self, conn: ConnId) -> PathBuf {
        self.path().join(format!("{}.part", conn.0))
    }

    fn image(&self, name: ImageName) -> PathBuf {
        self.path().join(image_name(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.files.sync_dir(self.path())
    }

    pub fn publish(&self, temporary: &Path, name: ImageName) -> Result<(), String> {
        let publish = || {
            self.files.rename(temporary, &self.image(name))?;
            self.sync_names().inspect_err(|_| {
                // Not offered, so it must not be found later either.
                let _ = self.files.remove(&self.image(name));
            })
        };
        publish().map_err(|error: io::Error| error.to_string())
    }

    pub fn persist(&self, rank: Rank, record: Record) -> Result<(), String> {
        let path = self.path().join(record_name(rank));
        let temporary = self.path().join(format!("{}.part", record_name(rank)));
        let bytes = encode_record(record);
        self.files.replace(&path, &temporary, bytes.as_bytes()).map_err(|error| error.to_string())
    }

    pub fn set_aside(&self, name: ImageName) {
        let path = self.image(name);
        let aside = path.with_extension("damaged");
        // If it cannot be renamed, it must at least not be found again.
        if self.files.rename(&path, &aside).is_err() {
            let _ = self.files.remove(&path);
        }
        let _ = self.sync_names();
    }

    pub fn remove(&self, name: ImageName) {
        let _ = self.files.remove(&self.image(name));
    }

    /// Begins to receive an image.
    pub fn receive(&self, conn: ConnId) -> Result<Upload, String> {
        let path = self.temporary(conn);
        let file = self.files.create(&path).map_err(|e| e.to_string())?;
        let (files, verifier) = (self.files.clone(), Verifier::new());
        Ok(Upload { file, files, bytes: 0, verifier })
    }

    /// What its note says; the rest is verified when it is asked for.
    fn counts(&self, name: ImageName) -> Result<Counts, String> {
        let file = File::open(self.image(name)).map_err(|e| e.to_string())?;
        let note = note_of(file).map_err(|e| e.to_string())?;
        Ok(note::decode(&note)?.counts)
    }

    /// Reads and verifies a stored image; the open file is then sent, whatever happens to its name.
    pub fn check(&self, name: ImageName) -> Result<File, CheckError> {
        let damaged = |why: &dyn std::fmt::Display| CheckError::Damaged(why.to_string());
        let mut file = match File::open(self.image(name)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(CheckError::Gone),
            Err(e) => return Err(damaged(&e)),
        };
        let mut verifier = Verifier::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match file.read(&mut buffer).map_err(|e| damaged(&e))? {
                0 => break,
                read => verifier.push(&buffer[..read]).map_err(|e| damaged(&e))?,
            }
        }
        let whole = verifier.finish().map_err(|e| damaged(&e))?;
        expect_identity(whole.id, name).map_err(|e| damaged(&e))?;
        io::Seek::rewind(&mut file).map_err(|e| damaged(&e))?;
        Ok(file)
    }
}

fn expect_identity(id: ImageId, name: ImageName) -> Result<(), String> {
    let expected = ImageId { rank: name.rank, incarnation: name.incarnation, image: name.image };
    if id == expected {
        return Ok(());
    }
    Err(format!(
        "the container says image {} of rank {} in life {}, but image {} of rank {} in life {} was \
         announced",
        id.image, id.rank, id.incarnation, name.image, name.rank, name.incarnation
    ))
}

/// An image that is being received; its file is removed when this is dropped before it has a name.
#[derive(Debug)]
pub(super) struct Upload {
    file: StoreFile,
    files: Files,
    bytes: u64,
    verifier: Verifier,
}

impl Upload {
    /// Verifies and stores the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.verifier.push(bytes).map_err(|e| e.to_string())?;
        self.file.write_all_at(bytes, self.bytes).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("{e} (make room on the checkpoint server's disk)")
            }
            _ => e.to_string(),
        })?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Whether it is whole and the announced one; makes it durable.
    pub fn finish(&mut self, name: ImageName) -> Result<Counts, String> {
        let verifier = std::mem::take(&mut self.verifier);
        let counts = note::decode(verifier.note())?.counts;
        let whole = verifier.finish().map_err(|e| e.to_string())?;
        expect_identity(whole.id, name)?;
        self.file.sync().map_err(|e| e.to_string())?;
        Ok(counts)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // After its publication the name is gone already.
        if self.file.path().exists() {
            let _ = self.files.remove(self.file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, Plan};
    use ftmpi_checkpoint::container::{Compression, Encoder};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn names_and_records_survive() {
        let name =
            ImageName { rank: Rank(7), image: ImageNo(u64::MAX), incarnation: Incarnation(3) };
        assert_eq!(parse_image_name(&image_name(name), ".image"), Some(name));
        for start_offered in [false, true] {
            let record = Record { incarnation: Incarnation(12), start_offered };
            let text = encode_record(record);
            assert_eq!(decode_record(&text), Some(record));
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1;
                let changed = String::from_utf8(bytes).unwrap();
                assert_ne!(decode_record(&changed), Some(record), "{changed}");
                assert!(decode_record(&text[..at]).is_none());
            }
        }
    }

    const R: Rank = Rank(3);

    fn id(image: u64) -> ImageName {
        ImageName { rank: R, image: ImageNo(image), incarnation: Incarnation(0) }
    }

    fn container(image: u64) -> Vec<u8> {
        let ImageName { rank, image, incarnation } = id(image);
        let mut out = Vec::new();
        let mut encoder = Encoder::new(ImageId { rank, incarnation, image }, Compression::Stored);
        encoder.push(&[image.0 as u8; 3000], &mut out);
        let _ = encoder.finish_with(b"{}", &mut out);
        out
    }

    /// Three images, one after the other, as the catalogue orders it; the numbers of those that were
    /// said to be there, and whether the start was given up.
    fn history(dir: &Path, files: Files) -> (Vec<u64>, bool) {
        let (mut published, mut given_up) = (Vec::new(), false);
        let mut catalogue = ImageCatalogue::new(u64::MAX);
        let private = PrivateDir::take(dir).unwrap();
        let Ok(disk) = Disk::open(private, files, &mut catalogue, |_| ()) else {
            return (published, given_up);
        };
        let record = |start_offered| Record { incarnation: Incarnation(0), start_offered };
        let _ = disk.persist(R, record(true));
        for image in 1..=3 {
            let put = || {
                let mut upload = disk.receive(ConnId(image))?;
                let bytes = container(image);
                upload.write(&bytes[..1000])?;
                upload.write(&bytes[1000..])?;
                upload.finish(id(image))?;
                disk.publish(&disk.temporary(ConnId(image)), id(image))
            };
            if put().is_err() {
                continue;
            }
            published.push(image);
            if published.len() == 2 {
                given_up = disk.persist(R, record(false)).is_ok();
            }
            if published.len() > 2 {
                disk.remove(id(published.remove(0)));
            }
        }
        (published, given_up)
    }

    /// What a later start offers must be sound, and never less than what was said to be there.
    fn is_sound(dir: &Path, said: &(Vec<u64>, bool), what: &str) {
        let mut catalogue = ImageCatalogue::new(u64::MAX);
        let private = PrivateDir::take(dir).unwrap();
        let disk = Disk::open(private, Files::default(), &mut catalogue, |line| {
            panic!("{what}: {line}");
        })
        .unwrap();
        let state = catalogue.ranks().next();
        let (images, start) = state.map_or((Vec::new(), true), |state| {
            (state.images.iter().map(|stored| stored.image.0).collect(), state.start_offered)
        });
        for image in &images {
            assert!(disk.check(id(*image)).is_ok(), "{what}: image {image} is offered and damaged");
        }
        for image in &said.0 {
            assert!(
                images.contains(image),
                "{what}: image {image} of {said:?} is lost: {images:?}"
            );
        }
        assert!(!(said.1 && start), "{what}: the start is offered again");
        assert!(start || images.len() >= 2, "{what}: neither start nor images: {images:?}");
        let parts = std::fs::read_dir(dir).unwrap().flatten();
        let parts = parts.filter(|entry| entry.path().extension().is_some_and(|e| e == "part"));
        assert_eq!(parts.count(), 0, "{what}: unfinished files are left");
    }

    #[test]
    fn a_fault_at_any_change_leaves_the_old_or_the_new_image() {
        let begin = tempfile::tempdir().unwrap();
        let whole = Arc::new(Plan::new(None));
        let said = history(begin.path(), Files::watched(whole.clone()));
        assert_eq!(said, (vec![2, 3], true));
        let changes = whole.changes();
        assert!(changes > 20, "{changes} changes");
        let mut state = 12_345_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) as usize % below
        };
        for at in 0..=changes {
            for fault in [Fault::Full, Fault::Death] {
                let dir = tempfile::tempdir().unwrap();
                let plan = Arc::new(Plan::new(Some((at, fault))));
                let said = history(dir.path(), Files::watched(plan));
                is_sound(dir.path(), &said, &format!("{fault:?} at change {at}"));
            }
            for round in 0..8 {
                let dir = tempfile::tempdir().unwrap();
                let plan = Arc::new(Plan::new(Some((at, Fault::Death))));
                let said = history(dir.path(), Files::watched(plan.clone()));
                plan.lose_power(&mut draw);
                is_sound(dir.path(), &said, &format!("power lost at change {at}, {round}"));
            }
        }
    }

    proptest! {
        #[test]
        fn hostile_names_and_records_never_panic(text in ".{0,80}") {
            let _ = parse_image_name(&text, ".image");
            let _ = parse_record_name(&text);
            let _ = decode_record(&text);
        }
    }
}

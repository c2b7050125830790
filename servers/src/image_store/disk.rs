//! Images on disk: one file each, whose name says whose it is.
//!
//! Guarantees: a file has an image's name only if it was verified, synced, and all that it rests on was
//! there, before it got it; names and records are durable when the call returns; what a dead server
//! left half-done is removed at the next start. An image that is not offered any more but that others
//! rest on is kept under another name (`.ground`).

use super::ground::{Ground, Holder};
use super::near::{id_of, identity};
use super::upload::Upload;
use crate::files::{Files, Source};
use crate::note;
use crate::shell::PrivateDir;
use anyhow::Context;
use ftmpi_checkpoint::container::{ImageId, Whole, note_of};
use ftmpi_protocols::image_catalogue::{CheckError, ConnId, ImageCatalogue, ImageName, Record};
use ftmpi_wire::image_store::{Near, Note, Stored};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Images in a directory; see the module's description.
#[derive(Debug)]
pub struct Disk {
    dir: PrivateDir,
    files: Files,
    ground: Arc<Mutex<Ground>>,
    /// Containers that are not here any more, neither offered nor kept for others.
    gone: Mutex<Vec<ImageName>>,
}

/// A stored image that was found good, to be sent; or looked at, to be read by somebody who checks it.
#[derive(Debug)]
pub struct Checked {
    pub(super) whole: Box<Reader>,
    /// Bytes of the whole container.
    pub bytes: u64,
    pub(super) dir: PathBuf,
    /// Of the file that was read.
    pub(super) identity: Option<[u64; 5]>,
}

pub(super) type Opener = Box<dyn FnMut(ImageId) -> io::Result<Source> + Send>;
type Reader = Whole<Source, Opener>;

impl Checked {
    /// Appends the next bytes of the whole container; false: that was all.
    ///
    /// # Errors
    /// It cannot be read any more.
    pub fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, String> {
        self.whole.read(out).map_err(|e| e.to_string())
    }

    /// Appends the next bytes of what is in it; false: that was all. Not of an encrypted image.
    ///
    /// # Errors
    /// It is damaged, or cannot be read any more.
    pub fn read_raw(&mut self, out: &mut Vec<u8>) -> Result<bool, String> {
        self.whole.read_raw(out).map_err(|e| e.to_string())
    }

    /// Whose it is, once something was read.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.whole.id()
    }

    /// Where whoever is on this machine finds it, if it can be told.
    #[must_use]
    pub fn near(&self, stored: Stored) -> Option<Near> {
        let directory = self.dir.to_str()?.to_owned();
        Some(Near { stored, directory, identity: self.identity? })
    }
}

fn whole(file: File, dir: PathBuf) -> Box<Reader> {
    let open = move |base| open_container(&dir, base).map(Source::Cached);
    Box::new(Whole::new(Source::Cached(file), Box::new(open)))
}

/// Names under which a container may lie.
const NAMES: [&str; 3] = ["image", "ground", "damaged"];

/// Opens a container of a directory of images, be it offered or only kept for others.
///
/// # Errors
/// It is not there, or cannot be read.
pub fn open_container(dir: &Path, id: ImageId) -> io::Result<File> {
    let name = dir.join(image_name(named(id)));
    let mut result = Err(io::ErrorKind::NotFound.into());
    for suffix in NAMES {
        result = File::open(name.with_extension(suffix));
        if !matches!(&result, Err(e) if e.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    result
}

pub(super) fn lock(ground: &Mutex<Ground>) -> MutexGuard<'_, Ground> {
    ground.lock().expect("no panic while it is locked")
}

pub(super) fn named(id: ImageId) -> ImageName {
    ImageName { rank: id.rank, image: id.image, incarnation: id.incarnation }
}

pub(super) fn image_name(name: ImageName) -> String {
    let ImageName { rank, image, incarnation } = name;
    format!("r{:010}-i{:020}-n{:010}.image", rank.0, image.0, incarnation.0)
}

/// Whose image a file of this name is; `suffix` is `.image`, `.damaged` for those set aside, or
/// `.ground` for those that others rest on.
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

pub(super) fn record_name(rank: Rank) -> String {
    format!("r{:010}.record", rank.0)
}

pub(super) fn parse_record_name(text: &str) -> Option<Rank> {
    Some(Rank(text.strip_prefix('r')?.strip_suffix(".record")?.parse().ok()?))
}

pub(super) fn encode_record(record: Record) -> String {
    let Record { incarnation, start_offered, oldest } = record;
    let start = u8::from(start_offered);
    record_line(&format!("incarnation={incarnation} start_offered={start} oldest={oldest}"))
}

/// A line with its checksum.
fn record_line(line: &str) -> String {
    format!("{line} crc={:08x}\n", crc32c::crc32c(line.as_bytes()))
}

/// The line, if its checksum is right.
fn checked_line(text: &str) -> Option<&str> {
    let (line, crc) = text.strip_suffix('\n')?.rsplit_once(" crc=")?;
    (u32::from_str_radix(crc, 16).ok()? == crc32c::crc32c(line.as_bytes())).then_some(line)
}

/// The container that a file of this name holds, offered or kept for others.
pub(super) fn on_disk(file: &str) -> Option<ImageName> {
    parse_image_name(file, ".image").or_else(|| parse_image_name(file, ".ground"))
}

/// The record of a rank in this directory, if there is one that is sound.
pub(super) fn read_record(dir: &Path, rank: Rank) -> io::Result<Option<Record>> {
    match std::fs::read(dir.join(record_name(rank))) {
        Ok(text) => Ok(std::str::from_utf8(&text).ok().and_then(decode_record)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether every record in this directory can be relied upon.
pub(super) fn records_are_sound(dir: &Path) -> io::Result<bool> {
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let Some(rank) = name.to_str().and_then(parse_record_name) else { continue };
        if read_record(dir, rank)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a record durable.
pub(super) fn persist_record(
    dir: &Path,
    files: &Files,
    rank: Rank,
    record: Record,
) -> io::Result<()> {
    let path = dir.join(record_name(rank));
    let temporary = dir.join(format!("{}.part", record_name(rank)));
    files.replace(&path, &temporary, encode_record(record).as_bytes())
}

pub(super) fn decode_record(text: &str) -> Option<Record> {
    let mut words = checked_line(text)?.split(' ');
    let mut word = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
    let record = Record {
        incarnation: Incarnation(word("incarnation")?.parse().ok()?),
        start_offered: word("start_offered")? == "1",
        oldest: ImageNo(word("oldest")?.parse().ok()?),
    };
    words.next().is_none().then_some(record)
}

impl Disk {
    /// Finds what is there, tells the catalogue, and removes what was left half-done.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(
        dir: PrivateDir,
        files: Files,
        catalogue: &mut ImageCatalogue,
        mut say: impl FnMut(String),
    ) -> anyhow::Result<Self> {
        let about = || format!("directory {}", dir.path().display());
        let (mut images, mut records, mut retired) = (Vec::new(), Vec::new(), Vec::new());
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
            } else if let Some(image) = parse_image_name(name, ".ground") {
                retired.push((image, bytes()));
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
                Record { start_offered: false, ..Record::default() }
            });
            catalogue.restore_record(rank, record);
        }
        let disk = Self { dir, files, ground: Arc::default(), gone: Mutex::default() };
        for (image, bytes, set_aside) in images {
            let counts = match disk.note(image) {
                _ if set_aside => None,
                Ok(note) => {
                    for base in bases_of(image.rank, &note) {
                        lock(&disk.ground).hold(Holder::Image(image), base);
                    }
                    Some(note.counts)
                }
                Err(why) => {
                    let ImageName { rank, image: number, .. } = image;
                    say(format!("image {number} of rank {rank} is damaged ({why})"));
                    disk.set_aside(image);
                    None
                }
            };
            catalogue.restore_image(image, bytes, counts);
        }
        for (image, bytes) in retired {
            let mut ground = lock(&disk.ground);
            if ground.is_held(image) {
                ground.retire(image, bytes);
            } else {
                let _ = disk.files.remove(&disk.ground(image));
            }
        }
        Ok(disk)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where this connection's image lies until it is published.
    fn temporary(&self, conn: ConnId) -> PathBuf {
        self.path().join(format!("{}.part", conn.0))
    }

    fn image(&self, name: ImageName) -> PathBuf {
        self.path().join(image_name(name))
    }

    fn ground(&self, name: ImageName) -> PathBuf {
        self.image(name).with_extension("ground")
    }

    /// Bytes of what is not offered any more and kept for others.
    #[must_use]
    pub fn retired_bytes(&self) -> u64 {
        lock(&self.ground).retired_bytes()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.files.sync_dir(self.path())
    }

    /// What came on `conn` gets its name.
    ///
    /// # Errors
    /// It does not.
    pub fn publish(&self, conn: ConnId, name: ImageName) -> Result<(), String> {
        let publish = || {
            self.files.rename(&self.temporary(conn), &self.image(name))?;
            self.sync_names().inspect_err(|_| {
                // Not offered, so it must not be found later either.
                let _ = self.files.remove(&self.image(name));
            })
        };
        publish().map_err(|error: io::Error| error.to_string())?;
        lock(&self.ground).settle(conn, name);
        Ok(())
    }

    /// Makes this record durable.
    ///
    /// # Errors
    /// It is not.
    pub fn persist(&self, rank: Rank, record: Record) -> Result<(), String> {
        persist_record(self.path(), &self.files, rank, record).map_err(|error| error.to_string())
    }

    /// Not to be found again, but to be looked at.
    pub fn set_aside(&self, name: ImageName) {
        let path = self.image(name);
        let aside = path.with_extension("damaged");
        // If it cannot be renamed, it must at least not be found again.
        if self.files.rename(&path, &aside).is_err() {
            let _ = self.files.remove(&path);
        }
        let _ = self.sync_names();
        self.is_gone(name);
        self.release(Holder::Image(name));
    }

    /// Not offered any more; gone, unless others rest on it.
    pub fn remove(&self, name: ImageName) {
        let path = self.image(name);
        {
            let mut ground = lock(&self.ground);
            if ground.is_held(name) {
                let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
                // If it cannot be renamed it is found again at the next start, as one more image.
                let _ = self.files.rename(&path, &self.ground(name));
                ground.retire(name, bytes);
            } else {
                let _ = self.files.remove(&path);
                drop(ground);
                self.is_gone(name);
            }
        }
        self.release(Holder::Image(name));
    }

    fn release(&self, holder: Holder) {
        for base in release(&self.ground, &self.files, self.path(), holder) {
            self.is_gone(base);
        }
    }

    fn is_gone(&self, name: ImageName) {
        self.gone.lock().expect("no panic while it is locked").push(name);
    }

    /// Containers that went since this was asked last.
    pub fn take_gone(&self) -> Vec<ImageName> {
        std::mem::take(&mut *self.gone.lock().expect("no panic while it is locked"))
    }

    /// An image and what it rests on.
    #[must_use]
    pub fn chain(&self, name: ImageName) -> Vec<ImageName> {
        lock(&self.ground).bases(Holder::Image(name)).chain([name]).collect()
    }

    /// Opens a container, offered or kept for others.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    pub fn container(&self, name: ImageName) -> io::Result<File> {
        let ImageName { rank, image, incarnation } = name;
        open_container(self.path(), ImageId { rank, incarnation, image })
    }

    /// Whether a container is there, offered or kept for others.
    #[must_use]
    pub fn has(&self, name: ImageName) -> bool {
        self.image(name).exists() || self.ground(name).exists()
    }

    /// Begins to receive an image of this rank.
    ///
    /// # Errors
    /// No file can be made.
    pub fn receive(&self, conn: ConnId, rank: Rank) -> Result<Upload, String> {
        let path = self.temporary(conn);
        let file = self.files.create(&path).map_err(|e| e.to_string())?;
        let (ground, dir) = (self.ground.clone(), self.path().to_owned());
        Ok(Upload::new(file, self.files.clone(), (conn, rank), ground, dir))
    }

    /// What its note says; the rest is verified when it is asked for.
    fn note(&self, name: ImageName) -> Result<Note, String> {
        let file = File::open(self.image(name)).map_err(|e| e.to_string())?;
        note::decode(&note_of(file).map_err(|e| e.to_string())?)
    }

    /// Looks at the two ends of a stored image that its reader will check; `None`: it could not find the file.
    #[must_use]
    pub fn glance(&self, name: ImageName) -> Option<Checked> {
        let file = File::open(self.image(name)).ok()?;
        let about = file.metadata().ok()?;
        note_of(&file).ok()?;
        expect_identity(id_of(&file).ok()?, name).ok()?;
        let dir = self.path().to_owned();
        dir.to_str()?;
        let identity = Some(identity(&about));
        Some(Checked { whole: whole(file, dir.clone()), bytes: about.len(), dir, identity })
    }

    /// Reads and verifies a stored image and all that it rests on; what was opened is then sent,
    /// whatever happens to the names.
    ///
    /// # Errors
    /// It is damaged, or gone.
    pub fn check(&self, name: ImageName) -> Result<Checked, CheckError> {
        let damaged = |why: &dyn std::fmt::Display| {
            // It may have been removed meanwhile, and what it rested on with it.
            match self.image(name).exists() {
                true => CheckError::Damaged(why.to_string()),
                false => CheckError::Gone,
            }
        };
        let file = File::open(self.image(name)).map_err(|e| damaged(&e))?;
        let identity = file.metadata().ok().map(|about| identity(&about));
        let dir = self.path().to_owned();
        let mut whole = whole(file, dir.clone());
        let found = whole.check().map_err(|e| damaged(&e))?;
        expect_identity(found.id, name).map_err(|e| damaged(&e))?;
        Ok(Checked { whole, bytes: found.stored_bytes, dir, identity })
    }
}

/// What the image with this note rests on.
pub(super) fn bases_of(rank: Rank, note: &Note) -> impl Iterator<Item = ImageName> {
    note.bases.iter().map(move |&(incarnation, image)| ImageName { rank, image, incarnation })
}

/// A holder is gone: what is not needed any more goes, too.
pub(super) fn release(
    ground: &Mutex<Ground>,
    files: &Files,
    dir: &Path,
    holder: Holder,
) -> Vec<ImageName> {
    let mut ground = lock(ground);
    let free = ground.release(holder);
    for base in &free {
        let _ = files.remove(&dir.join(image_name(*base)).with_extension("ground"));
    }
    free
}

pub(super) fn expect_identity(id: ImageId, name: ImageName) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, Plan};
    use ftmpi_checkpoint::container::{Compression, Encoder, Known};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn names_and_records_survive() {
        let name =
            ImageName { rank: Rank(7), image: ImageNo(u64::MAX), incarnation: Incarnation(3) };
        assert_eq!(parse_image_name(&image_name(name), ".image"), Some(name));
        for start_offered in [false, true] {
            let record =
                Record { incarnation: Incarnation(12), start_offered, oldest: ImageNo(u64::MAX) };
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

    /// An image of a process whose memory changes only in a few places; it rests on what is `known`.
    fn container(image: u64, known: &mut Known) -> Vec<u8> {
        let ImageName { rank, image, incarnation } = id(image);
        let mut out = Vec::new();
        let about = ImageId { rank, incarnation, image };
        let before = std::mem::take(known);
        let mut encoder = Encoder::incremental(about, Compression::Stored, before);
        for piece in 0..6 {
            let byte = if piece == image.0 % 6 { image.0 as u8 } else { 0 };
            let mut bytes = [byte; 1000];
            bytes[0] = piece as u8 + 100;
            encoder.push(&bytes, &mut out);
            encoder.cut(&mut out);
        }
        let bases = encoder.bases().iter().map(|base| (base.incarnation, base.image)).collect();
        let note = Note { bases, ..Note::default() };
        let (_, after) = encoder.finish_with(&note::encode(&note), &mut out);
        *known = after;
        out
    }

    /// Five images, one after the other in two rows, as the catalogue orders it; the numbers of those that were
    /// said to be there, and whether the start was given up.
    fn history(dir: &Path, files: Files) -> (Vec<u64>, bool) {
        let (mut published, mut given_up) = (Vec::new(), false);
        let mut catalogue = ImageCatalogue::new(u64::MAX);
        let private = PrivateDir::take(dir).unwrap();
        let Ok(disk) = Disk::open(private, files, &mut catalogue, |_| ()) else {
            return (published, given_up);
        };
        let record = |start_offered| Record { start_offered, ..Record::default() };
        let _ = disk.persist(R, record(true));
        let mut rows = [Known::default(), Known::default()];
        for image in 1..=5 {
            let row = &mut rows[image as usize % 2];
            let bytes = container(image, row);
            let put = || {
                let mut upload = disk.receive(ConnId(image), R)?;
                upload.write(&bytes[..1000])?;
                upload.write(&bytes[1000..])?;
                upload.finish(id(image))?;
                disk.publish(ConnId(image), id(image))
            };
            if put().is_err() {
                *row = Known::default();
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
    fn what_others_rest_on_stays_as_long_as_they() {
        let dir = tempfile::tempdir().unwrap();
        let said = history(dir.path(), Files::default());
        assert_eq!(said.0, [4, 5]);
        let names = || {
            let entries = std::fs::read_dir(dir.path()).unwrap().flatten();
            let mut names: Vec<_> = entries
                .filter_map(|entry| {
                    let name = entry.file_name().into_string().unwrap();
                    let ground = parse_image_name(&name, ".ground").map(|name| name.image.0);
                    ground.or_else(|| Some(parse_image_name(&name, ".image")?.image.0 * 10))
                })
                .collect();
            names.sort_unstable();
            names
        };
        // 4 rests on 2; 5 on 3 and 1.
        assert_eq!(names(), [1, 2, 3, 40, 50]);
        let mut catalogue = ImageCatalogue::new(u64::MAX);
        let private = PrivateDir::take(dir.path()).unwrap();
        let disk = Disk::open(private, Files::default(), &mut catalogue, |_| ()).unwrap();
        assert!(disk.retired_bytes() > 0);
        assert_eq!(names(), [1, 2, 3, 40, 50]);
        // One that rests on what is not there is refused.
        let mut known = Known::default();
        let _ = container(7, &mut known);
        let orphan = container(8, &mut known);
        let mut upload = disk.receive(ConnId(8), R).unwrap();
        let why = upload.write(&orphan).unwrap_err();
        assert!(why.contains("rests on image 7"), "{why}");
        drop(upload);
        // One on its way holds what it rests on, too.
        let mut known = Known::default();
        let bytes = container(6, &mut known);
        let mut upload = disk.receive(ConnId(6), R).unwrap();
        upload.write(&bytes).unwrap();
        upload.finish(id(6)).unwrap();
        disk.publish(ConnId(6), id(6)).unwrap();
        let mut next = disk.receive(ConnId(9), R).unwrap();
        next.write(&container(9, &mut known)).unwrap();
        disk.remove(id(6));
        assert_eq!(names(), [1, 2, 3, 6, 40, 50]);
        drop(next);
        assert_eq!(names(), [1, 2, 3, 40, 50]);
        disk.remove(id(4));
        assert_eq!(names(), [1, 3, 50]);
        // Damage below is damage.
        let below = dir.path().join(image_name(id(1))).with_extension("ground");
        let mut bytes = std::fs::read(&below).unwrap();
        // In the third piece, which never changed.
        bytes[40 + 2 * 1016 + 500] ^= 1;
        std::fs::write(&below, bytes).unwrap();
        assert!(matches!(disk.check(id(5)), Err(CheckError::Damaged(_))));
        disk.set_aside(id(5));
        assert_eq!(names(), [0; 0]);
        assert!(matches!(disk.check(id(5)), Err(CheckError::Gone)));
    }

    #[test]
    fn a_fault_at_any_change_leaves_the_old_or_the_new_image() {
        let begin = tempfile::tempdir().unwrap();
        let whole = Arc::new(Plan::new(None));
        let said = history(begin.path(), Files::watched(whole.clone()));
        assert_eq!(said, (vec![4, 5], true));
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

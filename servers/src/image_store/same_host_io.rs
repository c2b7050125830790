//! Images for and from whoever is on the server's machine: instead of their bytes the name of a file travels,
//! which is read and written there.
//!
//! Guarantees: a file is taken for the one that was named only if it is that very one, on this very start of this
//! machine where it is to be written; what is read is checked as it is read; what is written is verified before,
//! by the verifier that the server has for what it receives, and durable before the server hears that it is
//! whole.

use super::disk::{ImageReader, Opener, expect_identity, image_name, open_container};
use super::upload::told;
use crate::event_store::boot_id;
use crate::files::{Appender, Files, Source};
use crate::image_note;
use ftmpi_checkpoint::container::{Assembler, ImageId, Verifier, note_of};
use ftmpi_protocols::image_catalogue::ImageName;
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::{Room, SameHostFile, Stored};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The server hears of what is written after so many bytes, of the container or of places.
const TELL_BYTES: usize = 4 << 20;
const TELL_PLACES: usize = 256 << 10;

/// What is written of a container without the server.
#[derive(Debug)]
pub struct SameHostWriter {
    file: Appender,
    verifier: Verifier,
    next: WriteProgress,
}

/// What the server is to hear of it.
#[derive(Debug, Default)]
pub struct WriteProgress {
    /// Bytes.
    pub bytes: u64,
    /// See `Request::Written`.
    pub places: Vec<u8>,
}

impl SameHostWriter {
    /// Opens the file that a server named; `None` if it cannot be written from here, or is another one.
    #[must_use]
    pub fn open(room: &Room) -> Option<Self> {
        if room.boot.is_empty() || room.boot != boot_id() {
            return None;
        }
        let file = Files::default().open(Path::new(&room.path)).ok()?;
        let found = identity(&file.file().metadata().ok()?);
        (found == room.identity).then(|| Self {
            file: Appender::new(file),
            verifier: Verifier::new(),
            next: WriteProgress::default(),
        })
    }

    /// Verifies and writes the next bytes; now and then there is something to tell.
    ///
    /// # Errors
    /// They are no part of a container, or cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<WriteProgress>, String> {
        let places = &mut self.next.places;
        let verified = self.verifier.push_with(bytes, &mut |place| place.append_to(places));
        verified.map_err(|e| e.to_string())?;
        self.file.push(bytes).map_err(|e| told(&e))?;
        self.next.bytes += bytes.len() as u64;
        let WriteProgress { bytes, places } = &self.next;
        let due = *bytes >= TELL_BYTES as u64 || places.len() >= TELL_PLACES;
        Ok(due.then(|| std::mem::take(&mut self.next)))
    }

    /// That was all: returns when it is durable, with what there is to tell.
    ///
    /// # Errors
    /// It is not, or the container is not whole.
    pub fn finish(mut self) -> Result<WriteProgress, String> {
        self.verifier.finish().map_err(|e| e.to_string())?;
        self.file.finish().map_err(|e| told(&e))?;
        Ok(self.next)
    }
}

/// Names an empty file to whoever is on this machine; `None`: it has no name that can be told.
pub(super) fn room(path: &Path, file: &File) -> Option<Room> {
    let path = path.to_str()?.to_owned();
    Some(Room { path, identity: identity(&file.metadata().ok()?), boot: boot_id() })
}

/// What tells this file from all others, of this machine and of others.
pub(super) fn identity(about: &std::fs::Metadata) -> [u64; 5] {
    [about.dev(), about.ino(), about.ctime() as u64, about.ctime_nsec() as u64, about.len()]
}

/// Opens the image that a server of this rank named, with what it rests on; `None` if it cannot be read from here,
/// or is another file by now. What comes of it is checked as it is read.
#[must_use]
pub fn open_same_host(rank: Rank, near: &SameHostFile) -> Option<ImageReader> {
    let dir = PathBuf::from(&near.directory);
    let Stored { image, incarnation, bytes, .. } = near.stored;
    let file = File::open(dir.join(image_name(ImageName { rank, image, incarnation }))).ok()?;
    let found = identity(&file.metadata().ok()?);
    if found != near.identity {
        return None;
    }
    expect_identity(id_of(&file).ok()?, ImageName { rank, image, incarnation }).ok()?;
    // All at once, so that nothing goes while it is read.
    let note = image_note::decode(&note_of(&file).ok()?).ok()?;
    let mut bases = HashMap::new();
    for &(incarnation, image) in &note.bases {
        let id = ImageId { rank, incarnation, image };
        bases.insert(id, Source::Cached(open_container(&dir, id).ok()?));
    }
    (&file).rewind().ok()?;
    let open = move |base| bases.remove(&base).ok_or_else(|| io::ErrorKind::NotFound.into());
    let whole = Box::new(Assembler::new(Source::sequential(file), Box::new(open) as Opener));
    Some(ImageReader { whole, bytes, dir, identity: Some(found) })
}

/// Whose container a file says that it is.
pub(super) fn id_of(mut file: &File) -> io::Result<ImageId> {
    // A header, and less than is in the smallest container.
    let mut begin = [0; 64];
    file.rewind()?;
    file.read_exact(&mut begin)?;
    let mut reader = Verifier::new();
    reader.push(&begin).map_err(io::Error::other)?;
    reader.id().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

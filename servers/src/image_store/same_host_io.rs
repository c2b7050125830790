//! Images of ranks on the server's host: the name of a file travels instead of its bytes, and the
//! agent reads or writes the file.
//!
//! Guarantees: a file is used only if its identity is the one that was named; for writing, also the
//! boot of the host. What is read is verified as it is read. What is written comes from the encoder
//! of the same process, which has computed the checksums just before. So it is not verified again
//! on the way. It is durable before the server hears that it is complete, and the server looks at
//! both ends.

use super::error::StoreError;
use super::image_file::{ImageReader, Opener, expect_identity, image_name, open_container};
use super::image_file::{id_of, identity};
use crate::event_store::boot_id;
use crate::files::{Appender, Files, Piece, Source};
use crate::image_note;
use crate::tuning::image_store::{PROGRESS_BYTES, PROGRESS_PLACES};
use ftmpi_checkpoint::container::{Assembler, note_of};
use ftmpi_wire::image_store::{Room, SameHostFile, Stored};
use ftmpi_wire::{ImageId, Rank};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// Writes a container that this process makes into the file that the server has named.
#[derive(Debug)]
pub struct SameHostWriter {
    file: Appender,
    next: WriteProgress,
}

/// The next part of a container, with the places of chunks that the encoder has put there.
#[derive(Debug)]
pub struct Part {
    /// The bytes.
    pub piece: Piece,
    /// See `Request::Written`.
    pub places: Vec<u8>,
}

/// What the server must hear about a container that is written on its host.
#[derive(Debug, Default)]
pub struct WriteProgress {
    /// Bytes that were written since the last report.
    pub bytes: u64,
    /// Places of chunks among these bytes; see `Request::Written`.
    pub places: Vec<u8>,
}

impl SameHostWriter {
    /// Opens the file that a server named. `None`: it cannot be written from here, or is another
    /// file.
    #[must_use]
    pub fn open(room: &Room) -> Option<Self> {
        if room.boot.is_empty() || room.boot != boot_id() {
            return None;
        }
        let file = Files::default().open(Path::new(&room.path)).ok()?;
        let found = identity(&file.file().metadata().ok()?);
        (found == room.identity)
            .then(|| Self { file: Appender::new(file), next: WriteProgress::default() })
    }

    /// Writes the next part. Returns a report for the server now and then.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn push(&mut self, part: Part) -> Result<Option<WriteProgress>, StoreError> {
        self.next.bytes += part.piece.bytes().len() as u64;
        self.next.places.extend_from_slice(&part.places);
        self.file.push_piece(part.piece)?;
        let WriteProgress { bytes, places } = &self.next;
        let due = *bytes >= PROGRESS_BYTES as u64 || places.len() >= PROGRESS_PLACES;
        Ok(due.then(|| std::mem::take(&mut self.next)))
    }

    /// Ends the container, whose encoder has finished. Returns the last report when the container
    /// is durable.
    ///
    /// # Errors
    /// The container may not be durable.
    pub fn finish(mut self) -> Result<WriteProgress, StoreError> {
        self.file.finish()?;
        Ok(self.next)
    }
}

/// The description of an empty file for a writer on this host. `None`: its path is not text.
pub(super) fn room(path: &Path, file: &File) -> Option<Room> {
    let path = path.to_str()?.to_owned();
    Some(Room { path, identity: identity(&file.metadata().ok()?), boot: boot_id() })
}

/// Opens an image and its bases that a server on this host named. The image is verified as it is
/// read. `None`: it cannot be read from here, or is another file by now.
#[must_use]
pub fn open_same_host(rank: Rank, near: &SameHostFile) -> Option<ImageReader> {
    let dir = PathBuf::from(&near.directory);
    let Stored { image, incarnation, bytes, .. } = near.stored;
    let file = File::open(dir.join(image_name(ImageId { rank, image, incarnation }))).ok()?;
    let found = identity(&file.metadata().ok()?);
    if found != near.identity {
        return None;
    }
    expect_identity(id_of(&file).ok()?, ImageId { rank, image, incarnation }).ok()?;
    // All bases are opened at once, so that none is removed while the image is read.
    let note = image_note::decode(&note_of(&file).ok()?).ok()?;
    let mut bases = HashMap::new();
    for &(incarnation, image) in &note.bases {
        let id = ImageId { rank, incarnation, image };
        bases.insert(id, Source::cached(open_container(&dir, id).ok()?));
    }
    (&file).rewind().ok()?;
    let open = move |base| bases.remove(&base).ok_or_else(|| io::ErrorKind::NotFound.into());
    let whole = Box::new(Assembler::new(Source::sequential(file), Box::new(open) as Opener));
    Some(ImageReader { whole, bytes, dir, identity: Some(found) })
}

//! An image that is being received: verified as it comes, durable before it gets a name.
//!
//! The bytes come on the connection, or a client on this host writes them and reports its progress
//! ([`same_host_io`]).
//!
//! Guarantees: the bases of the image are held from the moment when they are named. After a failed
//! write the image is never called good. An unfinished image is removed.

use super::base_refs::{BaseRefs, Holder};
use super::base_refs::{lock, release};
use super::error::StoreError;
use super::image_file::{bases_of, expect_identity, open_container};
use super::{image_file, same_host_io};
use crate::files::{Appender, Files, StoreFile};
use crate::image_note;
use ftmpi_checkpoint::container::{ChunkPlace, Verifier, note_of};
use ftmpi_protocols::image_catalogue::ConnId;
use ftmpi_wire::ImageId;
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::{Counts, Note, Room};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// An image that is being received. Dropping it before it has a name removes its file.
#[derive(Debug)]
pub struct Upload {
    path: PathBuf,
    body: Body,
    files: Files,
    bases: Bases,
}

/// How the bytes of an image come.
#[derive(Debug)]
enum Body {
    /// No bytes came yet.
    Nothing(StoreFile),
    /// The bytes come on the connection.
    Received(Box<(Appender, Verifier)>),
    /// A client on this host has made this many bytes; they are in the file, or will be soon.
    WrittenByClient(StoreFile, u64),
    /// Receiving failed.
    Failed,
}

/// The bases of an image that is being received.
#[derive(Debug)]
struct Bases {
    base_refs: Arc<Mutex<BaseRefs>>,
    dir: PathBuf,
    conn: ConnId,
    rank: Rank,
    open: HashMap<ImageId, File>,
}

impl Bases {
    /// Checks that a chunk is there, and holds its container.
    fn admit(&mut self, place: &ChunkPlace) -> Result<(), StoreError> {
        let id = place.container(self.rank);
        let missing = |why: io::Error| StoreError::Base { base: id, why };
        if !self.open.contains_key(&id) {
            // The base is held before it is opened, so it cannot be removed in between.
            lock(&self.base_refs).hold(Holder::Upload(self.conn), id);
            let file = open_container(&self.dir, id).map_err(missing)?;
            self.open.insert(id, file);
        }
        place.check_prefix(&self.open[&id]).map_err(missing)
    }

    /// Checks that the note of the image names its bases.
    fn expect_all(&self, id: ImageId, note: &Note) -> Result<(), StoreError> {
        let mut named: Vec<_> = bases_of(id.rank, note).collect();
        named.sort_unstable();
        match lock(&self.base_refs).bases(Holder::Upload(self.conn)).eq(named) {
            true => Ok(()),
            false => Err(StoreError::UnnamedBases),
        }
    }
}

impl Upload {
    pub(super) fn new(
        file: StoreFile,
        files: Files,
        (conn, rank): (ConnId, Rank),
        base_refs: Arc<Mutex<BaseRefs>>,
        dir: PathBuf,
    ) -> Self {
        Self {
            path: file.path().to_owned(),
            body: Body::Nothing(file),
            files,
            bases: Bases { base_refs, dir, conn, rank, open: HashMap::new() },
        }
    }

    /// The file that a client on this host may write. `None`: there is none.
    #[must_use]
    pub fn room(&self) -> Option<Room> {
        match &self.body {
            Body::Nothing(file) => same_host_io::room(&self.path, file.file()),
            _ => None,
        }
    }

    /// Verifies and stores the next bytes.
    ///
    /// # Errors
    /// The bytes are damaged, refer to a missing base, or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut way = match std::mem::replace(&mut self.body, Body::Failed) {
            Body::Nothing(file) => Box::new((Appender::new(file), Verifier::new())),
            Body::Received(way) => way,
            Body::WrittenByClient(..) | Body::Failed => return Err(StoreError::MixedSources),
        };
        let (file, verifier) = &mut *way;
        let mut outcome = Ok(());
        let bases = &mut self.bases;
        verifier.push_with(bytes, &mut |place| {
            if outcome.is_ok() {
                outcome = bases.admit(&place);
            }
        })?;
        outcome?;
        file.push(bytes)?;
        self.body = Body::Received(way);
        Ok(())
    }

    /// A client on this host has made and written `more` bytes, with these places of chunks.
    ///
    /// # Errors
    /// The bytes refer to a missing base.
    pub fn written(&mut self, more: u64, places: &[u8]) -> Result<(), StoreError> {
        let (file, bytes) = match std::mem::replace(&mut self.body, Body::Failed) {
            Body::Nothing(file) => (file, 0),
            Body::WrittenByClient(file, bytes) => (file, bytes),
            Body::Received(..) | Body::Failed => return Err(StoreError::MixedSources),
        };
        for place in ChunkPlace::parse_all(places) {
            self.bases.admit(&place.ok_or(StoreError::ImpossiblePlace)?)?;
        }
        self.body = Body::WrittenByClient(file, bytes.saturating_add(more));
        Ok(())
    }

    /// Checks that the image is good and is the announced one, and makes it durable.
    ///
    /// # Errors
    /// The image is not good, or may not be durable.
    pub fn finish(&mut self, name: ImageId) -> Result<Counts, StoreError> {
        let (id, note) = match std::mem::replace(&mut self.body, Body::Failed) {
            Body::Received(way) => {
                let (mut file, verifier) = *way;
                let note = image_note::decode(verifier.note())?;
                let whole = verifier.finish()?;
                self.bases.expect_all(whole.id, &note)?;
                file.finish()?;
                (whole.id, note)
            }
            Body::WrittenByClient(file, bytes) => {
                let there = file.file().metadata()?.len();
                if there != bytes {
                    return Err(StoreError::Length { found: there, announced: bytes });
                }
                let note = image_note::decode(&note_of(file.file())?)?;
                let id = image_file::id_of(file.file())?;
                self.bases.expect_all(id, &note)?;
                file.sync()?;
                (id, note)
            }
            Body::Nothing(_) | Body::Failed => return Err(StoreError::Empty),
        };
        expect_identity(id, name)?;
        Ok(note.counts)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Nobody writes to the file any more.
        self.body = Body::Failed;
        // After its publication the file has another name.
        if self.path.exists() {
            let _ = self.files.remove(&self.path);
        }
        // Bases that only this image held stay in the object tier until the job ends: the image was
        // never offered.
        let Bases { base_refs, dir, conn, .. } = &self.bases;
        let _ = release(base_refs, &self.files, dir, Holder::Upload(*conn));
    }
}

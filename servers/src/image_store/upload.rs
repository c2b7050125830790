//! An image on its way to the disk: verified as it comes, durable before it gets a name.
//!
//! It comes on the connection, or whoever is on this machine writes it and says how far it is ([`near`]).
//!
//! Guarantees: what it rests on is held from the moment when it is named; nothing is said to be good that an early
//! write to the disk has failed for; what was not finished is removed.

use super::base_refs::{BaseRefs, Holder};
use super::disk::{bases_of, expect_identity, lock, name_of, open_container, release};
use super::same_host_io;
use crate::files::{Appender, Files, StoreFile};
use crate::image_note;
use ftmpi_checkpoint::container::{ChunkPlace, ImageId, Verifier, note_of};
use ftmpi_protocols::image_catalogue::{ConnId, ImageName};
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::{Counts, Note, Room};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// An image that is being received; its file is removed when this is dropped before it has a name.
#[derive(Debug)]
pub struct Upload {
    path: PathBuf,
    body: Body,
    files: Files,
    bases: Bases,
}

/// How its bytes come.
#[derive(Debug)]
enum Body {
    /// None came yet.
    Empty(StoreFile),
    /// On the connection.
    Here(Box<(Appender, Verifier)>),
    /// So many are in the file, or will soon be: whoever wrote them has verified them.
    There(StoreFile, u64),
    /// It failed.
    Lost,
}

/// What an image on its way rests on.
#[derive(Debug)]
struct Bases {
    base_refs: Arc<Mutex<BaseRefs>>,
    dir: PathBuf,
    conn: ConnId,
    rank: Rank,
    open: HashMap<ImageId, File>,
}

impl Bases {
    /// Checks that the chunk is there, and that it stays.
    fn admit(&mut self, place: &ChunkPlace) -> Result<(), String> {
        let id = place.container(self.rank);
        let missing = |why: io::Error| {
            format!("it rests on image {} of life {}: {why}", id.image, id.incarnation)
        };
        if !self.open.contains_key(&id) {
            // Held before it is opened, so it cannot go in between.
            lock(&self.base_refs).hold(Holder::Upload(self.conn), name_of(id));
            let file = open_container(&self.dir, id).map_err(missing)?;
            self.open.insert(id, file);
        }
        place.check_prefix(&self.open[&id]).map_err(missing)
    }

    /// Whether these are what its note names.
    fn expect_all(&self, id: ImageId, note: &Note) -> Result<(), String> {
        let mut name_of: Vec<_> = bases_of(id.rank, note).collect();
        name_of.sort_unstable();
        match lock(&self.base_refs).bases(Holder::Upload(self.conn)).eq(name_of) {
            true => Ok(()),
            false => Err("its note does not name the images that it rests on".into()),
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
            body: Body::Empty(file),
            files,
            bases: Bases { base_refs, dir, conn, rank, open: HashMap::new() },
        }
    }

    /// Where somebody on this machine may write it; `None`: nowhere.
    #[must_use]
    pub fn room(&self) -> Option<Room> {
        match &self.body {
            Body::Empty(file) => same_host_io::room(&self.path, file.file()),
            _ => None,
        }
    }

    /// Verifies and stores the next bytes.
    ///
    /// # Errors
    /// They are damaged, rest on what is not there, or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut way = match std::mem::replace(&mut self.body, Body::Lost) {
            Body::Empty(file) => Box::new((Appender::new(file), Verifier::new())),
            Body::Here(way) => way,
            Body::There(..) | Body::Lost => return Err(OTHERWISE.into()),
        };
        let (file, verifier) = &mut *way;
        let mut outcome = Ok(());
        let bases = &mut self.bases;
        verifier
            .push_with(bytes, &mut |place| {
                if outcome.is_ok() {
                    outcome = bases.admit(&place);
                }
            })
            .map_err(|e| e.to_string())?;
        outcome?;
        file.push(bytes).map_err(|e| told(&e))?;
        self.body = Body::Here(way);
        Ok(())
    }

    /// So many bytes more were verified and are in the file, or will soon be; among them these places.
    ///
    /// # Errors
    /// They rest on what is not there.
    pub fn written(&mut self, more: u64, places: &[u8]) -> Result<(), String> {
        let (file, bytes) = match std::mem::replace(&mut self.body, Body::Lost) {
            Body::Empty(file) => (file, 0),
            Body::There(file, bytes) => (file, bytes),
            Body::Here(..) | Body::Lost => return Err(OTHERWISE.into()),
        };
        for place in ChunkPlace::parse_all(places) {
            self.bases.admit(&place.ok_or("it rests on a place that there cannot be")?)?;
        }
        self.body = Body::There(file, bytes.saturating_add(more));
        Ok(())
    }

    /// Whether it is good and the announced one; makes it durable.
    ///
    /// # Errors
    /// It is not.
    pub fn finish(&mut self, name: ImageName) -> Result<Counts, String> {
        let (id, note) = match std::mem::replace(&mut self.body, Body::Lost) {
            Body::Here(way) => {
                let (mut file, verifier) = *way;
                let note = image_note::decode(verifier.note())?;
                let whole = verifier.finish().map_err(|e| e.to_string())?;
                self.bases.expect_all(whole.id, &note)?;
                file.finish().map_err(|e| told(&e))?;
                (whole.id, note)
            }
            Body::There(file, bytes) => {
                let text = |e: io::Error| e.to_string();
                let there = file.file().metadata().map_err(text)?.len();
                if there != bytes {
                    return Err(format!("its file has {there} bytes, and {bytes} were announced"));
                }
                let note = image_note::decode(&note_of(file.file()).map_err(text)?)?;
                let id = same_host_io::id_of(file.file()).map_err(text)?;
                self.bases.expect_all(id, &note)?;
                file.sync().map_err(|e| told(&e))?;
                (id, note)
            }
            Body::Empty(_) | Body::Lost => return Err("nothing was received".into()),
        };
        expect_identity(id, name)?;
        Ok(note.counts)
    }
}

/// Of bytes that come on one way and then on the other.
const OTHERWISE: &str = "its bytes come on two ways";

/// In words, with the remedy.
pub(super) fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("{error} (make room on the checkpoint server's disk)")
        }
        _ => error.to_string(),
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Nobody writes to it any more.
        self.body = Body::Lost;
        // After its publication the name is gone already.
        if self.path.exists() {
            let _ = self.files.remove(&self.path);
        }
        // What was held only by it stays in a depot until the job ends: it was never offered again.
        let Bases { base_refs, dir, conn, .. } = &self.bases;
        let _ = release(base_refs, &self.files, dir, Holder::Upload(*conn));
    }
}

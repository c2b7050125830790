//! An image on its way to the disk: verified as it comes, durable before it gets a name.
//!
//! Guarantees: what it rests on is held from the moment when it is named; nothing is said to be good that an early
//! write to the disk has failed for; what was not finished is removed.

use super::disk::{bases_of, expect_identity, lock, named, open_container, release};
use super::ground::{Ground, Holder};
use crate::files::{Files, StoreFile, SyncAhead};
use crate::note;
use ftmpi_checkpoint::container::{ImageId, Place, Verifier};
use ftmpi_protocols::image_catalogue::{ConnId, ImageName};
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::Counts;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// An image that is being received; its file is removed when this is dropped before it has a name.
#[derive(Debug)]
pub struct Upload {
    file: StoreFile,
    files: Files,
    bytes: u64,
    verifier: Verifier,
    bases: Bases,
    /// Of a large one.
    ahead: Option<SyncAhead>,
    /// Bytes when it was wished for last.
    wished: u64,
}

/// The disk begins to work after so many bytes, not only at the end.
const AHEAD_BYTES: u64 = 32 << 20;

/// What an image on its way rests on.
#[derive(Debug)]
struct Bases {
    ground: Arc<Mutex<Ground>>,
    dir: PathBuf,
    conn: ConnId,
    rank: Rank,
    open: HashMap<ImageId, File>,
}

impl Bases {
    /// Checks that the chunk is there, and that it stays.
    fn admit(&mut self, place: &Place) -> Result<(), String> {
        let id = place.container(self.rank);
        let missing = |why: io::Error| {
            format!("it rests on image {} of life {}: {why}", id.image, id.incarnation)
        };
        if !self.open.contains_key(&id) {
            // Held before it is opened, so it cannot go in between.
            lock(&self.ground).hold(Holder::Upload(self.conn), named(id));
            let file = open_container(&self.dir, id).map_err(missing)?;
            self.open.insert(id, file);
        }
        place.is_there(&self.open[&id]).map_err(missing)
    }
}

impl Upload {
    pub(super) fn new(
        file: StoreFile,
        files: Files,
        (conn, rank): (ConnId, Rank),
        ground: Arc<Mutex<Ground>>,
        dir: PathBuf,
    ) -> Self {
        Self {
            file,
            files,
            bytes: 0,
            verifier: Verifier::new(),
            ahead: None,
            wished: 0,
            bases: Bases { ground, dir, conn, rank, open: HashMap::new() },
        }
    }

    /// Verifies and stores the next bytes.
    ///
    /// # Errors
    /// They are damaged, rest on what is not there, or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut outcome = Ok(());
        let bases = &mut self.bases;
        self.verifier
            .push_with(bytes, &mut |place| {
                if outcome.is_ok() {
                    outcome = bases.admit(&place);
                }
            })
            .map_err(|e| e.to_string())?;
        outcome?;
        self.file.write_all_at(bytes, self.bytes).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("{e} (make room on the checkpoint server's disk)")
            }
            _ => e.to_string(),
        })?;
        self.bytes += bytes.len() as u64;
        if self.bytes - self.wished >= AHEAD_BYTES && !self.files.is_volatile() {
            self.wished = self.bytes;
            if self.ahead.is_none() {
                self.ahead = self.file.sync_ahead().ok();
            }
            if let Some(ahead) = &self.ahead {
                ahead.wish();
            }
        }
        Ok(())
    }

    /// Whether it is good and the announced one; makes it durable.
    ///
    /// # Errors
    /// It is not.
    pub fn finish(&mut self, name: ImageName) -> Result<Counts, String> {
        let verifier = std::mem::take(&mut self.verifier);
        let note = note::decode(verifier.note())?;
        let whole = verifier.finish().map_err(|e| e.to_string())?;
        expect_identity(whole.id, name)?;
        let mut named: Vec<_> = bases_of(name.rank, &note).collect();
        named.sort_unstable();
        let holder = Holder::Upload(self.bases.conn);
        if !lock(&self.bases.ground).bases(holder).eq(named) {
            return Err("its note does not name the images that it rests on".into());
        }
        let ahead = self.ahead.take().map_or(Ok(()), SyncAhead::end);
        ahead.and_then(|()| self.file.sync()).map_err(|e| e.to_string())?;
        Ok(note.counts)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // After its publication the name is gone already.
        if self.file.path().exists() {
            let _ = self.files.remove(self.file.path());
        }
        // What was held only by it stays in a depot until the job ends: it was never offered again.
        let Bases { ground, dir, conn, .. } = &self.bases;
        let _ = release(ground, &self.files, dir, Holder::Upload(*conn));
    }
}

//! Images on disk: one file for each image. The name of the file tells which image it is.
//!
//! Guarantees: a file gets the name of an image only when the image is verified and synced, and its
//! bases are there. Names and records are durable when a call returns. What a dead server left
//! unfinished is removed at the next start. An image that is no longer offered, but is the base of
//! others, stays under another name (`.ground`).

use super::base_refs::{BaseRefs, Holder, lock, release};
use super::error::StoreError;
use super::image_file::{
    ImageReader, bases_of, expect_identity, id_of, identity, image_name, open_container,
    parse_image_name, whole,
};
use super::record_file::{decode_record, parse_record_name, persist_record};
use super::upload::Upload;
use crate::files::Files;
use crate::image_note;
use crate::private_directory::PrivateDir;
use crate::tuning::connection::PIECE_BYTES;
use anyhow::Context;
use ftmpi_checkpoint::container::{Verifier, note_of};
use ftmpi_protocols::image_catalogue::{CheckError, ConnId, ImageCatalogue, Record};
use ftmpi_wire::image_store::Note;
use ftmpi_wire::{ImageId, Rank};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The images in a directory.
#[derive(Debug)]
pub struct Disk {
    dir: PrivateDir,
    files: Files,
    base_refs: Arc<Mutex<BaseRefs>>,
    /// Containers that were removed and are not yet reported to the object tier.
    removed: Mutex<Vec<ImageId>>,
}

impl Disk {
    /// Finds what is in the directory, tells the catalogue, and removes what was left unfinished.
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
        let disk = Self { dir, files, base_refs: Arc::default(), removed: Mutex::default() };
        for (image, bytes, set_aside) in images {
            let counts = match disk.note(image) {
                _ if set_aside => None,
                Ok(note) => {
                    for base in bases_of(image.rank, &note) {
                        lock(&disk.base_refs).hold(Holder::Image(image), base);
                    }
                    Some(note.counts)
                }
                Err(why) => {
                    let ImageId { rank, image: number, .. } = image;
                    say(format!("image {number} of rank {rank} is damaged ({why})"));
                    disk.set_aside(image);
                    None
                }
            };
            catalogue.restore_image(image, bytes, counts);
        }
        for (image, bytes) in retired {
            let mut base_refs = lock(&disk.base_refs);
            if base_refs.is_held(image) {
                base_refs.retire(image, bytes);
            } else {
                let _ = disk.files.remove(&disk.base_path(image));
            }
        }
        Ok(disk)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The file of an image that this connection sends, until the image is published.
    fn temporary(&self, conn: ConnId) -> PathBuf {
        self.path().join(format!("{}.part", conn.0))
    }

    fn image(&self, name: ImageId) -> PathBuf {
        self.path().join(image_name(name))
    }

    fn base_path(&self, name: ImageId) -> PathBuf {
        self.image(name).with_extension("ground")
    }

    /// Bytes of the containers that are only kept as bases.
    #[must_use]
    pub fn retired_bytes(&self) -> u64 {
        lock(&self.base_refs).retired_bytes()
    }

    /// Bytes that are free where the images are. A system that does not tell has room.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(self.path())
            .map_or(u64::MAX, |about| about.f_bavail.saturating_mul(about.f_frsize))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.files.sync_dir(self.path())
    }

    /// Gives the image that came on `conn` its name.
    ///
    /// # Errors
    /// The image has no name: a later start does not find it.
    pub fn publish(&self, conn: ConnId, name: ImageId) -> Result<(), StoreError> {
        let publish = || {
            self.files.rename(&self.temporary(conn), &self.image(name))?;
            self.sync_names().inspect_err(|_| {
                // The image is not offered, so a later start must not find it.
                let _ = self.files.remove(&self.image(name));
            })
        };
        publish()?;
        lock(&self.base_refs).settle(conn, name);
        Ok(())
    }

    /// Makes this record durable.
    ///
    /// # Errors
    /// The record may not be durable.
    pub fn persist(&self, rank: Rank, record: Record) -> Result<(), StoreError> {
        Ok(persist_record(self.path(), &self.files, rank, record)?)
    }

    /// Sets a damaged image aside: it is not offered again, but can be looked at.
    pub fn set_aside(&self, name: ImageId) {
        let path = self.image(name);
        let aside = path.with_extension("damaged");
        // If the file cannot be renamed, a later start must at least not find it.
        if self.files.rename(&path, &aside).is_err() {
            let _ = self.files.remove(&path);
        }
        let _ = self.sync_names();
        {
            let mut base_refs = lock(&self.base_refs);
            if base_refs.is_held(name) {
                base_refs.retire(name, 0);
            } else {
                self.note_removed(name);
            }
        }
        self.release(Holder::Image(name));
    }

    /// Removes an image that is no longer offered, unless it is the base of others.
    pub fn remove(&self, name: ImageId) {
        let path = self.image(name);
        {
            let mut base_refs = lock(&self.base_refs);
            if base_refs.is_held(name) {
                let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
                // If the file cannot be renamed, the next start finds one more image.
                let _ = self.files.rename(&path, &self.base_path(name));
                base_refs.retire(name, bytes);
            } else {
                let _ = self.files.remove(&path);
                drop(base_refs);
                self.note_removed(name);
            }
        }
        self.release(Holder::Image(name));
    }

    /// Removes images that are given up: the next start does not find them.
    ///
    /// # Errors
    /// The next start may find one of them.
    pub fn give_up(&self, names: &[ImageId]) -> Result<(), StoreError> {
        for name in names {
            self.remove(*name);
            match self.image(*name).try_exists() {
                Ok(false) => {}
                Ok(true) => return Err(StoreError::Stays(self.image(*name))),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.sync_names()?)
    }

    fn release(&self, holder: Holder) {
        for base in release(&self.base_refs, &self.files, self.path(), holder) {
            self.note_removed(base);
        }
    }

    fn note_removed(&self, name: ImageId) {
        self.removed.lock().expect("no panic while it is locked").push(name);
    }

    /// The containers that were removed since the last call.
    pub fn take_removed(&self) -> Vec<ImageId> {
        std::mem::take(&mut *self.removed.lock().expect("no panic while it is locked"))
    }

    /// An image and its bases.
    #[must_use]
    pub fn chain(&self, name: ImageId) -> Vec<ImageId> {
        lock(&self.base_refs).bases(Holder::Image(name)).chain([name]).collect()
    }

    /// Opens a container, whether it is offered or only kept as a base.
    ///
    /// # Errors
    /// The container is not there, or cannot be read.
    pub fn container(&self, name: ImageId) -> io::Result<File> {
        open_container(self.path(), name)
    }

    /// Whether a container is there and complete. Its bases are not looked at.
    #[must_use]
    pub fn is_sound(&self, name: ImageId) -> bool {
        let read = || -> Option<()> {
            let mut file = self.container(name).ok()?;
            let (mut verifier, mut piece) = (Verifier::new(), vec![0; PIECE_BYTES]);
            loop {
                match file.read(&mut piece).ok()? {
                    0 => break,
                    count => verifier.push_with(&piece[..count], &mut |_| ()).ok()?,
                };
            }
            expect_identity(verifier.finish().ok()?.id, name).ok()
        };
        read().is_some()
    }

    /// Gives a downloaded container its name. The caller holds the lock of the catalogue, so that
    /// no connection can remove the container meanwhile.
    ///
    /// # Errors
    /// The container has no name.
    pub fn replace(&self, part: &Path, name: ImageId, offered: bool) -> io::Result<()> {
        // A holder of this lock may move a container that is no longer offered.
        let _base_refs = lock(&self.base_refs);
        let image = self.image(name);
        let target = if offered || image.exists() { image } else { self.base_path(name) };
        self.files.rename(part, &target)?;
        self.sync_names()
    }

    /// Removes an image that is damaged here and complete in the object tier. The next start takes
    /// it from there.
    pub fn remove_for_recovery(&self, name: ImageId) {
        let _ = self.files.remove(&self.image(name));
    }

    /// The way to change files of the directory.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Whether a container is of use: it is there, or an image refers to it.
    #[must_use]
    pub fn needs(&self, name: ImageId) -> bool {
        self.has(name) || lock(&self.base_refs).is_held(name)
    }

    /// Whether a container is there, offered or kept as a base.
    #[must_use]
    pub fn has(&self, name: ImageId) -> bool {
        self.image(name).exists() || self.base_path(name).exists()
    }

    /// Begins to receive an image of this rank.
    ///
    /// # Errors
    /// No file can be made.
    pub fn receive(&self, conn: ConnId, rank: Rank) -> Result<Upload, StoreError> {
        let path = self.temporary(conn);
        let file = self.files.create(&path)?;
        let (base_refs, dir) = (self.base_refs.clone(), self.path().to_owned());
        Ok(Upload::new(file, self.files.clone(), (conn, rank), base_refs, dir))
    }

    /// The note of an image. The rest of the image is verified when a caller asks for it.
    fn note(&self, name: ImageId) -> Result<Note, StoreError> {
        let file = File::open(self.image(name))?;
        Ok(image_note::decode(&note_of(file)?)?)
    }

    /// Opens an image whose reader will verify it; only its two ends are checked here. `None`: the
    /// reader could not find the file.
    #[must_use]
    pub fn check_ends(&self, name: ImageId) -> Option<ImageReader> {
        let file = File::open(self.image(name)).ok()?;
        let about = file.metadata().ok()?;
        note_of(&file).ok()?;
        expect_identity(id_of(&file).ok()?, name).ok()?;
        let dir = self.path().to_owned();
        dir.to_str()?;
        let identity = Some(identity(&about));
        Some(ImageReader { whole: whole(file, dir.clone()), bytes: about.len(), dir, identity })
    }

    /// Verifies a stored image and its bases, and opens them. They can be sent even if their names
    /// go meanwhile.
    ///
    /// # Errors
    /// The image is damaged, or gone.
    pub fn check(&self, name: ImageId) -> Result<ImageReader, CheckError> {
        let damaged = |why: &dyn std::fmt::Display| {
            // The image may have been removed meanwhile, and its bases with it.
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
        Ok(ImageReader { whole, bytes: found.stored_bytes, dir, identity })
    }
}

#[cfg(test)]
mod tests;

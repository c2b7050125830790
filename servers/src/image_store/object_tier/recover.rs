//! Recovery of a directory: when a server starts, it downloads what its disk lacks.
//!
//! Guarantees: only images that the record in the object store offers are downloaded, and their
//! bases. A container gets its name when every byte is verified and synced, and after its bases.
//! What is on the disk is not touched. An image that was set aside here is not downloaded again.

use super::error::ObjectStoreError;
use super::{Listing, ObjectTier};
use crate::files::Files;
use crate::image_note;
use crate::image_store::StoreError;
use crate::image_store::image_file::{
    bases_of, container_named, expect_identity, image_name, parse_image_name,
};
use crate::image_store::record_file::{persist_record, read_record};
use ftmpi_checkpoint::container::{Verifier, note_of};
use ftmpi_protocols::image_catalogue::Record;
use ftmpi_wire::ImageId;
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::Note;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What was downloaded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of containers.
    pub containers: u64,
    /// Bytes of the containers.
    pub bytes: u64,
}

/// Downloads what is missing in `dir`, and reports what cannot be used.
///
/// # Errors
/// The object store or the disk fails.
pub async fn recover(
    object_tier: &ObjectTier,
    listing: &Listing,
    dir: &Path,
    files: &Files,
    mut say: impl FnMut(String),
) -> Result<Recovered, DownloadError> {
    let download_from = Download { object_tier, dir, files };
    let mut recovered = Recovered::default();
    let text = |e: io::Error| DownloadError::Local(format!("{}: {e}", dir.display()));
    let (mut here, mut aside) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(dir).map_err(text)? {
        let name = entry.map_err(text)?.file_name();
        let Some(name) = name.to_str() else { continue };
        here.extend(container_named(name).filter(|_| note_in(&dir.join(name)).is_ok()));
        aside.extend(parse_image_name(name, ".damaged"));
    }
    for rank in listing.ranks() {
        let record = listing.record(rank).unwrap_or_default();
        let offered: Vec<ImageId> = listing
            .of(rank)
            .filter(|name| record.offers(name.image) && !aside.contains(name))
            .collect();
        // Oldest first: the bases of an image are older, and may be offered themselves.
        for name in offered {
            let mut fetch = Fetch { download_from, listing, here: &mut here };
            match fetch.with_bases(name, &mut recovered).await {
                Ok(()) => {}
                Err(DownloadError::Damaged(why)) => say(format!(
                    "image {} of rank {rank} in the object store cannot be used: {why}",
                    name.image
                )),
                Err(why @ (DownloadError::Unreachable(_) | DownloadError::Local(_))) => {
                    return Err(why);
                }
            }
        }
        restore_record(dir, files, rank, record).map_err(text)?;
    }
    Ok(recovered)
}

/// The note of the container in this file.
fn note_in(path: &Path) -> Result<Note, StoreError> {
    let file = File::open(path)?;
    Ok(image_note::decode(&note_of(file)?)?)
}

/// Stores the record of the object store, as far as it knows more than the record on the disk.
fn restore_record(dir: &Path, files: &Files, rank: Rank, there: Record) -> io::Result<()> {
    let here = read_record(dir, rank)?;
    let record = here.map_or(there, |here| here.merged(there));
    if here == Some(record) {
        return Ok(());
    }
    persist_record(dir, files, rank, record)
}

/// Why an image was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The image is damaged or incomplete.
    #[error("{0}")]
    Damaged(String),
    /// The object store does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// The disk of this server fails, or this process lacks something.
    #[error("{0}")]
    Local(String),
}

/// From an object store into a directory.
#[derive(Clone, Copy)]
pub(in crate::image_store) struct Download<'a> {
    pub object_tier: &'a ObjectTier,
    pub dir: &'a Path,
    pub files: &'a Files,
}

impl Download<'_> {
    /// Downloads a container into a file without a name, verified and synced. Returns the file, its
    /// bytes, and the bases. Downloads follow each other.
    pub async fn download(
        self,
        name: ImageId,
    ) -> Result<(PathBuf, u64, Vec<ImageId>), DownloadError> {
        let trouble = |e: io::Error| DownloadError::Local(format!("{}: {e}", self.dir.display()));
        let part = self.dir.join(image_name(name)).with_extension("object.part");
        let _ = self.files.remove(&part);
        let file = self.files.create(&part).map_err(trouble)?;
        let mut verifier = Verifier::new();
        let (mut offset, mut damaged) = (0, None);
        let got = self
            .object_tier
            .get_container(name, |bytes| {
                if let Err(e) = verifier.push_with(bytes, &mut |_| ()) {
                    damaged = Some(e.to_string());
                    return Err(ObjectStoreError::Damaged(e));
                }
                file.write_all_at(bytes, offset)?;
                offset += bytes.len() as u64;
                Ok(())
            })
            .await;
        let note = image_note::decode(verifier.note());
        let outcome = match (damaged, got) {
            (Some(why), _) => Err(DownloadError::Damaged(why)),
            (None, Err(why)) => Err(DownloadError::Unreachable(why.to_string())),
            (None, Ok(())) => match (verifier.finish(), note) {
                (Ok(whole), Ok(note)) => expect_identity(whole.id, name)
                    .map_err(|why| DownloadError::Damaged(why.to_string()))
                    .and_then(|()| file.sync().map_err(trouble))
                    .map(|()| bases_of(name.rank, &note).collect::<Vec<_>>()),
                (Err(e), _) => Err(DownloadError::Damaged(e.to_string())),
                (_, Err(why)) => Err(DownloadError::Damaged(why.to_string())),
            },
        };
        match outcome {
            Ok(bases) => Ok((part, offset, bases)),
            Err(why) => {
                let _ = self.files.remove(&part);
                Err(why)
            }
        }
    }

    /// Gives a file its name, durably.
    pub fn publish(self, part: &Path, target: &Path) -> Result<(), DownloadError> {
        let name_of = || {
            self.files.rename(part, target)?;
            self.files.sync_dir(self.dir)
        };
        name_of()
            .map_err(|e: io::Error| DownloadError::Local(format!("{}: {e}", self.dir.display())))
    }
}

struct Fetch<'a> {
    download_from: Download<'a>,
    listing: &'a Listing,
    here: &'a mut BTreeSet<ImageId>,
}

impl Fetch<'_> {
    async fn with_bases(
        &mut self,
        name: ImageId,
        recovered: &mut Recovered,
    ) -> Result<(), DownloadError> {
        let (part, bases) = if self.here.contains(&name) {
            let note = note_in(&self.download_from.dir.join(image_name(name)));
            (None, note.map(|note| bases_of(name.rank, &note).collect()).unwrap_or_default())
        } else {
            let (part, bytes, bases) = self.download_from.download(name).await?;
            recovered.containers += 1;
            recovered.bytes += bytes;
            (Some(part), bases)
        };
        let give_up = |why| {
            if let Some(part) = &part {
                let _ = self.download_from.files.remove(part);
            }
            Err(why)
        };
        for base in bases {
            if self.here.contains(&base) {
                continue;
            }
            if !self.listing.containers.contains(&base) {
                return give_up(DownloadError::Damaged(format!(
                    "its base, image {}, is missing",
                    base.image
                )));
            }
            let (part, bytes, _) = match self.download_from.download(base).await {
                Ok(found) => found,
                Err(why) => return give_up(why),
            };
            // The places in an image name the containers that hold the bytes. A base is needed
            // without its own bases.
            let target = self.download_from.dir.join(image_name(base)).with_extension("ground");
            if let Err(why) = self.download_from.publish(&part, &target) {
                return give_up(why);
            }
            self.here.insert(base);
            recovered.containers += 1;
            recovered.bytes += bytes;
        }
        if let Some(part) = part {
            self.download_from.publish(&part, &self.download_from.dir.join(image_name(name)))?;
            self.here.insert(name);
        }
        Ok(())
    }
}

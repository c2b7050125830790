//! A server begins: what its disk lacks is taken from the depot.
//!
//! Guarantees: nothing is taken that the depot's record does not offer, but for what an offered image rests
//! on; a container gets its name only after every byte was verified and synced, and after those that it
//! rests on; what is on the disk already is not touched. An image that was set aside here is not taken
//! again.

use super::{Listing, ObjectTier};
use crate::files::Files;
use crate::image_note;
use crate::image_store::disk::{
    bases_of, container_named, expect_identity, image_name, parse_image_name, persist_record,
    read_record,
};
use ftmpi_checkpoint::container::{Verifier, note_of};
use ftmpi_protocols::image_catalogue::{ImageName, Record};
use ftmpi_wire::Rank;
use ftmpi_wire::image_store::Note;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Containers that were taken.
    pub containers: u64,
    /// And their bytes.
    pub bytes: u64,
}

/// Takes what is missing in `dir`, and says what cannot be used.
///
/// # Errors
/// The depot or the disk does not serve.
pub async fn recover(
    object_tier: &ObjectTier,
    listing: &Listing,
    dir: &Path,
    files: &Files,
    mut say: impl FnMut(String),
) -> Result<Recovered, String> {
    let way = Way { object_tier, dir, files };
    let mut recovered = Recovered::default();
    let text = |e: io::Error| format!("{}: {e}", dir.display());
    let (mut here, mut aside) = (BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(dir).map_err(text)? {
        let name = entry.map_err(text)?.file_name();
        let Some(name) = name.to_str() else { continue };
        here.extend(container_named(name).filter(|_| note_in(&dir.join(name)).is_ok()));
        aside.extend(parse_image_name(name, ".damaged"));
    }
    for rank in listing.ranks() {
        let record = listing.record(rank).unwrap_or_default();
        let offered: Vec<ImageName> = listing
            .of(rank)
            .filter(|name| record.offers(name.image) && !aside.contains(name))
            .collect();
        // Oldest first: what an image rests on is older, and may be offered itself.
        for name in offered {
            let mut fetch = Fetch { way, listing, here: &mut here };
            match fetch.with_bases(name, &mut recovered).await {
                Ok(()) => {}
                Err(Why::Image(why)) => say(format!(
                    "image {} of rank {rank} in the object store is of no use: {why}",
                    name.image
                )),
                Err(Why::Trouble(why) | Why::Here(why)) => return Err(why),
            }
        }
        restore_record(dir, files, rank, record).map_err(text)?;
    }
    Ok(recovered)
}

/// What the container in this file says of itself.
fn note_in(path: &Path) -> Result<Note, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    image_note::decode(&note_of(file).map_err(|e| e.to_string())?)
}

/// The disk's own record stands, as far as it knows more.
fn restore_record(dir: &Path, files: &Files, rank: Rank, there: Record) -> io::Result<()> {
    let here = read_record(dir, rank)?;
    let record = here.map_or(there, |here| here.merged(there));
    if here == Some(record) {
        return Ok(());
    }
    persist_record(dir, files, rank, record)
}

/// Why an image was not taken.
pub(in crate::image_store) enum Why {
    /// It is damaged or not whole.
    Image(String),
    /// The depot does not answer.
    Trouble(String),
    /// This server's disk, or this process, has not what it takes.
    Here(String),
}

/// From where to where.
#[derive(Clone, Copy)]
pub(in crate::image_store) struct Way<'a> {
    pub object_tier: &'a ObjectTier,
    pub dir: &'a Path,
    pub files: &'a Files,
}

impl Way<'_> {
    /// Into a file without a name yet, whole, verified and synced; its bytes, and what it rests on. One at a time.
    pub async fn download(self, name: ImageName) -> Result<(PathBuf, u64, Vec<ImageName>), Why> {
        let trouble = |e: io::Error| Why::Here(format!("{}: {e}", self.dir.display()));
        let part = self.dir.join(image_name(name)).with_extension("depot.part");
        let _ = self.files.remove(&part);
        let file = self.files.create(&part).map_err(trouble)?;
        let mut verifier = Verifier::new();
        let (mut offset, mut damaged) = (0, None);
        let got = self
            .object_tier
            .get_container(name, |bytes| {
                if let Err(e) = verifier.push_with(bytes, &mut |_| ()) {
                    damaged = Some(e.to_string());
                    return Err(String::new());
                }
                file.write_all_at(bytes, offset).map_err(|e| e.to_string())?;
                offset += bytes.len() as u64;
                Ok(())
            })
            .await;
        let note = image_note::decode(verifier.note());
        let outcome = match (damaged, got) {
            (Some(why), _) => Err(Why::Image(why)),
            (None, Err(why)) => Err(Why::Trouble(why)),
            (None, Ok(())) => match (verifier.finish(), note) {
                (Ok(whole), Ok(note)) => expect_identity(whole.id, name)
                    .map_err(Why::Image)
                    .and_then(|()| file.sync().map_err(trouble))
                    .map(|()| bases_of(name.rank, &note).collect::<Vec<_>>()),
                (Err(e), _) => Err(Why::Image(e.to_string())),
                (_, Err(why)) => Err(Why::Image(why)),
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

    /// It has its name, durably.
    pub fn publish(self, part: &Path, target: &Path) -> Result<(), Why> {
        let name_of = || {
            self.files.rename(part, target)?;
            self.files.sync_dir(self.dir)
        };
        name_of().map_err(|e: io::Error| Why::Here(format!("{}: {e}", self.dir.display())))
    }
}

struct Fetch<'a> {
    way: Way<'a>,
    listing: &'a Listing,
    here: &'a mut BTreeSet<ImageName>,
}

impl Fetch<'_> {
    async fn with_bases(&mut self, name: ImageName, recovered: &mut Recovered) -> Result<(), Why> {
        let (part, bases) = if self.here.contains(&name) {
            let note = note_in(&self.way.dir.join(image_name(name)));
            (None, note.map(|note| bases_of(name.rank, &note).collect()).unwrap_or_default())
        } else {
            let (part, bytes, bases) = self.way.download(name).await?;
            recovered.containers += 1;
            recovered.bytes += bytes;
            (Some(part), bases)
        };
        let give_up = |why| {
            if let Some(part) = &part {
                let _ = self.way.files.remove(part);
            }
            Err(why)
        };
        for base in bases {
            if self.here.contains(&base) {
                continue;
            }
            if !self.listing.containers.contains(&base) {
                return give_up(Why::Image(format!(
                    "image {} on which it rests is missing",
                    base.image
                )));
            }
            let (part, bytes, _) = match self.way.download(base).await {
                Ok(found) => found,
                Err(why) => return give_up(why),
            };
            // Places name containers that really hold the bytes: it is needed, not what it rests on.
            let target = self.way.dir.join(image_name(base)).with_extension("ground");
            if let Err(why) = self.way.publish(&part, &target) {
                return give_up(why);
            }
            self.here.insert(base);
            recovered.containers += 1;
            recovered.bytes += bytes;
        }
        if let Some(part) = part {
            self.way.publish(&part, &self.way.dir.join(image_name(name)))?;
            self.here.insert(name);
        }
        Ok(())
    }
}

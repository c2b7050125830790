//! The file of an image: its name, its identity, its reader.

use super::error::StoreError;
use crate::files::Source;
use ftmpi_checkpoint::container::{Assembler, Verifier};
use ftmpi_wire::image_store::{Note, SameHostFile, Stored};
use ftmpi_wire::{ImageId, ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A stored image that is open for reading. It was verified, or its reader verifies it.
#[derive(Debug)]
pub struct ImageReader {
    pub(in crate::image_store) whole: Box<Reader>,
    /// Bytes of the complete container.
    pub bytes: u64,
    pub(in crate::image_store) dir: PathBuf,
    /// The identity of the image's file.
    pub(in crate::image_store) identity: Option<[u64; 5]>,
}

pub(in crate::image_store) type Opener = Box<dyn FnMut(ImageId) -> io::Result<Source> + Send>;
pub(in crate::image_store) type Reader = Assembler<Source, Opener>;

impl ImageReader {
    /// Appends the next bytes of the complete container. `false`: there are no more.
    ///
    /// # Errors
    /// The image cannot be read any more.
    pub fn read(&mut self, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        Ok(self.whole.read(out)?)
    }

    /// Appends the next raw bytes of the image. `false`: there are no more. Encrypted images cannot
    /// be read so.
    ///
    /// # Errors
    /// The image is damaged, or cannot be read any more.
    pub fn read_raw(&mut self, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        Ok(self.whole.read_raw(out)?)
    }

    /// The image, once something was read.
    #[must_use]
    pub fn id(&self) -> Option<ImageId> {
        self.whole.id()
    }

    /// Where a process on this host finds the image, if the path is text.
    #[must_use]
    pub fn near(&self, stored: Stored) -> Option<SameHostFile> {
        let directory = self.dir.to_str()?.to_owned();
        Some(SameHostFile { stored, directory, identity: self.identity? })
    }
}

pub(in crate::image_store) fn whole(file: File, dir: PathBuf) -> Box<Reader> {
    let open = move |base| open_container(&dir, base).map(Source::cached);
    Box::new(Assembler::new(Source::cached(file), Box::new(open)))
}

/// The extensions that a container may have.
const SUFFIXES: [&str; 3] = ["image", "ground", "damaged"];

/// Opens a container in a directory of images, whether it is offered or only kept as a base.
///
/// # Errors
/// The container is not there, or cannot be read.
pub fn open_container(dir: &Path, id: ImageId) -> io::Result<File> {
    let name = dir.join(image_name(id));
    let mut result = Err(io::ErrorKind::NotFound.into());
    for suffix in SUFFIXES {
        result = File::open(name.with_extension(suffix));
        if !matches!(&result, Err(e) if e.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    result
}

pub(in crate::image_store) fn image_name(name: ImageId) -> String {
    let ImageId { rank, image, incarnation } = name;
    format!("r{:010}-i{:020}-n{:010}.image", rank.0, image.0, incarnation.0)
}

/// The image that a file name stands for. `suffix` is `.image`, `.damaged` for images that were set
/// aside, or `.ground` for bases.
#[must_use]
pub fn parse_image_name(text: &str, suffix: &str) -> Option<ImageId> {
    let mut parts = text.strip_suffix(suffix)?.split('-');
    let mut part = |letter| parts.next().and_then(|p| p.strip_prefix(letter));
    let name = ImageId {
        rank: Rank(part('r')?.parse().ok()?),
        image: ImageNo(part('i')?.parse().ok()?),
        incarnation: Incarnation(part('n')?.parse().ok()?),
    };
    parts.next().is_none().then_some(name)
}

/// The container in a file of this name, whether it is offered or only kept as a base.
pub(in crate::image_store) fn container_named(file: &str) -> Option<ImageId> {
    parse_image_name(file, ".image").or_else(|| parse_image_name(file, ".ground"))
}

/// The bases of the image with this note.
pub(in crate::image_store) fn bases_of(rank: Rank, note: &Note) -> impl Iterator<Item = ImageId> {
    note.bases.iter().map(move |&(incarnation, image)| ImageId { rank, image, incarnation })
}

/// Checks that a container is that of the expected image.
pub(in crate::image_store) fn expect_identity(
    found: ImageId,
    expected: ImageId,
) -> Result<(), StoreError> {
    match found == expected {
        true => Ok(()),
        false => Err(StoreError::OtherImage { found, expected }),
    }
}

/// What tells this file from all others, on this host and on other hosts.
pub(in crate::image_store) fn identity(about: &std::fs::Metadata) -> [u64; 5] {
    [about.dev(), about.ino(), about.ctime() as u64, about.ctime_nsec() as u64, about.len()]
}

/// The image that a container's header tells.
pub(in crate::image_store) fn id_of(mut file: &File) -> io::Result<ImageId> {
    // Enough for a header, and fewer bytes than the smallest container has.
    let mut begin = [0; 64];
    file.rewind()?;
    file.read_exact(&mut begin)?;
    let mut reader = Verifier::new();
    reader.push(&begin).map_err(io::Error::other)?;
    reader.id().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

//! Images on disk: one file each, whose name says whose it is.
//!
//! Guarantees: a file has an image's name only if it was whole, verified and synced before it got
//! it; names and records are durable when the call returns; what a dead server left half-done is
//! removed at the next start.

use crate::shell::{PrivateDir, create_private};
use anyhow::Context;
use ftmpi_checkpoint::container::{ImageId, Verifier};
use ftmpi_protocols::image_catalogue::{CheckError, ConnId, ImageCatalogue, ImageName, Record};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Disk {
    dir: PrivateDir,
}

fn image_name(name: ImageName) -> String {
    let ImageName { rank, image, incarnation } = name;
    format!("r{:010}-i{:020}-n{:010}.image", rank.0, image.0, incarnation.0)
}

fn parse_image_name(text: &str, suffix: &str) -> Option<ImageName> {
    let mut parts = text.strip_suffix(suffix)?.split('-');
    let mut part = |letter| parts.next().and_then(|p| p.strip_prefix(letter));
    let name = ImageName {
        rank: Rank(part('r')?.parse().ok()?),
        image: ImageNo(part('i')?.parse().ok()?),
        incarnation: Incarnation(part('n')?.parse().ok()?),
    };
    parts.next().is_none().then_some(name)
}

fn record_name(rank: Rank) -> String {
    format!("r{:010}.record", rank.0)
}

fn parse_record_name(text: &str) -> Option<Rank> {
    Some(Rank(text.strip_prefix('r')?.strip_suffix(".record")?.parse().ok()?))
}

fn encode_record(record: Record) -> String {
    let Record { incarnation, start_offered } = record;
    let line = format!("incarnation={incarnation} start_offered={}", u8::from(start_offered));
    format!("{line} crc={:08x}\n", crc32c::crc32c(line.as_bytes()))
}

fn decode_record(text: &str) -> Option<Record> {
    let (line, crc) = text.strip_suffix('\n')?.rsplit_once(" crc=")?;
    if u32::from_str_radix(crc, 16).ok()? != crc32c::crc32c(line.as_bytes()) {
        return None;
    }
    let (incarnation, start) = line.split_once(' ')?;
    Some(Record {
        incarnation: Incarnation(incarnation.strip_prefix("incarnation=")?.parse().ok()?),
        start_offered: start == "start_offered=1",
    })
}

impl Disk {
    /// Finds what is there, tells the catalogue, and removes what was left half-done.
    pub fn open(
        dir: PrivateDir,
        catalogue: &mut ImageCatalogue,
        mut say: impl FnMut(String),
    ) -> anyhow::Result<Self> {
        let about = || format!("directory {}", dir.path().display());
        let (mut images, mut records) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(dir.path()).with_context(about)? {
            let entry = entry.with_context(about)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let bytes = || entry.metadata().map_or(0, |m| m.len());
            if name.ends_with(".part") {
                let _ = std::fs::remove_file(entry.path());
            } else if let Some(image) = parse_image_name(name, ".image") {
                images.push((image, bytes(), false));
            } else if let Some(image) = parse_image_name(name, ".damaged") {
                images.push((image, bytes(), true));
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
                Record { incarnation: Incarnation(0), start_offered: false }
            });
            catalogue.restore_record(rank, record);
        }
        for (image, bytes, set_aside) in images {
            catalogue.restore_image(image, bytes, set_aside);
        }
        Ok(Self { dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where this connection's image lies until it is published.
    pub fn temporary(&self, conn: ConnId) -> PathBuf {
        self.path().join(format!("{}.part", conn.0))
    }

    fn image(&self, name: ImageName) -> PathBuf {
        self.path().join(image_name(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(self.path())?.sync_all()
    }

    pub fn publish(&self, temporary: &Path, name: ImageName) -> Result<(), String> {
        let publish = || {
            std::fs::rename(temporary, self.image(name))?;
            self.sync_names().inspect_err(|_| {
                // Not offered, so it must not be found later either.
                let _ = std::fs::remove_file(self.image(name));
            })
        };
        publish().map_err(|error: io::Error| error.to_string())
    }

    pub fn persist(&self, rank: Rank, record: Record) -> Result<(), String> {
        let path = self.path().join(record_name(rank));
        let temporary = self.path().join(format!("{}.part", record_name(rank)));
        let persist = || {
            let _ = std::fs::remove_file(&temporary);
            let mut file = create_private(&temporary)?;
            file.write_all(encode_record(record).as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)?;
            self.sync_names()
        };
        persist().map_err(|error: io::Error| error.to_string())
    }

    pub fn set_aside(&self, name: ImageName) {
        let path = self.image(name);
        let aside = path.with_extension("damaged");
        // If it cannot be renamed, it must at least not be found again.
        if std::fs::rename(&path, aside).is_err() {
            let _ = std::fs::remove_file(path);
        }
        let _ = self.sync_names();
    }

    pub fn remove(&self, name: ImageName) {
        let _ = std::fs::remove_file(self.image(name));
    }

    /// Reads and verifies a stored image; the open file is then sent, whatever happens to its name.
    pub fn check(&self, name: ImageName) -> Result<File, CheckError> {
        let damaged = |why: &dyn std::fmt::Display| CheckError::Damaged(why.to_string());
        let mut file = match File::open(self.image(name)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(CheckError::Gone),
            Err(e) => return Err(damaged(&e)),
        };
        let mut verifier = Verifier::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match file.read(&mut buffer).map_err(|e| damaged(&e))? {
                0 => break,
                read => verifier.push(&buffer[..read]).map_err(|e| damaged(&e))?,
            }
        }
        let whole = verifier.finish().map_err(|e| damaged(&e))?;
        expect_identity(whole.id, name).map_err(|e| damaged(&e))?;
        io::Seek::rewind(&mut file).map_err(|e| damaged(&e))?;
        Ok(file)
    }
}

fn expect_identity(id: ImageId, name: ImageName) -> Result<(), String> {
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

/// An image that is being received; its file is removed when this is dropped before it has a name.
#[derive(Debug)]
pub(super) struct Upload {
    file: File,
    path: PathBuf,
    verifier: Verifier,
}

impl Upload {
    pub fn begin(path: PathBuf) -> Result<Self, String> {
        let file = create_private(&path).map_err(|e| e.to_string())?;
        Ok(Self { file, path, verifier: Verifier::new() })
    }

    /// Verifies and stores the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.verifier.push(bytes).map_err(|e| e.to_string())?;
        self.file.write_all(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("{e} (make room on the checkpoint server's disk)")
            }
            _ => e.to_string(),
        })
    }

    /// Whether it is whole and the announced one; makes it durable.
    pub fn finish(&mut self, name: ImageName) -> Result<(), String> {
        let verifier = std::mem::take(&mut self.verifier);
        let whole = verifier.finish().map_err(|e| e.to_string())?;
        expect_identity(whole.id, name)?;
        self.file.sync_all().map_err(|e| e.to_string())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // After its publication the name is gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_and_records_survive() {
        let name =
            ImageName { rank: Rank(7), image: ImageNo(u64::MAX), incarnation: Incarnation(3) };
        assert_eq!(parse_image_name(&image_name(name), ".image"), Some(name));
        for start_offered in [false, true] {
            let record = Record { incarnation: Incarnation(12), start_offered };
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

    proptest! {
        #[test]
        fn hostile_names_and_records_never_panic(text in ".{0,80}") {
            let _ = parse_image_name(&text, ".image");
            let _ = parse_record_name(&text);
            let _ = decode_record(&text);
        }
    }
}

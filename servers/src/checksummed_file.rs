//! Small files with a checksum: a line with name, version, length and checksum, then the contents.
//!
//! Guarantees: a file is complete or not there ([`Files::replace`]), and private. A file that was
//! changed, cut or made by another version is refused with a reason.

use crate::files::Files;
use crate::tuning::files::CHECKSUMMED_BYTES_MAX;
use std::io;
use std::path::Path;

/// Puts `contents` at `path`.
///
/// # Errors
/// The old file stays.
pub fn write(
    files: &Files,
    path: &Path,
    kind: &str,
    version: u32,
    contents: &[u8],
) -> io::Result<()> {
    let crc = crc32c::crc32c(contents);
    let mut bytes =
        format!("{kind} {version} bytes={} crc32c={crc:08x}\n", contents.len()).into_bytes();
    bytes.extend_from_slice(contents);
    let mut scratch = path.as_os_str().to_owned();
    scratch.push(".part");
    files.replace(path, Path::new(&scratch), &bytes)
}

/// The contents of a file.
///
/// # Errors
/// The file cannot be read, is of another kind or version, or is damaged.
pub fn read(path: &Path, kind: &str, version: u32) -> io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.len() > CHECKSUMMED_BYTES_MAX {
        return Err(bad("it is impossibly long"));
    }
    decode(&std::fs::read(path)?, kind, version)
}

fn decode(bytes: &[u8], kind: &str, version: u32) -> io::Result<Vec<u8>> {
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| bad("it is cut short"))?;
    let line = std::str::from_utf8(&bytes[..end]).map_err(|_| bad("it is damaged"))?;
    let contents = &bytes[end + 1..];
    let mut words = line.split(' ');
    if words.next() != Some(kind) {
        return Err(bad("it is something else"));
    }
    let theirs = words.next().unwrap_or_default();
    if theirs != version.to_string() {
        let why = format!("it has format {theirs}, this program writes {version}");
        return Err(bad(&why));
    }
    let rest = format!("bytes={} crc32c={:08x}", contents.len(), crc32c::crc32c(contents));
    if words.collect::<Vec<_>>().join(" ") != rest {
        return Err(bad("its checksum is wrong"));
    }
    Ok(contents.to_vec())
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_written_is_read_and_replaced_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan");
        let files = Files::default();
        for contents in [&b"first\nline"[..], b""] {
            write(&files, &path, "a-plan", 3, contents).unwrap();
            assert_eq!(read(&path, "a-plan", 3).unwrap(), contents);
        }
        assert!(read(&path, "a-plan", 4).unwrap_err().to_string().contains("format 3"));
        assert!(read(&path, "other", 3).unwrap_err().to_string().contains("something else"));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    proptest! {
        #[test]
        fn changes_are_seen(at: prop::sample::Index, bit in 0u8..8, cut: bool) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("plan");
            write(&Files::default(), &path, "kind", 1, b"some contents").unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << bit;
            }
            prop_assert!(decode(&bytes, "kind", 1).is_err());
        }
    }
}

//! What files need of the file system. The runtime implements it; without one there are no files.

use crate::error::{ErrorClass, MpiError, Result};
use crate::usermem::UserPtr;
use std::path::Path;

/// An open file of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub u32);

/// Identities are below this.
pub const IDENTITIES: u64 = 1 << 62;

/// How to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Open {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
}

/// What a file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Doing {
    Opened,
    Deleted,
    Read,
    Written,
    Examined,
    Resized,
    Extended,
    Synchronised,
    Locked,
}

impl Doing {
    const ALL: [(Doing, &'static str); 9] = [
        (Doing::Opened, "opened"),
        (Doing::Deleted, "deleted"),
        (Doing::Read, "read"),
        (Doing::Written, "written"),
        (Doing::Examined, "examined"),
        (Doing::Resized, "resized"),
        (Doing::Extended, "extended"),
        (Doing::Synchronised, "synchronised"),
        (Doing::Locked, "locked"),
    ];
}

/// A refusal of the file system, and its code: with class and path it is the whole error. It is
/// recorded, so that a later incarnation that repeats the call gives the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// What the file was used for.
    pub doing: Doing,
    /// `errno`.
    pub code: u16,
}

impl Refusal {
    /// Bits of [`Refusal::bits`].
    pub const BITS: u32 = 24;

    /// The error for the program.
    #[must_use]
    pub fn of(self, class: ErrorClass, path: &Path) -> MpiError {
        let system = std::io::Error::from_raw_os_error(i32::from(self.code));
        let what = Doing::ALL[self.doing as usize].1;
        let text = format!("'{}' cannot be {what}: {system}", path.display());
        MpiError { refusal: Some(self), ..class.because(text) }
    }

    /// As a number that is not 0.
    #[must_use]
    pub fn bits(self) -> u64 {
        (self.doing as u64 + 1) << 16 | u64::from(self.code)
    }

    /// From that number.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        let (doing, _) = *Doing::ALL.get((bits >> 16 & 0xff).checked_sub(1)? as usize)?;
        Some(Self { doing, code: bits as u16 })
    }
}

/// The file system. Errors say which file, and what the system answered.
pub trait Disk {
    /// Opens a file.
    fn open(&mut self, path: &Path, how: Open) -> Result<Handle>;
    /// Closes it.
    fn close(&mut self, file: Handle);
    /// A number that tells the file at a path from every other file that is or was there. It is 0
    /// if there is none, else at least 2 and below [`IDENTITIES`].
    fn identity(&mut self, path: &Path) -> u64;
    /// A new file without a name in the directory of a path, and its [identity](Disk::identity).
    /// `None` where the file system has no such files.
    fn unnamed(&mut self, path: &Path, how: Open) -> Option<(Handle, u64)>;
    /// The [identity](Disk::identity) of an open file. The file stays for replays: see
    /// [`Disk::open_again`].
    fn keep(&mut self, file: Handle) -> u64;
    /// Opens the file with this identity in a replay, whatever has become of its names. If the file
    /// is not there any more: what is at the path.
    fn open_again(&mut self, path: &Path, how: Open, identity: u64) -> Result<Handle>;
    /// Gives it this name, which must be free.
    fn name(&mut self, file: Handle, path: &Path) -> Result<()>;
    /// Removes a path.
    fn delete(&mut self, path: &Path) -> Result<()>;
    /// Reads at a place; fewer bytes than asked for only at the end of the file.
    fn read(&mut self, file: Handle, at: u64, into: UserPtr, len: usize) -> Result<usize>;
    /// Writes at a place, everything.
    fn write(&mut self, file: Handle, at: u64, from: UserPtr, len: usize) -> Result<()>;
    /// Bytes in the file.
    fn size(&mut self, file: Handle) -> Result<u64>;
    /// Cuts or extends it.
    fn set_size(&mut self, file: Handle, bytes: u64) -> Result<()>;
    /// Makes sure that there is room for so many bytes.
    fn preallocate(&mut self, file: Handle, bytes: u64) -> Result<()>;
    /// Everything written is on the device when this returns.
    fn sync(&mut self, file: Handle) -> Result<()>;
    /// Keeps other processes off a range until it is unlocked; `shared` admits other readers.
    fn lock(&mut self, file: Handle, from: u64, to: u64, shared: bool) -> Result<()>;
    /// Ends it.
    fn unlock(&mut self, file: Handle, from: u64, to: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_repeats_its_text() {
        for (index, (doing, word)) in Doing::ALL.into_iter().enumerate() {
            assert_eq!(doing as usize, index);
            let refusal = Refusal { doing, code: 2 };
            assert!(refusal.bits() != 0 && refusal.bits() >> Refusal::BITS == 0);
            assert_eq!(Refusal::from_bits(refusal.bits()), Some(refusal));
            let error = refusal.of(ErrorClass::NoSuchFile, Path::new("some/path"));
            assert!(error.text.contains("some/path") && error.text.contains(word), "{error}");
        }
        assert_eq!(Refusal::from_bits(0), None);
        assert_eq!(Refusal::from_bits(0xff << 16), None);
    }
}

//! What files need of the file system. The runtime implements it; without one there are no files.

use crate::error::Result;
pub use crate::error::{Doing, Refusal};
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

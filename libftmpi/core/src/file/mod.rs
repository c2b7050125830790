//! Files of MPI (MPI-3.1, chapter 13), as far as they need neither a file system nor messages.
//!
//! | file | what |
//! | --- | --- |
//! | `view` | which bytes of the file a process sees |
//! | `represent` | `external32` and what the program registers |
//! | `disk` | what is needed of the file system |
//! | `together` | who does what in a collective access |
//! | `mpi::files`, `mpi::file_access`, `mpi::file_together` | the calls |

pub mod disk;
pub mod represent;
pub mod together;
pub mod view;

use crate::bail;
use crate::comm::Members;
use crate::error::Result;
use crate::ids::{CommId, ErrhandlerId, FileId, WinId};
use crate::info::Info;
use crate::slab::Slab;
use crate::status::Status;
use disk::Handle;
use std::path::PathBuf;
use std::rc::Rc;
use view::View;

/// Access modes of `MPI_File_open`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Mode {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub delete_on_close: bool,
    pub unique: bool,
    pub sequential: bool,
    pub append: bool,
}

/// A split collective operation that was begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Which call ends it.
    pub kind: &'static str,
    /// Its result.
    pub status: Status,
}

/// An open file.
pub struct File {
    /// The communicator of its own.
    pub comm: CommId,
    /// Its members.
    pub members: Rc<Members>,
    /// Its path.
    pub path: PathBuf,
    /// The access mode, decoded.
    pub mode: Mode,
    /// The access mode as the program gave it.
    pub amode: i32,
    /// In the file system; `None` where it is not there any more (in a replay).
    pub handle: Option<Handle>,
    /// What this process sees.
    pub view: View,
    /// The individual pointer, in elementary types.
    pub position: i64,
    /// The counter behind the shared pointer.
    pub shared: WinId,
    /// Atomic mode.
    pub atomic: bool,
    /// Hints given by the program.
    pub info: Info,
    /// The error handler.
    pub errhandler: ErrhandlerId,
    /// The split collective operation between its begin and its end.
    pub split: Option<Split>,
}

/// Bytes that were recorded, and the image since which they count.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) image: u64,
    pub(crate) bytes: u64,
}

/// All files of a rank.
#[derive(Default)]
pub struct Files {
    table: Slab<File>,
    /// Handler of new files, and of errors that belong to none.
    pub default_errhandler: Option<ErrhandlerId>,
    /// Representations that the program registered; they stay.
    pub representations: Vec<Rc<represent::Custom>>,
    /// Bytes of files that were recorded since the newest image.
    pub(crate) recorded: Recorded,
}

impl Files {
    /// Enters a file.
    pub fn insert(&mut self, file: File) -> Result<FileId> {
        Ok(FileId(self.table.insert(file)?))
    }

    /// Takes a file out.
    pub fn remove(&mut self, id: FileId) -> Option<File> {
        self.table.remove(id.0)
    }

    /// The file with this number.
    pub fn get(&self, id: FileId) -> Result<&File> {
        match self.table.get(id.0) {
            Some(file) => Ok(file),
            None => bail!(File, "there is no file number {}: was it closed?", id.0),
        }
    }

    /// The file with this number, to be changed.
    pub fn get_mut(&mut self, id: FileId) -> Result<&mut File> {
        match self.table.get_mut(id.0) {
            Some(file) => Ok(file),
            None => bail!(File, "there is no file number {}: was it closed?", id.0),
        }
    }
}

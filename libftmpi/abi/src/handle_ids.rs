//! The ids of the core that handles of communicators, windows, files and error handlers name.

use crate::handle::{Comm, Errhandler, Win};
use ftmpi_core::bail;
use ftmpi_core::error::Result;
use ftmpi_core::ids::{CommId, ErrhandlerId, FileId, WinId};

impl Comm {
    /// The communicator that this handle names.
    #[inline(always)]
    pub fn id(self) -> Result<CommId> {
        if self == Self::WORLD {
            return Ok(CommId::WORLD);
        }
        self.other_id()
    }

    fn other_id(self) -> Result<CommId> {
        match (self, self.made_index()) {
            (Self::SELF, _) => Ok(CommId::SELF),
            (_, Some(index)) if index > CommId::SELF.0 => Ok(CommId(index)),
            _ => Err(self.refuse()),
        }
    }

    /// The handle of a communicator of the core.
    pub fn of(id: CommId) -> Self {
        match id {
            CommId::WORLD => Self::WORLD,
            CommId::SELF => Self::SELF,
            CommId(index) => Self::made(index),
        }
    }

    /// The handle of a communicator of which this process may not be a member.
    pub fn of_member(id: Option<CommId>) -> Self {
        id.map_or(Self::NULL, Self::of)
    }
}

impl Win {
    /// The window that this handle names.
    pub fn id(self) -> Result<WinId> {
        match self.made_index() {
            Some(index) => Ok(WinId(index)),
            None => Err(self.refuse()),
        }
    }

    pub fn of(id: WinId) -> Self {
        Self::made(id.0)
    }
}

/// `MPI_File`: a pointer in C, here the number of the file plus one; null is `MPI_FILE_NULL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct File(pub usize);

impl File {
    pub const NULL: Self = Self(0);

    /// The file that this handle names.
    pub fn id(self) -> Result<FileId> {
        match self.0.checked_sub(1).and_then(|index| u32::try_from(index).ok()) {
            Some(index) => Ok(FileId(index)),
            None if self == Self::NULL => bail!(File, "MPI_FILE_NULL was given"),
            None => bail!(File, "{:#x} is no file handle", self.0),
        }
    }

    pub fn of(id: FileId) -> Self {
        Self(id.0 as usize + 1)
    }

    /// The file, or `None` for `MPI_FILE_NULL`.
    pub fn optional_id(self) -> Result<Option<FileId>> {
        if self == Self::NULL { Ok(None) } else { self.id().map(Some) }
    }
}

impl Errhandler {
    /// The handler that this handle names.
    pub fn id(self) -> Result<ErrhandlerId> {
        match (self, self.made_index()) {
            (Self::ARE_FATAL, _) => Ok(ErrhandlerId::FATAL),
            (Self::RETURN, _) => Ok(ErrhandlerId::RETURN),
            (Self::ABORT, _) => Ok(ErrhandlerId::ABORT),
            (Self::THROW, _) => Ok(ErrhandlerId::THROW),
            (_, Some(index)) if index > ErrhandlerId::DEFAULT.0 => Ok(ErrhandlerId(index)),
            _ => Err(self.refuse()),
        }
    }

    pub fn of(id: ErrhandlerId) -> Self {
        match id {
            ErrhandlerId::FATAL => Self::ARE_FATAL,
            ErrhandlerId::RETURN => Self::RETURN,
            ErrhandlerId::ABORT => Self::ABORT,
            ErrhandlerId::THROW => Self::THROW,
            ErrhandlerId(index) => Self::made(index),
        }
    }
}

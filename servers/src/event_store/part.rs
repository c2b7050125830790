//! The part of a segment that a round makes durable.

use super::segment;
use crate::files::StoreFile;
use ftmpi_wire::{EventNo, Rank};
use std::io;
use std::sync::Arc;

/// The first bytes of a segment, which nobody changes any more.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub file: Arc<StoreFile>,
    pub first: EventNo,
    pub bytes: u64,
}

impl Part {
    pub fn sync(&self, rank: Rank) -> io::Result<()> {
        if self.file.is_doubted() {
            // The bytes are written once more from the copy of the system, which must be what was
            // written.
            let mut bytes = std::fs::read(self.file.path())?;
            bytes.truncate(self.bytes as usize);
            let whole = segment::check_header(&bytes, rank, self.first).is_ok()
                && segment::scan(&bytes, self.first, |_, _| ()).0 as u64 == self.bytes;
            if !whole {
                let path = self.file.path().display();
                return Err(io::Error::other(format!("the disk has lost a part of {path}")));
            }
        }
        self.file.sync_first(self.bytes)
    }
}

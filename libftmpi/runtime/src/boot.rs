//! The boot library's table, if it is loaded and speaks our version.

use ftmpi_checkpoint::boot_abi::{BootTable, SYMBOL, VERSION};

/// The table.
#[derive(Debug, Clone, Copy)]
pub struct Boot(pub(crate) &'static BootTable);

impl Boot {
    /// Looks for the boot library in this process.
    #[must_use]
    pub fn find() -> Option<Self> {
        // SAFETY: the name is zero-terminated; the symbol, if there is one, is the static table.
        let table = unsafe {
            libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr().cast()).cast::<BootTable>().as_ref()
        }?;
        (table.version == VERSION && table.is_rank == 1).then_some(Self(table))
    }

    /// The number of the calling thread ([`BootTable::thread`]).
    #[must_use]
    pub fn thread(&self) -> u32 {
        (self.0.thread)()
    }

    /// Address and length of the range reserved for shared memory.
    #[must_use]
    pub fn window(&self) -> (usize, usize) {
        (self.0.window_base as usize, self.0.window_len as usize)
    }
}

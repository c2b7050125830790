//! The address layout of the process: what the kernel placed when it started the program.

use crate::base::procfs::Entry;
use crate::base::syscalls;

/// Addresses that the kernel chose when it started the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    pub vdso_start: u64,
    pub vdso_end: u64,
    pub stack_start: u64,
    pub stack_end: u64,
}

impl Layout {
    /// Notes a mapping if the kernel placed it.
    pub fn add_mapping(&mut self, entry: &Entry<'_>) {
        match entry.name {
            b"[vdso]" => (self.vdso_start, self.vdso_end) = (entry.start, entry.end),
            b"[stack]" => (self.stack_start, self.stack_end) = (entry.start, entry.end),
            _ => {}
        }
    }

    /// A hash of the vDSO: the C library remembers addresses inside it.
    pub fn vdso_hash(&self) -> u64 {
        let len = (self.vdso_end - self.vdso_start) as usize;
        if len == 0 {
            return 0;
        }
        // SAFETY: the kernel mapped the vDSO readable for as long as the process lives.
        let bytes = unsafe { core::slice::from_raw_parts(self.vdso_start as *const u8, len) };
        ftmpi_checkpoint::host::vdso_hash(bytes)
    }
}

/// Whether the address layout is fixed. Otherwise no new process would fit the image.
pub fn layout_is_fixed() -> bool {
    // SAFETY: this argument only asks.
    let now = unsafe { syscalls::call!(libc::SYS_personality, 0xffff_ffffusize) }.unwrap_or(0);
    now & libc::ADDR_NO_RANDOMIZE as usize != 0
}

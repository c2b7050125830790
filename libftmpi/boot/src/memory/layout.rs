//! The address layout of the process: what the kernel placed when it started the program.

use crate::base::procfs::{self, Entry, Lines};
use crate::base::syscalls::{self, Errno};
use ftmpi_checkpoint::boot_abi::{
    RESERVED_AREA_BASE, VDSO_SLOT_LEN, VDSO_SLOTS, VDSO_SLOTS_BASE, WINDOW_BASE, WINDOW_LEN,
};
use ftmpi_checkpoint::stream::ProcessState;

/// Addresses that the kernel chose when it started the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Start of the lowest mapping right below the vDSO with data for it; 0: none seen.
    vvar_start: u64,
    /// End of the mappings with data that were seen so far.
    vvar_end: u64,
    pub vdso_start: u64,
    pub vdso_end: u64,
    pub stack_start: u64,
    pub stack_end: u64,
}

impl Layout {
    /// Notes a mapping if the kernel placed it.
    pub fn add_mapping(&mut self, entry: &Entry<'_>) {
        match entry.name {
            name if name.starts_with(b"[vvar") => {
                if self.vvar_end != entry.start {
                    self.vvar_start = entry.start;
                }
                self.vvar_end = entry.end;
            }
            b"[vdso]" => (self.vdso_start, self.vdso_end) = (entry.start, entry.end),
            b"[stack]" => (self.stack_start, self.stack_end) = (entry.start, entry.end),
            _ => {}
        }
    }

    /// Start of the data for the vDSO, or of itself.
    pub fn vvar_start(&self) -> u64 {
        if self.vvar_end == self.vdso_start && self.vvar_end != 0 {
            self.vvar_start
        } else {
            self.vdso_start
        }
    }

    /// The contents of the vDSO.
    pub fn vdso(&self) -> &[u8] {
        let len = (self.vdso_end - self.vdso_start) as usize;
        if len == 0 {
            return &[];
        }
        // SAFETY: the kernel mapped the vDSO readable for as long as the process lives.
        unsafe { core::slice::from_raw_parts(self.vdso_start as *const u8, len) }
    }

    /// A hash of the vDSO.
    pub fn vdso_hash(&self) -> u64 {
        ftmpi_checkpoint::host::vdso_hash(self.vdso())
    }
}

/// Whether the process's places can be told to the kernel (`CONFIG_CHECKPOINT_RESTORE`).
pub fn can_be_told() -> bool {
    let mut len = 0u32;
    // SAFETY: asks for the length of a structure, which is written to a local.
    unsafe {
        syscalls::call!(libc::SYS_prctl, PR_SET_MM, PR_SET_MM_MAP_SIZE, &raw mut len, 0, 0).is_ok()
    }
}

/// Tells the kernel where the heap, the stack, the arguments and the environment of a restored
/// process are: else the heap would grow where the new process had its own.
pub fn tell(process: &ProcessState) -> Result<(), Errno> {
    let [code, code_end, data, data_end, stack, rest @ ..] = process.places;
    let [arguments, arguments_end, environment, environment_end] = rest;
    let map = MemoryMap {
        places: [
            code,
            code_end,
            data,
            data_end,
            process.heap_start,
            process.heap_end,
            stack,
            arguments,
            arguments_end,
            environment,
            environment_end,
        ],
        auxv: 0,
        auxv_len: 0,
        executable: u32::MAX,
    };
    let len = size_of::<MemoryMap>();
    // SAFETY: the structure is the kernel's `prctl_mm_map`, and lives over the call.
    unsafe { syscalls::call!(libc::SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &raw const map, len, 0) }
        .map(|_| ())
}

/// The kernel's `struct prctl_mm_map`.
#[repr(C)]
struct MemoryMap {
    places: [u64; 11],
    auxv: u64,
    auxv_len: u32,
    /// No other executable.
    executable: u32,
}

const PR_SET_MM: i32 = 35;
const PR_SET_MM_MAP: i32 = 14;
const PR_SET_MM_MAP_SIZE: i32 = 15;

/// Whether a mapping of the program is where this library must be, or images may put a vDSO.
pub fn is_in_the_way() -> bool {
    const OURS: [(usize, usize); 2] = [
        (RESERVED_AREA_BASE, VDSO_SLOTS_BASE + VDSO_SLOTS * VDSO_SLOT_LEN),
        (WINDOW_BASE, WINDOW_BASE + WINDOW_LEN),
    ];
    let mut text = [0; 1024];
    let Ok(mut lines) = Lines::open(c"/proc/self/maps", &mut text) else { return false };
    while let Ok(Some(line)) = lines.next() {
        let Some(entry) = procfs::entry(line) else { continue };
        let meets =
            |&(start, end): &(usize, usize)| entry.start < end as u64 && entry.end > start as u64;
        if OURS.iter().any(meets) {
            return true;
        }
    }
    false
}

/// Whether address space layout randomisation is off.
pub fn layout_is_fixed() -> bool {
    // SAFETY: this argument only asks.
    let now = unsafe { syscalls::call!(libc::SYS_personality, 0xffff_ffffusize) }.unwrap_or(0);
    now & libc::ADDR_NO_RANDOMIZE as usize != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_way_is_seen() {
        assert!(!is_in_the_way());
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
        for at in [RESERVED_AREA_BASE, VDSO_SLOTS_BASE, WINDOW_BASE + WINDOW_LEN - 4096] {
            // SAFETY: replaces nothing, and nobody uses it.
            unsafe {
                assert_eq!(syscalls::map_anonymous(at, 4096, libc::PROT_NONE, flags), Ok(at));
                assert!(is_in_the_way());
                syscalls::unmap(at, 4096).unwrap();
            }
        }
    }
}

//! Finds the pages of a mapping that were written, and guard pages. In the image child.

use crate::base::procfs;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::tuning::SCAN_REGIONS;

/// Uses `PAGEMAP_SCAN`, or on older kernels `/proc/self/pagemap`.
pub struct Scanner {
    fd: i32,
    no_scan: bool,
    /// The kernel tells guard pages (`MADV_GUARD_INSTALL`), which must not be touched.
    knows_guards: bool,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ScanArg {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGEMAP_SCAN: usize = 0xc060_6610;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;
const PAGE_IS_GUARD: u64 = 1 << 8;
/// Bits of an entry of `/proc/self/pagemap`.
const PAGEMAP_PRESENT: u64 = 1 << 63;
const PAGEMAP_SWAPPED: u64 = 1 << 62;
const PAGEMAP_FILE: u64 = 1 << 61;

impl Scanner {
    pub fn new() -> Self {
        Self { fd: -1, no_scan: false, knows_guards: false }
    }

    fn open(&mut self) -> Result<(), i32> {
        if self.fd < 0 {
            self.fd = procfs::open_own(c"/proc/self/pagemap", libc::O_RDONLY | libc::O_CLOEXEC)?;
        }
        Ok(())
    }

    /// Calls `found(from, to)` for each run of private pages that were written.
    pub fn each(
        &mut self,
        area: &ReservedArea,
        start: u64,
        end: u64,
        mut found: impl FnMut(u64, u64) -> Result<(), i32>,
    ) -> Result<(), i32> {
        self.open()?;
        if !self.no_scan {
            let not =
                PAGE_IS_FILE | PAGE_IS_PFNZERO | if self.knows_guards { PAGE_IS_GUARD } else { 0 };
            let asked = ScanArg {
                category_inverted: not,
                category_mask: not,
                category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                return_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                ..ScanArg::default()
            };
            match self.by_scan(area, start, end, asked, &mut found) {
                Err(libc::ENOTTY | libc::EINVAL | libc::ENOSYS) => self.no_scan = true,
                other => return other,
            }
        }
        self.by_entries(area, start, end, &mut found)
    }

    /// Calls `found` for each run of guard pages. Kernels before 6.15 do not tell guard pages;
    /// there are taken to be none.
    pub fn guards(
        &mut self,
        area: &ReservedArea,
        start: u64,
        end: u64,
        mut found: impl FnMut(u64, u64) -> Result<(), i32>,
    ) -> Result<(), i32> {
        self.open()?;
        let asked = ScanArg {
            category_mask: PAGE_IS_GUARD,
            return_mask: PAGE_IS_GUARD,
            ..ScanArg::default()
        };
        match self.by_scan(area, start, end, asked, &mut found) {
            Err(libc::ENOTTY | libc::EINVAL | libc::ENOSYS) => Ok(()),
            result => {
                self.knows_guards = true;
                result
            }
        }
    }

    fn by_scan(
        &self,
        area: &ReservedArea,
        start: u64,
        end: u64,
        asked: ScanArg,
        found: &mut impl FnMut(u64, u64) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let regions = area.scan();
        let mut from = start;
        while from < end {
            let mut arg = ScanArg {
                size: size_of::<ScanArg>() as u64,
                start: from,
                end,
                vec: regions.as_mut_ptr() as u64,
                vec_len: SCAN_REGIONS as u64,
                ..asked
            };
            // SAFETY: the argument and the vector are valid.
            let count =
                unsafe { syscalls::call!(libc::SYS_ioctl, self.fd, PAGEMAP_SCAN, &raw mut arg) }?;
            // Each region is three words: start, end, categories.
            for region in regions[..count * 3].chunks_exact(3) {
                found(region[0], region[1])?;
            }
            // The vector is full: there may be more. `walk_end` is not reliable then.
            match regions[..count * 3].chunks_exact(3).last() {
                Some(last) if count == SCAN_REGIONS => from = last[1],
                _ => break,
            }
        }
        Ok(())
    }

    fn by_entries(
        &self,
        area: &ReservedArea,
        start: u64,
        end: u64,
        found: &mut impl FnMut(u64, u64) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let words = area.scan();
        let mut at = start;
        let mut run: Option<u64> = None;
        while at < end {
            let pages = words.len().min(((end - at) / 4096) as usize);
            // SAFETY: the words as bytes; any value is valid.
            let bytes = unsafe {
                core::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), pages * 8)
            };
            let got = syscalls::pread(self.fd, bytes, at / 4096 * 8)? / 8;
            if got == 0 {
                return Err(libc::EIO);
            }
            for word in &words[..got] {
                let there = word & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED) != 0;
                match (there && word & PAGEMAP_FILE == 0, run) {
                    (true, None) => run = Some(at),
                    (false, Some(from)) => {
                        found(from, at)?;
                        run = None;
                    }
                    _ => {}
                }
                at += 4096;
            }
        }
        run.map_or(Ok(()), |from| found(from, end))
    }
}

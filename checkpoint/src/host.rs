//! What binds an image to a host: the features of its processor and the contents of its vDSO.
//!
//! Guarantee: the boot library and the launcher get the same values from here. The boot library
//! takes and restores images; the launcher compares hosts before it starts a job.
#![allow(unsafe_code)]

use crate::stream::{Hash, Processor};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The kind of processor of this host.
#[must_use]
pub fn processor() -> Processor {
    use core::arch::x86_64::__cpuid_count as cpuid;
    // Leaf 7, edx, bit 15: hybrid; differs between the cores of one processor.
    const VARIES: u32 = 1 << 15;
    let (one, seven, seven_one) = (cpuid(1, 0), cpuid(7, 0), cpuid(7, 1));
    let extended = cpuid(0x8000_0001, 0);
    let mut found = Processor {
        features: [
            one.ecx,
            one.edx,
            seven.ebx,
            seven.ecx,
            seven.edx & !VARIES,
            seven_one.eax,
            extended.ecx,
            extended.edx,
        ],
        ..Processor::default()
    };
    const OSXSAVE: u32 = 1 << 27;
    if one.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE says that the instruction exists; register 0 always exists.
        unsafe {
            core::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        }
        found.xcr0 = u64::from(low) | u64::from(high) << 32;
        found.xsave_len = u64::from(cpuid(0xd, 0).ebx);
    }
    found
}

/// Hash of the contents of a vDSO, as images hold it. The C library keeps addresses inside the
/// vDSO.
#[must_use]
pub fn vdso_hash(contents: &[u8]) -> u64 {
    if contents.is_empty() { 0 } else { Hash::new().with(contents).value() }
}

/// [`vdso_hash`] of this host; `None` if this process cannot read its own vDSO.
#[must_use]
pub fn vdso_hash_here() -> Option<u64> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let range = maps.lines().find(|line| line.ends_with("[vdso]"))?.split(' ').next()?;
    let (start, end) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let mut contents = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut contents, start).ok()?;
    Some(vdso_hash(&contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_host_always_gives_the_same_values() {
        assert_eq!(processor(), processor());
        assert_ne!(processor(), Processor::default());
        assert_eq!(vdso_hash_here(), vdso_hash_here());
        assert!(vdso_hash_here().is_some_and(|hash| hash != 0));
        assert_ne!(vdso_hash(b"one kernel"), vdso_hash(b"another"));
    }
}

//! The kind of processor that this host has.

use core::arch::asm;
use ftmpi_checkpoint::stream::Processor;

/// The kind of processor.
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
        // SAFETY: OSXSAVE says that the instruction is there; register 0 always is.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        }
        found.xcr0 = u64::from(low) | u64::from(high) << 32;
        found.xsave_len = u64::from(cpuid(0xd, 0).ebx);
    }
    found
}

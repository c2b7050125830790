//! Copies of payload, fast at every alignment.
//!
//! The C library copies blocks of more than a few KiB with `rep movsb` where the processor calls
//! that fast. On AMD processors (Zen 3 and 4; glibc bug 30994) it is slow if the target lies 1 to
//! 31 bytes behind the source modulo 4096. A loop over vector registers is many times as fast
//! there. That case is usual here: large arrays of a program begin 16 bytes after a page
//! (`malloc`'s header), rings and logs at its start.
//!
//! Between two processors the string instruction is the better one on Intel and Zen 5. It takes
//! possession of whole lines of the target without fetching them first. So what goes from one
//! processor to another has its own copy function ([`across`]). Rings lay a payload so that the
//! slow case above does not occur. On Intel processors the string instruction is the way for all
//! long copies. On Zen 3 and 4 it fetches the lines after all, and vector registers are as good.
//! There a reader copies backwards ([`take`]).
//!
//! Measurements: `docs/performance/log.md`, "Copies".

const LINE: usize = 64;
/// Below this `memcpy` uses vector registers itself.
const SMALL: usize = 1024;
/// From here on `rep movsb` pays for its start (where it is the way).
#[cfg(target_arch = "x86_64")]
const STRING: usize = 2048;

/// Copies `len` bytes; the ranges may overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len < SMALL || from.addr().abs_diff(to.addr()) < len {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy(from, to, len) }
    } else {
        // SAFETY: as the caller promises; the ranges do not overlap.
        unsafe { long(from, to, len) }
    }
}

/// Copies `len` bytes between ranges that do not overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn copy_apart(from: *const u8, to: *mut u8, len: usize) {
    if len < SMALL {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
    } else {
        // SAFETY: as the caller promises.
        unsafe { long(from, to, len) }
    }
}

/// Copies `len` bytes between ranges that do not overlap, where one lies in another processor's
/// cache: a ring that is written or read.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn across(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= STRING && way::of_this_processor() & way::ACROSS != 0 && !is_slow(from, to) {
        // SAFETY: as the caller promises.
        unsafe { string(from, to, len) };
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { owned(from, to, len) }
}

/// As [`across`], for a reader whose writer goes on behind what is read. Forwards, the processor
/// asks by itself for lines that follow, which the writer is about to fill. So it goes backwards
/// where that is a loss.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn take(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= 4 * LINE && way::of_this_processor() & way::BACK != 0 {
        // SAFETY: BACK implies AVX; the rest as the caller promises.
        unsafe { avx_backwards(from, to, len) };
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { across(from, to, len) }
}

/// Whether [`take`] goes backwards.
#[inline]
#[must_use]
pub fn takes_backwards() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        way::of_this_processor() & way::BACK != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Bytes of a ring between two processors, if it is to be so long that its lines have left the
/// reader's nearest caches when they are written again. On Zen 3 and 4 the writer gets them several
/// times as fast from the common cache: twice the second-level cache, a power of two.
#[must_use]
pub fn ring_bytes() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    if way::of_this_processor() & way::BACK != 0 {
        let kib = std::arch::x86_64::__cpuid(0x8000_0006).ecx >> 16;
        return (kib > 0).then(|| (u64::from(kib) << 11).next_power_of_two());
    }
    None
}

/// As [`across`], for the writer: where it pays, lines of the target are asked for well before they
/// are stored to.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn give(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= SMALL && way::of_this_processor() & way::AHEAD != 0 {
        // SAFETY: AHEAD implies AVX; the rest as the caller promises.
        unsafe { avx::<true>(from, to, len) };
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { across(from, to, len) }
}

/// Whether it pays to ask for lines of a target before they are stored to ([`own`]), for as much as
/// a few pages.
#[inline]
#[must_use]
pub fn owns_ahead() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        way::of_this_processor() & way::AHEAD != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Asks for the cache line at `at`, to write it soon. Any address will do.
#[inline(always)]
pub fn own(at: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that changes nothing and cannot fault, whatever the address.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Moves the lines from `at` on, which were just written, to the cache that this processor shares
/// with the reader's. Does nothing on a processor without such an instruction. Any address will do.
#[inline]
pub fn demote(at: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if way::of_this_processor() & way::DEMOTE != 0 {
        for line in (0..len).step_by(LINE) {
            // SAFETY: `cldemote [rdi]`, a hint that changes nothing and cannot fault, whatever the
            // address.
            unsafe {
                std::arch::asm!(".byte 0x0f, 0x1c, 0x07", in("rdi") at.wrapping_add(line),
                    options(nostack, preserves_flags))
            };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, len);
}

/// Whether [`across`] takes possession of a target's lines without fetching them.
#[inline]
#[must_use]
pub fn takes_lines_whole() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        way::of_this_processor() & way::ACROSS != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A moment between a copy with [`across`] and the store that announces it.
///
/// On AMD processors the string instruction ends before its last lines are there. A store right
/// behind it is ready too early, and reaches its reader later than one that waits for some 30 ns.
/// No barrier does it, and reading the last line back even less.
#[inline]
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    if way::of_this_processor() & (way::ACROSS | way::STRING) == way::ACROSS {
        std::hint::spin_loop();
        std::hint::spin_loop();
    }
}

/// Bytes by which a target has to lie behind the begin of a line, for [`across`] to be fast from
/// here.
#[inline]
#[must_use]
pub fn shift_for(from: *const u8) -> usize {
    from.addr() % LINE
}

/// Copies `len` bytes between ranges that do not overlap, where the lines of the target were asked
/// for beforehand: a few KiB, with vector registers.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn owned(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= LINE && way::of_this_processor() & way::AVX != 0 {
        // SAFETY: the processor has AVX; the rest as the caller promises.
        unsafe { avx::<false>(from, to, len) };
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { copy_apart(from, to, len) }
}

/// The target lies 1 to 31 bytes behind the source, modulo a page.
#[inline]
fn is_slow(from: *const u8, to: *const u8) -> bool {
    (from.addr().wrapping_sub(to.addr()) % 4096).wrapping_sub(1) < 31
}

/// Copies `len` bytes between ranges that do not overlap, past the caches: for targets that this
/// processor will not look at soon. Visible to others, in order, when it returns.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[inline]
pub unsafe fn stream(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= SMALL && way::of_this_processor() & way::AVX != 0 {
        // SAFETY: the processor has AVX; the rest as the caller promises.
        unsafe { avx_past_caches(from, to, len) };
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { copy_apart(from, to, len) }
}

#[inline(never)]
unsafe fn long(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let ways = way::of_this_processor();
        if ways & way::STRING != 0 && len >= STRING {
            // SAFETY: as the caller promises.
            unsafe { string(from, to, len) };
            return;
        }
        if ways & way::STRING == 0 && ways & way::AVX != 0 {
            // SAFETY: the processor has AVX; the rest as the caller promises.
            unsafe { avx::<false>(from, to, len) };
            return;
        }
    }
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
}

/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and they do not overlap.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn string(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: as the caller promises; the direction flag is clear by the ABI.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rdi") to => _,
            inout("rsi") from => _,
            inout("rcx") len => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Which ways to copy are fast on this processor.
#[cfg(target_arch = "x86_64")]
mod way {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Vector registers of 32 bytes.
    pub(super) const AVX: u8 = 1;
    /// The string instruction, for every long copy.
    pub(super) const STRING: u8 = 2;
    /// The string instruction, between processors.
    pub(super) const ACROSS: u8 = 4;
    /// Lines of a target in another processor's cache are asked for ahead.
    pub(super) const AHEAD: u8 = 8;
    /// Lines can be moved to a common cache.
    pub(super) const DEMOTE: u8 = 16;
    /// Vector registers, and a reader copies backwards.
    pub(super) const BACK: u8 = 32;
    const ASKED: u8 = 128;
    const ZEN_3_AND_4: u32 = 0x19;
    static WAYS: AtomicU8 = AtomicU8::new(0);

    #[inline]
    pub(super) fn of_this_processor() -> u8 {
        match WAYS.load(Ordering::Relaxed) {
            0 => ask(),
            ways => ways,
        }
    }

    /// The family in a processor's signature (leaf 1, EAX).
    fn family(signature: u32) -> u32 {
        let base = signature >> 8 & 0xf;
        if base == 0xf { base + (signature >> 20 & 0xff) } else { base }
    }

    #[cold]
    fn ask() -> u8 {
        let first = __cpuid(0);
        let name = (first.ebx, first.edx, first.ecx);
        let intel = name == (0x756e_6547, 0x4965_6e69, 0x6c65_746e);
        let amd = name == (0x6874_7541, 0x6974_6e65, 0x444d_4163);
        let more = if first.eax >= 7 { Some(__cpuid_count(7, 0)) } else { None };
        // Enhanced `rep movsb`: leaf 7, EBX bit 9; fast and short as well: EDX bit 4.
        let enhanced = more.is_some_and(|more| more.ebx & 1 << 9 != 0);
        let short = more.is_some_and(|more| more.edx & 1 << 4 != 0);
        let mut ways = ASKED;
        if std::arch::is_x86_feature_detected!("avx") {
            ways |= AVX;
        }
        if intel && enhanced {
            ways |= STRING | ACROSS;
            if ways & AVX != 0 {
                ways |= AHEAD;
            }
        }
        if more.is_some_and(|more| more.ecx & 1 << 25 != 0) {
            ways |= DEMOTE;
        }
        if amd && family(__cpuid(1).eax) == ZEN_3_AND_4 {
            if ways & AVX != 0 {
                ways |= BACK;
            }
        } else if amd && enhanced && short {
            ways |= ACROSS;
        }
        WAYS.store(ways, Ordering::Relaxed);
        ways
    }
}

/// With vector registers; `ASKS`: lines of the target are asked for ahead.
///
/// # Safety
/// The processor has AVX; `len` ≥ 64; the ranges are valid and do not overlap.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn avx<const ASKS: bool>(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const WIDE: usize = 32;
    const STEP: usize = 4 * WIDE;
    /// Bytes that are asked for ahead: the lines that are on their way at a time.
    const AHEAD: usize = 32 * LINE;
    let ask = |at: usize| own(to.wrapping_add(at));
    if ASKS {
        (0..len.min(AHEAD)).step_by(LINE).for_each(ask);
    }
    // SAFETY: every access lies within `len` bytes: the first and the last vector by `len` ≥ 64,
    // the others by the bound of the loop.
    unsafe {
        let load = |at: usize| _mm256_loadu_si256(from.add(at).cast::<__m256i>());
        let store = |at: usize, v: __m256i| _mm256_storeu_si256(to.add(at).cast::<__m256i>(), v);
        // The first vector, then the target is aligned.
        store(0, load(0));
        let mut at = WIDE - to.addr() % WIDE;
        while at + STEP <= len {
            if ASKS && at + AHEAD < len {
                ask(at + AHEAD);
                ask(at + AHEAD + LINE);
            }
            let (a, b) = (load(at), load(at + WIDE));
            let (c, d) = (load(at + 2 * WIDE), load(at + 3 * WIDE));
            store(at, a);
            store(at + WIDE, b);
            store(at + 2 * WIDE, c);
            store(at + 3 * WIDE, d);
            at += STEP;
        }
        while at + WIDE <= len {
            store(at, load(at));
            at += WIDE;
        }
        store(len - WIDE, load(len - WIDE));
    }
}

/// Whole lines go past the caches, what is left at both ends does not: a line that is stored to in
/// both ways is fetched and written back between them.
///
/// # Safety
/// The processor has AVX; `len` ≥ 64; the ranges are valid and do not overlap.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn avx_past_caches(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m256i, _mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    const WIDE: usize = 32;
    // SAFETY: every access lies within `len` bytes; vectors are stored to whole lines.
    unsafe {
        let load = |at: usize| _mm256_loadu_si256(from.add(at).cast::<__m256i>());
        let put = |at: usize, v: __m256i| _mm256_stream_si256(to.add(at).cast::<__m256i>(), v);
        let mut at = to.addr().wrapping_neg() % LINE;
        std::ptr::copy_nonoverlapping(from, to, at);
        while at + 2 * LINE <= len {
            let (a, b) = (load(at), load(at + WIDE));
            let (c, d) = (load(at + LINE), load(at + LINE + WIDE));
            put(at, a);
            put(at + WIDE, b);
            put(at + LINE, c);
            put(at + LINE + WIDE, d);
            at += 2 * LINE;
        }
        std::ptr::copy_nonoverlapping(from.add(at), to.add(at), len - at);
        // Such stores are not ordered with others.
        _mm_sfence();
    }
}

/// From the last byte to the first.
///
/// # Safety
/// The processor has AVX; `len` ≥ 64; the ranges are valid and do not overlap.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn avx_backwards(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const WIDE: usize = 32;
    const STEP: usize = 4 * WIDE;
    // SAFETY: every access lies within `len` bytes: the first and the last vector by `len` ≥ 64,
    // the others by the bounds of the loops.
    unsafe {
        let load = |at: usize| _mm256_loadu_si256(from.add(at).cast::<__m256i>());
        let store = |at: usize, v: __m256i| _mm256_storeu_si256(to.add(at).cast::<__m256i>(), v);
        // The last vector, then the target is aligned.
        store(len - WIDE, load(len - WIDE));
        let mut at = len - (to.addr() + len) % WIDE;
        while at >= STEP {
            at -= STEP;
            let (a, b) = (load(at), load(at + WIDE));
            let (c, d) = (load(at + 2 * WIDE), load(at + 3 * WIDE));
            store(at + 3 * WIDE, d);
            store(at + 2 * WIDE, c);
            store(at + WIDE, b);
            store(at, a);
        }
        while at >= WIDE {
            at -= WIDE;
            store(at, load(at));
        }
        store(0, load(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_no_other() {
        let source: Vec<u8> = (0..40_000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for len in (0..300).chain([1023, 1024, 1025, 1151, 1152, 2047, 2048, 4096, 4097, 30_011]) {
            for (from, to) in [(0, 0), (0, 16), (16, 0), (1, 31), (13, 64), (63, 1)] {
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { copy_apart(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { across(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { give(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                demote(target.as_ptr(), target.len());
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { owned(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { take(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
                #[cfg(target_arch = "x86_64")]
                if len >= LINE && std::arch::is_x86_feature_detected!("avx") {
                    let mut target = vec![0xEE; 40_100];
                    let (from, to) = (source[from..].as_ptr(), target[to..].as_mut_ptr());
                    // SAFETY: both ranges lie in their vectors; the processor has AVX.
                    unsafe { avx_backwards(from, to, len) };
                    let begin = to.addr() - target.as_ptr().addr();
                    // SAFETY: as above.
                    let sent = unsafe { std::slice::from_raw_parts(from, len) };
                    assert_eq!(&target[begin..begin + len], sent);
                    assert!(
                        target[..begin].iter().chain(&target[begin + len..]).all(|&b| b == 0xEE)
                    );
                }
                let mut target = vec![0xEE; 40_100];
                // SAFETY: both ranges lie in their vectors.
                unsafe { stream(source.as_ptr().add(from), target.as_mut_ptr().add(to), len) };
                assert_eq!(target[to..to + len], source[from..from + len]);
                assert!(target[..to].iter().chain(&target[to + len..]).all(|&b| b == 0xEE));
            }
        }
    }

    #[test]
    fn overlapping_ranges_are_moved() {
        for shift in [1, 16, 1000, 5000] {
            let mut bytes: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8).collect();
            let expected = bytes[..10_000].to_vec();
            let at = bytes.as_mut_ptr();
            // SAFETY: both ranges lie in the vector.
            unsafe { copy(at, at.add(shift), 10_000) };
            assert_eq!(bytes[shift..shift + 10_000], expected);
        }
    }
}

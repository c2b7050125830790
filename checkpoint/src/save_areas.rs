//! The dynamic linker's areas for registers, and how they grow on a processor that saves more.
//!
//! When a program calls a function of a library for the first time, the dynamic linker saves all
//! registers on the stack. The size of that area is a variable of glibc, computed once at the start
//! of a process (`_rtld_global_ro`). On a processor with more registers, for example those of
//! AVX-512, the processor would write behind the area. So the variable grows in a process that is
//! restored there.
//!
//! The variable has no name. All code of glibc that makes such an area begins with
//! `sub VARIABLE(%rip), %rsp` and saves a few instructions later (`_dl_runtime_resolve_xsave`,
//! `_dl_runtime_resolve_xsavec`; later versions: `_dl_tlsdesc_dynamic_xsavec`). The code is there
//! whether a program binds lazily or not. Guarantee: what does not look exactly like that is not
//! recognised, and an image then needs a processor with the same registers.
#![allow(unsafe_code)]

use crate::stream::Thread;
use core::ops::Range;

/// `sub disp32(%rip), %rsp`.
const SUBTRACT: [u8; 3] = [0x48, 0x2b, 0x25];
const SUBTRACT_LEN: usize = 7;
/// `xsave disp8(%rsp)`, `xsavec disp8(%rsp)`; how far behind the subtraction one stands at most.
const SAVES: [[u8; 4]; 2] = [[0x0f, 0xae, 0x64, 0x24], [0x0f, 0xc7, 0x64, 0x24]];
const SAVES_WITHIN: usize = 192;
/// Sizes of areas, in bytes: at least the oldest registers, at most what no processor needs.
const SIZES: Range<u64> = 512..64 << 10;
/// Areas are multiples of it.
const ALIGNMENT: u64 = 64;
/// Different variables, at most.
const VARIABLES: usize = 2;
/// Pieces of code that make an area, at most.
const PIECES: usize = 8;
/// What a handler on an alternative stack keeps for itself, at least: bytes.
const ROOM_FOR_HANDLER: u64 = 4096;
/// Segments of the dynamic linker, at most.
const SEGMENTS: usize = 16;

/// What in the dynamic linker depends on the registers of the processor: addresses relative to its
/// begin; 0: none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveAreas {
    /// Variables with the bytes of an area.
    pub sizes: [usize; VARIABLES],
    /// Bytes of a signal frame, as `sysconf(_SC_MINSIGSTKSZ)` tells them.
    pub frame: usize,
    /// The instructions from behind a subtraction to the one that saves, which is the end.
    pieces: [Range<usize>; PIECES],
}

impl SaveAreas {
    /// Whether a thread that goes on there has made an area and saves into it later.
    #[must_use]
    pub fn is_before_saving(&self, at: usize) -> bool {
        self.pieces.iter().any(|piece| piece.end != 0 && (piece.start..=piece.end).contains(&at))
    }
}

#[derive(Clone, Copy, Default)]
struct Segment {
    start: usize,
    file_len: usize,
    len: usize,
    flags: u32,
}

/// Bytes of memory of the dynamic linker.
///
/// # Safety
/// The range is readable, and does not change while the slice lives.
unsafe fn bytes<'a>(start: usize, len: usize) -> &'a [u8] {
    // SAFETY: by the caller.
    unsafe { core::slice::from_raw_parts(start as *const u8, len) }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The segments that are loaded, relative to the begin.
fn segments(headers: &[u8], size: usize, count: usize) -> Option<([Segment; SEGMENTS], usize)> {
    let (mut found, mut used) = ([Segment::default(); SEGMENTS], 0);
    for at in (0..count).map(|n| n * size) {
        let kind = word(headers, at)?;
        if kind as u32 == libc::PT_LOAD {
            let flags = (kind >> 32) as u32;
            let [start, file_len, len] =
                [word(headers, at + 16)?, word(headers, at + 32)?, word(headers, at + 40)?];
            *found.get_mut(used)? = Segment {
                start: start as usize,
                file_len: file_len as usize,
                len: len as usize,
                flags,
            };
            used += 1;
        }
    }
    Some((found, used))
}

/// Finds the variables in the dynamic linker that begins at `base`. `frame`: what the kernel says
/// that a signal frame takes (`AT_MINSIGSTKSZ`).
///
/// # Safety
/// `base` is 0, or the begin of a dynamic linker that is loaded in this process.
#[must_use]
pub unsafe fn find(base: usize, frame: u64) -> Option<SaveAreas> {
    const HEADER: usize = 64;
    if base == 0 || frame == 0 {
        return None;
    }
    // SAFETY: an ELF file begins with a header of that size.
    let header = unsafe { bytes(base, HEADER) };
    if header.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, both) = (word(header, 32)? as usize, word(header, 54)?);
    let (size, count) = (both as usize & 0xffff, both as usize >> 16 & 0xffff);
    // SAFETY: the program headers follow the header, in the first page of the file.
    let headers = unsafe { bytes(base + table, size * count) };
    let (segments, used) = segments(headers, size, count)?;
    let segments = &segments[..used];
    // SAFETY: the segments are those of the dynamic linker, which is loaded.
    unsafe {
        let mut found = find_areas(base, segments)?;
        found.frame = find_frame(base, segments, frame)?;
        Some(found)
    }
}

/// The variables that are subtracted from the stack pointer.
///
/// # Safety
/// The segments are loaded.
unsafe fn find_areas(base: usize, segments: &[Segment]) -> Option<SaveAreas> {
    let is_data = |at: usize| {
        segments.iter().any(|segment| {
            segment.flags & libc::PF_W != 0
                && (segment.start..segment.start + segment.len).contains(&at)
        })
    };
    let (mut found, mut variables, mut pieces) = (SaveAreas::default(), 0, 0);
    for segment in segments.iter().filter(|segment| segment.flags & libc::PF_X != 0) {
        // SAFETY: code that is loaded, and readable as all code of dynamic linkers.
        let code = unsafe { bytes(base + segment.start, segment.file_len) };
        for at in (0..code.len()).filter(|&at| code[at..].starts_with(&SUBTRACT)) {
            let behind = at + SUBTRACT_LEN;
            let distance = code.get(at + SUBTRACT.len()..behind)?.try_into().ok()?;
            let distance = i32::from_le_bytes(distance) as isize;
            let place = (segment.start + behind).checked_add_signed(distance)?;
            // SAFETY: in the linker's data.
            let is_size =
                is_data(place) && place.is_multiple_of(8) && is_size(unsafe { read(base + place) });
            if !is_size {
                return None;
            }
            let near = &code[behind..code.len().min(behind + SAVES_WITHIN)];
            let saves = near.windows(4).position(|four| SAVES.iter().any(|save| save == four))?;
            let start = segment.start + behind;
            *found.pieces.get_mut(pieces)? = start..start + saves;
            pieces += 1;
            if !found.sizes[..variables].contains(&place) {
                *found.sizes.get_mut(variables)? = place;
                variables += 1;
            }
        }
    }
    (pieces > 0).then_some(found)
}

/// The variable with the size of a signal frame; 0: there is none.
///
/// # Safety
/// The segments are loaded.
unsafe fn find_frame(base: usize, segments: &[Segment], frame: u64) -> Option<usize> {
    let mut found = 0;
    for segment in segments.iter().filter(|segment| segment.flags & libc::PF_W != 0) {
        let end = segment.start + segment.file_len;
        for place in (segment.start.next_multiple_of(8)..end.saturating_sub(7)).step_by(8) {
            // SAFETY: in the linker's data.
            if unsafe { read(base + place) } == frame {
                if found != 0 {
                    return None;
                }
                found = place;
            }
        }
    }
    Some(found)
}

/// Reads a word of the dynamic linker.
///
/// # Safety
/// The address is in the data of the dynamic linker, and a multiple of 8.
unsafe fn read(at: usize) -> u64 {
    // SAFETY: by the caller. Volatile: the dynamic linker changes it.
    unsafe { (at as *const u64).read_volatile() }
}

fn is_size(bytes: u64) -> bool {
    SIZES.contains(&bytes) && bytes.is_multiple_of(ALIGNMENT)
}

/// What an area becomes that has so many bytes, where registers take `more` bytes.
#[must_use]
pub fn grown(bytes: u64, more: u64) -> u64 {
    (bytes + more).next_multiple_of(ALIGNMENT)
}

/// The areas of this process's dynamic linker.
#[must_use]
pub fn of_this_process() -> Option<SaveAreas> {
    // SAFETY: asks for values that the kernel gave to this process, and loaded the dynamic linker
    // there.
    unsafe { find(libc::getauxval(libc::AT_BASE) as usize, libc::getauxval(libc::AT_MINSIGSTKSZ)) }
}

/// Whether a thread's alternative stack has room where a frame takes so many bytes, `longer` more
/// than before.
#[must_use]
pub fn has_room(thread: &Thread, frame: u64, longer: u64) -> bool {
    const ON_STACK: u64 = 1;
    const DISABLED: u64 = 2;
    let [start, flags, len] = thread.altstack;
    let free =
        if flags & ON_STACK == 0 { len } else { thread.resume[0].saturating_sub(start).min(len) };
    let room_before = free.saturating_sub(frame.saturating_sub(longer));
    flags & DISABLED != 0 || free >= frame + room_before.min(ROOM_FOR_HANDLER)
}

/// Where values of the auxiliary vector stand on the stack of a program, from its start on: number
/// of arguments, arguments, 0, environment, 0, pairs of key and value.
#[must_use]
pub fn auxiliary(stack: &[u64], keys: [u64; 2]) -> Option<[usize; 2]> {
    let mut at = usize::try_from(*stack.first()?).ok()?.checked_add(2)?;
    while *stack.get(at)? != 0 {
        at += 1;
    }
    at += 1;
    let mut found = [0; 2];
    while *stack.get(at)? != libc::AT_NULL {
        stack.get(at + 1)?;
        if let Some(which) = keys.iter().position(|&key| key == stack[at]) {
            found[which] = at + 1;
        }
        at += 2;
    }
    found.iter().all(|&place| place != 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dynamic linker of one page of code and one of data.
    fn made_up(code: &[u8], size: u64, frames: usize) -> Option<SaveAreas> {
        const PAGE: usize = 4096;
        let mut words = vec![0u64; 3 * PAGE / 8];
        let mut set = |at: usize, value: u64| words[at / 8] = value;
        set(0, u64::from_le_bytes(*b"\x7fELF\x02\x01\x01\0"));
        set(32, 64);
        for (at, flags, start) in [(64, libc::PF_X, PAGE), (128, libc::PF_W, 2 * PAGE)] {
            set(at, u64::from(libc::PT_LOAD) | u64::from(flags) << 32);
            set(at + 16, start as u64);
            set(at + 32, PAGE as u64);
            set(at + 40, PAGE as u64);
        }
        set(2 * PAGE + 16, size);
        (0..frames).for_each(|n| set(2 * PAGE + 64 + 8 * n, 1776));
        let base = words.as_mut_ptr().cast::<u8>();
        // SAFETY: inside of the words.
        unsafe {
            base.add(54).copy_from(64u16.to_le_bytes().as_ptr(), 2);
            base.add(56).copy_from(2u16.to_le_bytes().as_ptr(), 2);
            base.add(PAGE).copy_from(code.as_ptr(), code.len());
            find(base as usize, 1776)
        }
    }

    #[test]
    fn only_what_looks_as_in_glibc_is_recognised() {
        // From behind the first instruction to the variable.
        let distance = (4096u32 + 16 - 7).to_le_bytes();
        let code = |save: [u8; 4]| [&SUBTRACT[..], &distance, &[0x90; 9], &save, &[0x40]].concat();
        for save in SAVES {
            let found = made_up(&code(save), 896, 1).expect("as in glibc");
            assert_eq!((found.sizes, found.frame), ([8192 + 16, 0], 8192 + 64));
            let before = |at: usize| found.is_before_saving(4096 + at);
            assert!(!before(0) && before(7) && before(16) && !before(17) && !before(21));
        }
        assert_eq!(made_up(&code(SAVES[0]), 896, 0).expect("no frame").frame, 0);
        assert_eq!(made_up(&code(SAVES[0]), 896, 2), None, "which one is it?");
        assert_eq!(made_up(&code([0x90; 4]), 896, 1), None, "it saves nothing");
        assert_eq!(made_up(&code(SAVES[0]), 897, 1), None, "not a size");
        assert_eq!(made_up(&code(SAVES[0]), 0, 1), None, "it is not used");
        assert_eq!(made_up(&[0x90; 8], 896, 1), None, "no code");
        let far = [&SUBTRACT[..], &distance, &[0x90; SAVES_WITHIN], &SAVES[0], &[0x40]].concat();
        assert_eq!(made_up(&far, 896, 1), None);
    }

    #[test]
    fn the_areas_of_this_process_are_found() {
        let found = of_this_process().expect("glibc");
        assert!(found.sizes[0] != 0 && found.pieces[0].end > found.pieces[0].start);
        assert!(!found.is_before_saving(0));
        // SAFETY: no dynamic linker at all.
        assert_eq!(unsafe { find(0, 1776) }, None);
    }

    #[test]
    fn areas_stay_aligned() {
        assert_eq!(grown(896, 0), 896);
        assert_eq!(grown(896, 2696 - 832), 2816);
    }

    #[test]
    fn an_alternative_stack_keeps_room_for_its_handler() {
        let has_room = |altstack: [u64; 3], sp: u64| {
            let thread = Thread { altstack, resume: [sp, 0], ..Thread::default() };
            has_room(&thread, 3632, 2696 - 832)
        };
        assert!(has_room([0x1000, 2, 0], 0), "there is none");
        assert!(has_room([0x1000, 0, 8192], 0) && has_room([0x1000, 0, 1 << 16], 0));
        assert!(!has_room([0x1000, 0, 4096], 0) && !has_room([0x1000, 0, 2048], 0));
        assert!(has_room([0x1000, 1, 1 << 16], 0x1000 + 8192), "a handler is on it");
        assert!(!has_room([0x1000, 1, 1 << 16], 0x1000 + 4096), "and has used most of it");
    }

    #[test]
    fn values_of_the_kernel_are_found() {
        let keys = [libc::AT_BASE, libc::AT_MINSIGSTKSZ];
        let stack = [1, 77, 0, 78, 79, 0, libc::AT_BASE, 5, libc::AT_MINSIGSTKSZ, 6, 0, 0];
        assert_eq!(auxiliary(&stack, keys), Some([7, 9]));
        assert_eq!(auxiliary(&stack[..10], keys), None, "it has no end");
        assert_eq!(auxiliary(&stack, [libc::AT_BASE, libc::AT_HWCAP]), None);
        assert_eq!(auxiliary(&[u64::MAX, 0], keys), None);
        assert_eq!(auxiliary(&[], keys), None);
    }
}

//! The vDSO, the kernel's code in every process: its functions, and how a process of one kernel
//! goes on with the vDSO of another.
//!
//! The C library keeps addresses inside the vDSO, and no two kernels have the same one. In a
//! process that is restored under another kernel:
//!
//! ```text
//! where the image had it:   zero pages (data) │ at each function: a jump into ──┐
//! in a slot of its own:     [vvar] [vdso] of this kernel  ◄─────────────────────┘
//! ```
//!
//! The new process moves the kernel's mappings into the slot before its memory is replaced. The
//! jumps are written when the memory is there. A function that this kernel does not have becomes a
//! system call. So does `getrandom`, whose state in the program's memory is the old kernel's.
//!
//! Guarantees: no image is restored so while one of its threads stood inside of the vDSO. An image
//! of a process that was restored so holds the jumps as ordinary memory. With the same vDSO the
//! kernel's mappings move to where the image had them; with a third one it is done again.

use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Misfit, Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls;
use crate::memory::layout::Layout;
use core::ops::Range;
use ftmpi_checkpoint::boot_abi::{VDSO_SLOT_LEN, VDSO_SLOTS, VDSO_SLOTS_BASE};
use ftmpi_checkpoint::stream::{Map, ProcessState, VDSO_FUNCTIONS};

const FUNCTIONS: usize = VDSO_FUNCTIONS.len();
/// The calls that do the same: numbers of the kernel.
const CALLS: [i64; FUNCTIONS] = [
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    libc::SYS_getcpu,
    libc::SYS_clock_getres,
    libc::SYS_getrandom,
];
/// Bytes of `jmp [rip]` and its target; a system call takes fewer.
const JUMP: usize = 14;
/// Mappings of the kernel for the vDSO: its data in one to three, and its code.
const PARTS_MAX: usize = 8;
const PAGE: u64 = 4096;
/// Bytes of a thread's stack in which frames of signals are looked for.
const STACK_LOOKED_AT: usize = 1 << 20;

/// Writes it down for an image. All other threads stand still.
pub fn gather(
    area: &ReservedArea,
    process: &mut ProcessState,
    layout: &Layout,
) -> Result<(), Refused> {
    process.vvar_start = layout.vvar_start();
    process.vdso_start = layout.vdso_start;
    process.vdso_end = layout.vdso_end;
    process.vdso_hash = layout.vdso_hash();
    process.vdso_functions = functions(layout.vdso());
    process.inside_vdso = threads_inside(area, process)?;
    process.reserved_vdso = 0;
    Ok(())
}

/// How many threads may go on inside of the vDSO: an address inside is on their stacks, in the
/// frame of the agent's signal or of a signal below it. (Begins of functions are no such places:
/// pointers to them lie about, and are good under every kernel. So is the address of the vDSO
/// itself.)
fn threads_inside(area: &ReservedArea, process: &ProcessState) -> Result<u32, Refused> {
    let failed = |errno| area.unreadable("/proc/self/maps", errno);
    let code = process.vdso_start + 1..process.vdso_end;
    let is_inside = |word: u64| {
        code.contains(&word)
            && !process.vdso_functions.iter().any(|&at| u64::from(at) == word - process.vdso_start)
    };
    let (threads, mut found) = (&area.threads()[..process.threads as usize], 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        if entry.prot & libc::PROT_READ as u32 == 0 {
            continue;
        }
        for thread in threads {
            let sp = thread.resume[0].next_multiple_of(8);
            if (entry.start..entry.end).contains(&sp) {
                let len = ((entry.end - sp) as usize).min(STACK_LOOKED_AT) / 8;
                // SAFETY: the part of a readable mapping that the thread's stack uses; the thread
                // stands still, or is this one and does not return meanwhile.
                let words = unsafe { core::slice::from_raw_parts(sp as *const u64, len) };
                found += u32::from(words.iter().any(|&word| is_inside(word)));
            }
        }
    }
    Ok(found)
}

/// Moves this kernel's vDSO to where the image needs it, or out of its way. In the new process,
/// before anything is destroyed; from here on nothing may call the C library's clocks.
pub fn make_room(
    area: &ReservedArea,
    process: &ProcessState,
    maps: &[Map],
    here: &Layout,
) -> Result<(), Refused> {
    let misfit = || area.refuse(Refusal::Misfit(Misfit::Kernel));
    let image = process.vvar_start..process.vdso_end;
    let is_sound = image.start.is_multiple_of(PAGE)
        && image.end.is_multiple_of(PAGE)
        && process.vdso_start.is_multiple_of(PAGE)
        && (image.start..image.end).contains(&process.vdso_start)
        && image.end - image.start <= VDSO_SLOT_LEN as u64
        && maps.iter().all(|map| map.end <= image.start || map.start >= image.end);
    let same = process.vdso_hash == here.vdso_hash();
    if same && (process.vdso_start, process.vdso_end) == (here.vdso_start, here.vdso_end) {
        return Ok(());
    }
    if !is_sound {
        return Err(misfit());
    }
    let len = here.vdso_end - here.vvar_start();
    if same && image.end - image.start == len && is_free(area, image.clone())? {
        return move_to(area, here, image.start);
    }
    if process.inside_vdso != 0 || !can_jump(process) || len > VDSO_SLOT_LEN as u64 {
        return Err(misfit());
    }
    let slots = (0..VDSO_SLOTS).map(|slot| (VDSO_SLOTS_BASE + slot * VDSO_SLOT_LEN) as u64);
    let free = |slot: &u64| {
        let end = slot + VDSO_SLOT_LEN as u64;
        let apart = |start: u64, stop: u64| stop <= *slot || start >= end;
        apart(image.start, image.end) && maps.iter().all(|map| apart(map.start, map.end))
    };
    let slot = slots.into_iter().find(free).ok_or_else(misfit)?;
    move_to(area, here, slot)
}

/// Whether this process has nothing there.
fn is_free(area: &ReservedArea, range: Range<u64>) -> Result<bool, Refused> {
    let failed = |errno| area.unreadable("/proc/self/maps", errno);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        if entry.start < range.end && entry.end > range.start {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the functions are far enough from each other, and inside.
fn can_jump(process: &ProcessState) -> bool {
    let len = process.vdso_end - process.vdso_start;
    let begins = process.vdso_functions.map(|at| at as usize);
    begins.iter().all(|&at| at == 0 || at + JUMP <= len as usize)
        && begins.iter().all(|&one| {
            begins.iter().all(|&other| one == 0 || one == other || one.abs_diff(other) >= JUMP)
        })
}

/// Moves all mappings of the kernel by one distance: the code finds its data relative to itself.
fn move_to(area: &ReservedArea, here: &Layout, to: u64) -> Result<(), Refused> {
    let failed = |errno| area.refuse(Refusal::VdsoStays { errno });
    let (mut parts, mut count) = ([(0, 0); PARTS_MAX], 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        if (here.vvar_start()..here.vdso_end).contains(&entry.start) {
            let Some(part) = parts.get_mut(count) else { return Err(failed(libc::ENOMEM)) };
            *part = (entry.start, entry.end - entry.start);
            count += 1;
        }
    }
    drop(lines);
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    for (start, len) in &parts[..count] {
        let target = to + (start - here.vvar_start());
        // SAFETY: nothing is mapped in a slot, and nothing of this process calls the vDSO.
        unsafe { syscalls::call!(libc::SYS_mremap, *start, *len, *len, flags, target) }
            .map_err(failed)?;
    }
    Ok(())
}

/// In the restored process: writes the jumps where the image had its vDSO, if that is another one.
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    let failed = |errno| area.refuse(Refusal::VdsoStays { errno });
    let mut here = Layout::default();
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        if let Some(entry) = procfs::entry(line) {
            here.add_mapping(&entry);
        }
    }
    drop(lines);
    if here.vdso_start == process.vdso_start {
        return Ok(());
    }
    let (start, len) = (process.vvar_start as usize, process.vdso_end - process.vvar_start);
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: replaces nothing.
    let at = unsafe { syscalls::map_anonymous(start, len as usize, writable, flags) };
    if at.map_err(failed)? != start {
        return Err(failed(libc::EEXIST));
    }
    let code = process.vdso_start as usize;
    let code_len = (process.vdso_end - process.vdso_start) as usize;
    // SAFETY: the end of what was just mapped.
    let bytes = unsafe { core::slice::from_raw_parts_mut(code as *mut u8, code_len) };
    write_jumps(bytes, &process.vdso_functions, here.vdso_start, &functions(here.vdso()));
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: nobody writes there any more.
    unsafe {
        syscalls::protect(start, code - start, libc::PROT_READ)
            .and_then(|()| syscalls::protect(code, code_len, executable))
            .map_err(failed)
    }
}

/// Writes what stands in the place of each function of the image.
fn write_jumps(
    code: &mut [u8],
    image: &[u32; FUNCTIONS],
    vdso_start: u64,
    here: &[u32; FUNCTIONS],
) {
    for ((&at, &offset), call) in image.iter().zip(here).zip(CALLS).filter(|((at, _), _)| **at != 0)
    {
        let Some(place) = code.get_mut(at as usize..at as usize + JUMP) else { continue };
        if offset != 0 && call != libc::SYS_getrandom {
            // jmp [rip + 0]
            place[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
            place[6..].copy_from_slice(&(vdso_start + u64::from(offset)).to_le_bytes());
        } else {
            // mov eax, call; syscall; ret
            place[0] = 0xb8;
            place[1..5].copy_from_slice(&(call as u32).to_le_bytes());
            place[5..8].copy_from_slice(&[0x0f, 0x05, 0xc3]);
        }
    }
}

/// A program header of an ELF file.
struct Header {
    kind: u32,
    address: u64,
    end: u64,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The program headers, their addresses relative to the first one that is loaded: to the start.
fn headers(file: &[u8]) -> impl Iterator<Item = Header> + '_ {
    const TABLE: usize = 32;
    const SIZE_AND_COUNT: usize = 54;
    let table = word(file, TABLE).unwrap_or(0) as usize;
    let both = half(file, SIZE_AND_COUNT).unwrap_or(0);
    let (size, count) = (both as usize & 0xffff, both as usize >> 16);
    let header = move |n: usize| {
        let at = table.checked_add(n.checked_mul(size)?)?;
        let (address, len) = (word(file, at.checked_add(16)?)?, word(file, at + 40)?);
        Some(Header { kind: half(file, at)?, address, end: address.checked_add(len)? })
    };
    (0..count).map_while(header)
}

/// Where the functions begin, in bytes from the start of the file in memory; 0: none such.
fn functions(file: &[u8]) -> [u32; FUNCTIONS] {
    find_functions(file).unwrap_or_default()
}

fn find_functions(file: &[u8]) -> Option<[u32; FUNCTIONS]> {
    const NAMES: u64 = 5;
    const SYMBOLS: u64 = 6;
    const SYMBOL_BYTES: usize = 24;
    let first = headers(file).find(|header| header.kind == libc::PT_LOAD)?.address;
    let dynamic = headers(file).find(|header| header.kind == libc::PT_DYNAMIC)?;
    let entry = |wanted: u64| {
        let begin = dynamic.address.checked_sub(first)? as usize;
        let entries = (begin..(dynamic.end - first) as usize).step_by(16);
        let at = entries.into_iter().find(|&at| word(file, at) == Some(wanted))?;
        Some(word(file, at + 8)?.checked_sub(first)? as usize)
    };
    let (symbols, names) = (entry(SYMBOLS)?, entry(NAMES)?);
    // The names follow the symbols.
    let count = names.checked_sub(symbols)? / SYMBOL_BYTES;
    let mut found = [0; FUNCTIONS];
    for at in (0..count).map(|n| symbols + n * SYMBOL_BYTES) {
        let name = file.get(names + half(file, at)? as usize..)?;
        let which = VDSO_FUNCTIONS.iter().position(|f| name.starts_with(f.to_bytes_with_nul()));
        if let Some(which) = which {
            found[which] = word(file, at + 8)?.checked_sub(first)? as u32;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_this_kernel_are_found() {
        let (mut here, mut text) = (Layout::default(), [0; 4096]);
        let mut lines = Lines::open(c"/proc/self/maps", &mut text).unwrap();
        while let Some(line) = lines.next().unwrap() {
            here.add_mapping(&procfs::entry(line).unwrap());
        }
        let file = here.vdso();
        let found = functions(file);
        assert!(found[..4].iter().all(|&at| at != 0 && (at as usize) < file.len()), "{found:?}");
        // What is cut off is not read.
        for end in [0, 1, 63, 64, 100, 1000, 4000] {
            let _ = functions(&file[..end]);
        }
    }

    #[test]
    fn a_function_that_is_missing_becomes_a_system_call() {
        let mut code = [0; 256];
        let here = [0x40, 0x80, 0, 0, 0, 0xc0];
        write_jumps(&mut code, &[16, 0, 32, 250, 0, 64], 0x7000_0000, &here);
        assert_eq!(code[..16], [0; 16]);
        assert_eq!(code[16..22], [0xff, 0x25, 0, 0, 0, 0]);
        assert_eq!(code[22..30], 0x7000_0040u64.to_le_bytes());
        assert_eq!(code[32..40], [0xb8, 201, 0, 0, 0, 0x0f, 0x05, 0xc3]);
        // The state of getrandom is the old kernel's.
        assert_eq!(code[64..72], [0xb8, 0x3e, 1, 0, 0, 0x0f, 0x05, 0xc3]);
        assert_eq!(code[250..], [0; 6], "not enough room");
    }
}

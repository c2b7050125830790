//! The validation of an image's tables: a new process asks for it before it gives up anything.
//!
//! Guarantees: no allocation, no panic, no `unsafe`. The time grows with the length of the tables
//! times its logarithm, for any contents. After [`check`] has succeeded:
//! - every index and every text is inside of its table,
//! - every mapping is at a possible place,
//! - every descriptor has a number that belongs to the program, and refers to an existing one,
//! - every address that the restore writes to or jumps to is in memory of the image, with the
//!   rights that this takes.
//!
//! What only the program uses (its handlers, its limits, the bytes of its pages) is not judged.
//!
//! [`digest`] is one number over all tables. It finds damage after the container's checksums, in
//! the pipe or in memory. The rest of this module bounds what a wrong writer could do.

use super::descriptors::{Descriptor, FileLock, SocketState, Watch, descriptor, lock, owner};
use super::hash::Hash;
use super::memory::{File, Map, Range, map, range};
use super::process::{ProcessState, Signal, Thread, Timer};
use super::record::{Text, limit};
use core::mem::size_of;

/// The highest address of a process, plus one.
const USER_END: u64 = 0x7fff_ffff_f000;
/// Bytes of a path, with its terminating zero.
const PATH_BYTES_MAX: u32 = 4096;
/// The gap that the kernel keeps below the stack. Nearer to another mapping the stack does not
/// grow.
const STACK_GAP: u64 = 1 << 20;
/// Bytes of a private mapping behind the end of its file: the dynamic linker maps room for what a
/// library needs beside its file.
const BEYOND_FILE: u64 = 1 << 30;
/// All bits of `PROT_*`.
const PROTS: u32 = 7;
const FLAGS: u32 = 1023;
const PROT_WRITE: u32 = 2;
const PROT_EXEC: u32 = 4;
/// Bytes on a stack where a thread resumes: saved registers and an address.
const SAVED_BYTES: u64 = 64;
/// `S_IFMT`, and three of its values.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const CHARACTERS: u32 = 0o020_000;
const SIGEV_NONE: i32 = 1;
const SIGEV_THREAD_ID: i32 = 4;
const SIGKILL: i32 = 9;
const SIGSTOP: i32 = 19;

/// The tables of an image, as they were read.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// PROCESS.
    pub process: &'a ProcessState,
    /// DESCRIPTORS.
    pub descriptors: &'a [Descriptor],
    /// FILES.
    pub files: &'a [File],
    /// MAPS.
    pub maps: &'a [Map],
    /// STRINGS.
    pub strings: &'a [u8],
    /// THREADS.
    pub threads: &'a [Thread],
    /// TIMERS.
    pub timers: &'a [Timer],
    /// SIGNALS.
    pub signals: &'a [Signal],
    /// LOCKS.
    pub locks: &'a [FileLock],
    /// RANGES.
    pub ranges: &'a [Range],
    /// WATCHES.
    pub watches: &'a [Watch],
}

/// The process that is to become the process of the image.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// Ranges where no mapping of the image can be.
    pub reserved: &'a [(u64, u64)],
    /// End of the stack of this process.
    pub stack_end: u64,
    /// Bytes that the stack may have at most.
    pub stack_limit: u64,
    /// The first descriptor that does not belong to the program.
    pub descriptors_end: i32,
    /// The restartable-sequence area of a thread: offset from its thread pointer, and length (0:
    /// none).
    pub rseq: (u64, u64),
    /// Bytes of the notes about a thread.
    pub notes_bytes: u64,
}

/// The problem, in a few words.
pub type Wrong = &'static str;

/// One number over all tables, in the order of the stream.
/// [`ProcessState::digest`](super::ProcessState::digest) itself counts as 0.
#[must_use]
pub fn digest(tables: [&[u8]; 11]) -> u64 {
    let [process, rest @ ..] = tables;
    let at = core::mem::offset_of!(ProcessState, digest).min(process.len());
    let behind = (at + 8).min(process.len());
    let mut hash = Hash::new().with(&process[..at]).with(&[0; 8]).with(&process[behind..]);
    for table in rest {
        // The length counts as well, or bytes could move from one table to the next.
        hash = hash.with(&(table.len() as u64).to_le_bytes()).with(table);
    }
    hash.value()
}

/// Checks that all tables can be acted upon.
///
/// # Errors
/// The first problem.
pub fn check(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    texts(tables)?;
    mappings(tables, here)?;
    descriptors(tables, here)?;
    locks(tables)?;
    watches(tables, here)?;
    ranges(tables, here)?;
    threads(tables, here)?;
    clockwork(tables)
}

/// The file at an address, and the offset in it. `None`: no file is mapped there.
#[must_use]
pub fn in_file(maps: &[Map], address: u64) -> Option<(u32, u64)> {
    let map = around(maps, address)?;
    (map.file != map::NO_FILE).then(|| (map.file, map.offset.wrapping_add(address - map.start)))
}

/// Whether a text is inside of STRINGS, and ends with the zero after it.
#[must_use]
pub fn is_text(strings: &[u8], text: Text) -> bool {
    let (from, len) = (text.offset as usize, text.len as usize);
    0 < text.len
        && text.len < PATH_BYTES_MAX
        && strings
            .get(from..)
            .and_then(|rest| rest.get(..=len))
            .is_some_and(|bytes| bytes.iter().position(|&byte| byte == 0) == Some(len))
}

fn texts(tables: &Tables<'_>) -> Result<(), Wrong> {
    let fits = |text| is_text(tables.strings, text);
    if !fits(tables.process.cwd) || !fits(tables.process.executable) {
        return Err("no working directory or executable");
    }
    if !tables.files.iter().all(|file| fits(file.path)) {
        return Err("a mapping of no file");
    }
    Ok(())
}

/// The mapping around an address. Mappings are ascending.
fn around(maps: &[Map], address: u64) -> Option<&Map> {
    let at = maps.partition_point(|map| map.end <= address);
    maps.get(at).filter(|map| map.start <= address)
}

/// Whether the image has all these bytes, aligned, in one mapping with these rights.
fn brings(maps: &[Map], address: u64, bytes: u64, align: u64, prot: u32) -> bool {
    address.is_multiple_of(align)
        && around(maps, address)
            .is_some_and(|map| bytes <= map.end - address && map.prot & prot == prot)
}

/// Mappings must be ascending, on page boundaries, outside of the reserved ranges, and of existing
/// files.
fn mappings(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    let (mut floor, mut stacks) = (4096, 0);
    for map in tables.maps {
        let aligned = (map.start | map.end | map.offset) & 4095 == 0;
        if !aligned || map.start < floor || map.end <= map.start || map.end > USER_END {
            return Err("mappings out of order");
        }
        let len = map.end - map.start;
        if map.offset > i64::MAX as u64 - len {
            return Err("a mapping behind the end of all files");
        }
        if map.prot & !PROTS != 0 || map.flags & !FLAGS != 0 || map.reserved != 0 {
            return Err("a mapping of no kind");
        }
        let of_file = map.file != map::NO_FILE || map.flags & map::SHARED != 0;
        if map.flags & map::CONTENTS != 0 && of_file {
            return Err("a mapping with contents and a file");
        }
        let kinds = map.flags & (map::STACK | map::CONTENTS | map::GROWS_DOWN);
        if map.flags & map::DROPPABLE != 0 && (of_file || kinds != 0) {
            return Err("a mapping of no kind");
        }
        if here.reserved.iter().any(|&(from, to)| map.start < to && map.end > from) {
            return Err("a mapping where none can be");
        }
        if map.flags & map::STACK != 0 {
            stacks += 1;
            let plain = map.file == map::NO_FILE && map.flags & map::SHARED == 0;
            if map.end != here.stack_end || !plain {
                return Err("its stack is elsewhere");
            }
            let near = |end: u64| end <= map.start && map.start - end < STACK_GAP;
            let has_no_gap = floor > 4096 && near(floor) || here.reserved.iter().any(|r| near(r.1));
            if map.end - map.start > here.stack_limit || has_no_gap {
                return Err("its stack has no room");
            }
        } else if map.file != map::NO_FILE {
            let Some(file) = tables.files.get(map.file as usize) else {
                return Err("a mapping of no file");
            };
            let rest = file.size.saturating_sub(map.offset);
            if file.hashed != 0 && map.end - map.start > rest.saturating_add(BEYOND_FILE) {
                return Err("a mapping far beyond its file");
            }
            if file.nameless != 0 {
                let fd = file.nameless.wrapping_sub(1) as i32;
                let made = entry(tables, fd).is_some_and(|d| d.how == descriptor::RECREATE);
                if !made || map.flags & map::SHARED == 0 {
                    return Err("a mapping of a file that it has not open");
                }
            }
        }
        floor = map.end;
    }
    let process = tables.process;
    if stacks != 1 {
        return Err("it has no stack");
    }
    if process.heap_end < process.heap_start || process.heap_end > USER_END {
        return Err("its heap ends before it begins");
    }
    Ok(())
}

/// The entry of a descriptor. The table is ascending.
fn entry<'a>(tables: &Tables<'a>, fd: i32) -> Option<&'a Descriptor> {
    let at = tables.descriptors.partition_point(|entry| entry.fd < fd);
    tables.descriptors.get(at).filter(|entry| entry.fd == fd)
}

fn descriptors(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    let mut floor = 0;
    for it in tables.descriptors {
        if it.fd < floor || it.fd >= here.descriptors_end {
            return Err("descriptors out of order");
        }
        floor = it.fd + 1;
    }
    // The table is ascending, so entries can be found now.
    for it in tables.descriptors {
        let alone = it.other == -1;
        let other = |how: u32| entry(tables, it.other).is_some_and(|other| other.how == how);
        let path = is_text(tables.strings, it.path);
        let kind = it.mode & KIND;
        let sane = match it.how {
            descriptor::KEEP => it.fd < 3,
            descriptor::DUPLICATE => it.other < it.fd && entry(tables, it.other).is_some(),
            descriptor::STREAM => (0..3).contains(&it.other),
            descriptor::REOPEN | descriptor::REOPEN_GUARDED | descriptor::REOPEN_ALONE => {
                path && matches!(kind, REGULAR | DIRECTORY | CHARACTERS)
            }
            descriptor::REOPEN_CUT => path && kind == REGULAR && it.size <= i64::MAX as u64,
            descriptor::RECREATE => path && it.fd > 2 && it.size <= i64::MAX as u64,
            descriptor::AGAIN => it.other < it.fd && other(descriptor::RECREATE),
            descriptor::PIPE => {
                it.fd > 2
                    && (alone || other(descriptor::PIPE_END))
                    && (1..=1 << 31).contains(&it.size)
            }
            descriptor::PIPE_END => {
                it.fd > 2 && (alone || other(descriptor::PIPE)) && (1..=1 << 31).contains(&it.size)
            }
            // No counter can have the highest value.
            descriptor::EVENTFD => it.offset < u64::MAX,
            descriptor::EPOLL
            | descriptor::SIGNALFD
            | descriptor::PIDFD
            | descriptor::TIMERFD
            | descriptor::INOTIFY => true,
            descriptor::PAIR => {
                it.fd > 2 && (alone || other(descriptor::PAIR)) && it.size <= limit::CONTENT_BYTES
            }
            descriptor::SOCKET => it.fd > 2,
            descriptor::OF_THE_CALLER => {
                path && it.fd > 2 && (3..here.descriptors_end).contains(&it.other)
            }
            descriptor::OF_THE_RANK => (0..here.descriptors_end).contains(&it.other),
            _ => false,
        };
        let paired = match it.how {
            descriptor::PIPE | descriptor::PIPE_END | descriptor::PAIR => !alone,
            _ => false,
        };
        let told = it.owner <= owner::GROUP;
        // A file of its contents stands for such a descriptor for a while.
        let filled = !it.has_contents()
            || it.fd > 2 && kind == REGULAR && (1..=limit::SMALL_FILE_BYTES).contains(&it.size);
        let sealed = it.seals == 0 || it.how == descriptor::RECREATE;
        if !sane
            || !told
            || !filled
            || !sealed
            || !(0..=64).contains(&it.signal)
            || paired && entry(tables, it.other).is_none_or(|other| other.other != it.fd)
        {
            return Err("a descriptor of no kind");
        }
    }
    Ok(())
}

/// Locks must belong to descriptors that are made again, in their order.
fn locks(tables: &Tables<'_>) -> Result<(), Wrong> {
    let mut floor = 0;
    for held in tables.locks {
        let lockable = entry(tables, held.fd).is_some_and(|it| {
            let made = matches!(
                it.how,
                descriptor::REOPEN
                    | descriptor::REOPEN_CUT
                    | descriptor::REOPEN_GUARDED
                    | descriptor::REOPEN_ALONE
                    | descriptor::RECREATE
                    | descriptor::AGAIN
            );
            // `fcntl` grants write locks for writing only, and read locks for reading only.
            let access = it.open_flags & libc::O_ACCMODE as u32;
            let refused = if held.writes == 1 { libc::O_RDONLY } else { libc::O_WRONLY };
            let of_fcntl = matches!(held.kind, lock::POSIX | lock::OPEN_FILE);
            made && (it.how == descriptor::RECREATE
                || matches!(it.mode & KIND, REGULAR | DIRECTORY))
                && !(of_fcntl && access == refused as u32)
        });
        let sane = (lock::FLOCK..=lock::LEASE).contains(&held.kind)
            && held.writes <= 1
            && held.reserved == 0
            && held.start <= i64::MAX as u64
            && held.len <= i64::MAX as u64 - held.start;
        if held.fd < floor || !lockable || !sane {
            return Err("a lock of no kind");
        }
        floor = held.fd;
    }
    Ok(())
}

/// Watches must belong to descriptors that watch, in their order. What an `epoll` descriptor
/// watches must be open.
fn watches(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    let mut floor = 0;
    for it in tables.watches {
        let sane = match entry(tables, it.holder).map(|holder| holder.how) {
            Some(descriptor::EPOLL) => {
                (0..here.descriptors_end).contains(&it.target)
                    && it.target != it.holder
                    && it.file != it.holder
                    && entry(tables, it.file).is_some()
            }
            _ => false,
        };
        if it.holder < floor || !sane {
            return Err("a watch of no kind");
        }
        floor = it.holder;
    }
    Ok(())
}

/// Ranges must be on page boundaries and outside of the reserved ranges: the restored process gives
/// advice on them.
fn ranges(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    for range in tables.ranges {
        let aligned = (range.start | range.end) & 4095 == 0;
        let known = range.flags & !range::ALL == 0 && range.reserved == 0;
        let inside = 4096 <= range.start && range.start < range.end && range.end <= USER_END;
        let stays = |&(from, to): &(u64, u64)| range.start < to && range.end > from;
        if !aligned || !known || !inside || here.reserved.iter().any(stays) {
            return Err("a range of no kind");
        }
    }
    Ok(())
}

fn threads(tables: &Tables<'_>, here: &Here<'_>) -> Result<(), Wrong> {
    let maps = tables.maps;
    for thread in tables.threads {
        let [stack, instruction] = thread.resume;
        let goes_on = brings(maps, stack, SAVED_BYTES, 8, PROT_WRITE)
            && brings(maps, instruction, 1, 1, PROT_EXEC);
        let block = brings(maps, thread.fs_base, 64, 8, PROT_WRITE);
        let id = thread.tid_address == 0 || brings(maps, thread.tid_address, 4, 4, PROT_WRITE);
        let (offset, len) = here.rseq;
        let rseq = thread.rseq_address == 0
            || thread.rseq_len == len
                && thread.rseq_address == thread.fs_base.wrapping_add(offset)
                && brings(maps, thread.rseq_address, len, 32, PROT_WRITE);
        let notes =
            thread.notes == 0 || brings(maps, thread.notes, here.notes_bytes, 8, PROT_WRITE);
        if thread.tid <= 0 || !goes_on || !block || !id || !rseq || !notes {
            return Err("a thread without its memory");
        }
    }
    if !brings(maps, tables.process.resume_ip, 1, 1, PROT_EXEC) {
        return Err("nowhere to go on");
    }
    Ok(())
}

/// No timer and no signal may end the process that is being assembled.
fn clockwork(tables: &Tables<'_>) -> Result<(), Wrong> {
    let catchable =
        |signal: i32| (1..=64).contains(&signal) && !matches!(signal, SIGKILL | SIGSTOP);
    for timer in tables.timers {
        let known = timer.notify & !(SIGEV_NONE | SIGEV_THREAD_ID) == 0;
        let quiet = timer.notify & SIGEV_NONE != 0;
        if !known || timer.id < 0 || !(quiet || catchable(timer.signal)) {
            return Err("a timer of no kind");
        }
    }
    if !tables.signals.iter().all(|signal| signal.tid >= 0 && catchable(signal.number)) {
        return Err("a signal that cannot wait");
    }
    Ok(())
}

/// Whether a CONTENTS record belongs where it says, after the one before it: `at` and length.
#[must_use]
pub fn content_fits(table: &[Descriptor], before: Option<(u64, u64)>, at: u64, len: u64) -> bool {
    let offset = at & ((1 << 48) - 1);
    let Some(entry) = table.get((at >> 48) as usize) else { return false };
    let inside = match entry.how {
        descriptor::RECREATE => offset.checked_add(len).is_some_and(|end| end <= entry.size),
        descriptor::PIPE | descriptor::PAIR => offset == 0 && len <= entry.size,
        descriptor::SOCKET => offset == 0 && len == size_of::<SocketState>() as u64,
        descriptor::REOPEN | descriptor::REOPEN_CUT => {
            entry.has_contents() && offset == 0 && len == entry.size
        }
        _ => false,
    };
    // The bounds on lengths keep an offset from reaching the number of the next entry.
    let behind = before.is_none_or(|(at_before, len_before)| {
        at > at_before && (at >> 48 != at_before >> 48 || at - at_before >= len_before)
    });
    inside && len > 0 && behind
}

const _: () =
    assert!(size_of::<ProcessState>().is_multiple_of(8) && size_of::<Map>().is_multiple_of(8));

#[cfg(test)]
mod tests;

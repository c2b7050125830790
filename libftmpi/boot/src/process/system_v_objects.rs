//! Semaphores and message queues of System V that this process alone uses.
//!
//! Guarantees: a restored process finds the values and messages of the image, under the same
//! numbers. On the same boot of a host the objects of the previous incarnation are used, which
//! outlive a process; elsewhere they are made again. There is no image where others may use an
//! object, or where the kernel undoes operations at the end of the process (`SEM_UNDO`): nobody can
//! tell what it would undo.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::process::system_v::{QUEUES, SEMAPHORES, Used};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

const OBJECTS: usize = 32;
/// Bytes of all values and messages.
const CONTENTS: usize = 256 << 10;
const GETPID: c_int = 11;
const GETALL: c_int = 13;
const GETNCNT: c_int = 14;
const GETZCNT: c_int = 15;
const SETALL: c_int = 17;
/// `MSG_COPY`: a look at a message by its place.
const COPY: c_int = 0o40000;

/// A set or a queue. Part of images.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object {
    /// The kernel's number.
    number: c_int,
    is_queue: bool,
    key: c_int,
    mode: u32,
    /// Semaphores, or bytes that the queue may hold.
    size: u64,
    /// Messages of a queue.
    messages: u32,
    /// Where its contents begin.
    at: u32,
}

/// The objects of the image that is being taken, or was restored.
struct Objects {
    list: UnsafeCell<[Object; OBJECTS]>,
    len: AtomicU32,
    contents: UnsafeCell<[u8; CONTENTS]>,
}

// SAFETY: only the thread that takes an image, or the only thread of a restored process, uses it.
unsafe impl Sync for Objects {}

const NONE: Object =
    Object { number: 0, is_queue: false, key: 0, mode: 0, size: 0, messages: 0, at: 0 };

static OF_IMAGE: Objects = Objects {
    list: UnsafeCell::new([NONE; OBJECTS]),
    len: AtomicU32::new(0),
    contents: UnsafeCell::new([0; CONTENTS]),
};

/// Why an object cannot be part of an image.
type Why = &'static str;

const OTHERS: Why = "that others may use, too";
const TOO_LARGE: Why = "that hold too much";
const UNKNOWN: Why = "that the kernel does not show";

/// A message in the contents: kind, length, and its bytes.
const HEADER: usize = 16;

fn semctl(set: c_int, which: usize, what: c_int, argument: usize) -> Result<usize, Errno> {
    // SAFETY: the argument is what the command wants, by all callers.
    unsafe { syscalls::call!(libc::SYS_semctl, set, which, what, argument) }
}

/// What the kernel tells about a set or queue: struct semid_ds or msqid_ds, in words.
fn about(number: c_int, is_queue: bool) -> Option<[u64; 16]> {
    let mut words = [0u64; 16];
    let at = words.as_mut_ptr();
    let answer = if is_queue {
        // SAFETY: struct msqid_ds has 120 bytes.
        unsafe { syscalls::call!(libc::SYS_msgctl, number, libc::IPC_STAT, at) }
    } else {
        semctl(number, 0, libc::IPC_STAT, at.expose_provenance())
    };
    answer.is_ok().then_some(words)
}

fn object(number: c_int, is_queue: bool, words: &[u64; 16]) -> Object {
    let size = if is_queue { words[11] } else { words[10] };
    let (key, mode) = (words[0] as c_int, (words[2] >> 32) as u32 & 0o777);
    Object { number, is_queue, key, mode, size, messages: 0, at: 0 }
}

/// Whether the image has any.
pub fn any() -> bool {
    OF_IMAGE.len.load(Ordering::Relaxed) != 0
}

/// Writes all objects down that the program uses, or refuses the image.
pub fn gather(area: &ReservedArea) -> Result<(), Refused> {
    // SAFETY: only this thread uses them (see `Objects`).
    let (list, contents) = unsafe { (&mut *OF_IMAGE.list.get(), &mut *OF_IMAGE.contents.get()) };
    let (mut len, mut filled) = (0, 0);
    for (used, is_queue) in [(&SEMAPHORES, false), (&QUEUES, true)] {
        let refuse = |number, why| {
            let what = if is_queue { "message queues" } else { "semaphores" };
            area.refuse(Refusal::SystemV { what, why, number })
        };
        if used.has_more() {
            return Err(refuse(-1, "of which there are too many"));
        }
        for number in used.numbers() {
            let Some(words) = about(number, is_queue) else {
                used.forget(number);
                continue;
            };
            if used.is_undone(number) {
                return Err(refuse(number, "whose operations the kernel undoes (SEM_UNDO)"));
            }
            let mut found = object(number, is_queue, &words);
            found.at = filled as u32;
            let room = &mut contents[filled..];
            let taken =
                if is_queue { messages(&mut found, &words, room) } else { values(&found, room) };
            filled += taken.map_err(|why| refuse(number, why))?;
            *list.get_mut(len).ok_or_else(|| refuse(-1, TOO_LARGE))? = found;
            len += 1;
        }
    }
    OF_IMAGE.len.store(len as u32, Ordering::Relaxed);
    Ok(())
}

/// Copies the values of a set. Gives the bytes.
fn values(set: &Object, into: &mut [u8]) -> Result<usize, Why> {
    let me = syscalls::getpid() as usize;
    for which in 0..set.size as usize {
        let ask = |what| semctl(set.number, which, what, 0).map_err(|_| UNKNOWN);
        if ![0, me].contains(&ask(GETPID)?) || ask(GETNCNT)? + ask(GETZCNT)? > 0 {
            return Err(OTHERS);
        }
    }
    let bytes = (set.size as usize * 2).next_multiple_of(8);
    let into = into.get_mut(..bytes).ok_or(TOO_LARGE)?;
    let at = into.as_mut_ptr().expose_provenance();
    semctl(set.number, 0, GETALL, at).map_err(|_| UNKNOWN)?;
    Ok(bytes)
}

/// Copies the messages of a queue. Gives the bytes.
fn messages(queue: &mut Object, words: &[u64; 16], into: &mut [u8]) -> Result<usize, Why> {
    let me = syscalls::getpid();
    let users = [words[12] as i32, (words[12] >> 32) as i32];
    if users.iter().any(|user| ![0, me].contains(user)) {
        return Err(OTHERS);
    }
    let mut at = 0;
    queue.messages = words[10] as u32;
    for place in 0..queue.messages {
        let room = into.get_mut(at..).filter(|room| room.len() > HEADER).ok_or(TOO_LARGE)?;
        // The kernel writes the kind, 8 bytes, before the text.
        let (len, text) = room.split_at_mut(8);
        let most = text.len() - 8;
        // SAFETY: there is room for the kind and `most` bytes.
        let got = unsafe {
            syscalls::call!(
                libc::SYS_msgrcv,
                queue.number,
                text.as_mut_ptr(),
                most,
                place,
                COPY | libc::IPC_NOWAIT
            )
        };
        let got = match got {
            Ok(got) => got,
            Err(libc::E2BIG) => return Err(TOO_LARGE),
            Err(_) => return Err(UNKNOWN),
        };
        len.copy_from_slice(&(got as u64).to_le_bytes());
        at += (HEADER + got).next_multiple_of(8);
    }
    Ok(at)
}

/// Gives the objects back what they held, in the restored process.
pub fn restore(area: &ReservedArea, same_boot: bool) -> Result<(), Refused> {
    // SAFETY: only this thread uses them (see `Objects`).
    let (list, contents) = unsafe { (&*OF_IMAGE.list.get(), &*OF_IMAGE.contents.get()) };
    for it in &list[..(OF_IMAGE.len.load(Ordering::Relaxed) as usize).min(OBJECTS)] {
        let contents = contents.get(it.at as usize..).unwrap_or_default();
        bring_back(it, contents, same_boot)
            .map_err(|errno| area.refuse(Refusal::SystemVNotMade { errno }))?;
    }
    Ok(())
}

fn bring_back(it: &Object, contents: &[u8], same_boot: bool) -> Result<(), Errno> {
    let now = about(it.number, it.is_queue).map(|words| object(it.number, it.is_queue, &words));
    let alike = |now: &Object| (now.key, now.size) == (it.key, it.size);
    let number = if same_boot && now.as_ref().is_some_and(alike) { it.number } else { make(it)? };
    if it.is_queue {
        fill_queue(number, it.messages, contents)?;
    } else {
        semctl(number, 0, SETALL, contents.as_ptr().expose_provenance())?;
    }
    if number != it.number {
        let used: &Used = if it.is_queue { &QUEUES } else { &SEMAPHORES };
        used.known.now_means(it.number, number);
        used.forget(it.number);
        used.note(number);
    }
    Ok(())
}

fn make(it: &Object) -> Result<c_int, Errno> {
    let flags = it.mode as c_int | libc::IPC_CREAT | libc::IPC_EXCL;
    // SAFETY: no memory involved.
    let made = unsafe {
        match it.is_queue {
            true => syscalls::call!(libc::SYS_msgget, it.key, flags),
            false => syscalls::call!(libc::SYS_semget, it.key, it.size, flags),
        }
    };
    made.map(|number| number as c_int)
}

/// Replaces the messages of a queue.
fn fill_queue(queue: c_int, messages: u32, contents: &[u8]) -> Result<(), Errno> {
    let now = libc::IPC_NOWAIT;
    let mut one = [0u64; 2];
    let any = now | libc::MSG_NOERROR;
    // SAFETY: there is room for the kind and 8 bytes; a longer message is cut off.
    while unsafe { syscalls::call!(libc::SYS_msgrcv, queue, one.as_mut_ptr(), 8, 0, any) }.is_ok() {
    }
    let mut at = 0;
    for _ in 0..messages {
        let message = contents.get(at..).filter(|rest| rest.len() >= HEADER).ok_or(libc::EIO)?;
        let (len, text) = message.split_at(8);
        let len = u64::from_le_bytes(len.try_into().unwrap_or_default()) as usize;
        if text.len() < 8 + len {
            return Err(libc::EIO);
        }
        // SAFETY: the kind and `len` bytes are there.
        unsafe { syscalls::call!(libc::SYS_msgsnd, queue, text.as_ptr(), len, now) }?;
        at += (HEADER + len).next_multiple_of(8);
    }
    Ok(())
}

//! The owner of a descriptor, who gets its signals: `F_SETOWN`, `F_SETSIG`, `O_ASYNC`.
//!
//! The kernel keeps the owner with the open file, by the id of a process or thread. The ids are
//! others in the next incarnation.
//!
//! Guarantees: if the program itself was the owner, it is the owner again after the restore. A
//! descriptor whose signals go to another process makes an image impossible: the id may be
//! anybody's later.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::threads::thread_state::new_tid;
use ftmpi_checkpoint::stream::{Descriptor, ProcessState, Thread, descriptor as how, owner};

const F_SETSIG: i32 = 10;
const F_GETSIG: i32 = 11;
const F_SETOWN_EX: i32 = 15;
const F_GETOWN_EX: i32 = 16;
const OF_THREAD: i32 = 0;
const OF_PROCESS: i32 = 1;
const OF_GROUP: i32 = 2;

/// `struct f_owner_ex`. Id 0: nobody.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    kind: i32,
    number: i32,
}

impl Default for Owner {
    fn default() -> Self {
        Self { kind: OF_PROCESS, number: 0 }
    }
}

impl Owner {
    /// The thread that calls.
    pub fn this_thread() -> Self {
        Self { kind: OF_THREAD, number: syscalls::gettid() }
    }
}

/// The owner.
pub fn get(fd: i32) -> Result<Owner, Errno> {
    let mut owner = Owner::default();
    // SAFETY: the structure is valid for writing.
    unsafe { syscalls::call!(libc::SYS_fcntl, fd, F_GETOWN_EX, &raw mut owner) }?;
    Ok(owner)
}

/// Sets the owner.
pub fn set(fd: i32, owner: Owner) -> Result<(), Errno> {
    // SAFETY: the structure is valid for reading.
    unsafe { syscalls::call!(libc::SYS_fcntl, fd, F_SETOWN_EX, &raw const owner) }.map(|_| ())
}

/// The signal; 0: `SIGIO`.
pub fn signal(fd: i32) -> i32 {
    syscalls::fcntl(fd, F_GETSIG, 0).unwrap_or(0)
}

/// Sets the signal.
pub fn set_signal(fd: i32, signal: i32) -> Result<(), Errno> {
    syscalls::fcntl(fd, F_SETSIG, signal as usize).map(|_| ())
}

fn own_group() -> i32 {
    // SAFETY: no memory involved; 0 is this process.
    unsafe { syscalls::call!(libc::SYS_getpgid, 0) }.map_or(0, |group| group as i32)
}

fn is_own_thread(tid: i32) -> bool {
    // SAFETY: no memory involved; signal 0 only asks.
    unsafe { syscalls::call!(libc::SYS_tgkill, syscalls::getpid(), tid, 0) }.is_ok()
}

/// Writes owner and signal of a descriptor into its entry.
pub fn gather(
    area: &ReservedArea,
    strings: &Strings,
    entry: &mut Descriptor,
) -> Result<(), Refused> {
    if matches!(entry.how, how::DUPLICATE | how::STREAM | how::OF_THE_CALLER) {
        return Ok(());
    }
    // A file without an owner sends no signals.
    let found = get(entry.fd).unwrap_or_default();
    entry.signal = signal(entry.fd);
    entry.owner = match (found.kind, found.number) {
        (_, 0) => owner::NONE,
        (OF_PROCESS, pid) if pid == syscalls::getpid() => owner::PROCESS,
        (OF_GROUP, group) if group == own_group() => owner::GROUP,
        (OF_THREAD, tid) if is_own_thread(tid) => {
            entry.owner_tid = tid;
            owner::THREAD
        }
        // The launcher's descriptors belong to the launcher.
        _ if entry.how == how::KEEP => owner::NONE,
        (_, number) => {
            return Err(area.refuse(Refusal::SignalsToOthers {
                fd: entry.fd,
                path: Shown(strings.get(entry.path)),
                number,
            }));
        }
    };
    Ok(())
}

/// Sets owner and signal again, in the restored process, when descriptors, locks and threads are
/// there. (A lease makes this process the owner.)
pub fn restore(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    let threads = &area.threads()[..process.threads as usize];
    for entry in &area.descriptors()[..process.descriptors as usize] {
        if matches!(entry.how, how::DUPLICATE | how::STREAM) {
            continue;
        }
        restore_one(entry, threads)
            .map_err(|errno| area.refuse(Refusal::OwnerNotSet { fd: entry.fd, errno }))?;
    }
    Ok(())
}

fn restore_one(entry: &Descriptor, threads: &[Thread]) -> Result<(), Errno> {
    let fd = entry.fd;
    let wanted = match entry.owner {
        owner::PROCESS => Owner { kind: OF_PROCESS, number: syscalls::getpid() },
        owner::GROUP => Owner { kind: OF_GROUP, number: own_group() },
        owner::THREAD => {
            let thread = threads.iter().find(|thread| thread.tid == entry.owner_tid);
            let number = thread.and_then(new_tid).ok_or(libc::ESRCH)?;
            Owner { kind: OF_THREAD, number }
        }
        _ => Owner::default(),
    };
    // This incarnation was not given the stream.
    let Ok(now) = get(fd) else { return Ok(()) };
    if now.number != wanted.number || wanted.number != 0 && now.kind != wanted.kind {
        set(fd, wanted)?;
    }
    if entry.signal != 0 {
        set_signal(fd, entry.signal)?;
    }
    if entry.open_flags as i32 & libc::O_ASYNC != 0 {
        let flags = syscalls::fcntl(fd, libc::F_GETFL, 0)?;
        syscalls::fcntl(fd, libc::F_SETFL, (flags | libc::O_ASYNC) as usize)?;
    }
    Ok(())
}

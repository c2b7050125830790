//! Who the process is to the kernel: user, groups, capabilities, seccomp filters, root directory,
//! namespaces.
//!
//! A restored process begins with what its agent gives it. No image may give more or less: if the
//! program has changed any of it in this incarnation, there is no image. A process that comes back
//! as root after it had become another user would be a security hole.

use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::Hash;

/// Lines of `/proc/…/status` about user, groups (real, effective, saved, file system) and
/// capabilities.
const USER: [&[u8]; 8] =
    [b"Uid:", b"Gid:", b"Groups:", b"CapInh:", b"CapPrm:", b"CapEff:", b"CapBnd:", b"CapAmb:"];
/// Lines about seccomp: the mode, and the number of filters. In a container the mode is set from
/// outside, so the mode alone tells nothing.
const FILTERS: [&[u8]; 2] = [b"Seccomp:", b"Seccomp_filters:"];

/// Hashes of what this incarnation began with: user, filters, root directory, namespaces,
/// permissions of the processor. 0: not known.
static AT_START: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];
/// Namespaces that a process can leave.
const NAMESPACES: [&CStr; 8] = [
    c"/proc/thread-self/ns/mnt",
    c"/proc/thread-self/ns/net",
    c"/proc/thread-self/ns/ipc",
    c"/proc/thread-self/ns/uts",
    c"/proc/thread-self/ns/user",
    c"/proc/thread-self/ns/cgroup",
    c"/proc/thread-self/ns/pid_for_children",
    c"/proc/thread-self/ns/time_for_children",
];

/// Remembers what this incarnation begins with.
pub fn remember_start(area: &ReservedArea) {
    let [user, filters] = marks(area, c"/proc/self/status").unwrap_or_default();
    let begun = [user, filters, root().unwrap_or(0), namespaces(), permissions()];
    for (slot, mark) in AT_START.iter().zip(begun) {
        slot.store(mark, Ordering::Relaxed);
    }
}

/// Hashes of the two groups of lines.
fn marks(area: &ReservedArea, path: &CStr) -> Result<[u64; 2], Errno> {
    let mut found = [Hash::new(); 2];
    let mut lines = Lines::open(path, area.text())?;
    while let Some(line) = lines.next()? {
        for (hash, names) in found.iter_mut().zip([&USER[..], &FILTERS[..]]) {
            if names.iter().any(|name| line.starts_with(name)) {
                *hash = hash.with(line);
            }
        }
    }
    Ok(found.map(|hash| hash.value()))
}

/// A hash of all namespaces, also of those that the kernel does not know.
fn namespaces() -> u64 {
    let hash = NAMESPACES.iter().fold(Hash::new(), |hash, name| {
        let mut text = [0u8; 64];
        let len = syscalls::readlink(name, &mut text).unwrap_or(0);
        hash.with(&(len as u64).to_le_bytes()).with(&text)
    });
    hash.value()
}

/// A hash of the root directory.
fn root() -> Result<u64, Errno> {
    let stat = syscalls::stat(c"/")?;
    let words = [stat.st_dev, stat.st_ino];
    let hash = words.iter().fold(Hash::new(), |hash, word| hash.with(&word.to_le_bytes()));
    Ok(hash.value())
}

/// Processor state that a process must ask for before it uses it (the tiles of AMX), as a mask.
fn permissions() -> u64 {
    const ARCH_GET_XCOMP_PERM: usize = 0x1022;
    let mut mask = 0u64;
    // SAFETY: writes one word.
    let answer =
        unsafe { syscalls::call!(libc::SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &raw mut mask) };
    if answer.is_ok() { mask } else { 0 }
}

/// Refuses an image of a process whose main thread has changed.
pub fn refuse_changed(area: &ReservedArea) -> Result<(), Refused> {
    // First: with another root directory there may be no /proc.
    let failed = |errno| area.unreadable("the root directory", errno);
    if root().map_err(failed)? != AT_START[2].load(Ordering::Relaxed) {
        return Err(area.refuse(Refusal::RootChanged));
    }
    refuse_changed_by(area, c"/proc/self/status")?;
    if namespaces() != AT_START[3].load(Ordering::Relaxed) {
        return Err(area.refuse(Refusal::NamespacesChanged));
    }
    if permissions() != AT_START[4].load(Ordering::Relaxed) {
        return Err(area.refuse(Refusal::ProcessorState));
    }
    Ok(())
}

/// The same for one thread. A thread that goes past the C library can change itself alone.
pub fn refuse_changed_thread(area: &ReservedArea, tid: i32) -> Result<(), Refused> {
    let mut path = [0; 64];
    refuse_changed_by(area, procfs::numbered_at("task", tid as u32, "/status", &mut path))
}

fn refuse_changed_by(area: &ReservedArea, path: &CStr) -> Result<(), Refused> {
    let failed = |errno| area.unreadable("/proc/self/status", errno);
    let [user, filters] = marks(area, path).map_err(failed)?;
    let [old_user, old_filters, ..] = AT_START.each_ref().map(|slot| slot.load(Ordering::Relaxed));
    let changed = match (user == old_user, filters == old_filters) {
        (true, true) => return Ok(()),
        (false, _) => "user, groups or capabilities",
        (true, false) => "filters of system calls (seccomp)",
    };
    Err(area.refuse(Refusal::CredentialsChanged { what: changed }))
}

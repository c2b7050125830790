//! Standard streams: a restored process keeps the streams that the launcher gave to it, unless the
//! program had replaced them.

use crate::base::refusal::Refused;
use crate::base::syscalls;
use crate::base::tables::StreamIdentity;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::device;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

/// The standard streams as the launcher gave them (all zero: closed).
static STREAMS: [[AtomicU64; 3]; 3] = [const { [const { AtomicU64::new(0) }; 3] }; 3];

fn identity(stat: &libc::stat) -> StreamIdentity {
    StreamIdentity {
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: u64::from(stat.st_mode & libc::S_IFMT),
    }
}

/// What the three standard streams are now.
pub fn current() -> [StreamIdentity; 3] {
    [0, 1, 2]
        .map(|fd| syscalls::fstat(fd).map_or(StreamIdentity::default(), |stat| identity(&stat)))
}

/// Remembers the standard streams of this incarnation.
pub fn remember(streams: [StreamIdentity; 3]) {
    for (slot, stream) in STREAMS.iter().zip(streams) {
        slot[0].store(stream.device, Ordering::Relaxed);
        slot[1].store(stream.inode, Ordering::Relaxed);
        slot[2].store(stream.mode, Ordering::Relaxed);
    }
}

fn given(fd: usize) -> StreamIdentity {
    let [device, inode, mode] = &STREAMS[fd];
    StreamIdentity {
        device: device.load(Ordering::Relaxed),
        inode: inode.load(Ordering::Relaxed),
        mode: mode.load(Ordering::Relaxed),
    }
}

/// Whether the descriptor is a standard stream as the launcher gave it; then fills the entry.
pub fn is_launchers(entry: &mut Descriptor, stat: &libc::stat) -> bool {
    let is_given = entry.fd <= 2 && identity(stat) == given(entry.fd as usize);
    if is_given {
        entry.how = how::KEEP;
    }
    is_given
}

/// Whether the descriptor is a copy of one of the launcher's streams, by `dup` or by an open of
/// `/dev/stdout`; then fills the entry.
pub fn is_copy(it: &mut Candidate<'_>) -> bool {
    let is_file = matches!(it.file_type(), libc::S_IFREG | libc::S_IFDIR);
    let is_device = it.file_type() == libc::S_IFCHR && device::is_harmless(it.path());
    if is_file || is_device {
        return false;
    }
    let now = identity(&it.stat);
    let Some(stream) = (0..3).find(|&n| now == given(n)) else { return false };
    it.entry.how = how::STREAM;
    it.entry.other = stream as i32;
    true
}

/// Gives a new stream of the launcher the flags that the program had set. If this incarnation has
/// no such stream, it stays closed.
pub fn restore(entry: &Descriptor) -> Result<(), Refused> {
    let now = syscalls::fcntl(entry.fd, libc::F_GETFL, 0);
    let waits = entry.open_flags as i32 & libc::O_NONBLOCK;
    if let Ok(now) = now
        && now & libc::O_NONBLOCK != waits
    {
        let flags = now & !libc::O_NONBLOCK | waits;
        let _ = syscalls::fcntl(entry.fd, libc::F_SETFL, flags as usize);
    }
    let _ = syscalls::fcntl(entry.fd, libc::F_SETFD, entry.fd_flags as usize);
    Ok(())
}

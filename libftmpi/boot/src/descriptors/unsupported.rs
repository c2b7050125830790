//! Descriptors that an image cannot contain: `fanotify`, `io_uring`, `userfaultfd`, message queues,
//! block devices, other character devices.
//!
//! An image is refused, with one line that names the descriptor. To support one of these kinds, add
//! a file for the kind to this folder: `examine` for the capture, called from
//! [`crate::descriptors::checkpoint`], and `restore`, called from [`crate::descriptors::restore`].

use crate::base::refusal::Refused;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::file_system::file_system;

/// The refusal of a descriptor that is of no supported kind.
pub fn refuse(it: &Candidate<'_>) -> Refused {
    it.refuse(match it.file_type() {
        libc::S_IFSOCK => "a socket",
        libc::S_IFIFO => "a pipe",
        libc::S_IFCHR => "a device",
        libc::S_IFBLK => "a block device",
        _ => "a kernel object",
    })
}

/// What looks like a regular file and is none: a copy of its bytes would be something else.
pub fn special_file(fd: i32) -> Option<&'static str> {
    const MQUEUE: u64 = 0x1980_0202;
    const HUGETLBFS: u64 = 0x9584_58f6;
    const SECRETMEM: u64 = 0x5345_434d;
    const PIDFS: u64 = 0x5049_4446;
    const NSFS: u64 = 0x6e73_6673;
    match file_system(fd)? {
        MQUEUE => Some("a message queue (mq_open)"),
        HUGETLBFS => Some("a file of huge pages (MFD_HUGETLB)"),
        SECRETMEM => Some("secret memory (memfd_secret)"),
        PIDFS => Some("a process (pidfd)"),
        NSFS => Some("a namespace"),
        _ => None,
    }
}

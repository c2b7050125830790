//! The kind of file system that a file lies in.

use crate::base::syscalls;

const NFS: u64 = 0x6969;

/// The kind (`f_type`).
pub fn file_system(fd: i32) -> Option<u64> {
    // struct statfs: the first word is the kind.
    let mut info = [0u64; 16];
    // SAFETY: struct statfs has 120 bytes.
    unsafe { syscalls::call!(libc::SYS_fstatfs, fd, info.as_mut_ptr()) }.ok()?;
    Some(info[0])
}

pub fn is_nfs(fd: i32) -> bool {
    file_system(fd) == Some(NFS)
}

/// Whether a lease holds for other hosts, too. That is so if only this host uses the file system,
/// or if the server grants a lease only while nobody else has the file open. For unknown file
/// systems: no.
pub fn leases_hold_everywhere(fd: i32) -> bool {
    const TRUSTED: [u64; 18] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0xca45_1a4e, // bcachefs
        0x2fc1_2fc1, // ZFS
        0xf2f5_2010, // F2FS
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x794c_7630, // overlayfs
        0x3153_464a, // JFS
        0x5265_4973, // ReiserFS
        0x3434,      // NILFS
        0x4d44,      // FAT
        0x2011_bab0, // exFAT
        0x7366_746e, // NTFS
        NFS,         // by delegation
        0xff53_4d42, // CIFS, by oplock
        0xfe53_4d42, // SMB 2 and 3
    ];
    file_system(fd).is_some_and(|kind| TRUSTED.contains(&kind))
}

//! Descriptors that report what happens to files (`inotify`): made again, with the same watches
//! under the same numbers.
//!
//! Guarantees: a restored descriptor watches the files that are at the paths of the watched ones. A
//! watched file that is gone, or another file at its path, is reported as the kernel reports a
//! removed file: `IN_IGNORED`. No event is lost to an image: while events wait to be read there is
//! none. What happens to files between image and restore is not reported.
//!
//! The kernel tells the inode of a watched file and not its path. So the library notes the path of
//! each file when a program begins to watch it ([`note`]).

use crate::base::procfs::{self, hex, numbered};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::{put, set_flags};
use crate::tuning::WATCH_ATTEMPTS;
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{Descriptor, descriptor as how};

const SHOWN: Shown<'static> = Shown(b"anon_inode:inotify");
/// Bytes of a path that is noted, with the terminating zero.
const PATH_BYTES: usize = 512;
const NOTES: usize = 512;
const WATCHES: usize = 1024;
/// What a program may ask for, and what a watch may be: events, `IN_EXCL_UNLINK`, `IN_ONESHOT`.
const ASKED: u32 = libc::IN_ALL_EVENTS | libc::IN_EXCL_UNLINK | libc::IN_ONESHOT;

/// The path of a file that is or was watched. Part of images.
struct Note {
    /// [`FREE`], [`TAKEN`] or [`READY`].
    state: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    path: UnsafeCell<[u8; PATH_BYTES]>,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const READY: u32 = 2;

// SAFETY: who changes the state to `TAKEN` owns the path; a path that is ready is only read.
unsafe impl Sync for Note {}

static PATHS: [Note; NOTES] = [const {
    Note {
        state: AtomicU32::new(FREE),
        device: AtomicU64::new(0),
        inode: AtomicU64::new(0),
        path: UnsafeCell::new([0; PATH_BYTES]),
    }
}; NOTES];

/// One watch of an image. Part of images.
#[derive(Clone, Copy)]
struct Watch {
    /// The descriptor of the program.
    fd: i32,
    /// The number by which the program knows the watch.
    number: i32,
    mask: u32,
    /// Index of its note.
    note: u32,
}

/// The watches of the image that is being taken, or was restored.
struct Watches {
    list: UnsafeCell<[Watch; WATCHES]>,
    len: AtomicU32,
}

// SAFETY: only the thread that takes an image, or the only thread of a restored process, uses it.
unsafe impl Sync for Watches {}

static OF_IMAGE: Watches = Watches {
    list: UnsafeCell::new([Watch { fd: 0, number: 0, mask: 0, note: 0 }; WATCHES]),
    len: AtomicU32::new(0),
};

impl Note {
    fn path(&self) -> &CStr {
        // SAFETY: the note is ready.
        let path = unsafe { &*self.path.get() };
        CStr::from_bytes_until_nul(path).unwrap_or(c"/")
    }

    fn is_ready(&self) -> bool {
        self.state.load(Ordering::Acquire) == READY
    }

    fn is_of(&self, device: u64, inode: u64) -> bool {
        (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed)) == (device, inode)
    }

    /// Whether the path leads to the file.
    fn is_right(&self) -> bool {
        stat_itself(self.path()).is_ok_and(|stat| self.is_of(stat.st_dev, stat.st_ino))
    }

    fn become_taken(&self, from: u32) -> bool {
        let (taken, order) = (TAKEN, Ordering::Acquire);
        self.state.compare_exchange(from, taken, order, Ordering::Relaxed).is_ok()
    }

    /// Whether this note can be used for another file: it is free, or its path is wrong.
    fn take_over(&self) -> bool {
        self.become_taken(FREE) || self.is_ready() && !self.is_right() && self.become_taken(READY)
    }
}

/// `lstat`
fn stat_itself(path: &CStr) -> Result<libc::stat, Errno> {
    let fd = syscalls::open(path, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC)?;
    let stat = syscalls::fstat(fd);
    syscalls::close(fd);
    stat
}

/// The program watches the file at this path. `follow`: a symbolic link means its target.
pub fn note(path: &CStr, follow: bool) {
    let no_follow = if follow { 0 } else { libc::O_NOFOLLOW };
    let Ok(fd) = syscalls::open(path, libc::O_PATH | libc::O_CLOEXEC | no_follow) else { return };
    let (mut name, mut text) = ([0; 64], [0u8; PATH_BYTES]);
    let len = syscalls::readlink(numbered("fd", fd as u32, &mut name), &mut text[..PATH_BYTES - 1]);
    let stat = syscalls::fstat(fd);
    syscalls::close(fd);
    let (Ok(len), Ok(stat)) = (len, stat) else { return };
    let (device, inode) = (stat.st_dev, stat.st_ino);
    let is_known = |note: &&Note| {
        note.is_ready() && note.is_of(device, inode) && note.path().to_bytes() == &text[..len]
    };
    if len + 1 >= PATH_BYTES || PATHS.iter().find(is_known).is_some() {
        return;
    }
    // First of all a wrong path of this file, then any other that is of no use.
    let stale = |note: &&Note| note.is_ready() && note.is_of(device, inode) && note.take_over();
    let Some(note) =
        PATHS.iter().find(stale).or_else(|| PATHS.iter().find(|note| note.take_over()))
    else {
        return;
    };
    note.device.store(device, Ordering::Relaxed);
    note.inode.store(inode, Ordering::Relaxed);
    // SAFETY: the note is taken by this thread.
    unsafe { *note.path.get() = text };
    note.state.store(READY, Ordering::Release);
}

pub fn is_inotify(it: &Candidate<'_>) -> bool {
    it.path() == SHOWN.0
}

/// `inotify wd:1 ino:2f3a sdev:800021 mask:fce ignored_mask:0 …`: number, inode, events.
fn read(line: &[u8]) -> Option<(i32, u64, u32)> {
    let mut words = line.strip_prefix(b"inotify ")?.split(|byte| *byte == b' ');
    let mut after = |name: &[u8]| words.find_map(|word| word.strip_prefix(name));
    let number = hex(after(b"wd:")?)?.0 as i32;
    let inode = hex(after(b"ino:")?)?.0;
    Some((number, inode, hex(after(b"mask:")?)?.0 as u32))
}

/// Fills the entry.
pub fn examine(it: &mut Candidate<'_>) -> Result<(), Refused> {
    const FIONREAD: usize = 0x541b;
    let fd = it.entry.fd;
    let mut waiting = 0i32;
    // SAFETY: writes one number.
    unsafe { syscalls::call!(libc::SYS_ioctl, fd, FIONREAD, &raw mut waiting) }
        .map_err(|errno| it.fail(errno))?;
    if waiting > 0 && it.still {
        return Err(it.area.refuse(Refusal::EventsNotRead { fd }));
    }
    it.entry.how = how::INOTIFY;
    let mut result = Ok(());
    each_watch(it.area, fd, |_, inode, _| {
        if note_of(inode).is_none() {
            result = Err(it.refuse("an inotify that watches a file which is not at its path"));
        }
    })
    .map_err(|errno| it.fail(errno))?;
    result
}

fn each_watch(
    area: &ReservedArea,
    fd: i32,
    mut found: impl FnMut(i32, u64, u32),
) -> Result<(), Errno> {
    procfs::each_fdinfo_line(area.text(), fd, |line| {
        if let Some((number, inode, mask)) = read(line) {
            found(number, inode, mask);
        }
    })
}

/// The note of a watched file, whose path is right now. (The kernel does not tell the device as
/// `stat` does.)
fn note_of(inode: u64) -> Option<usize> {
    PATHS.iter().position(|note| {
        note.is_ready() && note.inode.load(Ordering::Relaxed) == inode && note.is_right()
    })
}

/// Writes down what all descriptors of the table watch. All threads stand still.
pub fn gather(area: &ReservedArea, table: &[Descriptor]) -> Result<(), Refused> {
    // SAFETY: only this thread uses the list (see `Watches`).
    let list = unsafe { &mut *OF_IMAGE.list.get() };
    let mut len = 0;
    for entry in table.iter().filter(|entry| entry.how == how::INOTIFY) {
        let fd = entry.fd;
        each_watch(area, fd, |number, inode, mask| {
            if let (Some(note), Some(place)) = (note_of(inode), list.get_mut(len)) {
                *place = Watch { fd, number, mask: mask & ASKED, note: note as u32 };
            }
            len += 1;
        })
        .map_err(|errno| area.refuse(Refusal::DescriptorUnreadable { fd, errno }))?;
    }
    if len > WATCHES {
        let (what, most) = ("files that inotify watches", WATCHES);
        return Err(area.refuse(Refusal::TooMany { what, most, errno: libc::EOPNOTSUPP }));
    }
    OF_IMAGE.len.store(len as u32, Ordering::Relaxed);
    Ok(())
}

/// Makes the descriptor again, in the restored process. It watches nothing yet.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    // SAFETY: no memory involved.
    let made = unsafe { syscalls::call!(libc::SYS_inotify_init1, 0) };
    put(area, entry, made, SHOWN)
}

/// Lets the descriptors watch again, when all files are open: the restore itself is no event.
pub fn watch_again(
    area: &ReservedArea,
    table: &[Descriptor],
    same_boot: bool,
) -> Result<(), Refused> {
    // SAFETY: only this thread uses the list (see `Watches`).
    let list = unsafe { &*OF_IMAGE.list.get() };
    let list = &list[..(OF_IMAGE.len.load(Ordering::Relaxed) as usize).min(WATCHES)];
    for entry in table.iter().filter(|entry| entry.how == how::INOTIFY) {
        let of_this = || list.iter().filter(|watch| watch.fd == entry.fd);
        let is_there = |watch: &&Watch| {
            let note = &PATHS[watch.note as usize % NOTES];
            note.is_right() || !same_boot && stat_itself(note.path()).is_ok()
        };
        let path = |watch: &Watch| PATHS[watch.note as usize % NOTES].path();
        let result = of_this()
            .filter(is_there)
            .try_for_each(|watch| add(watch, path(watch)))
            .and_then(|()| drain(entry.fd, area.content()))
            // The events of those that are gone stay to be read.
            .and_then(|()| of_this().filter(|watch| !is_there(watch)).try_for_each(add_gone))
            .and_then(|()| set_flags(entry));
        let fd = entry.fd;
        result.map_err(|errno| area.refuse(Refusal::NotMade { fd, path: SHOWN, errno }))?;
    }
    Ok(())
}

/// Tells the kernel the number of the next watch. Kernels without checkpoints do not know the call;
/// they count numbers upwards.
fn set_next_number(watch: &Watch) {
    const SET_NEXT_NUMBER: usize = 0x4004_4900;
    // SAFETY: no memory involved.
    let _ = unsafe {
        syscalls::call!(libc::SYS_ioctl, watch.fd, SET_NEXT_NUMBER, watch.number as usize)
    };
}

/// Begins a watch under its number.
fn add(watch: &Watch, path: &CStr) -> Result<(), Errno> {
    set_next_number(watch);
    for _ in 0..WATCH_ATTEMPTS {
        let mask = watch.mask | libc::IN_DONT_FOLLOW;
        // SAFETY: terminated path.
        let number =
            unsafe { syscalls::call!(libc::SYS_inotify_add_watch, watch.fd, path.as_ptr(), mask) }?;
        if number as i32 == watch.number {
            return Ok(());
        }
        // SAFETY: no memory involved.
        unsafe { syscalls::call!(libc::SYS_inotify_rm_watch, watch.fd, number) }?;
    }
    Err(libc::ENOSPC)
}

/// Watches a file that vanishes at once.
fn add_gone(watch: &Watch) -> Result<(), Errno> {
    // SAFETY: terminated name.
    let made =
        unsafe { syscalls::call!(libc::SYS_memfd_create, c"gone".as_ptr(), libc::MFD_CLOEXEC) }?
            as i32;
    let mut name = [0; 64];
    let path = numbered("fd", made as u32, &mut name);
    let events = watch.mask & (libc::IN_DELETE_SELF | libc::IN_ONESHOT);
    // Some event must be asked for: this one will not occur.
    let mask = events | libc::IN_MOVE_SELF;
    set_next_number(watch);
    // SAFETY: terminated path.
    let result =
        unsafe { syscalls::call!(libc::SYS_inotify_add_watch, watch.fd, path.as_ptr(), mask) };
    syscalls::close(made);
    match result {
        Ok(number) if number as i32 == watch.number => Ok(()),
        // A kernel that cannot be told the number: the program finds the watch missing.
        Ok(_) => drain(watch.fd, &mut [0; 256]),
        Err(errno) => Err(errno),
    }
}

/// Throws the events away that wait.
fn drain(fd: i32, into: &mut [u8]) -> Result<(), Errno> {
    let flags = syscalls::fcntl(fd, libc::F_GETFL, 0)?;
    syscalls::fcntl(fd, libc::F_SETFL, (flags | libc::O_NONBLOCK) as usize)?;
    loop {
        // Not the function that waits.
        // SAFETY: the slice is valid for writing.
        match unsafe { syscalls::call!(libc::SYS_read, fd, into.as_mut_ptr(), into.len()) } {
            Ok(1..) | Err(libc::EINTR) => {}
            Ok(0) => return Ok(()),
            Err(libc::EAGAIN) => return Ok(()),
            Err(errno) => return Err(errno),
        }
    }
}

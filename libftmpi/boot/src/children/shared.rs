//! In the rank: which descriptors rank and children share.
//!
//! All of them stand still. An open file that the rank and a child have is the rank's in the image:
//! the restored child gets it from the restored rank. The end of a pipe that children alone have,
//! and whose other end somebody else of the family has, becomes a descriptor of the rank until the
//! restored children have it. Everything else a child examines by itself.

use crate::base::procfs;
use crate::base::refusal::Refused;
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::children::meeting::{Meeting, TOLD_MOST, Told};
use crate::children::summon::refuse;
use crate::children::{Living, MOST, add_end};
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use core::sync::atomic::Ordering;

/// A descriptor of somebody of the family.
#[repr(C)]
#[derive(Clone, Copy)]
struct Seen {
    device: u64,
    inode: u64,
    /// [`RANK`], or the place of the child.
    who: u32,
    fd: i32,
    /// `S_IFMT`
    kind: u32,
    /// Whether it is a pipe without a name.
    is_pipe: u32,
    /// The descriptor of the rank for the same open file; [`LIBRARY`], or [`UNKNOWN`].
    other: i32,
    /// The library has it, in the rank.
    is_library: u32,
}

const RANK: u32 = u32::MAX;
const LIBRARY: i32 = -1;
const UNKNOWN: i32 = -2;

/// The table, in the buffer for contents, which nobody uses now.
struct Table {
    all: &'static mut [Seen],
    len: usize,
}

impl Table {
    fn new(area: &ReservedArea) -> Self {
        let room = area.content();
        let most = room.len() / size_of::<Seen>();
        // SAFETY: the buffer begins at a page, and holds so many plain numbers.
        let all = unsafe { core::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), most) };
        Self { all, len: 0 }
    }

    fn seen(&self) -> &[Seen] {
        &self.all[..self.len]
    }

    /// Adds all descriptors of a process.
    fn add(
        &mut self,
        area: &ReservedArea,
        pid: i32,
        who: u32,
        is_library: impl Fn(i32) -> bool,
    ) -> Result<(), Errno> {
        let (mut folder, mut result) = ([0; 64], Ok(()));
        let folder = procfs::path(&mut folder, format_args!("/proc/{pid}/fd"));
        procfs::each_number(folder, area.text(), |fd| {
            let mut name = [0; 64];
            let name = procfs::path(&mut name, format_args!("/proc/{pid}/fd/{fd}"));
            // (The descriptor of the listing is closed by now, or is.)
            let Ok(stat) = syscalls::stat(name) else { return };
            let mut link = [0u8; 16];
            let len = syscalls::readlink(name, &mut link).unwrap_or(0);
            let Some(slot) = self.all.get_mut(self.len) else {
                result = Err(libc::ENOMEM);
                return;
            };
            *slot = Seen {
                device: stat.st_dev,
                inode: stat.st_ino,
                who,
                fd: fd as i32,
                kind: stat.st_mode & libc::S_IFMT,
                is_pipe: u32::from(link[..len].starts_with(b"pipe:[")),
                other: UNKNOWN,
                is_library: u32::from(is_library(fd as i32)),
            };
            self.len += 1;
        })?;
        result
    }
}

fn is_one_file(a: &Seen, b: &Seen) -> bool {
    (a.device, a.inode, a.kind) == (b.device, b.inode, b.kind)
}

/// Whether two descriptors are one open file.
fn is_one_open_file(a: (i32, i32), b: (i32, i32)) -> bool {
    const KCMP_FILE: i32 = 0;
    // SAFETY: no memory involved.
    let order = unsafe { syscalls::call!(libc::SYS_kcmp, a.0, b.0, KCMP_FILE, a.1, b.1) };
    // (That the call is there, the examination of the child has shown.)
    order == Ok(0)
}

/// Tells each child which of its descriptors it does not examine by itself. `own`: descriptors of
/// the rank's library.
pub fn tell(
    area: &ReservedArea,
    children: &[Living],
    pages: &mut [Option<&'static mut Meeting>; MOST],
    own: Option<&[i32]>,
) -> Result<(), Refused> {
    let mut table = Table::new(area);
    let failed = |errno| area.unreadable("/proc/…/fd", errno);
    let is_library =
        |fd: i32| fd >= FIRST_LIBRARY || own.is_some_and(|own| own.binary_search(&fd).is_ok());
    table.add(area, syscalls::getpid(), RANK, is_library).map_err(failed)?;
    for (place, child) in children.iter().enumerate() {
        // What a forked child has at numbers of the library is the rank's.
        table.add(area, child.pid, place as u32, |fd| fd >= FIRST_LIBRARY).map_err(failed)?;
    }
    for at in 0..table.len {
        let it = table.all[at];
        if it.who == RANK || it.other != UNKNOWN {
            continue;
        }
        if it.is_library != 0 {
            table.all[at].other = LIBRARY;
            continue;
        }
        if let Some(other) = choose(area, &table, children, &it)? {
            let pid = |who: u32| children[who as usize].pid;
            for same in table.all[at..table.len].iter_mut().filter(|same| same.who != RANK) {
                let is_same = (same.who, same.fd) == (it.who, it.fd)
                    || same.other == UNKNOWN
                        && is_one_file(same, &it)
                        && is_one_open_file((pid(it.who), it.fd), (pid(same.who), same.fd));
                if is_same {
                    same.other = other;
                }
            }
        }
    }
    for (place, page) in pages.iter_mut().enumerate() {
        let (Some(page), Some(child)) = (page, children.get(place)) else { break };
        let told = table.seen().iter().filter(|it| it.who == place as u32 && it.other != UNKNOWN);
        let mut count = 0;
        for it in told {
            if count == TOLD_MOST {
                return Err(refuse(area, child.pid, b"it has too many open files"));
            }
            page.told[count] = Told { fd: it.fd, other: it.other };
            count += 1;
        }
        page.count.store(count as u32, Ordering::SeqCst);
    }
    Ok(())
}

/// The descriptor of the rank for an open file of a child; `None`: the child has the file alone.
fn choose(
    area: &ReservedArea,
    table: &Table,
    children: &[Living],
    it: &Seen,
) -> Result<Option<i32>, Refused> {
    let (me, pid) = (syscalls::getpid(), children[it.who as usize].pid);
    let alike = || table.seen().iter().filter(|other| is_one_file(other, it));
    let mut ranks = alike().filter(|other| other.who == RANK);
    if let Some(same) = ranks.find(|other| is_one_open_file((me, other.fd), (pid, it.fd))) {
        return Ok(Some(if same.is_library != 0 { LIBRARY } else { same.fd }));
    }
    let mut of_others = alike().filter(|other| other.who != it.who);
    if it.is_pipe != 0 {
        return match of_others.next() {
            None => Ok(None),
            Some(_) => open_end(area, pid, it.fd).map(Some),
        };
    }
    let is_shared = of_others.filter(|other| other.who != RANK).any(|other| {
        let theirs = children[other.who as usize].pid;
        is_one_open_file((theirs, other.fd), (pid, it.fd))
    });
    if is_shared {
        return Err(refuse(area, pid, b"it shares an open file with another child"));
    }
    Ok(None)
}

/// Opens the end of a pipe of a child in the rank.
fn open_end(area: &ReservedArea, pid: i32, fd: i32) -> Result<i32, Refused> {
    let failed = |errno: Errno| refuse(area, pid, syscalls::error_text(errno).as_bytes());
    let flags = flags_of(area, pid, fd).map_err(failed)?;
    let kept = flags & (libc::O_ACCMODE | libc::O_DIRECT);
    let mut name = [0; 64];
    let name = procfs::path(&mut name, format_args!("/proc/{pid}/fd/{fd}"));
    let opened = syscalls::open(name, kept | libc::O_NONBLOCK | libc::O_CLOEXEC).map_err(failed)?;
    let low = syscalls::fcntl(opened, libc::F_DUPFD_CLOEXEC, 3);
    syscalls::close(opened);
    let low = low.map_err(failed)?;
    if add_end(low).is_none() {
        syscalls::close(low);
        return Err(refuse(area, pid, b"it has too many pipes"));
    }
    syscalls::fcntl(low, libc::F_SETFL, (flags & !libc::O_ASYNC) as usize).map_err(failed)?;
    Ok(low)
}

/// The flags of a descriptor of another process.
fn flags_of(area: &ReservedArea, pid: i32, fd: i32) -> Result<i32, Errno> {
    let mut name = [0; 64];
    let name = procfs::path(&mut name, format_args!("/proc/{pid}/fdinfo/{fd}"));
    let mut lines = procfs::Lines::open(name, area.text())?;
    while let Some(line) = lines.next()? {
        if let Some(digits) = line.strip_prefix(b"flags:\t") {
            let octal = |value: i32, byte: &u8| value << 3 | i32::from(byte & 7);
            return Ok(digits.iter().fold(0, octal));
        }
    }
    Err(libc::EIO)
}

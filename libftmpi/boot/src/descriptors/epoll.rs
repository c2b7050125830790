//! `epoll` descriptors: made again, and told again what to watch.
//!
//! Guarantees: in the restored process a descriptor watches the same files, under the same numbers,
//! for the same events, with the same data. What is ready there is reported anew, also to a program
//! that asked for changes only (`EPOLLET`).

use crate::base::procfs::{self, decimal, hex};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::descriptors::candidate::Candidate;
use crate::descriptors::kernel_object::put;
use crate::descriptors::library_descriptors::FIRST_LIBRARY;
use ftmpi_checkpoint::stream::{Descriptor, Watch, descriptor as how, limit};

const SHOWN: Shown<'static> = Shown(b"anon_inode:[eventpoll]");

pub fn is_epoll(it: &Candidate<'_>) -> bool {
    it.path() == SHOWN.0
}

/// One line of `fdinfo`.
struct Line {
    target: i32,
    events: u32,
    data: u64,
    inode: Option<u64>,
}

/// `tfd:        5 events:       19 data:                5  pos:0 ino:61af sdev:7`
fn read(line: &[u8]) -> Option<Line> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut after = |name: &[u8]| (words.next()? == name).then(|| words.next()).flatten();
    let target = decimal(after(b"tfd:")?)?.0 as i32;
    let events = hex(after(b"events:")?)?.0 as u32;
    let data = hex(after(b"data:")?)?.0;
    let inode = words.find_map(|word| Some(hex(word.strip_prefix(b"ino:")?)?.0));
    Some(Line { target, events, data, inode })
}

/// Adds what all `epoll` descriptors watch to the table of watches. All threads stand still.
pub fn gather(
    area: &ReservedArea,
    table: &[Descriptor],
    watches: &mut usize,
) -> Result<(), Refused> {
    for holder in table.iter().filter(|entry| entry.how == how::EPOLL) {
        let first = *watches;
        let mut result = Ok(());
        let listed = procfs::each_fdinfo_line(area.text(), holder.fd, |line| {
            let Some(line) = read(line).filter(|_| result.is_ok()) else { return };
            let Some(place) = area.watches().get_mut(*watches) else {
                let (what, most) = ("files that epoll watches", limit::WATCHES);
                result = Err(area.refuse(Refusal::TooMany { what, most, errno: libc::EOPNOTSUPP }));
                return;
            };
            // How many of the lines before have this number, too.
            let same = area.watches()[first..*watches].iter().filter(|w| w.target == line.target);
            let Some(file) = file_of(holder.fd, &line, same.count() as u32, table) else {
                let what = "an epoll descriptor that watches a file which is not open any more";
                let fd = holder.fd;
                result = Err(area.refuse(Refusal::DescriptorUnsupported { fd, what, path: SHOWN }));
                return;
            };
            *place = Watch {
                holder: holder.fd,
                target: line.target,
                file,
                events: line.events,
                data: line.data,
            };
            *watches += 1;
        });
        listed
            .map_err(|errno| area.refuse(Refusal::DescriptorUnreadable { fd: holder.fd, errno }))?;
        result?;
    }
    Ok(())
}

/// The descriptor of the program that has the watched file; first of all the one with its number.
fn file_of(epoll: i32, line: &Line, nth: u32, table: &[Descriptor]) -> Option<i32> {
    const KCMP_EPOLL_TFD: i32 = 7;
    let pid = syscalls::getpid();
    let place = [epoll as u32, line.target as u32, nth];
    let compare = |fd: i32| {
        // SAFETY: struct kcmp_epoll_slot is three numbers, which live over the call.
        unsafe { syscalls::call!(libc::SYS_kcmp, pid, pid, KCMP_EPOLL_TFD, fd, place.as_ptr()) }
    };
    let named = table.iter().find(|entry| entry.fd == line.target);
    match named.map(|entry| compare(entry.fd)) {
        Some(Ok(0)) => return Some(line.target),
        // Many containers forbid the call.
        Some(Err(_)) => {
            return named
                .filter(|entry| line.inode.is_none_or(|inode| inode == entry.inode))
                .map(|entry| entry.fd);
        }
        _ => {}
    }
    table.iter().find(|entry| compare(entry.fd) == Ok(0)).map(|entry| entry.fd)
}

/// Makes the descriptor again, in the restored process. It watches nothing yet.
pub fn restore(area: &ReservedArea, entry: &Descriptor) -> Result<(), Refused> {
    // SAFETY: no memory involved.
    let made = unsafe { syscalls::call!(libc::SYS_epoll_create1, 0) };
    put(area, entry, made, SHOWN)
}

/// Lets the descriptors watch again, when all descriptors are open.
pub fn watch_again(
    area: &ReservedArea,
    table: &[Descriptor],
    watches: &[Watch],
) -> Result<(), Refused> {
    let of_epoll = |fd| {
        let at = table.binary_search_by_key(&fd, |entry| entry.fd);
        at.is_ok_and(|at| table[at].how == how::EPOLL)
    };
    for watch in watches.iter().filter(|watch| of_epoll(watch.holder)) {
        let streams = table.iter().any(|entry| {
            entry.fd == watch.file && matches!(entry.how, how::KEEP | how::STREAM | how::DUPLICATE)
        });
        match add(watch) {
            // This incarnation was given another kind of stream, or none.
            Err(libc::EPERM | libc::EBADF) if streams => {}
            result => result.map_err(|errno| {
                let fd = watch.holder;
                area.refuse(Refusal::NotMade { fd, path: SHOWN, errno })
            })?,
        }
    }
    Ok(())
}

fn add(watch: &Watch) -> Result<(), Errno> {
    let target = watch.target;
    if watch.file == target {
        return control(watch);
    }
    // The program has closed that number since, or given it to another file.
    let before = syscalls::fcntl(target, libc::F_DUPFD_CLOEXEC, FIRST_LIBRARY as usize);
    let flags = syscalls::fcntl(target, libc::F_GETFD, 0).unwrap_or(0);
    // SAFETY: no memory involved; what had the number gets it back.
    let result = unsafe { syscalls::call!(libc::SYS_dup3, watch.file, target, 0) }
        .and_then(|_| control(watch));
    match before {
        Ok(before) => {
            let close_on_exec = if flags & libc::FD_CLOEXEC != 0 { libc::O_CLOEXEC } else { 0 };
            syscalls::move_descriptor(before, target, close_on_exec)?;
        }
        Err(_) => syscalls::close(target),
    }
    result
}

fn control(watch: &Watch) -> Result<(), Errno> {
    let mut event = libc::epoll_event { events: watch.events, u64: watch.data };
    let add = libc::EPOLL_CTL_ADD;
    // SAFETY: the event lives over the call.
    unsafe { syscalls::call!(libc::SYS_epoll_ctl, watch.holder, add, watch.target, &raw mut event) }
        .map(|_| ())
}

//! In the rank: asks the living children to stand still, and for their images.
//!
//! Guarantees: either every child has written its image while it stood still together with the
//! rank, or there is no image of the rank. Each child goes on, whatever happens.

use crate::base::procfs::{self, Lines, decimal};
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::base::syscalls::{self, Errno};
use crate::base::text::Shown;
use crate::children::meeting::{self, ASKED, BYTES, GO, LEAVE, Meeting, REFUSED, STANDS, WRITTEN};
use crate::children::{Living, MOST, PROGRAM_BYTES, all, ends, shared};
use crate::process::ended_children::has_ended;
use crate::process::limits;
use crate::tuning::{
    CHILD_BYTES_MAX, CHILD_LOOK_NS, CHILD_LOOKS, CHILD_PATIENCE_NS, CHILD_SILENCE_NS,
    CHILD_STOP_PATIENCE_NS,
};
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;

/// The upper half of the value that comes with the signal: the lower half is the number of the
/// rank's descriptor of the page.
pub const MARK: u64 = 0x4654_6368 << 32;

/// A child that did not answer, and when, in nanoseconds: the rank does not stand still for it
/// again and again.
static SILENT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Bytes of a command that a line shows.
const SHOWN_BYTES: usize = 60;

/// Children that stand still, until the value is dropped.
pub struct Family {
    pages: [Option<&'static mut Meeting>; MOST],
}

impl Drop for Family {
    fn drop(&mut self) {
        for (place, page) in self.pages.iter_mut().enumerate() {
            let Some(page) = page.take() else { continue };
            for state in [ASKED, STANDS, GO, WRITTEN] {
                page.step(state, LEAVE);
            }
            // SAFETY: taken above. The child has a mapping of its own.
            unsafe { meeting::unmap(place) };
        }
        // SAFETY: the thread that takes the image is the only user.
        let streams = unsafe { all() }.iter().map(|child| child.stream).chain(ends());
        streams.filter(|&fd| fd > 2).for_each(syscalls::close);
    }
}

/// Refuses what is known of the children without disturbing them.
pub fn check(area: &ReservedArea) -> Result<(), Refused> {
    // SAFETY: the thread that looks at the process is the only user.
    unsafe { all() }.iter_mut().try_for_each(|child| examine(area, child))
}

/// Lets all living children stand still and write their images into files that this process has
/// open, while it stands still itself. `own`: the caller's descriptors.
pub fn stand(area: &ReservedArea, image: u64, own: Option<&[i32]>) -> Result<Family, Refused> {
    let mut family = Family { pages: [const { None }; MOST] };
    // SAFETY: the thread that takes the image is the only user.
    let children = unsafe { all() };
    children.iter_mut().try_for_each(|child| examine(area, child))?;
    let (mut files, mut result) = ([-1; MOST], Ok(()));
    for (place, child) in children.iter_mut().enumerate() {
        result = ask(child, place, &mut files, &mut family)
            .map_err(|errno| failed(area, child.pid, errno));
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| await_all(area, &family, STANDS, CHILD_STOP_PATIENCE_NS));
    files.into_iter().filter(|&fd| fd >= 0).for_each(syscalls::close);
    result?;
    shared::tell(area, children, &mut family.pages, own)?;
    for (child, page) in children.iter().zip(family.pages.iter().flatten()) {
        page.stream.store(child.stream, Ordering::SeqCst);
        page.set_stack_limit(limits::stack_limit_at_start());
        for (word, half) in page.image.iter().zip([image, image >> 32]) {
            word.store(half as u32, Ordering::SeqCst);
        }
        page.step(STANDS, GO);
    }
    await_all(area, &family, WRITTEN, CHILD_PATIENCE_NS)?;
    Ok(family)
}

impl Family {
    /// Refuses the image if a child has not stood still until now: the rank may have seen in a pipe
    /// what the image of the child does not know.
    pub fn refuse_gone(&self, area: &ReservedArea) -> Result<(), Refused> {
        await_all(area, self, WRITTEN, 0)
    }
}

/// A refusal about a child.
pub fn refuse(area: &ReservedArea, pid: i32, why: &[u8]) -> Refused {
    let mut room = [0; SHOWN_BYTES];
    let command = command(pid, &mut room);
    let pid = crate::process::ended_children::programs(pid);
    area.refuse(Refusal::ChildLives { pid, command: Shown(command), why: Shown(why) })
}

fn failed(area: &ReservedArea, pid: i32, errno: Errno) -> Refused {
    refuse(area, pid, syscalls::error_text(errno).as_bytes())
}

/// The begin of a command line, its words separated by spaces; or the name of the process, where
/// the memory of a restored one has something else in that place.
fn command(pid: i32, room: &mut [u8; SHOWN_BYTES]) -> &[u8] {
    let mut len = read_of(pid, "cmdline", room);
    let is_text = |byte: &u8| *byte == 0 || (b' '..0x7f).contains(byte);
    if len == 0 || !room[..len].iter().all(is_text) {
        len = read_of(pid, "comm", room);
    }
    room[..len].iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    room[..len].trim_ascii_end()
}

/// Reads the begin of a file about a process. Gives its length.
fn read_of(pid: i32, name: &str, into: &mut [u8]) -> usize {
    let mut path = [0; 64];
    let path = procfs::path(&mut path, format_args!("/proc/{pid}/{name}"));
    let read = syscalls::open(path, libc::O_RDONLY | libc::O_CLOEXEC).and_then(|fd| {
        let len = syscalls::read(fd, into);
        syscalls::close(fd);
        len
    });
    read.unwrap_or(0)
}

/// Whether this process can be part of an image at all; then fills its entry.
fn examine(area: &ReservedArea, child: &mut Living) -> Result<(), Refused> {
    const KCMP_VM: i32 = 1;
    let (me, pid) = (syscalls::getpid(), child.pid);
    let refuse = |why: &str| Err(refuse(area, pid, why.as_bytes()));
    if has_ended(pid) {
        return refuse("it has just ended");
    }
    // SAFETY: no memory involved.
    match unsafe { syscalls::call!(libc::SYS_kcmp, me, pid, KCMP_VM, 0, 0) } {
        Ok(0) => return refuse("it shares its memory with the program"),
        Ok(_) => {}
        Err(_) => return refuse("this host does not let processes be compared (kcmp)"),
    }
    let bit = 1 << (SIGNAL - 1);
    let look = || signals_of(area, pid).map_err(|errno| failed(area, pid, errno));
    let (caught, mut blocked) = look()?;
    // A child that was restored just now, or executes a program, has the signal blocked.
    let mut looks = 0;
    while caught & bit != 0 && blocked & bit != 0 && looks < CHILD_LOOKS {
        syscalls::pause(CHILD_LOOK_NS);
        blocked = look()?.1;
        looks += 1;
    }
    if caught & bit == 0 {
        return refuse(
            "it does not have libftmpi_boot.so (it is just starting, is linked statically, or was \
             started without LD_PRELOAD)",
        );
    }
    if blocked & bit != 0 {
        return refuse("it blocks the agent's signal");
    }
    // SAFETY: no memory involved.
    let session = |pid: i32| unsafe { syscalls::call!(libc::SYS_getsid, pid) };
    if session(pid) != session(0) {
        return refuse("it has a session of its own (setsid)");
    }
    // SAFETY: no memory involved.
    let group = |pid: i32| unsafe { syscalls::call!(libc::SYS_getpgid, pid) };
    if group(pid) != group(0) {
        // The agent kills the group of a rank that has died.
        return refuse("it is in another process group, which does not end with the rank");
    }
    let [silent, since] = SILENT.each_ref().map(|word| word.load(Ordering::Relaxed));
    if silent == pid as u64 && syscalls::now_ns().wrapping_sub(since) < CHILD_SILENCE_NS {
        return refuse("it does not answer");
    }
    if anonymous_bytes(pid) > CHILD_BYTES_MAX {
        return refuse("it has more than 192 MiB of memory");
    }
    if !note_program(child) {
        return refuse("its program was removed or replaced");
    }
    Ok(())
}

/// Signals that the process handles, and that its main thread blocks.
fn signals_of(area: &ReservedArea, pid: i32) -> Result<(u64, u64), Errno> {
    let mut path = [0; 64];
    let path = procfs::path(&mut path, format_args!("/proc/{pid}/status"));
    let mut lines = Lines::open(path, area.text())?;
    let (mut caught, mut blocked) = (0, 0);
    while let Some(line) = lines.next()? {
        for (name, set) in [(&b"SigCgt:\t"[..], &mut caught), (b"SigBlk:\t", &mut blocked)] {
            if let Some((number, _)) = line.strip_prefix(name).and_then(procfs::hex) {
                *set = number;
            }
        }
    }
    Ok((caught, blocked))
}

/// Resident memory without a file.
fn anonymous_bytes(pid: i32) -> u64 {
    let mut text = [0u8; 128];
    let len = read_of(pid, "statm", &mut text);
    let mut fields = text[..len]
        .split(|&byte| byte == b' ')
        .skip(1)
        .map(|field| decimal(field).map_or(0, |number| number.0));
    let resident = fields.next().unwrap_or(0);
    resident.saturating_sub(fields.next().unwrap_or(0)) * 4096
}

/// Notes the program that the child executes, if it is another one than that of the rank.
fn note_program(child: &mut Living) -> bool {
    let mut path = [0; 64];
    let path = procfs::path(&mut path, format_args!("/proc/{}/exe", child.pid));
    let name = |stat: libc::stat| (stat.st_dev, stat.st_ino);
    let (theirs, ours) = (syscalls::stat(path), syscalls::stat(c"/proc/self/exe"));
    let (Ok(theirs), Ok(ours)) = (theirs.map(name), ours.map(name)) else { return false };
    child.program = [0; PROGRAM_BYTES];
    if theirs == ours {
        return true;
    }
    let len = syscalls::readlink(path, &mut child.program[..PROGRAM_BYTES - 1]).unwrap_or(0);
    let there = core::ffi::CStr::from_bytes_until_nul(&child.program).map(syscalls::stat);
    len + 1 < PROGRAM_BYTES && there.is_ok_and(|stat| stat.map(name) == Ok(theirs))
}

/// A new file without a name, under a number that the program could have.
fn new_file(name: &core::ffi::CStr) -> Result<i32, Errno> {
    // SAFETY: terminated name.
    let made =
        unsafe { syscalls::call!(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) }?;
    let low = syscalls::fcntl(made as i32, libc::F_DUPFD_CLOEXEC, 3);
    syscalls::close(made as i32);
    low
}

/// Sends the signal to a child, with a page and a file for its image.
fn ask(
    child: &mut Living,
    place: usize,
    files: &mut [i32; MOST],
    family: &mut Family,
) -> Result<(), Errno> {
    let page = new_file(meeting::NAME)?;
    files[place] = page;
    // SAFETY: no memory involved.
    unsafe { syscalls::call!(libc::SYS_ftruncate, page, BYTES) }?;
    // SAFETY: each child has its place.
    let page_of_child = unsafe { meeting::map(page, place) }?;
    page_of_child.child.store(child.pid, Ordering::SeqCst);
    family.pages[place] = Some(page_of_child);
    child.stream = new_file(c"ftmpi-child")?;
    // struct siginfo: number, errno, code, padding, process, user, value.
    let mut info = [0u32; 32];
    // SAFETY: no memory involved.
    let user = unsafe { syscalls::raw(libc::SYS_getuid, [0; 6]) };
    info[0] = SIGNAL as u32;
    info[2] = libc::SI_QUEUE as u32;
    info[4] = syscalls::getpid() as u32;
    info[5] = user as u32;
    info[6] = page as u32;
    info[7] = (MARK >> 32) as u32;
    let (pid, at) = (child.pid, info.as_ptr());
    // SAFETY: the kernel's siginfo has 128 bytes.
    unsafe { syscalls::call!(libc::SYS_rt_tgsigqueueinfo, pid, pid, SIGNAL, at) }?;
    Ok(())
}

/// What the state of a child means for the rank that waits for another one.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Wait,
    Done,
    Refused,
    /// The child has gone on by itself: what it does now is in no image.
    Left,
}

fn answer_of(state: u32, wanted: u32) -> Answer {
    match state {
        _ if state == wanted => Answer::Done,
        REFUSED => Answer::Refused,
        LEAVE => Answer::Left,
        _ => Answer::Wait,
    }
}

/// Waits until all children have this state. Refuses if one refuses, ends or does not come.
fn await_all(
    area: &ReservedArea,
    family: &Family,
    wanted: u32,
    patience_ns: u64,
) -> Result<(), Refused> {
    let begun = syscalls::now_ns();
    // SAFETY: the thread that takes the image is the only user.
    let children = unsafe { all() };
    for (child, page) in children.iter().zip(family.pages.iter().flatten()) {
        loop {
            let state = page.state();
            match answer_of(state, wanted) {
                Answer::Refused => return Err(refuse(area, child.pid, page.why())),
                Answer::Left => {
                    let why = b"it went on before the image was complete: the host is too slow";
                    return Err(refuse(area, child.pid, why));
                }
                Answer::Done => break,
                Answer::Wait => {}
            }
            if has_ended(child.pid) {
                return Err(refuse(area, child.pid, b"it has just ended"));
            }
            let now = syscalls::now_ns();
            if now - begun > patience_ns {
                SILENT[0].store(child.pid as u64, Ordering::Relaxed);
                SILENT[1].store(now, Ordering::Relaxed);
                return Err(refuse(area, child.pid, b"it does not answer"));
            }
            page.wait(state, 10_000_000);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_has_gone_on_by_itself_is_not_taken_for_one_that_has_written() {
        for wanted in [STANDS, WRITTEN] {
            assert_eq!(answer_of(wanted, wanted), Answer::Done);
            assert_eq!(answer_of(LEAVE, wanted), Answer::Left);
            assert_eq!(answer_of(REFUSED, wanted), Answer::Refused);
            assert_eq!(answer_of(ASKED, wanted), Answer::Wait);
        }
        assert_eq!(answer_of(GO, WRITTEN), Answer::Wait);
    }
}

//! In a child of a rank: stands still when the rank asks, and writes its image into the file that
//! the rank has for it.
//!
//! The child was forked by the rank, or executes another program with this library preloaded. It
//! answers in the handler of the agent's signal. The capture is that of a rank; only the
//! descriptors that the rank has told are left to the rank.

use crate::base::context_switch::ftmpi_boot_switch;
use crate::base::procfs;
use crate::base::rank;
use crate::base::reserved_area::{ReservedArea, STACK_TOP};
use crate::base::syscalls;
use crate::capture::capture_child;
use crate::children::meeting::{self, ASKED, GO, LEAVE, Meeting, STANDS, WRITTEN};
use crate::children::summon::MARK;
use crate::process::limits;
use crate::threads::parking;
use crate::tuning::CHILD_PATIENCE_NS;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The page, while this child stands still.
static PAGE: AtomicPtr<Meeting> = AtomicPtr::new(core::ptr::null_mut());

/// One answer at a time.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

/// What the part on the stack in the reserved area gets and gives. (Its address, and the words of
/// the stack where a restored child goes on, are in the image.)
#[repr(C)]
struct Job {
    resume: [u64; 2],
}

/// Whether a signal of the agent comes from the rank that has started this process; then answers.
/// Called in the handler.
///
/// # Safety
/// `info` is that of the signal.
pub unsafe fn answer_if_asked(info: *const libc::siginfo_t) -> bool {
    // SAFETY: by the caller; struct siginfo has 128 bytes.
    let words = unsafe { &*info.cast::<[u32; 32]>() };
    let value = u64::from(words[6]) | u64::from(words[7]) << 32;
    let asked = words[2] == libc::SI_QUEUE as u32
        && value & (u64::MAX << 32) == MARK
        && words[4] as i32 == syscalls::getppid();
    if !asked || !rank::has_area() || !rank::is_forked() {
        return asked;
    }
    // A signal of an earlier request that was given up may have come late.
    if ANSWERS.swap(1, Ordering::SeqCst) == 0 {
        answer(words[4] as i32, value as u32 as i32);
        ANSWERS.store(0, Ordering::SeqCst);
    }
    true
}

/// Opens a file of the rank.
fn open_of_rank(parent: i32, fd: i32) -> Option<i32> {
    let mut name = [0; 64];
    let name = procfs::path(&mut name, format_args!("/proc/{parent}/fd/{fd}"));
    let opened = syscalls::open(name, libc::O_RDWR | libc::O_CLOEXEC).ok()?;
    let mut link = [0u8; 16];
    let len = syscalls::readlink(name, &mut link).unwrap_or(0);
    // The number may be another file's by now.
    if link[..len].starts_with(b"/memfd:ftmpi-") {
        return Some(opened);
    }
    syscalls::close(opened);
    None
}

fn answer(parent: i32, fd: i32) {
    let Some(file) = open_of_rank(parent, fd) else { return };
    // SAFETY: one answer at a time.
    let page = unsafe { meeting::map(file, 0) };
    syscalls::close(file);
    let Ok(page) = page else { return };
    if page.child.load(Ordering::SeqCst) != syscalls::getpid() {
        // SAFETY: mapped above.
        return unsafe { meeting::unmap(0) };
    }
    PAGE.store(core::ptr::from_mut(page), Ordering::SeqCst);
    let mask = syscalls::set_signal_mask(!0);
    let mut job = Job { resume: [0; 2] };
    // SAFETY: the stack in the reserved area is unused: signals are blocked, and one thread at a
    // time answers. The call returns once here, and once in each restored child.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut job.resume, on_own_stack, (&raw mut job).cast(), STACK_TOP)
    };
    if result == 1 {
        // SAFETY: the restored child has the area.
        parking::open_gate(&unsafe { ReservedArea::take() }, || {});
    } else {
        // SAFETY: nobody uses the page any more.
        unsafe { meeting::unmap(0) };
    }
    PAGE.store(core::ptr::null_mut(), Ordering::SeqCst);
    syscalls::set_signal_mask(mask);
}

/// Runs on the stack in the reserved area.
extern "C" fn on_own_stack(job: *mut c_void) -> isize {
    // SAFETY: `answer` holds the value, and waits.
    let job = unsafe { &*job.cast::<Job>() };
    // SAFETY: the only user (see `answer`).
    let area = unsafe { ReservedArea::take() };
    let parent = syscalls::getppid();
    // All threads stand still when this calls back; it gives the file for the image.
    let stands = || {
        page_of_answer().filter(|page| page.step(ASKED, STANDS))?;
        wait_while(STANDS, parent);
        // SAFETY: mapped until the answer is over; this side has the text.
        let page = unsafe { PAGE.load(Ordering::SeqCst).as_mut() }?;
        if page.state() != GO {
            return None;
        }
        if page.stack_limit() != limits::stack_limit_at_start() {
            page.refuse(GO, b"its limit on the stack is not that of the rank");
            return None;
        }
        let image = page.image.each_ref().map(|word| u64::from(word.load(Ordering::SeqCst)));
        let file = open_of_rank(parent, page.stream.load(Ordering::SeqCst))?;
        Some((file, image[0] | image[1] << 32))
    };
    // The threads go on when the rank has seen the pipes.
    let written = |is_written: bool| {
        if is_written && page_of_answer().is_some_and(|page| page.step(GO, WRITTEN)) {
            wait_while(WRITTEN, parent);
        }
    };
    if capture_child(&area, job.resume, stands, written).is_err() {
        refuse(&area);
    }
    0
}

fn page_of_answer() -> Option<&'static Meeting> {
    // SAFETY: mapped until the answer is over; the fields are atomic.
    unsafe { PAGE.load(Ordering::SeqCst).as_ref() }
}

/// Waits until the rank has taken the next step, has died or takes too long.
fn wait_while(state: u32, parent: i32) {
    let begun = syscalls::now_ns();
    while let Some(page) = page_of_answer().filter(|page| page.state() == state) {
        let late = syscalls::now_ns() - begun > 2 * CHILD_PATIENCE_NS;
        if syscalls::getppid() != parent || late && page.step(state, LEAVE) {
            return;
        }
        page.wait(state, 100_000_000);
    }
}

/// What the rank has told about a descriptor of this child: the rank's descriptor of the same open
/// file, or a negative number for a descriptor of the library.
pub fn told(fd: i32) -> Option<i32> {
    let page = page_of_answer()?;
    page.told().iter().find(|told| told.fd == fd).map(|told| told.other)
}

/// Tells the rank why there is no image, if this process (or its image child) answers one.
pub fn refuse(area: &ReservedArea) {
    // SAFETY: mapped until the answer is over; this side writes the text.
    if let Some(page) = unsafe { PAGE.load(Ordering::SeqCst).as_mut() } {
        for state in [ASKED, STANDS, GO] {
            if page.state() == state {
                page.refuse(state, area.line().bytes());
            }
        }
    }
}

/// Whether this process answers a rank at this moment.
pub fn is_under_way() -> bool {
    page_of_answer().is_some()
}

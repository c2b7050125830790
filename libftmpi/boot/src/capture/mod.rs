//! Takes an image: looks at the process, makes a copy-on-write child that writes the image, and
//! goes on.
//!
//! The process and all its threads are stopped for a short time only: for the look at descriptors
//! and mappings, for `clone`, and for copies of shared memory and of unnamed files.
//!
//! Everything runs on the stack in the reserved area. The program's stack gets a few words below
//! its own, which hold what `setjmp` would save. The restored process finds the same words: there
//! [`ftmpi_boot_switch`] returns once more, with 1.

pub mod image_child;
mod read_pages;
pub mod shared_memory;

use crate::base::context_switch::ftmpi_boot_switch;
use crate::base::procfs;
use crate::base::rank;
use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::{ReservedArea, STACK_TOP};
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::text::{Line, Shown};
use crate::capture::shared_memory::copy_shared;
use crate::children::{self, summon};
use crate::descriptors::{checkpoint, contents, file_locks, regular_file, small_files};
use crate::memory::copies::Copies;
use crate::memory::{layout, mappings, page_attributes};
use crate::process::{
    credentials, ended_children, process_attributes, process_state, system_v_objects,
};
use crate::restore::resume;
use crate::signals::pending_signals;
use crate::threads::{owned_locks, parking, stop, thread_state};
use crate::time::clock_shift;
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};
use ftmpi_checkpoint::boot_abi::{CaptureOutcome, CaptureRequest};

/// The image child, until it is collected.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Why there was no image. The thread that asked for the image writes the text.
struct LastRefusal(UnsafeCell<Line>);

// SAFETY: one thread at a time calls `capture` and `why_refused` (boot_abi).
unsafe impl Sync for LastRefusal {}

static LAST_REFUSAL: LastRefusal = LastRefusal(UnsafeCell::new(Line::new()));

fn remember_refusal(text: core::fmt::Arguments<'_>) {
    // SAFETY: see `LastRefusal`.
    unsafe { &mut *LAST_REFUSAL.0.get() }.set(text);
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::why_refused`].
///
/// # Safety
/// `text` is valid for `len` bytes, or null.
pub unsafe extern "C" fn why_refused(text: *mut c_char, len: usize) {
    // SAFETY: see `LastRefusal`; the text by the caller.
    unsafe { copy_text((*LAST_REFUSAL.0.get()).bytes(), text, len) };
}

/// # Safety
/// `text` is valid for `len` bytes, or null.
unsafe fn copy_text(line: &[u8], text: *mut c_char, len: usize) {
    if !text.is_null() && len > 0 {
        let take = line.len().min(len - 1);
        // SAFETY: by the caller; the terminating zero fits too.
        unsafe {
            core::ptr::copy_nonoverlapping(line.as_ptr(), text.cast(), take);
            *text.add(take) = 0;
        }
    }
}

/// What the part on the stack in the reserved area gets and gives.
#[repr(C)]
struct Job {
    fd: i32,
    image_no: u64,
    useless: UselessMemory,
    own: OwnDescriptors,
    /// Files whose contents the caller guards.
    guarded: OwnDescriptors,
    hooks: Hooks,
    resume: [u64; 2],
    /// 0: only find out whether an image could be taken.
    take: u32,
    /// 1: the process is a child of a rank, which has asked for its image.
    is_child: u32,
    estimate: u64,
    child: i32,
}

/// What the caller does while all threads stand still (boot_abi).
#[derive(Clone, Copy)]
struct Hooks {
    stopped: Option<extern "C" fn(*mut c_void) -> c_int>,
    made: Option<extern "C" fn(*mut c_void)>,
    restored: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
}

impl Hooks {
    const NONE: Self =
        Self { stopped: None, made: None, restored: None, context: core::ptr::null_mut() };
}

/// Memory whose contents the image does not need (boot_abi).
#[derive(Clone, Copy)]
struct UselessMemory {
    pairs: *const [u64; 2],
    len: usize,
}

impl UselessMemory {
    const NONE: Self = Self { pairs: core::ptr::null(), len: 0 };

    fn pairs(&self) -> &[[u64; 2]] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: valid over the call of `capture`, and in the child's copy for ever.
        unsafe { core::slice::from_raw_parts(self.pairs, self.len) }
    }
}

/// Descriptors of the caller (boot_abi).
#[derive(Clone, Copy)]
struct OwnDescriptors {
    list: *const c_int,
    len: usize,
    /// There is a list.
    known: bool,
}

impl OwnDescriptors {
    fn list(&self) -> Option<&[c_int]> {
        if self.len == 0 {
            return self.known.then_some(&[]);
        }
        // SAFETY: valid over the call of `capture`.
        Some(unsafe { core::slice::from_raw_parts(self.list, self.len) })
    }
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::capture`].
///
/// # Safety
/// Both pointers are valid, and so are the lists in the request.
pub unsafe extern "C" fn capture(
    request: *const CaptureRequest,
    out: *mut CaptureOutcome,
) -> c_int {
    if request.is_null() || out.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: valid by the caller.
    let asked = unsafe { *request };
    if let Err(refusal) = admit() {
        remember_refusal(format_args!("{refusal}"));
        return -refusal.errno();
    }
    let begun = syscalls::now_ns();
    let mask = syscalls::set_signal_mask(!0);
    let mut job = Job {
        fd: asked.fd,
        image_no: asked.image_no,
        useless: UselessMemory { pairs: asked.useless, len: asked.useless_len },
        own: OwnDescriptors { list: asked.own, len: asked.own_len, known: true },
        guarded: OwnDescriptors { list: asked.guarded, len: asked.guarded_len, known: true },
        hooks: Hooks {
            stopped: asked.stopped,
            made: asked.made,
            restored: asked.restored,
            context: asked.context,
        },
        resume: [0; 2],
        take: 1,
        is_child: 0,
        estimate: 0,
        child: 0,
    };
    // SAFETY: the stack in the reserved area is unused: signals are blocked, and one thread at a
    // time takes images. The call returns once here, and once in each restored process.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut job.resume, on_own_stack, (&raw mut job).cast(), STACK_TOP)
    };
    // SAFETY: `admit` found the reserved area.
    let area = unsafe { ReservedArea::take() };
    let mut outcome = CaptureOutcome { image_no: job.image_no, ..CaptureOutcome::default() };
    if result == 1 {
        parking::open_gate(&area, || {
            if let Some(restored) = job.hooks.restored {
                restored(job.hooks.context);
            }
        });
        CHILD.store(0, Ordering::Relaxed);
        outcome.restored = 1;
    } else if result == 0 {
        CHILD.store(job.child, Ordering::Relaxed);
        outcome.estimate_bytes = job.estimate;
        outcome.child_pid = job.child;
        outcome.pause_ns = syscalls::now_ns() - begun;
    } else {
        remember_refusal(format_args!("{}", Shown(area.line().bytes())));
    }
    // SAFETY: valid by the caller; the restored process has the same memory.
    unsafe { *out = outcome };
    syscalls::set_signal_mask(mask);
    result
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::reap`].
pub extern "C" fn reap() -> c_int {
    let child = CHILD.load(Ordering::Relaxed);
    if child == 0 || rank::admit().is_err() {
        return 0;
    }
    let mut status = 0i32;
    let options = libc::WNOHANG | libc::__WCLONE;
    // SAFETY: the status is valid for writing.
    match unsafe { syscalls::call!(libc::SYS_wait4, child, &raw mut status, options, 0) } {
        Ok(0) | Err(libc::EINTR) => 1,
        _ => {
            CHILD.store(0, Ordering::Relaxed);
            0
        }
    }
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::can_capture`].
///
/// # Safety
/// `text` is valid for `len` bytes, or null.
pub unsafe extern "C" fn can_capture(text: *mut core::ffi::c_char, len: usize) -> c_int {
    if let Err(refusal) = admit() {
        let mut line = Line::new();
        line.set(format_args!("{refusal}"));
        // SAFETY: by the caller.
        unsafe { copy_text(line.bytes(), text, len) };
        return refusal.errno();
    }
    let mask = syscalls::set_signal_mask(!0);
    let mut job = Job {
        fd: -1,
        image_no: 0,
        useless: UselessMemory::NONE,
        own: OwnDescriptors { list: core::ptr::null(), len: 0, known: false },
        guarded: OwnDescriptors { list: core::ptr::null(), len: 0, known: true },
        hooks: Hooks::NONE,
        resume: [0; 2],
        take: 0,
        is_child: 0,
        estimate: 0,
        child: 0,
    };
    // SAFETY: as in `capture`.
    let result = unsafe {
        ftmpi_boot_switch(&raw mut job.resume, on_own_stack, (&raw mut job).cast(), STACK_TOP)
    };
    // SAFETY: `admit` found the reserved area, and nobody else uses it.
    let area = unsafe { ReservedArea::take() };
    let line = if result < 0 { area.line().bytes() } else { b"" };
    // SAFETY: by the caller.
    unsafe { copy_text(line, text, len) };
    syscalls::set_signal_mask(mask);
    -result
}

fn admit() -> Result<(), Refusal<'static>> {
    rank::admit()?;
    if reap() == 1 { Err(Refusal::PreviousImage) } else { Ok(()) }
}

/// Runs on the stack in the reserved area.
extern "C" fn on_own_stack(job: *mut c_void) -> isize {
    // SAFETY: `capture` holds the value, and waits.
    let job = unsafe { &mut *job.cast::<Job>() };
    // SAFETY: the only user (see `capture`).
    let area = unsafe { ReservedArea::take() };
    match attempt(&area, job) {
        Ok(()) => 0,
        Err(Refused(errno)) => -(errno as isize),
    }
}

fn attempt(area: &ReservedArea, job: &mut Job) -> Result<(), Refused> {
    if !layout::layout_is_fixed() && !layout::can_be_told() {
        return Err(area.refuse(Refusal::LayoutNotFixed));
    }
    ended_children::gather(area)?;
    // First of all: a seccomp filter of the program may forbid the calls that follow.
    credentials::refuse_changed(area)?;
    system_v_objects::gather(area)?;
    if stop::count() > 1
        && !children::any()
        && let Err(refused @ Refused(libc::EOPNOTSUPP)) =
            checkpoint::gather(area, &mut Strings::new(area), (job.fd, job.own.list()), false)
    {
        // Before anything is disturbed. (Threads that go on may cause other errors.)
        return Err(refused);
    }
    let (count, own_place) = stop::stop_all(area)?;
    // The tables are not filled yet.
    let process = area.process_state();
    (process.locks, process.ranges, process.watches) = (0, 0, 0);
    let mut copies = Copies::new();
    let hooks = job.hooks;
    let result = match hooks.stopped.map_or(0, |stopped| stopped(hooks.context)) {
        0 => {
            let result = of_family(area, job, count, own_place, &mut copies);
            if let Some(made) = hooks.made {
                made(hooks.context);
            }
            result
        }
        errno => Err(area.refuse(Refusal::SharersNotStopped { errno })),
    };
    go_on(area);
    result
}

/// Looks at the process and makes the image child, while living children stand still, too.
fn of_family(
    area: &ReservedArea,
    job: &mut Job,
    count: usize,
    own_place: usize,
    copies: &mut Copies,
) -> Result<(), Refused> {
    if count > 1 {
        // Another thread may have begun something before it stood still.
        ended_children::gather(area)?;
    }
    if job.take == 0 && children::any() {
        // The rest only an image can tell.
        return summon::check(area);
    }
    let family = children::any().then(|| summon::stand(area, job.image_no, job.own.list()));
    let family = family.transpose()?;
    let result = examine(area, job, count, own_place, copies).and_then(|examined| {
        // The look may have taken longer than the children wait.
        family.as_ref().map_or(Ok(()), |family| family.refuse_gone(area))?;
        if job.take == 0 { Ok(()) } else { make_child(area, job, examined, copies) }
    });
    drop(family);
    result
}

/// Takes the image of this process, which is a child of a rank. `stands`: called when all threads
/// stand still; gives the file for the image, and the image's number. `written`: called when the
/// image is written or refused; the threads go on when it returns.
pub fn capture_child(
    area: &ReservedArea,
    resume: [u64; 2],
    stands: impl FnOnce() -> Option<(i32, u64)>,
    written: impl FnOnce(bool),
) -> Result<(), Refused> {
    if !layout::layout_is_fixed() && !layout::can_be_told() {
        return Err(area.refuse(Refusal::LayoutNotFixed));
    }
    ended_children::refuse_any(area)?;
    credentials::refuse_changed(area)?;
    system_v_objects::gather(area)?;
    if system_v_objects::any() {
        // A forked process knows those of the rank.
        return Err(area.refuse(Refusal::SharesMemoryWithRank));
    }
    let (count, own_place) = stop::stop_all(area)?;
    let process = area.process_state();
    (process.locks, process.ranges, process.watches) = (0, 0, 0);
    let mut copies = Copies::new();
    let result = match stands() {
        None => Err(area.refuse(Refusal::RankGaveUp)),
        Some((fd, image_no)) => {
            // What a forked process has at numbers of the library is the rank's. Another program
            // has nothing of the library.
            let own =
                OwnDescriptors { list: core::ptr::null(), len: 0, known: rank::is_executed() };
            let mut job = Job {
                fd,
                image_no,
                useless: UselessMemory::NONE,
                own,
                guarded: OwnDescriptors { list: core::ptr::null(), len: 0, known: true },
                hooks: Hooks::NONE,
                resume,
                take: 1,
                is_child: 1,
                estimate: 0,
                child: 0,
            };
            let result = examine(area, &mut job, count, own_place, &mut copies)
                .and_then(|examined| make_child(area, &mut job, examined, &mut copies))
                .and_then(|()| await_image(area, job.child));
            syscalls::close(fd);
            result
        }
    };
    written(result.is_ok());
    go_on(area);
    result
}

/// Waits for the image child. (If it has refused, it has told the reason itself.)
fn await_image(area: &ReservedArea, child: i32) -> Result<(), Refused> {
    let mut status = 0i32;
    // SAFETY: the status is valid for writing.
    let mut wait =
        || unsafe { syscalls::call!(libc::SYS_wait4, child, &raw mut status, libc::__WCLONE, 0) };
    let ended = loop {
        match wait() {
            Err(libc::EINTR) => {}
            ended => break ended,
        }
    };
    if ended.is_ok() && status == 0 {
        return Ok(());
    }
    Err(area.refuse(Refusal::NoImageChild { errno: libc::EIO }))
}

/// Lets all threads go on, with what the look at the process has disturbed.
fn go_on(area: &ReservedArea) {
    page_attributes::give_advice_again(area);
    file_locks::take_again(area);
    // Signals that were taken out of the kernel to be looked at.
    let signals = pending_signals::known(area, &area.parking().signals);
    pending_signals::send_again(signals, syscalls::gettid());
    pending_signals::send_again(signals, 0);
    parking::release(area);
}

/// What the child needs.
struct Examined {
    strings: Strings,
    survey: mappings::Survey,
}

fn examine(
    area: &ReservedArea,
    job: &mut Job,
    count: usize,
    own_place: usize,
    copies: &mut Copies,
) -> Result<Examined, Refused> {
    if count > 1 {
        // Another thread may have begun something before it stood still.
        system_v_objects::gather(area)?;
    }
    if job.is_child != 0 {
        ended_children::refuse_any(area)?;
    }
    let process = area.process_state();
    // A process with one thread cannot have changed since `attempt` looked.
    for thread in area.threads()[..count].iter().filter(|_| count > 1) {
        credentials::refuse_changed_thread(area, thread.tid)?;
    }
    let mut strings = Strings::new(area);
    process.descriptors = checkpoint::gather(area, &mut strings, (job.fd, job.own.list()), true)?;
    let table = &mut area.descriptors()[..process.descriptors as usize];
    regular_file::mark_guarded(table, job.guarded.list().unwrap_or_default());
    if job.take != 0 && rank::returns_together() {
        small_files::choose(&strings, table);
    }
    if job.take != 0 {
        page_attributes::gather(area)?;
        page_attributes::take_advice_back(area);
    }
    let survey = mappings::survey(area)?;
    if job.is_child != 0 && survey.copies > 0 {
        return Err(area.refuse(Refusal::SharesMemoryWithRank));
    }
    process.image_no = job.image_no;
    clock_shift::note();
    (process.rank, process.incarnation) = rank::name();
    process.resume_ip = resume::resume as *const () as u64;
    process.threads = count as u32;
    let thread = &mut area.threads()[own_place];
    thread_state::record_thread_state(thread);
    thread.resume = job.resume;
    process_attributes::refuse_deadlines(area, &area.threads()[..count])?;
    owned_locks::refuse_taking(area, &area.threads()[..count])?;
    process_state::gather(area, &mut strings, &survey.layout)?;
    process.signals = pending_signals::known(area, &area.parking().signals).len() as u32;
    if area.parking().too_many.load(Ordering::SeqCst) != 0 {
        return Err(area.refuse(Refusal::TooManySignals));
    }
    for timer in &area.timers()[..process.posix_timers as usize] {
        let other = timer.notify & libc::SIGEV_THREAD_ID != 0 && timer.tid != syscalls::gettid();
        if other && pending_signals::has_more(area, process.signals, timer.tid) {
            return Err(area.refuse(Refusal::TimerFired));
        }
    }
    let table = &mut area.descriptors()[..process.descriptors as usize];
    process.contents =
        if job.take == 0 { 0 } else { contents::copy(area, &strings, table, copies)? };
    job.estimate = procfs::anonymous_bytes()
        + area.copies()[..survey.copies].iter().map(|c| (c.end - c.start) as u64).sum::<u64>()
        + area.pieces()[..process.contents as usize].iter().map(|p| p.len as u64).sum::<u64>();
    Ok(Examined { strings, survey })
}

fn make_child(
    area: &ReservedArea,
    job: &mut Job,
    examined: Examined,
    copies: &mut Copies,
) -> Result<(), Refused> {
    copy_shared(area, examined.survey.copies, copies)?;
    let parent = syscalls::getpid();
    // Flags 0: copy-on-write as with fork, but without a signal at the end, so that the program's
    // `wait` never sees the child. Not by the C library, which would write the child's id into the
    // thread block.
    // SAFETY: the child goes on here, on its copy of this stack, and never returns.
    let child = unsafe { syscalls::call!(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if child == Ok(0) {
        for [begin, end] in job.useless.pairs() {
            // First of all: as long as both share these pages, the parent copies each page that it
            // writes.
            // SAFETY: this is a copy of the process, and nobody needs these contents (see
            // `capture`).
            unsafe { syscalls::forget(*begin as usize, (end - begin) as usize) };
        }
        image_child::run(area, job.fd, parent, examined.strings, &examined.survey);
    }
    let child = child.map_err(|errno| area.refuse(Refusal::NoImageChild { errno }))?;
    job.child = child as i32;
    Ok(())
}

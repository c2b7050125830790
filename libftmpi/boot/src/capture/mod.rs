//! Takes an image: looks at the process, makes a copy-on-write child that streams it, goes on.
//!
//! The process stands still only for this: a look at its descriptors and mappings, copies of shared
//! memory and of files without a name, and `clone`. All other threads stand still, too. Everything runs on the reserved area's stack; the program's stack gets a few words
//! below its own, which hold what `setjmp` would save. The same words are found again in the
//! restored process, where [`ftmpi_boot_switch`] returns once more, with 1.

pub mod image_child;

use crate::base::procfs;
use crate::base::refusal::{Line, Refused, refuse};
use crate::base::reserved_area::{ReservedArea, STACK_TOP};
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::descriptors;
use crate::descriptors::contents::{self, Copies};
use crate::descriptors::file_locks;
use crate::interpose::system_v;
use crate::life;
use crate::memory::mappings;
use crate::memory::page_attributes;
use crate::process::credentials;
use crate::process::process_attributes;
use crate::process::process_state;
use crate::signals::pending_signals;
use crate::threads;
use crate::threads::owned_locks;
use crate::time::clock_shift;
use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};
use ftmpi_checkpoint::boot_abi::{CaptureOutcome, CaptureRequest};

// int ftmpi_boot_switch(u64 resume[2], long (*function)(void *), void *argument, void *stack_top)
//
// Saves what a function must preserve (rbx, rbp, r12–r15, mxcsr, x87 control word) on the present
// stack, tells in `resume` the stack pointer and the address to come back to, calls the function on
// the other stack (or on this one, if that is 0) and gives its result; or comes back there in a
// restored process, and gives 1.
global_asm!(
    ".text",
    ".p2align 4",
    ".hidden ftmpi_boot_switch",
    ".globl ftmpi_boot_switch",
    ".type ftmpi_boot_switch,@function",
    "ftmpi_boot_switch:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rdi], rsp",
    "lea rax, [rip + ftmpi_boot_resumed]",
    "mov [rdi + 8], rax",
    "mov rbx, rsp",
    "test rcx, rcx",
    "cmovnz rsp, rcx",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbx",
    "jmp 3f",
    ".hidden ftmpi_boot_resumed",
    ".globl ftmpi_boot_resumed",
    "ftmpi_boot_resumed:",
    "cld",
    "mov eax, 1",
    "3:",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".size ftmpi_boot_switch, . - ftmpi_boot_switch",
);

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    pub fn ftmpi_boot_switch(
        resume: *mut [u64; 2],
        function: extern "C" fn(*mut c_void) -> isize,
        argument: *mut c_void,
        stack_top: usize,
    ) -> c_int;
    /// Where a restored thread goes on. Not to be called.
    pub fn ftmpi_boot_resumed();
}

/// The image child, if it was not collected yet.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Why there was no image: written by the thread that wanted one.
struct LastRefusal(UnsafeCell<Line>);

// SAFETY: `capture` and `why_refused` are called by one thread at a time (boot_abi).
unsafe impl Sync for LastRefusal {}

static LAST_REFUSAL: LastRefusal = LastRefusal(UnsafeCell::new(Line::new()));

fn remember_refusal(text: &[u8]) {
    // SAFETY: see `LastRefusal`.
    let why = unsafe { &mut *LAST_REFUSAL.0.get() };
    why.set(format_args!("{}", crate::base::refusal::Shown(text)));
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::why_refused`].
///
/// # Safety
/// `text` is valid for `len` bytes, or null.
pub unsafe extern "C" fn why_refused(text: *mut c_char, len: usize) {
    // SAFETY: see `LastRefusal`; the text by the caller.
    unsafe { put((*LAST_REFUSAL.0.get()).bytes(), text, len) };
}

/// # Safety
/// `text` is valid for `len` bytes, or null.
unsafe fn put(line: &[u8], text: *mut c_char, len: usize) {
    if !text.is_null() && len > 0 {
        let take = line.len().min(len - 1);
        // SAFETY: by the caller; the terminating zero fits too.
        unsafe {
            core::ptr::copy_nonoverlapping(line.as_ptr(), text.cast(), take);
            *text.add(take) = 0;
        }
    }
}

/// What the part on the reserved area's stack gets and gives.
#[repr(C)]
struct Job {
    fd: i32,
    image_no: u64,
    useless: Useless,
    own: Own,
    hooks: Hooks,
    resume: [u64; 2],
    /// 0: only ask whether it could be done.
    take: u32,
    estimate: u64,
    child: i32,
}

/// What the caller wants to do while all threads stand still (boot_abi).
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

/// The list of memory whose contents are of no use (boot_abi).
#[derive(Clone, Copy)]
struct Useless {
    pairs: *const [u64; 2],
    len: usize,
}

impl Useless {
    const NONE: Self = Self { pairs: core::ptr::null(), len: 0 };

    fn pairs(&self) -> &[[u64; 2]] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: valid over the call of `capture`, and in the child's copy for ever.
        unsafe { core::slice::from_raw_parts(self.pairs, self.len) }
    }
}

/// The list of the caller's descriptors (boot_abi).
#[derive(Clone, Copy)]
struct Own {
    list: *const c_int,
    len: usize,
    /// There is one.
    known: bool,
}

impl Own {
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
/// Both pointers are valid, and so are the list of descriptors and that of memory whose contents are not
/// wanted in the image.
pub unsafe extern "C" fn capture(
    request: *const CaptureRequest,
    out: *mut CaptureOutcome,
) -> c_int {
    if request.is_null() || out.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: valid by the caller.
    let asked = unsafe { *request };
    if let Err((errno, why)) = admit() {
        remember_refusal(why.as_bytes());
        return -errno;
    }
    let begun = syscalls::now_ns();
    let mask = syscalls::set_signal_mask(!0);
    let mut job = Job {
        fd: asked.fd,
        image_no: asked.image_no,
        useless: Useless { pairs: asked.useless, len: asked.useless_len },
        own: Own { list: asked.own, len: asked.own_len, known: true },
        hooks: Hooks {
            stopped: asked.stopped,
            made: asked.made,
            restored: asked.restored,
            context: asked.context,
        },
        resume: [0; 2],
        take: 1,
        estimate: 0,
        child: 0,
    };
    // SAFETY: the stack is the reserved area's and unused: signals are blocked, and one thread at a time takes
    // images. The call returns once in this life, and once in each restored one.
    let result =
        unsafe { ftmpi_boot_switch(&raw mut job.resume, take, (&raw mut job).cast(), STACK_TOP) };
    // SAFETY: the reserved area is there (`admit`).
    let area = unsafe { ReservedArea::take() };
    let mut outcome = CaptureOutcome { image_no: job.image_no, ..CaptureOutcome::default() };
    if result == 1 {
        threads::open_gate(&area, || {
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
        remember_refusal(area.line().bytes());
    }
    // SAFETY: valid by the caller; in the restored process the same memory was restored.
    unsafe { *out = outcome };
    syscalls::set_signal_mask(mask);
    result
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::reap`].
pub extern "C" fn reap() -> c_int {
    let child = CHILD.load(Ordering::Relaxed);
    if child == 0 || life::admit().is_err() {
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
    if let Err((errno, why)) = admit() {
        // SAFETY: by the caller.
        unsafe { put(why.as_bytes(), text, len) };
        return errno;
    }
    let mask = syscalls::set_signal_mask(!0);
    let mut job = Job {
        fd: -1,
        image_no: 0,
        useless: Useless::NONE,
        own: Own { list: core::ptr::null(), len: 0, known: false },
        hooks: Hooks::NONE,
        resume: [0; 2],
        take: 0,
        estimate: 0,
        child: 0,
    };
    // SAFETY: as in `capture`.
    let result =
        unsafe { ftmpi_boot_switch(&raw mut job.resume, take, (&raw mut job).cast(), STACK_TOP) };
    // SAFETY: the reserved area is there (`admit`), and nobody else uses it.
    let area = unsafe { ReservedArea::take() };
    let line = if result < 0 { area.line().bytes() } else { b"" };
    // SAFETY: by the caller.
    unsafe { put(line, text, len) };
    syscalls::set_signal_mask(mask);
    -result
}

fn admit() -> Result<(), (i32, &'static str)> {
    life::admit().map_err(|errno| (errno, life::why_not_admitted(errno)))?;
    if reap() == 1 {
        return Err((libc::EBUSY, "the image before this one is still being written"));
    }
    Ok(())
}

/// On the reserved area's stack.
extern "C" fn take(job: *mut c_void) -> isize {
    // SAFETY: `capture` holds it, waiting.
    let job = unsafe { &mut *job.cast::<Job>() };
    // SAFETY: the only user (see `capture`).
    let area = unsafe { ReservedArea::take() };
    match attempt(&area, job) {
        Ok(()) => 0,
        Err(Refused(errno)) => -(errno as isize),
    }
}

fn attempt(area: &ReservedArea, job: &mut Job) -> Result<(), Refused> {
    if !process_state::layout_is_fixed() {
        return Err(refuse!(
            area,
            libc::EOPNOTSUPP,
            "the address layout of this process is not fixed (is 'personality' forbidden here?): no \
             image of it could be restored"
        ));
    }
    refuse_children(area)?;
    // First of all: a filter of the program may not like what comes now.
    credentials::refuse_changed(area)?;
    system_v::refuse_used(area)?;
    if threads::count() > 1
        && let Err(refused @ Refused(libc::EOPNOTSUPP)) =
            descriptors::gather(area, &mut Strings::new(area), (job.fd, job.own.list()), false)
    {
        // Before anything is disturbed. (Other errors may come from threads that go on.)
        return Err(refused);
    }
    let (count, mine) = threads::stop(area)?;
    // Nothing was looked at yet.
    (area.process_state().locks, area.process_state().ranges) = (0, 0);
    let mut copies = Copies::new();
    let hooks = job.hooks;
    let result = match hooks.stopped.map_or(0, |stopped| stopped(hooks.context)) {
        0 => {
            let result = look(area, job, count, mine, &mut copies).and_then(|look| {
                if job.take == 0 { Ok(()) } else { make_child(area, job, look, &mut copies) }
            });
            if let Some(made) = hooks.made {
                made(hooks.context);
            }
            result
        }
        errno => Err(refuse!(area, errno, "ranks that share memory did not all stop in time")),
    };
    page_attributes::close(area);
    file_locks::take_again(area);
    // What was taken out to be looked at.
    let signals = pending_signals::known(area, &area.parking().signals);
    pending_signals::send_again(signals, syscalls::gettid());
    pending_signals::send_again(signals, 0);
    threads::release(area);
    result
}

/// What the child needs to know.
struct Look {
    strings: Strings,
    survey: mappings::Survey,
}

fn look(
    area: &ReservedArea,
    job: &mut Job,
    count: usize,
    mine: usize,
    copies: &mut Copies,
) -> Result<Look, Refused> {
    if count > 1 {
        // Another thread may have begun something before it stood still.
        refuse_children(area)?;
        system_v::refuse_used(area)?;
    }
    let process = area.process_state();
    // Alone, nobody can have changed it since `attempt` looked.
    for thread in area.threads()[..count].iter().filter(|_| count > 1) {
        credentials::refuse_changed_thread(area, thread.tid)?;
    }
    let mut strings = Strings::new(area);
    process.descriptors = descriptors::gather(area, &mut strings, (job.fd, job.own.list()), true)?;
    if job.take != 0 {
        page_attributes::gather(area)?;
        page_attributes::open(area);
    }
    let survey = mappings::survey(area)?;
    process.image_no = job.image_no;
    clock_shift::note();
    (process.rank, process.incarnation) = life::name();
    process.resume_ip = life::resume as *const () as u64;
    process.threads = count as u32;
    let thread = &mut area.threads()[mine];
    threads::record_thread_state(thread);
    thread.resume = job.resume;
    process_attributes::refuse_deadlines(area, &area.threads()[..count])?;
    owned_locks::refuse_taking(area, &area.threads()[..count])?;
    process_state::gather(area, &mut strings, &survey.layout)?;
    process.signals = pending_signals::known(area, &area.parking().signals).len() as u32;
    if area.parking().too_many.load(Ordering::SeqCst) != 0 {
        return Err(refuse!(area, libc::EAGAIN, "too many signals wait for the program"));
    }
    for timer in &area.timers()[..process.posix_timers as usize] {
        let other = timer.notify & libc::SIGEV_THREAD_ID != 0 && timer.tid != syscalls::gettid();
        if other && pending_signals::has_more(area, process.signals, timer.tid) {
            return Err(refuse!(area, libc::EAGAIN, "a timer of the program fired just now"));
        }
    }
    let table = &area.descriptors()[..process.descriptors as usize];
    process.contents =
        if job.take == 0 { 0 } else { contents::copy(area, &strings, table, copies)? };
    job.estimate = procfs::anonymous_bytes()
        + area.copies()[..survey.copies].iter().map(|c| (c.end - c.start) as u64).sum::<u64>()
        + area.pieces()[..process.contents as usize].iter().map(|p| p.len as u64).sum::<u64>();
    Ok(Look { strings, survey })
}

/// Children that an image cannot contain.
fn refuse_children(area: &ReservedArea) -> Result<(), Refused> {
    // SAFETY: struct siginfo has 128 bytes.
    let mut info = [0u64; 16];
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: as above. Clone children (ours) are not counted without __WCLONE.
    let children =
        unsafe { syscalls::call!(libc::SYS_waitid, libc::P_ALL, 0, info.as_mut_ptr(), options, 0) };
    if children != Err(libc::ECHILD) {
        return Err(refuse!(
            area,
            libc::EBUSY,
            "the program has started other processes that have not ended yet"
        ));
    }
    Ok(())
}

fn make_child(
    area: &ReservedArea,
    job: &mut Job,
    look: Look,
    copies: &mut Copies,
) -> Result<(), Refused> {
    copy_shared(area, look.survey.copies, copies)?;
    let parent = syscalls::getpid();
    // Flags 0: copy-on-write like fork, but no signal at its end, so that the program's wait() never
    // sees it; and not through the C library, which would write the child's id into the thread
    // block.
    // SAFETY: the child goes on here, on its copy of this stack, and never returns.
    let child = unsafe { syscalls::call!(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if child == Ok(0) {
        for [begin, end] in job.useless.pairs() {
            // First of all: while we share these pages, our parent copies what it writes of them.
            // SAFETY: this is a copy, in which nobody wants the contents (see `capture`).
            unsafe { syscalls::forget(*begin as usize, (end - begin) as usize) };
        }
        image_child::run(area, job.fd, parent, look.strings, &look.survey);
    }
    let child = child.map_err(|errno| {
        refuse!(area, errno, "no process for the image: {}", syscalls::error_text(errno))
    })?;
    job.child = child as i32;
    Ok(())
}

/// Copies shared memory: the child would see what the program goes on to write.
fn copy_shared(area: &ReservedArea, count: usize, copies: &mut Copies) -> Result<(), Refused> {
    if count == 0 {
        return Ok(());
    }
    let failed = |errno| {
        refuse!(area, errno, "shared memory cannot be copied: {}", syscalls::error_text(errno))
    };
    let memory = process_attributes::open_own(c"/proc/self/mem", libc::O_RDONLY | libc::O_CLOEXEC)
        .map_err(failed)?;
    let result = area.copies()[..count].iter_mut().try_for_each(|copy| {
        let len = copy.end - copy.start;
        copy.copy = copies.room(len)?;
        let all = swap_is_used();
        copy_resident(area, memory, (copy.start, len), copy.copy, all)?;
        if !all && swap_is_used() {
            // The first page may have gone there before we came to it.
            copy_resident(area, memory, (copy.start, len), copy.copy, true)?;
        }
        Ok(())
    });
    syscalls::close(memory);
    result.map_err(failed)
}

/// Copies the pages that exist: a look at others would make them. Pages in the swap are not told by
/// `mincore`, so all are to be copied where swap is in use.
fn copy_resident(
    area: &ReservedArea,
    memory: i32,
    (start, len): (usize, usize),
    to: usize,
    all: bool,
) -> Result<(), i32> {
    const STEP: usize = 32_768;
    let resident = area.content();
    let pages = len / 4096;
    let mut page = 0;
    while page < pages {
        let step = STEP.min(pages - page);
        if all {
            resident[..step].fill(1);
        } else {
            // SAFETY: one byte for each of `step` pages.
            unsafe {
                syscalls::call!(
                    libc::SYS_mincore,
                    start + page * 4096,
                    step * 4096,
                    resident.as_mut_ptr()
                )
            }?;
        }
        let mut at = 0;
        while at < step {
            let there = resident[at] & 1;
            let run = resident[at..step].iter().take_while(|b| **b & 1 == there).count();
            if there == 1 {
                let offset = (page + at) * 4096;
                // SAFETY: the copy's mapping, written by nobody else.
                let into = unsafe {
                    core::slice::from_raw_parts_mut((to + offset) as *mut u8, run * 4096)
                };
                let mut have = 0;
                while have < into.len() {
                    match syscalls::pread(
                        memory,
                        &mut into[have..],
                        (start + offset + have) as u64,
                    )? {
                        0 => return Err(libc::EIO),
                        n => have += n,
                    }
                }
            }
            at += run;
        }
        page += step;
    }
    Ok(())
}

fn swap_is_used() -> bool {
    // struct sysinfo in words: uptime, loads (3), RAM (4), then totalswap and freeswap.
    let mut info = [0u64; 16];
    // SAFETY: struct sysinfo has 112 bytes.
    let told = unsafe { syscalls::call!(libc::SYS_sysinfo, info.as_mut_ptr()) };
    told.is_err() || info[8] != info[9]
}

//! Takes an image: looks at the process, makes a copy-on-write child that streams it, goes on.
//!
//! The process stands still only for this: a look at its descriptors and mappings, copies of shared
//! memory, and `clone`. Everything runs on the hole's stack; the program's stack gets a few words
//! below its own, which hold what `setjmp` would save. The same words are found again in the
//! restored process, where [`ftmpi_boot_switch`] returns once more, with 1.

use crate::hole::{COPIES_BASE, COPIES_LEN, Hole, STACK_TOP};
use crate::line::{Refused, refuse};
use crate::strings::Strings;
use crate::{child, descriptors, facts, life, maps, procfs, sys};
use core::arch::global_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};
use ftmpi_checkpoint::boot_abi::{CaptureOutcome, CaptureRequest};

// int ftmpi_boot_switch(u64 resume[2], long (*function)(void *), void *argument, void *stack_top)
//
// Saves what a function must preserve (rbx, rbp, r12–r15, mxcsr, x87 control word) on the present
// stack, tells in `resume` the stack pointer and the address to come back to, calls the function on
// the other stack and gives its result; or comes back there in a restored process, and gives 1.
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
    "lea rax, [rip + 2f]",
    "mov [rdi + 8], rax",
    "mov rbx, rsp",
    "mov rsp, rcx",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbx",
    "jmp 3f",
    "2:",
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
    fn ftmpi_boot_switch(
        resume: *mut [u64; 2],
        function: extern "C" fn(*mut Job) -> isize,
        argument: *mut Job,
        stack_top: usize,
    ) -> c_int;
}

/// The image child, if it was not collected yet.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// What the part on the hole's stack gets and gives.
#[repr(C)]
struct Job {
    fd: i32,
    image_no: u64,
    mask: u64,
    resume: [u64; 2],
    /// 0: only ask whether it could be done.
    take: u32,
    estimate: u64,
    child: i32,
}

/// See [`ftmpi_checkpoint::boot_abi::BootTable::capture`].
///
/// # Safety
/// Both pointers are valid.
pub unsafe extern "C" fn capture(
    request: *const CaptureRequest,
    out: *mut CaptureOutcome,
) -> c_int {
    if request.is_null() || out.is_null() {
        return -libc::EINVAL;
    }
    // SAFETY: valid by the caller.
    let asked = unsafe { *request };
    if let Err(errno) = admit() {
        return -errno;
    }
    let begun = sys::now_ns();
    let mask = sys::set_signal_mask(!0);
    let mut job = Job {
        fd: asked.fd,
        image_no: asked.image_no,
        mask,
        resume: [0; 2],
        take: 1,
        estimate: 0,
        child: 0,
    };
    // SAFETY: the stack is the hole's and unused: all signals are blocked, and this is the only
    // thread (`admit`). The call returns once in this life, and once in each restored one.
    let result = unsafe { ftmpi_boot_switch(&raw mut job.resume, take, &raw mut job, STACK_TOP) };
    let mut outcome = CaptureOutcome { image_no: job.image_no, ..CaptureOutcome::default() };
    if result == 1 {
        life::begin_again();
        CHILD.store(0, Ordering::Relaxed);
        outcome.restored = 1;
    } else if result == 0 {
        CHILD.store(job.child, Ordering::Relaxed);
        outcome.estimate_bytes = job.estimate;
        outcome.child_pid = job.child;
        outcome.pause_ns = sys::now_ns() - begun;
    }
    // SAFETY: valid by the caller; in the restored process the same memory was restored.
    unsafe { *out = outcome };
    sys::set_signal_mask(job.mask);
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
    match unsafe { sys::call!(libc::SYS_wait4, child, &raw mut status, options, 0) } {
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
    let tell = |line: &[u8]| {
        if !text.is_null() && len > 0 {
            let take = line.len().min(len - 1);
            // SAFETY: by the caller; the terminating zero fits too.
            unsafe {
                core::ptr::copy_nonoverlapping(line.as_ptr(), text.cast(), take);
                *text.add(take) = 0;
            }
        }
    };
    if let Err(errno) = life::admit() {
        tell(life::why_not_admitted(errno).as_bytes());
        return errno;
    }
    if reap() == 1 {
        tell(b"the image before this one is still being written");
        return libc::EBUSY;
    }
    let mask = sys::set_signal_mask(!0);
    let mut job = Job { fd: -1, image_no: 0, mask, resume: [0; 2], take: 0, estimate: 0, child: 0 };
    // SAFETY: as in `capture`.
    let result = unsafe { ftmpi_boot_switch(&raw mut job.resume, take, &raw mut job, STACK_TOP) };
    if result < 0 {
        // SAFETY: the hole is there (`admit`), and nobody else uses it.
        tell(unsafe { Hole::take() }.line().bytes());
    } else {
        tell(b"");
    }
    sys::set_signal_mask(mask);
    -result
}

fn admit() -> Result<(), i32> {
    life::admit()?;
    if reap() == 1 { Err(libc::EBUSY) } else { Ok(()) }
}

/// On the hole's stack.
extern "C" fn take(job: *mut Job) -> isize {
    // SAFETY: `capture` holds it, waiting.
    let job = unsafe { &mut *job };
    // SAFETY: the only user (see `capture`).
    let hole = unsafe { Hole::take() };
    let result = look(&hole, job)
        .and_then(|look| if job.take == 0 { Ok(()) } else { make_child(&hole, job, look) });
    match result {
        Ok(()) => 0,
        Err(Refused(errno)) => -(errno as isize),
    }
}

/// What the child needs to know.
struct Look {
    strings: Strings,
    survey: maps::Survey,
}

fn look(hole: &Hole, job: &mut Job) -> Result<Look, Refused> {
    if !facts::layout_is_fixed() {
        return Err(refuse!(
            hole,
            libc::EOPNOTSUPP,
            "the address layout of this process is not fixed (is 'personality' forbidden here?): no \
             image of it could be restored"
        ));
    }
    refuse_company(hole)?;
    let survey = maps::survey(hole)?;
    let mut strings = Strings::new(hole);
    let facts = hole.facts();
    facts.image_no = job.image_no;
    (facts.rank, facts.incarnation) = life::name();
    facts.signal_mask = job.mask;
    [facts.resume_sp, facts.resume_ip] = job.resume;
    facts::gather(hole, &mut strings, &survey.layout)?;
    facts.descriptors = descriptors::gather(hole, &mut strings, job.fd)?;
    job.estimate = procfs::anonymous_bytes()
        + hole.copies()[..survey.copies].iter().map(|c| (c.end - c.start) as u64).sum::<u64>();
    Ok(Look { strings, survey })
}

/// Threads, children and timers that an image cannot contain.
fn refuse_company(hole: &Hole) -> Result<(), Refused> {
    // A directory has one link from its parent, one from itself, and one from each directory in it.
    let threads = sys::stat(c"/proc/self/task").map_or(0, |stat| stat.st_nlink.saturating_sub(2));
    if threads != 1 {
        return Err(refuse!(
            hole,
            libc::EOPNOTSUPP,
            "the program has {threads} threads; images are taken of programs with one"
        ));
    }
    // SAFETY: struct siginfo has 128 bytes.
    let mut info = [0u64; 16];
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: as above. Clone children (ours) are not counted without __WCLONE.
    let children =
        unsafe { sys::call!(libc::SYS_waitid, libc::P_ALL, 0, info.as_mut_ptr(), options, 0) };
    if children != Err(libc::ECHILD) {
        return Err(refuse!(
            hole,
            libc::EBUSY,
            "the program has started other processes that have not ended yet"
        ));
    }
    if !procfs::is_empty(c"/proc/self/timers") {
        return Err(refuse!(
            hole,
            libc::EOPNOTSUPP,
            "the program uses POSIX timers (timer_create), which an image cannot contain"
        ));
    }
    Ok(())
}

fn make_child(hole: &Hole, job: &mut Job, look: Look) -> Result<(), Refused> {
    copy_shared(hole, look.survey.copies)?;
    let parent = sys::getpid();
    // Flags 0: copy-on-write like fork, but no signal at its end, so that the program's wait() never
    // sees it; and not through the C library, which would write the child's id into the thread
    // block.
    // SAFETY: the child goes on here, on its copy of this stack, and never returns.
    let child = unsafe { sys::call!(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if child == Ok(0) {
        child::run(hole, job.fd, parent, look.strings, &look.survey);
    }
    // SAFETY: only copies lie there.
    let _ = unsafe { sys::unmap(COPIES_BASE, COPIES_LEN) };
    let child = child.map_err(|errno| {
        refuse!(hole, errno, "no process for the image: {}", sys::error_text(errno))
    })?;
    job.child = child as i32;
    Ok(())
}

/// Copies shared memory: the child would see what the program goes on to write.
fn copy_shared(hole: &Hole, count: usize) -> Result<(), Refused> {
    if count == 0 {
        return Ok(());
    }
    let failed =
        |errno| refuse!(hole, errno, "shared memory cannot be copied: {}", sys::error_text(errno));
    let memory = sys::open(c"/proc/self/mem", libc::O_RDONLY | libc::O_CLOEXEC).map_err(failed)?;
    let mut to = COPIES_BASE;
    let mut result = Ok(());
    for copy in &mut hole.copies()[..count] {
        let len = copy.end - copy.start;
        if len > COPIES_BASE + COPIES_LEN - to {
            result = Err(libc::ENOMEM);
            break;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: MAP_FIXED_NOREPLACE replaces nothing.
        result = unsafe { sys::map_anonymous(to, len, prot, flags) }
            .map(|_| ())
            .and_then(|()| copy_resident(hole, memory, copy.start, len, to));
        if result.is_err() {
            break;
        }
        copy.copy = to;
        to += len;
    }
    sys::close(memory);
    result.map_err(|errno| {
        // SAFETY: only copies lie there.
        let _ = unsafe { sys::unmap(COPIES_BASE, COPIES_LEN) };
        failed(errno)
    })
}

/// Copies the pages that exist: a look at others would make them. Pages in the swap are not told by
/// `mincore`, so all are copied where swap is in use.
fn copy_resident(hole: &Hole, memory: i32, start: usize, len: usize, to: usize) -> Result<(), i32> {
    const STEP: usize = 32_768;
    let all = swap_is_used();
    let resident = hole.content();
    let pages = len / 4096;
    let mut page = 0;
    while page < pages {
        let step = STEP.min(pages - page);
        if all {
            resident[..step].fill(1);
        } else {
            // SAFETY: one byte for each of `step` pages.
            unsafe {
                sys::call!(
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
                    match sys::pread(memory, &mut into[have..], (start + offset + have) as u64)? {
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
    let told = unsafe { sys::call!(libc::SYS_sysinfo, info.as_mut_ptr()) };
    told.is_err() || info[8] != info[9]
}

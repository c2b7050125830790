//! What an image must know about the process and the machine, and what must be equal at its restore.

use crate::hole::Hole;
use crate::line::{Refused, refuse};
use crate::procfs::{self, Entry};
use crate::strings::Strings;
use crate::sys;
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{
    ARCH_X86_64, Facts, Hash, IntervalTimer, Processor, STREAM_VERSION, SignalAction, Text,
};

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    fn ftmpi_rseq_offset() -> isize;
    fn ftmpi_rseq_size() -> u32;
}

/// Where things lie that the kernel placed when it started the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    pub vdso_start: u64,
    pub vdso_end: u64,
    pub stack_start: u64,
    pub stack_end: u64,
}

impl Layout {
    /// Takes note of a mapping.
    pub fn see(&mut self, entry: &Entry<'_>) {
        match entry.name {
            b"[vdso]" => (self.vdso_start, self.vdso_end) = (entry.start, entry.end),
            b"[stack]" => (self.stack_start, self.stack_end) = (entry.start, entry.end),
            _ => {}
        }
    }

    /// Contents of the vDSO: the C library remembers addresses inside it.
    pub fn vdso_hash(&self) -> u64 {
        let len = (self.vdso_end - self.vdso_start) as usize;
        if len == 0 {
            return 0;
        }
        // SAFETY: the kernel mapped it readable for the life of the process.
        let bytes = unsafe { core::slice::from_raw_parts(self.vdso_start as *const u8, len) };
        Hash::new().with(bytes).value()
    }
}

/// The kind of processor.
pub fn processor() -> Processor {
    use core::arch::x86_64::__cpuid_count as cpuid;
    // Leaf 7, edx, bit 15: hybrid; differs between the cores of one processor.
    const VARIES: u32 = 1 << 15;
    let (one, seven, seven_one) = (cpuid(1, 0), cpuid(7, 0), cpuid(7, 1));
    let extended = cpuid(0x8000_0001, 0);
    let mut found = Processor {
        features: [
            one.ecx,
            one.edx,
            seven.ebx,
            seven.ecx,
            seven.edx & !VARIES,
            seven_one.eax,
            extended.ecx,
            extended.edx,
        ],
        ..Processor::default()
    };
    const OSXSAVE: u32 = 1 << 27;
    if one.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE says that the instruction is there; register 0 always is.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack));
        }
        found.xcr0 = u64::from(low) | u64::from(high) << 32;
        found.xsave_len = u64::from(cpuid(0xd, 0).ebx);
    }
    found
}

/// A soft limit of this process (`u64::MAX`: none).
pub fn soft_limit(which: u32) -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: valid for writing; 0 is this process, no new limit.
    let _ = unsafe { sys::call!(libc::SYS_prlimit64, 0, which, 0, limit.as_mut_ptr()) };
    limit[0]
}

/// Soft limit on the stack.
pub fn stack_limit() -> u64 {
    soft_limit(libc::RLIMIT_STACK)
}

/// Whether the address layout is fixed: without that no restored process would fit.
pub fn layout_is_fixed() -> bool {
    // SAFETY: this argument only asks.
    let now = unsafe { sys::call!(libc::SYS_personality, 0xffff_ffffusize) }.unwrap_or(0);
    now & libc::ADDR_NO_RANDOMIZE as usize != 0
}

fn segment_base(which: usize) -> u64 {
    let mut base = 0u64;
    // SAFETY: ARCH_GET_FS and ARCH_GET_GS write one word.
    let _ = unsafe { sys::call!(libc::SYS_arch_prctl, which, &raw mut base) };
    base
}

/// Thread pointer.
pub fn fs_base() -> u64 {
    segment_base(0x1003)
}

/// Where the C library keeps the main thread's id; found at start, 0 if unknown.
static TID_ADDRESS: AtomicU64 = AtomicU64::new(0);

/// Finds where the C library keeps the thread's id: the address to be cleared at exit, or, where the
/// kernel does not tell it, the one place in the thread block with that number.
pub fn find_tid_address() {
    const PR_GET_TID_ADDRESS: usize = 40;
    let mut address = 0u64;
    // SAFETY: writes one word.
    let told = unsafe { sys::call!(libc::SYS_prctl, PR_GET_TID_ADDRESS, &raw mut address) };
    if told.is_err() || address == 0 {
        let block = fs_base();
        let tid = sys::gettid();
        address = (512..1024)
            .step_by(4)
            .map(|offset| block + offset)
            // SAFETY: the C library's thread block is larger than 2000 bytes in all versions that
            // can be meant here.
            .find(|&at| unsafe { *(at as *const i32) } == tid)
            .unwrap_or(0);
    }
    TID_ADDRESS.store(address, Ordering::Relaxed);
}

/// Address and length of the restartable-sequence area that the C library registered.
pub fn rseq() -> (u64, u64) {
    // SAFETY: these read constants of the C library.
    let (offset, size) = unsafe { (ftmpi_rseq_offset(), ftmpi_rseq_size()) };
    if size == 0 {
        return (0, 0);
    }
    // The C library registers 32 bytes where it says 20 (what the kernel had at first).
    (fs_base().wrapping_add_signed(offset as i64), u64::from(size).next_multiple_of(32))
}

/// Facts that only the process itself knows (not its image child): in the order in which they must
/// be asked. All signals are blocked.
pub fn gather(hole: &Hole, strings: &mut Strings, layout: &Layout) -> Result<(), Refused> {
    let facts = hole.facts();
    let failed = |what: &str, errno| {
        refuse!(hole, errno, "{what} cannot be told: {}", sys::error_text(errno))
    };
    facts.version = STREAM_VERSION;
    facts.size = size_of::<Facts>() as u32;
    facts.arch = ARCH_X86_64;
    facts.page_bytes = 4096;
    facts.pid = sys::getpid();
    facts.heap_start =
        procfs::heap_start(hole.text()).map_err(|errno| failed("the heap's start", errno))?;
    // SAFETY: an impossible end changes nothing; the present one is the answer.
    facts.heap_end = unsafe { sys::raw(libc::SYS_brk, [0; 6]) } as u64;
    if facts.heap_start == 0 {
        return Err(refuse!(hole, libc::EACCES, "the kernel does not tell where the heap begins"));
    }
    facts.vdso_start = layout.vdso_start;
    facts.vdso_end = layout.vdso_end;
    facts.vdso_hash = layout.vdso_hash();
    facts.stack_end = layout.stack_end;
    facts.stack_limit = stack_limit();
    facts.window_len = crate::life::window_len();
    facts.processor = processor();
    facts.fs_base = fs_base();
    facts.gs_base = segment_base(0x1004);
    facts.tid_address = TID_ADDRESS.load(Ordering::Relaxed);
    let (mut head, mut len) = (0u64, 0u64);
    // SAFETY: both words are valid for writing; 0 is this thread.
    let _ = unsafe { sys::call!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) };
    (facts.robust_head, facts.robust_len) = (head, len);
    (facts.rseq_address, facts.rseq_len) = rseq();
    let mut altstack = [0u64; 3];
    // SAFETY: struct sigaltstack is three words here (the flags are the lower half of the second).
    let _ = unsafe { sys::call!(libc::SYS_sigaltstack, 0, altstack.as_mut_ptr()) };
    facts.altstack_sp = altstack[0];
    facts.altstack_flags = altstack[1] & 0xffff_ffff;
    facts.altstack_len = altstack[2];
    // A timer that fires between the two looks would be there twice, or not at all: look again.
    for _ in 0..8 {
        facts.signals_pending = sys::pending_signals();
        for (which, timer) in facts.timers.iter_mut().enumerate() {
            // SAFETY: struct itimerval is four words.
            let _ = unsafe { sys::call!(libc::SYS_getitimer, which, timer.words.as_mut_ptr()) };
        }
        if sys::pending_signals() == facts.signals_pending {
            break;
        }
    }
    // SAFETY: no memory involved; put back at once, and there is no other thread.
    unsafe {
        let old = sys::raw(libc::SYS_umask, [0o77, 0, 0, 0, 0, 0]);
        sys::raw(libc::SYS_umask, [old as usize, 0, 0, 0, 0, 0]);
        facts.umask = old as u32;
    }
    facts.cwd =
        strings.link(c"/proc/self/cwd").map_err(|errno| failed("the working directory", errno))?;
    facts.executable =
        strings.link(c"/proc/self/exe").map_err(|errno| failed("the executable", errno))?;
    gather_actions(&mut facts.actions);
    Ok(())
}

fn gather_actions(actions: &mut [SignalAction; 64]) {
    for (action, signal) in actions.iter_mut().zip(1..) {
        *action = SignalAction::default();
        // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
        let _ = unsafe { sys::call!(libc::SYS_rt_sigaction, signal, 0, &raw mut *action, 8) };
    }
}

/// Compares what must be equal with this process; called before anything is destroyed.
pub fn check_fit(
    hole: &Hole,
    facts: &Facts,
    here: &Layout,
    heap_start: u64,
    window_len: u64,
) -> Result<(), Refused> {
    let misfit = |what: &str, remedy: &str| refuse!(hole, libc::ENOEXEC, "{what}: {remedy}");
    const LAYOUT: &str = "start it with the same file, arguments and environment, on the same kernel, with address \
         randomisation off";
    if !layout_is_fixed() {
        return Err(misfit("address randomisation is on", LAYOUT));
    }
    if facts.processor != processor() {
        return Err(misfit(
            "the image was taken on another kind of processor",
            "restart this rank on a host like the one it came from",
        ));
    }
    if facts.stack_limit != stack_limit() {
        return Err(misfit(
            "the limit on the stack is not the one of the image",
            "set the same 'ulimit -s' on all hosts",
        ));
    }
    if facts.window_len != window_len {
        return Err(misfit(
            "the limit on address space is not the one of the image",
            "set the same 'ulimit -v' on all hosts",
        ));
    }
    if (facts.vdso_start, facts.vdso_end) != (here.vdso_start, here.vdso_end)
        || facts.vdso_hash != here.vdso_hash()
    {
        return Err(misfit(
            "the image was taken on another kernel",
            "restart this rank on a host with the same kernel",
        ));
    }
    if facts.heap_start != heap_start {
        return Err(misfit("the heap begins elsewhere than in the image", LAYOUT));
    }
    if facts.stack_end != here.stack_end {
        return Err(misfit("the stack ends elsewhere than in the image", LAYOUT));
    }
    if facts.rseq_len != 0 && rseq().1 != facts.rseq_len {
        return Err(misfit("the C library is another one", "restart on a host like the first"));
    }
    Ok(())
}

/// Puts back what belongs to the process as a whole; called in the restored process.
pub fn restore(hole: &Hole, facts: &Facts, strings: &Strings) -> Result<(), Refused> {
    for (action, signal) in facts.actions.iter().zip(1..) {
        if signal == libc::SIGKILL || signal == libc::SIGSTOP {
            continue;
        }
        // SAFETY: handlers lie at the addresses where they lay; all signals are blocked.
        let _ = unsafe { sys::call!(libc::SYS_rt_sigaction, signal, &raw const *action, 0, 8) };
    }
    let altstack = [facts.altstack_sp, facts.altstack_flags & !1, facts.altstack_len];
    // SAFETY: the memory is the program's. Refused if we stand on it: then sigreturn sets it.
    let _ = unsafe { sys::call!(libc::SYS_sigaltstack, altstack.as_ptr(), 0) };
    let cwd = strings.c_str(facts.cwd);
    // SAFETY: terminated path.
    unsafe { sys::call!(libc::SYS_chdir, cwd.as_ptr()) }.map_err(|errno| {
        let shown = crate::line::Shown(cwd.to_bytes());
        refuse!(hole, errno, "the working directory {shown} is gone: {}", sys::error_text(errno))
    })?;
    // SAFETY: no memory involved.
    unsafe { sys::raw(libc::SYS_umask, [facts.umask as usize, 0, 0, 0, 0, 0]) };
    Ok(())
}

/// Last: timers and the signals that were waiting.
pub fn restore_clockwork(facts: &Facts) {
    let mut pending = facts.signals_pending;
    for (which, timer) in facts.timers.iter().enumerate() {
        let mut words = timer.words;
        let [seconds, microseconds, left_seconds, left_microseconds] = &mut words;
        if *seconds | *microseconds != 0 && *left_seconds | *left_microseconds == 0 {
            // It had fired, and the kernel begins the next period when the signal is taken, which is
            // still pending: let it fire again instead.
            *left_microseconds = 1;
            pending &= !(1 << (libc::SIGALRM - 1));
        }
        if words != IntervalTimer::default().words {
            // SAFETY: struct itimerval is four words.
            let _ = unsafe { sys::call!(libc::SYS_setitimer, which, words.as_ptr(), 0) };
        }
    }
    let pid = sys::getpid();
    for signal in (1..=64).filter(|n| pending >> (n - 1) & 1 == 1) {
        // SAFETY: no memory involved; the signal is blocked until the mask is put back.
        let _ = unsafe { sys::call!(libc::SYS_tgkill, pid, pid, signal) };
    }
}

/// Whether a text of the image is inside its STRINGS.
pub fn text_fits(text: Text, strings: &Strings) -> bool {
    text.len > 0 && strings.c_str(text).to_bytes().len() == text.len as usize
}

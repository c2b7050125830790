//! What an image must know about the process and the machine, and what must be equal at its restore.

use crate::base::procfs::{self, Entry};
use crate::base::refusal::{Refused, refuse};
use crate::base::reserved_area::ReservedArea;
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::process::process_attributes;
use crate::signals::pending_signals;
use crate::threads;
use crate::time::posix_timers;
use core::arch::asm;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ftmpi_checkpoint::boot_abi::SIGNAL;
use ftmpi_checkpoint::stream::{
    AFFINITY_WORDS, ARCH_X86_64, Hash, IntervalTimer, LIMITS, ProcessState, Processor,
    STREAM_VERSION, SignalAction,
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
    pub fn add_mapping(&mut self, entry: &Entry<'_>) {
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
    limits(which)[0]
}

/// A soft and a hard limit of this process (`u64::MAX`: none).
fn limits(which: u32) -> [u64; 2] {
    let mut limit = [u64::MAX; 2];
    // SAFETY: valid for writing; 0 is this process, no new limit.
    let _ = unsafe { syscalls::call!(libc::SYS_prlimit64, 0, which, 0, limit.as_mut_ptr()) };
    limit
}

/// Soft limit on the stack.
pub fn stack_limit() -> u64 {
    soft_limit(libc::RLIMIT_STACK)
}

/// Hard limit on the stack.
pub fn stack_limit_max() -> u64 {
    limits(libc::RLIMIT_STACK)[1]
}

/// Sets the soft limit on the stack. (Where it lies was decided by the limit at the start of the process.)
pub fn set_stack_limit(soft: u64) {
    let [_, hard] = limits(libc::RLIMIT_STACK);
    let limit = [soft.min(hard), hard];
    // SAFETY: valid for reading; 0 is this process.
    let _ =
        unsafe { syscalls::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, limit.as_ptr(), 0) };
}

/// Whether the address layout is fixed: without that no restored process would fit.
pub fn layout_is_fixed() -> bool {
    // SAFETY: this argument only asks.
    let now = unsafe { syscalls::call!(libc::SYS_personality, 0xffff_ffffusize) }.unwrap_or(0);
    now & libc::ADDR_NO_RANDOMIZE as usize != 0
}

fn segment_base(which: usize) -> u64 {
    let mut base = 0u64;
    // SAFETY: ARCH_GET_FS and ARCH_GET_GS write one word.
    let _ = unsafe { syscalls::call!(libc::SYS_arch_prctl, which, &raw mut base) };
    base
}

/// Thread pointer.
pub fn fs_base() -> u64 {
    segment_base(0x1003)
}

/// The other segment base.
pub fn gs_base() -> u64 {
    segment_base(0x1004)
}

/// Where in a thread's block the C library keeps the thread's id; found at start, 0 if unknown.
static TID_OFFSET: AtomicU64 = AtomicU64::new(0);

/// The address that the kernel clears when the calling thread ends; 0 if it does not tell.
fn tid_address_from_kernel() -> u64 {
    const PR_GET_TID_ADDRESS: usize = 40;
    let mut address = 0u64;
    // SAFETY: writes one word.
    let told = unsafe { syscalls::call!(libc::SYS_prctl, PR_GET_TID_ADDRESS, &raw mut address) };
    if told.is_ok() { address } else { 0 }
}

/// Finds where the C library keeps a thread's id: the address to be cleared at exit, or, where the
/// kernel does not tell it, the one place in the main thread's block with that number.
pub fn find_tid_address() {
    let block = fs_base();
    let mut address = tid_address_from_kernel();
    if address == 0 {
        let tid = syscalls::gettid();
        address = (512..1024)
            .step_by(4)
            .map(|offset| block + offset)
            // SAFETY: the C library's thread block is larger than 2000 bytes in all versions that
            // can be meant here.
            .find(|&at| unsafe { *(at as *const i32) } == tid)
            .unwrap_or(block);
    }
    TID_OFFSET.store(address.wrapping_sub(block), Ordering::Relaxed);
}

/// Where the C library keeps the id of the calling thread, whose block is this; 0: unknown.
pub fn tid_address(block: u64) -> u64 {
    match (tid_address_from_kernel(), TID_OFFSET.load(Ordering::Relaxed)) {
        (0, 0) => 0,
        (0, offset) => block.wrapping_add(offset),
        (address, _) => address,
    }
}

/// What the process was started with, in this life: limits, processors, priority.
static LIMITS_AT_START: [[AtomicU64; 2]; LIMITS] =
    [const { [const { AtomicU64::new(0) }; 2] }; LIMITS];
static AFFINITY_AT_START: [AtomicU64; AFFINITY_WORDS] =
    [const { AtomicU64::new(0) }; AFFINITY_WORDS];
static NICE_AT_START: AtomicI32 = AtomicI32::new(0);

/// Remembers that.
pub fn remember_start() {
    for (which, slot) in LIMITS_AT_START.iter().enumerate() {
        for (slot, limit) in slot.iter().zip(limits(which as u32)) {
            slot.store(limit, Ordering::Relaxed);
        }
    }
    for (slot, word) in AFFINITY_AT_START.iter().zip(threads::affinity()) {
        slot.store(word, Ordering::Relaxed);
    }
    NICE_AT_START.store(threads::nice(), Ordering::Relaxed);
    process_attributes::remember_start();
}

/// Address and length of the restartable-sequence area that the C library registered.
pub fn rseq() -> (u64, u64) {
    // SAFETY: these read constants of the C library.
    let (offset, size) = unsafe { (ftmpi_rseq_offset(), ftmpi_rseq_size()) };
    if size == 0 {
        return (0, 0);
    }
    let address = fs_base().wrapping_add_signed(offset as i64);
    // SAFETY: the C library put the area into every thread's block. Its second word is the processor,
    // or negative if the kernel was never told of it.
    if unsafe { *(address as *const i32).add(1) } < 0 {
        return (0, 0);
    }
    // The C library registers 32 bytes where it says 20 (what the kernel had at first).
    (address, u64::from(size).next_multiple_of(32))
}

/// Tells the kernel where the calling thread's area is (the restorer does it for the main thread).
pub fn register_rseq(address: u64, len: u64) -> Result<(), syscalls::Errno> {
    const SIGNATURE: usize = 0x5305_3053;
    // struct rseq: cpu_id_start, cpu_id, rseq_cs (8 bytes), …: no critical section is open.
    // SAFETY: the area is part of the thread's block.
    unsafe {
        *(address as *mut u64).add(1) = 0;
        syscalls::call!(libc::SYS_rseq, address, len, 0, SIGNATURE)?;
    }
    Ok(())
}

/// ProcessState that only the process itself knows (not its image child): in the order in which they must
/// be asked. All signals are blocked, all other threads stand still.
pub fn gather(area: &ReservedArea, strings: &mut Strings, layout: &Layout) -> Result<(), Refused> {
    let process = area.process_state();
    let failed = |what: &str, errno| {
        refuse!(area, errno, "{what} cannot be told: {}", syscalls::error_text(errno))
    };
    process.version = STREAM_VERSION;
    process.boot = boot();
    process.size = size_of::<ProcessState>() as u32;
    process.arch = ARCH_X86_64;
    process.page_bytes = 4096;
    process.pid = syscalls::getpid();
    process.heap_start =
        procfs::heap_start(area.text()).map_err(|errno| failed("the heap's start", errno))?;
    // SAFETY: an impossible end changes nothing; the present one is the answer.
    process.heap_end = unsafe { syscalls::raw(libc::SYS_brk, [0; 6]) } as u64;
    if process.heap_start == 0 {
        return Err(refuse!(area, libc::EACCES, "the kernel does not tell where the heap begins"));
    }
    process.vdso_start = layout.vdso_start;
    process.vdso_end = layout.vdso_end;
    process.vdso_hash = layout.vdso_hash();
    process.stack_end = layout.stack_end;
    // Not the present one: a program may change it, and its end is where it was at the start.
    process.stack_limit = LIMITS_AT_START[libc::RLIMIT_STACK as usize][0].load(Ordering::Relaxed);
    for (which, slot) in LIMITS_AT_START.iter().enumerate() {
        process.limits[which] = limits(which as u32);
        process.limits_at_start[which] = slot.each_ref().map(|slot| slot.load(Ordering::Relaxed));
    }
    for (word, slot) in process.affinity_at_start.iter_mut().zip(&AFFINITY_AT_START) {
        *word = slot.load(Ordering::Relaxed);
    }
    process.nice_at_start = NICE_AT_START.load(Ordering::Relaxed);
    (process.thread_attributes_at_start, process.attributes_at_start) =
        process_attributes::at_start();
    process.attributes = process_attributes::of_process();
    process.window_len = crate::life::window_len();
    process.processor = processor();
    // A timer that fires between the two looks would be there twice, or not at all: look again.
    // (What was taken out does not wait any more.)
    for _ in 0..8 {
        let signals = &area.parking().signals;
        pending_signals::collect_own(area, signals)
            .and_then(|()| pending_signals::collect_shared(area, signals))
            .map_err(|errno| failed("what signals wait", errno))?;
        for (which, timer) in process.timers.iter_mut().enumerate() {
            // SAFETY: struct itimerval is four words.
            let _ =
                unsafe { syscalls::call!(libc::SYS_getitimer, which, timer.words.as_mut_ptr()) };
        }
        process.posix_timers = posix_timers::gather(area)?;
        if syscalls::pending_signals() & !(1 << (SIGNAL - 1)) == 0 {
            break;
        }
    }
    // SAFETY: no memory involved; put back at once, and no other thread runs.
    unsafe {
        let old = syscalls::raw(libc::SYS_umask, [0o77, 0, 0, 0, 0, 0]);
        syscalls::raw(libc::SYS_umask, [old as usize, 0, 0, 0, 0, 0]);
        process.umask = old as u32;
    }
    process.cwd =
        strings.link(c"/proc/self/cwd").map_err(|errno| failed("the working directory", errno))?;
    let cwd = strings.c_str(process.cwd);
    let there = syscalls::stat(cwd).map(|stat| (stat.st_dev, stat.st_ino));
    if there.is_err() || there != syscalls::stat(c".").map(|stat| (stat.st_dev, stat.st_ino)) {
        return Err(refuse!(
            area,
            libc::ENOENT,
            "the working directory ({}) was deleted or renamed: no other process could go there",
            crate::base::refusal::Shown(cwd.to_bytes())
        ));
    }
    process.executable =
        strings.link(c"/proc/self/exe").map_err(|errno| failed("the executable", errno))?;
    gather_actions(&mut process.actions);
    Ok(())
}

/// A number that stands for this boot of this host; 0 if the kernel does not tell.
pub fn boot() -> u64 {
    let mut text = [0u8; 64];
    let Ok(fd) =
        syscalls::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY | libc::O_CLOEXEC)
    else {
        return 0;
    };
    let len = syscalls::read(fd, &mut text).unwrap_or(0);
    syscalls::close(fd);
    Hash::new().with(&text[..len]).value()
}

fn gather_actions(actions: &mut [SignalAction; 64]) {
    for (action, signal) in actions.iter_mut().zip(1..) {
        *action = SignalAction::default();
        // SAFETY: the kernel's struct sigaction is these four words; 8 is the size of a set.
        let _ = unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, 0, &raw mut *action, 8) };
    }
}

/// Compares what must be equal with this process; called before anything is destroyed.
pub fn check_fit(
    area: &ReservedArea,
    process: &ProcessState,
    here: &Layout,
    heap_start: u64,
    window_len: u64,
) -> Result<(), Refused> {
    let misfit = |what: &str, remedy: &str| refuse!(area, libc::ENOEXEC, "{what}: {remedy}");
    const LAYOUT: &str = "start it with the same file, arguments and environment, on the same kernel, with address \
         randomisation off";
    if !layout_is_fixed() {
        return Err(misfit("address randomisation is on", LAYOUT));
    }
    if process.processor != processor() {
        return Err(misfit(
            "the image was taken on another kind of processor",
            "restart this rank on a host like the one it came from",
        ));
    }
    if process.stack_limit != stack_limit() {
        return Err(misfit(
            "the limit on the stack is not the one of the image",
            "set the same 'ulimit -s' on all hosts",
        ));
    }
    if process.window_len != window_len {
        return Err(misfit(
            "the limit on address space is not the one of the image",
            "set the same 'ulimit -v' on all hosts",
        ));
    }
    if (process.vdso_start, process.vdso_end) != (here.vdso_start, here.vdso_end)
        || process.vdso_hash != here.vdso_hash()
    {
        return Err(misfit(
            "the image was taken on another kernel",
            "restart this rank on a host with the same kernel",
        ));
    }
    if process.heap_start != heap_start {
        return Err(misfit("the heap begins elsewhere than in the image", LAYOUT));
    }
    if process.stack_end != here.stack_end {
        return Err(misfit("the stack ends elsewhere than in the image", LAYOUT));
    }
    let rseq_len = area.threads()[0].rseq_len;
    if rseq_len != 0 && rseq().1 != rseq_len {
        return Err(misfit("the C library is another one", "restart on a host like the first"));
    }
    Ok(())
}

/// Puts back what belongs to the process as a whole; called in the restored process.
pub fn restore(
    area: &ReservedArea,
    process: &ProcessState,
    strings: &Strings,
) -> Result<(), Refused> {
    for (action, signal) in process.actions.iter().zip(1..) {
        if signal == libc::SIGKILL || signal == libc::SIGSTOP {
            continue;
        }
        // SAFETY: handlers lie at the addresses where they lay; all signals are blocked.
        let _ =
            unsafe { syscalls::call!(libc::SYS_rt_sigaction, signal, &raw const *action, 0, 8) };
    }
    let main = &area.threads()[0];
    threads::set_altstack(main);
    let cwd = strings.c_str(process.cwd);
    // SAFETY: terminated path.
    unsafe { syscalls::call!(libc::SYS_chdir, cwd.as_ptr()) }.map_err(|errno| {
        let shown = crate::base::refusal::Shown(cwd.to_bytes());
        refuse!(
            area,
            errno,
            "the working directory {shown} is gone: {}",
            syscalls::error_text(errno)
        )
    })?;
    // SAFETY: no memory involved.
    unsafe { syscalls::raw(libc::SYS_umask, [process.umask as usize, 0, 0, 0, 0, 0]) };
    Ok(())
}

/// Limits that the program had changed; after everything that they could hinder.
pub fn restore_limits(process: &ProcessState) {
    for which in 0..LIMITS {
        let ([soft, hard], [old_soft, old_hard]) =
            (process.limits[which], process.limits_at_start[which]);
        if (soft, hard) == (old_soft, old_hard) {
            continue;
        }
        let here = limits(which as u32);
        let mut limit = here;
        if soft != old_soft {
            limit[0] = soft;
        }
        // A hard one that was raised takes a privilege. A host that allows less is no obstacle.
        for new_hard in [if hard == old_hard { here[1] } else { hard }, here[1]] {
            limit = [limit[0].min(new_hard), new_hard];
            // SAFETY: valid for reading; 0 is this process.
            if unsafe { syscalls::call!(libc::SYS_prlimit64, 0, which, limit.as_ptr(), 0) }.is_ok()
            {
                break;
            }
        }
    }
}

/// Last: timers and the signals that were waiting.
pub fn restore_clockwork(area: &ReservedArea, process: &ProcessState) {
    for (which, timer) in process.timers.iter().enumerate() {
        let mut words = timer.words;
        let [seconds, microseconds, left_seconds, left_microseconds] = &mut words;
        if *seconds | *microseconds != 0 && *left_seconds | *left_microseconds == 0 {
            // It had just fired, and the kernel begins the next period when the signal is taken,
            // which was not done: let it fire again.
            *left_microseconds = 1;
        }
        if words != IntervalTimer::default().words {
            // SAFETY: struct itimerval is four words.
            let _ = unsafe { syscalls::call!(libc::SYS_setitimer, which, words.as_ptr(), 0) };
        }
    }
    let signals = &area.signals()[..process.signals as usize];
    pending_signals::send_restored(signals, process.pid, process.pid);
    pending_signals::send_restored(signals, 0, process.pid);
}

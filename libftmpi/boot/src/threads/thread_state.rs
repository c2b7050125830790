//! What the kernel and the C library keep for one thread.

use crate::base::syscalls::{self, Errno};
use crate::process::process_attributes;
use crate::threads::thread_notes;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use ftmpi_checkpoint::stream::{AFFINITY_WORDS, ProcessState, Thread};

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    fn ftmpi_rseq_offset() -> isize;
    fn ftmpi_rseq_size() -> u32;
}

fn segment_base(which: usize) -> u64 {
    let mut base = 0u64;
    // SAFETY: ARCH_GET_FS and ARCH_GET_GS write one word.
    let _ = unsafe { syscalls::call!(libc::SYS_arch_prctl, which, &raw mut base) };
    base
}

/// The thread pointer.
pub fn fs_base() -> u64 {
    segment_base(0x1003)
}

/// The other segment base.
pub fn gs_base() -> u64 {
    segment_base(0x1004)
}

/// Where in a thread's block the C library keeps the thread's id. Found at start; 0: not known.
static TID_OFFSET: AtomicU64 = AtomicU64::new(0);

/// The address that the kernel clears when the calling thread ends; 0 if the kernel does not tell.
fn tid_address_from_kernel() -> u64 {
    const PR_GET_TID_ADDRESS: usize = 40;
    let mut address = 0u64;
    // SAFETY: writes one word.
    let answer = unsafe { syscalls::call!(libc::SYS_prctl, PR_GET_TID_ADDRESS, &raw mut address) };
    if answer.is_ok() { address } else { 0 }
}

/// Finds where the C library keeps a thread's id. That is the address which the kernel clears at
/// the end of a thread. If the kernel does not tell it: the place in the main thread's block that
/// has the id.
pub fn find_tid_address() {
    let block = fs_base();
    let mut address = tid_address_from_kernel();
    if address == 0 {
        let tid = syscalls::gettid();
        address = (512..1024)
            .step_by(4)
            .map(|offset| block + offset)
            // SAFETY: the C library's thread block has more than 2000 bytes in all its versions.
            .find(|&at| unsafe { *(at as *const i32) } == tid)
            .unwrap_or(block);
    }
    TID_OFFSET.store(address.wrapping_sub(block), Ordering::Relaxed);
}

/// Where the C library keeps the id of the calling thread; 0: not known. `block`: the thread's
/// block.
pub fn tid_address(block: u64) -> u64 {
    match (tid_address_from_kernel(), TID_OFFSET.load(Ordering::Relaxed)) {
        (0, 0) => 0,
        (0, offset) => block.wrapping_add(offset),
        (address, _) => address,
    }
}

/// The id that a thread of the image has in this process; `None` if its place is not known.
pub fn new_tid(thread: &Thread) -> Option<i32> {
    if thread.tid_address == 0 {
        return None;
    }
    // SAFETY: the C library keeps the thread's id there. The restore brought that memory back, and
    // the kernel wrote the new id into it.
    Some(unsafe { *(thread.tid_address as *const i32) })
}

static AFFINITY_AT_START: [AtomicU64; AFFINITY_WORDS] =
    [const { AtomicU64::new(0) }; AFFINITY_WORDS];

static NICE_AT_START: AtomicI32 = AtomicI32::new(0);

/// Remembers processors and priority that this process was started with.
pub fn remember_start() {
    for (slot, word) in AFFINITY_AT_START.iter().zip(affinity()) {
        slot.store(word, Ordering::Relaxed);
    }
    NICE_AT_START.store(nice(), Ordering::Relaxed);
}

/// Writes down the processors and the priority that this process was started with.
pub fn gather_start(process: &mut ProcessState) {
    for (word, slot) in process.affinity_at_start.iter_mut().zip(&AFFINITY_AT_START) {
        *word = slot.load(Ordering::Relaxed);
    }
    process.nice_at_start = NICE_AT_START.load(Ordering::Relaxed);
}

/// The signature that the C library registers with.
const RSEQ_SIGNATURE: usize = 0x5305_3053;

/// Address and length of the restartable-sequence area that the C library registered.
pub fn rseq() -> (u64, u64) {
    // SAFETY: these read constants of the C library.
    let (offset, size) = unsafe { (ftmpi_rseq_offset(), ftmpi_rseq_size()) };
    if size == 0 {
        return (0, 0);
    }
    let address = fs_base().wrapping_add_signed(offset as i64);
    // SAFETY: the C library puts the area into every thread's block. The second word is the
    // processor, or negative if the kernel does not know the area.
    if unsafe { *(address as *const i32).add(1) } < 0 {
        return (0, 0);
    }
    // The C library registers 32 bytes where it tells 20, the length in the first kernels.
    (address, u64::from(size).next_multiple_of(32))
}

/// Tells the kernel the calling thread's area. The restorer does it for the main thread.
pub fn register_rseq(address: u64, len: u64) -> Result<(), Errno> {
    // struct rseq: cpu_id_start, cpu_id, rseq_cs (8 bytes), …: no critical section is open.
    // SAFETY: the area is part of the thread's block.
    unsafe {
        *(address as *mut u64).add(1) = 0;
        syscalls::call!(libc::SYS_rseq, address, len, 0, RSEQ_SIGNATURE)?;
    }
    Ok(())
}

/// Takes the calling thread's area back from the kernel, which writes into the area whenever it
/// preempts the thread.
pub fn unregister_rseq() -> Result<(), Errno> {
    const UNREGISTER: usize = 1;
    let (address, len) = rseq();
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the area is no longer needed.
    match unsafe { syscalls::call!(libc::SYS_rseq, address, len, UNREGISTER, RSEQ_SIGNATURE) } {
        // EINVAL: a tunable of the C library has switched restartable sequences off.
        Ok(_) | Err(libc::EINVAL) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Writes down what the kernel knows about the calling thread.
pub fn record_thread_state(thread: &mut Thread) {
    const PR_GET_NAME: usize = 16;
    thread.tid = syscalls::gettid();
    thread.fs_base = fs_base();
    thread.gs_base = gs_base();
    thread.tid_address = tid_address(thread.fs_base);
    let (mut head, mut len) = (0u64, 0u64);
    // SAFETY: both words are valid for writing; 0 is this thread.
    let _ = unsafe { syscalls::call!(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut len) };
    (thread.robust_head, thread.robust_len) = (head, len);
    (thread.rseq_address, thread.rseq_len) = rseq();
    // SAFETY: struct sigaltstack is three words here (the flags are the lower half of the second).
    let _ = unsafe { syscalls::call!(libc::SYS_sigaltstack, 0, thread.altstack.as_mut_ptr()) };
    thread.altstack[1] &= 0xffff_ffff;
    thread.notes = thread_notes::of_caller() as *const _ as u64;
    // SAFETY: the name has 16 bytes.
    let _ = unsafe { syscalls::call!(libc::SYS_prctl, PR_GET_NAME, thread.name.as_mut_ptr()) };
    thread.affinity = affinity();
    thread.nice = nice();
    thread.attributes = process_attributes::of_thread();
}

/// Processors that the calling thread may run on.
pub fn affinity() -> [u64; AFFINITY_WORDS] {
    let mut words = [0; AFFINITY_WORDS];
    // SAFETY: valid for writing; 0 is this thread.
    let _ = unsafe {
        syscalls::call!(libc::SYS_sched_getaffinity, 0, size_of_val(&words), words.as_mut_ptr())
    };
    words
}

/// `nice` of the calling thread.
pub fn nice() -> i32 {
    // The kernel tells 20 − nice. SAFETY: no memory involved; 0 is this thread.
    unsafe { syscalls::call!(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) }
        .map_or(0, |answer| 20 - answer as i32)
}

/// Gives the calling thread its name, processors, priority and attributes back. If this host
/// forbids one, the thread goes on without it.
///
/// The main thread comes last: threads that it makes would inherit its state.
pub fn apply_thread_state(thread: &Thread, process: &ProcessState) {
    const PR_SET_NAME: usize = 15;
    // SAFETY: the name has 16 bytes; the kernel ends it itself.
    let _ = unsafe { syscalls::call!(libc::SYS_prctl, PR_SET_NAME, thread.name.as_ptr()) };
    if thread.affinity != process.affinity_at_start {
        let words = &thread.affinity;
        // SAFETY: valid for reading; 0 is this thread.
        let _ = unsafe {
            syscalls::call!(libc::SYS_sched_setaffinity, 0, size_of_val(words), words.as_ptr())
        };
    }
    if thread.nice != process.nice_at_start {
        // SAFETY: no memory involved; 0 is this thread.
        let _ =
            unsafe { syscalls::call!(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, thread.nice) };
    }
    process_attributes::restore(&thread.attributes, &process.thread_attributes_at_start);
}

/// Tells the kernel what it must know about the thread.
pub fn register_with_kernel(thread: &Thread) -> Result<(), Errno> {
    const ARCH_SET_GS: usize = 0x1001;
    if thread.gs_base != 0 {
        // SAFETY: as it was.
        unsafe { syscalls::call!(libc::SYS_arch_prctl, ARCH_SET_GS, thread.gs_base) }?;
    }
    if thread.robust_head != 0 {
        // SAFETY: in the thread's own block, which was restored.
        unsafe {
            syscalls::call!(libc::SYS_set_robust_list, thread.robust_head, thread.robust_len)
        }?;
    }
    if thread.rseq_address != 0 {
        register_rseq(thread.rseq_address, thread.rseq_len)?;
    }
    set_altstack(thread);
    Ok(())
}

/// Gives the calling thread its alternative signal stack back.
pub fn set_altstack(thread: &Thread) {
    const SS_ONSTACK: u64 = 1;
    let altstack = [thread.altstack[0], thread.altstack[1] & !SS_ONSTACK, thread.altstack[2]];
    // SAFETY: the memory is the program's.
    let _ = unsafe { syscalls::call!(libc::SYS_sigaltstack, altstack.as_ptr(), 0) };
}

//! Makes the threads of an image again.

use crate::base::refusal::{Refusal, Refused};
use crate::base::report;
use crate::base::reserved_area::{self, ReservedArea, START_STACK_TOP};
use crate::base::syscalls;
use crate::signals::pending_signals;
use crate::threads::parking::futex_wait;
use crate::threads::thread_state::{apply_thread_state, register_with_kernel};
use core::arch::global_asm;
use core::sync::atomic::{AtomicU32, Ordering};
use ftmpi_checkpoint::stream::{ProcessState, Thread};

// long ftmpi_boot_clone_thread(u64 flags, u64 stack, void *id, u64 thread_pointer, struct thread
// *thread)
//
// Calls clone. The new thread calls `ftmpi_boot_thread_start` on the start stack, which returns
// the address of a word. The thread leaves that stack for its own, stores 1 in the word, wakes its
// maker, and goes on where it parked. `resume` (stack pointer, instruction) is at offset 8 of the
// structure.
global_asm!(
    ".text",
    ".p2align 4",
    ".hidden ftmpi_boot_clone_thread",
    ".globl ftmpi_boot_clone_thread",
    ".type ftmpi_boot_clone_thread,@function",
    "ftmpi_boot_clone_thread:",
    "push rbx",
    "mov rbx, r8",
    "mov r8, rcx",
    "mov r10, rdx",
    "mov eax, 56",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop rbx",
    "ret",
    "2:",
    "xor ebp, ebp",
    "mov rdi, rbx",
    "call ftmpi_boot_thread_start",
    "mov rdi, rax",
    "mov rsp, [rbx + 8]",
    // Before the store: the table may be that of the next image when the thread jumps.
    "mov r12, [rbx + 16]",
    "mov dword ptr [rdi], 1",
    "mov esi, 129", // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
    "mov edx, 1",
    "mov eax, 202",
    "syscall",
    "jmp r12",
    ".size ftmpi_boot_clone_thread, . - ftmpi_boot_clone_thread",
);

const _: () = assert!(core::mem::offset_of!(Thread, resume) == 8);

// SAFETY: the signature is that of the C side.
unsafe extern "C" {
    fn ftmpi_boot_clone_thread(
        flags: u64,
        stack: usize,
        id: u64,
        thread_pointer: u64,
        thread: *const Thread,
    ) -> isize;
}

/// Makes all threads but the main thread, in the restored process.
pub fn recreate_all(area: &ReservedArea, process: &ProcessState) -> Result<(), Refused> {
    const FLAGS: i32 = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_SETTLS;
    let parking = area.parking();
    for thread in &area.threads()[1..process.threads as usize] {
        parking.left_start_stack.store(0, Ordering::SeqCst);
        let mut flags = FLAGS;
        if thread.tid_address != 0 {
            flags |= libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID;
        }
        // SAFETY: the start stack is free. The new thread runs on it until it leaves it for its
        // own. Thread pointer and address of the id are in memory that was restored.
        let made = unsafe {
            ftmpi_boot_clone_thread(
                flags as u64,
                START_STACK_TOP,
                thread.tid_address,
                thread.fs_base,
                &raw const *thread,
            )
        };
        syscalls::check(made).map_err(|errno| {
            area.refuse(Refusal::ThreadsNotMade { count: process.threads, errno })
        })?;
        while parking.left_start_stack.load(Ordering::SeqCst) == 0 {
            futex_wait(&parking.left_start_stack, 0, None);
        }
    }
    Ok(())
}

/// The begin of a thread that is made again, with all signals blocked. Gives the word that tells
/// its maker that the start stack is free.
#[unsafe(no_mangle)]
extern "C" fn ftmpi_boot_thread_start(thread: *const Thread) -> *const AtomicU32 {
    // SAFETY: the entry of the table that `recreate_all` passed.
    let thread = unsafe { &*thread };
    // SAFETY: the other threads wait.
    let area = unsafe { ReservedArea::take() };
    let process = area.process_state();
    if let Err(errno) = register_with_kernel(thread) {
        area.refuse(Refusal::ThreadStateRefused { errno });
        let rank = reserved_area::started_rank(&area);
        report::fail(rank, &area, ftmpi_checkpoint::boot_abi::EXIT_IMAGE_MISFIT);
    }
    apply_thread_state(thread, process);
    // The signals stay blocked until the thread has its mask again.
    pending_signals::send_restored(
        &area.signals()[..process.signals as usize],
        thread.tid,
        process.pid,
    );
    &raw const area.parking().left_start_stack
}

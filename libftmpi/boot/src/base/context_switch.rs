//! Calls a function on another stack, and comes back to the same place in a restored process.

use core::arch::global_asm;
use core::ffi::{c_int, c_void};

// int ftmpi_boot_switch(u64 resume[2], long (*function)(void *), void *argument, void *stack_top)
//
// Saves what a function must preserve (rbx, rbp, r12–r15, mxcsr, x87 control word) on the present
// stack. Writes the stack pointer and the address to come back to into `resume`. Calls the
// function on the other stack (on this one, if `stack_top` is 0) and returns its result. In a
// restored process the call comes back at that address and returns 1.
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
    /// The address where a restored thread goes on. Never called.
    pub fn ftmpi_boot_resumed();
}

//! Where the handlers of this library return to.

use core::arch::global_asm;

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden ftmpi_boot_sigreturn",
    ".globl ftmpi_boot_sigreturn",
    ".type ftmpi_boot_sigreturn,@function",
    // Unwinders know a signal frame by exactly these bytes.
    "ftmpi_boot_sigreturn:",
    "mov rax, 15",
    "syscall",
    ".size ftmpi_boot_sigreturn, . - ftmpi_boot_sigreturn",
);

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    fn ftmpi_boot_sigreturn();
}

/// The address to which a handler of this library returns.
pub fn return_from_signal() -> usize {
    ftmpi_boot_sigreturn as *const () as usize
}

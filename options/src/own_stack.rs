//! Programs that do not depend on the caller's limit on the stack (`ulimit -s`).
//!
//! Guarantees: a program runs in a thread whose stack has a size of its own. The limit itself stays
//! as it is, because ranks inherit it. Where no thread can be created, the first one does the work.

use std::process::ExitCode;

/// Bytes of the stack: what most systems give a first thread. Only pages that are touched count.
const STACK_BYTES: usize = 8 << 20;

/// Runs a program.
#[must_use]
pub fn run(program: fn() -> ExitCode) -> ExitCode {
    let thread =
        std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(program);
    match thread {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => program(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Touches so many bytes of the stack.
    fn touch(bytes: usize) -> u8 {
        let block = std::hint::black_box([1u8; 64 << 10]);
        if bytes <= block.len() { block[0] } else { block[1].max(touch(bytes - block.len())) }
    }

    #[test]
    fn a_program_has_more_stack_than_the_thread_that_runs_it() {
        let caller = std::thread::Builder::new().stack_size(128 << 10);
        let caller = caller.spawn(|| run(|| ExitCode::from(touch(1 << 20))));
        assert_eq!(caller.unwrap().join().unwrap(), ExitCode::from(1));
    }
}

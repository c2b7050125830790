//! What must be equal in an image and on the host that restores it.

use crate::base::refusal::{Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::memory::layout::{Layout, layout_is_fixed};
use crate::process::limits::stack_limit;
use crate::threads::thread_state::rseq;
use ftmpi_checkpoint::host::processor;
use ftmpi_checkpoint::stream::ProcessState;

/// Compares the image with this process, before anything is destroyed.
pub fn check_fit(
    area: &ReservedArea,
    process: &ProcessState,
    here: &Layout,
    heap_start: u64,
    window_len: u64,
) -> Result<(), Refused> {
    let misfit = |what, remedy| area.refuse(Refusal::Misfit { what, remedy });
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

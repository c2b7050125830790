//! What must be equal in an image and on the host that restores it.

use crate::base::refusal::{Misfit, Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::memory::layout::{Layout, layout_is_fixed};
use crate::process::limits::stack_limit;
use crate::threads::thread_state::rseq;
use ftmpi_checkpoint::host::{fits, processor};
use ftmpi_checkpoint::stream::ProcessState;

/// Compares the image with this process, before anything is destroyed.
pub fn check_fit(
    area: &ReservedArea,
    process: &ProcessState,
    here: &Layout,
    heap_start: u64,
    window_len: u64,
) -> Result<(), Refused> {
    let refuse = |misfit| Err(area.refuse(Refusal::Misfit(misfit)));
    if !layout_is_fixed() {
        return refuse(Misfit::Randomised);
    }
    if !fits(&process.processor, &processor()) {
        return refuse(Misfit::Processor);
    }
    if process.stack_limit != stack_limit() {
        return refuse(Misfit::StackLimit);
    }
    if process.window_len != window_len {
        return refuse(Misfit::AddressSpaceLimit);
    }
    if process.heap_start != heap_start {
        return refuse(Misfit::HeapStart);
    }
    if process.stack_end != here.stack_end {
        return refuse(Misfit::StackEnd);
    }
    let rseq_len = area.threads()[0].rseq_len;
    if rseq_len != 0 && rseq().1 != rseq_len {
        return refuse(Misfit::CLibrary);
    }
    Ok(())
}

//! What must be equal in an image and on the host that restores it.

use crate::base::refusal::{Misfit, Refusal, Refused};
use crate::base::reserved_area::ReservedArea;
use crate::memory::layout::{Layout, can_be_told};
use crate::memory::register_areas;
use crate::process::limits::stack_limit;
use crate::threads::thread_state::rseq;
use ftmpi_checkpoint::host::{fits, processor};
use ftmpi_checkpoint::stream::ProcessState;

/// Whether stack or heap of the image are not where the kernel placed those of this process.
pub fn is_elsewhere(process: &ProcessState, here: &Layout, heap_start: u64) -> bool {
    (process.stack_end, process.heap_start) != (here.stack_end, heap_start)
}

/// Compares the image with this process, before anything is destroyed.
pub fn check_fit(
    area: &ReservedArea,
    process: &ProcessState,
    here: &Layout,
    heap_start: u64,
    window_len: u64,
) -> Result<(), Refused> {
    let refuse = |misfit| Err(area.refuse(Refusal::Misfit(misfit)));
    if !fits(&process.processor, &processor()) {
        let threads = &area.threads()[..process.threads as usize];
        if !register_areas::can_grow(&process.processor, &processor(), threads) {
            return refuse(Misfit::Processor);
        }
    }
    if process.stack_limit != stack_limit() {
        return refuse(Misfit::StackLimit);
    }
    if process.window_len != window_len {
        return refuse(Misfit::AddressSpaceLimit);
    }
    if is_elsewhere(process, here, heap_start) && !can_be_told() {
        return refuse(Misfit::Randomised);
    }
    let rseq_len = area.threads()[0].rseq_len;
    if rseq_len != 0 && rseq().1 != rseq_len {
        return refuse(Misfit::CLibrary);
    }
    Ok(())
}

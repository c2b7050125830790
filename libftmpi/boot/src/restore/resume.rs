//! The second half of a restore, in the restored process: gives the kernel's part of the process
//! back.

use crate::base::rank;
use crate::base::refusal::{Misfit, Refusal, Refused};
use crate::base::report;
use crate::base::reserved_area::{self, ReservedArea};
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::tables::Control;
use crate::children::again;
use crate::descriptors::{self, fd_owner, library_descriptors, standard_stream, timerfd};
use crate::memory::{layout, locked_memory, page_attributes, register_areas, vdso};
use crate::process::{
    credentials, ended_children, limits, process_attributes, process_state, system_v_memory,
    system_v_objects,
};
use crate::threads::{linker_locks, owned_locks, recreate, thread_state};
use crate::time::{clock_shift, posix_timers};
use core::arch::asm;
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_FILE_GONE, EXIT_IMAGE_MISFIT};
use ftmpi_checkpoint::stream::ProcessState;
use ftmpi_wire::control::fds;

/// The restorer jumps here: the restored process, as its main thread, on the stack in the reserved
/// area, with all signals blocked.
///
/// The memory is as it was at the image. This function puts back what the kernel keeps. Then the
/// main thread goes on where it stood still.
pub extern "C" fn resume() -> ! {
    // SAFETY: the constructor of this process reserved the area, and is gone. This thread is
    // alone.
    let area = unsafe { ReservedArea::take() };
    restore_kernel_state(&area);
    let [stack, instruction] = area.threads()[0].resume;
    // SAFETY: `ftmpi_boot_switch` wrote both words down, on a stack that was restored.
    unsafe {
        asm!(
            "mov rsp, {stack}",
            "jmp {instruction}",
            stack = in(reg) stack,
            instruction = in(reg) instruction,
            options(noreturn)
        );
    }
}

/// Tells the kernel where heap and stack are.
fn place_heap_and_stack(
    area: &ReservedArea,
    process: &ProcessState,
    is_elsewhere: bool,
) -> Result<(), Refused> {
    reserved_area::choose_copies(is_elsewhere || !layout::layout_is_fixed());
    if !is_elsewhere {
        return Ok(());
    }
    layout::tell(process).map_err(|_| area.refuse(Refusal::Misfit(Misfit::Randomised)))
}

/// Puts back what the kernel keeps. If something cannot be put back, the process ends.
fn restore_kernel_state(area: &ReservedArea) {
    let process = &*area.process_state();
    let strings = Strings::loaded(area, process.strings_len as usize);
    // SAFETY: the constructor of this process wrote the value.
    let control = unsafe { *area.control() };
    syscalls::close(control.image_fd as i32);
    let is_child = control.is_child();
    if !is_child {
        // Those by which kept files were mapped. (A child has its shared ones there, too.)
        syscalls::close_range(fds::FIRST_OWN as u32, u32::MAX);
    }
    limits::set_stack_limit(process.stack_limit);
    process_state::remember_start();
    credentials::remember_start(area);
    if is_child {
        // What a child had from the rank or from the program before it, nobody gives to it again.
        let process = area.process_state();
        (process.thread_attributes_at_start, process.attributes_at_start) =
            process_attributes::at_start();
        limits::take_as_start(process);
    }
    let same_boot = process.boot != 0 && process.boot == process_state::boot_id();
    let result = vdso::restore(area, process)
        .and_then(|()| register_areas::restore(area, process))
        .and_then(|()| place_heap_and_stack(area, process, control.is_elsewhere != 0))
        .and_then(|()| if is_child { Ok(()) } else { ended_children::restore(area) })
        .and_then(|()| process_state::restore(area, process, &strings))
        .and_then(|()| system_v_memory::restore(area, same_boot))
        .and_then(|()| system_v_objects::restore(area, same_boot))
        .and_then(|()| descriptors::restore::restore(area, process, &strings, &control))
        .and_then(|()| if is_child { Ok(()) } else { start_children(area, &control) });
    if let Err(Refused(errno)) = result {
        let gone = errno == libc::ESTALE;
        let code = if gone { EXIT_IMAGE_FILE_GONE } else { EXIT_IMAGE_MISFIT };
        report::fail(control.rank, area, code);
    }
    if is_child {
        syscalls::close_range(fds::FIRST_OWN as u32, u32::MAX);
        rank::resume_child(control.together());
    } else {
        rank::resume(control.incarnation, control.together());
    }
    let same_boot = process.boot == 0 || process.boot == process_state::boot_id();
    let (threads, maps) = (process.threads as usize, process.maps as usize);
    // SAFETY: the threads' blocks were restored, and none of the threads runs.
    unsafe { clock_shift::restore(same_boot, &area.threads()[..threads], &area.maps()[..maps]) };
    standard_stream::remember(if is_child { Default::default() } else { control.streams });
    library_descriptors::mark_close_on_exec();
    let threads = &area.threads()[..process.threads as usize];
    let table = &area.descriptors()[..process.descriptors as usize];
    let result = recreate::recreate_all(area, process)
        .and_then(|()| posix_timers::restore(area, process))
        .and_then(|()| timerfd::start_all(area, table))
        .and_then(|()| fd_owner::restore(area, process))
        .and_then(|()| page_attributes::restore(area, process));
    if result.is_err() {
        report::fail(control.rank, area, EXIT_IMAGE_MISFIT);
    }
    // SAFETY: the notes are in the threads' own blocks, which were restored.
    unsafe { owned_locks::repair(threads) };
    linker_locks::repair(threads);
    thread_state::apply_thread_state(&threads[0], process);
    process_attributes::restore_process(&process.attributes, &process.attributes_at_start);
    limits::restore_limits(process);
    page_attributes::restore_locked(area, process);
    locked_memory::restore_locked();
    process_state::restore_clockwork(area, process);
    if is_child {
        again::tell();
    }
}

fn start_children(area: &ReservedArea, control: &Control) -> Result<(), Refused> {
    let name = (control.rank, control.incarnation, control.died, control.together());
    again::restore(area, name)
}

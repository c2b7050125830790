//! `MPI_Abort`, and the wait for the end that the dispatcher decides.

use crate::direct_start;
use crate::ending::die;
use crate::job;
use crate::tuning::{AGENT_SAYS_WHY, ERRORS_READ_PAUSE};
use crate::world::World;
use ftmpi_core::mpi::CommId;
use ftmpi_wire::control::{FromRank, ToRank};
use std::time::Instant;

/// `MPI_Abort`: ends the whole job.
pub fn abort(code: i32) -> ! {
    // SAFETY: the call does not return, so nothing else uses the job afterwards.
    match unsafe { job::slot().as_mut() } {
        Some(job) => abort_with(&mut job.engine.link, code, String::new()),
        None => die(code),
    }
}

/// `MPI_Abort` on a communicator: where a job goes on without ranks, the others do so.
pub fn abort_on(comm: CommId, code: i32) -> ! {
    // SAFETY: the call does not return, so nothing else uses the job afterwards.
    if let Some(job) = unsafe { job::slot().as_mut() }
        && job.aborts_members(comm, code)
    {
        // SAFETY: flushes the program's streams; the process ends after it.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        wait_for_the_end(&mut job.engine.link);
    }
    abort(code)
}

/// Reports the reason to the dispatcher, and waits for the end that it decides.
pub(crate) fn abort_with(world: &mut World, code: i32, text: String) -> ! {
    // SAFETY: flushes the program's streams; the process ends after it.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let Some(control) = world.agent.control() else {
        if !text.is_empty() {
            eprintln!("ftmpi: {text}");
        }
        die(code)
    };
    control.send(&FromRank::Abort { code, text: text.clone() }, None);
    if direct_start::has_joined() {
        // The agent says why before the launcher kills it with the ranks.
        let end = Instant::now() + AGENT_SAYS_WHY;
        while Instant::now() < end {
            match world.agent.control().map(|control| control.receive(false)) {
                None | Some(Some((ToRank::Die { .. }, _))) => break,
                Some(_) => std::thread::sleep(ERRORS_READ_PAUSE),
            }
        }
        direct_start::abort(code, &text);
        die(code);
    }
    wait_for_the_end(world)
}

/// Nothing is left to do for this incarnation: waits for its end.
pub(crate) fn wait_for_the_end(world: &mut World) -> ! {
    loop {
        match world.agent.control() {
            Some(control) => {
                if let Some((ToRank::Die { code }, _)) = control.receive(true) {
                    die(code);
                }
            }
            None => die(1),
        }
    }
}

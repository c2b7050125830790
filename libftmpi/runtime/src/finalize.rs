//! `MPI_Finalize` and the end of the process.
//!
//! Guarantees: a rank stays until no other rank may need its log.

use crate::abort::abort_with;
use crate::calls::{enter, leave};
use crate::direct_start;
use crate::job::{self, get};
use ftmpi_core::engine::Link;
use ftmpi_wire::Incarnation;
use ftmpi_wire::control::FromRank;
use ftmpi_wire::direct_start::ENDED_EARLY;
use ftmpi_wire::status::Phase;
use std::sync::atomic::{AtomicBool, Ordering};

/// `MPI_Finalize`: returns when every rank is there; serves the other ranks from the log until
/// then.
pub fn finalize() {
    let connected = get().connected();
    let engine = &mut get().engine;
    engine.link.point("finalize-begin");
    engine.drain();
    engine.leave();
    if engine.link.job.is_some() {
        engine.link.status.phase(Phase::Finalizing);
        let mut reported = None;
        loop {
            // Again in each incarnation: an image may have been taken here.
            if reported != Some(engine.link.incarnation) {
                engine.conclude();
                reported = Some(engine.link.incarnation);
                // Also where all ranks were here before (sessions after `MPI_Finalize`): this
                // incarnation may not have reported it.
                if engine.link.has_several_worlds() {
                    engine.link.notify_agent(FromRank::Connected { with: connected.clone() });
                }
                engine.link.notify_agent(FromRank::Finalizing);
                engine.link.point("finalize");
            }
            if engine.link.agent.all_finalized && reported == Some(engine.link.incarnation) {
                break;
            }
            engine.block();
        }
        engine.link.status.phase(Phase::Finalized);
        let counters = engine.counters();
        engine.link.publish(&counters);
        direct_start::finalize();
    }
    engine.link.point("finalize-end");
}

/// A session is opened after [`finalize`]. No process has gone, since none does before all end
/// ([`at_exit`]), so messages can travel again. No image is taken any more: a rank that fails
/// repeats all of it.
pub fn reopen() {
    let engine = &mut get().engine;
    engine.come_back();
    engine.link.status.phase(Phase::Running);
}

/// A process that used only sessions leaves the job when it ends.
static FINALIZE_AT_EXIT: AtomicBool = AtomicBool::new(false);

/// Whether the end of the process is to do what `MPI_Finalize` would.
pub fn finalize_at_exit(yes: bool) {
    FINALIZE_AT_EXIT.store(yes, Ordering::Relaxed);
}

/// The program ends: others may still need the log of this rank, so it stays until nobody does.
pub(crate) extern "C" fn at_exit(code: libc::c_int, _: *mut libc::c_void) {
    // SAFETY: `exit` runs on the thread that was inside last, if any.
    let Some(job) = (unsafe { job::slot().as_mut() }) else { return };
    // A child that the program forked has inherited all this, and is not the rank.
    if job.engine.link.process != std::process::id() {
        return;
    }
    if FINALIZE_AT_EXIT.swap(false, Ordering::Relaxed) && code == 0 {
        enter(&"MPI_Finalize");
        finalize();
        leave();
    }
    let engine = &mut get().engine;
    if engine.link.job.is_none() {
        return;
    }
    if !engine.link.agent.all_finalized {
        if direct_start::has_joined() {
            // Launchers take such an end for a good one, and other ranks may wait for this one.
            let code = if code == 0 { 1 } else { code };
            abort_with(&mut engine.link, code, ENDED_EARLY.into());
        }
        return;
    }
    enter(&"MPI_Finalize");
    engine.link.status.phase(Phase::Exiting);
    // SAFETY: flushes the program's streams, so that its output is out before it counts as done.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let mut reported = None;
    while !engine.link.agent.all_exiting {
        if reported.replace(engine.link.incarnation) != Some(engine.link.incarnation) {
            if engine.link.incarnation > Incarnation(0) {
                // The incarnation may have begun from an image behind MPI_Finalize.
                engine.link.notify_agent(FromRank::Finalizing);
            }
            engine.link.notify_agent(FromRank::Exiting { code });
            engine.link.point("exit");
        }
        engine.block();
    }
    leave();
}

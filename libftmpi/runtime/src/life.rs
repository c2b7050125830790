//! From `MPI_Init` to the end of the process: one life of a rank.

use crate::boot::Boot;
use crate::world::{URGENT, World, die};
use ftmpi_core::engine::{Engine, Link};
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::Mpi;
use ftmpi_protocols::registry;
use ftmpi_wire::control::{FromRank, RANK_ENV, RankEnv, fds};
use ftmpi_wire::status::Phase;
use ftmpi_wire::{Incarnation, Rank};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// MPI in this process.
pub type Job = Mpi<World>;

struct Slot(UnsafeCell<Option<Job>>);
// SAFETY: only one thread at a time is inside MPI (the level of thread support that `MPI_Init`
// grants), and the signal handler enters only when it is not (`DEPTH`).
unsafe impl Sync for Slot {}

static JOB: Slot = Slot(UnsafeCell::new(None));
/// How deep the program is inside the library: calls, and calls from callbacks.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Begin of a call.
#[inline]
pub fn enter() {
    DEPTH.store(DEPTH.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// End of a call.
#[inline]
pub fn leave() {
    if URGENT.load(Ordering::Relaxed) {
        attend();
    }
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    DEPTH.store(DEPTH.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    // The signal may have come between the look and the store.
    if URGENT.load(Ordering::Relaxed) && DEPTH.load(Ordering::Relaxed) == 0 {
        on_signal();
    }
}

/// Called by the boot library's signal handler, on the main thread.
extern "C" fn on_signal() {
    URGENT.store(true, Ordering::Relaxed);
    if DEPTH.load(Ordering::Relaxed) > 0 {
        return;
    }
    DEPTH.store(1, Ordering::Relaxed);
    attend();
    DEPTH.store(0, Ordering::Relaxed);
}

/// Does at once what cannot wait for the next call: news of peers, an image. Only at the edge of
/// the library (one call deep), where no operation is half done.
#[cold]
fn attend() {
    if DEPTH.load(Ordering::Relaxed) != 1 {
        return;
    }
    // SAFETY: see `Slot`: nobody else is inside.
    let Some(job) = (unsafe { (*JOB.0.get()).as_mut() }) else { return };
    job.engine.attend();
}

/// MPI in this process.
///
/// # Panics
/// Before [`init`].
#[inline]
pub fn get() -> &'static mut Job {
    // SAFETY: see `Slot`; the caller is inside a call.
    unsafe { (*JOB.0.get()).as_mut().expect("MPI_Init was called") }
}

/// `MPI_Init`: joins the job, or becomes a job of one.
///
/// # Errors
/// It was called before.
pub fn init(_threads: i32) -> Result<()> {
    // SAFETY: see `Slot`.
    let slot = unsafe { &mut *JOB.0.get() };
    if slot.is_some() {
        return Err(MpiError::new(ErrorClass::Other, "MPI_Init was called twice"));
    }
    let mut world = World::alone();
    let boot = Boot::find();
    if let Some(env) = rank_of_this_process(boot.as_ref()) {
        world.me = env.rank;
        world.incarnation = env.incarnation;
        world.greet(boot, None);
        for fd in [fds::CONTROL, fds::STATUS] {
            // SAFETY: children of the program are no ranks: they must not inherit these.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    world.point("init");
    let (incarnations, config) = match &world.job {
        Some(job) => (job.incarnations.clone(), Some(job.protocol.clone())),
        None => (vec![Incarnation(0)], None),
    };
    let protocol = match &config {
        Some(config) => registry::make(config).ok_or_else(|| {
            MpiError::new(ErrorClass::Other, format!("there is no protocol {}", config.name))
        })?,
        None => Box::new(ftmpi_protocols::none::None),
    };
    let (me, again) = (world.me, world.incarnation > Incarnation(0));
    let status = world.status;
    let hosts = world.job.as_ref().map_or_else(|| vec![0], |job| job.host_of.clone());
    let limit = log_limit(&world);
    let mut engine = Engine::new(world, me, &incarnations, protocol);
    engine.set_log_limit(limit);
    status.phase(if again { Phase::Replaying } else { Phase::Running });
    if again {
        engine.replay_from_start();
    }
    *slot = Some(Mpi::new(engine, hosts));
    if let Some(boot) = boot {
        (boot.0.set_hook)(Some(on_signal));
        // SAFETY: registers a function of this library, which is never unloaded.
        unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    }
    // What came before the hook was set.
    URGENT.store(true, Ordering::Relaxed);
    Ok(())
}

/// What the sender log may hold: as the job says, or a quarter of the host's memory shared among its
/// ranks. Without images nothing would ever cut it, so there is no point in waiting.
fn log_limit(world: &World) -> u64 {
    const LIMIT_MIN: u64 = 64 << 20;
    match &world.job {
        Some(job) if job.images && job.log_limit > 0 => job.log_limit,
        Some(job) if job.images => {
            // SAFETY: asks for two numbers.
            let (pages, size) =
                unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
            let memory = pages.max(0) as u64 * size.max(0) as u64;
            (memory / 4 / u64::from(job.local_ranks.max(1))).max(LIMIT_MIN)
        }
        _ => u64::MAX,
    }
}

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    fn on_exit(
        function: extern "C" fn(libc::c_int, *mut libc::c_void),
        argument: *mut libc::c_void,
    ) -> libc::c_int;
}

/// A rank is who was told so and has the agent's socket.
fn rank_of_this_process(boot: Option<&Boot>) -> Option<RankEnv> {
    if let Some(boot) = boot {
        return Some(RankEnv {
            rank: Rank(boot.0.rank),
            incarnation: Incarnation(boot.0.incarnation()),
            restore: false,
        });
    }
    let env = RankEnv::decode(&std::env::var(RANK_ENV).ok()?)?;
    // SAFETY: asks for the flags of a descriptor.
    (unsafe { libc::fcntl(fds::CONTROL, libc::F_GETFD) } >= 0).then_some(env)
}

/// `MPI_Finalize`: returns when every rank is there; serves their logs until then.
pub fn finalize() {
    let engine = &mut get().engine;
    engine.link.point("finalize-begin");
    engine.drain();
    if engine.link.job.is_some() {
        engine.link.status.phase(Phase::Finalizing);
        let mut told = None;
        while !engine.link.all_finalized {
            // In each life anew: an image may have been taken here.
            if told.replace(engine.link.incarnation) != Some(engine.link.incarnation) {
                engine.link.tell(FromRank::Finalizing);
                engine.link.point("finalize");
            }
            engine.block();
        }
        engine.link.status.phase(Phase::Finalized);
        let counters = engine.counters();
        engine.link.publish(&counters);
    }
    engine.link.point("finalize-end");
}

/// `MPI_Abort`: ends the whole job.
pub fn abort(code: i32) -> ! {
    // SAFETY: see `Slot`; if the program aborts from anywhere, it does not come back.
    match unsafe { (*JOB.0.get()).as_mut() } {
        Some(job) => abort_with(&mut job.engine.link, code, String::new()),
        None => die(code),
    }
}

/// Tells the dispatcher why, and waits for the end that it decides.
pub(crate) fn abort_with(world: &mut World, code: i32, text: String) -> ! {
    // SAFETY: flushes the program's streams; the process ends after it.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let Some(control) = &mut world.control else {
        if !text.is_empty() {
            eprintln!("ftmpi: {text}");
        }
        die(code)
    };
    control.send(&FromRank::Abort { code, text }, None);
    loop {
        if let Some((ftmpi_wire::control::ToRank::Die { code }, _)) = control.receive(true) {
            die(code);
        }
    }
}

/// The program ends: others may still need our log, so we stay until nobody does.
extern "C" fn at_exit(code: libc::c_int, _: *mut libc::c_void) {
    // SAFETY: see `Slot`; `exit` runs on the thread that was inside last, if any.
    let Some(job) = (unsafe { (*JOB.0.get()).as_mut() }) else { return };
    let engine = &mut job.engine;
    if !engine.link.all_finalized || engine.link.job.is_none() {
        return;
    }
    enter();
    engine.link.status.phase(Phase::Exiting);
    // SAFETY: flushes the program's streams, so that its output is out before it counts as done.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let mut told = None;
    while !engine.link.all_exiting {
        if told.replace(engine.link.incarnation) != Some(engine.link.incarnation) {
            engine.link.tell(FromRank::Exiting { code });
            engine.link.point("exit");
        }
        engine.block();
    }
    leave();
}

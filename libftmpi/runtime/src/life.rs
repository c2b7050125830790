//! From `MPI_Init` to the end of the process: one life of a rank.

use crate::boot::Boot;
use crate::threads;
use crate::world::{URGENT, World, die};
use ftmpi_core::engine::{Engine, Link};
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::Mpi;
use ftmpi_wire::control::{FromRank, RANK_ENV, RankEnv, fds};
use ftmpi_wire::status::Phase;
use ftmpi_wire::{Incarnation, Rank};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// MPI in this process.
pub type Job = Mpi<World>;

struct Slot(UnsafeCell<Option<Job>>);
// SAFETY: only one thread at a time is inside MPI (below `MPI_THREAD_SERIALIZED` by the program's
// word, else by the lock of `threads`), and the signal handler enters only when it is not (`DEPTH`).
unsafe impl Sync for Slot {}

static JOB: Slot = Slot(UnsafeCell::new(None));
/// How deep the program is inside the library: calls, and calls from callbacks.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Begin of a call.
#[inline]
pub fn enter() {
    if threads::on() && !threads::is_mine() {
        threads::take();
    }
    DEPTH.store(DEPTH.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// From now on several threads may call at once, also before MPI has started. (Whoever is inside by now
/// has called `MPI_Init` for a level at which no other thread calls.)
pub fn let_threads_in() {
    threads::switch_on(false);
}

/// End of a call.
#[inline]
pub fn leave() {
    if URGENT.load(Ordering::Relaxed) {
        attend();
    }
    if REPORT_CALL_ENDS.load(Ordering::Relaxed) {
        call_ends();
    }
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    DEPTH.store(DEPTH.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    if threads::on() {
        return leave_shared();
    }
    // The signal may have come between the look and the store.
    if URGENT.load(Ordering::Relaxed) && DEPTH.load(Ordering::Relaxed) == 0 {
        on_signal();
    }
}

/// The end of a call where other threads may be waiting.
#[cold]
fn leave_shared() {
    if DEPTH.load(Ordering::Relaxed) > 0 {
        return;
    }
    wake_other_threads();
    threads::give();
    // The signal may have come between the look and now.
    if URGENT.load(Ordering::Relaxed) {
        attend_if_free();
    }
}

/// What this call has done may be what others wait for.
fn wake_other_threads() {
    // SAFETY: see `Slot`; we have the lock.
    let job = unsafe { (*JOB.0.get()).as_ref() };
    let doorbell = job.and_then(|job| job.engine.link.sleeper.as_ref()).map(|s| s.doorbell());
    threads::wake(doorbell);
}

/// Runs a function of the program in the middle of a call. Other threads may come in meanwhile, as they may where a
/// call rests: the function may wait for what a thread has that waits for us (the lock of an interpreter).
///
/// The caller takes nothing of the job for unchanged afterwards, and what the function was given is not the job's.
#[inline]
pub fn outside<R>(function: impl FnOnce() -> R) -> R {
    if !threads::lets_go_for_functions() {
        return function();
    }
    wake_other_threads();
    let depth = step_out();
    threads::give();
    let answer = function();
    threads::take();
    step_in(depth);
    answer
}

/// Does what is urgent, unless somebody is inside, who will.
fn attend_if_free() {
    if threads::try_take() {
        threads::keep(true);
        DEPTH.store(1, Ordering::Relaxed);
        attend();
        DEPTH.store(0, Ordering::Relaxed);
        threads::keep(false);
        threads::give();
    }
}

/// The calling thread lets others in, in the middle of a call: how deep it is inside.
pub(crate) fn step_out() -> u32 {
    DEPTH.swap(0, Ordering::Relaxed)
}

/// It goes on.
pub(crate) fn step_in(depth: u32) {
    DEPTH.store(depth, Ordering::Relaxed);
}

/// The engine wants to know of the end of every call ([`Link::report_call_ends`]).
pub(crate) static REPORT_CALL_ENDS: AtomicBool = AtomicBool::new(false);

/// A call of the program ends; one from a callback is part of another.
#[cold]
fn call_ends() {
    if DEPTH.load(Ordering::Relaxed) != 1 {
        return;
    }
    // SAFETY: see `Slot`: nobody else is inside.
    if let Some(job) = unsafe { (*JOB.0.get()).as_mut() } {
        job.engine.call_ends();
    }
}

/// Called by the boot library's signal handler, on the main thread.
extern "C" fn on_signal() {
    URGENT.store(true, Ordering::Relaxed);
    if threads::on() {
        return attend_if_free();
    }
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

/// `MPI_Init`: joins the job, or becomes a job of one. Gives the level of thread support, which is at
/// most what was wanted.
///
/// A protocol that repeats a rank's course from its log must find the same order of calls again; which
/// of two threads comes first is decided anew each time. There `MPI_THREAD_MULTIPLE` is not granted.
/// (`SERIALIZED` is: the program orders its calls itself, and must do so in the same way again, as
/// barriers and single sections do.)
///
/// # Errors
/// It was called before.
pub fn init(wanted: Threads) -> Result<Threads> {
    // A life that repeats waits here for its peers. Another thread that also began with a call that
    // may come first must not start MPI a second time meanwhile.
    threads::keep(true);
    let granted = start(wanted);
    threads::keep(false);
    granted
}

fn start(wanted: Threads) -> Result<Threads> {
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
        crate::control::begin_own();
        if let Some(boot) = &boot {
            let bits = crate::control::own_bits();
            (boot.0.keep_open)(bits.as_ptr(), bits.len());
        }
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
        Some(config) => ftmpi_plugin::host::make(config, world.me, &incarnations)
            .map_err(|why| MpiError::new(ErrorClass::Other, why))?,
        None => Box::new(ftmpi_protocols::none::None),
    };
    let (me, again) = (world.me, world.incarnation > Incarnation(0));
    let status = world.status;
    let hosts = world.job.as_ref().map_or_else(|| vec![0], |job| job.node_of.clone());
    let oversubscribed = world.job.as_ref().is_some_and(|job| job.oversubscribed);
    let limit = log_limit(&world);
    let reserve = world.job.as_ref().map_or(0, |job| job.log_reserve.min(limit));
    let world_lean = world.job.as_ref().is_some_and(|job| job.lean_images);
    let mut engine = Engine::new(world, me, &incarnations, protocol);
    engine.set_log_limit(limit);
    engine.reserve_log(reserve);
    engine.lean_images(world_lean);
    status.phase(if again { Phase::Replaying } else { Phase::Running });
    if again {
        engine.replay_from_start();
    }
    *slot = Some(Mpi::new(engine, hosts, oversubscribed));
    let granted = if get().engine.repeats() { wanted.min(Threads::Serialized) } else { wanted };
    // The signal comes on the process's first thread; where another one calls, that is a second one inside.
    if granted >= Threads::Serialized || !on_first_thread() {
        threads::switch_on(DEPTH.load(Ordering::Relaxed) > 0);
    }
    ftmpi_core::usermem::set_program_allocator(ftmpi_core::usermem::ProgramAllocator {
        // SAFETY: asks for memory.
        take: |len| unsafe { libc::calloc(len, 1) },
        // SAFETY: it is from there, and nobody uses it any more.
        give: |at| unsafe { libc::free(at) },
    });
    if granted == Threads::Multiple {
        threads::let_many_in();
    }
    if let Some(boot) = boot {
        (boot.0.set_hook)(Some(on_signal));
        // SAFETY: registers a function of this library, which is never unloaded.
        unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    }
    // What came before the hook was set.
    URGENT.store(true, Ordering::Relaxed);
    Ok(granted)
}

fn on_first_thread() -> bool {
    // SAFETY: no precondition.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Levels of thread support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threads {
    /// One thread.
    Single,
    /// Only the main thread calls.
    Funneled,
    /// One thread calls at a time.
    Serialized,
    /// Any thread calls at any time.
    Multiple,
}

/// What the sender log may hold: as the job says, or a quarter of the host's memory shared among its
/// ranks. Without images nothing would ever cut it, so there is no point in waiting.
fn log_limit(world: &World) -> u64 {
    const LIMIT_MIN: u64 = 64 << 20;
    match &world.job {
        // What a sender holds under this protocol goes as soon as a memory has it.
        Some(job) if job.traits.memory && job.log_limit > 0 => job.log_limit,
        Some(job) if job.images && job.log_limit > 0 => job.log_limit,
        Some(job) if job.images || job.traits.memory => {
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
            died: 0,
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
    engine.leave();
    if engine.link.job.is_some() {
        engine.link.status.phase(Phase::Finalizing);
        let mut told = None;
        loop {
            // In each life anew: an image may have been taken here.
            if told != Some(engine.link.incarnation) {
                engine.conclude();
                told = Some(engine.link.incarnation);
                // Also where all were here before (sessions after `MPI_Finalize`): this life may not have said it.
                engine.link.notify_agent(FromRank::Finalizing);
                engine.link.point("finalize");
            }
            if engine.link.all_finalized && told == Some(engine.link.incarnation) {
                break;
            }
            engine.block();
        }
        engine.link.status.phase(Phase::Finalized);
        let counters = engine.counters();
        engine.link.publish(&counters);
    }
    engine.link.point("finalize-end");
}

/// A session is opened after [`finalize`]: no process has gone, since none does before all end
/// ([`at_exit`]), so messages can travel again. No image is taken any more; who fails repeats all of it.
pub fn reopen() {
    let engine = &mut get().engine;
    engine.come_back();
    engine.link.status.phase(Phase::Running);
}

/// A process that used sessions only leaves the job when it ends.
static FINALIZE_AT_EXIT: AtomicBool = AtomicBool::new(false);

/// Whether the end of the process is to do what `MPI_Finalize` would.
pub fn finalize_at_exit(yes: bool) {
    FINALIZE_AT_EXIT.store(yes, Ordering::Relaxed);
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
    wait_for_the_end(world)
}

/// Nothing is left to be done in this life.
pub(crate) fn wait_for_the_end(world: &mut World) -> ! {
    loop {
        match &mut world.control {
            Some(control) => {
                if let Some((ftmpi_wire::control::ToRank::Die { code }, _)) = control.receive(true)
                {
                    die(code);
                }
            }
            None => die(1),
        }
    }
}

/// The program ends: others may still need our log, so we stay until nobody does.
extern "C" fn at_exit(code: libc::c_int, _: *mut libc::c_void) {
    // SAFETY: see `Slot`; `exit` runs on the thread that was inside last, if any.
    let Some(job) = (unsafe { (*JOB.0.get()).as_mut() }) else { return };
    // A child that the program forked has inherited all this, and is not the rank.
    if job.engine.link.process != std::process::id() {
        return;
    }
    if FINALIZE_AT_EXIT.swap(false, Ordering::Relaxed) && code == 0 {
        enter();
        finalize();
        leave();
    }
    let engine = &mut get().engine;
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
            if engine.link.incarnation > Incarnation(0) {
                // It may have begun from an image behind MPI_Finalize.
                engine.link.notify_agent(FromRank::Finalizing);
            }
            engine.link.notify_agent(FromRank::Exiting { code });
            engine.link.point("exit");
        }
        engine.block();
    }
    leave();
}

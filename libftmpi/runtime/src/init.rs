//! `MPI_Init`: joins the job, or becomes a job of one process.

use crate::attention::{ORDER_THREADS, STEP_AT_END, URGENT, at_call_begin, at_call_end, depth};
use crate::boot::Boot;
use crate::calls::on_signal;
use crate::direct_start;
use crate::finalize::at_exit;
use crate::job::{self, get};
use crate::threads;
use crate::world::World;
use ftmpi_core::engine::{Engine, Link};
use ftmpi_core::error::{ErrorClass, MpiError, Result};
use ftmpi_core::mpi::Mpi;
use ftmpi_wire::control::{FromRank, RANK_ENV, RankEnv, fds};
use ftmpi_wire::foreign_launcher::ForeignLauncher;
use ftmpi_wire::status::Phase;
use ftmpi_wire::{Incarnation, Rank};
use std::sync::atomic::Ordering;

/// `MPI_Init`: joins the job, or becomes a job of one. Gives the level of thread support, which is
/// at most what was wanted.
///
/// A protocol that repeats a rank's course from its log must find the same order of calls again.
/// Which of two threads comes first is decided by timing in each execution. So with
/// `MPI_THREAD_MULTIPLE` the order is recorded (`ftmpi_core::engine`, `steps`), and a protocol that
/// cannot record it does not grant that level. (With `SERIALIZED` the program orders its calls
/// itself, and must do so in the same way again, as barriers and single sections do.)
///
/// # Errors
/// It was called before.
pub fn init(wanted: Threads) -> Result<Threads> {
    // An incarnation that repeats waits here for its peers. Another thread that also began with a
    // call that may come first must not start MPI a second time meanwhile.
    threads::keep(true);
    let granted = start(wanted);
    threads::keep(false);
    granted
}

fn start(wanted: Threads) -> Result<Threads> {
    // SAFETY: the caller is inside a call.
    let slot = unsafe { job::slot() };
    if slot.is_some() {
        return Err(MpiError::new(ErrorClass::Other, "MPI_Init was called twice"));
    }
    let mut world = World::alone();
    let boot = Boot::find();
    if let Some(env) = rank_of_this_process(boot.as_ref()).or_else(rank_of_another_launcher) {
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
            .map_err(|why| MpiError::new(ErrorClass::Other, why.to_string()))?,
        None => Box::new(ftmpi_protocols::none::None),
    };
    let (me, again) = (world.me, world.incarnation > Incarnation(0));
    let status = world.status;
    let hosts = world.job.as_ref().map_or_else(|| vec![0], |job| job.node_of.clone());
    let oversubscribed = world.job.as_ref().is_some_and(|job| job.oversubscribed);
    let limit = log_limit(&world);
    let reserve = world.job.as_ref().map_or(0, |job| job.log_reserve.min(limit));
    let world_lean = world.job.as_ref().is_some_and(|job| job.lean_images);
    let going_on = world.job.as_ref().map(|job| (job.goes_on, job.news.clone()));
    let mut engine = Engine::new(world, me, &incarnations, protocol);
    engine.set_log_limit(limit);
    engine.reserve_log(reserve);
    engine.lean_images(world_lean);
    if boot.is_none() {
        engine.expect_no_images();
    }
    status.phase(if again { Phase::Replaying } else { Phase::Running });
    if let Some(past) = engine.link.job.as_ref().map(|job| job.past) {
        engine.join_behind(past);
    }
    if again {
        engine.replay_from_start();
    }
    if let Some((goes_on, news)) = going_on {
        engine.set_goes_on(goes_on, news);
    }
    let own_world = engine.link.own_world();
    let mut mpi = Mpi::new(engine, hosts, oversubscribed);
    if let Some(world) = own_world.filter(|world| world.size < mpi.engine.size()) {
        mpi.set_world(world.first, world.size);
    }
    *slot = Some(mpi);
    let granted = granted(&mut get().engine, wanted, again);
    // The signal comes on the process's first thread; where another thread calls, that is a second
    // one inside.
    if granted >= Threads::Serialized || !on_first_thread() {
        threads::switch_on(depth() > 0);
    }
    ftmpi_core::usermem::set_program_allocator(ftmpi_core::usermem::ProgramAllocator {
        // SAFETY: asks for memory.
        take: |len| unsafe { libc::calloc(len, 1) },
        // SAFETY: it is from there, and nobody uses it any more.
        give: |at| unsafe { libc::free(at) },
    });
    if granted == Threads::Multiple {
        threads::let_many_in();
        let engine = &mut get().engine;
        engine.order_threads();
        if engine.orders_threads() {
            at_call_begin(ORDER_THREADS, true);
            at_call_end(STEP_AT_END, true);
        }
    }
    if let Some(boot) = boot {
        (boot.0.set_hook)(Some(on_signal));
    }
    if boot.is_some() || direct_start::has_joined() {
        // SAFETY: registers a function of this library, which is never unloaded.
        unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    }
    // Something may have come before the hook was set.
    URGENT.store(true, Ordering::Relaxed);
    Ok(granted)
}

/// A protocol that can repeat calls in the order of one thread only grants less than
/// `MPI_THREAD_MULTIPLE`. One line of the job tells, because many programs do not look.
fn granted(engine: &mut Engine<World>, wanted: Threads, again: bool) -> Threads {
    if engine.may_have_threads() || wanted <= Threads::Serialized {
        return wanted;
    }
    if engine.me() == Rank(0) && !again {
        let text = "MPI_THREAD_SERIALIZED is granted instead of MPI_THREAD_MULTIPLE: this protocol cannot \
                    repeat threads that call at the same time; --protocol coordinated can, and grants it"
            .to_owned();
        engine.link.notify_agent(FromRank::Warning { text });
    }
    Threads::Serialized
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

/// Bytes that the sender log may hold, as the agent says. Without images nothing would ever cut the
/// log, so there is no point in waiting.
pub(crate) fn log_limit(world: &World) -> u64 {
    match &world.job {
        // Under a protocol with memories a sender drops a message as soon as a memory has it.
        Some(job) if (job.images || job.traits.memory) && job.log_limit > 0 => job.log_limit,
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

/// Which rank this process is among those that another launcher started. One that cannot join them
/// ends here.
fn rank_of_another_launcher() -> Option<RankEnv> {
    // What a rank starts has the variables of the rank, and is a job of its own.
    if std::env::var_os(RANK_ENV).is_some() {
        return None;
    }
    let variable = |name: &str| std::env::var(name).ok();
    let why = match direct_start::join(variable) {
        Ok(None) => ForeignLauncher::find(variable)?.for_a_program(),
        Ok(rank) => return rank,
        Err(why) => why,
    };
    eprintln!("ftmpi: {why}");
    direct_start::until_errors_are_read();
    std::process::exit(1)
}

/// Which rank this process is, if the agent started it as one and it has the agent's socket.
fn rank_of_this_process(boot: Option<&Boot>) -> Option<RankEnv> {
    if let Some(boot) = boot {
        return Some(RankEnv {
            rank: Rank(boot.0.rank),
            incarnation: Incarnation(boot.0.incarnation()),
            restore: false,
            standby: false,
            died: 0,
            together: false,
            program: 0,
        });
    }
    let env = RankEnv::decode(&std::env::var(RANK_ENV).ok()?)?;
    // SAFETY: asks for the flags of a descriptor.
    (unsafe { libc::fcntl(fds::CONTROL, libc::F_GETFD) } >= 0).then_some(env)
}

//! Every sentence that the launcher prints about failures and recoveries.
//!
//! A sentence says what happened, to which rank on which host, and what the user can do. Counts
//! agree with their nouns ([`crate::text`]).

mod continued;
pub mod interruption;
mod moves;
pub mod network;
mod pages;
pub mod recovery;
mod stalls;

pub use continued::{
    discovery_failed, going_on, host_hindered, hosts_differ, images_do_not_fit, left_out,
};
pub use moves::{
    end_asked, job_on_one_machine, last_images_asked, migration, no_images_here, no_such_host,
    no_such_rank, no_use_of_hosts, node_joined, nothing_to_go_on_from, refusal, stopped_to_go_on,
};
pub use pages::{dashboard_at, metrics_at, page_ended};
pub use stalls::stall;

use crate::heartbeat::Times;
use crate::program::is_open_mpi;
use crate::text::{count, count_of, ranks};
use ftmpi_protocols::dispatcher::{Cause, EndReason, Ending, ImageFacts, LastImages, Notice};
use ftmpi_protocols::judge::Named;
use ftmpi_protocols::waves::Over;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

// ---- agents -------------------------------------------------------------------------------------

/// Why a host counts as lost: its agent ended the connection.
pub fn agent_closed() -> String {
    "its agent closed the connection".to_owned()
}

/// Why a host counts as lost: the connection broke.
pub fn agent_broke(e: &dyn Display) -> String {
    format!("its agent: {e}")
}

/// Why a host counts as lost: the agent's process ended.
pub fn agent_ended(why: &str) -> String {
    format!("its agent ended ({why})")
}

/// Why a host counts as lost: no heartbeat came.
pub fn agent_silent(times: Times) -> String {
    format!("its agent has been silent for {} s (--detect)", times.detect().as_secs_f32())
}

/// Why an agent could not be started: no message came.
pub fn agent_late(limit: Duration) -> String {
    format!("its agent did not report within {} s", limit.as_secs())
}

/// A message is too long for an agent.
pub fn agent_unsendable(host: &str, why: &str) -> String {
    format!(
        "the agent of {host} cannot be told what it has to know ({why}); use fewer ranks, or less \
         in the environment and arguments of the programs"
    )
}

// ---- servers ------------------------------------------------------------------------------------

/// A server ended and is started again.
pub fn server_died(name: &str, why: &str) -> String {
    format!("{name} died ({why}); starting it again")
}

/// A server has never come up.
pub fn server_not_started(name: &str, why: &str) -> String {
    format!("{name} cannot be started: {why}")
}

/// A server ends again and again.
pub fn server_not_kept(name: &str, why: &str) -> String {
    format!("{name} cannot be kept alive: {why}")
}

/// Logs take more of a disk than they leave.
pub fn logs_need_room(name: &str, why: &str, images: bool) -> String {
    match images {
        true => format!(
            "{name}: {why}; images are taken now, because they make logs shorter (a shorter \
             --ckpt-interval, or a --job-dir on a larger disk)"
        ),
        false => format!("{name}: {why}; without images logs only grow (--ckpt off)"),
    }
}

/// The job goes on without the checkpoint scheduler; `why` is the text of its end.
pub fn without_scheduler(why: &str) -> String {
    format!("{why}; the launcher decides about images from here on")
}

/// Images stay in the object store after the end of the job.
pub fn objects_left(why: &str) -> String {
    format!("images of the job are left in the object store: {why}")
}

// ---- ranks --------------------------------------------------------------------------------------

/// The process of a rank runs (`--verbose`).
pub fn spawned(rank: Rank, incarnation: Incarnation, pid: u32, host: &str) -> String {
    format!("rank {rank}, incarnation {incarnation}: process {pid} on {host}")
}

/// The sender log of a rank is full (`--verbose`).
pub fn log_full(rank: Rank, bytes: u64) -> String {
    format!("the sender log of rank {rank} holds {:.0} MB: images now", bytes as f64 / 1e6)
}

/// Full sender logs gave up a rank of which no image can be taken.
pub fn unprotected(rank: Rank) -> String {
    format!(
        "rank {rank}: no image of it can be taken (see the line about its image), and the sender logs \
         of others are full: they no longer keep what it has received. If it dies before it has an \
         image, the job ends. To avoid that, close what an image cannot contain, give the logs more \
         room (--log-limit), or use --protocol coordinated (this is said once, for all such ranks)"
    )
}

/// An image is stored (`--verbose`).
pub fn image_durable(rank: Rank, image: ImageFacts, took_ns: u64) -> String {
    format!(
        "image {} of rank {rank}: {:.1} MB durable after {:.2} s",
        image.image,
        image.bytes as f64 / 1e6,
        took_ns as f64 / 1e9
    )
}

/// A wave has ended (`--verbose`).
pub fn wave_over(over: &Over) -> String {
    let outcome = if over.complete.is_some() { "complete" } else { "void" };
    format!(
        "wave {} is {outcome} after {:.2} s, {:.1} MB",
        over.wave,
        over.took.as_secs_f64(),
        over.bytes as f64 / 1e6
    )
}

/// A file does not return with the ranks.
pub fn file_stays(rank: Rank, path: &str, why: &str) -> String {
    format!(
        "rank {rank}: '{path}' will not return to a wave with the ranks after a failure ({why})"
    )
}

/// All ranks ended well, and none called `MPI_Init`.
pub fn no_mpi(copies: usize, program: &str) -> String {
    format!(
        "all {copies} processes ended without calling MPI_Init: each ran alone; is {program} \
         linked with another MPI? ftmpiexec --doctor {program}"
    )
}

/// A rank has loaded an MPI library that is not ours.
pub fn other_mpi(rank: Rank, host: &str, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let kind = if is_open_mpi(file) {
        "Open MPI, which has another binary interface"
    } else {
        "an MPI library that is not ftmpi's"
    };
    format!(
        "rank {rank} on {host} has loaded {path}: {kind}; what calls it does not see the other \
         ranks; build the program or library that needs it with ftmpicc, or for MPICH (other ranks \
         with the same library are not named)"
    )
}

// ---- the job's directory ------------------------------------------------------------------------

/// Users cannot ask for images through the job's directory.
pub fn no_control_socket(e: &dyn Display) -> String {
    format!("ftmpi-ckpt request cannot reach this job: no socket in its directory: {e}")
}

/// The plan of the job could not be stored.
pub fn plan_unsaved(e: &anyhow::Error) -> String {
    format!("{e:#}; the job goes on, but cannot be continued later")
}

/// The progress of the job cannot be stored.
pub fn progress_lost(e: &dyn Display) -> String {
    format!(
        "how far the job has come cannot be stored: {e}; the job goes on, but if this launcher \
         dies, a later one may repeat output (this is said once)"
    )
}

/// Standard input cannot be kept for the moment.
pub fn input_waits(e: &dyn Display) -> String {
    format!(
        "standard input cannot be kept in the job's directory: {e}; no more of it is read until it \
         can"
    )
}

/// Standard input could not be kept for too long.
pub fn input_lost(e: &dyn Display) -> String {
    format!("standard input cannot be kept in the job's directory: {e}")
}

/// Standard input that was kept cannot be read.
pub fn input_unreadable(e: &dyn Display) -> String {
    format!("standard input cannot be read again: {e}")
}

/// Output of the ranks cannot be written.
pub fn output_unwritable(stream: u8, e: &dyn Display) -> String {
    let name = if stream == 0 { "output" } else { "error" };
    format!("standard {name} of the ranks cannot be written: {e}; make room, or send it elsewhere")
}

/// The report cannot be written at the end.
pub fn report_unwritten(path: &Path, e: &dyn Display) -> String {
    format!("the report {} cannot be written: {e}", path.display())
}

/// The trace cannot be written at the end.
pub fn trace_unwritten(path: &Path, e: &dyn Display) -> String {
    format!("the trace {} cannot be written: {e}", path.display())
}

// ---- fault injection ----------------------------------------------------------------------------

/// A server is killed.
pub fn killing_server(kind: &str, number: Option<usize>) -> String {
    let which = number.map_or_else(String::new, |number| format!(" number {number}"));
    format!("killing the {kind}{which} (--inject)")
}

/// Fault injection stops the process of a rank, or lets it go on.
pub fn injected_stop(rank: Rank, stop: bool) -> String {
    let what = if stop { "stopping rank" } else { "continuing rank" };
    format!("{what} {rank} (--inject)")
}

/// An agent is killed.
pub fn killing_agent(host: &str) -> String {
    format!("killing the agent of {host} (--inject)")
}

// ---- from the dispatcher ------------------------------------------------------------------------

/// What the dispatcher reports to the user.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::GoesOn { rank, host, cause, named } => format!(
            "rank {rank} on {host}: {}; the others go on without it{}",
            self::cause(cause),
            judged(*named)
        ),
        Notice::RollsBack { rank, host, why, image } => {
            format!("rank {rank} on {host}: {why}; it rolls back to {}", start_of(*image))
        }
        Notice::Returning { cause, ranks, wave, named } => {
            let who = match ranks.as_deref() {
                None => "all ranks return".to_owned(),
                Some([one]) => format!("rank {one} returns"),
                Some(some) => {
                    let some: Vec<String> = some.iter().map(ToString::to_string).collect();
                    format!("ranks {} return", some.join(", "))
                }
            };
            let target =
                wave.map_or_else(|| "the beginning".to_owned(), |wave| format!("wave {wave}"));
            format!("{}; {who} to {target}{}", self::cause(cause), judged(*named))
        }
        Notice::Back { rank, image, replayed, took } => format!(
            "rank {rank} is back from {}, {} replayed, after {:.2} s",
            start_of(*image),
            count_of(*replayed, "event or message", "events and messages"),
            took.as_secs_f64()
        ),
        Notice::LeftEarly { rank, grace } => format!(
            "rank {rank} ended with exit code 0 but without MPI_Finalize: if the others do not end \
             within {} s of that, the job is ended",
            grace.as_secs()
        ),
        Notice::WithoutMpi { rank } => format!(
            "rank {rank} ended without calling MPI_Init, and other ranks are in MPI: they wait for \
             ever if they need it; is its program linked with another MPI, or with none? \
             ftmpiexec --doctor PROGRAM"
        ),
        Notice::WithoutWaves { rank } => format!(
            "rank {rank} has not called MPI_Init: until it does, no images are taken of the ranks \
             that return with it, and after a failure they begin again (--protocol pessimistic takes \
             an image of each rank on its own)"
        ),
        Notice::AgentRestarts { host, why, named } => {
            format!("host {host}: {why}; starting its agent again{}", judged(*named))
        }
        Notice::RanksMove { host, why, ranks: moving, to, promoted } => {
            let one = moving.len() == 1;
            let verb = if one { "moves" } else { "move" };
            let standby = match (promoted, one) {
                (None, _) => "",
                (Some(_), true) => ", where its standby takes its place",
                (Some(_), false) => ", where their standbys take their places",
            };
            let judged = judged(*promoted);
            format!("host {host}: {why}; {} {verb} to {to}{standby}{judged}", ranks(moving))
        }
        Notice::Migrates { .. }
        | Notice::Shunned { .. }
        | Notice::UsedAgain { .. }
        | Notice::SpareDown { .. }
        | Notice::HostBack { .. }
        | Notice::NoRemedy { .. }
        | Notice::Restarting { .. }
        | Notice::NoStandby { .. }
        | Notice::Library { .. } => recovery::notice(notice),
        Notice::Moved { .. }
        | Notice::Stays { .. }
        | Notice::Draining { .. }
        | Notice::Drained { .. }
        | Notice::Undrained { .. }
        | Notice::CannotDrain { .. }
        | Notice::HostJoined { .. }
        | Notice::HostCannotJoin { .. } => moves::notice(notice),
        Notice::ImageUnusable { rank, image, why } => {
            format!("image {image} of rank {rank} cannot be restored ({why}); the older one serves")
        }
        Notice::ImageLost { rank, image, why } => format!(
            "image {image} of rank {rank} was not kept: {why}; the job goes on without it (this is said once)"
        ),
        Notice::LoggerAway { rank, host, why, patience } => format!(
            "rank {rank} on {host} waits for its event logger: {why}; if this is not mended within \
             {} s, the job ends and can be continued later (this is said once)",
            patience.as_secs_f32()
        ),
        Notice::StorageAway { server, why, patience } => format!(
            "{server} cannot store what ranks send, and they wait: {why}; if this is not mended within \
             {} s, the job ends and can be continued later (this is said once)",
            patience.as_secs_f32()
        ),
        Notice::Network(notice) => network::notice(notice),
        Notice::StorageBack => "all servers can store again".to_owned(),
        Notice::LoggerBack => "the event logger serves all ranks again".to_owned(),
        Notice::LastImages { grace } => {
            format!("taking a last image of every rank, for {} s at the most", grace.as_secs_f32())
        }
    }
}

/// Why ranks begin new incarnations; also for the report.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Ended(ending) => ended(*ending),
        Cause::AgentLost { why } => format!("the agent of its host was lost ({why})"),
        Cause::HostLost { host, why } => {
            format!("host {host}: its agent was lost with its ranks ({why})")
        }
        Cause::LeftWithoutExit => {
            "it had left without exit(), and what it has sent is needed again".to_owned()
        }
        Cause::LogNeeded { rank } => {
            format!("rank {rank} had left without exit(), and its log is needed")
        }
        Cause::ImageUnusable { rank, image, why } => {
            format!("image {image} of rank {rank} cannot be restored ({why})")
        }
        Cause::ChannelBroke { ends: [a, b] } => {
            format!("the connection between rank {a} and rank {b} broke")
        }
        Cause::Cut { hosts } => network::cut_hosts(hosts),
        Cause::Orphan { why } => why.clone(),
        Cause::Judged(ground) => recovery::ground(ground),
        Cause::Moves { ranks: moving } => format!(
            "{} {} to another host",
            ranks(moving),
            if moving.len() == 1 { "moves" } else { "move" }
        ),
        Cause::OfRank { rank, host, cause } => {
            format!("rank {rank} on {host}: {}", self::cause(cause))
        }
    }
}

/// A rank is lost in a job that new processes have joined.
pub fn lost_among_new(rank: Rank, host: &str, ending: Ending) -> String {
    format!(
        "rank {rank} on {host}: {}; under --protocol none nobody is brought back: --protocol \
         coordinated does that also for new processes (MPI_Comm_spawn), and --recovery ignore lets \
         the others go on",
        ended(ending)
    )
}

/// A job that new processes have joined was interrupted.
pub fn interrupted_with_new(text: &str) -> String {
    format!("{text}; but new processes (MPI_Comm_spawn) had joined it, so --restart will refuse it")
}

/// A command of `--join` names a host that the job does not have.
pub fn join_hosts(why: &str) -> String {
    format!("-hosts: {why}; let a host join the job first: ftmpi-ctl add HOST")
}

/// Processes that have met others cannot end without the job.
pub fn join_has_met() -> String {
    "these processes have been connected with others of the job, which cannot go on without them; to \
     end the whole job, interrupt its own ftmpiexec"
        .to_owned()
}

/// The sentence about the end of the job.
pub fn end_reason(reason: EndReason) -> String {
    match reason {
        EndReason::Ordered(text) => text,
        EndReason::CannotStart { rank, host, why } => format!("rank {rank} on {host}: {why}"),
        EndReason::LeftEarly { rank, grace } => format!(
            "rank {rank} ended with exit code 0 but without MPI_Finalize, and the others still run \
             after {} s: every rank must call MPI_Finalize or MPI_Abort",
            grace.as_secs()
        ),
        EndReason::ExitedEarly { rank, host, code, initialized } => format!(
            "rank {rank} on {host} ended with exit code {code} {}",
            if initialized { "before MPI_Finalize" } else { "without calling MPI_Init" }
        ),
        EndReason::Aborted { rank, host, code } => {
            format!("rank {rank} on {host}: MPI_Abort with code {code}")
        }
        EndReason::LibraryError { rank, host, text } => format!("rank {rank} on {host}: {text}"),
        EndReason::NoRankLeft => "all ranks have failed: no rank is left to go on".to_owned(),
        EndReason::ConnectionLost { cause } => format!(
            "{}, and both live: nothing can send again what was lost (use --protocol pessimistic)",
            self::cause(&cause)
        ),
        EndReason::RankLost { rank, host, ending, protocol } => format!(
            "rank {rank} on {host}: {}; the protocol {protocol} cannot bring it back (use \
             --protocol pessimistic)",
            ended(ending)
        ),
        EndReason::HostLost { host, why, protocol } => format!(
            "host {host}: {why}; the protocol {protocol} cannot bring its ranks back (use \
             --protocol pessimistic)"
        ),
        EndReason::SameDeath { rank, host, ending, times, before } => {
            let elsewhere = before.as_deref();
            recovery::same_death(rank, &host, ending, times, elsewhere)
        }
        EndReason::Judged { cause, ground, named } => {
            recovery::given_up(&self::cause(&cause), &ground, named)
        }
        EndReason::TooManyRestarts { cause, limit } => format!(
            "{}, after {}, the limit of this job (--max-restarts)",
            self::cause(&cause),
            count(limit, "failure")
        ),
        EndReason::HostUnreachable { host, why } => network::unreachable(&host, &why),
        EndReason::NoHostLeft { host, why } => {
            format!("host {host}: {why}; no other host is left for its ranks")
        }
        EndReason::NoOlderImage { rank, host, why } => {
            format!("rank {rank} on {host}: {why}; it has no older image to return to")
        }
        EndReason::NoWaveLeft { cause } => format!(
            "{}; no wave of images of its cluster is left that can be read, and logs do not reach \
             back to the beginning any more",
            self::cause(&cause)
        ),
        EndReason::LoggerRefuses { rank, host, why } => {
            format!("rank {rank} on {host} cannot log its events: {why}")
        }
        EndReason::LoggerSilent { rank, host, why, patience } => format!(
            "rank {rank} on {host} could not log its events for {} s: {why}",
            patience.as_secs_f32()
        ),
        EndReason::StorageSilent { server, why, patience } => format!(
            "{server} could not store what ranks sent for {} s: {why}",
            patience.as_secs_f32()
        ),
        EndReason::Network(reason) => network::end_reason(&reason),
        EndReason::Suspended(images) => {
            format!("stopped, to be continued: {}", last_images(&images))
        }
    }
}

fn last_images(images: &LastImages) -> String {
    match images {
        LastImages::None => "no images are taken".to_owned(),
        LastImages::All { took } => {
            format!("every rank that can has a last image, after {:.1} s", took.as_secs_f64())
        }
        LastImages::Some { missing, size, rank, why } => format!(
            "{missing} of {} {} on from what is older than the last image (rank {rank}: {})",
            count(*size, "rank"),
            if *missing == 1 { "goes" } else { "go" },
            why.as_deref().unwrap_or("the time was too short")
        ),
    }
}

/// Detector and recovery, at the end of a sentence.
pub(super) fn judged(named: Option<Named>) -> String {
    named.map_or_else(String::new, |named| {
        format!(" [{}: {}]", named.detector, named.recovery_name())
    })
}

/// How a process ended.
pub(super) fn ended(ending: Ending) -> String {
    match ending {
        Ending::Signal(_) => format!("killed by {ending}"),
        Ending::Memory(limit) => format!("the kernel killed it: {limit}"),
        Ending::Code(_) | Ending::ControlLost => ending.to_string(),
    }
}

/// Where a new incarnation begins.
pub(super) fn start_of(image: Option<ImageNo>) -> String {
    image.map_or_else(|| "its beginning".to_owned(), |image| format!("image {image}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_protocols::judge::Recovery;

    #[test]
    fn counts_agree_with_their_nouns() {
        let back = |replayed| {
            let (rank, took) = (Rank(2), Duration::from_millis(120));
            notice(&Notice::Back { rank, image: None, replayed, took })
        };
        assert!(back(1).contains("its beginning, 1 event or message replayed, after 0.12 s"));
        assert!(back(0).contains("0 events and messages replayed"));
        assert!(going_on(1, 1, 0).contains("1 of 1 rank from images"));
        let text = images_do_not_fit(&[Rank(0), Rank(1)], "b", &["no avx2".into()]);
        assert!(text.starts_with("ranks 0-1: images cannot be restored on b: it has no avx2;"));
    }

    #[test]
    fn one_restart_is_a_restart() {
        let cause = || Cause::OfRank {
            rank: Rank(1),
            host: "h".into(),
            cause: Box::new(Cause::Ended(Ending::Signal(9))),
        };
        let text = |limit| end_reason(EndReason::TooManyRestarts { cause: cause(), limit });
        assert!(
            text(1).starts_with("rank 1 on h: killed by signal 9 (SIGKILL), after 1 failure, ")
        );
        assert!(text(2).contains("after 2 failures, the limit of this job (--max-restarts)"));
        let named = Some(Named::new("process", Recovery::Restart));
        let wave = Some(ImageNo(3));
        let returning = Notice::Returning { cause: cause(), ranks: None, wave, named };
        let expected = "rank 1 on h: killed by signal 9 (SIGKILL); all ranks return to wave 3 \
                        [process: restart]";
        assert_eq!(notice(&returning), expected);
    }
}

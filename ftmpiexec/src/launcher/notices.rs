//! Every sentence that the launcher prints about failures and recoveries.
//!
//! A sentence says what happened, to which rank on which host, and what the user can do. Counts
//! agree with their nouns ([`crate::text`]).

use crate::agent_protocol::Image;
use crate::text::{count, ranks};
use crate::tuning::MISSED_HEARTBEATS_MAX;
use ftmpi_protocols::waves::Over;
use ftmpi_wire::{Incarnation, Rank};
use std::fmt::Display;
use std::net::SocketAddr;
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
pub fn agent_silent() -> String {
    format!("its agent has been silent for {MISSED_HEARTBEATS_MAX} s")
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

/// The job goes on without the checkpoint scheduler; `why` is the text of its end.
pub fn without_scheduler(why: &str) -> String {
    format!("{why}; the launcher decides about images from here on")
}

/// Images stay in the object store after the end of the job.
pub fn objects_left(why: &str) -> String {
    format!("images of the job are left in the object store: {why}")
}

/// The metrics of the job are served at this address.
pub fn metrics_at(address: SocketAddr) -> String {
    format!("metrics at http://{address}/metrics")
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

/// A rank has no images.
pub fn no_image(rank: Rank, why: &str) -> String {
    format!(
        "rank {rank}: no image of it can be taken ({why}); after a failure it is replayed from its \
         last image or its start (other ranks with the same reason are not named)"
    )
}

/// An image is stored (`--verbose`).
pub fn image_durable(rank: Rank, image: Image, took_ns: u64) -> String {
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

// ---- continued jobs -----------------------------------------------------------------------------

/// The job goes on from these images.
pub fn going_on(from_images: usize, ranks: usize, bytes: u64) -> String {
    format!(
        "going on with the job: {from_images} of {} from images ({:.1} MB), {} from the beginning",
        count(ranks, "rank"),
        bytes as f64 / 1e6,
        ranks - from_images
    )
}

/// The servers do not say what the job had stored.
pub fn discovery_failed(why: &dyn Display) -> String {
    format!("what the job had stored cannot be asked for: {why}")
}

/// The images of these ranks do not fit their new host.
pub fn images_do_not_fit(list: &[Rank], host: &str, differences: &[String]) -> String {
    format!(
        "{}: images cannot be restored on {host}, different: {}; without an older image that fits \
         the ranks begin from their start, if the logs reach back to it; use a host like the one \
         of the images (ftmpiexec --doctor -f FILE compares hosts)",
        ranks(list),
        differences.join(", ")
    )
}

/// Images cannot move between these hosts.
pub fn hosts_differ(first: &str, others: &[&str], differences: &[String]) -> String {
    format!(
        "images of ranks on {first} cannot be restored on {}, different: {}; after the loss of a \
         host its ranks need one of the same kind",
        others.join(", "),
        differences.join(", ")
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

/// The report cannot be written at the end.
pub fn report_unwritten(path: &Path, e: &dyn Display) -> String {
    format!("the report {} cannot be written: {e}", path.display())
}

// ---- users who end the job ----------------------------------------------------------------------

/// The name of a signal that ends a job.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        libc::SIGUSR1 => "SIGUSR1",
        _ => "a signal",
    }
}

/// A signal stops the job so that it can go on later. The dispatcher reports the last images.
pub fn suspending(signal: i32) -> String {
    let again = if signal == libc::SIGINT { "Ctrl-C again" } else { "another signal" };
    let name = signal_name(signal);
    format!("{name}: stopping the job so that it can go on later; {again} ends it at once")
}

/// What [`interrupted`] says.
#[derive(Debug)]
pub struct Interruption<'a> {
    /// The signal that ends the job.
    pub signal: i32,
    /// Since the start of the launcher.
    pub after: Duration,
    /// Ranks whose process runs.
    pub running: usize,
    /// All ranks.
    pub ranks: usize,
    /// The directory from which a later launcher can go on.
    pub continued_from: Option<&'a Path>,
}

/// A signal ends the job.
pub fn interrupted(how: &Interruption<'_>) -> String {
    let begin = format!(
        "interrupted by {} after {:.1} s: {} of {} ran",
        signal_name(how.signal),
        how.after.as_secs_f64(),
        how.running,
        count(how.ranks, "rank")
    );
    match how.continued_from {
        Some(directory) => format!(
            "{begin}; to go on from what is stored: ftmpiexec --restart {}",
            directory.display()
        ),
        None => format!("{begin}; with --job-dir DIR a job can be continued later"),
    }
}

/// `--timeout` is over, and last images are being taken.
pub fn out_of_time_suspending() -> String {
    "the time of --timeout is over: last images are taken".to_owned()
}

/// `--timeout` is over.
pub fn out_of_time(limit: Duration) -> String {
    format!("the job has run for {limit:?}, the time of --timeout")
}

// ---- fault injection ----------------------------------------------------------------------------

/// A server is killed.
pub fn killing_server(kind: &str, number: Option<usize>) -> String {
    let which = number.map_or_else(String::new, |number| format!(" number {number}"));
    format!("killing the {kind}{which} (--inject)")
}

/// An agent is killed.
pub fn killing_agent(host: &str) -> String {
    format!("killing the agent of {host} (--inject)")
}

// ---- the status line ----------------------------------------------------------------------------

/// What the live line shows.
#[derive(Debug)]
pub struct Status {
    /// Since the start of the launcher.
    pub seconds: u64,
    /// Ranks whose process runs.
    pub running: usize,
    /// All ranks.
    pub ranks: usize,
    /// Images that are durable.
    pub images: usize,
    /// Failures of ranks.
    pub failures: usize,
    /// Failures whose rank has caught up.
    pub recovered: usize,
}

/// The live line at the bottom of a terminal.
pub fn status(now: &Status) -> String {
    format!(
        "{} s · {} of {} running · {} · {} · {} recovered",
        now.seconds,
        now.running,
        count(now.ranks, "rank"),
        count(now.images, "image"),
        count(now.failures, "failure"),
        now.recovered
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        let now = Status { seconds: 1, running: 1, ranks: 1, images: 1, failures: 1, recovered: 0 };
        assert_eq!(status(&now), "1 s · 1 of 1 rank running · 1 image · 1 failure · 0 recovered");
        let now = Status { ranks: 4, images: 0, failures: 2, ..now };
        assert_eq!(
            status(&now),
            "1 s · 1 of 4 ranks running · 0 images · 2 failures · 0 recovered"
        );
        assert!(going_on(1, 1, 0).contains("1 of 1 rank from images"));
        let text = images_do_not_fit(&[Rank(0), Rank(1)], "b", &["vDSO".into()]);
        assert!(text.starts_with("ranks 0-1: images cannot be restored on b, different: vDSO;"));
    }

    #[test]
    fn a_user_who_interrupts_a_job_learns_how_to_go_on() {
        let how = |continued_from| Interruption {
            signal: libc::SIGINT,
            after: Duration::from_millis(3210),
            running: 3,
            ranks: 4,
            continued_from,
        };
        let begin = "interrupted by SIGINT after 3.2 s: 3 of 4 ranks ran; ";
        let alone = interrupted(&how(None));
        assert_eq!(alone, format!("{begin}with --job-dir DIR a job can be continued later"));
        let kept = interrupted(&how(Some(Path::new("/j"))));
        assert!(kept.starts_with(begin) && kept.ends_with("ftmpiexec --restart /j"), "{kept}");
        let first = suspending(libc::SIGINT);
        assert!(first.ends_with("Ctrl-C again ends it at once"), "{first}");
    }
}

//! The process of one incarnation of a rank, from its start to the last byte of its output.

use super::actual_command::CommandLook;
use super::calls::CallCollector;
use super::checkpoint::TakingImage;
use super::image_cost::KernelTime;
use super::incremental_chains::IncrementalChains;
use super::output_hold::OutputHold;
use super::page::Page;
use super::rank_link::Outgoing;
use super::signal::WakeSignal;
use super::spawn::Spawned;
use crate::agent_protocol::{ProcessId, Start};
use crate::call_spans::CallReport;
use crate::tuning::SIGNAL_CODE_BASE;
use ftmpi_protocols::dispatcher::Ending;
use ftmpi_wire::control::{self, ToRank};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Standard input on its way to a process.
#[derive(Debug)]
pub struct InputFeed {
    /// Position of the process's next byte in all of the input.
    pub next: u64,
    /// The task that writes the pipe.
    pub pipe: mpsc::UnboundedSender<Vec<u8>>,
}

impl InputFeed {
    /// Takes the bytes that come next. Other bytes are here already, or were meant for an earlier
    /// process of the same incarnation, whose image could not be used.
    pub fn take(&mut self, offset: u64, bytes: Vec<u8>) {
        if offset == self.next {
            self.next += bytes.len() as u64;
            let _ = self.pipe.send(bytes);
        }
    }
}

/// What the agent knows about the end of a process before the process is reaped.
#[derive(Debug, Default)]
pub struct EndState {
    /// The program is about to call `exit`.
    pub exiting: bool,
    /// The program has called `MPI_Finalize`.
    pub finalizing: bool,
    /// The rank has heard that all programs have ended, so its end is in order.
    pub released: bool,
    /// The process was to be killed.
    pub killed: bool,
    /// The agent killed the process because its control socket had closed.
    pub control_lost: bool,
    /// The control socket does not work, though the rank has not closed it.
    pub broken: bool,
    /// The agent killed the process because it began anew instead of from its image.
    pub began_anew: bool,
}

impl EndState {
    /// Whether a rank may close its control socket now.
    pub fn may_close(&self) -> bool {
        self.released || self.exiting && !self.broken
    }
}

/// A process that was just started.
#[derive(Debug)]
pub struct Started {
    /// The process; the agent reaps it.
    pub child: Child,
    /// The process's identity.
    pub id: ProcessId,
    /// The program, and the file that was executed.
    pub spawned: Spawned,
}

/// The process of one incarnation.
#[derive(Debug)]
pub struct RankProcess {
    pub rank: Rank,
    pub incarnation: Incarnation,
    pub page: Arc<Page>,
    /// The rank's doorbell; `None` until the rank says hello.
    pub doorbell: Option<OwnedFd>,
    pub input: Option<InputFeed>,
    pub image: Option<TakingImage>,
    /// What the process had spent in the kernel when its last image had been streamed.
    pub kernel_time: Option<KernelTime>,
    /// Whether compression makes its images smaller, once that is known.
    pub images_shrink: Option<bool>,
    pub start: Start,
    /// Text that is not final yet, if such text is held.
    pub hold: Option<Arc<OutputHold>>,
    /// The positions of its output up to which the rank was asked to make its text final.
    pub settling: Option<[u64; 2]>,
    /// Positions of the output at images that are stored and not yet committed.
    pub written_at_image: Vec<(ImageNo, [u64; 2])>,
    /// The images on which the next image may rest.
    pub chains: IncrementalChains,
    pub end: EndState,
    /// Reads what the rank records of its calls.
    calls: Mutex<CallCollector>,
    outbox: mpsc::UnboundedSender<Outgoing>,
    wake: Arc<OnceLock<WakeSignal>>,
    started: Started,
    /// Not reaped yet.
    reaped: bool,
    rank_pid: Option<u32>,
    /// That process's own number for itself, which is another one in a container.
    own_pid: Option<u32>,
    resumed_from: Option<ImageNo>,
    exit_senders: Vec<oneshot::Sender<()>>,
    undrained: u32,
    ending: Option<(Ending, Instant)>,
    /// Whether the launcher knows of the MPI library that is not ours.
    other_mpi_told: AtomicBool,
}

/// What [`RankProcess::new`] needs.
#[derive(Debug)]
pub struct Parts {
    pub start: Start,
    pub started: Started,
    pub page: Arc<Page>,
    pub input: Option<InputFeed>,
    pub hold: Option<Arc<OutputHold>>,
    pub chains: IncrementalChains,
    pub outbox: mpsc::UnboundedSender<Outgoing>,
    pub wake: Arc<OnceLock<WakeSignal>>,
    pub resumed_from: Option<ImageNo>,
    /// Tells each reader of the output that the process has ended.
    pub exit_senders: Vec<oneshot::Sender<()>>,
}

impl RankProcess {
    /// A process that runs and has not said hello.
    pub fn new(parts: Parts) -> Self {
        let Parts { start, started, page, input, hold, chains, .. } = parts;
        Self {
            rank: start.rank,
            incarnation: start.incarnation,
            page,
            doorbell: None,
            input,
            image: None,
            kernel_time: None,
            images_shrink: None,
            start,
            hold,
            settling: None,
            written_at_image: Vec::new(),
            chains,
            end: EndState::default(),
            calls: Mutex::default(),
            outbox: parts.outbox,
            wake: parts.wake,
            started,
            reaped: false,
            rank_pid: None,
            own_pid: None,
            resumed_from: parts.resumed_from,
            undrained: parts.exit_senders.len() as u32,
            exit_senders: parts.exit_senders,
            ending: None,
            other_mpi_told: AtomicBool::new(false),
        }
    }

    /// What the rank has recorded of its calls since the last time, with so many spans.
    pub fn calls(&self, room: usize) -> Option<CallReport> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .collect(&self.page, self.rank, room)
    }

    /// The identity of the process that was started.
    pub fn id(&self) -> ProcessId {
        self.started.id
    }

    /// Whether the rank has said hello and its process runs.
    pub fn is_connected(&self) -> bool {
        self.has_said_hello() && !self.has_ended()
    }

    /// Whether an MPI program has said hello.
    pub fn has_said_hello(&self) -> bool {
        self.rank_pid.is_some()
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether `pid` is this process and is not reaped yet.
    pub fn owns(&self, pid: u32) -> bool {
        !self.reaped && self.started.id.pid == pid
    }

    /// The process that is the rank, once it has said hello.
    pub fn pid(&self) -> Option<u32> {
        self.rank_pid
    }

    /// The image that the process continues.
    pub fn resumed_from(&self) -> Option<ImageNo> {
        self.resumed_from
    }

    /// Whether a hello that names this image comes from a program that has begun from its start,
    /// though the process was to continue an image: the command has not executed the program by the
    /// name of the image.
    pub fn begins_anew(&self, resumed: Option<ImageNo>) -> bool {
        begins_anew(self.resumed_from, resumed, self.has_said_hello())
    }

    /// The name by which the program of the image was executed.
    pub fn name_in_image(&self) -> String {
        let command = self.start.actual_command.as_ref();
        command.map_or_else(
            || self.program(),
            |command| String::from_utf8_lossy(&command.file).into_owned(),
        )
    }

    /// Queues a message for the rank; `wake`: also interrupts a rank that computes.
    pub fn send(&self, message: &ToRank, descriptors: Vec<OwnedFd>, wake: bool) {
        let bytes = control::encode(message);
        let _ = self.outbox.send(Outgoing { bytes, descriptors, wake });
    }

    /// Interrupts a rank that computes, so that it reads its messages.
    pub fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake.send(ftmpi_checkpoint::boot_abi::SIGNAL);
        }
    }

    /// The rank said hello as the process `pid`, which calls itself `own_pid`.
    pub fn set_hello(&mut self, pid: u32, own_pid: u32, doorbell: OwnedFd) {
        self.rank_pid = Some(pid);
        self.own_pid = Some(own_pid);
        self.doorbell = Some(doorbell);
        if let Some(wake) = WakeSignal::new(pid) {
            let _ = self.wake.set(wake);
        }
    }

    /// An MPI library that is not ours and that this rank has loaded, told once. A process that the
    /// rank started, and that is over, does not count: a script may look at another MPI before it
    /// starts the program.
    pub fn other_mpi(&self) -> Option<String> {
        let (pid, path) = self.page.stranger()?;
        let is_rank = match self.own_pid {
            Some(rank) => rank == pid,
            None => self.has_ended() || Path::new(&format!("/proc/{pid}")).exists(),
        };
        (is_rank && !self.other_mpi_told.swap(true, Ordering::Relaxed)).then_some(path)
    }

    /// How to find out how the process `pid` was executed, if not as the command line says.
    pub fn command_look(&self, pid: u32) -> Option<CommandLook> {
        // A restored process shows the command of its restart; the launcher has the original.
        let (started, executed) = (self.started.id.pid, self.started.spawned.executed.clone());
        self.resumed_from.is_none().then_some(CommandLook { pid, started, executed })
    }

    /// The program's file, for the note of an image.
    pub fn program(&self) -> String {
        self.started.spawned.path.display().to_string()
    }

    /// Reaps the process, whose exit was seen at this moment, and tells the readers of its output.
    /// `false`: it was reaped before.
    pub fn reap(&mut self) -> bool {
        if std::mem::replace(&mut self.reaped, true) {
            return false;
        }
        let ending = match self.started.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                _ if self.end.control_lost => Ending::ControlLost,
                // A wrapper script passes on the death of the rank below it as an exit code.
                (Some(code), _)
                    if code > SIGNAL_CODE_BASE
                        && !self.end.exiting
                        && self.rank_pid.is_some_and(|pid| pid != self.started.id.pid) =>
                {
                    Ending::Signal(signal_in(code))
                }
                // A script that goes on after the death of the rank hides it; so does a debugger.
                (Some(0), _) if self.ended_below() => Ending::Signal(libc::SIGKILL),
                (Some(code), _) => Ending::Code(code),
                (None, signal) => Ending::Signal(signal.unwrap_or(libc::SIGKILL)),
            },
            Err(_) => Ending::ControlLost,
        };
        self.ending = Some((ending, Instant::now()));
        for sender in self.exit_senders.drain(..) {
            let _ = sender.send(());
        }
        true
    }

    /// Whether the process died by SIGKILL that the agent did not send.
    pub fn was_killed_by_others(&self) -> bool {
        let killed = matches!(self.ending, Some((Ending::Signal(libc::SIGKILL), _)));
        let by_agent = self.end.killed || self.end.control_lost || self.end.began_anew;
        killed && !by_agent
    }

    /// More is known about how the process ended.
    pub fn set_ending(&mut self, ending: Ending) {
        if let Some((known, _)) = &mut self.ending {
            *known = ending;
        }
    }

    /// Whether the rank was a process below the one that was started, and ended without `exit` or
    /// `MPI_Finalize`.
    fn ended_below(&self) -> bool {
        !self.end.exiting
            && !self.end.finalizing
            && self.rank_pid.is_some_and(|pid| pid != self.started.id.pid)
    }

    /// One of the streams of the output has been read to its end.
    pub fn stream_drained(&mut self) {
        self.undrained = self.undrained.saturating_sub(1);
    }

    /// How and when the process ended, once its output has been read to the end.
    pub fn final_ending(&self) -> Option<(Ending, Instant)> {
        self.ending.filter(|_| self.undrained == 0)
    }
}

/// See [`RankProcess::begins_anew`]. A process that has said hello before runs a second program.
fn begins_anew(ordered: Option<ImageNo>, resumed: Option<ImageNo>, has_said_hello: bool) -> bool {
    ordered.is_some() && resumed.is_none() && !has_said_hello
}

/// The signal that a wrapper tells by its exit code, which is above [`SIGNAL_CODE_BASE`]: shells
/// add it to that number, and Python subtracts it from 256.
fn signal_in(code: i32) -> i32 {
    const SIGNAL_MAX: i32 = 64;
    match code - SIGNAL_CODE_BASE {
        signal if signal <= SIGNAL_MAX => signal,
        // 255 is the code of any failure.
        _ if code == 255 => libc::SIGKILL,
        _ => 256 - code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_tell_signals_in_two_ways() {
        for (code, signal) in [(137, 9), (139, 11), (143, 15), (192, 64), (247, 9), (245, 11)] {
            assert_eq!(signal_in(code), signal, "{code}");
        }
        assert_eq!(signal_in(255), libc::SIGKILL);
    }

    #[test]
    fn a_hello_without_the_image_that_was_ordered_is_of_a_new_beginning() {
        let image = Some(ImageNo(3));
        assert!(begins_anew(image, None, false));
        assert!(!begins_anew(image, image, false));
        assert!(!begins_anew(image, None, true), "a second program of the process");
        assert!(!begins_anew(None, None, false));
    }

    #[test]
    fn input_for_an_earlier_process_is_not_fed() {
        let (pipe, mut fed) = mpsc::unbounded_channel();
        let mut feed = InputFeed { next: 6, pipe };
        feed.take(12, b"late".to_vec());
        feed.take(6, b"world".to_vec());
        feed.take(6, b"world".to_vec());
        feed.take(0, b"hello ".to_vec());
        feed.take(11, b"!".to_vec());
        feed.take(12, Vec::new());
        let fed: Vec<_> = std::iter::from_fn(|| fed.try_recv().ok()).collect();
        assert_eq!(fed, [b"world".to_vec(), b"!".to_vec(), Vec::new()]);
    }
}

//! What ranks send their agent, and the answer that a rank gets to its hello.

use super::checkpoint::Begun;
use super::control::Datagram;
use super::directory::RankKey;
use super::image_cost::KernelTime;
use super::kept_files::Need;
use super::rank_process::RankProcess;
use super::{Agent, processes, segments};
use crate::agent_protocol::{ActualCommand, Job, Report};
use crate::tuning::{LOG_BYTES_MIN, LOGS_MEMORY_SHARE};
use ftmpi_wire::control::{self, FromRank, JobView, RetainedImage, ToRank};
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{EventNo, ImageNo, Incarnation, Rank};
use std::os::fd::OwnedFd;

/// What a rank says when it enters `MPI_Init` or comes back.
#[derive(Debug)]
pub struct Hello {
    /// The process, and its own number for itself.
    pub(super) pid: u32,
    pub(super) own_pid: u32,
    pub(super) resumed: Option<ImageNo>,
    pub(super) no_image: Option<String>,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Agent {
    /// Handles one datagram of a rank.
    pub(super) fn on_rank_message(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        datagram: Datagram,
    ) {
        let message = match control::decode::<FromRank>(&datagram.bytes) {
            Ok(message) => message,
            Err(e) => {
                return self
                    .link
                    .notice(format!("rank {rank}: {e}; is its libmpi of the same version?"));
            }
        };
        if let FromRank::KeepFile { image, file, replay } = message {
            // The image child may be later than the end of its rank.
            for descriptor in datagram.descriptors.into_iter().take(1) {
                self.keep_file(Need { rank, image, replay }, file, descriptor);
            }
            return;
        }
        if self.ranks.get(rank, incarnation).is_none() {
            return;
        }
        let report = |report| self.link.report(rank, incarnation, report);
        match message {
            FromRank::Hello { pid: own_pid, resumed, no_image, .. } => {
                // Nobody is signalled by the number 0.
                let pid = datagram.sender.unwrap_or(0);
                let descriptors = datagram.descriptors;
                let hello = Hello { pid, own_pid, resumed, no_image, descriptors };
                self.hello((rank, incarnation), hello);
            }
            FromRank::Open { peer, incarnation: peer_incarnation, round } => {
                self.open((rank, incarnation), (peer, peer_incarnation), round);
            }
            FromRank::OpenEventLog => self.open_event_log((rank, incarnation)),
            FromRank::ImageBegun { image, written, consumed, pause_ns, .. } => {
                report(Report::ImageTaken { image, pause_ns });
                let process = self.ranks.get(rank, incarnation);
                let kernel_time = process.and_then(RankProcess::pid).and_then(KernelTime::of);
                let begun =
                    Begun { image, counts: Counts { written, consumed }, pause_ns, kernel_time };
                self.image_begun(rank, incarnation, begun);
            }
            FromRank::ImageRefused { image, why } => {
                self.image_refused(rank, incarnation, image, why);
            }
            FromRank::CaughtUp { replayed } => report(Report::CaughtUp { replayed }),
            FromRank::ChannelLost { peer, incarnation: peer_incarnation } => {
                report(Report::ChannelLost { peer, peer_incarnation });
            }
            FromRank::LogFull { bytes, waits } => report(Report::LogFull { bytes, waits }),
            FromRank::Orphan { why, before } => report(Report::Orphan { why, before }),
            FromRank::Settled => self.settled(rank, incarnation),
            FromRank::Ask { number, question } => {
                report(Report::Asks { number, question: Box::new(question) });
            }
            FromRank::Connected { with } => report(Report::Connected { with }),
            FromRank::Finalizing => {
                if let Some(process) = self.ranks.get_mut(rank, incarnation) {
                    process.end.finalizing = true;
                }
                self.link.report(rank, incarnation, Report::Finalizing);
            }
            FromRank::Exiting { code } => {
                if let Some(process) = self.ranks.get_mut(rank, incarnation) {
                    process.end.exiting = true;
                }
                self.link.report(rank, incarnation, Report::Exiting { code });
            }
            FromRank::Abort { code, text } => report(Report::Abort { code, text }),
            FromRank::WillChangeFile { path, problem } => report(Report::Guards { path, problem }),
            FromRank::Warning { text } => self.link.notice(format!("rank {rank}: {text}")),
            FromRank::Segment { name, bytes, takers } => {
                self.share((rank, incarnation), segments::Request { name, bytes, takers });
            }
            FromRank::SegmentOver { name } => self.stop_sharing(name),
            FromRank::KeepFile { .. } => {}
            FromRank::Loaded { objects } => self.loaded((rank, incarnation), objects),
            FromRank::NeedFile { file } => self.need_file((rank, incarnation), file),
            FromRank::Unprotected => report(Report::Unprotected),
            FromRank::Group(request) => report(Report::Group(request)),
        }
    }

    /// Lets a rank into the job, or not.
    pub(super) fn answer_hello(
        &mut self,
        (rank, incarnation): RankKey,
        hello: Hello,
        actual_command: Option<Box<ActualCommand>>,
    ) {
        let Hello { pid, own_pid, resumed, no_image, descriptors } = hello;
        if self.kept_programs.is_refused((rank, incarnation)) {
            return;
        }
        if self.is_second_program(rank) {
            // The peers of the rank know of one program only: they would never answer this one.
            let code = 1;
            let why = format!(
                "MPI_Init of process {pid}: this rank has already started an MPI program, and in \
                 a job of several ranks each rank is one program; start ftmpiexec for each"
            );
            return self.link.report(rank, incarnation, Report::CannotStart { code, why });
        }
        let alone = self.job.as_ref().is_none_or(|job| job.view.size == 1);
        // (A script of a rank that is alone may run another program before that of the image.)
        if let Some(process) = self.ranks.get_mut(rank, incarnation)
            && process.begins_anew(resumed)
            && !alone
        {
            // All others take it for the process of the image. It tries another image, or ends.
            process.end.began_anew = true;
            processes::signal_process(pid, libc::SIGKILL);
            let started = process.id().pid;
            if process.owns(started) {
                processes::signal_group(started, libc::SIGKILL);
            }
            return;
        }
        let Some(doorbell) = descriptors.into_iter().next() else {
            return self.link.notice(format!("rank {rank} said hello without its doorbell"));
        };
        let view = self.view_for(rank);
        let Some(process) = self.ranks.get_mut(rank, incarnation) else { return };
        process.set_hello(pid, own_pid, doorbell);
        self.memory_kills.watch(pid);
        process.send(&ToRank::Welcome(Box::new(view)), Vec::new(), false);
        self.send_clocks(rank, incarnation);
        let report = Report::Hello { pid, resumed, no_image, actual_command };
        self.link.report(rank, incarnation, report);
        self.rank_is_connected((rank, incarnation));
        self.settle(rank, incarnation);
    }

    /// Whether a program that says hello is not the first of its process: a script may run two. A
    /// rank that is alone in its job may do so, because no other rank talks to it.
    fn is_second_program(&self, rank: Rank) -> bool {
        // Each process that is restored or started again says hello for itself.
        self.ranks.newest(rank).is_some_and(|process| process.has_said_hello())
            && self.job.as_ref().is_some_and(|job| job.view.size > 1)
    }

    /// How many ranks are on this machine now.
    pub(super) fn local_ranks(&self) -> usize {
        let one_machine = self.job.as_ref().is_some_and(|job| job.one_machine);
        let directory = self.directory.borrow();
        directory.host_of.iter().filter(|host| one_machine || **host == self.host).count()
    }

    /// What this rank must know of its job, as of now.
    fn view_for(&self, rank: Rank) -> JobView {
        let job = self.job.as_ref().expect("the launcher sends the job first");
        let mut view = job.view.clone();
        let directory = self.directory.borrow();
        view.host_of.clone_from(&directory.host_of);
        view.incarnations.clone_from(&directory.incarnations);
        view.gone = directory.gone.iter().copied().collect();
        view.app_number = app_number(job, rank);
        let all = self.hardware.processors;
        view.processors = match &self.hardware.cpus {
            Some(cpus) if !cpus.is_empty() => all.min(cpus.processors() as u32),
            _ => all,
        };
        view.local_ranks = self.local_ranks() as u32;
        if view.log_limit == 0 {
            view.log_limit = log_share(self.hardware.memory, view.local_ranks);
        }
        if let Some(process) = self.ranks.newest(rank) {
            let start = &process.start;
            if start.images.is_empty() && view.traits.all_return() {
                // All ranks begin again and nothing is repeated: the program may learn on which
                // host it runs now, and with whom it can share memory.
                view.node_of.clone_from(&view.host_of);
            }
            view.inject.clone_from(&start.inject);
            view.past = start.past;
            view.oversubscribed = start.oversubscribed;
            let oldest_first = start.images.iter().rev();
            view.retained = oldest_first
                .map(|image| RetainedImage { image: image.image, events: EventNo(0) })
                .collect();
        }
        view
    }
}

/// The part of its command line, or of its spawn, that a rank belongs to.
fn app_number(job: &Job, rank: Rank) -> u32 {
    let world = job.view.worlds.iter().find(|world| world.has(rank));
    let first = world.and_then(|world| job.program_of.get(world.first as usize));
    job.program_of[rank.index()] - first.copied().unwrap_or(0)
}

/// Bytes that the sender log of a rank may hold by default, on a host with this memory.
fn log_share(memory: u64, ranks: u32) -> u64 {
    (memory / LOGS_MEMORY_SHARE / u64::from(ranks.max(1))).max(LOG_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logs_of_all_ranks_of_a_host_fit_into_its_memory() {
        const MIB: u64 = 1 << 20;
        assert_eq!(log_share(16 << 30, 1), 4 << 30);
        for ranks in [1, 2, 16, 32] {
            let logs = log_share(512 * MIB, ranks) * u64::from(ranks);
            assert!(logs <= 128 * MIB, "{ranks} ranks: {logs}");
        }
        assert_eq!(log_share(0, 7), LOG_BYTES_MIN);
    }
}

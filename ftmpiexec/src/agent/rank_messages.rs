//! What ranks say to their agent, and what they are told.

use super::control::Datagram;
use super::{Agent, checkpoint};
use crate::agent_protocol::{RankOrder, Report};
use ftmpi_wire::control::{self, FromRank, JobView, RetainedImage, ToRank};
use ftmpi_wire::image_store::Counts;
use ftmpi_wire::{EventNo, Incarnation, Rank};

impl Agent {
    pub(super) fn on_rank_message(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        datagram: Datagram,
    ) {
        if self.process(rank, incarnation).is_none() {
            return;
        }
        let message = match control::decode::<FromRank>(&datagram.bytes) {
            Ok(message) => message,
            Err(e) => {
                self.notice(format!("rank {rank}: {e}; is its libmpi of the same version?"));
                return;
            }
        };
        match message {
            FromRank::Hello { pid, .. } if self.is_second_program(rank) => {
                // Its peers know of one program only: they would never answer this one.
                let code = 1;
                let why = format!(
                    "MPI_Init of process {pid}: this rank has already started an MPI program, and in a job of \
                     several ranks each is one program: start ftmpiexec for each"
                );
                self.report(rank, incarnation, Report::CannotStart { code, why });
            }
            FromRank::Hello { pid, resumed, no_image, .. } => {
                let Some(doorbell) = datagram.descriptors.into_iter().next() else {
                    return self.notice(format!("rank {rank} said hello without its doorbell"));
                };
                let view = self.view_for(rank);
                let Some(process) = self.process_mut(rank, incarnation) else { return };
                process.set_hello(pid, doorbell);
                let actual_command = process.actual_command().map(Box::new);
                process.send(&ToRank::Welcome(Box::new(view)), Vec::new(), false);
                self.send_clocks(rank, incarnation);
                self.report(
                    rank,
                    incarnation,
                    Report::Hello { pid, resumed, no_image, actual_command },
                );
                self.rank_is_there(rank, incarnation);
                self.settle(rank, incarnation);
            }
            FromRank::Open { peer, incarnation: peer_incarnation, round } => {
                self.open((rank, incarnation), (peer, peer_incarnation), round);
            }
            FromRank::OpenEventLog => self.open_event_log(rank, incarnation),
            FromRank::ImageBegun { image, written, consumed, pause_ns, .. } => {
                let counts = Counts { written, consumed };
                let begun = checkpoint::Begun { image, counts, pause_ns };
                self.report(rank, incarnation, Report::ImageTaken { image, pause_ns });
                self.image_begun(rank, incarnation, begun);
            }
            FromRank::ImageRefused { image, why } => {
                self.image_refused(rank, incarnation, image, why);
            }
            FromRank::CaughtUp { replayed } => {
                self.report(rank, incarnation, Report::CaughtUp { replayed });
            }
            FromRank::ChannelLost { peer, incarnation: peer_incarnation } => {
                self.report(rank, incarnation, Report::ChannelLost { peer, peer_incarnation });
            }
            FromRank::LogFull { bytes } => {
                self.report(rank, incarnation, Report::LogFull { bytes });
            }
            FromRank::Orphan { why, before } => {
                self.report(rank, incarnation, Report::Orphan { why, before });
            }
            FromRank::Settled => self.settled(rank, incarnation),
            FromRank::Finalizing => self.report(rank, incarnation, Report::Finalizing),
            FromRank::Exiting { code } => {
                if let Some(process) = self.process_mut(rank, incarnation) {
                    process.is_exiting();
                }
                self.report(rank, incarnation, Report::Exiting { code });
            }
            FromRank::Abort { code, text } => {
                self.report(rank, incarnation, Report::Abort { code, text });
            }
            FromRank::WillChangeFile { path, problem } => {
                self.report(rank, incarnation, Report::Guards { path, problem });
            }
            FromRank::Warning { text } => self.notice(format!("rank {rank}: {text}")),
            FromRank::Segment { name, bytes, takers } => {
                self.share(rank, incarnation, name, bytes, takers);
            }
            FromRank::SegmentOver { name } => self.shared_no_more(name),
        }
    }

    /// Whether a program that says hello is not the first of this life of a rank (a script runs two). A
    /// rank that is alone may: nobody waits for it, and it for nobody.
    fn is_second_program(&self, rank: Rank) -> bool {
        // Each process that is restored or started again is a life of its own.
        self.processes.get(&rank).is_some_and(|process| process.has_a_process())
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
        view.app_number = job.program_of[rank.index()];
        view.processors = match &self.cpus {
            Some(cpus) if !cpus.is_empty() => self.processors.min(cpus.processors() as u32),
            _ => self.processors,
        };
        view.local_ranks = self.local_ranks() as u32;
        if let Some(process) = self.processes.get(&rank) {
            if process.start.images.is_empty() && view.traits.all_return() {
                // All begin anew, nothing is repeated: the program may know where it is now, and who can
                // share memory with whom.
                view.node_of.clone_from(&view.host_of);
            }
            view.inject.clone_from(&process.start.inject);
            view.oversubscribed = process.start.oversubscribed;
            view.retained = process
                .start
                .images
                .iter()
                .rev()
                .map(|image| RetainedImage { image: image.image, events: EventNo(0) })
                .collect();
        }
        view
    }

    /// A rank has a new life somewhere: wishes for its old one are void.
    pub(super) fn announce(&mut self, rank: Rank, incarnation: Incarnation, host: u32) {
        self.directory.send_modify(|directory| {
            if let Some(known) = directory.incarnations.get_mut(rank.index()) {
                *known = incarnation.max(*known);
                directory.host_of[rank.index()] = host;
            }
        });
        if host != self.host
            && let Some(process) = self.processes.get(&rank)
            && !process.is_over()
        {
            // It lives elsewhere now: what is left here is a ghost.
            self.kill(rank, libc::SIGKILL);
        }
        self.broker.forget(rank);
        self.segments.forget(rank, incarnation);
        let message = ToRank::PeerRestarted { rank, incarnation, host };
        for process in
            self.processes.values().filter(|process| process.rank != rank && process.is_talking())
        {
            process.send(&message, Vec::new(), true);
        }
        self.look_at_waiting_callers();
    }

    pub(super) fn forward(&mut self, rank: Rank, incarnation: Incarnation, order: RankOrder) {
        let Some(process) =
            self.process_mut(rank, incarnation).filter(|process| process.is_talking())
        else {
            return;
        };
        match order {
            RankOrder::TakeImage { image, keep } => self.take_image(rank, incarnation, image, keep),
            RankOrder::ImageCommitted { image, oldest } => {
                let written = process.written_of.iter().find(|(number, _)| *number == image);
                if let (Some((_, written)), Some(hold)) = (written, &process.hold) {
                    hold.release(*written);
                }
                process.written_of.retain(|(number, _)| *number > image);
                process.send(&ToRank::ImageCommitted { image, oldest }, Vec::new(), false);
            }
            RankOrder::ImageFailed(image) => {
                process.send(&ToRank::ImageFailed { image }, Vec::new(), false);
            }
            RankOrder::AllFinalized => process.send(&ToRank::AllFinalized, Vec::new(), false),
            RankOrder::Die(code) => process.send(&ToRank::Die { code }, Vec::new(), false),
            RankOrder::AllExiting => {
                process.release();
                process.send(&ToRank::AllExiting, Vec::new(), false);
            }
        }
    }
}

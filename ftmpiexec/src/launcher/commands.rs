//! The dispatcher's commands, carried out.

use super::{Launcher, notices};
use crate::agent_protocol::{RankOrder, Start, ToAgent};
use ftmpi_protocols::dispatcher::{Command, ImageFacts, Notice, StandbyOrder};
use ftmpi_wire::group_news::{GroupNews, keep_for_latecomers};
use ftmpi_wire::{ImageNo, Incarnation, Rank};

impl Launcher {
    /// Carries out all commands that wait.
    pub(super) fn carry_out(&mut self) {
        // Ranks ask for their servers at once: the servers come first.
        if !self.run.servers_up && !self.dispatcher.has_ended() {
            if !self.servers.all_up() {
                return;
            }
            if self.plan.continued.is_some() && !self.discovery.is_done() {
                return self.start_discovery();
            }
            self.run.servers_up = true;
        }
        while let Some(command) = self.dispatcher.next_command() {
            self.carry_out_one(command);
        }
    }

    fn carry_out_one(&mut self, command: Command) {
        match command {
            Command::StartAgent { host } => self.agents.start(host),
            Command::Announce { rank, incarnation, host } => {
                self.job.view.incarnations[rank.index()] = incarnation;
                self.job.view.host_of[rank.index()] = host;
                self.job.view.gone.retain(|gone| *gone != rank);
                self.store.set_incarnation(rank, incarnation);
                self.agents.broadcast(&ToAgent::Announce { rank, incarnation, host });
                self.observe(rank);
            }
            Command::Start { rank, incarnation, host, images, or_beginning, no_newer, past } => {
                let from = StartFrom { images, or_beginning, no_newer, past };
                self.printer.rank_is_on(rank.0, self.agents.name(host).to_owned());
                self.start_rank(rank, incarnation, host, from);
                self.observe(rank);
            }
            Command::Standby(order) => self.order_standby(order),
            Command::Grow { origin, world, hosts } => self.grow(origin, world, hosts),
            Command::SpawnOver { asker, outcome } => self.spawn_over(asker, outcome),
            Command::Joined { number, first } => self.joins.began(number, first),
            Command::JoinOver { number, code, reason } => self.join_over(number, code, reason),
            Command::WorldOver(world) => self.world_over(world),
            Command::ForgetImages(world) => self.forget_images(world),
            Command::Schedule(word) => self.scheduling.send(word),
            Command::TakeImage { rank, incarnation, image, keep } => {
                self.image_begins(rank, image);
                let now = self.now();
                self.observed.image_ordered(rank, image, now);
                self.order_rank(rank, incarnation, RankOrder::TakeImage { image, keep });
                self.history.image_ordered(self.begin.elapsed(), rank, image);
            }
            Command::Kill { rank, incarnation } => {
                // No point of fault injection did this.
                self.recorder.killed(rank, incarnation, self.begin.elapsed());
                let (host, _) = self.dispatcher.location(rank);
                self.agents.send(host, ToAgent::Kill { rank, signal: libc::SIGKILL });
                self.observe(rank);
            }
            Command::WaveOver(over) => {
                self.recorder.wave_over(&over);
                self.history.wave_over(self.begin.elapsed(), &over);
                if let Some(oldest) = over.complete {
                    self.ports.forget_before(oldest);
                    self.observed.wave_at = Some(self.now());
                }
                if self.plan.verbose {
                    self.printer.notice(notices::wave_over(&over));
                }
                if self.asked_for_details && over.complete.is_some() {
                    self.look_at_exchange();
                }
            }
            Command::ImageCommitted { rank, incarnation, image, oldest } => {
                self.image_committed(rank, incarnation, image, oldest);
            }
            Command::ImageFailed { rank, incarnation, image } => {
                self.order_rank(rank, incarnation, RankOrder::ImageFailed(image));
            }
            Command::News { news, to } => {
                keep_for_latecomers(&mut self.job.view.news, &news);
                if let GroupNews::Failed(rank) = news {
                    self.observe(rank);
                }
                self.agents.broadcast(&ToAgent::Group { news, to });
            }
            Command::AllFinalized { rank, incarnation } => {
                self.order_rank(rank, incarnation, RankOrder::AllFinalized);
            }
            Command::AllExiting { rank, incarnation } => {
                self.order_rank(rank, incarnation, RankOrder::AllExiting);
            }
            Command::Die { rank, incarnation, code } => {
                self.order_rank(rank, incarnation, RankOrder::Die(code));
            }
            Command::Notify(notice) => {
                if let Notice::Returning { wave, .. } = notice {
                    self.questions_return(wave);
                }
                self.tell(&notice);
                if let Notice::HostJoined { host } = &notice {
                    self.host_joined(host);
                }
                if matches!(notice, Notice::Returning { .. }) {
                    self.look_at_exchange();
                }
            }
            Command::End { code, reason, keep } => {
                let text = reason.map(|reason| self.end_text(reason));
                self.run.end(code, text, keep);
            }
        }
    }

    fn start_rank(&mut self, rank: Rank, incarnation: Incarnation, host: u32, from: StartFrom) {
        self.first_start();
        self.ports.begins(rank);
        self.mpir.begins(rank.index());
        if from.images.is_empty() && self.plan.traits.all_return() {
            // The agent tells the program so (`view_for`).
            self.store.set_node(rank, host);
        }
        let inject = self.injection.points_for(rank);
        let start = Start { inject, ..self.order_to_start(rank, incarnation, from) };
        self.agents.send(host, ToAgent::Start(start));
    }

    /// An incarnation as its agent is to start it, without faults.
    fn order_to_start(&mut self, rank: Rank, incarnation: Incarnation, from: StartFrom) -> Start {
        // A process that joins the job finds files as the others have them now.
        let joins = from.images.is_empty() && self.has_joined(rank);
        Start {
            rank,
            incarnation,
            images: from.images,
            or_beginning: from.or_beginning,
            no_newer: from.no_newer,
            past: from.past,
            printed: self.output.printed(rank),
            fed: rank == Rank(0),
            inject: Vec::new(),
            actual_command: self.store.actual_command(rank).cloned(),
            oversubscribed: self.is_oversubscribed(),
            loaded: self.loaded.get(&rank).cloned(),
            files: if joins { Vec::new() } else { self.store.returning_files().to_vec() },
            files_since: self.store.saved().files_since,
        }
    }

    fn order_standby(&mut self, order: StandbyOrder) {
        match order {
            StandbyOrder::Make { rank, incarnation, host, image } => {
                let (images, past) = (vec![image], ImageNo(0));
                let from = StartFrom { images, or_beginning: false, no_newer: false, past };
                let start = self.order_to_start(rank, incarnation, from);
                self.agents.send(host, ToAgent::MakeStandby(start));
            }
            StandbyOrder::Drop { rank, host } => {
                self.agents.send(host, ToAgent::DropStandby(rank));
            }
        }
    }

    /// Before the first rank starts: all hosts and servers of this run are there. Until then the
    /// plan of the run before stands, because this run may be a mistake.
    fn first_start(&mut self) {
        if std::mem::replace(&mut self.run.started, true) {
            return;
        }
        self.choose_baseline();
        self.check_restores(None);
        if self.plan.continued.is_some() {
            let saved = self.store.save();
            self.report_unsaved(saved);
        }
    }

    fn image_committed(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        image: ImageNo,
        oldest: ImageNo,
    ) {
        if self.job.view.files != 0 {
            self.store.wave_committed(image, oldest);
        }
        self.ports.images_from(rank, oldest);
        self.order_rank(rank, incarnation, RankOrder::ImageCommitted { image, oldest });
    }
}

/// What an incarnation may begin from.
struct StartFrom {
    images: Vec<ImageFacts>,
    or_beginning: bool,
    no_newer: bool,
    past: ImageNo,
}

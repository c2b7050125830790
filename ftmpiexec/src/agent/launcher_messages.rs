//! The launcher's orders to its agent.

use super::cpu_binding::CpuAssignments;
use super::local::Local;
use super::memory_binding::KernelPolicy;
use super::saved_files::SavedFiles;
use super::{Agent, processes};
use crate::agent_protocol::{Job, RankOrder, ToAgent};
use ftmpi_wire::control::ToRank;
use ftmpi_wire::group_news::{GroupNews, keep_for_latecomers};
use ftmpi_wire::{Incarnation, Rank};
use std::sync::Arc;
use std::time::Instant;

impl Agent {
    /// Carries out one order. [`ToAgent::Stop`] ends the agent's loop before it comes here.
    pub(super) fn on_order(&mut self, order: ToAgent) {
        match order {
            ToAgent::Job(job) => self.begin_job(*job),
            ToAgent::Agents(agents) => self.directory.send_modify(|d| d.agents = agents),
            ToAgent::Servers { event_loggers, checkpoint_servers } => {
                self.directory.send_modify(|directory| {
                    directory.event_loggers = event_loggers;
                    directory.checkpoint_servers = checkpoint_servers;
                });
                self.listen_to_loggers();
            }
            ToAgent::CpuBaseline(baseline) => {
                if let Some(job) = &mut self.job {
                    Arc::make_mut(job).cpu_baseline = Some(baseline);
                }
            }
            ToAgent::Grow(growth) => self.grow(&growth),
            ToAgent::WorldOver(world) => self.world_over(world),
            ToAgent::Answer { rank, incarnation, number, answer } => {
                self.pass_answer((rank, incarnation), number, answer);
            }
            ToAgent::Start(start) => self.start(start),
            ToAgent::MakeStandby(start) => self.make_standby(start),
            ToAgent::DropStandby(rank) => self.standbys.remove(rank),
            ToAgent::Announce { rank, incarnation, host } => self.announce(rank, incarnation, host),
            ToAgent::Group { news, to } => self.pass_news_on(news, to.as_deref()),
            ToAgent::Forward { rank, incarnation, order } => self.forward(rank, incarnation, order),
            ToAgent::Kill { rank, signal } => self.kill(rank, signal),
            ToAgent::OutputPrinted(bytes) => self.output.window.printed(bytes),
            ToAgent::Input { rank, incarnation, offset, bytes } => {
                if let Some(process) = self.ranks.get_mut(rank, incarnation)
                    && let Some(input) = &mut process.input
                {
                    input.take(offset, bytes);
                }
            }
            ToAgent::HeartbeatReceived { number } => self.lease.renew(number, Instant::now()),
            ToAgent::Witnesses(hosts) => self.paths.set_witnesses(hosts),
            ToAgent::CutOff { host, cut } => self.cut_off(host, cut),
            ToAgent::KillYourself => processes::signal_process(std::process::id(), libc::SIGKILL),
            ToAgent::ForgetFiles(files) => self.forget_files(&files),
            ToAgent::Stop { .. } => {}
        }
    }

    fn begin_job(&mut self, job: Job) {
        self.directory.send_modify(|directory| {
            directory.host_of.clone_from(&job.view.host_of);
            directory.incarnations.clone_from(&job.view.incarnations);
            directory.gone = job.view.gone.iter().copied().collect();
        });
        let (local_images, health) = (job.local_images.clone(), job.health.clone());
        let image_space = job.image_space;
        let saved = job.directory.as_ref().and_then(|dir| SavedFiles::of(dir, self.host));
        self.kept_files.begin(saved);
        let policy = job.memory.as_ref().map(KernelPolicy::of).transpose();
        self.hardware.memory_policy = policy.as_ref().ok().copied().flatten();
        self.hardware.cpus = job.binding.as_ref().map(CpuAssignments::new);
        self.job = Some(Arc::new(job));
        let host = self.host_name();
        if let Some((command, interval)) = health {
            let (process, events) = (self.health.clone(), self.events.clone());
            tokio::spawn(super::health::watch((command, host.clone()), interval, process, events));
        }
        if let Some(dir) = local_images {
            match Local::open(&dir.join(format!("host-{}", self.host)), image_space) {
                Ok(local) => self.images.local = Some(Arc::new(local)),
                Err(e) => self.link.notice(format!(
                    "no images are kept on {host}: {e:#} (see --local-dir); the servers have them"
                )),
            }
        }
        if let Err(e) = policy {
            self.link.notice(format!(
                "--membind: {host} refuses it ({e}); its ranks take memory where they touch it"
            ));
        }
        if self.hardware.cpus.as_ref().is_some_and(CpuAssignments::is_empty) {
            self.link.notice(format!(
                "--bind-to: {host} has none of these processors; its ranks are not bound"
            ));
        }
    }

    /// A rank has a new incarnation on some host: what its old one asked for is void.
    fn announce(&mut self, rank: Rank, incarnation: Incarnation, host: u32) {
        self.directory.send_modify(|directory| {
            if let Some(known) = directory.incarnations.get_mut(rank.index()) {
                *known = incarnation.max(*known);
                directory.host_of[rank.index()] = host;
            }
            directory.gone.remove(&rank);
        });
        if host != self.host {
            self.ranks.cancel_start(rank);
            self.standbys.outdated(rank, incarnation);
        }
        if host != self.host && self.ranks.newest(rank).is_some_and(|old| !old.has_ended()) {
            // The rank runs elsewhere now: the process here is left over.
            self.kill(rank, libc::SIGKILL);
        }
        self.broker.forget(rank);
        self.segments.forget(rank, incarnation);
        let message = ToRank::PeerRestarted { rank, incarnation, host };
        for process in self.ranks.all().filter(|other| other.rank != rank && other.is_connected()) {
            process.send(&message, Vec::new(), true);
        }
        self.look_at_waiting_callers();
    }

    /// Passes news on to ranks of this host. A rank that says hello later learns of deaths and
    /// revocations with its welcome.
    fn pass_news_on(&mut self, news: GroupNews, to: Option<&[Rank]>) {
        if let Some(job) = self.job.as_mut().map(Arc::make_mut) {
            keep_for_latecomers(&mut job.view.news, &news);
        }
        if let GroupNews::Failed(rank) = news {
            self.broker.forget(rank);
        }
        let message = ToRank::Group(news);
        let is_meant = |rank: Rank| to.is_none_or(|to| to.binary_search(&rank).is_ok());
        for process in self.ranks.all().filter(|one| is_meant(one.rank) && one.is_connected()) {
            process.send(&message, Vec::new(), false);
        }
    }

    /// Passes an order on to a rank of this host.
    fn forward(&mut self, rank: Rank, incarnation: Incarnation, order: RankOrder) {
        let Some(process) =
            self.ranks.get_mut(rank, incarnation).filter(|process| process.is_connected())
        else {
            return;
        };
        match order {
            RankOrder::TakeImage { image, keep } => self.take_image(rank, incarnation, image, keep),
            RankOrder::ImageCommitted { image, oldest } => {
                let written = process.written_at_image.iter().find(|(number, _)| *number == image);
                if let (Some((_, written)), Some(hold)) = (written, &process.hold) {
                    hold.release(*written);
                }
                process.written_at_image.retain(|(number, _)| *number > image);
                process.send(&ToRank::ImageCommitted { image, oldest }, Vec::new(), false);
                self.kept_files.forget_before(rank, oldest);
            }
            RankOrder::ImageFailed(image) => {
                process.send(&ToRank::ImageFailed { image }, Vec::new(), false);
                self.kept_files.forget_image(rank, image);
            }
            RankOrder::AllFinalized => process.send(&ToRank::AllFinalized, Vec::new(), false),
            RankOrder::Die(code) => process.send(&ToRank::Die { code }, Vec::new(), false),
            RankOrder::AllExiting => {
                process.end.released = true;
                process.send(&ToRank::AllExiting, Vec::new(), false);
            }
        }
    }
}

//! The dispatcher decides who runs where, in which incarnation, and what happens after a failure.
//!
//! Calling convention: call [`Dispatcher::handle`] with what happened and when, then drain
//! [`Dispatcher::next_command`] until it returns `None`. Queries never change state. The dispatcher
//! does nothing itself, and it reports facts ([`Notice`], [`EndReason`]); the launcher has the
//! sentences.
//!
//! Guarantees:
//! - Only the failed rank is started again. Ranks that take their images in waves together return
//!   to the same wave instead (`rollback`).
//! - A new incarnation begins only after the old one was declared dead to everybody.
//! - The barriers of `MPI_Finalize` and of the end of the program hold for every incarnation.
//! - Recovery ends: failures are limited, and deaths at the same place have a smaller limit. The
//!   loss of a host is one failure.
//! - What is done about a failure is what the [judge](crate::judge) says. Ranks move only to hosts
//!   that take ranks ([`Place`]).
//! - Ranks move without a failure on request, and no rank begins on a host that is being emptied
//!   while another one can take it (`migrate`).
//! - The job ends exactly once, with a code and at most one reason.
//!
//! After the dispatcher of MPICH-V (Bouteiller et al., MPICH-V2, SC 2003, §4; mpich-v-2006 §3.1).

mod activity;
mod agents;
mod barriers;
mod failure;
mod failures;
mod going_on;
#[cfg(test)]
mod going_on_tests;
mod hosts;
#[cfg(test)]
mod hosts_tests;
mod images;
mod incarnations;
mod joins;
#[cfg(test)]
mod joins_tests;
#[cfg(test)]
mod leaving_tests;
mod logger;
#[cfg(test)]
mod logger_tests;
mod messages;
mod migrate;
#[cfg(test)]
mod migrate_tests;
mod migration;
mod moves;
mod network;
#[cfg(test)]
mod network_tests;
mod notice;
mod orphans;
mod rank_state;
mod rollback;
#[cfg(test)]
mod rollback_tests;
mod settings;
mod spawns;
#[cfg(test)]
mod spawns_ends_tests;
#[cfg(test)]
mod spawns_tests;
mod standbys;
#[cfg(test)]
mod standbys_tests;
mod suspend;
#[cfg(test)]
mod tests;
mod worlds;
#[cfg(test)]
mod worlds_tests;

pub use activity::Activity;
pub use hosts::Place;
pub use messages::{
    Command, Ending, Failure, ImageFacts, Input, MemoryLimit, MoveCause, Past, signal_name,
};
pub use migration::{Migration, MoveFailure, MoveState, Refusal};
pub use network::{NetworkEnd, NetworkNotice};
pub use notice::{Cause, EndReason, InStandby, LastImages, Notice};
pub use settings::Settings;
pub use standbys::{StandbyNews, StandbyOrder};
pub use suspend::SUSPENDED;
pub use worlds::{Asker, Origin, Wanted};

use crate::judge::{HostName, Judge};
use crate::scheduler::Scheduler;
use crate::scheduler::scheduler_process::{Note, SchedulerProxy};
use crate::tuning::{
    ECHO_TIME, GRACE_WITHOUT_FINALIZE, INCARNATIONS_UNKNOWN, SILENCE_WITHOUT_FINALIZE,
};
use ftmpi_wire::{Incarnation, Rank};
use hosts::Hosts;
use rank_state::{Images, RankState, Stage};
use std::collections::VecDeque;
use std::time::Duration;
#[cfg(test)]
use {
    crate::scheduler,
    ftmpi_wire::{ImageNo, ProtocolTraits},
};

/// The machine.
#[derive(Debug)]
pub struct Dispatcher {
    settings: Settings,
    judge: Judge,
    hosts: Hosts,
    ranks: Vec<RankState>,
    /// In the order of their beginning; the first one is the job's own.
    worlds: Vec<worlds::WorldState>,
    /// Spawns that wait for the wave under way, and answers.
    spawns: spawns::Spawns,
    /// Processes that commands of the user bring.
    joins: joins::Joins,
    /// Since when the next wave is due and has not begun.
    wave_due_since: Option<Duration>,
    scheduler: Option<SchedulerProxy>,
    /// The ranks that return together; none, where each is started again on its own.
    clusters: Vec<rollback::Cluster>,
    /// Which of them each rank is in.
    cluster_places: Vec<usize>,
    commands: VecDeque<Command>,
    failures: Vec<Failure>,
    orphans: Vec<Failure>,
    restarts: u32,
    all_finalized: bool,
    all_exiting: bool,
    left_early_at: Option<(Duration, Rank)>,
    /// Whether that was reported: once.
    left_early_reported: bool,
    /// When a rank ended well without `MPI_Init`, until that was reported.
    without_mpi_at: Option<(Duration, Rank)>,
    /// Since when a rank outside of MPI keeps waves from beginning, until that was reported.
    without_waves_at: Option<Duration>,
    without_waves_reported: bool,
    complaint: Option<(Duration, i32, EndReason)>,
    image_trouble: Option<Rank>,
    logger_trouble: logger::LoggerTrouble,
    cuts: network::Cuts,
    going_on: going_on::GoingOn,
    suspension: Option<suspend::Suspension>,
    /// Ranks that move, or have moved, without a failure.
    migrations: Vec<Migration>,
    ended: bool,
    now: Duration,
}

impl Dispatcher {
    /// A dispatcher that wants all agents started.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let hosts = Hosts::new(&settings);
        let names = settings
            .hosts
            .iter()
            .zip(hosts.places())
            .map(|(name, place)| HostName { name: name.clone(), switch: place.switch.clone() });
        let judge =
            Judge::new(settings.recovery.clone(), names.collect(), settings.placement.len());
        let ranks = settings.placement.iter().map(|host| RankState::new(*host)).collect::<Vec<_>>();
        let size = ranks.len() as u32;
        let names = settings.clusters.as_deref().unwrap_or_default();
        let (clusters, cluster_places) = rollback::clusters(names);
        let scheduler = settings.images.map(|images| {
            SchedulerProxy::new(Scheduler::new(images, size).with_clusters(clusters.len()))
        });
        let commands =
            (0..settings.hosts.len() as u32).map(|host| Command::StartAgent { host }).collect();
        Self {
            settings,
            judge,
            hosts,
            ranks,
            worlds: vec![worlds::WorldState::first(size)],
            spawns: spawns::Spawns::default(),
            joins: joins::Joins::default(),
            wave_due_since: None,
            scheduler,
            clusters,
            cluster_places,
            commands,
            failures: Vec::new(),
            orphans: Vec::new(),
            restarts: 0,
            all_finalized: false,
            all_exiting: false,
            left_early_at: None,
            left_early_reported: false,
            without_mpi_at: None,
            without_waves_at: None,
            without_waves_reported: false,
            complaint: None,
            image_trouble: None,
            logger_trouble: logger::LoggerTrouble::default(),
            cuts: network::Cuts::default(),
            going_on: going_on::GoingOn::new(size),
            suspension: None,
            migrations: Vec::new(),
            ended: false,
            now: Duration::ZERO,
        }
    }

    /// A dispatcher that goes on with a job whose processes are all gone. Each rank begins an
    /// incarnation above all incarnations that any rank ever had, from its newest image or from its
    /// start.
    ///
    /// Ranks that return together begin from the newest wave of which all their images are offered.
    ///
    /// All ranks get one number, and some numbers are passed over. An incarnation of the earlier
    /// run that is unknown now (its declaration was lost with the power) is then below it too.
    /// Images of others may know it.
    #[must_use]
    pub fn continued(settings: Settings, past: Vec<Past>) -> Self {
        let mut dispatcher = Self::new(settings);
        let last = past.iter().map(|rank| rank.incarnation).max().unwrap_or_default();
        dispatcher.waves_found(&past);
        for (state, past) in dispatcher.ranks.iter_mut().zip(past) {
            state.incarnation = Incarnation(last.0.saturating_add(INCARNATIONS_UNKNOWN + 1));
            state.behind = true;
            state.images = Images::found(past.images, past.start_offered, past.highest);
        }
        dispatcher
    }

    /// The next thing to do.
    pub fn next_command(&mut self) -> Option<Command> {
        let to_scheduler = || self.scheduler.as_mut()?.next_word().map(Command::Schedule);
        self.commands.pop_front().or_else(to_scheduler)
    }

    /// All failures of ranks so far.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Restarts so far.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Where the rank is and in which incarnation.
    #[must_use]
    pub fn location(&self, rank: Rank) -> (u32, Incarnation) {
        let state = &self.ranks[rank.index()];
        (state.host, state.incarnation)
    }

    /// Ranks of which images can be taken now.
    #[must_use]
    pub fn can_take_images(&self) -> Vec<Rank> {
        let ranks = (0..self.ranks.len() as u32).map(Rank);
        let able = |rank: &Rank| self.ranks[rank.index()].can_take_image();
        ranks.filter(|rank| self.scheduler.is_some() && able(rank)).collect()
    }

    /// Whether the job's end has been commanded.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes what happened at `now` (since the start of the job).
    pub fn handle(&mut self, now: Duration, input: Input) {
        self.now = now.max(self.now);
        if self.ended {
            return;
        }
        // It comes often, and no migration waits for it.
        let is_measured = matches!(input, Input::Received { .. });
        match input {
            Input::AgentUp { host } => self.agent_up(host),
            Input::AgentLost { host, why, silent } => self.agent_lost(host, &why, silent),
            Input::AgentFailed { host, why } => self.agent_failed(host, &why),
            Input::Tick => self.tick(),
            Input::Stop { code, text } => {
                self.end(code, (!text.is_empty()).then_some(EndReason::Ordered(text)));
            }
            Input::GiveUp { code, text } => self.give_up(code, EndReason::Ordered(text)),
            Input::LoggerTrouble { rank, incarnation, why, for_good } => {
                self.logger_trouble(rank, incarnation, why, for_good);
            }
            Input::LoggerBack { rank, incarnation } => self.logger_back(rank, incarnation),
            Input::StorageTrouble { server, name, why } => self.storage_trouble(server, name, why),
            Input::StorageBack { server } => self.storage_back(server),
            Input::ServerAway { server, name, why } => self.server_away(server, name, why),
            Input::ServerBack { server } => self.server_back(server),
            Input::Cut { hosts, why } => self.cut(hosts, why),
            Input::CutMended { hosts } => self.cut_mended(hosts),
            Input::Orphan { rank, incarnation, why, before } => {
                self.orphan(rank, incarnation, &why, before);
            }
            Input::Suspend { grace } => self.suspend(grace),
            Input::Migrate { rank, to } => self.migrate(rank, to),
            Input::Drain { host } => self.drain(host, &MoveCause::Drained),
            Input::Undrain { host } => self.undrain_and_use(host),
            Input::Health { host, bad } => self.health(host, bad),
            Input::HostAdded { name, place } => self.add_host(name, place),
            Input::Spawn { asker, wanted } => self.spawn(asker, wanted),
            Input::Join { number, wanted } => self.join(number, wanted),
            Input::EndJoined { number, code } => self.end_joined(number, code),
            Input::Meet { ranks } => self.met(ranks),
            Input::Connected { rank, incarnation, with } => {
                self.connected(rank, incarnation, &with);
            }
            Input::Spawned { rank, incarnation } => self.spawned(rank, incarnation),
            Input::CannotStart { rank, incarnation, code, why } => {
                self.cannot_start(rank, incarnation, code, why);
            }
            Input::ImageUnusable { rank, incarnation, image, why } => {
                self.image_unusable(rank, incarnation, image, &why);
            }
            Input::Hello { rank, incarnation, resumed, can_image } => {
                self.hello(rank, incarnation, resumed, can_image);
            }
            Input::Noticed(fact) => self.noticed(&fact),
            Input::Standby(rank, incarnation, news) => {
                self.standby_news(rank, incarnation, news);
            }
            Input::SharesMemory => self.settings.together = true,
            Input::LogFull => {
                self.note(Note::Hasten);
                self.log_full();
            }
            Input::ImagesWanted => self.note(Note::Hasten),
            Input::ImageCost { cost } => self.note(Note::Cost(cost)),
            Input::Received { rank, bytes } => self.note(Note::Received(rank, bytes)),
            Input::SchedulerUp => self.scheduler_up(),
            Input::SchedulerLost => self.scheduler_lost(),
            Input::Ordered(order) => self.ordered(order),
            Input::ChannelLost { rank, incarnation, peer, peer_incarnation } => {
                self.lost_between([rank, peer]);
                self.channel_lost([(rank, incarnation), (peer, peer_incarnation)]);
            }
            Input::CaughtUp { rank, incarnation, replayed } => {
                self.caught_up(rank, incarnation, replayed);
            }
            Input::Finalizing { rank, incarnation } => self.finalizing(rank, incarnation),
            Input::Exiting { rank, incarnation, code } => self.exiting(rank, incarnation, code),
            Input::Abort { rank, incarnation, code, text } => {
                self.aborted(rank, incarnation, code, &text);
            }
            Input::Group(rank, incarnation, request) => {
                self.asked_by_group(rank, incarnation, request);
            }
            Input::Ended { rank, incarnation, ending, progress } => {
                self.process_ended(rank, incarnation, ending, progress);
            }
            Input::ImageCommitted { rank, incarnation, image, oldest } => {
                self.image_committed(rank, incarnation, image, oldest);
            }
            Input::ImageFailed { rank, incarnation, image, why } => {
                self.image_failed(rank, incarnation, image, &why);
            }
        }
        if !self.ended && !is_measured {
            self.look_at_spawns();
            self.look_at_migrations();
            self.look_at_suspension();
        }
    }

    fn tick(&mut self) {
        if let Some((_, code, reason)) =
            self.complaint.take_if(|(since, _, _)| self.now >= *since + ECHO_TIME)
        {
            return self.end(code, Some(reason));
        }
        if let Some((since, rank)) = self.left_early_at
            && self.now > since + GRACE_WITHOUT_FINALIZE
        {
            let grace = GRACE_WITHOUT_FINALIZE;
            return self.end(1, Some(EndReason::LeftEarly { rank, grace }));
        }
        self.look_at_complaints();
        if self.ended {
            return;
        }
        if let Some((since, rank)) = self.left_early_at
            && !self.left_early_reported
            && self.now > since + SILENCE_WITHOUT_FINALIZE
        {
            self.left_early_reported = true;
            self.notify(Notice::LeftEarly { rank, grace: GRACE_WITHOUT_FINALIZE });
        }
        if let Some((since, rank)) = self.without_mpi_at
            && self.now > since + SILENCE_WITHOUT_FINALIZE
            && self.ranks.iter().any(|state| state.stage == Stage::Running)
        {
            // Far in the future: the report comes once.
            self.without_mpi_at = Some((Duration::MAX - SILENCE_WITHOUT_FINALIZE, rank));
            self.notify(Notice::WithoutMpi { rank });
        }
        self.look_at_hosts();
        self.look_at_logger_trouble();
        self.look_at_cuts();
        self.look_at_lost_connections();
        if self.ended {
            return;
        }
        if self.in_waves() {
            self.look_at_lost_channels();
            self.look_for_ranks_outside();
        }
        self.look_for_images();
        self.look_for_standbys();
    }

    // ---- the end of a rank ----------------------------------------------------------------------

    fn aborted(&mut self, rank: Rank, incarnation: Incarnation, code: i32, text: &str) {
        let released = self.all_exiting || self.is_released(rank);
        let Some(state) = self.living(rank, incarnation) else { return };
        if let (true, Some(code)) = (released, state.exiting) {
            // The rank saw others leave before it heard that all do.
            return self.commands.push_back(Command::Die { rank, incarnation, code });
        }
        let host = self.host_name(rank).to_owned();
        if text.is_empty() {
            let reason = EndReason::Aborted { rank, host, code };
            if !self.fails_alone(rank, false, code, &reason) {
                self.end(code, Some(reason));
            }
        } else {
            let reason = EndReason::LibraryError { rank, host, text: text.to_owned() };
            self.has_complained(rank, code, reason);
        }
    }

    fn process_ended(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        ending: Ending,
        progress: u64,
    ) {
        let all_exiting = self.all_exiting;
        if self.is_stopping(rank, incarnation) {
            return self.stopped(rank);
        }
        if self.living(rank, incarnation).is_some()
            && !self.is_repaired(ending)
            && self.was_unborn(rank, ending.exit_code(), || Self::unborn_end(ending))
        {
            return;
        }
        let released = all_exiting || self.is_released(rank);
        let Some(state) = self.living(rank, incarnation) else { return };
        let (said_hello, finalizing) = (state.stage == Stage::Running, state.finalizing);
        let code = match (ending, state.exiting) {
            // The program ended in order and reported it; its output was out before.
            (Ending::Code(_), Some(code)) => code,
            // No rank needs this rank's log any more, so the manner of its death does not matter.
            (_, Some(code)) if released => code,
            // Whoever goes on without ranks hears that this one left.
            (Ending::Code(_), None)
                if said_hello && !finalizing && self.goes_on_without(rank, ending, progress) =>
            {
                return;
            }
            // No MPI program, or `_exit`: the exit code of a process is its own affair.
            (Ending::Code(0), None) => 0,
            (Ending::Code(code), None) if finalizing => code,
            (Ending::Code(code), None) => {
                let (host, initialized) = (self.host_name(rank).to_owned(), said_hello);
                let reason = EndReason::ExitedEarly { rank, host, code, initialized };
                if !self.fails_alone(rank, true, code, &reason) {
                    self.end(code, Some(reason));
                }
                return;
            }
            (Ending::Signal(_) | Ending::Memory(_) | Ending::ControlLost, _) => {
                return self.failed(rank, ending, progress);
            }
        };
        if said_hello && !finalizing && code == 0 {
            self.has_left_early(rank);
        }
        if !said_hello {
            let now = self.now;
            self.without_mpi_at.get_or_insert((now, rank));
        }
        self.ranks[rank.index()].stage = Stage::Done(code);
        self.left_its_groups(rank);
        self.drop_standby(rank);
        self.leaves_slot(rank);
        self.owes_no_image(rank);
        self.waits_no_more(rank);
        if self.scheduler.as_ref().is_some_and(|s| s.is_under_way(rank)) {
            self.image_ended(rank);
        }
        self.look_at_barriers();
    }

    // ---- small things ---------------------------------------------------------------------------

    fn living(&mut self, rank: Rank, incarnation: Incarnation) -> Option<&mut RankState> {
        self.ranks.get_mut(rank.index()).filter(|state| {
            state.incarnation == incarnation
                && !matches!(state.stage, Stage::Done(_) | Stage::Ignored | Stage::Stopping)
        })
    }

    /// Is this incarnation being ended?
    fn is_stopping(&self, rank: Rank, incarnation: Incarnation) -> bool {
        self.ranks.get(rank.index()).is_some_and(|state| state.is_stopping(incarnation))
    }

    fn failure_of(&mut self, rank: Rank, incarnation: Incarnation) -> Option<&mut Failure> {
        let mut failures = self.failures.iter_mut().chain(&mut self.orphans).rev();
        failures.find(|failure| failure.rank == rank && failure.incarnation == incarnation)
    }

    fn host_name(&self, rank: Rank) -> &str {
        &self.settings.hosts[self.ranks[rank.index()].host as usize]
    }

    /// Reports something to the user.
    fn notify(&mut self, notice: Notice) {
        self.commands.push_back(Command::Notify(notice));
    }

    fn end(&mut self, code: i32, reason: Option<EndReason>) {
        if !self.ended {
            self.ended = true;
            self.commands.push_back(Command::End { code, reason, keep: false });
        }
    }

    /// The job is given up though events and images are there: they are kept.
    fn give_up(&mut self, code: i32, reason: EndReason) {
        if !self.ended {
            self.ended = true;
            let keep = self.settings.traits.is_fault_tolerant();
            self.commands.push_back(Command::End { code, reason: Some(reason), keep });
        }
    }
}

//! The launcher in the world: the dispatcher and the scheduler of a real job. Everything goes over
//! one connection for each host, in order and with delays. The scheduler is a process of its own
//! that may die.

use super::{Event, World};
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_protocols::dispatcher::{
    Activity, Command, Dispatcher, EndReason, ImageFacts, Input, Notice, Past, SUSPENDED, Settings,
};
use ftmpi_protocols::judge::{self, Detector, Fact};
use ftmpi_protocols::scheduler::scheduler_process::{Order, SchedulerProcess, Word};
use ftmpi_protocols::scheduler::{self, Policy};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Between two looks at the clock.
const TICK: u64 = 100;

/// One host, as its agent sees the world.
#[derive(Debug)]
pub(super) struct Host {
    /// The last incarnation of each rank that was announced here.
    pub(super) known: Vec<Incarnation>,
    /// An agent runs.
    pub(super) up: bool,
    /// It did, under this launcher.
    pub(super) was_up: bool,
    /// The launcher has given it up, and its agent has not come back.
    pub(super) given_up: bool,
    /// The machine is broken: no agent can be started there.
    pub(super) broken: bool,
    /// Which one: what was meant for an earlier one is void.
    pub(super) agent: u64,
    /// When the last word to it, and from it, arrives.
    pub(super) last: [u64; 2],
}

/// The launcher, and the connections to it.
pub(super) struct Dispatch {
    pub(super) machine: Dispatcher,
    pub(super) hosts: Vec<Host>,
    scheduler_process: Option<SchedulerProcess>,
    /// Which scheduler process runs, and whether it is connected.
    scheduler: u64,
    connected: bool,
    last_word: u64,
    last_order: u64,
    /// How often each cluster returned, and who has begun since.
    rounds: BTreeMap<usize, (u64, BTreeSet<Rank>)>,
    /// Which launcher this is: what was on its way to an earlier one, or from it, is lost.
    pub(super) launcher: u64,
    /// There is none now.
    down: bool,
    settings: Settings,
    /// How the job ended.
    pub(super) end: Option<(i32, Option<EndReason>)>,
}

impl Dispatch {
    /// For a job; `draw` draws a number below a limit.
    pub(super) fn new(setup: &super::Setup, mut draw: impl FnMut(u64) -> u64) -> Self {
        let host = |_| Host {
            known: vec![Incarnation(0); setup.ranks],
            up: false,
            was_up: false,
            given_up: false,
            broken: false,
            agent: 0,
            last: [0; 2],
        };
        let settings = settings(setup, &mut draw);
        let machine = Dispatcher::new(settings.clone());
        let hosts = (0..setup.all_hosts()).map(host).collect();
        let (scheduler_process, end) = (None, None);
        Self {
            machine,
            hosts,
            scheduler_process,
            scheduler: 0,
            connected: false,
            last_word: 0,
            last_order: 0,
            rounds: BTreeMap::new(),
            launcher: 0,
            down: false,
            settings,
            end,
        }
    }

    fn round_of(&self, cluster: usize) -> u64 {
        self.rounds.get(&cluster).map_or(0, |(round, _)| *round)
    }
}

/// What the launcher makes of a command line.
fn settings(setup: &super::Setup, draw: &mut impl FnMut(u64) -> u64) -> Settings {
    let in_waves = setup.variant.in_waves();
    let policies = [
        Policy::Periodic,
        Policy::RoundRobin,
        Policy::Random(setup.seed),
        Policy::Payload,
        Policy::YoungDaly,
    ];
    let policy = policies[draw(policies.len() as u64) as usize];
    let interval = if in_waves { 50 + draw(900) } else { 100 + draw(1500) };
    Settings {
        hosts: (0..setup.all_hosts()).map(|host| format!("host{host}")).collect(),
        placement: (0..setup.ranks).map(|rank| setup.host_of(rank) as u32).collect(),
        protocol: "a protocol".to_owned(),
        traits: setup.variant.traits(),
        restarts_max: u32::MAX,
        places: match setup.mutant {
            Some(Mutant::SlotsForgotten) => Vec::new(),
            _ => setup.places.clone(),
        },
        recovery: policy_of_failures(setup),
        clusters: in_waves.then(|| setup.clusters.clone()),
        standbys: vec![setup.standbys; setup.ranks],
        together: false,
        storage_patience: Duration::MAX,
        images: Some(scheduler::Settings {
            interval: Duration::from_millis(interval),
            at_once_max: 1 + draw(3) as usize,
            policy,
            cost_limit: (interval % 2 == 0).then_some(100),
        }),
    }
}

/// Detectors and recoveries: the defaults, with the patience of this run, and stopped ranks.
fn policy_of_failures(setup: &super::Setup) -> judge::Policy {
    let mut policy = judge::Policy::default();
    for detector in &mut policy.rules[0].detectors {
        if let Detector::Physical { patience, .. } = detector {
            *patience = Duration::from_millis(setup.patience);
        }
    }
    policy.rules[0].detectors.extend(Detector::named("stall"));
    policy
}

impl World {
    fn time(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    /// The job begins.
    pub(super) fn launch(&mut self) {
        self.obey();
        self.after(TICK, Event::Tick);
        let delay = self.below(300);
        self.after(delay, Event::SchedulerUp(0));
    }

    /// When a message that is sent now arrives; messages of one connection keep their order.
    fn in_order(&mut self, last: u64, spread: u64) -> u64 {
        let slow = if self.below(20) == 0 { 10 } else { 1 };
        (self.now + 1 + self.below(spread * slow)).max(last)
    }

    /// An agent sends the launcher an input.
    pub(super) fn report(&mut self, host: usize, input: Input) {
        let at = self.in_order(self.dispatch.hosts[host].last[1], 100);
        self.dispatch.hosts[host].last[1] = at;
        let launcher = self.dispatch.launcher;
        self.after(at - self.now, Event::ToLauncher(launcher, Box::new(input)));
    }

    /// The launcher sends an agent a command.
    pub(super) fn order(&mut self, host: usize, command: Command, round: u64) {
        if !self.dispatch.hosts[host].up {
            return;
        }
        let at = self.in_order(self.dispatch.hosts[host].last[0], 100);
        self.dispatch.hosts[host].last[0] = at;
        let agent = self.dispatch.hosts[host].agent;
        let command = Box::new(command);
        self.after(at - self.now, Event::AtHost { host, agent, command, round });
    }

    /// What was sent to this launcher arrives.
    pub(super) fn arrives_at_launcher(&mut self, launcher: u64, input: Input) {
        if launcher == self.dispatch.launcher {
            self.notify_dispatcher(input);
        }
    }

    /// The launcher hears something.
    pub(super) fn notify_dispatcher(&mut self, input: Input) {
        self.note(|| format!("the dispatcher hears {input:?}"));
        self.cut_is_a_failure();
        if let Input::AgentLost { host, .. } = input {
            self.seen.placement.is_lost(host as usize);
        }
        let failing = match &input {
            Input::AgentLost { host, .. } | Input::Noticed(Fact::Suspect { host, .. }) => {
                vec![*host]
            }
            // (The cut may be mended by now.)
            Input::Cut { hosts, .. } => hosts.to_vec(),
            _ => Vec::new(),
        };
        if self.in_waves() {
            for rank in 0..self.processes.len() {
                let name = Rank(rank as u32);
                if failing.contains(&self.dispatch.machine.location(name).0) {
                    let cluster = self.cluster_of(rank);
                    self.seen.failed_clusters.fails(cluster);
                }
            }
        }
        let refused = match input {
            // (A rank that returns with others has another incarnation before it.)
            Input::LoggerTrouble { rank, incarnation, for_good: true, .. } if !self.in_waves() => {
                (self.dispatch.machine.location(rank).1 == incarnation).then_some(rank)
            }
            _ => None,
        };
        let now = self.time();
        self.dispatch.machine.handle(now, input);
        if let Some(rank) = refused.filter(|_| !self.dispatch.machine.has_ended()) {
            self.seen.refused.goes_on(rank);
        }
        self.looks_at_suspension();
        self.drained_hosts_are_left();
        self.obey();
    }

    /// The launcher carries out the commands of its machine.
    fn obey(&mut self) {
        let machine = &mut self.dispatch.machine;
        let commands: Vec<Command> = std::iter::from_fn(|| machine.next_command()).collect();
        self.clusters_return(&commands);
        for command in commands {
            let of_rank = match command {
                Command::Schedule(word) => {
                    self.send_to_scheduler(word);
                    continue;
                }
                Command::StartAgent { host } => {
                    let delay = self.below(500);
                    self.after(delay, Event::AgentUp(self.dispatch.launcher, host as usize));
                    continue;
                }
                Command::Notify(notice) => {
                    self.note(|| format!("the dispatcher reports {notice:?}"));
                    self.hosts_are_told(&notice);
                    self.hears_notice(&notice);
                    continue;
                }
                Command::End { code: SUSPENDED, reason, .. } => {
                    self.suspended(reason.as_ref());
                    continue;
                }
                Command::End { code, reason, .. } => {
                    self.note(|| format!("the job ends: {code} {reason:?}"));
                    self.dispatch.end = Some((code, reason));
                    continue;
                }
                Command::Standby(order) => {
                    self.send_standby_order(order);
                    continue;
                }
                // Its jobs are simulated apart (`going_on`).
                Command::News { .. } => continue,
                // No program of the simulator asks for new processes.
                Command::Grow { .. }
                | Command::SpawnOver { .. }
                | Command::Joined { .. }
                | Command::JoinOver { .. }
                | Command::WorldOver(_)
                | Command::ForgetImages(_) => {
                    continue;
                }
                Command::WaveOver(over) => {
                    self.outcome.waves += u64::from(over.complete.is_some());
                    continue;
                }
                Command::ImageCommitted { rank, image, .. } if self.in_waves() => {
                    let cluster_peers = self.cluster_peers_of(rank.index());
                    self.seen.whole_waves.counts(image, &cluster_peers);
                    rank
                }
                Command::Announce { .. } => {
                    for host in 0..self.dispatch.hosts.len() {
                        self.order(host, command.clone(), 0);
                    }
                    continue;
                }
                Command::Start { rank, .. }
                | Command::TakeImage { rank, .. }
                | Command::Kill { rank, .. }
                | Command::ImageCommitted { rank, .. }
                | Command::ImageFailed { rank, .. }
                | Command::AllFinalized { rank, .. }
                | Command::AllExiting { rank, .. }
                | Command::Die { rank, .. } => rank,
            };
            if let Command::Start { rank, host, .. } = &command {
                let machine = &self.dispatch.machine;
                let ranks = (0..self.processes.len() as u32).map(Rank);
                let hosts: Vec<usize> =
                    ranks.map(|rank| machine.location(rank).0 as usize).collect();
                self.seen.placement.begins(rank.index(), *host as usize, &hosts);
            }
            if let Command::TakeImage { image, .. } = &command {
                self.seen.last_images.is_ordered(of_rank.index(), *image);
            }
            let round = self.dispatch.round_of(self.cluster_of(of_rank.index()));
            // (It may not have begun there yet.)
            let (host, _) = self.dispatch.machine.location(of_rank);
            let host = match command {
                Command::Start { .. } => self.begins_on(of_rank.index(), host as usize),
                _ => host as usize,
            };
            self.order(host, command, round);
        }
    }

    /// What the user hears of hosts, the invariant of placement hears as well.
    fn hosts_are_told(&mut self, notice: &Notice) {
        let number = |name: &String| name["host".len()..].parse::<usize>().unwrap_or_default();
        match notice {
            Notice::Shunned { hosts, .. } => {
                for host in hosts.iter().map(number) {
                    self.seen.placement.is_shunned(host);
                    if self.setup.mutant == Some(Mutant::ShunnedHostUsed) {
                        let now = self.time();
                        let sound = Input::Noticed(Fact::Sound { host: host as u32 });
                        self.dispatch.machine.handle(now, sound);
                    }
                }
            }
            Notice::UsedAgain { hosts } if self.setup.mutant != Some(Mutant::ShunnedHostUsed) => {
                hosts.iter().map(number).for_each(|host| self.seen.placement.is_used_again(host));
            }
            Notice::RanksMove { ranks, to, .. } => {
                let machine = &self.dispatch.machine;
                let all = || (0..self.processes.len() as u32).map(Rank);
                let is_still = |rank: Rank| {
                    !matches!(machine.activity(rank), Activity::Stopping | Activity::Waiting)
                };
                let hosts: Vec<usize> =
                    all().map(|rank| machine.location(rank).0 as usize).collect();
                // Who begins in a standby begins where that is.
                let has_standby =
                    |rank: &Rank| self.processes[rank.index()].standbys.contains_key(&number(to));
                if all().all(|rank| ranks.contains(&rank) || is_still(rank))
                    && !ranks.iter().any(has_standby)
                {
                    let drained = &self.seen.drained_hosts;
                    let closed = |host| drained.contains(host);
                    self.seen.placement.moves_to(number(to), &hosts, closed);
                }
            }
            _ => {}
        }
    }

    /// New incarnations begin together where the old ones have ended: a cluster has returned when
    /// one of its ranks begins once more.
    fn clusters_return(&mut self, commands: &[Command]) {
        let starts = commands.iter().filter_map(|command| match command {
            Command::Start { rank, .. } => Some(*rank),
            _ => None,
        });
        let starts: Vec<Rank> = starts.collect();
        for rank in &starts {
            let cluster = self.cluster_of(rank.index());
            let (round, begun) = self.dispatch.rounds.entry(cluster).or_default();
            if begun.contains(rank) {
                *round += 1;
                begun.clear();
                self.seen.failed_clusters.returns(cluster);
            }
        }
        for rank in starts {
            let cluster = self.cluster_of(rank.index());
            self.dispatch.rounds.entry(cluster).or_default().1.insert(rank);
        }
    }

    /// Time passes.
    pub(super) fn tick(&mut self) {
        if !self.dispatch.down {
            self.dispatcher_looks();
        }
        // (It may have ended with that.)
        if !self.dispatch.down {
            self.scheduler_looks();
            self.finalize();
        }
        self.after(TICK, Event::Tick);
    }

    fn dispatcher_looks(&mut self) {
        let now = self.time();
        self.cut_is_a_failure();
        self.dispatch.machine.handle(now, Input::Tick);
        self.looks_at_suspension();
        self.obey();
    }

    /// No process of the job is left, the launcher's neither; another one will go on with what is
    /// stored.
    pub(super) fn everything_ends(&mut self) {
        for rank in 0..self.processes.len() {
            self.processes[rank].starting = None;
            if self.in_waves() {
                let cluster = self.cluster_of(rank);
                self.seen.failed_clusters.fails(cluster);
            }
            if self.processes[rank].fiber.is_some() {
                mark(self.now, || Mark::Dies(rank));
                self.end_process(rank);
            }
        }
        self.cut = None;
        self.seen.cut_noticed.is_over();
        for host in &mut self.dispatch.hosts {
            // (The next launcher is given others for those that are broken.)
            (host.up, host.was_up, host.broken) = (false, false, false);
            host.given_up = false;
            host.agent += 1;
        }
        self.seen.drained_hosts.are_forgotten();
        self.dispatch.launcher += 1;
        self.dispatch.down = true;
        let delay = self.below(800);
        self.after(delay, Event::Relaunch(self.dispatch.launcher));
    }

    /// Is there a launcher whose job has not ended?
    pub(super) fn is_launched(&self) -> bool {
        !self.dispatch.down && self.dispatch.end.is_none()
    }

    /// `ftmpiexec --restart`: what the servers know of each rank, and the dispatcher goes on with
    /// that.
    pub(super) fn relaunch(&mut self, launcher: u64) {
        if launcher != self.dispatch.launcher {
            return;
        }
        let facts = |image: ImageNo| ImageFacts { image, bytes: 1, written: [0; 2], consumed: 0 };
        let processes = self.processes.iter().map(|process| Past {
            // (The next incarnation has this number, if none has begun with it.)
            incarnation: process.incarnation,
            images: process
                .images
                .iter()
                .filter(|i| i.committed)
                .map(|i| facts(i.number))
                .collect(),
            start_offered: !process.start_given_up,
            highest: process.highest,
        });
        let mut past: Vec<Past> = processes.collect();
        if self.setup.mutant == Some(Mutant::LastImagesNotFound) {
            past.iter_mut()
                .for_each(|rank| rank.images.truncate(rank.images.len().saturating_sub(1)));
        }
        self.note(|| format!("the job is continued: {past:?}"));
        self.dispatch.scheduler += 1;
        (self.dispatch.scheduler_process, self.dispatch.connected) = (None, false);
        self.dispatch.down = false;
        self.dispatch.machine = Dispatcher::continued(self.dispatch.settings.clone(), past);
        self.seen.placement.begins_anew();
        for host in &mut self.dispatch.hosts {
            host.last = [0; 2];
        }
        self.obey();
        let (delay, scheduler) = (self.below(300), self.dispatch.scheduler);
        self.after(delay, Event::SchedulerUp(scheduler));
    }

    // ---- the scheduler ------------------------------------------------------------------------

    /// A scheduler process is connected, if it has not died meanwhile.
    pub(super) fn scheduler_up(&mut self, scheduler: u64) {
        if scheduler == self.dispatch.scheduler && !self.dispatch.down {
            self.dispatch.connected = true;
            self.notify_dispatcher(Input::SchedulerUp);
        }
    }

    fn send_to_scheduler(&mut self, word: Word) {
        if !self.dispatch.connected {
            return;
        }
        let at = self.in_order(self.dispatch.last_word, 60);
        self.dispatch.last_word = at;
        let scheduler = self.dispatch.scheduler;
        self.after(at - self.now, Event::AtScheduler(scheduler, Box::new(word)));
    }

    /// It hears something.
    pub(super) fn notify_scheduler(&mut self, scheduler: u64, word: Word) {
        if scheduler != self.dispatch.scheduler {
            return;
        }
        match &mut self.dispatch.scheduler_process {
            Some(scheduler_process) => {
                scheduler_process.hear(word).expect("the dispatcher knows its job")
            }
            none => *none = Some(SchedulerProcess::begin(word).expect("it begins at the begin")),
        }
        self.scheduler_looks();
    }

    fn scheduler_looks(&mut self) {
        let now = self.time();
        let Some(scheduler_process) = &mut self.dispatch.scheduler_process else { return };
        for order in scheduler_process.due(now) {
            let at = self.in_order(self.dispatch.last_order, 60);
            self.dispatch.last_order = at;
            let scheduler = self.dispatch.scheduler;
            self.after(at - self.now, Event::Ordered(scheduler, order));
        }
    }

    /// The launcher hears its order.
    pub(super) fn ordered(&mut self, scheduler: u64, order: Order) {
        if scheduler == self.dispatch.scheduler && !self.dispatch.down {
            self.notify_dispatcher(Input::Ordered(order));
        }
    }

    /// It dies; another one begins.
    pub(super) fn scheduler_dies(&mut self) {
        self.note(|| "the scheduler dies".to_owned());
        self.dispatch.scheduler += 1;
        self.dispatch.scheduler_process = None;
        let (heard, scheduler) = (self.below(200), self.dispatch.scheduler);
        if std::mem::take(&mut self.dispatch.connected) {
            self.after(heard, Event::SchedulerLost(self.dispatch.launcher));
        }
        let delay = heard + 1 + self.below(500);
        self.after(delay, Event::SchedulerUp(scheduler));
    }

    // ---- the end ------------------------------------------------------------------------------

    /// Programs that are over report it: at once, or when no more ranks die, as if they went on for
    /// long after their last message.
    fn finalize(&mut self) {
        let quiet = self.crashes_left == 0;
        for rank in 0..self.processes.len() {
            let process = &mut self.processes[rank];
            let here = process.fiber.is_some() && process.digest.is_some();
            let (number, incarnation) = (Rank(rank as u32), process.incarnation);
            if here && !process.finalizing && (quiet || process.hasty) {
                process.finalizing = true;
                let host = self.host_of(rank);
                self.report(host, Input::Finalizing { rank: number, incarnation });
            } else if here && process.all_finalized && !process.exiting && quiet {
                process.exiting = true;
                let host = self.host_of(rank);
                self.report(host, Input::Exiting { rank: number, incarnation, code: 0 });
            }
        }
    }

    // ---- deliberate bugs ----------------------------------------------------------------------

    /// With a failure that the launcher hears of clusters return in which nothing failed.
    pub(super) fn others_return_too(&mut self, cluster: usize) {
        if self.setup.mutant == Some(Mutant::OthersRolledBack) {
            let others = |rank: &usize| {
                self.cluster_of(*rank) != cluster && self.processes[*rank].fiber.is_some()
            };
            let others: Vec<usize> = (0..self.processes.len()).filter(others).collect();
            others.into_iter().for_each(|rank| self.end_process(rank));
        }
    }

    /// An orphan goes back to the last wave of its cluster, and its cluster peers do not. False: it
    /// has none.
    pub(super) fn returns_alone(&mut self, rank: usize) -> bool {
        let cluster_peers = self.cluster_peers_of(rank);
        if cluster_peers.iter().all(|cluster_peer| {
            *cluster_peer == rank || self.processes[*cluster_peer].fiber.is_none()
        }) {
            return false;
        }
        let wave = self.dispatch.machine.newest(Rank(rank as u32)).map(|facts| facts.image);
        let round = self.dispatch.round_of(self.cluster_of(rank)) + 1;
        self.end_process(rank);
        let incarnation = self.processes[rank].incarnation;
        self.start(rank, incarnation, wave, round);
        true
    }
}

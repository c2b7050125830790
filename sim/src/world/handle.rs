//! What becomes of each event of the heap.

use super::{Event, Item, News, Process, World};
use crate::invariants::no_orphan_left;
use crate::mutants::Mutant;
use ftmpi_protocols::dispatcher::Input;
use ftmpi_wire::{Incarnation, Rank};

impl World {
    /// Handles an event. The result is the rank that runs next, if one does.
    pub(super) fn handle(&mut self, event: Event) -> Option<usize> {
        match event {
            Event::Wake(rank, incarnation) => self.is_alive((rank, incarnation)).then_some(rank),
            Event::News(rank, incarnation, news) => {
                if !self.is_alive((rank, incarnation)) {
                    return None;
                }
                self.processes[rank].news.push_back(news);
                Some(rank)
            }
            Event::Arrive { from, to, way, item } => self.arrive(from, to, way, item),
            Event::FromMemory(conn, item) => self.receive_from_memory(conn, item),
            Event::Begin(beginning) => self.begin(beginning),
            Event::Crash
            | Event::AgentDies
            | Event::HostBreaks
            | Event::HostSuspected
            | Event::RankStopped
            | Event::Outage
            | Event::PowerLoss
            | Event::MemoryDies
            | Event::LoggerDies
            | Event::LogDamaged
            | Event::ChannelBreaks
            | Event::NetworkSplits
            | Event::ModelDue
            | Event::SchedulerDies => {
                self.fault(event);
                None
            }
            other => {
                self.deliver(other);
                None
            }
        }
    }

    /// Something that no rank notices by itself.
    fn deliver(&mut self, event: Event) {
        match event {
            Event::Open { a, b } if self.has_memories() => self.memory_opens(a, b.0),
            Event::Open { a, b } if self.is_cut(a.0, b.0) => self.open_later(a, b),
            Event::Open { a, b } => self.connect(a, b),
            Event::CutLooks => self.look_at_cut(),
            Event::CutMended => self.cut_ends(),
            Event::AtMemory(conn, header, payload) => self.at_memory(conn, header, payload),
            Event::MemoriesWrite => {
                self.memories.write();
                self.memories_send();
            }
            Event::MemoryHearsEnd(conn) => self.memories.lost(conn),
            Event::ToLauncher(launcher, input) => self.arrives_at_launcher(launcher, *input),
            Event::AtHost { host, agent, command, round } => {
                if self.dispatch.hosts[host].agent == agent {
                    self.at_host(host, *command, round);
                }
            }
            Event::AgentUp(launcher, host) => self.agent_up(launcher, host),
            Event::HostMended(launcher, host) => self.host_mended(launcher, host),
            Event::Tried(image, beginning) => {
                self.tried(image, beginning);
            }
            Event::SchedulerUp(scheduler) => self.scheduler_up(scheduler),
            Event::SchedulerLost(launcher) => {
                self.arrives_at_launcher(launcher, Input::SchedulerLost)
            }
            Event::Relaunch(launcher) => self.relaunch(launcher),
            Event::Suspend => self.suspend(),
            Event::Move => self.ranks_move(),
            Event::AtScheduler(scheduler, word) => self.notify_scheduler(scheduler, *word),
            Event::Ordered(scheduler, order) => self.ordered(scheduler, order),
            Event::Tick => self.tick(),
            Event::Commit(rank, incarnation, number) => self.commit(rank, incarnation, number),
            Event::AtLogger(rank, conn, frame) => self.at_logger(rank, conn, frame),
            Event::LooksIntoRing(rank) => self.empty_ring(rank),
            Event::LoggerOpens(rank, incarnation) => self.logger_opens(rank, incarnation),
            Event::LoggerWrites => {
                let answers = self.logger.write();
                self.deliver_log(answers);
                self.spread_clocks();
            }
            Event::LoggerSyncs(logger) => {
                // All logs of one logger at one instant, but each logger in its own time.
                self.empty_rings(Some(logger));
                let answers = self.logger.sync_one(logger);
                self.deliver_log(answers);
                self.spread_clocks();
            }
            Event::ClocksArrive(news) => self.clocks_arrive(news),
            _ => unreachable!("`handle` keeps the others"),
        }
    }

    /// Something fails.
    fn fault(&mut self, event: Event) {
        match event {
            Event::Crash => self.random_crash(),
            Event::AgentDies => {
                let host = self.below(self.setup.hosts as u64) as usize;
                self.agent_dies(host);
            }
            Event::HostBreaks => self.host_breaks(),
            Event::HostSuspected => self.host_suspected(),
            Event::RankStopped => self.rank_stopped(),
            Event::Outage => self.outage(),
            Event::PowerLoss => self.power_loss(),
            Event::MemoryDies => self.memory_dies(),
            Event::LoggerDies => self.logger_dies(false),
            Event::LogDamaged => self.log_damaged(),
            Event::ChannelBreaks if self.has_memories() => self.memory_connection_breaks(),
            Event::ChannelBreaks => self.channel_breaks(),
            Event::NetworkSplits => self.network_splits(),
            Event::ModelDue => self.model_due(),
            Event::SchedulerDies => self.scheduler_dies(),
            _ => unreachable!("`handle` gives faults only"),
        }
    }

    fn arrive(
        &mut self,
        from: (usize, Incarnation),
        to: (usize, Incarnation),
        way: u64,
        item: Item,
    ) -> Option<usize> {
        if self.channels.get(&(from.min(to), from.max(to))) != Some(&way) {
            // The channel broke meanwhile.
            return None;
        }
        let cut = self.processes[from.0].cut.get(&from.1).copied().unwrap_or(u64::MAX);
        if !self.is_alive(to)
            || (self.now > cut && self.setup.mutant != Some(Mutant::IncarnationNotChecked))
        {
            return None;
        }
        self.processes[to.0].news.push_back(News::Item(Rank(from.0 as u32), from.1, item));
        Some(to.0)
    }

    fn random_crash(&mut self) {
        let is_over = |process: &Process| process.fiber.is_none() && process.digest.is_some();
        if self.processes.iter().all(is_over) {
            self.crashes_left = 0;
        }
        if self.crashes_left == 0 {
            return;
        }
        let rank = self.below(self.processes.len() as u64) as usize;
        let all = self.below(12) == 0 || self.setup.together;
        let two = self.below(6) == 0;
        let count = if all { self.processes.len() } else { 1 + usize::from(two) };
        for k in 0..count {
            self.crash((rank + k) % self.processes.len());
        }
        let delay = self.below(4000);
        self.after(delay, Event::Crash);
    }

    /// Power fails only while no rank needs what would be lost, nor will: an orphan goes back to
    /// its log.
    fn power_loss(&mut self) {
        let stays =
            |process: &Process| process.fiber.is_some() && process.caught_up && !process.orphan;
        if self.crashes_left == 0
            && self.processes.iter().all(stays)
            && no_orphan_left::find(&self.seen.dependencies).is_none()
        {
            self.logger_dies(true);
        } else {
            self.after(200, Event::PowerLoss);
        }
    }
}

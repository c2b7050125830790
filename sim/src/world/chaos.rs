//! When faults happen: drawn at the begin of a run, kind after kind. A seed without one kind of
//! fault keeps the moments of all kinds before it.

use super::{Event, World};

/// How often, and before when; and what.
type Planned = (u32, u64, fn() -> Event);

impl World {
    /// Draws the moments of everything that the setup asks for.
    pub(super) fn plan_failures(&mut self) {
        let setup = &self.setup;
        let planned: [Planned; 15] = [
            (u32::from(self.crashes_left > 0), 3000, || Event::Crash),
            (setup.logger_deaths, 6000, || Event::LoggerDies),
            (setup.memories.1, 6000, || Event::MemoryDies),
            (setup.breaks, 6000, || Event::ChannelBreaks),
            (setup.agent_deaths, 6000, || Event::AgentDies),
            (setup.scheduler_deaths, 6000, || Event::SchedulerDies),
            (setup.outages, 6000, || Event::Outage),
            (u32::from(setup.power_loss), 5000, || Event::PowerLoss),
            (setup.damages, 4000, || Event::LogDamaged),
            (setup.host_deaths, 4000, || Event::HostBreaks),
            (setup.suspensions, 5000, || Event::Suspend),
            (setup.cuts, 4000, || Event::NetworkSplits),
            (setup.suspicions, 5000, || Event::HostSuspected),
            (setup.moves, 5000, || Event::Move),
            (setup.suspicions, 5000, || Event::RankStopped),
        ];
        for (times, within, event) in planned {
            for _ in 0..times {
                let delay = self.below(within);
                self.after(delay, event());
            }
        }
    }
}

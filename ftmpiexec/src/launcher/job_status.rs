//! The status of the job for `ftmpi-ctl` and its like, and the line about a stall.

use super::{Launcher, notices};
use ftmpi_protocols::dispatcher::{Activity, Cause, Input, Migration, MoveState};
use ftmpi_protocols::judge::Fact;
use ftmpi_wire::Rank;
use ftmpi_wire::job_status::{
    FaultStatus, HostState, HostStatus, ImageStatus, JobFacts, JobPhase, JobStatus, MigrationState,
    MigrationStatus, RankState, RankStatus, StandbyStatus, VERSION, Wait, WavesStatus,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl Launcher {
    /// The status of the job now.
    pub(super) fn job_status(&mut self) -> JobStatus {
        let now = self.now();
        JobStatus {
            version: VERSION,
            job: self.job_facts(now),
            hosts: self.host_statuses(),
            ranks: self.rank_statuses(),
            servers: self.servers.statuses(),
            waves: self.waves_status(now),
            faults: self.fault_statuses(),
            migrations: self.dispatcher.migrations().iter().map(|m| self.migration(m)).collect(),
        }
    }

    fn job_facts(&self, now: Duration) -> JobFacts {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let phase = match (self.run.suspending, self.recorder.all_have_started()) {
            (true, _) => JobPhase::Suspending,
            (false, false) => JobPhase::Starting,
            (false, true) => JobPhase::Running,
        };
        let words = self.plan.programs.first().map_or(&[][..], |program| &program.command);
        let words: Vec<String> =
            words.iter().map(|word| word.to_os().to_string_lossy().into_owned()).collect();
        JobFacts {
            id: self.plan.job_id.clone(),
            launcher_pid: std::process::id(),
            launcher_host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            directory: self.store.directory().map(|dir| dir.path().display().to_string()),
            command: words.join(" "),
            protocol: self.plan.protocol.name.clone(),
            phase,
            started_ms: since_1970.saturating_sub(now).as_millis() as u64,
            elapsed_s: now.as_secs_f64(),
            ckpt_interval_s: self
                .dispatcher
                .image_interval()
                .map(|interval| interval.as_secs_f64()),
            restarts: self.dispatcher.restarts(),
            restarts_max: self.plan.max_restarts,
            images: self.recorder.images(),
            image_bytes: self.recorder.image_bytes(),
        }
    }

    fn host_statuses(&self) -> Vec<HostStatus> {
        let mut ranks = vec![Vec::new(); self.plan.machines.len()];
        for rank in 0..self.plan.placement.len() as u32 {
            let (host, _) = self.dispatcher.location(Rank(rank));
            if let Some(ranks) = ranks.get_mut(host as usize) {
                ranks.push(rank);
            }
        }
        let status = |(number, ranks): (usize, Vec<u32>)| {
            let (host, machine) = (number as u32, &self.plan.machines[number]);
            let agent = self.agents.get(host);
            let (health, why) = self.observed.health[number].clone();
            HostStatus {
                name: machine.name.clone(),
                state: match (agent.is_up(), self.dispatcher.is_given_up(host)) {
                    (true, _) => HostState::Up,
                    (false, true) => HostState::Gone,
                    (false, false) => HostState::Starting,
                },
                drained: self.dispatcher.is_drained(host),
                health,
                health_why: why,
                slots: machine.slots,
                processors: Some(agent.processors).filter(|processors| *processors > 0),
                agent_pid: self.agents.process(host).map(|process| process.pid),
                ranks,
            }
        };
        ranks.into_iter().enumerate().map(status).collect()
    }

    /// The ranks in their order.
    pub(super) fn rank_statuses(&mut self) -> Vec<RankStatus> {
        let size = self.plan.placement.len();
        let mut failures = vec![0; size];
        for failure in self.dispatcher.failures() {
            failures[failure.rank.index()] += 1;
        }
        let ranks = (0..size as u32).map(Rank).zip(failures);
        ranks.map(|(rank, failures)| self.rank_status(rank, failures)).collect()
    }

    fn rank_status(&mut self, rank: Rank, failures: u32) -> RankStatus {
        let now = self.now();
        let (host, incarnation) = self.dispatcher.location(rank);
        let activity = self.dispatcher.activity(rank);
        let known = self.observed.rank_mut(rank);
        let state = match activity {
            Activity::Waiting => RankState::WaitsForHost,
            Activity::Starting => RankState::Starting,
            Activity::Restoring => RankState::Restoring,
            Activity::CatchingUp if known.is_stopped() => RankState::Stopped,
            Activity::CatchingUp => RankState::CatchingUp,
            Activity::Running => known.state_of_running(),
            Activity::Stopping => RankState::Ending,
            Activity::Done => RankState::Done,
        };
        let ago = |at: Duration| now.saturating_sub(at).as_secs_f64();
        let state_s = ago(known.since(state, now));
        let noted = known.doing.waiting.as_ref();
        let wait = noted.filter(|_| matches!(state, RankState::Waiting | RankState::Stopped));
        let wait = wait.map(|noted| Wait {
            call: Some(noted.waiting.call.clone()).filter(|call| !call.is_empty()),
            reason: noted.waiting.reason,
            peers: noted.waiting.peers.clone(),
            any_source: noted.waiting.any_source,
            one_is_enough: noted.waiting.one_is_enough,
            tag: noted.waiting.tag,
            since_s: noted.for_ns as f64 / 1e9,
        });
        let stored = known.image;
        let image = self.dispatcher.newest(rank).map(|facts| ImageStatus {
            image: facts.image.0,
            bytes: facts.bytes,
            age_s: stored.filter(|(image, _)| *image == facts.image).map(|(_, at)| ago(at)),
        });
        let counters = self.recorder.counters_of(rank);
        RankStatus {
            rank: rank.0,
            host: self.agents.name(host).to_owned(),
            incarnation: incarnation.0,
            pid: self.recorder.pid(rank),
            state,
            state_s,
            wait,
            idle_s: ago(known.progress_at),
            image,
            taking_image_s: known.ordered.map(|(_, at)| ago(at)),
            log_bytes: counters.log_bytes,
            log_limit_bytes: Some(self.plan.log_limit).filter(|limit| *limit > 0),
            messages_sent: counters.messages_sent,
            messages_received: counters.messages_received,
            bytes_sent: counters.bytes_sent,
            bytes_received: counters.bytes_received,
            failures,
            standby: self.dispatcher.standby(rank).map(|(host, image, ready)| StandbyStatus {
                host: self.agents.name(host).to_owned(),
                image: image.0,
                ready,
            }),
        }
    }

    fn waves_status(&self, now: Duration) -> Option<WavesStatus> {
        let waves = self.dispatcher.waves();
        if waves.is_empty() {
            return None;
        }
        let (complete, void) = self.recorder.waves_counted();
        Some(WavesStatus {
            complete,
            void,
            newest: waves.iter().map(|(newest, _)| newest.map(|wave| wave.0)).collect(),
            age_s: self.observed.wave_at.map(|at| now.saturating_sub(at).as_secs_f64()),
            under_way: waves.iter().filter(|(_, under_way)| *under_way).count() as u32,
        })
    }

    fn fault_statuses(&self) -> Vec<FaultStatus> {
        let failures = self.dispatcher.failures().iter();
        failures
            .map(|failure| FaultStatus {
                rank: failure.rank.0,
                at_s: failure.at.as_secs_f64(),
                // The rank is named by itself.
                cause: match &failure.cause {
                    Cause::OfRank { rank, cause, .. } if *rank == failure.rank => {
                        notices::cause(cause)
                    }
                    cause => notices::cause(cause),
                },
                image: failure.image.map(|image| image.0),
                back_s: failure.caught_up_at.map(|at| at.saturating_sub(failure.at).as_secs_f64()),
            })
            .collect()
    }

    /// A migration, for people.
    pub(super) fn migration(&self, migration: &Migration) -> MigrationStatus {
        let name = |host: u32| self.agents.name(host).to_owned();
        let since = |at: Duration| at.saturating_sub(migration.asked_at).as_secs_f64();
        let why = match &migration.state {
            MoveState::Failed(why) => Some(why.to_string()),
            _ => None,
        };
        MigrationStatus {
            rank: migration.rank.0,
            from: name(migration.from),
            to: migration.to.map(name),
            at_s: migration.asked_at.as_secs_f64(),
            state: match migration.state {
                MoveState::AwaitsImage => MigrationState::AwaitsImage,
                MoveState::Ends => MigrationState::Ends,
                MoveState::Begins => MigrationState::Begins,
                MoveState::Done => MigrationState::Done,
                MoveState::Failed(_) => MigrationState::Failed,
            },
            image: migration.image.map(|(image, _)| image.0),
            image_s: migration.image.map(|(_, at)| since(at)),
            total_s: migration.back_at.map(since),
            why,
        }
    }

    /// Says who waits for whom, if that has lasted for long. The judge hears of ranks that were
    /// stopped, whenever the recovery file asks for that.
    pub(super) fn look_for_stalls(&mut self) {
        let judged = self.plan.recovery.looks_at_stalls();
        if (self.plan.stall.is_zero() && !judged) || !self.run.started {
            return;
        }
        let ranks = self.rank_statuses();
        for news in self.stalls.look(&ranks) {
            self.printer.notice(notices::stall(&news, &ranks));
        }
        for status in ranks.iter().filter(|status| judged && status.state == RankState::Stopped) {
            let rank = Rank(status.rank);
            if self.observed.rank_mut(rank).is_stopped_by_signal() {
                let (host, _) = self.dispatcher.location(rank);
                let lasts = Duration::from_secs_f64(status.state_s);
                self.notify_dispatcher(Input::Noticed(Fact::Stall { rank, host, lasts }));
            }
        }
    }
}

//! The state that `--metrics` serves: the report as it is now, the state of each rank, and what the
//! servers say of themselves.

use super::Launcher;
use ftmpi_servers::metrics::StateRequest;
use ftmpi_wire::Rank;
use serde_json::{Value, json};

impl Launcher {
    /// Answers with the state that [`ftmpi_servers::metrics::catalogue::JOB`] names its values in.
    /// The launcher goes on while servers are asked.
    pub(super) fn answer_metrics(&self, request: StateRequest) {
        let mut state = self.metrics_state();
        let here = rustix::system::uname();
        let asked = self.servers.ask_each(&self.key, &here.nodename().to_string_lossy());
        tokio::spawn(async move {
            let mut servers = Vec::new();
            for server in asked {
                servers.extend(server.await.ok());
            }
            state["servers"] = servers.into();
            let _ = request.send(state);
        });
    }

    fn metrics_state(&self) -> Value {
        let report = self.recorder.report(&self.dispatcher, &self.history, self.now(), 0);
        let mut state = serde_json::to_value(report).unwrap_or_default();
        let size = self.plan.placement.len();
        let mut failures = vec![0u64; size];
        for failure in self.dispatcher.failures() {
            failures[failure.rank.index()] += 1;
        }
        let ranks = (0..size as u32).map(Rank).map(|rank| {
            let (host, incarnation) = self.dispatcher.location(rank);
            let host = self.plan.machines.get(host as usize).map(|machine| machine.name.as_str());
            json!({
                "rank": rank,
                "host": host,
                "state": self.dispatcher.activity(rank).name(),
                "incarnation": incarnation,
                "failures": failures[rank.index()],
                "counters": self.recorder.counters_of(rank),
            })
        });
        state["rank_states"] = ranks.collect();
        state
    }
}

#[cfg(test)]
mod tests {
    use ftmpi_servers::metrics::Source;
    use ftmpi_servers::metrics::catalogue::JOB;
    use ftmpi_wire::status::Counters;

    #[test]
    fn every_counter_that_a_metric_names_is_there() {
        let counters = serde_json::to_value(Counters::default()).unwrap();
        let mut named = 0;
        for family in JOB.families {
            let Source::Each { value, .. } = family.source else { continue };
            let Some(path) = value.strip_prefix("/counters") else { continue };
            assert!(counters.pointer(path).is_some(), "{}: {path}", family.name);
            named += 1;
        }
        assert!(named > 20);
    }
}

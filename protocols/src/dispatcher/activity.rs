//! What a rank does, as people see it.

use super::Dispatcher;
use super::rank_state::Stage;
use ftmpi_wire::{ImageNo, Rank};

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Its process waits for a host.
    Waiting,
    /// Its first process starts.
    Starting,
    /// A later process starts from an image, or from the start of the program.
    Restoring,
    /// It repeats what an earlier incarnation did.
    CatchingUp,
    /// It runs.
    Running,
    /// It is being ended, because ranks return to an earlier wave.
    Stopping,
    /// Its program has ended.
    Done,
}

impl Activity {
    /// The name of each, in the order of their declaration.
    pub const NAMES: [&'static str; 7] =
        ["waiting", "starting", "restoring", "catching_up", "running", "stopping", "done"];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl Dispatcher {
    /// Whether a host is used no more.
    #[must_use]
    pub fn is_given_up(&self, host: u32) -> bool {
        self.hosts.is_gone(host)
    }

    /// The newest wave of each cluster that counts, and whether one is under way.
    #[must_use]
    pub fn waves(&self) -> Vec<(Option<ImageNo>, bool)> {
        let clusters = self.clusters.iter().map(|cluster| &cluster.waves);
        clusters.map(|waves| (waves.newest(), waves.is_under_way())).collect()
    }

    /// What this rank does.
    #[must_use]
    pub fn activity(&self, rank: Rank) -> Activity {
        let state = &self.ranks[rank.index()];
        match (state.stage, state.behind) {
            (Stage::Waiting, _) => Activity::Waiting,
            (Stage::Starting | Stage::Spawned, false) => Activity::Starting,
            (Stage::Starting | Stage::Spawned, true) => Activity::Restoring,
            (Stage::Running, true) => Activity::CatchingUp,
            (Stage::Running, false) => Activity::Running,
            (Stage::Stopping, _) => Activity::Stopping,
            (Stage::Done(_) | Stage::Ignored, _) => Activity::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Activity;

    #[test]
    fn names_are_in_the_order_of_the_activities() {
        assert_eq!(Activity::Waiting.name(), "waiting");
        assert_eq!(Activity::CatchingUp.name(), "catching_up");
        assert_eq!(Activity::Done.name(), "done");
    }
}

//! What the launcher has heard of ranks, hosts and images, with the times: the part of the job's
//! status that no machine decides by.

use crate::agent_protocol::Doing;
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_wire::job_status::{Health, RankState};
use ftmpi_wire::status::Phase;
use ftmpi_wire::{ImageNo, Rank};
use std::time::Duration;

/// What a rank reported last.
#[derive(Debug, Clone)]
pub struct ObservedRank {
    /// What it does at this moment.
    pub doing: Doing,
    /// Messages sent and received.
    progress: u64,
    /// Since when that number is the same.
    pub progress_at: Duration,
    /// It has reported twice, and nothing has changed in between.
    quiet: bool,
    /// It is in `MPI_Finalize`, or behind it.
    finalizing: bool,
    /// What it did when that was asked last, and since when.
    state: (RankState, Duration),
    /// Its newest image of this run, and when the image was durable.
    pub image: Option<(ImageNo, Duration)>,
    /// The image that it is to take, and since when.
    pub ordered: Option<(ImageNo, Duration)>,
}

impl ObservedRank {
    /// What a rank does whose program runs.
    pub fn state_of_running(&self) -> RankState {
        let sleeps = matches!(self.doing.letter, Some('S' | 'D'));
        match self.doing.letter {
            Some('T' | 't') => RankState::Stopped,
            _ if self.finalizing => RankState::Finalizing,
            _ if self.doing.waiting.is_some() => RankState::Waiting,
            _ if sleeps && self.quiet => RankState::Blocked,
            _ => RankState::Computing,
        }
    }

    /// Whether its process was stopped.
    pub fn is_stopped(&self) -> bool {
        matches!(self.doing.letter, Some('T' | 't'))
    }

    /// Whether it was stopped by a signal. In a debugger it is not: somebody looks at it.
    pub fn is_stopped_by_signal(&self) -> bool {
        self.doing.letter == Some('T')
    }

    /// Since when it does this; the answer is remembered.
    pub fn since(&mut self, state: RankState, now: Duration) -> Duration {
        if self.state.0 != state {
            self.state = (state, now);
        }
        self.state.1
    }
}

/// Everything that was heard.
#[derive(Debug)]
pub struct Observed {
    ranks: Vec<ObservedRank>,
    /// What monitoring says of each host, and why.
    pub health: Vec<(Health, Option<String>)>,
    /// When a wave was complete.
    pub wave_at: Option<Duration>,
}

impl Observed {
    /// Nothing has been heard.
    pub fn new(ranks: usize, hosts: usize) -> Self {
        let health = vec![(Health::Good, None); hosts];
        let mut observed = Self { ranks: Vec::new(), health, wave_at: None };
        observed.ranks_added(ranks, Duration::ZERO);
        observed
    }

    /// The job has so many ranks; those that are new begin now.
    pub fn ranks_added(&mut self, size: usize, now: Duration) {
        let rank = ObservedRank {
            doing: Doing::default(),
            progress: 0,
            progress_at: now,
            quiet: false,
            finalizing: false,
            state: (RankState::Starting, now),
            image: None,
            ordered: None,
        };
        self.ranks.resize(size, rank);
    }

    /// One rank.
    pub fn rank_mut(&mut self, rank: Rank) -> &mut ObservedRank {
        &mut self.ranks[rank.index()]
    }

    /// A process of a rank begins.
    pub fn begins(&mut self, rank: Rank, now: Duration) {
        let known = self.rank_mut(rank);
        (known.doing, known.quiet, known.finalizing) = (Doing::default(), false, false);
        (known.progress_at, known.ordered) = (now, None);
    }

    /// A rank reports what it does.
    pub fn reports(&mut self, rank: Rank, phase: u64, doing: Doing, progress: u64, now: Duration) {
        let known = self.rank_mut(rank);
        let moves = progress != known.progress || doing.polls != known.doing.polls;
        known.quiet = !moves;
        if progress != known.progress {
            (known.progress, known.progress_at) = (progress, now);
        }
        known.finalizing = phase >= Phase::Finalizing as u64;
        known.doing = doing;
    }

    /// A rank is to take an image.
    pub fn image_ordered(&mut self, rank: Rank, image: ImageNo, now: Duration) {
        self.rank_mut(rank).ordered = Some((image, now));
    }

    /// An image is durable.
    pub fn image_stored(&mut self, rank: Rank, image: ImageFacts, now: Duration) {
        self.image_over(rank, image.image);
        self.rank_mut(rank).image = Some((image.image, now));
    }

    /// An image is not being taken any more.
    pub fn image_over(&mut self, rank: Rank, image: ImageNo) {
        self.rank_mut(rank).ordered.take_if(|(ordered, _)| *ordered <= image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::job_status::WaitReason;
    use ftmpi_wire::waiting::{Noted, Waiting};

    const T: fn(u64) -> Duration = Duration::from_secs;

    fn doing(letter: char, waits: bool) -> Doing {
        let waiting = Waiting {
            call: "MPI_Recv".into(),
            reason: WaitReason::Message,
            peers: vec![1],
            any_source: false,
            one_is_enough: false,
            tag: None,
        };
        let noted = Noted { waiting, for_ns: 5, seen_ns: 5 };
        Doing { letter: Some(letter), waiting: waits.then_some(noted), polls: 0 }
    }

    #[test]
    fn a_stopped_process_is_stopped_wherever_it_is_in_the_program() {
        let mut observed = Observed::new(1, 1);
        let mut state = |doing, progress, phase| {
            observed.reports(Rank(0), phase, doing, progress, T(1));
            observed.rank_mut(Rank(0)).state_of_running()
        };
        assert_eq!(state(doing('S', true), 1, 1), RankState::Waiting);
        assert_eq!(state(doing('T', true), 1, 1), RankState::Stopped);
        assert_eq!(state(doing('R', false), 1, 1), RankState::Computing);
        assert_eq!(state(doing('S', false), 2, 1), RankState::Computing, "it has just sent");
        assert_eq!(state(doing('S', false), 2, 1), RankState::Blocked);
        assert_eq!(state(doing('S', true), 2, Phase::Finalizing as u64), RankState::Finalizing);
    }

    #[test]
    fn progress_and_states_have_their_times() {
        let mut observed = Observed::new(1, 1);
        observed.reports(Rank(0), 1, doing('R', false), 4, T(5));
        observed.reports(Rank(0), 1, doing('R', false), 4, T(9));
        assert_eq!(observed.rank_mut(Rank(0)).progress_at, T(5));
        let rank = observed.rank_mut(Rank(0));
        assert_eq!(rank.since(RankState::Computing, T(6)), T(6));
        assert_eq!(rank.since(RankState::Computing, T(9)), T(6));
        assert_eq!(rank.since(RankState::Stopped, T(9)), T(9));
        // A process that was spawned has not started for as long as the job runs.
        observed.ranks_added(2, T(100));
        let spawned = observed.rank_mut(Rank(1));
        assert_eq!(spawned.since(RankState::Starting, T(101)), T(100));
        assert_eq!(spawned.progress_at, T(100));
    }
}

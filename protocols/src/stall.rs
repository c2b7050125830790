//! Ranks that make no progress: who waits for whom, which ranks wait for each other in a circle,
//! and when that is worth a word.
//!
//! Calling convention: [`explain`] answers a question and remembers nothing. [`StallWatch::look`]
//! gets the state of all ranks from time to time and returns what is to be said now.
//!
//! Guarantees:
//! - A deadlock is claimed only of ranks that cannot go on, whatever the others do: each of them
//!   sleeps in a call, and everything that could end its wait is among them or has ended.
//! - A rank that computes is never said to stall by itself, only if others wait for it so long.
//! - Ranks that are being restored or that move are not said to stall: their recovery is reported.
//!   A first process that does not come to `MPI_Init` counts as one that computes.
//! - The same stall is reported once, and its end once.

use ftmpi_wire::job_status::{RankState, RankStatus, WaitReason};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Why ranks do not go on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stall {
    /// These ranks wait for each other, each for the next one and the last for the first.
    Deadlock(Vec<u32>),
    /// Ranks wait for a rank that does not wait itself.
    For {
        /// That rank.
        root: u32,
        /// What it does.
        state: RankState,
        /// The ranks that wait for it, also by way of others.
        waiting: Vec<u32>,
    },
}

impl Stall {
    /// The ranks that are meant when the stall is compared with an earlier one.
    fn key(&self) -> (u32, bool) {
        match self {
            Self::Deadlock(cycle) => (cycle.iter().copied().min().unwrap_or(0), true),
            Self::For { root, .. } => (*root, false),
        }
    }
}

/// The ranks that could end the wait of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Edges {
    /// It waits for no rank.
    None,
    /// Every other rank.
    Any,
    Some(Vec<u32>),
}

impl Edges {
    fn of(rank: &RankStatus, ranks: &[RankStatus]) -> Self {
        let size = ranks.len();
        let wait = rank.wait.as_ref().filter(|_| rank.state == RankState::Waiting);
        let Some(wait) = wait else { return Self::None };
        let by_ranks =
            [WaitReason::Message, WaitReason::Send, WaitReason::Channel, WaitReason::Collective];
        if !by_ranks.contains(&wait.reason) || (wait.any_source && size < 2) {
            return Self::None;
        }
        if wait.any_source {
            return Self::Any;
        }
        let peers = wait.peers.iter().copied().filter(|peer| (*peer as usize) < size);
        // A rank that waits inside of MPI takes what is in its channels meanwhile.
        let takes = |peer: &u32| ranks[*peer as usize].state == RankState::Waiting;
        let peers: Vec<u32> =
            peers.filter(|peer| wait.reason != WaitReason::Channel || !takes(peer)).collect();
        if peers.is_empty() { Self::None } else { Self::Some(peers) }
    }

    /// The first of the ranks that could end the wait of `rank`, with this property.
    fn find(&self, rank: u32, size: usize, like: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Any => (0..size as u32).find(|peer| *peer != rank && like(*peer)),
            Self::Some(peers) => peers.iter().copied().find(|peer| like(*peer)),
        }
    }
}

/// Whether a rank can still do something for others.
fn may_act(state: RankState) -> bool {
    !matches!(state, RankState::Done | RankState::Finalizing)
}

/// Why ranks wait, deadlocks first. `ranks[n]` is rank `n`.
#[must_use]
pub fn explain(ranks: &[RankStatus]) -> Vec<Stall> {
    let edges: Vec<Edges> = ranks.iter().map(|rank| Edges::of(rank, ranks)).collect();
    let root_of = roots(ranks, &edges);
    let mut stalls: Vec<Stall> = cycles(ranks, &edges, &root_of);
    let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (rank, root) in root_of.iter().enumerate() {
        if let Some(root) = root.filter(|root| *root != rank as u32) {
            waiting.entry(root).or_default().push(rank as u32);
        }
    }
    let state = |root: u32| ranks[root as usize].state;
    stalls.extend(waiting.into_iter().map(|(root, waiting)| Stall::For {
        root,
        state: state(root),
        waiting,
    }));
    stalls
}

/// For each rank that can go on some day, the rank that must act first: itself, if it does not
/// wait. Whoever can go on is looked at once, and so is each wait for it.
fn roots(ranks: &[RankStatus], edges: &[Edges]) -> Vec<Option<u32>> {
    let mut found = Roots::new(ranks, edges);
    while let Some(peer) = found.fresh.pop_front() {
        for rank in std::mem::take(&mut found.waiters[peer as usize]) {
            found.may_go_on(rank, peer);
        }
        for rank in std::mem::take(&mut found.of_any) {
            found.may_go_on(rank, peer);
        }
    }
    found.root_of
}

/// What is known on the way to [`roots`].
struct Roots {
    root_of: Vec<Option<u32>>,
    /// How many ranks each rank needs that are not known to go on.
    missing: Vec<usize>,
    /// Who waits for each rank by name.
    waiters: Vec<Vec<u32>>,
    /// Who waits for any rank.
    of_any: Vec<u32>,
    /// They can go on, and who waits for them was not looked at yet.
    fresh: VecDeque<u32>,
}

impl Roots {
    fn new(ranks: &[RankStatus], edges: &[Edges]) -> Self {
        let size = ranks.len();
        let mut roots = Self {
            root_of: vec![None; size],
            missing: vec![1; size],
            waiters: vec![Vec::new(); size],
            of_any: Vec::new(),
            fresh: VecDeque::new(),
        };
        for (number, edge) in edges.iter().enumerate() {
            let rank = number as u32;
            let one = ranks[number].wait.as_ref().is_none_or(|wait| wait.one_is_enough);
            match edge {
                Edges::None if may_act(ranks[number].state) => {
                    roots.root_of[number] = Some(rank);
                    roots.fresh.push_back(rank);
                }
                Edges::None => {}
                Edges::Any => roots.of_any.push(rank),
                Edges::Some(peers) => {
                    let peers: BTreeSet<u32> = peers.iter().copied().collect();
                    roots.missing[number] = if one { 1 } else { peers.len() };
                    peers.iter().for_each(|peer| roots.waiters[*peer as usize].push(rank));
                }
            }
        }
        roots
    }

    /// One of the ranks that this rank waits for can go on.
    fn may_go_on(&mut self, rank: u32, peer: u32) {
        let number = rank as usize;
        if self.root_of[number].is_some() {
            return;
        }
        self.missing[number] -= 1;
        if self.missing[number] == 0 {
            self.root_of[number] = self.root_of[peer as usize];
            self.fresh.push_back(rank);
        }
    }
}

/// The ranks that can never go on: cycles of them, and those that wait for a rank that has ended.
/// Each rank is passed once, whatever the number of those that lead to it.
fn cycles(ranks: &[RankStatus], edges: &[Edges], root_of: &[Option<u32>]) -> Vec<Stall> {
    let size = ranks.len();
    let stuck = |rank: u32| root_of[rank as usize].is_none();
    let mut found: BTreeSet<Stall> = BTreeSet::new();
    let mut behind: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    // The walk that met a rank first, and the rank that has ended to which its walk led.
    let mut met_by: Vec<Option<u32>> = vec![None; size];
    let mut end_of: Vec<Option<u32>> = vec![None; size];
    for begin in (0..size as u32).filter(|rank| stuck(*rank)) {
        let (mut path, mut at) = (Vec::new(), begin);
        let end = loop {
            match met_by[at as usize] {
                Some(walk) if walk == begin => {
                    let place = path.iter().position(|rank| *rank == at).unwrap_or(0);
                    let mut cycle = path[place..].to_vec();
                    let least = cycle.iter().enumerate().min_by_key(|(_, rank)| **rank);
                    let turn = least.map_or(0, |(place, _)| place);
                    cycle.rotate_left(turn);
                    found.insert(Stall::Deadlock(cycle));
                    break None;
                }
                Some(_) => break end_of[at as usize],
                None => {}
            }
            met_by[at as usize] = Some(begin);
            path.push(at);
            let edge = &edges[at as usize];
            if *edge == Edges::None {
                // It has ended, or is about to.
                break Some(at);
            }
            let Some(next) = edge.find(at, size, stuck) else { break None };
            at = next;
        };
        path.iter().for_each(|rank| end_of[*rank as usize] = end);
        if let Some(end) = end.filter(|end| *end != begin) {
            behind.entry(end).or_default().push(begin);
        }
    }
    let ended = behind.into_iter().map(|(root, waiting)| Stall::For {
        root,
        state: ranks[root as usize].state,
        waiting,
    });
    found.into_iter().chain(ended).collect()
}

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StallNews {
    /// Nothing has gone on for so long.
    Begins(Stall),
    /// A rank was stopped, and nobody waits for it.
    Stopped(u32),
    /// A stall that was reported is over.
    Ends {
        /// The rank that goes on.
        rank: u32,
    },
}

/// Notices stalls.
#[derive(Debug)]
pub struct StallWatch {
    limit: Duration,
    told: BTreeMap<(u32, bool), bool>,
}

impl StallWatch {
    /// Reports what has lasted for `limit`; zero: nothing is ever reported.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { limit, told: BTreeMap::new() }
    }

    /// The state of all ranks now.
    pub fn look(&mut self, ranks: &[RankStatus]) -> Vec<StallNews> {
        if self.limit.is_zero() {
            return Vec::new();
        }
        let limit = self.limit.as_secs_f64();
        let mut news = Vec::new();
        let mut present = BTreeSet::new();
        let long = |rank: &u32| waits_long(&ranks[*rank as usize], limit);
        let recovers = ranks.iter().any(|rank| is_recovering(rank, limit));
        // Who waits for whom matters once somebody has waited for long, and until it is over.
        let matters = !self.told.is_empty() || ranks.iter().any(|rank| waits_long(rank, limit));
        let stalls = if recovers || !matters { Vec::new() } else { explain(ranks) };
        for stall in stalls {
            let last = match &stall {
                Stall::Deadlock(cycle) => cycle.iter().all(long),
                Stall::For { waiting, .. } => waiting.iter().any(long),
            };
            let key = stall.key();
            if last || self.told.contains_key(&key) {
                present.insert(key);
            }
            if last && self.told.insert(key, true).is_none() {
                news.push(StallNews::Begins(stall));
            }
        }
        for rank in ranks.iter().filter(|rank| rank.state == RankState::Stopped) {
            let key = (rank.rank, false);
            if rank.state_s >= limit {
                present.insert(key);
                if self.told.insert(key, true).is_none() {
                    news.push(StallNews::Stopped(rank.rank));
                }
            } else if self.told.contains_key(&key) {
                present.insert(key);
            }
        }
        if !recovers {
            let over: Vec<(u32, bool)> =
                self.told.keys().filter(|key| !present.contains(key)).copied().collect();
            for key in over {
                self.told.remove(&key);
                news.push(StallNews::Ends { rank: key.0 });
            }
        }
        news
    }
}

fn waits_long(rank: &RankStatus, limit: f64) -> bool {
    rank.wait.as_ref().is_some_and(|wait| wait.since_s >= limit)
}

fn is_recovering(rank: &RankStatus, limit: f64) -> bool {
    match rank.state {
        // A program that does not come to MPI_Init is what others wait for.
        RankState::Starting => rank.state_s < limit,
        RankState::WaitsForHost
        | RankState::Restoring
        | RankState::CatchingUp
        | RankState::Ending => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::job_status::Wait;

    fn rank(number: u32, state: RankState) -> RankStatus {
        RankStatus {
            rank: number,
            host: "h".into(),
            incarnation: 0,
            pid: None,
            state,
            state_s: 0.0,
            wait: None,
            idle_s: 0.0,
            image: None,
            taking_image_s: None,
            log_bytes: 0,
            log_limit_bytes: None,
            messages_sent: 0,
            messages_received: 0,
            bytes_sent: 0,
            bytes_received: 0,
            failures: 0,
            standby: None,
        }
    }

    fn waits(number: u32, peers: &[u32], since_s: f64) -> RankStatus {
        let wait = Wait {
            call: Some("MPI_Recv".into()),
            reason: WaitReason::Message,
            peers: peers.to_vec(),
            any_source: peers.is_empty(),
            one_is_enough: peers.is_empty(),
            tag: None,
            since_s,
        };
        RankStatus { wait: Some(wait), ..rank(number, RankState::Waiting) }
    }

    fn computes(number: u32) -> RankStatus {
        rank(number, RankState::Computing)
    }

    #[test]
    fn a_circle_of_waits_is_a_deadlock_and_the_ranks_behind_it_are_not_in_it() {
        let ranks = [waits(0, &[1], 9.0), waits(1, &[2], 9.0), waits(2, &[1], 9.0)];
        assert_eq!(explain(&ranks), [Stall::Deadlock(vec![1, 2])]);
    }

    #[test]
    fn any_source_is_no_deadlock_while_one_rank_can_act() {
        let ranks = [waits(0, &[], 9.0), waits(1, &[0], 9.0), computes(2)];
        let expected = Stall::For { root: 2, state: RankState::Computing, waiting: vec![0, 1] };
        assert_eq!(explain(&ranks), [expected]);
        let ranks = [waits(0, &[], 9.0), waits(1, &[0], 9.0), waits(2, &[0], 9.0)];
        assert_eq!(explain(&ranks), [Stall::Deadlock(vec![0, 1])]);
    }

    #[test]
    fn who_waits_for_a_rank_that_has_ended_waits_for_ever() {
        let ranks = [waits(0, &[1], 9.0), rank(1, RankState::Finalizing)];
        let expected = Stall::For { root: 1, state: RankState::Finalizing, waiting: vec![0] };
        assert_eq!(explain(&ranks), [expected]);
    }

    #[test]
    fn what_no_rank_can_end_is_not_blamed_on_one() {
        let mut logger = waits(0, &[1], 9.0);
        logger.wait.as_mut().unwrap().reason = WaitReason::EventLogger;
        let expected = Stall::For { root: 0, state: RankState::Waiting, waiting: vec![1] };
        assert_eq!(explain(&[logger, waits(1, &[0], 9.0)]), [expected]);
    }

    #[test]
    fn what_is_in_a_channel_is_taken_by_whoever_waits_inside_of_mpi() {
        let mut sends = waits(0, &[1], 9.0);
        sends.wait.as_mut().unwrap().reason = WaitReason::Channel;
        let expected = Stall::For { root: 0, state: RankState::Waiting, waiting: vec![1] };
        assert_eq!(explain(&[sends.clone(), waits(1, &[0], 9.0)]), [expected]);
        let expected = Stall::For { root: 1, state: RankState::Computing, waiting: vec![0] };
        assert_eq!(explain(&[sends, computes(1)]), [expected]);
    }

    #[test]
    fn large_rings_and_long_rows_of_waits_are_explained_at_once() {
        let begin = std::time::Instant::now();
        let size = 4000;
        let ring: Vec<RankStatus> =
            (0..size).map(|rank| waits(rank, &[(rank + 1) % size], 9.0)).collect();
        assert_eq!(explain(&ring), [Stall::Deadlock((0..size).collect())]);
        let mut row = ring.clone();
        row[size as usize - 1] = computes(size - 1);
        let waiting = (0..size - 1).collect();
        let busy = Stall::For { root: size - 1, state: RankState::Computing, waiting };
        assert_eq!(explain(&row), [busy]);
        row[size as usize - 1] = rank(size - 1, RankState::Done);
        let waiting = (0..size - 1).collect();
        let ended = Stall::For { root: size - 1, state: RankState::Done, waiting };
        assert_eq!(explain(&row), [ended]);
        let any: Vec<RankStatus> = (0..size).map(|rank| waits(rank, &[], 9.0)).collect();
        assert_eq!(explain(&any), [Stall::Deadlock(vec![0, 1])]);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }

    #[test]
    fn all_that_a_wait_needs_must_be_able_to_go_on_unless_one_is_enough() {
        let both = waits(0, &[1, 2], 9.0);
        let mut one = both.clone();
        one.wait.as_mut().unwrap().one_is_enough = true;
        let others = [waits(1, &[0], 9.0), computes(2)];
        let ranks = |first: RankStatus| [&[first][..], &others].concat();
        assert_eq!(explain(&ranks(both)), [Stall::Deadlock(vec![0, 1])]);
        let expected = Stall::For { root: 2, state: RankState::Computing, waiting: vec![0, 1] };
        assert_eq!(explain(&ranks(one)), [expected]);
    }

    #[test]
    fn a_peer_that_does_not_exist_is_no_reason_to_panic() {
        assert_eq!(explain(&[waits(0, &[70], 9.0)]), []);
    }

    #[test]
    fn a_stall_is_told_once_and_its_end_once() {
        let mut watch = StallWatch::new(Duration::from_secs(60));
        let at = |since| [waits(0, &[1], since), waits(1, &[0], since)];
        assert_eq!(watch.look(&at(59.0)), []);
        let told = watch.look(&at(61.0));
        assert_eq!(told, [StallNews::Begins(Stall::Deadlock(vec![0, 1]))]);
        assert_eq!(watch.look(&at(62.0)), []);
        let over = watch.look(&[computes(0), computes(1)]);
        assert_eq!(over, [StallNews::Ends { rank: 0 }]);
        assert_eq!(watch.look(&[computes(0), computes(1)]), []);
    }

    #[test]
    fn a_stopped_rank_is_told_with_and_without_ranks_that_wait() {
        let mut watch = StallWatch::new(Duration::from_secs(10));
        let stopped = RankStatus { state_s: 11.0, ..rank(1, RankState::Stopped) };
        let told = watch.look(&[computes(0), stopped.clone()]);
        assert_eq!(told, [StallNews::Stopped(1)]);
        let mut watch = StallWatch::new(Duration::from_secs(10));
        let told = watch.look(&[waits(0, &[1], 11.0), stopped]);
        let expected = Stall::For { root: 1, state: RankState::Stopped, waiting: vec![0] };
        assert_eq!(told, [StallNews::Begins(expected)], "in one line");
    }

    #[test]
    fn a_rank_that_computes_for_long_is_no_stall_until_others_wait_as_long() {
        let mut watch = StallWatch::new(Duration::from_secs(10));
        let busy = RankStatus { state_s: 1000.0, idle_s: 1000.0, ..computes(1) };
        assert_eq!(watch.look(&[waits(0, &[1], 9.0), busy.clone()]), []);
        assert_eq!(watch.look(&[waits(0, &[1], 10.0), busy]).len(), 1);
        assert_eq!(StallWatch::new(Duration::ZERO).look(&[waits(0, &[0], 99.0)]), []);
    }

    #[test]
    fn a_rank_that_does_not_come_to_mpi_init_hides_no_stall() {
        let mut watch = StallWatch::new(Duration::from_secs(10));
        let starting = |state_s| RankStatus { state_s, ..rank(1, RankState::Starting) };
        assert_eq!(watch.look(&[waits(0, &[1], 50.0), starting(9.0)]), []);
        let expected = Stall::For { root: 1, state: RankState::Starting, waiting: vec![0] };
        let told = watch.look(&[waits(0, &[1], 50.0), starting(11.0)]);
        assert_eq!(told, [StallNews::Begins(expected)]);
        // Others have their deadlock beside a process that never calls MPI.
        let ranks = [waits(0, &[2], 50.0), starting(99.0), waits(2, &[0], 50.0)];
        let told = StallWatch::new(Duration::from_secs(10)).look(&ranks);
        assert_eq!(told, [StallNews::Begins(Stall::Deadlock(vec![0, 2]))]);
    }

    #[test]
    fn recovery_is_no_stall() {
        let mut watch = StallWatch::new(Duration::from_secs(10));
        let ranks = [waits(0, &[1], 50.0), rank(1, RankState::Restoring)];
        assert_eq!(watch.look(&ranks), []);
    }
}

//! What a split network does to ranks: two hosts do not reach each other, and the launcher reaches
//! both.
//!
//! The [judge](crate::judge) hears which host could be left, and says what is done: the ranks of
//! that host move to hosts that reach all others, or the job ends and can be continued. It ends,
//! too, where no host reaches all. A rank moves when its old incarnation has ended, as all ranks do
//! (`moves`).
//!
//! Guarantees: a cut between hosts with ranks is never without an answer. No rank moves because of
//! it to a host that is cut off from a host with ranks. Moving is looked at again whenever
//! something has changed, so a second cut meanwhile is answered as well. It counts as one restart.

use super::Dispatcher;
use super::failures::Failed;
use super::messages::Failure;
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::{RankState, Stage};
use super::suspend::SUSPENDED;
use crate::judge::{Fact, Named, Recovery};
use ftmpi_wire::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Something about the network or a silent server that the user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkNotice {
    /// Two hosts do not reach each other, and both are up.
    Cut {
        /// Their names.
        hosts: [String; 2],
        /// One line.
        why: String,
    },
    /// They reach each other again.
    CutMended {
        /// Their names.
        hosts: [String; 2],
    },
    /// Ranks move away from one of two hosts that do not reach each other.
    MovedAway {
        /// The ranks.
        ranks: Vec<Rank>,
        /// Their host.
        host: String,
        /// Their new hosts.
        to: Vec<String>,
        /// What the judge named.
        named: Named,
    },
    /// A server does not answer.
    ServerAway {
        /// The name of the server.
        server: String,
        /// One line.
        why: String,
        /// How long the job waits.
        patience: Duration,
    },
    /// It answers again.
    ServerBack {
        /// The name of the server.
        server: String,
    },
}

/// Why the network, or a silent server, ends a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkEnd {
    /// Two hosts do not reach each other, and no host reaches all that have ranks.
    NoWayRound {
        /// Their names.
        hosts: [String; 2],
        /// One line.
        why: String,
    },
    /// Two hosts do not reach each other, and the protocol moves nothing.
    CutForGood {
        /// Their names.
        hosts: [String; 2],
        /// One line.
        why: String,
        /// Name of the protocol.
        protocol: String,
    },
    /// A server did not answer for too long.
    ServerLost {
        /// The name of the server.
        server: String,
        /// One line.
        why: String,
        /// How long the job waited.
        patience: Duration,
    },
}

/// Two hosts, the lower index first.
type Pair = (u32, u32);

fn pair([a, b]: [u32; 2]) -> Pair {
    (a.min(b), a.max(b))
}

/// The cuts of a network.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    cuts: BTreeMap<Pair, String>,
}

impl Cuts {
    fn between(&self, a: u32, b: u32) -> bool {
        self.cuts.contains_key(&pair([a, b]))
    }

    /// Whether a host reaches all of these.
    fn reaches_all(&self, host: u32, others: &BTreeSet<u32>) -> bool {
        !others.iter().any(|other| self.between(host, *other))
    }
}

impl Dispatcher {
    /// Two hosts do not reach each other, and the launcher hears both.
    pub(super) fn cut(&mut self, hosts: [u32; 2], why: String) {
        let both_up = hosts.iter().all(|host| self.hosts.is_up(*host));
        if !both_up || self.cuts.cuts.contains_key(&pair(hosts)) {
            return;
        }
        let names = self.names(pair(hosts));
        self.notify(Notice::Network(NetworkNotice::Cut { hosts: names, why: why.clone() }));
        self.cuts.cuts.insert(pair(hosts), why);
        self.look_at_cuts();
    }

    /// They reach each other again.
    pub(super) fn cut_mended(&mut self, hosts: [u32; 2]) {
        if self.cuts.cuts.remove(&pair(hosts)).is_some() {
            let hosts = self.names(pair(hosts));
            self.notify(Notice::Network(NetworkNotice::CutMended { hosts }));
        }
    }

    /// A host is lost: whom it reaches is of no interest now. Its ranks wait for it, or move as
    /// those of every lost host.
    pub(super) fn forget_cuts(&mut self, host: u32) {
        self.cuts.cuts.retain(|&(a, b), _| a != host && b != host);
        for state in &mut self.ranks {
            let stays = state.moves_to.take_if(|to| state.host == host || *to == host);
            if let Some(to) = stays.filter(|_| !state.without_slot) {
                self.hosts.moved(to, state.host);
            }
        }
    }

    /// Answers a cut between hosts that both have ranks.
    pub(super) fn look_at_cuts(&mut self) {
        let moves = |s: &RankState| {
            s.moves_to.is_some() && !matches!(s.stage, Stage::Done(_) | Stage::Ignored)
        };
        let moving = self.ranks.iter().any(moves);
        let busy = moving || self.clusters.iter().any(|c| c.is_rolling());
        if self.cuts.cuts.is_empty() || busy || self.ended || self.all_exiting {
            return;
        }
        let with_ranks = self.hosts_with_ranks();
        let split = self.cuts.cuts.iter().find(|((a, b), _)| {
            [a, b].into_iter().all(|host| self.hosts.is_up(*host) && with_ranks.contains(host))
        });
        let Some((&(a, b), why)) = split else { return };
        let (hosts, why) = (self.names((a, b)), why.clone());
        if !self.settings.traits.is_fault_tolerant() {
            let protocol = self.settings.protocol.clone();
            let reason = NetworkEnd::CutForGood { hosts, why, protocol };
            return self.give_up(1, EndReason::Network(reason));
        }
        // A host that is cut off from several others is at fault; else the move of few ranks costs
        // less.
        let blame = |host: u32| {
            let others = with_ranks.iter().filter(|other| self.cuts.between(host, **other));
            (others.count(), std::cmp::Reverse(self.ranks_of(host).len()), host)
        };
        let mut ends = [a, b];
        ends.sort_by_key(|host| std::cmp::Reverse(blame(*host)));
        let way = ends.into_iter().find_map(|host| Some((host, self.targets(host, &with_ranks)?)));
        let leaves = way.as_ref().map(|(host, _)| *host);
        let Some(verdict) = self.ask(&Fact::Cut { a, b, leaves }) else { return };
        let named = verdict.named;
        match way {
            None => {
                self.give_up(SUSPENDED, EndReason::Network(NetworkEnd::NoWayRound { hosts, why }));
            }
            Some(_) if named.recovery == Recovery::GiveUp => {
                let (cause, ground) = (Cause::Cut { hosts }, verdict.ground);
                self.give_up(SUSPENDED, EndReason::Judged { cause, ground, named });
            }
            Some((leaving, targets)) => self.leave(leaving, &targets, hosts, named),
        }
    }

    /// Hosts with ranks that have not ended.
    fn hosts_with_ranks(&self) -> BTreeSet<u32> {
        let over = |state: &RankState| matches!(state.stage, Stage::Done(_) | Stage::Ignored);
        let alive = self.ranks.iter().filter(|state| !over(state));
        alive.map(|state| state.host).collect()
    }

    /// All ranks of a host. A rank that has ended may have to return, one that was dropped not.
    fn ranks_of(&self, host: u32) -> Vec<Rank> {
        let here = |state: &RankState| state.host == host && state.stage != Stage::Ignored;
        let ranks = self.ranks.iter().enumerate().filter(|(_, state)| here(state));
        ranks.map(|(rank, _)| Rank(rank as u32)).collect()
    }

    /// New hosts for the ranks of a host: each reaches all others.
    fn targets(&self, leaving: u32, with_ranks: &BTreeSet<u32>) -> Option<Vec<(Rank, u32)>> {
        let mut staying = with_ranks.clone();
        staying.remove(&leaving);
        let ranks = self.ranks_of(leaving);
        let mut more: BTreeMap<u32, u32> = BTreeMap::new();
        let mut targets = Vec::new();
        for rank in ranks {
            let known = targets.first().map(|&(_, host)| host).filter(|_| self.settings.together);
            let fits = |host: u32| {
                host != leaving && self.hosts.is_up(host) && self.cuts.reaches_all(host, &staying)
            };
            let to = known.or_else(|| self.hosts.least_loaded_of(&more, fits))?;
            staying.insert(to);
            *more.entry(to).or_default() += 1;
            targets.push((rank, to));
        }
        Some(targets)
    }

    /// The ranks of a host end there and begin elsewhere.
    fn leave(&mut self, leaving: u32, targets: &[(Rank, u32)], hosts: [String; 2], named: Named) {
        let names: BTreeSet<&str> =
            targets.iter().map(|(_, to)| self.settings.hosts[*to as usize].as_str()).collect();
        let notice = NetworkNotice::MovedAway {
            ranks: targets.iter().map(|(rank, _)| *rank).collect(),
            host: self.settings.hosts[leaving as usize].clone(),
            to: names.into_iter().map(str::to_owned).collect(),
            named,
        };
        self.notify(Notice::Network(notice));
        let cause = Cause::Cut { hosts };
        for &(rank, to) in targets {
            self.begins_next_on(rank, to);
            if matches!(self.ranks[rank.index()].stage, Stage::Waiting | Stage::Done(_)) {
                self.is_there(rank);
            }
        }
        if self.in_waves() {
            let mut clusters: BTreeMap<usize, Vec<Rank>> = BTreeMap::new();
            for &(rank, _) in targets {
                if let Some(cluster) = self.cluster_of(rank) {
                    clusters.entry(cluster).or_default().push(rank);
                }
            }
            let failed = Failed { cause, named: Some(named), code: 1 };
            if !self.count_failure(&failed.cause, 1) {
                return;
            }
            for (cluster, ranks) in clusters {
                if !self.ended {
                    self.roll_back_living_counted(cluster, &ranks, &failed);
                }
            }
            return;
        }
        if !self.count_failure(&cause, 1) {
            return;
        }
        for &(rank, _) in targets {
            self.end_to_move(rank, &cause, named);
        }
        self.bring_back_who_left();
    }

    /// Ends the incarnation of a rank whose next one begins elsewhere.
    fn end_to_move(&mut self, rank: Rank, cause: &Cause, named: Named) {
        let (stage, incarnation) = {
            let state = &self.ranks[rank.index()];
            (state.stage, state.incarnation)
        };
        match stage {
            Stage::Waiting if self.hosts.is_up(self.ranks[rank.index()].host) => {
                self.announce_and_start(rank);
            }
            Stage::Starting | Stage::Spawned | Stage::Running => {
                let failure = Failure::now(rank, incarnation.next(), self.now, cause.clone());
                self.failures.push(failure.judged(Some(named)));
                self.end_one(rank);
            }
            Stage::Waiting | Stage::Stopping | Stage::Done(_) | Stage::Ignored => {}
        }
    }

    fn names(&self, (a, b): Pair) -> [String; 2] {
        [a, b].map(|host| self.settings.hosts[host as usize].clone())
    }
}

//! Orphans: ranks that live but depend on what a failed rank lost (optimistic logging). An orphan
//! finds out itself and ends its incarnation; the dispatcher gives it another one.
//!
//! Guarantees:
//! - Only the rank that reported is ended, and only the incarnation that reported. Its next
//!   incarnation is announced when the old one has ended, and begins from the newest image, as
//!   after a failure. No image is an orphan.
//! - An orphan is no failure, and no restart that counts against a limit.
//! - Where images are taken in waves, the cluster of the orphan returns with it, as after a
//!   failure. Only a cluster peer can send its messages again, and its present state may already
//!   have sent them.
//!
//! A rank may also report that its image had less of its sender log than a peer needs. (The peer
//! began from its older image, because the newest was damaged.) That rank returns to its own older
//! image in the same way, its newer images are given up, and from there on it sends again. A rank
//! without another image ends the job.

use super::Dispatcher;
use super::failures::Failed;
use super::messages::Failure;
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::Stage;
use ftmpi_wire::{ImageNo, Incarnation, Rank};

impl Dispatcher {
    /// Incarnations that were rolled back so far.
    #[must_use]
    pub fn orphans(&self) -> &[Failure] {
        &self.orphans
    }

    pub(super) fn orphan(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        why: &str,
        before: Option<ImageNo>,
    ) {
        if self.living(rank, incarnation).is_none() {
            return;
        }
        let host = self.host_name(rank).to_owned();
        let orphan = Cause::Orphan { why: why.to_owned() };
        let failure = Failure::now(rank, incarnation.next(), self.now, orphan.clone());
        if let Some(cluster) = self.cluster_of(rank) {
            if let Some(image) = before {
                self.clusters[cluster].waves.condemn_from(image);
            }
            self.orphans.push(failure);
            let cause = self.of_rank(rank, orphan);
            if self.return_cluster(cluster, &[], &Failed { cause, named: None, code: 1 }) {
                self.go_on(cluster);
            }
            return;
        }
        let images = &mut self.ranks[rank.index()].images;
        if let Some(image) = before {
            images.condemn_from(image);
            if images.newest().is_none() && !images.reach_back_to_the_start() {
                let why = why.to_owned();
                return self.give_up(1, EndReason::NoOlderImage { rank, host, why });
            }
        }
        let (image, why) = (self.ranks[rank.index()].images.newest(), why.to_owned());
        self.notify(Notice::RollsBack { rank, host, why, image });
        self.orphans.push(failure);
        self.end_one(rank);
        self.bring_back_who_left();
    }

    /// An incarnation that was to end has ended, or will never begin.
    pub(super) fn stopped(&mut self, rank: Rank) {
        self.is_stopped(rank);
        match self.cluster_of(rank) {
            Some(cluster) => self.go_on(cluster),
            None if matches!(self.ranks[rank.index()].stage, Stage::Done(_)) => {}
            None => self.begins_alone(rank),
        }
    }

    /// Its old incarnation has ended: it was an orphan, or it moves.
    fn begins_alone(&mut self, rank: Rank) {
        if self.hosts.is_up(self.ranks[rank.index()].host) {
            self.announce_and_start(rank);
        }
    }
}

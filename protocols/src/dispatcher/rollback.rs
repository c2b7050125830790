//! Jobs whose images are taken in waves: the waves of each cluster of ranks, and the return of a
//! cluster to its last complete wave. (Of a coordinated job all ranks are one cluster.)
//!
//! Guarantees:
//! - No new incarnation of a cluster begins before every old one has ended. No message of a state
//!   that was given up can therefore meet the new one, and all output of the old incarnations is
//!   out.
//!   (A rank that dies before it has said hello has met nobody: it begins again alone.)
//! - All ranks of the cluster return to the same wave, and no other rank does. A failure on the way
//!   makes the return begin again. Ranks that were not in the wave end ([`worlds`](super::worlds)).
//! - A wave begins only while every rank of the cluster is in its program and has repeated what it
//!   had to.

use super::Dispatcher;
use super::failures::Failed;
use super::messages::{Command, Failure, ImageFacts, Past};
use super::notice::{Cause, EndReason, Notice};
use super::rank_state::Stage;
use crate::scheduler::scheduler_process::Note;
use crate::tuning::{LOST_CHANNEL_PATIENCE, WAVES_IN_VAIN, WITHOUT_WAVES_INTERVALS};
use crate::waves::{Over, Waves};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::Duration;

/// A channel that broke: two ranks and their incarnations.
pub(super) type LostChannel = [(Rank, Incarnation); 2];

/// Ranks that return together.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) waves: Waves,
    /// They are returning, and not all old incarnations have ended.
    rolling: bool,
    /// Waves without an image of some rank, since the last complete one.
    pub(super) void_in_row: u32,
    /// Channels between two of them, which nothing but a return repairs, in the order of their
    /// loss.
    lost_channels: Vec<(Duration, LostChannel)>,
}

impl Cluster {
    /// These ranks, which are at their start.
    pub(super) fn of(ranks: Vec<Rank>) -> Self {
        let (waves, lost_channels) = (Waves::of(ranks), Vec::new());
        Self { waves, rolling: false, void_in_row: 0, lost_channels }
    }

    /// Whether its ranks are returning.
    pub(super) fn is_rolling(&self) -> bool {
        self.rolling
    }
}

/// From the name of each rank's cluster: the clusters, and the place of each rank's among them.
pub(super) fn clusters(of: &[u32]) -> (Vec<Cluster>, Vec<usize>) {
    let mut ranks: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
    for (rank, cluster) in of.iter().enumerate() {
        ranks.entry(*cluster).or_default().push(Rank(rank as u32));
    }
    let places: BTreeMap<u32, usize> =
        ranks.keys().enumerate().map(|(place, name)| (*name, place)).collect();
    let clusters = ranks.into_values().map(Cluster::of).collect();
    (clusters, of.iter().map(|name| places[name]).collect())
}

impl Dispatcher {
    /// Are images taken in waves?
    pub(super) fn in_waves(&self) -> bool {
        !self.clusters.is_empty()
    }

    /// The cluster that returns when this rank fails, if not only the rank itself does.
    pub(super) fn cluster_of(&self, rank: Rank) -> Option<usize> {
        self.cluster_places.get(rank.index()).copied()
    }

    /// Is this rank returning?
    pub(super) fn is_rolling(&self, rank: Rank) -> bool {
        self.cluster_of(rank).is_some_and(|cluster| self.clusters[cluster].rolling)
    }

    /// As an earlier run of the job left them.
    pub(super) fn waves_found(&mut self, past: &[Past]) {
        let images: Vec<_> = past.iter().map(|rank| (rank.images.clone(), rank.highest)).collect();
        for cluster in &mut self.clusters {
            let ranks = cluster.waves.ranks().to_vec();
            let start_offered = ranks.iter().all(|rank| past[rank.index()].start_offered);
            cluster.waves = Waves::found(ranks, &images, start_offered);
        }
    }

    /// The image from which a new incarnation of this rank would begin, if it can be read.
    #[must_use]
    pub fn newest(&self, rank: Rank) -> Option<ImageFacts> {
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.image_of(rank),
            None => self.ranks[rank.index()].images.newest_first().first().copied(),
        }
    }

    /// The oldest image from which a new incarnation of this rank may have to begin: logs must
    /// reach back to it. None: they reach back to the rank's beginning.
    #[must_use]
    pub fn oldest(&self, rank: Rank) -> Option<ImageNo> {
        match self.cluster_of(rank) {
            Some(cluster) => self.clusters[cluster].waves.oldest(),
            None => self.ranks[rank.index()].images.oldest(),
        }
    }

    /// Whether a new incarnation of this rank could also begin from something else than its newest
    /// image.
    #[must_use]
    pub fn can_do_without_newest(&self, rank: Rank) -> bool {
        match self.cluster_of(rank) {
            Some(cluster) => {
                let waves = &self.clusters[cluster].waves;
                waves.count() > 1
                    || !self.settings.traits.replays()
                    || waves.can_return_to_the_start()
            }
            None => {
                let images = &self.ranks[rank.index()].images;
                images.newest_first().len() > 1 || images.reach_back_to_the_start()
            }
        }
    }

    // ---- waves --------------------------------------------------------------------------------

    fn can_join_wave(&self, rank: Rank) -> bool {
        let state = &self.ranks[rank.index()];
        // A rank that still repeats may need what another sends after its image. A world begins
        // without a wave, also where its answer is on the way already.
        (state.can_take_image() || self.waits_for_other_worlds(rank))
            && !state.behind
            && !self.is_unborn(rank)
    }

    /// Begins the waves that are due.
    pub(super) fn look_for_waves(&mut self) {
        let owes: Vec<bool> =
            (0..self.ranks.len() as u32).map(|rank| self.owes_last_image(Rank(rank))).collect();
        let able: Vec<bool> =
            (0..self.ranks.len() as u32).map(|rank| self.can_join_wave(Rank(rank))).collect();
        let Some(scheduler) = &mut self.scheduler else { return };
        let ready = |cluster: &Cluster| {
            !cluster.rolling
                && cluster.waves.ranks().iter().any(|rank| owes[rank.index()])
                && !cluster.waves.is_under_way()
                && cluster.waves.ranks().iter().all(|rank| able[rank.index()])
        };
        let numbered = self.clusters.iter().enumerate();
        let ready = numbered.filter(|(_, cluster)| ready(cluster)).map(|(n, _)| n as u32).collect();
        let due = scheduler.waves_due(self.now, ready);
        let under_way = self.clusters.iter().any(|cluster| cluster.waves.is_under_way());
        let is_due = scheduler.wave_is_due(self.now, 0) && due.is_empty() && !under_way;
        self.wave_due_since = is_due.then(|| self.wave_due_since.unwrap_or(self.now));
        for number in due {
            let ranks = self.clusters[number as usize].waves.ranks().to_vec();
            self.images_of_worlds(&ranks);
            let cluster = &mut self.clusters[number as usize];
            let (image, keep) = (cluster.waves.begin(self.now), Some(cluster.waves.kept()));
            for &rank in cluster.waves.ranks() {
                let incarnation = self.ranks[rank.index()].incarnation;
                self.commands.push_back(Command::TakeImage { rank, incarnation, image, keep });
            }
        }
    }

    /// A process that does not call `MPI_Init` while others of its cluster are in MPI keeps waves
    /// from beginning. It may be no MPI program at all: that is reported, once.
    pub(super) fn look_for_ranks_outside(&mut self) {
        let Some(images) = &self.settings.images else { return };
        let patience = images.interval * WITHOUT_WAVES_INTERVALS;
        let is_outside = |rank: &&Rank| {
            let state = &self.ranks[rank.index()];
            // A rank that has an image has been in MPI: it is on its way back.
            state.stage == Stage::Spawned && !state.joined && state.images.newest().is_none()
        };
        let outside = self.clusters.iter().find_map(|cluster| {
            let ranks = cluster.waves.ranks();
            let some_joined = ranks.iter().any(|rank| self.ranks[rank.index()].joined);
            ranks.iter().find(is_outside).filter(|_| some_joined).copied()
        });
        let Some(rank) = outside.filter(|_| !self.without_waves_reported) else {
            self.without_waves_at = None;
            return;
        };
        if self.now > *self.without_waves_at.get_or_insert(self.now) + patience {
            self.without_waves_reported = true;
            self.notify(Notice::WithoutWaves { rank });
        }
    }

    pub(super) fn wave_image_committed(&mut self, rank: Rank, image: ImageFacts) {
        let Some(cluster) = self.cluster_of(rank) else { return };
        let waves = &mut self.clusters[cluster].waves;
        let (mut stored, over) = (waves.stored(), waves.committed(self.now, rank, image));
        stored.push(rank);
        self.wave_over(cluster, over, &stored);
    }

    pub(super) fn wave_image_failed(&mut self, rank: Rank, image: ImageNo) {
        let Some(cluster) = self.cluster_of(rank) else { return };
        let waves = &mut self.clusters[cluster].waves;
        let (stored, over) = (waves.stored(), waves.failed(self.now, rank, image));
        self.wave_over(cluster, over, &stored);
    }

    /// Every rank was heard about a wave, of which these have stored an image.
    pub(super) fn wave_over(&mut self, cluster: usize, over: Option<Over>, stored: &[Rank]) {
        let Some(over) = over else { return };
        self.note(Note::WaveEnded(cluster as u32));
        if let Some(mut oldest) = over.complete {
            // Another cluster may have the trouble still.
            let here = self.clusters[cluster].waves.ranks().to_vec();
            self.image_trouble.take_if(|told| here.contains(told));
            self.clusters[cluster].void_in_row = 0;
            let (image, waves) = (over.wave, &self.clusters[cluster].waves);
            if self.settings.traits.replays() {
                oldest = waves.reach(oldest);
            }
            for &rank in waves.ranks() {
                self.judge.progressed(rank);
                let incarnation = self.ranks[rank.index()].incarnation;
                let command = Command::ImageCommitted { rank, incarnation, image, oldest };
                self.commands.push_back(command);
            }
            self.forget_worlds(cluster);
        }
        if over.complete.is_none() {
            self.clusters[cluster].void_in_row += 1;
            for rank in self.clusters[cluster].waves.ranks().to_vec() {
                self.last_image_failed(rank, over.wave, "another rank has no image in its wave");
            }
            for &rank in stored {
                self.image_wasted(rank, over.wave);
            }
            if let Some(first) = self.clusters[cluster].waves.ranks().first().copied() {
                self.migration_image_failed(first, over.wave, "a rank has no image in its wave");
            }
        }
        self.commands.push_back(Command::WaveOver(over));
        if self.has_several_worlds() {
            // Worlds that wait in `MPI_Finalize` may have waited for the wave.
            self.look_at_barriers();
        }
    }

    /// This rank has no image, because another rank of its cluster has none. Where logs of others
    /// wait for images of this rank, the rank must know that it may have none to expect.
    fn image_wasted(&mut self, rank: Rank, image: ImageNo) {
        if self.settings.traits.replays() {
            let incarnation = self.ranks[rank.index()].incarnation;
            self.commands.push_back(Command::ImageFailed { rank, incarnation, image });
        }
    }

    /// A sender log is full. Ranks of a cluster in which no image of some rank can be taken, or in
    /// which none was taken several times in a row, have no images to expect soon: that counts as
    /// an image that was wasted.
    pub(super) fn log_full(&mut self) {
        let is_running = |rank: &&Rank| self.ranks[rank.index()].stage == Stage::Running;
        let can_image = |rank: &&Rank| self.ranks[rank.index()].can_image;
        let mut wasted = Vec::new();
        for cluster in &self.clusters {
            let running: Vec<&Rank> = cluster.waves.ranks().iter().filter(is_running).collect();
            let in_vain = cluster.void_in_row >= WAVES_IN_VAIN;
            if in_vain || !running.iter().all(can_image) {
                wasted.extend(running.into_iter().filter(can_image).copied());
            }
        }
        for rank in wasted {
            self.image_wasted(rank, ImageNo(0));
        }
    }

    // ---- the return ---------------------------------------------------------------------------

    /// These ranks of a cluster are dead: all of it returns to its last wave.
    pub(super) fn roll_back(&mut self, number: usize, dead: &[Rank], failure: &Failed) {
        if self.count_failure(&failure.cause, failure.code) {
            self.roll_back_counted(number, dead, failure);
        }
    }

    /// All ranks of a cluster return to its last wave, because these cannot go on where they are.
    /// They live: their incarnations end as those of the others do.
    pub(super) fn roll_back_living(&mut self, number: usize, ranks: &[Rank], failure: &Failed) {
        if self.count_failure(&failure.cause, failure.code) {
            self.roll_back_living_counted(number, ranks, failure);
        }
    }

    /// As [`Self::roll_back_living`], for a failure that is counted already.
    pub(super) fn roll_back_living_counted(
        &mut self,
        number: usize,
        ranks: &[Rank],
        failure: &Failed,
    ) {
        if !self.return_cluster(number, &[], failure) {
            return;
        }
        for &rank in ranks {
            let state = &self.ranks[rank.index()];
            let next = match state.stage {
                Stage::Stopping => state.incarnation.next(),
                Stage::Waiting => state.incarnation,
                _ => continue,
            };
            let told = Failure::now(rank, next, self.now, failure.cause.clone());
            self.failures.push(told.judged(failure.named));
        }
        self.go_on(number);
        self.return_those_who_left(failure.code);
    }

    /// As [`Self::roll_back`], for a failure that is counted already.
    fn roll_back_counted(&mut self, number: usize, dead: &[Rank], failure: &Failed) {
        let Failed { cause, named, .. } = failure;
        if !self.return_cluster(number, dead, failure) {
            return;
        }
        for &rank in dead {
            // The old incarnation ends with this; later reports about it come too late.
            let incarnation = self.ranks[rank.index()].incarnation;
            let failure = Failure::now(rank, incarnation, self.now, cause.clone());
            self.failures.push(failure.judged(*named));
        }
        self.go_on(number);
        self.return_those_who_left(failure.code);
    }

    /// What others have sent to returning ranks may be in logs that are gone.
    pub(super) fn return_those_who_left(&mut self, code: i32) {
        let gone =
            if self.settings.traits.replays() { self.gone_without_exit() } else { Vec::new() };
        for rank in gone {
            if let Some(other) = self.cluster_of(rank)
                && !self.clusters[other].rolling
            {
                let cause = Cause::LogNeeded { rank };
                self.failures.push(Failure::now(
                    rank,
                    self.ranks[rank.index()].incarnation,
                    self.now,
                    cause.clone(),
                ));
                let needed = Failed { cause, named: None, code };
                if self.return_cluster(other, &[], &needed) {
                    self.go_on(other);
                }
            }
        }
    }

    /// Ends the living ranks of a cluster. The dead ones get new incarnations that wait for them.
    /// False: there is no wave to return to, and the job has ended.
    pub(super) fn return_cluster(
        &mut self,
        number: usize,
        dead: &[Rank],
        failure: &Failed,
    ) -> bool {
        let cluster = &mut self.clusters[number];
        if self.settings.traits.replays() && !cluster.waves.can_return() {
            let cause = failure.cause.clone();
            self.give_up(failure.code, EndReason::NoWaveLeft { cause });
            return false;
        }
        let newest = cluster.waves.newest();
        if let Some(why) = self.joined_after(newest.unwrap_or_default()) {
            self.give_up(failure.code, EndReason::Ordered(why));
            return false;
        }
        let cluster = &mut self.clusters[number];
        cluster.waves.abandon();
        cluster.rolling = true;
        cluster.lost_channels.clear();
        let wave = cluster.waves.newest();
        let returning = cluster.waves.ranks().to_vec();
        let all = self.clusters.len() == 1;
        if all {
            self.return_worlds(wave.unwrap_or_default(), &returning, dead);
        }
        self.left_early_at =
            self.left_early_at.filter(|(_, rank)| !all && !returning.contains(rank));
        if all {
            // Ranks that heard that all have finalized will hear it again.
            self.all_finalized = false;
            self.complaint = None;
        }
        let (cause, named) = (failure.cause.clone(), failure.named);
        let ranks = (!all).then(|| returning.clone());
        self.notify(Notice::Returning { cause, ranks, wave, named });
        for rank in returning {
            self.waits_no_more(rank);
            let state = &mut self.ranks[rank.index()];
            state.finalizing = false;
            state.exiting = None;
            state.can_image = false;
            match state.stage {
                // A process that never joined has nothing to return to.
                Stage::Done(_) if !state.joined => {}
                Stage::Ignored => {}
                Stage::Waiting => {}
                // Also a rank that fetches its image, or tries it: it may be about to begin.
                Stage::Starting | Stage::Spawned | Stage::Running if !dead.contains(&rank) => {
                    state.stage = Stage::Stopping;
                    let incarnation = state.incarnation;
                    self.commands.push_back(Command::Kill { rank, incarnation });
                }
                Stage::Stopping if !dead.contains(&rank) => {}
                _ => self.next_incarnation(rank),
            }
        }
        true
    }

    /// An incarnation that was to end has ended.
    pub(super) fn is_stopped(&mut self, rank: Rank) {
        if self.is_dropped(rank) {
            self.ranks[rank.index()].stage = Stage::Ignored;
        } else if !self.has_ended_alone(rank) {
            self.next_incarnation(rank);
        }
    }

    /// Those that return and were waiting for a host.
    pub(super) fn all_go_on(&mut self) {
        for cluster in 0..self.clusters.len() {
            self.go_on(cluster);
        }
    }

    /// The cluster begins new incarnations as soon as all its old ones have ended and all its hosts
    /// are up.
    pub(super) fn go_on(&mut self, number: usize) {
        if self.clusters[number].rolling {
            self.leave_drained_hosts();
        }
        let cluster = &self.clusters[number];
        let ready = |rank: &Rank| {
            let state = &self.ranks[rank.index()];
            match state.stage {
                Stage::Stopping => false,
                Stage::Waiting => self.hosts.is_up(state.host),
                _ => true,
            }
        };
        let all_ready = cluster.waves.ranks().iter().all(ready);
        if !cluster.rolling || self.ended || !self.hosts.all_settled() || !all_ready {
            return;
        }
        if !self.dropped_have_ended() {
            return;
        }
        let waits = |rank: &Rank| self.ranks[rank.index()].stage == Stage::Waiting;
        let waiting: Vec<Rank> = cluster.waves.ranks().iter().copied().filter(waits).collect();
        self.clusters[number].rolling = false;
        self.part_with_dropped();
        self.wave_due_since = None;
        self.note(Note::WaveEnded(number as u32));
        for &rank in &waiting {
            let state = &self.ranks[rank.index()];
            let (incarnation, host) = (state.incarnation, state.host);
            if incarnation > Incarnation(0) {
                self.commands.push_back(Command::Announce { rank, incarnation, host });
            }
        }
        for rank in waiting {
            self.start(rank);
        }
    }

    /// An image of the wave to which its cluster returned cannot be read: the wave before it
    /// serves.
    pub(super) fn wave_unusable(&mut self, rank: Rank, image: ImageNo, why: &str) {
        if let Some(cluster) = self.cluster_of(rank) {
            self.clusters[cluster].waves.condemn(image);
            let cause = Cause::ImageUnusable { rank, image, why: why.to_owned() };
            self.roll_back(cluster, &[rank], &Failed { cause, named: None, code: 1 });
        }
    }

    /// The agent of a host is gone with its ranks. That is one failure, whatever clusters they are
    /// in.
    pub(super) fn roll_back_from_host(&mut self, victims: &[Rank], failure: &Failed) {
        let mut counted = false;
        for cluster in 0..self.clusters.len() {
            let (stopping, dead): (Vec<Rank>, Vec<Rank>) = victims
                .iter()
                .filter(|rank| self.cluster_of(**rank) == Some(cluster))
                .partition(|rank| self.ranks[rank.index()].stage == Stage::Stopping);
            let dropped = stopping.iter().any(|rank| self.is_dropped(*rank));
            for rank in stopping {
                self.is_stopped(rank);
            }
            if dead.is_empty() && dropped && !self.ended {
                self.go_on(cluster);
            }
            if dead.is_empty() || self.ended {
                continue;
            }
            if std::mem::replace(&mut counted, true) || self.count_failure(&failure.cause, 1) {
                self.roll_back_counted(cluster, &dead, failure);
            }
        }
    }

    // ---- broken channels ----------------------------------------------------------------------

    pub(super) fn channel_lost(&mut self, ends: LostChannel) {
        let both_live = ends.iter().all(|&(rank, incarnation)| {
            self.ranks.get(rank.index()).is_some_and(|state| {
                state.incarnation == incarnation && state.stage == Stage::Running
            })
        });
        let [(a, _), (b, _)] = ends;
        if both_live
            && !self.all_exiting
            && let Some(cluster) = self.cluster_of(a)
            && self.cluster_of(b) == Some(cluster)
        {
            let lost = &mut self.clusters[cluster].lost_channels;
            if !lost.iter().any(|(_, known)| *known == ends || *known == [ends[1], ends[0]]) {
                lost.push((self.now, ends));
            }
        }
    }

    /// Whether a channel broke because a world has ended since, or is about to: others go on.
    fn is_explained(&self, ends: &LostChannel) -> bool {
        let stays = |&(rank, incarnation): &(Rank, Incarnation)| {
            let state = &self.ranks[rank.index()];
            state.stage == Stage::Running
                && state.incarnation == incarnation
                && !self.is_released(rank)
        };
        self.has_several_worlds() && !ends.iter().all(stays)
    }

    pub(super) fn look_at_lost_channels(&mut self) {
        for number in 0..self.clusters.len() {
            let now = self.now;
            let is_over = |(since, _): &mut (Duration, _)| now >= *since + LOST_CHANNEL_PATIENCE;
            let lost = &mut self.clusters[number].lost_channels;
            let over: Vec<_> = lost.extract_if(.., is_over).collect();
            let unexplained = over.iter().find(|(_, ends)| !self.is_explained(ends));
            if let Some((_, [(a, _), (b, _)])) = unexplained.copied()
                && !self.all_exiting
            {
                let failure =
                    Failed { cause: Cause::ChannelBroke { ends: [a, b] }, named: None, code: 1 };
                self.roll_back_living(number, &[a, b], &failure);
            }
        }
    }
}

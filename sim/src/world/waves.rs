//! Jobs in waves: orders of waves, images that count or do not, and the return of all ranks of a
//! cluster, by the very machine that the dispatcher uses ([`ftmpi_protocols::waves`]).

use super::{Event, Image, News, Setup, World};
use crate::mutants::Mutant;
use crate::picture::{Mark, mark};
use ftmpi_protocols::dispatcher::ImageFacts;
use ftmpi_protocols::waves::Waves;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// Ranks that return together.
pub(super) struct Cluster {
    pub(super) waves: Waves,
    /// A failure has happened and not all old lives have ended.
    rolling: bool,
    /// They are being ended.
    ending: bool,
    /// Returns so far.
    round: u64,
}

impl Cluster {
    pub(super) fn has(&self, rank: usize) -> bool {
        self.waves.ranks().contains(&Rank(rank as u32))
    }

    fn ranks(&self) -> Vec<usize> {
        self.waves.ranks().iter().map(|rank| rank.index()).collect()
    }
}

/// Of a job.
pub(super) fn clusters(setup: &Setup) -> Vec<Cluster> {
    if !setup.choice.in_waves() {
        return Vec::new();
    }
    let mut names = setup.clusters.clone();
    names.sort_unstable();
    names.dedup();
    let ranks = |name: u32| -> Vec<Rank> {
        let of = (0..setup.ranks as u32).filter(|rank| setup.clusters[*rank as usize] == name);
        of.map(Rank).collect()
    };
    let cluster =
        |name| Cluster { waves: Waves::of(ranks(name)), rolling: false, ending: false, round: 0 };
    names.into_iter().map(cluster).collect()
}

impl World {
    fn time(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// Are images taken in waves?
    #[must_use]
    pub fn in_waves(&self) -> bool {
        !self.clusters.is_empty()
    }

    pub(super) fn is_rolling(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.rolling)
    }

    pub(super) fn mates_of(&self, rank: usize) -> Vec<usize> {
        self.clusters[self.cluster_of(rank)].ranks()
    }

    pub(super) fn cluster_of(&self, rank: usize) -> usize {
        let mut clusters = self.clusters.iter();
        clusters.position(|cluster| cluster.has(rank)).expect("every rank is in a cluster")
    }

    pub(super) fn round_of(&self, rank: usize) -> u64 {
        self.clusters[self.cluster_of(rank)].round
    }

    /// Begins a wave of some cluster, if all its ranks are there and have repeated what they had to.
    pub(super) fn ask_wave(&mut self) {
        let number = match self.clusters.len() {
            1 => 0,
            count => self.below(count as u64) as usize,
        };
        let now = self.time();
        let cluster = &mut self.clusters[number];
        let ranks = cluster.ranks();
        let all = ranks.iter().all(|&r| self.lives[r].fiber.is_some() && self.lives[r].caught_up);
        if cluster.rolling || cluster.waves.is_under_way() || !all {
            return;
        }
        let wave = cluster.waves.begin(now);
        self.note(|| format!("wave {wave} of ranks {ranks:?} is ordered"));
        for rank in ranks {
            let incarnation = self.lives[rank].incarnation;
            let delay = self.below(150);
            self.after(delay, Event::Order(rank, incarnation, wave));
        }
    }

    /// The order reaches its rank, or gets lost on its last steps.
    pub(super) fn order(&mut self, rank: usize, wave: ImageNo) {
        if self.below(25) == 0 {
            self.image_failed(rank, wave);
        } else {
            self.lives[rank].due = Some(wave);
        }
    }

    /// There will be no image of this rank in this wave; the rank hears of it.
    pub fn image_failed(&mut self, rank: usize, wave: ImageNo) {
        self.note(|| format!("no image of rank {rank} in wave {wave}"));
        let now = self.time();
        self.lives[rank].due = None;
        self.lives[rank].images.retain(|image| image.number != wave);
        if self.in_waves() {
            let cluster = self.cluster_of(rank);
            self.clusters[cluster].waves.failed(now, Rank(rank as u32), wave);
        }
        let incarnation = self.lives[rank].incarnation;
        let delay = self.below(200);
        self.after(delay, Event::News(rank, incarnation, News::ImageFailed(wave)));
    }

    /// Now and then an image is refused.
    pub fn refuses_image(&mut self) -> bool {
        self.in_waves() && self.below(25) == 0
    }

    /// An image is durable.
    pub(super) fn wave_commit(&mut self, rank: usize, incarnation: Incarnation, wave: ImageNo) {
        let now = self.time();
        let mutant = self.setup.mutant;
        if self.lives[rank].incarnation != incarnation {
            // Of a life that was declared dead.
            self.lives[rank].images.retain(|image| image.number != wave);
            return;
        }
        if self.below(25) == 0 {
            return self.image_failed(rank, wave);
        }
        self.loggers_sync_for_an_image();
        let number = self.cluster_of(rank);
        let waves = &mut self.clusters[number].waves;
        let mut kept = waves.kept().to_vec();
        kept.push(wave);
        if mutant == Some(Mutant::OldWaveRemoved) {
            kept = vec![wave];
        }
        self.lives[rank].images.retain(|image: &Image| kept.contains(&image.number));
        self.outcome.images += 1;
        self.seen.whole_waves.is_durable(rank, wave);
        let facts = ImageFacts { image: wave, bytes: 1, written: [0; 2], consumed: 0 };
        let mut over = waves.committed(now, Rank(rank as u32), facts);
        if mutant == Some(Mutant::IncompleteWave) {
            for other in waves.ranks().to_vec() {
                over = over.or(waves.committed(now, other, facts));
            }
        }
        if mutant == Some(Mutant::LogCutAtIncompleteWave) {
            self.after(0, Event::News(rank, incarnation, News::Committed(wave, wave)));
        }
        let Some(oldest) = over.and_then(|over| over.complete) else { return };
        self.outcome.waves += 1;
        self.note(|| format!("wave {wave} is complete"));
        let waves = &self.clusters[number].waves;
        self.seen.whole_waves.counts(wave, waves.ranks());
        let reach = waves.reach(oldest);
        if self.setup.choice.has_clusters() && reach > ImageNo(0) {
            for rank in self.clusters[number].ranks() {
                let life = self.lives[rank].incarnation;
                let delay = self.below(200);
                self.after(delay, Event::News(rank, life, News::Committed(wave, reach)));
            }
        }
    }

    /// A rank dies whose cluster will return.
    pub(super) fn crash_in_wave(&mut self, rank: usize) {
        let cluster = self.cluster_of(rank);
        self.seen.failed_clusters.fails(cluster);
        self.end_life(rank);
        self.detect(cluster);
    }

    fn end_life(&mut self, rank: usize) {
        self.note(|| format!("rank {rank} ends"));
        let cluster = self.cluster_of(rank);
        self.seen.failed_clusters.ends(rank, cluster);
        let cut = self.now + self.below(300);
        let life = &mut self.lives[rank];
        life.fiber = None;
        life.digest = None;
        life.cut.insert(life.incarnation, cut);
        life.incarnation = life.incarnation.next();
        if let Some(conn) = life.logger.take() {
            let answers = self.logger.lost(conn);
            self.deliver_log(answers);
        }
    }

    /// Something is wrong: sooner or later the dispatcher knows.
    fn detect(&mut self, cluster: usize) {
        if !self.clusters[cluster].rolling {
            self.clusters[cluster].rolling = true;
            let delay = self.below(300);
            self.after(delay, Event::RollBack(cluster));
        } else {
            self.look_whether_all_ended(cluster);
        }
    }

    /// Two that live lost their channel.
    pub fn channel_lost(&mut self, rank: usize, peer: usize, incarnation: Incarnation) {
        self.note(|| format!("rank {rank} has lost its channel to rank {peer}"));
        if self.in_waves() && self.lives[peer].incarnation == incarnation {
            let cluster = self.cluster_of(rank);
            assert!(self.clusters[cluster].has(peer), "the log repairs this channel");
            self.seen.failed_clusters.fails(cluster);
            self.detect(cluster);
        }
    }

    /// The old lives are ended, each when its agent hears of it.
    pub(super) fn roll_back(&mut self, number: usize) {
        let cluster = &mut self.clusters[number];
        cluster.waves.abandon();
        cluster.round += 1;
        cluster.ending = true;
        let mut ranks = cluster.ranks();
        if self.setup.mutant == Some(Mutant::OthersRolledBack) {
            ranks = (0..self.lives.len()).collect();
        }
        for rank in ranks {
            if self.lives[rank].fiber.is_some() {
                let incarnation = self.lives[rank].incarnation;
                let delay = self.below(300);
                self.after(delay, Event::Kill(rank, incarnation));
            }
        }
        self.look_whether_all_ended(number);
    }

    pub(super) fn kill(&mut self, rank: usize, incarnation: Incarnation) {
        if self.is_alive((rank, incarnation)) {
            mark(self.now, || Mark::Dies(rank));
            self.end_life(rank);
            self.look_whether_all_ended(self.cluster_of(rank));
        }
    }

    fn look_whether_all_ended(&mut self, number: usize) {
        let cluster = &mut self.clusters[number];
        let ranks = cluster.ranks();
        if !cluster.ending || ranks.iter().any(|&rank| self.lives[rank].fiber.is_some()) {
            return;
        }
        (cluster.rolling, cluster.ending) = (false, false);
        self.seen.failed_clusters.returns(number);
        let cluster = &mut self.clusters[number];
        // Now and then an image of the newest wave is damaged, while there is another way.
        let another = cluster.waves.kept()[1] > ImageNo(0)
            || cluster.waves.can_return_to_the_start()
            || self.setup.choice.is_coordinated();
        if self.below(8) == 0
            && another
            && let Some(newest) = self.clusters[number].waves.newest()
        {
            self.clusters[number].waves.condemn(newest);
        }
        let cluster = &self.clusters[number];
        let (target, round) = (cluster.waves.newest(), cluster.round);
        self.note(|| format!("ranks {ranks:?} return to {target:?}"));
        for &rank in &ranks {
            let delay = self.below(600);
            self.after(delay, Event::Return(rank, round));
        }
        // The others hear of it when what the old lives sent can no longer come.
        let others: Vec<usize> = (0..self.lives.len()).filter(|r| !ranks.contains(r)).collect();
        for &rank in &ranks {
            let incarnation = self.lives[rank].incarnation;
            let cut = self.lives[rank].cut.values().copied().max().unwrap_or(0);
            for &other in &others {
                let delay = cut.saturating_sub(self.now) + 1 + self.below(500);
                let life = self.lives[other].incarnation;
                let news = News::Restarted(Rank(rank as u32), incarnation);
                self.after(delay, Event::News(other, life, news));
            }
        }
    }
}

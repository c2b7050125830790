//! The checkpoint scheduler as a process of its own: both ends of its connection with the launcher.
//!
//! The launcher's end is the [`SchedulerProxy`], the process is the [`SchedulerProcess`]. Calling
//! convention of the proxy: call it with each [`Note`] and [`Order`], then drain
//! [`SchedulerProxy::next_word`] until it returns `None`. The process gets each [`Word`] by
//! [`SchedulerProcess::hear`] and is asked for what is due. Queries never change state.
//!
//! Guarantees:
//! - The process may die at any moment. That costs the job neither an image nor a wait. The proxy
//!   applies every note to a copy of the machine, and decides by the copy while there is no
//!   process.
//! - A new connection begins with that copy, so the process keeps nothing on disk.
//! - An order that cannot be carried out any more (the rank died meanwhile) is answered as an image
//!   that ended, or as a wave that was refused. The process orders nothing twice before it hears of
//!   its end.
//! - Only what changes a decision is sent: counters under `payload`, failures under `young-daly`,
//!   costs there and where they are bounded, who can take an image when that changes.

use super::{Policy, Scheduler};
use ftmpi_wire::Rank;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// These ranks can take an image on their own, these clusters a wave; the others cannot.
    Able(Vec<Rank>, Vec<u32>),
    /// An image is over, well or badly; or was never begun.
    Ended(Rank),
    /// An image is durable.
    Committed(Rank),
    /// A rank has received so many bytes in all.
    Received(Rank, u64),
    /// An image held up its rank for so long.
    Cost(Duration),
    /// A standby has read its image for so long.
    Read(Duration),
    /// A rank failed.
    Failed,
    /// Images of all are due.
    Hasten,
    /// An image of this rank is due.
    HastenOne(Rank),
    /// A wave of this cluster is due.
    HastenWave(u32),
    /// A wave is over, well or badly, or its ranks have returned.
    WaveEnded(u32),
    /// A wave was ordered for a cluster that cannot begin one now.
    WaveRefused(u32),
    /// So many ranks have joined the job, and so many clusters.
    Grown(u32, u32),
}

/// A message of the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// The first message: the time since the job began, and the state of the machine.
    Begin(Duration, Box<Scheduler>),
    /// What happened, and when.
    Note(Duration, Note),
}

/// What the scheduler decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// This rank takes an image.
    Image(Rank),
    /// This cluster begins a wave.
    Wave(u32),
}

impl Scheduler {
    fn note(&mut self, now: Duration, note: &Note) {
        match *note {
            Note::Able(..) | Note::WaveRefused(_) => {}
            Note::Ended(rank) => self.ended(now, rank),
            Note::Committed(rank) => self.committed(rank),
            Note::Received(rank, bytes) => self.received(rank, bytes),
            Note::Cost(cost) => self.costs(cost),
            Note::Read(time) => self.read(time),
            Note::Failed => self.failed(now),
            Note::Hasten => self.hasten(now),
            Note::HastenOne(rank) => self.hasten_one(now, rank),
            Note::HastenWave(cluster) => self.hasten_wave(now, cluster as usize),
            Note::WaveEnded(cluster) => self.wave_ended(now, cluster as usize),
            Note::Grown(ranks, clusters) => self.grow(now, ranks, clusters),
        }
    }

    /// Whether the machine would decide otherwise, knowing this.
    fn matters(&self, now: Duration, note: &Note) -> bool {
        let policy = self.settings.policy;
        match *note {
            Note::Received(..) | Note::Committed(_) => policy == Policy::Payload,
            Note::Cost(_) => policy == Policy::YoungDaly || self.settings.cost_limit.is_some(),
            Note::Read(_) => policy != Policy::YoungDaly && self.settings.cost_limit.is_some(),
            Note::Failed => policy == Policy::YoungDaly,
            Note::HastenOne(rank) => self.due[rank.index()] > now || self.choice_due > now,
            Note::HastenWave(cluster) => self.wave_due[cluster as usize] > now,
            _ => true,
        }
    }

    /// Whether a note is about ranks and clusters that there are.
    fn knows(&self, note: &Note) -> bool {
        let rank = |rank: &Rank| rank.index() < self.due.len();
        let cluster = |cluster: &u32| (*cluster as usize) < self.wave_due.len();
        match note {
            Note::Able(ranks, clusters) => ranks.iter().all(rank) && clusters.iter().all(cluster),
            Note::Ended(r) | Note::Committed(r) | Note::Received(r, _) | Note::HastenOne(r) => {
                rank(r)
            }
            Note::HastenWave(c) | Note::WaveEnded(c) | Note::WaveRefused(c) => cluster(c),
            Note::Cost(_) | Note::Read(_) | Note::Failed | Note::Hasten | Note::Grown(..) => true,
        }
    }
}

/// The launcher's end.
#[derive(Debug)]
pub struct SchedulerProxy {
    copy: Scheduler,
    /// A process decides.
    served: bool,
    /// Ranks and clusters that can, as they were sent last.
    able: Option<(Vec<Rank>, Vec<u32>)>,
    orders: Vec<Order>,
    words: VecDeque<Word>,
}

impl SchedulerProxy {
    /// Decides by itself until a process is connected.
    #[must_use]
    pub fn new(scheduler: Scheduler) -> Self {
        Self {
            copy: scheduler,
            served: false,
            able: None,
            orders: Vec::new(),
            words: VecDeque::new(),
        }
    }

    /// A connection has begun; what was on an earlier one is void.
    pub fn joined(&mut self, now: Duration) {
        self.parted();
        self.served = true;
        self.words.push_back(Word::Begin(now, Box::new(self.copy.clone())));
    }

    /// The connection is gone.
    pub fn parted(&mut self) {
        self.served = false;
        self.able = None;
        self.orders.clear();
        self.words.clear();
    }

    /// Whether a process decides.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.served
    }

    /// It has decided.
    pub fn ordered(&mut self, order: Order) {
        if self.served {
            self.orders.push(order);
        }
    }

    /// Next word for it.
    pub fn next_word(&mut self) -> Option<Word> {
        self.words.pop_front()
    }

    /// Something happened.
    pub fn note(&mut self, now: Duration, note: Note) {
        if !self.copy.knows(&note) {
            // Of a rank that joined the job: it takes its images in the waves of all.
            return;
        }
        if self.served && self.copy.matters(now, &note) {
            self.words.push_back(Word::Note(now, note.clone()));
        }
        self.copy.note(now, &note);
    }

    /// Whether an image of this rank is under way.
    #[must_use]
    pub fn is_under_way(&self, rank: Rank) -> bool {
        self.copy.is_under_way(rank)
    }

    /// The time between two images of a rank, with what is known now.
    #[must_use]
    pub fn interval(&self, now: Duration) -> Duration {
        self.copy.interval(now)
    }

    /// The ranks that begin an image now; each counts as under way from here on.
    pub fn take_due(&mut self, now: Duration, able: impl Fn(Rank) -> bool) -> Vec<Rank> {
        if !self.served {
            return self.copy.take_due(now, able);
        }
        let ranks = (0..self.copy.due.len() as u32).map(Rank).filter(|rank| able(*rank)).collect();
        self.tell_able(now, (ranks, Vec::new()));
        let mut begun = Vec::new();
        for order in std::mem::take(&mut self.orders) {
            let Order::Image(rank) = order else { continue };
            if rank.index() >= self.copy.due.len() {
                continue;
            }
            if able(rank) && !self.copy.is_under_way(rank) {
                self.copy.begun(now, rank);
                begun.push(rank);
            } else {
                self.note(now, Note::Ended(rank));
            }
        }
        begun
    }

    /// Whether the next wave of this cluster is due.
    #[must_use]
    pub fn wave_is_due(&self, now: Duration, cluster: usize) -> bool {
        self.copy.wave_is_due(now, cluster)
    }

    /// The clusters among `able` that begin a wave now.
    pub fn waves_due(&mut self, now: Duration, mut able: Vec<u32>) -> Vec<u32> {
        if !self.served {
            able.retain(|cluster| self.copy.wave_is_due(now, *cluster as usize));
            return able;
        }
        let (mut begun, mut refused) = (Vec::new(), Vec::new());
        for order in std::mem::take(&mut self.orders) {
            let Order::Wave(cluster) = order else { continue };
            match able.iter().position(|one| *one == cluster) {
                Some(place) => begun.push(able.remove(place)),
                None => refused.push(cluster),
            }
        }
        self.tell_able(now, (Vec::new(), able));
        for cluster in refused {
            self.note(now, Note::WaveRefused(cluster));
        }
        begun
    }

    fn tell_able(&mut self, now: Duration, able: (Vec<Rank>, Vec<u32>)) {
        if self.able.as_ref() != Some(&able) {
            self.note(now, Note::Able(able.0.clone(), able.1.clone()));
            self.able = Some(able);
        }
    }
}

/// The process's end.
#[derive(Debug)]
pub struct SchedulerProcess {
    scheduler: Scheduler,
    ranks: Vec<Rank>,
    clusters: Vec<u32>,
    /// Waves that were ordered and of whose end, or refusal, nothing was heard yet.
    waves: BTreeSet<u32>,
    now: Duration,
    orders: u64,
}

/// The launcher sent something that has no meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the launcher spoke of a rank or cluster that the job has not, or did not begin at the begin"
)]
pub struct Confused;

impl SchedulerProcess {
    /// Begins with the first message.
    ///
    /// # Errors
    /// It is another one.
    pub fn begin(word: Word) -> Result<Self, Confused> {
        let Word::Begin(now, scheduler) = word else { return Err(Confused) };
        let scheduler = *scheduler;
        let (ranks, clusters, waves) = (Vec::new(), Vec::new(), BTreeSet::new());
        Ok(Self { scheduler, ranks, clusters, waves, now, orders: 0 })
    }

    /// Time since the begin of the job, as far as was heard of it.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// So many decisions.
    #[must_use]
    pub fn ordered(&self) -> u64 {
        self.orders
    }

    /// Takes a message of the launcher.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn hear(&mut self, word: Word) -> Result<(), Confused> {
        let Word::Note(at, note) = word else { return Err(Confused) };
        if !self.scheduler.knows(&note) {
            return Err(Confused);
        }
        self.now = self.now.max(at);
        self.scheduler.note(at, &note);
        match note {
            Note::Able(ranks, clusters) => (self.ranks, self.clusters) = (ranks, clusters),
            Note::WaveEnded(cluster) | Note::WaveRefused(cluster) => {
                self.waves.remove(&cluster);
            }
            _ => {}
        }
        Ok(())
    }

    /// What is due at this time of the job.
    pub fn due(&mut self, now: Duration) -> Vec<Order> {
        self.now = self.now.max(now);
        let (now, ranks) = (self.now, &self.ranks);
        let images = self.scheduler.take_due(now, |rank| ranks.contains(&rank));
        let mut orders: Vec<Order> = images.into_iter().map(Order::Image).collect();
        // Each cluster once, until the end of its wave is reported: the able ranks are sent with
        // every change, while orders are on their way.
        for &cluster in &self.clusters {
            if self.scheduler.wave_is_due(now, cluster as usize) && self.waves.insert(cluster) {
                orders.push(Order::Wave(cluster));
            }
        }
        self.orders += orders.len() as u64;
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use proptest::prelude::*;

    const POLICIES: [Policy; 5] = [
        Policy::Periodic,
        Policy::RoundRobin,
        Policy::Random(7),
        Policy::Payload,
        Policy::YoungDaly,
    ];

    /// A job of four ranks whose images take a second, with a scheduler that answers late and may
    /// die.
    struct Job {
        proxy: SchedulerProxy,
        process: Option<SchedulerProcess>,
        /// On their way, with the moment when they arrive.
        words: VecDeque<(u64, Word)>,
        orders: VecDeque<(u64, Order)>,
        under_way: [Option<u64>; 4],
        dead_until: [u64; 4],
        taken: [u32; 4],
        by_process: u32,
        wave: Option<u64>,
        waves: u32,
        clustered: bool,
    }

    impl Job {
        fn new(policy: Policy, clustered: bool) -> Self {
            let settings = Settings {
                interval: Duration::from_millis(2000),
                at_once_max: 2,
                policy,
                cost_limit: None,
            };
            Self {
                proxy: SchedulerProxy::new(Scheduler::new(settings, 4).with_clusters(1)),
                process: None,
                words: VecDeque::new(),
                orders: VecDeque::new(),
                under_way: [None; 4],
                dead_until: [0; 4],
                taken: [0; 4],
                by_process: 0,
                wave: None,
                waves: 0,
                clustered,
            }
        }

        fn connect(&mut self, at: u64) {
            self.words.clear();
            self.orders.clear();
            self.process = None;
            self.proxy.joined(Duration::from_millis(at));
        }

        fn kill(&mut self) {
            self.words.clear();
            self.orders.clear();
            self.process = None;
            self.proxy.parted();
        }

        /// Ten milliseconds pass.
        fn step(&mut self, at: u64, latency: u64) {
            let now = Duration::from_millis(at);
            for rank in 0..4 {
                if self.under_way[rank].is_some_and(|begun| at >= begun + 1000) {
                    self.under_way[rank] = None;
                    self.taken[rank] += 1;
                    self.proxy.note(now, Note::Received(Rank(rank as u32), at));
                    self.proxy.note(now, Note::Ended(Rank(rank as u32)));
                    self.proxy.note(now, Note::Committed(Rank(rank as u32)));
                }
            }
            if self.wave.is_some_and(|begun| at >= begun + 1000) {
                self.wave = None;
                self.waves += 1;
                self.proxy.note(now, Note::WaveEnded(0));
            }
            while let Some((_, order)) = self.orders.pop_front_if(|(due, _)| *due <= at) {
                self.proxy.ordered(order);
            }
            let served = u32::from(self.proxy.is_served());
            if self.clustered {
                let able = self.wave.is_none() && self.dead_until.iter().all(|until| at >= *until);
                for _ in self.proxy.waves_due(now, if able { vec![0] } else { vec![] }) {
                    assert!(self.wave.is_none(), "one wave at a time");
                    self.wave = Some(at);
                    self.by_process += served;
                }
            } else {
                let dead = self.dead_until;
                for rank in self.proxy.take_due(now, |rank| at >= dead[rank.index()]) {
                    assert!(at >= dead[rank.index()], "of the living only");
                    assert!(
                        self.under_way[rank.index()].is_none(),
                        "one image of a rank at a time"
                    );
                    self.under_way[rank.index()] = Some(at);
                    self.by_process += served;
                    let busy = self.under_way.iter().flatten().count();
                    assert!(busy <= 2, "no more at once than allowed");
                }
            }
            while let Some(word) = self.proxy.next_word() {
                self.words.push_back((at + latency, word));
            }
            while let Some((_, word)) = self.words.pop_front_if(|(due, _)| *due <= at) {
                match &mut self.process {
                    None => self.process = Some(SchedulerProcess::begin(word).unwrap()),
                    Some(process) => process.hear(word).unwrap(),
                }
            }
            if let Some(process) = &mut self.process {
                let due = process.due(now);
                self.orders.extend(due.into_iter().map(|order| (at + latency, order)));
            }
        }
    }

    proptest! {
        #[test]
        fn images_come_with_or_without_the_scheduler(
            policy in 0..POLICIES.len(),
            clustered: bool,
            latency in 0_u64..100,
            kills in proptest::collection::vec((0_u64..40_000, 1_u64..5_000), 0..6),
            deaths in proptest::collection::vec((0_u64..40_000, 0_usize..4), 0..6),
        ) {
            let mut job = Job::new(POLICIES[policy], clustered);
            job.connect(0);
            let mut back = None;
            for at in (0..60_000).step_by(10) {
                if let Some((_, pause)) = kills.iter().find(|(when, _)| when / 10 == at / 10) {
                    job.kill();
                    back = Some(at + pause);
                }
                if back.take_if(|back| at >= *back).is_some() {
                    job.connect(at);
                }
                for (_, rank) in deaths.iter().filter(|(when, _)| when / 10 == at / 10) {
                    job.dead_until[*rank] = at + 700;
                    let now = Duration::from_millis(at);
                    job.proxy.note(now, Note::Failed);
                    if clustered {
                        job.wave = None;
                        job.proxy.note(now, Note::WaveEnded(0));
                    } else if job.under_way[*rank].take().is_some() {
                        job.proxy.note(now, Note::Ended(Rank(*rank as u32)));
                    }
                }
                job.step(at, latency);
            }
            if clustered {
                prop_assert!(job.waves >= 10, "{} waves", job.waves);
            } else {
                let (least, most) = (job.taken.iter().min().unwrap(), job.taken.iter().max().unwrap());
                // Drawn, or one at a time, or two at a time with an interval between.
                prop_assert!(*least >= 2 && *most >= 8, "{:?}", job.taken);
            }
            prop_assert!(job.by_process >= 5, "the process decided {} times", job.by_process);
        }
    }

    /// The ranks that can begin a wave change with every wave. The process hears of that each time,
    /// but must not order again what it has ordered and the launcher has not heard of yet.
    #[test]
    fn a_wave_is_ordered_once_while_its_order_is_on_its_way() {
        const CLUSTERS: u32 = 8;
        let settings = Settings {
            interval: Duration::from_millis(1000),
            at_once_max: 1,
            policy: Policy::Periodic,
            cost_limit: None,
        };
        let mut proxy = SchedulerProxy::new(
            Scheduler::new(settings, CLUSTERS).with_clusters(CLUSTERS as usize),
        );
        proxy.joined(Duration::ZERO);
        let mut process: Option<SchedulerProcess> = None;
        let (mut words, mut orders) = (VecDeque::new(), VecDeque::new());
        let mut until = [None; CLUSTERS as usize];
        let (mut ordered, mut begun) = (0, 0);
        for at in (0..30_000_u64).step_by(10) {
            let now = Duration::from_millis(at);
            for (cluster, until) in (0..).zip(&mut until) {
                if until.take_if(|until| at >= *until).is_some() {
                    proxy.note(now, Note::WaveEnded(cluster));
                }
            }
            while let Some((_, order)) = orders.pop_front_if(|(due, _)| *due <= at) {
                proxy.ordered(order);
                let able = (0..CLUSTERS).filter(|c| until[*c as usize].is_none()).collect();
                for cluster in proxy.waves_due(now, able) {
                    until[cluster as usize] = Some(at + 700);
                    begun += 1;
                }
            }
            let able = (0..CLUSTERS).filter(|c| until[*c as usize].is_none()).collect();
            assert!(proxy.waves_due(now, able).is_empty(), "without an order");
            words.extend(std::iter::from_fn(|| proxy.next_word()).map(|word| (at + 300, word)));
            while let Some((_, word)) = words.pop_front_if(|(due, _)| *due <= at) {
                match &mut process {
                    None => process = Some(SchedulerProcess::begin(word).unwrap()),
                    Some(process) => process.hear(word).unwrap(),
                }
                let due = process.as_mut().map(|process| process.due(now)).unwrap_or_default();
                ordered += due.len();
                orders.extend(due.into_iter().map(|order| (at + 300, order)));
            }
        }
        assert!(begun > 50, "{begun} waves");
        assert!(ordered <= begun + CLUSTERS as usize, "{ordered} orders for {begun} waves");
    }

    #[test]
    fn both_ends_agree_and_nonsense_is_refused() {
        let mut job = Job::new(Policy::Payload, false);
        job.connect(0);
        for at in (0..20_000).step_by(10) {
            job.step(at, 0);
        }
        let (process, proxy) = (job.process.unwrap(), job.proxy);
        assert_eq!(process.scheduler, proxy.copy);
        let settings = proxy.copy.settings;
        let word = Word::Note(Duration::ZERO, Note::Ended(Rank(4)));
        assert!(SchedulerProcess::begin(word.clone()).is_err());
        let begin = Word::Begin(Duration::ZERO, Box::new(Scheduler::new(settings, 4)));
        let mut process = SchedulerProcess::begin(begin.clone()).unwrap();
        assert!(process.hear(word).is_err());
        assert!(process.hear(Word::Note(Duration::ZERO, Note::WaveEnded(1))).is_err());
        assert!(process.hear(begin).is_err());
    }
}

//! Waves and the object tier against a model: two ranks, each with a server and an object tier of
//! its own, and the dispatcher's books. No matter what is lost and when, the object tiers can
//! restore the waves that logs reach back to.

use super::*;
use crate::dispatcher::ImageFacts;
use crate::waves::Waves;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

const FLUSHES: ConnId = ConnId(99);
const RANKS: u32 = 2;

/// A rank's server with its disk and its object tier.
struct Site {
    rank: Rank,
    machine: ImageCatalogue,
    disk: BTreeSet<ImageId>,
    record: Option<Record>,
    object_tier: BTreeSet<ImageId>,
    tier_record: Option<Record>,
    /// What the object tier was asked for, in order.
    asked: VecDeque<Output>,
    /// The image whose commit waits for the object tier, and its connection.
    waiting: Option<(ConnId, ImageNo)>,
    conns: u64,
}

fn machine() -> ImageCatalogue {
    ImageCatalogue::new(u64::MAX).with_object_tier().with_waves_that_cut_logs()
}

impl Site {
    fn new(rank: Rank) -> Self {
        Self {
            rank,
            machine: machine(),
            disk: BTreeSet::new(),
            record: None,
            object_tier: BTreeSet::new(),
            tier_record: None,
            asked: VecDeque::new(),
            waiting: None,
            conns: 0,
        }
    }

    /// Gives what was answered to the put, if it was.
    fn feed(&mut self, conn: ConnId, event: Event) -> Option<bool> {
        let (mut events, mut answer) = (vec![event], None);
        while let Some(event) = events.pop() {
            let mut out = Vec::new();
            self.machine.handle(Input { conn, event }, &mut out);
            for output in out {
                match output {
                    Output::Persist { record, .. } => {
                        self.record = Some(record);
                        events.push(Event::Persisted(Ok(())));
                    }
                    Output::Verify(_) => events.push(Event::Verified(Ok(Counts::default()))),
                    Output::Publish(name) => {
                        self.disk.insert(name);
                        events.push(Event::Published(Ok(())));
                    }
                    Output::Remove(name) => {
                        assert!(self.disk.remove(&name));
                        self.asked.push_back(Output::Remove(name));
                    }
                    Output::Answer(Answer::Committed { .. }) => answer = Some(true),
                    Output::Answer(Answer::Refused(_)) => answer = Some(false),
                    output @ (Output::Flush(..) | Output::Mirror(..)) => {
                        self.asked.push_back(output);
                    }
                    _ => {}
                }
            }
        }
        answer
    }

    fn put(
        &mut self,
        image: ImageNo,
        incarnation: Incarnation,
        keep: [ImageNo; 2],
    ) -> Option<bool> {
        let rank = self.rank;
        self.conns += 1;
        let conn = ConnId(self.conns);
        self.feed(conn, Event::Request(Ask::Keep { rank, incarnation, images: keep }));
        let ask = Ask::Put { rank, incarnation, image };
        let refused = self.feed(conn, Event::Request(ask));
        if refused.is_some() {
            return refused;
        }
        self.feed(conn, Event::Request(Ask::Data { bytes: 10 }));
        let answer = self.feed(conn, Event::Request(Ask::Commit));
        if answer.is_none() {
            self.waiting = Some((conn, image));
        }
        answer
    }

    /// The object tier does, or fails to do, what it was asked for first; `late`: it did, and the
    /// answer was lost. The result: the wave whose image was answered by that.
    fn tier_works(&mut self, well: bool, late: bool) -> Option<(ImageNo, bool)> {
        match self.asked.pop_front()? {
            Output::Flush(name, record) => {
                if well || late {
                    assert!(self.disk.contains(&name));
                    self.object_tier.insert(name);
                    self.tier_record = Some(record);
                }
                let outcome = if well { Ok(()) } else { Err("gone".to_owned()) };
                self.feed(FLUSHES, Event::Flushed(name, outcome));
                let (conn, image) = self.waiting?;
                let good = self.feed(conn, Event::ObjectTierProgress)?;
                self.waiting = None;
                Some((image, good))
            }
            Output::Mirror(_, record) if well || late => {
                self.tier_record = Some(record);
                None
            }
            Output::Remove(name) if well || late => {
                self.object_tier.remove(&name);
                None
            }
            _ => None,
        }
    }

    fn restart(&mut self) {
        self.asked.clear();
        self.waiting = None;
        self.machine = machine();
        if let Some(there) = self.tier_record {
            self.record = Some(self.record.unwrap_or(there).merged(there));
        }
        if let Some(record) = self.record {
            self.machine.restore_record(self.rank, record);
        }
        for name in &self.disk {
            self.machine.restore_image(*name, 10, Some(Counts::default()));
        }
        let record = Some(self.tier_record.unwrap_or_default());
        let there: Vec<ImageNo> = self.object_tier.iter().map(|name| name.image).collect();
        for old in self.machine.restore_object_tier(self.rank, record, there) {
            assert!(self.disk.remove(&old));
        }
        let mut out = Vec::new();
        self.machine.flush_all(&mut out);
        self.asked.extend(out);
    }

    fn lose_disk(&mut self) {
        self.record = self.tier_record;
        self.disk = self.object_tier.clone();
        self.restart();
    }
}

struct Model {
    sites: Vec<Site>,
    waves: Waves,
    /// Where logs are cut.
    cut: ImageNo,
    incarnation: u32,
    /// A launcher has found waves on the disks, maybe before the object tiers had them.
    found_late: bool,
    /// One of the two places to return to was lost with a disk before its object tier had it, or is
    /// not known to be one. The latter happens where the numbers of images do not show that logs
    /// were never cut.
    lacks: bool,
}

fn facts(image: ImageNo) -> ImageFacts {
    ImageFacts { image, bytes: 10, written: [0; 2], consumed: 0 }
}

impl Model {
    fn new() -> Self {
        let sites = (0..RANKS).map(|rank| Site::new(Rank(rank))).collect();
        Self {
            sites,
            waves: Waves::new(RANKS),
            cut: ImageNo(0),
            incarnation: 0,
            found_late: false,
            lacks: false,
        }
    }

    fn heard(&mut self, rank: u32, image: ImageNo, good: bool) {
        let now = Duration::ZERO;
        let over = match good {
            true => self.waves.committed(now, Rank(rank), facts(image)),
            false => self.waves.failed(now, Rank(rank), image),
        };
        if let Some(oldest) = over.and_then(|over| over.complete) {
            self.cut = self.cut.max(self.waves.reach(oldest));
        }
    }

    fn wave(&mut self, hasty: bool) {
        if self.waves.is_under_way() {
            return;
        }
        let (image, keep) = (self.waves.begin(Duration::ZERO), self.waves.kept());
        for rank in 0..RANKS {
            let answer = self.sites[rank as usize].put(image, Incarnation(self.incarnation), keep);
            let answer = if hasty { Some(true) } else { answer };
            if let Some(good) = answer {
                self.heard(rank, image, good);
            }
        }
    }

    fn object_tier(&mut self, rank: u32, well: bool, late: bool) {
        if let Some((image, good)) = self.sites[rank as usize].tier_works(well, late) {
            self.heard(rank, image, good);
        }
    }

    /// A server begins again, without its disk: what waited for it has failed.
    fn server(&mut self, rank: u32, lost: bool) {
        let site = &mut self.sites[rank as usize];
        let waiting = site.waiting.take();
        if lost {
            site.lose_disk()
        } else {
            site.restart()
        }
        if let Some((_, image)) = waiting {
            self.heard(rank, image, false);
        }
        let there =
            |image: ImageNo| self.sites[rank as usize].disk.iter().any(|n| n.image == image);
        self.lacks |= self.waves.kept().iter().any(|wave| *wave > ImageNo(0) && !there(*wave));
        assert!(!self.lacks || self.found_late);
    }

    /// All ranks die, and go on in a new incarnation. With `all` launcher and servers die as well,
    /// and find what is there.
    fn death(&mut self, all: bool) {
        self.waves.abandon();
        self.incarnation += 1;
        for site in &mut self.sites {
            if let Some((conn, _)) = site.waiting.take() {
                site.feed(conn, Event::Lost);
            }
            if all {
                site.restart();
            }
            let (rank, incarnation) = (site.rank, Incarnation(self.incarnation));
            site.feed(ConnId(98), Event::Request(Ask::Declare { rank, incarnation }));
        }
        if all {
            self.waves = self.found(|site| &site.disk);
            self.found_late = true;
            self.lacks |= !self.waves.can_return_to_the_start() && self.waves.count() < 2;
        }
    }

    fn found(&self, of: impl Fn(&Site) -> &BTreeSet<ImageId>) -> Waves {
        let images: Vec<_> = self
            .sites
            .iter()
            .map(|site| {
                let images: Vec<_> = of(site).iter().map(|name| facts(name.image)).collect();
                (images, ImageNo(0))
            })
            .collect();
        Waves::found((0..RANKS).map(Rank).collect(), &images, true)
    }

    /// If all disks were lost now, both places to which logs reach back would be there. If one
    /// place was lost before, at least the other would be.
    fn judge(&self) {
        if self.cut == ImageNo(0) {
            return;
        }
        let waves = self.found(|site| &site.object_tier);
        let least = waves.kept()[usize::from(!self.lacks)];
        assert!(least >= self.cut, "cut at {}, there are {:?}", self.cut, waves.kept());
    }
}

#[test]
fn a_wave_counts_when_the_object_tiers_have_all_of_it() {
    let mut model = Model::new();
    for wave in 1..=2 {
        model.wave(false);
        assert!(model.waves.is_under_way());
        model.object_tier(0, true, false);
        // A second one cannot begin.
        model.wave(false);
        assert_eq!(model.waves.last_issued(), ImageNo(wave));
        model.object_tier(1, true, false);
        assert_eq!(model.waves.newest(), Some(ImageNo(wave)));
        model.judge();
    }
    assert_eq!(model.cut, ImageNo(1));
    // A flush that fails is an image that fails, and is tried again.
    model.wave(false);
    model.object_tier(0, false, false);
    model.object_tier(1, true, false);
    assert_eq!((model.waves.is_under_way(), model.waves.newest()), (false, Some(ImageNo(2))));
    model.object_tier(0, true, false);
    model.wave(false);
    for rank in [0, 1] {
        while !model.sites[rank as usize].asked.is_empty() {
            model.object_tier(rank, true, false);
        }
    }
    assert_eq!((model.waves.newest(), model.cut), (Some(ImageNo(4)), ImageNo(2)));
    model.judge();
}

#[test]
#[should_panic(expected = "cut at 1")]
fn the_model_notices_waves_that_count_before_they_are_there() {
    let mut model = Model::new();
    model.wave(true);
    model.wave(true);
    model.judge();
}

/// Three waves in a row lose an image with a disk, and then everything dies: images have high
/// numbers, and logs were never cut.
#[test]
fn waves_that_were_never_complete_do_not_cost_the_start() {
    let mut model = Model::new();
    for (loser, other) in [(1, 0), (0, 1), (1, 0)] {
        model.wave(false);
        model.server(loser, true);
        model.object_tier(other, true, false);
        assert_eq!((model.waves.newest(), model.waves.is_under_way()), (None, false));
    }
    model.death(true);
    assert!(!model.lacks && model.waves.can_return());
    for wave in [4, 5] {
        assert_eq!(model.cut, ImageNo(0));
        model.judge();
        model.wave(false);
        for rank in [0, 1] {
            while !model.sites[rank as usize].asked.is_empty() {
                model.object_tier(rank, true, false);
            }
        }
        assert_eq!(model.waves.newest(), Some(ImageNo(wave)));
    }
    assert_eq!(model.cut, ImageNo(4));
    model.judge();
}

#[derive(Debug, Clone)]
enum Step {
    Wave,
    ObjectTier { rank: u32, well: bool, late: bool },
    Server { rank: u32, lost: bool },
    Death { all: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rank = || 0..RANKS;
    let step = prop_oneof![
        5 => Just(Step::Wave),
        4 => (rank(), any::<bool>(), any::<bool>())
            .prop_map(|(rank, well, late)| Step::ObjectTier { rank, well, late }),
        12 => rank().prop_map(|rank| Step::ObjectTier { rank, well: true, late: false }),
        1 => (rank(), any::<bool>()).prop_map(|(rank, lost)| Step::Server { rank, lost }),
        1 => any::<bool>().prop_map(|all| Step::Death { all }),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn the_waves_that_logs_reach_back_to_are_there(steps in steps()) {
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Wave => model.wave(false),
                Step::ObjectTier { rank, well, late } => model.object_tier(rank, well, late),
                Step::Server { rank, lost } => model.server(rank, lost),
                Step::Death { all } => model.death(all),
            }
            model.judge();
        }
    }
}

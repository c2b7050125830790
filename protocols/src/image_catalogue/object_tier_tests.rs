//! The object tier against a model: no matter what is lost and when, each offered image is one that
//! logs reach back to.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const R: Rank = Rank(5);
const FLUSHES: ConnId = ConnId(99);

fn name(image: u64, incarnation: u32) -> ImageId {
    ImageId { rank: R, image: ImageNo(image), incarnation: Incarnation(incarnation) }
}

/// A server with its disk, the object tier, and the answers that log keepers received.
struct Model {
    machine: ImageCatalogue,
    disk: BTreeSet<ImageId>,
    aside: BTreeSet<ImageId>,
    record: Option<Record>,
    object_tier: BTreeSet<ImageId>,
    tier_record: Option<Record>,
    /// What the object tier was asked for, in order.
    asked: VecDeque<Output>,
    told: ImageNo,
    incarnation: u32,
    next: u64,
    condemned: bool,
}

impl Model {
    fn new() -> Self {
        Self {
            machine: ImageCatalogue::new(u64::MAX).with_object_tier(),
            disk: BTreeSet::new(),
            aside: BTreeSet::new(),
            record: None,
            object_tier: BTreeSet::new(),
            tier_record: None,
            asked: VecDeque::new(),
            told: ImageNo(0),
            incarnation: 0,
            next: 1,
            condemned: false,
        }
    }

    fn feed(&mut self, conn: ConnId, event: Event) {
        let mut events = vec![event];
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
                    // What goes from the disk goes from the object tier, if the shell comes to it.
                    Output::Remove(name) | Output::SetAside(name) => {
                        assert!(self.disk.remove(&name));
                        if matches!(output, Output::SetAside(_)) {
                            self.aside.insert(name);
                        }
                        self.asked.push_back(Output::Remove(name));
                    }
                    Output::Answer(Answer::Committed { oldest, .. }) => {
                        assert!(oldest >= self.told, "{oldest} after {}", self.told);
                        self.told = self.told.max(oldest);
                        if oldest > ImageNo(0) {
                            assert_eq!(self.start_offered(), Some(false));
                        }
                    }
                    output @ (Output::Flush(..) | Output::Mirror(..)) => {
                        self.asked.push_back(output);
                    }
                    _ => {}
                }
            }
        }
    }

    fn state(&self) -> Option<RankState> {
        self.machine.ranks().find(|state| state.rank == R)
    }

    fn start_offered(&self) -> Option<bool> {
        self.state().map(|state| state.start_offered)
    }

    fn put(&mut self) {
        let ImageId { rank, image, incarnation } = name(self.next, self.incarnation);
        self.next += 1;
        let conn = ConnId(1);
        self.feed(conn, Event::Request(Ask::Put { rank, incarnation, image }));
        self.feed(conn, Event::Request(Ask::Data { bytes: 10 }));
        self.feed(conn, Event::Request(Ask::Commit));
    }

    /// The object tier does, or fails to do, what it was asked for first; `late`: it did, and the
    /// answer was lost.
    fn tier_works(&mut self, well: bool, late: bool) {
        match self.asked.pop_front() {
            Some(Output::Flush(name, record)) => {
                if well || late {
                    // The disk has it as long as it is on its way, unless it was found damaged.
                    assert!(self.disk.contains(&name) || self.condemned);
                    self.object_tier.insert(name);
                    self.tier_record = Some(record);
                }
                let outcome = if well { Ok(()) } else { Err("gone".to_owned()) };
                self.feed(FLUSHES, Event::Flushed(name, outcome));
            }
            Some(Output::Mirror(_, record)) if well || late => self.tier_record = Some(record),
            Some(Output::Remove(name)) if well || late => {
                self.object_tier.remove(&name);
            }
            _ => {}
        }
    }

    /// The server begins again; `known`: it can ask the object tier.
    fn restart(&mut self, known: bool) {
        self.asked.clear();
        self.machine = ImageCatalogue::new(u64::MAX).with_object_tier();
        if let Some(record) = self.record {
            self.machine.restore_record(R, record);
        }
        for name in &self.disk {
            self.machine.restore_image(*name, 10, Some(Counts::default()));
        }
        for name in &self.aside {
            self.machine.restore_image(*name, 10, None);
        }
        // The shell puts what it found in the object tier on its disk first.
        if let (true, Some(there)) = (known, self.tier_record) {
            let here = self.record.unwrap_or(there);
            self.record = Some(here.merged(there));
            self.machine.restore_record(R, here.merged(there));
        }
        let (record, there) = match known {
            true => (Some(self.tier_record.unwrap_or_default()), self.object_tier.clone()),
            false => (None, BTreeSet::new()),
        };
        for old in self.machine.restore_object_tier(R, record, there.iter().map(|name| name.image))
        {
            assert!(self.disk.remove(&old));
            self.asked.push_back(Output::Remove(old));
        }
        let mut out = Vec::new();
        self.machine.flush_all(&mut out);
        self.asked.extend(out);
        self.judge("a restart");
    }

    /// The disk is lost; what the object tier offers takes its place.
    fn lose_disk(&mut self) {
        let record = self.tier_record.unwrap_or_default();
        self.record = self.tier_record;
        self.disk =
            self.object_tier.iter().copied().filter(|name| record.offers(name.image)).collect();
        self.aside.clear();
        self.restart(true);
        self.judge("the loss of the disk");
    }

    fn judge(&self, after: &str) {
        let Some(state) = self.state() else {
            assert_eq!(self.told, ImageNo(0), "nothing is left after {after}, and logs were cut");
            return;
        };
        for image in &state.images {
            assert!(
                image.image >= self.told,
                "image {} is offered after {after}, but logs were cut at {}",
                image.image,
                self.told
            );
        }
        assert!(
            !state.start_offered || self.told == ImageNo(0),
            "the start is offered after {after}, but logs were cut at {}",
            self.told
        );
        assert!(
            state.start_offered || self.condemned || !state.images.is_empty(),
            "nothing is offered after {after}"
        );
    }
}

#[test]
fn logs_are_cut_only_at_what_the_object_tier_has() {
    let mut model = Model::new();
    for _ in 0..4 {
        model.put();
    }
    // Image 1 was on its way when the others came, so it stays in addition to the newest two.
    assert_eq!(model.told, ImageNo(0));
    assert_eq!(model.disk, BTreeSet::from([name(1, 0), name(3, 0), name(4, 0)]));
    model.tier_works(true, false);
    // 2 was passed over.
    model.tier_works(true, false);
    while !model.asked.is_empty() {
        model.tier_works(true, false);
    }
    assert_eq!(model.object_tier, BTreeSet::from([name(1, 0), name(4, 0)]));
    assert_eq!(model.start_offered(), Some(false));
    model.put();
    assert_eq!(model.told, ImageNo(1));
    model.lose_disk();
    let offered: Vec<_> = model.state().unwrap().images.iter().map(|i| i.image.0).collect();
    assert_eq!(offered, [1, 4]);
    assert_eq!(model.start_offered(), Some(false));
}

#[test]
fn a_failure_is_reported_once_and_tried_again() {
    let mut model = Model::new();
    model.put();
    for _ in 0..3 {
        model.tier_works(false, false);
        assert!(
            matches!(model.asked.front(), Some(Output::Flush(image, _)) if *image == name(1, 0))
        );
    }
    model.tier_works(true, false);
    assert!(model.asked.is_empty());
    assert_eq!(model.state().unwrap().newest_in_object_store, Some(ImageNo(1)));
}

#[derive(Debug, Clone)]
enum Step {
    Put,
    ObjectTier { well: bool, late: bool },
    Declare,
    Condemn,
    Restart { known: bool },
    LoseDisk,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => Just(Step::Put),
        8 => (any::<bool>(), any::<bool>()).prop_map(|(a, late)| Step::ObjectTier { well: a, late }),
        4 => Just(Step::ObjectTier { well: true, late: false }),
        1 => Just(Step::Declare),
        1 => Just(Step::Condemn),
        1 => any::<bool>().prop_map(|known| Step::Restart { known }),
        1 => Just(Step::LoseDisk),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]
    #[test]
    fn nothing_is_offered_that_logs_do_not_reach_back_to(steps in steps(), condemn: bool) {
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Put => model.put(),
                Step::ObjectTier { well, late } => model.tier_works(well, late),
                Step::Declare => {
                    model.incarnation += 1;
                    let incarnation = Incarnation(model.incarnation);
                    let ask = Ask::Declare { rank: R, incarnation };
                    model.feed(ConnId(2), Event::Request(ask));
                }
                Step::Condemn if condemn => {
                    let newest = model.state().and_then(|state| state.images.last().copied());
                    if let Some(stored) = newest {
                        model.condemned = true;
                        let ask = Ask::Condemn { rank: R, image: stored.image };
                        model.feed(ConnId(2), Event::Request(ask));
                    }
                }
                // A server that has never reached its object tier does not begin; see the shell.
                Step::Restart { known } => {
                    let _ = known;
                    model.restart(true);
                }
                Step::LoseDisk => model.lose_disk(),
                Step::Condemn => {}
            }
        }
    }
}

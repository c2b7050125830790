use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const R: Rank = Rank(5);

fn name(image: u64, incarnation: u32) -> ImageId {
    ImageId { rank: R, image: ImageNo(image), incarnation: Incarnation(incarnation) }
}

/// A shell with a storage that obeys the test.
struct Shell {
    machine: ImageCatalogue,
    temporary: BTreeMap<ConnId, ImageId>,
    disk: BTreeSet<ImageId>,
    aside: BTreeSet<ImageId>,
    damaged: BTreeSet<ImageId>,
    record: Option<Record>,
    full: bool,
}

impl Shell {
    fn new(bytes_max: u64) -> Self {
        Self {
            machine: ImageCatalogue::new(bytes_max),
            temporary: BTreeMap::new(),
            disk: BTreeSet::new(),
            aside: BTreeSet::new(),
            damaged: BTreeSet::new(),
            record: None,
            full: false,
        }
    }

    /// Feeds one event and what follows from it; what the other side sees comes back.
    fn feed(&mut self, conn: u64, event: Event) -> Vec<Output> {
        let conn = ConnId(conn);
        let mut seen = Vec::new();
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
                    Output::Create(name) => {
                        assert!(self.temporary.insert(conn, name).is_none());
                    }
                    Output::Write if self.full => events.push(Event::WriteFailed("full".into())),
                    Output::Write => assert!(self.temporary.contains_key(&conn)),
                    Output::Verify(_) => events.push(Event::Verified(Ok(Counts::default()))),
                    Output::Publish(name) => {
                        assert_eq!(self.temporary.remove(&conn), Some(name));
                        self.disk.insert(name);
                        events.push(Event::Published(Ok(())));
                    }
                    Output::Discard => assert!(self.temporary.remove(&conn).is_some()),
                    Output::Remove(name) => assert!(self.disk.remove(&name)),
                    Output::SetAside(name) => {
                        assert!(self.disk.remove(&name));
                        self.aside.insert(name);
                    }
                    // At the first attempt the directory cannot be synced.
                    Output::GiveUp(_) if std::mem::take(&mut self.full) => {
                        events.push(Event::GaveUp(Err("no sync".into())));
                    }
                    Output::GiveUp(names) => {
                        names.iter().for_each(|name| assert!(self.disk.remove(name)));
                        events.push(Event::GaveUp(Ok(())));
                    }
                    Output::Check(name) => {
                        events.push(Event::Checked(if self.damaged.contains(&name) {
                            Err(CheckError::Damaged("a flipped bit".into()))
                        } else if self.disk.contains(&name) {
                            Ok(())
                        } else {
                            Err(CheckError::Gone)
                        }))
                    }
                    other => seen.push(other),
                }
            }
        }
        seen
    }

    fn ask(&mut self, conn: u64, ask: Ask) -> Vec<Output> {
        self.feed(conn, Event::Request(ask))
    }

    fn put(&mut self, image: u64, incarnation: u32) -> Vec<Output> {
        let ImageId { rank, image, incarnation } = name(image, incarnation);
        let mut seen = self.ask(1, Ask::Put { rank, incarnation, image });
        seen.extend(self.ask(1, Ask::Data { bytes: 10 }));
        seen.extend(self.ask(1, Ask::Commit));
        seen
    }

    fn get(&mut self) -> Vec<Output> {
        self.ask(2, Ask::Get { rank: R, at_most: ImageNo(u64::MAX) })
    }

    fn restart(&mut self) {
        self.temporary.clear();
        self.machine = ImageCatalogue::new(self.machine.bytes_max);
        if let Some(record) = self.record {
            self.machine.restore_record(R, record);
        }
        self.disk.iter().for_each(|n| self.machine.restore_image(*n, 10, Some(Counts::default())));
        self.aside.iter().for_each(|n| self.machine.restore_image(*n, 10, None));
    }
}

fn committed(image: u64, oldest: u64) -> Vec<Output> {
    let (image, oldest) = (ImageNo(image), ImageNo(oldest));
    vec![Output::Answer(Answer::Committed { image, bytes: 10, oldest })]
}

fn refused(seen: &[Output], what: &str) -> bool {
    matches!(seen, [.., Output::Answer(Answer::Refused(why))] if why.contains(what))
}

fn sent(seen: &[Output], image: u64) -> bool {
    matches!(seen, [.., Output::Send(_, stored)] if stored.image == ImageNo(image))
}

#[test]
fn two_newest_are_kept_and_the_start_counts_until_then() {
    let mut shell = Shell::new(u64::MAX);
    assert_eq!(shell.get(), [Output::Answer(Answer::NoImage)]);
    assert_eq!(shell.put(1, 0), committed(1, 0));
    assert_eq!(shell.put(2, 0), committed(2, 1));
    assert_eq!(shell.put(3, 0), committed(3, 2));
    assert_eq!(shell.disk, BTreeSet::from([name(2, 0), name(3, 0)]));
    shell.restart();
    assert_eq!(shell.put(4, 0), committed(4, 3));
    assert!(sent(&shell.get(), 4));
    assert!(sent(&shell.ask(2, Ask::Get { rank: R, at_most: ImageNo(3) }), 3));
}

#[test]
fn a_late_image_of_a_dead_incarnation_is_refused_wherever_it_was() {
    let declare = Ask::Declare { rank: R, incarnation: Incarnation(1) };
    let begin = Ask::Put { rank: R, incarnation: Incarnation(0), image: ImageNo(2) };
    let parts = [begin, Ask::Data { bytes: 10 }, Ask::Data { bytes: 10 }, Ask::Commit];
    for dies_before in 0..parts.len() {
        let mut shell = Shell::new(u64::MAX);
        shell.put(1, 0);
        let mut seen = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            if n == dies_before {
                assert_eq!(shell.ask(2, declare), [Output::Answer(Answer::Done)]);
            }
            seen.extend(shell.ask(1, *part));
        }
        assert!(refused(&seen, "incarnation 1 is the present one"), "{seen:?}");
        assert_eq!(seen.len(), 1, "exactly one answer: {seen:?}");
        assert_eq!(shell.disk, BTreeSet::from([name(1, 0)]));
        assert!(shell.temporary.is_empty());
        // The connection is still good.
        assert_eq!(shell.put(2, 1), committed(2, 1));
        shell.restart();
        assert!(refused(&shell.put(3, 0), "refused"), "also after a restart");
        assert!(refused(&shell.ask(2, Ask::Declare { rank: R, incarnation: Incarnation(0) }), ""));
    }
}

#[test]
fn an_incarnation_that_ends_while_its_image_is_verified_does_not_publish() {
    let mut machine = ImageCatalogue::new(u64::MAX);
    let mut feed = |conn, event| {
        let mut out = Vec::new();
        machine.handle(Input { conn: ConnId(conn), event }, &mut out);
        out
    };
    feed(1, Event::Request(Ask::Put { rank: R, incarnation: Incarnation(0), image: ImageNo(1) }));
    assert_eq!(feed(1, Event::Request(Ask::Commit)), [Output::Verify(name(1, 0))]);
    feed(2, Event::Request(Ask::Declare { rank: R, incarnation: Incarnation(1) }));
    let out = feed(1, Event::Verified(Ok(Counts::default())));
    assert!(matches!(out[..], [Output::Discard, Output::Answer(Answer::Refused(_))]), "{out:?}");
}

#[test]
fn a_damaged_newest_gives_way_to_the_older_and_then_nothing_is_pretended() {
    let mut shell = Shell::new(u64::MAX);
    shell.put(1, 0);
    shell.put(2, 0);
    shell.damaged.insert(name(2, 0));
    assert!(sent(&shell.get(), 1));
    shell.restart();
    assert!(sent(&shell.get(), 1), "set aside for good");
    shell.ask(2, Ask::Condemn { rank: R, image: ImageNo(1) });
    assert!(refused(&shell.get(), "cannot be restarted"));
    shell.restart();
    assert!(refused(&shell.get(), "cannot be restarted"));
    assert!(refused(&shell.put(2, 1), "too late"), "numbers are never reused");
}

#[test]
fn a_damaged_first_image_gives_way_to_the_start() {
    let mut shell = Shell::new(u64::MAX);
    shell.put(1, 0);
    shell.damaged.insert(name(1, 0));
    assert!(matches!(shell.get()[..], [Output::Say(_), Output::Answer(Answer::NoImage)]));
    assert_eq!(shell.put(2, 1), committed(2, 0));
    shell.restart();
    assert_eq!(shell.put(3, 1), committed(3, 2));
}

#[test]
fn what_does_not_fit_is_refused_once_and_older_images_stand() {
    let mut shell = Shell::new(25);
    shell.put(1, 0);
    shell.put(2, 0);
    let seen = shell.put(3, 0);
    assert!(refused(&seen, "does not fit") && seen.len() == 1, "{seen:?}");
    assert!(sent(&shell.get(), 2));
    assert_eq!(shell.machine.bytes(), 20);

    let mut shell = Shell::new(u64::MAX);
    shell.put(1, 0);
    shell.full = true;
    let seen = shell.put(2, 0);
    assert!(refused(&seen, "full") && seen.len() == 1, "{seen:?}");
    shell.full = false;
    assert_eq!(shell.put(3, 0), committed(3, 1));
}

#[test]
fn what_is_out_of_turn_ends_the_connection_and_leaves_nothing() {
    for ask in [Ask::Data { bytes: 1 }, Ask::Commit, Ask::Abandon] {
        let mut shell = Shell::new(u64::MAX);
        assert!(matches!(shell.ask(1, ask)[..], [Output::Close(_)]));
    }
    let mut shell = Shell::new(u64::MAX);
    shell.ask(1, Ask::Put { rank: R, incarnation: Incarnation(0), image: ImageNo(1) });
    assert!(matches!(shell.ask(1, Ask::List { rank: R })[..], [Output::Close(_)]));
    assert!(shell.temporary.is_empty());
    shell.ask(3, Ask::Put { rank: R, incarnation: Incarnation(0), image: ImageNo(1) });
    shell.feed(3, Event::Lost);
    assert!(shell.temporary.is_empty());
}

#[test]
fn an_incarnation_that_put_before_it_was_declared_is_still_declared_durably() {
    let mut shell = Shell::new(u64::MAX);
    shell.ask(1, Ask::Put { rank: R, incarnation: Incarnation(3), image: ImageNo(1) });
    shell.ask(1, Ask::Abandon);
    shell.ask(1, Ask::Declare { rank: R, incarnation: Incarnation(3) });
    shell.restart();
    assert!(refused(&shell.put(1, 0), "incarnation 3 is the present one"));
}

fn ask() -> impl Strategy<Value = Ask> {
    let incarnation = (0u32..4).prop_map(Incarnation);
    let image = (0u64..12).prop_map(ImageNo);
    prop_oneof![
        1 => incarnation.clone().prop_map(|incarnation| Ask::Declare { rank: R, incarnation }),
        3 => (incarnation, image.clone())
            .prop_map(|(incarnation, image)| Ask::Put { rank: R, incarnation, image }),
        3 => Just(Ask::Data { bytes: 10 }),
        3 => Just(Ask::Commit),
        1 => Just(Ask::Abandon),
        1 => Just(Ask::List { rank: R }),
        1 => image.clone().prop_map(|at_most| Ask::Get { rank: R, at_most }),
        1 => image.prop_map(|image| Ask::Condemn { rank: R, image }),
    ]
}

proptest! {
    #[test]
    fn any_requests_keep_the_promises(
        steps in proptest::collection::vec((0u64..3, ask(), 0u8..20), 1..80),
    ) {
        let mut shell = Shell::new(1000);
        // What clients have heard: the oldest offer, and the incarnation that is declared.
        let (mut cut, mut declared) = (ImageNo(0), Incarnation(0));
        for (conn, ask, fault) in steps {
            match fault {
                0 => {
                    shell.feed(conn, Event::Lost);
                    shell.temporary.remove(&ConnId(conn));
                }
                1 => shell.restart(),
                2 => {
                    let newest = shell.disk.last().copied();
                    shell.damaged.extend(newest);
                }
                _ => {}
            }
            let before = shell.disk.clone();
            let seen = shell.ask(conn, ask);
            for output in &seen {
                match output {
                    Output::Answer(Answer::Done) => {
                        if let Ask::Declare { incarnation, .. } = ask {
                            declared = incarnation;
                        }
                    }
                    Output::Answer(Answer::Committed { image, oldest, .. }) => {
                        prop_assert!(*oldest >= cut && oldest <= image);
                        cut = *oldest;
                    }
                    Output::Answer(Answer::NoImage) => prop_assert_eq!(cut, ImageNo(0)),
                    Output::Send(name, _) => prop_assert!(!shell.damaged.contains(name)),
                    _ => {}
                }
            }
            for new in shell.disk.difference(&before) {
                prop_assert!(new.incarnation >= declared, "a late image was published");
                prop_assert!(before.iter().all(|old| old.image < new.image));
            }
            prop_assert!(shell.disk.len() <= 2);
            prop_assert!(shell.disk.iter().all(|n| n.image >= cut));
        }
    }
}

#[test]
fn of_waves_the_named_ones_and_the_newest_are_kept_and_the_start_is_never_given_up() {
    let mut shell = Shell::new(u64::MAX);
    let images = |shell: &Shell| shell.disk.iter().map(|name| name.image.0).collect::<Vec<_>>();
    for (image, keep) in [(1, [0, 0]), (2, [1, 0]), (3, [2, 1])] {
        shell.ask(1, Ask::Keep { rank: R, incarnation: Incarnation(0), images: keep.map(ImageNo) });
        shell.put(image, 0);
    }
    assert_eq!(images(&shell), [1, 2, 3]);
    // Waves 3 and 4 are not complete: another rank has no image in them.
    for image in [4, 5] {
        shell.ask(
            1,
            Ask::Keep { rank: R, incarnation: Incarnation(0), images: [2, 1].map(ImageNo) },
        );
        shell.put(image, 0);
        assert_eq!(images(&shell), [1, 2, image]);
    }
    assert!(shell.record.is_none_or(|record| record.start_offered));
}

/// A wave that was given up must not count as a wave for a launcher that continues the job: files
/// and other ranks have returned.
#[test]
fn what_comes_after_the_image_that_was_returned_to_goes_for_good() {
    let mut shell = Shell::new(u64::MAX);
    let images = |shell: &Shell| shell.disk.iter().map(|name| name.image.0).collect::<Vec<_>>();
    for (image, keep) in [(1, [0, 0]), (2, [1, 0]), (3, [2, 1])] {
        shell.ask(1, Ask::Keep { rank: R, incarnation: Incarnation(0), images: keep.map(ImageNo) });
        shell.put(image, 0);
    }
    shell.ask(1, Ask::Declare { rank: R, incarnation: Incarnation(1) });
    let back = |incarnation| Ask::Return {
        rank: R,
        incarnation: Incarnation(incarnation),
        image: ImageNo(1),
    };
    assert!(refused(&shell.ask(1, back(0)), "incarnation 0 is over"));
    shell.full = true;
    assert!(refused(&shell.ask(1, back(1)), "cannot be removed"));
    assert_eq!(images(&shell), [1, 2, 3]);
    assert_eq!(shell.ask(1, back(1)), [Output::Answer(Answer::Done)]);
    assert_eq!(images(&shell), [1]);
    let list = shell.ask(1, Ask::List { rank: R });
    let [Output::Answer(Answer::RankImages(rank_images))] = list.as_slice() else {
        panic!("{list:?}")
    };
    assert_eq!((rank_images.highest, rank_images.images.len()), (ImageNo(1), 1));
    // An incarnation that is over must not say what is kept.
    let keep = Ask::Keep { rank: R, incarnation: Incarnation(0), images: [ImageNo(0); 2] };
    assert!(refused(&shell.ask(1, keep), "incarnation 0 is over"));
    shell.put(4, 1);
    assert_eq!(images(&shell), [1, 4]);
}

/// There is room for three images. One of a wave that came to nothing stands in nobody's way.
#[test]
fn void_waves_make_room() {
    let mut shell = Shell::new(30);
    let images = |shell: &Shell| shell.disk.iter().map(|name| name.image.0).collect::<Vec<_>>();
    for (image, keep) in [(1, [0, 0]), (2, [1, 0]), (3, [2, 1]), (4, [2, 1]), (5, [2, 1])] {
        shell.ask(1, Ask::Keep { rank: R, incarnation: Incarnation(0), images: keep.map(ImageNo) });
        assert!(
            matches!(shell.put(image, 0)[..], [Output::Answer(Answer::Committed { .. })]),
            "{image}"
        );
    }
    assert_eq!(images(&shell), [1, 2, 5]);
}

/// Images leave as much room as they take. The older one goes first; then a new one is refused.
#[test]
fn images_leave_room_on_the_disk() {
    let mut shell = Shell::new(u64::MAX);
    let images = |shell: &Shell| shell.disk.iter().map(|name| name.image.0).collect::<Vec<_>>();
    let committed = |out: &[Output]| matches!(out, [.., Output::Answer(Answer::Committed { .. })]);
    for image in 1..=2 {
        shell.machine.leave_room(100);
        assert!(committed(&shell.put(image, 0)));
    }
    // Ten bytes each: the third is there by now, and 25 bytes are free.
    shell.machine.leave_room(25);
    assert!(committed(&shell.put(3, 0)));
    assert_eq!(images(&shell), [2, 3]);
    // The program has written: with one image less there is no room for a third one.
    shell.machine.leave_room(5);
    let out = shell.put(4, 0);
    assert!(refused(&out, "would leave the program too little room"), "{out:?}");
    assert_eq!(images(&shell), [3]);
    // Time passes: the last image of a rank never goes.
    shell.machine.leave_room(0);
    let mut out = Vec::new();
    shell.machine.look_at_room(&mut out);
    assert_eq!(out, []);
}

/// In waves the newest complete wave stays, and an image of the wave under way.
#[test]
fn the_older_wave_makes_room_for_the_program() {
    let mut shell = Shell::new(u64::MAX);
    let images = |shell: &Shell| shell.disk.iter().map(|name| name.image.0).collect::<Vec<_>>();
    for (image, keep) in [(1, [0, 0]), (2, [1, 0]), (3, [2, 1])] {
        shell.ask(1, Ask::Keep { rank: R, incarnation: Incarnation(0), images: keep.map(ImageNo) });
        shell.put(image, 0);
    }
    assert_eq!(images(&shell), [1, 2, 3]);
    shell.machine.leave_room(0);
    let mut out = Vec::new();
    shell.machine.look_at_room(&mut out);
    let removed = |image| Output::Remove(name(image, 0));
    assert_eq!(out, [removed(1)]);
}

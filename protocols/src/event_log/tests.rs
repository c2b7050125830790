use super::*;
use proptest::prelude::*;

const R: Rank = Rank(3);

fn event(n: u64) -> Determinant {
    Determinant::Clock { fails: 0, bits: n }
}

fn events(range: std::ops::RangeInclusive<u64>) -> Vec<Determinant> {
    range.map(event).collect()
}

fn hello(conn: u64, incarnation: u32) -> Input {
    Input::Hello { conn: ConnId(conn), rank: R, incarnation: Incarnation(incarnation) }
}

fn append(conn: u64, range: std::ops::RangeInclusive<u64>) -> Input {
    let first = EventNo(*range.start());
    Input::Frame {
        conn: ConnId(conn),
        frame: Frame::Append { first, clock: EventNo(0), records: events(range) },
    }
}

fn frame(conn: u64, frame: Frame) -> Input {
    Input::Frame { conn: ConnId(conn), frame }
}

fn said(out: &[Output]) -> String {
    format!("{out:?}")
}

/// A shell with a disk: stores at once what it is given, but confirms writing only when told to.
#[derive(Default)]
struct Shell {
    machine: EventLog,
    /// In the file, by number; a power loss leaves those up to `durable`.
    disk: BTreeMap<u64, Determinant>,
    base: u64,
    durable: u64,
    fence: u32,
    buffer: Vec<(u64, Determinant)>,
    out: Vec<Output>,
}

impl Shell {
    fn new() -> Self {
        Self { base: 1, ..Self::default() }
    }

    fn feed(&mut self, input: Input) -> Vec<Output> {
        let mut seen = Vec::new();
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            self.machine.handle(input, &mut self.out);
            for output in std::mem::take(&mut self.out) {
                match &output {
                    Output::Fence { conn, incarnation, .. } => {
                        self.fence = self.fence.max(incarnation.0);
                        inputs.push(Input::Fenced { conn: *conn, outcome: Ok(()) });
                    }
                    Output::Append { first, records, .. } => {
                        let numbers = first.0..;
                        self.buffer.extend(numbers.zip(records.iter().copied()));
                    }
                    Output::Compare { conn, first, records, .. } => {
                        let stored = |n| {
                            let waiting = self.buffer.iter().rev().find(|(m, _)| *m == n);
                            waiting.map(|(_, d)| *d).or_else(|| self.disk.get(&n).copied())
                        };
                        let mut numbered = (first.0..).zip(records);
                        let same = numbered.all(|(n, record)| stored(n) == Some(*record));
                        inputs.push(Input::Compared { conn: *conn, outcome: Ok(same) });
                    }
                    Output::Restart { first, .. } => {
                        self.disk.clear();
                        self.buffer.clear();
                        (self.base, self.durable) = (first.0, first.0 - 1);
                    }
                    Output::Prune { below, .. } => {
                        self.write();
                        self.disk = self.disk.split_off(&below.0);
                        self.base = below.0;
                    }
                    _ => {}
                }
                seen.push(output);
            }
        }
        seen
    }

    fn write(&mut self) -> Vec<Output> {
        self.disk.extend(self.buffer.drain(..));
        self.feed_all(Input::Written { rank: R })
    }

    /// Without recursion into [`Shell::feed`]'s interpretation: acknowledgements only.
    fn feed_all(&mut self, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        self.machine.handle(input, &mut out);
        out
    }

    fn last(&self) -> u64 {
        self.disk.keys().next_back().copied().unwrap_or(self.base - 1)
    }

    fn sync(&mut self) -> Vec<Output> {
        self.durable = self.last();
        self.feed_all(Input::Durable { rank: R, up_to: EventNo(self.durable) })
    }

    /// The process dies, or (`power`) the whole host; it starts again from what is left.
    fn crash(&mut self, power: bool) {
        self.buffer.clear();
        if power {
            self.disk.retain(|n, _| *n <= self.durable);
        }
        self.machine = EventLog::default();
        let found = Found {
            incarnation: Incarnation(self.fence),
            base: EventNo(self.base),
            last: EventNo(self.last()),
            damage: None,
            lost: None,
        };
        self.machine.restore(R, found);
        self.durable = self.last();
    }
}

#[test]
fn acknowledges_only_what_is_written_and_durable_only_what_is_durable() {
    let mut shell = Shell::new();
    assert!(said(&shell.feed(hello(1, 0))).contains("Yes"));
    assert!(!said(&shell.feed(append(1, 1..=3))).contains("Ack"));
    let ack = |written, durable| {
        vec![Output::Ack { conn: ConnId(1), written: EventNo(written), durable: EventNo(durable) }]
    };
    assert_eq!(shell.write(), ack(3, 0));
    assert_eq!(shell.sync(), ack(3, 3));
    shell.feed(append(1, 4..=4));
    assert_eq!(shell.write(), ack(4, 3));
}

#[test]
fn a_later_incarnation_shuts_out_the_earlier_one() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=3));
    shell.write();
    let out = shell.feed(hello(2, 1));
    assert!(out.contains(&Output::Refuse { conn: ConnId(1) }));
    assert!(
        shell.feed(append(1, 4..=9)).is_empty(),
        "a late frame of the old incarnation has no effect"
    );
    assert!(said(&shell.feed(hello(3, 0))).contains("Stale"));
    shell.crash(false);
    assert!(said(&shell.feed(hello(4, 0))).contains("Stale"), "also after a restart");
    assert!(said(&shell.feed(hello(5, 1))).contains("Yes"));
    let out = shell.feed(frame(5, Frame::Fetch { from: EventNo(2) }));
    let (from, next) = (EventNo(2), EventNo(4));
    assert_eq!(out, [Output::Stream { conn: ConnId(5), rank: R, from, next }]);
}

#[test]
fn what_is_sent_again_is_compared_and_not_stored_twice() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=3));
    shell.write();
    let out = shell.feed(hello(2, 0));
    assert!(said(&out).contains("Close { conn: ConnId(1)"));
    shell.feed(append(2, 2..=5));
    shell.write();
    assert_eq!(shell.disk.values().copied().collect::<Vec<_>>(), events(1..=5));
    // The same number with other content.
    let bad =
        Frame::Append { first: EventNo(5), clock: EventNo(0), records: vec![event(99), event(6)] };
    let out = said(&shell.feed(frame(2, bad)));
    assert!(out.contains("Close") && out.contains("otherwise"), "{out}");
    shell.write();
    assert_eq!(shell.last(), 5);
    assert!(said(&shell.feed(hello(3, 0))).contains("No("), "this incarnation is told why");
    assert!(said(&shell.feed(hello(4, 1))).contains("Yes"), "the next one is welcome");
}

#[test]
fn a_gap_in_a_whole_log_is_refused() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=3));
    let out = said(&shell.feed(append(1, 5..=6)));
    assert!(out.contains("Close") && out.contains("event 5"), "{out}");
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for first in [0, u64::MAX, u64::MAX - 1] {
        let mut shell = Shell::new();
        shell.feed(hello(1, 0));
        let hostile =
            Frame::Append { first: EventNo(first), clock: EventNo(0), records: events(1..=2) };
        let out = said(&shell.feed(frame(1, hostile)));
        assert!(out.contains("impossible"), "{out}");
    }
}

#[test]
fn a_damaged_log_serves_the_living_and_refuses_to_replay_with_a_hole() {
    let mut shell = Shell::new();
    let found = Found {
        incarnation: Incarnation(0),
        base: EventNo(1),
        last: EventNo(5),
        damage: Some("a flipped bit".into()),
        lost: None,
    };
    shell.machine.restore(R, found.clone());
    shell.feed(hello(1, 0));
    let out = said(&shell.feed(append(1, 8..=9)));
    assert!(out.contains("Restart") && out.contains("a flipped bit"), "{out}");
    shell.write();
    shell.feed(hello(2, 1));
    let out = said(&shell.feed(frame(2, Frame::Fetch { from: EventNo(3) })));
    assert!(out.contains("a flipped bit"), "{out}");
    let out = said(&shell.feed(hello(3, 1)));
    assert!(out.contains("No(") && out.contains("a flipped bit"), "{out}");

    // What comes again closes the hole.
    let mut shell = Shell::new();
    shell.machine.restore(R, found);
    shell.feed(hello(1, 1));
    let out = said(&shell.feed(frame(1, Frame::Fetch { from: EventNo(3) })));
    assert!(out.contains("damaged"), "{out}");
    shell.feed(hello(2, 2));
    shell.disk = (1..=5).map(|n| (n, event(n))).collect();
    shell.feed(append(2, 4..=9));
    shell.write();
    let out = shell.feed(frame(2, Frame::Fetch { from: EventNo(3) }));
    assert!(matches!(out[..], [Output::Stream { next: EventNo(10), .. }]), "{out:?}");
}

#[test]
fn a_log_that_lost_its_begin_serves_what_needs_none_of_it() {
    let mut shell = Shell::new();
    let found = Found {
        incarnation: Incarnation(0),
        base: EventNo(6),
        last: EventNo(9),
        damage: None,
        lost: Some("a flipped bit".into()),
    };
    shell.machine.restore(R, found);
    shell.disk = (6..=9).map(|n| (n, event(n))).collect();
    shell.feed(hello(1, 1));
    let out = shell.feed(frame(1, Frame::Fetch { from: EventNo(7) }));
    assert!(matches!(out[..], [Output::Stream { next: EventNo(10), .. }]), "{out:?}");
    shell.feed(hello(2, 2));
    let out = said(&shell.feed(frame(2, Frame::Fetch { from: EventNo(5) })));
    assert!(out.contains("a flipped bit"), "{out}");
}

#[test]
fn pruned_events_are_not_offered_and_pruning_ahead_heals() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=9));
    shell.write();
    shell.feed(frame(1, Frame::Prune { below: EventNo(5) }));
    let out = said(&shell.feed(frame(1, Frame::Fetch { from: EventNo(4) })));
    assert!(out.contains("begins at event 5"), "{out}");
    shell.feed(hello(2, 1));
    shell.feed(frame(2, Frame::Prune { below: EventNo(20) }));
    let out = shell.feed(append(2, 20..=21));
    assert!(matches!(out[..], [Output::Append { first: EventNo(20), .. }]), "{out:?}");
}

#[test]
fn what_an_image_made_unneeded_is_safe_and_said_to_be() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=9));
    let out = said(&shell.feed(frame(1, Frame::Prune { below: EventNo(10) })));
    assert!(out.contains("written: EventNo(9), durable: EventNo(9)"), "{out}");
}

#[test]
fn a_full_disk_is_reported_to_the_rank_until_there_is_room() {
    let mut shell = Shell::new();
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=3));
    shell.buffer.clear();
    let out = shell.feed_all(Input::WriteFailed { rank: R, why: "no space left".into() });
    assert!(said(&out).contains("no space left"));
    let mut out = Vec::new();
    shell.machine.handle(hello(2, 0), &mut out);
    assert!(matches!(out[..], [Output::Fence { .. }]), "a write must succeed first: {out:?}");
    out.clear();
    let failed = Input::Fenced { conn: ConnId(2), outcome: Err("no space left".into()) };
    shell.machine.handle(failed, &mut out);
    assert!(said(&out).contains("Later(") && said(&out).contains("no space left"));
    assert!(said(&shell.feed(hello(3, 0))).contains("Yes"));
    shell.feed(append(3, 1..=3));
    assert!(said(&shell.write()).contains("written: EventNo(3)"));
}

#[derive(Debug, Clone)]
enum Step {
    Send { back: u64, count: u64 },
    Write,
    WriteFail,
    Sync,
    Drop,
    Kill,
    Crash { power: bool },
    Prune { at: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u64..4, 0u64..6).prop_map(|(back, count)| Step::Send { back, count }),
        4 => Just(Step::Write),
        1 => Just(Step::WriteFail),
        2 => Just(Step::Sync),
        1 => Just(Step::Drop),
        1 => Just(Step::Kill),
        1 => any::<bool>().prop_map(|power| Step::Crash { power }),
        1 => (0u64..30).prop_map(|at| Step::Prune { at }),
    ]
}

/// A rank as it should be: keeps what is not durable, sends it again after each reconnect.
struct Client {
    conn: u64,
    incarnation: u32,
    made: u64,
    /// Next one to send on this connection.
    next: u64,
    written: u64,
    durable: u64,
}

impl Client {
    fn hear(&mut self, out: &[Output]) {
        for output in out {
            if let Output::Ack { conn, written, durable } = output
                && conn.0 == self.conn
            {
                assert!(durable <= written);
                self.written = self.written.max(written.0);
                self.durable = self.durable.max(durable.0);
            }
        }
    }

    fn reconnect(&mut self, shell: &mut Shell) {
        self.conn += 1;
        let out = shell.feed(hello(self.conn, self.incarnation));
        assert!(said(&out).contains("Yes"), "{out:?}");
        self.next = self.durable + 1;
    }
}

proptest! {
    #[test]
    fn nothing_acknowledged_is_ever_lost(steps in proptest::collection::vec(step(), 1..80)) {
        let mut shell = Shell::new();
        let mut rank = Client { conn: 0, incarnation: 0, made: 0, next: 1, written: 0, durable: 0 };
        rank.reconnect(&mut shell);
        for step in steps {
            match step {
                Step::Send { back, count } => {
                    let from = rank.next.saturating_sub(back).max(rank.durable + 1).min(rank.next);
                    rank.made = rank.made.max(rank.next - 1) + count;
                    let out = shell.feed(append(rank.conn, from..=rank.made));
                    prop_assert!(!said(&out).contains("Close"), "{out:?}");
                    rank.next = rank.made + 1;
                    rank.hear(&out);
                }
                Step::Write => rank.hear(&shell.write()),
                Step::WriteFail => {
                    shell.buffer.clear();
                    let why = "no space".to_owned();
                    shell.feed_all(Input::WriteFailed { rank: R, why });
                    rank.reconnect(&mut shell);
                }
                Step::Sync => rank.hear(&shell.sync()),
                Step::Drop => {
                    shell.feed_all(Input::Lost { conn: ConnId(rank.conn) });
                    rank.reconnect(&mut shell);
                }
                Step::Kill => {
                    rank.incarnation += 1;
                    rank.reconnect(&mut shell);
                    shell.write();
                    let from = shell.base;
                    let out = shell.feed(frame(rank.conn, Frame::Fetch { from: EventNo(from) }));
                    let Some(Output::Stream { next, .. }) = out.last() else {
                        return Err(TestCaseError::fail(format!("{out:?}")));
                    };
                    prop_assert!(next.0 > rank.written, "{} acknowledged, {next} next", rank.written);
                    for n in from..next.0 {
                        prop_assert_eq!(shell.disk.get(&n), Some(&event(n)));
                    }
                    rank.made = next.0 - 1;
                    rank.next = next.0;
                }
                Step::Crash { power } => {
                    shell.crash(power);
                    rank.reconnect(&mut shell);
                    if power {
                        // Written is not durable: the living rank sends it again at once.
                        let out = shell.feed(append(rank.conn, rank.next..=rank.made));
                        prop_assert!(!said(&out).contains("Close"), "{out:?}");
                        rank.next = rank.made + 1;
                        rank.hear(&shell.write());
                    }
                }
                Step::Prune { at } => {
                    let below = EventNo(at.min(rank.written + 1).max(1));
                    let out = shell.feed(frame(rank.conn, Frame::Prune { below }));
                    prop_assert!(!said(&out).contains("Restart"), "{out:?}");
                }
            }
            prop_assert!(rank.written <= shell.last(), "acknowledged before it was written");
            for (n, record) in &shell.disk {
                prop_assert_eq!(record, &event(*n));
            }
        }
    }

    #[test]
    fn any_frames_from_a_rank_never_break_the_order(
        ops in proptest::collection::vec((0u8..5, any::<u64>(), 0u64..5, 0u64..40), 1..40),
    ) {
        let mut shell = Shell::new();
        let mut conn = 1;
        let mut incarnation = 0;
        shell.feed(hello(conn, incarnation));
        for (kind, huge, count, small) in ops {
            let number = EventNo(if count == 0 { huge } else { small });
            let out = match kind {
                0 | 1 => {
                    let records = events(number.0..=number.0.saturating_add(count));
                    shell.feed(frame(conn, Frame::Append { first: number, clock: EventNo(0), records }))
                }
                2 => shell.feed(frame(conn, Frame::Prune { below: number })),
                3 => shell.feed(frame(conn, Frame::Fetch { from: number })),
                _ => shell.feed(frame(conn, Frame::End { next: number })),
            };
            shell.write();
            if said(&out).contains("Close") {
                conn += 1;
                incarnation += 1;
                shell.feed(hello(conn, incarnation));
            }
            for (n, expected) in shell.disk.keys().zip(shell.base..) {
                prop_assert_eq!(*n, expected);
            }
        }
    }
}

#[test]
fn a_promise_of_durability_sends_nothing_that_a_loss_of_power_could_take() {
    let mut shell = Shell { machine: EventLog::new(Promise::Durable), ..Shell::new() };
    shell.feed(hello(1, 0));
    shell.machine.peer_logger_listens(ConnId(9));
    let first = EventNo(1);
    let frame_of = Frame::Append { first, clock: EventNo(3), records: events(1..=3) };
    shell.feed(frame(1, frame_of));
    let news = |machine: &mut EventLog| {
        let mut frames = Vec::new();
        machine.news_for_peer_logger(ConnId(9), &mut frames);
        frames
    };
    assert_eq!(shell.write(), [], "written is not enough");
    assert_eq!(news(&mut shell.machine), []);
    // Its next incarnation gets its log only when all of it counts.
    shell.feed(hello(2, 1));
    assert_eq!(shell.feed(frame(2, Frame::Fetch { from: first })), []);
    let out = shell.sync();
    let stream = Output::Stream { conn: ConnId(2), rank: R, from: first, next: EventNo(4) };
    assert!(out.contains(&stream), "{out:?}");
    assert_eq!(news(&mut shell.machine), [Frame::Stable { clocks: vec![(R, EventNo(3))] }]);
    shell.feed(append(2, 4..=4));
    let sent_again = shell.feed(append(2, 4..=4));
    assert!(!said(&sent_again).contains("written: EventNo(4)"), "{sent_again:?}");
    shell.write();
    let out = shell.sync();
    let (written, durable) = (EventNo(4), EventNo(4));
    assert!(out.contains(&Output::Ack { conn: ConnId(2), written, durable }), "{out:?}");
}

#[test]
fn who_asked_and_went_is_not_answered() {
    let mut shell = Shell { machine: EventLog::new(Promise::Durable), ..Shell::new() };
    shell.feed(hello(1, 0));
    shell.feed(append(1, 1..=3));
    shell.write();
    shell.feed(hello(2, 1));
    shell.feed(frame(2, Frame::Fetch { from: EventNo(1) }));
    shell.feed(Input::Lost { conn: ConnId(2) });
    assert!(!said(&shell.sync()).contains("Stream"));
}

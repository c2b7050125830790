//! Constructors, views and hints with senseless arguments: each is refused, or makes a type that
//! answers every question soon and without overflow.

use super::darray::{Distribution, Order};
use super::*;
use crate::file::view::{Representation, View};
use crate::usermem::RunVisitor;
use proptest::prelude::*;

/// Small, large, and where sums and products overflow.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3i64..6,
        2 => prop::sample::select(vec![
            i64::from(i32::MAX),
            i64::from(i32::MIN),
            1 << 32,
            1 << 40,
            1 << 62,
            i64::MAX,
            i64::MAX - 1,
            i64::MIN,
            i64::MIN + 1,
        ]),
        1 => any::<i64>(),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(number(), 0..4)
}

type Step = (u8, [i64; 3], Vec<i64>, Vec<i64>);

fn steps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    let step = (0u8..12, prop::array::uniform3(number()), numbers(), numbers());
    (0..Builtin::ALL.len(), prop::collection::vec(step, 1..5))
}

fn derive(of: &Datatype, (kind, [a, b, c], some, more): &Step) -> crate::error::Result<Datatype> {
    let (a, b, c) = (*a, *b, *c);
    match kind {
        0 => Datatype::contiguous(a, of),
        1 => Datatype::vector(a, b, c, of),
        2 => Datatype::hvector(a, b, c, of),
        3 => Datatype::indexed(some, more, of),
        4 => Datatype::hindexed(some, more, of),
        5 => Datatype::indexed_block(a, some, of),
        6 => Datatype::hindexed_block(a, some, of),
        7 => {
            let types = vec![of.clone(); some.len()];
            Datatype::structure(some, more, &types)
        }
        8 => Datatype::resized(a, b, of),
        9 => {
            let starts: Vec<i64> = more.iter().map(|n| n / 2).collect();
            Datatype::subarray(more, some, &starts, Order::C, of)
        }
        10 => {
            let dims = some.len();
            let distributions = vec![Distribution::Cyclic; dims];
            let processes = vec![1 + (b & 1); dims];
            let size = processes.iter().product();
            Datatype::darray(
                DistributedArray {
                    size,
                    rank: a.rem_euclid(3),
                    gsizes: some,
                    distributions: &distributions,
                    arguments: &vec![c.clamp(1, 1 << 40); dims],
                    psizes: &processes,
                    order: Order::Fortran,
                },
                of,
            )
        }
        _ => Datatype::dup(of),
    }
}

/// Makes types by the steps from `first` on; returns the last of them.
fn build(first: usize, steps: &[Step]) -> Datatype {
    let mut made = Datatype::builtin(Builtin::ALL[first]).clone();
    for step in steps {
        if let Ok(next) = derive(&made, step) {
            made = next;
        }
    }
    made
}

/// Counts runs and sees that they stay within bounds.
struct Bounded {
    low: i64,
    high: i64,
    bytes: u64,
}

impl RunVisitor for Bounded {
    fn run(&mut self, disp: i64, len: usize) {
        assert!(self.low <= disp && disp.checked_add(len as i64).unwrap() <= self.high);
        self.bytes += len as u64;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn types_of_any_arguments_answer((first, steps) in steps()) {
        let t = build(first, &steps);
        assert_eq!(i128::from(t.extent()), i128::from(t.ub()) - i128::from(t.lb()));
        assert!(t.true_lb() <= t.true_ub() && t.true_extent() >= 0);
        for count in [0, 1, 2, 1 << 31, u64::MAX] {
            let all = t.size().checked_mul(count).filter(|&bytes| bytes <= i64::MAX as u64);
            assert_eq!(t.total_size(count), all);
            let _ = (t.span(count), t.block(count), t.elements_of(count), t.bytes_of_elements(count));
            let _ = t.count_of(count);
        }
        // The beginning, the middle and the end of a value.
        for from in [0, t.size() / 2, t.size().saturating_sub(40)] {
            let mut seen = Bounded { low: t.true_lb(), high: t.true_ub(), bytes: 0 };
            t.for_each_run(1, from, from + 40, &mut seen);
            assert_eq!(seen.bytes, 40.min(t.size() - from));
        }
        // A type that goes to another process arrives as the same type.
        let mut bytes = Vec::new();
        t.write_to(&mut bytes);
        let there = Datatype::read_from(&bytes).unwrap();
        assert_eq!(
            (there.size(), there.lb(), there.ub(), there.true_lb(), there.true_ub()),
            (t.size(), t.lb(), t.ub(), t.true_lb(), t.true_ub())
        );
    }

    #[test]
    fn views_of_any_types_answer(
        (first, steps) in steps(), (unit, more) in steps(), disp in number(), at in number(),
    ) {
        let _ = more;
        let etype = Datatype::builtin(Builtin::ALL[unit]).clone();
        let filetype = build(first, &steps);
        for representation in [Representation::Native, Representation::External32] {
            let mut view = View {
                disp, etype: etype.clone(), filetype: filetype.clone(), representation, in_file: None,
            };
            if view.represent().is_err() || view.check(false).is_err() {
                continue;
            }
            let _ = view.byte_offset(at);
            let _ = view.bytes_before(at);
            for len in [1, 100] {
                let Ok(runs) = view.runs(at.unsigned_abs(), len) else { continue };
                assert_eq!(runs.iter().map(|run| run.1 as u64).sum::<u64>(), len);
                // (Copies of a filetype may lie over each other.)
                let apart = view.filetype_in_file().extent() >= view.filetype_in_file().true_ub();
                let ascends =
                    runs.windows(2).all(|two| two[0].0 + two[0].1 as u64 <= two[1].0);
                assert!(ascends || !apart);
                assert!(runs[0].0 >= disp as u64);
            }
        }
    }

    /// The quick answer is that of looking at every run.
    #[test]
    fn ascending_types_are_known((first, steps) in steps()) {
        let t = build(first, &steps);
        if t.size() > 1 << 16 {
            return Ok(());
        }
        struct Ascending(i64, bool);
        impl RunVisitor for Ascending {
            fn run(&mut self, disp: i64, len: usize) {
                self.1 &= disp >= self.0;
                self.0 = disp + len as i64;
            }
        }
        let mut looked = Ascending(i64::MIN, true);
        t.for_each_run(1, 0, u64::MAX, &mut looked);
        assert_eq!(t.is_ascending(), looked.1, "{:?}", t);
    }

    #[test]
    fn hints_of_any_bytes_are_taken_or_left(
        pairs in prop::collection::vec((prop::sample::select(vec![
            "cb_nodes", "cb_buffer_size", "romio_cb_read", "romio_cb_write", "no_locks", "",
        ]), prop_oneof!["[0-9]{1,30}", "-?[0-9 ]{0,8}", "enable|disable|true|\u{0}", ".{0,40}"]), 0..8),
        raw in prop::collection::vec(any::<u8>(), 0..1100),
    ) {
        let mut info = crate::info::Info::new();
        for (key, value) in &pairs {
            let _ = info.set(key.as_bytes(), value.as_bytes());
        }
        assert_eq!(info.set(b"raw", &raw).is_ok(), raw.len() <= 1024);
        let _ = info.set(&raw, b"x");
        let hints = crate::file::together::Hints::of(&info);
        assert_eq!(hints, crate::file::together::Hints::of(&info.clone()));
        for n in 0..info.len() as i64 {
            let key = info.nth_key(n).unwrap().to_vec();
            assert!(info.get(&key).unwrap().is_some());
        }
        assert!(info.nth_key(info.len() as i64).is_err() && info.nth_key(-1).is_err());
    }
}

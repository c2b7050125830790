//! Some hundred runs, and the proof that the invariants see a bug.

use super::{Mutant, Outcome, run};
use std::cell::Cell;
use std::panic::{catch_unwind, set_hook, take_hook};

const SEEDS: u64 = 400;

thread_local! {
    /// A panic of this thread is what a test looks for.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

fn expect_panics() {
    EXPECTED.set(true);
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        if !EXPECTED.get() {
            before(panic);
        }
    }));
}

#[test]
fn spawned_worlds_are_protected_like_the_first() {
    let mut all = Outcome::default();
    for seed in 1..=SEEDS {
        let one = catch_unwind(|| run(seed, None));
        let one = one.unwrap_or_else(|_| panic!("replay with seed {seed}"));
        all += one;
    }
    let seen = all.returns > 100 && all.again > 50 && all.restored > 50 && all.waves > 500;
    assert!(seen, "{all:?}");
}

#[test]
fn each_deliberate_bug_is_found() {
    expect_panics();
    let missed = [
        Mutant::OpenQuestionForgotten,
        Mutant::AnswerForgotten,
        Mutant::EndReportedEarly,
        Mutant::ImageNotUsed,
        Mutant::AnswerOvertaken,
    ];
    let is_missed =
        |mutant: &Mutant| (1..=SEEDS).all(|seed| catch_unwind(|| run(seed, Some(*mutant))).is_ok());
    let missed: Vec<Mutant> = missed.into_iter().filter(is_missed).collect();
    EXPECTED.set(false);
    assert_eq!(missed, []);
}

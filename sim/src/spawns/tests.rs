//! Some hundred runs, and the proof that the invariants see a bug.

use super::{Mutant, Outcome, Returns, run};
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
    for returns in Returns::EACH {
        let mut all = Outcome::default();
        for seed in 1..=SEEDS {
            let one = catch_unwind(|| run(seed, returns, None));
            let one = one.unwrap_or_else(|_| panic!("replay with seed {seed}, {returns:?}"));
            all += one;
        }
        let waves = all.waves > 500 || returns == Returns::Process;
        let seen = all.returns > 100 && all.again > 50 && all.restored > 50 && waves;
        assert!(seen, "{returns:?}: {all:?}");
    }
}

#[test]
fn each_deliberate_bug_is_found() {
    expect_panics();
    let of_all = [
        Mutant::OpenQuestionForgotten,
        Mutant::AnswerForgotten,
        Mutant::EndReportedEarly,
        Mutant::ImageNotUsed,
        Mutant::AnswerOvertaken,
    ];
    let of_logs = [
        Mutant::OpenQuestionForgotten,
        Mutant::AnswerForgotten,
        Mutant::AskedTooEarly,
        Mutant::NumbersFromZero,
        Mutant::LeavesEarly,
    ];
    let each = [
        (Returns::All, &of_all[..]),
        (Returns::World, &of_logs[..]),
        (Returns::World, &[Mutant::EndReportedEarly][..]),
        (Returns::Process, &of_logs[..]),
    ];
    let each =
        each.into_iter().flat_map(|(returns, all)| all.iter().map(move |one| (returns, *one)));
    let is_missed = |(returns, mutant): &(Returns, Mutant)| {
        (1..=SEEDS).all(|seed| catch_unwind(|| run(seed, *returns, Some(*mutant))).is_ok())
    };
    let missed: Vec<_> = each.filter(is_missed).collect();
    EXPECTED.set(false);
    assert_eq!(missed, []);
}

/// What a run that breaks an invariant says.
fn broken(seed: u64, returns: Returns, mutant: Mutant) -> Option<String> {
    let panic = catch_unwind(|| run(seed, returns, Some(mutant))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

/// Each invariant of commands that bring worlds is broken by a bug that it is there for.
#[test]
fn each_invariant_of_joins_can_be_broken() {
    expect_panics();
    let of_all = [
        (Mutant::JoinRepeated, "a second world"),
        (Mutant::JoinTakenEarly, "whose world began"),
        (Mutant::JoinedLivesOn, "the user had seen the end of"),
        (Mutant::CodeLost, "hears"),
        (Mutant::MeetingInvented, "the job has failed"),
    ];
    let of_logs = [
        (Mutant::JoinRepeated, "a second world"),
        (Mutant::CodeLost, "hears"),
        (Mutant::MeetingForgotten, "others are told that all leave"),
        (Mutant::MeetingInvented, "the job has failed"),
    ];
    let mut missed = Vec::new();
    for returns in Returns::EACH {
        let each = if returns == Returns::All { &of_all[..] } else { &of_logs[..] };
        for (mutant, text) in each {
            let mut seeds = 1..=SEEDS;
            let says = |panic: String| panic.contains(text);
            if !seeds.any(|seed| broken(seed, returns, *mutant).is_some_and(says)) {
                missed.push((returns, *mutant));
            }
        }
    }
    EXPECTED.set(false);
    assert_eq!(missed, []);
}

//! Two thousand simulations of each protocol, and the proof that they would see a bug. Many more: the binary.

use ftmpi_sim::campaign::{catch, check, setup};
use ftmpi_sim::mutants::Mutant;
use ftmpi_sim::programs::Program;
use ftmpi_sim::protocol_config::Choice;
use ftmpi_sim::world::quiet_panics;

/// Seeds among which each deliberate bug must be caught.
const SEEDS: u64 = 5000;

/// How many simulations each protocol has, its settings in turn.
const EACH: u64 = 2000;

const PESSIMISTIC: &[Choice] = &[Choice::Pessimistic, Choice::PessimisticApart];
const CAUSAL: &[Choice] = &[
    Choice::Vcausal,
    Choice::Manetho,
    Choice::Logon,
    Choice::LogonCarried,
    Choice::LogonShared,
    Choice::VcausalBroadcast,
    Choice::VcausalAlone,
    Choice::ManethoAlone,
    Choice::LogonAlone,
];
const OPTIMISTIC: &[Choice] = &[
    Choice::Optimistic,
    Choice::OptimisticStandard,
    Choice::OptimisticShared,
    Choice::OptimisticBroadcast,
];
const COORDINATED: &[Choice] = &[Choice::Blocking, Choice::Nonblocking];

fn all_right(choices: &[Choice]) {
    quiet_panics();
    let failed: Vec<_> = (1..=EACH)
        .zip(choices.iter().cycle())
        .filter_map(|(seed, &choice)| {
            Some((choice, seed, check(&setup(seed, Some(choice), None, false)).err()?))
        })
        .collect();
    let replay = "replay with ftmpi-sim --protocol CHOICE --first SEED --seeds 1 --trace";
    assert!(failed.is_empty(), "{replay}: {failed:?}");
}

#[test]
fn pessimistic_is_right() {
    all_right(PESSIMISTIC);
}

#[test]
fn channel_memory_is_right() {
    all_right(&[Choice::ChannelMemory]);
}

#[test]
fn causal_is_right() {
    all_right(CAUSAL);
}

#[test]
fn optimistic_is_right() {
    all_right(OPTIMISTIC);
}

#[test]
fn coordinated_is_right() {
    all_right(COORDINATED);
}

#[test]
fn hierarchical_is_right() {
    all_right(&Choice::HIERARCHICAL);
}

#[test]
fn no_setting_is_left_out() {
    let tested = [PESSIMISTIC, &[Choice::ChannelMemory], CAUSAL, OPTIMISTIC, COORDINATED];
    let tested = tested.concat().len() + Choice::HIERARCHICAL.len();
    assert_eq!(tested, Choice::ALL.len());
}

#[test]
fn waves_are_complete_and_returned_to() {
    let clustered = Choice::HIERARCHICAL;
    for choice in [Choice::Blocking, Choice::Nonblocking].into_iter().chain(clustered) {
        let outcomes =
            (1..40).filter_map(|seed| check(&setup(seed, Some(choice), None, false)).ok());
        let (waves, restored) =
            outcomes.fold((0, 0), |(w, r), outcome| (w + outcome.waves, r + outcome.restored));
        assert!(waves > 40 && restored > 40, "{waves} waves, {restored} lives from them");
    }
}

/// Each was the first to show a fault that was mended, in the simulator as it was then.
#[test]
fn seeds_that_failed_once_do_not_again() {
    for (choice, seed) in [
        // Of a rank that dies behind the match of a receive that it was about to cancel.
        (Choice::OptimisticShared, 8160),
        // Events that are cut off before they are written; a message that a full channel keeps.
        (Choice::OptimisticShared, 21840),
        (Choice::OptimisticShared, 5403),
        // Late news of a wave that had not reached a rank ended the next one, whose marker had; a frame that
        // waits behind a marker.
        (Choice::HierarchicalOptimistic, 216),
        (Choice::HierarchicalOptimistic, 2829),
        (Choice::HierarchicalStandard, 2695),
        // Waves that were ordered again and again; lives that were given up and began; waves that were never
        // complete and cost the start.
        (Choice::HierarchicalCausal, 263),
        (Choice::Blocking, 7),
        (Choice::Nonblocking, 11),
        (Choice::Hierarchical, 2920),
        (Choice::Hierarchical, 2201),
        // A logger that began again made what it found durable, and not yet what was stored beside it before.
        (Choice::Optimistic, 37),
    ] {
        let outcome = check(&setup(seed, Some(choice), None, false));
        assert!(outcome.is_ok(), "{choice:?}, seed {seed}: {outcome:?}");
    }
}

#[test]
fn damaged_logs_are_survived_or_end_the_job() {
    for choice in [Choice::Pessimistic, Choice::Vcausal, Choice::Optimistic] {
        let setups = (1..800).map(|seed| setup(seed, Some(choice), None, false));
        let damaged: Vec<_> = setups.filter(|setup| setup.damages > 0).collect();
        let outcomes: Vec<_> = damaged.iter().filter_map(|setup| check(setup).ok()).collect();
        let refused = outcomes.iter().filter(|outcome| outcome.refused).count();
        assert_eq!(outcomes.len(), damaged.len(), "{choice:?}");
        assert!(
            refused > 1 && refused < damaged.len(),
            "{choice:?}: {refused} of {}",
            damaged.len()
        );
    }
}

#[test]
fn ranks_access_each_others_memory_in_every_protocol() {
    for choice in Choice::ALL {
        let setups = (1..EACH).map(|seed| setup(seed, Some(choice), None, false));
        let failing: Vec<_> =
            setups.filter(|s| s.program.is_one_sided() && s.crashes > 0).collect();
        for program in Program::ONE_SIDED {
            let count = failing.iter().filter(|setup| setup.program == program).count();
            assert!(count > 30, "{choice:?}: {program:?} with crashes {count} times");
        }
    }
}

#[test]
fn there_are_orphans_to_roll_back() {
    for choice in [
        Choice::Optimistic,
        Choice::OptimisticStandard,
        Choice::HierarchicalOptimistic,
        Choice::HierarchicalStandard,
    ] {
        // (A part of the seeds has programs that wait for each other all the time, and hardly any orphans.)
        let outcomes =
            (1..240).filter_map(|seed| check(&setup(seed, Some(choice), None, false)).ok());
        let (runs, orphans) = outcomes.fold((0, 0), |(n, o), outcome| (n + 1, o + outcome.orphans));
        assert!(runs == 239 && orphans > 12, "{choice:?}: {runs} runs, {orphans} orphans");
    }
}

#[test]
fn the_seeds_cover_every_program_and_fault() {
    let setups: Vec<_> = (1..SEEDS).map(|seed| setup(seed, None, None, false)).collect();
    for program in Program::ALL {
        let count = setups.iter().filter(|s| s.program == program && s.crashes > 0).count();
        assert!(count > 4, "{program:?} with crashes");
    }
    assert!(setups.iter().any(|s| s.ranks == 8 && s.crashes > 5 && s.logger_deaths > 0));
    assert!(setups.iter().any(|s| s.power_loss && s.slow_logger && s.all_events));
    assert!(setups.iter().filter(|s| s.near && s.crashes > 0 && s.outages > 0).count() > 5);
    assert!(setups.iter().any(|s| s.near && s.logger_deaths > 0 && s.together));
    let suspended = setups.iter().filter(|s| s.suspensions > 0 && s.crashes > 0);
    assert!(suspended.filter(|s| s.agent_deaths > 0 || s.outages > 0).count() > 50);
    let broken = setups.iter().filter(|s| s.host_deaths > 0 && s.suspensions > 0);
    assert!(broken.filter(|s| s.choice.in_waves()).count() > 50);
    let launcher = setups.iter().filter(|s| s.outages > 0 && s.agent_deaths > 0);
    assert!(launcher.filter(|s| s.scheduler_deaths > 0 && s.hosts > 1).count() > 50);
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 8, 21] {
        let setup = setup(seed, None, None, false);
        assert_eq!(check(&setup), check(&setup), "seed {seed}");
    }
}

fn caught(mutants: impl Iterator<Item = &'static Mutant>) {
    quiet_panics();
    for &mutant in mutants {
        assert!(catch(mutant, 1..SEEDS).is_some(), "{mutant:?} is not caught by {SEEDS} seeds");
    }
}

#[test]
fn every_second_deliberate_bug_is_caught() {
    caught(Mutant::all().iter().step_by(2));
}

#[test]
fn every_other_deliberate_bug_is_caught() {
    caught(Mutant::all().iter().skip(1).step_by(2));
}

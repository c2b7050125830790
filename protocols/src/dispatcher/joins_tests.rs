//! Worlds that commands of the user bring: when they begin, when they end alone, and that they
//! begin again.

use super::spawns_tests::{KILLED, all_die, begin_wave, commit, starts};
use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use ftmpi_wire::Logging;

fn job(protocol: &str) -> Settings {
    let mut settings = settings(2, 1, protocol);
    settings.traits.logging = match protocol {
        "pessimistic" => Logging::Pessimistic,
        "causal" => Logging::Causal,
        _ => Logging::None,
    };
    settings
}

fn wanted(count: u32) -> Vec<Wanted> {
    vec![Wanted { count, hosts: Vec::new(), program: 9 }]
}

fn join(dispatcher: &mut Dispatcher, number: u64) -> Vec<Command> {
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Join { number, wanted: wanted(2) });
    drain(dispatcher)
}

/// A job of two ranks under this protocol, and a world of two that a command has brought.
fn joined(protocol: &str) -> Dispatcher {
    let mut dispatcher = running(job(protocol));
    let mut commands = join(&mut dispatcher, 0);
    if protocol == "coordinated" {
        assert_eq!(starts(&commands), [], "a wave comes first");
        let (ranks, wave) = begin_wave(&mut dispatcher);
        commit(&mut dispatcher, &ranks, 0, wave);
        commands = drain(&mut dispatcher);
    }
    assert_eq!(starts(&commands), [(2, 0, None), (3, 0, None)]);
    hello(&mut dispatcher, 2, 0);
    hello(&mut dispatcher, 3, 0);
    let first = Rank(2);
    assert!(drain(&mut dispatcher).contains(&Command::Joined { number: 0, first }));
    dispatcher
}

/// What commands hear of the end of their worlds.
fn ends(commands: &[Command]) -> Vec<(u64, i32)> {
    let of = |command: &Command| match command {
        Command::JoinOver { number, code, .. } => Some((*number, *code)),
        _ => None,
    };
    commands.iter().filter_map(of).collect()
}

fn job_end(commands: &[Command]) -> Option<i32> {
    commands.iter().find_map(|command| match command {
        Command::End { code, .. } => Some(*code),
        _ => None,
    })
}

fn finishes(
    dispatcher: &mut Dispatcher,
    ranks: &[u32],
    incarnation: u32,
    code: i32,
) -> Vec<Command> {
    let incarnation = Incarnation(incarnation);
    let now = dispatcher.now;
    for rank in ranks.iter().copied().map(Rank) {
        dispatcher.handle(now, Input::Connected { rank, incarnation, with: Vec::new() });
        dispatcher.handle(now, Input::Finalizing { rank, incarnation });
    }
    for rank in ranks.iter().copied().map(Rank) {
        dispatcher.handle(now, Input::Exiting { rank, incarnation, code });
    }
    let commands = drain(dispatcher);
    let may_leave = |command: &&Command| matches!(command, Command::AllExiting { .. });
    if commands.iter().filter(may_leave).count() < ranks.len() {
        return commands;
    }
    for &rank in ranks {
        dispatcher.handle(now, ended(rank, incarnation.0, Ending::Code(code), 1));
    }
    commands.into_iter().chain(drain(dispatcher)).collect()
}

fn meet(dispatcher: &mut Dispatcher) {
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Meet { ranks: [Rank(2), Rank(0)] });
}

#[test]
fn a_world_has_its_own_exit_code() {
    for protocol in ["none", "coordinated", "pessimistic"] {
        let mut dispatcher = joined(protocol);
        let commands = finishes(&mut dispatcher, &[2, 3], 0, 5);
        assert_eq!((ends(&commands), job_end(&commands)), (vec![(0, 5)], None), "{protocol}");
        let commands = finishes(&mut dispatcher, &[0, 1], 0, 0);
        assert_eq!((ends(&commands), job_end(&commands)), (vec![], Some(0)), "{protocol}");
    }
}

#[test]
fn a_world_that_has_met_another_stays_where_its_log_may_be_needed() {
    let mut dispatcher = joined("pessimistic");
    meet(&mut dispatcher);
    let commands = finishes(&mut dispatcher, &[2, 3], 0, 5);
    assert_eq!(ends(&commands), [(0, 5)]);
    let leaves = |command: &Command| matches!(command, Command::AllExiting { .. });
    assert!(!commands.iter().any(leaves), "{commands:?}");
    // It repeats what its failed rank did, and says nothing more to the command.
    let now = dispatcher.now;
    dispatcher.handle(now, ended(3, 0, KILLED, 1));
    assert_eq!(starts(&drain(&mut dispatcher)), [(3, 1, None)]);
    hello(&mut dispatcher, 3, 1);
    assert_eq!(ends(&finishes(&mut dispatcher, &[3], 1, 5)), []);
}

#[test]
fn a_world_that_has_met_nobody_fails_alone() {
    for (ending, code) in [(Ending::Code(3), 3), (Ending::Signal(11), 139)] {
        let mut dispatcher = joined("none");
        let now = dispatcher.now;
        dispatcher.handle(now, ended(2, 0, ending, 1));
        let commands = drain(&mut dispatcher);
        let kill = Command::Kill { rank: Rank(3), incarnation: Incarnation(0) };
        assert!(commands.contains(&kill) && job_end(&commands).is_none(), "{commands:?}");
        assert_eq!(ends(&commands), [], "a process of it still runs");
        dispatcher.handle(now, ended(3, 0, KILLED, 1));
        assert_eq!(ends(&drain(&mut dispatcher)), [(0, code)]);
        assert_eq!(job_end(&finishes(&mut dispatcher, &[0, 1], 0, 0)), Some(0));

        let mut dispatcher = joined("none");
        meet(&mut dispatcher);
        dispatcher.handle(dispatcher.now, ended(2, 0, ending, 1));
        assert_eq!(job_end(&drain(&mut dispatcher)), Some(code), "it has met others");
    }
}

#[test]
fn a_complaint_of_a_world_is_the_echo_of_a_death_in_it_or_ends_it_alone() {
    let complain = |dispatcher: &mut Dispatcher| {
        let (rank, incarnation, text) = (Rank(3), Incarnation(0), "it is lost".to_owned());
        let now = dispatcher.now;
        dispatcher.handle(now, Input::Abort { rank, incarnation, code: 1, text });
        assert_eq!(drain(dispatcher), []);
    };
    let mut dispatcher = joined("none");
    complain(&mut dispatcher);
    dispatcher.handle(dispatcher.now, ended(2, 0, KILLED, 1));
    dispatcher.handle(dispatcher.now, ended(3, 0, KILLED, 1));
    assert_eq!(ends(&drain(&mut dispatcher)), [(0, 137)]);
    let mut dispatcher = joined("none");
    complain(&mut dispatcher);
    dispatcher.handle(dispatcher.now + 9 * S, Input::Tick);
    dispatcher.handle(dispatcher.now, ended(2, 0, KILLED, 1));
    dispatcher.handle(dispatcher.now, ended(3, 0, KILLED, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!((ends(&commands), job_end(&commands)), (vec![(0, 1)], None));
}

#[test]
fn a_world_that_is_dropped_begins_again_by_itself() {
    let mut dispatcher = joined("coordinated");
    meet(&mut dispatcher);
    // Its command has heard of its end.
    assert_eq!(ends(&finishes(&mut dispatcher, &[2, 3], 0, 0)), [(0, 0)]);
    dispatcher.handle(dispatcher.now, ended(1, 0, KILLED, 1));
    let commands = all_die(&mut dispatcher, &[0], 0);
    // The same numbers. What the user has seen is before the wave.
    assert_eq!(starts(&commands), [(0, 1, Some(1)), (1, 1, Some(1)), (2, 2, None), (3, 2, None)]);
    // The user has seen that end: another command waits until it has come again.
    assert_eq!(starts(&join(&mut dispatcher, 1)), []);
    for (rank, incarnation) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        hello(&mut dispatcher, rank, incarnation);
    }
    dispatcher.handle(
        dispatcher.now,
        Input::CaughtUp { rank: Rank(0), incarnation: Incarnation(1), replayed: 0 },
    );
    dispatcher.handle(
        dispatcher.now,
        Input::CaughtUp { rank: Rank(1), incarnation: Incarnation(1), replayed: 0 },
    );
    for rank in [2, 3].map(Rank) {
        let (incarnation, replayed) = (Incarnation(2), 0);
        dispatcher.handle(dispatcher.now, Input::CaughtUp { rank, incarnation, replayed });
    }
    drain(&mut dispatcher);
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1, 2, 3]);
    for (rank, incarnation) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        commit(&mut dispatcher, &[rank], incarnation, wave);
    }
    assert_eq!(starts(&drain(&mut dispatcher)), [], "the first world has not ended again");
    assert_eq!(ends(&finishes(&mut dispatcher, &[2, 3], 2, 0)), [], "the command has heard it");
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1]);
    commit(&mut dispatcher, &ranks, 1, wave);
    assert_eq!(starts(&drain(&mut dispatcher)), [(4, 0, None), (5, 0, None)]);
}

#[test]
fn no_return_goes_behind_what_was_there_before_a_command() {
    let mut dispatcher = joined("coordinated");
    let now = dispatcher.now;
    dispatcher.handle(now, ended(2, 0, KILLED, 1));
    let commands = all_die(&mut dispatcher, &[0, 1, 3], 0);
    assert_eq!(starts(&commands)[0], (0, 1, Some(1)));
    let (image, why) = (ImageNo(1), "damaged".to_owned());
    let (rank, incarnation) = (Rank(0), Incarnation(1));
    dispatcher.handle(now, Input::ImageUnusable { rank, incarnation, image, why });
    assert_eq!(job_end(&drain(&mut dispatcher)), Some(1));
}

#[test]
fn a_command_that_cannot_have_its_world_hears_why() {
    for (protocol, images) in [("causal", true), ("coordinated", false)] {
        let mut settings = job(protocol);
        settings.images = settings.images.filter(|_| images);
        let mut dispatcher = running(settings);
        let commands = join(&mut dispatcher, 0);
        assert_eq!((ends(&commands), starts(&commands)), (vec![(0, 1)], vec![]), "{protocol}");
    }
    let mut dispatcher = running(settings(2, 1, "none"));
    join(&mut dispatcher, 0);
    dispatcher.handle(dispatcher.now, ended(2, 0, Ending::Code(4), 1));
    assert_eq!(ends(&drain(&mut dispatcher)), [(0, 4)], "it ended before MPI_Init");
    let mut dispatcher = running(settings(2, 1, "none"));
    join(&mut dispatcher, 0);
    hello(&mut dispatcher, 2, 0);
    let (rank, incarnation, text) = (Rank(2), Incarnation(0), String::new());
    dispatcher.handle(dispatcher.now, Input::Abort { rank, incarnation, code: 6, text });
    let commands = drain(&mut dispatcher);
    assert_eq!((ends(&commands), job_end(&commands)), (vec![(0, 6)], None), "one is not there yet");
    let killed = |command: &&Command| matches!(command, Command::Kill { .. });
    assert_eq!(commands.iter().filter(killed).count(), 2);
}

#[test]
fn a_user_ends_a_world_that_has_met_nobody() {
    let mut dispatcher = joined("coordinated");
    let now = dispatcher.now;
    assert!(dispatcher.may_end_joined(0));
    dispatcher.handle(now, Input::EndJoined { number: 0, code: 130 });
    drain(&mut dispatcher);
    assert_eq!(ends(&all_die(&mut dispatcher, &[2, 3], 0)), [(0, 130)]);
    let mut dispatcher = joined("coordinated");
    meet(&mut dispatcher);
    assert!(!dispatcher.may_end_joined(0));
}

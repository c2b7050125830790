//! Spawns: what waits for what, what returns, and what is repeated from logs.

use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use ftmpi_wire::Logging;
use ftmpi_wire::new_processes::World;

pub(super) const KILLED: Ending = Ending::Signal(9);

fn asker(incarnation: u32) -> Asker {
    Asker { rank: Rank(0), incarnation: Incarnation(incarnation), number: 0 }
}

pub(super) fn ask(dispatcher: &mut Dispatcher, incarnation: u32, program: u64) -> Vec<Command> {
    ask_with(dispatcher, asker(incarnation), program, 2)
}

pub(super) fn ask_with(
    dispatcher: &mut Dispatcher,
    asker: Asker,
    program: u64,
    count: u32,
) -> Vec<Command> {
    let wanted = vec![Wanted { count, hosts: Vec::new(), program }];
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Spawn { asker, wanted });
    drain(dispatcher)
}

/// Who begins, in which incarnation, from which image.
pub(super) fn starts(commands: &[Command]) -> Vec<(u32, u32, Option<u64>)> {
    let of = |command: &Command| match command {
        Command::Start { rank, incarnation, images, or_beginning, .. } => {
            assert_eq!(*or_beginning, images.is_empty());
            Some((rank.0, incarnation.0, images.first().map(|image| image.image.0)))
        }
        _ => None,
    };
    commands.iter().filter_map(of).collect()
}

/// Begins the next wave: who takes an image, and its number.
pub(super) fn begin_wave(dispatcher: &mut Dispatcher) -> (Vec<u32>, u64) {
    let now = dispatcher.now + 9 * S;
    dispatcher.handle(now, Input::Tick);
    let of = |command: &Command| match command {
        Command::TakeImage { rank, image, .. } => Some((rank.0, image.0)),
        _ => None,
    };
    let all: Vec<(u32, u64)> = drain(dispatcher).iter().filter_map(of).collect();
    (all.iter().map(|(rank, _)| *rank).collect(), all.first().map_or(0, |(_, image)| *image))
}

pub(super) fn commit(dispatcher: &mut Dispatcher, ranks: &[u32], incarnation: u32, image: u64) {
    for &rank in ranks {
        let now = dispatcher.now;
        let image = ImageFacts { image: ImageNo(image), bytes: 1, written: [0; 2], consumed: 0 };
        let (rank, incarnation, oldest) = (Rank(rank), Incarnation(incarnation), ImageNo(0));
        dispatcher.handle(now, Input::ImageCommitted { rank, incarnation, image, oldest });
    }
}

/// A job of two ranks, of which rank 0 has had two others spawned.
pub(super) fn grown() -> Dispatcher {
    grown_on(settings(2, 1, "coordinated"))
}

/// The same on other hosts.
pub(super) fn grown_on(settings: Settings) -> Dispatcher {
    let mut dispatcher = running(settings);
    assert_eq!(starts(&ask(&mut dispatcher, 0, 7)), [(2, 0, None), (3, 0, None)]);
    assert_eq!(begin_wave(&mut dispatcher), (vec![], 0), "the next wave waits for the world");
    hello(&mut dispatcher, 2, 0);
    hello(&mut dispatcher, 3, 0);
    let answer = Command::SpawnOver { asker: asker(0), outcome: Ok(Rank(2)) };
    assert_eq!(drain(&mut dispatcher).first(), Some(&answer));
    dispatcher
}

/// These ranks end by being killed, and so do those that are ended then.
pub(super) fn all_die(
    dispatcher: &mut Dispatcher,
    ranks: &[u32],
    incarnation: u32,
) -> Vec<Command> {
    let now = dispatcher.now;
    for &rank in ranks {
        dispatcher.handle(now, ended(rank, incarnation, KILLED, 1));
    }
    drain(dispatcher)
}

#[test]
fn a_spawn_waits_for_the_wave_under_way() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!((ranks, wave, dispatcher.holds_questions()), (vec![0, 1], 1, true));
    assert_eq!(ask(&mut dispatcher, 0, 7), []);
    commit(&mut dispatcher, &[0, 1], 0, wave);
    let commands = drain(&mut dispatcher);
    assert_eq!(starts(&commands), [(2, 0, None), (3, 0, None)]);
    let past = |command: &Command| matches!(command, Command::Start { past: ImageNo(1), .. });
    assert!(commands.iter().any(past), "the wave is behind those who join");
}

#[test]
fn a_wave_that_is_due_goes_before_the_next_spawn() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    ask(&mut dispatcher, 0, 7);
    assert_eq!(begin_wave(&mut dispatcher).0, [], "the world has not begun");
    assert_eq!(ask(&mut dispatcher, 0, 8), []);
    hello(&mut dispatcher, 2, 0);
    hello(&mut dispatcher, 3, 0);
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1, 2, 3]);
    commit(&mut dispatcher, &ranks, 0, wave);
    assert_eq!(starts(&drain(&mut dispatcher)), [(4, 0, None), (5, 0, None)]);
}

#[test]
fn a_wave_that_cannot_begin_does_not_keep_spawns_for_long() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    ask(&mut dispatcher, 0, 7);
    begin_wave(&mut dispatcher);
    assert_eq!(ask(&mut dispatcher, 0, 8), []);
    let now = dispatcher.now + 3 * S;
    dispatcher.handle(now, Input::Tick);
    assert_eq!(starts(&drain(&mut dispatcher)), [(4, 0, None), (5, 0, None)]);
}

#[test]
fn a_return_to_before_a_spawn_ends_its_processes_and_they_begin_again() {
    let mut dispatcher = grown();
    let killed = all_die(&mut dispatcher, &[2], 0);
    let is_kill = |command: &&Command| matches!(command, Command::Kill { .. });
    assert_eq!(killed.iter().filter(is_kill).count(), 3);
    let world = World { first: 2, size: 2, parent: Some(Rank(0)) };
    assert_eq!(starts(&all_die(&mut dispatcher, &[0, 1], 0)), [], "one lives that is dropped");
    let again = all_die(&mut dispatcher, &[3], 0);
    assert!(again.contains(&Command::WorldOver(world)));
    assert_eq!(starts(&again), [(0, 1, None), (1, 1, None)]);
    hello(&mut dispatcher, 0, 1);
    hello(&mut dispatcher, 1, 1);
    drain(&mut dispatcher);
    assert_eq!(starts(&ask(&mut dispatcher, 0, 7)), [], "of an incarnation that is over");
    let commands = ask(&mut dispatcher, 1, 7);
    assert_eq!(starts(&commands), [(2, 2, None), (3, 2, None)], "the same numbers");
    let grows = |command: &Command| matches!(command, Command::Grow { .. });
    assert!(!commands.iter().any(grows), "everybody knows these");
    hello(&mut dispatcher, 2, 2);
    hello(&mut dispatcher, 3, 2);
    let answer = Command::SpawnOver { asker: asker(1), outcome: Ok(Rank(2)) };
    assert!(drain(&mut dispatcher).contains(&answer));
}

#[test]
fn another_program_gets_other_numbers() {
    let mut dispatcher = grown();
    all_die(&mut dispatcher, &[0, 1, 2, 3], 0);
    hello(&mut dispatcher, 0, 1);
    assert_eq!(starts(&ask(&mut dispatcher, 1, 8)), [(4, 0, None), (5, 0, None)]);
    assert_eq!(dispatcher.incarnations_of_newest(), [Incarnation(0); 2]);
}

#[test]
fn a_return_to_after_a_spawn_brings_its_processes_back() {
    let mut dispatcher = grown();
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1, 2, 3]);
    commit(&mut dispatcher, &ranks, 0, wave);
    drain(&mut dispatcher);
    let begun = starts(&all_die(&mut dispatcher, &[1, 0, 3, 2], 0));
    assert_eq!(begun, [0, 1, 2, 3].map(|rank| (rank, 1, Some(wave))));
}

#[test]
fn a_world_that_ended_after_the_wave_comes_back_and_then_leaves_the_waves() {
    let mut dispatcher = grown();
    let (ranks, wave) = begin_wave(&mut dispatcher);
    commit(&mut dispatcher, &ranks, 0, wave);
    let end = |dispatcher: &mut Dispatcher, incarnation: u32| {
        let now = dispatcher.now;
        for rank in [2, 3].map(Rank) {
            let incarnation = Incarnation(incarnation);
            dispatcher.handle(now, Input::Finalizing { rank, incarnation });
            dispatcher.handle(now, Input::Exiting { rank, incarnation, code: 0 });
        }
        for rank in [2, 3] {
            dispatcher.handle(now, ended(rank, incarnation, Ending::Code(0), 1));
        }
        drain(dispatcher)
    };
    let world = World { first: 2, size: 2, parent: Some(Rank(0)) };
    assert!(end(&mut dispatcher, 0).contains(&Command::WorldOver(world)));
    let begun = starts(&all_die(&mut dispatcher, &[0, 1], 0));
    assert_eq!(begun, [0, 1, 2, 3].map(|rank| (rank, 1, Some(wave))));
    for rank in 0..4 {
        hello(&mut dispatcher, rank, 1);
        let (rank, incarnation) = (Rank(rank), Incarnation(1));
        let now = dispatcher.now;
        dispatcher.handle(now, Input::CaughtUp { rank, incarnation, replayed: 0 });
    }
    assert!(end(&mut dispatcher, 1).contains(&Command::WorldOver(world)), "once more");
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1]);
    commit(&mut dispatcher, &ranks, 1, wave);
    drain(&mut dispatcher);
    let begun = starts(&all_die(&mut dispatcher, &[0, 1], 1));
    assert_eq!(begun, [0, 1].map(|rank| (rank, 2, Some(wave))));
}

#[test]
fn a_process_that_is_killed_before_it_has_met_anybody_begins_again_alone() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    ask(&mut dispatcher, 0, 7);
    hello(&mut dispatcher, 2, 0);
    assert_eq!(starts(&all_die(&mut dispatcher, &[3], 0)), [(3, 1, None)]);
    hello(&mut dispatcher, 3, 1);
    let answer = Command::SpawnOver { asker: asker(0), outcome: Ok(Rank(2)) };
    assert!(drain(&mut dispatcher).contains(&answer));
}

#[test]
fn a_wave_does_not_wait_for_a_world_that_ends_under_way() {
    let mut dispatcher = grown();
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [0, 1, 2, 3]);
    commit(&mut dispatcher, &[0, 1, 2], 0, wave);
    let now = dispatcher.now;
    for rank in [2, 3].map(Rank) {
        let incarnation = Incarnation(0);
        dispatcher.handle(now, Input::Finalizing { rank, incarnation });
        dispatcher.handle(now, Input::Exiting { rank, incarnation, code: 0 });
    }
    assert!(dispatcher.holds_questions());
    for rank in [2, 3] {
        dispatcher.handle(now, ended(rank, 0, Ending::Code(0), 1));
    }
    let over =
        |command: &Command| matches!(command, Command::WaveOver(over) if over.complete.is_none());
    assert!(drain(&mut dispatcher).iter().any(over));
    assert!(!dispatcher.holds_questions());
}

/// A job of two ranks that are repeated from logs.
fn logged(protocol: &str) -> Dispatcher {
    let mut settings = settings(2, 1, protocol);
    settings.traits.logging = Logging::Pessimistic;
    running(settings)
}

fn answered(incarnation: u32, commands: &[Command]) -> bool {
    commands.contains(&Command::SpawnOver { asker: asker(incarnation), outcome: Ok(Rank(2)) })
}

#[test]
fn a_replay_asks_again_and_hears_of_the_same_processes() {
    for protocol in ["pessimistic", "hierarchical"] {
        let mut dispatcher = logged(protocol);
        assert_eq!(starts(&ask(&mut dispatcher, 0, 7)), [(2, 0, None), (3, 0, None)]);
        hello(&mut dispatcher, 2, 0);
        hello(&mut dispatcher, 3, 0);
        assert!(answered(0, &drain(&mut dispatcher)));
        let begun = starts(&all_die(&mut dispatcher, &[0, 1], 0));
        assert_eq!(begun, [(0, 1, None), (1, 1, None)], "{protocol}: the others go on");
        hello(&mut dispatcher, 0, 1);
        hello(&mut dispatcher, 1, 1);
        drain(&mut dispatcher);
        let commands = ask(&mut dispatcher, 1, 7);
        assert!(answered(1, &commands) && starts(&commands).is_empty(), "{protocol}: {commands:?}");
        let other = ask(&mut dispatcher, 1, 8);
        let ends = |command: &Command| matches!(command, Command::End { code: 1, reason: Some(EndReason::Ordered(why)), .. } if why.contains("another"));
        assert!(other.iter().any(ends), "{protocol}: {other:?}");
    }
}

#[test]
fn a_spawn_goes_on_while_its_root_is_repeated() {
    for protocol in ["pessimistic", "hierarchical"] {
        let mut dispatcher = logged(protocol);
        ask(&mut dispatcher, 0, 7);
        hello(&mut dispatcher, 2, 0);
        all_die(&mut dispatcher, &[0, 1], 0);
        hello(&mut dispatcher, 0, 1);
        assert_eq!(starts(&ask(&mut dispatcher, 1, 7)), [], "{protocol}: they begin already");
        hello(&mut dispatcher, 3, 0);
        assert!(answered(1, &drain(&mut dispatcher)), "{protocol}");
        // Once more, and with a failure that came in between.
        ask(&mut dispatcher, 1, 7);
        assert_eq!(dispatcher.incarnations_of_newest(), [Incarnation(0); 2]);
    }
}

#[test]
fn a_spawned_world_returns_apart_from_the_others() {
    let mut dispatcher = logged("hierarchical");
    ask(&mut dispatcher, 0, 7);
    hello(&mut dispatcher, 2, 0);
    hello(&mut dispatcher, 3, 0);
    drain(&mut dispatcher);
    let commands = all_die(&mut dispatcher, &[3], 0);
    let killed = commands.iter().filter_map(|command| match command {
        Command::Kill { rank, .. } => Some(rank.0),
        _ => None,
    });
    assert_eq!(killed.collect::<Vec<_>>(), [2]);
    let begun = starts(&all_die(&mut dispatcher, &[2], 0));
    assert_eq!(begun, [(2, 1, None), (3, 1, None)]);
}

#[test]
fn where_ranks_are_repeated_nobody_leaves_before_all() {
    for protocol in ["pessimistic", "hierarchical"] {
        let mut dispatcher = logged(protocol);
        ask(&mut dispatcher, 0, 7);
        for rank in [2, 3] {
            hello(&mut dispatcher, rank, 0);
        }
        let finalize = |dispatcher: &mut Dispatcher, ranks: [u32; 2]| {
            let now = dispatcher.now;
            for rank in ranks.map(Rank) {
                let (incarnation, with) = (Incarnation(0), Vec::new());
                dispatcher.handle(now, Input::Connected { rank, incarnation, with });
                dispatcher.handle(now, Input::Finalizing { rank, incarnation });
            }
            let leave = |command: &Command| matches!(command, Command::AllFinalized { .. });
            drain(dispatcher).iter().filter(|command| leave(command)).count()
        };
        assert_eq!(finalize(&mut dispatcher, [2, 3]), 0, "{protocol}");
        assert_eq!(finalize(&mut dispatcher, [0, 1]), 4, "{protocol}");
    }
}

/// A process that gives up its connection would do so again: nobody returns for it.
#[test]
fn a_process_that_leaves_its_agent_before_its_world_is_whole_ends_the_spawn() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    ask(&mut dispatcher, 0, 7);
    hello(&mut dispatcher, 2, 0);
    let now = dispatcher.now;
    dispatcher.handle(now, ended(2, 0, Ending::ControlLost, 1));
    let commands = drain(&mut dispatcher);
    let refused = |c: &Command| matches!(c, Command::SpawnOver { outcome: Err(_), .. });
    assert!(commands.iter().any(refused), "{commands:?}");
    let returns = |c: &Command| matches!(c, Command::Notify(Notice::Returning { .. }));
    assert!(!commands.iter().any(returns), "{commands:?}");
    assert!(dispatcher.failures().is_empty());
}

/// Commands of one spawn are counted together.
#[test]
fn a_spawn_that_does_not_fit_says_how_many_were_asked_for() {
    let place = Place { slots: 2, most: Some(5), ..Place::default() };
    let mut dispatcher = running(Settings { places: vec![place], ..settings(2, 1, "none") });
    let part = |count| Wanted { count, hosts: Vec::new(), program: 7 };
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Spawn { asker: asker(0), wanted: vec![part(2), part(3)] });
    let commands = drain(&mut dispatcher);
    let says = |command: &Command| match command {
        Command::SpawnOver { outcome: Err(why), .. } => why.contains("5 more processes (3 fit)"),
        _ => false,
    };
    assert!(commands.iter().any(says), "{commands:?}");
}

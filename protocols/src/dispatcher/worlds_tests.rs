use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use crate::judge::Policy;
use ftmpi_wire::new_processes::World;

const ASKER: Asker = Asker { rank: Rank(0), incarnation: Incarnation(0), number: 7 };

fn of_none(hosts: u32) -> Settings {
    Settings { images: None, ..settings(1, hosts, "none") }
}

fn spawn(dispatcher: &mut Dispatcher, count: u32) -> Vec<Command> {
    let wanted = vec![Wanted { count, hosts: Vec::new(), program: 1 }];
    dispatcher.handle(S, Input::Spawn { asker: ASKER, wanted });
    drain(dispatcher)
}

fn on(rank: u32, input: fn(Rank, Incarnation) -> Input) -> Input {
    input(Rank(rank), Incarnation(0))
}

fn finalizing(rank: Rank, incarnation: Incarnation) -> Input {
    Input::Finalizing { rank, incarnation }
}

fn exiting(rank: Rank, incarnation: Incarnation) -> Input {
    Input::Exiting { rank, incarnation, code: 0 }
}

/// A job of one rank with a world of two.
fn grown() -> Dispatcher {
    let mut dispatcher = running(of_none(2));
    spawn(&mut dispatcher, 2);
    hello(&mut dispatcher, 1, 0);
    hello(&mut dispatcher, 2, 0);
    let world = drain(&mut dispatcher);
    assert_eq!(world, [Command::SpawnOver { asker: ASKER, outcome: Ok(Rank(1)) }]);
    dispatcher
}

#[test]
fn new_processes_go_to_free_hosts_and_are_answered_for_when_all_are_there() {
    let mut dispatcher = running(of_none(2));
    let commands = spawn(&mut dispatcher, 3);
    let world = World { first: 1, size: 3, parent: Some(Rank(0)) };
    assert_eq!(
        commands[0],
        Command::Grow { origin: Origin::Rank(ASKER), world, hosts: vec![1, 0, 1] }
    );
    let started = |command: &Command| matches!(command, Command::Start { .. });
    assert_eq!(commands[1..].iter().filter(|c| started(c)).count(), 3);
    hello(&mut dispatcher, 1, 0);
    hello(&mut dispatcher, 3, 0);
    assert_eq!(drain(&mut dispatcher), [], "one is missing");
    hello(&mut dispatcher, 2, 0);
    let answer = Command::SpawnOver { asker: ASKER, outcome: Ok(Rank(1)) };
    assert_eq!(drain(&mut dispatcher), [answer]);
}

#[test]
fn a_program_that_cannot_start_fails_the_spawn_and_not_the_job() {
    let mut dispatcher = running(of_none(1));
    spawn(&mut dispatcher, 2);
    let (rank, incarnation) = (Rank(2), Incarnation(0));
    let why = "no such program".to_owned();
    dispatcher.handle(S, Input::CannotStart { rank, incarnation, code: 127, why });
    let commands = drain(&mut dispatcher);
    assert_eq!(commands[0], Command::Kill { rank: Rank(1), incarnation });
    let Command::SpawnOver { outcome: Err(why), .. } = &commands[1] else { panic!("{commands:?}") };
    assert!(why.contains("process 1: no such program"), "{why}");
    assert!(matches!(commands[2], Command::WorldOver(_)));
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 0));
    assert!(!dispatcher.has_ended());
    dispatcher.handle(S, on(0, finalizing));
    dispatcher.handle(S, on(0, exiting));
    dispatcher.handle(S, ended(0, 0, Ending::Code(0), 0));
    let commands = drain(&mut dispatcher);
    assert_eq!(commands.last(), Some(&Command::End { code: 0, reason: None, keep: false }));
}

#[test]
fn a_process_that_ends_without_mpi_fails_the_spawn() {
    let mut dispatcher = running(of_none(1));
    spawn(&mut dispatcher, 1);
    dispatcher.handle(S, ended(1, 0, Ending::Code(3), 0));
    let commands = drain(&mut dispatcher);
    assert!(matches!(&commands[0], Command::SpawnOver { outcome: Err(why), .. }
        if why.contains("exit code 3")));
    assert!(!dispatcher.has_ended());
}

#[test]
fn a_world_that_has_disconnected_ends_alone() {
    let mut dispatcher = grown();
    for rank in [1, 2] {
        dispatcher.handle(S, on(rank, finalizing));
    }
    let commands = drain(&mut dispatcher);
    let told = |rank| Command::AllFinalized { rank: Rank(rank), incarnation: Incarnation(0) };
    assert_eq!(commands, [told(1), told(2)]);
    for rank in [1, 2] {
        dispatcher.handle(S, on(rank, exiting));
    }
    assert_eq!(drain(&mut dispatcher).len(), 2);
    for rank in [1, 2] {
        dispatcher.handle(S, ended(rank, 0, Ending::Code(0), 0));
    }
    let commands = drain(&mut dispatcher);
    assert_eq!(commands, [Command::WorldOver(World { first: 1, size: 2, parent: Some(Rank(0)) })]);
    assert!(!dispatcher.has_ended());
}

#[test]
fn worlds_with_a_communicator_end_together() {
    let mut dispatcher = grown();
    let connected = |rank: u32, with: u32| Input::Connected {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        with: vec![Rank(with)],
    };
    dispatcher.handle(S, connected(1, 0));
    dispatcher.handle(S, on(1, finalizing));
    dispatcher.handle(S, on(2, finalizing));
    assert_eq!(drain(&mut dispatcher), [], "the parent has not come");
    dispatcher.handle(S, connected(0, 1));
    dispatcher.handle(S, on(0, finalizing));
    let commands = drain(&mut dispatcher);
    let told = |rank| Command::AllFinalized { rank: Rank(rank), incarnation: Incarnation(0) };
    assert!([0, 1, 2].iter().all(|&rank| commands.contains(&told(rank))), "{commands:?}");
}

#[test]
fn a_death_of_a_new_process_ends_the_job() {
    let mut dispatcher = grown();
    dispatcher.handle(S, ended(2, 0, Ending::Signal(11), 0));
    assert!(dispatcher.has_ended());
}

fn ignoring(hosts: u32) -> Dispatcher {
    running(Settings { recovery: Policy::ignore(), ..of_none(hosts) })
}

/// The answers to spawns among these commands.
fn answers(commands: &[Command]) -> Vec<Result<Rank, String>> {
    let of = |command: &Command| match command {
        Command::SpawnOver { outcome, .. } => Some(outcome.clone()),
        _ => None,
    };
    commands.iter().filter_map(of).collect()
}

#[test]
fn a_host_that_is_lost_while_a_world_is_born_fails_the_spawn() {
    let mut dispatcher = ignoring(2);
    spawn(&mut dispatcher, 4);
    hello(&mut dispatcher, 1, 0);
    let why = "it fell silent".to_owned();
    dispatcher.handle(S, Input::AgentLost { host: 1, why: why.clone(), silent: true });
    let commands = drain(&mut dispatcher);
    let [Err(text)] = &answers(&commands)[..] else { panic!("{commands:?}") };
    assert!(text.contains(&why), "{text}");
    let of_the_dead = |command: &Command| matches!(command, Command::News { .. });
    assert!(!commands.iter().any(of_the_dead), "nobody knows these ranks: {commands:?}");
    assert!(!dispatcher.has_ended());
}

#[test]
fn a_job_that_loses_its_only_host_while_a_world_is_born_has_failed() {
    let mut dispatcher = ignoring(1);
    spawn(&mut dispatcher, 2);
    let why = "it fell silent".to_owned();
    dispatcher.handle(S, Input::AgentLost { host: 0, why, silent: true });
    let last = drain(&mut dispatcher).pop();
    let reason = Some(EndReason::NoRankLeft);
    assert_eq!(last, Some(Command::End { code: 1, reason, keep: false }));
}

#[test]
fn a_process_that_leaves_while_its_world_is_born_fails_the_spawn() {
    let mut dispatcher = ignoring(1);
    spawn(&mut dispatcher, 2);
    hello(&mut dispatcher, 1, 0);
    let (rank, incarnation) = (Rank(1), Incarnation(0));
    dispatcher.handle(S, Input::Exiting { rank, incarnation, code: 5 });
    let commands = drain(&mut dispatcher);
    assert_eq!(answers(&commands).len(), 1, "{commands:?}");
    assert!(commands.contains(&Command::Die { rank, incarnation, code: 5 }), "{commands:?}");
    dispatcher.handle(S, ended(1, 0, Ending::Code(5), 0));
    dispatcher.handle(S, ended(2, 0, Ending::Signal(9), 0));
    assert_eq!(answers(&drain(&mut dispatcher)), []);
    assert!(!dispatcher.has_ended());
}

#[test]
fn a_fault_tolerant_protocol_refuses_with_the_remedy() {
    let mut dispatcher = running(settings(1, 1, "causal"));
    let commands = spawn(&mut dispatcher, 1);
    assert!(matches!(&commands[..], [Command::SpawnOver { outcome: Err(why), .. }]
        if why.contains("causal") && why.contains("--protocol coordinated")));
}

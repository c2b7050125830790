//! Worlds that end, or are dropped, while others go on under coordinated waves.

use super::migration::Refusal;
use super::spawns_tests::{
    KILLED, all_die, ask, ask_with, begin_wave, commit, grown, grown_on, starts,
};
use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use ftmpi_wire::new_processes::World;

/// Two ranks on the first host. (So new processes go to the second one, if there is one.)
fn on_first(hosts: u32) -> Settings {
    Settings { placement: vec![0, 0], ..settings(2, hosts, "coordinated") }
}

fn finalize(dispatcher: &mut Dispatcher, ranks: &[u32], incarnation: u32) -> Vec<Command> {
    let (now, incarnation) = (dispatcher.now, Incarnation(incarnation));
    for rank in ranks.iter().copied().map(Rank) {
        dispatcher.handle(now, Input::Finalizing { rank, incarnation });
    }
    drain(dispatcher)
}

/// These ranks end in order.
fn finish(dispatcher: &mut Dispatcher, ranks: &[u32], incarnation: u32) -> Vec<Command> {
    let mut commands = finalize(dispatcher, ranks, incarnation);
    let now = dispatcher.now;
    for &number in ranks {
        let (rank, incarnation) = (Rank(number), Incarnation(incarnation));
        dispatcher.handle(now, Input::Exiting { rank, incarnation, code: 0 });
    }
    for &rank in ranks {
        dispatcher.handle(now, ended(rank, incarnation, Ending::Code(0), 1));
    }
    commands.extend(drain(dispatcher));
    commands
}

fn lose_channel(dispatcher: &mut Dispatcher, rank: u32, peer: u32) {
    let (now, incarnation) = (dispatcher.now, Incarnation(0));
    let lost = Input::ChannelLost {
        rank: Rank(rank),
        incarnation,
        peer: Rank(peer),
        peer_incarnation: incarnation,
    };
    dispatcher.handle(now, lost);
}

fn pass(dispatcher: &mut Dispatcher, time: Duration) -> Vec<Command> {
    let now = dispatcher.now + time;
    dispatcher.handle(now, Input::Tick);
    drain(dispatcher)
}

fn returns(commands: &[Command]) -> bool {
    commands.iter().any(|c| matches!(c, Command::Notify(Notice::Returning { .. })))
}

#[test]
fn a_channel_that_ends_with_its_world_lets_nobody_return() {
    let mut dispatcher = grown();
    lose_channel(&mut dispatcher, 0, 2);
    finish(&mut dispatcher, &[2, 3], 0);
    assert!(!returns(&pass(&mut dispatcher, 3 * S)));
}

#[test]
fn a_channel_that_a_released_process_ends_lets_nobody_return() {
    let mut dispatcher = grown();
    finalize(&mut dispatcher, &[2, 3], 0);
    let now = dispatcher.now;
    for rank in [2, 3].map(Rank) {
        let incarnation = Incarnation(0);
        dispatcher.handle(now, Input::Exiting { rank, incarnation, code: 0 });
    }
    lose_channel(&mut dispatcher, 0, 2);
    assert!(!returns(&pass(&mut dispatcher, 3 * S)), "its output is slow");
}

#[test]
fn a_channel_between_living_ranks_is_looked_at_beside_one_that_is_explained() {
    let mut dispatcher = grown();
    lose_channel(&mut dispatcher, 0, 2);
    lose_channel(&mut dispatcher, 0, 1);
    finish(&mut dispatcher, &[2, 3], 0);
    assert!(returns(&pass(&mut dispatcher, 3 * S)));
}

#[test]
fn the_first_world_leaves_the_waves_when_it_has_ended() {
    let mut dispatcher = grown();
    finish(&mut dispatcher, &[0, 1], 0);
    let (ranks, wave) = begin_wave(&mut dispatcher);
    assert_eq!(ranks, [2, 3]);
    commit(&mut dispatcher, &ranks, 0, wave);
    drain(&mut dispatcher);
    let begun = starts(&all_die(&mut dispatcher, &[2, 3], 0));
    assert_eq!(begun, [2, 3].map(|rank| (rank, 1, Some(wave))));
}

#[test]
fn the_first_world_comes_back_if_it_was_in_the_wave() {
    let mut dispatcher = grown();
    let (ranks, wave) = begin_wave(&mut dispatcher);
    commit(&mut dispatcher, &ranks, 0, wave);
    finish(&mut dispatcher, &[0, 1], 0);
    let begun = starts(&all_die(&mut dispatcher, &[2, 3], 0));
    assert_eq!(begun, [0, 1, 2, 3].map(|rank| (rank, 1, Some(wave))));
}

#[test]
fn a_wave_counts_although_a_world_finalizes_meanwhile() {
    let mut dispatcher = grown();
    let (ranks, wave) = begin_wave(&mut dispatcher);
    let told = |commands: &[Command]| {
        commands.iter().position(|c| matches!(c, Command::AllFinalized { rank: Rank(2), .. }))
    };
    assert_eq!(told(&finalize(&mut dispatcher, &[2, 3], 0)), None, "a wave is under way");
    commit(&mut dispatcher, &ranks, 0, wave);
    let commands = drain(&mut dispatcher);
    let complete =
        |c: &Command| matches!(c, Command::WaveOver(over) if over.complete == Some(ImageNo(wave)));
    let over = commands.iter().position(complete).expect("a complete wave");
    assert!(told(&commands).expect("they leave") > over, "{commands:?}");
}

#[test]
fn a_wave_has_its_time_after_each_birth() {
    let mut dispatcher = running(settings(2, 1, "coordinated"));
    ask(&mut dispatcher, 0, 7);
    assert_eq!(begin_wave(&mut dispatcher).0, [], "the world has not begun");
    let now = dispatcher.now + 3 * S;
    for rank in [2, 3].map(Rank) {
        let incarnation = Incarnation(0);
        let hello = Input::Hello { rank, incarnation, resumed: None, can_image: true };
        dispatcher.handle(now, hello);
    }
    assert_eq!(starts(&ask(&mut dispatcher, 0, 8)), [], "the wave goes before");
    assert_eq!(begin_wave(&mut dispatcher).0, [0, 1, 2, 3]);
}

#[test]
fn another_question_for_the_same_gets_other_numbers() {
    let mut dispatcher = grown();
    all_die(&mut dispatcher, &[0, 1, 2, 3], 0);
    hello(&mut dispatcher, 0, 1);
    hello(&mut dispatcher, 1, 1);
    drain(&mut dispatcher);
    let asker = |number| Asker { rank: Rank(0), incarnation: Incarnation(1), number };
    let begun = starts(&ask_with(&mut dispatcher, asker(1), 7, 2));
    assert_eq!(begun, [(4, 0, None), (5, 0, None)]);
    let begun = starts(&ask_with(&mut dispatcher, asker(0), 7, 2));
    assert_eq!(begun, [(2, 2, None), (3, 2, None)]);
}

/// The host of the new processes is lost, and their parent asks again.
fn asks_for_lost() -> Dispatcher {
    let mut dispatcher = grown_on(on_first(2));
    let (now, why) = (dispatcher.now, "gone".to_owned());
    dispatcher.handle(now, Input::AgentLost { host: 1, why, silent: false });
    assert_eq!(starts(&all_die(&mut dispatcher, &[0, 1], 0)), [(0, 1, None), (1, 1, None)]);
    hello(&mut dispatcher, 0, 1);
    hello(&mut dispatcher, 1, 1);
    drain(&mut dispatcher);
    assert_eq!(ask(&mut dispatcher, 1, 7), [], "the host may come back");
    dispatcher
}

#[test]
fn a_spawn_waits_for_the_host_that_had_its_processes() {
    let mut dispatcher = asks_for_lost();
    let now = dispatcher.now;
    dispatcher.handle(now, Input::AgentUp { host: 1 });
    assert_eq!(starts(&drain(&mut dispatcher)), [(2, 2, None), (3, 2, None)]);
}

#[test]
fn a_spawn_goes_elsewhere_when_the_host_is_given_up() {
    let mut dispatcher = asks_for_lost();
    let (now, why) = (dispatcher.now, "no route".to_owned());
    dispatcher.handle(now, Input::AgentFailed { host: 1, why });
    assert_eq!(starts(&drain(&mut dispatcher)), [(4, 0, None), (5, 0, None)]);
}

#[test]
fn a_rank_of_a_world_that_has_ended_does_not_migrate() {
    let mut dispatcher = grown_on(on_first(2));
    finish(&mut dispatcher, &[2, 3], 0);
    let refused = Err(Refusal::RankEnds { rank: Rank(2) });
    assert_eq!(dispatcher.may_migrate(Rank(2), Some(0)), refused);
    assert_eq!(dispatcher.may_migrate(Rank(0), Some(1)), Ok(()));
}

#[test]
fn migrations_of_a_world_that_is_dropped_are_over() {
    let mut dispatcher = grown_on(on_first(2));
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Drain { host: 1 });
    assert_eq!(dispatcher.migrations().iter().filter(|m| m.is_active()).count(), 2);
    all_die(&mut dispatcher, &[0, 1, 2, 3], 0);
    assert!(!dispatcher.migrations().iter().any(|m| m.is_active()));
}

#[test]
fn a_host_that_only_dropped_ranks_were_on_is_empty() {
    let mut dispatcher = grown_on(on_first(2));
    all_die(&mut dispatcher, &[0, 1, 2, 3], 0);
    assert_eq!(dispatcher.hosts.ranks(), [2, 0]);
    assert_eq!(dispatcher.may_drain(1), Ok(()));
}

#[test]
fn ranks_that_were_dropped_do_not_leave_a_host_that_is_cut_off() {
    let mut dispatcher = running(settings(2, 3, "coordinated"));
    dispatcher.ranks.iter_mut().zip([0, 1]).for_each(|(state, host)| assert_eq!(state.host, host));
    let asker = Asker { rank: Rank(0), incarnation: Incarnation(0), number: 0 };
    ask_with(&mut dispatcher, asker, 7, 3);
    (2..5).for_each(|rank| hello(&mut dispatcher, rank, 0));
    all_die(&mut dispatcher, &[0, 1, 2, 3, 4], 0);
    hello(&mut dispatcher, 0, 1);
    hello(&mut dispatcher, 1, 1);
    drain(&mut dispatcher);
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Cut { hosts: [0, 1], why: "no answer".to_owned() });
    let moved = |c: Command| match c {
        Command::Notify(Notice::Network(NetworkNotice::MovedAway { ranks, .. })) => Some(ranks),
        _ => None,
    };
    let moved: Vec<Vec<Rank>> = drain(&mut dispatcher).into_iter().filter_map(moved).collect();
    assert_eq!(moved, [[Rank(1)]]);
    let moves = |state: &RankState| state.stage == Stage::Ignored && state.moves_to.is_some();
    assert!(!dispatcher.ranks.iter().any(moves));
    assert_eq!(dispatcher.hosts.ranks().iter().sum::<u32>(), 2);
}

#[test]
fn ended_ranks_of_a_lost_host_count_nowhere() {
    let mut dispatcher = grown_on(on_first(2));
    finish(&mut dispatcher, &[2, 3], 0);
    assert_eq!(dispatcher.hosts.ranks(), [2, 0]);
    let (now, why) = (dispatcher.now, "gone".to_owned());
    dispatcher.handle(now, Input::AgentLost { host: 1, why: why.clone(), silent: false });
    dispatcher.handle(now, Input::AgentFailed { host: 1, why });
    assert_eq!(dispatcher.hosts.ranks(), [2, 0]);
}

#[test]
fn a_world_that_comes_back_counts_again_where_its_ranks_are() {
    let mut dispatcher = grown_on(on_first(2));
    let (ranks, wave) = begin_wave(&mut dispatcher);
    commit(&mut dispatcher, &ranks, 0, wave);
    let over = finish(&mut dispatcher, &[2, 3], 0);
    assert!(over.contains(&Command::WorldOver(World { first: 2, size: 2, parent: Some(Rank(0)) })));
    let now = dispatcher.now;
    dispatcher.handle(now, ended(0, 0, KILLED, 1));
    assert_eq!(dispatcher.hosts.ranks(), [2, 2]);
}

#[test]
fn ranks_that_wait_in_finalize_for_other_worlds_keep_nobody_from_moving() {
    let mut dispatcher = grown_on(on_first(2));
    let (now, incarnation) = (dispatcher.now, Incarnation(0));
    let with = vec![Rank(0)];
    dispatcher.handle(now, Input::Connected { rank: Rank(2), incarnation, with });
    finalize(&mut dispatcher, &[2, 3], 0);
    assert_eq!(dispatcher.may_migrate(Rank(1), Some(1)), Ok(()));
    assert_eq!(dispatcher.may_migrate(Rank(2), Some(0)), Ok(()), "its images are taken there");
}

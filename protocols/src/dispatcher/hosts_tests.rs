//! Hosts that are lost, that have few slots or none, that are spare, broken or shunned.

use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use crate::judge::{Fact, Recovery};
use proptest::prelude::*;

const BUS_ERROR: Ending = Ending::Signal(7);
const SEGFAULT: Ending = Ending::Signal(11);

fn lost(host: u32, silent: bool) -> Input {
    Input::AgentLost { host, why: "it is gone".to_owned(), silent }
}

fn failed(host: u32) -> Input {
    Input::AgentFailed { host, why: "no route".to_owned() }
}

fn host_of(dispatcher: &Dispatcher, rank: u32) -> u32 {
    dispatcher.location(Rank(rank)).0
}

fn hosts_of(dispatcher: &Dispatcher) -> Vec<u32> {
    (0..dispatcher.ranks.len() as u32).map(|rank| host_of(dispatcher, rank)).collect()
}

fn place(slots: u32) -> Place {
    Place { slots, ..Place::default() }
}

fn spare(slots: u32) -> Place {
    Place { slots, spare: true, ..Place::default() }
}

/// Kills what is to be killed, and greets from what starts.
fn obey(dispatcher: &mut Dispatcher, now: Duration) -> Vec<Command> {
    let mut all = Vec::new();
    loop {
        let commands = drain(dispatcher);
        if commands.is_empty() {
            return all;
        }
        for command in &commands {
            match *command {
                Command::Kill { rank, incarnation } => {
                    let (ending, progress) = (Ending::Signal(9), 0);
                    dispatcher.handle(now, Input::Ended { rank, incarnation, ending, progress });
                }
                Command::Start { rank, incarnation, .. } => {
                    hello(dispatcher, rank.0, incarnation.0);
                }
                _ => {}
            }
        }
        all.extend(commands);
    }
}

fn end_of(commands: &[Command]) -> &EndReason {
    let Some(Command::End { reason: Some(reason), keep: true, .. }) = commands.last() else {
        panic!("{commands:?}")
    };
    reason
}

#[test]
fn the_loss_of_a_host_is_one_failure() {
    for protocol in ["pessimistic", "coordinated", "hierarchical"] {
        let mut dispatcher = running(settings(8, 2, protocol));
        // The limit is 5, and the host has 4 ranks in several clusters.
        for failure in 1..=5 {
            dispatcher.handle(2 * S, lost(0, false));
            assert_eq!((dispatcher.restarts(), dispatcher.has_ended()), (failure, false));
            obey(&mut dispatcher, 2 * S);
            dispatcher.handle(3 * S, Input::AgentUp { host: 0 });
            obey(&mut dispatcher, 3 * S);
        }
        assert_eq!(hosts_of(&dispatcher), [0, 0, 0, 0, 1, 1, 1, 1], "{protocol}");
        dispatcher.handle(4 * S, lost(0, false));
        let commands = drain(&mut dispatcher);
        let reason = end_of(&commands);
        assert!(matches!(reason, EndReason::TooManyRestarts { limit: 5, .. }), "{reason:?}");
    }
}

#[test]
fn a_silent_host_is_left_at_once_and_a_closed_one_after_a_while() {
    for protocol in ["pessimistic", "coordinated"] {
        let mut dispatcher = running(settings(4, 2, protocol));
        dispatcher.handle(2 * S, lost(1, true));
        let commands = obey(&mut dispatcher, 2 * S);
        assert_eq!(hosts_of(&dispatcher), [0; 4], "{protocol}");
        assert!(commands.contains(&Command::StartAgent { host: 1 }), "it may come back");
        let named = dispatcher.failures().last().unwrap().named.unwrap();
        assert_eq!((named.detector, named.recovery), ("physical", Recovery::Migrate));

        let mut dispatcher = running(settings(4, 2, protocol));
        dispatcher.handle(2 * S, lost(1, false));
        obey(&mut dispatcher, 2 * S);
        dispatcher.handle(6 * S, Input::Tick);
        assert_eq!(hosts_of(&dispatcher), [0, 0, 1, 1]);
        dispatcher.handle(7 * S, Input::Tick);
        obey(&mut dispatcher, 7 * S);
        assert_eq!(hosts_of(&dispatcher), [0; 4]);
        // When it has an agent again, it has free slots.
        dispatcher.handle(8 * S, Input::AgentUp { host: 1 });
        dispatcher.handle(9 * S, lost(0, true));
        obey(&mut dispatcher, 9 * S);
        assert_eq!(hosts_of(&dispatcher), [1; 4], "{protocol}");
    }
}

#[test]
fn spares_come_first_then_free_slots_then_others() {
    let mut some = settings(4, 4, "pessimistic");
    some.placement = vec![0, 0, 1, 2];
    some.places = vec![place(2), place(1), place(2), spare(1)];
    let mut dispatcher = running(some);
    dispatcher.handle(2 * S, lost(0, true));
    obey(&mut dispatcher, 2 * S);
    assert_eq!(hosts_of(&dispatcher), [3, 2, 1, 2]);
    dispatcher.handle(3 * S, lost(3, true));
    let commands = obey(&mut dispatcher, 3 * S);
    assert!(matches!(host_of(&dispatcher, 0), 1 | 2), "no slot is free: {commands:?}");
    // Where that is not allowed, it waits.
    let mut strict = settings(2, 2, "pessimistic");
    strict.places = vec![place(1), place(1)];
    strict.recovery.oversubscribe = false;
    let mut dispatcher = running(strict);
    dispatcher.handle(2 * S, lost(0, true));
    obey(&mut dispatcher, 2 * S);
    assert_eq!(hosts_of(&dispatcher), [0, 1]);
    dispatcher.handle(3 * S, failed(0));
    assert!(matches!(end_of(&drain(&mut dispatcher)), EndReason::NoHostLeft { .. }));
}

#[test]
fn a_host_without_slots_or_at_its_limit_gets_no_rank() {
    // The third host, for servers only, has the fewest ranks.
    let mut three = settings(4, 2, "pessimistic");
    three.hosts.push("store".to_owned());
    three.places = vec![place(2), place(2), place(0)];
    let mut dispatcher = running(three);
    dispatcher.handle(2 * S, lost(0, false));
    dispatcher.handle(3 * S, failed(0));
    assert_eq!(hosts_of(&dispatcher), [1; 4]);
    drain(&mut dispatcher);
    dispatcher.handle(4 * S, lost(1, false));
    dispatcher.handle(5 * S, failed(1));
    assert!(matches!(end_of(&drain(&mut dispatcher)), EndReason::NoHostLeft { .. }));

    let mut limited = settings(4, 2, "pessimistic");
    limited.places = vec![place(2), Place { most: Some(3), ..place(2) }];
    let mut dispatcher = running(limited);
    dispatcher.handle(2 * S, lost(0, true));
    obey(&mut dispatcher, 2 * S);
    assert_eq!(hosts_of(&dispatcher), [1, 0, 1, 1], "the second one waits");
}

#[test]
fn a_spare_that_is_down_is_a_warning_and_is_tried_again() {
    let mut some = settings(2, 2, "pessimistic");
    some.hosts.push("spare".to_owned());
    some.places = vec![place(1), place(1), spare(1)];
    let mut dispatcher = Dispatcher::new(some);
    for host in 0..2 {
        dispatcher.handle(S, Input::AgentUp { host });
    }
    let commands = obey(&mut dispatcher, S);
    let starts = commands.iter().filter(|command| matches!(command, Command::Start { .. }));
    assert_eq!(starts.count(), 2, "the spare is not waited for");
    dispatcher.handle(2 * S, failed(2));
    let warning = drain(&mut dispatcher);
    assert!(
        matches!(&warning[..], [Command::Notify(Notice::SpareDown { host, .. })] if host == "spare")
    );
    dispatcher.handle(61 * S, Input::Tick);
    assert!(!drain(&mut dispatcher).contains(&Command::StartAgent { host: 2 }));
    dispatcher.handle(62 * S, Input::Tick);
    assert!(drain(&mut dispatcher).contains(&Command::StartAgent { host: 2 }));
    dispatcher.handle(63 * S, Input::AgentUp { host: 2 });
    dispatcher.handle(64 * S, lost(0, true));
    assert_eq!(hosts_of(&dispatcher), [2, 1]);
}

/// Kills rank 0 so often, by the same fault.
fn die(dispatcher: &mut Dispatcher, from: u32, times: u32, ending: Ending) -> Vec<Command> {
    let mut commands = Vec::new();
    for incarnation in from..from + times {
        dispatcher.handle(2 * S, ended(0, incarnation, ending, 7));
        commands.extend(obey(dispatcher, 2 * S));
    }
    commands
}

#[test]
fn a_fault_on_one_host_moves_the_rank_and_on_two_hosts_is_the_programs() {
    for protocol in ["pessimistic", "coordinated"] {
        for ending in [BUS_ERROR, Ending::Memory(MemoryLimit::Group(200 << 20))] {
            let mut dispatcher = running(settings(4, 2, protocol));
            die(&mut dispatcher, 0, 2, ending);
            assert_eq!(host_of(&dispatcher, 0), 0);
            let commands = die(&mut dispatcher, 2, 1, ending);
            assert_eq!((host_of(&dispatcher, 0), dispatcher.has_ended()), (1, false));
            let moves = |command: &Command| {
                matches!(command, Command::Notify(Notice::Migrates { rank: Rank(0), .. }))
            };
            assert!(commands.iter().any(moves), "{commands:?}");
            // There it dies in the same way.
            let commands = die(&mut dispatcher, 3, 1, ending);
            let reason = end_of(&commands);
            assert!(matches!(reason, EndReason::SameDeath { times: 4, before: Some(_), .. }));
        }
    }
}

#[test]
fn a_rank_that_goes_on_elsewhere_may_die_again() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    die(&mut dispatcher, 0, 3, BUS_ERROR);
    // It comes further on the other host, and dies by something else.
    dispatcher.handle(9 * S, ended(0, 3, SEGFAULT, 100));
    assert_eq!((host_of(&dispatcher, 0), dispatcher.has_ended()), (1, false));
    // Without another host, the fault is the program's.
    let mut alone = running(settings(4, 1, "pessimistic"));
    die(&mut alone, 0, 3, BUS_ERROR);
    assert!(alone.has_ended());
    // And where the only other host has no slots.
    let mut other = settings(4, 1, "pessimistic");
    other.hosts.push("store".to_owned());
    other.places = vec![place(4), place(0)];
    let mut alone = running(other);
    die(&mut alone, 0, 3, BUS_ERROR);
    assert!(alone.has_ended());
}

#[test]
fn ranks_leave_a_host_that_is_about_to_fail_and_come_back_when_it_is_sound() {
    for protocol in ["pessimistic", "coordinated", "hierarchical"] {
        let mut dispatcher = running(settings(4, 2, protocol));
        let suspect = Fact::Suspect { host: 1, why: "ECC errors".to_owned() };
        dispatcher.handle(2 * S, Input::Noticed(suspect.clone()));
        obey(&mut dispatcher, 2 * S);
        assert_eq!((hosts_of(&dispatcher), dispatcher.restarts()), (vec![0; 4], 0), "{protocol}");
        let named = dispatcher.failures().last().unwrap().named.unwrap();
        assert_eq!((named.detector, named.recovery), ("health", Recovery::Migrate));
        // No other host is left for these.
        let other = Fact::Suspect { host: 0, why: "heat".to_owned() };
        dispatcher.handle(3 * S, Input::Noticed(other));
        let commands = obey(&mut dispatcher, 3 * S);
        assert!(matches!(&commands[..], [Command::Notify(Notice::NoRemedy { .. })]));
        dispatcher.handle(4 * S, Input::Noticed(Fact::Sound { host: 1 }));
        dispatcher.handle(5 * S, lost(0, true));
        obey(&mut dispatcher, 5 * S);
        assert_eq!(hosts_of(&dispatcher), [1; 4], "{protocol}");
    }
}

#[test]
fn a_shunned_host_is_used_when_there_is_no_other() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    let suspect = Fact::Suspect { host: 1, why: "ECC errors".to_owned() };
    dispatcher.handle(2 * S, Input::Noticed(suspect));
    obey(&mut dispatcher, 2 * S);
    dispatcher.handle(3 * S, lost(0, true));
    obey(&mut dispatcher, 3 * S);
    assert_eq!(hosts_of(&dispatcher), [0; 4], "it may come back");
    dispatcher.handle(9 * S, failed(0));
    let commands = obey(&mut dispatcher, 9 * S);
    assert!(commands.iter().any(|c| matches!(c, Command::Notify(Notice::UsedAgain { .. }))));
    assert_eq!((hosts_of(&dispatcher), dispatcher.has_ended()), (vec![1; 4], false));
}

#[test]
fn a_bad_switch_is_left_by_all_its_hosts() {
    for protocol in ["pessimistic", "coordinated"] {
        let mut some = settings(4, 4, protocol);
        let on = |switch: &str| Place { switch: Some(switch.to_owned()), ..Place::default() };
        some.hosts.push("h4".to_owned());
        some.places = vec![on("a"), on("a"), on("a"), on("b"), on("b")];
        let mut dispatcher = running(some);
        dispatcher.handle(2 * S, lost(0, false));
        obey(&mut dispatcher, 2 * S);
        dispatcher.handle(2 * S, Input::AgentUp { host: 0 });
        obey(&mut dispatcher, 2 * S);
        assert_eq!(hosts_of(&dispatcher), [0, 1, 2, 3]);
        dispatcher.handle(3 * S, lost(1, false));
        let commands = obey(&mut dispatcher, 3 * S);
        let hosts = hosts_of(&dispatcher);
        assert!(hosts.iter().all(|host| *host > 2), "{protocol}: {hosts:?} {commands:?}");
        let named = dispatcher.failures().last().unwrap().named.unwrap();
        assert_eq!((named.detector, named.recovery), ("network", Recovery::Migrate));
        assert_eq!(dispatcher.restarts(), 2);
    }
}

#[test]
fn hosts_that_do_not_reach_each_other_are_not_kept_apart_for_ever() {
    let cut = || Input::Cut { hosts: [0, 1], why: "no answer".to_owned() };
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    dispatcher.handle(2 * S, cut());
    obey(&mut dispatcher, 2 * S);
    assert_eq!(hosts_of(&dispatcher), [0; 4]);
    // Where no other host takes them, the job can be continued.
    let mut full = settings(4, 2, "pessimistic");
    full.places = vec![place(2), place(2)];
    full.recovery.oversubscribe = false;
    let mut dispatcher = running(full);
    dispatcher.handle(2 * S, cut());
    let commands = drain(&mut dispatcher);
    assert!(matches!(commands[..], [.., Command::End { code: SUSPENDED, keep: true, .. }]));
}

proptest! {
    /// Whatever happens to hosts and ranks, no rank begins on a host without slots, beyond a
    /// limit, or on a drained one while another takes it; no event counts as more than one failure.
    #[test]
    fn slots_are_respected_and_events_counted_once(
        protocol in prop_oneof![Just("pessimistic"), Just("coordinated"), Just("hierarchical")],
        events in proptest::collection::vec((0..10_u32, 0..5_u32, 0..6_u32), 0..40),
    ) {
        let mut setting = settings(6, 3, protocol);
        setting.hosts.extend(["store".to_owned(), "spare".to_owned()]);
        setting.places =
            vec![place(2), Place { most: Some(3), ..place(2) }, place(2), place(0), spare(2)];
        setting.restarts_max = 100;
        let mut dispatcher = running(setting);
        let mut restarts = 0;
        for (number, (what, host, rank)) in events.into_iter().enumerate() {
            let now = S * (2 + 2 * number as u32);
            let (_, incarnation) = dispatcher.location(Rank(rank));
            let input = match what {
                0 | 1 => lost(host, what == 0),
                2 => failed(host),
                3 => Input::AgentUp { host },
                4 => Input::Tick,
                5 => Input::Noticed(Fact::Suspect { host, why: "heat".to_owned() }),
                6 => Input::Noticed(Fact::Sound { host }),
                7 => Input::Drain { host },
                8 => Input::Undrain { host },
                _ => ended(rank, incarnation.0, BUS_ERROR, 7),
            };
            dispatcher.handle(now, input);
            for command in obey(&mut dispatcher, now) {
                if let Command::Start { host, .. } = command {
                    prop_assert_ne!(host, 3);
                    let hosts = &dispatcher.hosts;
                    prop_assert!(!hosts.is_drained(host) || !hosts.others_take(host, 1));
                }
            }
            prop_assert!(dispatcher.restarts() <= restarts + 1);
            restarts = dispatcher.restarts();
            let hosts = hosts_of(&dispatcher);
            prop_assert!(hosts.iter().filter(|host| **host == 1).count() <= 3);
            prop_assert!(hosts.iter().all(|host| *host != 3));
        }
    }
}

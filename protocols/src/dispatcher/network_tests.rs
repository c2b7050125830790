use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use crate::judge::{Detector, Named, Recovery, Rule};

const KILLED: Ending = Ending::Signal(9);

/// Ranks 0 and 1 on h0, 2 and 3 on h1; further hosts have none.
fn job(protocol: &str, hosts: u32) -> Dispatcher {
    let mut given = settings(4, hosts, protocol);
    given.placement = vec![0, 0, 1, 1];
    running(given)
}

fn cut(a: u32, b: u32) -> Input {
    Input::Cut { hosts: [a, b], why: "no answer".into() }
}

fn kills(commands: &[Command]) -> Vec<u32> {
    let kills = commands.iter().filter_map(|command| match command {
        Command::Kill { rank, .. } => Some(rank.0),
        _ => None,
    });
    kills.collect()
}

/// (rank, host, incarnation) of each start.
fn starts(commands: &[Command]) -> Vec<(u32, u32, u32)> {
    let starts = commands.iter().filter_map(|command| match command {
        Command::Start { rank, host, incarnation, .. } => Some((rank.0, *host, incarnation.0)),
        _ => None,
    });
    starts.collect()
}

fn notices(commands: &[Command]) -> Vec<&NetworkNotice> {
    let notices = commands.iter().filter_map(|command| match command {
        Command::Notify(Notice::Network(notice)) => Some(notice),
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_cut_is_named_with_both_hosts_and_ranks_move_when_their_old_incarnations_have_ended() {
    let mut dispatcher = job("pessimistic", 3);
    dispatcher.handle(2 * S, cut(1, 0));
    let commands = drain(&mut dispatcher);
    let both = ["h0".to_owned(), "h1".to_owned()];
    let [NetworkNotice::Cut { hosts, .. }, NetworkNotice::MovedAway { ranks, to, .. }] =
        notices(&commands)[..]
    else {
        panic!("{commands:?}")
    };
    assert_eq!(
        (hosts, &ranks[..], &to[..]),
        (&both, &[Rank(2), Rank(3)][..], &["h2".to_owned()][..])
    );
    assert_eq!((kills(&commands), starts(&commands)), (vec![2, 3], vec![]));
    assert_eq!(dispatcher.location(Rank(2)), (1, Incarnation(0)), "its end is commanded there");
    dispatcher.handle(3 * S, ended(2, 0, KILLED, 9));
    assert_eq!(starts(&drain(&mut dispatcher)), [(2, 2, 1)]);
    // Both sides report the cut, and time passes.
    dispatcher.handle(3 * S, cut(0, 1));
    dispatcher.handle(4 * S, Input::Tick);
    dispatcher.handle(4 * S, ended(3, 0, KILLED, 9));
    assert_eq!(starts(&drain(&mut dispatcher)), [(3, 2, 1)]);
    hello(&mut dispatcher, 2, 1);
    hello(&mut dispatcher, 3, 1);
    dispatcher.handle(20 * S, Input::Tick);
    assert_eq!(kills(&drain(&mut dispatcher)), [0; 0], "no host with ranks is cut off");
    assert_eq!(dispatcher.restarts(), 1);
    let cause = Cause::Cut { hosts: both.clone() };
    assert!(dispatcher.failures().iter().all(|failure| failure.cause == cause));
    dispatcher.handle(30 * S, Input::CutMended { hosts: [0, 1] });
    let mended = NetworkNotice::CutMended { hosts: both };
    assert_eq!(notices(&drain(&mut dispatcher)), [&mended]);
}

#[test]
fn without_another_host_one_of_the_two_takes_all() {
    let mut dispatcher = job("pessimistic", 2);
    dispatcher.handle(2 * S, cut(0, 1));
    assert_eq!(kills(&drain(&mut dispatcher)), [2, 3]);
    dispatcher.handle(2 * S, ended(3, 0, KILLED, 9));
    assert_eq!(starts(&drain(&mut dispatcher)), [(3, 0, 1)]);
}

#[test]
fn in_waves_all_return_and_those_of_one_host_begin_elsewhere() {
    let mut dispatcher = job("coordinated", 3);
    dispatcher.handle(2 * S, cut(0, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!(kills(&commands), [0, 1, 2, 3]);
    for rank in [3, 2, 0] {
        dispatcher.handle(3 * S, ended(rank, 0, KILLED, 9));
    }
    assert_eq!(starts(&drain(&mut dispatcher)), []);
    dispatcher.handle(3 * S, ended(1, 0, KILLED, 9));
    let started = starts(&drain(&mut dispatcher));
    assert_eq!(started, [(0, 0, 1), (1, 0, 1), (2, 2, 1), (3, 2, 1)]);
    // Those that had to move are told as failures, and that they are back.
    for rank in 0..4 {
        hello(&mut dispatcher, rank, 1);
    }
    let told: Vec<(u32, u32)> =
        dispatcher.failures().iter().map(|f| (f.rank.0, f.incarnation.0)).collect();
    assert_eq!(told, [(2, 1), (3, 1)]);
    let cause = Cause::Cut { hosts: ["h0", "h1"].map(str::to_owned) };
    assert!(dispatcher.failures().iter().all(|failure| failure.cause == cause));
    assert_eq!(dispatcher.restarts(), 1);
}

#[test]
fn a_host_that_reaches_fewer_is_left_and_the_new_one_reaches_all() {
    let mut given = settings(3, 5, "pessimistic");
    given.placement = vec![0, 1, 2];
    let mut dispatcher = running(given);
    // h3 would be taken, but does not reach h0.
    dispatcher.handle(S, cut(3, 0));
    assert_eq!(kills(&drain(&mut dispatcher)), [0; 0], "h3 has no rank");
    dispatcher.handle(2 * S, cut(1, 2));
    assert_eq!(kills(&drain(&mut dispatcher)), [2]);
    dispatcher.handle(3 * S, ended(2, 0, KILLED, 9));
    assert_eq!(starts(&drain(&mut dispatcher)), [(2, 4, 1)]);
    // Now h1 is cut off from two others, and everything else works: it is h1 that is left.
    let mut given = settings(3, 4, "pessimistic");
    given.placement = vec![0, 1, 2];
    let mut dispatcher = running(given);
    dispatcher.handle(2 * S, cut(0, 1));
    drain(&mut dispatcher);
    dispatcher.handle(3 * S, cut(1, 2));
    dispatcher.handle(3 * S, ended(1, 0, KILLED, 9));
    let started = starts(&drain(&mut dispatcher));
    assert_eq!(started, [(1, 3, 1)]);
    dispatcher.handle(4 * S, Input::Tick);
    assert_eq!(kills(&drain(&mut dispatcher)), [0; 0]);
}

#[test]
fn where_no_host_reaches_all_the_job_ends_and_can_go_on() {
    let mut dispatcher = running(settings(4, 4, "pessimistic"));
    dispatcher.handle(S, cut(2, 3));
    // Before rank 3 has moved, everything else breaks, too.
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)] {
        dispatcher.handle(2 * S, cut(a, b));
    }
    assert_eq!(kills(&drain(&mut dispatcher)), [3], "one after the other");
    dispatcher.handle(3 * S, ended(3, 0, KILLED, 9));
    dispatcher.handle(3 * S, Input::Tick);
    let commands = drain(&mut dispatcher);
    let Some(Command::End { code: SUSPENDED, keep: true, reason: Some(reason) }) = commands.last()
    else {
        panic!("{commands:?}")
    };
    let EndReason::Network(NetworkEnd::NoWayRound { hosts, .. }) = reason else {
        panic!("{reason:?}")
    };
    assert_eq!(hosts, &["h0".to_owned(), "h1".to_owned()]);
    let mut dispatcher = job("none", 2);
    dispatcher.handle(2 * S, cut(0, 1));
    let commands = drain(&mut dispatcher);
    assert!(matches!(
        commands.last(),
        Some(Command::End { reason: Some(EndReason::Network(NetworkEnd::CutForGood { .. })), .. })
    ));
}

#[test]
fn a_host_that_is_lost_meanwhile_goes_the_way_of_lost_hosts() {
    let mut dispatcher = job("pessimistic", 3);
    dispatcher.handle(2 * S, cut(0, 1));
    drain(&mut dispatcher);
    dispatcher.handle(3 * S, Input::AgentLost { host: 1, why: "gone".into(), silent: false });
    assert_eq!(starts(&drain(&mut dispatcher)), []);
    dispatcher.handle(4 * S, Input::AgentFailed { host: 1, why: "gone".into() });
    let started = starts(&drain(&mut dispatcher));
    assert_eq!(started, [(2, 2, 1), (3, 2, 1)]);
    // The other host of a cut that is not up is no cut.
    dispatcher.handle(5 * S, cut(0, 1));
    assert_eq!(drain(&mut dispatcher), []);
}

/// A rank that has ended may have to return, and a host of such ranks only is not cut off.
#[test]
fn ranks_that_have_ended_make_no_cut() {
    let mut dispatcher = job("pessimistic", 2);
    for rank in [2, 3] {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Finalizing { rank, incarnation });
        dispatcher.handle(S, Input::Exiting { rank, incarnation, code: 0 });
        dispatcher.handle(S, ended(rank.0, 0, Ending::Code(0), 9));
    }
    drain(&mut dispatcher);
    dispatcher.handle(2 * S, cut(0, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!((kills(&commands), notices(&commands).len()), (vec![], 1));
}

#[test]
fn a_recovery_file_gives_the_job_up_at_a_cut_that_could_be_repaired() {
    let mut given = settings(4, 3, "pessimistic");
    given.placement = vec![0, 0, 1, 1];
    let recovery = Recovery::GiveUp;
    let network = Detector::Network { share: 0.5, window: S, recovery };
    let hosts = vec!["h1".to_owned()];
    given.recovery.rules.insert(0, Rule { hosts, detectors: vec![network], ..Rule::default() });
    let mut dispatcher = running(given.clone());
    dispatcher.handle(2 * S, cut(0, 1));
    let commands = drain(&mut dispatcher);
    let Some(Command::End { code: SUSPENDED, keep: true, reason: Some(reason) }) = commands.last()
    else {
        panic!("{commands:?}")
    };
    let EndReason::Judged { named, .. } = reason else { panic!("{reason:?}") };
    assert_eq!(*named, Named::new("network", recovery));
    assert_eq!(kills(&commands), [0; 0]);
    // The rule is for other hosts.
    given.recovery.rules[0].hosts = vec!["h2".to_owned()];
    let mut dispatcher = running(given);
    dispatcher.handle(2 * S, cut(0, 1));
    assert_eq!(kills(&drain(&mut dispatcher)), [2, 3]);
}

#[test]
fn a_cut_is_one_failure_whatever_clusters_its_ranks_are_in() {
    let mut given = settings(4, 3, "hierarchical");
    given.placement = vec![0, 1, 0, 1];
    let mut dispatcher = running(given);
    dispatcher.handle(2 * S, cut(0, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!(kills(&commands), [0, 1, 2, 3], "both clusters return");
    assert_eq!(dispatcher.restarts(), 1);
}

use super::tests::{S, drain, running, settings};
use super::*;

#[test]
fn the_patience_with_a_full_disk_is_one_for_every_server() {
    let trouble = |server, why: &str| Input::StorageTrouble {
        server,
        name: format!("server {server}"),
        why: why.to_owned(),
    };
    let mut dispatcher = running(settings(3, 1, "channel-memory"));
    dispatcher.handle(2 * S, trouble(1, "full"));
    dispatcher.handle(3 * S, trouble(2, "full"));
    let told = drain(&mut dispatcher);
    let [Command::Notify(Notice::StorageAway { server, patience, .. })] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((server.as_str(), *patience), ("server 1", 20 * S));
    dispatcher.handle(4 * S, Input::StorageBack { server: 1 });
    dispatcher.handle(4 * S, Input::StorageBack { server: 7 });
    assert_eq!(drain(&mut dispatcher), [], "one of them still waits");
    dispatcher.handle(21 * S, Input::StorageBack { server: 2 });
    assert_eq!(drain(&mut dispatcher), [Command::Notify(Notice::StorageBack)]);
    dispatcher.handle(60 * S, Input::Tick);
    assert!(!dispatcher.has_ended());
    dispatcher.handle(60 * S, trouble(2, "full"));
    dispatcher.handle(70 * S, trouble(2, "no space left in /x"));
    dispatcher.handle(79 * S, Input::Tick);
    assert!(!dispatcher.has_ended());
    dispatcher.handle(80 * S, Input::Tick);
    let commands = drain(&mut dispatcher);
    let Some(Command::End { code: SUSPENDED, reason: Some(reason), keep: true }) = commands.last()
    else {
        panic!("{commands:?}")
    };
    let EndReason::StorageSilent { server, why, .. } = reason else { panic!("{reason:?}") };
    assert_eq!((server.as_str(), why.as_str()), ("server 2", "no space left in /x"));
}

#[test]
fn a_logger_that_cannot_serve_is_reported_once_waited_for_and_given_up() {
    let trouble = |rank: u32, for_good| Input::LoggerTrouble {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        why: "No space left; make room in /x".into(),
        for_good,
    };
    let back = |rank: u32| Input::LoggerBack { rank: Rank(rank), incarnation: Incarnation(0) };
    let lines =
        |commands: &[Command]| commands.iter().filter(|c| matches!(c, Command::Notify(_))).count();
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    for rank in 0..3 {
        dispatcher.handle(2 * S, trouble(rank, false));
    }
    assert_eq!(lines(&drain(&mut dispatcher)), 1);
    for rank in 0..3 {
        dispatcher.handle(10 * S, back(rank));
    }
    assert_eq!(lines(&drain(&mut dispatcher)), 1, "it is reported when it is over");
    dispatcher.handle(30 * S, trouble(1, false));
    // It asks again and again: the first time counts.
    dispatcher.handle(45 * S, trouble(1, false));
    dispatcher.handle(49 * S, Input::Tick);
    assert!(!dispatcher.has_ended());
    dispatcher.handle(50 * S, Input::Tick);
    let commands = drain(&mut dispatcher);
    let Some(Command::End { code: SUSPENDED, reason: Some(reason), keep: true }) = commands.last()
    else {
        panic!("{commands:?}")
    };
    let EndReason::LoggerSilent { rank: Rank(1), host, why, .. } = reason else {
        panic!("{reason:?}")
    };
    assert!(host == "h0" && why.contains("make room"), "{reason:?}");
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    dispatcher.handle(2 * S, trouble(2, true));
    assert!(dispatcher.has_ended(), "waiting would be in vain");
}

#[test]
fn time_without_end_is_waited_for() {
    let mut patient = settings(3, 1, "pessimistic");
    patient.storage_patience = Duration::MAX;
    let mut dispatcher = running(patient);
    let (rank, incarnation, why) = (Rank(0), Incarnation(0), "it is away".to_owned());
    let trouble = Input::LoggerTrouble { rank, incarnation, why, for_good: false };
    dispatcher.handle(2 * S, trouble);
    dispatcher.handle(2 * S, Input::Suspend { grace: Duration::MAX });
    dispatcher.handle(1000 * S, Input::Tick);
    assert!(!dispatcher.has_ended());
}

#[test]
fn a_server_that_does_not_answer_is_named_waited_for_and_the_job_can_go_on_later() {
    let away = |server| Input::ServerAway {
        server,
        name: format!("server {server}"),
        why: "no route to host".to_owned(),
    };
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    dispatcher.handle(2 * S, away(0));
    dispatcher.handle(3 * S, away(1));
    dispatcher.handle(4 * S, away(0));
    let named = drain(&mut dispatcher);
    assert_eq!(named.len(), 2, "each is named once: {named:?}");
    dispatcher.handle(10 * S, Input::ServerBack { server: 0 });
    let back = NetworkNotice::ServerBack { server: "server 0".into() };
    assert_eq!(drain(&mut dispatcher), [Command::Notify(Notice::Network(back))]);
    dispatcher.handle(22 * S, Input::Tick);
    assert!(!dispatcher.has_ended());
    dispatcher.handle(23 * S, Input::Tick);
    let commands = drain(&mut dispatcher);
    let Some(Command::End { code: SUSPENDED, reason: Some(reason), keep: true }) = commands.last()
    else {
        panic!("{commands:?}")
    };
    let EndReason::Network(NetworkEnd::ServerLost { server, .. }) = reason else {
        panic!("{reason:?}")
    };
    assert_eq!(server, "server 1");
}

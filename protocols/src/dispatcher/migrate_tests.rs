use super::tests::{S, drain, ended, hello, running};
use super::*;
use crate::judge::Fact;

/// Without images but those that migrations ask for.
fn settings(size: u32, hosts: u32, protocol: &str) -> Settings {
    let mut settings = super::tests::settings(size, hosts, protocol);
    if let Some(images) = &mut settings.images {
        images.interval = 10_000 * S;
    }
    settings
}

fn committed(rank: u32, incarnation: u32, image: u64) -> Input {
    Input::ImageCommitted {
        rank: Rank(rank),
        incarnation: Incarnation(incarnation),
        image: ImageFacts { image: ImageNo(image), bytes: 1, written: [0, 0], consumed: 0 },
        oldest: ImageNo(0),
    }
}

fn caught_up(rank: u32, incarnation: u32) -> Input {
    let (rank, incarnation) = (Rank(rank), Incarnation(incarnation));
    Input::CaughtUp { rank, incarnation, replayed: 0 }
}

fn migrate(rank: u32, to: u32) -> Input {
    Input::Migrate { rank: Rank(rank), to: Some(to) }
}

/// Ranks, incarnations and hosts of the starts.
fn starts(commands: &[Command]) -> Vec<(u32, u32, u32)> {
    let starts = commands.iter().filter_map(|command| match command {
        Command::Start { rank, incarnation, host, .. } => Some((rank.0, incarnation.0, *host)),
        _ => None,
    });
    starts.collect()
}

fn kills(commands: &[Command]) -> Vec<u32> {
    let kills = commands.iter().filter_map(|command| match command {
        Command::Kill { rank, .. } => Some(rank.0),
        _ => None,
    });
    kills.collect()
}

fn images(commands: &[Command]) -> Vec<(u32, u64)> {
    let taken = commands.iter().filter_map(|command| match command {
        Command::TakeImage { rank, image, .. } => Some((rank.0, image.0)),
        _ => None,
    });
    taken.collect()
}

fn notices(commands: &[Command]) -> Vec<&Notice> {
    let notices = commands.iter().filter_map(|command| match command {
        Command::Notify(notice) => Some(notice),
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_rank_takes_an_image_ends_and_begins_elsewhere_and_that_is_no_failure() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    dispatcher.handle(S, migrate(3, 0));
    dispatcher.handle(S, Input::Tick);
    assert_eq!(images(&drain(&mut dispatcher)), [(3, 1)], "its image, at once, and no other");
    dispatcher.handle(2 * S, committed(3, 0, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!((kills(&commands), starts(&commands)), (vec![3], vec![]), "its end comes first");
    assert_eq!(dispatcher.location(Rank(3)).0, 1, "the order to end goes to the old host");
    dispatcher.handle(2 * S, ended(3, 0, Ending::Signal(9), 5));
    let commands = drain(&mut dispatcher);
    assert_eq!(starts(&commands), [(3, 1, 0)]);
    let announced = Command::Announce { rank: Rank(3), incarnation: Incarnation(1), host: 0 };
    assert!(commands.contains(&announced));
    hello(&mut dispatcher, 3, 1);
    dispatcher.handle(3 * S, caught_up(3, 1));
    let commands = drain(&mut dispatcher);
    assert!(
        notices(&commands).iter().any(|notice| matches!(notice,
            Notice::Moved { rank: Rank(3), took, image: Some((ImageNo(1), _)), .. } if *took == 2 * S)),
        "{commands:?}"
    );
    assert_eq!((dispatcher.restarts(), dispatcher.failures().len()), (0, 0));
    let [migration] = dispatcher.migrations() else { panic!("one migration") };
    assert_eq!((migration.state.clone(), migration.back_at), (MoveState::Done, Some(3 * S)));
}

#[test]
fn a_cluster_returns_to_the_wave_that_was_taken_for_the_migration() {
    let mut dispatcher = running(settings(4, 2, "coordinated"));
    dispatcher.handle(S, migrate(3, 0));
    dispatcher.handle(S, Input::Tick);
    assert_eq!(images(&drain(&mut dispatcher)).len(), 4, "a wave at once");
    for rank in 0..4 {
        dispatcher.handle(2 * S, committed(rank, 0, 1));
    }
    let commands = drain(&mut dispatcher);
    assert_eq!(kills(&commands), [0, 1, 2, 3]);
    for rank in 0..4 {
        assert_eq!(starts(&drain(&mut dispatcher)), [], "not before all have ended");
        dispatcher.handle(2 * S, ended(rank, 0, Ending::Signal(9), 5));
    }
    let begun = starts(&drain(&mut dispatcher));
    assert_eq!(begun, [(0, 1, 0), (1, 1, 0), (2, 1, 1), (3, 1, 0)]);
    for rank in 0..4 {
        assert_eq!(dispatcher.migrations()[0].state, MoveState::Begins);
        hello(&mut dispatcher, rank, 1);
        dispatcher.handle(3 * S, caught_up(rank, 1));
    }
    assert_eq!(dispatcher.migrations()[0].state, MoveState::Done);
    assert_eq!(dispatcher.restarts(), 0);
}

#[test]
fn a_drained_host_is_left_and_takes_nobody_even_after_a_failure() {
    let mut dispatcher = running(settings(4, 2, "causal"));
    dispatcher.handle(S, Input::Drain { host: 1 });
    // A rank that dies meanwhile does not come back there.
    dispatcher.handle(S, ended(2, 0, Ending::Signal(11), 5));
    assert_eq!(starts(&drain(&mut dispatcher)), [(2, 1, 0)]);
    hello(&mut dispatcher, 2, 1);
    dispatcher.handle(2 * S, caught_up(2, 1));
    dispatcher.handle(2 * S, Input::Tick);
    // Rank 2 still takes the image that was hastened for its move.
    assert_eq!(images(&drain(&mut dispatcher)), [(2, 1), (3, 1)]);
    dispatcher.handle(2 * S, committed(3, 0, 1));
    dispatcher.handle(2 * S, ended(3, 0, Ending::Signal(9), 5));
    assert_eq!(starts(&drain(&mut dispatcher)), [(3, 1, 0)]);
    hello(&mut dispatcher, 3, 1);
    dispatcher.handle(3 * S, caught_up(3, 1));
    let commands = drain(&mut dispatcher);
    assert!(notices(&commands).contains(&&Notice::Drained { host: "h1".into() }), "{commands:?}");
    let refused = dispatcher.may_migrate(Rank(0), Some(1));
    assert_eq!(refused, Err(Refusal::Drained { host: "h1".into() }));
    assert_eq!(dispatcher.may_drain(0), Err(Refusal::NoOtherHost { host: "h0".into() }));
    dispatcher.handle(4 * S, Input::Undrain { host: 1 });
    assert_eq!(dispatcher.may_migrate(Rank(0), Some(1)), Ok(()));
}

#[test]
fn what_cannot_move_is_refused_with_the_reason() {
    let without = running(Settings { images: None, ..settings(2, 2, "none") });
    let refused = without.may_migrate(Rank(0), Some(1));
    assert!(matches!(refused, Err(Refusal::NoImages { off: false, .. })), "{refused:?}");
    let off = running(Settings { images: None, ..settings(2, 2, "pessimistic") });
    assert!(matches!(off.may_drain(0), Err(Refusal::NoImages { off: true, .. })));
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    let there = dispatcher.may_migrate(Rank(0), Some(0));
    assert!(matches!(there, Err(Refusal::AlreadyThere { .. })));
    dispatcher.handle(S, Input::AgentLost { host: 1, why: "gone".into(), silent: false });
    let away = dispatcher.may_migrate(Rank(0), Some(1));
    assert!(matches!(away, Err(Refusal::NotUp { .. })), "{away:?}");
    // Memory that ranks share is on one host.
    let mut sharing = running(settings(4, 2, "coordinated"));
    sharing.handle(S, Input::SharesMemory);
    let alone = sharing.may_migrate(Rank(0), Some(1));
    assert!(matches!(alone, Err(Refusal::SharesMemory { .. })), "{alone:?}");
    assert_eq!(sharing.may_drain(0), Ok(()));
    let (rank, incarnation) = (Rank(1), Incarnation(0));
    sharing.handle(S, Input::Finalizing { rank, incarnation });
    let ends = sharing.may_migrate(Rank(3), None);
    assert_eq!(ends, Err(Refusal::RankEnds { rank: Rank(1) }), "no wave without that rank");
}

#[test]
fn a_rank_whose_image_is_lost_again_and_again_stays_and_says_why() {
    let mut dispatcher = running(settings(2, 2, "pessimistic"));
    dispatcher.handle(S, migrate(1, 0));
    for image in 1..=3 {
        dispatcher.handle(S, Input::Tick);
        assert_eq!(images(&drain(&mut dispatcher)), [(1, image)]);
        dispatcher.handle(
            S,
            Input::ImageFailed {
                rank: Rank(1),
                incarnation: Incarnation(0),
                image: ImageNo(image),
                why: "the disk is full".into(),
            },
        );
    }
    let commands = drain(&mut dispatcher);
    let stays = |notice: &&Notice| matches!(notice, Notice::Stays { rank: Rank(1), .. });
    assert_eq!(notices(&commands).into_iter().filter(stays).count(), 1, "{commands:?}");
    assert_eq!(dispatcher.location(Rank(1)), (1, Incarnation(0)));
}

#[test]
fn a_goal_that_is_lost_meanwhile_is_not_waited_for() {
    let mut dispatcher = running(settings(3, 3, "pessimistic"));
    dispatcher.handle(S, migrate(0, 2));
    dispatcher.handle(S, Input::Tick);
    dispatcher.handle(S, Input::AgentLost { host: 2, why: "gone".into(), silent: false });
    drain(&mut dispatcher);
    dispatcher.handle(2 * S, committed(0, 0, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!(kills(&commands), [] as [u32; 0], "it goes on where it is: {commands:?}");
    assert!(matches!(dispatcher.migrations()[0].state, MoveState::Failed(_)));
}

#[test]
fn a_host_joins_and_a_host_that_never_comes_ends_nothing() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    dispatcher.handle(S, Input::HostAdded { name: "new".into(), place: Place::default() });
    assert_eq!(drain(&mut dispatcher), [Command::StartAgent { host: 1 }]);
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 1));
    assert_eq!(starts(&drain(&mut dispatcher)), [(1, 1, 0)], "nobody waits for it");
    dispatcher.handle(2 * S, Input::AgentUp { host: 1 });
    let commands = drain(&mut dispatcher);
    assert_eq!(notices(&commands), [&Notice::HostJoined { host: "new".into() }]);
    assert_eq!(dispatcher.may_migrate(Rank(0), Some(1)), Ok(()));
    dispatcher.handle(S, Input::HostAdded { name: "never".into(), place: Place::default() });
    dispatcher.handle(3 * S, Input::AgentFailed { host: 2, why: "no route".into() });
    let commands = drain(&mut dispatcher);
    assert!(!dispatcher.has_ended());
    assert!(notices(&commands).iter().any(|n| matches!(n, Notice::HostCannotJoin { .. })));
}

#[test]
fn bad_health_empties_a_host_and_good_health_does_not_undo_what_a_user_said() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    let bad = |host| Input::Health { host, bad: Some("ECC errors".into()) };
    dispatcher.handle(S, bad(1));
    dispatcher.handle(S, bad(1));
    dispatcher.handle(S, Input::Tick);
    let commands = drain(&mut dispatcher);
    assert_eq!(images(&commands), [(2, 1), (3, 1)]);
    assert_eq!(notices(&commands).len(), 1, "it is said once: {commands:?}");
    dispatcher.handle(S, Input::Health { host: 1, bad: None });
    assert!(!dispatcher.is_drained(1));
    assert!(dispatcher.migrations().iter().all(|m| !m.is_active()), "they stay");
    dispatcher.handle(S, Input::Drain { host: 0 });
    dispatcher.handle(S, Input::Health { host: 0, bad: None });
    assert!(dispatcher.is_drained(0));
    // The last host cannot be emptied: early images, and a word.
    dispatcher.handle(S, bad(1));
    let commands = drain(&mut dispatcher);
    assert!(notices(&commands).iter().any(|n| matches!(n, Notice::CannotDrain { .. })));
    assert!(!dispatcher.is_drained(1));
}

#[test]
fn slots_and_limits_count_and_a_spare_host_comes_first() {
    let place = |slots| Place { slots, most: Some(slots), ..Place::default() };
    let mut some = settings(4, 2, "pessimistic");
    some.hosts.extend(["store".to_owned(), "spare".to_owned()]);
    some.places = vec![place(2), place(2), place(0), Place { spare: true, ..place(1) }];
    let mut dispatcher = running(some);
    for host in [1, 2] {
        let host_name = ["h0", "h1", "store"][host as usize].to_owned();
        let refused = dispatcher.may_migrate(Rank(0), Some(host));
        assert_eq!(refused, Err(Refusal::NoRoom { host: host_name }));
    }
    assert_eq!(
        dispatcher.may_drain(0),
        Err(Refusal::NoOtherHost { host: "h0".into() }),
        "there is one slot for two ranks"
    );
    dispatcher.handle(S, Input::Migrate { rank: Rank(3), to: None });
    dispatcher.handle(S, Input::Tick);
    dispatcher.handle(2 * S, committed(3, 0, 1));
    dispatcher.handle(2 * S, ended(3, 0, Ending::Signal(9), 5));
    assert_eq!(starts(&drain(&mut dispatcher)), [(3, 1, 3)]);
    assert_eq!(dispatcher.may_migrate(Rank(0), Some(1)), Ok(()), "its slot is free");
}

#[test]
fn a_host_that_the_judge_has_taken_out_of_use_gets_no_rank_until_a_user_says_so() {
    let mut some = settings(4, 2, "pessimistic");
    some.hosts.push("h2".to_owned());
    let mut dispatcher = running(some);
    let suspect = Fact::Suspect { host: 2, why: "heat".to_owned() };
    dispatcher.handle(S, Input::Noticed(suspect));
    let refused = dispatcher.may_migrate(Rank(0), Some(2));
    assert_eq!(refused, Err(Refusal::Shunned { host: "h2".into() }));
    dispatcher.handle(S, Input::Migrate { rank: Rank(0), to: None });
    dispatcher.handle(S, Input::Tick);
    dispatcher.handle(2 * S, committed(0, 0, 1));
    dispatcher.handle(2 * S, ended(0, 0, Ending::Signal(9), 5));
    assert_eq!(starts(&drain(&mut dispatcher)), [(0, 1, 1)]);
    dispatcher.handle(3 * S, Input::Undrain { host: 2 });
    assert_eq!(dispatcher.may_migrate(Rank(1), Some(2)), Ok(()));
    // That a detector uses it again does not undo what a user has drained.
    dispatcher.handle(4 * S, Input::Drain { host: 2 });
    dispatcher.handle(4 * S, Input::Noticed(Fact::Sound { host: 2 }));
    assert!(dispatcher.is_drained(2));
}

#[test]
fn ranks_that_wait_for_a_drained_host_begin_on_one_that_takes_ranks_again() {
    for protocol in ["pessimistic", "coordinated"] {
        let mut some = settings(4, 2, protocol);
        some.recovery.retry = None;
        let mut dispatcher = running(some);
        dispatcher.handle(S, Input::Drain { host: 0 });
        // Both hosts are lost before a rank has moved.
        for host in [0, 1] {
            dispatcher.handle(S, Input::AgentLost { host, why: "gone".into(), silent: false });
        }
        dispatcher.handle(2 * S, Input::AgentUp { host: 0 });
        drain(&mut dispatcher);
        dispatcher.handle(3 * S, Input::AgentFailed { host: 1, why: "no route".into() });
        let begun = starts(&drain(&mut dispatcher));
        assert_eq!(begun.len(), 4, "{protocol}: a drained host is better than none: {begun:?}");
        assert!(begun.iter().all(|(_, _, host)| *host == 0), "{protocol}: {begun:?}");
    }
}

#[test]
fn a_recovery_file_may_end_the_job_for_bad_health_and_without_images_ranks_move_at_once() {
    let bad = || Input::Health { host: 1, bad: Some("ECC errors".into()) };
    let mut strict = settings(4, 2, "pessimistic");
    for detector in &mut strict.recovery.rules[0].detectors {
        if let crate::judge::Detector::Health { recovery } = detector {
            *recovery = crate::judge::Recovery::GiveUp;
        }
    }
    let mut dispatcher = running(strict);
    dispatcher.handle(S, bad());
    assert!(dispatcher.has_ended());
    let mut without = running(Settings { images: None, ..settings(4, 2, "pessimistic") });
    without.handle(S, bad());
    assert_eq!(kills(&drain(&mut without)), [2, 3]);
    without.handle(S, ended(2, 0, Ending::Signal(9), 5));
    assert_eq!(starts(&drain(&mut without)), [(2, 1, 0)]);
    without.handle(2 * S, Input::Health { host: 1, bad: None });
    assert!(!without.is_left(1));
}

/// Moves a rank by an image with this number, up to the start of its next incarnation.
fn moves(dispatcher: &mut Dispatcher, rank: u32, incarnation: u32, image: u64) {
    dispatcher.handle(2 * S, Input::Tick);
    dispatcher.handle(2 * S, committed(rank, incarnation, image));
    dispatcher.handle(2 * S, ended(rank, incarnation, Ending::Signal(9), 5));
}

fn arrives(dispatcher: &mut Dispatcher, rank: u32, incarnation: u32) {
    hello(dispatcher, rank, incarnation);
    dispatcher.handle(3 * S, caught_up(rank, incarnation));
}

#[test]
fn a_rank_that_arrives_on_a_host_drained_meanwhile_leaves_it_again() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    dispatcher.handle(S, migrate(3, 0));
    moves(&mut dispatcher, 3, 0, 1);
    assert_eq!(dispatcher.migrations()[0].state, MoveState::Begins);
    dispatcher.handle(2 * S, Input::Drain { host: 0 });
    arrives(&mut dispatcher, 3, 1);
    assert_eq!(dispatcher.migrations()[0].state, MoveState::Done);
    moves(&mut dispatcher, 3, 1, 2);
    assert_eq!(dispatcher.location(Rank(3)), (1, Incarnation(2)));
    for rank in [0, 1] {
        moves(&mut dispatcher, rank, 0, 1);
        arrives(&mut dispatcher, rank, 1);
    }
    assert!(!dispatcher.living_on(0).contains(&Rank(0)));
    arrives(&mut dispatcher, 3, 2);
    assert_eq!(dispatcher.living_on(0), []);
    assert!(dispatcher.migrations().iter().all(|m| m.state == MoveState::Done));
}

#[test]
fn a_rank_that_was_to_go_elsewhere_leaves_a_drained_host_though_that_goal_is_lost() {
    let mut dispatcher = running(settings(3, 3, "pessimistic"));
    dispatcher.handle(S, migrate(0, 2));
    dispatcher.handle(S, Input::Drain { host: 0 });
    assert_eq!(dispatcher.migrations().len(), 1, "it is on its way");
    dispatcher.handle(S, Input::Drain { host: 2 });
    moves(&mut dispatcher, 0, 0, 1);
    assert!(matches!(dispatcher.migrations()[0].state, MoveState::Failed(_)));
    assert_eq!(dispatcher.migrations().last().map(|m| m.rank), Some(Rank(0)));
    moves(&mut dispatcher, 0, 0, 2);
    assert_eq!(dispatcher.location(Rank(0)).0, 1);
}

#[test]
fn to_drain_again_moves_who_stayed_and_takes_over_from_monitoring() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    dispatcher.handle(S, Input::Health { host: 1, bad: Some("ECC errors".into()) });
    dispatcher.handle(S, Input::Drain { host: 1 });
    assert_eq!(dispatcher.migrations().len(), 2, "they are under way");
    let commands = drain(&mut dispatcher);
    let draining = |notice: &&&Notice| matches!(notice, Notice::Draining { .. });
    assert_eq!(notices(&commands).iter().filter(draining).count(), 1, "{commands:?}");
    dispatcher.handle(S, Input::Health { host: 1, bad: None });
    assert!(dispatcher.is_drained(1), "a user has drained it");
    for image in 1..=3 {
        dispatcher.handle(S, Input::Tick);
        for rank in [2, 3] {
            let (rank, incarnation, image) = (Rank(rank), Incarnation(0), ImageNo(image));
            let why = "the disk is full".into();
            dispatcher.handle(S, Input::ImageFailed { rank, incarnation, image, why });
        }
    }
    assert!(dispatcher.migrations().iter().all(|m| !m.is_active()));
    assert_eq!(dispatcher.living_on(1), [Rank(2), Rank(3)]);
    dispatcher.handle(S, Input::Health { host: 1, bad: Some("ECC errors".into()) });
    dispatcher.handle(S, Input::Drain { host: 1 });
    for rank in [2, 3] {
        moves(&mut dispatcher, rank, 0, 4);
        arrives(&mut dispatcher, rank, 1);
    }
    assert_eq!(dispatcher.living_on(1), []);
}

#[test]
fn a_rank_that_loses_its_goal_after_its_end_has_not_moved() {
    let mut dispatcher = running(settings(3, 3, "pessimistic"));
    dispatcher.handle(S, migrate(0, 2));
    moves(&mut dispatcher, 0, 0, 1);
    assert_eq!(dispatcher.location(Rank(0)), (2, Incarnation(1)));
    drain(&mut dispatcher);
    let gone = |host| Input::AgentFailed { host, why: "no route".into() };
    dispatcher.handle(2 * S, Input::AgentLost { host: 2, why: "gone".into(), silent: false });
    dispatcher.handle(2 * S, Input::AgentLost { host: 1, why: "gone".into(), silent: false });
    dispatcher.handle(2 * S, gone(1));
    dispatcher.handle(2 * S, gone(2));
    assert_eq!(dispatcher.location(Rank(0)).0, 0, "no other host is left");
    for rank in 0..3 {
        let incarnation = dispatcher.location(Rank(rank)).1.0;
        arrives(&mut dispatcher, rank, incarnation);
    }
    let commands = drain(&mut dispatcher);
    let moved = |notice: &&&Notice| matches!(notice, Notice::Moved { .. });
    assert_eq!(notices(&commands).iter().filter(moved).count(), 0, "{commands:?}");
    let lost = MoveState::Failed(MoveFailure::GoalLost);
    assert_eq!(dispatcher.migrations()[0].state, lost);
}

#[test]
fn a_host_without_ranks_can_be_drained_though_the_others_are_full() {
    let place = |slots| Place { slots, most: Some(slots), ..Place::default() };
    let mut some = settings(4, 2, "pessimistic");
    some.hosts.push("spare".to_owned());
    some.places = vec![place(2), place(2), place(1)];
    let mut dispatcher = running(some);
    assert_eq!(dispatcher.may_drain(2), Ok(()));
    dispatcher.handle(S, Input::Drain { host: 2 });
    assert!(dispatcher.is_drained(2));
}

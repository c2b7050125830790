use super::*;
use crate::judge::Policy;
use ftmpi_wire::Recovery;

pub(super) const S: Duration = Duration::from_secs(1);

pub(super) fn settings(size: u32, hosts: u32, protocol: &str) -> Settings {
    // As the registry has it: of none, restart, waves, clusters.
    let recovery = match protocol {
        "none" => Recovery::None,
        "coordinated" => Recovery::Waves,
        "hierarchical" => Recovery::ClusterWaves,
        _ => Recovery::Restart,
    };
    Settings {
        hosts: (0..hosts).map(|host| format!("h{host}")).collect(),
        placement: (0..size).map(|rank| rank * hosts / size).collect(),
        protocol: protocol.to_owned(),
        traits: ProtocolTraits { recovery, ..ProtocolTraits::NONE },
        restarts_max: 5,
        places: Vec::new(),
        recovery: Policy::default(),
        storage_patience: 20 * S,
        clusters: match protocol {
            "coordinated" => Some(vec![0; size as usize]),
            "hierarchical" => Some((0..size).map(|rank| rank / 2).collect()),
            _ => None,
        },
        standbys: Vec::new(),
        together: false,
        images: Some(scheduler::Settings {
            interval: 4 * S,
            at_once_max: 4,
            policy: scheduler::Policy::Periodic,
            cost_limit: None,
        }),
    }
}

pub(super) fn drain(dispatcher: &mut Dispatcher) -> Vec<Command> {
    std::iter::from_fn(|| dispatcher.next_command()).collect()
}

/// A job in which every rank has said hello.
pub(super) fn running(settings: Settings) -> Dispatcher {
    let (size, hosts) = (settings.placement.len() as u32, settings.hosts.len() as u32);
    let mut dispatcher = Dispatcher::new(settings);
    for host in 0..hosts {
        dispatcher.handle(Duration::ZERO, Input::AgentUp { host });
    }
    for rank in 0..size {
        hello(&mut dispatcher, rank, 0);
    }
    drain(&mut dispatcher);
    dispatcher
}

pub(super) fn hello(dispatcher: &mut Dispatcher, rank: u32, incarnation: u32) {
    let (rank, incarnation) = (Rank(rank), Incarnation(incarnation));
    dispatcher.handle(S, Input::Spawned { rank, incarnation });
    dispatcher.handle(S, Input::Hello { rank, incarnation, resumed: None, can_image: true });
}

pub(super) fn ended(rank: u32, incarnation: u32, ending: Ending, progress: u64) -> Input {
    Input::Ended { rank: Rank(rank), incarnation: Incarnation(incarnation), ending, progress }
}

fn commit(image: u64, oldest: u64) -> Input {
    Input::ImageCommitted {
        rank: Rank(1),
        incarnation: Incarnation(0),
        image: ImageFacts { image: ImageNo(image), bytes: 1, written: [0, 0], consumed: 0 },
        oldest: ImageNo(oldest),
    }
}

#[test]
fn dear_images_come_less_often_where_their_cost_is_bounded() {
    let take = |dispatcher: &mut Dispatcher, at: Duration| {
        dispatcher.handle(at, Input::Tick);
        let commands = drain(dispatcher);
        commands.iter().filter(|command| matches!(command, Command::TakeImage { .. })).count()
    };
    for (limit, second) in [(None, 9 * S), (Some(50), 205 * S)] {
        let mut settings = settings(2, 1, "coordinated");
        settings.images.as_mut().unwrap().cost_limit = limit;
        let mut dispatcher = running(settings);
        assert_eq!(take(&mut dispatcher, 5 * S), 2, "the first wave comes as set");
        for rank in 0..2 {
            dispatcher.handle(5 * S, Input::ImageCost { cost: 10 * S });
            let Input::ImageCommitted { incarnation, image, oldest, .. } = commit(1, 1) else {
                unreachable!()
            };
            let rank = Rank(rank);
            dispatcher.handle(5 * S, Input::ImageCommitted { rank, incarnation, image, oldest });
        }
        drain(&mut dispatcher);
        assert_eq!(dispatcher.image_interval(), Some(second - 5 * S));
        assert_eq!(take(&mut dispatcher, second - S / 2), 0);
        assert_eq!(take(&mut dispatcher, second), 2);
    }
}

#[test]
fn no_rank_starts_before_every_agent_is_there() {
    let mut dispatcher = Dispatcher::new(settings(4, 2, "pessimistic"));
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    let commands = drain(&mut dispatcher);
    assert_eq!(
        commands,
        [Command::StartAgent { host: 0 }, Command::StartAgent { host: 1 }],
        "nothing but the agents"
    );
    dispatcher.handle(S, Input::AgentUp { host: 1 });
    let started = drain(&mut dispatcher);
    assert_eq!(started.len(), 4);
    assert!(matches!(started[3], Command::Start { rank: Rank(3), host: 1, .. }));
}

#[test]
fn only_the_failed_rank_is_restarted_and_everybody_is_notified_first() {
    let mut dispatcher = running(settings(4, 1, "pessimistic"));
    dispatcher.handle(S, ended(2, 0, Ending::Signal(9), 10));
    let commands = drain(&mut dispatcher);
    assert!(matches!(commands[0], Command::Notify(Notice::Restarting { .. })));
    assert_eq!(
        commands[1],
        Command::Announce { rank: Rank(2), incarnation: Incarnation(1), host: 0 }
    );
    assert!(matches!(
        &commands[2],
        Command::Start { rank: Rank(2), incarnation: Incarnation(1), images, or_beginning: true, .. }
            if images.is_empty()
    ));
    assert_eq!(commands.len(), 3);
    dispatcher.handle(S, ended(2, 0, Ending::Signal(9), 10));
    assert_eq!(drain(&mut dispatcher), [], "an old incarnation is not news");
}

#[test]
fn without_fault_tolerance_a_failure_ends_the_job_once() {
    let mut dispatcher = running(settings(2, 1, "none"));
    dispatcher.handle(S, ended(1, 0, Ending::Signal(11), 10));
    dispatcher.handle(S, ended(0, 0, Ending::Signal(11), 10));
    let commands = drain(&mut dispatcher);
    assert_eq!(commands.len(), 1);
    let reason = EndReason::RankLost {
        rank: Rank(1),
        host: "h0".into(),
        ending: Ending::Signal(11),
        protocol: "none".into(),
    };
    let end = Command::End { code: 139, reason: Some(reason), keep: false };
    assert_eq!(commands[0], end);
}

#[test]
fn a_crash_at_the_same_place_gives_up_and_a_kill_from_outside_does_not() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    for incarnation in 0..3 {
        assert!(!dispatcher.has_ended());
        dispatcher.handle(S, ended(1, incarnation, Ending::Signal(11), 77));
        hello(&mut dispatcher, 1, incarnation + 1);
    }
    assert!(dispatcher.has_ended());

    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    for incarnation in 0..5 {
        dispatcher.handle(S, ended(1, incarnation, Ending::Signal(9), 77));
        hello(&mut dispatcher, 1, incarnation + 1);
    }
    assert!(!dispatcher.has_ended());
    dispatcher.handle(S, ended(1, 5, Ending::Signal(9), 77));
    assert!(dispatcher.has_ended(), "the limit of the job");
}

#[test]
fn logs_reach_back_to_the_start_until_two_images_are_there() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    // The second one is not where it is to be yet: the server offers the start.
    for (image, oldest) in [(1, 0), (2, 0), (3, 2)] {
        dispatcher.handle(S, commit(image, oldest));
    }
    let oldest: Vec<u64> = drain(&mut dispatcher)
        .into_iter()
        .map(|command| match command {
            Command::ImageCommitted { oldest, .. } => oldest.0,
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    assert_eq!(oldest, [0, 0, 2]);
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 10));
    let start = drain(&mut dispatcher).pop();
    assert!(matches!(start, Some(Command::Start { images, or_beginning: false, .. })
        if images.iter().map(|image| image.image.0).collect::<Vec<_>>() == [3, 2]));
}

#[test]
fn logs_reach_back_to_an_image_that_only_the_server_knows_of() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    // Image 3 was committed when the server died: nobody heard of it.
    for (image, oldest) in [(1, 0), (2, 1), (4, 3)] {
        dispatcher.handle(S, commit(image, oldest));
    }
    let last = drain(&mut dispatcher).pop();
    assert!(matches!(last, Some(Command::ImageCommitted { oldest: ImageNo(3), .. })), "{last:?}");
}

#[test]
fn finalize_and_exit_wait_for_all_and_for_the_restarted() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    let finalizing = |rank, incarnation| Input::Finalizing {
        rank: Rank(rank),
        incarnation: Incarnation(incarnation),
    };
    let exiting = |rank, incarnation, code| Input::Exiting {
        rank: Rank(rank),
        incarnation: Incarnation(incarnation),
        code,
    };
    dispatcher.handle(S, finalizing(0, 0));
    assert_eq!(drain(&mut dispatcher), []);
    dispatcher.handle(S, finalizing(1, 0));
    assert_eq!(drain(&mut dispatcher).len(), 2, "both are told");
    dispatcher.handle(S, exiting(0, 0, 0));
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 3));
    drain(&mut dispatcher);
    hello(&mut dispatcher, 1, 1);
    dispatcher.handle(S, finalizing(1, 1));
    assert_eq!(
        drain(&mut dispatcher),
        [Command::AllFinalized { rank: Rank(1), incarnation: Incarnation(1) }]
    );
    dispatcher.handle(S, exiting(1, 1, 4));
    assert_eq!(drain(&mut dispatcher).len(), 2);
    dispatcher.handle(S, ended(0, 0, Ending::Code(0), 3));
    dispatcher.handle(S, ended(1, 1, Ending::Code(4), 3));
    assert_eq!(drain(&mut dispatcher), [Command::End { code: 4, reason: None, keep: false }]);
}

/// `_exit` after MPI_Finalize asks nobody whether the sender's log is needed.
#[test]
fn who_left_without_exit_is_brought_back_when_its_log_is_needed() {
    let mut dispatcher = running(settings(3, 1, "causal"));
    for rank in 0..3 {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Finalizing { rank, incarnation });
    }
    dispatcher.handle(S, ended(0, 0, Ending::Code(0), 3));
    drain(&mut dispatcher);
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 3));
    let begun: Vec<u32> = drain(&mut dispatcher)
        .iter()
        .filter_map(|command| match command {
            Command::Start { rank, incarnation: Incarnation(1), .. } => Some(rank.0),
            _ => None,
        })
        .collect();
    assert_eq!((begun, dispatcher.restarts()), (vec![1, 0], 1));
    // It leaves again, as it did.
    hello(&mut dispatcher, 0, 1);
    let again = Input::Finalizing { rank: Rank(0), incarnation: Incarnation(1) };
    dispatcher.handle(S, again);
    dispatcher.handle(S, ended(0, 1, Ending::Code(0), 3));
    assert!(!dispatcher.has_ended());
}

#[test]
fn a_lost_agent_is_restarted_and_if_that_fails_its_ranks_move() {
    let mut dispatcher = running(settings(4, 2, "pessimistic"));
    dispatcher
        .handle(S, Input::AgentLost { host: 1, why: "connection lost".into(), silent: false });
    let commands = drain(&mut dispatcher);
    assert!(commands.contains(&Command::StartAgent { host: 1 }));
    assert!(!commands.iter().any(|c| matches!(c, Command::Start { .. })), "not before it is up");
    dispatcher.handle(S, Input::AgentFailed { host: 1, why: "no route".into() });
    let starts: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::Start { rank, host, incarnation, .. } => Some((rank.0, host, incarnation.0)),
            _ => None,
        })
        .collect();
    assert_eq!(starts, [(2, 0, 1), (3, 0, 1)]);
}

#[test]
fn images_are_asked_for_when_due_and_never_twice_at_once() {
    let mut dispatcher = running(settings(2, 1, "pessimistic"));
    dispatcher.handle(3 * S, Input::Tick);
    dispatcher.handle(4 * S, Input::Tick);
    dispatcher.handle(30 * S, Input::Tick);
    let asked: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .map(|command| match command {
            Command::TakeImage { rank, image, .. } => (rank.0, image.0),
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    assert_eq!(asked, [(0, 1), (1, 1)]);
}

#[test]
fn a_complaint_waits_for_the_death_behind_it() {
    let mut dispatcher = running(settings(2, 1, "none"));
    let complaint = Input::Abort {
        rank: Rank(0),
        incarnation: Incarnation(0),
        code: 1,
        text: "lost its connection to rank 1".into(),
    };
    dispatcher.handle(S, complaint.clone());
    assert_eq!(drain(&mut dispatcher), []);
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 10));
    assert!(matches!(drain(&mut dispatcher).pop(), Some(Command::End { code: 137, .. })));

    let mut dispatcher = running(settings(2, 1, "none"));
    dispatcher.handle(S, complaint);
    dispatcher.handle(2 * S, Input::Tick);
    assert!(matches!(drain(&mut dispatcher).pop(), Some(Command::End { code: 1, .. })));
}

#[test]
fn a_continued_job_numbers_incarnations_above_all_earlier_ones_and_begins_from_images() {
    let image = |number| ImageFacts {
        image: ImageNo(number),
        bytes: 1,
        written: [10 * number, 0],
        consumed: 0,
    };
    let past = vec![
        Past { start_offered: true, ..Past::default() },
        Past {
            incarnation: Incarnation(4),
            images: vec![image(6), image(7)],
            start_offered: false,
            highest: ImageNo(9),
        },
    ];
    let mut dispatcher = Dispatcher::continued(settings(2, 1, "pessimistic"), past);
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    let commands = drain(&mut dispatcher);
    let starts: Vec<_> = commands
        .iter()
        .filter_map(|command| match command {
            Command::Start { rank, incarnation, images, or_beginning, .. } => {
                let numbers: Vec<_> = images.iter().map(|image| image.image.0).collect();
                Some((rank.0, incarnation.0, numbers, *or_beginning))
            }
            _ => None,
        })
        .collect();
    const LATER: u32 = 4 + INCARNATIONS_UNKNOWN + 1;
    assert_eq!(starts, [(0, LATER, vec![], true), (1, LATER, vec![7, 6], false)]);
    let (rank, incarnation) = (Rank(1), Incarnation(LATER));
    for rank in 0..2 {
        hello(&mut dispatcher, rank, LATER);
    }
    dispatcher.handle(9 * S, Input::Tick);
    assert!(
        drain(&mut dispatcher).contains(&Command::TakeImage {
            rank,
            incarnation,
            image: ImageNo(10),
            keep: None
        }),
        "no number is used twice"
    );
    // A death of the new run begins the next incarnation.
    dispatcher.handle(9 * S, ended(0, LATER, Ending::Signal(9), 1));
    assert_eq!(dispatcher.location(Rank(0)).1, Incarnation(LATER + 1));
}

fn suspended(commands: &[Command]) -> Option<LastImages> {
    commands.iter().find_map(|command| match command {
        Command::End {
            code: SUSPENDED,
            reason: Some(EndReason::Suspended(images)),
            keep: true,
        } => Some(images.clone()),
        _ => None,
    })
}

#[test]
fn a_suspended_job_takes_a_last_image_of_every_rank_and_ends() {
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    let taken = |commands: &[Command]| -> Vec<u32> {
        let taken = commands.iter().filter_map(|command| match command {
            Command::TakeImage { rank, .. } => Some(rank.0),
            _ => None,
        });
        taken.collect()
    };
    let committed = |rank: u32, image: u64| Input::ImageCommitted {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        image: ImageFacts { image: ImageNo(image), bytes: 1, written: [0, 0], consumed: 0 },
        oldest: ImageNo(0),
    };
    // Rank 0 is just taking one: that does not count as its last one.
    dispatcher.handle(4 * S / 3, Input::Tick);
    assert_eq!(taken(&drain(&mut dispatcher)), [0]);
    dispatcher.handle(2 * S, Input::Suspend { grace: 60 * S });
    dispatcher.handle(2 * S, Input::Tick);
    assert_eq!(taken(&drain(&mut dispatcher)), [1, 2]);
    dispatcher.handle(3 * S, committed(0, 1));
    dispatcher.handle(3 * S, committed(1, 1));
    dispatcher.handle(3 * S, Input::Tick);
    assert_eq!(taken(&drain(&mut dispatcher)), [0], "its own last one; none twice");
    dispatcher.handle(4 * S, committed(2, 1));
    assert_eq!(suspended(&drain(&mut dispatcher)), None);
    dispatcher.handle(4 * S, committed(0, 2));
    let images = suspended(&drain(&mut dispatcher)).unwrap();
    assert!(matches!(images, LastImages::All { .. }), "{images:?}");
}

#[test]
fn the_suspension_ends_in_time_and_names_who_has_no_last_image() {
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    dispatcher.handle(S, Input::Suspend { grace: 10 * S });
    dispatcher.handle(S, Input::Tick);
    drain(&mut dispatcher);
    let failed = Input::ImageFailed {
        rank: Rank(1),
        incarnation: Incarnation(0),
        image: ImageNo(1),
        why: "the disk is full".into(),
    };
    dispatcher.handle(2 * S, failed);
    dispatcher.handle(10 * S, Input::Tick);
    assert_eq!(suspended(&drain(&mut dispatcher)), None, "the others have time left");
    dispatcher.handle(11 * S, Input::Tick);
    let commands = drain(&mut dispatcher);
    let images = suspended(&commands).unwrap();
    assert!(matches!(images, LastImages::Some { missing: 3, size: 3, .. }), "{images:?}");
    // Without images there is nothing to wait for.
    let mut without = running(Settings { images: None, ..settings(2, 1, "pessimistic") });
    without.handle(S, Input::Suspend { grace: 10 * S });
    assert!(suspended(&drain(&mut without)).is_some());
}

#[test]
fn an_orphan_gets_another_incarnation_and_is_no_failure() {
    let mut dispatcher = running(settings(3, 1, "optimistic"));
    dispatcher.handle(
        5 * S,
        Input::Orphan {
            rank: Rank(1),
            incarnation: Incarnation(0),
            why: "it depends".into(),
            before: None,
        },
    );
    let killed = |command: &Command| {
        matches!(command, Command::Kill { rank: Rank(1), incarnation: Incarnation(0) })
    };
    let commands = drain(&mut dispatcher);
    assert!(commands.iter().any(killed), "{commands:?}");
    // What it says now is of no interest, and it is not announced before its end is known.
    dispatcher.handle(5 * S, Input::Finalizing { rank: Rank(1), incarnation: Incarnation(0) });
    assert_eq!(drain(&mut dispatcher), []);
    dispatcher.handle(5 * S, ended(1, 0, Ending::Signal(9), 3));
    let commands = drain(&mut dispatcher);
    assert!(
        matches!(
            commands[..],
            [
                Command::Announce { rank: Rank(1), incarnation: Incarnation(1), .. },
                Command::Start { rank: Rank(1), incarnation: Incarnation(1), .. }
            ]
        ),
        "{commands:?}"
    );
    assert_eq!((dispatcher.restarts(), dispatcher.failures().len()), (0, 0));
    assert_eq!(dispatcher.orphans().len(), 1);
}

/// Its image has less of its log than a peer needs.
#[test]
fn a_rank_that_lacks_messages_returns_to_its_older_image_and_newer_ones_are_given_up() {
    let lacks = |incarnation, image| Input::Orphan {
        rank: Rank(1),
        incarnation: Incarnation(incarnation),
        why: "it lacks messages".into(),
        before: Some(ImageNo(image)),
    };
    let starts = |dispatcher: &mut Dispatcher| {
        let commands = drain(dispatcher);
        let start = commands.iter().find_map(|command| match command {
            Command::Start { rank: Rank(1), images, or_beginning, no_newer, .. } => {
                let images: Vec<_> = images.iter().map(|facts| facts.image.0).collect();
                Some((images, *or_beginning, *no_newer))
            }
            _ => None,
        });
        (start, commands)
    };
    let hello = |incarnation| Input::Hello {
        rank: Rank(1),
        incarnation: Incarnation(incarnation),
        resumed: None,
        can_image: true,
    };
    let mut dispatcher = running(settings(3, 1, "pessimistic"));
    dispatcher.handle(2 * S, commit(1, 0));
    dispatcher.handle(3 * S, commit(2, 1));
    dispatcher.handle(5 * S, lacks(0, 2));
    dispatcher.handle(5 * S, ended(1, 0, Ending::Signal(9), 3));
    assert_eq!(starts(&mut dispatcher).0, Some((vec![1], false, true)));
    // Once it is alive, what it stores counts again.
    dispatcher.handle(6 * S, hello(1));
    dispatcher.handle(7 * S, ended(1, 1, Ending::Signal(9), 3));
    assert_eq!(starts(&mut dispatcher).0, Some((vec![1], false, false)));
    dispatcher.handle(8 * S, hello(2));
    dispatcher.handle(8 * S, lacks(2, 1));
    let (start, commands) = starts(&mut dispatcher);
    assert_eq!(start, None);
    assert!(
        matches!(
            commands.last(),
            Some(Command::End {
                code: 1,
                reason: Some(EndReason::NoOlderImage { rank: Rank(1), .. }),
                ..
            })
        ),
        "{commands:?}"
    );
}

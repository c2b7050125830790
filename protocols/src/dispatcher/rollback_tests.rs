use super::tests::{S, drain, ended, hello, running, settings};
use super::*;

const KILLED: Ending = Ending::Signal(9);

fn job() -> Dispatcher {
    running(settings(3, 1, "coordinated"))
}

fn committed(rank: u32, incarnation: u32, image: u64) -> Input {
    Input::ImageCommitted {
        rank: Rank(rank),
        incarnation: Incarnation(incarnation),
        image: ImageFacts { image: ImageNo(image), bytes: 1, written: [0, 0], consumed: 0 },
        oldest: ImageNo(0),
    }
}

/// Begins the next wave and hears so many images of it.
fn wave(dispatcher: &mut Dispatcher, incarnation: u32, images: u32) -> u64 {
    let now = dispatcher.now + 9 * S;
    dispatcher.handle(now, Input::Tick);
    let asked: Vec<_> = drain(dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::TakeImage { rank, image, keep: Some(_), .. } => Some((rank.0, image.0)),
            _ => None,
        })
        .collect();
    let number = asked[0].1;
    assert_eq!(asked, [(0, number), (1, number), (2, number)]);
    for rank in 0..images {
        dispatcher.handle(now, committed(rank, incarnation, number));
    }
    number
}

/// (announced, started with these images) in order.
fn begun(commands: &[Command]) -> Vec<(bool, u32, u32, Option<u64>)> {
    commands
        .iter()
        .filter_map(|command| match command {
            Command::Announce { rank, incarnation, .. } => {
                Some((false, rank.0, incarnation.0, None))
            }
            Command::Start { rank, incarnation, images, or_beginning, .. } => {
                assert_eq!(*or_beginning, images.is_empty());
                assert!(images.len() <= 1);
                Some((true, rank.0, incarnation.0, images.first().map(|i| i.image.0)))
            }
            _ => None,
        })
        .collect()
}

fn all_begin(incarnation: u32, image: Option<u64>) -> Vec<(bool, u32, u32, Option<u64>)> {
    let announced = (0..3).map(|rank| (false, rank, incarnation, None));
    announced.chain((0..3).map(|rank| (true, rank, incarnation, image))).collect()
}

#[test]
fn all_return_to_the_last_complete_wave_when_all_old_incarnations_have_ended() {
    let mut dispatcher = job();
    let complete = wave(&mut dispatcher, 0, 3);
    let commands = drain(&mut dispatcher);
    let is_commit = |c: &&Command| matches!(c, Command::ImageCommitted { .. });
    assert_eq!(commands.iter().filter(is_commit).count(), 3);
    assert!(commands.iter().any(|c| matches!(c, Command::WaveOver(_))));
    wave(&mut dispatcher, 0, 2);
    drain(&mut dispatcher);
    let now = dispatcher.now;
    dispatcher.handle(now, ended(1, 0, KILLED, 7));
    let commands = drain(&mut dispatcher);
    let killed: Vec<_> = commands
        .iter()
        .filter_map(|c| match c {
            Command::Kill { rank, .. } => Some(rank.0),
            _ => None,
        })
        .collect();
    assert_eq!(killed, [0, 2]);
    dispatcher.handle(now, ended(0, 0, KILLED, 7));
    // Too late: the wave was given up with the incarnation that it is of.
    dispatcher.handle(now, committed(2, 0, complete + 1));
    assert_eq!(begun(&drain(&mut dispatcher)), []);
    dispatcher.handle(now, ended(2, 0, KILLED, 7));
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(1, Some(complete)));
    assert_eq!((dispatcher.restarts(), dispatcher.failures().len()), (1, 1));
}

#[test]
fn without_a_complete_wave_all_begin_again_and_barriers_do_too() {
    let mut dispatcher = job();
    for rank in 0..3 {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Finalizing { rank, incarnation });
    }
    drain(&mut dispatcher);
    for rank in [2, 0, 1] {
        dispatcher.handle(S, ended(rank, 0, KILLED, 1));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(1, None));
    for rank in 0..3 {
        hello(&mut dispatcher, rank, 1);
        let (rank, incarnation) = (Rank(rank), Incarnation(1));
        dispatcher.handle(S, Input::Finalizing { rank, incarnation });
        let commands = drain(&mut dispatcher);
        let all = commands.iter().any(|c| matches!(c, Command::AllFinalized { .. }));
        assert_eq!(all, rank == Rank(2), "nobody leaves MPI_Finalize before all are there again");
    }
}

#[test]
fn a_failure_on_the_way_back_makes_the_way_begin_again() {
    let mut dispatcher = job();
    let complete = wave(&mut dispatcher, 0, 3);
    let now = dispatcher.now;
    for rank in [0, 1, 2] {
        dispatcher.handle(now, ended(rank, 0, KILLED, 1));
    }
    drain(&mut dispatcher);
    hello(&mut dispatcher, 0, 1);
    dispatcher.handle(now, ended(0, 1, KILLED, 1));
    // Ranks 1 and 2 were only being started: these incarnations do not begin.
    for rank in [1, 2] {
        assert_eq!(begun(&drain(&mut dispatcher)), []);
        dispatcher.handle(now, ended(rank, 1, KILLED, 1));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(2, Some(complete)));
}

#[test]
fn a_damaged_image_sends_all_to_the_wave_before() {
    let mut dispatcher = job();
    let first = wave(&mut dispatcher, 0, 3);
    let second = wave(&mut dispatcher, 0, 3);
    let now = dispatcher.now;
    for rank in [0, 1, 2] {
        dispatcher.handle(now, ended(rank, 0, KILLED, 1));
    }
    drain(&mut dispatcher);
    let (rank, incarnation) = (Rank(1), Incarnation(1));
    let (image, why) = (ImageNo(second), "damaged".to_owned());
    dispatcher.handle(now, Input::ImageUnusable { rank, incarnation, image, why });
    for rank in [0, 2] {
        dispatcher.handle(now, ended(rank, 1, KILLED, 1));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(2, Some(first)));
    let (code, why) = (1, "no image".to_owned());
    dispatcher.handle(now, Input::CannotStart { rank, incarnation, code, why });
    assert!(!dispatcher.has_ended(), "that was said about the incarnation before");
}

#[test]
fn a_lost_host_is_waited_for() {
    let mut dispatcher = running(settings(4, 2, "coordinated"));
    dispatcher.handle(S, Input::AgentLost { host: 1, why: "silent".to_owned(), silent: false });
    dispatcher.handle(S, ended(0, 0, KILLED, 1));
    dispatcher.handle(S, ended(1, 0, KILLED, 1));
    assert_eq!(begun(&drain(&mut dispatcher)), []);
    dispatcher.handle(S, Input::AgentUp { host: 1 });
    assert_eq!(begun(&drain(&mut dispatcher)).len(), 8);
}

#[test]
fn a_broken_channel_is_repaired_by_a_return_unless_a_death_explains_it() {
    let mut dispatcher = job();
    let lost = Input::ChannelLost {
        rank: Rank(0),
        incarnation: Incarnation(0),
        peer: Rank(2),
        peer_incarnation: Incarnation(0),
    };
    dispatcher.handle(S, lost.clone());
    dispatcher.handle(2 * S, Input::Tick);
    assert_eq!(dispatcher.restarts(), 0);
    dispatcher.handle(4 * S, Input::Tick);
    assert_eq!(dispatcher.restarts(), 1);
    for rank in 0..3 {
        dispatcher.handle(4 * S, ended(rank, 0, KILLED, 1));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(1, None));
    dispatcher.handle(5 * S, lost);
    dispatcher.handle(9 * S, Input::Tick);
    assert_eq!(dispatcher.restarts(), 1, "that channel was of the incarnations before");
}

#[test]
fn returns_are_limited() {
    let mut dispatcher = job();
    for incarnation in 0..6 {
        for rank in 0..3 {
            hello(&mut dispatcher, rank, incarnation);
        }
        for rank in 0..3 {
            dispatcher.handle(S, ended(rank, incarnation, KILLED, u64::from(incarnation)));
        }
    }
    assert!(dispatcher.has_ended(), "five restarts are allowed");
}

#[test]
fn only_the_cluster_of_the_dead_rank_returns() {
    let mut dispatcher = running(settings(4, 1, "hierarchical"));
    dispatcher.handle(9 * S, Input::Tick);
    drain(&mut dispatcher);
    for rank in 0..4 {
        dispatcher.handle(9 * S, committed(rank, 0, 1));
    }
    let commands: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::ImageCommitted { rank, oldest, .. } => Some((rank.0, oldest.0)),
            _ => None,
        })
        .collect();
    assert_eq!(commands, [(0, 0), (1, 0), (2, 0), (3, 0)], "logs still reach back to the start");
    dispatcher.handle(10 * S, ended(2, 0, KILLED, 7));
    let killed: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::Kill { rank, .. } => Some(rank.0),
            _ => None,
        })
        .collect();
    assert_eq!(killed, [3]);
    dispatcher.handle(10 * S, ended(3, 0, KILLED, 7));
    let expected =
        [(false, 2, 1, None), (false, 3, 1, None), (true, 2, 1, Some(1)), (true, 3, 1, Some(1))];
    assert_eq!(begun(&drain(&mut dispatcher)), expected);
    // The next wave of the other cluster does not wait for them, theirs for what they repeat.
    hello(&mut dispatcher, 2, 1);
    hello(&mut dispatcher, 3, 1);
    let waves = |dispatcher: &mut Dispatcher, at: u32| -> Vec<u32> {
        dispatcher.handle(at * S, Input::Tick);
        let asked = drain(dispatcher).into_iter().filter_map(|command| match command {
            Command::TakeImage { rank, .. } => Some(rank.0),
            _ => None,
        });
        asked.collect()
    };
    assert_eq!(waves(&mut dispatcher, 30), [0, 1]);
    for rank in [2, 3] {
        let (rank, incarnation) = (Rank(rank), Incarnation(1));
        dispatcher.handle(31 * S, Input::CaughtUp { rank, incarnation, replayed: 3 });
    }
    assert_eq!(waves(&mut dispatcher, 31), [2, 3]);
}

#[test]
fn who_left_early_and_is_brought_back_has_not_left() {
    let mut dispatcher = running(settings(4, 1, "hierarchical"));
    let early = Input::Exiting { rank: Rank(1), incarnation: Incarnation(0), code: 0 };
    dispatcher.handle(S, early);
    dispatcher.handle(2 * S, ended(0, 0, Ending::Signal(9), 1));
    dispatcher.handle(2 * S, ended(1, 0, Ending::Signal(9), 1));
    for rank in [0, 1] {
        hello(&mut dispatcher, rank, 1);
    }
    drain(&mut dispatcher);
    for at in 3..60 {
        dispatcher.handle(at * S, Input::Tick);
    }
    let commands = drain(&mut dispatcher);
    let of_it = |command: &Command| matches!(command, Command::Notify(_) | Command::End { .. });
    assert!(!commands.iter().any(of_it), "{commands:?}");
}

#[test]
fn the_cluster_of_an_orphan_returns_and_that_is_no_failure() {
    let mut dispatcher = running(settings(4, 1, "hierarchical"));
    let orphan = |rank| Input::Orphan {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        why: "it depends on what was lost".into(),
        before: None,
    };
    dispatcher.handle(5 * S, orphan(3));
    // Both may find out; the second is ended by the return that the first began.
    dispatcher.handle(5 * S, orphan(2));
    let killed: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::Kill { rank, .. } => Some(rank.0),
            _ => None,
        })
        .collect();
    assert_eq!(killed, [2, 3]);
    dispatcher.handle(5 * S, ended(3, 0, KILLED, 7));
    assert_eq!(begun(&drain(&mut dispatcher)), []);
    dispatcher.handle(5 * S, ended(2, 0, KILLED, 7));
    let expected =
        [(false, 2, 1, None), (false, 3, 1, None), (true, 2, 1, None), (true, 3, 1, None)];
    assert_eq!(begun(&drain(&mut dispatcher)), expected);
    assert_eq!((dispatcher.restarts(), dispatcher.failures().len()), (0, 0));
    let orphans: Vec<_> = dispatcher.orphans().iter().map(|orphan| orphan.rank.0).collect();
    assert_eq!(orphans, [3]);
}

#[test]
fn without_a_readable_wave_and_a_log_from_the_start_the_job_is_given_up() {
    let mut dispatcher = running(settings(2, 1, "hierarchical"));
    for image in [1, 2] {
        dispatcher.handle(dispatcher.now + 9 * S, Input::Tick);
        for rank in 0..2 {
            dispatcher.handle(dispatcher.now, committed(rank, 0, image));
        }
    }
    for rank in 0..2 {
        dispatcher.handle(dispatcher.now, ended(rank, 0, KILLED, 1));
    }
    for (incarnation, image) in [(1, 2), (2, 1)] {
        assert!(!dispatcher.has_ended());
        let (rank, incarnation, image) = (Rank(0), Incarnation(incarnation), ImageNo(image));
        let why = "damaged".to_owned();
        dispatcher.handle(dispatcher.now, Input::ImageUnusable { rank, incarnation, image, why });
    }
    assert!(dispatcher.has_ended());
}

#[test]
fn a_job_in_waves_is_suspended_with_a_last_wave_and_continued_from_the_newest_that_is_whole() {
    let mut dispatcher = job();
    let first = wave(&mut dispatcher, 0, 3);
    let now = dispatcher.now;
    drain(&mut dispatcher);
    dispatcher.handle(now, Input::Suspend { grace: 20 * S });
    dispatcher.handle(now, Input::Tick);
    let asked = drain(&mut dispatcher);
    let asks = |c: &&Command| matches!(c, Command::TakeImage { image, .. } if image.0 == first + 1);
    assert_eq!(asked.iter().filter(asks).count(), 3);
    for rank in 0..3 {
        assert!(!dispatcher.has_ended());
        dispatcher.handle(now, committed(rank, 0, first + 1));
    }
    let ended = drain(&mut dispatcher).pop();
    let Some(Command::End { code: SUSPENDED, reason: Some(reason), keep: true }) = ended else {
        panic!("{ended:?}")
    };
    assert!(matches!(reason, EndReason::Suspended(LastImages::All { .. })), "{reason:?}");
    // Of a later wave only one image is there.
    let facts = |n| ImageFacts { image: ImageNo(n), bytes: 1, written: [0; 2], consumed: 0 };
    let past = |images: &[u64]| Past {
        incarnation: Incarnation(4),
        images: images.iter().map(|n| facts(*n)).collect(),
        start_offered: true,
        highest: ImageNo(9),
    };
    let all = vec![past(&[4, 6, 7]), past(&[4, 6]), past(&[4, 6])];
    let mut dispatcher = Dispatcher::continued(settings(3, 1, "coordinated"), all);
    dispatcher.handle(Duration::ZERO, Input::AgentUp { host: 0 });
    let begun = begun(&drain(&mut dispatcher));
    let started: Vec<_> = begun.iter().filter(|begun| begun.0).collect();
    // Above all that was known, and above what may have been lost of that.
    const LATER: u32 = 4 + INCARNATIONS_UNKNOWN + 1;
    assert_eq!(
        started,
        [0, 1, 2].map(|rank| (true, rank, LATER, Some(6))).iter().collect::<Vec<_>>()
    );
}

/// The first news after the end of the time is the reason with which the job ends.
#[test]
fn a_suspension_ends_in_time_also_when_an_image_proves_unusable() {
    let mut dispatcher = job();
    let first = wave(&mut dispatcher, 0, 3);
    let now = dispatcher.now;
    dispatcher.handle(now, Input::Suspend { grace: S });
    for rank in [1, 0, 2] {
        dispatcher.handle(now, ended(rank, 0, KILLED, 7));
    }
    assert!(!dispatcher.has_ended());
    let (image, why) = (ImageNo(first), "damaged".to_owned());
    let damaged = Input::ImageUnusable { rank: Rank(0), incarnation: Incarnation(1), image, why };
    dispatcher.handle(now + S, damaged);
    let last = drain(&mut dispatcher).pop();
    assert!(matches!(last, Some(Command::End { code: SUSPENDED, .. })), "{last:?}");
}

/// Two have ended without a report, their host breaks, and one that still computes returns with
/// them.
#[test]
fn ended_ranks_of_a_host_that_was_given_up_return_elsewhere() {
    let mut dispatcher = running(settings(4, 2, "coordinated"));
    for rank in (0..4).map(Rank) {
        dispatcher.handle(S, Input::Finalizing { rank, incarnation: Incarnation(0) });
    }
    for rank in [2, 3] {
        dispatcher.handle(S, ended(rank, 0, Ending::Code(0), 7));
    }
    dispatcher.handle(2 * S, Input::AgentLost { host: 1, why: "silence".into(), silent: false });
    dispatcher.handle(3 * S, Input::AgentFailed { host: 1, why: "no route".into() });
    for rank in [0, 1] {
        dispatcher.handle(4 * S, ended(rank, 0, KILLED, 7));
    }
    let starts = drain(&mut dispatcher).into_iter().filter_map(|command| match command {
        Command::Start { rank, host, .. } => Some((rank.0, host)),
        _ => None,
    });
    assert_eq!(starts.collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0), (3, 0)]);
}

fn killed(commands: &[Command]) -> Vec<u32> {
    let kills = commands.iter().filter_map(|command| match command {
        Command::Kill { rank, .. } => Some(rank.0),
        _ => None,
    });
    kills.collect()
}

/// An incarnation whose image is being fetched could begin while the next ones of its cluster peers
/// do.
#[test]
fn incarnations_that_are_about_to_begin_are_ended_first() {
    let mut dispatcher = job();
    for rank in [1, 0, 2] {
        dispatcher.handle(S, ended(rank, 0, KILLED, 7));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(1, None));
    hello(&mut dispatcher, 1, 1);
    dispatcher.handle(2 * S, ended(1, 1, KILLED, 9));
    assert_eq!(killed(&drain(&mut dispatcher)), [0, 2]);
    dispatcher.handle(2 * S, ended(0, 1, KILLED, 0));
    assert_eq!(begun(&drain(&mut dispatcher)), []);
    dispatcher.handle(2 * S, ended(2, 1, KILLED, 0));
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(2, None));
}

/// Two images of a wave are damaged, and only the processes find out. The second process never
/// begins, and nothing else is heard of its end.
#[test]
fn two_damaged_images_of_a_wave_are_survived() {
    let mut dispatcher = job();
    let first = wave(&mut dispatcher, 0, 3);
    let second = wave(&mut dispatcher, 0, 3);
    drain(&mut dispatcher);
    let now = dispatcher.now;
    for rank in [1, 0, 2] {
        dispatcher.handle(now, ended(rank, 0, KILLED, 7));
    }
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(1, Some(second)));
    let (incarnation, image, why) = (Incarnation(1), ImageNo(second), "damaged".to_owned());
    let damaged =
        |rank| Input::ImageUnusable { rank: Rank(rank), incarnation, image, why: why.clone() };
    let never =
        |rank| Input::CannotStart { rank: Rank(rank), incarnation, code: 1, why: why.clone() };
    for rank in 0..3 {
        dispatcher.handle(now, Input::Spawned { rank: Rank(rank), incarnation });
    }
    for input in [damaged(0), never(0)] {
        dispatcher.handle(now, input);
    }
    assert_eq!(killed(&drain(&mut dispatcher)), [1, 2]);
    for input in [damaged(2), never(2)] {
        dispatcher.handle(now, input);
    }
    assert_eq!(begun(&drain(&mut dispatcher)), []);
    dispatcher.handle(now, ended(1, 1, KILLED, 0));
    assert_eq!(begun(&drain(&mut dispatcher)), all_begin(2, Some(first)));
}

#[test]
fn ranks_that_share_memory_move_to_one_host() {
    for together in [false, true] {
        let mut dispatcher = running(settings(6, 3, "coordinated"));
        if together {
            dispatcher.handle(S, Input::SharesMemory);
        }
        dispatcher.handle(2 * S, Input::AgentLost { host: 2, why: "gone".into(), silent: false });
        dispatcher.handle(3 * S, Input::AgentFailed { host: 2, why: "no route".into() });
        let hosts = [4, 5].map(|rank| dispatcher.location(Rank(rank)).0);
        assert_eq!(hosts, if together { [0, 0] } else { [0, 1] });
    }
}

#[test]
fn a_rank_that_dies_before_it_said_hello_begins_again_alone() {
    let mut dispatcher = Dispatcher::new(settings(3, 1, "coordinated"));
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    drain(&mut dispatcher);
    for rank in 0..3 {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Spawned { rank, incarnation });
    }
    hello(&mut dispatcher, 0, 0);
    dispatcher.handle(2 * S, ended(1, 0, KILLED, 0));
    let commands = drain(&mut dispatcher);
    assert_eq!(killed(&commands), []);
    assert_eq!(begun(&commands), [(false, 1, 1, None), (true, 1, 1, None)]);
    assert!(dispatcher.failures()[0].alone);
    // A rank that may have met others takes all along.
    hello(&mut dispatcher, 1, 1);
    dispatcher.handle(3 * S, ended(1, 1, KILLED, 1));
    let commands = drain(&mut dispatcher);
    assert_eq!(killed(&commands), [0, 2]);
    assert!(!dispatcher.failures()[1].alone);
    // While the others end, nobody begins alone, whatever it has met.
    for rank in [0, 2] {
        dispatcher.handle(3 * S, ended(rank, 0, KILLED, 0));
    }
    let commands = drain(&mut dispatcher);
    let starts: Vec<_> = begun(&commands).into_iter().filter(|begun| begun.0).collect();
    assert_eq!(starts, [(true, 0, 1, None), (true, 1, 2, None), (true, 2, 1, None)]);
    assert_eq!(dispatcher.restarts(), 2);
}

#[test]
fn a_rank_outside_of_mpi_that_keeps_waves_from_beginning_is_reported_once() {
    let mut dispatcher = Dispatcher::new(settings(3, 1, "coordinated"));
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    let mut reports = Vec::new();
    let mut second = |dispatcher: &mut Dispatcher, at: u32| {
        dispatcher.handle(at * S, Input::Tick);
        reports.extend(drain(dispatcher).into_iter().filter_map(|command| match command {
            Command::Notify(Notice::WithoutWaves { rank }) => Some((at, rank.0)),
            _ => None,
        }));
    };
    for rank in 0..3 {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Spawned { rank, incarnation });
    }
    // As long as nobody is in MPI, nobody waits for images.
    (2..100).for_each(|at| second(&mut dispatcher, at));
    hello(&mut dispatcher, 0, 0);
    hello(&mut dispatcher, 2, 0);
    (100..200).for_each(|at| second(&mut dispatcher, at));
    let interval = settings(3, 1, "coordinated").images.expect("it takes images").interval;
    let patience = interval.as_secs() as u32 * crate::tuning::WITHOUT_WAVES_INTERVALS;
    assert_eq!(reports, [(101 + patience, 1)]);
}

/// A rank whose images are worth nothing, because another rank of its cluster has none, hears that:
/// logs of other clusters wait for images of it.
#[test]
fn ranks_hear_that_they_have_no_image_because_another_has_none() {
    let mut dispatcher = running(settings(4, 2, "hierarchical"));
    let told = |dispatcher: &mut Dispatcher| -> Vec<(u32, u64)> {
        let failed = drain(dispatcher).into_iter().filter_map(|command| match command {
            Command::ImageFailed { rank, image, .. } => Some((rank.0, image.0)),
            _ => None,
        });
        failed.collect()
    };
    let now = dispatcher.now + 9 * S;
    dispatcher.handle(now, Input::Tick);
    drain(&mut dispatcher);
    dispatcher.handle(now, committed(0, 0, 1));
    let (rank, incarnation, image) = (Rank(1), Incarnation(0), ImageNo(1));
    let why = "a socket".to_owned();
    dispatcher.handle(now, Input::ImageFailed { rank, incarnation, image, why });
    let mut heard = told(&mut dispatcher);
    heard.sort_unstable();
    assert_eq!(heard, [(0, 1), (1, 1)], "each once");
    // Rank 3 says at once that there will be none: no wave ever tells rank 2.
    dispatcher.handle(now, Input::LogFull);
    assert_eq!(told(&mut dispatcher), []);
    dispatcher.handle(now, ended(3, 0, KILLED, 1));
    dispatcher.handle(now, ended(2, 0, KILLED, 1));
    for (rank, can_image) in [(2, true), (3, false)] {
        let (rank, incarnation) = (Rank(rank), Incarnation(1));
        dispatcher.handle(now, Input::Spawned { rank, incarnation });
        dispatcher.handle(now, Input::Hello { rank, incarnation, resumed: None, can_image });
    }
    drain(&mut dispatcher);
    dispatcher.handle(now, Input::LogFull);
    assert_eq!(told(&mut dispatcher), [(2, 0)]);
    // Several waves in vain are a sign, too.
    let mut now = now;
    for wave in 2..4 {
        now += 9 * S;
        dispatcher.handle(now, Input::Tick);
        dispatcher.handle(now, committed(0, 0, wave));
        let (rank, incarnation, image) = (Rank(1), Incarnation(0), ImageNo(wave));
        let why = "a socket".to_owned();
        dispatcher.handle(now, Input::ImageFailed { rank, incarnation, image, why });
        drain(&mut dispatcher);
    }
    dispatcher.handle(now, Input::LogFull);
    let mut heard = told(&mut dispatcher);
    heard.sort_unstable();
    assert_eq!(heard, [(0, 0), (1, 0), (2, 0)]);
}

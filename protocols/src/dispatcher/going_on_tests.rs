//! Tests of the recovery `ignore`.

use super::tests::{S, drain, ended, running, settings};
use super::*;
use crate::judge::Policy;
use ftmpi_wire::group_news::{
    Agreed, AgreementName, Contribution, GroupName, GroupNews, GroupRequest,
};

fn ignoring(ranks: u32) -> Dispatcher {
    running(Settings { recovery: Policy::ignore(), ..settings(ranks, 1, "none") })
}

fn news(commands: &[Command]) -> Vec<GroupNews> {
    let of = |command: &Command| match command {
        Command::News { news, .. } => Some(news.clone()),
        _ => None,
    };
    commands.iter().filter_map(of).collect()
}

fn part(number: u32) -> GroupRequest {
    let group = GroupName { context: 0, least: Rank(0) };
    GroupRequest::Contribute(Contribution {
        name: AgreementName { group, number },
        members: vec![(Rank(0), Rank(2))],
        words: vec![u64::MAX, 0],
        acknowledged: Vec::new(),
    })
}

#[test]
fn the_others_go_on_and_hear_of_the_death_before_what_was_agreed() {
    let mut dispatcher = ignoring(3);
    let asks = |rank| Input::Group(Rank(rank), Incarnation(0), part(1));
    dispatcher.handle(S, asks(0));
    dispatcher.handle(S, asks(2));
    assert_eq!(news(&drain(&mut dispatcher)), []);
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 10));
    let commands = drain(&mut dispatcher);
    assert!(matches!(commands[0], Command::Notify(Notice::GoesOn { rank: Rank(1), .. })));
    let heard = news(&commands);
    assert_eq!(heard[0], GroupNews::Failed(Rank(1)));
    let GroupNews::Agreed(Agreed { dead, all_acknowledged, .. }) = &heard[1] else {
        panic!("{heard:?}")
    };
    assert_eq!((dead.as_slice(), *all_acknowledged, heard.len()), (&[Rank(1)][..], false, 2));
    assert!(!dispatcher.has_ended());
    // What is left ends as usual, and its code is the job's.
    for rank in [0, 2] {
        let (rank, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Finalizing { rank, incarnation });
    }
    let all = drain(&mut dispatcher);
    assert_eq!(all.len(), 2, "{all:?}");
    for rank in [0, 2] {
        let (who, incarnation) = (Rank(rank), Incarnation(0));
        dispatcher.handle(S, Input::Exiting { rank: who, incarnation, code: 0 });
        dispatcher.handle(S, ended(rank, 0, Ending::Code(0), 0));
    }
    let last = drain(&mut dispatcher).pop();
    assert_eq!(last, Some(Command::End { code: 0, reason: None, keep: false }));
}

#[test]
fn a_program_that_leaves_without_finalize_has_failed() {
    let mut dispatcher = ignoring(2);
    let (rank, incarnation) = (Rank(1), Incarnation(0));
    dispatcher.handle(S, Input::Exiting { rank, incarnation, code: 3 });
    let commands = drain(&mut dispatcher);
    assert_eq!(news(&commands), [GroupNews::Failed(rank)]);
    assert!(commands.contains(&Command::Die { rank, incarnation, code: 3 }));
    dispatcher.handle(S, ended(1, 0, Ending::Code(3), 0));
    assert_eq!(drain(&mut dispatcher), [], "it was given up before");
}

#[test]
fn without_any_rank_the_job_ends_with_the_code_of_the_last_death() {
    let mut dispatcher = ignoring(2);
    dispatcher.handle(S, ended(0, 0, Ending::Signal(9), 0));
    dispatcher.handle(S, ended(1, 0, Ending::Signal(11), 0));
    let last = drain(&mut dispatcher).pop();
    let reason = Some(EndReason::NoRankLeft);
    assert_eq!(last, Some(Command::End { code: 139, reason, keep: false }));
}

#[test]
fn a_connection_lost_between_living_ranks_ends_the_job_and_of_a_dead_one_does_not() {
    let lost = || Input::ChannelLost {
        rank: Rank(0),
        incarnation: Incarnation(0),
        peer: Rank(1),
        peer_incarnation: Incarnation(0),
    };
    let mut dispatcher = ignoring(3);
    dispatcher.handle(S, lost());
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 0));
    dispatcher.handle(S * 60, Input::Tick);
    assert!(!dispatcher.has_ended());
    let mut dispatcher = ignoring(3);
    dispatcher.handle(S, lost());
    dispatcher.handle(S * 60, Input::Tick);
    let last = drain(&mut dispatcher).pop();
    assert!(matches!(
        last,
        Some(Command::End { code: 1, reason: Some(EndReason::ConnectionLost { .. }), .. })
    ));
}

#[test]
fn a_revocation_is_told_once() {
    let mut dispatcher = ignoring(3);
    let group = GroupName { context: 6, least: Rank(1) };
    for rank in [1, 2] {
        let request = GroupRequest::Revoke(group);
        dispatcher.handle(S, Input::Group(Rank(rank), Incarnation(0), request));
    }
    assert_eq!(news(&drain(&mut dispatcher)), [GroupNews::Revoked(group)]);
}

#[test]
fn each_of_several_lost_connections_is_looked_at() {
    let mut dispatcher = ignoring(4);
    let lost = |rank: u32, peer: u32| Input::ChannelLost {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        peer: Rank(peer),
        peer_incarnation: Incarnation(0),
    };
    dispatcher.handle(S, lost(0, 1));
    dispatcher.handle(S, lost(2, 3));
    dispatcher.handle(S, lost(3, 2));
    // The first one is explained by a death, the second one is not.
    dispatcher.handle(S, ended(1, 0, Ending::Signal(9), 0));
    dispatcher.handle(S * 60, Input::Tick);
    let last = drain(&mut dispatcher).pop();
    let Some(Command::End { reason: Some(EndReason::ConnectionLost { cause }), .. }) = last else {
        panic!("{last:?}")
    };
    assert_eq!(cause, Cause::ChannelBroke { ends: [Rank(2), Rank(3)] });
}

#[test]
fn an_abort_ends_the_members_of_its_communicator() {
    let abort = |members: &[(u32, u32)]| {
        let members = members.iter().map(|(first, last)| (Rank(*first), Rank(*last))).collect();
        Input::Group(Rank(1), Incarnation(0), GroupRequest::Abort { members, code: 7 })
    };
    let mut dispatcher = ignoring(4);
    dispatcher.handle(S, abort(&[(1, 1), (3, 3)]));
    let commands = drain(&mut dispatcher);
    assert_eq!(news(&commands), [GroupNews::Failed(Rank(1)), GroupNews::Failed(Rank(3))]);
    let dies = |command: &Command| matches!(command, Command::Die { rank: Rank(1), code: 7, .. });
    assert_eq!(commands.iter().filter(|command| dies(command)).count(), 1, "{commands:?}");
    let killed = |command: &&Command| matches!(command, Command::Kill { .. });
    let killed: Vec<_> = commands.iter().filter(killed).collect();
    assert!(matches!(killed[..], [Command::Kill { rank: Rank(3), .. }]), "{commands:?}");
    // Their ends are no failures, and a second abort of theirs comes from nobody.
    for rank in [1, 3] {
        dispatcher.handle(S, ended(rank, 0, Ending::Code(7), 0));
    }
    dispatcher.handle(S, abort(&[(0, 3)]));
    assert_eq!(news(&drain(&mut dispatcher)), []);
    assert!(!dispatcher.has_ended());

    let ends = |mut dispatcher: Dispatcher, members: &[(u32, u32)]| {
        dispatcher.handle(S, abort(members));
        let commands = drain(&mut dispatcher);
        let end = |command: &Command| {
            let reason = |reason: &EndReason| matches!(reason, EndReason::Aborted { code: 7, .. });
            matches!(command, Command::End { code: 7, reason: Some(why), .. } if reason(why))
        };
        assert!(commands.iter().any(end), "{commands:?}");
        assert_eq!(news(&commands), []);
    };
    // All ranks, or a job in which no death is ignored.
    ends(ignoring(4), &[(0, 3)]);
    ends(running(settings(4, 1, "none")), &[(1, 2)]);
}

use super::tests::{S, drain, ended, hello, running, settings};
use super::*;

// How ranks leave: without `MPI_Finalize`, or without ever having been in MPI.

#[test]
fn who_leaves_without_finalize_is_named_before_the_job_is_ended() {
    let exiting = |rank| Input::Exiting { rank: Rank(rank), incarnation: Incarnation(0), code: 0 };
    let mut dispatcher = running(Settings { images: None, ..settings(2, 1, "none") });
    dispatcher.handle(S, exiting(1));
    dispatcher.handle(3 * S, Input::Tick);
    assert_eq!(drain(&mut dispatcher), [], "the others may do the same");
    for at in 5..31 {
        dispatcher.handle(at * S, Input::Tick);
    }
    let commands = drain(&mut dispatcher);
    assert!(
        matches!(commands[..], [Command::Notify(Notice::LeftEarly { rank: Rank(1), .. })]),
        "once"
    );
    dispatcher.handle(32 * S, Input::Tick);
    assert!(matches!(drain(&mut dispatcher)[..], [Command::End { code: 1, .. }]));

    let mut dispatcher = running(Settings { images: None, ..settings(2, 1, "none") });
    dispatcher.handle(S, exiting(1));
    dispatcher.handle(2 * S, exiting(0));
    drain(&mut dispatcher);
    dispatcher.handle(9 * S, Input::Tick);
    assert_eq!(drain(&mut dispatcher), [], "all did");
}

#[test]
fn programs_without_mpi_end_with_their_codes() {
    let mut dispatcher = Dispatcher::new(settings(2, 1, "pessimistic"));
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    dispatcher.handle(S, ended(0, 0, Ending::Code(0), 0));
    dispatcher.handle(S, ended(1, 0, Ending::Code(0), 0));
    assert_eq!(
        drain(&mut dispatcher).pop(),
        Some(Command::End { code: 0, reason: None, keep: false })
    );
}

#[test]
fn a_rank_without_mpi_is_named_while_others_are_in_mpi() {
    let mut dispatcher = Dispatcher::new(settings(2, 1, "none"));
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    dispatcher.handle(S, ended(1, 0, Ending::Code(0), 0));
    dispatcher.handle(6 * S, Input::Tick);
    let named = |commands: &[Command]| {
        let is_it =
            |c: &&Command| matches!(c, Command::Notify(Notice::WithoutMpi { rank: Rank(1) }));
        commands.iter().filter(is_it).count()
    };
    assert_eq!(named(&drain(&mut dispatcher)), 0, "the other one may be without MPI, too");
    hello(&mut dispatcher, 0, 0);
    for at in 7..20 {
        dispatcher.handle(at * S, Input::Tick);
    }
    assert_eq!(named(&drain(&mut dispatcher)), 1, "once");
    assert!(!dispatcher.has_ended());
}

/// On a busy host a process needs long to become the one of its image.
#[test]
fn a_rank_on_its_way_back_from_an_image_is_not_outside_of_mpi() {
    let image = ImageFacts { image: ImageNo(6), bytes: 1, written: [0; 2], consumed: 0 };
    let past = Past { images: vec![image], highest: ImageNo(6), ..Past::default() };
    let mut dispatcher = Dispatcher::continued(settings(3, 1, "coordinated"), vec![past; 3]);
    dispatcher.handle(S, Input::AgentUp { host: 0 });
    let begins: Vec<_> = drain(&mut dispatcher)
        .into_iter()
        .filter_map(|command| match command {
            Command::Start { rank, incarnation, .. } => Some((rank, incarnation)),
            _ => None,
        })
        .collect();
    assert_eq!(begins.len(), 3);
    for &(rank, incarnation) in &begins {
        dispatcher.handle(S, Input::Spawned { rank, incarnation });
    }
    hello(&mut dispatcher, begins[0].0.0, begins[0].1.0);
    let mut reports = 0;
    for at in 2..200 {
        dispatcher.handle(at * S, Input::Tick);
        let is_report = |c: &Command| matches!(c, Command::Notify(Notice::WithoutWaves { .. }));
        reports += drain(&mut dispatcher).iter().filter(|command| is_report(command)).count();
    }
    assert_eq!(reports, 0);
}

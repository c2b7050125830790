//! Standbys: where they are made, when they take the place of their rank, and when not.

use super::tests::{S, drain, ended, hello, running, settings};
use super::*;
use crate::judge::Named;
use crate::tuning::STANDBY_PATIENCE;

const KILLED: Ending = Ending::Signal(9);

fn with_standbys(size: u32, hosts: u32) -> Settings {
    Settings { standbys: vec![true; size as usize], ..settings(size, hosts, "pessimistic") }
}

fn facts(image: u64) -> ImageFacts {
    ImageFacts { image: ImageNo(image), bytes: 1, written: [0, 0], consumed: 0 }
}

/// An image of a rank is durable; what is done then.
fn commits(dispatcher: &mut Dispatcher, rank: u32, incarnation: u32, image: u64) -> Vec<Command> {
    let (rank, incarnation) = (Rank(rank), Incarnation(incarnation));
    let (image, oldest) = (facts(image), ImageNo(0));
    dispatcher.handle(2 * S, Input::ImageCommitted { rank, incarnation, image, oldest });
    drain(dispatcher)
}

fn ready(dispatcher: &mut Dispatcher, rank: u32, incarnation: u32, image: u64) {
    let news = StandbyNews::Ready(ImageNo(image));
    dispatcher.handle(3 * S, Input::Standby(Rank(rank), Incarnation(incarnation), news));
    assert_eq!(drain(dispatcher), []);
}

fn orders(commands: &[Command]) -> Vec<StandbyOrder> {
    let order = |command: &Command| match command {
        Command::Standby(order) => Some(*order),
        _ => None,
    };
    commands.iter().filter_map(order).collect()
}

fn made(rank: u32, incarnation: u32, host: u32, image: u64) -> StandbyOrder {
    let (rank, incarnation) = (Rank(rank), Incarnation(incarnation));
    StandbyOrder::Make { rank, incarnation, host, image: facts(image) }
}

/// Where a rank begins, and the host of the standby that it is said to begin in.
fn begins(commands: &[Command]) -> (Option<u32>, Option<String>) {
    let host = commands.iter().find_map(|command| match command {
        Command::Start { host, .. } => Some(*host),
        _ => None,
    });
    let standby = commands.iter().find_map(|command| match command {
        Command::Notify(Notice::Restarting { standby: InStandby::At(host), .. }) => {
            Some(host.clone())
        }
        _ => None,
    });
    (host, standby)
}

/// The recoveries that the lines about ranks and hosts name, and the standbys.
fn recoveries(commands: &[Command]) -> Vec<String> {
    let name = |named: &Option<Named>| named.map_or("", |named| named.recovery_name());
    let told = commands.iter().filter_map(|command| match command {
        Command::Notify(Notice::AgentRestarts { named, .. }) => Some(name(named).to_owned()),
        Command::Notify(Notice::RanksMove { promoted, .. }) => Some(name(promoted).to_owned()),
        Command::Notify(Notice::Restarting { named, standby, .. }) => Some(match standby {
            InStandby::No => name(named).to_owned(),
            InStandby::At(host) => format!("{} at {host}", name(named)),
            InStandby::Second(host) => format!("{} or at {host}", name(named)),
        }),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_standby_is_made_of_each_new_image_and_takes_the_place_of_its_rank() {
    let mut dispatcher = running(with_standbys(4, 2));
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 1)), [made(0, 1, 1, 1)]);
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 2)), [made(0, 1, 1, 2)]);
    // News of the one before.
    ready(&mut dispatcher, 0, 1, 1);
    ready(&mut dispatcher, 0, 1, 2);
    dispatcher.handle(4 * S, ended(0, 0, KILLED, 10));
    let commands = drain(&mut dispatcher);
    assert_eq!(begins(&commands), (Some(1), Some("h1".to_owned())), "{commands:?}");
    assert_eq!(dispatcher.failures()[0].named.unwrap().recovery_name(), "promote");
    // The next one is made as soon as the rank has caught up, where the rank is not.
    hello(&mut dispatcher, 0, 1);
    let (rank, incarnation) = (Rank(0), Incarnation(1));
    dispatcher.handle(5 * S, Input::CaughtUp { rank, incarnation, replayed: 0 });
    assert_eq!(orders(&drain(&mut dispatcher)), [made(0, 2, 0, 2)]);
    ready(&mut dispatcher, 0, 2, 2);
    dispatcher.handle(6 * S, ended(0, 1, KILLED, 20));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(0), Some("h0".to_owned())));
}

/// A rank whose standby reads image 2, after it has been ready with image 1.
fn reads_the_second_image() -> Dispatcher {
    let mut dispatcher = running(with_standbys(4, 2));
    commits(&mut dispatcher, 0, 0, 1);
    ready(&mut dispatcher, 0, 1, 1);
    commits(&mut dispatcher, 0, 0, 2);
    dispatcher
}

#[test]
fn a_standby_that_still_reads_is_awaited_unless_it_reads_for_very_long() {
    let mut dispatcher = reads_the_second_image();
    dispatcher.handle(4 * S, ended(0, 0, KILLED, 10));
    let commands = drain(&mut dispatcher);
    assert_eq!(begins(&commands), (Some(1), Some("h1".to_owned())));
    let newest = commands.iter().find_map(|command| match command {
        Command::Start { images, .. } => images.first().map(|facts| facts.image),
        _ => None,
    });
    assert_eq!(newest, Some(ImageNo(2)), "the standby of image 1 is gone");

    let mut dispatcher = reads_the_second_image();
    dispatcher.handle(4 * S + STANDBY_PATIENCE, ended(0, 0, KILLED, 10));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(0), None));
    // On the host where the rank begins anyway it is nearer than the image.
    let mut dispatcher = running(with_standbys(1, 1));
    commits(&mut dispatcher, 0, 0, 1);
    dispatcher.handle(4 * S + STANDBY_PATIENCE, ended(0, 0, KILLED, 10));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(0), Some("h0".to_owned())));
    let mut dispatcher = running(with_standbys(2, 2));
    commits(&mut dispatcher, 0, 0, 1);
    let why = "it is gone".to_owned();
    dispatcher.handle(4 * S, Input::AgentLost { host: 0, why, silent: true });
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(1), Some("h1".to_owned())));
}

/// The ranks of which images are ordered now.
fn images_at(dispatcher: &mut Dispatcher, now: Duration) -> Vec<u32> {
    dispatcher.handle(now, Input::Tick);
    let rank = |command: &Command| match command {
        Command::TakeImage { rank, .. } => Some(rank.0),
        _ => None,
    };
    drain(dispatcher).iter().filter_map(rank).collect()
}

/// A job of one rank whose first image has been taken in time.
fn with_an_image() -> Dispatcher {
    let mut dispatcher = running(with_standbys(1, 1));
    assert_eq!(images_at(&mut dispatcher, 60 * S), [0]);
    commits(&mut dispatcher, 0, 0, 1);
    dispatcher
}

#[test]
fn the_next_image_waits_until_the_standby_has_read_the_last_one() {
    let mut dispatcher = with_an_image();
    assert_eq!(images_at(&mut dispatcher, 119 * S), [] as [u32; 0]);
    ready(&mut dispatcher, 0, 1, 1);
    assert_eq!(images_at(&mut dispatcher, 119 * S), [0]);
    // Not for ever, and not where the image is wanted at once.
    let mut dispatcher = with_an_image();
    assert_eq!(images_at(&mut dispatcher, 60 * S + STANDBY_PATIENCE), [0]);
    let mut dispatcher = with_an_image();
    dispatcher.handle(61 * S, Input::ImagesWanted);
    assert_eq!(images_at(&mut dispatcher, 61 * S), [0]);
    // Nothing is waited for where there is no standby.
    let mut dispatcher = with_an_image();
    let (image, why) = (ImageNo(1), "a socket".to_owned());
    let news = StandbyNews::Lost { image, why, for_good: true };
    dispatcher.handle(62 * S, Input::Standby(Rank(0), Incarnation(1), news));
    assert_eq!(images_at(&mut dispatcher, 119 * S), [0]);
}

#[test]
fn the_loss_of_a_host_is_met_by_standbys_on_others() {
    let mut dispatcher = running(with_standbys(4, 2));
    for rank in 0..4 {
        commits(&mut dispatcher, rank, 0, 1);
        ready(&mut dispatcher, rank, 1, 1);
    }
    let why = "it is gone".to_owned();
    dispatcher.handle(4 * S, Input::AgentLost { host: 0, why, silent: true });
    let commands = drain(&mut dispatcher);
    let starts = commands.iter().filter(|c| matches!(c, Command::Start { host: 1, .. }));
    assert_eq!(starts.count(), 2, "{commands:?}");
    assert_eq!(recoveries(&commands), ["", "promote at h1", "promote at h1"]);
    assert!(dispatcher.failures().iter().all(|f| f.named.unwrap().recovery_name() == "promote"));
    // A host that has closed its connection is tried first.
    let mut second = running(with_standbys(4, 2));
    commits(&mut second, 0, 0, 1);
    ready(&mut second, 0, 1, 1);
    let why = "it is gone".to_owned();
    second.handle(4 * S, Input::AgentLost { host: 0, why, silent: false });
    let commands = drain(&mut second);
    assert_eq!(begins(&commands), (None, None));
    assert_eq!(recoveries(&commands), ["migrate", "migrate or at h1", "migrate"]);
    second.handle(10 * S, Input::Tick);
    let commands = drain(&mut second);
    assert_eq!(begins(&commands).0, Some(1), "{commands:?}");
    // Lines and report say the same.
    assert_eq!(recoveries(&commands), ["", "promote"]);
    assert_eq!(second.failures()[0].named.unwrap().recovery_name(), "promote");
    assert_eq!(second.failures()[1].named.unwrap().recovery_name(), "migrate");
    // The standbys of the others were there.
    dispatcher.handle(5 * S, ended(3, 0, KILLED, 10));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(1), None));
}

#[test]
fn standbys_are_spread_and_stay_within_the_limits_of_hosts() {
    let mut some = with_standbys(2, 4);
    some.placement = vec![0, 0];
    some.places = vec![
        Place { slots: 2, ..Place::default() },
        Place { slots: 1, most: Some(1), ..Place::default() },
        Place { slots: 0, ..Place::default() },
        Place { slots: 1, most: Some(1), ..Place::default() },
    ];
    let mut dispatcher = running(some);
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 1)), [made(0, 1, 1, 1)]);
    assert_eq!(orders(&commits(&mut dispatcher, 1, 0, 1)), [made(1, 1, 3, 1)]);
    ready(&mut dispatcher, 0, 1, 1);
    // A host that is drained takes nobody.
    dispatcher.handle(4 * S, Input::Drain { host: 1 });
    drain(&mut dispatcher);
    dispatcher.handle(4 * S, ended(0, 0, KILLED, 10));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(0), None));
}

#[test]
fn the_only_host_has_the_standby_too() {
    let mut dispatcher = running(with_standbys(1, 1));
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 1)), [made(0, 1, 0, 1)]);
    ready(&mut dispatcher, 0, 1, 1);
    dispatcher.handle(4 * S, ended(0, 0, KILLED, 10));
    assert_eq!(begins(&drain(&mut dispatcher)), (Some(0), Some("h0".to_owned())));
}

#[test]
fn no_standby_is_made_where_none_can_be() {
    let lost = |dispatcher: &mut Dispatcher, image: u64, for_good: bool| {
        let (image, why) = (ImageNo(image), "a socket".to_owned());
        let news = StandbyNews::Lost { image, why, for_good };
        dispatcher.handle(3 * S, Input::Standby(Rank(0), Incarnation(1), news));
        drain(dispatcher)
    };
    let mut dispatcher = running(with_standbys(1, 1));
    commits(&mut dispatcher, 0, 0, 1);
    assert_eq!(lost(&mut dispatcher, 7, true), [], "an earlier one");
    let said = lost(&mut dispatcher, 1, true);
    assert!(matches!(said[..], [Command::Notify(Notice::NoStandby { .. })]), "{said:?}");
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 2)), []);
    // What passes is tried again, a few times.
    let mut dispatcher = running(with_standbys(1, 1));
    for image in 1..5 {
        assert_eq!(orders(&commits(&mut dispatcher, 0, 0, image)), [made(0, 1, 0, image)]);
        assert_eq!(lost(&mut dispatcher, image, false), []);
    }
    commits(&mut dispatcher, 0, 0, 5);
    let said = lost(&mut dispatcher, 5, false);
    assert!(matches!(said[..], [Command::Notify(Notice::NoStandby { .. })]), "{said:?}");
}

#[test]
fn a_standby_that_is_lost_is_made_again() {
    let mut dispatcher = running(with_standbys(2, 3));
    assert_eq!(orders(&commits(&mut dispatcher, 0, 0, 1)), [made(0, 1, 2, 1)]);
    ready(&mut dispatcher, 0, 1, 1);
    assert_eq!(dispatcher.standby(Rank(0)), Some((2, ImageNo(1), true)));
    let (image, why) = (ImageNo(1), "it was killed".to_owned());
    let news = StandbyNews::Lost { image, why, for_good: false };
    dispatcher.handle(4 * S, Input::Standby(Rank(0), Incarnation(1), news));
    dispatcher.handle(4 * S, Input::Tick);
    assert_eq!((orders(&drain(&mut dispatcher)), dispatcher.standby(Rank(0))), (vec![], None));
    dispatcher.handle(5 * S, Input::Tick);
    assert_eq!(orders(&drain(&mut dispatcher)), [made(0, 1, 2, 1)]);
    dispatcher.handle(7 * S, Input::Tick);
    assert_eq!(orders(&drain(&mut dispatcher)), [], "once");
    // Its host is lost: another one has it.
    let why = "it is gone".to_owned();
    dispatcher.handle(8 * S, Input::AgentLost { host: 2, why, silent: true });
    dispatcher.handle(8 * S, Input::Tick);
    assert_eq!(orders(&drain(&mut dispatcher)), [made(0, 1, 1, 1)]);
}

#[test]
fn the_standby_of_a_rank_that_ends_is_dropped() {
    let mut dispatcher = running(with_standbys(2, 2));
    commits(&mut dispatcher, 0, 0, 1);
    let (rank, incarnation) = (Rank(0), Incarnation(0));
    dispatcher.handle(3 * S, Input::Exiting { rank, incarnation, code: 0 });
    dispatcher.handle(3 * S, ended(0, 0, Ending::Code(0), 10));
    let dropped = StandbyOrder::Drop { rank, host: 1 };
    assert_eq!(orders(&drain(&mut dispatcher)), [dropped]);
}

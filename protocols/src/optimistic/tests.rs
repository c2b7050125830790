//! Ranks that exchange messages in a model, with a log that keeps what it is given when told to.

use super::history::Incarnations;
use super::*;
use crate::protocol::Protocol;

const ALL: Settings = Settings { all: true, clock: false, tracking: Tracking::O2p };

fn ranks(count: usize, tracking: Tracking) -> Vec<Optimistic> {
    let incarnations = vec![Incarnation(0); count];
    let settings = Settings { tracking, ..ALL };
    (0..count as u32).map(|rank| Optimistic::new(settings, Rank(rank), &incarnations)).collect()
}

/// A message, received at once if it is not refused; how many entries went with it.
fn message(ranks: &mut [Optimistic], from: usize, to: usize, ssn: u64) -> u64 {
    let (source, target) = (Rank(from as u32), Rank(to as u32));
    assert_eq!(ranks[from].on_send(target, Ssn(ssn)), SendVerdict::Go);
    let before = ranks[from].counts().piggyback_events;
    let mut bytes = Vec::new();
    if ranks[from].has_piggyback(target) {
        ranks[from].piggyback(target, &mut bytes);
    }
    if !bytes.is_empty() {
        ranks[to].on_piggyback(source, &bytes);
    }
    if ranks[to].on_arrival(source, Ssn(ssn)) == ArrivalVerdict::Accept {
        ranks[to].on_match(0, source, Ssn(ssn));
    }
    ranks[from].counts().piggyback_events - before
}

/// What the rank has given to the logger since the last call.
fn sent(rank: &mut Optimistic) -> Vec<Determinant> {
    rank.flush();
    let mut all = Vec::new();
    while let Some(command) = rank.next_command() {
        if let Command::Log { records, .. } = command {
            all.extend(records);
        }
    }
    all
}

fn rolls_back(rank: &mut Optimistic) -> bool {
    std::iter::from_fn(|| rank.next_command()).any(|c| matches!(c, Command::RollBack(_)))
}

/// A new incarnation of a rank, from its start, with this log.
fn reborn(rank: u32, incarnation: u32, count: usize, log: &[Determinant]) -> Optimistic {
    let mut incarnations = vec![Incarnation(0); count];
    incarnations[rank as usize] = Incarnation(incarnation);
    let mut new = Optimistic::new(ALL, Rank(rank), &incarnations);
    new.on_new_incarnation(EventNo(0), &incarnations);
    new.on_restart(EventNo(0), log.to_vec());
    new
}

/// A channel begins: each tells the other what is lost.
fn join(a: &mut Optimistic, b: &mut Optimistic) {
    let (mut said_by_a, mut said_by_b) = (Vec::new(), Vec::new());
    a.on_parted(b.me);
    b.on_parted(a.me);
    b.on_peer_restart(a.me, a.incarnation);
    a.on_peer_restart(b.me, b.incarnation);
    a.resume(b.me, &mut said_by_a);
    b.resume(a.me, &mut said_by_b);
    a.on_joined(b.me, &said_by_b);
    b.on_joined(a.me, &said_by_a);
}

#[test]
fn only_what_changed_and_is_not_stable_goes_along() {
    let mut ranks = ranks(3, Tracking::O2p);
    assert_eq!(message(&mut ranks, 0, 1, 1), 0, "nothing has happened to rank 0");
    assert_eq!(message(&mut ranks, 1, 2, 1), 1, "its own event");
    assert_eq!(message(&mut ranks, 1, 2, 2), 0, "nothing new");
    assert_eq!(message(&mut ranks, 2, 0, 1), 2, "two own events are one entry");
    assert_eq!(ranks[0].vector.entries().count(), 3);
    let stable = Interval { incarnation: Incarnation(0), place: EventNo(9) }.pack();
    ranks[0].on_stable_clocks(&[(Rank(1), stable), (Rank(2), stable)]);
    assert_eq!(ranks[0].vector.entries().count(), 1, "its own is not acknowledged");
    sent(&mut ranks[0]);
    let last = ranks[0].determinant_sender.last();
    ranks[0].on_stable(last, last);
    assert_eq!(message(&mut ranks, 0, 1, 2), 0);
    assert_eq!(ranks[0].last_event(), ranks[0].stable());
}

#[test]
fn standard_tracking_clears_nothing() {
    let mut ranks = ranks(2, Tracking::Standard);
    message(&mut ranks, 0, 1, 1);
    sent(&mut ranks[1]);
    let last = ranks[1].determinant_sender.last();
    ranks[1].on_stable(last, last);
    assert_eq!(message(&mut ranks, 1, 0, 1), 1);
    let stable = Interval { incarnation: Incarnation(0), place: EventNo(9) }.pack();
    ranks[0].on_stable_clocks(&[(Rank(1), stable)]);
    assert_eq!(ranks[0].vector.entries().count(), 2);
    assert!(ranks[0].depends_on_nobody(), "but it knows");
}

#[test]
fn ranks_that_depend_on_lost_events_are_orphans_and_no_others() {
    let mut ranks = ranks(4, Tracking::O2p);
    message(&mut ranks, 3, 0, 1);
    let log = sent(&mut ranks[0]); // event 1 reaches the log
    message(&mut ranks, 0, 3, 1); // rank 3 depends on event 1
    message(&mut ranks, 3, 0, 2); // event 2 does not reach it
    message(&mut ranks, 0, 1, 1);
    message(&mut ranks, 1, 2, 1); // by way of rank 1
    let mut new = reborn(0, 1, 4, &log);
    assert!(!new.gathering());
    for other in &mut ranks[1..] {
        join(&mut new, other);
    }
    assert!(rolls_back(&mut ranks[1]) && rolls_back(&mut ranks[2]));
    assert!(!rolls_back(&mut ranks[3]), "it depends on event 1, which was recovered");
    // What comes from rank 1 is refused by every rank that knows of the loss.
    ranks[0] = new;
    ranks[1].on_match(0, Rank(2), Ssn(9));
    message(&mut ranks, 1, 3, 1);
    assert!(ranks[3].refuses(Rank(1)) && !ranks[3].refuses(Rank(0)));
    let next = reborn(1, 1, 4, &[]);
    ranks[1] = next;
    let (low, high) = ranks.split_at_mut(3);
    join(&mut low[1], &mut high[0]);
    assert!(!high[0].refuses(Rank(1)));
}

#[test]
fn of_an_orphans_dependencies_none_is_taken_over() {
    let mut ranks = ranks(3, Tracking::O2p);
    message(&mut ranks, 2, 1, 1);
    message(&mut ranks, 1, 0, 1); // event 1 of rank 1, which stays
    message(&mut ranks, 0, 2, 1);
    message(&mut ranks, 2, 0, 2); // event of rank 2, which is lost
    let new = reborn(2, 1, 3, &[]);
    ranks[2] = new;
    ranks[0].on_parted(Rank(2));
    message(&mut ranks, 0, 2, 2);
    assert!(ranks[2].refuses(Rank(0)));
    assert_eq!(ranks[2].vector.entries().count(), 0);
}

#[test]
fn a_stable_clock_of_a_new_incarnation_says_nothing_of_what_the_old_one_lost() {
    let mut ranks = ranks(2, Tracking::O2p);
    message(&mut ranks, 1, 0, 1);
    message(&mut ranks, 0, 1, 1); // depends on event 1 of incarnation 0, which is lost
    let stable = Interval { incarnation: Incarnation(1), place: EventNo(5) }.pack();
    ranks[1].on_stable_clocks(&[(Rank(0), stable)]);
    let mut new = reborn(0, 1, 2, &[]);
    join(&mut new, &mut ranks[1]);
    assert!(rolls_back(&mut ranks[1]));
}

#[test]
fn a_log_is_repeated_up_to_the_first_event_that_depends_on_what_was_lost() {
    let on = |place| Determinant::Depends {
        rank: Rank(1),
        incarnation: Incarnation(0),
        place: EventNo(place),
    };
    let event = |value| Determinant::Outcome { fails: 0, value };
    let log = [event(1), on(3), event(2), on(4), event(3), event(4)];
    let mut lost = Incarnations::default();
    lost.begin(Incarnation(1), EventNo(3));
    let standing = |_: Rank, interval| lost.standing(interval);
    let found = recovery::course(EventNo(10), Incarnations::default(), &log, standing);
    assert_eq!((found.after, found.kept.len(), found.waits), (EventNo(13), 3, false));
    // The next incarnation goes on behind it; a later one reads both.
    let mut more = log.to_vec();
    more.push(Determinant::Begins { incarnation: Incarnation(1), after: EventNo(13) });
    more.push(event(5));
    let found = recovery::course(EventNo(10), Incarnations::default(), &more, standing);
    let events: Vec<_> = found.kept.iter().map(|(_, record)| *record).collect();
    assert_eq!(events, [event(1), on(3), event(2), event(5)]);
    assert_eq!(found.after, EventNo(18));
    assert_eq!(
        found.incarnations.present(),
        Interval { incarnation: Incarnation(1), place: EventNo(13) }
    );
    let unknown =
        recovery::course(EventNo(10), Incarnations::default(), &log, |_, _| Standing::Unknown);
    assert!(unknown.waits && unknown.after == EventNo(16));
}

#[test]
fn two_that_died_together_wait_for_each_other_and_agree() {
    // Event 2 of rank 0 depends on event 1 of rank 1, which was lost. Event 1 of rank 2 depends on
    // event 2 of rank 0.
    let event = Determinant::Outcome { fails: 0, value: 1 };
    let on = |rank, place| Determinant::Depends {
        rank: Rank(rank),
        incarnation: Incarnation(0),
        place: EventNo(place),
    };
    let all = vec![Incarnation(1); 3];
    let logs = [vec![event, on(1, 1), event], vec![], vec![on(0, 3), on(1, 1), event]];
    let mut new: Vec<Optimistic> =
        (0..3).map(|rank| Optimistic::new(ALL, Rank(rank), &all)).collect();
    for (rank, log) in logs.iter().enumerate() {
        new[rank].on_new_incarnation(EventNo(0), &all);
        new[rank].on_restart(EventNo(0), log.clone());
    }
    assert!(new[0].gathering() && !new[1].gathering() && new[2].gathering());
    for (a, b) in [(0, 2), (0, 1), (1, 2)] {
        let (low, high) = new.split_at_mut(b);
        join(&mut low[a], &mut high[0]);
    }
    // What the first joining could not know yet is sent in frames.
    for from in 0..3 {
        while let Some(command) = new[from].next_command() {
            if let Command::SendFirst { to, payload } = command {
                new[to.index()].on_frame(Rank(from as u32), &payload);
            }
        }
    }
    let recorded: Vec<_> = new.iter().map(|rank| (rank.gathering(), rank.recorded())).collect();
    assert_eq!(recorded, [(false, 1), (false, 0), (false, 0)]);
}

#[test]
fn what_came_before_the_log_was_read_is_noted_before_the_next_event() {
    let mut ranks = ranks(3, Tracking::O2p);
    message(&mut ranks, 2, 0, 1); // rank 0 has an event that is not stable
    let incarnations = [Incarnation(0), Incarnation(1), Incarnation(0)];
    ranks[1] = Optimistic::new(ALL, Rank(1), &incarnations);
    ranks[1].on_new_incarnation(EventNo(0), &incarnations);
    let mut bytes = Vec::new();
    ranks[0].piggyback(Rank(1), &mut bytes);
    ranks[1].on_piggyback(Rank(0), &bytes);
    ranks[1].on_restart(EventNo(0), Vec::new());
    ranks[1].on_match(0, Rank(0), Ssn(1));
    let on = Determinant::Depends { rank: Rank(0), incarnation: Incarnation(0), place: EventNo(1) };
    assert_eq!(sent(&mut ranks[1])[1], on);
}

#[test]
fn hostile_bytes_end_in_an_error() {
    let mut ranks = ranks(2, Tracking::O2p);
    for bytes in [&[9][..], &[1, 7, 0], &[0, 1, 5, 1], &[0, 3, 0, 1]] {
        ranks[0].on_piggyback(Rank(1), bytes);
        let told = std::iter::from_fn(|| ranks[0].next_command()).collect::<Vec<_>>();
        assert!(matches!(told[..], [Command::GiveUp(_)]), "{bytes:?}: {told:?}");
    }
}

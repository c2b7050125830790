//! What happened in a job, and when: the states of each rank, images, waves, lines about faults.
//!
//! The launcher writes it as it hears of things. The report, the trace and the last lines of a job
//! are made from it ([`view`]).
//!
//! Guarantees: a launcher that writes it does nothing else for it: ranks and agents send no message
//! for it. Memory is bounded ([`crate::tuning::history`]). What was left out is counted, and totals
//! contain it. Times count from the start of the launcher.

pub mod calls;
pub mod messages;
pub mod view;

use crate::tuning::history::{EVENTS_MAX, IMAGES_MAX, RESUMED_MAX, SPANS_MAX, TAKEN_KEPT};
use ftmpi_protocols::dispatcher::Activity;
use ftmpi_protocols::waves::Over;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What a rank does during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a host.
    Waiting,
    /// Its first process starts.
    Starting,
    /// Its process has ended, and that is not known yet.
    Dead,
    /// A later process of it starts.
    Restoring,
    /// It repeats what an earlier incarnation did.
    CatchingUp,
    /// It runs.
    Running,
    /// It is being ended, because ranks return to an earlier state.
    Stopping,
    /// Its program has ended.
    Done,
}

impl State {
    /// How many there are.
    pub const COUNT: usize = 8;
    /// All, in the order of their declaration.
    #[cfg(test)]
    const ALL: [Self; Self::COUNT] = [
        Self::Waiting,
        Self::Starting,
        Self::Dead,
        Self::Restoring,
        Self::CatchingUp,
        Self::Running,
        Self::Stopping,
        Self::Done,
    ];

    /// Its name, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Dead => "dead",
            Self::Restoring => "restoring",
            Self::CatchingUp => "catching_up",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Done => "done",
        }
    }
}

impl From<Activity> for State {
    fn from(activity: Activity) -> Self {
        match activity {
            Activity::Waiting => Self::Waiting,
            Activity::Starting => Self::Starting,
            Activity::Restoring => Self::Restoring,
            Activity::CatchingUp => Self::CatchingUp,
            Activity::Running => Self::Running,
            Activity::Stopping => Self::Stopping,
            Activity::Done => Self::Done,
        }
    }
}

/// What a rank did from one moment on, until the next span of the rank begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What it did.
    pub state: State,
    /// Since when.
    pub from: Duration,
    /// Index of its host.
    pub host: u32,
    /// Its incarnation.
    pub incarnation: Incarnation,
}

/// An image of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The rank that it belongs to.
    pub rank: Rank,
    /// Its number.
    pub image: ImageNo,
    /// When it was ordered.
    pub ordered: Duration,
    /// When the rank went on, and how long it had stood still.
    pub taken: Option<(Duration, Duration)>,
    /// When it was durable, or was lost.
    pub ended: Option<Duration>,
    /// Bytes stored.
    pub bytes: u64,
    /// Why it was lost.
    pub lost: Option<String>,
}

/// A wave of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wave {
    /// Its number.
    pub wave: ImageNo,
    /// When it was ordered.
    pub from: Duration,
    /// When every rank had been heard about it.
    pub to: Duration,
    /// Whether it counts.
    pub complete: bool,
    /// Bytes stored.
    pub bytes: u64,
}

/// The subject of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A rank, or ranks, failed.
    Failure,
    /// A rank is back.
    Recovery,
    /// A host or its agent.
    Host,
    /// A server.
    Server,
    /// An image.
    Image,
    /// Anything else.
    Notice,
}

/// A line that the user was told, or could have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Duration,
    /// What it is about.
    pub subject: Subject,
    /// The rank that it is about.
    pub rank: Option<Rank>,
    /// The line.
    pub text: String,
}

/// How many entries were given up because there was no room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Spans of ranks.
    pub spans: u64,
    /// Images.
    pub images: u64,
    /// Waves.
    pub waves: u64,
    /// Lines.
    pub events: u64,
}

#[derive(Debug, Default)]
struct OfRank {
    spans: VecDeque<Span>,
    /// The process of the present incarnation ended then; what that means is not known yet.
    gone_at: Option<Duration>,
    under_way: Option<Image>,
    /// When the last images were taken, oldest first.
    taken: VecDeque<(ImageNo, Duration)>,
    /// Time in each state, without the present span.
    totals: [Duration; State::COUNT],
}

/// The history of a job.
#[derive(Debug)]
pub struct History {
    ranks: Vec<OfRank>,
    images: VecDeque<Image>,
    waves: VecDeque<Wave>,
    events: VecDeque<Event>,
    /// When the image was taken from which this incarnation of the rank went on.
    resumed: BTreeMap<(Rank, Incarnation), Duration>,
    /// Spans of all ranks.
    spans: usize,
    spans_max: usize,
    left_out: LeftOut,
}

impl History {
    /// Nothing has happened to so many ranks.
    pub fn new(size: usize) -> Self {
        Self::with_room(size, SPANS_MAX)
    }

    fn with_room(size: usize, spans_max: usize) -> Self {
        Self {
            ranks: std::iter::repeat_with(OfRank::default).take(size).collect(),
            images: VecDeque::new(),
            waves: VecDeque::new(),
            events: VecDeque::new(),
            resumed: BTreeMap::new(),
            spans: 0,
            spans_max: spans_max.max(2 * size),
            left_out: LeftOut::default(),
        }
    }

    /// The job has so many ranks now.
    pub fn ranks_added(&mut self, size: usize) {
        self.ranks.resize_with(size, OfRank::default);
    }

    // ---- ranks ----------------------------------------------------------------------------------

    /// What a rank does now. May be called when nothing has changed.
    pub fn rank_is(
        &mut self,
        now: Duration,
        rank: Rank,
        (host, incarnation): (u32, Incarnation),
        activity: Activity,
    ) {
        let span = Span { state: activity.into(), from: now, host, incarnation };
        let of_rank = &mut self.ranks[rank.index()];
        let last = of_rank.spans.back().copied();
        let same = |last: Span| Span { from: now, ..last } == span;
        if last.is_some_and(same) && of_rank.gone_at.is_none() {
            return;
        }
        if let (Some(gone), Some(last)) = (of_rank.gone_at.take(), last) {
            if same(last) {
                return;
            }
            if span.state != State::Done && last.state != State::Stopping {
                let from = gone.clamp(last.from, now);
                self.push(rank, Span { state: State::Dead, from, ..last });
            }
        }
        if last.is_some_and(|last| last.incarnation != incarnation) {
            self.give_up_image(now, rank);
        }
        self.push(rank, span);
    }

    /// The process of a rank ended then. [`History::rank_is`] tells what follows.
    pub fn process_ended(&mut self, rank: Rank, at: Duration) {
        self.ranks[rank.index()].gone_at = Some(at);
    }

    fn push(&mut self, rank: Rank, span: Span) {
        let of_rank = &mut self.ranks[rank.index()];
        if let Some(last) = of_rank.spans.back_mut() {
            of_rank.totals[last.state as usize] += span.from.saturating_sub(last.from);
            if last.from >= span.from {
                // It was over before it began.
                *last = span;
                return;
            }
        }
        if self.spans >= self.spans_max && of_rank.spans.len() > 1 {
            of_rank.spans.pop_front();
            self.left_out.spans += 1;
            self.spans -= 1;
        }
        of_rank.spans.push_back(span);
        self.spans += 1;
    }

    /// The spans of a rank that are known, oldest first. Each lasts until the next one begins.
    pub fn spans(&self, rank: Rank) -> impl Iterator<Item = Span> {
        self.ranks[rank.index()].spans.iter().copied()
    }

    /// Time of all ranks in a state until now.
    pub fn total(&self, state: State, now: Duration) -> Duration {
        let of_rank = |of_rank: &OfRank| {
            let open = of_rank.spans.back().filter(|span| span.state == state);
            let open = open.map_or(Duration::ZERO, |span| now.saturating_sub(span.from));
            of_rank.totals[state as usize] + open
        };
        self.ranks.iter().map(of_rank).sum()
    }

    /// An incarnation went on from an image.
    pub fn resumed(&mut self, rank: Rank, incarnation: Incarnation, image: ImageNo) {
        let taken = self.ranks[rank.index()].taken.iter().rev();
        let taken = taken.clone().find(|(number, _)| *number == image).map(|(_, at)| *at);
        if let Some(at) = taken.filter(|_| self.resumed.len() < RESUMED_MAX) {
            self.resumed.insert((rank, incarnation), at);
        }
    }

    /// When the image was taken from which an incarnation went on.
    pub fn resumed_at(&self, rank: Rank, incarnation: Incarnation) -> Option<Duration> {
        self.resumed.get(&(rank, incarnation)).copied()
    }

    // ---- images ---------------------------------------------------------------------------------

    /// An image of a rank was ordered.
    pub fn image_ordered(&mut self, now: Duration, rank: Rank, image: ImageNo) {
        self.give_up_image(now, rank);
        self.ranks[rank.index()].under_way = Some(Image {
            rank,
            image,
            ordered: now,
            taken: None,
            ended: None,
            bytes: 0,
            lost: None,
        });
    }

    /// A rank goes on after an image; it stood still for so long.
    pub fn image_taken(&mut self, now: Duration, rank: Rank, image: ImageNo, pause: Duration) {
        let of_rank = &mut self.ranks[rank.index()];
        if let Some(known) = of_rank.under_way.as_mut().filter(|known| known.image == image) {
            known.taken = Some((now, pause));
        }
        if of_rank.taken.len() == TAKEN_KEPT {
            of_rank.taken.pop_front();
        }
        of_rank.taken.push_back((image, now.saturating_sub(pause)));
    }

    /// An image is durable.
    pub fn image_durable(&mut self, now: Duration, rank: Rank, image: ImageNo, bytes: u64) {
        let under_way = &mut self.ranks[rank.index()].under_way;
        if let Some(known) = under_way.take_if(|known| known.image == image) {
            self.keep_image(Image { ended: Some(now), bytes, ..known });
        }
    }

    /// An image was lost.
    pub fn image_lost(&mut self, now: Duration, rank: Rank, image: ImageNo, why: &str) {
        let under_way = &mut self.ranks[rank.index()].under_way;
        if let Some(known) = under_way.take_if(|known| known.image == image) {
            self.keep_image(Image { ended: Some(now), lost: Some(why.to_owned()), ..known });
        }
    }

    fn give_up_image(&mut self, now: Duration, rank: Rank) {
        if let Some(known) = self.ranks[rank.index()].under_way.take() {
            let lost = Some("the rank ended before it was durable".to_owned());
            self.keep_image(Image { ended: Some(now), lost, ..known });
        }
    }

    fn keep_image(&mut self, image: Image) {
        if self.images.len() == IMAGES_MAX {
            self.images.pop_front();
            self.left_out.images += 1;
        }
        self.images.push_back(image);
    }

    /// The images that are known, in the order of their ends; then those that are under way.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let under_way = self.ranks.iter().filter_map(|of_rank| of_rank.under_way.as_ref());
        self.images.iter().chain(under_way)
    }

    /// A wave has ended.
    pub fn wave_over(&mut self, now: Duration, over: &Over) {
        if self.waves.len() == IMAGES_MAX {
            self.waves.pop_front();
            self.left_out.waves += 1;
        }
        self.waves.push_back(Wave {
            wave: over.wave,
            from: now.saturating_sub(over.took),
            to: now,
            complete: over.complete.is_some(),
            bytes: over.bytes,
        });
    }

    /// The waves that are known, oldest first.
    pub fn waves(&self) -> impl Iterator<Item = &Wave> {
        self.waves.iter()
    }

    // ---- lines ----------------------------------------------------------------------------------

    /// Something happened that a line tells.
    pub fn event(&mut self, at: Duration, subject: Subject, rank: Option<Rank>, text: &str) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.left_out.events += 1;
        }
        self.events.push_back(Event { at, subject, rank, text: text.to_owned() });
    }

    /// The lines that are known, oldest first.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter()
    }

    /// What was given up.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    fn states(history: &History, rank: Rank) -> Vec<(State, u64)> {
        history.spans(rank).map(|span| (span.state, span.from.as_millis() as u64)).collect()
    }

    const R: Rank = Rank(0);
    const FIRST: (u32, Incarnation) = (0, Incarnation(0));
    const SECOND: (u32, Incarnation) = (1, Incarnation(1));

    /// A rank that starts, is killed at 400 ms, which is known at 430 ms, and comes back.
    fn killed() -> History {
        let mut history = History::new(1);
        history.rank_is(ms(0), R, FIRST, Activity::Starting);
        history.rank_is(ms(100), R, FIRST, Activity::Running);
        history.rank_is(ms(200), R, FIRST, Activity::Running);
        history.process_ended(R, ms(400));
        history.rank_is(ms(430), R, SECOND, Activity::Restoring);
        history.rank_is(ms(500), R, SECOND, Activity::CatchingUp);
        history.rank_is(ms(600), R, SECOND, Activity::Running);
        history
    }

    #[test]
    fn a_killed_rank_is_dead_until_that_is_known() {
        let mut history = killed();
        use State::{CatchingUp, Dead, Done, Restoring, Running, Starting};
        let mut expected = vec![
            (Starting, 0),
            (Running, 100),
            (Dead, 400),
            (Restoring, 430),
            (CatchingUp, 500),
            (Running, 600),
        ];
        assert_eq!(states(&history, R), expected);
        assert_eq!(history.spans(R).nth(2).unwrap().incarnation, Incarnation(0));
        assert_eq!(history.spans(R).last().unwrap().host, 1);
        history.process_ended(R, ms(900));
        history.rank_is(ms(905), R, SECOND, Activity::Done);
        expected.push((Done, 905));
        assert_eq!(states(&history, R), expected, "a program that ends is not dead");
        let total = |state| history.total(state, ms(1000)).as_millis();
        assert_eq!(State::ALL.map(total), [0, 100, 30, 70, 100, 605, 0, 95]);
        assert_eq!(State::ALL.map(total).iter().sum::<u128>(), 1000, "every moment counts once");
    }

    #[test]
    fn a_rank_that_is_ended_on_purpose_is_not_dead() {
        let mut history = History::new(1);
        history.rank_is(ms(0), R, FIRST, Activity::Running);
        history.rank_is(ms(100), R, FIRST, Activity::Stopping);
        history.process_ended(R, ms(110));
        history.rank_is(ms(120), R, SECOND, Activity::Restoring);
        let expected = [(State::Running, 0), (State::Stopping, 100), (State::Restoring, 120)];
        assert_eq!(states(&history, R), expected);
    }

    #[test]
    fn memory_is_bounded_and_totals_contain_what_was_left_out() {
        let mut history = History::with_room(1, 10);
        for round in 0..100 {
            let activity = if round % 2 == 0 { Activity::Running } else { Activity::CatchingUp };
            history.rank_is(ms(10 * round), R, (0, Incarnation(round as u32)), activity);
        }
        assert_eq!(history.spans(R).count(), 10);
        assert_eq!(history.left_out().spans, 90);
        assert_eq!(history.total(State::Running, ms(1000)), ms(500));
        for number in 0..(IMAGES_MAX as u32 + 5) {
            history.image_ordered(ms(1), R, ImageNo(u64::from(number)));
        }
        assert_eq!(history.images().count(), IMAGES_MAX + 1, "and the one under way");
        assert_eq!(history.left_out().images, 4);
    }

    #[test]
    fn an_image_has_a_pause_and_an_end_and_one_of_a_dead_rank_is_lost() {
        let mut history = killed();
        let image = |number| ImageNo(number);
        history.image_ordered(ms(700), R, image(1));
        history.image_taken(ms(720), R, image(1), ms(15));
        history.image_durable(ms(760), R, image(1), 99);
        history.image_ordered(ms(800), R, image(2));
        history.image_durable(ms(801), R, image(7), 1);
        history.process_ended(R, ms(810));
        history.rank_is(ms(820), R, (0, Incarnation(2)), Activity::Restoring);
        let images: Vec<&Image> = history.images().collect();
        assert_eq!((images[0].taken, images[0].ended), (Some((ms(720), ms(15))), Some(ms(760))));
        assert_eq!(images[0].bytes, 99);
        assert_eq!(images[1].ended, Some(ms(820)));
        assert!(images[1].lost.is_some());
        assert_eq!(images.len(), 2);
        history.resumed(R, Incarnation(2), image(1));
        assert_eq!(history.resumed_at(R, Incarnation(2)), Some(ms(705)), "when the pause began");
    }
}

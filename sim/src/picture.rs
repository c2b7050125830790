//! A run as a picture: a space-time diagram in SVG. Ranks are lines from left to right, messages
//! are arrows between them. Incarnations, images, crashes, replays and writes of the event logger
//! are marks on the lines. The world adds marks to a list of the thread; the picture is drawn from
//! that list.

use ftmpi_wire::{ImageNo, Incarnation, header::Kind};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use svg::Document;
use svg::node::element::{Circle, Definitions, Group, Line, Marker, Path, Rectangle, Text, Title};

/// Something that the picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// A run begins, with so many ranks.
    Begin(usize),
    /// An incarnation begins, from an image or from the start of the program.
    Starts(usize, Option<ImageNo>),
    /// An incarnation ends.
    Dies(usize),
    /// What was recorded is repeated.
    CaughtUp(usize),
    /// An image is taken.
    Image(usize, ImageNo),
    /// A frame leaves: from, to, what, which.
    Sends((usize, Incarnation), (usize, Incarnation), Kind, u64),
    /// It is taken by the receiver.
    Gets((usize, Incarnation), (usize, Incarnation), Kind, u64),
    /// So many determinants reach the logger.
    Logs(usize, usize),
    /// The logger dies.
    LoggerDies,
    /// A program is over.
    Over(usize),
}

thread_local! {
    static MARKS: RefCell<Option<Vec<(u64, Mark)>>> = const { RefCell::new(None) };
}

/// From now on this thread notes what happens.
pub fn begin() {
    MARKS.with(|marks| *marks.borrow_mut() = Some(Vec::new()));
}

/// Notes something, if a picture is wanted.
pub fn mark(now: u64, what: impl FnOnce() -> Mark) {
    MARKS.with(|marks| {
        if let Some(marks) = marks.borrow_mut().as_mut() {
            marks.push((now, what()));
        }
    });
}

/// The first run since [`begin`], between two times.
#[must_use]
pub fn end(from: u64, to: u64) -> Option<Document> {
    let marks = MARKS.with(|marks| marks.borrow_mut().take())?;
    let mut runs = marks.split(|(_, mark)| matches!(mark, Mark::Begin(_))).skip(1);
    let ranks = marks.iter().find_map(|(_, mark)| match mark {
        Mark::Begin(ranks) => Some(*ranks),
        _ => None,
    })?;
    let run: Vec<_> = runs.next()?.to_vec();
    Some(Picture::new(ranks, from, to, &run).draw(&run))
}

const ROW: f64 = 70.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 70.0;
/// Points per unit of simulated time, unless the picture became wider than [`WIDEST`].
const SCALE: f64 = 0.8;
const WIDEST: f64 = 30_000.0;

struct Picture {
    ranks: usize,
    from: u64,
    to: u64,
    scale: f64,
    group: Group,
}

/// Program messages are dark, frames of the engine's own light.
fn color(kind: Kind) -> &'static str {
    match kind {
        Kind::Eager | Kind::Data => "#1f4e79",
        Kind::RequestToSend | Kind::ClearToSend => "#7aa6c2",
        Kind::Resume => "#2e8b57",
        _ => "#c0b090",
    }
}

impl Picture {
    fn new(ranks: usize, from: u64, to: u64, run: &[(u64, Mark)]) -> Self {
        let last = run.last().map_or(0, |(time, _)| *time);
        let to = to.min(last).max(from + 1);
        let scale = SCALE.min(WIDEST / (to - from) as f64);
        Self { ranks, from, to, scale, group: Group::new() }
    }

    fn x(&self, time: u64) -> f64 {
        LEFT + (time.clamp(self.from, self.to) - self.from) as f64 * self.scale
    }

    fn y(&self, rank: usize) -> f64 {
        TOP + rank as f64 * ROW
    }

    fn seen(&self, time: u64) -> bool {
        (self.from..=self.to).contains(&time)
    }

    fn add(&mut self, node: impl svg::node::Node) {
        let group = std::mem::replace(&mut self.group, Group::new());
        self.group = group.add(node);
    }

    fn text(&mut self, x: f64, y: f64, size: u32, text: &str) {
        let node = Text::new(text).set("x", x).set("y", y).set("font-size", size);
        self.add(node);
    }

    /// Incarnations: a line from begin to end, dashed while the incarnation repeats what was
    /// recorded.
    fn processes(&mut self, run: &[(u64, Mark)]) {
        for rank in 0..self.ranks {
            let mut since: Option<(u64, bool)> = None;
            let end = self.to;
            for (time, mark) in run {
                match mark {
                    Mark::Starts(r, image) if *r == rank => {
                        let first = since.is_none() && image.is_none();
                        since = Some((*time, !first && *time > 0));
                        let what = match image {
                            Some(image) => format!("begins again from image {image}"),
                            None => "starts".to_owned(),
                        };
                        self.dot(*time, rank, "#2e8b57", &what);
                    }
                    Mark::CaughtUp(r) if *r == rank => {
                        if let Some((begin, _)) = since {
                            self.process(rank, begin, *time, true);
                            since = Some((*time, false));
                        }
                    }
                    Mark::Dies(r) if *r == rank => {
                        if let Some((begin, replaying)) = since.take() {
                            self.process(rank, begin, *time, replaying);
                        }
                        self.cross(*time, rank);
                    }
                    _ => {}
                }
            }
            if let Some((begin, _)) = since {
                self.process(rank, begin, end, false);
            }
        }
    }

    fn process(&mut self, rank: usize, begin: u64, end: u64, replaying: bool) {
        if end < self.from || begin > self.to {
            return;
        }
        let line = Line::new()
            .set("x1", self.x(begin))
            .set("x2", self.x(end))
            .set("y1", self.y(rank))
            .set("y2", self.y(rank))
            .set("stroke", if replaying { "#e08e0b" } else { "#444" })
            .set("stroke-width", if replaying { 4 } else { 2 });
        self.add(line);
    }

    fn dot(&mut self, time: u64, rank: usize, fill: &str, title: &str) {
        if self.seen(time) {
            let node = Circle::new().set("cx", self.x(time)).set("cy", self.y(rank)).set("r", 5);
            self.add(
                node.set("fill", fill).add(Title::new(format!("{time}: rank {rank} {title}"))),
            );
        }
    }

    fn cross(&mut self, time: u64, rank: usize) {
        if self.seen(time) {
            let (x, y) = (self.x(time), self.y(rank));
            let path = format!("M{} {}l14 14m0 -14l-14 14", x - 7.0, y - 7.0);
            let node = Path::new().set("d", path).set("stroke", "#c00000").set("stroke-width", 4);
            self.add(node.add(Title::new(format!("{time}: rank {rank} dies"))));
        }
    }

    /// Messages: sends and gets of one channel, kind and number belong together in their order.
    fn messages(&mut self, run: &[(u64, Mark)]) {
        let mut under_way: BTreeMap<_, VecDeque<u64>> = BTreeMap::new();
        let mut arrows = Vec::new();
        for (time, mark) in run {
            match mark {
                Mark::Sends(a, b, kind, ssn) => {
                    under_way.entry((*a, *b, *kind as u8, *ssn)).or_default().push_back(*time);
                }
                Mark::Gets(a, b, kind, ssn) => {
                    let sent = under_way.get_mut(&(*a, *b, *kind as u8, *ssn));
                    if let Some(sent) = sent.and_then(VecDeque::pop_front) {
                        arrows.push((*a, *b, *kind, *ssn, sent, Some(*time)));
                    }
                }
                _ => {}
            }
        }
        // What was never got: lost with a channel.
        for (time, mark) in run {
            if let Mark::Sends(a, b, kind, ssn) = mark
                && under_way.get(&(*a, *b, *kind as u8, *ssn)).is_some_and(|t| t.contains(time))
            {
                arrows.push((*a, *b, *kind, *ssn, *time, None));
            }
        }
        for (a, b, kind, ssn, sent, got) in arrows {
            let until = got.unwrap_or(sent + 40);
            if !self.seen(sent) || !self.seen(until) {
                continue;
            }
            let (y1, y2) = (self.y(a.0), self.y(b.0));
            let y2 = if got.is_some() { y2 } else { y1 + (y2 - y1) * 0.4 };
            let what = if got.is_some() { "" } else { ", lost" };
            let title = format!("{sent}: {kind:?} {ssn} from rank {} to rank {}{what}", a.0, b.0);
            let line = Line::new()
                .set("x1", self.x(sent))
                .set("y1", y1)
                .set("x2", self.x(until))
                .set("y2", y2)
                .set("stroke", color(kind))
                .set("stroke-width", 1)
                .set("stroke-dasharray", if got.is_some() { "none" } else { "3 3" })
                .set("marker-end", "url(#arrow)");
            self.add(line.add(Title::new(title)));
        }
    }

    fn events(&mut self, run: &[(u64, Mark)]) {
        let bottom = self.y(self.ranks);
        for (time, mark) in run {
            if !self.seen(*time) {
                continue;
            }
            let (time, x) = (*time, self.x(*time));
            match mark {
                Mark::Image(rank, image) => {
                    let y = self.y(*rank);
                    let node = Rectangle::new().set("x", x - 6.0).set("y", y - 6.0);
                    let node = node.set("width", 12).set("height", 12).set("fill", "#3a6ea5");
                    self.add(node.add(Title::new(format!("{time}: rank {rank}, image {image}"))));
                    self.text(x - 4.0, y - 10.0, 10, &image.to_string());
                }
                Mark::CaughtUp(rank) => self.dot(time, *rank, "#e08e0b", "has caught up"),
                Mark::Over(rank) => self.dot(time, *rank, "#888", "is over"),
                Mark::Logs(rank, count) => {
                    let line = Line::new().set("x1", x).set("x2", x).set("y1", bottom);
                    let line = line.set("y2", bottom - 6.0 - (*count as f64).min(30.0));
                    let line = line.set("stroke", "#8064a2").set("stroke-width", 2);
                    let title =
                        format!("{time}: {count} determinants of rank {rank} at the logger");
                    self.add(line.add(Title::new(title)));
                }
                Mark::LoggerDies => {
                    let path = format!("M{} {}l10 10m0 -10l-10 10", x - 5.0, bottom - 5.0);
                    let node = Path::new().set("d", path).set("stroke", "#c00000");
                    self.add(node.set("stroke-width", 3));
                }
                _ => {}
            }
        }
    }

    fn draw(mut self, run: &[(u64, Mark)]) -> Document {
        self.messages(run);
        self.processes(run);
        self.events(run);
        for rank in 0..self.ranks {
            let y = self.y(rank) + 5.0;
            self.text(8.0, y, 14, &format!("rank {rank}"));
        }
        let bottom = self.y(self.ranks);
        self.text(8.0, bottom, 14, "logger");
        let step = ((self.to - self.from) / 40).next_power_of_two().max(50);
        for time in (self.from..self.to).filter(|time| time % step == 0) {
            let x = self.x(time);
            self.text(x, TOP - 35.0, 10, &time.to_string());
        }
        self.text(
            LEFT,
            18.0,
            12,
            "blue square: image · red cross: death · green dot: a process begins · orange: replay · dark \
             arrow: message · light arrow: rendezvous · green arrow: Resume · dashed: lost · violet: \
             determinants at the logger",
        );
        let head = Path::new().set("d", "M0 0L8 4L0 8z").set("fill", "#555");
        let marker = Marker::new()
            .set("id", "arrow")
            .set("markerWidth", 8)
            .set("markerHeight", 8)
            .set("refX", 8)
            .set("refY", 4)
            .set("orient", "auto")
            .add(head);
        let (width, height) = (self.x(self.to) + 40.0, bottom + 40.0);
        Document::new()
            .set("viewBox", (0, 0, width.ceil() as u32, height.ceil() as u32))
            .set("width", width.ceil())
            .set("height", height.ceil())
            .set("font-family", "sans-serif")
            .add(Definitions::new().add(marker))
            .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "white"))
            .add(self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_what_was_marked_in_the_first_run_only() {
        begin();
        let (a, b) = ((0, Incarnation(0)), (1, Incarnation(0)));
        for time in [0, 100] {
            mark(time, || Mark::Begin(2));
            mark(time + 1, || Mark::Starts(0, None));
            mark(time + 5, || Mark::Sends(a, b, Kind::Eager, 7));
            mark(time + 5, || Mark::Sends(a, b, Kind::Eager, 8));
            mark(time + 9, || Mark::Gets(a, b, Kind::Eager, 7));
            mark(time + 60, || Mark::Dies(1));
        }
        let text = end(0, u64::MAX).unwrap().to_string();
        assert_eq!(text.matches("Eager 7 from rank 0 to rank 1").count(), 1);
        assert_eq!(text.matches("Eager 8 from rank 0 to rank 1, lost").count(), 1);
        assert_eq!(text.matches("rank 1 dies").count(), 1);
        assert!(end(0, 10).is_none(), "nothing is noted any more");
    }
}

//! The picture: SVG of its own, without scripts. Each shape has a title, which browsers show under
//! the pointer.

use super::layout::Axis;
use super::recording::{Arrow, Doing, Mark, Moment, Recording, What};
use crate::text;
use std::fmt::Write;

const ROW: f64 = 62.0;
const LEFT: f64 = 100.0;
const TOP: f64 = 76.0;
/// Messages up to this number have their numbers written beside them.
const NUMBERED: usize = 80;
/// Points between two of them.
const NUMBERS_APART: f64 = 20.0;
/// Points between two times at the top.
const LABELS_APART: f64 = 90.0;

const LINE: &str = "#37474f";
const MESSAGE: &str = "#1f2933";
const AGAIN: &str = "#c45f00";
const MARKER: &str = "#1f5fa8";
const HELD: &str = "#2e7d32";
const EVENT: &str = "#7b3fa0";
const DEATH: &str = "#c62828";
const AWAY: &str = "#b0bec5";

struct Picture<'a> {
    recording: &'a Recording,
    axis: Axis,
    out: String,
    legend: Vec<(&'static str, &'static str)>,
    /// Where the last number was written beside each rank.
    numbered: Vec<f64>,
}

/// The picture of a recording.
pub fn svg(recording: &Recording) -> String {
    let mut moments: Vec<Moment> = Vec::new();
    moments.extend(recording.states.iter().flat_map(|state| [state.from, state.to]));
    moments.extend(recording.waves.iter().flat_map(|wave| [wave.from, wave.to]));
    moments.extend(recording.gates.iter().flat_map(|gate| [gate.from, gate.to]));
    for mark in &recording.marks {
        moments.push(mark.at);
        if let What::Image(_, until) = mark.what {
            moments.push(until);
        }
    }
    let axis = Axis::new(moments, &recording.arrows);
    let mut picture = Picture {
        recording,
        axis,
        out: String::new(),
        legend: Vec::new(),
        numbered: vec![f64::MIN; recording.ranks],
    };
    picture.waves();
    picture.times();
    picture.ranks();
    picture.gates();
    picture.arrows();
    picture.marks();
    picture.finish()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A moment for people.
fn moment(at: Moment) -> String {
    format!("{:.3} ms", at / 1e3)
}

impl Picture<'_> {
    fn x(&self, at: Moment) -> f64 {
        LEFT + self.axis.place(at)
    }

    fn y(rank: usize) -> f64 {
        TOP + rank as f64 * ROW
    }

    /// The line of the event logger.
    fn logger(&self) -> f64 {
        Self::y(self.recording.ranks)
    }

    fn has_logger(&self) -> bool {
        let is = |mark: &Mark| matches!(mark.what, What::Determinants(_));
        self.recording.marks.iter().any(is) || !self.recording.gates.is_empty()
    }

    fn explain(&mut self, color: &'static str, what: &'static str) {
        if !self.legend.contains(&(color, what)) {
            self.legend.push((color, what));
        }
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str, title: &str) {
        let _ = writeln!(
            self.out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}><title>{}</title></line>",
            escaped(title)
        );
    }

    fn text(&mut self, (x, y): (f64, f64), style: &str, text: &str) {
        let _ =
            writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>", escaped(text));
    }

    fn waves(&mut self) {
        for wave in &self.recording.waves {
            let (from, to) = (self.x(wave.from), self.x(wave.to));
            let (y, height) = (TOP - ROW / 2.0, self.recording.ranks as f64 * ROW);
            let _ = writeln!(
                self.out,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" \
                 fill=\"#e3effa\"><title>{}, {} to {}</title></rect>",
                (to - from).max(2.0),
                escaped(&wave.name),
                moment(wave.from),
                moment(wave.to)
            );
            let style = "font-size=\"11\" fill=\"#1f5fa8\"";
            let at = (from + 3.0, y + height - 4.0);
            let name = wave.name.clone();
            self.text(at, style, &name);
        }
        if !self.recording.waves.is_empty() {
            self.explain("#bcd7f0", "wave, until all its images are stored");
        }
    }

    fn times(&mut self) {
        let bottom =
            if self.has_logger() { self.logger() } else { Self::y(self.recording.ranks - 1) };
        for (at, place) in self.axis.labels(LABELS_APART) {
            let x = LEFT + place;
            let style = "stroke=\"#eceff1\" stroke-width=\"1\"";
            self.line((x, TOP - ROW / 2.0), (x, bottom), style, &moment(at));
            let style = "font-size=\"10\" fill=\"#78909c\" text-anchor=\"middle\"";
            self.text((x, TOP - ROW / 2.0 - 5.0), style, &format!("{:.3}", at / 1e3));
        }
        let style = "font-size=\"10\" fill=\"#78909c\"";
        self.text((8.0, TOP - ROW / 2.0 - 5.0), style, "milliseconds");
    }

    fn ranks(&mut self) {
        let mut last: Vec<Option<u64>> = vec![None; self.recording.ranks];
        for state in &self.recording.states {
            let (from, to, y) = (self.x(state.from), self.x(state.to), Self::y(state.rank));
            let (style, what) = match state.doing {
                Doing::Computing => {
                    (format!("stroke=\"{LINE}\" stroke-width=\"2.5\""), "computing")
                }
                Doing::Repeating => {
                    self.explain("#ef8a17", "repeats what an earlier incarnation did");
                    ("stroke=\"#ef8a17\" stroke-width=\"6\"".to_owned(), "repeating")
                }
                Doing::Away => {
                    self.explain(AWAY, "starting, restoring, or returning");
                    let dashes = "stroke-width=\"2\" stroke-dasharray=\"5 4\"";
                    (format!("stroke=\"{AWAY}\" {dashes}"), "starting, restoring, or returning")
                }
                Doing::Dead => continue,
            };
            let title = format!(
                "rank {}, incarnation {}: {what}, {} to {}",
                state.rank,
                state.incarnation,
                moment(state.from),
                moment(state.to)
            );
            self.line((from, y), (to, y), &style, &title);
            let runs = matches!(state.doing, Doing::Computing | Doing::Repeating);
            let before = last[state.rank];
            if runs && before.is_some_and(|before| before != state.incarnation) {
                self.explain(HELD, "a new incarnation begins to run");
                let title = format!("rank {}: incarnation {}", state.rank, state.incarnation);
                self.dot((from, y), HELD, &title);
            }
            if runs || before.is_none() {
                last[state.rank] = Some(state.incarnation);
            }
        }
        for rank in 0..self.recording.ranks {
            let style = "font-size=\"14\" font-weight=\"bold\" fill=\"#1f2933\"";
            self.text((8.0, Self::y(rank) + 5.0), style, &format!("rank {rank}"));
        }
        if self.has_logger() {
            let (y, width) = (self.logger(), LEFT + self.axis.width());
            let style = format!("stroke=\"{EVENT}\" stroke-width=\"1.5\" stroke-dasharray=\"2 3\"");
            self.line((LEFT, y), (width, y), &style, "event logger");
            let style = format!("font-size=\"13\" fill=\"{EVENT}\"");
            self.text((8.0, y + 5.0), &style, "event logger");
        }
    }

    fn dot(&mut self, (x, y): (f64, f64), fill: &str, title: &str) {
        let _ = writeln!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\"><title>{}</title></circle>",
            escaped(title)
        );
    }

    fn gates(&mut self) {
        for gate in &self.recording.gates {
            let y = Self::y(gate.rank);
            let style = format!("stroke=\"{EVENT}\" stroke-width=\"6\" opacity=\"0.6\"");
            let title = format!("rank {}: a send waits for the event logger", gate.rank);
            self.line((self.x(gate.from), y), (self.x(gate.to), y), &style, &title);
        }
        if !self.recording.gates.is_empty() {
            self.explain("#b08cc9", "a send waits for the event logger");
        }
    }

    fn arrows(&mut self) {
        let messages = self.recording.arrows.iter().filter(|arrow| !arrow.marker).count();
        for arrow in &self.recording.arrows {
            self.arrow(arrow, messages <= NUMBERED);
        }
    }

    fn arrow(&mut self, arrow: &Arrow, numbered: bool) {
        let repeats =
            |rank: usize, at: Moment| self.recording.doing(rank, at) == Some(Doing::Repeating);
        let again = repeats(arrow.to, arrow.received) || repeats(arrow.from, arrow.sent);
        let (color, tip, more, what) = match arrow {
            Arrow { marker: true, .. } => {
                (MARKER, "marker-tip", " stroke-dasharray=\"4 3\"", "marker of a wave")
            }
            Arrow { held: true, .. } => {
                (HELD, "held-tip", "", "message that waits for the receiver's image")
            }
            _ if again => (AGAIN, "again-tip", "", "message to or from a rank that repeats"),
            _ => (MESSAGE, "tip", "", "message"),
        };
        self.explain(color, what);
        let from = (self.x(arrow.sent), Self::y(arrow.from));
        let to = (self.x(arrow.received), Self::y(arrow.to));
        let subject = if arrow.marker { "marker of wave" } else { "message" };
        let title = format!(
            "{subject} {} from rank {} ({}) to rank {} ({}), {}",
            arrow.number,
            arrow.from,
            moment(arrow.sent),
            arrow.to,
            moment(arrow.received),
            text::size(arrow.bytes)
        );
        let style =
            format!("stroke=\"{color}\" stroke-width=\"1.3\"{more} marker-end=\"url(#{tip})\"");
        self.line(from, to, &style, &title);
        let is_free = from.0 - self.numbered[arrow.from] >= NUMBERS_APART;
        if numbered && !arrow.marker && is_free {
            self.numbered[arrow.from] = from.0;
            let down = if to.1 > from.1 { 14.0 } else { -8.0 };
            let at = (from.0 + 5.0, from.1 + down);
            let style = format!("font-size=\"9\" fill=\"{color}\"");
            self.text(at, &style, &format!("m{}", arrow.number));
        }
    }

    fn marks(&mut self) {
        for mark in &self.recording.marks {
            let at = (self.x(mark.at), Self::y(mark.rank));
            match &mark.what {
                What::Death(cause, image) => self.death(mark, at, (cause.as_str(), *image)),
                What::Image(number, until) => self.image(at, self.x(*until), *number),
                What::Durable(name) => {
                    self.explain("#6aa5dd", "the image is stored");
                    let title =
                        format!("rank {}: {name} is stored, {}", mark.rank, moment(mark.at));
                    let style = "stroke=\"#6aa5dd\" stroke-width=\"3\"";
                    self.line((at.0, at.1 - 8.0), (at.0, at.1 + 8.0), style, &title);
                }
                What::Determinants(count) => {
                    self.explain(EVENT, "determinant to the event logger");
                    let to = (at.0 + 14.0, self.logger());
                    let style = format!(
                        "stroke=\"{EVENT}\" stroke-width=\"1\" stroke-dasharray=\"1 2\" \
                         marker-end=\"url(#event-tip)\""
                    );
                    let determinants = text::count(*count, "determinant");
                    let title =
                        format!("{determinants} of rank {}, {}", mark.rank, moment(mark.at));
                    self.line(at, to, &style, &title);
                }
                What::Lost(to) => self.lost(mark, at, *to),
            }
        }
    }

    fn death(&mut self, mark: &Mark, (x, y): (f64, f64), (cause, image): (&str, Option<u64>)) {
        self.explain(DEATH, "a process ends");
        let from = image.map_or("the start".to_owned(), |image| format!("image {image}"));
        let _ = writeln!(
            self.out,
            "<path d=\"M{:.1} {:.1}l16 16m0 -16l-16 16\" stroke=\"{DEATH}\" stroke-width=\"4\" \
             fill=\"none\"><title>rank {}: {}, {}; goes on from {from}</title></path>",
            x - 8.0,
            y - 8.0,
            mark.rank,
            escaped(cause),
            moment(mark.at)
        );
    }

    fn image(&mut self, (x, y): (f64, f64), until: f64, number: u64) {
        self.explain(MARKER, "image: the program stands still");
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" fill=\"{MARKER}\">\
             <title>image {number}</title></rect>",
            y - 7.0,
            (until - x).max(8.0)
        );
        let style = format!("font-size=\"10\" fill=\"{MARKER}\"");
        self.text((x, y - 10.0), &style, &format!("image {number}"));
    }

    fn lost(&mut self, mark: &Mark, (x, y): (f64, f64), to: usize) {
        self.explain(DEATH, "message that was lost with its receiver");
        let (dx, dy) = (SHORT, (Self::y(to) - y) * 0.45);
        let style = format!("stroke=\"{DEATH}\" stroke-width=\"1.3\" stroke-dasharray=\"3 3\"");
        let title = format!("message from rank {} to rank {to}, lost", mark.rank);
        self.line((x, y), (x + dx, y + dy), &style, &title);
    }

    fn finish(mut self) -> String {
        let bottom = self.logger() + if self.has_logger() { 34.0 } else { -6.0 };
        let width = (LEFT + self.axis.width() + 40.0).max(760.0);
        let (mut x, mut y) = (LEFT, bottom);
        for (color, what) in std::mem::take(&mut self.legend) {
            let wide = 40.0 + 6.4 * what.len() as f64;
            if x + wide > width {
                (x, y) = (LEFT, y + 18.0);
            }
            let style = format!("stroke=\"{color}\" stroke-width=\"5\"");
            self.line((x, y - 4.0), (x + 14.0, y - 4.0), &style, what);
            self.text((x + 19.0, y), "font-size=\"11\" fill=\"#37474f\"", what);
            x += wide;
        }
        let note = "Each moment has its own place: distances grow with the logarithm of the time \
                    between two moments.";
        self.text((LEFT, y + 20.0), "font-size=\"11\" fill=\"#78909c\"", note);
        let sampled = match self.recording.one_of {
            0 | 1 => String::new(),
            many => format!("; one message of {many} is shown"),
        };
        let title =
            format!("{} ranks under {}{sampled}", self.recording.ranks, self.recording.protocol);
        self.text((8.0, 20.0), "font-size=\"14\" fill=\"#1f2933\"", &title);
        let tips: String = [
            ("tip", MESSAGE),
            ("again-tip", AGAIN),
            ("marker-tip", MARKER),
            ("held-tip", HELD),
            ("event-tip", EVENT),
        ]
        .iter()
        .map(|(id, color)| {
            format!(
                "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
                 markerHeight=\"7\" orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" fill=\"{color}\"/></marker>"
            )
        })
        .collect();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {:.0}\" width=\"{width:.0}\" \
             height=\"{:.0}\" font-family=\"Helvetica, Arial, sans-serif\" role=\"img\">\n\
             <title>{}</title>\n<defs>{tips}</defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            y + 32.0,
            y + 32.0,
            escaped(&title),
            self.out
        )
    }
}

/// Points that a lost message goes to the right.
const SHORT: f64 = 12.0;

#[cfg(test)]
mod tests {
    use super::super::recording::tests::example;
    use super::*;

    #[test]
    fn a_picture_has_all_that_happened_once_and_no_markup_of_others() {
        let recording = Recording::read(&example()).unwrap();
        let picture = svg(&recording);
        let count = |what: &str| picture.matches(what).count();
        assert_eq!(count("message 1 from rank 0"), 2);
        assert_eq!(count("stroke=\"#c45f00\" stroke-width=\"1.3\""), 1, "the second is a repeat");
        assert_eq!(count("killed by &lt;9&gt;"), 1);
        assert!(!picture.contains("<9>"));
        assert_eq!(count("rank 1: incarnation 1<"), 1);
        assert_eq!(count(">image 1<"), 2, "its title and its label");
        assert_eq!(count("1 determinant of rank 1"), 1);
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
        assert!(!picture.contains("NaN") && !picture.contains("inf\""));
    }

    #[test]
    fn a_part_without_messages_is_drawn_as_well() {
        let recording = Recording::read(&example()).unwrap().between(480.0, 500.0);
        assert!(svg(&recording).contains("rank 1, incarnation 1: starting, restoring"));
    }
}

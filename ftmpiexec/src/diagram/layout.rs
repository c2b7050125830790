//! Where moments lie in a diagram.
//!
//! Messages take microseconds and restarts half a second: on an axis of time messages would be
//! vertical lines. So each moment has a place of its own, further right than all earlier ones. The
//! distance of two neighbours grows with the logarithm of the time between them, and an arrow is at
//! least so long that it slants.

use super::recording::{Arrow, Moment};

/// Points between two neighbouring moments at the least.
const STEP: f64 = 5.0;
/// Points more for each power of ten of microseconds between them.
const STEP_OF_TEN: f64 = 6.0;
/// Points that an arrow goes to the right at the least, and for each row that it crosses.
const SLANT: f64 = 10.0;
const SLANT_OF_ROW: f64 = 9.0;

/// Moments, ascending, and the place of each.
#[derive(Debug)]
pub struct Axis {
    moments: Vec<Moment>,
    places: Vec<f64>,
}

impl Axis {
    /// For these moments and the ends of these arrows.
    pub fn new(mut moments: Vec<Moment>, arrows: &[Arrow]) -> Self {
        moments.extend(arrows.iter().flat_map(|arrow| [arrow.sent, arrow.received]));
        moments.retain(|at| at.is_finite());
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let mut ends: Vec<&Arrow> = arrows.iter().collect();
        ends.sort_by(|a, b| a.received.total_cmp(&b.received));
        let mut axis = Self { places: Vec::with_capacity(moments.len()), moments };
        let (mut next, mut before) = (0, None);
        for at in axis.moments.clone() {
            let mut place = before.map_or(0.0, |(earlier, place): (Moment, f64)| {
                place + STEP + STEP_OF_TEN * (1.0 + at - earlier).log10()
            });
            while let Some(arrow) = ends.get(next).filter(|arrow| arrow.received <= at) {
                if arrow.sent < arrow.received {
                    let rows = arrow.from.abs_diff(arrow.to) as f64;
                    place = place.max(axis.place(arrow.sent) + SLANT + SLANT_OF_ROW * rows);
                }
                next += 1;
            }
            axis.places.push(place);
            before = Some((at, place));
        }
        axis
    }

    /// The place of a moment; the next one's for a moment that has none.
    pub fn place(&self, at: Moment) -> f64 {
        let index = self.moments.partition_point(|moment| *moment < at);
        let last = self.places.last().copied().unwrap_or(0.0);
        self.places.get(index).copied().unwrap_or(last)
    }

    /// The place of the last moment.
    pub fn width(&self) -> f64 {
        self.places.last().copied().unwrap_or(0.0)
    }

    /// Moments that are so far apart at the least, for labels.
    pub fn labels(&self, apart: f64) -> Vec<(Moment, f64)> {
        let mut labels: Vec<(Moment, f64)> = Vec::new();
        for (at, place) in self.moments.iter().zip(&self.places) {
            if labels.last().is_none_or(|(_, last)| place - last >= apart) {
                labels.push((*at, *place));
            }
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow((from, sent): (usize, f64), (to, received): (usize, f64)) -> Arrow {
        Arrow { from, to, sent, received, number: 1, bytes: 8, marker: false, held: false }
    }

    #[test]
    fn places_follow_times_and_arrows_slant() {
        let arrows = [
            arrow((0, 100.0), (3, 103.0)),
            arrow((1, 101.0), (0, 102.0)),
            arrow((2, 5e6), (0, 6e6)),
        ];
        let axis = Axis::new(vec![0.0, 1e7], &arrows);
        let mut last = -1.0;
        for at in [0.0, 100.0, 101.0, 102.0, 103.0, 5e6, 6e6, 1e7] {
            let place = axis.place(at);
            assert!(place > last, "{at}");
            last = place;
        }
        for arrow in arrows {
            let rows = arrow.from.abs_diff(arrow.to) as f64;
            let slant = axis.place(arrow.received) - axis.place(arrow.sent);
            assert!(slant >= SLANT + SLANT_OF_ROW * rows, "{arrow:?} {slant}");
        }
        assert!(axis.place(5e6) - axis.place(103.0) < 100.0, "long times do not take all the room");
        let labels = axis.labels(30.0);
        assert!(labels.windows(2).all(|two| two[1].1 - two[0].1 >= 30.0));
    }
}

//! `ftmpi-sim scale`: how a protocol's cost grows with the number of ranks, over a stated network.
//!
//! Two cores cannot run a hundred thousand ranks, but they can run the protocol machines of a few
//! hundred. [`exchange`] drives the same machines (protocol and event logger, without the engine)
//! on simulated time, and counts. Each step is a halo exchange and an allreduce. Then one rank
//! dies, and the machines recover its events. What only depends on bytes and bandwidths (images,
//! the work that is done again) is computed from the [`Model`]. Beyond the sizes that are run, each
//! column is continued along the power law of its last two sizes, and its rows say so.
//!
//! Where a logger gets more than its rate, its answers come later and later. Everything that waits
//! for them or travels instead of them then grows without bound. The table shows that, and the
//! power law then says only that it does not scale.
//!
//! What the model leaves out: matching, images during the exchange (so nothing is collected, and
//! what is held grows with the steps), and contention except on each rank's link and at the
//! loggers.

pub mod arguments;
pub mod exchange;
pub mod faults;
mod measured;
pub mod model;
mod nodes;
pub mod report;
#[cfg(test)]
mod tests;

use crate::protocol_config::Variant;
use measured::Measured;
use model::Model;

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The machines ran at this size.
    Machines,
    /// The power law of the two largest sizes that were run.
    Extrapolated,
}

/// What a number of ranks costs under a protocol. What a protocol does not have is 0.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Under which.
    pub variant: Variant,
    /// So many ranks.
    pub ranks: u32,
    /// Run or continued.
    pub origin: Origin,
    /// Bytes put before a message, on average.
    pub piggyback_bytes: f64,
    /// Time from the moment at which a message could leave without the protocol to that at which it
    /// left, on average, in microseconds.
    pub gate_us: f64,
    /// Time of a step, in milliseconds.
    pub step_ms: f64,
    /// The same against one without a protocol.
    pub slowdown: f64,
    /// Determinants that reach the event loggers in a second.
    pub logger_events: f64,
    /// Bytes that the loggers send to the ranks in a second.
    pub clock_bytes: f64,
    /// Events of others that a rank holds, on average, after [`Model::steps`] steps.
    pub held_events: f64,
    /// Payload that a rank logs in a second, in bytes.
    pub logged: f64,
    /// From the order of a wave until every rank may take its image, in milliseconds.
    pub wave_ms: f64,
    /// From the restart of one rank until it knows what it is to repeat, in milliseconds.
    pub events_ms: f64,
    /// Bytes that this moved.
    pub events_bytes: f64,
    /// From a failure until the work that it cost is done again, in seconds, on average: images of
    /// those that return, events, half an interval.
    pub recovery_s: f64,
    /// Work done again, in rank-hours.
    pub rework_h: f64,
}

/// Sizes in powers of four from 16 on, the last at most `most`.
#[must_use]
pub fn sizes(most: u32) -> Vec<u32> {
    (2..16).map(|power| 4u32.pow(power)).take_while(|&ranks| ranks <= most).collect()
}

/// One protocol at all these sizes: up to `run` ranks by the machines.
///
/// # Panics
/// If fewer than two sizes are run while others are to be continued.
#[must_use]
pub fn grow(variant: Variant, sizes: &[u32], run: u32, model: &Model) -> Vec<Row> {
    let mut measured: Vec<(u32, Measured)> = Vec::new();
    let mut rows = Vec::new();
    for &ranks in sizes {
        let (measured, origin) = if ranks <= run {
            let plain = exchange::run(None, ranks, model);
            let mut here = exchange::run(Some(variant), ranks, model);
            here.slowdown = here.step_s / plain.step_s;
            measured.push((ranks, here));
            (here, Origin::Machines)
        } else {
            (continued(&measured, ranks), Origin::Extrapolated)
        };
        rows.push(row(variant, ranks, origin, &measured, model));
    }
    rows
}

/// Every column along the power law of the two largest sizes.
fn continued(measured: &[(u32, Measured)], ranks: u32) -> Measured {
    let [.., (n, before), (m, last)] = measured else { panic!("two sizes are needed") };
    let steps = f64::from(ranks / m).log(f64::from(m / n));
    last.zip(before, |last, before| {
        if last <= 0.0 || before <= 0.0 { last } else { last * (last / before).powf(steps) }
    })
}

/// How many ranks return to an image after one fault.
fn returning(variant: Variant, ranks: u32, model: &Model) -> u32 {
    match variant {
        _ if variant.is_coordinated() => ranks,
        _ if variant.has_clusters() => ranks.min(model.cluster),
        _ => 1,
    }
}

fn row(variant: Variant, ranks: u32, origin: Origin, m: &Measured, model: &Model) -> Row {
    let returning = returning(variant, ranks, model);
    let repeated = model.image_interval_s / 2.0;
    let (n, back) = (f64::from(ranks), f64::from(returning));
    Row {
        variant,
        ranks,
        origin,
        piggyback_bytes: m.piggyback_bytes,
        gate_us: m.gate_us,
        step_ms: m.step_s * 1e3,
        slowdown: m.slowdown,
        logger_events: m.events_per_step * n / m.step_s,
        clock_bytes: m.clocks_per_step * n / m.step_s,
        held_events: m.held_events,
        logged: m.logged_per_step / m.step_s,
        wave_ms: m.wave_ms,
        events_ms: m.events_ms,
        events_bytes: m.events_bytes,
        recovery_s: model.images_s(ranks, returning) + m.events_ms / 1e3 + repeated,
        rework_h: back * repeated / 3600.0,
    }
}

//! What the command line of `ftmpi-sim scale` says: sizes, the model, and the files to write.

use super::model::Model;
use crate::protocol_config::Variant;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `ftmpi-sim scale`. Sizes are bytes with K, M or G (powers of 1000) and times have
/// ns, us, ms, s, m, h or d behind them.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The largest number of ranks.
    #[arg(long, default_value_t = 1 << 18)]
    pub most: u32,
    /// Only these numbers of ranks, powers of two, instead of powers of four from 16 on.
    #[arg(long, value_delimiter = ',', value_parser = power_of_two)]
    pub sizes: Vec<u32>,
    /// Up to so many ranks the protocol machines are run; beyond, the rows are continued.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(2..))]
    pub run: u32,
    /// Only this protocol.
    #[arg(long)]
    pub protocol: Option<Variant>,
    /// Also what faults leave of the time, for each of these times between two faults of one rank.
    #[arg(long, value_delimiter = ',', value_parser = time, value_name = "TIMES")]
    pub mtbf: Vec<Duration>,
    /// Also as comma-separated values.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The values under faults, comma-separated.
    #[arg(long, value_name = "FILE", requires = "mtbf")]
    pub faults_csv: Option<PathBuf>,
    /// Also as curves.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArguments,
}

/// What differs from the usual model.
#[derive(Args, Debug)]
struct ModelArguments {
    /// From the end of sending to the begin of receiving.
    #[arg(long, value_parser = time, value_name = "TIME")]
    latency: Option<Duration>,
    /// What a frame costs its receiver in addition to its bytes.
    #[arg(long, value_parser = time, value_name = "TIME")]
    frame: Option<Duration>,
    /// Bytes per second of each link.
    #[arg(long, value_parser = size, value_name = "BYTES")]
    bandwidth: Option<f64>,
    /// Computing between two exchanges.
    #[arg(long, value_parser = time, value_name = "TIME")]
    step: Option<Duration>,
    /// Steps of the program.
    #[arg(long)]
    steps: Option<u32>,
    /// Payload for each neighbour.
    #[arg(long, value_parser = size, value_name = "BYTES")]
    payload: Option<f64>,
    /// Determinants that one event logger stores in a second.
    #[arg(long)]
    logger_rate: Option<f64>,
    /// Ranks of one event logger and of one checkpoint server.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    per_server: Option<u32>,
    /// Ranks of a cluster of `hierarchical`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    cluster: Option<u32>,
    /// Bytes of the image of one rank.
    #[arg(long, value_parser = size, value_name = "BYTES")]
    image: Option<f64>,
    /// From one image of a rank to the next.
    #[arg(long, value_parser = time, value_name = "TIME")]
    interval: Option<Duration>,
}

impl Arguments {
    /// The model.
    #[must_use]
    pub fn model(&self) -> Model {
        let (given, usual) = (&self.model, Model::default());
        let nanos = |time: Option<Duration>, usual: u64| {
            time.map_or(usual, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        };
        Model {
            latency_ns: nanos(given.latency, usual.latency_ns),
            frame_ns: nanos(given.frame, usual.frame_ns),
            bandwidth: given.bandwidth.unwrap_or(usual.bandwidth),
            compute_ns: nanos(given.step, usual.compute_ns),
            payload: given.payload.map_or(usual.payload, |bytes| bytes as u64),
            steps: given.steps.unwrap_or(usual.steps),
            logger_rate: given.logger_rate.unwrap_or(usual.logger_rate),
            per_server: given.per_server.unwrap_or(usual.per_server),
            cluster: given.cluster.unwrap_or(usual.cluster),
            image: given.image.unwrap_or(usual.image),
            image_interval_s: given
                .interval
                .map_or(usual.image_interval_s, |time| time.as_secs_f64()),
            ..usual
        }
    }

    /// The numbers of ranks, in order.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() { super::sizes(self.most) } else { sizes }
    }
}

fn power_of_two(text: &str) -> Result<u32, String> {
    let ranks: u32 = text.parse().map_err(|_| "this is no number of ranks".to_owned())?;
    if ranks > 1 && ranks.is_power_of_two() {
        Ok(ranks)
    } else {
        Err("the exchange needs a power of two, at least 2".to_owned())
    }
}

fn number(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let letters = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (value, unit) = text.split_at(letters);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    value.parse::<f64>().ok().filter(|value| *value > 0.0).map(|value| value * factor)
}

fn size(text: &str) -> Result<f64, String> {
    let units = [("", 1.0), ("K", 1e3), ("M", 1e6), ("G", 1e9)];
    number(text, &units).ok_or_else(|| "a size is a number with K, M or G, such as 4M".to_owned())
}

/// A time on the command line.
///
/// # Errors
/// If the text is none.
pub fn time(text: &str) -> Result<Duration, String> {
    let units = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86400.0),
    ];
    number(text, &units)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "a time is a number with ns, us, ms, s, m, h or d, such as 20us".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_need_numbers_above_zero_and_known_units() {
        assert_eq!(size("12.5M"), Ok(12.5e6));
        assert_eq!(time("1.5h"), Ok(Duration::from_secs(5400)));
        assert!(["0", "-1M", "4X", "M", ""].iter().all(|text| size(text).is_err()));
        assert!(["5", "0s", "2y"].iter().all(|text| time(text).is_err()));
        assert_eq!(power_of_two("512"), Ok(512));
        assert!(["0", "1", "400", "x"].iter().all(|text| power_of_two(text).is_err()));
    }
}

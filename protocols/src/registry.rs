//! The protocols by name: adding one means one module and one line here.

use crate::causal::{self, Causal, Piggyback};
use crate::channel_memory;
use crate::coordinated::{self, Coordinated};
use crate::hierarchical::{self, Hierarchical};
use crate::optimistic::{self, Optimistic, Tracking};
use crate::{none::None as NoProtocol, pessimistic::Pessimistic, protocol::Protocol};
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::{Incarnation, Rank};

/// Makes the protocol that the configuration names, for rank `me` of a job in which the ranks have
/// these lives; `None` if there is no such protocol or it has no such setting.
#[must_use]
pub fn make(config: &ProtocolConfig, me: Rank, lives: &[Incarnation]) -> Option<Box<dyn Protocol>> {
    let (all, clock) = (config.events == Events::All, config.log_wtime);
    Some(match config.name.as_str() {
        "none" => Box::new(NoProtocol),
        "pessimistic" => Box::new(Pessimistic::new(all, clock)),
        "channel-memory" => Box::new(channel_memory::protocol(all, clock)),
        "causal" => Box::new(Causal::new(causal_settings(config)?, me, lives)),
        "optimistic" => {
            let tracking = match config.setting("tracking") {
                Some(name) => Tracking::named(name)?,
                None => Tracking::default(),
            };
            Box::new(Optimistic::new(optimistic::Settings { all, clock, tracking }, me, lives))
        }
        "coordinated" => waves(config),
        "hierarchical" => {
            let clusters = clusters(config, lives.len())?;
            let name = config.setting(hierarchical::BETWEEN).unwrap_or("pessimistic").to_owned();
            if !BETWEEN.contains(&name.as_str()) {
                return None;
            }
            let between = make(&ProtocolConfig { name, ..config.clone() }, me, lives)?;
            Box::new(Hierarchical::new(waves(config), between, me, &clusters))
        }
        _ => return None,
    })
}

fn waves(config: &ProtocolConfig) -> Box<dyn Protocol> {
    match config.setting(coordinated::WAVE) {
        Some(coordinated::NONBLOCKING) => {
            Box::new(Coordinated::new(coordinated::nonblocking::NonBlocking))
        }
        _ => Box::new(Coordinated::new(coordinated::blocking::Blocking)),
    }
}

/// The setting of a protocol from elsewhere that says what happens after a failure; any other value, or
/// none: the failed rank is started again.
pub const RECOVERY: &str = "recovery";
/// Nothing.
pub const RECOVERY_NONE: &str = "none";
/// All ranks return to the last complete wave.
pub const RECOVERY_WAVES: &str = "waves";

/// Whether a job survives the death of a rank.
#[must_use]
pub fn is_fault_tolerant(config: &ProtocolConfig) -> bool {
    config.name != "none" && config.setting(RECOVERY) != Some(RECOVERY_NONE)
}

/// Whether what a rank did is repeated from its log after a failure.
#[must_use]
pub fn replays(config: &ProtocolConfig) -> bool {
    is_fault_tolerant(config)
        && config.name != "coordinated"
        && config.setting(RECOVERY) != Some(RECOVERY_WAVES)
}

/// The cluster of each of `size` ranks, if they take their images in waves and return together.
#[must_use]
pub fn clusters(config: &ProtocolConfig, size: usize) -> Option<Vec<u32>> {
    match config.name.as_str() {
        "coordinated" => Some(vec![0; size]),
        "hierarchical" => hierarchical::decode(config.setting(hierarchical::CLUSTER)?, size),
        _ if config.setting(RECOVERY) == Some(RECOVERY_WAVES) => Some(vec![0; size]),
        _ => None,
    }
}

fn causal_settings(config: &ProtocolConfig) -> Option<causal::Settings> {
    let piggyback = match config.setting("piggyback") {
        Some(name) => Piggyback::named(name)?,
        None => Piggyback::default(),
    };
    Some(causal::Settings {
        all: config.events == Events::All,
        clock: config.log_wtime,
        piggyback,
        logger: config.uses_logger(),
        carry: config.setting("stable-vector") == Some("piggyback"),
    })
}

/// All names, for help texts.
pub const NAMES: &[&str] = &[
    "none",
    "channel-memory",
    "pessimistic",
    "causal",
    "optimistic",
    "coordinated",
    "hierarchical",
];

/// Those that may log between clusters.
pub const BETWEEN: &[&str] = &["pessimistic", "causal", "optimistic"];

//! The protocols by name, and the facts about each. A new protocol is one module and one line here.

use crate::causal::{self, Causal, Piggyback};
use crate::channel_memory;
use crate::coordinated::{self, Coordinated};
use crate::hierarchical::{self, Hierarchical};
use crate::optimistic::{self, Optimistic, Tracking};
use crate::{none::None as NoProtocol, pessimistic::Pessimistic, protocol::Protocol};
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::new_processes::World;
use ftmpi_wire::{Incarnation, Logging, ProtocolTraits, Rank, Recovery};

/// Makes the protocol that the configuration names, for rank `me` of a job whose ranks have these
/// incarnations. `None` if there is no such protocol, or it has no such setting.
#[must_use]
pub fn make(
    config: &ProtocolConfig,
    me: Rank,
    incarnations: &[Incarnation],
) -> Option<Box<dyn Protocol>> {
    let (all, clock) = (config.events == Events::All, config.log_wtime);
    Some(match config.name.as_str() {
        "none" => Box::new(NoProtocol),
        "pessimistic" | REPLICATED => Box::new(Pessimistic::new(all, clock)),
        "channel-memory" => Box::new(channel_memory::protocol(all, clock)),
        "causal" => Box::new(Causal::new(causal_settings(config)?, me, incarnations)),
        "optimistic" => {
            let tracking = match config.setting("tracking") {
                Some(name) => Tracking::named(name)?,
                None => Tracking::default(),
            };
            Box::new(Optimistic::new(
                optimistic::Settings { all, clock, tracking },
                me,
                incarnations,
            ))
        }
        "coordinated" => waves(config),
        "hierarchical" => {
            let clusters = clusters(config, incarnations.len())?;
            let name = between(config).to_owned();
            if !BETWEEN.contains(&name.as_str()) {
                return None;
            }
            let between = make(&ProtocolConfig { name, ..config.clone() }, me, incarnations)?;
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

/// The setting of a library's protocol that names its recovery. Any other value, or none: the
/// failed rank is started again.
pub const RECOVERY: &str = "recovery";
/// The job ends.
pub const RECOVERY_NONE: &str = "none";
/// All ranks return to the last complete wave.
pub const RECOVERY_WAVES: &str = "waves";
/// The setting that says whether determinants go to an event logger.
pub const EVENT_LOGGER: &str = "event-logger";
/// They do not.
pub const OFF: &str = "off";
/// `pessimistic` with a standby of each rank. To a rank there is no difference; the launcher has
/// the standbys made.
pub const REPLICATED: &str = "replicated";

/// The facts about the protocol that the configuration names; see [`ProtocolTraits`].
#[must_use]
pub fn traits(config: &ProtocolConfig) -> ProtocolTraits {
    let name = config.name.as_str();
    let recovery = match (name, config.setting(RECOVERY)) {
        ("none", _) | (_, Some(RECOVERY_NONE)) => Recovery::None,
        ("coordinated", _) | (_, Some(RECOVERY_WAVES)) => Recovery::Waves,
        ("hierarchical", _) => Recovery::ClusterWaves,
        _ => Recovery::Restart,
    };
    let has_logger = !matches!(name, "none" | "coordinated");
    let between = (name == "hierarchical").then(|| between(config));
    ProtocolTraits {
        recovery,
        logger: has_logger && config.setting(EVENT_LOGGER) != Some(OFF),
        memory: name == "channel-memory",
        logging: logging(between.unwrap_or(name)),
    }
}

fn logging(name: &str) -> Logging {
    match name {
        "pessimistic" | REPLICATED | "channel-memory" => Logging::Pessimistic,
        "causal" => Logging::Causal,
        "optimistic" => Logging::Optimistic,
        "none" | "coordinated" => Logging::None,
        _ => Logging::Library,
    }
}

/// The cluster of each of `size` ranks, if they take their images in waves and return together.
#[must_use]
pub fn clusters(config: &ProtocolConfig, size: usize) -> Option<Vec<u32>> {
    match traits(config).recovery {
        Recovery::Waves => Some(vec![0; size]),
        Recovery::ClusterWaves => {
            hierarchical::decode(config.setting(hierarchical::CLUSTER)?, size)
        }
        Recovery::None | Recovery::Restart => None,
    }
}

/// Processes join the job: where ranks return in clusters, they are one of their own.
pub fn take_in(config: &mut ProtocolConfig, world: World) {
    let (returns, size) = (traits(config).recovery, world.first as usize);
    let mut settings = config.settings.iter_mut();
    if let Some((_, clusters)) = settings.find(|(name, _)| name == hierarchical::CLUSTER)
        && returns == Recovery::ClusterWaves
        && let Some(more) = hierarchical::joined_by(clusters, size, world)
    {
        *clusters = more;
    }
}

fn between(config: &ProtocolConfig) -> &str {
    config.setting(hierarchical::BETWEEN).unwrap_or("pessimistic")
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
        logger: config.setting(EVENT_LOGGER) != Some(OFF),
        carry: config.setting("stable-vector") == Some("piggyback"),
    })
}

/// All names, for help texts.
pub const NAMES: &[&str] = &[
    "none",
    "channel-memory",
    "pessimistic",
    REPLICATED,
    "causal",
    "optimistic",
    "coordinated",
    "hierarchical",
];

/// Those that may log between clusters.
pub const BETWEEN: &[&str] = &["pessimistic", "causal", "optimistic"];

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, settings: &[(&str, &str)]) -> ProtocolConfig {
        let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        ProtocolConfig {
            name: name.into(),
            events: Events::All,
            log_wtime: true,
            settings: settings.collect(),
        }
    }

    #[test]
    fn a_library_in_waves_has_the_traits_of_the_coordinated_protocol() {
        let library = config("plugin", &[(RECOVERY, RECOVERY_WAVES), (EVENT_LOGGER, OFF)]);
        let coordinated = config("coordinated", &[]);
        let promises = ProtocolTraits { logging: Logging::None, ..traits(&library) };
        assert_eq!(promises, traits(&coordinated));
        assert_eq!(clusters(&library, 3), clusters(&coordinated, 3));
        assert!(traits(&library).gives_up_newer_images());
    }

    #[test]
    fn processes_that_join_are_a_cluster_where_there_are_clusters() {
        let world = World { first: 3, size: 2, parent: Some(Rank(0)) };
        let mut all = config("hierarchical", &[(hierarchical::CLUSTER, "2")]);
        take_in(&mut all, world);
        assert_eq!(clusters(&all, 5), Some(vec![0, 0, 1, 3, 3]));
        let mut none = config("pessimistic", &[]);
        take_in(&mut none, world);
        assert_eq!(none, config("pessimistic", &[]));
    }

    #[test]
    fn traits_follow_from_names_and_settings() {
        let of = |name: &str, settings: &[(&str, &str)]| traits(&config(name, settings));
        assert_eq!(of("none", &[]), ProtocolTraits::NONE);
        let restart = |logging| ProtocolTraits {
            recovery: Recovery::Restart,
            logger: true,
            logging,
            ..ProtocolTraits::NONE
        };
        let pessimistic = restart(Logging::Pessimistic);
        let causal = restart(Logging::Causal);
        assert_eq!(of("pessimistic", &[]), pessimistic);
        assert_eq!(of(REPLICATED, &[]), pessimistic);
        assert_eq!(of("channel-memory", &[]), ProtocolTraits { memory: true, ..pessimistic });
        assert_eq!(of("causal", &[]), causal);
        assert_eq!(of("optimistic", &[]), restart(Logging::Optimistic));
        let alone = of("causal", &[(EVENT_LOGGER, OFF)]);
        assert_eq!(alone, ProtocolTraits { logger: false, ..causal });
        assert!(alone.gives_up_newer_images() && !causal.gives_up_newer_images());
        let clusters = ProtocolTraits { recovery: Recovery::ClusterWaves, ..pessimistic };
        assert_eq!(of("hierarchical", &[]), clusters);
        let between = of("hierarchical", &[(hierarchical::BETWEEN, "causal")]);
        assert!(!between.is_pessimistic() && between.tracks_other_ranks());
        let library = of("plugin", &[(RECOVERY, "restart")]);
        assert_eq!(library, restart(Logging::Library), "a library promises nothing");
        assert_eq!(of("plugin", &[(RECOVERY, RECOVERY_NONE)]).recovery, Recovery::None);
    }
}

//! The protocol and its settings, checked: a setting of another protocol is an error, not ignored.

use super::effects;
use super::errors::PlanError;
use super::protocol_choice::{AUTO, Choice, Facts, choose};
use crate::machine::Machine;
use ftmpi_options::choices::{EventsChoice, StableVectorChoice, Switch, WtimeChoice, name_of};
use ftmpi_options::ftmpiexec::Cli;
use ftmpi_plugin::host::{Library, PLUGIN};
use ftmpi_plugin::table;
use ftmpi_protocols::{hierarchical, registry};
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::{Logging, ProtocolTraits, Recovery};
use std::path::Path;

/// The choice of `--protocol auto`; `None`: the command line names a protocol.
pub fn choice(cli: &Cli, facts: impl FnOnce() -> Facts) -> Option<Choice> {
    (cli.fault_tolerance.protocol == AUTO).then(|| choose(&facts()))
}

/// The protocol that the command line wants, or the one that was chosen for it, for ranks on these
/// hosts; `given` are the fields that this command line sets.
///
/// # Errors
/// It has no such setting, or its library cannot be used.
pub fn config(
    cli: &Cli,
    given: &[&str],
    placement: &[u32],
    choice: Option<&Choice>,
) -> Result<ProtocolConfig, PlanError> {
    let wanted = &cli.fault_tolerance;
    let mut settings = Vec::new();
    let asked = choice.map_or(wanted.protocol.as_str(), |choice| &choice.name);
    let name = match asked.strip_prefix("plugin:") {
        Some(file) => {
            settings = of_library(Path::new(file))?;
            PLUGIN
        }
        None => asked,
    };
    for (setting, value) in [
        ("piggyback", wanted.piggyback.map(name_of)),
        (registry::EVENT_LOGGER, wanted.event_logger.map(name_of)),
        ("channel-memories", wanted.channel_memories.map(|n| n.to_string())),
        ("memory-limit", wanted.memory_limit.map(|mib| mib.to_string())),
        ("tracking", wanted.tracking.map(name_of)),
        ("wave", wanted.wave.map(name_of)),
        (hierarchical::BETWEEN, wanted.between.map(name_of)),
    ] {
        settings.extend(value.map(|value| (setting.to_owned(), value)));
    }
    let mut config = ProtocolConfig {
        name: name.to_owned(),
        events: match wanted.events {
            EventsChoice::All => Events::All,
            EventsChoice::Nondeterministic => Events::Nondeterministic,
        },
        log_wtime: wanted.wtime == WtimeChoice::Log,
        settings,
    };
    let clusters = clusters(cli, registry::traits(&config), placement)?;
    config.settings.extend(clusters.map(|value| (hierarchical::CLUSTER.to_owned(), value)));
    // What never takes images has them off.
    let off = |field: &&&str| **field == "ckpt" && cli.checkpoints.ckpt == Switch::Off;
    let given: Vec<&str> = given.iter().filter(|field| !off(field)).copied().collect();
    match choice {
        Some(_) => effects::check(&given, &config).map_err(PlanError::under_auto)?,
        None => effects::check(&given, &config)?,
    }
    Ok(config)
}

/// The facts about the protocol that the command line wants.
///
/// # Errors
/// As [`config`].
pub fn traits(cli: &Cli) -> Result<ProtocolTraits, PlanError> {
    let choice = choice(cli, || Facts::of(cli, &[], &[], &[], &[], &[]));
    Ok(registry::traits(&config(cli, &[], &[], choice.as_ref())?))
}

/// How many event loggers start here. Adds to the protocol when they acknowledge, and how ranks
/// learn what they have stored.
///
/// # Errors
/// There is nothing to spread, or this protocol does not allow it.
pub fn event_loggers(
    cli: &Cli,
    machines: &[Machine],
    protocol: &mut ProtocolConfig,
) -> Result<u32, PlanError> {
    let wanted = &cli.fault_tolerance;
    let placed = machines.iter().filter(|machine| machine.event_logger.is_some()).count();
    if wanted.event_loggers.is_some() && placed > 0 {
        return Err(PlanError::Placed("--event-loggers"));
    }
    if let Some(when) = wanted.acknowledge {
        protocol.settings.push(("acknowledge".to_owned(), name_of(when)));
    }
    let here = wanted.event_loggers.unwrap_or(1);
    let several = placed > 1 || here > 1;
    let traits = registry::traits(protocol);
    let spreads = several && traits.tracks_other_ranks();
    if wanted.stable_vector.is_some() && !(spreads && traits.logger) {
        return Err(PlanError::OneLogger);
    }
    if spreads {
        let choice = wanted.stable_vector.unwrap_or(StableVectorChoice::Loggers);
        if traits.logging == Logging::Optimistic && choice == StableVectorChoice::Piggyback {
            return Err(PlanError::PiggybackStableVector);
        }
        protocol.settings.push(("stable-vector".to_owned(), name_of(choice)));
    }
    Ok(here)
}

/// The settings that follow from the table of a library.
fn of_library(file: &Path) -> Result<Vec<(String, String)>, PlanError> {
    let wrong = |what: String| PlanError::Plugin { file: file.to_owned(), what };
    let real = file.canonicalize().map_err(|error| wrong(error.to_string()))?;
    let library = Library::load(&real).map_err(|error| wrong(error.to_string()))?;
    let mut settings = vec![(PLUGIN.to_owned(), real.display().to_string())];
    let recovery = match library.recovery {
        table::Recovery::None => registry::RECOVERY_NONE,
        table::Recovery::Restart => "restart",
        table::Recovery::Waves => registry::RECOVERY_WAVES,
    };
    settings.push((registry::RECOVERY.to_owned(), recovery.to_owned()));
    settings.push(("name".to_owned(), library.name.to_owned()));
    if !library.logger {
        settings.push((registry::EVENT_LOGGER.to_owned(), registry::OFF.to_owned()));
    }
    Ok(settings)
}

/// Which ranks form a cluster, as the setting has it. Ranks that move to another host later stay in
/// their cluster.
fn clusters(
    cli: &Cli,
    traits: ProtocolTraits,
    placement: &[u32],
) -> Result<Option<String>, PlanError> {
    let of_hosts = || Some(hierarchical::encode(placement));
    Ok(match &cli.fault_tolerance.cluster {
        None if traits.recovery != Recovery::ClusterWaves => None,
        None => of_hosts(),
        Some(host) if host == "host" => of_hosts(),
        Some(ranks) if ranks.parse::<u32>().is_ok_and(|ranks| ranks > 0) => Some(ranks.clone()),
        Some(other) => {
            let what = format!(
                "`{other}` is not a kind of cluster; write host, or a number of consecutive ranks"
            );
            return Err(PlanError::value("--cluster", what));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_options::choices::PROTOCOLS;
    use ftmpi_options::ftmpiexec::{CommandLine, read};

    fn line(text: &str) -> CommandLine {
        read(text.split_whitespace().map(str::to_owned).collect()).expect("it can be read")
    }

    fn of(text: &str) -> Result<ProtocolConfig, PlanError> {
        on(text, &[0, 0, 1, 1])
    }

    fn on(text: &str, placement: &[u32]) -> Result<ProtocolConfig, PlanError> {
        let line = line(text);
        let facts = || Facts::of(&line.cli, &line.given(), placement, &[], &[], &[]);
        config(&line.cli, &line.given(), placement, choice(&line.cli, facts).as_ref())
    }

    #[test]
    fn the_table_of_options_has_the_protocols_that_there_are() {
        let mut there: Vec<&str> = PROTOCOLS.iter().map(|(name, _)| *name).collect();
        let mut known = [registry::NAMES, &["plugin:FILE", AUTO]].concat();
        there.sort_unstable();
        known.sort_unstable();
        assert_eq!(there, known);
    }

    #[test]
    fn auto_becomes_a_protocol_with_its_settings() {
        let several = of("x --protocol auto ./p").unwrap();
        assert_eq!(several.name, "hierarchical");
        assert_eq!(registry::clusters(&several, 4), Some(vec![0, 0, 1, 1]));
        let waves = on("x --protocol auto --wave nonblocking ./p", &[0; 4]).unwrap();
        assert_eq!(
            (waves.name.as_str(), waves.setting("wave")),
            ("coordinated", Some("nonblocking"))
        );
        let logged = on("x --protocol auto --events all ./p", &[0; 4]).unwrap();
        assert_eq!((logged.name.as_str(), logged.events), ("pessimistic", Events::All));
        let pairs = on("x --protocol auto --cluster 2 --between causal ./p", &[0; 4]).unwrap();
        assert_eq!(registry::clusters(&pairs, 4), Some(vec![0, 0, 1, 1]));
        for (line, says) in [
            (
                "--piggyback logon",
                "auto, which is coordinated here; drop it, or use it under --protocol causal",
            ),
            (
                "--between causal",
                "auto, which is coordinated here; drop it, or use it under --protocol hier",
            ),
            ("--tracking o2p", "use it under --protocol optimistic"),
            ("--memory-limit 4", "use it under --protocol channel-memory"),
            ("--wave blocking --events all", "auto, which is pessimistic here"),
        ] {
            let error =
                on(&format!("x --protocol auto {line} ./p"), &[0; 4]).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn clusters_are_hosts_or_numbers() {
        let clusters = |line: &str| registry::clusters(&of(line).unwrap(), 4);
        assert_eq!(clusters("x --protocol hierarchical ./p"), Some(vec![0, 0, 1, 1]));
        assert_eq!(clusters("x --protocol hierarchical --cluster 3 ./p"), Some(vec![0, 0, 0, 1]));
        assert_eq!(clusters("x --protocol coordinated ./p"), Some(vec![0; 4]));
        assert_eq!(clusters("x --protocol causal ./p"), None);
        let line = "x --protocol hierarchical --between causal --event-logger off ./p";
        assert!(!registry::traits(&of(line).unwrap()).logger);
        assert!(registry::traits(&of("x --protocol hierarchical ./p").unwrap()).logger);
    }

    #[test]
    fn several_event_loggers_and_what_they_know() {
        let of = |line: &str| {
            let line = self::line(line);
            let facts = || Facts::of(&line.cli, &line.given(), &[0, 0], &[], &[], &[]);
            let choice = choice(&line.cli, facts);
            let mut protocol = config(&line.cli, &line.given(), &[0, 0], choice.as_ref())?;
            let count = event_loggers(&line.cli, &[], &mut protocol)?;
            let spread = protocol.setting("stable-vector").map(str::to_owned);
            Ok::<_, PlanError>((count, spread))
        };
        let by = |choice: &str| Some(choice.to_owned());
        assert_eq!(of("x ./p").unwrap(), (1, None));
        assert_eq!(of("x --event-loggers 2 ./p").unwrap(), (2, None), "nobody needs to know");
        let causal = "x --protocol causal --event-loggers 2";
        assert_eq!(of(&format!("{causal} ./p")).unwrap(), (2, by("loggers")));
        let carried = of(&format!("{causal} --stable-vector piggyback ./p")).unwrap();
        assert_eq!(carried, (2, by("piggyback")));
        let optimistic = "x --protocol optimistic --event-loggers 3 --stable-vector";
        assert_eq!(of(&format!("{optimistic} broadcast ./p")).unwrap(), (3, by("broadcast")));
        for (line, says) in [
            (format!("{optimistic} piggyback ./p"), "use loggers or broadcast"),
            ("x --protocol causal --stable-vector loggers ./p".into(), "add --event-loggers 2"),
            ("x --event-loggers 2 --stable-vector loggers ./p".into(), "--protocol causal"),
            (
                "x --protocol none --event-loggers 2 ./p".into(),
                "--event-loggers has no effect under --protocol none",
            ),
            (
                "x --protocol coordinated --acknowledge durable ./p".into(),
                "--acknowledge has no effect",
            ),
        ] {
            let error = of(&line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn settings_belong_to_their_protocol() {
        let causal = of("x --protocol causal --piggyback logon --event-logger off ./p").unwrap();
        assert_eq!(causal.setting("piggyback"), Some("logon"));
        assert!(!registry::traits(&causal).logger);
        assert!(registry::traits(&of("x -protocol causal ./p").unwrap()).logger);
        let standard = of("x --protocol optimistic --tracking standard ./p").unwrap();
        assert_eq!(standard.setting("tracking"), Some("standard"));
        let line = "x --protocol hierarchical --between optimistic --tracking standard ./p";
        assert_eq!(of(line).unwrap().setting("tracking"), Some("standard"));
        for (line, says) in [
            ("x --piggyback logon ./p", "use it under --protocol causal"),
            ("x --tracking o2p ./p", "use it under --protocol optimistic"),
            ("x --protocol none --event-logger on ./p", "use it under --protocol causal"),
            ("x --protocol hierarchical --piggyback logon ./p", "use it under --protocol causal"),
            ("x --protocol hierarchical --cluster two ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --cluster 0 ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --tracking o2p ./p", "use it under --protocol optimistic"),
            ("x --protocol plugin:/no/such.so ./p", "/no/such.so"),
        ] {
            assert!(of(line).unwrap_err().to_string().contains(says), "{line}");
        }
    }
}

//! The protocol and its settings, checked: a setting of another protocol is an error, not ignored.

use super::{BetweenChoice, Cli, EventsChoice, Machine, StableVectorChoice, Switch, WtimeChoice};
use anyhow::{Context, bail};
use clap::ValueEnum;
use ftmpi_plugin::host::{Library, PLUGIN};
use ftmpi_plugin::table::Recovery;
use ftmpi_protocols::{hierarchical, registry};
use ftmpi_wire::control::{Events, ProtocolConfig};
use std::path::Path;

/// The protocol that the command line wants, for ranks on these hosts.
///
/// # Errors
/// There is none of that name, or it has no such setting.
pub fn config(cli: &Cli, placement: &[u32]) -> anyhow::Result<ProtocolConfig> {
    let name = cli.protocol.as_str();
    let mut settings = Vec::new();
    let name = match name.strip_prefix("plugin:") {
        Some(file) => {
            settings = of_library(Path::new(file))?;
            PLUGIN
        }
        None => name,
    };
    if name != PLUGIN && !registry::NAMES.contains(&name) {
        bail!("--protocol {name}: there is {}, plugin:FILE", registry::NAMES.join(", "));
    }
    let mut set = |option: &str, value: Option<String>, of: &str, also: bool| {
        let Some(value) = value else { return Ok(()) };
        if name != of && !also {
            bail!("--{option} belongs to --protocol {of}, and this is {name}");
        }
        settings.push((option.to_owned(), value));
        Ok(())
    };
    let clustered = name == "hierarchical";
    let causal_between = clustered && cli.between == Some(BetweenChoice::Causal);
    set("piggyback", cli.piggyback.map(name_of), "causal", causal_between)?;
    set("event-logger", cli.event_logger.map(name_of::<Switch>), "causal", causal_between)?;
    set("channel-memories", cli.channel_memories.map(|n| n.to_string()), "channel-memory", false)?;
    set("memory-limit", cli.memory_limit.map(|mib| mib.to_string()), "channel-memory", false)?;
    let optimistic_between = clustered && cli.between == Some(BetweenChoice::Optimistic);
    set("tracking", cli.tracking.map(name_of), "optimistic", optimistic_between)?;
    set("wave", cli.wave.map(name_of), "coordinated", clustered)?;
    set(hierarchical::BETWEEN, cli.between.map(name_of), "hierarchical", false)?;
    set(hierarchical::CLUSTER, clusters(cli, placement)?, "hierarchical", false)?;
    Ok(ProtocolConfig {
        name: name.to_owned(),
        events: match cli.events {
            EventsChoice::All => Events::All,
            EventsChoice::Nondeterministic => Events::Nondeterministic,
        },
        log_wtime: cli.wtime == WtimeChoice::Log,
        settings,
    })
}

/// How many event loggers are to be started here, and how what they know is spread.
///
/// # Errors
/// There is nothing to spread, or this protocol cannot have it so.
pub fn event_loggers(
    cli: &Cli,
    machines: &[Machine],
    protocol: &mut ProtocolConfig,
) -> anyhow::Result<u32> {
    let name = protocol.name.clone();
    let traits = registry::traits(protocol);
    let placed = machines.iter().filter(|machine| machine.event_logger.is_some()).count();
    if cli.event_loggers.is_some() && (placed > 0 || !traits.has_event_logger()) {
        match placed {
            0 => bail!("--event-loggers: --protocol {name} has none in this job"),
            _ => bail!("--event-loggers: the machine file places them"),
        }
    }
    if let Some(when) = cli.acknowledge {
        if !traits.has_event_logger() {
            bail!("--acknowledge: --protocol {name} has no event logger in this job");
        }
        protocol.settings.push(("acknowledge".to_owned(), name_of(when)));
    }
    let here = cli.event_loggers.unwrap_or(1);
    let several = placed > 1 || here > 1;
    let optimistic = name == "optimistic" || cli.between == Some(BetweenChoice::Optimistic);
    let needs = optimistic || name == "causal" || cli.between == Some(BetweenChoice::Causal);
    if cli.stable_vector.is_some() && !(several && needs && traits.logger) {
        bail!(
            "--stable-vector is for several event loggers (--event-loggers N) under --protocol causal, \
             optimistic, or hierarchical --between causal|optimistic"
        );
    }
    if several && needs {
        let way = cli.stable_vector.unwrap_or(StableVectorChoice::Loggers);
        if optimistic && way == StableVectorChoice::Piggyback {
            bail!(
                "--stable-vector piggyback: under optimistic logging a rank that waits for its image \
                 must hear what is written also while nobody sends to it: use loggers or broadcast"
            );
        }
        protocol.settings.push(("stable-vector".to_owned(), name_of(way)));
    }
    Ok(here)
}

/// What the table of a library says of its protocol.
fn of_library(file: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let about = || format!("--protocol plugin:{}", file.display());
    let file = file.canonicalize().with_context(about)?;
    let library = Library::load(&file).with_context(about)?;
    let mut settings = vec![(PLUGIN.to_owned(), file.display().to_string())];
    let recovery = match library.recovery {
        Recovery::None => registry::RECOVERY_NONE,
        Recovery::Restart => "restart",
        Recovery::Waves => registry::RECOVERY_WAVES,
    };
    settings.push((registry::RECOVERY.to_owned(), recovery.to_owned()));
    settings.push(("name".to_owned(), library.name.to_owned()));
    if !library.logger {
        settings.push((registry::EVENT_LOGGER.to_owned(), registry::OFF.to_owned()));
    }
    Ok(settings)
}

/// Which ranks form a cluster, as the setting has it. Ranks that move to another host later stay in
/// the cluster that they were in.
fn clusters(cli: &Cli, placement: &[u32]) -> anyhow::Result<Option<String>> {
    let of_hosts = || Some(hierarchical::encode(placement));
    Ok(match &cli.cluster {
        None if cli.protocol != "hierarchical" => None,
        None => of_hosts(),
        Some(host) if host == "host" => of_hosts(),
        Some(ranks) if ranks.parse::<u32>().is_ok_and(|ranks| ranks > 0) => Some(ranks.clone()),
        Some(other) => bail!("--cluster {other}: host, or a number of consecutive ranks"),
    })
}

fn name_of<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn of(line: &str) -> anyhow::Result<ProtocolConfig> {
        config(&parse(line.split_whitespace().map(str::to_owned).collect()).cli, &[0, 0, 1, 1])
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
            let line = line.split_whitespace().map(str::to_owned).collect();
            let cli = parse(line).cli;
            let mut protocol = config(&cli, &[0, 0])?;
            let count = event_loggers(&cli, &[], &mut protocol)?;
            let way = protocol.setting("stable-vector").map(str::to_owned);
            anyhow::Ok((count, way))
        };
        let way = |way: &str| Some(way.to_owned());
        assert_eq!(of("x ./p").unwrap(), (1, None));
        assert_eq!(of("x --event-loggers 2 ./p").unwrap(), (2, None), "nobody needs to know");
        let causal = "x --protocol causal --event-loggers 2";
        assert_eq!(of(&format!("{causal} ./p")).unwrap(), (2, way("loggers")));
        let carried = of(&format!("{causal} --stable-vector piggyback ./p")).unwrap();
        assert_eq!(carried, (2, way("piggyback")));
        let optimistic = "x --protocol optimistic --event-loggers 3 --stable-vector";
        assert_eq!(of(&format!("{optimistic} broadcast ./p")).unwrap(), (3, way("broadcast")));
        for (line, says) in [
            (format!("{optimistic} piggyback ./p"), "use loggers or broadcast"),
            ("x --protocol causal --stable-vector loggers ./p".into(), "--event-loggers N"),
            ("x --event-loggers 2 --stable-vector loggers ./p".into(), "--protocol causal"),
            ("x --protocol none --event-loggers 2 ./p".into(), "has none"),
            ("x --protocol coordinated --acknowledge durable ./p".into(), "no event logger"),
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
            ("x --piggyback logon ./p", "belongs to --protocol causal"),
            ("x --tracking o2p ./p", "belongs to --protocol optimistic"),
            ("x --protocol none --event-logger on ./p", "belongs to --protocol causal"),
            ("x --protocol casual ./p", "there is none, channel-memory, pessimistic, causal"),
            ("x --cluster 2 ./p", "belongs to --protocol hierarchical"),
            ("x --protocol hierarchical --piggyback logon ./p", "belongs to --protocol causal"),
            ("x --protocol hierarchical --cluster two ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --cluster 0 ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --tracking o2p ./p", "belongs to --protocol optimistic"),
            ("x --protocol plugin:/no/such.so ./p", "/no/such.so"),
        ] {
            assert!(of(line).unwrap_err().to_string().contains(says), "{line}");
        }
    }
}

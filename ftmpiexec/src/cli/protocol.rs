//! The protocol and its settings, checked: a setting of another protocol is an error, not ignored.

use super::{BetweenChoice, Cli, EventsChoice, Switch, WtimeChoice};
use anyhow::bail;
use clap::ValueEnum;
use ftmpi_protocols::{hierarchical, registry};
use ftmpi_wire::control::{Events, ProtocolConfig};

/// The protocol that the command line wants, for ranks on these hosts.
///
/// # Errors
/// There is none of that name, or it has no such setting.
pub fn config(cli: &Cli, placement: &[u32]) -> anyhow::Result<ProtocolConfig> {
    let name = cli.protocol.as_str();
    if !registry::NAMES.contains(&name) {
        bail!("--protocol {name}: there is {}", registry::NAMES.join(", "));
    }
    let mut settings = Vec::new();
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
    set("tracking", cli.tracking.map(name_of), "optimistic", false)?;
    set("wave", cli.wave.map(name_of), "coordinated", clustered)?;
    set(hierarchical::BETWEEN, cli.between.map(name_of), "hierarchical", false)?;
    if let Some(between) = cli.between.map(name_of)
        && !registry::BETWEEN.contains(&between.as_str())
    {
        bail!("--between {between}: there is {} so far", registry::BETWEEN.join(", "));
    }
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
        config(&parse(line.split_whitespace().map(str::to_owned).collect())?.cli, &[0, 0, 1, 1])
    }

    #[test]
    fn clusters_are_hosts_or_numbers() {
        let clusters = |line: &str| registry::clusters(&of(line).unwrap(), 4);
        assert_eq!(clusters("x --protocol hierarchical ./p"), Some(vec![0, 0, 1, 1]));
        assert_eq!(clusters("x --protocol hierarchical --cluster 3 ./p"), Some(vec![0, 0, 0, 1]));
        assert_eq!(clusters("x --protocol coordinated ./p"), Some(vec![0; 4]));
        assert_eq!(clusters("x --protocol causal ./p"), None);
        let line = "x --protocol hierarchical --between causal --event-logger off ./p";
        assert!(!of(line).unwrap().uses_logger());
        assert!(of("x --protocol hierarchical ./p").unwrap().uses_logger());
    }

    #[test]
    fn settings_belong_to_their_protocol() {
        let causal = of("x --protocol causal --piggyback logon --event-logger off ./p").unwrap();
        assert_eq!(causal.setting("piggyback"), Some("logon"));
        assert!(!causal.uses_logger());
        assert!(of("x -protocol causal ./p").unwrap().uses_logger());
        let standard = of("x --protocol optimistic --tracking standard ./p").unwrap();
        assert_eq!(standard.setting("tracking"), Some("standard"));
        for (line, says) in [
            ("x --piggyback logon ./p", "belongs to --protocol causal"),
            ("x --tracking o2p ./p", "belongs to --protocol optimistic"),
            ("x --protocol none --event-logger on ./p", "belongs to --protocol causal"),
            ("x --protocol casual ./p", "there is none, channel-memory, pessimistic, causal"),
            ("x --cluster 2 ./p", "belongs to --protocol hierarchical"),
            ("x --protocol hierarchical --piggyback logon ./p", "belongs to --protocol causal"),
            ("x --protocol hierarchical --cluster two ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --cluster 0 ./p", "a number of consecutive ranks"),
            ("x --protocol hierarchical --between optimistic ./p", "there is pessimistic, causal"),
        ] {
            assert!(of(line).unwrap_err().to_string().contains(says), "{line}");
        }
    }
}

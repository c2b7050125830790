//! The protocol and its settings, checked: a setting of another protocol is an error, not ignored.

use super::{Cli, EventsChoice, Switch, WtimeChoice};
use anyhow::bail;
use clap::ValueEnum;
use ftmpi_protocols::registry;
use ftmpi_wire::control::{Events, ProtocolConfig};

/// The protocol that the command line wants.
///
/// # Errors
/// There is none of that name, or it has no such setting.
pub fn config(cli: &Cli) -> anyhow::Result<ProtocolConfig> {
    let name = cli.protocol.as_str();
    if !registry::NAMES.contains(&name) {
        bail!("--protocol {name}: there is {}", registry::NAMES.join(", "));
    }
    let mut settings = Vec::new();
    let mut set = |option: &str, value: Option<String>, of: &str| {
        let Some(value) = value else { return Ok(()) };
        if name != of {
            bail!("--{option} belongs to --protocol {of}, and this is {name}");
        }
        settings.push((option.to_owned(), value));
        Ok(())
    };
    set("piggyback", cli.piggyback.map(name_of), "causal")?;
    set("event-logger", cli.event_logger.map(name_of::<Switch>), "causal")?;
    set("channel-memories", cli.channel_memories.map(|n| n.to_string()), "channel-memory")?;
    set("memory-limit", cli.memory_limit.map(|mib| mib.to_string()), "channel-memory")?;
    set("tracking", cli.tracking.map(name_of), "optimistic")?;
    set("wave", cli.wave.map(name_of), "coordinated")?;
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

fn name_of<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn of(line: &str) -> anyhow::Result<ProtocolConfig> {
        config(&parse(line.split_whitespace().map(str::to_owned).collect())?.cli)
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
        ] {
            assert!(of(line).unwrap_err().to_string().contains(says), "{line}");
        }
    }
}

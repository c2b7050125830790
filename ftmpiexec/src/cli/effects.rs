//! Options without effect under the chosen protocol: each is refused, with what it works under.

use super::errors::PlanError;
use super::needs::Needs;
use ftmpi_protocols::registry;
use ftmpi_wire::control::ProtocolConfig;

/// Options by field, and what each acts on. Options that are not here act under every protocol.
pub const TABLE: &[(&str, Needs)] = &[
    ("max_restarts", Needs::Recovery),
    ("standby", Needs::Alone),
    ("ckpt_interval", Needs::Recovery),
    ("ckpt", Needs::Recovery),
    ("ckpt_policy", Needs::Recovery),
    ("ckpt_incremental", Needs::Recovery),
    ("compress", Needs::Recovery),
    ("cpu_baseline", Needs::Recovery),
    ("encrypt_images", Needs::Recovery),
    ("image_key", Needs::Recovery),
    ("images", Needs::Recovery),
    ("local_dir", Needs::Recovery),
    ("image_space", Needs::Recovery),
    ("object_store", Needs::Recovery),
    ("grace", Needs::Recovery),
    ("events", Needs::Replay),
    ("wtime", Needs::Replay),
    // Also where channel memories or nonblocking waves keep copies of what is sent.
    ("log_limit", Needs::Recovery),
    ("log_reserve", Needs::Replay),
    ("image_logs", Needs::SenderLog),
    ("event_loggers", Needs::Logger),
    ("acknowledge", Needs::Logger),
    ("event_rings", Needs::Logger),
    // Also how long standard input may wait for the job's directory.
    ("storage_patience", Needs::Recovery),
    ("health_command", Needs::Recovery),
    ("health_interval", Needs::Recovery),
    ("channel_memories", Needs::ChannelMemory),
    ("memory_limit", Needs::ChannelMemory),
    ("piggyback", Needs::Causal),
    ("event_logger", Needs::Causal),
    ("tracking", Needs::Optimistic),
    ("wave", Needs::Waves),
    ("cluster", Needs::Clusters),
    ("between", Needs::Clusters),
];

/// Refuses the first given option that changes nothing under this protocol.
///
/// # Errors
/// The option, and where it works.
pub fn check(given: &[&str], protocol: &ProtocolConfig) -> Result<(), PlanError> {
    let traits = registry::traits(protocol);
    for (field, needs) in TABLE {
        if given.contains(field) && !needs.met_by(traits) {
            let name = protocol.setting("name").unwrap_or(&protocol.name);
            return Err(no_effect(field, name, *needs));
        }
    }
    Ok(())
}

fn no_effect(field: &str, protocol: &str, needs: Needs) -> PlanError {
    PlanError::NoEffect { option: option_of(field), protocol: protocol.to_owned(), needs }
}

/// The option of a field.
pub fn option_of(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
}

/// Refuses `--output committed` where no failure can make text untrue.
pub fn committed_under_none(protocol: &str) -> PlanError {
    PlanError::NoEffect {
        option: "--output committed".to_owned(),
        protocol: protocol.to_owned(),
        needs: Needs::Recovery,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use ftmpi_options::ftmpiexec::Cli;
    use ftmpi_wire::control::Events;

    fn config(name: &str, settings: &[(&str, &str)]) -> ProtocolConfig {
        let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        ProtocolConfig {
            name: name.to_owned(),
            events: Events::Nondeterministic,
            log_wtime: true,
            settings: settings.iter().map(own).collect(),
        }
    }

    /// The options of the table that this protocol does not refuse.
    fn accepted(protocol: &ProtocolConfig) -> Vec<&'static str> {
        let fits = |(field, _): &&(&'static str, Needs)| check(&[field], protocol).is_ok();
        TABLE.iter().filter(fits).map(|(field, _)| *field).collect()
    }

    #[test]
    fn the_table_names_options_that_exist() {
        let command = Cli::command();
        for (field, _) in TABLE {
            assert!(command.get_arguments().any(|arg| arg.get_id() == field), "{field}");
        }
    }

    #[test]
    fn each_protocol_refuses_what_changes_nothing_under_it() {
        assert!(accepted(&config("none", &[])).is_empty());
        let coordinated = accepted(&config("coordinated", &[]));
        assert!(coordinated.contains(&"wave") && coordinated.contains(&"ckpt_interval"));
        for refused in
            ["events", "wtime", "log_reserve", "image_logs", "event_rings", "between", "tracking"]
        {
            assert!(!coordinated.contains(&refused), "{refused}");
        }
        let memory = accepted(&config("channel-memory", &[]));
        assert!(memory.contains(&"channel_memories") && memory.contains(&"storage_patience"));
        assert!(memory.contains(&"log_limit") && memory.contains(&"log_reserve"));
        assert!(!memory.contains(&"image_logs") && !memory.contains(&"event_loggers"));
        assert!(coordinated.contains(&"log_limit") && coordinated.contains(&"storage_patience"));
        let causal = config("causal", &[("event-logger", "off")]);
        assert!(!accepted(&causal).contains(&"event_rings"));
        assert!(accepted(&causal).contains(&"piggyback"));
        let clusters = accepted(&config("hierarchical", &[("between", "optimistic")]));
        assert!(clusters.contains(&"tracking") && clusters.contains(&"cluster"));
        assert!(!clusters.contains(&"piggyback"));
        let pessimistic = accepted(&config("pessimistic", &[]));
        assert!(pessimistic.contains(&"standby") && memory.contains(&"standby"));
        assert!(!coordinated.contains(&"standby") && !clusters.contains(&"standby"));
        assert!(pessimistic.contains(&"image_logs") && !pessimistic.contains(&"wave"));
    }

    #[test]
    fn the_answer_says_where_the_option_works() {
        let none = config("none", &[]);
        let error = check(&["report", "ckpt_interval"], &none).unwrap_err().to_string();
        assert_eq!(
            error,
            "--ckpt-interval has no effect under --protocol none; drop it, or use it under any \
             protocol but none"
        );
    }
}

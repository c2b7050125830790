//! Every metric of every program, declared once.
//!
//! Names follow the conventions of Prometheus: counters end in `_total`, times are in seconds,
//! sizes in bytes. A metric of a rank has the label `rank`, and `host` where the program knows it.
//! On the page of a job, metrics of servers also have `server` and `host`.

mod job;

use super::family::{Catalogue, Family, Source};
pub use job::JOB;

const RANK: &[&str] = &["rank"];

const fn value(path: &'static str) -> Source {
    Source::Value(path)
}

/// Metrics of each rank, from the list `/ranks` of a server.
const fn of_rank(value: &'static str) -> Source {
    Source::Each { list: "/ranks", value }
}

/// What an event logger tells; a channel memory is one as well.
macro_rules! with_event_log {
    ($p:literal, $($more:expr),* $(,)?) => {
        &[
            Family::gauge(
                concat!($p, "_info"),
                "Version of the program, and when it acknowledges events.",
                Source::Info,
            )
            .labels(&["version", "acknowledges"]),
            Family::gauge(
                concat!($p, "_uptime_seconds"),
                "Time since the process began.",
                value("/uptime_s"),
            )
            .seconds(),
            Family::gauge(
                concat!($p, "_connections"),
                "Ranks that are connected to store events.",
                value("/connections"),
            ),
            Family::counter(
                concat!($p, "_rejected_connections_total"),
                "Callers that did not prove the key of the job.",
                value("/rejected_callers"),
            ),
            Family::counter(
                concat!($p, "_events_total"),
                "Events that were stored.",
                value("/events"),
            ),
            Family::counter(
                concat!($p, "_ring_events_total"),
                "Events that came through memory shared with a rank of the same host.",
                value("/events_in_rings"),
            ),
            Family::gauge(
                concat!($p, "_events_stored_bytes"),
                "Bytes in the files of events.",
                value("/bytes"),
            )
            .bytes(),
            Family::counter(
                concat!($p, "_event_writes_total"),
                "Writes to files of events.",
                value("/writes"),
            ),
            Family::counter(
                concat!($p, "_failed_event_writes_total"),
                "Writes of events that failed, for lack of space for example.",
                value("/failed_writes"),
            ),
            Family::counter(
                concat!($p, "_syncs_total"),
                "Files of events that were made durable.",
                value("/syncs"),
            ),
            Family::counter(
                concat!($p, "_lost_events_total"),
                "Events that were written but lost their validity when the power failed.",
                value("/cut_events"),
            ),
            Family::gauge(
                concat!($p, "_power_lost"),
                "1 if the system went down while events came in: some may be lost.",
                value("/power_lost"),
            ),
            Family::counter(
                concat!($p, "_stability_sent_bytes_total"),
                "Bytes of news about stored events, sent to other event loggers and to agents.",
                value("/clock_bytes_told"),
            )
            .bytes(),
            Family::counter(
                concat!($p, "_stability_received_total"),
                "News about stored events, received from other event loggers.",
                value("/clocks_heard"),
            ),
            Family::gauge(
                concat!($p, "_rank_incarnation"),
                "The living incarnation of the rank.",
                of_rank("/incarnation"),
            )
            .labels(RANK),
            Family::gauge(
                concat!($p, "_rank_connected"),
                "1 if the rank is connected.",
                of_rank("/connected"),
            )
            .labels(RANK),
            Family::gauge(
                concat!($p, "_rank_first_event"),
                "Number of the oldest event of the rank that is kept.",
                of_rank("/base"),
            )
            .labels(RANK),
            Family::gauge(
                concat!($p, "_rank_written_event"),
                "Number of the newest event of the rank in its file.",
                of_rank("/written"),
            )
            .labels(RANK),
            Family::gauge(
                concat!($p, "_rank_durable_event"),
                "Number of the newest event of the rank on stable storage.",
                of_rank("/durable"),
            )
            .labels(RANK),
            $($more),*
        ]
    };
}

/// `ftmpi-event-logger`.
pub static EVENT_LOGGER: Catalogue =
    Catalogue { program: "ftmpi-event-logger", families: with_event_log!("ftmpi_event_logger",) };

/// `ftmpi-channel-memory`.
pub static CHANNEL_MEMORY: Catalogue = Catalogue {
    program: "ftmpi-channel-memory",
    families: with_event_log!(
        "ftmpi_channel_memory",
        Family::gauge(
            "ftmpi_channel_memory_message_connections",
            "Connections on which messages come and go.",
            value("/memory/connections"),
        ),
        Family::counter(
            "ftmpi_channel_memory_messages_total",
            "Messages that were stored.",
            value("/memory/records"),
        ),
        Family::counter(
            "ftmpi_channel_memory_messages_bytes_total",
            "Payload of the messages that were stored.",
            value("/memory/bytes"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_channel_memory_spilled_bytes_total",
            "Payload that left main memory before its receiver took it.",
            value("/memory/spilled_bytes"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_channel_memory_reread_bytes_total",
            "Payload that was read from files for its receiver.",
            value("/memory/reread_bytes"),
        )
        .bytes(),
        Family::gauge(
            "ftmpi_channel_memory_messages_stored_bytes",
            "Bytes in the files of messages.",
            value("/memory/file_bytes"),
        )
        .bytes(),
        Family::gauge(
            "ftmpi_channel_memory_messages_held_bytes",
            "Payload in main memory that waits for its receiver.",
            value("/memory/held_bytes"),
        )
        .bytes(),
        Family::gauge(
            "ftmpi_channel_memory_out_of_space",
            "1 while messages cannot be written and their senders wait.",
            Source::IsSet("/memory/stuck"),
        ),
        Family::gauge(
            "ftmpi_channel_memory_rank_removed_message",
            "Number of the newest message to the rank that is no longer kept.",
            Source::Each { list: "/memory/ranks", value: "/cut" },
        )
        .labels(RANK),
        Family::gauge(
            "ftmpi_channel_memory_rank_last_message",
            "Number of the newest message to the rank.",
            Source::Each { list: "/memory/ranks", value: "/last" },
        )
        .labels(RANK),
    ),
};

/// `ftmpi-checkpoint-server`.
pub static CHECKPOINT_SERVER: Catalogue = Catalogue {
    program: "ftmpi-checkpoint-server",
    families: &[
        Family::gauge("ftmpi_checkpoint_server_info", "Version of the program.", Source::Info)
            .labels(&["version"]),
        Family::gauge(
            "ftmpi_checkpoint_server_uptime_seconds",
            "Time since the process began.",
            value("/uptime_s"),
        )
        .seconds(),
        Family::gauge(
            "ftmpi_checkpoint_server_connections",
            "Connections of agents.",
            value("/connections"),
        ),
        Family::counter(
            "ftmpi_checkpoint_server_rejected_connections_total",
            "Callers that did not prove the key of the job.",
            value("/rejected_callers"),
        ),
        Family::gauge(
            "ftmpi_checkpoint_server_images_stored_bytes",
            "Bytes of the images that ranks can be restarted from.",
            value("/bytes"),
        )
        .bytes(),
        Family::gauge(
            "ftmpi_checkpoint_server_bases_stored_bytes",
            "Bytes of older images that are kept because incremental images refer to them.",
            value("/bytes_of_bases"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_checkpoint_server_received_bytes_total",
            "Bytes of images that were received.",
            value("/bytes_received"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_checkpoint_server_sent_bytes_total",
            "Bytes of images that were sent.",
            value("/bytes_sent"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_checkpoint_server_object_store_images_total",
            "Images that were copied to the object store.",
            value("/object_store/flushed"),
        ),
        Family::counter(
            "ftmpi_checkpoint_server_object_store_sent_bytes_total",
            "Bytes that were sent to the object store.",
            value("/object_store/bytes"),
        )
        .bytes(),
        Family::counter(
            "ftmpi_checkpoint_server_object_store_failures_total",
            "Operations on the object store that failed.",
            value("/object_store/failures"),
        ),
        Family::gauge(
            "ftmpi_checkpoint_server_rank_incarnation",
            "The living incarnation of the rank.",
            of_rank("/incarnation"),
        )
        .labels(RANK),
        Family::gauge(
            "ftmpi_checkpoint_server_rank_images",
            "Images that the rank can be restarted from.",
            of_rank("/images"),
        )
        .labels(RANK),
        Family::gauge(
            "ftmpi_checkpoint_server_rank_damaged_images",
            "Images of the rank that were found damaged.",
            of_rank("/set_aside"),
        )
        .labels(RANK),
        Family::gauge(
            "ftmpi_checkpoint_server_rank_start_offered",
            "1 while the rank can also be restarted from the start of the program.",
            of_rank("/start_offered"),
        )
        .labels(RANK),
        Family::gauge(
            "ftmpi_checkpoint_server_rank_object_store_image",
            "Number of the newest image of the rank in the object store.",
            of_rank("/newest_in_object_store"),
        )
        .labels(RANK),
    ],
};

/// `ftmpi-checkpoint-scheduler`.
pub static CHECKPOINT_SCHEDULER: Catalogue = Catalogue {
    program: "ftmpi-checkpoint-scheduler",
    families: &[
        Family::gauge(
            "ftmpi_checkpoint_scheduler_uptime_seconds",
            "Time since the process began.",
            value("/up_s"),
        )
        .seconds(),
        Family::counter(
            "ftmpi_checkpoint_scheduler_connections_total",
            "Connections of the launcher.",
            value("/connections"),
        ),
        Family::counter(
            "ftmpi_checkpoint_scheduler_received_total",
            "Messages of the launcher.",
            value("/words"),
        ),
        Family::counter(
            "ftmpi_checkpoint_scheduler_decisions_total",
            "Decisions that were sent to the launcher.",
            value("/orders"),
        ),
    ],
};

/// Of servers, by the names of their kinds in machine files.
pub static OF_SERVERS: [(&str, &Catalogue); 4] = [
    ("event-logger", &EVENT_LOGGER),
    ("channel-memory", &CHANNEL_MEMORY),
    ("checkpoint-server", &CHECKPOINT_SERVER),
    ("checkpoint-scheduler", &CHECKPOINT_SCHEDULER),
];

/// Of all programs.
pub static ALL: [&Catalogue; 5] =
    [&JOB, &EVENT_LOGGER, &CHANNEL_MEMORY, &CHECKPOINT_SERVER, &CHECKPOINT_SCHEDULER];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Kind, Unit};
    use std::collections::BTreeSet;

    #[test]
    fn every_name_shows_kind_and_unit_and_every_metric_has_a_help_text() {
        let mut names = BTreeSet::new();
        for family in ALL.iter().flat_map(|catalogue| catalogue.families) {
            let name = family.name;
            assert!(names.insert(name), "{name} is declared twice");
            assert!(name.starts_with("ftmpi_"), "{name}");
            let word = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.chars().all(word), "{name}");
            assert_eq!(name.ends_with("_total"), family.kind == Kind::Counter, "{name}");
            let stem = name.trim_end_matches("_total");
            assert_eq!(stem.ends_with("_bytes"), family.unit == Unit::Bytes, "{name}");
            assert_eq!(stem.ends_with("_seconds"), family.unit == Unit::Seconds, "{name}");
            assert!(family.help.ends_with('.') && family.help.len() <= 100, "{name}");
            let of_each = matches!(family.source, Source::Each { .. } | Source::States { .. });
            let of_what = if name == "ftmpi_job_server_up" { "server" } else { "rank" };
            assert_eq!(family.labels.contains(&of_what), of_each, "{name}");
        }
    }
}

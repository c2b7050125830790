//! Every metric of every program, declared once.
//!
//! Names follow the conventions of Prometheus: counters end in `_total`, times are in seconds, sizes
//! in bytes. A metric of a rank has the label `rank`, and `host` where the program knows it.

use super::family::{Catalogue, Family, Source};
use ftmpi_protocols::dispatcher::Activity;

const RANK: &[&str] = &["rank"];
const RANK_HOST: &[&str] = &["rank", "host"];

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

/// Metrics of each rank, from the list `/rank_states` of the launcher.
const fn of_process(value: &'static str) -> Source {
    Source::Each { list: "/rank_states", value }
}

/// A counter of each rank, from what its runtime counts.
const fn rank_counter(name: &'static str, help: &'static str, path: &'static str) -> Family {
    Family::counter(name, help, of_process(path)).labels(RANK_HOST)
}

const fn rank_gauge(name: &'static str, help: &'static str, path: &'static str) -> Family {
    Family::gauge(name, help, of_process(path)).labels(RANK_HOST)
}

/// The job, told by `ftmpiexec --metrics`. The counters of a rank that is restarted go on from the
/// values in its image.
pub static JOB: Catalogue = Catalogue {
    program: "ftmpiexec",
    families: &[
        Family::gauge(
            "ftmpi_job_info",
            "Protocol of the job, and which events are logged.",
            Source::Info,
        )
        .labels(&["protocol", "events"]),
        Family::gauge(
            "ftmpi_job_uptime_seconds",
            "Time since the launcher began.",
            value("/wall_s"),
        )
        .seconds(),
        Family::gauge("ftmpi_job_ranks", "Ranks of the job.", value("/ranks")),
        Family::gauge("ftmpi_job_hosts", "Hosts of the job.", Source::Length("/hosts")),
        Family::counter(
            "ftmpi_job_failures_total",
            "Failures of ranks.",
            Source::Length("/failures"),
        ),
        Family::counter(
            "ftmpi_job_rollbacks_total",
            "Ranks that were rolled back because they depended on what another rank lost.",
            Source::Length("/orphans"),
        ),
        Family::counter(
            "ftmpi_job_server_restarts_total",
            "Servers that had to be restarted.",
            value("/servers_restarted"),
        ),
        Family::counter(
            "ftmpi_job_images_ordered_total",
            "Images that the checkpoint scheduler asked for.",
            value("/checkpoints/ordered"),
        ),
        Family::counter(
            "ftmpi_job_images_total",
            "Images that are durable.",
            value("/checkpoints/count"),
        ),
        Family::counter(
            "ftmpi_job_failed_images_total",
            "Images that were lost or refused.",
            value("/checkpoints/failed"),
        ),
        Family::counter(
            "ftmpi_job_images_bytes_total",
            "Bytes of the images that are durable.",
            value("/checkpoints/bytes"),
        )
        .bytes(),
        Family::gauge(
            "ftmpi_job_image_pause_mean_seconds",
            "How long an image stops its rank, on average.",
            value("/checkpoints/pause_ms_mean"),
        )
        .from_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_pause_max_seconds",
            "The longest time for which an image stopped its rank.",
            value("/checkpoints/pause_ms_max"),
        )
        .from_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_duration_mean_seconds",
            "Time until an image is durable, on average.",
            value("/checkpoints/duration_ms_mean"),
        )
        .from_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_duration_max_seconds",
            "The longest time until an image was durable.",
            value("/checkpoints/duration_ms_max"),
        )
        .from_milliseconds(),
        Family::counter(
            "ftmpi_job_waves_total",
            "Waves of images that are complete.",
            value("/waves/complete"),
        ),
        Family::counter(
            "ftmpi_job_failed_waves_total",
            "Waves of images in which an image is missing.",
            value("/waves/void"),
        ),
        Family::gauge(
            "ftmpi_job_wave_duration_mean_seconds",
            "Time until a wave of images is complete, on average.",
            value("/waves/duration_ms_mean"),
        )
        .from_milliseconds(),
        Family::gauge(
            "ftmpi_job_wave_duration_max_seconds",
            "The longest time until a wave of images was complete.",
            value("/waves/duration_ms_max"),
        )
        .from_milliseconds(),
        Family::gauge(
            "ftmpi_rank_state",
            "1 for the state of the rank, 0 for the other states.",
            Source::States { list: "/rank_states", state: "/state", all: &Activity::NAMES },
        )
        .labels(&["rank", "host", "state"]),
        rank_gauge(
            "ftmpi_rank_incarnation",
            "Incarnation of the rank: 0 until it fails.",
            "/incarnation",
        ),
        Family::counter(
            "ftmpi_rank_failures_total",
            "Failures of the rank.",
            of_process("/failures"),
        )
        .labels(RANK_HOST),
        rank_counter(
            "ftmpi_rank_sent_messages_total",
            "Messages that the rank sent.",
            "/counters/messages_sent",
        ),
        rank_counter(
            "ftmpi_rank_sent_bytes_total",
            "Payload that the rank sent.",
            "/counters/bytes_sent",
        )
        .bytes(),
        rank_counter(
            "ftmpi_rank_received_messages_total",
            "Messages that the rank received.",
            "/counters/messages_received",
        ),
        rank_counter(
            "ftmpi_rank_received_bytes_total",
            "Payload that the rank received.",
            "/counters/bytes_received",
        )
        .bytes(),
        rank_counter(
            "ftmpi_rank_determinants_total",
            "Determinants that the rank made.",
            "/counters/determinants",
        ),
        rank_gauge(
            "ftmpi_rank_log_bytes",
            "Bytes in the sender log of the rank.",
            "/counters/log_bytes",
        )
        .bytes(),
        rank_gauge(
            "ftmpi_rank_log_peak_bytes",
            "The most bytes that the sender log of the rank ever had.",
            "/counters/log_bytes_peak",
        )
        .bytes(),
        rank_counter(
            "ftmpi_rank_gate_waits_total",
            "Sends that waited until the event logger had stored what they depend on.",
            "/counters/gate_waits",
        ),
        rank_counter(
            "ftmpi_rank_gate_wait_seconds_total",
            "Time that sends waited for the event logger.",
            "/counters/gate_wait_ns",
        )
        .from_nanoseconds(),
        rank_counter(
            "ftmpi_rank_duplicates_total",
            "Messages that were dropped because the rank had them already.",
            "/counters/duplicates",
        ),
        rank_counter(
            "ftmpi_rank_orphan_messages_total",
            "Messages that were refused because their senders were rolled back.",
            "/counters/orphan_messages",
        ),
        rank_counter(
            "ftmpi_rank_resent_messages_total",
            "Messages that the rank sent again for ranks that were restarted.",
            "/counters/resent",
        ),
        rank_counter(
            "ftmpi_rank_replayed_events_total",
            "Events that the rank repeated after a restart.",
            "/counters/replayed",
        ),
        rank_counter(
            "ftmpi_rank_piggyback_events_total",
            "Events that travelled with messages of the rank.",
            "/counters/piggyback_events",
        ),
        rank_counter(
            "ftmpi_rank_piggyback_bytes_total",
            "Bytes of the events that travelled with messages of the rank, with their headers.",
            "/counters/piggyback_bytes",
        )
        .bytes(),
        rank_counter(
            "ftmpi_rank_piggyback_build_seconds_total",
            "Time to choose the events that travel with messages.",
            "/counters/piggyback_build_ns",
        )
        .from_nanoseconds(),
        rank_counter(
            "ftmpi_rank_piggyback_merge_seconds_total",
            "Time to take in the events that came with messages.",
            "/counters/piggyback_merge_ns",
        )
        .from_nanoseconds(),
        rank_gauge(
            "ftmpi_rank_held_events",
            "Events that the rank holds because they are not known to be stable.",
            "/counters/held_events",
        ),
        rank_counter(
            "ftmpi_rank_ring_events_total",
            "Events that the rank stored in memory shared with an event logger of its host.",
            "/counters/stored_same_host",
        ),
        rank_counter(
            "ftmpi_rank_logger_round_trips_total",
            "Batches of events whose time to the event logger and back was measured.",
            "/counters/logger_round_trips",
        ),
        rank_counter(
            "ftmpi_rank_logger_round_trip_seconds_total",
            "Time of these batches to the event logger and back.",
            "/counters/logger_round_trip_ns",
        )
        .from_nanoseconds(),
        rank_gauge(
            "ftmpi_rank_recovered_logger_events",
            "Events that the event logger gave to the rank at its last restart.",
            "/counters/recovered_from_logger",
        ),
        rank_gauge(
            "ftmpi_rank_recovered_peer_events",
            "Events that other ranks gave to the rank at its last restart.",
            "/counters/recovered_from_peers",
        ),
        rank_gauge(
            "ftmpi_rank_recovery_seconds",
            "Time until the rank had all its events at its last restart.",
            "/counters/recovery_ns",
        )
        .from_nanoseconds(),
        rank_counter(
            "ftmpi_rank_wave_wait_seconds_total",
            "Time from the order of an image of a wave to its begin.",
            "/counters/wave_wait_ns",
        )
        .from_nanoseconds(),
        rank_counter(
            "ftmpi_rank_channel_state_bytes_total",
            "Payload that images of the rank hold as state of channels.",
            "/counters/channel_state_bytes",
        )
        .bytes(),
        rank_counter(
            "ftmpi_rank_held_frames_total",
            "Frames of ranks that were ahead in a wave, which waited for an image.",
            "/counters/held_frames",
        ),
        rank_counter(
            "ftmpi_rank_channel_memory_puts_total",
            "Sends to a channel memory whose time was measured.",
            "/counters/puts_measured",
        ),
        rank_counter(
            "ftmpi_rank_channel_memory_put_seconds_total",
            "Time of these sends until their messages were stored.",
            "/counters/put_ns",
        )
        .from_nanoseconds(),
    ],
};

/// Of all programs.
pub static ALL: [&Catalogue; 5] =
    [&JOB, &EVENT_LOGGER, &CHANNEL_MEMORY, &CHECKPOINT_SERVER, &CHECKPOINT_SCHEDULER];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Kind, Unit};
    use std::collections::BTreeSet;

    #[test]
    fn every_name_tells_kind_and_unit_and_every_metric_has_a_help_text() {
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
            let of_rank = matches!(family.source, Source::Each { .. } | Source::States { .. });
            assert_eq!(family.labels.contains(&"rank"), of_rank, "{name}");
        }
    }
}

//! The metrics of a job, which the launcher shows.

use super::value;
use crate::metrics::family::{Catalogue, Family, Source};
use ftmpi_protocols::dispatcher::Activity;

const RANK_HOST: &[&str] = &["rank", "host"];

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
        Family::gauge(
            "ftmpi_job_server_up",
            "1 if the server has answered.",
            Source::Each { list: "/servers", value: "/up" },
        )
        .labels(&["kind", "server", "host"]),
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
        .source_in_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_pause_max_seconds",
            "The longest time for which an image stopped its rank.",
            value("/checkpoints/pause_ms_max"),
        )
        .source_in_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_duration_mean_seconds",
            "Time until an image is durable, on average.",
            value("/checkpoints/duration_ms_mean"),
        )
        .source_in_milliseconds(),
        Family::gauge(
            "ftmpi_job_image_duration_max_seconds",
            "The longest time until an image was durable.",
            value("/checkpoints/duration_ms_max"),
        )
        .source_in_milliseconds(),
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
        .source_in_milliseconds(),
        Family::gauge(
            "ftmpi_job_wave_duration_max_seconds",
            "The longest time until a wave of images was complete.",
            value("/waves/duration_ms_max"),
        )
        .source_in_milliseconds(),
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
        .source_in_nanoseconds(),
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
            "ftmpi_rank_piggyback_messages_total",
            "Messages of the rank with which events travelled.",
            "/counters/piggyback_messages",
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
        .source_in_nanoseconds(),
        rank_counter(
            "ftmpi_rank_piggyback_merge_seconds_total",
            "Time to take in the events that came with messages.",
            "/counters/piggyback_merge_ns",
        )
        .source_in_nanoseconds(),
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
        .source_in_nanoseconds(),
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
        .source_in_nanoseconds(),
        rank_counter(
            "ftmpi_rank_wave_wait_seconds_total",
            "Time from the order of an image of a wave to its begin.",
            "/counters/wave_wait_ns",
        )
        .source_in_nanoseconds(),
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
        .source_in_nanoseconds(),
    ],
};

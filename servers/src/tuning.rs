//! Tuning constants of the servers, by subject. Measurements are in `docs/performance/log.md`.

/// Connections between programs of a job.
pub mod connection {
    use std::time::Duration;

    /// Bytes of an image in one frame: large enough that a frame costs little, small enough that a
    /// refusal comes soon.
    pub const PIECE_BYTES: usize = 256 << 10;
    /// A host that answers nothing for this long, not even its kernel, is given up, unless the
    /// launcher says otherwise (`--detect`).
    pub const SILENCE_LIMIT: Duration = Duration::from_secs(12);
    /// Pause of a listener after a caller that could not be accepted: no descriptor may be left.
    pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
    /// Bytes of a server's state at most: a bound on what a confused server can send.
    pub const STATUS_BYTES_MAX: u64 = 64 << 20;
    /// Time for a caller to take a status: a caller that hangs must not hold a task for ever.
    pub(crate) const STATUS_LIMIT: Duration = Duration::from_secs(10);
}

/// Room that logs leave on a disk.
pub(crate) mod log_room {
    use std::time::Duration;

    /// Interval between two looks: logs may grow by hundreds of MiB in a second.
    pub const LOOK_INTERVAL: Duration = Duration::from_millis(250);
    /// Bytes of logs that never lead to images: less than an image takes.
    pub const LOGS_MIN: u64 = 4 << 20;
}

/// Metrics pages.
pub(crate) mod metrics {
    use std::time::Duration;

    /// Connections at a time: a few scrapers and people. Others make room.
    pub const CONNECTIONS_MAX: usize = 32;
    /// Time of one connection, from its first byte to its last: a scraper gives up after 10 s.
    pub const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
    /// Lines of a request's header at most.
    pub const HEADERS_MAX: usize = 64;
    /// Bytes of a request's header at most: the least that hyper takes.
    pub const REQUEST_BYTES_MAX: usize = 8 << 10;
    /// A page is shown again until it is so many times as old as it took to make: callers in a row
    /// keep the program busy for half of its time at the most.
    pub const STATE_AGE: u32 = 1;
    /// Time that the program gets to answer.
    pub const STATE_LIMIT: Duration = Duration::from_secs(5);
}

/// The web page of a job.
pub(crate) mod dashboard {
    use std::time::Duration;

    /// Connections at a time. Others make room.
    pub const CONNECTIONS_MAX: usize = 32;
    /// Viewers at a time: a team and its screens.
    pub const VIEWERS_MAX: usize = 16;
    /// Time in which a request must have come.
    pub const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
    /// Time of one connection: browsers connect again by themselves.
    pub const VIEW_LIMIT: Duration = Duration::from_secs(3600);
    /// Time between two states.
    pub const INTERVAL: Duration = Duration::from_secs(1);
    /// The launcher tells its state for one of so many parts of its time, at the most.
    pub const STATE_SHARE: u32 = 50;
    /// Time that the launcher gets to answer.
    pub const STATE_LIMIT: Duration = Duration::from_secs(5);
}

/// Event logs on disk.
pub(crate) mod event_log {
    /// Bytes after which a segment is closed: pruning removes segments as a whole.
    pub const SEGMENT_BYTES: u64 = 32 << 20;
    /// Bytes after which a segment without needed events is closed, so that it can be removed.
    pub const PRUNE_BYTES: u64 = 1 << 20;
    /// Bytes of room that must be there before a log whose disk was full is written again.
    pub const RESERVE_BYTES: u64 = 512 << 10;
    /// Bytes of a segment for each entry of its index: a bound on what a read skips.
    pub const INDEX_BYTES: u64 = 64 << 10;
}

/// The event logger.
pub(crate) mod event_logger {
    use ftmpi_wire::event_log::{BODY_BYTES_MAX, PREFIX_BYTES};
    use std::time::Duration;

    /// Bytes of a connection's first read: most ranks send little at a time.
    pub const READ_BYTES_MIN: usize = 16 << 10;
    /// Bytes of one read at most: two complete frames.
    pub const READ_BYTES_MAX: usize = 2 * (PREFIX_BYTES + BODY_BYTES_MAX);
    /// Time that a refusal gets to leave before its connection is closed.
    pub const REFUSAL_LIMIT: Duration = Duration::from_secs(1);
    /// Interval at which event rings are drained though nobody asks: their events are to become
    /// durable, and known to others.
    pub const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
    /// Time that a caller waits until events are durable at most.
    pub const DURABLE_LIMIT: Duration = Duration::from_secs(30);
    /// Threads that sync the files of a round: the file system makes one commit of syncs that are
    /// under way together.
    pub const SYNC_THREADS: usize = 8;
    /// Pause after a sync that failed: a broken disk must not use the processor.
    pub const SYNC_RETRY: Duration = Duration::from_millis(100);
    /// Time to connect to another event logger.
    pub const PEER_CONNECT_LIMIT: Duration = Duration::from_secs(5);
    /// Pause before another event logger is connected to again.
    pub const PEER_RETRY: Duration = Duration::from_millis(100);
    /// Time in which news for another event logger are gathered: about a round trip of a rank.
    pub const PEER_GATHER: Duration = Duration::from_micros(200);
}

/// Messages of a channel memory on disk.
pub(crate) mod message_store {
    /// Bytes after which a file is closed: cuts remove files as a whole.
    pub const FILE_BYTES: u64 = 16 << 20;
    /// Bytes after which a file without needed messages is closed, so that it can be removed.
    pub const CUT_BYTES: u64 = 1 << 20;
    /// Payloads of at least so many bytes are written without a copy.
    pub const DIRECT_MIN: usize = 16 << 10;
    /// Smaller payloads are gathered into writes of about so many bytes.
    pub const GATHER_BYTES: usize = 1 << 20;
}

/// The channel memory.
pub(crate) mod channel_memory {
    use std::time::Duration;

    /// Bytes of one read at least, unless a larger message is expected.
    pub const READ_BYTES_MIN: usize = 64 << 10;
    /// Bytes that are read before they are stored: one write serves many messages.
    pub const READ_BYTES_MAX: usize = 512 << 10;
    /// Bytes that wait for a socket before more messages are prepared for it.
    pub const OUT_BYTES: usize = 512 << 10;
    /// Payloads of at least so many bytes are sent without a copy.
    pub const SHARED_MIN: usize = 8 << 10;
    /// Bytes of messages in main memory, unless the user says otherwise.
    pub const MEMORY_BYTES: u64 = 256 << 20;
    /// The part of the host's memory that all channel memories of a job there use at the most.
    pub const MEMORY_SHARE: u64 = 16;
    /// Pause before a connection looks again whether the disk is still full.
    pub const FULL_DISK_PAUSE: Duration = Duration::from_millis(100);
    /// Interval at which messages that could not be written are tried again.
    pub const WRITE_RETRY: Duration = Duration::from_millis(500);
}

/// The checkpoint server.
pub(crate) mod image_store {
    use std::time::Duration;

    /// Threads that may be blocked at a time, for each processor: by files, which need no processor
    /// while they are synced, and by the lock of the catalogue.
    pub const BLOCKED_THREADS_PER_CPU: usize = 4;
    /// Threads that may be blocked at least: one slow image must not stop all others.
    pub const BLOCKED_THREADS_MIN: usize = 8;
    /// Threads that may be blocked at most: disks gain nothing from more.
    pub const BLOCKED_THREADS_MAX: usize = 32;
    /// How often a server looks whether its images leave room on the disk: a program fills a disk
    /// in seconds.
    pub const LOOK_AT_ROOM: Duration = Duration::from_secs(1);
    /// Time that a server tries to reach its object store at the first start. It does not start
    /// without.
    pub const FIRST_REACH_LIMIT: Duration = Duration::from_secs(30);
    /// Time that a server tries to reach its object store when its directory is sound. It starts
    /// without afterwards.
    pub const LATER_REACH_LIMIT: Duration = Duration::from_secs(5);
    /// Time that uploads to the object store get when the server is asked to end.
    pub const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);
    /// Time to remove everything from the object store at the end of a job.
    pub const REMOVE_ALL_LIMIT: Duration = Duration::from_secs(60);
    /// Bytes after which a writer on the same host reports its progress.
    pub const PROGRESS_BYTES: usize = 4 << 20;
    /// Bytes of chunk places after which a writer on the same host reports its progress.
    pub const PROGRESS_PLACES: usize = 256 << 10;
}

/// The object store behind a checkpoint server.
pub(crate) mod object_tier {
    use std::time::Duration;

    /// Ranks whose images are uploaded at the same time.
    pub const UPLOADS: usize = 4;
    /// Time for which an object store that did not answer is not asked for images.
    pub const UNREACHABLE_PAUSE: Duration = Duration::from_secs(20);
    /// Pause after the first upload that fails; it doubles with each further failure.
    pub const BACKOFF_FIRST: Duration = Duration::from_millis(if cfg!(test) { 5 } else { 500 });
    /// Pause between uploads that fail at most.
    pub const BACKOFF_MAX: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 30_000 });
    /// Pause between attempts to reach the object store when the server starts.
    #[cfg(feature = "object-store")]
    pub const REACH_RETRY: Duration = Duration::from_millis(if cfg!(test) { 5 } else { 500 });
    /// Bytes of one part of an upload.
    #[cfg(feature = "object-store")]
    pub const PART_BYTES: usize = 8 << 20;
    /// Bytes that are read from the disk at a time.
    #[cfg(feature = "object-store")]
    pub const READ_BYTES: usize = 1 << 20;
    /// Bytes that one download request asks for: a request has a time limit, an image any size.
    #[cfg(feature = "object-store")]
    pub const RANGE_BYTES: u64 = 16 << 20;
    /// Time for which a failing request is repeated before its caller hears of it.
    #[cfg(feature = "object-store")]
    pub const RETRY_LIMIT: Duration = Duration::from_secs(10);
    /// Time to connect.
    #[cfg(feature = "object-store")]
    pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);
    /// Time of one request, or one part of an upload, at most.
    #[cfg(feature = "object-store")]
    pub const REQUEST_LIMIT: Duration = Duration::from_secs(60);
}

/// The checkpoint scheduler.
pub mod scheduler {
    use std::time::Duration;

    /// Bytes of one frame between launcher and scheduler at most: the state of a million ranks.
    pub const FRAME_BYTES_MAX: usize = 64 << 20;
    /// Interval at which the scheduler looks whether an image is due.
    pub(crate) const TICK: Duration = Duration::from_millis(50);
}

/// Files.
pub(crate) mod files {
    /// Bytes of one direct write or of one read ahead.
    pub const BLOCK_BYTES: usize = if cfg!(test) { 8 << 10 } else { 1 << 20 };
    /// Bytes of one read of a cached file.
    pub const READ_BYTES: usize = if cfg!(test) { 2 << 10 } else { 256 << 10 };
    /// Blocks that wait for the disk, or for their reader. As many again are in use.
    pub const WAITING_BLOCKS: usize = 2;
    /// Bytes through the page cache after which the disk is asked to write.
    pub const WRITEBACK_BYTES: u64 = 32 << 20;
    /// Threads that read a file ahead: with one, the disk is idle between two reads.
    pub const READERS: usize = 2;
    /// Blocks of a file from which on it is read ahead: for smaller ones a thread does not pay.
    pub const READ_AHEAD_MIN_BLOCKS: u64 = 4;
    /// Bytes that are written again at a time after a sync that failed.
    pub const REWRITE_BYTES: u64 = 1 << 20;
    /// Bytes of a checksummed file at most.
    pub const CHECKSUMMED_BYTES_MAX: u64 = 256 << 20;
}

//! The page that a rank and its agent share (a `memfd`): counters without messages, readable even
//! after the rank died. Offsets count 8-byte words; each word has one writer.
//!
//! Standard output and error are pipes that the agent reads. To know how much the program had
//! written when an image was taken, the rank adds what the agent has read to what still lies in
//! the pipe (`FIONREAD`); `*_BUSY` is odd while the agent is between reading and counting.

/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;

/// Indices of the words.
pub mod word {
    /// Agent: sequence, odd while a read of standard output is being counted.
    pub const STDOUT_BUSY: usize = 0;
    /// Agent: bytes of standard output read, in the numbering of the program (a restored rank
    /// starts at its image's count).
    pub const STDOUT_READ: usize = 1;
    /// Agent: like `STDOUT_BUSY`, for standard error.
    pub const STDERR_BUSY: usize = 2;
    /// Agent: like `STDOUT_READ`, for standard error.
    pub const STDERR_READ: usize = 3;
    /// Agent: sequence, odd while a write to standard input is being counted.
    pub const STDIN_BUSY: usize = 4;
    /// Agent: bytes written to the rank's standard input.
    pub const STDIN_FED: usize = 5;
    /// Agent: bytes of `BOOT_STDERR` that it has read.
    pub const BOOT_STDERR_READ: usize = 6;
    /// Agent: how many of this host's processors others than its ranks used in the last second, in thousandths
    /// of one; 0 where ranks do not outnumber processors.
    pub const EXTERNAL_LOAD: usize = 7;
    /// Agent: messages that lie, or have lain, on the rank's control socket: a rank that waits sees that one has
    /// come without a system call. On a line of its own.
    pub const CONTROL_DATAGRAMS: usize = 8;
    /// Rank: a value of [`Phase`](super::Phase).
    pub const PHASE: usize = 64;
    /// Rank: messages sent by the program.
    pub const MESSAGES_SENT: usize = 65;
    /// Rank: their payload.
    pub const BYTES_SENT: usize = 66;
    /// Rank: messages delivered to the program.
    pub const MESSAGES_RECEIVED: usize = 67;
    /// Rank: determinants made.
    pub const DETERMINANTS: usize = 68;
    /// Rank: bytes of payload in the sender log.
    pub const LOG_BYTES: usize = 69;
    /// Rank: the most that it ever was.
    pub const LOG_BYTES_PEAK: usize = 70;
    /// Rank: nanoseconds that sends waited for determinants.
    pub const GATE_WAIT_NS: usize = 71;
    /// Rank: sends that waited.
    pub const GATE_WAITS: usize = 72;
    /// Rank: duplicates dropped.
    pub const DUPLICATES: usize = 73;
    /// Rank: messages sent again from the log.
    pub const RESENT: usize = 74;
    /// Rank: determinants and messages replayed in this life.
    pub const REPLAYED: usize = 75;
    /// Rank: payload bytes delivered to the program.
    pub const BYTES_RECEIVED: usize = 76;
    /// Rank: bytes that the protocol put before messages, headers included.
    pub const PIGGYBACK_BYTES: usize = 77;
    /// Rank: events among them.
    pub const PIGGYBACK_EVENTS: usize = 78;
    /// Rank: nanoseconds that choosing and encoding them took.
    pub const PIGGYBACK_BUILD_NS: usize = 79;
    /// Rank: nanoseconds that taking over those of peers took.
    pub const PIGGYBACK_MERGE_NS: usize = 80;
    /// Rank: events of other ranks and its own that it holds because they are not known stable.
    pub const HELD_EVENTS: usize = 81;
    /// Rank: batches of determinants whose way to the logger and back was measured.
    pub const LOGGER_ROUND_TRIPS: usize = 82;
    /// Rank: nanoseconds that these took.
    pub const LOGGER_ROUND_TRIP_NS: usize = 83;
    /// Rank: events that this life had from the logger.
    pub const RECOVERED_FROM_LOGGER: usize = 84;
    /// Rank: events that this life had from its peers.
    pub const RECOVERED_FROM_PEERS: usize = 85;
    /// Rank: nanoseconds until this life had them all.
    pub const RECOVERY_NS: usize = 86;
    /// Rank: payload bytes that images have as state of outgoing channels.
    pub const CHANNEL_STATE_BYTES: usize = 87;
    /// Rank: nanoseconds from the order of an image to its begin, while others were waited for.
    pub const WAVE_WAIT_NS: usize = 88;
    /// Rank: frames that came behind a marker and waited for the image.
    pub const HELD_FRAMES: usize = 89;
    /// Rank: messages whose way into a channel memory was measured.
    pub const PUTS_MEASURED: usize = 90;
    /// Rank: nanoseconds from each of these sends to the word that it is stored.
    pub const PUT_NS: usize = 91;
    /// Rank: messages that it refused because their senders were orphans.
    pub const ORPHAN_MESSAGES: usize = 92;
    /// Events stored in the ring of a logger on the same computer.
    pub const STORED_SAME_HOST: usize = 93;
    /// Boot layer: bytes of its own words on standard error in this life, which come before the
    /// program's and are not part of them. Counted before they are written.
    pub const BOOT_STDERR: usize = 94;
}

/// What a rank is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    /// Before `MPI_Init`.
    Starting = 0,
    /// In the program.
    Running = 1,
    /// Repeating what was recorded.
    Replaying = 2,
    /// In `MPI_Finalize`.
    Finalizing = 3,
    /// After it.
    Finalized = 4,
    /// In `exit`.
    Exiting = 5,
}

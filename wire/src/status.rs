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

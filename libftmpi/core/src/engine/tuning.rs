//! The engine's constants: unit, and one line of reason each. Measurements are in
//! `docs/performance/log.md`.

/// Bytes of a piggyback in one frame: well below what a receiver takes for damage.
pub(super) const PIGGYBACK_PART: usize = 16 << 20;
/// Bytes of a piggyback in all its parts: a longer one means damage.
pub(super) const PIGGYBACK_BYTES_MAX: usize = 4 << 30;
/// Bytes of a control frame: a `Resume` with very many holes is still far below.
pub(super) const CONTROL_BYTES_MAX: u64 = 64 << 20;

/// Messages that did not fit into their receives and are remembered, for the text of the error.
pub(super) const TOO_LONG_MAX: usize = 16;
/// Buffers of unexpected messages that are kept for reuse.
pub(super) const BUFFERS_MAX: usize = 256;
/// Bytes of the largest buffer that is kept for reuse.
pub(super) const BUFFER_BYTES_MAX: usize = 1 << 18;
/// Bins of the hash of (context, source, tag): a power of two.
pub(super) const BINS: usize = 256;

/// Looks at the channel before a blocking receive is posted, for each of `Link::looks` but one.
/// Together they take about two microseconds where processors are not scarce.
pub(super) const DIRECT_LOOKS: u32 = 4;
/// Turns that other processes get before a blocking receive is posted, where processors are scarce.
pub(super) const DIRECT_TURNS: u32 = 2;
/// Looks at one rank alone that found something, between two looks at everything else.
pub(super) const NARROW_RUN: u32 = 64;
/// Fruitless polls of a program before the rank gives way.
pub(super) const POLLS_BEFORE_RELAX: u32 = 64;
/// Recorded values of the clock between two looks at the channels.
pub(super) const CLOCK_READS_PER_LOOK: u32 = 256;
/// Seconds for which a recorded clock stands still.
pub(super) const RECORDED_TICK_S: f64 = 1e-6;

/// Looks at a peer that reads a payload at this moment: much longer than the peer needs. A peer
/// that dies meanwhile is not awaited.
pub(super) const WITHDRAW_LOOKS: u32 = 10_000;
/// Bytes from which a message may come into the sender log after it left.
pub(super) const LATE_LOG_MIN: usize = 16 << 10;
/// Bytes that are copied into the log between two looks at the channels: some microseconds.
pub(super) const LATE_LOG_PIECE: usize = 32 << 10;
/// Nanoseconds that a step is taken for to make memory ready for the log, before one was made.
pub(super) const AHEAD_GUESS_NS: u64 = 200_000;
/// Nanoseconds from which a step with a huge page is too slow, and small ones follow.
pub(super) const AHEAD_SLOW_NS: u64 = 500_000;
/// Bytes of a step in small pages: some tens of microseconds in a virtual machine.
pub(super) const AHEAD_PIECE: usize = 64 << 10;
/// Nanoseconds that are waited before a step at the most.
pub(super) const AHEAD_TOOK_MAX_NS: u64 = 2_000_000;

/// Seconds for which a send waits for room in the sender log before a line tells so, and the log
/// may grow once.
pub(super) const LOG_ROOM_PATIENCE_S: f64 = 60.0;
/// Images in a row that are refused for reasons that pass, or are lost, before a rank expects no
/// other: some seconds while a log is full, which is longer than a command that a program runs.
pub(super) const REFUSALS_MAX: u32 = 30;
/// Seconds between two requests for images that let the log be cut.
pub(super) const LOG_ROOM_ASK_EVERY_S: f64 = 0.1;

/// Seconds for which a program first stands still for an image that waits for other ranks.
pub(super) const IMAGE_PATIENCE_S: f64 = 0.02;
/// Seconds after which it stands still again; every further time after four times as long.
pub(super) const IMAGE_AGAIN_AFTER_S: f64 = 0.25;
/// Part of the time that the image has waited for which it stands still then.
pub(super) const IMAGE_PATIENCE_PART: f64 = 0.25;
/// Nanoseconds for which a rank that leaves the library waits for peers that recover through it.
pub(super) const ATTEND_PATIENCE_NS: u64 = 100_000_000;

/// Batches of determinants under way to a remote event logger, each of which left when something
/// was recorded: enough for a round trip in which several messages come, few enough that a stream
/// of messages gathers larger batches.
pub(super) const BATCHES_UNDER_WAY: usize = 4;

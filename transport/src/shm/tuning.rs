//! Constants of the shared-memory transport: unit, and one line of reason each. Measurements are in
//! `docs/performance/log.md`, "Shared-memory rings".

/// Payloads of more bytes are announced first: a receiver that is late need not store them.
pub const EAGER_MAX: usize = 256 << 10;

/// Bytes of the bulk area at the least: with many ranks their pairs are many, and memory counts.
pub(super) const BULK_MIN: u64 = 128 << 10;
/// Bytes of the bulk area where nothing else is known. Lines that have left the reader's nearest
/// caches by the time they are written again cost their writer less.
pub(super) const BULK_USUAL: u64 = 512 << 10;
/// Bytes of the bulk area at the most ([`ftmpi_copy::ring_bytes`]).
pub(super) const BULK_MAX: u64 = 4 << 20;
/// Ranks of a host that have so long bulk areas: the areas of more would take too many addresses.
pub(super) const LONG_RANKS: usize = 64;
/// Bytes in a process by which laps of all its channels are longer than the usual bulk area: enough
/// for those to which a rank sends much.
pub(super) const LONG_BYTES: u64 = 16 << 20;
/// Laps after which a lap longer than the usual bulk area is twice as long: so many messages repay
/// the first touch of their pages.
pub(super) const LONG_LAPS: u32 = 16;
/// Bytes of a whole piece at the most. Beyond, chunks are worth their own lines.
pub(super) const PIECE_MAX: u64 = 16 << 10;
/// Messages of more bytes are read forwards: their target has no place in the nearest caches.
pub(super) const BACKWARDS_MAX: u64 = 256 << 10;
/// Pieces of fewer bytes are not copied past the caches, and their times not taken.
pub(super) const PACE_PIECE_MIN: u64 = 2 << 10;
/// Bytes of the bulk area that are used at first.
pub(super) const LAP_MIN: u64 = 16 << 10;
/// Laps after which a lap is twice as long. The first touch of new pages then costs little compared
/// with what was sent.
pub(super) const LAPS: u32 = 64;

/// Bytes of a chunk at the most.
pub(super) const CHUNK: u64 = 32 << 10;
/// Bytes of a chunk at the least, but for the last one.
pub(super) const CHUNK_FIRST: u64 = 8 << 10;
/// Bytes of the first chunk of a message that its reader waits for: the reader begins earlier.
pub(super) const CHUNK_BEGIN: u64 = 4 << 10;

/// Messages up to this many bytes are written into lines that their writer has asked for when it
/// sent the message before. Longer ones are quicker with the string instruction, which fetches
/// nothing.
pub(super) const OWNED_MAX: u64 = 2 << 10;
/// Bytes that are read without the string instruction, where lines are asked for while their writer
/// waits.
pub(super) const VECTORS_MAX: u64 = 4 << 10;
/// Bytes of the next message's lines that are asked for while its writer waits.
pub(super) const AHEAD_MAX: u64 = 64 << 10;
/// Lines that are asked for between two looks.
pub(super) const AHEAD_AT_ONCE: u64 = 32;
/// Bytes of a message that a writer that has waited moves to the common cache, where the processor
/// can.
pub(super) const DEMOTED_MAX: u64 = 768;
/// Bytes between the begins of two messages in the bulk area at the least. A reader that takes one
/// line of a pair gets the other one as well. A reader that takes two in a row gets the next two,
/// from a writer that is about to fill them.
pub(super) const APART: u64 = 256;
/// Longer messages of a writer that has waited end with a page of so many bytes. Up to there the
/// reader's processor asks for lines by itself once it takes some in a row. These are lines of the
/// next message, which its writer had got just before.
pub(super) const PAGE: u64 = 4096;

/// Bytes from which a piece is announced before it is whole: from here on that is quicker.
pub(super) const EARLY_MIN: u64 = 1 << 10;
/// Bytes up to which a piece is announced before it is whole: longer ones are quicker in chunks.
pub(super) const EARLY_MAX: u64 = 16 << 10;
/// Bytes after the announcement that are moved to the common cache, in addition to the last line.
pub(super) const DEMOTED_LATE: usize = 1 << 10;
/// Looks of a reader for the rest of an early piece: some microseconds in all, in which a writer
/// that goes on is through.
pub(super) const EARLY_LOOKS: u32 = 160;
/// Looks of a reader without a pause.
pub(super) const EARLY_LOOKS_IN_A_ROW: u32 = 128;

/// Payloads of more bytes may be sent with a single copy.
pub(super) const SINGLE_COPY_MIN: u64 = 8 << 10;
/// Ticks that a writer waits for the reader of an offered payload that it could as well put into
/// the ring, and one more for every second byte. This is some times the time of the ring.
pub(super) const SINGLE_COPY_PATIENCE: u64 = 8 << 10;
/// Payloads at the most that are not offered after a reader did not come in time: one, two, four, …
pub(super) const SINGLE_COPY_PAUSE_MAX: u32 = 1 << 10;
/// Ticks since an offer within which it is certainly still its writer's. A fraction of a
/// millisecond: no number of a process is used again so soon. The writer's word need not be read
/// then.
pub(super) const OFFER_FRESH: u64 = 1 << 20;

/// Frames that one look takes at the most, so that one busy writer does not keep the reader from
/// others.
pub(super) const FRAMES_PER_LOOK: u32 = 64;

/// Chunks in a trial.
pub(super) const PACE_TRIAL: u32 = 48;
/// The first chunk of a trial that counts: before it the ring changes from one way to the other.
pub(super) const PACE_COUNTED: u32 = 24;
/// Chunks of a trial at the most: it lasts until the reader has answered.
pub(super) const PACE_TRIAL_MAX: u32 = 4 * PACE_TRIAL;
/// Chunks between trials at first: each trial that changes nothing doubles them.
pub(super) const PACE_PAUSE_MIN: u32 = 512;
/// Chunks between trials at the most.
pub(super) const PACE_PAUSE_MAX: u32 = 1 << 16;

/// Intervals of a turn in a trial. They count together: a message that is taken late makes one
/// interval longer and the next one shorter.
pub(super) const POLICY_TURN: u32 = 8;
/// Messages at the begin of a turn by the kernel, and of the very first turn, that do not count.
/// The caches are not yet filled as they will be. By the ring it is so many as go once around it.
pub(super) const POLICY_WARM: u32 = 2;
/// Turns of a trial, of either way in turn: the best turn of each counts, since others may find
/// other circumstances.
pub(super) const POLICY_TURNS: u32 = 4;
/// Messages between trials at first: each trial that changes nothing doubles them.
pub(super) const POLICY_PAUSE_MIN: u32 = 256;
/// Messages between trials at the most.
pub(super) const POLICY_PAUSE_MAX: u32 = 1 << 13;
/// Turns in a row that take another time than in the last trial, until a trial begins at once: the
/// program does something else.
pub(super) const POLICY_ODD_TURNS: u32 = 4;
/// A turn takes another time if it is so many times as long, or as short.
pub(super) const POLICY_ODD: f64 = 1.5;
/// A way is better if it takes less than this part of the other's time.
pub(super) const POLICY_BETTER: f64 = 0.95;
/// A way that takes so many times as long after one turn of each is not tried again.
pub(super) const POLICY_WORSE: f64 = 1.2;
/// Messages that the writer may send another way than the one that is being tried.
pub(super) const POLICY_MISSES: u32 = 16 * POLICY_TURN;
/// Classes of sizes: from the first on, twice as long each, the last without end.
pub(super) const POLICY_CLASSES: usize = 11;

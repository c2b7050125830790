//! Constants of the shared-memory transport: unit, and one line of reason each. Measurements are in
//! `docs/performance/log.md`, "Shared-memory rings".

/// Payloads of more bytes are announced first: a receiver that is late need not store them.
pub const EAGER_MAX: usize = 256 << 10;

/// Bytes of the bulk area at the least: with many ranks their pairs are many, and memory counts.
pub(super) const BULK_MIN: u64 = 128 << 10;
/// Bytes of the bulk area at the most: lines that have left the reader's nearest caches by the time
/// they are written again cost their writer less.
pub(super) const BULK_MAX: u64 = 512 << 10;
/// Bytes of the bulk area that are used at first.
pub(super) const LAP_MIN: u64 = 16 << 10;
/// Laps after which a lap is twice as long: then the first touch of new pages costs little beside
/// what was sent.
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
/// line of a pair gets the other one as well, and one that takes two in a row the next two, from a
/// writer that is about to fill them.
pub(super) const APART: u64 = 256;
/// Longer messages of a writer that has waited end with a page of so many bytes. Up to there the
/// reader's processor asks for lines by itself once it takes some in a row: lines of the next
/// message, which its writer had got just before.
pub(super) const PAGE: u64 = 4096;

/// Bytes from which a piece is announced before it is whole: from here on that is quicker.
pub(super) const EARLY_MIN: u64 = 1 << 10;
/// Bytes up to which a piece is announced before it is whole: longer ones are quicker in chunks.
pub(super) const EARLY_MAX: u64 = 16 << 10;
/// Bytes after the announcement that are moved to the common cache, beside the last line.
pub(super) const DEMOTED_LATE: usize = 1 << 10;
/// Looks of a reader for the rest of an early piece: some microseconds in all, in which a writer
/// that goes on is through.
pub(super) const EARLY_LOOKS: u32 = 160;
/// Looks of a reader without a pause.
pub(super) const EARLY_LOOKS_IN_A_ROW: u32 = 128;

/// Payloads of more bytes may be sent with a single copy.
pub(super) const SINGLE_COPY_MIN: u64 = 8 << 10;
/// Ticks that a writer waits for the reader of an offered payload that it could as well put into
/// the ring, and one more for every second byte: some times what the ring would take.
pub(super) const SINGLE_COPY_PATIENCE: u64 = 8 << 10;
/// Payloads at the most that are not offered after a reader did not come in time: one, two, four, …
pub(super) const SINGLE_COPY_PAUSE_MAX: u32 = 1 << 10;
/// Ticks since an offer within which it is certainly still its writer's: a fraction of a
/// millisecond, in which no number of a process comes round again. The writer's word need not be
/// read then.
pub(super) const OFFER_FRESH: u64 = 1 << 20;

/// Frames that one look takes at the most, so that one busy writer does not keep the reader from
/// others.
pub(super) const FRAMES_PER_LOOK: u32 = 64;

//! Constants of the TCP transport: unit, and one line of reason each. Measurements are in
//! `docs/performance/log.md`, "TCP".

/// Payloads of more bytes are announced first: a receiver that is late need not store them.
pub const EAGER_MAX: usize = 256 << 10;
/// Bytes of the receive buffer: several small frames come with one system call.
pub(super) const BUFFER: usize = 64 << 10;
/// Payloads of which fewer bytes are missing are copied through the buffer, so that one read may
/// bring many frames.
pub(super) const DIRECT_MIN: u64 = 16 << 10;
/// Bytes that are read along with the header after a payload that landed directly: the next payload
/// often does so, too.
pub(super) const WITH_HEADER: usize = 4 << 10;
/// Bytes of a piggyback that waits for the frame that it belongs to: one system call for both.
pub(super) const AHEAD_MAX: u64 = 32 << 10;
/// Reads of one look at the most, so that one busy writer does not keep the reader from others.
pub(super) const READS_PER_LOOK: u32 = 16;

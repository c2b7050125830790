//! What a channel hands over: frames, each to a landing place that its receiver names.

use ftmpi_wire::Header;

/// What a reader does with frames.
pub trait FrameReceiver {
    /// What the receiver gets back at the end of a frame.
    type Token: Copy;
    /// Whether this message is awaited, for [`Channel::poll_expected`](crate::shm::Channel).
    fn expects(&self, header: &Header) -> bool;
    /// A frame begins: where its payload is to go, and how much of it fits there.
    fn begin(&mut self, header: &Header) -> (*mut u8, usize, Self::Token);
    /// The payload of the frame is there.
    fn end(&mut self, header: &Header, token: Self::Token);
}

/// A frame that is in the middle of landing.
pub(crate) struct Incoming<T> {
    pub(crate) header: Header,
    pub(crate) at: *mut u8,
    pub(crate) capacity: usize,
    pub(crate) token: T,
    /// Bytes that have come.
    pub(crate) received: u64,
}

//! A one-sided request between its message and the window.

use super::request::Request;
use crate::ids::ReqId;
use ftmpi_wire::{Rank, Ssn};

/// A request that came and was not served yet.
pub(crate) struct Arrived {
    pub(super) source: Rank,
    /// Its rank in the window.
    pub(super) origin: u32,
    pub(super) ssn: Ssn,
    /// The message, and the receive that fills it.
    pub(super) message: Vec<u8>,
    pub(super) receiving: Option<ReqId>,
    pub(super) request: Option<Request>,
    pub(super) data: Data,
}

/// The data of a request.
pub(crate) enum Data {
    /// In the message, from this byte on.
    Inside(usize),
    /// In a message of their own, which was not asked for yet.
    Apart(u32),
    /// They are landing here; straight in the window if there is no buffer.
    Landing(ReqId, Option<Vec<u8>>),
    /// They are here.
    Here(Vec<u8>),
    /// They are in the window.
    Stored,
}

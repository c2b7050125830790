//! Frames that wait to leave.

use super::super::link::Frame;
use crate::ids::ReqId;
use crate::usermem::UserPtr;
use ftmpi_protocols::protocol::Marker;
use ftmpi_wire::header::Kind;
use ftmpi_wire::{EventNo, Header, Ssn};

/// A frame that waits to leave.
#[derive(Debug)]
pub(crate) struct Out {
    pub frame: Frame,
    /// The payload, if nobody else owns it.
    pub owned: Option<Vec<u8>>,
    /// Own events up to this one must be stable before the frame leaves.
    pub after: EventNo,
    /// The request that completes when the frame has left.
    pub request: Option<ReqId>,
    /// When the frame was found to wait for the logger.
    pub gated_at: Option<f64>,
    /// The frame is a message of the program or its announcement; else a frame of the engine.
    pub message: bool,
    /// A marker gets its count when it leaves.
    pub marker: Option<Marker>,
}

impl Out {
    /// A message of the program that may leave at once.
    #[inline]
    pub fn message(frame: Frame, owned: Option<Vec<u8>>, request: Option<ReqId>) -> Self {
        let (after, gated_at) = (EventNo(0), None);
        Self { frame, owned, after, request, gated_at, message: true, marker: None }
    }

    /// The announcement of a message (request-to-send); its payload is the length of the message.
    pub fn announcement(mut header: Header) -> Self {
        let len = header.len.to_le_bytes().to_vec();
        header.len = len.len() as u64;
        let frame = Frame::new(header, UserPtr::own(&len));
        Self::message(frame, Some(len), None)
    }

    /// A frame of the engine.
    pub fn control(kind: Kind, ssn: Ssn, payload: Vec<u8>) -> Self {
        let header = Header { kind, flags: 0, context: 0, tag: 0, len: payload.len() as u64, ssn };
        let frame = Frame::new(header, UserPtr::own(&payload));
        Self { message: false, ..Self::message(frame, Some(payload), None) }
    }

    /// The marker of a wave.
    pub fn marker(marker: Marker) -> Self {
        let out = Self::control(Kind::Protocol, Ssn(0), marker.encode().to_vec());
        Self { marker: Some(marker), ..out }
    }
}

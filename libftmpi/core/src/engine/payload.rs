//! Payloads in the program's memory: one piece, or elements of a datatype.

use super::request::{RecvData, SendData};
use crate::usermem::UserPtr;

/// Bytes of a payload.
pub(super) fn send_len(data: &SendData) -> usize {
    match data {
        SendData::Bytes { len, .. } => *len,
        SendData::Typed { count, datatype, .. } => {
            datatype.total_size(*count).unwrap_or(u64::MAX) as usize
        }
        SendData::Owned(bytes) => bytes.len(),
    }
}

/// Bytes that fit into a receive.
pub(super) fn recv_len(data: &RecvData) -> usize {
    match data {
        RecvData::Bytes { len, .. } => *len,
        RecvData::Typed { count, datatype, .. } => {
            datatype.total_size(*count).unwrap_or(u64::MAX) as usize
        }
    }
}

/// The payload as one piece.
pub(super) fn pack(data: &SendData) -> Vec<u8> {
    match data {
        SendData::Bytes { ptr, len } => {
            let mut out = Vec::new();
            ptr.append_to(*len, &mut out);
            out
        }
        SendData::Typed { ptr, count, datatype } => datatype.packed(*ptr, *count),
        SendData::Owned(bytes) => bytes.clone(),
    }
}

/// Copies the payload into a buffer of its length, from where it leaves.
pub(super) fn pack_into(data: &SendData, out: &mut [u8]) {
    match data {
        SendData::Bytes { ptr, .. } => ptr.store_near(out),
        SendData::Typed { ptr, count, datatype } => {
            datatype.pack(*ptr, *count, 0, out);
        }
        SendData::Owned(bytes) => out.copy_from_slice(bytes),
    }
}

/// Copies the first `len` bytes of the payload to another place.
pub(super) fn copy_out(data: &SendData, at: UserPtr, len: usize) {
    match data {
        SendData::Bytes { ptr, .. } => ptr.copy_to(at, len),
        SendData::Typed { .. } => at.write(&pack(data)[..len]),
        SendData::Owned(bytes) => at.write(&bytes[..len]),
    }
}

/// Copies a packed payload to where the receive wants it.
pub(super) fn unpack(packed: &[u8], into: &RecvData) {
    match into {
        RecvData::Bytes { ptr, len } => ptr.write(&packed[..packed.len().min(*len)]),
        RecvData::Typed { ptr, count, datatype } => {
            datatype.unpack(*ptr, *count, 0, packed);
        }
    }
}

//! Copies of small payloads: most messages are shorter than a call of `memcpy` is worth.

use super::direction::TAIL_BYTES;
use super::tuning::{OWNED_MAX, VECTORS_MAX};

/// Copies up to 32 bytes without a call.
///
/// # Safety
/// Both ranges are `len` ≤ 32 bytes long and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_small(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the halves below cover `len` bytes and no more.
    unsafe {
        if len >= 16 {
            let head = from.cast::<u128>().read_unaligned();
            let tail = from.add(len - 16).cast::<u128>().read_unaligned();
            to.cast::<u128>().write_unaligned(head);
            to.add(len - 16).cast::<u128>().write_unaligned(tail);
        } else if len >= 8 {
            let head = from.cast::<u64>().read_unaligned();
            let tail = from.add(len - 8).cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(head);
            to.add(len - 8).cast::<u64>().write_unaligned(tail);
        } else if len >= 4 {
            let head = from.cast::<u32>().read_unaligned();
            let tail = from.add(len - 4).cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(head);
            to.add(len - 4).cast::<u32>().write_unaligned(tail);
        } else {
            for i in 0..len {
                to.add(i).write(from.add(i).read());
            }
        }
    }
}

/// Copies what belongs into one further line: a full one without a call, as all but the last are.
///
/// # Safety
/// Both ranges are `len` ≤ [`TAIL_BYTES`] bytes long and do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_tail(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        if len == TAIL_BYTES {
            std::ptr::copy_nonoverlapping(from, to, TAIL_BYTES);
        } else if len <= 32 {
            copy_small(from, to, len);
        } else {
            std::ptr::copy_nonoverlapping(from, to, len);
        }
    }
}

/// Copies `fits` bytes of a payload of `len` that came through the bulk area in one piece.
///
/// # Safety
/// Both ranges are `fits` bytes long and do not overlap.
#[inline]
pub(super) unsafe fn copy_piece(from: *const u8, to: *mut u8, fits: usize, len: u64) {
    let most = if ftmpi_copy::owns_ahead() { VECTORS_MAX } else { OWNED_MAX };
    // SAFETY: as the caller promises.
    unsafe {
        if len <= most && !ftmpi_copy::takes_backwards() {
            ftmpi_copy::owned(from, to, fits);
        } else {
            ftmpi_copy::take(from, to, fits);
        }
    }
}

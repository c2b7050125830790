//! Memory for bytes whose number another process has told.
//!
//! Guarantee: a number that does not fit into memory is an answer, never the end of the process.

/// So many zero bytes; `None`: there is no memory for them.
pub(crate) fn zeroed(bytes: u64) -> Option<Vec<u8>> {
    let mut room = Vec::new();
    grow(&mut room, bytes).then_some(room)
}

/// Makes `room` this long, with zero bytes at its end. `false`: there is no memory for them, and
/// `room` stays as it was.
pub(crate) fn grow(room: &mut Vec<u8>, bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else { return false };
    let more = bytes.saturating_sub(room.len());
    if room.try_reserve_exact(more).is_err() {
        return false;
    }
    room.resize(bytes, 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_memory_is_refused() {
        assert_eq!(zeroed(3), Some(vec![0; 3]));
        assert_eq!(zeroed(u64::MAX), None);
        assert_eq!(zeroed(1 << 62), None);
        let mut room = vec![7; 2];
        assert!(!grow(&mut room, u64::MAX - 1));
        assert_eq!(room, [7; 2]);
        assert!(grow(&mut room, 4));
        assert_eq!(room, [7, 7, 0, 0]);
    }
}

//! Texts of the program: bytes that end before a zero, mostly UTF-8. Other encodings stay as they
//! are.

/// The begin of `text`, at most `room` bytes, that does not end within a character of UTF-8.
#[must_use]
pub fn within(text: &[u8], room: usize) -> &[u8] {
    if text.len() <= room {
        return text;
    }
    // A character has at most three bytes after its first; bytes of other encodings are cut
    // anywhere.
    let first = (room.saturating_sub(3)..=room).rev().find(|&at| text[at] & 0xc0 != 0x80);
    match first {
        Some(at) if text[at] >= 0xc0 => &text[..at],
        _ => &text[..room],
    }
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn texts_are_cut_between_characters_and_odd_bytes_anywhere() {
        let text = "aö€𝄞".as_bytes();
        let cuts = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10];
        for (room, cut) in cuts.into_iter().enumerate() {
            assert_eq!(within(text, room), &text[..cut], "{room}");
        }
        let odd = [0xbf; 8];
        assert_eq!(within(&odd, 5), &odd[..5]);
        assert_eq!(within(b"\xfcber", 3), b"\xfcbe");
    }
}

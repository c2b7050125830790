//! The hash of files and tables.

/// A quick hash that tells builds of a file apart (not secure: an image is trusted as the program
/// itself is). Bytes may come in pieces whose lengths are multiples of 8, except for the last.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}

impl Hash {
    /// Of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// With more bytes.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut state = self.0;
        let mut mix = |word: u64| {
            state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            state ^= state >> 29;
        };
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            mix(u64::from_le_bytes([
                word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7],
            ]));
        }
        for &byte in words.remainder() {
            mix(u64::from(byte) | 0x100);
        }
        Self(state)
    }

    /// The value.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

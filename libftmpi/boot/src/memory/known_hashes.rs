//! Hashes of mapped files that earlier images of this incarnation have computed.
//!
//! An image names the program and its libraries by the hash of their contents. For that they are
//! read whole, and they hardly ever change. The image child notes what it has computed in memory
//! that the process and all its children share. So the next image need not read the files again.
//!
//! Guarantee: a note counts only for the same file, with the same size and times, that had not been
//! changed for a while when it was read. Whoever restores reads the files themselves. So a note
//! that is wrong nevertheless can have an image refused, and never lets another file pass.

use crate::base::reserved_area::ReservedArea;
use crate::base::tables::{FILE_NOTES, FileNote};
use core::sync::atomic::Ordering;
use ftmpi_checkpoint::stream::Hash;

/// The words of a note: device, number, size, and the times of the last changes of contents and of
/// the file; its hash; the hash of these, because two children may write at the same time.
const HASH: usize = 5;
const SEAL: usize = 6;
/// How long a file must have been unchanged when it is read: longer than the steps of its times.
const SETTLED_NS: i64 = 2_000_000_000;

/// What tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u64; HASH]);

impl Key {
    /// Of a file that exists.
    pub fn of(stat: &libc::stat) -> Self {
        Self([
            stat.st_dev,
            stat.st_ino,
            stat.st_size as u64,
            ns(stat.st_mtime, stat.st_mtime_nsec) as u64,
            ns(stat.st_ctime, stat.st_ctime_nsec) as u64,
        ])
    }

    fn place(self, notes: &[FileNote]) -> Option<&FileNote> {
        let mixed = Hash::new().with(&self.0[0].to_le_bytes()).with(&self.0[1].to_le_bytes());
        notes.get(mixed.value() as usize % FILE_NOTES)
    }

    fn seal(self, hash: u64) -> u64 {
        let words = self.0.iter().chain([&hash]);
        words.fold(Hash::new(), |seal, word| seal.with(&word.to_le_bytes())).value()
    }

    /// Whether the file has not changed of late, at this time of the real clock.
    fn is_settled(self, now_ns: i64) -> bool {
        let latest = (self.0[3] as i64).max(self.0[4] as i64);
        latest.checked_add(SETTLED_NS).is_some_and(|settled| settled <= now_ns)
    }
}

fn ns(seconds: i64, ns: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

/// The hash of this file, if it is noted.
pub fn get(area: &ReservedArea, key: Key) -> Option<u64> {
    read(area.known_hashes(), key)
}

/// Notes the hash of a file that was read after the time `now_ns` of the real clock.
pub fn put(area: &ReservedArea, key: Key, hash: u64, now_ns: i64) {
    write(area.known_hashes(), key, hash, now_ns);
}

fn read(notes: &[FileNote], key: Key) -> Option<u64> {
    let words = key.place(notes)?.each_ref().map(|word| word.load(Ordering::Relaxed));
    let hash = words[HASH];
    (words[..HASH] == key.0 && words[SEAL] == key.seal(hash)).then_some(hash)
}

fn write(notes: &[FileNote], key: Key, hash: u64, now_ns: i64) {
    let Some(place) = key.place(notes).filter(|_| key.is_settled(now_ns)) else { return };
    let words = key.0.iter().chain([&hash]);
    place.iter().zip(words).for_each(|(place, word)| place.store(*word, Ordering::Relaxed));
    place[SEAL].store(key.seal(hash), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tables::FILE_NOTE_WORDS;
    use core::sync::atomic::AtomicU64;

    fn notes() -> [FileNote; FILE_NOTES] {
        [const { [const { AtomicU64::new(0) }; FILE_NOTE_WORDS] }; FILE_NOTES]
    }

    #[test]
    fn a_note_counts_for_the_same_file_only() {
        let (notes, key) = (notes(), Key([1, 2, 3, 4, 5]));
        assert_eq!(read(&notes, key), None);
        write(&notes, key, 77, i64::MAX);
        assert_eq!(read(&notes, key), Some(77));
        for changed in
            [[9, 2, 3, 4, 5], [1, 9, 3, 4, 5], [1, 2, 9, 4, 5], [1, 2, 3, 9, 5], [1, 2, 3, 4, 9]]
        {
            assert_eq!(read(&notes, Key(changed)), None, "{changed:?}");
        }
    }

    #[test]
    fn a_file_that_changed_just_now_is_not_noted() {
        let (notes, changed) = (notes(), 1_000_000_000_000);
        let key = Key([1, 2, 3, 4, changed]);
        write(&notes, key, 77, changed as i64 + SETTLED_NS - 1);
        assert_eq!(read(&notes, key), None);
        write(&notes, key, 77, changed as i64 + SETTLED_NS);
        assert_eq!(read(&notes, key), Some(77));
        write(&notes, Key([1, 2, 3, i64::MAX as u64, 5]), 77, i64::MAX);
    }

    #[test]
    fn half_a_note_is_none() {
        let (notes, key) = (notes(), Key([1, 2, 3, 4, 5]));
        write(&notes, key, 77, i64::MAX);
        key.place(&notes).unwrap()[HASH].store(78, Ordering::Relaxed);
        assert_eq!(read(&notes, key), None);
    }
}

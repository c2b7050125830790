//! Marks of durability: how far all logs are durable, and what counts after a loss of power.
//!
//! Events of one rank may depend on events of another, in another file. The system may have carried
//! one file to disk and not the other. After a loss of power the files are therefore not trusted;
//! what counts is what they held when the last *round* began. A round takes all logs at one
//! instant, syncs every file after it, and then writes a mark. An event is in its file before
//! anything that depends on it leaves its rank. So the logs of one instant never lack what they
//! depend on.
//!
//! ```text
//! magic "FTMPIDUR" | version u32 | ranks u32 | round u64 | boot id (39) | flags u8
//! | (rank u32, 0 u32, last u64)* | crc32c u32
//! ```
//! Flags: 1, *clean*: nothing was written after the mark, because the logger was asked to end, and
//! did. 2, *lost*: the system went down once while events came in.
//!
//! Two files take turns: the older mark stays while the newer one is written. A mark of this boot
//! of the system cuts nothing, because the system still has what was written.

use crate::files::{Files, StoreFile};
use ftmpi_wire::{EventNo, Rank};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"FTMPIDUR";
const VERSION: u32 = 1;
const BOOT_BYTES: usize = 39;
const HEAD_BYTES: usize = 24 + BOOT_BYTES + 1;
const ENTRY_BYTES: usize = 16;
const NAMES: [&str; 2] = ["durable.0", "durable.1"];

/// What was durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mark {
    round: u64,
    /// The boot of the system that wrote the mark.
    pub boot: String,
    /// Nothing was written after the mark.
    pub clean: bool,
    /// Something that was written after an earlier mark may be lost.
    pub lost: bool,
    /// The last durable event of each rank.
    pub last: BTreeMap<Rank, EventNo>,
}

/// The two files of marks.
#[derive(Debug)]
pub(super) struct Marker {
    slots: [Arc<StoreFile>; 2],
    boot: String,
    round: u64,
    /// The next mark is the last one.
    pub ending: bool,
    /// The system went down, now or earlier, while events came in. Some may be lost without a
    /// trace.
    pub lost: bool,
}

/// A mark that is written once everything that it covers is durable.
#[derive(Debug, Clone)]
pub(super) struct Making {
    slot: Arc<StoreFile>,
    bytes: Vec<u8>,
}

impl Making {
    pub fn make(&self) -> io::Result<()> {
        self.slot.write_all_at(&self.bytes, 0)?;
        self.slot.sync()
    }
}

impl Marker {
    /// Opens the marks of a directory, and makes them if there are none. Returns the newest sound
    /// mark as well.
    pub fn open(dir: &Path, files: &Files, boot: &str) -> io::Result<(Self, Option<Mark>)> {
        let mut newest: Option<Mark> = None;
        let mut made = false;
        let mut slot = |name: &str| {
            let path = dir.join(name);
            match files.open(&path) {
                Ok(file) => {
                    if let Some(mark) = decode(&std::fs::read(&path)?)
                        && newest.as_ref().is_none_or(|known| known.round < mark.round)
                    {
                        newest = Some(mark);
                    }
                    Ok(file)
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    made = true;
                    files.create(&path)
                }
                Err(e) => Err(e),
            }
        };
        let slots = [Arc::new(slot(NAMES[0])?), Arc::new(slot(NAMES[1])?)];
        if made {
            files.sync_dir(dir)?;
        }
        let round = newest.as_ref().map_or(0, |mark| mark.round);
        let lost = newest.as_ref().is_some_and(|m| m.lost || (m.boot != boot && !m.clean));
        Ok((Self { slots, boot: boot.to_owned(), round, ending: false, lost }, newest))
    }

    /// The next mark.
    pub fn next(&mut self, last: impl Iterator<Item = (Rank, EventNo)>) -> Making {
        self.round += 1;
        let (round, boot) = (self.round, self.boot.clone());
        let mark = Mark { round, boot, clean: self.ending, lost: self.lost, last: last.collect() };
        Making { slot: self.slots[(self.round % 2) as usize].clone(), bytes: encode(&mark) }
    }
}

/// The id of this boot of this system.
pub(crate) fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

fn encode(mark: &Mark) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES + ENTRY_BYTES * mark.last.len() + 4);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(mark.last.len() as u32).to_le_bytes());
    out.extend_from_slice(&mark.round.to_le_bytes());
    let mut boot = mark.boot.clone().into_bytes();
    boot.resize(BOOT_BYTES, 0);
    out.extend_from_slice(&boot);
    out.push(u8::from(mark.clean) | u8::from(mark.lost) << 1);
    for (rank, last) in &mark.last {
        out.extend_from_slice(&u64::from(rank.0).to_le_bytes());
        out.extend_from_slice(&last.0.to_le_bytes());
    }
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Bytes after the checksum belong to a longer mark that was there before.
fn decode(bytes: &[u8]) -> Option<Mark> {
    let u32_at =
        |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().expect("4 bytes")));
    let u64_at =
        |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().expect("8 bytes")));
    let ranks = u32_at(12)? as usize;
    let end = HEAD_BYTES.checked_add(ranks.checked_mul(ENTRY_BYTES)?)?;
    if bytes.get(..8)? != MAGIC
        || u32_at(8)? != VERSION
        || crc32c::crc32c(bytes.get(..end)?) != u32_at(end)?
    {
        return None;
    }
    let boot = std::str::from_utf8(&bytes[24..24 + BOOT_BYTES]).ok()?;
    let flags = bytes[24 + BOOT_BYTES];
    let (clean, lost) = (flags & 1 != 0, flags & 2 != 0);
    let mut last = BTreeMap::new();
    for entry in 0..ranks {
        let at = HEAD_BYTES + entry * ENTRY_BYTES;
        last.insert(Rank(u32_at(at)?), EventNo(u64_at(at + 8)?));
    }
    let boot = boot.trim_end_matches('\0').to_owned();
    Some(Mark { round: u64_at(16)?, boot, clean, lost, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_survive_and_damage_is_seen(
            last in proptest::collection::btree_map(any::<u32>(), any::<u64>(), 0..5),
            round: u64, clean: bool, lost: bool, at: prop::sample::Index, bit in 0u8..8,
        ) {
            let last = last.into_iter().map(|(r, e)| (Rank(r), EventNo(e))).collect();
            let mark = Mark { round, boot: "0b6e-x".into(), clean, lost, last };
            let mut bytes = encode(&mark);
            bytes.extend_from_slice(b"older");
            prop_assert_eq!(decode(&bytes), Some(mark));
            let at = at.index(bytes.len() - 5);
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(decode(&bytes), None);
            prop_assert_eq!(decode(&bytes[..at]), None);
        }
    }

    #[test]
    fn a_mark_that_was_not_finished_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::default();
        let (mut marker, none) = Marker::open(dir.path(), &files, "a").unwrap();
        assert_eq!(none, None);
        for last in [5, 6] {
            marker.next([(Rank(1), EventNo(last))].into_iter()).make().unwrap();
        }
        let torn = marker.next([(Rank(1), EventNo(7))].into_iter());
        torn.slot.write_all_at(&torn.bytes[..30], 0).unwrap();
        let (_, found) = Marker::open(dir.path(), &files, "b").unwrap();
        let found = found.unwrap();
        assert_eq!((found.boot.as_str(), found.last[&Rank(1)]), ("a", EventNo(6)));
    }

    #[test]
    fn a_loss_of_power_is_remembered_and_a_clean_end_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let begin = |boot: &str, ending: bool| {
            let (mut marker, _) = Marker::open(dir.path(), &Files::default(), boot).unwrap();
            marker.ending = ending;
            marker.next(std::iter::empty()).make().unwrap();
            marker.lost
        };
        assert!(!begin("a", false) && !begin("a", true), "the same boot");
        assert!(!begin("b", false), "a clean end before");
        assert!(begin("c", true), "the power went");
        assert!(begin("c", false) && begin("d", false), "what is gone does not come back");
    }
}

//! What a rank waits for: words of the status page ([`crate::status`]).
//!
//! A rank writes them when it has slept inside of a call of MPI and nothing came, so a message that
//! comes soon costs nothing. The first word is odd while the others change. A reader that sees an
//! odd word, or another one afterwards, knows nothing ([`load`]).
//!
//! ```text
//! sequence | since, ns | seen, ns | flags, tag | number of peers | 8 peers | 8 words of text
//! ```
//!
//! Both times are of the rank's own clock. Their difference is how long the rank has waited; `seen`
//! grows as long as the rank looks.

use crate::job_status::WaitReason;
use crate::status::word;
use serde::{Deserialize, Serialize};

/// Peers that are named.
pub const PEERS_MAX: usize = 8;
/// Bytes of the name of a call, with its zero.
pub const CALL_BYTES: usize = 64;

const SEQUENCE: usize = word::WAITING;
const SINCE: usize = SEQUENCE + 1;
const SEEN: usize = SEQUENCE + 2;
const FLAGS: usize = SEQUENCE + 3;
const COUNT: usize = SEQUENCE + 4;
const PEERS: usize = SEQUENCE + 5;
const CALL: usize = PEERS + PEERS_MAX;

const ANY_SOURCE: u64 = 1 << 8;
const ONE_IS_ENOUGH: u64 = 1 << 9;
const TAGGED: u64 = 1 << 10;

/// What a rank waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The function that the program called; empty if that is not known.
    pub call: String,
    /// For what.
    pub reason: WaitReason,
    /// The ranks, [`PEERS_MAX`] at the most.
    pub peers: Vec<u32>,
    /// It waits for any rank.
    pub any_source: bool,
    /// It goes on as soon as one of the peers does its part.
    pub one_is_enough: bool,
    /// The tag, if one is named.
    pub tag: Option<i32>,
}

/// [`Waiting`], and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// What.
    pub waiting: Waiting,
    /// For how long, in nanoseconds, when the rank looked last.
    pub for_ns: u64,
    /// When the rank looked last, on a clock of its own.
    pub seen_ns: u64,
}

/// Writes what a rank waits for, since when and until when at least.
pub fn store(
    waiting: &Waiting,
    since_ns: u64,
    seen_ns: u64,
    read: impl Fn(usize) -> u64,
    mut write: impl FnMut(usize, u64),
) {
    let sequence = read(SEQUENCE) & !1;
    write(SEQUENCE, sequence + 1);
    write(SINCE, since_ns.max(1));
    write(SEEN, seen_ns);
    let number = WaitReason::ALL.iter().position(|reason| *reason == waiting.reason).unwrap_or(0);
    let flag = |set: bool, bit: u64| if set { bit } else { 0 };
    let flags = number as u64
        | flag(waiting.any_source, ANY_SOURCE)
        | flag(waiting.one_is_enough, ONE_IS_ENOUGH)
        | flag(waiting.tag.is_some(), TAGGED)
        | (u64::from(waiting.tag.unwrap_or(0) as u32) << 32);
    write(FLAGS, flags);
    let peers = &waiting.peers[..waiting.peers.len().min(PEERS_MAX)];
    write(COUNT, peers.len() as u64);
    for (at, peer) in peers.iter().enumerate() {
        write(PEERS + at, u64::from(*peer));
    }
    let mut text = [0u8; CALL_BYTES];
    let bytes = waiting.call.as_bytes();
    let len = bytes.len().min(CALL_BYTES - 1);
    text[..len].copy_from_slice(&bytes[..len]);
    for (at, piece) in text.chunks_exact(8).enumerate() {
        write(CALL + at, u64::from_ne_bytes(piece.try_into().expect("8 bytes")));
    }
    write(SEQUENCE, sequence + 2);
}

/// The rank has looked again, and waits for the same.
pub fn store_seen(seen_ns: u64, mut write: impl FnMut(usize, u64)) {
    write(SEEN, seen_ns);
}

/// The rank waits no more.
pub fn clear(mut write: impl FnMut(usize, u64)) {
    write(SINCE, 0);
}

/// What the rank waits for; none: it does not, or is just changing it.
#[must_use]
pub fn load(read: impl Fn(usize) -> u64) -> Option<Noted> {
    let sequence = read(SEQUENCE);
    let since = read(SINCE);
    if sequence % 2 == 1 || since == 0 {
        return None;
    }
    let (seen_ns, flags) = (read(SEEN), read(FLAGS));
    let count = usize::try_from(read(COUNT)).ok()?.min(PEERS_MAX);
    let peers = (0..count).map(|at| read(PEERS + at) as u32).collect();
    let text = (0..CALL_BYTES / 8).flat_map(|at| read(CALL + at).to_ne_bytes());
    let text: Vec<u8> = text.take_while(|byte| *byte != 0).collect();
    let known = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let call = String::from_utf8(text).ok().filter(|_| known).unwrap_or_default();
    let waiting = Waiting {
        call,
        reason: *WaitReason::ALL.get(flags as usize & 0xff)?,
        peers,
        any_source: flags & ANY_SOURCE != 0,
        one_is_enough: flags & ONE_IS_ENOUGH != 0,
        tag: (flags & TAGGED != 0).then_some((flags >> 32) as u32 as i32),
    };
    let same = read(SEQUENCE) == sequence && read(SINCE) == since;
    same.then(|| Noted { waiting, for_ns: seen_ns.saturating_sub(since), seen_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::PAGE_BYTES;
    use std::cell::RefCell;

    fn page() -> RefCell<Vec<u64>> {
        RefCell::new(vec![0; PAGE_BYTES / 8])
    }

    fn waiting() -> Waiting {
        Waiting {
            call: "MPI_Recv".into(),
            reason: WaitReason::Message,
            peers: vec![3, 70_000],
            any_source: false,
            one_is_enough: true,
            tag: Some(-7),
        }
    }

    #[test]
    fn what_is_written_is_read_and_a_half_written_page_is_not() {
        let page = page();
        let read = |index: usize| page.borrow()[index];
        assert_eq!(load(read), None);
        store(&waiting(), 100, 350, read, |index, value| page.borrow_mut()[index] = value);
        let noted = load(read).unwrap();
        assert_eq!((noted.waiting, noted.for_ns, noted.seen_ns), (waiting(), 250, 350));
        store_seen(1350, |index, value| page.borrow_mut()[index] = value);
        assert_eq!(load(read).unwrap().for_ns, 1250);
        page.borrow_mut()[SEQUENCE] += 1;
        assert_eq!(load(read), None);
        page.borrow_mut()[SEQUENCE] += 1;
        clear(|index, value| page.borrow_mut()[index] = value);
        assert_eq!(load(read), None);
    }

    #[test]
    fn words_stay_within_their_part_of_the_page() {
        let page = page();
        let long = Waiting { call: "M".repeat(500), peers: (0..50).collect(), ..waiting() };
        store(
            &long,
            1,
            2,
            |index| page.borrow()[index],
            |index, value| {
                assert!((word::WAITING..word::WAITING + word::WAITING_WORDS).contains(&index));
                page.borrow_mut()[index] = value;
            },
        );
        let noted = load(|index| page.borrow()[index]).unwrap();
        assert_eq!((noted.waiting.call.len(), noted.waiting.peers.len()), (CALL_BYTES - 1, 8));
    }

    #[test]
    fn a_page_of_any_words_is_no_reason_to_panic() {
        for value in [2, u64::MAX - 1, 0xdead_beef_0000_0000, 6] {
            let _ = load(|_| value);
        }
    }
}

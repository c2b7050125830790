//! Laps of every length, and copies past the caches, whatever this processor would choose.

use super::long_laps::LongLap;
use super::pace::Pace;
use super::tests::{Collect, every_size_arrives, pair_of, send};
use super::tuning::*;
use super::*;
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;

fn go_past_caches(end: &mut Channel<u32>) {
    (end.writer.pace, end.writer.piece_pace) = (Some(Pace::past()), Some(Pace::past()));
}

#[test]
fn every_size_arrives_through_the_caches_and_past_them() {
    for bulk in [BULK_MIN, BULK_MAX] {
        let (mut a, b) = pair_of(segment_of(bulk));
        go_past_caches(&mut a);
        every_size_arrives((a, b));
        let (mut a, b) = pair_of(segment_of(bulk));
        (a.writer.pace, a.writer.piece_pace) = (None, None);
        every_size_arrives((a, b));
    }
}

/// The lap after so many messages of 24 KiB, in a process whose other channels have `others` of the
/// bytes for long laps.
fn lap_after(messages: u64, others: u64, (mut a, mut b): (Channel<u32>, Channel<u32>)) -> u64 {
    let mut sink = Collect { buffer: Vec::new(), limit: 0, got: Vec::new() };
    a.writer.offers.disable();
    a.writer.long = LongLap::of(Box::leak(Box::new(AtomicU64::new(others))));
    for ssn in 1..=messages {
        assert!(send(&mut a, ssn, &[1; 24 << 10], &mut false, &mut 0));
        while b.poll(&mut sink) {}
    }
    a.writer.lap
}

#[test]
fn a_lap_grows_beyond_the_usual_one_if_much_goes_through_it() {
    let pair = || pair_of(segment_of(BULK_MAX));
    assert!(lap_after(500, 0, pair()) < BULK_USUAL, "the touch of its pages must pay");
    assert_eq!(lap_after(9000, 0, pair()), BULK_MAX);
    assert_eq!(lap_after(9000, LONG_BYTES, pair()), BULK_USUAL);
    assert_eq!(lap_after(9000, LONG_BYTES - BULK_USUAL, pair()), 2 * BULK_USUAL);
    let (a, b) = pair();
    assert_eq!(lap_after(9000, 0, (a.oversubscribed(), b)), BULK_USUAL);
    let (a, b) = pair();
    assert_eq!(lap_after(9000, 0, (a.among(100), b)), BULK_MAX);
}

/// A reader that is late is no reason to touch more than the usual memory.
#[test]
fn a_lap_does_not_grow_beyond_the_usual_one_because_it_is_full() {
    let (mut a, _b) = pair_of(segment_of(BULK_MAX));
    a.writer.offers.disable();
    for ssn in 1.. {
        if !send(&mut a, ssn, &[1; 24 << 10], &mut false, &mut 0) {
            break;
        }
    }
    assert_eq!(a.writer.lap, BULK_USUAL);
    assert!(a.writer.is_stalled());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// However far behind the reader is, nothing is overwritten, and a reader that has read all
    /// never leaves its writer without room.
    #[test]
    fn windows_of_any_size_arrive(
        bulk in 17u32..=22,
        usual in 17u32..=19,
        past_caches: bool,
        messages in prop::collection::vec((1usize..40_000, 0usize..64, 0u8..4, 0u8..3), 1..400),
        owns_ahead: bool,
    ) {
        let (mut a, mut b) = pair_of(segment_of(1 << bulk));
        a.writer.set_usual(1 << usual);
        a.writer.owns_ahead = owns_ahead;
        if past_caches {
            go_past_caches(&mut a);
        }
        let mut sink = Collect { buffer: Vec::new(), limit: usize::MAX, got: Vec::new() };
        let mut taken = 0;
        for (ssn, &(size, shift, reads, waits)) in (1..).zip(&messages) {
            for _ in 0..waits {
                prop_assert!(!a.poll(&mut sink));
            }
            let size = if ssn % 3 == 0 { size } else { 1 + size % 5000 };
            let payload: Vec<u8> = (0..shift + size).map(|i| (i as u64 * 7 + ssn) as u8).collect();
            let (mut begun, mut sent) = (false, 0);
            while !send(&mut a, ssn, &payload[shift..], &mut begun, &mut sent) {
                let more = b.poll(&mut sink);
                prop_assert!(more || a.can_go_on(), "no room, and nothing to read");
            }
            if reads == 0 {
                while b.poll(&mut sink) {}
            }
            for (header, got) in sink.got.drain(..) {
                taken += 1;
                prop_assert_eq!(header.ssn, Ssn(taken));
                let (size, shift, ..) = messages[taken as usize - 1];
                let size = if taken % 3 == 0 { size } else { 1 + size % 5000 };
                let all = (shift..shift + size).all(|i| got[i - shift] == (i as u64 * 7 + taken) as u8);
                prop_assert!(got.len() == size && all, "message {} came otherwise", taken);
            }
        }
    }
}

//! Synchronous sends that are cancelled in a race with the receives of others. Each message is
//! received, or its send ends cancelled, and never both.

use super::{CONTEXT, E, irecv, isend, mix, word};
use ftmpi_core::engine::{RecvData, SendMode, Source, Tag};
use ftmpi_core::usermem::UserPtr;

const ROUNDS: u64 = 6;
/// Messages from each rank to each other rank in a round.
const EACH: u64 = 3;
/// Some are announced, and others come whole.
const LENGTHS: [usize; 4] = [16, 40, 60, 240];
const MOST: usize = 240;
/// The number of the message that ends a round, and says which ones were cancelled.
const END: u64 = u64::MAX;

/// What has come from one rank in a round.
#[derive(Clone, Copy, Default)]
struct Heard {
    received: u64,
    cancelled: Option<u64>,
}

pub(super) fn cancelled_sends(e: &mut E, size: usize) -> u64 {
    let me = e.me().index();
    let mut digest = me as u64;
    for round in 0..ROUNDS {
        let mut heard = vec![Heard::default(); size];
        let mut sends = Vec::new();
        for number in 0..EACH {
            for to in (0..size).filter(|&to| to != me) {
                let kind = mix(digest, number + to as u64) >> 30;
                let mut data = number.to_le_bytes().to_vec();
                data.resize(LENGTHS[kind as usize % 4], number as u8);
                if let Some(request) = isend(e, &data, to, round as i32, SendMode::Synchronous) {
                    sends.push((to, number, request, data));
                }
            }
        }
        // At least the ends of the round of the others come.
        for _ in 0..mix(digest, round) >> 20 & 1 {
            take(e, round, &mut heard);
        }
        for _ in 0..mix(digest, round) >> 40 & 3 {
            e.block();
        }
        for (_, _, request, _) in &sends {
            e.cancel(*request);
        }
        let mut cancelled = vec![0u64; size];
        for (to, number, request, _data) in sends {
            if e.wait(request).cancelled {
                cancelled[to] |= 1 << number;
                digest = mix(digest, number);
            }
        }
        tell_end(e, round, &cancelled);
        while (0..size).any(|from| from != me && heard[from].cancelled.is_none()) {
            take(e, round, &mut heard);
        }
        for (from, heard) in heard.iter().enumerate().filter(|(from, _)| *from != me) {
            let all = heard.cancelled.map(|cancelled| cancelled ^ heard.received);
            assert_eq!(all, Some((1 << EACH) - 1), "each message of rank {from}: one of both");
            digest = mix(digest, heard.received);
        }
    }
    digest
}

/// Tells all others which messages to them were cancelled in this round.
fn tell_end(e: &mut E, round: u64, cancelled: &[u64]) {
    let (mut sends, me) = (Vec::new(), e.me().index());
    for (to, bits) in cancelled.iter().enumerate().filter(|(to, _)| *to != me) {
        let mut data = END.to_le_bytes().to_vec();
        data.extend_from_slice(&bits.to_le_bytes());
        sends.extend(
            isend(e, &data, to, round as i32, SendMode::Standard).map(|request| (request, data)),
        );
    }
    for (request, _data) in sends {
        e.wait(request);
    }
}

/// Receives one message of this round. A matched probe keeps it from being cancelled.
fn take(e: &mut E, round: u64, heard: &mut [Heard]) {
    let mut into = [0; MOST];
    let tag = Tag::Is(round as i32);
    let request = match e.improbe(Source::Any, CONTEXT, tag) {
        None => irecv(e, &mut into, Source::Any, tag),
        Some((_, message)) => {
            for _ in 0..2 {
                e.block();
            }
            e.imrecv(message, RecvData::Bytes { ptr: UserPtr::own_mut(&mut into), len: MOST })
        }
    };
    let done = e.wait(request);
    let (heard, number) = (&mut heard[done.source.index()], word(&into, 0));
    if number == END {
        heard.cancelled = Some(word(&into, 1));
        return;
    }
    assert!(heard.received >> number & 1 == 0, "message {number} comes once");
    let payload = &into[8..done.bytes as usize];
    assert!(payload.iter().all(|&byte| byte == number as u8), "its payload is whole");
    heard.received |= 1 << number;
}

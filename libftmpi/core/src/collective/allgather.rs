//! Allgather with equal and with different blocks.
//!
//! Short: Bruck's algorithm (Bruck, Ho, Kipnis, Upfal, Weathersby 1997) on packed blocks, in
//! ⌈log₂ n⌉ rounds for any number of ranks. Long: around the ring, straight between the programs'
//! buffers. Where ranks share too few processors: straight from everybody to everybody, since each
//! round more is one in which all wait for a processor in turn.

use super::data::{Blocks, Piece};
use super::plan::Plan;
use super::schedule::Carrier;

/// Up to this many bytes in all, latency counts more than the additional copies.
const SHORT_BYTES: usize = 64 << 10;

/// In a crowd blocks up to this many bytes go straight to everybody: channels take them in without their reader.
const DIRECT_BYTES: usize = 64 << 10;

/// Everybody's block goes to everybody. `send` is `None` if the block is in place.
pub fn allgather<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Piece>, recv: &Blocks) {
    let total: usize = (0..p.size).map(|i| recv.bytes(i)).sum();
    if total == 0 {
        return;
    }
    let largest = (0..p.size).map(|i| recv.bytes(i)).max().unwrap_or(0);
    if p.size > 2 && largest <= DIRECT_BYTES && p.is_small_crowd() {
        direct(p, send, recv);
    } else if total <= SHORT_BYTES && p.size > 2 {
        bruck(p, send, recv);
    } else {
        ring(p, send, recv);
    }
}

fn direct<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Piece>, recv: &Blocks) {
    let (n, me) = (p.size, p.me);
    let mine = send.cloned().unwrap_or_else(|| recv.piece(me));
    for distance in 1..n {
        let (to, from) = ((me + distance) % n, (me + n - distance) % n);
        if recv.bytes(from) > 0 {
            p.recv(recv.piece(from), from, 0);
        }
        if recv.bytes(me) > 0 {
            p.send(mine.clone(), to, 0);
        }
    }
    if send.is_some() {
        p.copy(mine, recv.piece(me));
    }
}

fn bruck<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Piece>, recv: &Blocks) {
    let n = p.size;
    let me = p.me;
    // Blocks me, me + 1, … in this order; `starts[i]` is where the i-th of them begins.
    let mut starts = Vec::with_capacity(n + 1);
    let mut end = 0;
    for i in 0..n {
        starts.push(end);
        end += recv.bytes((me + i) % n);
    }
    starts.push(end);
    let stage = p.scratch(end);
    let part = |from: usize, to: usize| {
        Piece::bytes(stage.offset(starts[from] as i64), starts[to] - starts[from])
    };
    match send {
        Some(send) => p.copy(send.clone(), part(0, 1)),
        None => p.copy(recv.piece(me), part(0, 1)),
    }
    let mut have = 1;
    let mut round = 0;
    while have < n {
        let more = have.min(n - have);
        p.recv(part(have, have + more), (me + have) % n, round);
        p.send(part(0, more), (me + n - have) % n, round);
        p.fence();
        have += more;
        round += 1;
    }
    for i in 0..n {
        if i > 0 || send.is_some() {
            p.copy(part(i, i + 1), recv.piece((me + i) % n));
        }
    }
}

fn ring<C: Carrier>(p: &mut Plan<'_, C>, send: Option<&Piece>, recv: &Blocks) {
    let n = p.size;
    let me = p.me;
    if let Some(send) = send {
        p.copy(send.clone(), recv.piece(me));
    }
    let (left, right) = ((me + n - 1) % n, (me + 1) % n);
    for round in 0..n - 1 {
        let (out, into) = ((me + n - round) % n, (me + 2 * n - round - 1) % n);
        if recv.bytes(into) > 0 {
            p.recv(recv.piece(into), left, round);
        }
        if recv.bytes(out) > 0 {
            p.send(recv.piece(out), right, round);
        }
        p.fence();
    }
}

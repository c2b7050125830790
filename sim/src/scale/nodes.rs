//! The ranks of the exchange: what each does in a step, and where it stands.

use super::model::Model;
use ftmpi_protocols::protocol::Protocol;
use ftmpi_wire::{EventNo, Rank, Ssn};
use std::collections::{BTreeMap, VecDeque};

/// What a rank does.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    Compute,
    Send { to: Rank, bytes: u64 },
    Receive { from: Rank },
}

/// A message that wants to leave.
pub struct Leaving {
    pub to: Rank,
    pub ssn: Ssn,
    pub bytes: u64,
    pub after: EventNo,
    pub since: u64,
}

/// A rank.
pub struct Node {
    pub protocol: Box<dyn Protocol>,
    pub script: Vec<Op>,
    /// The next of its operations, counted over all steps.
    pub at: usize,
    /// It waits for a message of this rank.
    pub waits_for: Option<Rank>,
    pub come: BTreeMap<Rank, VecDeque<Ssn>>,
    pub sent: BTreeMap<Rank, u64>,
    pub received: BTreeMap<Rank, u64>,
    pub leaving: VecDeque<Leaving>,
    /// Matches that were reported to the protocol.
    pub matches: u64,
    /// When its last step ended.
    pub ended: Option<u64>,
}

impl Node {
    pub fn new(me: Rank, ranks: u32, protocol: Box<dyn Protocol>, model: &Model) -> Self {
        Self {
            protocol,
            script: script(me, ranks, model),
            at: 0,
            waits_for: None,
            come: BTreeMap::new(),
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            leaving: VecDeque::new(),
            matches: 0,
            ended: None,
        }
    }

    /// Ranks that it talks to.
    pub fn met(&self) -> Vec<Rank> {
        self.sent.keys().copied().collect()
    }
}

/// One step: a halo exchange in a cube with open ends glued together, then an allreduce by
/// recursive doubling. `ranks` is a power of two.
fn script(me: Rank, ranks: u32, model: &Model) -> Vec<Op> {
    let bits = ranks.trailing_zeros();
    let widths = [bits.div_ceil(3), (bits + 1) / 3, bits / 3];
    let (mut halo, mut shift) = (Vec::new(), 0);
    for width in widths {
        let side = 1u32 << width;
        let place = (me.0 >> shift) & (side - 1);
        for step in [1, side - 1] {
            let other = (place + step) & (side - 1);
            let peer = Rank((me.0 & !((side - 1) << shift)) | (other << shift));
            if peer != me && !halo.contains(&peer) {
                halo.push(peer);
            }
        }
        shift += width;
    }
    let mut ops = vec![Op::Compute];
    ops.extend(halo.iter().map(|&to| Op::Send { to, bytes: model.payload }));
    ops.extend(halo.iter().map(|&from| Op::Receive { from }));
    for bit in 0..bits {
        let peer = Rank(me.0 ^ (1 << bit));
        ops.extend([Op::Send { to: peer, bytes: 8 }, Op::Receive { from: peer }]);
    }
    ops
}

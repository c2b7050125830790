//! All algorithms against naive results, on a model that carries messages as late as it may.

mod oversubscribed;
mod reductions;

use super::*;
use crate::datatype::{self, Builtin, Datatype};
use crate::engine::{Completion, RecvData, SendData};
use crate::group::Group;
use crate::op::{Op, UserOp};
use crate::usermem::UserPtr;
use ftmpi_wire::{Rank, Ssn};
use std::cell::RefCell;
use std::collections::HashMap;

/// A small generator of random numbers, so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

struct Send {
    from: Rank,
    to: Rank,
    tag: i32,
    data: SendData,
    request: usize,
}

struct Recv {
    from: Rank,
    to: Rank,
    tag: i32,
    into: RecvData,
    request: usize,
}

/// The world between the ranks: payloads are read only when both sides are there.
#[derive(Default)]
struct World {
    sends: Vec<Send>,
    recvs: Vec<Recv>,
    done: Vec<bool>,
    ssns: HashMap<(Rank, Rank), u64>,
    carried: usize,
}

impl World {
    fn carry(&mut self) {
        let mut i = 0;
        while i < self.recvs.len() {
            let r = &self.recvs[i];
            let matching =
                self.sends.iter().position(|s| s.from == r.from && s.to == r.to && s.tag == r.tag);
            let Some(at) = matching else {
                i += 1;
                continue;
            };
            let send = self.sends.remove(at);
            let recv = self.recvs.remove(i);
            let (from, count, source) = match send.data {
                SendData::Bytes { ptr, len } => {
                    (ptr, len as u64, Datatype::builtin(Builtin::Byte).clone())
                }
                SendData::Typed { ptr, count, datatype } => (ptr, count, datatype),
                SendData::Owned(_) => unreachable!("schedules own no payload"),
            };
            let (to, room, target) = match recv.into {
                RecvData::Bytes { ptr, len } => {
                    (ptr, len as u64, Datatype::builtin(Builtin::Byte).clone())
                }
                RecvData::Typed { ptr, count, datatype } => (ptr, count, datatype),
            };
            assert_eq!(source.size() * count, target.size() * room, "lengths differ");
            datatype::copy(from, count, &source, to, room, &target);
            self.done[send.request] = true;
            self.done[recv.request] = true;
            self.carried += 1;
        }
    }
}

struct Port<'a> {
    world: &'a RefCell<World>,
    me: Rank,
}

impl Carrier for Port<'_> {
    type Request = usize;

    fn reserve(&mut self, to: Rank) -> Ssn {
        let mut world = self.world.borrow_mut();
        let last = world.ssns.entry((self.me, to)).or_default();
        *last += 1;
        Ssn(*last)
    }

    fn send(&mut self, _: Ssn, data: SendData, to: Rank, _: u32, tag: i32) -> Option<usize> {
        let mut world = self.world.borrow_mut();
        let request = world.done.len();
        world.done.push(false);
        world.sends.push(Send { from: self.me, to, tag, data, request });
        Some(request)
    }

    fn receive(&mut self, into: RecvData, from: Rank, _: u32, tag: i32) -> usize {
        let mut world = self.world.borrow_mut();
        let request = world.done.len();
        world.done.push(false);
        world.recvs.push(Recv { from, to: self.me, tag, into, request });
        request
    }

    fn is_done(&self, request: usize) -> bool {
        self.world.borrow().done[request]
    }

    fn finish(&mut self, _: usize) -> Completion {
        Completion { source: Rank(0), tag: 0, bytes: 0, cancelled: false, error: None }
    }
}

/// Ranks outnumber processors, or not: half of all runs.
fn any_hosts(random: &mut Random) -> Option<&'static [u32]> {
    (random.below(2) == 0).then_some(&[0; 32])
}

/// Runs one call on every rank of `ranks`; `calls[i]` is that of rank `i`.
fn run(calls: &[Call], random: &mut Random) {
    let hosts = any_hosts(random);
    run_in(hosts, calls, random);
}

/// Returns how many messages there were.
fn run_in(hosts: Option<&'static [u32]>, calls: &[Call], random: &mut Random) -> usize {
    let n = calls.len();
    // Group of the communicator in another order than in the world.
    let shift = random.below(n);
    let members: Vec<Rank> = (0..n).map(|i| Rank(((i + shift) % n) as u32)).collect();
    let ranks = Group::new(&members).unwrap();
    run_sides(hosts, &[(ranks.clone(), calls)], random, |call, plan, _, _| call.write(plan))
}

/// Runs one call on both sides of an intercommunicator.
fn run_between(left: &[Call], right: &[Call], random: &mut Random) {
    let members = |from: usize, n: usize| -> Group {
        Group::new(&(from..from + n).map(|i| Rank(i as u32)).collect::<Vec<_>>()).unwrap()
    };
    let (l, r) = (members(0, left.len()), members(left.len(), right.len()));
    let groups = [l.clone(), r.clone()];
    let hosts = any_hosts(random);
    run_sides(hosts, &[(l, left), (r, right)], random, |call, plan, side, me| {
        let groups: &[Group; 2] = Box::leak(Box::new(groups.clone()));
        let sides = Sides { local: &groups[side], me, remote: &groups[1 - side] };
        call.write_between(plan, sides);
    });
}

fn run_sides(
    hosts: Option<&'static [u32]>,
    sides: &[(Group, &[Call])],
    random: &mut Random,
    write: impl Fn(&Call, &mut Plan<'static, Port<'static>>, usize, u32),
) -> usize {
    let world: &'static RefCell<World> = Box::leak(Box::default());
    let mut pool = Pool::default();
    let mut running = Vec::new();
    for (side, (ranks, calls)) in sides.iter().enumerate() {
        let ranks: &'static Group = Box::leak(Box::new(ranks.clone()));
        for (i, call) in calls.iter().enumerate() {
            let me = ranks.world(i as u32).unwrap();
            let port: &'static mut Port<'static> = Box::leak(Box::new(Port { world, me }));
            let own: &'static mut Pool = Box::leak(Box::default());
            let plan = Plan::new(port, own, ranks, i as u32, 1, tag_of(7));
            let mut plan = plan.oversubscribed(hosts);
            write(call, &mut plan, side, i as u32);
            running.push((me, plan.finish()));
        }
    }
    let mut idle = 0;
    while !running.is_empty() {
        let at = random.below(running.len());
        let (me, schedule) = &mut running[at];
        if schedule.advance(&mut Port { world, me: *me }) {
            let (_, schedule) = running.swap_remove(at);
            assert_eq!(schedule.dismantle(&mut pool), None);
            idle = 0;
            continue;
        }
        if random.below(3) == 0 {
            let before = world.borrow().carried;
            world.borrow_mut().carry();
            idle = if world.borrow().carried == before { idle + 1 } else { 0 };
        }
        assert!(idle < 1000, "deadlock: {} ranks left", running.len());
    }
    let world = world.borrow();
    assert!(world.sends.is_empty() && world.recvs.is_empty(), "messages are left over");
    world.carried
}

/// A buffer of the test's.
struct Memory(Vec<u8>);

impl Memory {
    fn new(len: usize) -> Self {
        Self(vec![0xee; len])
    }

    fn random(len: usize, random: &mut Random) -> Self {
        Self((0..len).map(|_| random.next() as u8).collect())
    }

    fn ptr(&mut self) -> UserPtr {
        // SAFETY: every test keeps its memories until the schedules are done.
        unsafe { UserPtr::new(self.0.as_mut_ptr().cast()) }
    }
}

fn byte() -> TypeRef {
    Datatype::builtin(Builtin::Byte).clone()
}

/// Four bytes of data with holes: bytes 1, 2, 4, 5 of 8.
fn holes() -> TypeRef {
    let vector = Datatype::vector(2, 2, 3, &byte()).unwrap();
    let shifted = Datatype::hindexed(&[1], &[1], &vector).unwrap();
    let datatype = Datatype::resized(0, 8, &shifted).unwrap();
    datatype.commit();
    datatype
}

/// Random datatype and count for about `limit` bytes at the most.
fn shape(random: &mut Random, limit: usize) -> (TypeRef, usize) {
    let count = match random.below(6) {
        0 => 0,
        1 => 1,
        _ => random.below(limit / 4 + 1),
    };
    if random.below(2) == 0 { (byte(), count * 4) } else { (holes(), count) }
}

fn limits() -> [usize; 4] {
    [16, 600, 20_000, 300_000]
}

fn packed(memory: &mut Memory, count: usize, datatype: &TypeRef) -> Vec<u8> {
    datatype.packed(memory.ptr(), count as u64)
}

fn packed_at(memory: &mut Memory, at: i64, count: usize, datatype: &TypeRef) -> Vec<u8> {
    datatype.packed(memory.ptr().offset(at), count as u64)
}

fn uniform(base: UserPtr, count: usize, datatype: &TypeRef) -> Blocks {
    Blocks { base, spread: Spread::Uniform { count, datatype: datatype.clone() } }
}

/// Blocks of different sizes with gaps between them; and the bytes that they need.
fn varied(counts: &[usize], datatype: &TypeRef, random: &mut Random) -> (Spread, usize) {
    let mut next = 0;
    let mut displacements = Vec::new();
    for &count in counts {
        next += random.below(3);
        displacements.push(next as i64);
        next += count;
    }
    let spread = Spread::Varied {
        counts: counts.into(),
        displacements: displacements.into(),
        datatype: datatype.clone(),
    };
    (spread, (next + 1) * datatype.extent() as usize)
}

fn for_all(seed: u64, limit: usize, mut test: impl FnMut(usize, usize, &mut Random)) {
    for n in 1..=9 {
        for bytes in limits().into_iter().filter(|&b| b <= limit) {
            for round in 0..3 {
                let mut random = Random(seed ^ (n * 1000 + bytes + round * 7_777_777) as u64);
                test(n, bytes, &mut random);
            }
        }
    }
}

#[test]
fn barriers_end() {
    for_all(1, 16, |n, _, random| run(&vec![Call::Barrier; n], random));
}

#[test]
fn a_broadcast_reaches_all_ranks() {
    for_all(2, 300_000, |n, limit, random| {
        let (datatype, count) = shape(random, limit);
        let root = random.below(n);
        let len = count * datatype.extent() as usize + 8;
        let mut memories: Vec<Memory> = (0..n).map(|_| Memory::new(len)).collect();
        memories[root] = Memory::random(len, random);
        let calls: Vec<Call> = memories
            .iter_mut()
            .map(|m| Call::Bcast {
                data: Piece::typed(m.ptr(), count, &datatype),
                root: Root::Remote(root),
            })
            .collect();
        run(&calls, random);
        let expected = packed(&mut memories[root], count, &datatype);
        for memory in &mut memories {
            assert_eq!(packed(memory, count, &datatype), expected);
        }
    });
}

#[test]
fn gathers_and_scatters_are_each_others_reverse() {
    for_all(3, 20_000, |n, limit, random| {
        let (datatype, count) = shape(random, limit);
        let root = random.below(n);
        let is_varied = random.below(2) == 0;
        let in_place = random.below(2) == 0;
        let counts: Vec<usize> =
            (0..n).map(|i| if is_varied { count * (i % 3) } else { count }).collect();
        let extent = datatype.extent() as usize;
        let (spread, total) = if is_varied {
            varied(&counts, &datatype, random)
        } else {
            (Spread::Uniform { count, datatype: datatype.clone() }, n * count * extent)
        };
        let mut whole = Memory::random(total + 8, random);
        let mut parts: Vec<Memory> = counts.iter().map(|c| Memory::new(c * extent + 8)).collect();
        let at = |i: usize| match &spread {
            Spread::Varied { displacements, .. } => displacements[i] * extent as i64,
            _ => (i * count * extent) as i64,
        };
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Scatter {
                send: Blocks { base: whole.ptr(), spread: spread.clone() },
                recv: (i != root || !in_place)
                    .then(|| Piece::typed(parts[i].ptr(), counts[i], &datatype)),
                root: Root::Remote(root),
                uniform: !is_varied,
            })
            .collect();
        run(&calls, random);
        for i in (0..n).filter(|&i| i != root || !in_place) {
            let expected = packed_at(&mut whole, at(i), counts[i], &datatype);
            assert_eq!(packed(&mut parts[i], counts[i], &datatype), expected);
        }
        let mut back = Memory::new(total + 8);
        if in_place {
            back.0.copy_from_slice(&whole.0);
        }
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Gather {
                send: (i != root || !in_place)
                    .then(|| Piece::typed(parts[i].ptr(), counts[i], &datatype)),
                recv: Blocks { base: back.ptr(), spread: spread.clone() },
                root: Root::Remote(root),
                uniform: !is_varied,
            })
            .collect();
        run(&calls, random);
        for (i, &count) in counts.iter().enumerate() {
            let expected = packed_at(&mut whole, at(i), count, &datatype);
            assert_eq!(packed_at(&mut back, at(i), count, &datatype), expected);
        }
    });
}

#[test]
fn allgather_collects_everywhere() {
    for_all(4, 20_000, |n, limit, random| {
        let (datatype, count) = shape(random, limit);
        let is_varied = random.below(2) == 0;
        let in_place = random.below(2) == 0;
        let counts: Vec<usize> =
            (0..n).map(|i| if is_varied { count * ((i + 1) % 3) } else { count }).collect();
        let extent = datatype.extent() as usize;
        let (spread, total) = if is_varied {
            varied(&counts, &datatype, random)
        } else {
            (Spread::Uniform { count, datatype: datatype.clone() }, n * count * extent)
        };
        let at = |i: usize| match &spread {
            Spread::Varied { displacements, .. } => displacements[i] * extent as i64,
            _ => (i * count * extent) as i64,
        };
        let mut parts: Vec<Memory> =
            counts.iter().map(|c| Memory::random(c * extent + 8, random)).collect();
        let mut wholes: Vec<Memory> = (0..n).map(|_| Memory::new(total + 8)).collect();
        for i in 0..n {
            let own = packed(&mut parts[i], counts[i], &datatype);
            if in_place {
                datatype.unpack(wholes[i].ptr().offset(at(i)), counts[i] as u64, 0, &own);
            }
        }
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Allgather {
                send: (!in_place).then(|| Piece::typed(parts[i].ptr(), counts[i], &datatype)),
                recv: Blocks { base: wholes[i].ptr(), spread: spread.clone() },
            })
            .collect();
        run(&calls, random);
        for whole in &mut wholes {
            for i in 0..n {
                let expected = packed(&mut parts[i], counts[i], &datatype);
                assert_eq!(packed_at(whole, at(i), counts[i], &datatype), expected);
            }
        }
    });
}

#[test]
fn alltoall_transposes() {
    for_all(5, 20_000, |n, limit, random| {
        let (datatype, count) = shape(random, limit);
        let kind = random.below(3);
        let in_place = random.below(2) == 0;
        let extent = datatype.extent() as usize;
        // Symmetric, so that it works in place too.
        let counts = |i: usize, j: usize| if kind == 0 { count } else { count * ((i + j) % 3) / 2 };
        let mut spreads = Vec::new();
        let mut totals = Vec::new();
        for i in 0..n {
            let row: Vec<usize> = (0..n).map(|j| counts(i, j)).collect();
            if kind == 0 {
                spreads.push(Spread::Uniform { count, datatype: datatype.clone() });
                totals.push(n * count * extent + 8);
            } else {
                let (spread, total) = varied(&row, &datatype, random);
                totals.push(total + 8);
                spreads.push(match spread {
                    Spread::Varied { counts, displacements, .. } if kind == 2 => Spread::Mixed {
                        counts,
                        displacements: displacements.iter().map(|d| d * extent as i64).collect(),
                        datatypes: vec![datatype.clone(); n].into(),
                    },
                    other => other,
                });
            }
        }
        let mut sends: Vec<Memory> = totals.iter().map(|&t| Memory::random(t, random)).collect();
        let mut recvs: Vec<Memory> = (0..n)
            .map(|i| if in_place { Memory(sends[i].0.clone()) } else { Memory::new(totals[i]) })
            .collect();
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Alltoall {
                send: (!in_place)
                    .then(|| Blocks { base: sends[i].ptr(), spread: spreads[i].clone() }),
                recv: Blocks { base: recvs[i].ptr(), spread: spreads[i].clone() },
            })
            .collect();
        run(&calls, random);
        let read = |memory: &mut Memory, spread: &Spread, j: usize| {
            let piece = Blocks { base: memory.ptr(), spread: spread.clone() }.piece(j);
            let byte = byte();
            piece.datatype.as_ref().unwrap_or(&byte).packed(piece.at, piece.count as u64)
        };
        for i in 0..n {
            for j in 0..n {
                let expected = read(&mut sends[j], &spreads[j], i);
                assert_eq!(read(&mut recvs[i], &spreads[i], j), expected, "{j} to {i}");
            }
        }
    });
}

#[test]
fn neighbours_on_a_ring_of_any_size() {
    for n in 1..6 {
        let mut random = Random(n as u64);
        let mut sends: Vec<Memory> =
            (0..n).map(|i| Memory(vec![(10 * i) as u8, (10 * i + 1) as u8])).collect();
        let mut recvs: Vec<Memory> = (0..n).map(|_| Memory::new(2)).collect();
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::NeighborAlltoall {
                neighbors: Neighbors::grid(&[(Some((i + n - 1) % n), Some((i + 1) % n))]),
                send: uniform(sends[i].ptr(), 1, &byte()),
                recv: uniform(recvs[i].ptr(), 1, &byte()),
            })
            .collect();
        run(&calls, &mut random);
        for (i, recv) in recvs.iter().enumerate() {
            // From below comes what it sent upwards.
            let expected = [(10 * ((i + n - 1) % n) + 1) as u8, (10 * ((i + 1) % n)) as u8];
            assert_eq!(recv.0, expected, "{n} ranks, rank {i}");
        }
    }
}

//! All algorithms against naive results, on a model that carries messages as late as it may.

mod crowd;

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

    fn send(&mut self, _: Ssn, data: SendData, to: Rank, _: u16, tag: i32) -> Option<usize> {
        let mut world = self.world.borrow_mut();
        let request = world.done.len();
        world.done.push(false);
        world.sends.push(Send { from: self.me, to, tag, data, request });
        Some(request)
    }

    fn receive(&mut self, into: RecvData, from: Rank, _: u16, tag: i32) -> usize {
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
fn any_crowd(random: &mut Random) -> Option<&'static [u32]> {
    (random.below(2) == 0).then_some(&[0; 32])
}

/// Runs one call on every rank of `ranks`; `calls[i]` is that of rank `i`.
fn run(calls: &[Call], random: &mut Random) {
    let crowd = any_crowd(random);
    run_in(crowd, calls, random);
}

/// Tells how many messages there were.
fn run_in(crowd: Option<&'static [u32]>, calls: &[Call], random: &mut Random) -> usize {
    let n = calls.len();
    // Group of the communicator in another order than in the world.
    let shift = random.below(n);
    let members: Vec<Rank> = (0..n).map(|i| Rank(((i + shift) % n) as u32)).collect();
    let ranks = Group::new(&members).unwrap();
    run_sides(crowd, &[(ranks.clone(), calls)], random, |call, plan, _, _| call.write(plan))
}

/// Runs one call on both sides of an intercommunicator.
fn run_between(left: &[Call], right: &[Call], random: &mut Random) {
    let members = |from: usize, n: usize| -> Group {
        Group::new(&(from..from + n).map(|i| Rank(i as u32)).collect::<Vec<_>>()).unwrap()
    };
    let (l, r) = (members(0, left.len()), members(left.len(), right.len()));
    let groups = [l.clone(), r.clone()];
    let crowd = any_crowd(random);
    run_sides(crowd, &[(l, left), (r, right)], random, |call, plan, side, me| {
        let groups: &[Group; 2] = Box::leak(Box::new(groups.clone()));
        let sides = Sides { local: &groups[side], me, remote: &groups[1 - side] };
        call.write_between(plan, sides);
    });
}

fn run_sides(
    crowd: Option<&'static [u32]>,
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
            let mut plan = plan.in_crowd(crowd);
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
fn a_broadcast_reaches_everybody() {
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

/// Composition of affine maps over the integers modulo 2⁶⁴: associative, does not commute.
fn compose(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.wrapping_mul(b.0), a.0.wrapping_mul(b.1).wrapping_add(a.1))
}

/// Element of the test's reductions: a pair of 64-bit integers, with a hole of 8 bytes behind.
fn pair() -> TypeRef {
    let two = Datatype::contiguous(2, Datatype::builtin(Builtin::Uint64T)).unwrap();
    let datatype = Datatype::resized(0, 24, &two).unwrap();
    datatype.commit();
    datatype
}

/// The test's function: `function` says whether it is the one that commutes.
fn combine(
    function: usize,
    input: *mut std::ffi::c_void,
    inout: *mut std::ffi::c_void,
    count: usize,
    _: &Datatype,
) {
    // SAFETY: both are arrays of `count` elements that live during the call.
    let (input, inout) = unsafe { (UserPtr::new(input), UserPtr::new(inout)) };
    for i in 0..count as i64 {
        let load =
            |p: UserPtr| (p.offset(24 * i).load::<u64>(), p.offset(24 * i + 8).load::<u64>());
        let c = if function == 1 {
            let (a, b) = (load(input), load(inout));
            (a.0.wrapping_add(b.0), a.1.wrapping_mul(b.1))
        } else {
            compose(load(input), load(inout))
        };
        inout.offset(24 * i).store(c.0);
        inout.offset(24 * i + 8).store(c.1);
    }
}

fn pair_op(commutes: bool) -> Op {
    Op::User(UserOp { function: usize::from(commutes), invoke: combine, commutes })
}

type Pair = (u64, u64);

fn naive(operands: &[Vec<Pair>], commutes: bool) -> Vec<Pair> {
    let mut result = operands[0].clone();
    for operand in &operands[1..] {
        for (a, b) in result.iter_mut().zip(operand) {
            *a = if commutes {
                (a.0.wrapping_add(b.0), a.1.wrapping_mul(b.1))
            } else {
                compose(*a, *b)
            };
        }
    }
    result
}

fn store(memory: &mut Memory, pairs: &[Pair]) {
    for (i, pair) in pairs.iter().enumerate() {
        memory.ptr().offset(24 * i as i64).store(pair.0);
        memory.ptr().offset(24 * i as i64 + 8).store(pair.1);
    }
}

fn load(memory: &mut Memory, count: usize) -> Vec<Pair> {
    let base = memory.ptr();
    (0..count as i64)
        .map(|i| (base.offset(24 * i).load(), base.offset(24 * i + 8).load()))
        .collect()
}

struct Reduction {
    commutes: bool,
    in_place: bool,
    operands: Vec<Vec<Pair>>,
    sends: Vec<Memory>,
    recvs: Vec<Memory>,
    op: Op,
    count: usize,
}

impl Reduction {
    fn new(n: usize, limit: usize, random: &mut Random) -> Self {
        let commutes = random.below(2) == 0;
        let in_place = random.below(2) == 0;
        let count = random.below(limit / 16 + 2);
        let operands: Vec<Vec<Pair>> =
            (0..n).map(|_| (0..count).map(|_| (random.next(), random.next())).collect()).collect();
        let memories = |fill: bool| -> Vec<Memory> {
            operands
                .iter()
                .map(|o| {
                    let mut memory = Memory::new(24 * count + 24);
                    if fill {
                        store(&mut memory, o);
                    }
                    memory
                })
                .collect()
        };
        let (sends, recvs) = (memories(true), memories(in_place));
        Self { commutes, in_place, sends, recvs, operands, op: pair_op(commutes), count }
    }

    fn elements(&self) -> Elements {
        Elements { datatype: pair(), count: self.count }
    }

    fn send(&mut self, i: usize) -> Option<UserPtr> {
        (!self.in_place).then(|| self.sends[i].ptr())
    }

    fn check_sends_untouched(&mut self) {
        for (send, operand) in self.sends.iter_mut().zip(&self.operands) {
            assert_eq!(load(send, self.count), *operand);
        }
    }
}

#[test]
fn reductions_to_one_and_to_all() {
    for_all(6, 20_000, |n, limit, random| {
        let mut r = Reduction::new(n, limit * 4, random);
        let root = random.below(n);
        let expected = naive(&r.operands, r.commutes);
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Reduce {
                send: if i == root { r.send(i) } else { Some(r.sends[i].ptr()) },
                recv: if i == root { r.recvs[i].ptr() } else { UserPtr::BOTTOM },
                elements: r.elements(),
                op: r.op,
                root: Root::Remote(root),
            })
            .collect();
        run(&calls, random);
        assert_eq!(load(&mut r.recvs[root], r.count), expected);
        r.check_sends_untouched();

        let mut r = Reduction::new(n, limit * 4, random);
        let expected = naive(&r.operands, r.commutes);
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::Allreduce {
                send: r.send(i),
                recv: r.recvs[i].ptr(),
                elements: r.elements(),
                op: r.op,
            })
            .collect();
        run(&calls, random);
        for i in 0..n {
            assert_eq!(load(&mut r.recvs[i], r.count), expected);
        }
        r.check_sends_untouched();
    });
}

#[test]
fn scans_and_exclusive_scans() {
    for_all(7, 600, |n, limit, random| {
        for inclusive in [true, false] {
            let mut r = Reduction::new(n, limit, random);
            let calls: Vec<Call> = (0..n)
                .map(|i| Call::Scan {
                    send: r.send(i),
                    recv: r.recvs[i].ptr(),
                    elements: r.elements(),
                    op: r.op,
                    inclusive,
                })
                .collect();
            run(&calls, random);
            for i in 0..n {
                let upto = if inclusive { i + 1 } else { i };
                if upto > 0 {
                    let expected = naive(&r.operands[..upto], r.commutes);
                    assert_eq!(load(&mut r.recvs[i], r.count), expected);
                }
            }
            r.check_sends_untouched();
        }
    });
}

#[test]
fn reduce_scatter_spreads_the_result() {
    for_all(8, 20_000, |n, limit, random| {
        let mut r = Reduction::new(n, limit * 4, random);
        let mut counts = vec![r.count / n; n];
        let rest = r.count - counts.iter().sum::<usize>();
        counts[random.below(n)] += rest;
        if random.below(2) == 0 {
            let (a, b) = (random.below(n), random.below(n));
            let moved = counts[a] / 2;
            counts[a] -= moved;
            counts[b] += moved;
        }
        let expected = naive(&r.operands, r.commutes);
        let calls: Vec<Call> = (0..n)
            .map(|i| Call::ReduceScatter {
                send: r.send(i),
                recv: r.recvs[i].ptr(),
                datatype: pair(),
                counts: counts.clone().into(),
                op: r.op,
            })
            .collect();
        run(&calls, random);
        let mut start = 0;
        for i in 0..n {
            let got = load(&mut r.recvs[i], counts[i]);
            assert_eq!(got, expected[start..start + counts[i]]);
            start += counts[i];
        }
        r.check_sends_untouched();
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

#[test]
fn between_two_groups() {
    for (m, n) in [(1, 1), (1, 3), (4, 2), (3, 5)] {
        let mut random = Random((m * 100 + n) as u64);
        let mut left = Reduction::new(m, 640, &mut random);
        let mut right = Reduction::new(n, 640, &mut random);
        // Equal number of elements and equal operation on both sides.
        let count = left.count.min(right.count);
        let op = pair_op(false);
        for r in [&mut left, &mut right] {
            r.count = count;
            r.operands.iter_mut().for_each(|o| o.truncate(count));
        }
        let calls = |r: &mut Reduction| -> Vec<Call> {
            (0..r.operands.len())
                .map(|i| Call::Allreduce {
                    send: Some(r.sends[i].ptr()),
                    recv: r.recvs[i].ptr(),
                    elements: Elements { datatype: pair(), count },
                    op,
                })
                .collect()
        };
        let (l, r) = (calls(&mut left), calls(&mut right));
        run_between(&l, &r, &mut random);
        let (from_left, from_right) = (naive(&left.operands, false), naive(&right.operands, false));
        for i in 0..m {
            assert_eq!(load(&mut left.recvs[i], count), from_right);
        }
        for i in 0..n {
            assert_eq!(load(&mut right.recvs[i], count), from_left);
        }
        // All-to-all, gather and broadcast.
        let mut a: Vec<Memory> = (0..m).map(|_| Memory::random(3 * n, &mut random)).collect();
        let mut b: Vec<Memory> = (0..n).map(|_| Memory::random(3 * m, &mut random)).collect();
        let mut ra: Vec<Memory> = (0..m).map(|_| Memory::new(3 * n)).collect();
        let mut rb: Vec<Memory> = (0..n).map(|_| Memory::new(3 * m)).collect();
        let alltoall = |s: &mut Memory, r: &mut Memory| Call::Alltoall {
            send: Some(uniform(s.ptr(), 3, &byte())),
            recv: uniform(r.ptr(), 3, &byte()),
        };
        let l: Vec<Call> = a.iter_mut().zip(&mut ra).map(|(s, r)| alltoall(s, r)).collect();
        let r: Vec<Call> = b.iter_mut().zip(&mut rb).map(|(s, r)| alltoall(s, r)).collect();
        run_between(&l, &r, &mut random);
        for i in 0..m {
            for j in 0..n {
                assert_eq!(ra[i].0[3 * j..3 * j + 3], b[j].0[3 * i..3 * i + 3]);
                assert_eq!(rb[j].0[3 * i..3 * i + 3], a[i].0[3 * j..3 * j + 3]);
            }
        }
        let root = m - 1;
        let l: Vec<Call> = (0..m)
            .map(|i| Call::Bcast {
                data: Piece::bytes(a[i].ptr(), 3),
                root: if i == root { Root::Me } else { Root::Bystander },
            })
            .collect();
        let r: Vec<Call> = b
            .iter_mut()
            .map(|m| Call::Bcast { data: Piece::bytes(m.ptr(), 3), root: Root::Remote(root) })
            .collect();
        run_between(&l, &r, &mut random);
        for memory in &b {
            assert_eq!(memory.0[..3], a[root].0[..3]);
        }
    }
    let mut random = Random(5);
    run_between(&vec![Call::Barrier; 3], &vec![Call::Barrier; 2], &mut random);
}

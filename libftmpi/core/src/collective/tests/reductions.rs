//! Reductions and scans, with an operation that does not commute and one that does.

use super::*;

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
                elements: Elements { datatype: pair(), count: counts.iter().sum() },
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

/// Element of a matrix by columns: a pair of 64-bit integers that lie `rows` words apart, one word
/// behind the pair before. The extent is smaller than the true extent.
fn column_pair(rows: usize) -> TypeRef {
    let word = Datatype::builtin(Builtin::Uint64T);
    let apart = Datatype::vector(2, 1, rows as i64, word).unwrap();
    let datatype = Datatype::resized(0, 8, &apart).unwrap();
    datatype.commit();
    datatype
}

/// Composition of pairs by columns.
fn compose_columns(
    _: usize,
    input: *mut std::ffi::c_void,
    inout: *mut std::ffi::c_void,
    count: usize,
    datatype: &Datatype,
) {
    let (low, high) = datatype.span(1).unwrap();
    let second = high - low - 8;
    // SAFETY: both are arrays of `count` elements that live during the call.
    let (input, inout) = unsafe { (UserPtr::new(input), UserPtr::new(inout)) };
    let load = |p: UserPtr, i: i64| {
        (p.offset(8 * i).load::<u64>(), p.offset(8 * i + second).load::<u64>())
    };
    for i in 0..count as i64 {
        let c = compose(load(input, i), load(inout, i));
        inout.offset(8 * i).store(c.0);
        inout.offset(8 * i + second).store(c.1);
    }
}

/// Operands that are received into adjacent blocks do not overlap, for any extent.
#[test]
fn elements_whose_extent_is_smaller_than_their_true_extent() {
    for n in 3..=8 {
        for commutes in [true, false] {
            let (rows, mut random) = (5, Random(n as u64));
            let operands: Vec<Vec<Pair>> =
                (0..n).map(|_| (0..rows).map(|_| (1, random.next())).collect()).collect();
            let expected = naive(&operands, false);
            let op = Op::User(UserOp { function: 0, invoke: compose_columns, commutes });
            let fill = |operand: &Vec<Pair>| {
                let mut memory = Memory::new(16 * rows);
                for (i, pair) in operand.iter().enumerate() {
                    memory.ptr().offset(8 * i as i64).store(pair.0);
                    memory.ptr().offset(8 * (i + rows) as i64).store(pair.1);
                }
                memory
            };
            let mut sends: Vec<Memory> = operands.iter().map(fill).collect();
            let mut recvs: Vec<Memory> = (0..n).map(|_| Memory::new(16 * rows)).collect();
            let elements = || Elements { datatype: column_pair(rows), count: rows };
            let mut counts = vec![0; n];
            counts[0] = rows;
            for scattered in [false, true] {
                let calls: Vec<Call> = (0..n)
                    .map(|i| match scattered {
                        false => Call::Allreduce {
                            send: Some(sends[i].ptr()),
                            recv: recvs[i].ptr(),
                            elements: elements(),
                            op,
                        },
                        true => Call::ReduceScatter {
                            send: Some(sends[i].ptr()),
                            recv: recvs[i].ptr(),
                            elements: elements(),
                            counts: counts.clone().into(),
                            op,
                        },
                    })
                    .collect();
                run_in(Some(&[0; 8][..n]), &calls, &mut random);
                let got: Vec<Pair> = (0..rows as i64)
                    .map(|i| {
                        let base = recvs[0].ptr();
                        (base.offset(8 * i).load(), base.offset(8 * (i + rows as i64)).load())
                    })
                    .collect();
                assert_eq!(got, expected, "{n} ranks, commutes {commutes}, {scattered}");
            }
        }
    }
}

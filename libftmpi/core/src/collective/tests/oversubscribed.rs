//! Ranks that share a host with too few processors.

use super::*;

/// Every member comes to the same answer, from the same facts.
#[test]
fn a_communicator_is_oversubscribed_only_within_one_host() {
    let hosts = [0, 0, 0, 1, 1, 0];
    let answers = |oversubscribed: Option<&[u32]>, members: &[u32]| -> Vec<bool> {
        let members: Vec<Rank> = members.iter().copied().map(Rank).collect();
        let ranks = Group::new(&members).unwrap();
        let world = RefCell::default();
        (0..members.len())
            .map(|i| {
                let (mut port, mut pool) =
                    (Port { world: &world, me: members[i] }, Pool::default());
                let plan = Plan::new(&mut port, &mut pool, &ranks, i as u32, 1, tag_of(7));
                plan.oversubscribed(oversubscribed).is_oversubscribed()
            })
            .collect()
    };
    assert_eq!(answers(Some(&hosts), &[5, 0, 2]), [true; 3]);
    assert_eq!(answers(Some(&hosts), &[4, 3]), [true; 2]);
    assert_eq!(answers(Some(&hosts), &[0, 1, 2, 3]), [false; 4]);
    assert_eq!(answers(None, &[5, 0, 2]), [false; 3]);
    // A process whose host is unknown.
    assert_eq!(answers(Some(&hosts), &[5, 6]), [false; 2]);
}

/// Messages of a broadcast of `len` bytes between eight ranks, all of which get it.
fn messages(oversubscribed: Option<&'static [u32]>, len: usize, datatype: &TypeRef) -> usize {
    let mut random = Random(len as u64);
    let (root, count) = (3, len / datatype.size() as usize);
    let room = count * datatype.extent() as usize + 8;
    let mut memories: Vec<Memory> = (0..8).map(|_| Memory::new(room)).collect();
    memories[root] = Memory::random(room, &mut random);
    let call = |memory: &mut Memory| Call::Bcast {
        data: Piece::typed(memory.ptr(), count, datatype),
        root: Root::Remote(root),
    };
    let calls: Vec<Call> = memories.iter_mut().map(call).collect();
    let messages = run_in(oversubscribed, &calls, &mut random);
    let expected = packed(&mut memories[root], count, datatype);
    for memory in &mut memories {
        assert_eq!(packed(memory, count, datatype), expected);
    }
    messages
}

#[test]
fn oversubscribed_ranks_take_the_tree_for_a_long_broadcast() {
    const ONE_HOST: &[u32] = &[0; 8];
    const TWO_HOSTS: &[u32] = &[0, 0, 0, 0, 1, 1, 1, 1];
    let (tree, scatter_and_ring) = (7, 7 + 8 * 7);
    for datatype in [byte(), holes()] {
        let messages = |oversubscribed, len| messages(oversubscribed, len, &datatype);
        assert_eq!(messages(Some(ONE_HOST), 64 << 10), tree);
        // What a channel can hold goes in pieces.
        assert_eq!(messages(Some(ONE_HOST), 128 << 10), 2 * tree);
        assert_eq!(messages(Some(ONE_HOST), 200 << 10), 4 * tree);
        assert_eq!(messages(Some(ONE_HOST), 1 << 20), tree);
        assert_eq!(messages(Some(ONE_HOST), 2 << 20), scatter_and_ring);
        for elsewhere in [None, Some(TWO_HOSTS)] {
            assert_eq!(messages(elsewhere, 64 << 10), tree);
            assert_eq!(messages(elsewhere, 200 << 10), scatter_and_ring);
        }
    }
}

const ONE_HOST: &[u32] = &[0; 16];

/// Sums of numbers of very different size depend on the order of the operands: it is the same
/// everywhere.
#[test]
fn a_sum_of_oversubscribed_ranks_has_the_same_bits() {
    let double = Datatype::builtin(Builtin::Double).clone();
    for n in 2..=16 {
        for count in [1, 40, 600, 1200] {
            let sums = |oversubscribed| {
                let mut random = Random((n * 10_000 + count) as u64);
                let mut operands: Vec<Memory> = (0..n).map(|_| Memory::new(8 * count)).collect();
                let mut results: Vec<Memory> = (0..n).map(|_| Memory::new(8 * count)).collect();
                for operand in &mut operands {
                    for i in 0..count as i64 {
                        let size = 2f64.powi(random.below(60) as i32 - 30);
                        operand.ptr().offset(8 * i).store(size * random.below(1000) as f64);
                    }
                }
                let calls: Vec<Call> = std::iter::zip(&mut operands, &mut results)
                    .map(|(operand, result)| Call::Allreduce {
                        send: Some(operand.ptr()),
                        recv: result.ptr(),
                        elements: Elements { datatype: double.clone(), count },
                        op: Op::Predefined(crate::op::Predefined::Sum),
                    })
                    .collect();
                let messages = run_in(oversubscribed, &calls, &mut random);
                (results.into_iter().map(|memory| memory.0).collect::<Vec<_>>(), messages)
            };
            let ((apart, _), (together, messages)) = (sums(None), sums(Some(ONE_HOST)));
            assert!(apart == together && apart.iter().all(|bits| *bits == apart[0]), "{n} {count}");
            if n > 2 && n * count * 8 <= 64 << 10 {
                assert_eq!(messages, 2 * (n - 1));
            }
        }
    }
}

#[test]
fn no_oversubscribed_rank_waits_for_a_processor_twice() {
    let mut random = Random(1);
    let n = 8;
    assert_eq!(run_in(Some(ONE_HOST), &vec![Call::Barrier; n], &mut random), 2 * (n - 1));
    for len in [1, 100, 20_000] {
        let mut memories: Vec<Memory> = (0..2 * n).map(|_| Memory::new(len * n)).collect();
        let (own, all) = memories.split_at_mut(n);
        let gathers: Vec<Call> = std::iter::zip(&mut *own, &mut *all)
            .map(|(own, all)| Call::Allgather {
                send: Some(Piece::bytes(own.ptr(), len)),
                recv: Blocks::bytes_each(all.ptr(), len),
            })
            .collect();
        assert_eq!(run_in(Some(ONE_HOST), &gathers, &mut random), n * (n - 1));
        let exchanges: Vec<Call> = std::iter::zip(own, all)
            .map(|(own, all)| Call::Alltoall {
                send: Some(Blocks::bytes_each(own.ptr(), len)),
                recv: Blocks::bytes_each(all.ptr(), len),
            })
            .collect();
        assert_eq!(run_in(Some(ONE_HOST), &exchanges, &mut random), n * (n - 1));
    }
}

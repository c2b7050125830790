//! Every decoder and every check of arguments of the core, on absurd input: constructors with
//! absurd arguments, damaged serialised datatypes and one-sided requests, views over any datatype,
//! `external32`, info objects.
//!
//! Nothing may panic. No single allocation may exceed what the input justifies: the allocator of
//! this test refuses more than `ALLOCATION_MAX`. Accepted input must be consistent. All draws come
//! from fixed seeds, and a failure names its seed.

#[path = "../../../wire/tests/hostile_input/mod.rs"]
mod hostile_input;

use ftmpi_core::datatype::{
    Builtin, DEFAULT_DISTRIBUTION_ARGUMENT, Datatype, DistributedArray, Distribution, Order,
};
use ftmpi_core::error::Result;
use ftmpi_core::file::view::{Representation, View};
use ftmpi_core::info::Info;
use ftmpi_core::usermem::RunVisitor;
use ftmpi_core::window::request::Request;
use hostile_input::{Bounded, Draw};

const ALLOCATION_MAX: usize = 16 << 20;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded(ALLOCATION_MAX);

impl Draw {
    /// Mostly small, sometimes absurd.
    fn number(&mut self) -> i64 {
        match self.below(16) {
            0 => i64::MAX - self.below(3) as i64,
            1 => i64::MIN + self.below(3) as i64,
            2 => 1 << self.below(63),
            3 => -(1 << self.below(63)),
            4 => self.next() as i64,
            _ => self.below(12) as i64 - 2,
        }
    }

    fn small(&mut self) -> i64 {
        self.below(5) as i64
    }

    fn list(&mut self, n: usize, sane: bool) -> Vec<i64> {
        (0..n).map(|_| if sane { self.small() } else { self.number() }).collect()
    }
}

/// A type from any constructor over earlier ones; `sane` arguments are small and not negative.
fn construct(draw: &mut Draw, pool: &[Datatype], sane: bool) -> Result<Datatype> {
    let element = pool[draw.below(pool.len())].clone();
    let n = draw.below(5);
    let one = |draw: &mut Draw| if sane { draw.small() } else { draw.number() };
    let order = if draw.below(2) == 0 { Order::C } else { Order::Fortran };
    match draw.below(11) {
        0 => Datatype::contiguous(one(draw), &element),
        1 => Datatype::vector(one(draw), one(draw), one(draw), &element),
        2 => Datatype::hvector(one(draw), one(draw), one(draw), &element),
        3 => Datatype::indexed(&draw.list(n, sane), &draw.list(n, sane), &element),
        4 => Datatype::hindexed(&draw.list(n, sane), &draw.list(n, sane), &element),
        5 => Datatype::indexed_block(one(draw), &draw.list(n, sane), &element),
        6 => Datatype::hindexed_block(one(draw), &draw.list(n, sane), &element),
        7 => {
            let members: Vec<_> = (0..n).map(|_| pool[draw.below(pool.len())].clone()).collect();
            Datatype::structure(&draw.list(n, sane), &draw.list(n, sane), &members)
        }
        8 => Datatype::resized(one(draw), one(draw), &element),
        9 => {
            let lists = [draw.list(n, sane), draw.list(n, sane), draw.list(n, sane)];
            Datatype::subarray(&lists[0], &lists[1], &lists[2], order, &element)
        }
        _ => {
            let kinds = [Distribution::Block, Distribution::Cyclic, Distribution::None];
            let distributions: Vec<_> = (0..n).map(|_| kinds[draw.below(3)]).collect();
            let arguments: Vec<_> = (0..n)
                .map(|_| if draw.below(2) == 0 { DEFAULT_DISTRIBUTION_ARGUMENT } else { one(draw) })
                .collect();
            let (gsizes, psizes) = (draw.list(n, sane), draw.list(n, sane));
            let (size, rank) = (one(draw), one(draw));
            Datatype::darray(
                DistributedArray {
                    size,
                    rank,
                    gsizes: &gsizes,
                    distributions: &distributions,
                    arguments: &arguments,
                    psizes: &psizes,
                    order,
                },
                &element,
            )
        }
    }
}

fn pool() -> Vec<Datatype> {
    [Builtin::Byte, Builtin::Int, Builtin::Double, Builtin::DoubleInt, Builtin::Short]
        .map(|b| Datatype::builtin(b).clone())
        .to_vec()
}

struct Sum {
    bytes: u64,
    low: i64,
    high: i64,
    runs: usize,
}

impl RunVisitor for Sum {
    fn run(&mut self, disp: i64, len: usize) {
        self.bytes += len as u64;
        self.low = self.low.min(disp);
        self.high = self.high.max(disp.saturating_add(len as i64));
        self.runs += 1;
    }
}

/// What is accepted agrees with itself, and comes back from bytes as it was.
fn consistent(datatype: &Datatype, seed: u64) {
    let mut sum = Sum { bytes: 0, low: i64::MAX, high: i64::MIN, runs: 0 };
    let (size, span) = (datatype.size(), datatype.span(1));
    assert!(size <= i64::MAX as u64, "seed {seed}");
    // A window of a large type, or all of a small one.
    let window = size.min(4096);
    datatype.for_each_run(1, 0, window, &mut sum);
    assert_eq!(sum.bytes, window, "seed {seed}: bytes of {datatype:?}");
    if let (Some((low, high)), true) = (span, window > 0) {
        assert!(sum.low >= low && sum.high <= high, "seed {seed}: runs beyond the span");
    }
    let mut bytes = Vec::new();
    datatype.write_to(&mut bytes);
    let again = Datatype::read_from(&bytes).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
    assert_eq!(
        (again.size(), again.lb(), again.ub(), again.span(1)),
        (size, datatype.lb(), datatype.ub(), span),
        "seed {seed}"
    );
}

#[test]
fn constructors_accept_or_refuse_any_arguments() {
    let mut accepted = 0;
    for seed in 0..3000 {
        let mut draw = Draw(seed);
        let mut types = pool();
        for _ in 0..8 {
            let sane = draw.below(3) != 0;
            if let Ok(datatype) = construct(&mut draw, &types, sane) {
                consistent(&datatype, seed);
                types.push(datatype);
                accepted += 1;
            }
        }
    }
    assert!(accepted > 6000, "only {accepted} types were accepted: nothing was tested");
}

#[test]
fn serialised_types_with_damage_are_read_or_refused() {
    let mut read = 0;
    for seed in 0..4000 {
        let mut draw = Draw(seed ^ 0xda7a);
        let mut types = pool();
        for _ in 0..4 {
            if let Ok(datatype) = construct(&mut draw, &types, true) {
                types.push(datatype);
            }
        }
        let mut bytes = Vec::new();
        types[types.len() - 1].write_to(&mut bytes);
        damage(&mut draw, &mut bytes);
        if let Ok(datatype) = Datatype::read_from(&bytes) {
            consistent(&datatype, seed);
            read += 1;
        }
    }
    assert!(read > 200, "only {read} were read: nothing was tested");
}

/// Some bytes changed, numbers made absurd, parts cut or doubled.
fn damage(draw: &mut Draw, bytes: &mut Vec<u8>) {
    for _ in 0..1 + draw.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = draw.below(bytes.len());
        match draw.below(5) {
            0 => bytes[at] = draw.next() as u8,
            1 => bytes.truncate(at),
            2 => {
                let word = draw.number().to_le_bytes();
                let end = (at + 8).min(bytes.len());
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            3 => {
                let part = bytes[at..].to_vec();
                bytes.extend(part);
            }
            _ => bytes[at] ^= 1 << draw.below(8),
        }
    }
}

#[test]
fn long_chains_of_types_neither_explode_nor_overflow_the_stack() {
    // Each of two members is the one before: 2^k entries, if anybody wrote them down.
    let mut twice = Datatype::builtin(Builtin::Byte).clone();
    let mut levels = 0;
    while let Ok(next) = Datatype::structure(&[1, 1], &[0, 8], &[twice.clone(), twice.clone()]) {
        twice = next;
        levels += 1;
        assert!(levels < 100, "sizes beyond every memory are refused");
    }
    assert!(levels > 20);
    consistent(&twice, 0);
    // A chain as long as a request may have bytes for.
    let mut long = Datatype::builtin(Builtin::Int).clone();
    for level in 0..200_000 {
        match Datatype::resized(-level % 7, 64 + level % 5, &long) {
            Ok(next) => long = next,
            Err(_) => {
                assert!(level > 100);
                break;
            }
        }
    }
    consistent(&long, 1);
}

#[test]
fn one_sided_requests_with_damage_are_read_or_refused() {
    let mut read = 0;
    for seed in 0..4000u64 {
        let mut draw = Draw(seed ^ 0x1e55);
        let mut types = pool();
        for _ in 0..3 {
            if let Ok(datatype) = construct(&mut draw, &types, true) {
                types.push(datatype);
            }
        }
        let mut encoded = Vec::new();
        types[types.len() - 1].write_to(&mut encoded);
        let mut bytes = vec![0u8; 48];
        bytes[0] = draw.below(12) as u8;
        bytes[1] = draw.below(16) as u8;
        bytes[2] = draw.below(5) as u8;
        bytes[3] = draw.below(2) as u8;
        let count = draw.number() as u64;
        for (at, value) in [(16, draw.number() as u64), (32, count), (40, encoded.len() as u64)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend(&encoded);
        if draw.below(2) == 0 {
            damage(&mut draw, &mut bytes);
        } else if let Some(len) = types[types.len() - 1].total_size(count % 7) {
            // Made to fit, so that something is accepted.
            bytes[32..40].copy_from_slice(&(count % 7).to_le_bytes());
            bytes[16..24].copy_from_slice(&len.to_le_bytes());
            bytes.extend(vec![7; len.min(1 << 16) as usize]);
        }
        if let Ok((request, data)) = Request::decode(&bytes) {
            read += 1;
            let mut again = request.encode(data.len());
            again.extend(data);
            let (twice, _) =
                Request::decode(&again).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
            assert_eq!(twice.len, request.len, "seed {seed}");
        }
    }
    assert!(read > 50, "only {read} were read: nothing was tested");
}

#[test]
fn views_over_any_types_translate_or_refuse() {
    let mut accepted = 0;
    for seed in 0..3000 {
        let mut draw = Draw(seed ^ 0xf11e);
        let mut types = pool();
        for _ in 0..4 {
            let sane = draw.below(4) != 0;
            if let Ok(datatype) = construct(&mut draw, &types, sane) {
                types.push(datatype);
            }
        }
        let filetype = types[types.len() - 1].clone();
        // Looking at every part of a type takes time by its size; a program knows how large its own
        // are.
        if filetype.size() > 1 << 16 {
            continue;
        }
        let view = View {
            disp: draw.number(),
            etype: types[draw.below(types.len())].clone(),
            filetype,
            representation: Representation::Native,
            in_file: None,
        };
        let reads_only = draw.below(2) == 0;
        if view.check(reads_only).is_err() {
            continue;
        }
        accepted += 1;
        for _ in 0..4 {
            let (from, len) = (draw.number() as u64, draw.next() % 5000);
            if let Ok(runs) = view.runs(from, len) {
                assert_eq!(runs.iter().map(|r| r.1 as u64).sum::<u64>(), len, "seed {seed}");
            }
            let _ = view.byte_offset(draw.number());
            let size = draw.next() % (1 << 20);
            let seen = view.seen_before(size);
            // Filetypes that overlap show a byte more than once.
            if !reads_only && view.filetype.extent() >= view.filetype.true_ub() {
                assert!(seen <= size, "seed {seed}: more seen than there is");
            }
        }
    }
    assert!(accepted > 300, "only {accepted} views were accepted: nothing was tested");
}

#[test]
fn external_streams_of_any_length_are_read_or_refused() {
    for seed in 0..2000 {
        let mut draw = Draw(seed ^ 0xe32);
        let mut types = pool();
        for _ in 0..3 {
            if let Ok(datatype) = construct(&mut draw, &types, true) {
                types.push(datatype);
            }
        }
        let datatype = &types[types.len() - 1];
        let count = draw.number().unsigned_abs();
        let stream: Vec<u8> = (0..draw.below(200)).map(|i| i as u8).collect();
        if let Ok(native) = datatype.from_external(count, &stream) {
            assert_eq!(Some(native.len() as u64), datatype.total_size(count), "seed {seed}");
        }
        let _ = datatype.external_size(count);
    }
}

#[test]
fn info_objects_do_what_a_list_of_pairs_does() {
    for seed in 0..300 {
        let mut draw = Draw(seed ^ 0x1f0);
        let (mut info, mut model) = (Info::new(), Vec::<(Vec<u8>, Vec<u8>)>::new());
        for _ in 0..60 {
            let key = vec![b'a' + draw.below(4) as u8; [0, 1, 2, 255, 256, 100_000][draw.below(6)]];
            let value: Vec<u8> =
                (0..[0, 1, 7, 1024, 1025][draw.below(5)]).map(|_| draw.next() as u8).collect();
            match draw.below(3) {
                0 => {
                    let fits = (1..=255).contains(&key.len()) && value.len() <= 1024;
                    assert_eq!(info.set(&key, &value).is_ok(), fits, "seed {seed}");
                    if fits {
                        match model.iter_mut().find(|pair| pair.0 == key) {
                            Some(pair) => pair.1 = value,
                            None => model.push((key, value)),
                        }
                    }
                }
                1 => {
                    let there = model.iter().position(|pair| pair.0 == key);
                    assert_eq!(info.delete(&key).is_ok(), there.is_some(), "seed {seed}");
                    if let Some(at) = there {
                        model.remove(at);
                    }
                }
                _ => {
                    let found = info.get(&key).ok().flatten().map(<[u8]>::to_vec);
                    let wanted = model.iter().find(|pair| pair.0 == key).map(|pair| pair.1.clone());
                    assert_eq!(found, wanted, "seed {seed}");
                }
            }
            assert_eq!(info.len(), model.len(), "seed {seed}");
            let n = draw.number();
            let nth = usize::try_from(n).ok().and_then(|n| model.get(n)).map(|pair| &pair.0[..]);
            assert_eq!(info.nth_key(n).ok(), nth, "seed {seed}");
        }
    }
}

//! Random datatypes against a model that writes every entry of the typemap down.

use super::*;
use crate::usermem::{RunVisitor, UserPtr};
use proptest::prelude::*;
use std::collections::HashMap;

/// A typemap in full, with bounds found copy by copy.
#[derive(Debug, Clone)]
struct Model {
    /// Basic type and displacement of every entry.
    map: Vec<(Builtin, i64)>,
    lb: i64,
    ub: i64,
    sticky_lb: bool,
    sticky_ub: bool,
    align: i64,
}

impl Model {
    fn named(builtin: Builtin) -> Self {
        let marker = builtin.size() == 0;
        Self {
            map: if marker { vec![] } else { vec![(builtin, 0)] },
            lb: 0,
            ub: builtin.extent() as i64,
            sticky_lb: builtin == Builtin::Lb,
            sticky_ub: builtin == Builtin::Ub,
            align: i64::from(builtin.align()),
        }
    }

    fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Copies of models at displacements, in order.
    fn assemble(copies: &[(i64, &Model)], padded: bool) -> Self {
        let live: Vec<_> = copies
            .iter()
            .filter(|(_, m)| !m.map.is_empty() || m.sticky_lb || m.sticky_ub)
            .collect();
        let sticky_lb = live.iter().any(|(_, m)| m.sticky_lb);
        let sticky_ub = live.iter().any(|(_, m)| m.sticky_ub);
        let lb = live
            .iter()
            .filter(|(_, m)| if sticky_lb { m.sticky_lb } else { !m.map.is_empty() })
            .map(|(d, m)| d + m.lb)
            .min()
            .unwrap_or(0);
        let mut ub = live
            .iter()
            .filter(|(_, m)| if sticky_ub { m.sticky_ub } else { !m.map.is_empty() })
            .map(|(d, m)| d + m.ub)
            .max()
            .unwrap_or(0);
        let align = copies.iter().map(|(_, m)| m.align).max().unwrap_or(1);
        if padded && !sticky_lb && !sticky_ub {
            while (ub - lb) % align != 0 {
                ub += 1;
            }
        }
        let map = copies
            .iter()
            .flat_map(|(at, m)| m.map.iter().map(move |(b, d)| (*b, d + at)))
            .collect();
        Self { map, lb, ub, sticky_lb, sticky_ub, align }
    }

    /// Displacement of every byte of the packed stream of `count` values.
    fn stream(&self, count: i64) -> Vec<i64> {
        let mut bytes = Vec::new();
        for i in 0..count {
            for (builtin, disp) in &self.map {
                for (at, len) in builtin.runs() {
                    bytes.extend((0..len as i64).map(|k| i * self.extent() + disp + at + k));
                }
            }
        }
        bytes
    }
}

/// A type and its model, of at most a few hundred entries.
type Pair = (Datatype, Model);

fn leaf() -> impl Strategy<Value = Pair> {
    let kinds = vec![
        Builtin::Char,
        Builtin::Short,
        Builtin::Int,
        Builtin::Double,
        Builtin::LongDouble,
        Builtin::DoubleComplex,
        Builtin::DoubleInt,
        Builtin::ShortInt,
        Builtin::TwoInt,
    ];
    prop::sample::select(kinds).prop_map(|b| (Datatype::builtin(b).clone(), Model::named(b)))
}

fn blocks() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0i64..4, -20i64..20), 0..6)
}

fn derive(inner: Pair, kind: u8, n: i64, len: i64, stride: i64, list: Vec<(i64, i64)>) -> Pair {
    let (t, m) = inner;
    let e = m.extent();
    let lens: Vec<i64> = list.iter().map(|b| b.0).collect();
    let disps: Vec<i64> = list.iter().map(|b| b.1).collect();
    let block = |at: i64, len: i64| (0..len).map(move |k| at + k * e);
    let strided = |s: i64| (0..n).flat_map(move |i| block(i * s, len)).collect::<Vec<_>>();
    let listed = |unit: i64, fixed: Option<i64>| {
        list.iter().flat_map(|(l, d)| block(d * unit, fixed.unwrap_or(*l))).collect::<Vec<_>>()
    };
    let build = |places: Vec<i64>| {
        Model::assemble(&places.into_iter().map(|p| (p, &m)).collect::<Vec<_>>(), false)
    };
    match kind {
        0 => (Datatype::contiguous(n, &t).unwrap(), build(block(0, n).collect())),
        1 => (Datatype::vector(n, len, stride, &t).unwrap(), build(strided(stride * e))),
        2 => (Datatype::hvector(n, len, stride, &t).unwrap(), build(strided(stride))),
        3 => (Datatype::indexed(&lens, &disps, &t).unwrap(), build(listed(e, None))),
        4 => (Datatype::hindexed(&lens, &disps, &t).unwrap(), build(listed(1, None))),
        5 => (Datatype::indexed_block(len, &disps, &t).unwrap(), build(listed(e, Some(len)))),
        6 => (Datatype::hindexed_block(len, &disps, &t).unwrap(), build(listed(1, Some(len)))),
        7 => {
            let resized = Model {
                lb: stride,
                ub: stride + n * 8,
                sticky_lb: true,
                sticky_ub: true,
                ..m.clone()
            };
            (Datatype::resized(stride, n * 8, &t).unwrap(), resized)
        }
        8 => (Datatype::dup(&t).unwrap(), m),
        9 => {
            // A structure with the inner type, an int, and perhaps a bound of MPI-1.
            let int = Model::named(Builtin::Int);
            let marks = [Model::named(Builtin::Lb), Model::named(Builtin::Ub)];
            let mut types = vec![t.clone(), Datatype::builtin(Builtin::Int).clone()];
            let mut lens = vec![len, 2];
            let mut disps = vec![stride * 4, stride * 4 + 64];
            let mut places: Vec<(i64, &Model)> = block(stride * 4, len).map(|p| (p, &m)).collect();
            places.extend([(stride * 4 + 64, &int), (stride * 4 + 68, &int)]);
            if n % 3 > 0 {
                let which = n as usize % 3 - 1;
                types.push(Datatype::builtin([Builtin::Lb, Builtin::Ub][which]).clone());
                lens.push(1);
                disps.push(stride - 90);
                places.push((stride - 90, &marks[which]));
            }
            let made = Datatype::structure(&lens, &disps, &types).unwrap();
            (made, Model::assemble(&places, true))
        }
        _ => array(&t, &m, n, len, stride),
    }
}

/// A subarray or a distributed array of two dimensions.
fn array(t: &Datatype, m: &Model, n: i64, len: i64, stride: i64) -> Pair {
    let (rows, cols) = (n + 1, len + 2);
    let e = m.extent();
    let bounded = |places: Vec<i64>| Model {
        lb: 0,
        ub: rows * cols * e,
        sticky_lb: true,
        sticky_ub: true,
        ..Model::assemble(&places.into_iter().map(|p| (p, m)).collect::<Vec<_>>(), false)
    };
    let order = if stride % 2 == 0 { Order::C } else { Order::Fortran };
    // Displacement of (row, column), and all index pairs in the order of memory.
    let place = |r: i64, c: i64| e * if order == Order::C { r * cols + c } else { c * rows + r };
    let all = |rs: Vec<i64>, cs: Vec<i64>| {
        let mut places = Vec::new();
        for &r in &rs {
            for &c in &cs {
                places.push(place(r, c));
            }
        }
        if order == Order::Fortran {
            places = cs.iter().flat_map(|&c| rs.iter().map(move |&r| place(r, c))).collect();
        }
        places
    };
    if stride < 0 {
        let start = [n / 2, len / 2];
        let sub = [rows - start[0], (cols - start[1]).min(2)];
        let made = Datatype::subarray(&[rows, cols], &sub, &start, order, t).unwrap();
        let rs = (start[0]..start[0] + sub[0]).collect();
        let cs = (start[1]..start[1] + sub[1]).collect();
        (made, bounded(all(rs, cs)))
    } else {
        let rank = stride % 6;
        let (pr, pc) = (rank / 3, rank % 3);
        let made = Datatype::darray(
            DistributedArray {
                size: 6,
                rank,
                gsizes: &[rows, cols],
                distributions: &[Distribution::Block, Distribution::Cyclic],
                arguments: &[DEFAULT_DISTRIBUTION_ARGUMENT, 2],
                psizes: &[2, 3],
                order,
            },
            t,
        )
        .unwrap();
        let half = rows.div_euclid(2) + rows % 2;
        let rs = (0..rows).filter(|r| r / half == pr).collect();
        let cs = (0..cols).filter(|c| (c / 2) % 3 == pc).collect();
        (made, bounded(all(rs, cs)))
    }
}

fn any_type() -> impl Strategy<Value = Pair> {
    let step = (0u8..11, 0i64..6, 0i64..4, -12i64..12, blocks());
    (leaf(), prop::collection::vec(step, 0..4)).prop_map(|(mut pair, steps)| {
        for (kind, n, len, stride, list) in steps {
            let next = derive(pair.clone(), kind, n, len, stride, list);
            if next.1.map.len() > 500 {
                break;
            }
            pair = next;
        }
        pair
    })
}

/// A buffer around address 0 of the type's displacements.
struct Buffer {
    bytes: Vec<u8>,
    low: i64,
}

impl Buffer {
    fn new(stream: &[i64], fill: impl Fn(usize) -> u8) -> Self {
        let low = stream.iter().copied().min().unwrap_or(0);
        let high = stream.iter().copied().max().unwrap_or(0);
        Self { bytes: (0..(high - low + 1) as usize).map(fill).collect(), low }
    }

    fn base(&mut self) -> UserPtr {
        // SAFETY: the tests use the pointer only while the buffer lives.
        unsafe { UserPtr::new(self.bytes.as_mut_ptr().cast()) }.offset(-self.low)
    }

    fn at(&self, disp: i64) -> u8 {
        self.bytes[(disp - self.low) as usize]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bounds_and_sizes_are_those_of_the_typemap((t, m) in any_type()) {
        let stream = m.stream(1);
        prop_assert_eq!(t.size(), stream.len() as u64);
        prop_assert_eq!((t.lb(), t.ub()), (m.lb, m.ub), "{:?}", t);
        if !stream.is_empty() {
            prop_assert_eq!(t.true_lb(), *stream.iter().min().unwrap());
            prop_assert_eq!(t.true_ub(), *stream.iter().max().unwrap() + 1);
        }
        let signature = m.map.iter().fold(Signature::Empty, |s, (b, _)| s.and(Signature::Homogeneous(*b)));
        prop_assert_eq!(t.signature(), signature);
        for count in 0..4 {
            let all = m.stream(count);
            let (low, high) = t.span(count as u64).unwrap();
            if let (Some(&min), Some(&max)) = (all.iter().min(), all.iter().max()) {
                prop_assert_eq!((low, high), (min, max + 1));
            }
            let one_block = all.windows(2).all(|w| w[0] + 1 == w[1]);
            if let Some((disp, len)) = t.block(count as u64) {
                prop_assert!(one_block);
                prop_assert_eq!(len, all.len() as u64);
                prop_assert!(all.first().is_none_or(|&first| first == disp));
            }
            if t.is_contiguous() {
                prop_assert!(one_block);
            }
        }
    }

    #[test]
    fn any_range_of_the_stream_packs_and_unpacks(
        (t, m) in any_type(), count in 0i64..4, a in any::<u16>(), b in any::<u16>(),
    ) {
        let stream = m.stream(count);
        let mut source = Buffer::new(&stream, |i| (i * 7 + i / 256) as u8);
        let base = source.base();
        let expected: Vec<u8> = stream.iter().map(|&d| source.at(d)).collect();
        prop_assert_eq!(&t.packed(base, count as u64), &expected);

        let n = stream.len() + 1;
        let (from, to) = ((a as usize % n).min(b as usize % n), (a as usize % n).max(b as usize % n));
        let mut out = vec![0; to - from];
        prop_assert_eq!(t.pack(base, count as u64, from as u64, &mut out), to - from);
        prop_assert_eq!(&out[..], &expected[from..to]);
        // Asking for more than there is gives what there is.
        let mut rest = vec![0; n - from + 5];
        prop_assert_eq!(t.pack(base, count as u64, from as u64, &mut rest), n - 1 - from);
        prop_assert_eq!(&rest[..n - 1 - from], &expected[from..]);
        let mut appended = vec![1, 2];
        prop_assert_eq!(t.pack_append(base, count as u64, from as u64, to - from, &mut appended), to - from);
        prop_assert_eq!(&appended[2..], &expected[from..to]);

        // Unpacking writes exactly the bytes of the range, last writer winning.
        let data: Vec<u8> = (0..to - from).map(|i| (i * 13 + 1) as u8).collect();
        let mut target = Buffer::new(&stream, |_| 0xEE);
        let base = target.base();
        prop_assert_eq!(t.unpack(base, count as u64, from as u64, &data), data.len());
        let mut model: HashMap<i64, u8> = HashMap::new();
        for (i, &byte) in data.iter().enumerate() {
            model.insert(stream[from + i], byte);
        }
        for (i, &byte) in target.bytes.iter().enumerate() {
            let disp = i as i64 + target.low;
            prop_assert_eq!(byte, model.get(&disp).copied().unwrap_or(0xEE));
        }
    }

    #[test]
    fn elements_are_counted_like_entries((t, m) in any_type(), count in 1i64..4) {
        // Sizes of the basic elements in stream order.
        let mut ends = vec![0u64];
        for _ in 0..count {
            for (builtin, _) in &m.map {
                for size in [builtin.parts().0, builtin.parts().1] {
                    if size > 0 {
                        ends.push(ends.last().unwrap() + size);
                    }
                }
            }
        }
        let total = *ends.last().unwrap();
        for (i, &end) in ends.iter().enumerate() {
            prop_assert_eq!(t.bytes_of_elements(i as u64), Some(end));
        }
        for bytes in 0..=total {
            let expected = ends.partition_point(|&end| end <= bytes) as u64 - 1;
            let exact = ends.contains(&bytes);
            prop_assert_eq!(t.elements_of(bytes), exact.then_some(expected), "{} bytes", bytes);
            if t.size() > 0 {
                let whole = (bytes % t.size() == 0).then(|| bytes / t.size());
                prop_assert_eq!(t.count_of(bytes), whole);
            }
        }
    }

    #[test]
    fn typed_copies_agree_with_pack_and_unpack(
        (a, ma) in any_type(), (b, mb) in any_type(), na in 0i64..3, nb in 0i64..3,
    ) {
        let (sa, sb) = (ma.stream(na), mb.stream(nb));
        let mut source = Buffer::new(&sa, |i| (i * 3 + 5) as u8);
        let mut target = Buffer::new(&sb, |_| 0);
        let mut other = Buffer::new(&sb, |_| 0);
        let packed = a.packed(source.base(), na as u64);
        let taken = b.unpack(other.base(), nb as u64, 0, &packed);
        let (from, to) = (source.base(), target.base());
        prop_assert_eq!(copy(from, na as u64, &a, to, nb as u64, &b), taken as u64);
        prop_assert_eq!(target.bytes, other.bytes);
    }
}

#[test]
fn huge_types_stay_small() {
    let double = Datatype::builtin(Builtin::Double);
    let column = Datatype::vector(1 << 20, 1, 1 << 20, double).unwrap();
    let matrix = Datatype::hvector(1 << 20, 1, 8, &column).unwrap();
    assert_eq!(matrix.size(), 8 << 40);
    // The byte in the middle of the transposed matrix, found without a walk to it.
    struct First(Option<(i64, usize)>);
    impl RunVisitor for First {
        fn run(&mut self, disp: i64, len: usize) {
            self.0.get_or_insert((disp, len));
        }
    }
    let mut first = First(None);
    matrix.for_each_run(1, (3 << 23) + 80, (3 << 23) + 88, &mut first);
    assert_eq!(first.0, Some((24 + (10 << 23), 8)));
}

#[test]
fn what_does_not_fit_is_refused() {
    use crate::error::ErrorClass;
    let double = Datatype::builtin(Builtin::Double);
    assert_eq!(Datatype::contiguous(-1, double).unwrap_err().class, ErrorClass::Count);
    assert!(Datatype::contiguous(i64::MAX, double).is_err());
    assert!(Datatype::vector(i64::MAX, i64::MAX, 1, double).is_err());
    assert!(Datatype::hvector(3, 1, i64::MAX, double).is_err());
    assert!(Datatype::hindexed(&[1, 1], &[i64::MIN, i64::MAX - 8], double).is_err());
    assert!(Datatype::indexed(&[1], &[i64::MAX], double).is_err());
    assert!(Datatype::resized(i64::MAX, 10, double).is_err());
    assert!(Datatype::subarray(&[4], &[2], &[3], Order::C, double).is_err());
    let mut nested = double.clone();
    let refused = (0..3000).any(|_| match Datatype::dup(&nested) {
        Ok(next) => {
            nested = next;
            false
        }
        Err(error) => error.class == ErrorClass::Type,
    });
    assert!(refused);
}

#[test]
fn contents_list_the_arguments_in_the_order_of_the_standard() {
    let int = Datatype::builtin(Builtin::Int);
    let t = Datatype::hindexed(&[2, 1], &[0, 40], int).unwrap();
    let c = t.constructor().contents(false, |_| 0, |_| 0);
    assert_eq!((c.integers, c.addresses), (vec![2, 2, 1], vec![0, 40]));
    assert_eq!(t.constructor().combiner(), Combiner::Hindexed);
    assert_eq!(c.types[0].as_builtin(), Some(Builtin::Int));
}

#[test]
fn committing_is_shared_and_inherited_by_dup() {
    let t = Datatype::contiguous(3, Datatype::builtin(Builtin::Int)).unwrap();
    assert!(!t.is_committed());
    assert!(!Datatype::dup(&t).unwrap().is_committed());
    t.clone().commit();
    assert!(t.is_committed());
    assert!(Datatype::dup(&t).unwrap().is_committed());
    assert!(Datatype::builtin(Builtin::Int).is_committed());
}

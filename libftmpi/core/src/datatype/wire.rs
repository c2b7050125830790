//! Datatypes as bytes. The origin of a one-sided operation sends the target the type of its data
//! (MPI-3.1, 11.3: the target's type is an argument of the origin).
//!
//! A type is a list of nodes, each made from earlier ones, the last one is the type itself; shared
//! parts are written once. What was made by `MPI_Type_dup` or for a Fortran precision is written as
//! what it equals.
//!
//! Guarantees: on any bytes, reading ends with a type that the constructors accept, or with an
//! error, in memory proportional to the bytes.

use super::{Builtin, Constructor, Datatype, DistributedArray, Distribution, Inner, Order};
use crate::bail;
use crate::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

const NAMED: u8 = 0;
const CONTIGUOUS: u8 = 1;
const VECTOR: u8 = 2;
const HVECTOR: u8 = 3;
const INDEXED: u8 = 4;
const HINDEXED: u8 = 5;
const INDEXED_BLOCK: u8 = 6;
const HINDEXED_BLOCK: u8 = 7;
const STRUCT: u8 = 8;
const SUBARRAY: u8 = 9;
const DARRAY: u8 = 10;
const RESIZED: u8 = 11;

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The numbers of the nodes written, by where their types are.
    nodes: BTreeMap<*const Inner, i64>,
}

impl Writer<'_> {
    fn number(&mut self, value: i64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn list(&mut self, values: &[i64]) {
        self.number(values.len() as i64);
        values.iter().for_each(|&value| self.number(value));
    }

    fn order(&mut self, order: Order) {
        self.number(i64::from(order == Order::Fortran));
    }

    /// Writes the nodes of a type; returns the number of the last.
    fn node(&mut self, datatype: &Datatype) -> i64 {
        use Constructor as C;
        let place = Arc::as_ptr(&datatype.0);
        if let Some(&known) = self.nodes.get(&place) {
            return known;
        }
        match datatype.constructor() {
            C::Named(builtin) => self.out.extend([NAMED, *builtin as u8]),
            C::F90Real { base, .. } | C::F90Complex { base, .. } | C::F90Integer { base, .. } => {
                self.out.extend([NAMED, *base as u8]);
            }
            C::Dup(original) => return self.node(original),
            C::Contiguous { count, element } => {
                let element = self.node(element);
                self.out.push(CONTIGUOUS);
                self.list(&[element, *count]);
            }
            C::Vector { count, blocklength, stride, element } => {
                let element = self.node(element);
                self.out.push(VECTOR);
                self.list(&[element, *count, *blocklength, *stride]);
            }
            C::Hvector { count, blocklength, stride, element } => {
                let element = self.node(element);
                self.out.push(HVECTOR);
                self.list(&[element, *count, *blocklength, *stride]);
            }
            C::Resized { lb, extent, element } => {
                let element = self.node(element);
                self.out.push(RESIZED);
                self.list(&[element, *lb, *extent]);
            }
            C::Indexed { blocklengths, displacements, element } => {
                self.lists(INDEXED, element, &[blocklengths, displacements]);
            }
            C::Hindexed { blocklengths, displacements, element } => {
                self.lists(HINDEXED, element, &[blocklengths, displacements]);
            }
            C::IndexedBlock { blocklength, displacements, element } => {
                self.lists(INDEXED_BLOCK, element, &[&[*blocklength], displacements]);
            }
            C::HindexedBlock { blocklength, displacements, element } => {
                self.lists(HINDEXED_BLOCK, element, &[&[*blocklength], displacements]);
            }
            C::Struct { blocklengths, displacements, types } => {
                let members: Vec<i64> = types.iter().map(|member| self.node(member)).collect();
                self.out.push(STRUCT);
                self.list(&members);
                self.list(blocklengths);
                self.list(displacements);
            }
            C::Subarray { sizes, subsizes, starts, order, element } => {
                self.lists(SUBARRAY, element, &[sizes, subsizes, starts]);
                self.order(*order);
            }
            C::Darray { size, rank, gsizes, distributions, arguments, psizes, order, element } => {
                let distributions: Vec<i64> = distributions.iter().map(|&d| d as i64).collect();
                let lists: [&[i64]; 5] =
                    [&[*size, *rank], gsizes, &distributions, arguments, psizes];
                self.lists(DARRAY, element, &lists);
                self.order(*order);
            }
        }
        let number = self.nodes.len() as i64;
        self.nodes.insert(place, number);
        number
    }

    fn lists(&mut self, kind: u8, element: &Datatype, lists: &[&[i64]]) {
        let element = self.node(element);
        self.out.push(kind);
        self.number(element);
        lists.iter().for_each(|list| self.list(list));
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    nodes: Vec<Datatype>,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8> {
        let Some((&first, rest)) = self.bytes.split_first() else {
            bail!(Type, "an encoded datatype ends too early")
        };
        self.bytes = rest;
        Ok(first)
    }

    fn number(&mut self) -> Result<i64> {
        let Some((word, rest)) = self.bytes.split_first_chunk::<8>() else {
            bail!(Type, "an encoded datatype ends too early")
        };
        self.bytes = rest;
        Ok(i64::from_le_bytes(*word))
    }

    fn list(&mut self) -> Result<Vec<i64>> {
        let len = self.number()?;
        if len < 0 || len as u64 > (self.bytes.len() / 8) as u64 {
            bail!(Type, "an encoded datatype has a list of {len} numbers");
        }
        (0..len).map(|_| self.number()).collect()
    }

    fn exactly<const N: usize>(&mut self) -> Result<[i64; N]> {
        match <[i64; N]>::try_from(self.list()?) {
            Ok(numbers) => Ok(numbers),
            Err(list) => bail!(Type, "an encoded datatype has {} numbers for {N}", list.len()),
        }
    }

    fn element(&self, number: i64) -> Result<Datatype> {
        match usize::try_from(number).ok().and_then(|number| self.nodes.get(number)) {
            Some(node) => Ok(node.clone()),
            None => bail!(Type, "an encoded datatype is made of one that is not there"),
        }
    }

    fn next_element(&mut self) -> Result<Datatype> {
        let number = self.number()?;
        self.element(number)
    }

    fn order(&mut self) -> Result<Order> {
        Ok(if self.number()? == 0 { Order::C } else { Order::Fortran })
    }

    fn node(&mut self) -> Result<Datatype> {
        match self.byte()? {
            NAMED => {
                let number = self.byte()?;
                match Builtin::ALL.get(usize::from(number)) {
                    Some(&builtin) => Ok(Datatype::builtin(builtin).clone()),
                    None => bail!(Type, "there is no predefined datatype {number}"),
                }
            }
            CONTIGUOUS => {
                let [element, count] = self.exactly()?;
                Datatype::contiguous(count, &self.element(element)?)
            }
            VECTOR => {
                let [element, count, blocklength, stride] = self.exactly()?;
                Datatype::vector(count, blocklength, stride, &self.element(element)?)
            }
            HVECTOR => {
                let [element, count, blocklength, stride] = self.exactly()?;
                Datatype::hvector(count, blocklength, stride, &self.element(element)?)
            }
            RESIZED => {
                let [element, lb, extent] = self.exactly()?;
                Datatype::resized(lb, extent, &self.element(element)?)
            }
            INDEXED => {
                let element = self.next_element()?;
                Datatype::indexed(&self.list()?, &self.list()?, &element)
            }
            HINDEXED => {
                let element = self.next_element()?;
                Datatype::hindexed(&self.list()?, &self.list()?, &element)
            }
            INDEXED_BLOCK => {
                let element = self.next_element()?;
                let [blocklength] = self.exactly()?;
                Datatype::indexed_block(blocklength, &self.list()?, &element)
            }
            HINDEXED_BLOCK => {
                let element = self.next_element()?;
                let [blocklength] = self.exactly()?;
                Datatype::hindexed_block(blocklength, &self.list()?, &element)
            }
            STRUCT => {
                let members = self.list()?;
                let members =
                    members.iter().map(|&m| self.element(m)).collect::<Result<Vec<_>>>()?;
                Datatype::structure(&self.list()?, &self.list()?, &members)
            }
            SUBARRAY => {
                let element = self.next_element()?;
                let (sizes, subsizes, starts) = (self.list()?, self.list()?, self.list()?);
                Datatype::subarray(&sizes, &subsizes, &starts, self.order()?, &element)
            }
            DARRAY => {
                let element = self.next_element()?;
                let [size, rank] = self.exactly()?;
                let (gsizes, distributions) = (self.list()?, self.list()?);
                let distributions = distributions.iter().map(|&d| distribution(d));
                let distributions = distributions.collect::<Result<Vec<_>>>()?;
                let (arguments, psizes) = (self.list()?, self.list()?);
                let order = self.order()?;
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
            other => bail!(Type, "there is no datatype constructor {other}"),
        }
    }
}

fn distribution(number: i64) -> Result<Distribution> {
    Ok(match number {
        n if n == Distribution::Block as i64 => Distribution::Block,
        n if n == Distribution::Cyclic as i64 => Distribution::Cyclic,
        n if n == Distribution::None as i64 => Distribution::None,
        _ => bail!(Type, "there is no distribution {number}"),
    })
}

impl Datatype {
    /// Appends the type as bytes.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        Writer { out, nodes: BTreeMap::new() }.node(self);
    }

    /// The type that these bytes say.
    pub fn read_from(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader { bytes, nodes: Vec::new() };
        while !reader.bytes.is_empty() {
            let node = reader.node()?;
            reader.nodes.push(node);
        }
        match reader.nodes.pop() {
            Some(datatype) => Ok(datatype),
            None => bail!(Type, "an encoded datatype is empty"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(datatype: &Datatype) -> Datatype {
        let mut bytes = Vec::new();
        datatype.write_to(&mut bytes);
        Datatype::read_from(&bytes).expect("what was written can be read")
    }

    fn equal(a: &Datatype, b: &Datatype) {
        assert_eq!((a.size(), a.lb(), a.ub(), a.base()), (b.size(), b.lb(), b.ub(), b.base()));
        assert_eq!(a.span(3), b.span(3));
        struct List(Vec<(i64, usize)>);
        impl crate::usermem::RunVisitor for List {
            fn run(&mut self, disp: i64, len: usize) {
                self.0.push((disp, len));
            }
        }
        let runs = |t: &Datatype| {
            let mut list = List(Vec::new());
            t.for_each_run(2, 0, u64::MAX, &mut list);
            list.0
        };
        assert_eq!(runs(a), runs(b));
    }

    #[test]
    fn every_constructor_survives() {
        let int = Datatype::builtin(Builtin::Int);
        let pair = Datatype::builtin(Builtin::DoubleInt);
        let three = Datatype::contiguous(3, int).unwrap();
        let vector = Datatype::vector(4, 2, -5, &three).unwrap();
        let hvector = Datatype::hvector(3, 1, 100, &vector).unwrap();
        let indexed = Datatype::indexed(&[1, 0, 2], &[3, 9, -4], &hvector).unwrap();
        let hindexed = Datatype::hindexed(&[2, 1], &[8, 1000], pair).unwrap();
        let block = Datatype::indexed_block(2, &[7, 0, 3], int).unwrap();
        let hblock = Datatype::hindexed_block(1, &[70, 1], &block).unwrap();
        let structure =
            Datatype::structure(&[1, 2, 1], &[0, 64, 9000], &[pair.clone(), three.clone(), hblock])
                .unwrap();
        let sub = Datatype::subarray(&[5, 6], &[2, 3], &[1, 2], Order::Fortran, int).unwrap();
        let darray = Datatype::darray(
            DistributedArray {
                size: 4,
                rank: 2,
                gsizes: &[9, 8],
                distributions: &[Distribution::Cyclic, Distribution::Block],
                arguments: &[2, super::super::DEFAULT_DISTRIBUTION_ARGUMENT],
                psizes: &[2, 2],
                order: Order::C,
            },
            int,
        )
        .unwrap();
        let resized = Datatype::resized(-8, 48, &sub).unwrap();
        let dup = Datatype::dup(&structure).unwrap();
        let twice = Datatype::structure(&[1, 1], &[0, 99], &[dup.clone(), dup.clone()]).unwrap();
        for datatype in [
            int.clone(),
            three,
            vector,
            hvector,
            indexed,
            hindexed,
            block,
            structure,
            sub,
            darray,
            resized,
            dup,
            twice,
        ] {
            equal(&there_and_back(&datatype), &datatype);
        }
    }

    #[test]
    fn types_of_very_many_parts_survive() {
        let char = Datatype::builtin(Builtin::Char);
        let members: Vec<Datatype> =
            (0..70_000).map(|i| Datatype::contiguous(1 + i % 5, char).unwrap()).collect();
        let places: Vec<i64> = (0..70_000).map(|i| 8 * i).collect();
        let many = Datatype::structure(&vec![1; members.len()], &places, &members).unwrap();
        equal(&there_and_back(&many), &many);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Datatype::read_from(&bytes);
        }

        #[test]
        fn damaged_bytes_are_read_or_refused(at in 0usize..200, value: u8) {
            let int = Datatype::builtin(Builtin::Int);
            let vector = Datatype::vector(4, 2, 5, int).unwrap();
            let indexed = Datatype::indexed(&[1, 2], &[3, 9], &vector).unwrap();
            let mut bytes = Vec::new();
            indexed.write_to(&mut bytes);
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok(read) = Datatype::read_from(&bytes) {
                let _ = read.span(1);
            }
        }
    }
}

//! The datatype for an array section with gaps, a count and a datatype of a Fortran program
//! (MPI-4.1, 19.1.13). Elements of the datatype lie in the section as if it were contiguous.
//!
//! Guarantees: the type of [`over_section`](Datatype::over_section) has the given signature and is
//! made of predefined types by an ordinary constructor. Conversion, operations, counts of elements
//! and tools find in it what they find in a contiguous array. Only a value that lies across a gap
//! becomes bytes, and only if the caller allows that.

use super::{Builtin, Class, Datatype};
use crate::bail;
use crate::error::Result;
use crate::usermem::RunVisitor;

/// An array section: bytes of an element, and (extent, stride in bytes) of each dimension.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// Bytes of one element, at least one.
    pub element: u64,
    /// Extents and distances in bytes, the fastest dimension first.
    pub dimensions: &'a [(u64, i64)],
}

impl Section<'_> {
    /// The place of byte `at` of the section, taken for contiguous, relative to its first byte. The
    /// second number: how many bytes from there on lie in the same element.
    fn place(&self, at: i64) -> Result<(i64, u64)> {
        let Ok(place) = u64::try_from(at) else {
            bail!(Buffer, "the datatype begins before the array section that is the buffer");
        };
        let (mut index, within) = (place / self.element, place % self.element);
        let mut to = within as i64;
        for &(extent, stride) in self.dimensions {
            to = to.wrapping_add(stride.wrapping_mul((index % extent.max(1)) as i64));
            index /= extent.max(1);
        }
        if index > 0 {
            bail!(
                Buffer,
                "the array section that is the buffer is too short for count and datatype"
            );
        }
        Ok((to, self.element - within))
    }
}

/// Predefined values one behind the other: the first, how many, their type.
type Block = (i64, i64, Builtin);

struct Collect<'a> {
    section: Section<'a>,
    /// Type of the values that come, and what is still missing of the one that began.
    builtin: Builtin,
    missing: u64,
    /// Parts of the value that began: (address, length).
    parts: Vec<(i64, u64)>,
    blocks: Vec<Block>,
    torn: bool,
    result: Result<()>,
}

impl Collect<'_> {
    fn push(&mut self, at: i64, builtin: Builtin) {
        if let Some((first, n, last)) = self.blocks.last_mut()
            && *last == builtin
            && builtin.extent() == builtin.size()
            && first.wrapping_add((*n).wrapping_mul(builtin.size() as i64)) == at
        {
            *n += 1;
            return;
        }
        self.blocks.push((at, 1, builtin));
    }

    /// A value is complete.
    fn flush(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        match (parts.as_slice(), self.builtin.class()) {
            (&[(at, _)], _) => return self.push(at, self.builtin),
            // A value, a hole, and its index.
            (&[(at, len), (index, _)], Class::Pair { index_at, .. })
                if index.wrapping_sub(at) == i64::from(index_at)
                    && len == self.builtin.parts().0 =>
            {
                return self.push(at, self.builtin);
            }
            _ => {}
        }
        self.torn = true;
        for (at, len) in parts {
            for byte in 0..len {
                self.push(at.wrapping_add(byte as i64), Builtin::Byte);
            }
        }
    }

    fn bytes(&mut self, disp: i64, len: u64) -> Result<()> {
        let (mut at, mut left) = (disp, len);
        while left > 0 {
            let (place, rest) = self.section.place(at)?;
            let len = rest.min(left).min(self.missing);
            match self.parts.last_mut() {
                Some((first, n)) if first.wrapping_add(*n as i64) == place => *n += len,
                _ => self.parts.push((place, len)),
            }
            at = at.wrapping_add(len as i64);
            left -= len;
            self.missing -= len;
            if self.missing == 0 {
                self.flush();
                self.missing = self.builtin.size();
            }
        }
        Ok(())
    }
}

impl RunVisitor for Collect<'_> {
    fn run(&mut self, disp: i64, len: usize) {
        if self.result.is_ok() {
            self.result = self.bytes(disp, len as u64);
        }
    }
}

impl Datatype {
    /// The same as loops, for any number of elements. This is for a type without holes that
    /// consists of whole elements of the section, in whole columns.
    fn regular(&self, count: u64, section: Section<'_>) -> Result<Option<Datatype>> {
        let (size, total) = (self.size(), self.size() * count);
        let holes = !self.is_contiguous() || self.true_lb() != 0 || size == 0;
        if holes || !section.element.is_multiple_of(size) || !total.is_multiple_of(section.element)
        {
            return Ok(None);
        }
        let mut left = total / section.element;
        let mut made = Datatype::contiguous((section.element / size) as i64, self)?;
        for &(extent, stride) in section.dimensions {
            let n = extent.min(left);
            if n == 0 || !left.is_multiple_of(n) {
                return Ok(None);
            }
            left /= n;
            made = Datatype::hvector(n as i64, 1, stride, &made)?;
        }
        Ok((left == 1).then_some(made))
    }

    /// The type of which one value at the section's first element is `count` values of this one in
    /// the section. With `whole` a value of a predefined type that lies across a gap is an error.
    pub fn over_section(&self, count: u64, section: Section<'_>, whole: bool) -> Result<Datatype> {
        if section.element == 0 {
            bail!(Buffer, "the elements of the array section that is the buffer are empty");
        }
        if self.total_size(count).is_none() {
            bail!(Count, "{count} elements of the datatype do not fit into memory");
        }
        if let Some(made) = self.regular(count, section)? {
            made.commit();
            return Ok(made);
        }
        let mut collect = Collect {
            section,
            builtin: Builtin::Byte,
            missing: 0,
            parts: Vec::new(),
            blocks: Vec::new(),
            torn: false,
            result: Ok(()),
        };
        let mut from = 0u64;
        self.for_each_builtin(count, &mut |builtin, n| {
            (collect.builtin, collect.missing) = (builtin, builtin.size());
            let to = from + builtin.size() * n;
            self.for_each_run(count, from, to, &mut collect);
            from = to;
            std::mem::replace(&mut collect.result, Ok(()))
        })?;
        if whole && collect.torn {
            bail!(Buffer, "a value lies across a gap of the array section that is the buffer");
        }
        let blocks = collect.blocks;
        let lengths: Vec<i64> = blocks.iter().map(|block| block.1).collect();
        let places: Vec<i64> = blocks.iter().map(|block| block.0).collect();
        let first = blocks.first().map_or(Builtin::Byte, |block| block.2);
        let made = if blocks.iter().all(|block| block.2 == first) {
            Datatype::hindexed(&lengths, &places, Datatype::builtin(first))?
        } else {
            let types: Vec<Datatype> =
                blocks.iter().map(|block| Datatype::builtin(block.2).clone()).collect();
            Datatype::structure(&lengths, &places, &types)?
        };
        made.commit();
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usermem::UserPtr;
    use proptest::prelude::*;

    /// The composed type sends the same data as a contiguous copy of the section.
    fn compare(datatype: &Datatype, count: u64, element: u64, dimensions: &[(u64, i64)]) {
        let section = Section { element, dimensions };
        let low: i64 = dimensions.iter().map(|d| (d.1 * (d.0 as i64 - 1)).min(0)).sum();
        let high: i64 = dimensions.iter().map(|d| (d.1 * (d.0 as i64 - 1)).max(0)).sum();
        let array: Vec<u8> =
            (0..high - low + element as i64).map(|i| (i * 7 + i / 256) as u8).collect();
        let base = (-low) as usize;
        let elements: u64 = dimensions.iter().map(|d| d.0).product();
        let mut copy = Vec::new();
        for i in 0..elements * element {
            let (at, _) = section.place(i as i64).unwrap();
            copy.push(array[(base as i64 + at) as usize]);
        }
        let made = datatype.over_section(count, section, false).unwrap();
        assert_eq!(made.size(), datatype.size() * count);
        let mut wanted = vec![0; (datatype.size() * count) as usize];
        datatype.pack(UserPtr::own(&copy), count, 0, &mut wanted);
        let mut got = vec![0; made.size() as usize];
        made.pack(UserPtr::own(&array).offset(base as i64), 1, 0, &mut got);
        assert_eq!(got, wanted);
    }

    #[test]
    fn types_with_holes_in_sections() {
        let int = Datatype::builtin(Builtin::Int);
        let vector = Datatype::vector(3, 1, 2, int).unwrap();
        compare(&vector, 2, 4, &[(20, 8)]);
        compare(&vector, 1, 4, &[(2, 8), (5, 40)]);
        compare(&vector, 1, 4, &[(5, -12)]);
        // Without holes, as loops: all of it, a part of one dimension, columns of two.
        for (count, dimensions) in
            [(20, [(20, 8), (1, 0)]), (7, [(20, 8), (1, 0)]), (6, [(3, 8), (5, -100)])]
        {
            compare(int, count, 4, &dimensions);
            let section = Section { element: 4, dimensions: &dimensions };
            assert!(int.regular(count, section).unwrap().is_some());
        }
        assert!(
            int.regular(7, Section { element: 4, dimensions: &[(3, 8), (5, 100)] })
                .unwrap()
                .is_none()
        );
        let made =
            vector.over_section(2, Section { element: 4, dimensions: &[(20, 8)] }, true).unwrap();
        assert_eq!((made.base(), made.elements_per_value()), (Some(Builtin::Int), 6));
        let double = Datatype::builtin(Builtin::Double);
        let mixed = Datatype::structure(&[1, 2], &[0, 8], &[int.clone(), double.clone()]).unwrap();
        // A Fortran type of an integer and two reals, every third of an array.
        compare(&mixed, 4, 24, &[(4, 72)]);
        let whole = Section { element: 24, dimensions: &[(4, 72)] };
        assert_eq!(mixed.over_section(4, whole, true).unwrap().elements_per_value(), 12);
        let pair = Datatype::builtin(Builtin::ShortInt);
        compare(pair, 3, 8, &[(3, 16)]);
        let pairs = Section { element: 8, dimensions: &[(3, 16)] };
        assert_eq!(pair.over_section(3, pairs, true).unwrap().base(), Some(Builtin::ShortInt));
        compare(Datatype::builtin(Builtin::DoubleInt), 3, 16, &[(3, 48)]);
    }

    #[test]
    fn values_across_gaps() {
        let double = Datatype::builtin(Builtin::Double);
        let section = Section { element: 4, dimensions: &[(6, 8)] };
        compare(double, 3, 4, &[(6, 8)]);
        assert!(double.over_section(3, section, true).is_err());
        // Two neighbours, then a gap: a value fits.
        let pairs = Section { element: 4, dimensions: &[(2, 4), (3, 16)] };
        let made = double.over_section(3, pairs, true).unwrap();
        assert_eq!(made.base(), Some(Builtin::Double));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let int = Datatype::builtin(Builtin::Int);
        let section = Section { element: 4, dimensions: &[(6, 8)] };
        assert!(int.over_section(6, section, true).is_ok());
        assert!(int.over_section(7, section, true).is_err());
        let before = Datatype::hindexed(&[1], &[-4], int).unwrap();
        assert!(before.over_section(1, section, true).is_err());
        assert!(int.over_section(1, Section { element: 0, dimensions: &[(6, 8)] }, true).is_err());
        assert!(int.over_section(u64::MAX, section, true).is_err());
        assert_eq!(int.over_section(0, section, true).unwrap().size(), 0);
    }

    proptest! {
        // Parameters: each is a value that proptest draws.
        #[test]
        fn like_a_contiguous_copy(
            element in 1u64..9, a in 1u64..5, b in 1u64..5, step in 1i64..4, gap in 0i64..9,
            back: bool, blocklength in 1i64..3, stride in 0i64..4, n in 1i64..4,
        ) {
            let size = element as i64;
            let column = size * step * a as i64 + gap;
            let dimensions = [(a, size * step), (b, if back { -column } else { column })];
            let short = Datatype::builtin(Builtin::Short);
            let vector = Datatype::vector(n, blocklength, stride, short).unwrap();
            let room = (element * a * b) as i64;
            let (_, end) = vector.span(1).unwrap();
            prop_assume!(end <= room);
            let count = (0..9u64).rev().find(|&c| vector.span(c).is_some_and(|s| s.1 <= room));
            compare(&vector, count.unwrap_or(0), element, &dimensions);
        }
    }
}

//! Views: which bytes of a file a process sees, and in which order (MPI-3.1, 13.3).
//!
//! From displacement `disp` on, the file is a sequence of `filetype`s; what they cover is what can be
//! seen, counted in `etype`s.
//!
//! Guarantees: positions are translated in time that does not depend on how far into the file they
//! are; no arithmetic overflows in silence.

use crate::bail;
use crate::datatype::{Builtin, Datatype};
use crate::error::Result;
use crate::file::represent::Custom;
use crate::usermem::RunVisitor;
use std::rc::Rc;

/// How data are represented in the file.
#[derive(Debug, Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As in memory: all our processes are alike.
    Internal,
    /// Big-endian.
    External32,
    /// As the program's functions convert them.
    Custom(Rc<Custom>),
}

impl Representation {
    /// The name that the program knows.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::External32 => "external32",
            Self::Custom(custom) => &custom.name,
        }
    }

    /// The predefined representation of this name.
    #[must_use]
    pub fn predefined(name: &str) -> Option<Self> {
        let mut all = [Self::Native, Self::Internal, Self::External32].into_iter();
        all.find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

/// What a process sees of a file.
#[derive(Debug, Clone)]
pub struct View {
    /// Bytes before the first filetype.
    pub disp: i64,
    /// The unit of positions.
    pub etype: Datatype,
    /// What is seen.
    pub filetype: Datatype,
    /// How data are represented.
    pub representation: Representation,
    /// Bytes of each value in memory and in the file, where these differ.
    pub scale: Option<(u64, u64)>,
}

impl Default for View {
    fn default() -> Self {
        let byte = Datatype::builtin(Builtin::Byte);
        Self {
            disp: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            scale: None,
        }
    }
}

/// A run of bytes of the file: where it begins and how long it is.
pub type Run = (u64, usize);

struct Collect {
    base: i64,
    runs: Vec<Run>,
}

impl RunVisitor for Collect {
    fn run(&mut self, disp: i64, len: usize) {
        let at = self.base.wrapping_add(disp) as u64;
        match self.runs.last_mut() {
            Some((last, length)) if *last + *length as u64 == at => *length += len,
            _ => self.runs.push((at, len)),
        }
    }
}

impl View {
    /// Checks the arguments of `MPI_File_set_view`.
    pub fn check(&self) -> Result<()> {
        if self.disp < 0 {
            bail!(Arg, "the displacement of a view is {}, must not be negative", self.disp);
        }
        if self.etype.size() == 0 || self.filetype.size() == 0 {
            bail!(Arg, "the etype or the filetype of a view has no data");
        }
        if !self.filetype.size().is_multiple_of(self.etype.size()) {
            bail!(Arg, "the filetype of a view is not made of whole etypes");
        }
        if self.filetype.true_lb() < 0 || self.filetype.extent() < 0 {
            bail!(Arg, "the filetype of a view has negative displacements");
        }
        struct Ascending(i64, bool);
        impl RunVisitor for Ascending {
            fn run(&mut self, disp: i64, len: usize) {
                self.1 &= disp >= self.0;
                self.0 = disp.wrapping_add(len as i64);
            }
        }
        let mut order = Ascending(0, true);
        self.filetype.for_each_run(1, 0, u64::MAX, &mut order);
        if !order.1 {
            bail!(Arg, "the displacements of a filetype must not decrease");
        }
        if let Some((memory, _)) = self.scale {
            struct Whole(i64, bool);
            impl RunVisitor for Whole {
                fn run(&mut self, disp: i64, len: usize) {
                    self.1 &= disp % self.0 == 0 && len as i64 % self.0 == 0;
                }
            }
            let mut whole = Whole(memory as i64, self.filetype.extent() % memory as i64 == 0);
            self.filetype.for_each_run(1, 0, u64::MAX, &mut whole);
            if !whole.1 {
                bail!(
                    UnsupportedDatarep,
                    "the filetype is not portable: its values are not whole ones apart, and have \
                     another size in the file"
                );
            }
        }
        Ok(())
    }

    /// Bytes in the file of so many bytes of whole values in memory.
    #[must_use]
    pub fn in_file(&self, bytes: u64) -> u64 {
        self.scale.map_or(bytes, |(memory, file)| bytes / memory * file)
    }

    /// Bytes in memory of the whole values in so many bytes of the file.
    #[must_use]
    pub fn in_memory(&self, bytes: u64) -> u64 {
        self.scale.map_or(bytes, |(memory, file)| bytes / file * memory)
    }

    /// What is `extent` apart in memory, is so much apart in the file.
    #[must_use]
    pub fn extent_in_file(&self, extent: i64) -> i64 {
        match self.scale {
            Some((memory, file)) => extent / memory as i64 * file as i64,
            None => extent,
        }
    }

    /// Bytes that can be seen before position `etypes`.
    pub fn bytes_before(&self, etypes: i64) -> Result<u64> {
        match u64::try_from(etypes).ok().and_then(|n| self.etype.total_size(n)) {
            Some(bytes) => Ok(bytes),
            None => bail!(Arg, "offset {etypes} is negative or too large"),
        }
    }

    /// The runs of the file that are `len` bytes of what can be seen, from byte `from` of that on; both
    /// count as in memory.
    pub fn runs(&self, from: u64, len: u64) -> Result<Vec<Run>> {
        let mut runs = self.runs_of_memory(from, len)?;
        if let Some((memory, file)) = self.scale {
            let disp = self.disp as u64;
            for run in &mut runs {
                // Both are whole values apart: the view was checked, positions are whole values, too.
                let scaled = ((run.0 - disp) / memory)
                    .checked_mul(file)
                    .and_then(|at| at.checked_add(disp).filter(|&at| i64::try_from(at).is_ok()));
                let Some(at) = scaled else {
                    bail!(Arg, "the access leads beyond the largest file");
                };
                *run = (at, (run.1 as u64 / memory * file) as usize);
            }
        }
        Ok(runs)
    }

    fn runs_of_memory(&self, from: u64, len: u64) -> Result<Vec<Run>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let each = self.filetype.size();
        let fits = || -> Option<(i64, u64)> {
            let first = from / each;
            let to = from.checked_add(len)?;
            let extent = i128::from(self.filetype.extent());
            let base = i128::from(self.disp) + extent * i128::from(first);
            let last = i128::from(self.disp)
                + extent * i128::from(to / each + 1)
                + i128::from(self.filetype.true_ub());
            i64::try_from(last).ok()?;
            Some((i64::try_from(base).ok()?, first))
        };
        let Some((base, first)) = fits() else {
            bail!(Arg, "{len} bytes from byte {from} of the view on are beyond the largest file")
        };
        let mut collect = Collect { base, runs: Vec::new() };
        let skip = from - first * each;
        let count = (skip + len).div_ceil(each);
        self.filetype.for_each_run(count, skip, skip + len, &mut collect);
        Ok(collect.runs)
    }

    /// Where position `etypes` is in the file.
    pub fn byte_offset(&self, etypes: i64) -> Result<i64> {
        let from = self.bytes_before(etypes)?;
        let run = self.runs(from, self.scale.map_or(1, |(memory, _)| memory))?;
        Ok(run.first().map_or(0, |run| run.0 as i64))
    }

    /// How many bytes before file position `size` can be seen.
    #[must_use]
    pub fn seen_before(&self, size: u64) -> u64 {
        let Some(inside) = size.checked_sub(self.disp as u64) else { return 0 };
        let inside = self.in_memory(inside);
        if inside == 0 {
            return 0;
        }
        let each = self.filetype.size();
        let extent = self.filetype.extent().max(1) as u64;
        // Whole filetypes that certainly end before; the rest is looked at one by one.
        let reach = self.filetype.true_ub().max(0) as u64;
        let whole = inside.saturating_sub(reach) / extent;
        struct Before(u64, u64);
        impl RunVisitor for Before {
            fn run(&mut self, disp: i64, len: usize) {
                let left = self.0.saturating_sub(disp as u64);
                self.1 += left.min(len as u64);
            }
        }
        let rest = inside - whole * extent;
        let count = rest / extent + 1;
        let mut before = Before(rest, 0);
        self.filetype.for_each_run(count, 0, u64::MAX, &mut before);
        whole * each + before.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_third(disp: i64) -> View {
        let int = Datatype::builtin(Builtin::Int);
        let filetype = Datatype::resized(0, 12, int).unwrap();
        View {
            disp,
            etype: int.clone(),
            filetype,
            representation: Representation::Native,
            scale: None,
        }
    }

    #[test]
    fn the_default_view_is_the_file() {
        let view = View::default();
        assert_eq!(view.runs(5, 10).unwrap(), [(5, 10)]);
        assert_eq!(view.byte_offset(7).unwrap(), 7);
        assert_eq!(view.seen_before(100), 100);
        assert_eq!(view.runs(1 << 40, 1 << 20).unwrap(), [(1 << 40, 1 << 20)]);
    }

    #[test]
    fn holes_are_skipped() {
        let view = every_third(8);
        view.check().unwrap();
        assert_eq!(view.runs(0, 8).unwrap(), [(8, 4), (20, 4)]);
        assert_eq!(view.runs(6, 4).unwrap(), [(22, 2), (32, 2)]);
        assert_eq!(view.byte_offset(3).unwrap(), 8 + 36);
        for size in 0..100u64 {
            let slow = (0..size).filter(|&at| at >= 8 && (at - 8) % 12 < 4).count() as u64;
            assert_eq!(view.seen_before(size), slow, "{size}");
        }
    }

    #[test]
    fn values_of_another_size_in_the_file_lie_apart_accordingly() {
        let view = View { scale: Some((4, 6)), ..every_third(8) };
        view.check().unwrap();
        assert_eq!(view.runs(0, 8).unwrap(), [(8, 6), (26, 6)]);
        assert_eq!(view.byte_offset(3).unwrap(), 8 + 54);
        assert_eq!((view.in_file(8), view.in_memory(17), view.extent_in_file(12)), (12, 8, 18));
        for size in 0..200u64 {
            let whole = (0..20).filter(|i| 8 + 18 * i + 6 <= size).count() as u64;
            assert_eq!(view.seen_before(size), 4 * whole, "{size}");
        }
        let bytes = Datatype::resized(0, 6, Datatype::builtin(Builtin::Int)).unwrap();
        assert!(View { filetype: bytes, ..view }.check().is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(every_third(-1).check().is_err());
        assert!(every_third(0).runs(u64::MAX / 2, 100).is_err());
        assert!(every_third(0).bytes_before(-1).is_err());
        let int = Datatype::builtin(Builtin::Int);
        let down = Datatype::indexed(&[1, 1], &[5, 0], int).unwrap();
        let view = View { filetype: down, etype: int.clone(), ..View::default() };
        assert!(view.check().is_err());
        assert!(Representation::predefined("vax").is_none());
        assert!(Representation::predefined("External32").is_some());
    }
}

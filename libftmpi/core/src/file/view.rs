//! Views: which bytes of a file a process sees, and in which order (MPI-3.1, 13.3).
//!
//! From displacement `disp` on, the file is a sequence of `filetype`s; what they cover is what can
//! be seen, counted in `etype`s.
//!
//! Guarantees: positions are translated in time that does not depend on how far into the file they
//! are; no arithmetic overflows in silence.

use crate::bail;
use crate::datatype::{Builtin, Datatype};
use crate::error::Result;
use crate::file::represent::Custom;
use crate::usermem::RunVisitor;
use std::ffi::OsStr;
use std::rc::Rc;

/// How data are represented in the file.
#[derive(Debug, Clone)]
pub enum Representation {
    /// The representation of memory.
    Native,
    /// The representation of memory, too: all our processes are alike.
    Internal,
    /// Big-endian.
    External32,
    /// As the program's functions convert them.
    Custom(Rc<Custom>),
}

impl Representation {
    /// The name that the program knows.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        match self {
            Self::Native => OsStr::new("native"),
            Self::Internal => OsStr::new("internal"),
            Self::External32 => OsStr::new("external32"),
            Self::Custom(custom) => &custom.name,
        }
    }

    /// Bytes of a value of this predefined type in the file.
    pub fn size_of(&self, builtin: Builtin) -> Result<u64> {
        let datatype = Datatype::builtin(builtin);
        match self {
            Self::Native | Self::Internal => Ok(datatype.size()),
            Self::External32 => datatype.external_size(1),
            Self::Custom(custom) => custom.size(builtin),
        }
    }

    /// The predefined representation of this name.
    #[must_use]
    pub fn predefined(name: &OsStr) -> Option<Self> {
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
    /// Etype and filetype as they are in the file, where values have another size there than in
    /// memory.
    pub in_file: Option<(Datatype, Datatype)>,
}

impl Default for View {
    fn default() -> Self {
        let byte = Datatype::builtin(Builtin::Byte);
        Self {
            disp: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            in_file: None,
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

/// Whether no run of a filetype begins before the one that comes before it.
fn begins_in_order(filetype: &Datatype) -> bool {
    struct Begins(i64, bool);
    impl RunVisitor for Begins {
        fn run(&mut self, disp: i64, _len: usize) {
            self.1 &= disp >= self.0;
            self.0 = disp;
        }
    }
    let mut begins = Begins(i64::MIN, true);
    filetype.for_each_run(1, 0, u64::MAX, &mut begins);
    begins.1
}

impl View {
    /// Checks the arguments of `MPI_File_set_view`. What is only read may be seen twice. A process
    /// with a filetype without data sees nothing.
    pub fn check(&self, reads_only: bool) -> Result<()> {
        if self.disp < 0 {
            bail!(Arg, "the displacement of a view is {}, must not be negative", self.disp);
        }
        let (etype, filetype) = (self.etype_in_file(), self.filetype_in_file());
        if etype.size() == 0 {
            bail!(Arg, "the etype of a view has no data");
        }
        if !filetype.size().is_multiple_of(etype.size()) {
            bail!(Arg, "the filetype of a view is not made of whole etypes");
        }
        if filetype.true_lb() < 0 || filetype.extent() < 0 {
            bail!(Io, "the filetype of a view has negative displacements");
        }
        if !(filetype.is_ascending() || reads_only && begins_in_order(filetype)) {
            bail!(
                Io,
                "the displacements of a filetype must not decrease, nor may it see a byte twice where the file is \
                 written"
            );
        }
        Ok(())
    }

    /// The etype as it is in the file.
    #[must_use]
    pub fn etype_in_file(&self) -> &Datatype {
        self.in_file.as_ref().map_or(&self.etype, |(etype, _)| etype)
    }

    /// The filetype as it is in the file.
    #[must_use]
    pub fn filetype_in_file(&self) -> &Datatype {
        self.in_file.as_ref().map_or(&self.filetype, |(_, filetype)| filetype)
    }

    /// Finds the types of the file by the representation; called when they are set.
    pub fn represent(&mut self) -> Result<()> {
        let sizes = &mut |builtin| self.representation.size_of(builtin);
        let etype = self.etype.in_file(sizes)?;
        let filetype = self.filetype.in_file(sizes)?;
        let same = etype.is_same(&self.etype) && filetype.is_same(&self.filetype);
        self.in_file = if same { None } else { Some((etype, filetype)) };
        Ok(())
    }

    /// Bytes that can be seen before position `etypes`.
    pub fn bytes_before(&self, etypes: i64) -> Result<u64> {
        let etype = self.etype_in_file();
        match u64::try_from(etypes).ok().and_then(|n| etype.total_size(n)) {
            Some(bytes) => Ok(bytes),
            None => bail!(Arg, "offset {etypes} is negative or too large"),
        }
    }

    /// The runs of the file that are `len` bytes of what can be seen, from byte `from` of that on.
    pub fn runs(&self, from: u64, len: u64) -> Result<Vec<Run>> {
        let filetype = self.filetype_in_file();
        if len == 0 {
            return Ok(Vec::new());
        }
        let each = filetype.size();
        if each == 0 {
            bail!(Io, "{len} bytes of a view without data");
        }
        let fits = || -> Option<(i64, u64)> {
            let first = from / each;
            let to = from.checked_add(len)?;
            let extent = i128::from(filetype.extent());
            let base = i128::from(self.disp) + extent * i128::from(first);
            let last = i128::from(self.disp)
                + extent * i128::from(to / each + 1)
                + i128::from(filetype.true_ub());
            i64::try_from(last).ok()?;
            Some((i64::try_from(base).ok()?, first))
        };
        let Some((base, first)) = fits() else {
            bail!(Arg, "{len} bytes from byte {from} of the view on are beyond the largest file")
        };
        let mut collect = Collect { base, runs: Vec::new() };
        let skip = from - first * each;
        let count = (skip + len).div_ceil(each);
        filetype.for_each_run(count, skip, skip + len, &mut collect);
        Ok(collect.runs)
    }

    /// Where position `etypes` is in the file.
    pub fn byte_offset(&self, etypes: i64) -> Result<i64> {
        let from = self.bytes_before(etypes)?;
        if self.filetype_in_file().size() == 0 {
            return Ok(self.disp);
        }
        let run = self.runs(from, 1)?;
        Ok(run.first().map_or(0, |run| run.0 as i64))
    }

    /// How many bytes before file position `size` can be seen.
    #[must_use]
    pub fn seen_before(&self, size: u64) -> u64 {
        let Some(inside) = size.checked_sub(self.disp as u64) else { return 0 };
        let filetype = self.filetype_in_file();
        let each = filetype.size();
        if inside == 0 || each == 0 {
            return 0;
        }
        let extent = filetype.extent().max(1) as u64;
        // Whole filetypes that certainly end before; the rest is looked at one by one.
        let reach = filetype.true_ub().max(0) as u64;
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
        filetype.for_each_run(count, 0, u64::MAX, &mut before);
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
            in_file: None,
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
        view.check(false).unwrap();
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
        let long = Datatype::builtin(Builtin::Long);
        let filetype = Datatype::resized(0, 12, long).unwrap();
        let representation = Representation::External32;
        let mut view =
            View { disp: 8, etype: long.clone(), filetype, representation, in_file: None };
        view.represent().unwrap();
        view.check(false).unwrap();
        assert_eq!(view.runs(0, 8).unwrap(), [(8, 4), (20, 4)]);
        assert_eq!(view.byte_offset(3).unwrap(), 8 + 36);
        assert_eq!(view.bytes_before(3).unwrap(), 12);
        view.representation = Representation::Native;
        view.represent().unwrap();
        assert!(view.in_file.is_none());
        assert_eq!(view.byte_offset(3).unwrap(), 8 + 36);
        assert_eq!(view.bytes_before(3).unwrap(), 24);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(every_third(-1).check(false).is_err());
        assert!(every_third(0).runs(u64::MAX / 2, 100).is_err());
        assert!(every_third(0).bytes_before(-1).is_err());
        let int = Datatype::builtin(Builtin::Int);
        let down = Datatype::indexed(&[1, 1], &[5, 0], int).unwrap();
        let view = View { filetype: down, etype: int.clone(), ..View::default() };
        assert!(view.check(false).is_err());
        assert!(Representation::predefined(OsStr::new("vax")).is_none());
        assert!(Representation::predefined(OsStr::new("External32")).is_some());
    }
}

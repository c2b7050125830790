//! Representations of data in files: `external32` (big-endian, sizes fixed by the standard:
//! MPI-3.1, 13.5.2) and those that the program registers (13.5.3).
//!
//! Guarantees: the values of any datatype are converted one by one, in the order of its stream.
//! Values may have another size in the file than in memory (`MPI_LONG` has 4 bytes in
//! `external32`). Where they lie in the file, `datatype::in_file` says. A value that does not fit
//! the file's form is an error, never cut.

use crate::bail;
use crate::datatype::{Builtin, Datatype, TypeId};
use crate::error::Result;
use crate::usermem::UserPtr;
use std::ffi::OsString;

/// Longest name of a representation, with the zero byte of C.
pub const NAME_MAX: usize = 128;

/// One call of a conversion function, on `count` values of the type's signature from the value
/// `position` on. In the file's buffer they lie one after the other, in the program's as the type
/// says.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Conversion {
    pub user: UserPtr,
    pub datatype: TypeId,
    pub count: u64,
    pub file: UserPtr,
    pub position: u64,
}

/// A representation that the program registered. Its functions are addresses in the program, called
/// by the layer that knows their shapes.
#[derive(Debug)]
pub struct Custom {
    /// Its name.
    pub name: OsString,
    /// From the file to memory; `None`: as in memory.
    pub read: Option<usize>,
    /// From memory to the file; `None`: as in memory.
    pub write: Option<usize>,
    /// Gives the bytes of a predefined type in the file.
    pub extent: usize,
    /// The program's pointer for them.
    pub state: usize,
    /// Calls one of the first two; answers with the program's error code, 0 if there was none.
    pub convert: fn(custom: &Custom, function: usize, what: Conversion) -> i32,
    /// Calls the third.
    pub size_of: fn(custom: &Custom, builtin: Builtin) -> std::result::Result<i64, i32>,
}

impl Custom {
    /// Bytes of a value of this predefined type in the file.
    pub fn size(&self, builtin: Builtin) -> Result<u64> {
        match (self.size_of)(self, builtin) {
            Ok(bytes @ 1..=0xffff) => Ok(bytes as u64),
            Ok(bytes) => bail!(
                Conversion,
                "the extent of {} in representation '{}' is {bytes}",
                builtin.name(),
                self.name.display()
            ),
            Err(code) => bail!(
                Conversion,
                "the extent function of representation '{}' answered {code} for {}",
                self.name.display(),
                builtin.name()
            ),
        }
    }

    /// Converts all values of a buffer, in calls that an `int` can count; `datatype` is that of the
    /// buffer.
    pub fn convert_all(
        &self,
        function: usize,
        mut what: Conversion,
        datatype: &Datatype,
    ) -> Result<()> {
        let mut left = what.count;
        let file_size = match datatype.base() {
            Some(builtin) => self.size(builtin)?,
            None if left > i32::MAX as u64 => {
                bail!(Conversion, "{left} values of several types are too many for one access")
            }
            None => 0,
        };
        while left > 0 {
            what.count = left.min(i32::MAX as u64);
            let code = (self.convert)(self, function, what);
            if code != 0 {
                bail!(
                    Conversion,
                    "a conversion function of representation '{}' answered {code}",
                    self.name.display()
                );
            }
            left -= what.count;
            what.position += what.count;
            what.file = what.file.offset((what.count * file_size) as i64);
        }
        Ok(())
    }
}

/// How many of the values of `count` elements are whole in `bytes` of the file, and their bytes in
/// memory.
pub fn whole_values(
    datatype: &Datatype,
    count: u64,
    bytes: u64,
    size_of: &mut dyn FnMut(Builtin) -> Result<u64>,
) -> Result<(u64, u64)> {
    let (mut left, mut values, mut memory) = (bytes, 0, 0);
    datatype.for_each_builtin(count, &mut |builtin, n| {
        let each = size_of(builtin)?;
        let here = n.min(left / each);
        values += here;
        memory += here * Datatype::builtin(builtin).size();
        left = if here < n { 0 } else { left - here * each };
        Ok(())
    })?;
    Ok((values, memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_end_of_a_file_leaves_whole() {
        let types = [Builtin::Int, Builtin::Double].map(|b| Datatype::builtin(b).clone());
        let both = Datatype::structure(&[2, 1], &[0, 8], &types).unwrap();
        let mut size_of = |builtin: Builtin| Ok(if builtin == Builtin::Int { 6 } else { 8 });
        let mut whole = |bytes| whole_values(&both, 3, bytes, &mut size_of).unwrap();
        assert_eq!(whole(60), (9, 48));
        assert_eq!(whole(19), (2, 8));
        assert_eq!(whole(26), (4, 20));
        assert_eq!(whole(5), (0, 0));
    }
}

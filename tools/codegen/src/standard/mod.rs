//! The standard ABI of MPI 5.0 (chapter 20) over that of MPICH.
//!
//! `libftmpi/standard` includes two texts, which `build.rs` writes to its `OUT_DIR`. `mpi.h` of the
//! standard gets its constants from [`constants`].
//!
//! | text | what | module |
//! | --- | --- | --- |
//! | `translations.rs` | handles and integers of one ABI as those of the other | `translations` |
//! | `functions.rs` | functions that are not written by hand | `functions` |
//!
//! Each function translates its arguments, calls the function of `libmpi.so.12`, and translates the
//! results back. The kind of a parameter gives its meaning; `argument::meaning` gives that of an
//! `INT` of the table.

mod argument;
mod constants;
mod functions;
mod translations;

pub use constants::{Section, Sort, constants, parse, read, values};
pub use functions::functions;
pub use translations::translations;

use crate::table::{Function, Standing};

/// Is the function a part of the standard interface? What was removed from MPI is not, and integers
/// of Fortran are converted by `_toint` and `_fromint`.
pub fn exists(f: &Function) -> bool {
    let fortran = ["_c2f", "_f2c", "_c2f08", "_f082c", "_f2f08", "_f082f"];
    f.standing != Standing::Removed && !fortran.iter().any(|s| f.name.ends_with(s))
}

/// The functions as the standard's `mpi.h` declares them: two of them have a second name here only.
pub fn declared(functions: &[Function]) -> Vec<Function> {
    let mut all = Vec::new();
    for f in functions.iter().filter(|f| exists(f)) {
        let f = f.clone();
        // (The same: there are programs that were compiled with headers in which the plain one was
        // small.)
        if ["MPI_Psend_init", "MPI_Precv_init"].contains(&f.name.as_str()) {
            let mut large = f.clone();
            large.name.push_str("_c");
            all.push(large);
        }
        all.push(f);
    }
    all
}

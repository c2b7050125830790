//! The Fortran binding of every MPI function whose parameters translate by kind.
//!
//! `libftmpi/fortran` includes three texts, which `build.rs` writes to its `OUT_DIR`:
//!
//! | text | what | module |
//! | --- | --- | --- |
//! | `declarations.rs` | declarations of the C functions | here |
//! | `subroutines.rs` | functions that are not written by hand | `subroutine` |
//! | `descriptors.rs` | procedures of `mpi_f08` with array descriptors | `descriptor` |
//!
//! Written by hand in `libftmpi/fortran/src` are callbacks, attributes, the arguments of `main` and
//! arrays of texts. Functions that end in `_c` exist in the module `mpi_f08` only, under the
//! generic name without it.
//!
//! In Fortran all arguments are references. A returned error code comes last. Behind it come, by
//! value, the lengths of the character arguments.

mod descriptor;
mod passing;
mod subroutine;

pub use descriptor::descriptors;
pub use subroutine::subroutines;

use std::fmt::Write as _;

use crate::rust_types::{plain_type, rust_type};
use crate::table::{Direction, Function, Kind, Param};

/// Has the function a Fortran form at all?
pub fn exists(f: &Function) -> bool {
    let conversion = ["_c2f", "_f2c", "_toint", "_fromint", "_c2f08", "_f082c", "_f2f08", "_f082f"];
    !(f.name.starts_with("MPI_T_")
        || f.name.starts_with("MPI_Abi_")
        || conversion.iter().any(|s| f.name.ends_with(s)))
}

/// Declarations of all C functions, once as `mpi::X` and once as `pmpi::X`.
pub fn declarations(functions: &[Function]) -> String {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    for (module, prefix) in [("mpi", ""), ("pmpi", "P")] {
        let _ = writeln!(
            out,
            "#[allow(non_snake_case, missing_docs, dead_code, clashing_extern_declarations)]\n\
             pub mod {module} {{ unsafe extern \"C\" {{"
        );
        for f in functions.iter().filter(|f| !f.name.starts_with("MPI_T_")) {
            let mut params = String::new();
            for (i, p) in f.params.iter().enumerate() {
                if p.kind != Kind::Varargs {
                    let _ = write!(params, "p{i}: {}, ", plain_type(&rust_type(p)));
                }
            }
            let returns = f.returns.as_ref().map_or("core::ffi::c_int".to_owned(), |k| {
                let value = Param {
                    direction: Direction::In,
                    kind: k.clone(),
                    name: String::new(),
                    length: None,
                };
                plain_type(&rust_type(&value))
            });
            let _ = writeln!(
                out,
                "#[link_name = \"{prefix}{}\"] pub fn {}({params}) -> {returns};",
                f.name,
                &f.name[4..]
            );
        }
        out.push_str("} }\n");
    }
    out
}

/// The name of the procedure in `mpi_f08`, without its prefix (`MPI_`, `MPIX_`).
pub fn f08_name(f: &Function) -> String {
    let large = if f.name.ends_with("_c") { "_large" } else { "" };
    let plain = f.name.strip_suffix("_c").unwrap_or(&f.name);
    let described = if f.params.iter().any(|p| p.kind == Kind::Buffer) { "ts" } else { "" };
    let (_, stem) = plain.split_once('_').unwrap_or(("", plain));
    format!("{stem}_f08{described}{large}")
}

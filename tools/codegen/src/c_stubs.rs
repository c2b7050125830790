//! Exported C functions for every name of `include/mpi.table` that has no body in `libftmpi/abi`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::rust_types::{c_element, is_identity, plain_type, rust_type};
use crate::table::{Function, Kind};

/// Rust source of an exported `MPI_X` and `PMPI_X` for every function that is not `implemented`.
///
/// Each calls `crate::unsupported("MPI_X")`, which reports through the error handler and returns
/// the code. Conversions between equal integers are done outright.
pub fn stubs(functions: &[Function], implemented: &BTreeSet<String>) -> String {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    for f in functions.iter().filter(|f| !implemented.contains(&f.name)) {
        let mut params = String::new();
        for (i, p) in f.params.iter().enumerate() {
            if p.kind != Kind::Varargs {
                let _ = write!(params, "_p{i}: {}, ", plain_type(&rust_type(p)));
            }
        }
        let returns = f.returns.as_ref().map_or("c_int".into(), |k| plain_type(c_element(k)));
        let body = if is_identity(f) {
            "_p0".to_owned()
        } else {
            let report = format!("crate::unsupported(\"{}\")", f.name);
            match f.returns {
                None => report,
                Some(Kind::Double) => format!("{{ {report}; 0.0 }}"),
                Some(Kind::File) => format!("{{ {report}; core::ptr::null_mut() }}"),
                Some(_) => format!("{{ {report}; 0 }}"),
            }
        };
        for prefix in ["", "P"] {
            let _ = writeln!(
                out,
                "#[unsafe(no_mangle)] #[allow(non_snake_case, missing_docs)]\n\
                 pub extern \"C\" fn {prefix}{}({params}) -> {returns} {{ {body} }}",
                f.name
            );
        }
    }
    out
}

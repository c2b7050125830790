//! The exported functions of the standard ABI that are not written by hand.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::argument::{here, pass, scalar, there};
use super::exists;
use crate::error::Problem;
use crate::table::{Function, Kind};

/// The exported functions that `by_hand` does not name, and the table of the functions they call.
pub fn functions(functions: &[Function], by_hand: &BTreeSet<String>) -> Result<String, Problem> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    let all: Vec<&Function> = functions.iter().collect();
    let _ = writeln!(
        out,
        "/// Names of the functions of the first interface, without prefix.\n\
                           pub static NAMES: [&core::ffi::CStr; {}] = [",
        all.len()
    );
    for f in &all {
        let _ = writeln!(out, "c\"PMPI_{}\",", &f.name[4..]);
    }
    out.push_str("];\n/// Where each function stands in `NAMES`.\n#[allow(non_upper_case_globals)] pub mod at {\n");
    for (n, f) in all.iter().enumerate() {
        let _ = writeln!(out, "pub const {}: usize = {n};", &f.name[4..]);
    }
    out.push_str("}\n");
    for f in functions.iter().filter(|f| exists(f) && !by_hand.contains(&f.name)) {
        one(f, &mut out).map_err(|problem| problem.of(&f.name))?;
    }
    Ok(out)
}

fn one(f: &Function, out: &mut String) -> Result<(), Problem> {
    let short = &f.name[4..];
    let (mut parameters, mut names) = (String::new(), String::new());
    let (mut before, mut arguments, mut types, mut after) =
        (String::new(), String::new(), String::new(), String::new());
    for (i, p) in f.params.iter().enumerate().filter(|(_, p)| p.kind != Kind::Varargs) {
        let _ = write!(parameters, "p{i}: {}, ", here(p));
        let _ = write!(names, "p{i}, ");
        let passed = pass(f, i)?;
        let _ = writeln!(before, "{}", passed.before);
        let _ = write!(arguments, "{}, ", passed.argument);
        let _ = write!(types, "{}, ", there(p));
        let _ = writeln!(after, "{}", passed.after);
    }
    let returns = match &f.returns {
        None => "c_int",
        Some(kind) => scalar(kind).ok_or(Problem::ReturnsValue)?,
    };
    let result = if f.returns.is_none() { "error_out(code)" } else { "code" };
    // SAFETY of what is written here: arguments are C's, as the prototype of the same table says.
    // The function that is found under the name has the type that the table gives the other ABI.
    // SAFETY, of the generated code: callers keep what MPI asks of the arguments, and `body` has
    // the same parameters.
    for prefix in ["MPI", "PMPI"] {
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)] #[allow(clippy::too_many_arguments)] pub unsafe extern \"C\" fn {prefix}_{short}({parameters}) -> {returns} {{ unsafe {{ body_{short}::call({names}) }} }}"
        );
    }
    // SAFETY, of the generated code: callers keep what MPI asks of the arguments, and `function`
    // has the type that the table gives it.
    let _ = writeln!(
        out,
        "mod body_{short} {{ use super::*;\n\
         #[inline] #[allow(clippy::too_many_arguments)] pub unsafe fn call({parameters}) -> {returns} {{ unsafe {{\n{before}\
         let function: unsafe extern \"C\" fn({types}) -> {returns} = core::mem::transmute(next(at::{short}));\n\
         let code = function({arguments});\n{after}{result} }} }} }}"
    );
    Ok(())
}

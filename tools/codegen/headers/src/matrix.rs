//! `docs/reference/mpi-support.md`: which functions of the table are complete, and which answer
//! with a clear error.
//!
//! A function with a body in `libftmpi/abi/src` is complete, unless its file says otherwise in a
//! line with [`MARK`]. A function without a body gives `MPI_ERR_UNSUPPORTED_OPERATION` with its
//! name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ftmpi_codegen::table::{Function, Standing};
use ftmpi_codegen::{rust_types, sources};

/// The line that marks a file whose functions all refuse.
const MARK: &str = "// Support matrix: clear error.";

/// What a program can expect of a function.
#[derive(Clone, Copy, PartialEq)]
enum Support {
    Complete,
    ClearError,
}

/// The text of the file.
pub fn text(top: &Path, functions: &[Function]) -> anyhow::Result<String> {
    let folder = top.join("libftmpi/abi/src");
    let mut complete = sources::implemented(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let text = fs::read_to_string(entry?.path())?;
        if text.lines().any(|line| line == MARK) {
            for name in sources::names_in(&text, "fn ") {
                complete.remove(&name);
            }
        }
    }
    Ok(matrix(functions, &complete))
}

fn support(f: &Function, complete: &BTreeSet<String>) -> Support {
    if complete.contains(&f.name) || rust_types::is_identity(f) {
        Support::Complete
    } else {
        Support::ClearError
    }
}

fn matrix(functions: &[Function], complete: &BTreeSet<String>) -> String {
    let count = |list: &[&Function]| {
        list.iter().filter(|f| support(f, complete) == Support::Complete).count()
    };
    let all: Vec<&Function> = functions.iter().collect();
    let mut out = format!(
        "# MPI support\n\nThis page says which functions of MPI are complete. It is generated from \
         `include/mpi.table` and the sources by `make headers`; `make verify` checks it.\n\n\
         All {} functions of MPI in MPICH 5's `libmpi.so.12` are exported, each also as `PMPI_…`; {} of \
         them are complete. A function that is not complete stands under \"Clear error\": it returns an \
         error with its name. Fortran has the same functions, in `mpif.h`, `use mpi` and `use mpi_f08`.\n\n\
         Some calls depend on the protocol: see [Limits](limits.md#mpi-calls). Of the `MPIX_` functions \
         those of ULFM are complete, in C and Fortran ([Programs that handle failures](../guide/handling-failures.md)). \
         MPICH's other `MPIX_` functions are exported, so that programs start; most of them return \
         `MPI_ERR_UNSUPPORTED_OPERATION`.\n\n\
         | chapter | functions | complete |\n| --- | --- | --- |\n",
        all.len(),
        count(&all)
    );
    let mut sections: Vec<&str> = Vec::new();
    for f in functions {
        if sections.last() != Some(&f.section.as_str()) {
            sections.push(&f.section);
        }
    }
    let of = |section: &str| -> Vec<&Function> {
        functions.iter().filter(|f| f.section == section).collect()
    };
    for section in &sections {
        let list = of(section);
        let _ = writeln!(out, "| {section} | {} | {} |", list.len(), count(&list));
    }
    for section in &sections {
        let _ = writeln!(out, "\n## {section}");
        for (title, wanted) in
            [("Complete", Support::Complete), ("Clear error", Support::ClearError)]
        {
            let names: Vec<String> = of(section)
                .iter()
                .filter(|f| support(f, complete) == wanted)
                .map(|f| {
                    let old = if f.standing == Standing::Current { "" } else { "°" };
                    format!("{}{old}", &f.name[4..])
                })
                .collect();
            if !names.is_empty() {
                let _ = writeln!(out, "\n- {title}: {}", names.join(", "));
            }
        }
    }
    out.push_str(
        "\nNames are without `MPI_`; ° marks what the standard deprecates or has removed.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_codegen::table;

    #[test]
    fn what_has_no_body_or_refuses_is_not_complete() {
        let functions = table::parse(
            "== One\nMPI_A 1.0 ()\nMPI_B 1.0 deprecated ()\n== Two\nMPI_C_c2f 2.0 (COMM c) -> FINT\n",
        )
        .unwrap();
        let text = matrix(&functions, &BTreeSet::from(["MPI_A".to_owned()]));
        assert!(text.contains("All 3 functions") && text.contains("2 of them are complete"));
        assert!(text.contains("- Complete: A\n\n- Clear error: B°\n"), "{text}");
        assert!(text.contains("| Two | 1 | 1 |"));
    }
}

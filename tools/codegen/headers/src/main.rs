//! Generates the headers that a program is compiled with, and the page about MPI support, from
//! `include/mpi.table`, `include/mpix.table` and the preambles.
//!
//! `ftmpi-headers OUT` writes them to the folder OUT. `ftmpi-headers --check OUT` changes nothing
//! and fails if a file there differs. The results are tracked under `include/generated`, so that
//! building needs no cbindgen; `make verify` checks that they are up to date.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use ftmpi_codegen::table;

mod c;
mod constants;
mod f08;
mod fortran;
mod matrix;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (check, out) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--check", out] => (true, out.to_owned()),
        [out] if !out.starts_with('-') => (false, out.to_owned()),
        _ => bail!("usage: ftmpi-headers [--check] OUT"),
    };
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include");
    let functions = table::read(&include.join("mpi.table"))?;
    let mut files = vec![
        ("mpi.h", c::header(&include, &functions)?),
        ("standard/mpi.h", c::standard_header(&include, &functions)?),
    ];
    let extensions = table::read(&include.join("mpix.table"))?;
    let preamble = fs::read_to_string(include.join("mpi_preamble.h"))?;
    let constants = constants::read(&preamble);
    let with_extensions = [functions.as_slice(), extensions.as_slice()].concat();
    files.extend(fortran::files(&constants, &with_extensions));
    files.push(("mpi_f08.f90", f08::module(&constants, &with_extensions)));

    let top = include.join("..");
    files.push(("../../docs/reference/mpi-support.md", matrix::text(&top, &functions)?));

    let mut stale = Vec::new();
    for (name, text) in files {
        let path = Path::new(&out).join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(&out)))?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !stale.is_empty() {
        bail!("{out}: {} not up to date; run `make headers`", stale.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use ftmpi_codegen::table::{self, Direction, Kind, Standing};
    use ftmpi_codegen::{c_stubs, rust_types};

    fn functions() -> Vec<table::Function> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include/mpi.table");
        table::read(&path).expect("the table can be read")
    }

    #[test]
    fn the_table_is_complete_and_understood() {
        let functions = functions();
        assert_eq!(functions.len(), 700);
        let send = functions.iter().find(|f| f.name == "MPI_Send").expect("MPI_Send");
        let types: Vec<_> = send.params.iter().map(rust_types::rust_type).collect();
        let expected = ["*const c_void", "c_int", "MPI_Datatype", "c_int", "c_int", "MPI_Comm"];
        assert_eq!(types, expected);
        let old = functions.iter().find(|f| f.name == "MPI_Type_struct").expect("MPI_Type_struct");
        assert_eq!(old.standing, Standing::Removed);
        assert_eq!(old.params[1].direction, Direction::Ref);
        assert_eq!(old.params[1].length.as_deref(), Some("count"));
        assert_eq!(old.params[1].kind, Kind::Count);
    }

    #[test]
    fn bad_lines_are_refused_with_their_number() {
        for (line, why) in [
            ("MPI_X 1.0", "no parameter list"),
            ("MPI_X 1.0 (COMM comm", "does not end"),
            ("MPI_X 1.0 (THING x)", "unknown kind THING"),
            ("MPI_X 1.0 (COMM)", "no name"),
            ("MPI_X 1.0 (out STRING s)", "needs a length"),
            ("MPI_X 1.0 obsolete ()", "unknown standing"),
            ("X 1.0 ()", "not an MPI name"),
            ("MPI_Y 1.0 ()", "twice"),
        ] {
            let error =
                table::parse(&format!("MPI_Y 1.0 ()\n{line}\n")).expect_err(line).to_string();
            assert!(error.starts_with("2: ") && error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn stubs_are_made_for_what_has_no_body() {
        let functions = functions();
        let implemented = BTreeSet::from(["MPI_Send".to_owned()]);
        let text = c_stubs::stubs(&functions, &implemented);
        assert!(!text.contains("fn MPI_Send("));
        assert!(text.contains("fn MPI_Recv(") && text.contains("fn PMPI_Recv("));
        assert!(text.contains("unsupported(\"MPI_Win_create\")"));
        // Handles are the same integers in both languages: converting them is not "unsupported".
        assert!(!text.contains("unsupported(\"MPI_Comm_c2f\")"));
    }

    /// How an argument travels: what a mistake in a signature would break.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Class {
        Pointer,
        Wide,
        Int,
        Double,
    }

    fn class_in_table(text: &str) -> Class {
        match text {
            t if t.starts_with('*') || t == "MPI_File" => Class::Pointer,
            "MPI_Aint" | "MPI_Count" | "MPI_Offset" => Class::Wide,
            "c_double" => Class::Double,
            t if t.starts_with("MPI_T_") && !t.ends_with("safety") => Class::Pointer,
            _ => Class::Int,
        }
    }

    /// The class of a type of the sources; `ours` are the types that they define.
    fn class_in_source(ty: &syn::Type, ours: &BTreeMap<String, Class>) -> Class {
        let syn::Type::Path(path) = ty else { return Class::Pointer };
        let name = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "isize" | "i64" | "c_longlong" | "c_long" => Class::Wide,
            "f64" | "c_double" => Class::Double,
            // A handle that C knows as a pointer may be a number of the same width here.
            "Option" | "usize" => Class::Pointer,
            name => ours.get(name).copied().unwrap_or(Class::Int),
        }
    }

    /// Aliases and one-field structures (transparent ones, for arguments) of the sources.
    fn define(item: &syn::Item, ours: &mut BTreeMap<String, Class>) {
        let (name, ty) = match item {
            syn::Item::Type(t) => (&t.ident, Some(&*t.ty)),
            syn::Item::Struct(s) => (&s.ident, s.fields.iter().next().map(|f| &f.ty)),
            _ => return,
        };
        if let Some(ty) = ty {
            let class = class_in_source(ty, ours);
            ours.insert(name.to_string(), class);
        }
    }

    /// Bodies are written by hand: their arguments must be those of the table.
    #[test]
    fn bodies_have_the_arguments_of_the_table() {
        let functions = functions();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../libftmpi/abi/src");
        let mut files = Vec::new();
        for entry in std::fs::read_dir(sources).expect("the sources of libmpi") {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).unwrap_or_default();
            files.extend(syn::parse_file(&text));
        }
        let mut ours = BTreeMap::new();
        // Twice: a definition may stand before the one it rests on.
        for _ in 0..2 {
            files.iter().flat_map(|f| &f.items).for_each(|item| define(item, &mut ours));
        }
        let mut compared = 0;
        let mut wrong = Vec::new();
        for file in files {
            for item in file.items {
                let syn::Item::Fn(item) = item else { continue };
                let name = item.sig.ident.to_string();
                let Some(f) = functions.iter().find(|f| f.name == name) else { continue };
                let table: Vec<_> = f
                    .params
                    .iter()
                    .filter(|p| p.kind != Kind::Varargs)
                    .map(|p| class_in_table(&rust_types::rust_type(p)))
                    .collect();
                let source: Vec<_> = item
                    .sig
                    .inputs
                    .iter()
                    .map(|a| match a {
                        syn::FnArg::Typed(a) => class_in_source(&a.ty, &ours),
                        syn::FnArg::Receiver(_) => Class::Pointer,
                    })
                    .collect();
                compared += 1;
                if table != source {
                    wrong.push(format!("{name}: table {table:?}, source {source:?}"));
                }
            }
        }
        println!("{compared} bodies compared");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

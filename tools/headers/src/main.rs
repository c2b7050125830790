//! Generates the headers that a program is compiled with from `include/mpi.table` and the preambles.
//!
//! `ftmpi-headers OUT` writes them to the folder OUT; `ftmpi-headers --check OUT` changes nothing and fails
//! if a file there differs. The results are tracked under `include/generated`, so that building needs no
//! cbindgen; `make verify` checks that they are up to date.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

mod c;
mod constants;
mod fortran;
#[path = "../../../include/table.rs"]
#[allow(missing_docs)]
mod table;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (check, out) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--check", out] => (true, out.to_owned()),
        [out] if !out.starts_with('-') => (false, out.to_owned()),
        _ => bail!("usage: ftmpi-headers [--check] OUT"),
    };
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let functions = table::read(&include.join("mpi.table")).map_err(anyhow::Error::msg)?;
    let mut files = vec![("mpi.h", c::header(&include, &functions)?)];
    files.extend(fortran::files(&include, &functions)?);

    let mut stale = Vec::new();
    for (name, text) in files {
        let path = Path::new(&out).join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::create_dir_all(&out)?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !stale.is_empty() {
        bail!("{out}: {} not up to date; run `make headers`", stale.join(", "));
    }
    Ok(())
}

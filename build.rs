//! Build script of the front crates: gives each shared library its name and generates what follows from
//! `include/mpi.table`.
//!
//! `libftmpi/abi`: `OUT_DIR/stubs.rs`, an exported function for every MPI name that has no body yet (the
//! crate includes the file and defines `unsupported(&'static str) -> c_int`).
//!
//! `libftmpi/standard`: `OUT_DIR/translations.rs` and `OUT_DIR/functions.rs`, the second binary interface.
//!
//! `libftmpi/fortran`: `OUT_DIR/declarations.rs`, `OUT_DIR/subroutines.rs` and `OUT_DIR/descriptors.rs`, the
//! Fortran functions that are not written by hand. It links to an empty library of the name `libmpi.so.12`: what counts is that the
//! name is noted as needed; the symbols are found when a program starts.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "include/fortran.rs"]
mod fortran;
#[path = "include/standard.rs"]
mod standard;
#[path = "include/table.rs"]
mod table;

fn main() -> Result<(), Box<dyn Error>> {
    let crate_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let top = crate_dir.join("../..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for input in [
        "build.rs",
        "include/table.rs",
        "include/fortran.rs",
        "include/standard.rs",
        "include/mpi.table",
        "include/standard.table",
        "include/mpi_preamble.h",
    ] {
        println!("cargo:rerun-if-changed={}", top.join(input).display());
    }
    let functions = table::read(&top.join("include/mpi.table"))?;
    match env::var("CARGO_PKG_NAME")?.as_str() {
        "ftmpi-abi" => abi(&crate_dir, &out, &functions)?,
        "ftmpi-fortran" => fortran_library(&crate_dir, &out, &functions)?,
        "ftmpi-standard" => standard_library(&top, &crate_dir, &out, &functions)?,
        other => return Err(format!("build.rs does not know the crate {other}").into()),
    }
    Ok(())
}

/// Sets the name that the dynamic linker knows the library by.
fn soname(name: &str) {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
}

fn abi(dir: &Path, out: &Path, functions: &[table::Function]) -> Result<(), Box<dyn Error>> {
    soname("libmpi.so.12");
    let sources = dir.join("src");
    println!("cargo:rerun-if-changed={}", sources.display());
    let implemented = table::implemented(&sources)?;
    for name in &implemented {
        if !functions.iter().any(|f| &f.name == name) {
            println!("cargo:warning={name} has a body but is not in include/mpi.table");
        }
    }
    fs::write(out.join("stubs.rs"), table::stubs(functions, &implemented))?;
    Ok(())
}

fn fortran_library(
    dir: &Path,
    out: &Path,
    functions: &[table::Function],
) -> Result<(), Box<dyn Error>> {
    soname("libmpifort.so.12");
    let sources = dir.join("src");
    println!("cargo:rerun-if-changed={}", sources.display());
    let by_hand = table::mentioned(&sources)?;
    fs::write(out.join("declarations.rs"), fortran::declarations(functions))?;
    fs::write(out.join("subroutines.rs"), fortran::subroutines(functions, &by_hand)?)?;
    fs::write(out.join("descriptors.rs"), fortran::descriptors(functions)?)?;

    needs_libmpi(out)
}

fn standard_library(
    top: &Path,
    dir: &Path,
    out: &Path,
    functions: &[table::Function],
) -> Result<(), Box<dyn Error>> {
    soname("libmpi_abi.so.1");
    let sources = dir.join("src");
    println!("cargo:rerun-if-changed={}", sources.display());
    let table = fs::read_to_string(top.join("include/standard.table"))?;
    let sections = standard::parse(&table).map_err(|e| format!("include/standard.table:{e}"))?;
    let first = standard::values(&fs::read_to_string(top.join("include/mpi_preamble.h"))?);
    fs::write(out.join("translations.rs"), standard::translations(&sections, &first)?)?;
    let by_hand = table::mentioned(&sources)?;
    fs::write(out.join("functions.rs"), standard::functions(functions, &by_hand)?)?;
    needs_libmpi(out)
}

/// Links to an empty library of the name `libmpi.so.12`.
fn needs_libmpi(out: &Path) -> Result<(), Box<dyn Error>> {
    let needed = out.join("libmpi.so.12");
    fs::write(out.join("empty.c"), "")?;
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi.so.12", "-o"])
        .arg(&needed)
        .arg(out.join("empty.c"))
        .status()?;
    if !made.success() {
        return Err(format!("{compiler} could not make {}", needed.display()).into());
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg={}", needed.display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,--as-needed");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    // Unit tests are programs, and run without the C functions.
    println!("cargo:rustc-link-arg=-Wl,--unresolved-symbols=ignore-all");
    Ok(())
}

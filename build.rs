//! Build script of the front crates: names each shared library and writes its generated functions.
//!
//! The generators are in `tools/codegen`. What they read is in `include/`, what they write in
//! `OUT_DIR`:
//!
//! | crate | files | what |
//! | --- | --- | --- |
//! | `libftmpi/abi` | `stubs.rs` | C functions that have no body yet |
//! | `libftmpi/fortran` | `declarations`, `subroutines`, `descriptors` | Fortran bindings |
//! | `libftmpi/standard` | `translations.rs`, `functions.rs` | the standard ABI |
//!
//! The last two link to an empty library named `libmpi.so.12`. The linker notes the name as needed;
//! the symbols are found when a program starts.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ftmpi_codegen::table::{self, Function};
use ftmpi_codegen::{c_stubs, fortran, sources, standard};

fn main() -> Result<(), Box<dyn Error>> {
    let crate_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let top = crate_dir.join("../..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for input in
        ["build.rs", "include/mpi.table", "include/standard.table", "include/mpi_preamble.h"]
    {
        println!("cargo:rerun-if-changed={}", top.join(input).display());
    }
    println!("cargo:rerun-if-changed={}", crate_dir.join("src").display());
    let functions = table::read(&top.join("include/mpi.table"))?;
    match env::var("CARGO_PKG_NAME")?.as_str() {
        "ftmpi-abi" => abi(&crate_dir, &out, &functions)?,
        "ftmpi-fortran" => fortran_library(&crate_dir, &out, &functions)?,
        "ftmpi-standard" => standard_library(&top, &crate_dir, &out, &functions)?,
        other => return Err(format!("build.rs does not know the crate {other}").into()),
    }
    Ok(())
}

/// Sets the name that the dynamic linker knows the library by. The library is never unloaded: what
/// it registers for the end of the process (`on_exit`, signals, threads) names its functions.
fn soname(name: &str) {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

fn abi(dir: &Path, out: &Path, functions: &[Function]) -> Result<(), Box<dyn Error>> {
    soname("libmpi.so.12");
    let implemented = sources::implemented(&dir.join("src"))?;
    for name in &implemented {
        if !functions.iter().any(|f| &f.name == name) {
            println!("cargo:warning={name} has a body but is not in include/mpi.table");
        }
    }
    fs::write(out.join("stubs.rs"), c_stubs::stubs(functions, &implemented))?;
    Ok(())
}

fn fortran_library(dir: &Path, out: &Path, functions: &[Function]) -> Result<(), Box<dyn Error>> {
    soname("libmpifort.so.12");
    let by_hand = sources::mentioned(&dir.join("src"))?;
    fs::write(out.join("declarations.rs"), fortran::declarations(functions))?;
    fs::write(out.join("subroutines.rs"), fortran::subroutines(functions, &by_hand)?)?;
    fs::write(out.join("descriptors.rs"), fortran::descriptors(functions)?)?;
    needs_libmpi(out)
}

fn standard_library(
    top: &Path,
    dir: &Path,
    out: &Path,
    functions: &[Function],
) -> Result<(), Box<dyn Error>> {
    soname("libmpi_abi.so.1");
    let sections = standard::read(&top.join("include/standard.table"))?;
    let first = standard::values(&fs::read_to_string(top.join("include/mpi_preamble.h"))?);
    fs::write(out.join("translations.rs"), standard::translations(&sections, &first)?)?;
    let by_hand = sources::mentioned(&dir.join("src"))?;
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

//! `mpi.h` of both binary interfaces: preambles written by hand, the constants of the standard's,
//! and prototypes. cbindgen makes the prototypes of declarations, which are made of the table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use ftmpi_codegen::rust_types::{c_element, rust_type};
use ftmpi_codegen::standard;
use ftmpi_codegen::table::{Function, Kind};

/// The line of a preamble that `callback_types.h` replaces.
const CALLBACK_TYPES: &str = "/* include/callback_types.h stands here. */\n";

/// A preamble, with the types of callbacks that both binary interfaces share.
fn preamble(include: &Path, name: &str) -> anyhow::Result<String> {
    let text = fs::read_to_string(include.join(name))?;
    ensure!(text.contains(CALLBACK_TYPES), "{name} has no place for callback_types.h");
    Ok(text.replace(CALLBACK_TYPES, &fs::read_to_string(include.join("callback_types.h"))?))
}

/// The whole text of `mpi.h`.
pub fn header(include: &Path, functions: &[Function]) -> anyhow::Result<String> {
    let mut text = preamble(include, "mpi_preamble.h")?;
    text.push_str(prototypes(functions)?.trim());
    text.push_str("\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(text)
}

/// The whole text of the standard interface's `mpi.h`.
pub fn standard_header(include: &Path, functions: &[Function]) -> anyhow::Result<String> {
    let mut text = preamble(include, "standard_preamble.h")?;
    let sections = standard::read(&include.join("standard.table"))?;
    text.push_str(&standard::constants(&sections));
    text.push_str("/* ---- Functions ---- */\n\n");
    text.push_str(prototypes(&standard::declared(functions))?.trim());
    text.push_str("\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(text)
}

/// Rust declarations of all functions and their twins; types have the names of the C types.
fn declarations(functions: &[Function]) -> String {
    let mut out = String::from("extern \"C\" {\n");
    for prefix in ["", "P"] {
        for f in functions {
            let params: Vec<String> = f
                .params
                .iter()
                .map(|p| match p.kind {
                    Kind::Varargs => "...".to_owned(),
                    _ => format!("{}: {}", p.name, rust_type(p)),
                })
                .collect();
            let returns = f.returns.as_ref().map_or("c_int", |k: &Kind| c_element(k));
            let _ = writeln!(out, "pub fn {prefix}{}({}) -> {returns};", f.name, params.join(", "));
        }
    }
    out.push_str("}\n");
    out
}

fn prototypes(functions: &[Function]) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("prototypes.rs");
    fs::write(&source, declarations(functions))?;
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        no_includes: true,
        line_length: 100,
        documentation: false,
        ..Default::default()
    };
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(&source)
        .generate()
        .context("cbindgen refused the declarations")?;
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    Ok(String::from_utf8(bytes)?)
}

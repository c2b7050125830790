//! Writes the Fortran face of every MPI function whose parameters translate by kind.
//!
//! Two texts come out of the table: declarations of the C functions (`declarations`), and for every function
//! that is not written by hand a `#[fortran]` function (`subroutines`). What needs thought (callbacks,
//! attributes, arguments of `main`, arrays of texts) is written by hand in `libftmpi/fortran/src`.
//!
//! A third text (`descriptors`) has the specific procedures of the module `mpi_f08` whose choice buffers
//! arrive as array descriptors: each makes an address of it and calls the function of the first kind.
//! Functions that end in `_c` exist in that module only (under the generic name without it).
//!
//! In Fortran all arguments are references; a returned error code comes last; behind it come, by value, the
//! lengths of the character arguments.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::table::{Direction, Function, Kind, Param, Standing, plain_type, rust_type};

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

/// Fortran functions for everything that `by_hand` does not name.
pub fn subroutines(functions: &[Function], by_hand: &BTreeSet<String>) -> Result<String, String> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    for f in functions.iter().filter(|f| exists(f) && !by_hand.contains(&f.name)) {
        out.push_str(&subroutine(f).map_err(|e| format!("{}: {e}", f.name))?);
    }
    Ok(out)
}

/// How a choice buffer that is an array section with gaps is passed on.
#[derive(Clone, Copy, PartialEq)]
enum Passing {
    /// By its address alone: the call keeps it.
    Address,
    /// As a contiguous copy, brought back if the call writes: the call is over when it returns.
    Copy,
    /// As a contiguous copy that stays until the request is complete.
    Staged,
    /// As a datatype with the gaps: the call goes on after it returned.
    Typed,
    /// As a datatype of all partitions.
    Parts,
}

/// Whether it is a collective of a communicator, non-blocking or persistent.
fn is_collective(plain: &str) -> bool {
    const NAMES: [&str; 12] = [
        "barrier",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "exscan",
    ];
    let name = plain.trim_start_matches("MPI_").to_lowercase();
    let name = name.strip_suffix("_init").or_else(|| name.strip_prefix('i')).unwrap_or(&name);
    let name = name.strip_prefix("neighbor_").unwrap_or(name);
    let base = name.strip_suffix(['v', 'w']).unwrap_or(name);
    NAMES.contains(&name) || NAMES.contains(&base)
}

fn passing(f: &Function) -> Passing {
    const KEPT: [&str; 6] =
        ["_attach", "_create", "_detach", "MPI_Get_address", "MPI_Free_mem", "_attach_buffer"];
    const ONE_SIDED: [&str; 6] = [
        "MPI_Put",
        "MPI_Get",
        "MPI_Accumulate",
        "MPI_Get_accumulate",
        "MPI_Fetch_and_op",
        "MPI_Compare_and_swap",
    ];
    let plain = f.name.strip_suffix("_c").unwrap_or(&f.name);
    if KEPT.iter().any(|k| plain.ends_with(k)) {
        return Passing::Address;
    }
    let request =
        |p: &Param| p.kind == Kind::Handle("MPI_Request") && p.direction == Direction::Out;
    if plain.ends_with("_end") {
        // Its buffer was named, with count and type, when it began.
        return Passing::Address;
    }
    if f.params.iter().any(request) && is_collective(plain) {
        return Passing::Staged;
    }
    if matches!(plain, "MPI_Psend_init" | "MPI_Precv_init") {
        return Passing::Parts;
    }
    let split = plain.ends_with("_begin");
    if f.params.iter().any(request) || ONE_SIDED.contains(&plain) || split {
        return Passing::Typed;
    }
    Passing::Copy
}

/// The name of the procedure in `mpi_f08`, without prefix and underscore.
pub fn f08_name(f: &Function) -> String {
    let large = if f.name.ends_with("_c") { "_large" } else { "" };
    let plain = f.name.strip_suffix("_c").unwrap_or(&f.name);
    let described = if f.params.iter().any(|p| p.kind == Kind::Buffer) { "ts" } else { "" };
    format!("{}_f08{described}{large}", &plain[4..])
}

/// The procedures of `mpi_f08` with choice buffers.
pub fn descriptors(functions: &[Function]) -> Result<String, String> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    let with_buffers = |f: &&Function| f.params.iter().any(|p| p.kind == Kind::Buffer);
    let removed = |f: &&Function| f.standing == Standing::Removed;
    for f in functions.iter().filter(|f| exists(f) && !removed(f)).filter(with_buffers) {
        descriptor_form(f, &mut out).map_err(|e| format!("{}: {e}", f.name))?;
    }
    Ok(out)
}

fn descriptor_form(f: &Function, out: &mut String) -> Result<(), String> {
    let (mut parameters, mut before, mut arguments) = (String::new(), String::new(), Vec::new());
    let (mut lengths, mut after) = (String::new(), String::new());
    let how = passing(f);
    let place = |kind: &'static str| f.params.iter().position(|p| p.kind == Kind::Handle(kind));
    // Whose error handler hears of a section that cannot be used, and the name that it hears.
    let about = |kind: &str, i: usize| format!("descriptor::About::{kind}(p{i}.cast())");
    let file = f.params.iter().position(|p| p.kind == Kind::File);
    let about = place("MPI_Comm")
        .map(|i| about("Comm", i))
        .or_else(|| place("MPI_Win").map(|i| about("Win", i)))
        .or_else(|| file.map(|i| about("File", i)));
    let told = format!("c\"{}\", {}", f.name, about.unwrap_or("descriptor::About::Nobody".into()));
    let or_code = |made: String| {
        format!(
            "match {made} {{ Ok(b) => b, Err(code) => return crate::marshal::set(ierror, code) }};"
        )
    };
    let mut parts: Option<String> = None;
    let mut staged: Vec<String> = Vec::new();
    let mut renamed: Vec<(String, String)> = Vec::new();
    for (i, p) in f.params.iter().enumerate() {
        let n = format!("p{i}");
        let _ = write!(parameters, "{n}: *mut c_void, ");
        if matches!(p.kind, Kind::String) {
            let _ = write!(lengths, "l{i}: usize, ");
        }
        if p.kind != Kind::Buffer {
            arguments.push(format!("{n}.cast()"));
            continue;
        }
        let writes = p.direction != Direction::In;
        // The number of elements and their type follow, where the call has them for this buffer.
        let next = |k: usize| f.params.get(i + k).map(|q| &q.kind);
        let array = f.params.get(i + 1).is_some_and(|q| q.length.is_some());
        let typed = matches!(next(1), Some(Kind::Count | Kind::Large))
            && next(2) == Some(&Kind::Handle("MPI_Datatype"))
            && !array;
        match how {
            Passing::Address => {
                let _ = writeln!(before, "let b{i} = descriptor::address({n});");
                arguments.push(format!("b{i}"));
            }
            Passing::Copy => {
                let _ = writeln!(before, "let mut b{i} = Copied::take({n}, {writes});");
                let _ = writeln!(after, "drop(b{i});");
                arguments.push(format!("b{i}.at()"));
            }
            Passing::Staged => {
                let _ = writeln!(before, "let mut b{i} = Copied::take_staged({n}, {writes});");
                staged.push(format!("b{i}"));
                arguments.push(format!("b{i}.at()"));
            }
            Passing::Typed if typed => {
                let wide = next(1) == Some(&Kind::Large);
                let form = if wide { "large" } else { "small" };
                let made =
                    format!("Typed::{form}({n}, p{}.cast(), p{}.cast(), {told})", i + 1, i + 2);
                let _ = writeln!(before, "let mut b{i} = {}", or_code(made));
                let _ = writeln!(after, "drop(b{i});");
                arguments.push(format!("b{i}.at()"));
                renamed.push((format!("p{}.cast()", i + 1), format!("b{i}.{form}_count()")));
                renamed.push((format!("p{}.cast()", i + 2), format!("b{i}.datatype()")));
            }
            Passing::Typed => {
                let Some(datatype) = place("MPI_Datatype") else {
                    return Err("a buffer without a datatype".into());
                };
                let made = format!("descriptor::single({n}, p{datatype}.cast(), {told})");
                let _ = writeln!(before, "let b{i} = {}", or_code(made));
                arguments.push(format!("b{i}"));
            }
            Passing::Parts => {
                let all = format!("(p{}.cast(), p{}.cast(), p{}.cast())", i + 1, i + 2, i + 3);
                let made = or_code(format!("Parts::take({n}, {all}, {told})"));
                let _ = writeln!(before, "let b{i} = {made}");
                arguments.push(format!("b{i}.at()"));
                parts = Some(format!("b{i}"));
            }
        }
    }
    for (old, new) in renamed {
        for argument in arguments.iter_mut().filter(|a| **a == old) {
            argument.clone_from(&new);
        }
    }
    if f.returns.is_some() {
        return Err("returns a value".into());
    }
    if staged.is_empty() && parts.is_none() {
        arguments.push("ierror".into());
    } else {
        let Some(request) = place("MPI_Request") else { return Err("has no request".into()) };
        before.push_str("let mut code = 0;\n");
        arguments.push("&raw mut code".into());
        let _ = match parts {
            Some(parts) => writeln!(after, "let code = {parts}.settle(p{request}.cast(), code);"),
            None => writeln!(
                after,
                "descriptor::stage(vec![{}], p{request}.cast(), code);",
                staged.join(", ")
            ),
        };
        after.push_str("crate::marshal::set(ierror, code);\n");
    }
    arguments.extend(
        f.params
            .iter()
            .enumerate()
            .filter(|(_, p)| p.kind == Kind::String)
            .map(|(i, _)| format!("l{i}")),
    );
    let name = f08_name(f).to_lowercase();
    // SAFETY of what is written here: arguments are Fortran's, as the interface of the same table says.
    for (prefix, target) in [("mpi", "mpi"), ("pmpir", "pmpi")] {
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)] #[allow(clippy::too_many_arguments, clippy::undocumented_unsafe_blocks)]\n\
             pub unsafe extern \"C\" fn {prefix}_{name}_({parameters}ierror: *mut c_int, {lengths}) {{ unsafe {{\n\
             {before}{target}{}_({});\n{after}}} }}",
            f.name[3..].to_lowercase(),
            arguments.join(", ")
        );
    }
    Ok(())
}

/// The pieces of one function, in the order in which they are written out.
#[derive(Default)]
struct Pieces {
    parameters: String,
    lengths: String,
    before: String,
    arguments: Vec<String>,
    after: String,
}

fn subroutine(f: &Function) -> Result<String, String> {
    if f.returns.is_some() {
        return Err("returns a value: write it by hand".into());
    }
    let mut x = Pieces::default();
    for p in &f.params {
        parameter(p, f, &mut x)?;
    }
    let call = format!("c::{}({})", &f.name[4..], x.arguments.join(", "));
    Ok(format!(
        "#[ftmpi_entry::fortran]\nunsafe fn {}({}ierror: *mut c_int, {}) {{\n{}let code = {call};\n{}\
         set(ierror, code);\n}}\n",
        f.name, x.parameters, x.lengths, x.before, x.after
    ))
}

fn parameter(p: &Param, f: &Function, x: &mut Pieces) -> Result<(), String> {
    let n = format!("r#{}", p.name);
    let plain = &p.name;
    let written = matches!(p.direction, Direction::Out | Direction::InOut);
    let array = p.length.is_some();
    // What the reference points to.
    let element = match p.kind {
        Kind::Large | Kind::Offset => "i64",
        Kind::Aint => "isize",
        Kind::Buffer | Kind::Pointer => "c_void",
        Kind::String => "u8",
        _ => "c_int",
    };
    let _ = write!(x.parameters, "{n}: *mut {element}, ");
    let argument = match &p.kind {
        Kind::Buffer => format!("special::buffer({n})"),
        Kind::Pointer => n,
        Kind::Status if array => format!("special::statuses({n})"),
        Kind::Status => format!("special::status({n})"),
        Kind::Ranges => format!("{n}.cast()"),
        Kind::String if written => {
            let room = room(p)?;
            let _ = write!(x.lengths, "len_{plain}: usize, ");
            let _ = writeln!(x.before, "let mut text_{plain} = Text::room({room});");
            let _ = writeln!(x.after, "if code == 0 {{ text_{plain}.give({n}, len_{plain}); }}");
            format!("text_{plain}.as_mut_ptr()")
        }
        Kind::String => {
            let _ = write!(x.lengths, "len_{plain}: usize, ");
            // Names of objects may begin with blanks (MPI-4.1, 7.8).
            let take = match plain.as_str() {
                "comm_name" | "type_name" | "win_name" => "take_name",
                _ => "take",
            };
            let _ = writeln!(x.before, "let text_{plain} = Text::{take}({n}, len_{plain});");
            format!("text_{plain}.as_ptr()")
        }
        Kind::File if written => {
            let _ = writeln!(x.before, "let mut file_{plain} = mpi::File_f2c(*{n});");
            let _ = writeln!(x.after, "if code == 0 {{ *{n} = mpi::File_c2f(file_{plain}); }}");
            format!("&raw mut file_{plain}")
        }
        Kind::File => format!("mpi::File_f2c(*{n})"),
        Kind::Logical if array => {
            let length = length(p)?;
            let _ = writeln!(
                x.before,
                "let mut flags_{plain} = Logicals::take({n}, {length}, {});",
                !written
            );
            if written {
                let _ = writeln!(x.after, "if code == 0 {{ flags_{plain}.give({n}); }}");
            }
            format!("flags_{plain}.as_mut_ptr()")
        }
        Kind::Logical if written => {
            let _ = writeln!(x.before, "let mut flag_{plain} = UNTOLD;");
            let _ = writeln!(x.after, "told({n}, flag_{plain}, logical);");
            format!("&raw mut flag_{plain}")
        }
        Kind::Logical => format!("(*{n} != 0) as c_int"),
        Kind::Index if array => {
            let counts = |q: &&Param| q.kind == Kind::Count && q.direction == Direction::Out;
            let number = f.params.iter().find(counts).ok_or("array of indices without number")?;
            let _ = writeln!(x.after, "from_one({n}, number_{});", number.name);
            n
        }
        Kind::Index => {
            let _ = writeln!(x.before, "let mut index_{plain} = UNTOLD;");
            let _ = writeln!(x.after, "told({n}, index_{plain}, counted_from_one);");
            format!("&raw mut index_{plain}")
        }
        // Not read from the program's variable: a call that fails may have left it as it was.
        Kind::Count if written && f.params.iter().any(|q| q.kind == Kind::Index) => {
            let _ = writeln!(x.before, "let mut number_{plain} = UNTOLD;");
            let _ = writeln!(x.after, "told({n}, number_{plain}, |number| number);");
            format!("&raw mut number_{plain}")
        }
        Kind::Errcode if array => format!("special::errcodes({n})"),
        _ if plain.ends_with("weights") => format!("special::weights({n})"),
        Kind::Handle(_)
        | Kind::Int
        | Kind::Count
        | Kind::Rank
        | Kind::Tag
        | Kind::Keyval
        | Kind::Errcode
        | Kind::Large
        | Kind::Aint
        | Kind::Offset
            if array || written =>
        {
            n
        }
        Kind::Handle(_)
        | Kind::Int
        | Kind::Count
        | Kind::Rank
        | Kind::Tag
        | Kind::Keyval
        | Kind::Errcode
        | Kind::Large
        | Kind::Aint
        | Kind::Offset => format!("*{n}"),
        other => return Err(format!("{plain}: {other:?} needs a hand-written function")),
    };
    x.arguments.push(argument);
    Ok(())
}

fn room(p: &Param) -> Result<usize, String> {
    Ok(match p.length.as_deref() {
        Some("MPI_MAX_PROCESSOR_NAME" | "MPI_MAX_OBJECT_NAME" | "MPI_MAX_DATAREP_STRING") => 129,
        Some("MPI_MAX_ERROR_STRING") => 513,
        Some("MPI_MAX_INFO_KEY" | "MPI_MAX_PORT_NAME") => 257,
        Some("MPI_MAX_LIBRARY_VERSION_STRING") => 8193,
        other => return Err(format!("{}: no fixed room ({other:?})", p.name)),
    })
}

fn length(p: &Param) -> Result<String, String> {
    Ok(match p.length.as_deref() {
        Some("cartdim(comm)") => "cartdim(*r#comm)".to_owned(),
        Some(name) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            format!("*r#{name}")
        }
        other => return Err(format!("{}: length {other:?}", p.name)),
    })
}

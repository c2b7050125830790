//! Reads `include/mpi.table`, the single source of everything that must exist once per MPI function.
//!
//! Guarantees that a table it returns is well formed: kinds are known, names are unique, every parameter
//! that needs a length has one. Build scripts and the header generator share this file by `#[path]`; it
//! therefore uses nothing but the standard library, and each of them uses only a part of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// What a parameter means: the kinds are described at the head of the table itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A handle that is an `int` in C and in Fortran; the text is the C type.
    Handle(&'static str),
    /// `MPI_File`: a pointer in C, an integer in Fortran.
    File,
    /// A handle of the tools interface (a pointer); the text is the C type.
    Tool(&'static str),
    /// An enumeration of the tools interface; the text is the C type.
    ToolEnum(&'static str),
    Int,
    Count,
    Rank,
    Tag,
    Keyval,
    Errcode,
    Index,
    Logical,
    Large,
    Aint,
    Offset,
    Fint,
    Double,
    Buffer,
    Pointer,
    Attribute,
    State,
    Status,
    FStatus,
    F08Status,
    String,
    Strings,
    Stringss,
    /// Pointer to a function of the named type.
    Function(String),
    Ranges,
    Argc,
    Argv,
    Varargs,
}

/// Who reads and who writes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
    /// Read only, but the C prototype has no `const`.
    Ref,
}

/// One parameter of a function.
#[derive(Clone, Debug)]
pub struct Param {
    pub direction: Direction,
    pub kind: Kind,
    pub name: String,
    /// Length of an array or room for a text, as written in the table.
    pub length: Option<String>,
}

/// Where a function stands in the MPI standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Current,
    Deprecated,
    Removed,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub section: String,
    pub since: String,
    pub standing: Standing,
    pub params: Vec<Param>,
    /// `None`: returns an error code.
    pub returns: Option<Kind>,
}

/// Reads the table at `path`; the error names the line.
pub fn read(path: &Path) -> Result<Vec<Function>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}:{e}", path.display()))
}

/// Parses the text of a table; the error begins with the number of the line.
pub fn parse(text: &str) -> Result<Vec<Function>, String> {
    let mut section = String::new();
    let mut seen = BTreeSet::new();
    let mut functions = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix("== ") {
            section = title.to_owned();
            continue;
        }
        let f = parse_function(line, &section).map_err(|e| format!("{}: {e}", n + 1))?;
        if !seen.insert(f.name.clone()) {
            return Err(format!("{}: {} is there twice", n + 1, f.name));
        }
        functions.push(f);
    }
    Ok(functions)
}

fn parse_function(line: &str, section: &str) -> Result<Function, String> {
    let (head, rest) = line.split_once(" (").ok_or("no parameter list")?;
    // The list's own parenthesis is the last one: FN(type) has parentheses too.
    let close = rest.rfind(')').ok_or("parameter list does not end")?;
    let (list, tail) = (&rest[..close], rest[close + 1..].trim());
    let mut words = head.split_whitespace();
    let name = words.next().ok_or("no name")?.to_owned();
    if !name.starts_with("MPI_") {
        return Err(format!("{name} is not an MPI name"));
    }
    let since = words.next().ok_or("no version")?.to_owned();
    let standing = match words.next() {
        None => Standing::Current,
        Some("deprecated") => Standing::Deprecated,
        Some("removed") => Standing::Removed,
        Some(other) => return Err(format!("unknown standing {other}")),
    };
    let returns = match tail.strip_prefix("-> ") {
        Some(kind) => Some(parse_kind(kind.trim())?),
        None if tail.is_empty() => None,
        None => return Err(format!("cannot read {tail:?} behind the parameters")),
    };
    let params = list
        .split(", ")
        .filter(|p| !p.is_empty())
        .map(parse_param)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| format!("{name}: {e}"))?;
    Ok(Function { name, section: section.to_owned(), since, standing, params, returns })
}

fn parse_param(text: &str) -> Result<Param, String> {
    let mut words = text.split_whitespace().peekable();
    let direction = match words.peek().copied() {
        Some("in") => Direction::In,
        Some("out") => Direction::Out,
        Some("inout") => Direction::InOut,
        Some("ref") => Direction::Ref,
        _ => Direction::In,
    };
    if matches!(words.peek().copied(), Some("in" | "out" | "inout" | "ref")) {
        words.next();
    }
    let kind = parse_kind(words.next().ok_or("a parameter has no kind")?)?;
    let rest = words.collect::<Vec<_>>().join(" ");
    let (name, length) = match rest.split_once('[') {
        Some((name, length)) => {
            let length = length.strip_suffix(']').ok_or("a length does not end")?;
            (name.to_owned(), Some(length.to_owned()))
        }
        None => (rest, None),
    };
    if name.is_empty() && kind != Kind::Varargs {
        return Err("a parameter has no name".into());
    }
    if kind == Kind::String && direction == Direction::Out && length.is_none() {
        return Err(format!("{name}: a returned text needs a length"));
    }
    Ok(Param { direction, kind, name, length })
}

fn parse_kind(word: &str) -> Result<Kind, String> {
    Ok(match word {
        "COMM" => Kind::Handle("MPI_Comm"),
        "DATATYPE" => Kind::Handle("MPI_Datatype"),
        "ERRHANDLER" => Kind::Handle("MPI_Errhandler"),
        "GROUP" => Kind::Handle("MPI_Group"),
        "INFO" => Kind::Handle("MPI_Info"),
        "MESSAGE" => Kind::Handle("MPI_Message"),
        "OP" => Kind::Handle("MPI_Op"),
        "REQUEST" => Kind::Handle("MPI_Request"),
        "SESSION" => Kind::Handle("MPI_Session"),
        "WIN" => Kind::Handle("MPI_Win"),
        "FILE" => Kind::File,
        "T_CVAR" => Kind::Tool("MPI_T_cvar_handle"),
        "T_ENUM" => Kind::Tool("MPI_T_enum"),
        "T_EVENT" => Kind::Tool("MPI_T_event_registration"),
        "T_INSTANCE" => Kind::Tool("MPI_T_event_instance"),
        "T_PVAR" => Kind::Tool("MPI_T_pvar_handle"),
        "T_SESSION" => Kind::Tool("MPI_T_pvar_session"),
        "T_SAFETY" => Kind::ToolEnum("MPI_T_cb_safety"),
        "T_ORDER" => Kind::ToolEnum("MPI_T_source_order"),
        "INT" => Kind::Int,
        "COUNT" => Kind::Count,
        "RANK" => Kind::Rank,
        "TAG" => Kind::Tag,
        "KEYVAL" => Kind::Keyval,
        "ERRCODE" => Kind::Errcode,
        "INDEX" => Kind::Index,
        "LOGICAL" => Kind::Logical,
        "LARGE" => Kind::Large,
        "AINT" => Kind::Aint,
        "OFFSET" => Kind::Offset,
        "FINT" => Kind::Fint,
        "DOUBLE" => Kind::Double,
        "BUFFER" => Kind::Buffer,
        "POINTER" => Kind::Pointer,
        "ATTRIBUTE" => Kind::Attribute,
        "STATE" => Kind::State,
        "STATUS" => Kind::Status,
        "F_STATUS" => Kind::FStatus,
        "F08_STATUS" => Kind::F08Status,
        "STRING" => Kind::String,
        "STRINGS" => Kind::Strings,
        "STRINGSS" => Kind::Stringss,
        "RANGES" => Kind::Ranges,
        "ARGC" => Kind::Argc,
        "ARGV" => Kind::Argv,
        "VARARGS" => Kind::Varargs,
        _ => match word.strip_prefix("FN(").and_then(|w| w.strip_suffix(')')) {
            Some(name) => Kind::Function(name.to_owned()),
            None => return Err(format!("unknown kind {word}")),
        },
    })
}

/// The C name of the type that one element of this kind has.
pub fn c_element(kind: &Kind) -> &str {
    match kind {
        Kind::Handle(t) | Kind::Tool(t) | Kind::ToolEnum(t) => t,
        Kind::File => "MPI_File",
        Kind::Large => "MPI_Count",
        Kind::Aint => "MPI_Aint",
        Kind::Offset => "MPI_Offset",
        Kind::Fint | Kind::FStatus => "MPI_Fint",
        Kind::Double => "c_double",
        Kind::Status => "MPI_Status",
        Kind::F08Status => "MPI_F08_status",
        Kind::String | Kind::Strings | Kind::Stringss | Kind::Argv => "c_char",
        Kind::Buffer | Kind::Pointer | Kind::Attribute | Kind::State => "c_void",
        Kind::Function(t) => t,
        _ => "c_int",
    }
}

/// The parameter's type in Rust, spelt with the names of the C types (`*const MPI_Status`).
pub fn rust_type(p: &Param) -> String {
    let t = c_element(&p.kind);
    let read_only = p.direction == Direction::In;
    match p.kind {
        Kind::Buffer | Kind::String | Kind::FStatus | Kind::Status | Kind::F08Status => {
            format!("*{} {t}", if read_only { "const" } else { "mut" })
        }
        Kind::Pointer | Kind::Attribute | Kind::State | Kind::Function(_) => format!("*mut {t}"),
        Kind::Strings => format!("*mut *mut {t}"),
        Kind::Stringss | Kind::Argv => format!("*mut *mut *mut {t}"),
        Kind::Argc => format!("*mut {t}"),
        Kind::Ranges => format!("*mut [{t}; 3]"),
        Kind::Varargs => "...".to_owned(),
        _ if p.length.is_some() => format!("*{} {t}", if read_only { "const" } else { "mut" }),
        _ if read_only => t.to_owned(),
        _ => format!("*mut {t}"),
    }
}

/// Does the function return an integer handle or integer that equals its only argument? In this ABI,
/// handles of C and Fortran are the same integers.
pub fn is_identity(f: &Function) -> bool {
    let integer = |k: &Kind| matches!(k, Kind::Handle(_) | Kind::Fint | Kind::Int);
    let conversion = ["_c2f", "_f2c", "_toint", "_fromint"].iter().any(|s| f.name.ends_with(s));
    conversion
        && f.returns.as_ref().is_some_and(integer)
        && f.params.len() == 1
        && integer(&f.params[0].kind)
}

/// Names of the functions that have a body in the Rust sources below `dir` (`fn MPI_…`).
pub fn implemented(dir: &Path) -> std::io::Result<BTreeSet<String>> {
    names_after(dir, "fn ")
}

/// Names of functions (`MPI_Xyz`) that the code below `dir` mentions, comments apart.
pub fn mentioned(dir: &Path) -> std::io::Result<BTreeSet<String>> {
    names_after(dir, "")
}

fn names_after(dir: &Path, before: &str) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            names.extend(names_in(&std::fs::read_to_string(&path)?, before));
        }
    }
    Ok(names)
}

/// Names of functions that stand behind `before` in a source text, comments apart.
pub fn names_in(text: &str, before: &str) -> BTreeSet<String> {
    let start = format!("{before}MPI_");
    let mut names = BTreeSet::new();
    for code in text.lines().filter(|l| !l.trim_start().starts_with("//")) {
        for (at, _) in code.match_indices(&start) {
            let name = &code[at + before.len()..];
            let end =
                name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            // Constants are in capitals throughout.
            if name[..end].contains(|c: char| c.is_ascii_lowercase()) {
                names.insert(name[..end].to_owned());
            }
        }
    }
    names
}

/// Rust source of an exported `MPI_X` and `PMPI_X` for every function of the table that is not
/// `implemented`. Each calls `crate::unsupported("MPI_X")`, which reports through the error handler and
/// returns the code; conversions between equal integers are done outright.
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

/// The same type without names of MPI types, so that generated code depends on no other module.
pub fn plain_type(t: &str) -> String {
    let (pointers, base) =
        t.rsplit_once(' ').map_or((String::new(), t), |(p, b)| (format!("{p} "), b));
    if t.ends_with("; 3]") {
        return t.replace("[c_int; 3]", "[core::ffi::c_int; 3]");
    }
    let plain = match base {
        "MPI_Count" | "MPI_Offset" => "core::ffi::c_longlong",
        "MPI_Aint" => "isize",
        "c_double" => "core::ffi::c_double",
        "c_char" => "core::ffi::c_char",
        "MPI_File" => "*mut core::ffi::c_void",
        "c_void" | "MPI_Status" | "MPI_F08_status" => "core::ffi::c_void",
        b if b.starts_with("MPI_T_cb") || b.starts_with("MPI_T_source") => "core::ffi::c_int",
        b if b.ends_with("_function") || b.ends_with("function_c") => "core::ffi::c_void",
        b if b.starts_with("MPI_T_") => "*mut core::ffi::c_void",
        _ => "core::ffi::c_int",
    };
    format!("{pointers}{plain}")
}

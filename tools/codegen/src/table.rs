//! Reads `include/mpi.table`, the single source of everything that exists once per MPI function.
//!
//! Guarantees that a table is well formed: kinds are known, names are unique, every parameter that
//! needs a length has one.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, LineError, Problem};

/// What a parameter means: the kinds are described at the head of the table itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table describes them")]
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

/// The direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table describes them")]
pub enum Direction {
    In,
    Out,
    InOut,
    /// Read only, but the C prototype has no `const`.
    Ref,
}

/// One parameter of a function.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the table describes them")]
pub struct Param {
    pub direction: Direction,
    pub kind: Kind,
    pub name: String,
    /// Length of an array or room for a text, as written in the table.
    pub length: Option<String>,
}

/// Where a function stands in the MPI standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table describes them")]
pub enum Standing {
    Current,
    Deprecated,
    Removed,
}

/// One function.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the table describes them")]
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
pub fn read(path: &Path) -> Result<Vec<Function>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|line| Error::Line { path: path.to_owned(), line })
}

/// Parses the text of a table; the error has the number of the line.
pub fn parse(text: &str) -> Result<Vec<Function>, LineError> {
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
        let function = parse_function(line, &section).map_err(|p| p.in_line(n + 1))?;
        if !seen.insert(function.name.clone()) {
            return Err(Problem::Twice(function.name).in_line(n + 1));
        }
        functions.push(function);
    }
    Ok(functions)
}

fn parse_function(line: &str, section: &str) -> Result<Function, Problem> {
    let (head, rest) = line.split_once(" (").ok_or(Problem::NoParameterList)?;
    // The list's own parenthesis is the last one: FN(type) has parentheses too.
    let close = rest.rfind(')').ok_or(Problem::ListDoesNotEnd)?;
    let (list, tail) = (&rest[..close], rest[close + 1..].trim());
    let mut words = head.split_whitespace();
    let name = words.next().ok_or(Problem::NoName)?.to_owned();
    if !name.starts_with("MPI_") && !name.starts_with("MPIX_") {
        return Err(Problem::NotMpi(name));
    }
    let since = words.next().ok_or(Problem::NoVersion)?.to_owned();
    let standing = match words.next() {
        None => Standing::Current,
        Some("deprecated") => Standing::Deprecated,
        Some("removed") => Standing::Removed,
        Some(other) => return Err(Problem::UnknownStanding(other.to_owned())),
    };
    let returns = match tail.strip_prefix("-> ") {
        Some(kind) => Some(parse_kind(kind.trim())?),
        None if tail.is_empty() => None,
        None => return Err(Problem::Trailing(tail.to_owned())),
    };
    let params = list
        .split(", ")
        .filter(|p| !p.is_empty())
        .map(parse_param)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|p| p.of(&name))?;
    Ok(Function { name, section: section.to_owned(), since, standing, params, returns })
}

fn parse_param(text: &str) -> Result<Param, Problem> {
    let mut words = text.split_whitespace().peekable();
    let direction = match words.peek().copied() {
        Some("out") => Direction::Out,
        Some("inout") => Direction::InOut,
        Some("ref") => Direction::Ref,
        _ => Direction::In,
    };
    if matches!(words.peek().copied(), Some("in" | "out" | "inout" | "ref")) {
        words.next();
    }
    let kind = parse_kind(words.next().ok_or(Problem::NoKind)?)?;
    let rest = words.collect::<Vec<_>>().join(" ");
    let (name, length) = match rest.split_once('[') {
        Some((name, length)) => {
            let length = length.strip_suffix(']').ok_or(Problem::LengthDoesNotEnd)?;
            (name.to_owned(), Some(length.to_owned()))
        }
        None => (rest, None),
    };
    if name.is_empty() && kind != Kind::Varargs {
        return Err(Problem::NoParameterName);
    }
    if kind == Kind::String && direction == Direction::Out && length.is_none() {
        return Err(Problem::TextWithoutLength(name));
    }
    Ok(Param { direction, kind, name, length })
}

fn parse_kind(word: &str) -> Result<Kind, Problem> {
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
            None => return Err(Problem::UnknownKind(word.to_owned())),
        },
    })
}

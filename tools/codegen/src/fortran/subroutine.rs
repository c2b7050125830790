//! A Fortran subroutine for every function of `include/mpi.table` that is not written by hand.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::exists;
use crate::error::Problem;
use crate::table::{Direction, Function, Kind, Param};

/// Fortran functions for everything that `by_hand` does not name.
pub fn subroutines(functions: &[Function], by_hand: &BTreeSet<String>) -> Result<String, Problem> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    for f in functions.iter().filter(|f| exists(f) && !by_hand.contains(&f.name)) {
        out.push_str(&subroutine(f).map_err(|problem| problem.of(&f.name))?);
    }
    Ok(out)
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

fn subroutine(f: &Function) -> Result<String, Problem> {
    if f.returns.is_some() {
        return Err(Problem::ReturnsValue);
    }
    let mut x = Pieces::default();
    for p in &f.params {
        let n = format!("r#{}", p.name);
        let _ = write!(x.parameters, "{n}: *mut {}, ", element(&p.kind));
        let argument = x.argument(p, f, n)?;
        x.arguments.push(argument);
    }
    let call = format!("c::{}({})", &f.name[4..], x.arguments.join(", "));
    Ok(format!(
        "#[ftmpi_entry::fortran]\nunsafe fn {}({}ierror: *mut c_int, {}) {{\n{}let code = {call};\n{}\
         set(ierror, code);\n}}\n",
        f.name, x.parameters, x.lengths, x.before, x.after
    ))
}

/// The type that Fortran's reference points to.
fn element(kind: &Kind) -> &'static str {
    match kind {
        Kind::Large | Kind::Offset => "i64",
        Kind::Aint => "isize",
        Kind::Buffer | Kind::Pointer => "c_void",
        Kind::String => "u8",
        _ => "c_int",
    }
}

/// Whether the value of this kind is the same in both languages.
fn is_plain(kind: &Kind) -> bool {
    matches!(
        kind,
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
    )
}

impl Pieces {
    /// What the C function gets for a parameter, whose name in the subroutine is `n`.
    fn argument(&mut self, p: &Param, f: &Function, n: String) -> Result<String, Problem> {
        let written = matches!(p.direction, Direction::Out | Direction::InOut);
        let array = p.length.is_some();
        Ok(match &p.kind {
            Kind::Buffer => format!("special::buffer({n})"),
            Kind::Pointer => n,
            Kind::Status if array => format!("special::statuses({n})"),
            Kind::Status => format!("special::status({n})"),
            Kind::Ranges => format!("{n}.cast()"),
            Kind::String if written => self.text_out(p, &n)?,
            Kind::String => self.text_in(p, &n),
            Kind::File if written => self.file_out(p, &n),
            Kind::File => format!("mpi::File_f2c(*{n})"),
            Kind::Logical if array => self.logicals(p, &n, written)?,
            Kind::Logical if written => self.number_out(p, &n, "flag", "logical"),
            Kind::Logical => format!("(*{n} != 0) as c_int"),
            Kind::Index if array => {
                let counts = |q: &&Param| q.kind == Kind::Count && q.direction == Direction::Out;
                let number = f.params.iter().find(counts).ok_or(Problem::IndicesWithoutNumber)?;
                let _ = writeln!(self.after, "from_one({n}, number_{});", number.name);
                n
            }
            Kind::Index => self.number_out(p, &n, "index", "counted_from_one"),
            // Not read from the program's variable: a call that fails may leave it as it was.
            Kind::Count if written && f.params.iter().any(|q| q.kind == Kind::Index) => {
                self.number_out(p, &n, "number", "|number| number")
            }
            Kind::Errcode if array => format!("special::errcodes({n})"),
            _ if p.name.ends_with("weights") => format!("special::weights({n})"),
            kind if is_plain(kind) && (array || written) => n,
            kind if is_plain(kind) => format!("*{n}"),
            kind => return Err(Problem::NoRule(p.name.clone(), format!("{kind:?}"))),
        })
    }

    /// A text that the call returns.
    fn text_out(&mut self, p: &Param, n: &str) -> Result<String, Problem> {
        let (plain, room) = (&p.name, room(p)?);
        let _ = write!(self.lengths, "len_{plain}: usize, ");
        let _ = writeln!(self.before, "let mut text_{plain} = Text::room({room});");
        let _ = writeln!(self.after, "if code == 0 {{ text_{plain}.give({n}, len_{plain}); }}");
        Ok(format!("text_{plain}.as_mut_ptr()"))
    }

    /// A text of the program.
    fn text_in(&mut self, p: &Param, n: &str) -> String {
        let plain = &p.name;
        let _ = write!(self.lengths, "len_{plain}: usize, ");
        // Names of objects may begin with blanks (MPI-4.1, 7.8).
        let take = match plain.as_str() {
            "comm_name" | "type_name" | "win_name" => "take_name",
            _ => "take",
        };
        let _ = writeln!(self.before, "let text_{plain} = Text::{take}({n}, len_{plain});");
        format!("text_{plain}.as_ptr()")
    }

    /// A file handle that the call changes: a pointer in C, a number in Fortran.
    fn file_out(&mut self, p: &Param, n: &str) -> String {
        let plain = &p.name;
        let _ = writeln!(self.before, "let mut file_{plain} = mpi::File_f2c(*{n});");
        let _ = writeln!(self.after, "if code == 0 {{ *{n} = mpi::File_c2f(file_{plain}); }}");
        format!("&raw mut file_{plain}")
    }

    /// An array of truth values.
    fn logicals(&mut self, p: &Param, n: &str, written: bool) -> Result<String, Problem> {
        let (plain, length) = (&p.name, length(p)?);
        let _ = writeln!(
            self.before,
            "let mut flags_{plain} = Logicals::take({n}, {length}, {});",
            !written
        );
        if written {
            let _ = writeln!(self.after, "if code == 0 {{ flags_{plain}.give({n}); }}");
        }
        Ok(format!("flags_{plain}.as_mut_ptr()"))
    }

    /// A number that the call returns and `convert` turns into Fortran's.
    fn number_out(&mut self, p: &Param, n: &str, word: &str, convert: &str) -> String {
        let plain = &p.name;
        let _ = writeln!(self.before, "let mut {word}_{plain} = UNWRITTEN;");
        let _ = writeln!(self.after, "store_translated({n}, {word}_{plain}, {convert});");
        format!("&raw mut {word}_{plain}")
    }
}

/// Bytes of a text of the standard's fixed length, with its final zero.
fn room(p: &Param) -> Result<usize, Problem> {
    Ok(match p.length.as_deref() {
        Some("MPI_MAX_PROCESSOR_NAME" | "MPI_MAX_OBJECT_NAME" | "MPI_MAX_DATAREP_STRING") => 129,
        Some("MPI_MAX_ERROR_STRING") => 513,
        Some("MPI_MAX_INFO_KEY" | "MPI_MAX_PORT_NAME") => 257,
        Some("MPI_MAX_LIBRARY_VERSION_STRING") => 8193,
        _ => return Err(Problem::NoRoom(p.name.clone(), p.length.clone())),
    })
}

/// How many elements an array has, in Rust.
fn length(p: &Param) -> Result<String, Problem> {
    Ok(match p.length.as_deref() {
        Some("cartdim(comm)") => "cartdim(*r#comm)".to_owned(),
        Some(name) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            format!("*r#{name}")
        }
        _ => return Err(Problem::UnknownLength(p.name.clone(), p.length.clone())),
    })
}

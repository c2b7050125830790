//! Procedures of the module `mpi_f08` whose choice buffers arrive as array descriptors (MPI-4.1,
//! 19.1.2). Each makes an address of the descriptor and calls the subroutine with an address.

use std::fmt::Write as _;

use super::passing::{Passing, passing};
use super::{exists, f08_name};
use crate::error::Problem;
use crate::table::{Direction, Function, Kind, Param, Standing};

/// The procedures of `mpi_f08` with choice buffers.
pub fn descriptors(functions: &[Function]) -> Result<String, Problem> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    let with_buffers = |f: &&Function| f.params.iter().any(|p| p.kind == Kind::Buffer);
    let removed = |f: &&Function| f.standing == Standing::Removed;
    for f in functions.iter().filter(|f| exists(f) && !removed(f)).filter(with_buffers) {
        procedure(f, &mut out).map_err(|problem| problem.of(&f.name))?;
    }
    Ok(out)
}

/// The pieces of one procedure while its parameters are looked at.
struct Procedure<'f> {
    f: &'f Function,
    /// Arguments for an error about a section that cannot be used: the name of the function, and
    /// the object whose error handler is called.
    blame: String,
    parameters: String,
    lengths: String,
    before: String,
    arguments: Vec<String>,
    after: String,
    /// Buffers that stay until the request is complete.
    staged: Vec<String>,
    /// The buffer of all partitions.
    parts: Option<String>,
    /// Arguments that a buffer replaces: its count and its datatype.
    replaced: Vec<(String, String)>,
}

/// The number of the parameter that is a handle of this C type.
fn place(f: &Function, handle: &'static str) -> Option<usize> {
    f.params.iter().position(|p| p.kind == Kind::Handle(handle))
}

/// `made`, or the end of the procedure with its error code.
fn or_code(made: &str) -> String {
    format!("match {made} {{ Ok(b) => b, Err(code) => return crate::marshal::set(ierror, code) }};")
}

fn procedure(f: &Function, out: &mut String) -> Result<(), Problem> {
    if f.returns.is_some() {
        return Err(Problem::ReturnsValue);
    }
    let mut x = Procedure::new(f);
    let passing = passing(f);
    for (i, p) in f.params.iter().enumerate() {
        let _ = write!(x.parameters, "p{i}: *mut c_void, ");
        if p.kind == Kind::String {
            let _ = write!(x.lengths, "l{i}: usize, ");
        }
        if p.kind == Kind::Buffer {
            x.buffer(i, p, passing)?;
        } else {
            x.arguments.push(format!("p{i}.cast()"));
        }
    }
    x.finish()?;
    x.write(out);
    Ok(())
}

impl<'f> Procedure<'f> {
    fn new(f: &'f Function) -> Self {
        let about = |kind: &str, i: usize| format!("descriptor::About::{kind}(p{i}.cast())");
        let file = f.params.iter().position(|p| p.kind == Kind::File);
        let object = place(f, "MPI_Comm")
            .map(|i| about("Comm", i))
            .or_else(|| place(f, "MPI_Win").map(|i| about("Win", i)))
            .or_else(|| file.map(|i| about("File", i)));
        let object = object.unwrap_or("descriptor::About::Nobody".into());
        Self {
            f,
            blame: format!("c\"{}\", {object}", f.name),
            parameters: String::new(),
            lengths: String::new(),
            before: String::new(),
            arguments: Vec::new(),
            after: String::new(),
            staged: Vec::new(),
            parts: None,
            replaced: Vec::new(),
        }
    }

    /// Parameter `i` is a choice buffer.
    fn buffer(&mut self, i: usize, p: &Param, passing: Passing) -> Result<(), Problem> {
        let writes = p.direction != Direction::In;
        match passing {
            Passing::Address => {
                let _ = writeln!(self.before, "let b{i} = descriptor::address(p{i});");
                self.arguments.push(format!("b{i}"));
            }
            Passing::Copy => {
                let _ = writeln!(self.before, "let mut b{i} = Copied::take(p{i}, {writes});");
                let _ = writeln!(self.after, "drop(b{i});");
                self.arguments.push(format!("b{i}.at()"));
            }
            Passing::Staged => {
                let _ =
                    writeln!(self.before, "let mut b{i} = Copied::take_staged(p{i}, {writes});");
                self.staged.push(format!("b{i}"));
                self.arguments.push(format!("b{i}.at()"));
            }
            Passing::Typed => self.typed(i)?,
            Passing::Parts => {
                let all = format!("(p{}.cast(), p{}.cast(), p{}.cast())", i + 1, i + 2, i + 3);
                let made = or_code(&format!("Parts::take(p{i}, {all}, {})", self.blame));
                let _ = writeln!(self.before, "let b{i} = {made}");
                self.arguments.push(format!("b{i}.at()"));
                self.parts = Some(format!("b{i}"));
            }
        }
        Ok(())
    }

    /// Buffer `i` becomes a datatype with its gaps. Number and type of its elements follow it,
    /// where the call has them for this buffer.
    fn typed(&mut self, i: usize) -> Result<(), Problem> {
        let next = |k: usize| self.f.params.get(i + k).map(|q| &q.kind);
        let array = self.f.params.get(i + 1).is_some_and(|q| q.length.is_some());
        let typed = matches!(next(1), Some(Kind::Count | Kind::Large))
            && next(2) == Some(&Kind::Handle("MPI_Datatype"))
            && !array;
        if typed {
            let form = if next(1) == Some(&Kind::Large) { "large" } else { "small" };
            let (count, datatype) = (format!("p{}.cast()", i + 1), format!("p{}.cast()", i + 2));
            let made = format!("Typed::{form}(p{i}, {count}, {datatype}, {})", self.blame);
            let _ = writeln!(self.before, "let mut b{i} = {}", or_code(&made));
            let _ = writeln!(self.after, "drop(b{i});");
            self.arguments.push(format!("b{i}.at()"));
            self.replaced.push((count, format!("b{i}.{form}_count()")));
            self.replaced.push((datatype, format!("b{i}.datatype()")));
        } else {
            let datatype = place(self.f, "MPI_Datatype").ok_or(Problem::BufferWithoutDatatype)?;
            let made = format!("descriptor::single(p{i}, p{datatype}.cast(), {})", self.blame);
            let _ = writeln!(self.before, "let b{i} = {}", or_code(&made));
            self.arguments.push(format!("b{i}"));
        }
        Ok(())
    }

    /// What follows from all parameters together: replaced arguments, the error code, lengths.
    fn finish(&mut self) -> Result<(), Problem> {
        for (old, new) in &self.replaced {
            for argument in self.arguments.iter_mut().filter(|a| *a == old) {
                argument.clone_from(new);
            }
        }
        if self.staged.is_empty() && self.parts.is_none() {
            self.arguments.push("ierror".into());
        } else {
            let request = place(self.f, "MPI_Request").ok_or(Problem::NoRequest)?;
            self.before.push_str("let mut code = 0;\n");
            self.arguments.push("&raw mut code".into());
            let _ = match &self.parts {
                Some(parts) => {
                    writeln!(self.after, "let code = {parts}.settle(p{request}.cast(), code);")
                }
                None => writeln!(
                    self.after,
                    "descriptor::stage(vec![{}], p{request}.cast(), code);",
                    self.staged.join(", ")
                ),
            };
            self.after.push_str("crate::marshal::set(ierror, code);\n");
        }
        let texts = self.f.params.iter().enumerate().filter(|(_, p)| p.kind == Kind::String);
        self.arguments.extend(texts.map(|(i, _)| format!("l{i}")));
        Ok(())
    }

    /// The procedure under both of its names.
    fn write(&self, out: &mut String) {
        let Self { parameters, lengths, before, after, .. } = self;
        let name = f08_name(self.f).to_lowercase();
        let called = self.f.name[3..].to_lowercase();
        let arguments = self.arguments.join(", ");
        // SAFETY of what is written here: arguments are Fortran's, as the interface of the same
        // table says.
        for (prefix, target) in [("mpi", "mpi"), ("pmpir", "pmpi")] {
            let _ = writeln!(
                out,
                "#[unsafe(no_mangle)] #[allow(clippy::too_many_arguments, clippy::undocumented_unsafe_blocks)]\n\
                 pub unsafe extern \"C\" fn {prefix}_{name}_({parameters}ierror: *mut c_int, {lengths}) {{ unsafe {{\n\
                 {before}{target}{called}_({arguments});\n{after}}} }}"
            );
        }
    }
}

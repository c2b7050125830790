//! One argument of a function of the standard ABI: its types, and how it reaches the other ABI.

use crate::error::Problem;
use crate::table::{Direction, Function, Kind, Param};

/// What an integer stands for, where its kind in the table does not say it.
fn meaning(f: &Function, p: &Param) -> Option<&'static str> {
    Some(match (p.name.as_str(), &p.kind) {
        ("required" | "provided", Kind::Int) => "thread",
        ("amode", _) => "file_mode",
        ("assert", _) => "assertion",
        ("whence", _) => "whence",
        ("order", _) => "order",
        ("array_of_distribs", _) => "distribution",
        ("array_of_dargs", _) => "dargs",
        ("combiner", _) => "combiner",
        ("typeclass", _) => "typeclass",
        ("result", Kind::Int) if f.name.ends_with("_compare") => "comparison",
        ("status", Kind::Int) => "topology",
        ("split_type", _) => "split",
        ("lock_type", _) => "lock",
        ("ranks1" | "ranks2", _) => "rank",
        ("error", Kind::Int) => "error",
        ("verbosity", _) => "verbosity",
        ("bind", _) => "bind",
        ("scope", _) => "scope",
        ("var_class", _) => "var_class",
        (_, Kind::Rank) => "rank",
        (_, Kind::Tag) => "tag",
        (_, Kind::Keyval) => "keyval",
        (_, Kind::Errcode) => "error",
        (_, Kind::ToolEnum("MPI_T_cb_safety")) => "safety",
        (_, Kind::ToolEnum(_)) => "source_order",
        _ => return None,
    })
}

/// The parameter's type in the standard interface.
pub fn here(p: &Param) -> String {
    let read_only = p.direction == Direction::In && p.length.is_none();
    match &p.kind {
        Kind::Handle(_) | Kind::File if read_only => "usize".into(),
        Kind::Handle(_) | Kind::File => "*mut usize".into(),
        Kind::Status => "*mut Standard".into(),
        kind => match scalar(kind) {
            Some(t) if read_only => t.into(),
            Some(t) => format!("*mut {t}"),
            None => "*mut c_void".into(),
        },
    }
}

/// The Rust type of an integer or floating-point number; none for what is always an address.
pub fn scalar(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Large | Kind::Offset => "i64",
        Kind::Aint => "isize",
        Kind::Double => "c_double",
        Kind::Int
        | Kind::Count
        | Kind::Rank
        | Kind::Tag
        | Kind::Keyval
        | Kind::Errcode
        | Kind::Index
        | Kind::Logical
        | Kind::Fint
        | Kind::ToolEnum(_) => "c_int",
        _ => return None,
    })
}

/// The type that the first interface's function gets.
pub fn there(p: &Param) -> String {
    let by_value = p.direction == Direction::In && p.length.is_none();
    match &p.kind {
        Kind::Handle(_) if by_value => "u32".into(),
        Kind::File if by_value => "usize".into(),
        kind => match scalar(kind) {
            Some(t) if by_value => t.into(),
            _ => "*mut c_void".into(),
        },
    }
}

/// How many elements an array of handles, statuses or translated integers has.
fn length(f: &Function, p: &Param) -> Result<String, Problem> {
    let text = p.length.as_deref().unwrap_or_default();
    if let Some(i) = f.params.iter().position(|q| q.name == text) {
        let many = if f.params[i].direction == Direction::In {
            format!("p{i}")
        } else {
            format!("read(p{i})")
        };
        return Ok(format!("many({many} as i64)"));
    }
    let comm = f.params.iter().position(|q| q.kind == Kind::Handle("MPI_Comm"));
    match (text, comm) {
        ("size(comm)", Some(i)) => Ok(format!("peers(p{i})")),
        ("neighbors(comm)", Some(i)) if p.name.starts_with("send") => {
            Ok(format!("neighbors(p{i}).1"))
        }
        ("neighbors(comm)", Some(i)) => Ok(format!("neighbors(p{i}).0")),
        _ => Err(Problem::UnknownLength(p.name.clone(), p.length.clone())),
    }
}

/// One argument: what happens before the call, what is passed, what happens after it.
#[allow(missing_docs, reason = "the table describes them")]
pub struct Passed {
    pub before: String,
    pub argument: String,
    pub after: String,
}

/// How parameter `i` of `f` is passed.
pub fn pass(f: &Function, i: usize) -> Result<Passed, Problem> {
    let p = &f.params[i];
    let mut x = Passed { before: String::new(), argument: format!("p{i}"), after: String::new() };
    let list = p.length.is_some();
    let kind = match &p.kind {
        Kind::Handle(t) => Some(t[4..].to_lowercase()),
        Kind::File => Some("file".into()),
        _ => None,
    };
    let pointer = || format!("p{i} as *mut c_void");
    match (&p.kind, kind, meaning(f, p)) {
        (_, Some(kind), _) if list => x.handles(f, i, &kind)?,
        (_, Some(kind), _) => x.handle(p, i, &kind),
        (Kind::Status, ..) => x.status(f, i)?,
        // Codes of spawned processes: 0, or any other number for one that was not wanted (`soft`).
        // How many there are only the root knows.
        (Kind::Errcode, ..) if list => x.argument = pointer(),
        (_, _, Some(kind)) if list => x.integers(f, i, kind)?,
        (_, _, Some(kind)) => x.integer(p, i, kind),
        (Kind::Buffer, ..) => x.argument = format!("buffer_in(p{i})"),
        (Kind::Pointer, ..) if p.name == "buffer_addr" => {
            x.after = format!("if code == 0 {{ buffer_addr_out(p{i}); }}");
        }
        (Kind::Tool("MPI_T_pvar_handle"), ..) if p.direction == Direction::In => {
            x.argument = format!("pvar_in(p{i})");
        }
        (Kind::Offset, ..) if p.name == "disp" && p.direction == Direction::In => {
            x.argument = format!("displacement_in(p{i})");
        }
        (Kind::Int, ..) if list && p.name.ends_with("weights") => {
            x.argument = format!("weights_in(p{i})");
        }
        (kind, ..) if (list || p.direction != Direction::In) && scalar(kind).is_some() => {
            x.argument = pointer();
        }
        _ => {}
    }
    Ok(x)
}

impl Passed {
    /// An array of handles.
    fn handles(&mut self, f: &Function, i: usize, kind: &str) -> Result<(), Problem> {
        let p = &f.params[i];
        let n = length(f, p)?;
        // The types that a call in place sends are not looked at.
        let from = match f.params[0].kind {
            Kind::Buffer if p.name == "sendtypes" => format!("unless_in_place(p0, p{i})"),
            _ => format!("p{i}"),
        };
        let fresh = p.direction == Direction::Out;
        self.before = format!("let mut l{i} = List::take({from}, {n}, {kind}_in, {fresh});");
        self.argument = format!("l{i}.address()");
        match p.direction {
            Direction::In | Direction::Ref => {}
            Direction::InOut => self.after = format!("l{i}.put(p{i}, {kind}_out);"),
            Direction::Out => {
                self.after = format!("if code == 0 {{ l{i}.put(p{i}, {kind}_out); }}");
            }
        }
        Ok(())
    }

    /// One handle.
    fn handle(&mut self, p: &Param, i: usize, kind: &str) {
        match p.direction {
            Direction::In | Direction::Ref => self.argument = format!("{kind}_in(p{i})"),
            Direction::Out => {
                self.before = format!("let mut l{i} = {kind}_in(0);");
                self.argument = format!("unless_null(p{i}, &raw mut l{i} as *mut c_void)");
                // (A call that fails may leave a null handle.)
                self.after = format!(
                    "if (code == 0 || l{i} != {kind}_in(0)) && !p{i}.is_null() {{ *p{i} = {kind}_out(l{i}); }}"
                );
            }
            Direction::InOut => self.changed(i, kind),
        }
    }

    /// A handle or an integer that the call reads and writes.
    fn changed(&mut self, i: usize, kind: &str) {
        self.before =
            format!("let mut l{i} = if p{i}.is_null() {{ 0 }} else {{ {kind}_in(*p{i}) }};");
        self.argument = format!("unless_null(p{i}, &raw mut l{i} as *mut c_void)");
        self.after = format!("if !p{i}.is_null() {{ *p{i} = {kind}_out(l{i}); }}");
    }

    /// One status, or an array of them.
    fn status(&mut self, f: &Function, i: usize) -> Result<(), Problem> {
        let p = &f.params[i];
        if p.length.is_some() {
            self.before = format!("let mut l{i} = Statuses::take(p{i}, {});", length(f, p)?);
            self.argument = format!("l{i}.address()");
        } else {
            self.before = format!("let mut l{i} = One::take(p{i});");
            self.argument = format!("l{i}.address(p{i})");
        }
        if p.direction != Direction::In {
            self.after = format!("l{i}.put(p{i});");
        }
        Ok(())
    }

    /// An array of integers that are translated.
    fn integers(&mut self, f: &Function, i: usize, kind: &str) -> Result<(), Problem> {
        let p = &f.params[i];
        let n = length(f, p)?;
        if p.direction == Direction::In {
            self.before = format!("let mut l{i} = List::integers(p{i}, {n}, {kind}_in);");
            self.argument = format!("l{i}.address()");
        } else {
            self.argument = format!("p{i} as *mut c_void");
            self.after = format!(
                "if code == 0 && !p{i}.is_null() {{ for k in 0..{n} {{ *p{i}.add(k) = {kind}_out(*p{i}.add(k)); }} }}"
            );
        }
        Ok(())
    }

    /// An integer that is translated.
    fn integer(&mut self, p: &Param, i: usize, kind: &str) {
        match p.direction {
            Direction::In | Direction::Ref => self.argument = format!("{kind}_in(p{i})"),
            Direction::Out => {
                self.argument = format!("p{i} as *mut c_void");
                self.after =
                    format!("if code == 0 && !p{i}.is_null() {{ *p{i} = {kind}_out(*p{i}); }}");
            }
            Direction::InOut => self.changed(i, kind),
        }
    }
}

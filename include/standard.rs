//! The second binary interface, that of MPI 5.0's chapter on ABI: reads `include/standard.table` and writes
//! what follows from it and from `include/mpi.table`.
//!
//! Three texts: the constants of `mpi.h` (`constants`), Rust functions that translate handles and integers
//! between the two interfaces (`translations`), and for every function that is not written by hand an
//! exported one that translates its arguments, calls the function of `libmpi.so.12`, and translates the
//! results back (`functions`). What a parameter means is known from its kind; what an `INT` of the table
//! stands for is said by `meaning`.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::table::{Direction, Function, Kind, Param, Standing};

/// What the constants of one section are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    Handle(String),
    Numbers(String),
    Bits(String),
    Pointer(String),
    Plain,
}

/// A section of the table of constants.
#[derive(Clone, Debug)]
pub struct Section {
    pub sort: Sort,
    /// Names with their values as they are written.
    pub rows: Vec<(String, String)>,
}

/// Parses the table; the error begins with the number of the line.
pub fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix("== ") {
            let (word, rest) = title.split_once(' ').unwrap_or((title, ""));
            let sort = match word {
                "handle" => Sort::Handle(rest.into()),
                "numbers" => Sort::Numbers(rest.into()),
                "bits" => Sort::Bits(rest.into()),
                "pointer" => Sort::Pointer(rest.into()),
                "plain" => Sort::Plain,
                _ => return Err(format!("{}: unknown section {title}", n + 1)),
            };
            sections.push(Section { sort, rows: Vec::new() });
            continue;
        }
        let section = sections.last_mut().ok_or(format!("{}: before the first section", n + 1))?;
        let (name, value) = line.split_once(' ').ok_or(format!("{}: no value", n + 1))?;
        if number(value).is_none() && !value.starts_with('=') {
            return Err(format!("{}: {value} is no value", n + 1));
        }
        section.rows.push((name.into(), value.into()));
    }
    Ok(sections)
}

/// An integer in C's spelling, in parentheses or behind a cast or not.
fn number(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches(')');
    let text = text.rsplit([')', '(']).next()?.trim();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

/// Values of the constants that a header in C defines: macros and enumerators.
pub fn values(header: &str) -> BTreeMap<String, i64> {
    let mut values: BTreeMap<String, i64> = BTreeMap::new();
    let mut next = None;
    let resolve = |values: &BTreeMap<String, i64>, text: &str| {
        number(text).or_else(|| values.get(text.trim()).copied())
    };
    for line in header.lines() {
        if let Some(rest) = line.strip_prefix("#define ") {
            if let Some((name, text)) = rest.split_once(' ')
                && let Some(value) = resolve(&values, text)
            {
                values.insert(name.into(), value);
            }
            continue;
        }
        if line.contains("enum ") && line.contains('{') {
            next = Some(0);
        }
        let Some(mut value) = next else { continue };
        let inside = line.split_once('{').map_or(line, |(_, rest)| rest);
        for item in inside.split('}').next().unwrap_or("").split(',') {
            let (name, text) = item.split_once('=').unwrap_or((item, ""));
            let name = name.trim();
            if !name.starts_with("MPI_") {
                continue;
            }
            value = resolve(&values, text).unwrap_or(value);
            values.insert(name.into(), value);
            value += 1;
        }
        next = if line.contains('}') { None } else { Some(value) };
    }
    values
}

/// The constants as C macros.
pub fn constants(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        for (name, value) in &section.rows {
            let _ = match (&section.sort, value.strip_prefix('=')) {
                (_, Some(other)) => writeln!(out, "#define {name} {other}"),
                (Sort::Handle(of) | Sort::Pointer(of), _) => {
                    writeln!(out, "#define {name} (({of}){value})")
                }
                _ if value.starts_with('-') => writeln!(out, "#define {name} ({value})"),
                _ => writeln!(out, "#define {name} {value}"),
            };
        }
        out.push('\n');
    }
    out
}

/// Functions `KIND_in` (from the standard interface to the first) and `KIND_out` for every kind.
pub fn translations(sections: &[Section], first: &BTreeMap<String, i64>) -> Result<String, String> {
    let mut out = String::from("// Generated from include/standard.table by build.rs.\n");
    for section in sections {
        let mut pairs = Vec::new();
        if !matches!(section.sort, Sort::Plain | Sort::Pointer(_)) {
            for (name, value) in section.rows.iter().filter(|(_, v)| !v.starts_with('=')) {
                let here = number(value).ok_or(format!("{name}: no number"))?;
                let there =
                    first.get(name).ok_or(format!("{name} is not in the first interface"))?;
                pairs.push((name.clone(), here, *there));
            }
        }
        match &section.sort {
            Sort::Handle(of) => handles(&mut out, of, &pairs),
            Sort::Numbers(kind) => numbers(&mut out, kind, &pairs),
            Sort::Bits(kind) => bits(&mut out, kind, &pairs),
            Sort::Pointer(_) | Sort::Plain => {}
        }
    }
    Ok(out)
}

fn handles(out: &mut String, of: &str, pairs: &[(String, i64, i64)]) {
    let kind = of[4..].to_lowercase();
    // Files are pointers in both, but numbered from 1 in the first: they are lifted above the predefined
    // handles. Other handles of the first interface lie there already.
    let (there, lower, lift) = match kind.as_str() {
        "file" => {
            ("usize", "if other < 0x1000 { usize::MAX } else { other - 0x1000 }", " + 0x1000")
        }
        _ => ("u32", "other as u32", ""),
    };
    let _ = writeln!(
        out,
        "/// `{of}` of the standard interface as one of the first.\n\
         #[inline(always)] pub fn {kind}_in(handle: usize) -> {there} {{ match handle {{"
    );
    for (name, here, first) in pairs {
        let _ = writeln!(out, "{here:#x} => {first:#x}, // {name}");
    }
    let _ = writeln!(
        out,
        "other => {lower} }} }}\n\
         /// `{of}` of the first interface as one of the standard's.\n\
         #[inline(always)] pub fn {kind}_out(handle: {there}) -> usize {{ match handle {{"
    );
    let mut seen = BTreeSet::new();
    for (name, here, first) in pairs.iter().filter(|(_, _, first)| seen.insert(*first)) {
        let _ = writeln!(out, "{first:#x} => {here:#x}, // {name}");
    }
    let _ = writeln!(out, "other => other as usize{lift} }} }}");
}

fn numbers(out: &mut String, kind: &str, pairs: &[(String, i64, i64)]) {
    let _ = writeln!(
        out,
        "/// A {kind} of the standard interface as one of the first. What is none stays none.\n\
         #[inline(always)] pub fn {kind}_in(value: c_int) -> c_int {{ match value {{"
    );
    for (name, here, first) in pairs {
        let _ = writeln!(out, "{here} => {}, // {name}", *first as i32);
    }
    let known: BTreeSet<i64> = pairs.iter().map(|p| p.1).collect();
    let mut taken = BTreeSet::new();
    for (_, _, first) in pairs.iter().filter(|p| !known.contains(&p.2) && taken.insert(p.2)) {
        // The text of an error can name what the program gave.
        match *first as i32 {
            small @ -0xffff..=0xffff if small != 0 => {
                let _ = writeln!(out, "{small} => NOTHING + ({small}),");
            }
            other => {
                let _ = writeln!(out, "{other} => NOTHING,");
            }
        }
    }
    let _ = writeln!(
        out,
        "other => other }} }}\n\
         /// A {kind} of the first interface as one of the standard's.\n\
         #[inline(always)] pub fn {kind}_out(value: c_int) -> c_int {{ match value {{"
    );
    let mut seen = BTreeSet::new();
    for (name, here, first) in pairs.iter().filter(|p| seen.insert(p.2)) {
        let _ = writeln!(out, "{} => {here}, // {name}", *first as i32);
    }
    let _ = writeln!(out, "other => other }} }}");
}

fn bits(out: &mut String, kind: &str, pairs: &[(String, i64, i64)]) {
    for (direction, swap) in [("in", false), ("out", true)] {
        let (mut known, mut body) = (0, String::new());
        for (name, here, first) in pairs {
            let (from, to) = if swap { (first, here) } else { (here, first) };
            known |= from;
            let _ = writeln!(body, "if value & {from} != 0 {{ to |= {to}; }} // {name}");
        }
        let _ = writeln!(
            out,
            "/// A {kind}, bit by bit.\n\
             #[inline] pub fn {kind}_{direction}(value: c_int) -> c_int {{ let mut to = 0;\n{body}\
             if value & !{known} != 0 {{ to |= 1 << 30; }}\nto }}"
        );
    }
}

/// Is the function a part of the standard interface? What was removed from MPI is not, and integers of
/// Fortran are converted by `_toint` and `_fromint`.
pub fn exists(f: &Function) -> bool {
    let fortran = ["_c2f", "_f2c", "_c2f08", "_f082c", "_f2f08", "_f082f"];
    f.standing != Standing::Removed && !fortran.iter().any(|s| f.name.ends_with(s))
}

/// The functions as the standard's `mpi.h` declares them: two of them have a second name here only.
pub fn declared(functions: &[Function]) -> Vec<Function> {
    let mut all = Vec::new();
    for f in functions.iter().filter(|f| exists(f)) {
        let f = f.clone();
        // (The same: there are programs that were compiled with headers in which the plain one was small.)
        if ["MPI_Psend_init", "MPI_Precv_init"].contains(&f.name.as_str()) {
            let mut large = f.clone();
            large.name.push_str("_c");
            all.push(large);
        }
        all.push(f);
    }
    all
}

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
fn here(p: &Param) -> String {
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
fn scalar(kind: &Kind) -> Option<&'static str> {
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
fn there(p: &Param) -> String {
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
fn length(f: &Function, p: &Param) -> Result<String, String> {
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
        _ => Err(format!("{}: the length of {} is not known", f.name, p.name)),
    }
}

/// One argument: what happens before the call, what is passed, what happens after it.
struct Passed {
    before: String,
    argument: String,
    after: String,
}

fn pass(f: &Function, i: usize) -> Result<Passed, String> {
    let p = &f.params[i];
    let mut x = Passed { before: String::new(), argument: format!("p{i}"), after: String::new() };
    let list = p.length.is_some();
    let kind = match &p.kind {
        Kind::Handle(t) => Some(t[4..].to_lowercase()),
        Kind::File => Some("file".into()),
        _ => None,
    };
    let translated = meaning(f, p);
    match (&p.kind, kind, translated) {
        (_, Some(kind), _) if list => {
            let n = length(f, p)?;
            // The types that a call in place sends are not looked at.
            let from = match f.params[0].kind {
                Kind::Buffer if p.name == "sendtypes" => format!("unless_in_place(p0, p{i})"),
                _ => format!("p{i}"),
            };
            let fresh = p.direction == Direction::Out;
            x.before = format!("let mut l{i} = List::take({from}, {n}, {kind}_in, {fresh});");
            x.argument = format!("l{i}.address()");
            match p.direction {
                Direction::In | Direction::Ref => {}
                Direction::InOut => x.after = format!("l{i}.put(p{i}, {kind}_out);"),
                Direction::Out => {
                    x.after = format!("if code == 0 {{ l{i}.put(p{i}, {kind}_out); }}")
                }
            }
        }
        (_, Some(kind), _) => match p.direction {
            Direction::In | Direction::Ref => x.argument = format!("{kind}_in(p{i})"),
            Direction::Out => {
                x.before = format!("let mut l{i} = {kind}_in(0);");
                x.argument = format!("unless_null(p{i}, &raw mut l{i} as *mut c_void)");
                // (A call that fails may leave a null handle.)
                x.after = format!(
                    "if (code == 0 || l{i} != {kind}_in(0)) && !p{i}.is_null() {{ *p{i} = {kind}_out(l{i}); }}"
                );
            }
            Direction::InOut => {
                x.before = format!(
                    "let mut l{i} = if p{i}.is_null() {{ 0 }} else {{ {kind}_in(*p{i}) }};"
                );
                x.argument = format!("unless_null(p{i}, &raw mut l{i} as *mut c_void)");
                x.after = format!("if !p{i}.is_null() {{ *p{i} = {kind}_out(l{i}); }}");
            }
        },
        (Kind::Status, ..) if list => {
            x.before = format!("let mut l{i} = Statuses::take(p{i}, {});", length(f, p)?);
            x.argument = format!("l{i}.address()");
            if p.direction != Direction::In {
                x.after = format!("l{i}.put(p{i});");
            }
        }
        (Kind::Status, ..) => {
            x.before = format!("let mut l{i} = One::take(p{i});");
            x.argument = format!("l{i}.address(p{i})");
            if p.direction != Direction::In {
                x.after = format!("l{i}.put(p{i});");
            }
        }
        // Codes of spawned processes: nothing is spawned.
        (Kind::Errcode, ..) if list => x.argument = format!("p{i} as *mut c_void"),
        (_, _, Some(kind)) if list => {
            let n = length(f, p)?;
            if p.direction == Direction::In {
                x.before = format!("let mut l{i} = List::integers(p{i}, {n}, {kind}_in);");
                x.argument = format!("l{i}.address()");
            } else {
                x.argument = format!("p{i} as *mut c_void");
                x.after = format!(
                    "if code == 0 && !p{i}.is_null() {{ for k in 0..{n} {{ *p{i}.add(k) = {kind}_out(*p{i}.add(k)); }} }}"
                );
            }
        }
        (_, _, Some(kind)) => match p.direction {
            Direction::In | Direction::Ref => x.argument = format!("{kind}_in(p{i})"),
            Direction::Out => {
                x.argument = format!("p{i} as *mut c_void");
                x.after =
                    format!("if code == 0 && !p{i}.is_null() {{ *p{i} = {kind}_out(*p{i}); }}");
            }
            Direction::InOut => {
                x.before = format!(
                    "let mut l{i} = if p{i}.is_null() {{ 0 }} else {{ {kind}_in(*p{i}) }};"
                );
                x.argument = format!("unless_null(p{i}, &raw mut l{i} as *mut c_void)");
                x.after = format!("if !p{i}.is_null() {{ *p{i} = {kind}_out(l{i}); }}");
            }
        },
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
            x.argument = format!("weights_in(p{i})")
        }
        (kind, ..) if (list || p.direction != Direction::In) && scalar(kind).is_some() => {
            x.argument = format!("p{i} as *mut c_void");
        }
        _ => {}
    }
    Ok(x)
}

/// The exported functions that `by_hand` does not name, and the table of the functions they call.
pub fn functions(functions: &[Function], by_hand: &BTreeSet<String>) -> Result<String, String> {
    let mut out = String::from("// Generated from include/mpi.table by build.rs.\n");
    let all: Vec<&Function> = functions.iter().collect();
    let _ = writeln!(
        out,
        "/// Names of the functions of the first interface, without prefix.\n\
                           pub static NAMES: [&core::ffi::CStr; {}] = [",
        all.len()
    );
    for f in &all {
        let _ = writeln!(out, "c\"PMPI_{}\",", &f.name[4..]);
    }
    out.push_str("];\n/// Where each function stands in `NAMES`.\n#[allow(non_upper_case_globals)] pub mod at {\n");
    for (n, f) in all.iter().enumerate() {
        let _ = writeln!(out, "pub const {}: usize = {n};", &f.name[4..]);
    }
    out.push_str("}\n");
    for f in functions.iter().filter(|f| exists(f) && !by_hand.contains(&f.name)) {
        one(f, &mut out)?;
    }
    Ok(out)
}

fn one(f: &Function, out: &mut String) -> Result<(), String> {
    let short = &f.name[4..];
    let (mut parameters, mut names) = (String::new(), String::new());
    let (mut before, mut arguments, mut types, mut after) =
        (String::new(), String::new(), String::new(), String::new());
    for (i, p) in f.params.iter().enumerate().filter(|(_, p)| p.kind != Kind::Varargs) {
        let _ = write!(parameters, "p{i}: {}, ", here(p));
        let _ = write!(names, "p{i}, ");
        let passed = pass(f, i)?;
        let _ = writeln!(before, "{}", passed.before);
        let _ = write!(arguments, "{}, ", passed.argument);
        let _ = write!(types, "{}, ", there(p));
        let _ = writeln!(after, "{}", passed.after);
    }
    let returns = match &f.returns {
        None => "c_int",
        Some(kind) => scalar(kind).ok_or(format!("{}: returns what?", f.name))?,
    };
    let result = if f.returns.is_none() { "error_out(code)" } else { "code" };
    // SAFETY of what is written here: arguments are C's, as the prototype of the same table says, and
    // the function that is found under the name has the type that the table gives the other ABI.
    for prefix in ["MPI", "PMPI"] {
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn {prefix}_{short}({parameters}) -> {returns} {{ unsafe {{ body_{short}::call({names}) }} }}"
        );
    }
    let _ = writeln!(
        out,
        "mod body_{short} {{ use super::*;\n\
         #[inline] pub unsafe fn call({parameters}) -> {returns} {{ unsafe {{\n{before}\
         let function: unsafe extern \"C\" fn({types}) -> {returns} = core::mem::transmute(next(at::{short}));\n\
         let code = function({arguments});\n{after}{result} }} }} }}"
    );
    Ok(())
}

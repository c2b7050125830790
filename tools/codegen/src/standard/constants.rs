//! The constants of the standard ABI: `include/standard.table`, and those of a header in C.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::error::{Error, LineError, Problem};

/// What the constants of one section are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table describes them")]
pub enum Sort {
    Handle(String),
    Numbers(String),
    Bits(String),
    Pointer(String),
    Plain,
}

/// A section of the table of constants.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the table describes them")]
pub struct Section {
    pub sort: Sort,
    /// Names with their values as they are written.
    pub rows: Vec<(String, String)>,
}

/// Reads the table of constants at `path`; the error names the line.
pub fn read(path: &Path) -> Result<Vec<Section>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|line| Error::Line { path: path.to_owned(), line })
}

/// Parses the table; the error begins with the number of the line.
pub fn parse(text: &str) -> Result<Vec<Section>, LineError> {
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
                _ => return Err(Problem::UnknownSection(title.into()).in_line(n + 1)),
            };
            sections.push(Section { sort, rows: Vec::new() });
            continue;
        }
        let section =
            sections.last_mut().ok_or_else(|| Problem::BeforeFirstSection.in_line(n + 1))?;
        let (name, value) = line.split_once(' ').ok_or_else(|| Problem::NoValue.in_line(n + 1))?;
        if number(value).is_none() && !value.starts_with('=') {
            return Err(Problem::NotAValue(value.into()).in_line(n + 1));
        }
        section.rows.push((name.into(), value.into()));
    }
    Ok(sections)
}

/// An integer in C's spelling, in parentheses or behind a cast or not.
pub(super) fn number(text: &str) -> Option<i64> {
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

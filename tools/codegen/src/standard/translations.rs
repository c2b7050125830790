//! Functions that translate handles and integers between the two binary interfaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::constants::{Section, Sort, number};
use crate::error::Problem;

/// Functions `KIND_in` (from the standard interface to the first) and `KIND_out` for every kind.
pub fn translations(
    sections: &[Section],
    first: &BTreeMap<String, i64>,
) -> Result<String, Problem> {
    let mut out = String::from("// Generated from include/standard.table by build.rs.\n");
    for section in sections {
        let mut pairs = Vec::new();
        if !matches!(section.sort, Sort::Plain | Sort::Pointer(_)) {
            for (name, value) in section.rows.iter().filter(|(_, v)| !v.starts_with('=')) {
                let here =
                    number(value).ok_or_else(|| Problem::NotAValue(value.clone()).of(name))?;
                let there = first.get(name).ok_or_else(|| Problem::NotInFirstInterface.of(name))?;
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
    // Files are pointers in both, but numbered from 1 in the first: they are lifted above the
    // predefined handles. Other handles of the first interface lie there already.
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

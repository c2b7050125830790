//! Manual pages, section 1, in the macros of man(7).

use crate::page::{Block, Entry, Page};
use std::fmt::Write as _;

/// The manual page of a program; `other` are further names of it, `see` are pages to read next.
#[must_use]
pub fn page(page: &Page, see: &[&str]) -> String {
    let name = &page.name;
    let mut out = String::new();
    let _ = writeln!(
        out,
        ".TH {} 1 \"\" \"ftmpi {}\" \"ftmpi manual\"",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION")
    );
    let _ = writeln!(out, ".SH NAME\n{} \\- {}", escaped(name), escaped(&lower_first(&page.about)));
    let _ = writeln!(out, ".SH SYNOPSIS\n.B {}\n{}", escaped(name), escaped(&page.usage));
    let _ = writeln!(out, ".SH DESCRIPTION\n{}", escaped(&page.about));
    if !page.commands.is_empty() {
        let _ = writeln!(out, ".SH COMMANDS");
        for command in &page.commands {
            write_command(&mut out, name, command);
        }
    }
    for section in &page.sections {
        let _ = writeln!(out, ".SH {}", escaped(&section.heading.to_uppercase()));
        for entry in &section.entries {
            write_entry(&mut out, entry);
        }
        write_blocks(&mut out, &section.notes);
    }
    if !page.examples.is_empty() {
        let _ = writeln!(out, ".SH EXAMPLES");
        write_blocks(&mut out, &page.examples);
    }
    if !see.is_empty() {
        let pages: Vec<_> =
            see.iter().map(|name| format!("\\fB{}\\fR(1)", escaped(name))).collect();
        let _ = writeln!(out, ".SH SEE ALSO\n{}", pages.join(", "));
    }
    out
}

fn write_command(out: &mut String, program: &str, command: &Page) {
    let name = command.name.trim_start_matches(program).trim();
    let _ = writeln!(out, ".SS {} {}", escaped(name), escaped(&command.usage));
    let _ = writeln!(out, "{}", escaped(&command.about));
    // What every command accepts stands below, once.
    let own =
        command.sections.iter().filter(|section| section.heading != "Options for all commands");
    for entry in own.flat_map(|section| &section.entries) {
        if !entry.names.iter().any(|name| name == "--help") {
            write_entry(out, entry);
        }
    }
}

fn write_entry(out: &mut String, entry: &Entry) {
    let names: Vec<_> =
        entry.names.iter().map(|name| format!("\\fB{}\\fR", escaped(name))).collect();
    let _ = write!(out, ".TP\n{}", names.join(", "));
    if !entry.value.is_empty() {
        let _ = write!(out, " \\fI{}\\fR", escaped(&entry.value));
    }
    out.push('\n');
    for (number, text) in entry.text.iter().enumerate() {
        let _ = writeln!(out, "{}{}", if number > 0 { ".br\n" } else { "" }, escaped(text));
    }
    let explained = entry.values.iter().any(|(_, help)| !help.is_empty());
    if explained {
        let _ = writeln!(out, ".RS");
        for (name, help) in &entry.values {
            let _ = writeln!(out, ".TP\n.B {}\n{}", escaped(name), escaped(help));
        }
        let _ = writeln!(out, ".RE\n.IP");
    } else if !entry.values.is_empty() {
        let words: Vec<_> = entry.values.iter().map(|(name, _)| escaped(name)).collect();
        let _ = writeln!(out, "One of {}.", words.join(", "));
    }
    if !entry.facts.is_empty() {
        let _ = writeln!(out, "{}", escaped(&entry.facts));
    }
}

fn write_blocks(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        match block {
            Block::Text(text) => {
                let _ = writeln!(out, ".PP\n{}", escaped(text));
            }
            Block::Code(lines) => {
                let _ = writeln!(out, ".PP\n.RS\n.nf");
                for line in lines {
                    let _ = writeln!(out, "{}", escaped(line));
                }
                let _ = writeln!(out, ".fi\n.RE");
            }
            Block::Terms(terms) => {
                for (name, what) in terms {
                    let _ = writeln!(out, ".TP\n.B {}\n{}", escaped(name), escaped(what));
                }
            }
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |c| c.to_lowercase().chain(letters).collect())
}

/// Text that troff prints as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('`', "\\(ga");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

//! The reference of all programs, as one Markdown file.

use crate::page::{Block, Entry, Page};
use std::fmt::Write as _;

/// The file `docs/reference/options.md`.
#[must_use]
pub fn reference(pages: &[Page]) -> String {
    let mut out = String::from(
        "# Options\n\n\
         This page lists all options of all programs. `ftmpi-pages` generates it from the table\n\
         that the programs use: `cargo run -p ftmpi-options -- reference .` writes it again.\n\n\
         On the command line, `-h` shows the common options of a program, `--help` all options, and\n\
         `ftmpiexec --help TOPIC` one heading.\n",
    );
    for page in pages {
        write_page(&mut out, page, "##");
    }
    out
}

fn write_page(out: &mut String, page: &Page, level: &str) {
    let _ = writeln!(out, "\n{level} {}\n\n{}\n", page.name, page.about);
    let _ = writeln!(out, "```\n{} {}\n```", page.name, page.usage);
    for section in &page.sections {
        let _ = writeln!(out, "\n{level}# {}\n", section.heading);
        for entry in &section.entries {
            write_entry(out, entry);
        }
        write_blocks(out, &section.notes, !section.entries.is_empty());
    }
    if !page.examples.is_empty() {
        let _ = writeln!(out, "\n{level}# Examples\n");
        write_blocks(out, &page.examples, false);
    }
    for command in &page.commands {
        write_page(out, command, &format!("{level}#"));
    }
}

/// A list item: links of the documents lead to its heading.
fn write_entry(out: &mut String, entry: &Entry) {
    let text = entry.text.iter().map(|text| escaped(text)).collect::<Vec<_>>().join(" ");
    let facts = escaped(&entry.facts);
    let _ = writeln!(out, "- `{}`: {}", entry.form(), [text, facts].join(" ").trim_end());
    let explained = entry.values.iter().any(|(_, help)| !help.is_empty());
    for (name, help) in entry.values.iter().filter(|_| explained) {
        let _ = writeln!(out, "    - `{name}`: {}", escaped(help));
    }
    if !explained && !entry.values.is_empty() {
        let words: Vec<_> = entry.values.iter().map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(out, "    - {}", words.join(", "));
    }
}

fn write_blocks(out: &mut String, blocks: &[Block], follow: bool) {
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 || follow {
            out.push('\n');
        }
        match block {
            Block::Text(text) => {
                let _ = writeln!(out, "{}", escaped(text));
            }
            Block::Code(lines) => {
                let _ = writeln!(out, "```\n{}\n```", lines.join("\n"));
            }
            Block::Terms(terms) => {
                for (name, what) in terms {
                    let _ = writeln!(out, "- `{name}`: {}", escaped(what));
                }
            }
        }
    }
}

/// Words in angle brackets, stars and bars are text.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for c in text.chars() {
        code ^= c == '`';
        if !code && "<>*_|[]".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

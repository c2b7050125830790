//! Pages for a terminal of 80 columns. Headings and options are bold; what prints them takes the
//! styles away where nobody can see them.

use super::wrap;
use crate::page::{Block, Entry, Page, Section};
use anstyle::{AnsiColor, Style};
use std::fmt::Write as _;

/// Columns of a page.
pub const WIDTH: usize = 80;
/// Where the explanations of options begin.
const TEXT: usize = 26;
/// Where those on the page of common options begin.
const SHORT_TEXT: usize = 27;
/// So many examples stand on that page.
const SHORT_EXAMPLES: usize = 2;
/// Longer words of a list stand on a line of their own.
const TERM_MAX: usize = 28;

const HEADING: Style = AnsiColor::Yellow.on_default().bold();
const OPTION: Style = Style::new().bold();

/// The whole page.
#[must_use]
pub fn long(page: &Page) -> String {
    let mut out = top(page);
    commands(&mut out, page);
    for section in &page.sections {
        out.push('\n');
        write_section(&mut out, section);
    }
    if !page.examples.is_empty() {
        out.push('\n');
        out.push_str(&examples(page));
    }
    out
}

/// Command lines to copy.
#[must_use]
pub fn examples(page: &Page) -> String {
    let mut out = String::new();
    heading(&mut out, "Examples");
    write_blocks(&mut out, &page.examples, 2);
    out
}

/// One heading of the page.
#[must_use]
pub fn topic(section: &Section) -> String {
    let mut out = String::new();
    write_section(&mut out, section);
    out
}

/// One option.
#[must_use]
pub fn option(entry: &Entry) -> String {
    let mut out = String::new();
    write_entry(&mut out, entry);
    out
}

/// The common options, on one screen of 24 lines.
#[must_use]
pub fn short(page: &Page) -> String {
    let mut out = top(page);
    out.push('\n');
    for entry in page.common() {
        let first = entry.text.first().map_or("", |text| text.trim_end_matches('.'));
        let default =
            entry.facts.split_once("Default: ").and_then(|(_, rest)| rest.split_once('.'));
        let default = default.map_or(String::new(), |(value, _)| format!(" (default {value})"));
        let form = padded(&entry.form(), SHORT_TEXT - 3, OPTION);
        let _ = writeln!(out, "  {form} {first}{default}");
    }
    if let Some(Block::Code(lines)) = page.examples.first() {
        out.push('\n');
        heading(&mut out, "Examples");
        for line in lines.iter().take(SHORT_EXAMPLES) {
            let _ = writeln!(out, "  {line}");
        }
    }
    let topics = page.topics().into_iter().filter(|topic| *topic != "help").collect::<Vec<_>>();
    let more = format!(
        "More: {name} --help (everything), {name} --help TOPIC, man {name}. Topics: {}.",
        topics.join(", "),
        name = page.name
    );
    out.push('\n');
    for line in wrap(&more, WIDTH) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn top(page: &Page) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{HEADING}Usage:{HEADING:#} {} {}", page.name, page.usage);
    for line in wrap(&page.about, WIDTH) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn commands(out: &mut String, page: &Page) {
    if page.commands.is_empty() {
        return;
    }
    out.push('\n');
    heading(out, "Commands");
    let terms = page.commands.iter().map(|command| {
        let name = command.name.rsplit(' ').next().unwrap_or_default();
        (name.to_owned(), command.about.clone())
    });
    write_terms(out, &terms.collect::<Vec<_>>(), 2, OPTION);
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "{HEADING}{text}:{HEADING:#}");
}

fn write_section(out: &mut String, section: &Section) {
    heading(out, &section.heading);
    for entry in &section.entries {
        write_entry(out, entry);
    }
    if !section.notes.is_empty() {
        if !section.entries.is_empty() {
            out.push('\n');
        }
        write_blocks(out, &section.notes, 2);
    }
}

fn write_entry(out: &mut String, entry: &Entry) {
    let indent = " ".repeat(TEXT);
    let mut lines = Vec::new();
    lines.extend(entry.text.iter().flat_map(|text| wrap(text, WIDTH - TEXT)));
    let mut values = String::new();
    let explained = entry.values.iter().any(|(_, help)| !help.is_empty());
    if explained {
        write_terms(&mut values, &entry.values, TEXT, Style::new());
    } else if !entry.values.is_empty() {
        let words: Vec<_> = entry.values.iter().map(|(name, _)| name.as_str()).collect();
        lines.extend(wrap(&format!("One of {}.", words.join(", ")), WIDTH - TEXT));
    }
    let form = entry.form();
    if form.chars().count() + 4 > TEXT {
        let _ = writeln!(out, "  {OPTION}{form}{OPTION:#}");
    } else {
        let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
        let _ = writeln!(out, "  {} {first}", padded(&form, TEXT - 3, OPTION));
    }
    for line in lines {
        let _ = writeln!(out, "{indent}{line}");
    }
    out.push_str(&values);
    for line in wrap(&entry.facts, WIDTH - TEXT) {
        let _ = writeln!(out, "{indent}{line}");
    }
}

fn write_blocks(out: &mut String, blocks: &[Block], indent: usize) {
    for (number, block) in blocks.iter().enumerate() {
        // A text announces the lines or words that follow it.
        let announced = number > 0
            && matches!(blocks[number - 1], Block::Text(_))
            && !matches!(block, Block::Text(_));
        if number > 0 && !announced {
            out.push('\n');
        }
        match block {
            Block::Text(text) => {
                for line in wrap(text, WIDTH - indent) {
                    let _ = writeln!(out, "{}{line}", " ".repeat(indent));
                }
            }
            Block::Code(lines) => {
                for line in lines {
                    let _ = writeln!(out, "{}{line}", " ".repeat(indent + 2));
                }
            }
            Block::Terms(terms) => write_terms(out, terms, indent + 2, OPTION),
        }
    }
}

fn write_terms(out: &mut String, terms: &[(String, String)], indent: usize, style: Style) {
    let lengths = terms.iter().map(|(name, _)| name.chars().count());
    let longest = lengths.filter(|length| *length <= TERM_MAX).max().unwrap_or(0);
    let column = indent + longest + 2;
    for (name, what) in terms {
        let mut lines = wrap(what, WIDTH - column).into_iter();
        let margin = " ".repeat(indent);
        if name.chars().count() > longest {
            let _ = writeln!(out, "{margin}{style}{name}{style:#}");
        } else {
            let first = lines.next().unwrap_or_default();
            let line = format!("{margin}{}  {first}", padded(name, longest, style));
            let _ = writeln!(out, "{}", line.trim_end());
        }
        for line in lines {
            let _ = writeln!(out, "{}{line}", " ".repeat(column));
        }
    }
}

fn padded(text: &str, width: usize, style: Style) -> String {
    let rest = width.saturating_sub(text.chars().count());
    format!("{style}{text}{style:#}{}", " ".repeat(rest))
}

//! The files that are generated from the table: where each is, and what it holds.

use crate::page::Page;
use crate::render::{completions, manual, markdown};
use crate::{ckpt, ctl, ftmpiexec, servers, top, wrappers};
use clap::{Command, CommandFactory};

/// The reference of all options, below the top of the repository.
pub const REFERENCE: &str = "docs/reference/options.md";

fn programs() -> Vec<Command> {
    vec![
        ftmpiexec::Cli::command(),
        ckpt::CkptArgs::command(),
        ctl::CtlArgs::command(),
        top::TopArgs::command(),
        servers::EventLoggerArgs::command(),
        servers::CheckpointServerArgs::command(),
        servers::CheckpointSchedulerArgs::command(),
        servers::ChannelMemoryArgs::command(),
    ]
}

/// Pages of all programs.
#[must_use]
pub fn pages() -> Vec<Page> {
    let own = programs().into_iter().map(|command| match command.get_name() {
        "ftmpiexec" => ftmpiexec::page(),
        _ => Page::of(command, &[]),
    });
    own.chain(wrappers::NAMES.iter().map(|(name, language)| wrappers::page(name, language)))
        .collect()
}

/// The contents of [`REFERENCE`].
#[must_use]
pub fn reference() -> String {
    markdown::reference(&pages())
}

/// Manual pages and completions: paths below `share`, and contents.
#[must_use]
pub fn share() -> Vec<(String, String)> {
    let pages = pages();
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    let mut files = Vec::new();
    for page in &pages {
        let see: Vec<&str> = names.iter().copied().filter(|name| *name != page.name).collect();
        files.push((format!("man/man1/{}.1", page.name), manual::page(page, &see)));
    }
    for command in programs() {
        files.extend(completions::of_program(&command, command.get_name()));
    }
    for (name, _) in wrappers::NAMES {
        files.extend(completions::of_wrapper(name));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::terminal;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn all_commands(page: &Page) -> Vec<&Page> {
        std::iter::once(page).chain(page.commands.iter().flat_map(all_commands)).collect()
    }

    #[test]
    fn no_page_is_wider_than_a_terminal() {
        for page in &pages() {
            for page in all_commands(page) {
                let text = plain(&terminal::long(page));
                for line in text.lines() {
                    assert!(line.chars().count() <= terminal::WIDTH, "{}: {line}", page.name);
                    assert_eq!(line.trim_end(), line, "{}", page.name);
                }
                assert!(!page.about.is_empty(), "{}", page.name);
                let entries = page.sections.iter().flat_map(|section| &section.entries);
                for entry in entries {
                    assert!(
                        entry.text[0].len() > 5,
                        "{}: {:?} says nothing",
                        page.name,
                        entry.names
                    );
                }
            }
        }
    }

    #[test]
    fn every_program_has_a_manual_page_and_three_completions() {
        let files = share();
        assert_eq!(files.len(), 11 * 4);
        for (path, contents) in &files {
            assert!(contents.len() > 100, "{path}");
            assert!(!contents.contains("\u{1b}["), "{path} has colours");
        }
        let (_, fish) = files.iter().find(|(path, _)| path.ends_with("ftmpiexec.fish")).unwrap();
        assert!(fish.contains("pessimistic") && fish.contains("ckpt-interval"));
        let (_, man) = files.iter().find(|(path, _)| path.ends_with("ftmpiexec.1")).unwrap();
        assert!(man.contains("\\-\\-ckpt\\-interval") && man.contains(".SH CHECKPOINTS"));
        // A line that begins with a dot and is no macro would vanish.
        for line in man.lines().filter(|line| line.starts_with('.')) {
            let word = line.split(' ').next().unwrap();
            let known =
                [".TH", ".SH", ".SS", ".TP", ".B", ".RS", ".RE", ".nf", ".fi", ".PP", ".IP", ".br"];
            assert!(known.contains(&word), "{line}");
        }
    }

    #[test]
    fn the_reference_in_the_repository_is_up_to_date() {
        let file = format!("{}/../{REFERENCE}", env!("CARGO_MANIFEST_DIR"));
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            there == reference(),
            "{REFERENCE} is old: cargo run -p ftmpi-options -- reference ."
        );
    }
}

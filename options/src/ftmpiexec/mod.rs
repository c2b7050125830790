//! The options of `ftmpiexec`, one file for each group of headings, and the texts around them.
//!
//! To add an option, add a field to the struct of its heading. Help, man page, completions and
//! `docs/reference/options.md` follow; `ftmpi-pages` writes the last one.

mod command_line;
mod config_file;
mod fault_tolerance;
pub mod hydra_variables;
mod images;
mod normalize;
mod notes;
mod placement;
mod running;

pub use command_line::{Answer, CommandLine, parse, read, read_saved, read_with};
pub use fault_tolerance::FaultTolerance;
pub use images::{Checkpoints, Storage};
pub use notes::POINTS;
pub use placement::{Environment, Part, Placement};
pub use running::{Batch, Help, Ignored, Network, Output, Testing};

use crate::page::{Block, Page, Section};
use clap::{CommandFactory, Parser};

/// Starts MPI programs and restarts their ranks when ranks, servers or hosts die.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ftmpiexec",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = "ftmpiexec [options] -n N program [arguments] [: -n N program ...]"
)]
#[allow(missing_docs, reason = "the type of each field has the documentation")]
pub struct Cli {
    #[command(flatten)]
    pub part: Part,
    #[command(flatten)]
    pub placement: Placement,
    #[command(flatten)]
    pub environment: Environment,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub fault_tolerance: FaultTolerance,
    #[command(flatten)]
    pub checkpoints: Checkpoints,
    #[command(flatten)]
    pub storage: Storage,
    #[command(flatten)]
    pub batch: Batch,
    #[command(flatten)]
    pub network: Network,
    #[command(flatten)]
    pub testing: Testing,
    #[command(flatten)]
    pub ignored: Ignored,
    #[command(flatten)]
    pub help: Help,
}

/// A part after the first `:`.
#[derive(Debug, Clone, Parser)]
#[command(name = "ftmpiexec", disable_help_flag = true)]
pub struct LaterPart {
    /// Everything that it may say.
    #[command(flatten)]
    pub part: Part,
}

/// Options that `-h` shows.
pub const COMMON: &[&str] = &[
    "np",
    "hosts",
    "machinefile",
    "ppn",
    "prepend-rank",
    "protocol",
    "ckpt-interval",
    "job-dir",
    "restart",
    "inject",
    "report",
    "doctor",
];

/// Options (by field) that are part of a job and of its images: `--restart` refuses them.
pub const FIXED_AT_RESTART: &[&str] = &[
    "env",
    "envlist",
    "envnone",
    "envall",
    "genv",
    "genvlist",
    "genvnone",
    "genvall",
    "wdir",
    "usize",
    "protocol",
    "disable_auto_cleanup",
    "cluster",
    "between",
    "wave",
    "piggyback",
    "event_logger",
    "event_loggers",
    "stable_vector",
    "acknowledge",
    "events",
    "wtime",
    "channel_memories",
    "tracking",
    "object_store",
    "encrypt_images",
    "cpu_baseline",
    "image_logs",
];

/// The page of `ftmpiexec`: its options, and the notes of each heading.
#[must_use]
pub fn page() -> Page {
    let mut page = Page::of(Cli::command(), COMMON);
    for (heading, topic, blocks) in notes::all() {
        match page.sections.iter_mut().find(|section| section.heading == heading) {
            Some(section) => section.notes = blocks,
            None => page.sections.push(Section {
                heading: heading.to_owned(),
                topic: topic.to_owned(),
                entries: Vec::new(),
                notes: blocks,
            }),
        }
    }
    page.examples = vec![Block::Code(notes::EXAMPLES.lines().map(str::to_owned).collect())];
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_accepts_the_table() {
        Cli::command().debug_assert();
        LaterPart::command().debug_assert();
    }

    #[test]
    fn options_that_are_named_elsewhere_exist() {
        let command = Cli::command();
        let ids: Vec<_> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        for fixed in FIXED_AT_RESTART {
            assert!(ids.iter().any(|id| id == fixed), "{fixed}");
        }
        let longs: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for common in COMMON {
            assert!(longs.contains(common), "{common}");
        }
    }

    #[test]
    fn completions_know_all_topics() {
        let page = page();
        let mut topics = vec!["all", "topics", "examples"];
        topics.extend(page.topics());
        assert_eq!(running::TOPICS, topics);
    }

    /// A reader must learn from the page what happens without the option.
    #[test]
    fn each_option_with_a_value_says_what_holds_without_it() {
        const NOTHING: &[&str] = &[
            "--env",
            "--genv",
            "--envlist",
            "--machinefile",
            "--configfile",
            "--outfile-pattern",
            "--errfile-pattern",
            "--report",
            "--trace",
            "--diagram",
            "--advise",
            "--metrics",
            "--dashboard",
            "--restart",
            "--inject",
            "--help",
            "--object-store",
        ];
        for entry in page().sections.iter().flat_map(|section| &section.entries) {
            let name = entry.names.last().unwrap();
            let says = format!("{} {:?} {}", entry.text.join(" "), entry.values, entry.facts);
            let known = says.contains("Default: ") || says.contains("(default)");
            let silent = entry.value.is_empty() || NOTHING.contains(&name.as_str());
            assert!(known != silent || says.contains("(default)"), "{name}: {says}");
        }
    }
}

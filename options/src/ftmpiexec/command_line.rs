//! A whole command line of `ftmpiexec`: options, programs, and what continues an earlier one.

use super::hydra_variables::{self, Hint};
use super::normalize::{self, Normal, normalize};
use super::{Cli, LaterPart, Part, config_file, page};
use crate::choices::{BatchSystemChoice, LauncherKind};
use crate::errors::OptionError;
use crate::render;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use std::collections::HashSet;
use std::path::PathBuf;

/// A command line.
#[derive(Debug, Clone)]
pub struct CommandLine {
    /// Options for the whole job.
    pub cli: Cli,
    /// The `:`-separated parts.
    pub parts: Vec<Part>,
    /// The options of the first part in their one form, without the program.
    pub options: Vec<String>,
    /// Lines about variables that do not count, for `--verbose`.
    pub notes: Vec<String>,
    /// Names of the fields that were given, not left at their defaults.
    given: HashSet<String>,
    /// Those of them that a variable gave.
    hints: Vec<Hint>,
}

/// Why there is no [`CommandLine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Text that was asked for.
    Help(String),
    /// The command line cannot be followed.
    Wrong(OptionError),
}

impl From<OptionError> for Answer {
    fn from(error: OptionError) -> Self {
        Self::Wrong(error)
    }
}

impl CommandLine {
    /// Whether the option of this field was given.
    #[must_use]
    pub fn gave(&self, field: &str) -> bool {
        self.given.contains(field)
    }

    /// The fields that were given, in alphabetical order.
    #[must_use]
    pub fn given(&self) -> Vec<&str> {
        let mut given: Vec<&str> = self.given.iter().map(String::as_str).collect();
        given.sort_unstable();
        given
    }

    /// Whether the option of this field comes from a variable.
    #[must_use]
    pub fn gave_by_variable(&self, field: &str) -> bool {
        self.hints.iter().any(|hint| hint.field == field)
    }

    /// Without the option of this field, if it comes from a variable: the variable does not count,
    /// for this reason.
    #[must_use]
    pub fn without_variable(&self, field: &str, why: &str) -> Self {
        let mut line = self.clone();
        let Some(at) = line.hints.iter().position(|hint| hint.field == field) else { return line };
        let hint = line.hints.remove(at);
        line.notes.push(hint.note(why));
        line.given.remove(field);
        if let Some(at) = line.options.iter().position(|word| *word == hint.word) {
            line.options.remove(at);
        }
        let (placement, network) = (&mut line.cli.placement, &mut line.cli.network);
        match field {
            "machinefile" => placement.machinefile = None,
            "rmk" => placement.rmk = BatchSystemChoice::Auto,
            "launcher" => network.launcher = LauncherKind::Auto,
            "rsh" => network.rsh = None,
            "interface" => network.interface = None,
            "port_range" => network.port_range = None,
            "bind_to" => placement.bind_to = None,
            "map_by" => placement.map_by = None,
            "membind" => placement.membind = None,
            _ => network.rsh_options = None,
        }
        line
    }

    /// As the command line that continues this earlier one. A variable stands for what neither of
    /// them has. A machine file of the same name is read again, whoever names it.
    #[must_use]
    pub fn after(&self, earlier: &Self) -> Self {
        const HOW: &[&str] = &["launcher", "rsh"];
        let file = |line: &Self| line.cli.placement.machinefile.clone();
        let mut line = self.clone();
        for (field, alternatives) in [
            ("machinefile", ["hosts", "machinefile"].as_slice()),
            ("launcher", HOW),
            ("rsh", HOW),
            ("rsh_options", &["rsh_options"]),
            ("rmk", &["rmk"]),
            ("interface", &["interface"]),
            ("port_range", &["port_range"]),
            ("bind_to", &["bind_to"]),
            ("map_by", &["bind_to", "map_by"]),
            ("membind", &["membind"]),
        ] {
            let same = field == "machinefile" && file(self) == file(earlier);
            if !same && alternatives.iter().any(|field| earlier.gave(field)) {
                line = line.without_variable(field, "the first command line says it");
            }
        }
        line
    }

    /// The options of an earlier command line, replaced where this one has them. What is part of
    /// the job ([`super::FIXED_AT_RESTART`]) stays.
    #[must_use]
    pub fn over(&self, mut earlier: Cli) -> Cli {
        let later = &self.cli;
        if self.gave("hosts") || self.gave("machinefile") {
            let placement = &mut earlier.placement;
            (placement.hosts, placement.machinefile) = (None, None);
            (placement.ppn, placement.rankmap) = (None, None);
        }
        macro_rules! take {
            ($($group:ident: $($field:ident)*;)*) => {
                $($(if self.gave(stringify!($field)) {
                    earlier.$group.$field = later.$group.$field.clone();
                })*)*
            };
        }
        take! {
            placement: hosts machinefile ppn rankmap bind_to map_by membind rmk;
            output: prepend_rank prepend_pattern print_all_exitcodes output outfile_pattern
                    errfile_pattern report trace trace_messages progress metrics dashboard ui
                    verbose;
            fault_tolerance: max_restarts standby recovery log_limit log_reserve event_rings storage_patience
                             detect launcher_patience memory_limit stall health_command health_interval;
            checkpoints: ckpt_interval ckpt ckpt_policy ckpt_incremental compress image_key;
            storage: images local_dir image_space;
            batch: grace timeout;
            network: transport launcher launch_at_once interface port_range rsh rsh_options remote_path;
            testing: doctor;
        }
        // Faults belong to one run.
        earlier.testing.inject.clone_from(&later.testing.inject);
        earlier
    }
}

/// Reads the command line. Prints help or an error and ends the process where there is nothing to
/// do.
#[must_use]
pub fn parse(arguments: Vec<String>) -> CommandLine {
    match read(arguments) {
        Ok(line) => line,
        Err(Answer::Help(text)) => {
            crate::terminal::print(&text);
            std::process::exit(0)
        }
        Err(Answer::Wrong(error)) => {
            crate::terminal::complain("ftmpiexec", &error);
            std::process::exit(i32::from(crate::terminal::WRONG))
        }
    }
}

/// Reads a command line, and the variables that stand for some of its options.
///
/// # Errors
/// Help that was asked for, or what is wrong.
pub fn read(arguments: Vec<String>) -> Result<CommandLine, Answer> {
    read_with(arguments, |name| std::env::var(name).ok())
}

/// Reads the options that an earlier command line led to. Variables of today change nothing.
///
/// # Errors
/// As [`read`].
pub fn read_saved(options: &[String]) -> Result<CommandLine, Answer> {
    let words = std::iter::once("ftmpiexec".to_owned()).chain(options.iter().cloned());
    // They are of one part: a colon among them is a value.
    read_parts(vec![words.collect()], |_| None)
}

/// As [`read`], with these variables.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    arguments: Vec<String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CommandLine, Answer> {
    read_parts(normalize::split_parts(arguments), variable)
}

fn read_parts(
    mut groups: Vec<Vec<String>>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<CommandLine, Answer> {
    let mut first = words_of(normalize(&Cli::command(), std::mem::take(&mut groups[0]))?)?;
    let mut rest = groups.split_off(1);
    let mut matches = matches_of(&first)?;
    if let Some(file) = matches.get_one::<PathBuf>("configfile") {
        let command = cli_of(&matches)?.part.command;
        let parts = config_file::parts(file, !command.is_empty() || !rest.is_empty())?;
        let mut lines = parts.into_iter();
        // Options for the whole job may stand before the file and in its first line.
        config_file::forget(&mut first);
        first.extend(lines.next().unwrap_or_default());
        first = words_of(normalize(&Cli::command(), first)?)?;
        rest = lines.collect();
        matches = matches_of(&first)?;
    }
    let gave = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let (hints, notes) = hydra_variables::find(gave, variable);
    if !hints.is_empty() {
        first.splice(1..1, hints.iter().map(|hint| hint.word.clone()));
        matches = matches_of(&first)?;
    }
    let cli = cli_of(&matches)?;
    let given = matches
        .ids()
        .map(clap::Id::as_str)
        .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
        .map(str::to_owned)
        .collect();
    let program = cli.part.command.len();
    let options = first.get(1..first.len() - program).unwrap_or_default().to_vec();
    let mut parts = vec![cli.part.clone()];
    for group in rest {
        parts.push(later_part(group)?);
    }
    Ok(CommandLine { cli, parts, options, notes, given, hints })
}

fn matches_of(words: &[String]) -> Result<ArgMatches, OptionError> {
    let command = Cli::command();
    let found = command.clone().try_get_matches_from(words);
    found.map_err(|error| match OptionError::of_parser(&error, &command) {
        // The only option that the environment can give.
        OptionError::Value { option, what }
            if option == "--timeout"
                && !words.iter().any(|word| word.starts_with("--timeout=")) =>
        {
            OptionError::Value { option: "MPIEXEC_TIMEOUT".to_owned(), what }
        }
        error => error,
    })
}

fn cli_of(matches: &ArgMatches) -> Result<Cli, OptionError> {
    Cli::from_arg_matches(matches).map_err(|error| OptionError::of_parser(&error, &Cli::command()))
}

fn later_part(group: Vec<String>) -> Result<Part, Answer> {
    let arguments: Vec<String> = std::iter::once("ftmpiexec".to_owned()).chain(group).collect();
    let command = LaterPart::command();
    let words = match normalize(&command, arguments.clone()) {
        Ok(normal) => words_of(normal)?,
        Err(error) => {
            // An option that is known, but not here.
            let known = normalize(&Cli::command(), arguments);
            return Err(Answer::Wrong(match (error, known) {
                (
                    OptionError::Misspelled { option, .. }
                    | OptionError::Unknown { option, .. }
                    | OptionError::Foreign { option, .. },
                    Ok(_),
                ) => OptionError::Late(option),
                (_, Err(error)) => error,
                (error, _) => error,
            }));
        }
    };
    let part = LaterPart::try_parse_from(words);
    Ok(part.map_err(|error| OptionError::of_parser(&error, &command))?.part)
}

/// The words, or the help that was asked for.
fn words_of(normal: Normal) -> Result<Vec<String>, Answer> {
    Err(match normal {
        Normal::Words(words) => return Ok(words),
        Normal::ShortHelp => Answer::Help(render::terminal::short(&page())),
        Normal::Version => Answer::Help(format!("ftmpiexec {}\n", env!("CARGO_PKG_VERSION"))),
        Normal::Help(topic) => match help(topic.as_deref()) {
            Ok(text) => Answer::Help(text),
            Err(error) => Answer::Wrong(error),
        },
    })
}

/// Everything, one heading, or one option.
fn help(topic: Option<&str>) -> Result<String, OptionError> {
    let page = page();
    let Some(topic) = topic.filter(|topic| *topic != "all") else {
        return Ok(render::terminal::long(&page));
    };
    if topic == "topics" {
        return Ok(page.topics().join("\n") + "\n");
    }
    if let Some(section) = page.sections.iter().find(|section| section.topic == topic) {
        return Ok(render::terminal::topic(section));
    }
    if topic == "examples" {
        return Ok(render::terminal::examples(&page));
    }
    let name = topic.trim_start_matches('-');
    let entries = page.sections.iter().flat_map(|section| &section.entries);
    let is = |entry: &&crate::page::Entry| {
        entry.names.iter().any(|known| known.trim_start_matches('-') == name)
    };
    entries.clone().find(is).map(render::terminal::option).ok_or_else(|| OptionError::Topic {
        topic: topic.to_owned(),
        topics: page.topics().into_iter().map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::FIXED_AT_RESTART;
    use super::*;

    fn command_line(line: &str) -> CommandLine {
        read(line.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
    }

    #[test]
    fn a_continued_job_keeps_its_options_unless_others_are_given() {
        let line = "ftmpiexec -n 2 -hosts a,b -ppn 2 --ckpt-interval 9s -l --inject kill:rank=1,at=1s \
                    ./prog -hosts x";
        let first = command_line(line);
        let last = first.options.last().map(String::as_str);
        assert_eq!(last, Some("--inject=kill:rank=1,at=1s"));
        let stored: Vec<_> = std::iter::once("ftmpiexec".to_owned()).chain(first.options).collect();
        let merged = |line: &str| command_line(line).over(read(stored.clone()).unwrap().cli);
        let same = merged("ftmpiexec --restart d");
        assert_eq!((same.placement.hosts.as_deref(), same.placement.ppn), (Some("a,b"), Some(2)));
        assert_eq!((same.checkpoints.ckpt_interval.as_secs(), same.output.prepend_rank), (9, true));
        assert!(same.testing.inject.is_empty(), "a fault is not repeated");
        let other = merged("ftmpiexec --restart d -f hosts --ckpt-interval 30s");
        assert_eq!((other.placement.hosts.as_deref(), other.placement.ppn), (None, None));
        assert_eq!(other.placement.machinefile, Some("hosts".into()));
        assert_eq!(other.checkpoints.ckpt_interval.as_secs(), 30);
    }

    #[test]
    fn a_value_that_is_a_colon_is_no_end_of_a_part() {
        let first = command_line("ftmpiexec -env=: X -n 2 ./prog");
        let earlier = read_saved(&first.options).unwrap();
        assert_eq!(earlier.options, first.options);
        assert_eq!((first.parts.len(), earlier.parts.len()), (1, 1));
    }

    /// An option that is forgotten here would be ignored after `--restart` without a message.
    #[test]
    fn every_option_is_fixed_or_may_change_at_a_restart() {
        const APART: &[&str] = &[
            "ranks",
            "command",
            "configfile",
            "job_dir",
            "restart",
            "auto_restart",
            "join",
            "inject",
            "oversubscribe",
            "allow_run_as_root",
            "advise",
            "mtbf",
            "diagram",
            "window",
            "short_help",
            "help",
            "version",
        ];
        let source = include_str!("command_line.rs");
        let begin = source.find("        take! {").unwrap();
        let taken = &source[begin..begin + source[begin..].find('}').unwrap()];
        let taken: Vec<&str> = taken.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        for arg in Cli::command().get_arguments() {
            let id = arg.get_id().as_str();
            let classes =
                [FIXED_AT_RESTART.contains(&id), taken.contains(&id), APART.contains(&id)];
            assert_eq!(classes.iter().filter(|class| **class).count(), 1, "{id}");
        }
    }

    #[test]
    fn hydra_command_lines_are_understood() {
        let line = command_line(
            "ftmpiexec -np 2 -hosts a,b:3 -ppn 2 -genv A 1 -env B 2 -prepend-rank -wdir /tmp \
             ./prog -n 7 --x : -n 3 -env C 3 ./other -l",
        );
        let (cli, parts) = (line.cli, line.parts);
        assert_eq!(cli.placement.hosts.as_deref(), Some("a,b:3"));
        assert_eq!(cli.placement.ppn, Some(2));
        assert_eq!(cli.environment.genv, ["A", "1"]);
        assert!(cli.output.prepend_rank);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].ranks, Some(2));
        assert_eq!(parts[0].env, ["B", "2"]);
        assert_eq!(parts[0].command, ["./prog", "-n", "7", "--x"]);
        assert_eq!(parts[1].ranks, Some(3));
        assert_eq!(parts[1].command, ["./other", "-l"]);
        let line = command_line("ftmpiexec -l -n 2 -machinefile hosts hostname");
        assert!(line.cli.output.prepend_rank && line.gave("machinefile") && !line.gave("protocol"));
        assert_eq!(line.cli.placement.machinefile, Some("hosts".into()));
    }

    #[test]
    fn variables_of_hydra_count_as_options_that_were_given() {
        let read = |line: &str| {
            let words = line.split_whitespace().map(str::to_owned).collect();
            read_with(words, |name| match name {
                "HYDRA_HOST_FILE" => Some("/etc/mpi/hostfile".to_owned()),
                "HYDRA_LAUNCH_EXTRA_ARGS" => Some("-o X=1".to_owned()),
                _ => None,
            })
            .unwrap()
        };
        let line = read("ftmpiexec -genv A 1 -n 2 ./prog -f x");
        assert_eq!(line.cli.placement.machinefile, Some("/etc/mpi/hostfile".into()));
        assert_eq!(line.cli.network.rsh_options.as_deref(), Some("-o X=1"));
        assert!(line.gave("machinefile") && line.gave("ranks"));
        // The job knows them when it goes on without the variables.
        assert!(line.options.contains(&"--machinefile=/etc/mpi/hostfile".to_owned()));
        let line = read("ftmpiexec -hosts a -n 2 ./prog");
        assert_eq!(line.cli.placement.machinefile, None);
    }

    fn with(line: &str, variables: &[(&str, &str)]) -> CommandLine {
        let words = line.split_whitespace().map(str::to_owned).collect();
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        read_with(words, get).unwrap()
    }

    #[test]
    fn a_saved_line_beats_variables_and_options_beat_both() {
        let variables =
            [("HYDRA_HOST_FILE", "new"), ("HYDRA_LAUNCHER", "ssh"), ("HYDRA_RMK", "pbs")];
        let first = with("ftmpiexec -f old --rsh my -n 2 ./prog", &[]);
        let earlier = read_saved(&first.options).unwrap();
        let merged = |line: &CommandLine| {
            let line = line.after(&earlier);
            (line.over(earlier.cli.clone()), line)
        };
        let (cli, line) = merged(&with("ftmpiexec --restart d", &variables));
        assert_eq!(cli.placement.machinefile, Some("old".into()));
        assert!(!line.gave("machinefile") && line.cli.placement.machinefile.is_none());
        assert_eq!(
            (cli.network.launcher, cli.network.rsh.as_deref()),
            (LauncherKind::Auto, Some("my"))
        );
        assert_eq!(cli.placement.rmk, BatchSystemChoice::Pbs, "the first line did not say it");
        assert!(
            line.notes[0].starts_with("HYDRA_HOST_FILE=new counts as not set"),
            "{:?}",
            line.notes
        );
        let (cli, line) = merged(&with("ftmpiexec --restart d -f newer --rmk lsf", &variables));
        assert_eq!(cli.placement.machinefile, Some("newer".into()));
        assert!(cli.placement.rmk == BatchSystemChoice::Lsf && line.gave("machinefile"));
        // The file of the first line has other hosts now.
        let (_, line) = merged(&with("ftmpiexec --restart d", &[("HYDRA_HOST_FILE", "old")]));
        assert!(line.gave("machinefile"));
    }

    #[test]
    fn a_variable_that_does_not_count_leaves_nothing() {
        let line = with("ftmpiexec -n 2 ./prog --rmk=pbs", &[("HYDRA_RMK", "pbs")]);
        for (name, value, field) in [
            ("HYDRA_IFACE", "ib0", "interface"),
            ("MPIEXEC_PORT_RANGE", "5000:5100", "port_range"),
            ("HYDRA_BINDING", "core", "bind_to"),
        ] {
            let line = with("ftmpiexec -n 2 ./prog", &[(name, value)]);
            let left = line.without_variable(field, "why");
            assert!(line.gave(field) && !left.gave(field) && left.options.len() == 1, "{name}");
            let none = (left.cli.network.interface, left.cli.network.port_range);
            assert_eq!((none, left.cli.placement.bind_to), ((None, None), None));
        }
        assert!(line.gave_by_variable("rmk") && line.options.contains(&"--rmk=pbs".to_owned()));
        let line = line.without_variable("rmk", "why");
        assert!(!line.gave("rmk") && !line.gave_by_variable("rmk"));
        assert_eq!((line.cli.placement.rmk, line.options.len()), (BatchSystemChoice::Auto, 1));
        assert_eq!(line.notes, ["HYDRA_RMK=pbs counts as not set: why"]);
        assert_eq!(line.parts[0].command, ["./prog", "--rmk=pbs"]);
        // An option stays.
        let line = with("ftmpiexec --rmk pbs -n 2 ./prog", &[]).without_variable("rmk", "why");
        assert!(line.gave("rmk") && line.notes.is_empty());
    }

    #[test]
    fn a_file_names_the_parts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-n 2 -l ./a 'b c'\n# more\n-n 1 -env X 1 ./d\n").unwrap();
        let path = file.path().to_str().unwrap();
        let line = command_line(&format!("ftmpiexec -genv A 1 -configfile {path}"));
        assert_eq!((line.cli.environment.genv.len(), line.cli.output.prepend_rank), (2, true));
        let parts: Vec<_> = line.parts.iter().map(|part| (part.ranks, &part.command)).collect();
        assert_eq!(parts[0], (Some(2), &vec!["./a".to_owned(), "b c".to_owned()]));
        assert_eq!(parts[1], (Some(1), &vec!["./d".to_owned()]));
        let same = ["--genv", "A", "1", "--np=2", "--prepend-rank"];
        assert_eq!(line.options, same, "as without the file");
        for wrong in ["-configfile FILE ./x", "-configfile FILE : ./x", "-configfile /no/such"] {
            let line = format!("ftmpiexec {}", wrong.replace("FILE", path));
            assert!(read(line.split_whitespace().map(str::to_owned).collect()).is_err(), "{line}");
        }
    }
}

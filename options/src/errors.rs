//! What is wrong with a command line: every text of it, for all programs.
//!
//! Guarantee: each text is one line that says what is wrong and what to write instead. The texts of
//! the parser library never reach the user.

use crate::foreign;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use thiserror::Error;

/// A command line that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("there is no option {option}; did you mean {near}?")]
    Misspelled {
        /// As it was written.
        option: String,
        /// The option that looks most like it.
        near: String,
    },
    /// There is no such option, and none that looks like it.
    #[error("there is no option {option}; {program} --help lists all options")]
    Unknown {
        /// As it was written.
        option: String,
        /// Whose.
        program: String,
    },
    /// Another launcher has this option.
    #[error("{option} is an option of {owner}; {instead}")]
    Foreign {
        /// As it was written.
        option: String,
        /// The other launcher.
        owner: &'static str,
        /// What to write here.
        instead: &'static str,
    },
    /// The value is not accepted.
    #[error("{option}: {what}")]
    Value {
        /// Which option.
        option: String,
        /// What is wrong, and what is accepted.
        what: String,
    },
    /// The value is not one of the words.
    #[error("{option}: `{value}` is unknown; {}", choice(words, near.as_deref()))]
    Word {
        /// Which option.
        option: String,
        /// As it was written.
        value: String,
        /// What is accepted.
        words: Vec<String>,
        /// The word that looks most like it.
        near: Option<String>,
    },
    /// The value is missing.
    #[error("{form} has no value; write {form} {value}")]
    NoValue {
        /// The option.
        form: String,
        /// The name of its value.
        value: String,
    },
    /// A value for an option without value.
    #[error("{0} takes no value; write {0} alone")]
    NeedlessValue(String),
    /// The same option again.
    #[error("{0} is given twice; give it once")]
    Twice(String),
    /// Two options that exclude each other.
    #[error("{0} and {1} cannot be used together; drop one of them")]
    Conflict(String, String),
    /// A required option or word is missing.
    #[error("{what} is missing; {program} --help shows how to call it")]
    Missing {
        /// What.
        what: String,
        /// Whose.
        program: String,
    },
    /// A word that has no place.
    #[error("`{word}` is one word too many; {program} --help shows how to call it")]
    Surplus {
        /// The word.
        word: String,
        /// Whose.
        program: String,
    },
    /// A program with commands has no such command.
    #[error("there is no command {command}; {}", choice(words, near.as_deref()))]
    Command {
        /// As it was written.
        command: String,
        /// Those that there are.
        words: Vec<String>,
        /// The one that looks most like it.
        near: Option<String>,
    },
    /// A program with commands got none.
    #[error("which command? write {program} {}", words.join("|"))]
    NoCommand {
        /// Whose.
        program: String,
        /// Those that there are.
        words: Vec<String>,
    },
    /// An option for the whole job in a later part.
    #[error("{0} is for the whole job; write it before the first `:`")]
    Late(String),
    /// `--help` with a word that is neither a topic nor an option.
    #[error("there is no help about {topic}; topics are {}", topics.join(", "))]
    Topic {
        /// As it was written.
        topic: String,
        /// Those that there are.
        topics: Vec<String>,
    },
    /// The file of `--configfile` cannot be used.
    #[error("--configfile {file}: {what}")]
    ConfigFile {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: ConfigFileProblem,
    },
    /// Any other finding of the parser.
    #[error("this command line cannot be read; {0} --help shows how to call it")]
    Other(String),
}

/// What is wrong with the file of `--configfile`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigFileProblem {
    /// The command line names a program as well.
    #[error("the file names the programs; name none on the command line")]
    OtherPrograms,
    /// The file cannot be read: the answer of the system.
    #[error("{0}; name a file that can be read")]
    Unreadable(String),
    /// The file is too long.
    #[error("it has more than {most} bytes; use a shorter file")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// A quote is not closed.
    #[error("line {number}: a quote has no end; close it: {line}")]
    OpenQuote {
        /// Number of the line, from 1 on.
        number: usize,
        /// The line.
        line: String,
    },
    /// A colon between parts.
    #[error("line {number}: `:` has no place in the file; begin a new line")]
    Colon {
        /// Number of the line, from 1 on.
        number: usize,
    },
    /// Nothing to run.
    #[error("it names no program; write a line such as `-n 4 ./prog`")]
    NoProgram,
}

fn choice(words: &[String], near: Option<&str>) -> String {
    let all = words.join(", ");
    match near {
        Some(near) => format!("did you mean {near}? (accepted: {all})"),
        None => format!("write one of {all}"),
    }
}

/// The word that looks most like this one, if any looks like it.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.collect();
    let best = known.iter().map(|known| (distance(word, known), *known)).min()?;
    let allowed = 1 + word.chars().count() / 5;
    if best.0 <= allowed && word.chars().count() > 1 {
        return Some(best.1.to_owned());
    }
    let mut longer = known.iter().filter(|known| word.len() >= 4 && known.starts_with(word));
    longer.next().map(|known| (*known).to_owned())
}

/// Letters that must be changed, added, removed or swapped.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut cost =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                cost = cost.min(rows[i - 1][j - 1] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

impl OptionError {
    /// There is no such option: a similar one, what another launcher's means here, or where to
    /// look.
    #[must_use]
    pub fn unknown(option: &str, command: &clap::Command) -> Self {
        let program = command.get_name().to_owned();
        let option = option.split('=').next().unwrap_or(option).to_owned();
        let name = option.trim_start_matches('-');
        if program == "ftmpiexec"
            && let Some((owner, instead)) = foreign::advice(&option)
        {
            return Self::Foreign { option, owner, instead };
        }
        let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let longs: Vec<&str> = visible
            .flat_map(|arg| {
                arg.get_long().into_iter().chain(arg.get_visible_aliases().unwrap_or_default())
            })
            .collect();
        match nearest(name, longs.into_iter()) {
            Some(near) => Self::Misspelled { option, near: format!("--{near}") },
            None => Self::Unknown { option, program },
        }
    }

    /// What the parser library found, in our words. `command` is the (sub-)command that was read.
    #[must_use]
    pub fn of_parser(error: &clap::Error, command: &clap::Command) -> Self {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => text.clone(),
            Some(ContextValue::Strings(texts)) => texts.join(" "),
            _ => String::new(),
        };
        let list = |kind| match error.get(kind) {
            Some(ContextValue::Strings(texts)) => texts.clone(),
            Some(ContextValue::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        };
        let program = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
        let arg = text(ContextKind::InvalidArg);
        let (option, value_name) = split(&arg);
        let value = text(ContextKind::InvalidValue);
        let words = || -> Vec<String> {
            command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect()
        };
        match error.kind() {
            ErrorKind::InvalidValue if value.is_empty() => {
                Self::NoValue { form: option, value: value_name }
            }
            ErrorKind::InvalidValue => {
                let words = list(ContextKind::ValidValue);
                let near = nearest(&value, words.iter().map(String::as_str));
                Self::Word { option, value, words, near }
            }
            ErrorKind::ValueValidation => {
                let source = std::error::Error::source(error).map(ToString::to_string);
                let what = source.unwrap_or_else(|| format!("`{value}` is not accepted"));
                Self::Value { option, what }
            }
            ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
                Self::NoValue { form: option, value: value_name }
            }
            ErrorKind::TooManyValues if option.starts_with('-') => Self::NeedlessValue(option),
            ErrorKind::TooManyValues => Self::Surplus { word: value, program },
            ErrorKind::ArgumentConflict => {
                let other = list(ContextKind::PriorArg).first().map(|arg| split(arg).0);
                match other {
                    Some(other) if other != option => Self::Conflict(option, other),
                    _ => Self::Twice(option),
                }
            }
            ErrorKind::UnknownArgument if arg.starts_with('-') => Self::unknown(&arg, command),
            ErrorKind::UnknownArgument => Self::Surplus { word: arg, program },
            ErrorKind::InvalidSubcommand => {
                let name = text(ContextKind::InvalidSubcommand);
                let near = nearest(&name, words().iter().map(String::as_str));
                Self::Command { command: name, words: words(), near }
            }
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Self::NoCommand { program, words: words() }
            }
            ErrorKind::MissingRequiredArgument => Self::Missing {
                what: list(ContextKind::InvalidArg)
                    .iter()
                    .map(|arg| arg.replace(['<', '>'], ""))
                    .collect::<Vec<_>>()
                    .join(" and "),
                program,
            },
            _ => Self::Other(program),
        }
    }
}

/// `--report <FILE>` is the option `--report` with a value called `FILE`.
fn split(arg: &str) -> (String, String) {
    let plain = arg.replace(['<', '>', '[', ']'], "").replace('=', " ").replace("...", "");
    let (option, value) = plain.split_once(' ').unwrap_or((&plain, ""));
    // Nearly everybody writes the short name of this one.
    let option = if option == "--np" { "-n" } else { option };
    (option.to_owned(), value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_alike_are_found() {
        let known = ["protocol", "ckpt-interval", "hosts", "report"];
        let near = |word| nearest(word, known.into_iter());
        assert_eq!(near("protocl"), Some("protocol".into()));
        assert_eq!(near("ckpt-intreval"), Some("ckpt-interval".into()));
        assert_eq!(near("host"), Some("hosts".into()));
        assert_eq!(near("prot"), Some("protocol".into()));
        assert_eq!(near("nonsense"), None);
        assert_eq!(near(""), None);
    }
}

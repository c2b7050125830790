//! The options of `ftmpi-ctl`.

use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use thiserror::Error;

/// Looks at a running job, moves its ranks, empties hosts, asks for images, ends it.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ftmpi-ctl",
    version,
    disable_help_subcommand = true,
    override_usage = "ftmpi-ctl [JOB] COMMAND [arguments]"
)]
pub struct CtlArgs {
    /// The job: its directory, or the process number of its ftmpiexec
    ///
    /// Also the first word of the command line. Default: the only job of yours that runs on this
    /// host.
    #[arg(long, global = true, value_name = "JOB", help_heading = "Options for all commands")]
    pub job: Option<String>,
    /// Write JSON instead of text
    #[arg(long, global = true, help_heading = "Options for all commands")]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// The commands.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum CtlCommand {
    /// Lists your jobs that run on this host.
    List,
    /// Shows hosts, ranks, images, servers, failures and moves.
    Status,
    /// Shows which ranks wait for whom, in which call, and since when; names deadlocks.
    #[command(visible_alias = "stacks")]
    Waits,
    /// Takes an image of every rank now, and waits for the images.
    #[command(visible_alias = "images")]
    Image,
    /// Moves a rank to another host: `migrate rank=3 to=HOST`.
    Migrate {
        /// The rank and the host: rank=N to=HOST
        #[arg(value_names = ["rank=N", "to=HOST"], num_args = 2, required = true, value_parser = move_word)]
        words: Vec<MoveWord>,
    },
    /// Moves all ranks away from a host; none begins there any more.
    Drain {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
    },
    /// Lets a host take ranks again.
    Undrain {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
    },
    /// Lets a host join the job; it takes ranks when others move or fail.
    Add {
        /// The host, as -hosts names it
        #[arg(value_name = "HOST[:SLOTS]")]
        host: String,
    },
    /// Says what monitoring knows of a host; ranks leave a host that is not good.
    Health {
        /// The host
        #[arg(value_name = "HOST")]
        host: String,
        /// What is known
        #[arg(value_name = "HEALTH", value_enum)]
        health: HealthChoice,
        /// Why, in one line
        ///
        /// Default: none.
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Takes last images and stops the job; ftmpiexec --restart goes on with it.
    End,
}

/// What monitoring says about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HealthChoice {
    /// Nothing is wrong: ranks may be there.
    Good,
    /// The host may fail soon: early images, and its ranks move.
    Bad,
    /// The host is to be emptied.
    Drain,
}

/// A word behind `migrate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveWord {
    /// `rank=N`
    Rank(u32),
    /// `to=HOST`
    To(String),
}

/// A word behind `migrate` that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MoveWordError {
    /// It is neither `rank=` nor `to=`.
    #[error("`{0}` is unknown; write for example migrate rank=3 to=node7")]
    Unknown(String),
    /// The rank is no number.
    #[error("`{0}` is not the number of a rank; write for example rank=3")]
    Rank(String),
    /// The same twice.
    #[error("{0} is there twice; write for example migrate rank=3 to=node7")]
    Twice(&'static str),
}

fn move_word(text: &str) -> Result<MoveWord, MoveWordError> {
    match text.split_once('=') {
        Some(("rank", number)) => {
            number.parse().map(MoveWord::Rank).map_err(|_| MoveWordError::Rank(number.to_owned()))
        }
        Some(("to", host)) if !host.is_empty() => Ok(MoveWord::To(host.to_owned())),
        _ => Err(MoveWordError::Unknown(text.to_owned())),
    }
}

/// The rank and the host of the words behind `migrate`.
///
/// # Errors
/// One of them is missing.
pub fn rank_and_host(words: &[MoveWord]) -> Result<(u32, String), MoveWordError> {
    match words {
        [MoveWord::Rank(rank), MoveWord::To(host)] | [MoveWord::To(host), MoveWord::Rank(rank)] => {
            Ok((*rank, host.clone()))
        }
        [MoveWord::Rank(_), ..] => Err(MoveWordError::Twice("rank=")),
        _ => Err(MoveWordError::Twice("to=")),
    }
}

/// The arguments with the job as an option: `ftmpi-ctl JOB status` is `ftmpi-ctl --job=JOB status`.
#[must_use]
pub fn normalized(mut arguments: Vec<OsString>) -> Vec<OsString> {
    use clap::CommandFactory;
    let command = CtlArgs::command();
    let is_job = arguments.get(1).and_then(|word| word.to_str()).is_some_and(|word| {
        // A word that is followed by no command is a command that is misspelled.
        !word.starts_with('-') && command.find_subcommand(word).is_none() && arguments.len() > 2
    });
    if is_job {
        let mut option = OsString::from("--job=");
        option.push(&arguments[1]);
        arguments[1] = option;
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<CtlArgs, String> {
        let arguments = std::iter::once("ftmpi-ctl").chain(words.iter().copied());
        let arguments = normalized(arguments.map(OsString::from).collect());
        CtlArgs::try_parse_from(arguments).map_err(|e| e.to_string())
    }

    #[test]
    fn the_job_is_the_first_word_or_an_option_or_left_out() {
        for words in [&["/j", "status"][..], &["--job", "/j", "status"], &["status", "--job", "/j"]]
        {
            let args = parsed(words).unwrap();
            assert_eq!((args.job.as_deref(), args.command), (Some("/j"), CtlCommand::Status));
        }
        assert_eq!(parsed(&["status"]).unwrap().job, None);
        let args = parsed(&["4711", "--json", "drain", "b"]).unwrap();
        assert!(args.json && args.job.as_deref() == Some("4711"));
        assert!(parsed(&["statsu"]).is_err() && parsed(&[]).is_err());
    }

    #[test]
    fn a_migration_names_a_rank_and_a_host_in_any_order() {
        for words in [["rank=3", "to=b"], ["to=b", "rank=3"]] {
            let args = parsed(&["migrate", words[0], words[1]]).unwrap();
            let CtlCommand::Migrate { words } = args.command else { panic!("migrate") };
            assert_eq!(rank_and_host(&words), Ok((3, "b".into())));
        }
        for wrong in [["rank=x", "to=b"], ["3", "b"], ["rank=3", "to="]] {
            assert!(parsed(&["migrate", wrong[0], wrong[1]]).is_err(), "{wrong:?}");
        }
        let twice = [MoveWord::Rank(1), MoveWord::Rank(2)];
        assert_eq!(rank_and_host(&twice), Err(MoveWordError::Twice("rank=")));
        assert!(parsed(&["migrate", "rank=3"]).is_err());
    }
}

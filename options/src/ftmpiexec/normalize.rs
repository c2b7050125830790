//! One form for what may be written in several: `-np 4`, `-n 4` and `--np=4` become `--np=4`.
//!
//! Guarantees: our options come out with two dashes, their first name, and their value in the same
//! word. The program and its arguments come out as they are. What is not an option of ours is an
//! error here already, so that the parser library never sees it.

use crate::errors::OptionError;
use crate::os_text;
use clap::{Arg, Command};

/// A command line in one form.
#[derive(Debug, PartialEq, Eq)]
pub enum Normal {
    /// The words for the parser, the program's name first.
    Words(Vec<String>),
    /// `-h`.
    ShortHelp,
    /// `--help`, and the word after it.
    Help(Option<String>),
    /// `--version`.
    Version,
}

/// Splits at `:` arguments; the first group keeps the program's own name.
pub fn split_parts(arguments: Vec<String>) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for argument in arguments {
        if argument == ":" {
            groups.push(Vec::new());
        } else if let Some(group) = groups.last_mut() {
            group.push(argument);
        }
    }
    groups
}

/// The one form of a command line.
///
/// # Errors
/// An option that is unknown, or whose value is missing or has no use.
pub fn normalize(command: &Command, arguments: Vec<String>) -> Result<Normal, OptionError> {
    let mut out = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter();
    out.extend(rest.next());
    while let Some(word) = rest.next() {
        if !is_dashed(&word) {
            // The program: everything from here on is its own.
            out.push(word);
            out.extend(rest);
            break;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        match name {
            "--" => {
                out.push(word);
                out.extend(rest);
                break;
            }
            "-h" => return Ok(Normal::ShortHelp),
            "--help" | "-help" => return Ok(Normal::Help(inline.or_else(|| rest.next()))),
            "--version" | "-version" | "-V" => return Ok(Normal::Version),
            "-x" => {
                exported(inline.or_else(|| rest.next()), &mut out)?;
                continue;
            }
            _ => {}
        }
        let Some(arg) = find(command, name) else {
            match attached(command, name) {
                Some(words) if inline.is_none() => out.push(words),
                _ => return Err(OptionError::unknown(name, command)),
            }
            continue;
        };
        let long = arg.get_long().map_or_else(|| name.to_owned(), |long| format!("--{long}"));
        match values(arg) {
            0 if inline.is_some() => return Err(OptionError::NeedlessValue(name.to_owned())),
            0 => out.push(long),
            1 => {
                let value = inline.or_else(|| value(command, &mut rest));
                // An empty list of variables passes none.
                let list = arg.get_id().as_str().ends_with("envlist") || arg.get_id() == "genvlist";
                let value = value.filter(|value| list || !value.is_empty());
                out.push(format!("{long}={}", value.ok_or_else(|| no_value(name, arg))?));
            }
            _ => {
                // Hydra's `-genv NAME VALUE` and `-genv NAME=VALUE`, also as `--genv=NAME=VALUE`.
                let first = inline.or_else(|| rest.next()).ok_or_else(|| no_value(name, arg))?;
                let (variable, value) = match first.split_once('=') {
                    Some((variable, value)) if !variable.is_empty() => {
                        (variable.to_owned(), Some(value.to_owned()))
                    }
                    _ => (first, None),
                };
                let value = value.or_else(|| rest.next()).ok_or_else(|| no_value(name, arg))?;
                out.extend([long, variable, value]);
            }
        }
    }
    Ok(Normal::Words(out))
}

fn is_dashed(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// The option of this name: any of its long names with one dash or two, or its letter.
fn find<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let mut arguments = command.get_arguments();
    arguments.find(|arg| {
        arg.get_long() == Some(name)
            || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
            || (name.len() == 1 && arg.get_short() == name.chars().next())
    })
}

/// How many words follow an option.
fn values(arg: &Arg) -> usize {
    match arg.get_action().takes_values() {
        true => arg.get_num_args().map_or(1, |range| range.max_values()),
        false => 0,
    }
}

/// The next word, if it can be a value: another option cannot.
fn value(command: &Command, rest: &mut std::vec::IntoIter<String>) -> Option<String> {
    let next = rest.as_slice().first()?;
    let option = is_dashed(next) && find(command, next.split('=').next()?).is_some();
    if option { None } else { rest.next() }
}

fn no_value(name: &str, arg: &Arg) -> OptionError {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    OptionError::NoValue { form: name.to_owned(), value }
}

/// `-n4` for `-n 4`.
fn attached(command: &Command, word: &str) -> Option<String> {
    let (letter, number) = word.strip_prefix('-')?.split_at_checked(1)?;
    let arg = find(command, &format!("-{letter}")).filter(|arg| values(arg) == 1)?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| format!("--{}={number}", arg.get_long().unwrap_or(letter)))
}

/// Open MPI's `-x NAME` and `-x NAME=VALUE`: ranks get all variables anyway, so only a value is
/// news.
fn exported(word: Option<String>, out: &mut Vec<String>) -> Result<(), OptionError> {
    let missing = || OptionError::NoValue { form: "-x".to_owned(), value: "NAME=VALUE".to_owned() };
    let word = word.filter(|word| !word.is_empty()).ok_or_else(missing)?;
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => {
            let value = std::env::var_os(os_text::decode(&word));
            (word.clone(), value.map(|value| os_text::encode(&value)))
        }
    };
    if let Some(value) = value {
        out.extend(["--env".to_owned(), name, value]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;

    fn of(line: &str) -> Result<Normal, OptionError> {
        normalize(&Cli::command(), line.split_whitespace().map(str::to_owned).collect())
    }

    fn words(line: &str) -> String {
        match of(line) {
            Ok(Normal::Words(words)) => words.join(" "),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn there_is_one_form() {
        for line in ["x -np 4 ./p -n 3", "x -n 4 ./p -n 3", "x --np=4 ./p -n 3", "x -n4 ./p -n 3"] {
            assert_eq!(words(line), "x --np=4 ./p -n 3");
        }
        assert_eq!(words("x -l -hostfile h p"), "x --prepend-rank --machinefile=h p");
        assert_eq!(words("x -genv A=1 -env B b=2 p"), "x --genv A 1 --env B b=2 p");
        assert_eq!(words("x --genv=A=1 -env C= p"), "x --genv A 1 --env C  p");
        assert_eq!(words("x -timeout -1 p"), "x --timeout=-1 p");
        assert_eq!(words("x -x A=b -npernode 2 p"), "x --env A b --ppn=2 p");
        assert_eq!(words("x -x NO_SUCH_VARIABLE p"), "x p");
        assert_eq!(words("x -l -- -p"), "x --prepend-rank -- -p");
    }

    #[test]
    fn help_is_found_before_the_program_only() {
        assert_eq!(of("x -n 2 -h p"), Ok(Normal::ShortHelp));
        assert_eq!(of("x -help"), Ok(Normal::Help(None)));
        assert_eq!(of("x --help testing"), Ok(Normal::Help(Some("testing".into()))));
        assert_eq!(of("x --help=testing"), Ok(Normal::Help(Some("testing".into()))));
        assert_eq!(words("x p --help"), "x p --help");
        assert_eq!(of("x -V"), Ok(Normal::Version));
    }
}

//! How every program reads its command line, answers `--help`, and reports what is wrong.

use crate::errors::OptionError;
use crate::os_text;
use crate::page::Page;
use crate::render;
use clap::error::ErrorKind;
use clap::{Command, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Exit code for a command line that cannot be followed.
pub const WRONG: u8 = 2;

/// Reads the command line of this process. Ends the process with help or an error where there is
/// nothing to do.
#[must_use]
pub fn parse<P: Parser>() -> P {
    parse_from(&std::env::args_os().collect::<Vec<OsString>>())
}

/// As [`parse`], with these arguments.
#[must_use]
pub fn parse_from<P: Parser>(arguments: &[OsString]) -> P {
    P::try_parse_from(arguments).unwrap_or_else(|error| {
        let answer = answer(&error, &P::command(), arguments);
        let ok = answer.is_ok();
        match answer {
            Ok(text) => print(&text),
            Err(error) => complain(P::command().get_name(), &error),
        }
        std::process::exit(if ok { 0 } else { i32::from(WRONG) })
    })
}

/// Help that was asked for, or what is wrong.
///
/// # Errors
/// The command line cannot be followed.
pub fn answer(
    error: &clap::Error,
    command: &Command,
    arguments: &[OsString],
) -> Result<String, OptionError> {
    let mut command = command.clone();
    command.build();
    let (mut at, mut page) = (&command, Page::of(command.clone(), &[]));
    // The command that was named is the one to speak of.
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(sub) = at.find_subcommand(word) else { continue };
        at = sub;
        let name = format!("{} {word}", page.name);
        match page.commands.iter().find(|page| page.name == name).cloned() {
            Some(found) => page = found,
            None => break,
        }
    }
    match error.kind() {
        ErrorKind::DisplayHelp => Ok(render::terminal::long(&page)),
        ErrorKind::DisplayVersion => {
            Ok(format!("{} {}\n", command.get_name(), env!("CARGO_PKG_VERSION")))
        }
        _ => Err(OptionError::of_parser(error, at)),
    }
}

/// Prints a page; styles only where somebody sees them, and never with `NO_COLOR`. A reader that
/// goes away is no error.
pub fn print(text: &str) {
    use std::io::Write;
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Reports in one line what is wrong, as `PROGRAM: what happened; what to do`.
pub fn complain(program: &str, error: &dyn std::fmt::Display) {
    eprintln!("{program}: {}", os_text::shown(&error.to_string()));
}

/// [`complain`], and the exit code for it.
pub fn refuse(program: &str, error: &dyn std::fmt::Display) -> ExitCode {
    complain(program, error);
    ExitCode::from(WRONG)
}

//! Hydra's `-configfile`: the parts of a command in a file, a line each, where `:` would separate
//! them.

use crate::errors::{ConfigFileProblem, OptionError};
use std::path::Path;

/// Bytes that such a file may have.
const BYTES_MAX: u64 = 1 << 20;

/// The parts that a file names, each with its options, program and arguments; at least one.
/// `others`: the command line names a program, too.
///
/// # Errors
/// What is wrong with the file or with its use.
pub fn parts(file: &Path, others: bool) -> Result<Vec<Vec<String>>, OptionError> {
    let wrong = |what| OptionError::ConfigFile { file: file.display().to_string(), what };
    if others {
        return Err(wrong(ConfigFileProblem::OtherPrograms));
    }
    read(file).map_err(wrong)
}

fn read(file: &Path) -> Result<Vec<Vec<String>>, ConfigFileProblem> {
    let unreadable = |error: std::io::Error| ConfigFileProblem::Unreadable(error.to_string());
    if std::fs::metadata(file).map_err(unreadable)?.len() > BYTES_MAX {
        return Err(ConfigFileProblem::TooLong { most: BYTES_MAX });
    }
    of_text(&std::fs::read_to_string(file).map_err(unreadable)?)
}

fn of_text(text: &str) -> Result<Vec<Vec<String>>, ConfigFileProblem> {
    let mut parts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end_matches('\\');
        let words = shlex::split(line)
            .ok_or_else(|| ConfigFileProblem::OpenQuote { number, line: line.to_owned() })?;
        if words.iter().any(|word| word == ":") {
            return Err(ConfigFileProblem::Colon { number });
        }
        if !words.is_empty() {
            parts.push(words);
        }
    }
    if parts.is_empty() {
        return Err(ConfigFileProblem::NoProgram);
    }
    Ok(parts)
}

/// Takes the option that names the file out of a command line in its one form.
pub fn forget(arguments: &mut Vec<String>) {
    arguments.retain(|argument| !argument.starts_with("--configfile="));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parts() {
        let parts = of_text("-n 2 ./a 'b c'\n\n# none\n-n 1 -env X \"y z\" ./d # end\n").unwrap();
        assert_eq!(
            parts,
            [vec!["-n", "2", "./a", "b c"], vec!["-n", "1", "-env", "X", "y z", "./d"]]
        );
        assert!(of_text("# nothing").is_err());
        assert!(of_text("-n 1 'x").is_err());
        assert!(of_text("-n 1 x : y").is_err());
    }
}

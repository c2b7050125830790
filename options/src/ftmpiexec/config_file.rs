//! Hydra's `-configfile`: the parts of a command in a file, a line each, where `:` would separate
//! them.

use crate::errors::OptionError;
use std::path::Path;

/// Bytes that such a file may have.
const BYTES_MAX: u64 = 1 << 20;

/// The parts that a file names, each with its options, program and arguments; at least one.
/// `others`: the command line names a program, too.
///
/// # Errors
/// What is wrong with the file or with its use.
pub fn parts(file: &Path, others: bool) -> Result<Vec<Vec<String>>, OptionError> {
    let wrong = |what: String| OptionError::ConfigFile { file: file.display().to_string(), what };
    if others {
        return Err(wrong("the file names the programs; name none on the command line".to_owned()));
    }
    let unreadable =
        |error: std::io::Error| wrong(format!("{error}; name a file that can be read"));
    if std::fs::metadata(file).map_err(unreadable)?.len() > BYTES_MAX {
        return Err(wrong(format!("it has more than {BYTES_MAX} bytes; use a shorter file")));
    }
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    of_text(&text).map_err(wrong)
}

fn of_text(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut parts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end_matches('\\');
        let words = shlex::split(line)
            .ok_or_else(|| format!("line {}: a quote has no end; close it: {line}", number + 1))?;
        if words.iter().any(|word| word == ":") {
            return Err(format!(
                "line {}: `:` has no place in the file; begin a new line",
                number + 1
            ));
        }
        if !words.is_empty() {
            parts.push(words);
        }
    }
    if parts.is_empty() {
        Err("it names no program; write a line such as `-n 4 ./prog`".to_owned())
    } else {
        Ok(parts)
    }
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

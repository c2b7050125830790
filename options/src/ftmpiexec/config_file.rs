//! Hydra's `-configfile`: the parts of a command in a file, a line each, where `:` would separate
//! them. The form is that of MPI 5.0, section 11.5, form B: a backslash at the end of a line
//! continues it, lines that begin with `#` are comments.

use crate::errors::{ConfigFileProblem, OptionError};
use crate::os_text;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
    let bytes = std::fs::read(file).map_err(unreadable)?;
    of_text(&os_text::encode(OsStr::from_bytes(&bytes)))
}

fn of_text(text: &str) -> Result<Vec<Vec<String>>, ConfigFileProblem> {
    let mut parts = Vec::new();
    for (number, line) in whole_lines(text.trim_start_matches(os_text::BYTE_ORDER_MARK)) {
        let words = shlex::split(&line)
            .ok_or_else(|| ConfigFileProblem::OpenQuote { number, line: line.clone() })?;
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

/// The lines with what continues them, each with the number of its first line.
fn whole_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        if !std::mem::replace(&mut goes_on, false) {
            lines.push((at + 1, String::new()));
        }
        let Some((_, whole)) = lines.last_mut() else { continue };
        whole.push_str(line);
        // Two backslashes are one in a word.
        let backslashes = whole.len() - whole.trim_end_matches('\\').len();
        if backslashes % 2 == 1 {
            whole.pop();
            goes_on = !ends_in_comment(whole);
        }
    }
    lines
}

/// Whether what follows on the line would be part of a comment.
fn ends_in_comment(line: &str) -> bool {
    let words = shlex::split(line);
    words.is_some() && words == shlex::split(&format!("{line} more"))
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
        // A program that ends with backslashes, and a line that ends with the file.
        assert_eq!(of_text("./a\\\\\n./b \\").unwrap(), [["./a\\"], ["./b"]]);
        assert!(of_text("-n 1 'x").is_err());
        assert!(of_text("-n 1 x : y").is_err());
    }

    #[test]
    fn a_backslash_continues_a_line() {
        let part = |text: &str| of_text(text).unwrap();
        let one = [vec!["-n", "1", "./a", "one", "two"]];
        assert_eq!(part("-n 1 ./a one \\\n   two\n"), one);
        assert_eq!(part("-n 1 \\\r\n./a \\\r\none \\\r\ntwo"), one);
        assert_eq!(part("\u{feff}-n 1 ./a o\\\nne two"), one, "no blank is put in");
        assert_eq!(part("-n 1 ./a one two # end \\\n").len(), 1);
        // A comment does not go on.
        assert_eq!(part("# about a \\\n./a\n./b # about b \\\n./c"), [["./a"], ["./b"], ["./c"]]);
        let error = of_text("./a\n./b \\\n 'x").unwrap_err();
        assert!(error.to_string().contains("line 2: "), "{error}");
    }
}

//! Hydra's `-configfile`: the parts of a command in a file, a line each, where `:` would separate them.

use std::path::Path;

/// Bytes that such a file may have.
const BYTES_MAX: u64 = 1 << 20;

/// The parts that a file names, each with its options, program and arguments; at least one.
/// `others`: the command line names a program, too.
///
/// # Errors
/// What is wrong with the file or with its use.
pub fn parts(file: &Path, others: bool) -> Result<Vec<Vec<String>>, String> {
    let shown = file.display();
    if others {
        return Err(format!("-configfile {shown}: the file names the programs; name none besides"));
    }
    let told = |error: std::io::Error| format!("-configfile {shown}: {error}");
    if std::fs::metadata(file).map_err(told)?.len() > BYTES_MAX {
        return Err(format!("-configfile {shown}: more than {BYTES_MAX} bytes"));
    }
    let text = std::fs::read_to_string(file).map_err(told)?;
    of_text(&text).map_err(|what| format!("-configfile {shown}: {what}"))
}

fn of_text(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut parts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end_matches('\\');
        let words = shlex::split(line)
            .ok_or_else(|| format!("line {}: a quote has no end: {line}", number + 1))?;
        if words.iter().any(|word| word == ":") {
            return Err(format!("line {}: the lines are the parts; no `:` in them", number + 1));
        }
        if !words.is_empty() {
            parts.push(words);
        }
    }
    if parts.is_empty() { Err("it names no program".to_owned()) } else { Ok(parts) }
}

/// Takes the option that names the file out of a normalised command line without a program.
pub fn forget(arguments: &mut Vec<String>) {
    let mut value = false;
    arguments.retain(|argument| {
        if std::mem::take(&mut value) {
            return false;
        }
        value = argument == "--configfile";
        !value && !argument.starts_with("--configfile=")
    });
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

    #[test]
    fn the_option_is_forgotten_with_its_value() {
        let mut line =
            ["x", "--genv", "A", "1", "--configfile", "f", "-l"].map(str::to_owned).to_vec();
        forget(&mut line);
        assert_eq!(line, ["x", "--genv", "A", "1", "-l"]);
    }
}

//! `ftmpi-pages`: writes what is generated from the table of options.

use anyhow::{Context, bail};
use ftmpi_options::files;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: ftmpi-pages share DIR          write manual pages and completions below DIR (share)
       ftmpi-pages reference TOP      write docs/reference/options.md below TOP
       ftmpi-pages --check TOP        exit code 1 if docs/reference/options.md is old
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => ftmpi_options::terminal::refuse("ftmpi-pages", &format!("{error:#}")),
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["share", directory] => {
            for (path, contents) in files::share() {
                write(&Path::new(directory).join(path), &contents)?;
            }
        }
        ["reference", top] => write(&Path::new(top).join(files::REFERENCE), &files::reference())?,
        ["--check", top] => {
            let file = Path::new(top).join(files::REFERENCE);
            if fs::read_to_string(&file).ok().as_deref() != Some(&files::reference()) {
                eprintln!(
                    "ftmpi-pages: {} is old; write it with: ftmpi-pages reference {top}",
                    file.display()
                );
                return Ok(ExitCode::FAILURE);
            }
        }
        ["-h" | "--help"] => print!("{USAGE}"),
        _ => bail!("these arguments cannot be understood; ftmpi-pages --help shows how to call it"),
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that does not change keeps its time: nothing is built again because of it.
fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    let about = || path.display().to_string();
    if fs::read_to_string(path).is_ok_and(|there| there == contents) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).with_context(about)?;
    fs::write(path, contents).with_context(about)
}

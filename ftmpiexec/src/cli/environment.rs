//! Which variables ranks see: all of this command's own, or those that the options of Hydra's name
//! (`-genvlist`, `-envnone`, ...), and those that `-genv` and `-env` give.

use super::{Cli, Part};
use anyhow::bail;

/// What a login gives: without these hardly a program runs.
const OF_A_LOGIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"];

/// Which of this command's own variables are handed on.
enum Handed<'a> {
    All,
    Named(&'a str),
}

impl Handed<'_> {
    /// A part's own options first, then those for all.
    fn of<'a>(cli: &'a Cli, part: &'a Part) -> Handed<'a> {
        if part.envall {
            return Handed::All;
        }
        let own = part.envnone.then_some("").or(part.envlist.as_deref());
        let global = cli.genvnone.then_some("").or(cli.genvlist.as_deref());
        own.or(global).map_or(Handed::All, Handed::Named)
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Handed::All => true,
            Handed::Named(names) => {
                OF_A_LOGIN.contains(&name) || names.split(',').any(|one| one.trim() == name)
            }
        }
    }
}

/// The environment of the ranks of a part, if this is the environment here.
///
/// # Errors
/// A name that cannot be one.
pub fn of_part(
    cli: &Cli,
    part: &Part,
    here: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<Vec<(String, String)>> {
    let handed = Handed::of(cli, part);
    let mut environment: Vec<(String, String)> = here
        .filter(|(key, _)| !key.starts_with("FTMPI_RANK") && key != "FTMPI_KEY")
        .filter(|(key, _)| handed.has(key))
        .collect();
    for pair in cli.genv.chunks_exact(2).chain(part.env.chunks_exact(2)) {
        if pair[0].is_empty() || pair[0].contains('=') {
            bail!("`{}` is no name of a variable", pair[0]);
        }
        environment.retain(|(key, _)| *key != pair[0]);
        environment.push((pair[0].clone(), pair[1].clone()));
    }
    // The same order in every life: the stack's contents must not move.
    environment.sort();
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::read;

    fn names(line: &str) -> Vec<String> {
        let line = read(line.split_whitespace().map(str::to_owned).collect()).unwrap();
        let here = ["A", "B", "PATH", "FTMPI_RANK"].map(|name| (name.to_owned(), "x".to_owned()));
        let part = line.parts.last().unwrap();
        let environment = of_part(&line.cli, part, here.into_iter()).unwrap();
        environment.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn variables_are_handed_on_as_asked() {
        assert_eq!(names("ftmpiexec ./p"), ["A", "B", "PATH"]);
        assert_eq!(names("ftmpiexec -genvnone ./p"), ["PATH"]);
        assert_eq!(names("ftmpiexec -genvlist B,C ./p"), ["B", "PATH"]);
        assert_eq!(names("ftmpiexec -genvnone -env C 1 ./p"), ["C", "PATH"]);
        assert_eq!(names("ftmpiexec -genvnone -envlist A ./p"), ["A", "PATH"]);
        assert_eq!(names("ftmpiexec -genvnone -envall ./p"), ["A", "B", "PATH"]);
        assert_eq!(names("ftmpiexec -genvlist A ./p : -envnone -n 1 ./q"), ["PATH"]);
        assert_eq!(names("ftmpiexec -genvnone -genvall ./p"), ["A", "B", "PATH"]);
    }
}

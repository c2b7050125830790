//! Which variables ranks see: all variables of `ftmpiexec`, or those that `-genvlist`, `-envnone`
//! and their relatives choose, and those that `-genv` and `-env` set.

use super::errors::PlanError;
use crate::os_text::OsText;
use ftmpi_checkpoint::host::BASELINE_ENV;
use ftmpi_options::ftmpiexec::{Cli, Part};
use ftmpi_options::os_text;
use ftmpi_wire::foreign_launcher::is_of_one_process;
use std::ffi::OsString;

/// Variables of a login. Hardly a program runs without them.
const OF_A_LOGIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ"];

/// Which variables of `ftmpiexec` the ranks get.
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
        let global = cli.environment.genvnone.then_some("").or(cli.environment.genvlist.as_deref());
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
/// A variable has a name that no variable can have.
pub fn of_part(
    cli: &Cli,
    part: &Part,
    here: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(OsText, OsText)>, PlanError> {
    let handed = Handed::of(cli, part);
    let mut environment: Vec<(String, OsText)> = here
        .map(|(key, value)| (os_text::encode(&key), OsText::from(value.as_os_str())))
        .filter(|(key, _)| !key.starts_with("FTMPI_RANK") && key != "FTMPI_KEY")
        // What the host of this process counts as.
        .filter(|(key, _)| key != BASELINE_ENV)
        .filter(|(key, _)| handed.has(key))
        // They would tell every rank that it is the process that called ftmpiexec.
        .filter(|(key, _)| !is_of_one_process(key))
        .collect();
    for pair in cli.environment.genv.chunks_exact(2).chain(part.env.chunks_exact(2)) {
        if pair[0].is_empty() || pair[0].contains('=') {
            return Err(PlanError::Variable(pair[0].clone()));
        }
        environment.retain(|(key, _)| *key != pair[0]);
        environment.push((pair[0].clone(), OsText::of_word(&pair[1])));
    }
    // Every incarnation has the same order: the contents of the stack must not move.
    environment.sort();
    Ok(environment.into_iter().map(|(key, value)| (OsText::of_word(&key), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_options::ftmpiexec::read;

    fn names(line: &str) -> Vec<String> {
        let line = read(line.split_whitespace().map(str::to_owned).collect()).unwrap();
        let here = ["A", "B", "PATH", "FTMPI_RANK"].map(|name| (name.into(), "x".into()));
        let part = line.parts.last().unwrap();
        let environment = of_part(&line.cli, part, here.into_iter()).unwrap();
        environment.into_iter().map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn no_rank_takes_itself_for_the_process_that_started_the_job() {
        let line = ["ftmpiexec", "-genv", "SLURM_LOCALID", "3", "./p"].map(str::to_owned).to_vec();
        let line = read(line).unwrap();
        let here = ["SLURM_PROCID", "PMI_FD", "SLURM_LOCALID", "SLURM_JOB_ID"];
        let here = here.into_iter().map(|name| (name.into(), "0".into()));
        let environment = of_part(&line.cli, &line.parts[0], here).unwrap();
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["SLURM_JOB_ID", "SLURM_LOCALID"], "what the user sets stays");
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

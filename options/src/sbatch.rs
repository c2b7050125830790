//! `ftmpiexec sbatch`: which words are for Slurm's `sbatch`, and which for `ftmpiexec`.
//!
//! The words begin with options of `sbatch`. The first word that is none of them begins the command
//! line of `ftmpiexec`; `--` does so, too.

use crate::errors::OptionError;

/// The first argument of `ftmpiexec` for this.
pub const COMMAND: &str = "sbatch";

/// What the script is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SbatchLine {
    /// Options of `sbatch`, each in its long form: `--nodes=2`.
    pub options: Vec<String>,
    /// The script is submitted, not printed.
    pub submit: bool,
    /// The command line of `ftmpiexec`, without its name.
    pub command: Vec<String>,
}

/// Options of `sbatch` that have a value, with their short forms.
const WITH_VALUE: &[(&str, Option<char>)] = &[
    ("account", Some('A')),
    ("acctg-freq", None),
    ("begin", Some('b')),
    ("chdir", Some('D')),
    ("cluster-constraint", None),
    ("clusters", Some('M')),
    ("comment", None),
    ("constraint", Some('C')),
    ("container", None),
    ("core-spec", Some('S')),
    ("cores-per-socket", None),
    ("cpu-freq", None),
    ("cpus-per-gpu", None),
    ("cpus-per-task", Some('c')),
    ("deadline", None),
    ("delay-boot", None),
    ("dependency", Some('d')),
    ("distribution", Some('m')),
    ("error", Some('e')),
    ("exclude", Some('x')),
    ("export", None),
    ("extra-node-info", Some('B')),
    ("gid", None),
    ("gpu-bind", None),
    ("gpu-freq", None),
    ("gpus", Some('G')),
    ("gpus-per-node", None),
    ("gpus-per-socket", None),
    ("gpus-per-task", None),
    ("gres", None),
    ("hint", None),
    ("job-name", Some('J')),
    ("licenses", Some('L')),
    ("mail-type", None),
    ("mail-user", None),
    ("mcs-label", None),
    ("mem", None),
    ("mem-bind", None),
    ("mem-per-cpu", None),
    ("mem-per-gpu", None),
    ("mincpus", None),
    ("network", None),
    ("nice", None),
    ("nodefile", Some('F')),
    ("nodelist", Some('w')),
    ("nodes", Some('N')),
    ("ntasks", Some('n')),
    ("ntasks-per-core", None),
    ("ntasks-per-gpu", None),
    ("ntasks-per-node", None),
    ("ntasks-per-socket", None),
    ("output", Some('o')),
    ("partition", Some('p')),
    ("power", None),
    ("prefer", None),
    ("priority", None),
    ("profile", None),
    ("qos", Some('q')),
    ("reservation", None),
    ("signal", None),
    ("sockets-per-node", None),
    ("switches", None),
    ("thread-spec", None),
    ("threads-per-core", None),
    ("time", Some('t')),
    ("time-min", None),
    ("tmp", None),
    ("uid", None),
    ("wait-all-nodes", None),
    ("wckey", None),
];

/// Options of `sbatch` without a value, or with one that stands behind `=` only.
const WITHOUT_VALUE: &[(&str, Option<char>)] = &[
    ("contiguous", None),
    ("exclusive", None),
    ("get-user-env", None),
    ("hold", Some('H')),
    ("ignore-pbs", None),
    ("no-kill", Some('k')),
    ("oversubscribe", Some('s')),
    ("overcommit", Some('O')),
    ("propagate", None),
    ("reboot", None),
    ("requeue", None),
    ("spread-job", None),
    ("use-min-nodes", None),
];

/// Options that contradict what the script is for, and why.
const REFUSED: &[(&str, &str)] = &[
    ("array", "each job of an array would use the same job directory; call it once for each"),
    ("no-requeue", "the script puts the job back into the queue; write a script of your own"),
    ("wrap", "the script runs ftmpiexec; write the program behind the options"),
    ("open-mode", "output of each run is appended; the script says so by itself"),
    ("wait", "call sbatch --wait with the printed script"),
    ("test-only", "call sbatch --test-only with the printed script"),
];

/// The option of this table that a word names, and whether it is the short form.
fn find(word: &str, table: &[(&'static str, Option<char>)]) -> Option<&'static str> {
    let found = match word.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or(long);
            table.iter().find(|(known, _)| *known == name)
        }
        None => {
            let short = word.strip_prefix('-')?.chars().next()?;
            table.iter().find(|(_, known)| *known == Some(short))
        }
    };
    found.map(|(name, _)| *name)
}

/// Divides the words behind `ftmpiexec sbatch`.
///
/// # Errors
/// An option without its value, or one that makes no sense here.
pub fn divide(words: Vec<String>) -> Result<SbatchLine, OptionError> {
    let mut line = SbatchLine::default();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        let bad = |what: &str| OptionError::Value { option: word.clone(), what: what.to_owned() };
        if word == "--" {
            break;
        }
        if word == "--submit" {
            line.submit = true;
            continue;
        }
        let long = word.strip_prefix("--").and_then(|long| long.split('=').next());
        let refused = REFUSED.iter().find(|(name, _)| long == Some(*name) || word == "-a");
        if let Some((_, why)) = refused {
            return Err(bad(why));
        }
        if let Some(name) = find(&word, WITH_VALUE) {
            let within = match word.strip_prefix("--") {
                Some(long) => long.split_once('=').map(|(_, value)| value.to_owned()),
                None => {
                    Some(word.chars().skip(2).collect::<String>()).filter(|value| !value.is_empty())
                }
            };
            let value = within.or_else(|| words.next()).ok_or_else(|| bad("a value is missing"))?;
            line.options.push(format!("--{name}={value}"));
        } else if let Some(name) = find(&word, WITHOUT_VALUE) {
            match word.strip_prefix("--") {
                Some(_) => line.options.push(word),
                None => line.options.push(format!("--{name}")),
            }
        } else {
            // It is an option of ftmpiexec.
            line.command.push(word);
            break;
        }
    }
    line.command.extend(words);
    if let Some(option) = line.options.iter().find(|option| option.contains('\n')) {
        let what = "a value of one line is needed".to_owned();
        return Err(OptionError::Value { option: option.replace('\n', " "), what });
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(line: &str) -> Result<SbatchLine, OptionError> {
        divide(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_of_slurm_come_first() {
        let line = divided(
            "-N 2 --time=1:00 -n8 -p long --exclusive -H --submit --protocol causal -n 4 ./p -N 3",
        )
        .unwrap();
        let options =
            ["--nodes=2", "--time=1:00", "--ntasks=8", "--partition=long", "--exclusive", "--hold"];
        assert_eq!(line.options, options);
        assert!(line.submit);
        assert_eq!(line.command.join(" "), "--protocol causal -n 4 ./p -N 3");
        assert_eq!(divided("-N 2 -- -n 4 ./p").unwrap().command.join(" "), "-n 4 ./p");
        assert_eq!(divided("./p -N 2").unwrap().command.join(" "), "./p -N 2");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, text) in [
            ("-N", "-N: a value is missing"),
            ("--array=1-3 ./p", "--array=1-3: each job of an array"),
            ("-a 1-3 ./p", "-a: each job of an array"),
            ("--no-requeue ./p", "the script puts the job back"),
        ] {
            let error = divided(line).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        let two = vec!["--comment".to_owned(), "a\n#SBATCH --x".to_owned(), "./p".to_owned()];
        assert!(divide(two).is_err(), "no line of its own in the script");
    }
}

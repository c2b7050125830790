//! Variables that scripts and batch systems set for Hydra and for Intel MPI's launcher. Each stands
//! for an option, where the command line does not give that option.
//!
//! Guarantees: an option of the command line wins. A variable without a value counts as not set.

use crate::errors::OptionError;

/// The machine file. Kubernetes' MPI operator names it so.
const HOST_FILE: &[&str] = &["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"];
/// How agents on other hosts are started.
const LAUNCHER: &[&str] = &["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"];
/// The command that starts them.
const COMMAND: &[&str] =
    &["HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];
/// Options of that command.
const COMMAND_OPTIONS: &[&str] = &[
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HYDRA_LAUNCH_EXTRA_ARGS",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
];
/// The batch system.
const BATCH_SYSTEM: &[&str] = &["HYDRA_RMK", "I_MPI_HYDRA_RMK"];
/// Words of [`LAUNCHER`].
const LAUNCHERS: &[&str] = &["ssh", "rsh", "slurm", "fork"];
/// Words of [`BATCH_SYSTEM`], as `--rmk` has them.
const BATCH_SYSTEMS: &[&str] = &["user", "slurm", "pbs", "lsf", "sge", "cobalt"];

/// The options that the variables stand for. `gave`: whether the command line has the option of a
/// field.
///
/// # Errors
/// A variable has a value that means nothing here.
pub fn words(
    gave: impl Fn(&str) -> bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, OptionError> {
    let find = |names: &[&'static str]| {
        names.iter().find_map(|name| {
            let value = variable(name)?.trim().to_owned();
            (!value.is_empty()).then_some((*name, value))
        })
    };
    let one_of = |words: &[&str], (name, value): (&str, String)| {
        let known = words.contains(&value.as_str());
        known.then(|| value.clone()).ok_or_else(|| OptionError::Word {
            option: name.to_owned(),
            value,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            near: None,
        })
    };
    let mut found = Vec::new();
    if let Some((_, file)) = find(HOST_FILE).filter(|_| !gave("hosts") && !gave("machinefile")) {
        found.push(format!("--machinefile={file}"));
    }
    // Together they say how hosts are reached: one option of the command line replaces both.
    if !gave("launcher") && !gave("rsh") {
        let launcher = find(LAUNCHER).map(|found| one_of(LAUNCHERS, found)).transpose()?;
        let command = find(COMMAND).map(|(_, command)| command);
        match (launcher.as_deref(), command) {
            (Some("rsh"), command) => {
                found.push("--launcher=ssh".to_owned());
                found.push(format!("--rsh={}", command.as_deref().unwrap_or("rsh")));
            }
            (Some("ssh"), command) => {
                found.push("--launcher=ssh".to_owned());
                found.extend(command.map(|command| format!("--rsh={command}")));
            }
            // The command is for another launcher.
            (Some(other), _) => found.push(format!("--launcher={other}")),
            (None, command) => found.extend(command.map(|command| format!("--rsh={command}"))),
        }
    }
    if let Some((_, options)) = find(COMMAND_OPTIONS).filter(|_| !gave("rsh_options")) {
        found.push(format!("--rsh-options={options}"));
    }
    if let Some(system) = find(BATCH_SYSTEM).filter(|_| !gave("rmk")) {
        found.push(format!("--rmk={}", one_of(BATCH_SYSTEMS, system)?));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(gave: &[&str], variables: &[(&str, &str)]) -> Result<Vec<String>, OptionError> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        words(|field| gave.contains(&field), variable)
    }

    #[test]
    fn a_variable_stands_for_the_option_that_is_not_given() {
        let operator =
            [("HYDRA_HOST_FILE", "/m"), ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10")];
        let both = ["--machinefile=/m", "--rsh-options=-o ConnectionAttempts=10"];
        assert_eq!(of(&[], &operator).unwrap(), both);
        assert_eq!(of(&["hosts"], &operator).unwrap(), both[1..]);
        assert_eq!(of(&["machinefile", "rsh_options"], &operator).unwrap(), [""; 0]);
        assert_eq!(of(&[], &[("HYDRA_HOST_FILE", " ")]).unwrap(), [""; 0]);
        assert_eq!(of(&[], &[("HYDRA_RMK", "pbs")]).unwrap(), ["--rmk=pbs"]);
        assert_eq!(of(&["rmk"], &[("HYDRA_RMK", "pbs")]).unwrap(), [""; 0]);
    }

    #[test]
    fn launchers_and_their_commands_go_together() {
        let launcher = |variables: &[(&str, &str)]| of(&[], variables).unwrap().join(" ");
        assert_eq!(launcher(&[("HYDRA_LAUNCHER", "rsh")]), "--launcher=ssh --rsh=rsh");
        let both = [("HYDRA_BOOTSTRAP", "ssh"), ("HYDRA_BOOTSTRAP_EXEC", "/my/ssh")];
        assert_eq!(launcher(&both), "--launcher=ssh --rsh=/my/ssh");
        let other = [("HYDRA_LAUNCHER", "slurm"), ("HYDRA_LAUNCHER_EXEC", "/my/srun")];
        assert_eq!(launcher(&other), "--launcher=slurm");
        assert_eq!(launcher(&[("HYDRA_LAUNCHER_EXEC", "/my/ssh -x")]), "--rsh=/my/ssh -x");
        assert_eq!(of(&["launcher"], &both).unwrap(), [""; 0]);
    }

    #[test]
    fn a_word_that_means_nothing_is_refused_with_the_name_of_its_variable() {
        for variable in ["HYDRA_LAUNCHER", "HYDRA_RMK"] {
            let error = of(&[], &[(variable, "manual")]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{variable}: `manual` is unknown")), "{error}");
        }
    }
}

//! Variables that scripts and batch systems set for Hydra and for Intel MPI's launcher. Each stands
//! for an option, where the command line does not give that option.
//!
//! `MPICH_PORT_RANGE` and its like are also read by agents of ranks that another launcher started
//! ([`port_range`]).
//!
//! Guarantees: an option of the command line wins. A variable without a value counts as not set. A
//! variable is a hint that a site sets for all launchers: with a word that means nothing here it
//! counts as not set, too, and a note tells so.

use crate::{places, values};
use std::ops::RangeInclusive;

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
/// The interface on which hosts reach each other.
const INTERFACE: &[&str] = &["HYDRA_IFACE", "I_MPI_HYDRA_IFACE"];
/// Ports on which everything listens.
const PORTS: &[&str] = &[
    "MPIEXEC_PORT_RANGE",
    "MPIEXEC_PORTRANGE",
    "MPICH_PORT_RANGE",
    "MPIR_CVAR_CH3_PORT_RANGE",
    "I_MPI_PORT_RANGE",
];
/// What ranks are bound to.
const BINDING: &[&str] = &["HYDRA_BINDING"];
/// In which order.
const MAPPING: &[&str] = &["HYDRA_MAPPING"];
/// From which NUMA nodes ranks take memory.
const MEMORY: &[&str] = &["HYDRA_MEMBIND"];
/// Words of [`BINDING`] and [`MAPPING`], without what follows a colon.
const BINDINGS: &[&str] = &[
    "none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "cache", "numa", "numanode",
    "socket", "package", "user",
];
/// Words of [`LAUNCHER`].
const LAUNCHERS: &[&str] = &["ssh", "rsh", "slurm", "fork"];
/// Words of [`BATCH_SYSTEM`], as `--rmk` has them.
const BATCH_SYSTEMS: &[&str] = &["user", "slurm", "pbs", "lsf", "sge", "cobalt"];

/// An option that a variable stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The field of the option.
    pub field: &'static str,
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The option as a word of a command line.
    pub word: String,
}

impl Hint {
    fn new(field: &'static str, (variable, value): (&'static str, String)) -> Self {
        let word = format!("--{}={value}", field.replace('_', "-"));
        Self { field, variable, value, word }
    }

    /// What a user is told about a variable that does not count.
    #[must_use]
    pub fn note(&self, why: &str) -> String {
        note(self.variable, &self.value, why)
    }
}

fn note(variable: &str, value: &str, why: &str) -> String {
    format!("{variable}={value} counts as not set: {why}")
}

/// The options that the variables stand for, and notes about variables that do not count. `gave`:
/// whether the command line has the option of a field.
pub fn find(
    gave: impl Fn(&str) -> bool,
    variable: impl Fn(&str) -> Option<String>,
) -> (Vec<Hint>, Vec<String>) {
    let find = |names: &[&'static str]| {
        names.iter().find_map(|name| {
            let value = variable(name)?.trim().to_owned();
            (!value.is_empty()).then_some((*name, value))
        })
    };
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let mut known = |words: &[&str], (name, value): &(&'static str, String)| {
        let known = words.contains(&value.as_str());
        if !known {
            notes.push(note(name, value, &format!("known are {}", words.join(", "))));
        }
        known
    };
    if let Some(file) = find(HOST_FILE).filter(|_| !gave("hosts") && !gave("machinefile")) {
        found.push(Hint::new("machinefile", file));
    }
    // Together they say how hosts are reached: one option of the command line replaces both.
    let mut by_ssh = true;
    if !gave("launcher") && !gave("rsh") {
        let (launcher, command) = (find(LAUNCHER), find(COMMAND));
        by_ssh = launcher.as_ref().is_none_or(|(_, name)| ["ssh", "rsh"].contains(&name.as_str()));
        // The command, and its options, may be for another launcher.
        let command = command.filter(|_| by_ssh);
        if let Some((variable, name)) = launcher.filter(|launcher| known(LAUNCHERS, launcher)) {
            let is_rsh = name == "rsh";
            let kind = if is_rsh { "ssh".to_owned() } else { name };
            found.push(Hint::new("launcher", (variable, kind)));
            let own = is_rsh.then(|| (variable, "rsh".to_owned()));
            found.extend(command.or(own).map(|command| Hint::new("rsh", command)));
        } else {
            found.extend(command.map(|command| Hint::new("rsh", command)));
        }
    }
    if let Some(options) = find(COMMAND_OPTIONS).filter(|_| by_ssh && !gave("rsh_options")) {
        found.push(Hint::new("rsh_options", options));
    }
    if let Some(system) = find(BATCH_SYSTEM).filter(|_| !gave("rmk"))
        && known(BATCH_SYSTEMS, &system)
    {
        found.push(Hint::new("rmk", system));
    }
    network_and_binding(gave, find, (&mut found, &mut notes));
    (found, notes)
}

/// As [`find`], for what is neither hosts nor their launcher.
fn network_and_binding(
    gave: impl Fn(&str) -> bool,
    find: impl Fn(&[&'static str]) -> Option<(&'static str, String)>,
    (found, notes): (&mut Vec<Hint>, &mut Vec<String>),
) {
    if let Some(name) = find(INTERFACE).filter(|_| !gave("interface")) {
        found.push(Hint::new("interface", name));
    }
    if let Some((name, text)) = find(PORTS).filter(|_| !gave("port_range")) {
        match values::ports(&text) {
            Ok(_) => found.push(Hint::new("port_range", (name, text))),
            Err(_) => notes.push(note(name, &text, "it is no range such as 5000:5100")),
        }
    }
    if let Some((name, text)) = find(MEMORY).filter(|_| !gave("membind")) {
        match places::memory_binding(&text) {
            Ok(_) => found.push(Hint::new("membind", (name, text))),
            Err(error) => notes.push(note(name, &text, &error.to_string())),
        }
    }
    // The order of units means nothing without a unit.
    if gave("bind_to") || gave("map_by") {
        return;
    }
    let mut usable = |names: &[&'static str]| {
        let (name, text) = find(names)?;
        let unit = text.split(':').next().unwrap_or_default();
        if !BINDINGS.contains(&unit) {
            notes.push(note(name, &text, &format!("known are {}", BINDINGS.join(", "))));
            return None;
        }
        Some((name, text))
    };
    if let Some(binding) = usable(BINDING) {
        found.push(Hint::new("bind_to", binding));
        found.extend(usable(MAPPING).map(|mapping| Hint::new("map_by", mapping)));
    }
}

/// The range of ports that a variable names, for processes without a command line.
pub fn port_range(variable: impl Fn(&str) -> Option<String>) -> Option<RangeInclusive<u16>> {
    PORTS.iter().find_map(|name| values::ports(&variable(name)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(gave: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        both(gave, variables).0
    }

    fn both(gave: &[&str], variables: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        let (hints, notes) = find(|field| gave.contains(&field), variable);
        (hints.into_iter().map(|hint| hint.word).collect(), notes)
    }

    #[test]
    fn a_variable_stands_for_the_option_that_is_not_given() {
        let operator =
            [("HYDRA_HOST_FILE", "/m"), ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10")];
        let both = ["--machinefile=/m", "--rsh-options=-o ConnectionAttempts=10"];
        assert_eq!(of(&[], &operator), both);
        assert_eq!(of(&["hosts"], &operator), both[1..]);
        assert_eq!(of(&["machinefile", "rsh_options"], &operator), [""; 0]);
        assert_eq!(of(&[], &[("HYDRA_HOST_FILE", " ")]), [""; 0]);
        assert_eq!(of(&[], &[("HYDRA_RMK", "pbs")]), ["--rmk=pbs"]);
        assert_eq!(of(&["rmk"], &[("HYDRA_RMK", "pbs")]), [""; 0]);
    }

    #[test]
    fn the_network_and_bindings_come_from_variables_too() {
        let network = [("HYDRA_IFACE", "ib0"), ("MPICH_PORT_RANGE", "5000:5100")];
        assert_eq!(of(&[], &network), ["--interface=ib0", "--port-range=5000:5100"]);
        assert_eq!(of(&["interface", "port_range"], &network), [""; 0]);
        let (words, notes) = both(&[], &[("MPIEXEC_PORT_RANGE", "many")]);
        assert_eq!((words.len(), notes.len()), (0, 1));
        assert!(notes[0].starts_with("MPIEXEC_PORT_RANGE=many counts as not set: "), "{notes:?}");
        let binding = [("HYDRA_BINDING", "core:2"), ("HYDRA_MAPPING", "socket")];
        assert_eq!(of(&[], &binding), ["--bind-to=core:2", "--map-by=socket"]);
        assert_eq!(of(&["bind_to"], &binding), [""; 0]);
        assert_eq!(of(&[], &binding[1..]), [""; 0], "an order of nothing");
        assert_eq!(both(&[], &[("HYDRA_BINDING", "bunch")]).1.len(), 1);
        assert_eq!(of(&[], &[("HYDRA_MEMBIND", "bind:0")]), ["--membind=bind:0"]);
        assert_eq!(both(&[], &[("HYDRA_MEMBIND", "nexttouch")]).1.len(), 1);
        let read = |name: &str| (name == "MPICH_PORT_RANGE").then(|| "7-9".to_owned());
        assert_eq!(port_range(read), Some(7..=9));
        assert_eq!(port_range(|_| Some("x".to_owned())), None);
    }

    #[test]
    fn launchers_and_their_commands_go_together() {
        let launcher = |variables: &[(&str, &str)]| of(&[], variables).join(" ");
        assert_eq!(launcher(&[("HYDRA_LAUNCHER", "rsh")]), "--launcher=ssh --rsh=rsh");
        let both = [("HYDRA_BOOTSTRAP", "ssh"), ("HYDRA_BOOTSTRAP_EXEC", "/my/ssh")];
        assert_eq!(launcher(&both), "--launcher=ssh --rsh=/my/ssh");
        let other = [("HYDRA_LAUNCHER", "slurm"), ("HYDRA_LAUNCHER_EXEC", "/my/srun")];
        assert_eq!(launcher(&other), "--launcher=slurm");
        assert_eq!(launcher(&[("HYDRA_LAUNCHER_EXEC", "/my/ssh -x")]), "--rsh=/my/ssh -x");
        assert_eq!(of(&["launcher"], &both), [""; 0]);
    }

    #[test]
    fn a_word_that_means_nothing_counts_as_not_set_and_is_told() {
        for (variable, word) in
            [("I_MPI_HYDRA_BOOTSTRAP", "lsf"), ("HYDRA_LAUNCHER", "manual"), ("HYDRA_RMK", "ll")]
        {
            let (words, notes) = both(&[], &[(variable, word)]);
            assert_eq!(words, [""; 0]);
            let begin = format!("{variable}={word} counts as not set: known are ");
            assert!(notes.len() == 1 && notes[0].starts_with(&begin), "{notes:?}");
            assert_eq!(both(&["launcher", "rmk"], &[(variable, word)]).1, [""; 0]);
        }
        // What belongs to a launcher that is unknown is not for ssh.
        let lsf = [
            ("I_MPI_HYDRA_BOOTSTRAP", "lsf"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "blaunch"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-z"),
        ];
        assert_eq!(of(&[], &lsf), [""; 0]);
    }
}

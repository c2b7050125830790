//! Hosts and slots that a batch system gave to this job: where the command line names no hosts,
//! they are the hosts of the job.
//!
//! | system | is recognised by | hosts and slots |
//! | --- | --- | --- |
//! | Slurm | `SLURM_JOB_ID` | `SLURM_JOB_NODELIST`, `SLURM_NTASKS` and counts for each node |
//! | PBS, Torque | `PBS_NODEFILE` | a line of the file for each slot |
//! | LSF | `LSB_DJOB_HOSTFILE` | a line of the file for each slot |
//! | Grid Engine | `PE_HOSTFILE` | lines `HOST SLOTS …` |
//! | Cobalt | `COBALT_NODEFILE` | a line of the file for each slot |
//!
//! The functions read no environment and no file: both come as a parameter. [`Allocation::current`]
//! alone looks.

use crate::machine::Machine;
use clap::ValueEnum;
use ftmpi_options::choices::BatchSystemChoice as Choice;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Hosts of one allocation: a list that stands for more is a mistake.
const HOSTS_MAX: usize = 65_536;

/// The batch system that made the allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSystem {
    /// Starts agents by `srun`.
    Slurm,
    /// OpenPBS, PBS Pro, Torque.
    Pbs,
    /// IBM Spectrum LSF.
    Lsf,
    /// Sun Grid Engine and its successors.
    GridEngine,
    /// Cobalt.
    Cobalt,
}

/// What a batch system gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Who gave it.
    pub system: BatchSystem,
    /// The hosts, in their order.
    pub machines: Vec<Machine>,
    /// Ranks that the user asked the batch system for.
    pub ranks: Option<u32>,
}

/// What the batch system says cannot be understood.
#[derive(Debug, Error)]
pub enum AllocationError {
    /// A variable.
    #[error("{variable}: `{text}` {what}; name the hosts with --hosts or -f")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// Its value.
        text: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The user names a batch system.
    #[error(
        "--rmk {name}: this is no allocation of it ({variable} is not set); drop --rmk, or name the hosts with --hosts or -f"
    )]
    NotThere {
        /// As the user calls it.
        name: String,
        /// The variable that is missing.
        variable: &'static str,
    },
    /// A file that a variable names.
    #[error("{variable}: {}: {what}; name the hosts with --hosts or -f", file.display())]
    File {
        /// The variable.
        variable: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl AllocationError {
    fn not_there(choice: Choice, variable: &'static str) -> Self {
        let name = choice.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        Self::NotThere { name, variable }
    }
}

/// Batch systems that name a file with the hosts.
const WITH_FILES: [(&str, Choice, BatchSystem); 4] = [
    ("PBS_NODEFILE", Choice::Pbs, BatchSystem::Pbs),
    ("LSB_DJOB_HOSTFILE", Choice::Lsf, BatchSystem::Lsf),
    ("PE_HOSTFILE", Choice::Sge, BatchSystem::GridEngine),
    ("COBALT_NODEFILE", Choice::Cobalt, BatchSystem::Cobalt),
];

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;
type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

impl Allocation {
    /// The allocation in which this process runs, if it runs in one of the wanted batch system.
    ///
    /// # Errors
    /// The batch system says something that cannot be understood, or the one that the user names
    /// is not there.
    pub fn current(wanted: Choice) -> Result<Option<Self>, AllocationError> {
        Self::of(wanted, &|name| std::env::var(name).ok(), &|path| std::fs::read_to_string(path))
    }

    /// As [`Allocation::current`], with this environment and these files.
    fn of(
        wanted: Choice,
        variable: Variable<'_>,
        read: ReadFile<'_>,
    ) -> Result<Option<Self>, AllocationError> {
        let is_wanted = |choice| wanted == choice || wanted == Choice::Auto;
        if is_wanted(Choice::Slurm)
            && variable("SLURM_JOB_ID").is_some()
            && let Some(nodes) = variable("SLURM_JOB_NODELIST")
        {
            return slurm(&nodes, variable).map(Some);
        }
        for (name, choice, system) in WITH_FILES.into_iter().filter(|one| is_wanted(one.1)) {
            if let Some(file) = variable(name).filter(|file| !file.is_empty()) {
                let file = PathBuf::from(file);
                let wrong =
                    |what| AllocationError::File { variable: name, file: file.clone(), what };
                let text = read(&file).map_err(|error| wrong(error.to_string()))?;
                let machines = of_lines(&text, system).map_err(wrong)?;
                return Ok(Some(Self { system, machines, ranks: None }));
            }
            if wanted == choice {
                return Err(AllocationError::not_there(choice, name));
            }
        }
        match wanted {
            Choice::Slurm => Err(AllocationError::not_there(wanted, "SLURM_JOB_ID")),
            _ => Ok(None),
        }
    }
}

fn slurm(nodes: &str, variable: Variable<'_>) -> Result<Allocation, AllocationError> {
    let wrong = |variable, text: &str, what| AllocationError::Variable {
        variable,
        text: text.chars().take(200).collect(),
        what,
    };
    let names = nodes_of_list(nodes)
        .ok_or_else(|| wrong("SLURM_JOB_NODELIST", nodes, "is not a list of nodes"))?;
    let counts = |name: &'static str| match variable(name) {
        // A step has counts of its own, which may be for fewer nodes.
        Some(text) => repeated(&text)
            .ok_or_else(|| wrong(name, &text, "is not a list of numbers"))
            .map(|counts| (counts.len() == names.len()).then_some(counts)),
        None => Ok(None),
    };
    let slots = match counts("SLURM_TASKS_PER_NODE")? {
        Some(slots) => slots,
        None => counts("SLURM_JOB_CPUS_PER_NODE")?.unwrap_or_else(|| vec![1; names.len()]),
    };
    let ranks = match variable("SLURM_NTASKS") {
        Some(text) => {
            let ranks =
                text.parse().map_err(|_| wrong("SLURM_NTASKS", &text, "is not a number"))?;
            Some(ranks)
        }
        None => None,
    };
    let machines = names.into_iter().zip(slots).map(|(name, slots)| machine(name, slots)).collect();
    Ok(Allocation { system: BatchSystem::Slurm, machines, ranks })
}

fn machine(name: String, slots: u32) -> Machine {
    Machine::new(name, Some(slots))
}

/// The hosts of a file of a batch system. Lines with the same host count its slots.
fn of_lines(text: &str, system: BatchSystem) -> Result<Vec<Machine>, String> {
    let mut machines: Vec<Machine> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        if !is_name(name) {
            return Err(format!("line {}: `{name}` is not the name of a host", number + 1));
        }
        let slots = match system {
            BatchSystem::GridEngine => words
                .next()
                .and_then(|word| word.parse().ok())
                .ok_or_else(|| format!("line {}: the number of slots is missing", number + 1))?,
            _ => 1u32,
        };
        match machines.iter_mut().find(|known| known.name == name) {
            Some(known) => known.slots = known.slots.map(|before| before.saturating_add(slots)),
            None => machines.push(machine(name.to_owned(), slots)),
        }
    }
    if machines.is_empty() || machines.len() > HOSTS_MAX {
        return Err(format!("it names {} hosts", machines.len()));
    }
    Ok(machines)
}

/// `4(x2),3` is 4, 4, 3.
fn repeated(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        if counts.len().saturating_add(times) > HOSTS_MAX {
            return None;
        }
        counts.extend(std::iter::repeat_n(count.parse::<u32>().ok()?, times));
    }
    Some(counts)
}

/// The names of `rack[1-2]n[08-10],login`, in their order.
pub fn nodes_of_list(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split_outside_brackets(list)? {
        let mut some = vec![String::new()];
        let mut rest = part;
        while let Some((fixed, inner)) = rest.split_once('[') {
            let (ranges, after) = inner.split_once(']')?;
            some = product(&some, fixed, &numbers(ranges)?)?;
            rest = after;
        }
        some.iter_mut().for_each(|name| name.push_str(rest));
        names.extend(some);
        if names.len() > HOSTS_MAX {
            return None;
        }
    }
    names.iter().all(|name| is_name(name)).then_some(names)
}

fn split_outside_brackets(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if depth == 0 => depth = 1,
            ']' if depth == 1 => depth = 0,
            '[' | ']' => return None,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    (depth == 0).then_some(parts)
}

/// Each name, with the fixed text and each number after it.
fn product(names: &[String], fixed: &str, numbers: &[String]) -> Option<Vec<String>> {
    if names.len().checked_mul(numbers.len())? > HOSTS_MAX {
        return None;
    }
    let with = |name: &String| {
        let name = name.clone();
        numbers.iter().map(move |number| format!("{name}{fixed}{number}"))
    };
    Some(names.iter().flat_map(with).collect())
}

/// `08-10,12` is 08, 09, 10, 12: zeros in front stay.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(first) || !digits(last) || first.len() > 9 || last.len() > 9 {
            return None;
        }
        let (from, to): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if from > to || all.len() + (to - from) >= HOSTS_MAX {
            return None;
        }
        all.extend((from..=to).map(|number| format!("{number:0width$}", width = first.len())));
    }
    Some(all)
}

/// Whether this can be a host. A name that begins with a dash would be an option of ssh.
fn is_name(name: &str) -> bool {
    let usual = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(usual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allocation(
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<Option<Allocation>, AllocationError> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        Allocation::of(Choice::Auto, &get, &|_| Ok(file.to_owned()))
    }

    #[test]
    fn the_user_may_name_the_batch_system() {
        let variables =
            [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "a"), ("PBS_NODEFILE", "/f")];
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        let system = |wanted| {
            let found = Allocation::of(wanted, &get, &|_| Ok("b".to_owned()));
            found.map(|found| found.map(|one| one.system)).map_err(|error| error.to_string())
        };
        assert_eq!(system(Choice::Auto), Ok(Some(BatchSystem::Slurm)));
        assert_eq!(system(Choice::Pbs), Ok(Some(BatchSystem::Pbs)));
        assert_eq!(system(Choice::User), Ok(None));
        let error = system(Choice::Sge).unwrap_err();
        assert!(error.starts_with("--rmk sge") && error.contains("PE_HOSTFILE"), "{error}");
        let nothing = Allocation::of(Choice::Slurm, &|_| None, &|_| Ok(String::new()));
        assert!(nothing.is_err());
    }

    fn hosts(allocation: &Allocation) -> Vec<(&str, u32)> {
        allocation.machines.iter().map(|m| (m.name.as_str(), m.slots.unwrap())).collect()
    }

    #[test]
    fn slurm_names_nodes_tasks_and_ranks() {
        let found = allocation(
            &[
                ("SLURM_JOB_ID", "7"),
                ("SLURM_JOB_NODELIST", "n[1-2,09],rack[1-2]x[08-09]b,login"),
                ("SLURM_TASKS_PER_NODE", "2(x3),4(x4),1"),
                ("SLURM_NTASKS", "23"),
            ],
            "",
        );
        let found = found.unwrap().unwrap();
        let expected = [
            ("n1", 2),
            ("n2", 2),
            ("n09", 2),
            ("rack1x08b", 4),
            ("rack1x09b", 4),
            ("rack2x08b", 4),
            ("rack2x09b", 4),
            ("login", 1),
        ];
        assert_eq!(hosts(&found), expected);
        assert_eq!((found.system, found.ranks), (BatchSystem::Slurm, Some(23)));
    }

    #[test]
    fn slurm_without_tasks_gives_the_processors() {
        let found = allocation(
            &[
                ("SLURM_JOB_ID", "7"),
                ("SLURM_JOB_NODELIST", "a,b"),
                // Of a step on one node.
                ("SLURM_TASKS_PER_NODE", "1"),
                ("SLURM_JOB_CPUS_PER_NODE", "8,16"),
            ],
            "",
        );
        assert_eq!(hosts(&found.unwrap().unwrap()), [("a", 8), ("b", 16)]);
    }

    #[test]
    fn files_of_other_systems_count_slots() {
        for variable in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "COBALT_NODEFILE"] {
            let found = allocation(&[(variable, "/f")], "b\na\n\nb\n").unwrap().unwrap();
            assert_eq!(hosts(&found), [("b", 2), ("a", 1)], "{variable}");
        }
        let lines = "node1.x 4 all.q@node1 UNDEFINED\nnode2.x 2 all.q@node2 <NULL>\n";
        let found = allocation(&[("PE_HOSTFILE", "/f")], lines).unwrap().unwrap();
        assert_eq!(hosts(&found), [("node1.x", 4), ("node2.x", 2)]);
    }

    #[test]
    fn without_a_batch_system_there_is_no_allocation() {
        assert_eq!(allocation(&[("SLURM_JOB_NODELIST", "a")], "").unwrap(), None);
        assert_eq!(allocation(&[("PBS_NODEFILE", "")], "").unwrap(), None);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for list in
            ["n[1-", "n[3-1]", "n[a]", "n[1]]", "-oProxyCommand=x", "", "a,,b", "n[1-99999999]"]
        {
            let found = allocation(&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", list)], "");
            let why = found.unwrap_err().to_string();
            assert!(why.starts_with("SLURM_JOB_NODELIST: ") && why.contains("--hosts"), "{why}");
        }
        assert_eq!(repeated("1,1(x18446744073709551615)"), None);
        for lines in ["", "\n", "-x 1", "node1 many"] {
            let why = allocation(&[("PE_HOSTFILE", "/f")], lines).unwrap_err().to_string();
            assert!(why.starts_with("PE_HOSTFILE: /f: "), "{why}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_refused(text in "[n0-9\\[\\],()x-]{0,40}") {
            for name in nodes_of_list(&text).into_iter().flatten() {
                prop_assert!(is_name(&name));
            }
            let _ = repeated(&text);
        }
    }
}

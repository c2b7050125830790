//! A process that another launcher started as one of several, and that cannot join the others.
//!
//! Guarantees: such a process ends with one line that says what to type. Otherwise N copies of the
//! program would run, each as rank 0 of 1, over the same files. `FTMPI_SINGLETON=1` allows it.

/// Allows a process of another launcher to be a job of one rank.
const ALLOW: &str = "FTMPI_SINGLETON";

/// Who starts processes, and the variable with the number of processes that were started together.
const LAUNCHERS: &[(&str, &str)] = &[
    ("srun", "SLURM_STEP_NUM_TASKS"),
    ("Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE"),
    ("another MPI's mpiexec", "PMI_SIZE"),
    ("PALS", "PALS_NRANKS"),
    ("flux run", "FLUX_JOB_SIZE"),
    ("a launcher with PMIx", "PMIX_SIZE"),
    ("Intel MPI's mpirun", "MPI_LOCALNRANKS"),
];

/// The launcher that started this process together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignLauncher {
    name: &'static str,
    variable: &'static str,
    processes: u32,
}

impl ForeignLauncher {
    /// Looks in this environment; `None`: this process is alone, or may be a job of its own.
    #[must_use]
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable(ALLOW).is_some_and(|text| text == "1") {
            return None;
        }
        let count = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
        LAUNCHERS.iter().find_map(|&(name, variable)| {
            let processes = count(variable).filter(|count| *count > 1)?;
            Some(Self { name, variable, processes })
        })
    }
}

impl ForeignLauncher {
    /// What a program says that was started so.
    #[must_use]
    pub fn for_a_program(&self) -> String {
        let Self { name, variable, processes } = self;
        let other_way = match *name {
            "srun" => ", or with: srun --mpi=pmi2 PROGRAM",
            _ => "",
        };
        format!(
            "{name} started this program as one of {processes} processes ({variable}), which ftmpi cannot join to one \
             job; start it with: ftmpiexec -n {processes} PROGRAM{other_way} (or set {ALLOW}=1 for {processes} \
             separate jobs of one rank)"
        )
    }

    /// What `ftmpiexec` says that was started so.
    #[must_use]
    pub fn for_ftmpiexec(&self) -> String {
        let Self { name, variable, processes } = self;
        format!(
            "{name} started ftmpiexec {processes} times ({variable}), and each would start the whole job; call \
             ftmpiexec -n {processes} PROGRAM once, without {name} before it (or set {ALLOW}=1 for {processes} jobs)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<String> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        ForeignLauncher::find(get).map(|found| found.for_a_program())
    }

    #[test]
    fn one_of_several_is_told_what_to_type() {
        for (name, variable) in LAUNCHERS {
            let text = found(&[(variable, "4")]).unwrap();
            assert!(text.contains(name) && text.contains("ftmpiexec -n 4 PROGRAM"), "{text}");
            assert_eq!(found(&[(variable, "4"), (ALLOW, "1")]), None);
        }
    }

    #[test]
    fn a_process_that_was_started_alone_is_a_job() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(found(&[("PMI_SIZE", "x")]), None);
    }
}

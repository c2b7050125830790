//! A process that another launcher started as one of several, and that cannot join the others.
//!
//! Guarantees: such a process ends with one line that says what to type. Otherwise N copies of the
//! program would run, each as rank 0 of 1, over the same files. `FTMPI_SINGLETON=1` allows it.
//!
//! What such a launcher tells one of its processes alone is true for no other process:
//! [`is_of_one_process`] names those variables.

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

/// A launcher that tells no number, and the variable with the number of a process.
const NUMBERING: (&str, &str) = ("a launcher with PMIx", "PMIX_RANK");

/// Variables by which launchers tell a process who it is, and how it reaches them.
const OF_ONE_PROCESS: &[&str] = &[
    "HYDI_CONTROL_FD",
    "HYDRA_CONTROL_FD",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "FLUX_JOB_SIZE",
    "FLUX_TASK_LOCAL_ID",
    "FLUX_TASK_RANK",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE_SIZE",
    "PALS_DEPTH",
    "PALS_LOCAL_RANKID",
    "PALS_LOCAL_SIZE",
    "PALS_NODEID",
    "PALS_NRANKS",
    "PALS_RANKID",
    "PMIX_BFROP_BUFFER_TYPE",
    "PMIX_HOSTNAME",
    "PMIX_NAMESPACE",
    "PMIX_NODELIST",
    "PMIX_PARAM_FILE_PASSED",
    "PMIX_RANK",
    "PMIX_REINCARNATION",
    "PMIX_SECURITY_MODE",
    "PMIX_SERVER_TMPDIR",
    "PMIX_SIZE",
    "PMIX_SYSTEM_TMPDIR",
    "PMIX_VERSION",
    "PRTE_LAUNCHED",
    "SLURM_GTIDS",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_PMIXP_ABORT_AGENT_PORT",
    "SLURM_PMIX_MAPPING_SERV",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_SRUN_COMM_PORT",
    "SLURM_TASK_PID",
];

/// Beginnings of such variables.
const BEGINNINGS: &[&str] = &[
    "OMPI_COMM_WORLD_",
    "PMI2_",
    "PMI_",
    "PMIX_SERVER_URI",
    "PMIX_GDS_",
    "SLURM_PMI2_",
    "SLURM_STEPID",
    "SLURM_STEP_",
];

/// Whether a variable belongs to one process of another launcher: a rank of a job inside of that
/// process is another one.
#[must_use]
pub fn is_of_one_process(variable: &str) -> bool {
    OF_ONE_PROCESS.contains(&variable) || BEGINNINGS.iter().any(|begin| variable.starts_with(begin))
}

/// The launcher that started this process together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignLauncher {
    name: &'static str,
    variable: &'static str,
    processes: u32,
    /// There may be more.
    at_least: bool,
}

impl ForeignLauncher {
    /// Looks in this environment; `None`: this process is alone, or may be a job of its own.
    #[must_use]
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable(ALLOW).is_some_and(|text| text == "1") {
            return None;
        }
        let count = |name: &str| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
        let told = LAUNCHERS.iter().find_map(|&(name, variable)| {
            let processes = count(variable).filter(|count| *count > 1)?;
            Some(Self { name, variable, processes, at_least: false })
        });
        let (name, variable) = NUMBERING;
        let counted =
            |rank: u32| Self { name, variable, processes: rank.saturating_add(1), at_least: true };
        told.or_else(|| count(variable).filter(|rank| *rank > 0).map(counted))
    }
}

impl ForeignLauncher {
    /// What a program says that was started so.
    #[must_use]
    pub fn for_a_program(&self) -> String {
        let Self { name, variable, processes, at_least } = self;
        let number = if *at_least { "at least " } else { "" };
        let (ranks, jobs) = self.ranks();
        let other_way = match *name {
            "srun" => ", or with: srun --mpi=pmi2 PROGRAM",
            _ => "",
        };
        format!(
            "{name} started this program as one of {number}{processes} processes ({variable}), which ftmpi cannot join to one \
             job; start it with: ftmpiexec -n {ranks} PROGRAM{other_way} (or set {ALLOW}=1 for {jobs}separate \
             jobs of one rank)"
        )
    }

    /// The number to type for the ranks, and the number of separate jobs. A launcher that tells no
    /// number leaves it to the user: each process would name another one.
    fn ranks(&self) -> (String, String) {
        match self.at_least {
            true => ("N".to_owned(), String::new()),
            false => (self.processes.to_string(), format!("{} ", self.processes)),
        }
    }

    /// What `ftmpiexec` says that was started so.
    #[must_use]
    pub fn for_ftmpiexec(&self) -> String {
        let Self { name, variable, processes, at_least } = self;
        let number = if *at_least { "at least " } else { "" };
        let (ranks, jobs) = self.ranks();
        format!(
            "{name} started ftmpiexec {number}{processes} times ({variable}), and each would start the whole job; call \
             ftmpiexec -n {ranks} PROGRAM once, without {name} before it (or set {ALLOW}=1 for {jobs}separate jobs)"
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
    fn what_marks_one_of_several_belongs_to_that_process() {
        for (_, variable) in LAUNCHERS {
            assert!(is_of_one_process(variable), "{variable}");
        }
        for variable in ["PMI_FD", "SLURM_PROCID", "SLURM_STEP_NODELIST", "PMIX_SERVER_URI41"] {
            assert!(is_of_one_process(variable), "{variable}");
        }
        // Of the whole allocation, or the user's.
        for variable in ["SLURM_JOB_ID", "SLURM_NTASKS", "PMIX_MCA_gds", "FLUX_URI", "PMIX_DEBUG"] {
            assert!(!is_of_one_process(variable), "{variable}");
        }
    }

    #[test]
    fn a_process_that_was_started_alone_is_a_job() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(found(&[("PMI_SIZE", "x")]), None);
        assert_eq!(found(&[("PMIX_RANK", "0")]), None);
    }

    #[test]
    fn a_launcher_that_tells_no_number_is_known_by_the_second_process() {
        let text = found(&[("PMIX_RANK", "2"), ("PMIX_NAMESPACE", "x")]).unwrap();
        assert!(text.contains("one of at least 3 processes (PMIX_RANK)"), "{text}");
        // (The next process would name another number.)
        assert!(text.contains("ftmpiexec -n N PROGRAM") && text.contains("for separate"), "{text}");
    }
}

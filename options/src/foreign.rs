//! Options of other launchers, as their users type them here: what to write instead.
//!
//! What means the same is accepted (`-x`, `-npernode`, `--hostfile`); see the aliases in the table
//! and `normalize` in `ftmpiexec`. Everything else gets advice.

const OPEN_MPI: &str = "Open MPI";
const INTEL: &str = "Intel MPI";
const HYDRA: &str = "Hydra";
const SLURM: &str = "Slurm";

const DROP: &str = "drop it: ftmpiexec needs nothing here";
const NO_COMPONENTS: &str = "drop it: there are no components to choose here (--transport tcp: TCP instead of shared memory)";
const PER_HOST: &str = "write --ppn N for N ranks on each host";
const RANKS: &str = "write -n N for N ranks";
const CORES: &str = "write --bind-to core:N for N cores for each rank";
const BIND: &str = "write --bind-to WHAT (core, l3cache, numa, socket, or user:0,2,4)";
const BATCH: &str = "give it to sbatch, salloc or ftmpiexec sbatch: ftmpiexec takes hosts and ranks from the allocation";
const SLOTS: &str = "drop it: ftmpiexec puts as many ranks on a host as you ask for";
const FILES: &str = "write --outfile-pattern 'out.%r' (%r is the rank)";
const STDIN: &str = "drop it: rank 0 gets the standard input";
const HOSTS: &str = "write --hosts a,b:2, or a machine file with -f FILE";
const OWN_IMAGES: &str =
    "drop it: images are taken by default (--ckpt-interval TIME; --help checkpoints)";
const BINDINGS: &str = "write --verbose to see how ranks are placed and bound";
const DEBUG: &str = "attach a debugger to a rank: ftmpi-ctl status lists the processes";
const SAME_PATH: &str = "copy the program to the hosts: it must have the same path everywhere";

/// Spellings without dashes, whose option it is, and what to do.
const TABLE: &[(&[&str], &str, &str)] = &[
    (&["mca", "gmca", "omca", "prtemca", "pmixmca", "am", "tune"], OPEN_MPI, NO_COMPONENTS),
    (&["nooversubscribe", "pernode", "max-vm-size"], OPEN_MPI, SLOTS),
    (&["c", "np-per-node"], OPEN_MPI, RANKS),
    (&["N", "npersocket", "ppr", "ranks-per-proc"], OPEN_MPI, PER_HOST),
    (&["H"], OPEN_MPI, HOSTS),
    (&["default-hostfile", "rankfile", "rf", "rank-by"], OPEN_MPI, HOSTS),
    (&["cpus-per-proc", "cpus-per-rank"], OPEN_MPI, CORES),
    (
        &[
            "bind-to-core",
            "bind-to-socket",
            "bind-to-none",
            "bycore",
            "bysocket",
            "byslot",
            "bynode",
            "cpu-set",
            "cpu-list",
            "slot-list",
        ],
        OPEN_MPI,
        BIND,
    ),
    (
        &["tag-output", "timestamp-output"],
        OPEN_MPI,
        "write -l for the rank's number before each line",
    ),
    (&["output-filename", "merge-stderr-to-stdout", "xterm"], OPEN_MPI, FILES),
    (
        &["report-bindings", "display-map", "display-allocation", "display", "do-not-launch"],
        OPEN_MPI,
        BINDINGS,
    ),
    (&["stdin"], OPEN_MPI, STDIN),
    (
        &["enable-recovery", "continuous", "disable-recovery", "with-ft"],
        OPEN_MPI,
        "drop it: ranks come back; -disable-auto-cleanup goes on without them (ULFM)",
    ),
    (
        &["prefix", "noprefix", "path"],
        OPEN_MPI,
        "write --remote-path PATH for the ftmpiexec of other hosts",
    ),
    (&["preload-binary", "preload-files", "s"], OPEN_MPI, SAME_PATH),
    (
        &["q", "quiet", "report-pid", "report-uri", "server", "ompi-server", "nolocal", "no-local"],
        OPEN_MPI,
        DROP,
    ),
    (
        &["tv", "debug", "debugger", "debug-daemons", "gdb", "gdba", "gtool", "gtoolfile"],
        OPEN_MPI,
        DEBUG,
    ),
    (&["rr", "grr", "localonly", "print-rank-map", "order-nodes", "hosts-group"], INTEL, PER_HOST),
    (&["t", "check_mpi", "aps", "mps", "tune-file", "binding", "topolib"], INTEL, DROP),
    (
        &["gwdir", "gpath", "gumask", "umask", "gexitcodes"],
        INTEL,
        "write --wdir DIR for the directory",
    ),
    (
        &["ckpoint", "ckpoint-interval", "ckpoint-prefix", "ckpointlib", "ckpoint-num"],
        HYDRA,
        OWN_IMAGES,
    ),
    (
        &[
            "disable-hostname-propagation",
            "localhost",
            "enable-x",
            "disable-x",
            "pmi-port",
            "skip-launch-node",
            "info",
            "demux",
            "arch",
            "file",
            "soft",
        ],
        HYDRA,
        DROP,
    ),
    (
        &["nameserver"],
        HYDRA,
        "drop it: a second ftmpiexec finds the names of a job with --join JOB",
    ),
    (&["profile"], HYDRA, "write --report FILE.html, or --trace FILE"),
    (
        &["gpus-per-proc"],
        HYDRA,
        "choose devices in a script around the program, by MPI_LOCALRANKID",
    ),
    (&["ntasks", "tasks"], SLURM, RANKS),
    (&["ntasks-per-node", "tasks-per-node"], SLURM, PER_HOST),
    (&["nodelist", "w", "nodes", "distribution", "relative", "exclude"], SLURM, HOSTS),
    (&["label"], SLURM, "write -l"),
    (&["cpu-bind", "cpu_bind", "mem-bind", "cores-per-socket", "hint"], SLURM, BIND),
    (&["cpus-per-task"], SLURM, CORES),
    (&["chdir", "D"], SLURM, "write --wdir DIR"),
    (&["input", "i"], SLURM, STDIN),
    (&["error", "e", "o"], SLURM, FILES),
    (&["time"], SLURM, "write --timeout TIME (30m, 2h)"),
    (&["export"], SLURM, "write --genvlist NAMES, or --genv NAME VALUE"),
    (
        &["mpi", "kill-on-bad-exit", "K", "overlap", "exact", "unbuffered", "u", "multi-prog"],
        SLURM,
        DROP,
    ),
    (
        &[
            "partition",
            "p",
            "account",
            "A",
            "qos",
            "constraint",
            "gres",
            "gpus",
            "gpus-per-node",
            "gpus-per-task",
            "mem",
            "mem-per-cpu",
            "job-name",
            "J",
            "exclusive",
            "reservation",
        ],
        SLURM,
        BATCH,
    ),
    (&["bcast"], SLURM, SAME_PATH),
];

/// Whose option this is, and what to write here.
#[must_use]
pub fn advice(option: &str) -> Option<(&'static str, &'static str)> {
    let name = option.trim_start_matches('-');
    let known = |names: &&[&str]| names.contains(&name);
    TABLE.iter().find(|(names, ..)| known(names)).map(|(_, owner, instead)| (*owner, *instead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftmpiexec::Cli;
    use clap::CommandFactory;

    #[test]
    fn advice_is_short_and_never_about_an_option_of_ours() {
        let command = Cli::command();
        for (names, _, instead) in TABLE {
            assert!(instead.len() <= 110, "{instead}");
            for name in *names {
                let ours = command.get_arguments().any(|arg| {
                    arg.get_long() == Some(name)
                        || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(name))
                });
                assert!(!ours, "{name}");
            }
        }
        assert_eq!(advice("--mca").map(|(owner, _)| owner), Some("Open MPI"));
        assert_eq!(advice("-ntasks").map(|(_, instead)| instead), Some(RANKS));
        assert_eq!(advice("--nonsense"), None);
    }
}

//! What belongs to a heading and is not an option: files, words and codes.

use crate::page::Block;

/// Examples for `--help` and the manual.
pub const EXAMPLES: &str = "\
ftmpiexec -n 4 ./prog                     # four ranks here, fault-tolerant
ftmpiexec -n 4 --protocol none ./prog     # fastest; a failure ends the job
ftmpiexec -hosts a,b -ppn 2 -n 4 ./prog   # two ranks on each of two hosts
ftmpiexec -n 1 ./main : -n 3 ./worker     # two programs in one job
ftmpiexec -n 4 --inject kill:rank=2,at=3s --report run.json ./prog
                                          # kill rank 2 after 3 s
ftmpiexec -n 4 --job-dir job ./prog       # can be continued ...
ftmpiexec --restart job                   # ... after everything has died
ftmpiexec --doctor ./prog                 # look for what stands in the way";

/// The points of the library at which a fault can happen, and when each is reached.
pub const POINTS: &[(&str, &str)] = &[
    ("init", "MPI_Init begins"),
    ("log-sent", "events leave for the event logger"),
    ("log-acknowledged", "the event logger has acknowledged events"),
    ("ring-read", "a message is taken from shared memory"),
    ("rendezvous", "a large message is agreed on"),
    ("wave", "a wave of images begins"),
    ("image", "an image is taken"),
    ("replay", "a replay begins"),
    ("replay-step", "a recorded answer is repeated"),
    ("acted", "a file has been changed"),
    ("question", "ftmpiexec is about to be asked for processes or a port"),
    ("answer", "ftmpiexec has answered"),
    ("finalize-begin", "MPI_Finalize begins"),
    ("finalize", "inside MPI_Finalize"),
    ("finalize-end", "MPI_Finalize ends"),
    ("exit", "the process ends"),
];

fn text(text: &str) -> Block {
    Block::Text(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn code(lines: &[&str]) -> Block {
    Block::Code(lines.iter().map(|&line| line.to_owned()).collect())
}

fn terms(pairs: &[(&str, &str)]) -> Block {
    Block::Terms(pairs.iter().map(|&(name, what)| (name.to_owned(), what.to_owned())).collect())
}

/// Headings, their topics, and the notes of each.
pub fn all() -> Vec<(&'static str, &'static str, Vec<Block>)> {
    vec![
        ("Placement", "placement", placement()),
        ("Fault tolerance", "fault-tolerance", fault_tolerance()),
        ("Batch jobs", "batch", batch()),
        ("Testing", "testing", testing()),
        ("Hydra compatibility", "hydra", hydra()),
        ("Values", "values", values()),
        ("Exit codes", "exit-codes", exit_codes()),
    ]
}

fn placement() -> Vec<Block> {
    vec![
        text("A machine file (-f) has one host on each line:"),
        code(&[
            "[user@]host[:slots] [spare] [max_slots=N] [switch=NAME] [user=NAME]",
            "                    [event-logger[=RANKS]] [checkpoint-server[=RANKS]]",
        ]),
        text("For example:"),
        code(&[
            "node1:4",
            "node2:4",
            "node3:4  spare",
            "store:0  event-logger=0-3,6  checkpoint-server",
        ]),
        text(
            "A host with 0 slots never gets ranks. A spare has none at the start, and is the first to \
             take the ranks of a lost host; after the spares come free slots, then hosts without a \
             free slot, up to max_slots. RANKS are the ranks that the server serves; without \
             RANKS it serves all that no other line names. Servers that no line names run on the host \
             of ftmpiexec. Under --protocol channel-memory an event-logger is a channel memory.",
        ),
    ]
}

fn fault_tolerance() -> Vec<Block> {
    vec![text(
        "An option that has no effect under the chosen protocol is refused; options that need \
         messages logged make auto choose a protocol that logs. Without options each rank takes an \
         image every 30 s, or less often where images cost much.",
    )]
}

fn batch() -> Vec<Block> {
    vec![
        text(
            "With --job-dir or --grace, SIGTERM takes a last image of every rank, keeps the job \
             directory, prints the command that continues the job, and ends with exit code 75. SIGUSR1 \
             does so without these options, too, and Ctrl-C does so with --job-dir. A second signal ends \
             the job at once.",
        ),
        text(
            "ftmpiexec sbatch [options of sbatch] [--submit] [options] program prints or submits a script \
             for Slurm that puts its job back into the queue until the program has ended. After two runs \
             of --auto-restart without a newer image the third one ends with a line.",
        ),
        text(
            "Without --job-dir and --grace SIGTERM ends the job and leaves nothing behind. With --ckpt \
             off all signals do.",
        ),
    ]
}

fn testing() -> Vec<Block> {
    let points: Vec<_> = POINTS.iter().map(|&(name, what)| (name, what)).collect();
    vec![
        text("Faults (--inject):"),
        terms(&[
            ("kill:rank=2,at=3s", "kill rank 2 after 3 s"),
            ("kill:rank=all,at=5s", "kill all ranks at once"),
            ("kill:every=2s,count=10,seed=7", "kill ten ranks, drawn at random, one every 2 s"),
            (
                "kill:rank=1,point=wave,nth=3",
                "rank 1 dies when it reaches a point for the third time",
            ),
            ("kill:server=event-logger,at=2s", "kill all event loggers"),
            ("kill:server=event-logger,number=1,at=2s", "kill the second event logger"),
            ("kill:agent=HOST,at=2s", "kill the agent of a host, and its ranks with it"),
            ("host:HOST,at=3s,for=60s", "take a host down with its servers, for a minute"),
            ("cut:A-B,at=3s,for=5s", "hosts A and B do not reach each other for 5 s"),
            ("stop:rank=2,at=3s,for=10s", "the process of rank 2 is stopped for 10 s"),
            ("delay:logger=50ms", "the event logger acknowledges 50 ms later"),
            ("slow:disk=20ms", "each write and sync of a server's file takes 20 ms longer"),
            ("model:FILE", "faults are drawn from rates (guide: testing with faults)"),
        ]),
        text(
            "Servers are event-logger, checkpoint-server, checkpoint-scheduler and channel-memory. \
             at= and every= work for ranks, servers and agents. Without for=, or with for=ever, a host \
             or a cut does not come back. Hosts may be virtual: -launcher fork -hosts a,b,c.",
        ),
        text("Points (point=):"),
        terms(&points),
    ]
}

fn hydra() -> Vec<Block> {
    vec![
        text(
            "All options of ftmpiexec work with one dash and with two: -hosts is --hosts. Options of \
             MPICH's Hydra keep their names: -n, -np, -hosts, -f, -machinefile, -ppn, -env, -envlist, \
             -envnone, -envall, -genv, -genvlist, -genvnone, -genvall, -wdir, -configfile, \
             -prepend-rank, -prepend-pattern, -print-all-exitcodes, -outfile-pattern, -errfile-pattern, \
             -bind-to, -map-by, -membind, -rankmap, -usize, -launcher, -launcher-exec, -bootstrap, -rmk, \
             -iface.",
        ),
        text(
            "Variables of Hydra stand for options that are not given: HYDRA_HOST_FILE for -f, \
             HYDRA_LAUNCHER for -launcher, HYDRA_LAUNCHER_EXEC for -launcher-exec, \
             HYDRA_LAUNCHER_EXTRA_ARGS for --rsh-options, HYDRA_RMK for -rmk, HYDRA_IFACE for -iface, \
             HYDRA_BINDING for -bind-to, HYDRA_MAPPING for -map-by, HYDRA_MEMBIND for -membind, \
             MPIEXEC_PORT_RANGE and \
             MPICH_PORT_RANGE for --port-range, MPIEXEC_TIMEOUT for --timeout. Variables of Intel MPI mean the same (I_MPI_HYDRA_HOST_FILE, \
             I_MPI_HYDRA_BOOTSTRAP and their like). A variable with a word that ftmpiexec does not \
             know, or with a batch system that is not there, counts as not set: -v names it.",
        ),
        text(
            "Options of Open MPI, Intel MPI and Slurm that mean the same are accepted, too: -x \
             NAME[=VALUE] is --env, -npernode is --ppn, --hostfile is -f. For the others ftmpiexec \
             says what to write here.",
        ),
    ]
}

fn values() -> Vec<Block> {
    vec![terms(&[
        ("TIME", "a number and ms, s, m or h: 500ms, 30s, 2m, 1.5h; without a unit seconds"),
        ("SIZE", "a number and K, M, G or T (powers of 1024): 500M, 20G; without a unit bytes"),
        ("MIB", "a number of MiB (1 MiB is 1048576 bytes)"),
        ("FILE, DIR", "paths; those of the first command line hold for --restart, too"),
    ])]
}

fn exit_codes() -> Vec<Block> {
    vec![terms(&[
        ("0", "every rank ended with 0"),
        ("the program's", "of the first rank that did not end with 0"),
        ("1", "the job cannot go on: the last line says why; --doctor: a job would fail"),
        ("2", "wrong options, or the job could not be started"),
        (
            "75",
            "the job was stopped, and --restart continues it: a signal, a time limit, or a server, \
             the network or room for output was missing",
        ),
        ("124", "the time limit of --timeout, without --job-dir and --grace"),
        ("126", "the program cannot be executed"),
        ("127", "there is no such program"),
        ("128 + N", "a rank was killed by signal N and could not be brought back; 130: Ctrl-C"),
    ])]
}

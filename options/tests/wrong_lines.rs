//! Command lines that are wrong, and what users read then; and the page of common options, line by
//! line.

use ftmpi_options::errors::OptionError;
use ftmpi_options::ftmpiexec::{Answer, read};
use ftmpi_options::terminal::answer;

/// Each line and its whole answer. To change a text, change it here, too, and read it once more.
const FTMPIEXEC: &[(&str, &str)] = &[
    (
        "--ckpt-intervall 3s ./p",
        "there is no option --ckpt-intervall; did you mean --ckpt-interval?",
    ),
    ("-protocl none ./p", "there is no option -protocl; did you mean --protocol?"),
    ("--nonsense ./p", "there is no option --nonsense; ftmpiexec --help lists all options"),
    ("-n 2 -nonsense ./p", "there is no option -nonsense; ftmpiexec --help lists all options"),
    ("-n", "-n has no value; write -n N"),
    ("-n -l ./p", "-n has no value; write -n N"),
    ("-n four ./p", "-n: `four` is not a whole number from 1 on; write for example 4"),
    ("-n 0 ./p", "-n: `0` is not a whole number from 1 on; write for example 4"),
    ("-n -1 ./p", "-n: `-1` is not a whole number from 1 on; write for example 4"),
    ("-n 4294967296 ./p", "-n: `4294967296` is not a whole number from 1 on; write for example 4"),
    ("-n 2 -n 3 ./p", "-n is given twice; give it once"),
    ("-ppn 0 ./p", "--ppn: `0` is not a whole number from 1 on; write for example 2"),
    (
        "--ckpt-interval soon ./p",
        "--ckpt-interval: `soon` is not a time; write a number and a unit (ms, s, m or h), such as 30s or 500ms",
    ),
    (
        "--ckpt-interval 999999999h ./p",
        "--ckpt-interval: `999999999h` is more than a hundred years; write a shorter time, such as 24h",
    ),
    ("--ckpt-interval= ./p", "--ckpt-interval has no value; write --ckpt-interval TIME"),
    (
        "--protocol casual ./p",
        "--protocol: `casual` is unknown; did you mean causal? (accepted: auto, pessimistic, replicated, causal, \
         optimistic, channel-memory, coordinated, hierarchical, none, plugin:FILE)",
    ),
    (
        "--protocol psychic ./p",
        "--protocol: `psychic` is unknown; write one of auto, pessimistic, replicated, causal, optimistic, \
         channel-memory, coordinated, hierarchical, none, plugin:FILE",
    ),
    ("--ckpt maybe ./p", "--ckpt: `maybe` is unknown; write one of on, off"),
    (
        "--wave blockin ./p",
        "--wave: `blockin` is unknown; did you mean blocking? (accepted: blocking, nonblocking)",
    ),
    (
        "--output lines,often ./p",
        "--output: `often` is unknown; write one of raw, lines, committed",
    ),
    ("--launcher sge ./p", "--launcher: `sge` is unknown; write one of auto, slurm, ssh, fork"),
    (
        "--event-loggers 33 ./p",
        "--event-loggers: `33` is not a whole number from 1 to 32; write for example 2",
    ),
    (
        "--compress -1 ./p",
        "--compress: `-1` is not a whole number from 0 to 19; write for example 1",
    ),
    (
        "--compress 20 ./p",
        "--compress: `20` is not a whole number from 0 to 19; write for example 1",
    ),
    (
        "--image-space 1.5G ./p",
        "--image-space: `1.5G` is not a size; write a number and K, M, G or T (powers of 1024), such as 500M or \
         20G",
    ),
    (
        "--object-store http://x ./p",
        "--object-store: `http://x` is not the address of an object store; write s3://BUCKET/PREFIX or \
         file:///DIRECTORY",
    ),
    (
        "--metrics 9100 ./p",
        "--metrics: `9100` is not an address; write IP:PORT, such as 127.0.0.1:9100 or [::1]:9100",
    ),
    (
        "--max-restarts many ./p",
        "--max-restarts: `many` is not a whole number from 0 on; write for example 10",
    ),
    (
        "--log-limit 1G ./p",
        "--log-limit: `1G` is not a whole number from 0 on; write for example 512",
    ),
    ("--doctor=yes ./p", "--doctor takes no value; write --doctor alone"),
    (
        "--job-dir a --restart b",
        "--job-dir and --restart cannot be used together; drop one of them",
    ),
    ("--report", "--report has no value; write --report FILE"),
    ("--report -n 2 ./p", "--report has no value; write --report FILE"),
    ("--env A", "--env has no value; write --env NAME VALUE"),
    ("-genv", "-genv has no value; write -genv NAME VALUE"),
    ("-n 2 ./p : --report x ./q", "--report is for the whole job; write it before the first `:`"),
    ("-n 2 ./p : -l ./q", "-l is for the whole job; write it before the first `:`"),
    (
        "-n 2 ./p : --nonsense ./q",
        "there is no option --nonsense; ftmpiexec --help lists all options",
    ),
    (
        "--help ./p",
        "there is no help about ./p; topics are placement, environment, output, fault-tolerance, \
      checkpoints, storage, batch, network, testing, hydra, help, values, exit-codes",
    ),
    (
        "-configfile /no/such",
        "--configfile /no/such: No such file or directory (os error 2); name a file that can be read",
    ),
    (
        "-configfile /dev/null ./p",
        "--configfile /dev/null: the file names the programs; name none on the command line",
    ),
    (
        "-configfile /dev/null",
        "--configfile /dev/null: it names no program; write a line such as `-n 4 ./prog`",
    ),
    (
        "--mca btl tcp,self ./p",
        "--mca is an option of Open MPI; drop it: there are no components to choose here (--transport tcp: TCP \
         instead of shared memory)",
    ),
    (
        "-H a,b ./p",
        "-H is an option of Open MPI; write --hosts a,b:2, or a machine file with -f FILE",
    ),
    (
        "--tag-output ./p",
        "--tag-output is an option of Open MPI; write -l for the rank's number before each line",
    ),
    ("-N 2 ./p", "-N is an option of Open MPI; write --ppn N for N ranks on each host"),
    ("--ntasks=4 ./p", "--ntasks is an option of Slurm; write -n N for N ranks"),
    (
        "--cpus-per-task 2 ./p",
        "--cpus-per-task is an option of Slurm; write --bind-to core:N for N cores for each rank",
    ),
    ("-rr ./p", "-rr is an option of Intel MPI; write --ppn N for N ranks on each host"),
    ("-x", "-x has no value; write -x NAME=VALUE"),
];

fn wrong(line: &str) -> String {
    let words = std::iter::once("ftmpiexec").chain(line.split_whitespace()).map(str::to_owned);
    match read(words.collect()) {
        Err(Answer::Wrong(error)) => error.to_string(),
        other => panic!("`{line}` is not refused: {other:?}"),
    }
}

#[test]
fn wrong_command_lines_are_answered_in_one_line() {
    assert!(FTMPIEXEC.len() >= 50);
    for (line, text) in FTMPIEXEC {
        assert_eq!(wrong(line), *text, "{line}");
        for raw in ["..=", "(\"", "invalid digit", "error:", "\n"] {
            assert!(!text.contains(raw), "{text}");
        }
    }
}

#[test]
fn what_other_launchers_mean_by_the_same_is_accepted() {
    for line in [
        "--oversubscribe -n 4 ./p",
        "--allow-run-as-root --hostfile h ./p",
        "-npernode 2 -x A=1 -host a ./p",
        "-perhost 2 -machinefile h -genvall ./p",
        "--bind-to core --map-by socket ./p",
        "-iface eth0 -bootstrap ssh -launcher-exec ssh ./p",
        "-timeout -1 ./p",
    ] {
        let words = std::iter::once("ftmpiexec").chain(line.split_whitespace()).map(str::to_owned);
        let read = read(words.collect());
        assert!(read.is_ok(), "{line}: {read:?}");
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn help(line: &str) -> String {
    let words = std::iter::once("ftmpiexec").chain(line.split_whitespace()).map(str::to_owned);
    match read(words.collect()) {
        Err(Answer::Help(text)) => plain(&text),
        other => panic!("`{line}` is no question: {other:?}"),
    }
}

#[test]
fn common_options_fit_on_one_screen() {
    let text = help("-n 4 -h");
    assert_eq!(text, include_str!("short_help.txt"));
    assert!(text.lines().count() <= 24, "{}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn help_has_topics() {
    let all = help("--help");
    assert_eq!(all, help("--help all"));
    for topic in help("--help topics").lines() {
        let text = help(&format!("--help {topic}"));
        assert!(all.contains(&text), "{topic}");
    }
    for heading in
        ["Placement:", "Fault tolerance:", "Checkpoints:", "Storage:", "Output:", "Testing:"]
    {
        assert!(all.lines().any(|line| line == heading), "{heading}");
    }
    assert!(help("--help --ckpt-interval").starts_with("  --ckpt-interval TIME"));
    assert!(help("--help f").starts_with("  -f, --machinefile FILE"));
    assert!(help("--version").starts_with("ftmpiexec 0."));
}

fn of_ckpt(line: &str) -> Result<String, OptionError> {
    of::<ftmpi_options::ckpt::CkptArgs>("ftmpi-ckpt", line)
}

fn of_logger(line: &str) -> Result<String, OptionError> {
    of::<ftmpi_options::servers::EventLoggerArgs>("ftmpi-event-logger", line)
}

fn of<P: clap::Parser>(name: &str, line: &str) -> Result<String, OptionError> {
    let words: Vec<std::ffi::OsString> =
        std::iter::once(name).chain(line.split_whitespace()).map(Into::into).collect();
    match P::try_parse_from(&words) {
        Ok(_) => Ok("accepted".to_owned()),
        Err(error) => answer(&error, &P::command(), &words).map(|text| plain(&text)),
    }
}

#[test]
fn the_other_programs_answer_in_the_same_way() {
    let wrong: &[(Result<String, OptionError>, &str)] = &[
        (of_ckpt(""), "which command? write ftmpi-ckpt list|show|verify|diff|prune|request"),
        (
            of_ckpt("lst d"),
            "there is no command lst; did you mean list? (accepted: list, show, verify, diff, prune, request)",
        ),
        (of_ckpt("list"), "DIR is missing; ftmpi-ckpt list --help shows how to call it"),
        (
            of_ckpt("list a b"),
            "`b` is one word too many; ftmpi-ckpt list --help shows how to call it",
        ),
        (
            of_ckpt("prune d --keep 0"),
            "--keep: `0` is not a whole number from 1 on; write for example 2",
        ),
        (of_ckpt("show d --rnk 1"), "there is no option --rnk; did you mean --rank?"),
        (of_ckpt("show d --rank"), "--rank has no value; write --rank RANK"),
        (of_logger(""), "--dir DIR is missing; ftmpi-event-logger --help shows how to call it"),
        (
            of_logger("--dir x --listen 5"),
            "--listen: `5` is not an address; write IP:PORT, such as 127.0.0.1:9100 or [::1]:9100",
        ),
        (
            of_logger("--dir x --acknowledge now"),
            "--acknowledge: `now` is unknown; write one of written, durable",
        ),
        (
            of_logger("--dir x --delay 3y"),
            "--delay: `3y` is not a time; write a number and a unit (ms, s, m or h), such as 30s or 500ms",
        ),
        (of_logger("--dir x --rings=on"), "--rings takes no value; write --rings alone"),
    ];
    for (found, text) in wrong {
        assert_eq!(found.as_ref().map_err(ToString::to_string), Err((*text).to_owned()));
    }
    let show = of_ckpt("show --help").unwrap();
    assert!(show.starts_with("Usage: ftmpi-ckpt show"), "{show}");
    assert!(of_ckpt("-h").unwrap().contains("Commands:"));
    assert!(of_logger("--help").unwrap().contains("Options of every server:"));
    assert!(of_logger("--version").unwrap().starts_with("ftmpi-event-logger 0."));
    assert_eq!(of_ckpt("diff d 1 2 --json").as_deref(), Ok("accepted"));
}

//! Whole jobs with a rank that speaks the control protocol and nothing else: this executable is
//! both the test and the rank (it is one when `FTMPI_RANK` is set).
//!
//! Needs nothing but `ftmpiexec`; what needs servers is skipped if they are not built beside it.

#[path = "jobs/metrics.rs"]
mod metrics;
#[path = "jobs/rank.rs"]
mod rank;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Name and body; the body gets a directory of its own.
type Test = (&'static str, fn(&Path));

fn main() {
    if std::env::var_os("FTMPI_RANK").is_some() {
        rank::run();
        return;
    }
    let tests: &[Test] = &[
        ("programs_without_mpi", programs_without_mpi),
        ("exit_codes", exit_codes),
        ("bad_programs", bad_programs),
        ("bad_options", bad_options),
        ("ranks_are_bound", ranks_are_bound),
        ("input_goes_to_rank_0", input_goes_to_rank_0),
        ("mpmd_and_environment", mpmd_and_environment),
        ("barriers_and_channels", barriers_and_channels),
        ("channels_over_sockets_between_hosts", channels_over_sockets_between_hosts),
        ("a_rank_runs_one_program", a_rank_runs_one_program),
        ("a_rank_starts_a_job", a_rank_starts_a_job),
        ("abort", abort),
        ("without_protection_a_death_is_the_end", without_protection_a_death_is_the_end),
        ("a_killed_rank_comes_back", a_killed_rank_comes_back),
        (
            "metrics_show_how_the_state_of_a_rank_changes",
            metrics::metrics_show_how_the_state_of_a_rank_changes,
        ),
        ("all_killed_come_back", all_killed_come_back),
        ("a_killed_agent_comes_back", a_killed_agent_comes_back),
        ("killed_servers_come_back", killed_servers_come_back),
        ("output_of_a_later_life_is_printed_once", output_of_a_later_life_is_printed_once),
        ("output_to_files", output_to_files),
        ("the_same_crash_again_and_again", the_same_crash_again_and_again),
        ("signals_leave_nothing", signals_leave_nothing),
        ("a_dying_launcher_leaves_nothing", a_dying_launcher_leaves_nothing),
        ("strangers_at_the_ports", strangers_at_the_ports),
        ("an_unreachable_host", an_unreachable_host),
    ];
    let only: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in tests {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory for the test");
        let begin = Instant::now();
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(directory.path())));
        let left = left_behind(directory.path());
        let ok = result.is_ok() && left.is_empty();
        println!(
            "test {name} ... {} ({:.1} s)",
            if ok { "ok" } else { "FAILED" },
            begin.elapsed().as_secs_f64()
        );
        if !left.is_empty() {
            println!("  left behind: {left:?}");
        }
        failed += u32::from(!ok);
    }
    assert_eq!(failed, 0, "{failed} tests failed");
}

/// Job directories and processes that should be gone.
fn left_behind(directory: &Path) -> Vec<String> {
    let mut left: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ftmpi-job-"))
        .collect();
    let marker = directory.display().to_string();
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let alive = processes_in(&marker);
        if alive.is_empty() {
            return left;
        }
        if Instant::now() > deadline {
            left.extend(alive);
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes whose working directory is this one.
fn processes_in(directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| {
            fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|cwd| cwd.to_string_lossy().starts_with(directory))
        })
        .map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            format!("{}: {}", entry.file_name().to_string_lossy(), line.replace('\0', " "))
        })
        .collect()
}

fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_ftmpiexec").into()
}

fn have_servers() -> bool {
    let directory = binary().parent().map(Path::to_path_buf).unwrap_or_default();
    let all = ["ftmpi-event-logger", "ftmpi-checkpoint-server"];
    let there = all.iter().all(|name| directory.join(name).is_file());
    if !there {
        println!("  skipped: the servers are not built beside ftmpiexec");
    }
    there
}

fn own() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

fn command(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(binary());
    command
        .args(line.split_whitespace().map(|word| word.replace("RANK", &own())))
        .current_dir(directory)
        .env("FTMPI_LIB_DIR", directory)
        .stdin(Stdio::null());
    command
}

fn run(directory: &Path, line: &str) -> Output {
    let begin = Instant::now();
    let output = command(directory, line).output().expect("ftmpiexec starts");
    assert!(begin.elapsed() < Duration::from_secs(60), "took {:?}", begin.elapsed());
    output
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sorted_lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<String> = out(output).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[track_caller]
fn expect(output: &Output, code: i32, in_stderr: &str) {
    let text = err(output);
    assert_eq!(output.status.code(), Some(code), "stdout: {}\nstderr: {text}", out(output));
    assert!(text.contains(in_stderr), "`{in_stderr}` is not in:\n{text}");
}

fn programs_without_mpi(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none -l hostname");
    expect(&output, 0, "");
    assert_eq!(out(&output).lines().count(), 3);
    assert!(sorted_lines(&output)[2].starts_with("[2] "));
    assert_eq!(err(&output), "");
    // More than one window of output, whole and in order.
    let output = run(directory, "-n 1 --protocol none seq 1 500000");
    assert_eq!(out(&output).lines().count(), 500_000);
    assert_eq!(out(&output).lines().last(), Some("500000"));
}

fn exit_codes(directory: &Path) {
    let script = directory.join("three.sh");
    fs::write(&script, "#!/bin/sh\n[ $PMI_RANK = 1 ] && exit 3\nsleep 30\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let begin = Instant::now();
    let output = run(directory, "-n 2 --protocol none ./three.sh");
    expect(&output, 3, "exit code 3");
    assert!(begin.elapsed() < Duration::from_secs(10), "the other one is not waited for");
    expect(&run(directory, "-n 2 --protocol none false"), 1, "exit code 1");
}

fn bad_programs(directory: &Path) {
    let check = |program: &str, code: i32, text: &str| {
        let output = run(directory, &format!("-n 2 {program}"));
        expect(&output, code, text);
        assert_eq!(err(&output).lines().count(), 1, "one line: {}", err(&output));
    };
    check("./missing", 127, "there is no program ./missing");
    check("surely-not-in-path", 127, "PATH");
    fs::write(directory.join("text"), "no program\n").unwrap();
    check("./text", 126, "not an executable file");
    fs::set_permissions(directory.join("text"), fs::Permissions::from_mode(0o755)).unwrap();
    check("./text", 126, "neither an ELF file nor a script");
    let mut elf32 = b"\x7fELF\x01\x01\x01".to_vec();
    elf32.resize(100, 0);
    fs::write(directory.join("elf32"), elf32).unwrap();
    fs::set_permissions(directory.join("elf32"), fs::Permissions::from_mode(0o755)).unwrap();
    check("./elf32", 126, "32-bit");
    let output = run(directory, "-n 1 --protocol none -wdir /no/such/place true");
    expect(&output, 126, "working directory /no/such/place");
}

fn bad_options(directory: &Path) {
    for (line, text) in [
        ("-n 2", "which program?"),
        ("-n 0 true", "`0` is not a whole number from 1 on"),
        ("-n 1 --protocol nonsense true", "nonsense"),
        ("-n 1 -f /no/such/file true", "/no/such/file"),
        ("-n 1 --inject kill:rank=9,at=1s true", "ranks 0 to 0"),
        ("-n 1 --job-dir /proc/x true", "--job-dir /proc/x"),
        ("-n 1 -hosts a -f b true", "together"),
        ("-n 1 -outfile-pattern out.%q true", "%q"),
        ("-n 1 -errfile-pattern /no/such/%r true", "/no/such/0"),
    ] {
        let output = run(directory, line);
        expect(&output, 2, text);
        assert_eq!(err(&output).lines().count(), 1, "one line: {}", err(&output));
    }
    let output = run(directory, "--help");
    assert!(out(&output).contains("fault-tolerant"), "{}", out(&output));
}

fn ranks_are_bound(directory: &Path) {
    let allowed = |line: &str| {
        let line = format!("-n 3 -l {line} grep Cpus_allowed_list: /proc/self/status");
        let output = run(directory, &line);
        expect(&output, 0, "");
        let lines = sorted_lines(&output);
        let lists = lines.iter().map(|line| line.split(':').next_back().unwrap().trim().to_owned());
        (lists.collect::<Vec<_>>(), err(&output))
    };
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let own: Vec<String> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|number| own.is_set(*number))
        .map(|number| number.to_string())
        .collect();
    let (threads, _) = allowed("--protocol none -bind-to hwthread -map-by socket");
    assert!(threads.iter().all(|list| own.contains(list)), "{threads:?} of {own:?}");
    if own.len() > 1 {
        assert_ne!(threads[0], threads[1]);
    }
    expect(&run(directory, "-n 1 -bind-to cores true"), 2, "none, hwthread, core");
    // Other lives are bound as the first ones.
    let last = own.last().unwrap();
    let text = "#!/bin/sh\ngrep Cpus_allowed_list: /proc/self/status >>lists\n\
                [ -e been ] || { touch been; kill -9 $$; }\n";
    script(directory, "twice.sh", text);
    if have_servers() {
        let output = run(directory, &format!("-n 1 --ckpt off -bind-to user:{last} ./twice.sh"));
        expect(&output, 0, "restarting it");
        let lists = fs::read_to_string(directory.join("lists")).unwrap();
        let of_lives: Vec<_> = lists.lines().map(|line| line.split('\t').next_back()).collect();
        assert_eq!(of_lives, [Some(last.as_str()); 2]);
    }
    let (all, said) = allowed("--protocol none -bind-to user:99999");
    assert!(all[0] == all[1] && said.contains("not bound"), "{all:?} {said}");
    assert!(!allowed("--protocol none -bind-to none -map-by core").1.contains("bound"));
}

fn input_goes_to_rank_0(directory: &Path) {
    let text = "line\n".repeat(100_000);
    let mut child = command(directory, "-n 2 -l --protocol none wc -c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(sorted_lines(&output), ["[0] 500000", "[1] 0"]);
}

fn mpmd_and_environment(directory: &Path) {
    let output = run(
        directory,
        "-l --protocol none -genv A all -n 1 -env B one printenv A B : -n 1 -env B two printenv A B PMI_SIZE",
    );
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["[0] all", "[0] one", "[1] 2", "[1] all", "[1] two"]);
}

fn barriers_and_channels(directory: &Path) {
    let output = run(directory, "-n 4 --protocol none RANK join");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "1 ok", "2 ok", "3 ok"]);
    let output = run(directory, "-n 4 --protocol none --transport tcp RANK join");
    expect(&output, 0, "");
    assert_eq!(out(&output).lines().count(), 4);
    let output = run(directory, "-n 3 --protocol none RANK exit 5");
    expect(&output, 5, "");
}

fn channels_over_sockets_between_hosts(directory: &Path) {
    let output = run(directory, "-launcher fork -hosts a,b,c -n 5 --protocol none RANK join");
    expect(&output, 0, "");
    assert_eq!(out(&output).lines().count(), 5);
}

fn script(directory: &Path, name: &str, text: &str) {
    let file = directory.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn a_rank_runs_one_program(directory: &Path) {
    let own = own();
    script(directory, "twice.sh", &format!("{own} join && {own} join"));
    for protocol in ["none", "pessimistic"] {
        if protocol != "none" && !have_servers() {
            continue;
        }
        let begin = Instant::now();
        let output = run(directory, &format!("-n 2 --protocol {protocol} ./twice.sh"));
        expect(&output, 1, "has already started an MPI program");
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody waits");
    }
    script(directory, "leaves.sh", &format!("{own} leave; {own} join"));
    let output = run(directory, "-n 2 --protocol none ./leaves.sh");
    expect(&output, 1, "has already started an MPI program");
    let output = run(directory, "-n 1 --protocol none ./twice.sh");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "0 ok"], "who is alone may");
}

fn a_rank_starts_a_job(directory: &Path) {
    let (own, ftmpiexec) = (own(), binary());
    let inner = format!("{} --protocol none -n 3 {own} join", ftmpiexec.display());
    script(directory, "nested.sh", &format!("[ $PMI_RANK = 1 ] || {inner}\nexec {own} join"));
    let output = run(directory, "-n 2 --protocol none ./nested.sh");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok", "0 ok", "1 ok", "1 ok", "2 ok"]);
}

fn abort(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none RANK abort");
    expect(&output, 42, "rank 1");
    assert!(err(&output).contains("something is wrong"));
}

fn without_protection_a_death_is_the_end(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none --inject kill:rank=1,at=200ms RANK long");
    expect(&output, 137, "rank 1");
    assert!(err(&output).contains("--protocol pessimistic"));
    assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
}

fn a_killed_rank_comes_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output =
        run(directory, "-n 3 --ckpt off --inject kill:rank=1,at=300ms --report r.json RANK long");
    expect(&output, 0, "restarting it from its beginning");
    assert_eq!(sorted_lines(&output), ["0 ok life 0", "1 ok life 1", "2 ok life 0"]);
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("r.json")).unwrap()).unwrap();
    assert_eq!(report["failures"][0]["rank"], 1);
    assert_eq!(report["failures"][0]["recovery"], "restart");
    assert!(report["failures"][0]["restore_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(report["pids"][1].as_array().unwrap().len(), 2);
    assert_eq!(report["pids"][0].as_array().unwrap().len(), 1);
    assert_eq!(report["exit_code"], 0);
}

fn all_killed_come_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(directory, "-n 4 --inject kill:rank=all,at=300ms RANK long");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["0 ok life 1", "1 ok life 1", "2 ok life 1", "3 ok life 1"]);
}

fn a_killed_agent_comes_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        "-launcher fork -hosts a,b -ppn 2 -n 4 --inject kill:agent=b,at=300ms RANK long",
    );
    expect(&output, 0, "host b");
    assert_eq!(sorted_lines(&output), ["0 ok life 0", "1 ok life 0", "2 ok life 1", "3 ok life 1"]);
}

fn killed_servers_come_back(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(
        directory,
        "-n 2 --inject kill:server=event-logger,at=200ms --inject kill:server=checkpoint-server,at=200ms RANK long",
    );
    expect(&output, 0, "the event-logger died");
    assert!(err(&output).contains("the checkpoint-server died"));
}

fn output_of_a_later_life_is_printed_once(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(directory, "-n 2 --ckpt off --inject kill:rank=1,at=300ms RANK count");
    expect(&output, 0, "");
    let lines: Vec<String> =
        out(&output).lines().filter(|l| l.starts_with("1 ")).map(str::to_owned).collect();
    let wanted: Vec<String> = (0..100).map(|n| format!("1 {n}")).collect();
    assert_eq!(lines, wanted);
}

fn output_to_files(directory: &Path) {
    let script = directory.join("both.sh");
    fs::write(&script, "#!/bin/sh\necho told\necho oops >&2\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let line = "-n 2 --protocol none -l -outfile-pattern out.%r -errfile-pattern err";
    let output = run(directory, &format!("{line} ./both.sh"));
    expect(&output, 0, "");
    assert_eq!((out(&output), err(&output)), (String::new(), String::new()));
    for rank in 0..2 {
        let text = fs::read_to_string(directory.join(format!("out.{rank}"))).unwrap();
        assert_eq!(text, format!("[{rank}] told\n"));
    }
    let errors = fs::read_to_string(directory.join("err")).unwrap();
    let mut errors: Vec<_> = errors.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] oops", "[1] oops"]);
    if have_servers() {
        // A later life adds to the file what the first did not come to.
        let line = "-n 2 --ckpt off --inject kill:rank=1,at=300ms -outfile-pattern out.%r";
        expect(&run(directory, &format!("{line} RANK count")), 0, "");
        let wanted: String = (0..100).map(|n| format!("1 {n}\n")).collect();
        assert_eq!(fs::read_to_string(directory.join("out.1")).unwrap(), wanted);
    }
}

fn the_same_crash_again_and_again(directory: &Path) {
    if !have_servers() {
        return;
    }
    let output = run(directory, "-n 2 RANK crash");
    expect(&output, 134, "3 times at the same place");
    // Kept, for the job was given up; the test's directory goes with it.
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("ftmpi-job-") {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
}

fn signals_leave_nothing(directory: &Path) {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let protocol = if have_servers() { "pessimistic" } else { "none" };
        let line = format!("-n 3 --protocol {protocol} RANK wrapped");
        let mut child = command(directory, &line).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(code));
        assert_eq!(left_behind(directory), Vec::<String>::new());
    }
}

fn a_dying_launcher_leaves_nothing(directory: &Path) {
    let protocol = if have_servers() { "pessimistic" } else { "none" };
    let line = format!("-n 3 --protocol {protocol} RANK wrapped");
    let mut child = command(directory, &line).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !left_behind(directory).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn strangers_at_the_ports(directory: &Path) {
    let child = command(directory, "-n 2 --protocol none --transport tcp RANK long")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for port in listening_ports() {
        if let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) {
            let _ = stream.write_all(b"GET / HTTP/1.0\r\n\r\n");
        }
        drop(std::net::TcpStream::connect(("127.0.0.1", port)));
    }
    let output = child.wait_with_output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(sorted_lines(&output), ["0 ok life 0", "1 ok life 0"]);
}

/// Ports above 1024 on which anybody listens on the loopback interface.
fn listening_ports() -> Vec<u16> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (local, _, state) = (words.next()?, words.next()?, words.next()?);
            let (address, port) = local.split_once(':')?;
            (state == "0A" && address == "0100007F").then(|| u16::from_str_radix(port, 16).ok())?
        })
        .filter(|port| *port > 1024)
        .collect()
}

fn an_unreachable_host(directory: &Path) {
    let begin = Instant::now();
    let output =
        run(directory, "-rsh false -hosts localhost,far.invalid -n 2 --protocol none true");
    expect(&output, 1, "host far.invalid");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

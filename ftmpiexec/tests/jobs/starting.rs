//! Programs, options and hosts before and at the start of a job.

use super::{binary, command, err, expect, have_servers, out, own, run, script, sorted_lines};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub fn programs_without_mpi(directory: &Path) {
    let output = run(directory, "-n 3 --protocol none -l hostname");
    expect(&output, 0, "all 3 processes ended without calling MPI_Init");
    assert_eq!(out(&output).lines().count(), 3);
    assert!(sorted_lines(&output)[2].starts_with("[2] "));
    assert!(err(&output).contains("ftmpiexec --doctor hostname"), "{}", err(&output));
    assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
    // More than one window of output, whole and in order.
    let output = run(directory, "-n 1 --protocol none seq 1 500000");
    assert_eq!(err(&output), "", "one process may run without MPI");
    assert_eq!(out(&output).lines().count(), 500_000);
    assert_eq!(out(&output).lines().last(), Some("500000"));
}

pub fn exit_codes(directory: &Path) {
    let script = directory.join("three.sh");
    fs::write(&script, "#!/bin/sh\n[ $PMI_RANK = 1 ] && exit 3\nsleep 30\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let begin = Instant::now();
    let output = run(directory, "-n 2 --protocol none ./three.sh");
    expect(&output, 3, "exit code 3");
    assert!(begin.elapsed() < Duration::from_secs(10), "the other rank is not waited for");
    expect(&run(directory, "-n 2 --protocol none false"), 1, "exit code 1");
}

/// Runs `ftmpiexec` from a shell with this limit on the stack, in KiB.
fn with_stack(directory: &Path, limit: u32, line: &str) -> Output {
    let line = line.replace("RANK", &own());
    let line = format!("ulimit -S -s {limit}; exec {} {line}", binary().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(directory).env("FTMPI_LIB_DIR", directory);
    shell.stdin(Stdio::null()).output().unwrap()
}

pub fn a_small_stack_is_for_the_ranks_only(directory: &Path) {
    let output = with_stack(directory, 256, "-n 2 --protocol none sh -c 'ulimit -s'");
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["256", "256"]);
    if have_servers() {
        let line = "-launcher fork -hosts a,b -n 2 --protocol pessimistic \
                    --inject kill:rank=1,at=300ms RANK long";
        let output = with_stack(directory, 256, line);
        expect(&output, 0, "rank 1");
        assert_eq!(sorted_lines(&output), ["0 ok incarnation 0", "1 ok incarnation 1"]);
    }
}

pub fn bad_programs(directory: &Path) {
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
    check("./", 126, "is a directory; name the program in it");
    std::os::unix::fs::symlink("gone", directory.join("link")).unwrap();
    check("./link", 127, "rank 0 on localhost: ./link is a link to gone, which is not there");
    fs::write(directory.join("script"), "#!/no/such -e\n").unwrap();
    fs::set_permissions(directory.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    check("./script", 126, "script begins with #!/no/such, which is not on this host; install it");
    no_exec(directory);
    let output = run(directory, "-n 1 --protocol none -wdir /no/such/place true");
    expect(&output, 126, "working directory /no/such/place");
}

/// A program on a file system without the right to execute.
fn no_exec(directory: &Path) {
    let place = directory.join("noexec");
    fs::create_dir(&place).unwrap();
    let text = format!(
        "mount -t tmpfs -o noexec none {0} && cp /bin/true {0} || exit 99; exec {1} -n 1 {0}/true",
        place.display(),
        binary().display()
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &text]).output();
    match output {
        Ok(output) if output.status.code() != Some(99) && !err(&output).contains("unshare:") => {
            expect(&output, 126, "noexec/true lies on a file system that is mounted noexec");
        }
        _ => println!("  skipped: this user cannot mount a file system"),
    }
}

pub fn bad_options(directory: &Path) {
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
        ("-n 1 --report no/such/r.json true", "the directory no/such does not exist"),
        ("-n 1 --report /proc/r.json true", "/proc/r.json cannot be written"),
        ("-n 1 --report . true", "is a directory"),
    ] {
        let output = run(directory, line);
        expect(&output, 2, text);
        assert_eq!(err(&output).lines().count(), 1, "one line: {}", err(&output));
    }
    let output = run(directory, "--help");
    assert!(out(&output).contains("fault-tolerant"), "{}", out(&output));
}

pub fn ranks_are_bound(directory: &Path) {
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
    // Later incarnations are bound as the first ones.
    let last = own.last().unwrap();
    let text = "#!/bin/sh\ngrep Cpus_allowed_list: /proc/self/status >>lists\n\
                [ -e been ] || { touch been; kill -9 $$; }\n";
    script(directory, "twice.sh", text);
    if have_servers() {
        let output = run(directory, &format!("-n 1 --ckpt off -bind-to user:{last} ./twice.sh"));
        expect(&output, 0, "restarting it");
        let lists = fs::read_to_string(directory.join("lists")).unwrap();
        let bound: Vec<_> = lists.lines().map(|line| line.split('\t').next_back()).collect();
        assert_eq!(bound, [Some(last.as_str()); 2]);
    }
    let (all, said) = allowed("--protocol none -bind-to user:99999");
    assert!(all[0] == all[1] && said.contains("not bound"), "{all:?} {said}");
    assert!(!allowed("--protocol none -bind-to none -map-by core").1.contains("bound"));
}

pub fn input_goes_to_rank_0(directory: &Path) {
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

pub fn mpmd_and_environment(directory: &Path) {
    let output = run(
        directory,
        "-l --protocol none -genv A all -n 1 -env B one printenv A B : -n 1 -env B two printenv A B PMI_SIZE",
    );
    expect(&output, 0, "");
    assert_eq!(sorted_lines(&output), ["[0] all", "[0] one", "[1] 2", "[1] all", "[1] two"]);
}

pub fn output_to_files(directory: &Path) {
    let script = directory.join("both.sh");
    fs::write(&script, "#!/bin/sh\necho told\necho oops >&2\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let line = "-n 2 --protocol none -l -outfile-pattern out.%r -errfile-pattern err";
    let output = run(directory, &format!("{line} ./both.sh"));
    expect(&output, 0, "");
    assert_eq!(out(&output), "");
    assert_eq!(err(&output).lines().count(), 1, "only our own line: {}", err(&output));
    for rank in 0..2 {
        let text = fs::read_to_string(directory.join(format!("out.{rank}"))).unwrap();
        assert_eq!(text, format!("[{rank}] told\n"));
    }
    let errors = fs::read_to_string(directory.join("err")).unwrap();
    let mut errors: Vec<_> = errors.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] oops", "[1] oops"]);
    if have_servers() {
        // A later incarnation adds to the file what the first one did not write.
        let line = "-n 2 --protocol pessimistic --ckpt off --inject kill:rank=1,at=300ms -outfile-pattern out.%r";
        expect(&run(directory, &format!("{line} RANK count")), 0, "");
        let wanted: String = (0..100).map(|n| format!("1 {n}\n")).collect();
        assert_eq!(fs::read_to_string(directory.join("out.1")).unwrap(), wanted);
    }
}

pub fn an_unreachable_host(directory: &Path) {
    let begin = Instant::now();
    let output =
        run(directory, "-rsh false -hosts localhost,far.invalid -n 2 --protocol none true");
    expect(&output, 1, "host far.invalid");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

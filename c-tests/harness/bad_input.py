"""Tests mistakes of users and hostile connections. Each must give one clear line, without a hang or a loss."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, descendants, problem_of, run, which
from .jobs import LOGGING, RANKS, Jobs, judge

# The file system has room for a few images of the test program, but not for two of every rank.
FULL_BYTES = 1 << 20

# No message of ours may contain these texts.
FORBIDDEN_TEXTS = ("panicked at", "RUST_BACKTRACE", "unwrap()", "core dumped", "Segmentation fault")


def error_message_problem(outcome: Outcome, *words: str, most_lines: int = 6) -> str | None:
    """The command must fail soon, with few lines. The lines must contain one of the words."""
    if outcome.code is None:
        return problem_of(outcome)
    if outcome.code == 0:
        return "ended with 0, should have failed"
    text = outcome.err + outcome.out
    lines = [line for line in outcome.err.splitlines() if line.strip()]
    for forbidden in FORBIDDEN_TEXTS:
        if forbidden in text:
            return f"prints `{forbidden}`: {outcome.output_tail()}"
    if not lines:
        return "printed nothing on standard error"
    if len(lines) > most_lines:
        return f"{len(lines)} lines of error text: {outcome.output_tail()}"
    if words and not any(word.lower() in outcome.err.lower() for word in words):
        return f"names none of {words}: {outcome.output_tail()}"
    return None


def command_lines(setting: Setting) -> None:
    where = setting.new_folder("bad")
    text = where / "text.txt"
    text.write_text("I am no program\n")
    text.chmod(0o755)
    plain = where / "plain"
    plain.write_bytes(b"\x00\x01\x02 neither")
    plain.chmod(0o755)
    not_executable = where / "not_executable"
    shutil.copy("/bin/true", not_executable)
    not_executable.chmod(0o644)
    truncated = where / "truncated"
    truncated.write_bytes(Path("/bin/true").read_bytes()[:100])
    truncated.chmod(0o755)
    nothing = where / "libnothing.so"
    subprocess.run(["gcc", "-shared", "-o", str(nothing), "-x", "c", "/dev/null"], capture_output=True)
    source = where / "hello.c"
    source.write_text("int main(void) { return 0; }\n")
    cases: list[tuple[str, list[str | Path], tuple[str, ...]]] = [
        ("a missing program", ["-n", "2", "./no-such-program"], ("no-such-program",)),
        ("a missing program by name", ["-n", "2", "no-such-program-anywhere"], ("no-such-program",)),
        ("a directory", ["-n", "2", where], (where.name, "directory")),
        ("a file that may not be executed", ["-n", "2", not_executable], ("permission", "execut")),
        ("not a program", ["-n", "2", plain], ("ELF", "executable", "format")),
        ("a damaged program", ["-n", "2", truncated], ("ELF", "executable", "format", "truncated")),
        ("no program at all", ["-n", "2"], ("program", "usage")),
        ("no ranks", ["-n", "0", "/bin/true"], ("rank", "0", "-n")),
        ("a word for the number", ["-n", "four", "/bin/true"], ("four", "number", "invalid")),
        ("too many ranks", ["-n", "99999999", "/bin/true"], ("rank", "99999999")),
        ("an unknown option", ["--nonsense", "-n", "2", "/bin/true"], ("nonsense",)),
        ("an unknown option with one dash", ["-n", "2", "-nonsense", "/bin/true"], ("no option -nonsense",)),
        ("an unknown protocol", ["--protocol", "psychic", "-n", "2", "/bin/true"], ("psychic",)),
        ("a library that is not there",
         ["--protocol", "plugin:/no/such.so", "-n", "2", "/bin/true"], ("/no/such.so",)),
        ("a library without a protocol",
         ["--protocol", f"plugin:{nothing}", "-n", "2", "/bin/true"],
         ("ftmpi_protocol",)),
        ("a file that is no library",
         ["--protocol", f"plugin:{plain}", "-n", "2", "/bin/true"], (plain.name, "ELF")),
        ("one event logger with several ways to spread what it knows",
         ["--protocol", "causal", "--stable-vector", "loggers", "-n", "2", "/bin/true"],
         ("--event-loggers",)),
        ("an unknown fault", ["--inject", "hug:rank=1", "-n", "2", "/bin/true"], ("hug",)),
        ("a fault for a rank that is not there",
         ["--inject", "kill:rank=7,at=1s", "-n", "2", "/bin/true"], ("rank", "7")),
        ("a fault for an event logger that is not there",
         ["--inject", "kill:server=event-logger,number=1,at=1s", "-n", "2", "/bin/true"], ("number=1",)),
        ("a time that is none", ["--ckpt-interval", "soon", "-n", "2", "/bin/true"], ("soon", "time")),
        ("a missing machine file", ["-f", "/no/such/file", "-n", "2", "/bin/true"], ("/no/such/file",)),
        ("a missing working directory", ["-wdir", "/no/such/dir", "-n", "2", "/bin/true"],
         ("/no/such/dir",)),
        ("an unreachable host",
         ["-hosts", "host.invalid", "-n", "2", "/bin/true"], ("host.invalid",)),
    ]
    made = subprocess.run(
        ["gcc", "-static", "-o", str(where / "static"), str(source)], capture_output=True
    )
    if made.returncode == 0:
        cases.append(("a statically linked program", ["-n", "2", where / "static"], ("static",)))
    made = subprocess.run(["gcc", "-m32", "-o", str(where / "small"), str(source)], capture_output=True)
    if made.returncode != 0:
        # Without a 32-bit compiler, a header of a 32-bit program is enough.
        header = bytearray(Path("/bin/true").read_bytes())
        header[4] = 1
        (where / "small").write_bytes(header)
        (where / "small").chmod(0o755)
    cases.append(("a 32-bit program", ["-n", "2", where / "small"], ("32",)))
    # The launcher can see only the name of Open MPI's library.
    fake = where / "libmpi.so.40"
    subprocess.run(["gcc", "-shared", "-o", str(fake), "-Wl,-soname,libmpi.so.40", "-x", "c", "/dev/null"],
                   capture_output=True)
    made = subprocess.run(
        ["gcc", "-o", str(where / "openmpi"), str(source), "-Wl,--no-as-needed", str(fake),
         f"-Wl,-rpath,{where}"], capture_output=True)
    if made.returncode == 0:
        cases.append(("a program linked to Open MPI", ["-n", "2", where / "openmpi"],
                      ("Open MPI", "libmpi.so.40")))
    for label, words, expected in cases:
        outcome = run([setting.launcher, *words], timeout=60, cwd=where)
        setting.results.check(f"bad input: {label}", error_message_problem(outcome, *expected, most_lines=8))
    # A shell script is a program, too.
    script = where / "script.sh"
    program, made_program = build.build(setting, TESTS / "conformance" / "topologies.c")
    if program is None:
        setting.results.bad("a shell script", made_program.output_tail())
        return
    script.write_text(f'#!/bin/sh\nexec "{program}"\n')
    script.chmod(0o755)
    outcome = run([*setting.mpiexec(2), script], timeout=60, cwd=where)
    setting.results.check("a shell script that starts the program", problem_of(outcome, expected_text="ok"))
    outcome = run([program], timeout=60, cwd=where)
    setting.results.check("a program without launcher is alone", problem_of(outcome, expected_text="on 1: ok"))
    threads, made_program = build.build(setting, TESTS / "conformance" / "threads_meet.c")
    if threads is None:
        setting.results.bad("threads without launcher", made_program.output_tail())
        return
    outcome = run([threads], timeout=60, cwd=where)
    setting.results.check("threads without launcher wait for each other",
                          problem_of(outcome, expected_text="on 1: ok"))


def ports(setting: Setting) -> None:
    """Ranges of ports in which too few are free."""
    where = setting.new_folder("ports")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        words = ["--protocol", "none", "--port-range", f"{port}-{port}", "-n", "2", "/bin/true"]
        taken = run([setting.launcher, *words], timeout=60, cwd=where)
    for option, value, expected in (("--port-range", "5000", "5000-5100"), ("--interface", "no-such-0", "no interface")):
        outcome = run([setting.launcher, option, value, "-n", "2", "/bin/true"], timeout=60, cwd=where)
        setting.results.check(f"bad input: {option} {value}", error_message_problem(outcome, expected))
    # Now the launcher has the only port, and its agent has none.
    one = run([setting.launcher, *words], timeout=60, cwd=where)
    for label, outcome in (("a range of ports that are taken", taken), ("a range of one port", one)):
        setting.results.check(f"bad input: {label}",
                              error_message_problem(outcome, f"no port from {port} to {port} is free", most_lines=8))


def job_directory(setting: Setting) -> None:
    """Image directories that cannot be written, are full, or must not be used."""
    job, why = Jobs(setting, 5).make("master_worker", setting.seed)
    if job is None:
        setting.results.bad("job directory", why)
        return
    where = setting.new_folder("bad")
    file = where / "file"
    file.write_text("")
    outcome = run([*setting.mpiexec(2, "--job-dir", file / "below"), job.program, "--seconds", "1"],
                  timeout=60, cwd=where)
    setting.results.check("bad input: a job directory that cannot be made",
                          error_message_problem(outcome, "below", "job"))

    def no_room(test: str, *options: object) -> None:
        report = where / "report.json"
        outcome = run(
            [*setting.mpiexec(RANKS, *LOGGING, *options, "--ckpt-interval", "1s", "--report", report, "--inject",
                              "kill:rank=1,at=3s"), job.program, *job.arguments],
            timeout=setting.timeout, cwd=where)
        problem, note = judge(outcome, report, job.expected_text, 1)
        if problem is None and "was not kept" not in outcome.err:
            problem = f"no warning that images were lost: {outcome.output_tail()}"
        setting.results.check(test, problem, note)

    no_room("--image-space is full: the job goes on with a warning", "--image-space", FULL_BYTES)
    if os.geteuid() != 0:
        setting.results.skip("a full disk", "needs root for a small file system")
        return
    # Images have a file system of their own here, so that events still have room.
    small = where / "job" / "checkpoint-server-0"
    small.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "tmpfs", str(small)],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        setting.results.skip("a full disk", f"cannot mount: {mounted.stderr.strip()}")
        return
    try:
        no_room("a full disk: the job goes on with a warning", "--job-dir", where / "job")
    finally:
        subprocess.run(["umount", "-l", str(small)], capture_output=True)


def listening_addresses(pids: list[int]) -> list[tuple[str, int]]:
    """The addresses on which these processes listen."""
    inodes = set()
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
        except OSError:
            pass
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            if parts[3] == "0A" and parts[9] in inodes:
                host, port = parts[1].rsplit(":", 1)
                if table.endswith("tcp"):
                    address = socket.inet_ntoa(bytes.fromhex(host)[::-1])
                    address = "127.0.0.1" if address == "0.0.0.0" else address
                else:
                    address = "::1"
                found.append((address, int(port, 16)))
    return found


class Scanner:
    """Sends nonsense to every listening port of the job, and leaves connections open."""

    MESSAGES = [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes(4096), os.urandom(10000), b"\xff" * 64,
                b"\x00\x00\x00\x10" + bytes(16)]

    def __init__(self) -> None:
        self.ports: set[tuple[str, int]] = set()
        self.open: list[socket.socket] = []
        self.next = time.monotonic() + 1.0
        self.rounds = 0

    def __call__(self, process) -> None:
        if time.monotonic() < self.next or self.rounds >= 12:
            return
        self.next = time.monotonic() + 0.3
        self.rounds += 1
        for address in listening_addresses([process.pid, *descendants(process.pid)]):
            self.ports.add(address)
            for message in self.MESSAGES:
                try:
                    talk = socket.create_connection(address, timeout=1)
                    talk.sendall(message)
                    if len(self.open) < 200:
                        self.open.append(talk)
                    else:
                        talk.close()
                except OSError:
                    pass

    def close(self) -> None:
        for talk in self.open:
            talk.close()


def port_scanner(setting: Setting) -> None:
    """A port scanner runs during a run with kills."""
    job, why = Jobs(setting, 6).make("master_worker", setting.seed)
    if job is None:
        setting.results.bad("a port scanner", why)
        return
    where = setting.new_folder("bad")
    report = where / "report.json"
    scanner = Scanner()
    outcome = run(
        [*setting.mpiexec(RANKS, *LOGGING, "--transport", "tcp", "--ckpt-interval", "1s", "--report", report,
                          "--inject", "kill:rank=2,at=3s"), job.program, *job.arguments],
        timeout=setting.timeout, cwd=where, meanwhile=scanner)
    scanner.close()
    problem, note = judge(outcome, report, job.expected_text, 1)
    if problem is None and not scanner.ports:
        problem = "no listening port was found"
    setting.results.check("a port scanner on every listening port", problem,
                          f"{note}, {len(scanner.ports)} ports")


def in_shared_memory() -> set[str]:
    """Names in /dev/shm, without those of unit tests, which run at the same time."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("ftmpi-unit-test-")}


def nothing_left_behind(setting: Setting) -> None:
    """Ctrl-C, SIGTERM and a kill of the launcher leave nothing behind."""
    job, why = Jobs(setting, 30).make("master_worker", setting.seed)
    if job is None:
        setting.results.bad("leftovers", why)
        return
    for name, number in (("SIGINT", 2), ("SIGTERM", 15), ("SIGKILL", 9)):
        where = setting.new_folder("bad")
        shm = in_shared_memory()
        process = subprocess.Popen(
            [str(w) for w in [*setting.mpiexec(RANKS), job.program, *job.arguments]],
            cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        time.sleep(3)
        below = descendants(process.pid)
        problem = None if len(below) >= RANKS else f"only {len(below)} processes were started"
        os.kill(process.pid, number)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            problem = f"did not end within 20 s of {name}"
            process.kill()
            process.wait()
        until = time.monotonic() + 15
        alive = below
        while alive and time.monotonic() < until:
            alive = [p for p in below if Path(f"/proc/{p}/exe").exists() and is_running(p)]
            time.sleep(0.2)
        if problem is None and alive:
            problem = f"{len(alive)} processes are left"
        for pid in alive:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        left = in_shared_memory() - shm
        if problem is None and left:
            problem = f"left in shared memory: {left}"
        setting.results.check(f"{name} to the launcher leaves no process", problem)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def repeated_failures(setting: Setting) -> None:
    """A rank that fails again and again ends the job with one clear error. The time limit of a job does so, too."""
    limited = {**os.environ, "MPIEXEC_TIMEOUT": "1"}
    outcome = run([*setting.mpiexec(2, "--protocol", "none"), "sleep", "60"], timeout=30, env=limited)
    problem = error_message_problem(outcome, "--timeout")
    if problem is None and outcome.code != 124:
        problem = f"exit code {outcome.code}, not 124"
    setting.results.check("a job that lasts longer than it may", problem)
    job, why = Jobs(setting, 20).make("master_worker", setting.seed)
    if job is None:
        setting.results.bad("giving up", why)
        return
    where = setting.new_folder("bad")
    outcome = run([*setting.mpiexec(RANKS, "--max-restarts", "2", "--inject", "kill:every=1s"),
                   job.program, *job.arguments], timeout=60, cwd=where)
    setting.results.check("too many failures end the job", error_message_problem(outcome, "restart", most_lines=12))
    outcome = run([*setting.mpiexec(RANKS, "--protocol", "none", "--inject", "kill:rank=1,at=2s"),
                   job.program, *job.arguments], timeout=60, cwd=where)
    setting.results.check("a failure under `none` ends the job",
                          error_message_problem(outcome, "rank 1", most_lines=12))


def rank_that_left(setting: Setting) -> None:
    """A rank that left without `exit` is brought back when another rank is killed and needs its log."""
    program, made = build.build(setting, TESTS / "programs" / "exits_early.c")
    if program is None:
        setting.results.bad("leaving", made.output_tail())
        return
    for protocol in (["pessimistic"], ["causal"], ["hierarchical", "--cluster", "1"]):
        outcome = run([*setting.mpiexec(3, "--protocol", *protocol, "--inject", "kill:rank=1,at=1500ms"), program],
                      timeout=60, cwd=setting.new_folder("bad"))
        problem = problem_of(outcome)
        if problem is None and sorted(outcome.out.split("\n")[:2]) != ["rank 1 got 7", "rank 2 got 7"]:
            problem = f"printed {outcome.out!r}"
        if problem is None and "without exit()" not in outcome.err:
            problem = "rank 0 was not brought back"
        setting.results.check(f"a rank that left by _exit is needed again, {' '.join(protocol)}", problem)


def doctor(setting: Setting) -> None:
    """`--doctor` reports what it looked at."""
    program, made = build.build(setting, TESTS / "conformance" / "topologies.c")
    if program is None:
        setting.results.bad("doctor", made.output_tail())
        return
    outcome = run([setting.launcher, "--doctor", program], timeout=60)
    problem = None if outcome.code is not None else problem_of(outcome)
    if problem is None and len((outcome.out + outcome.err).split()) < 10:
        problem = "printed almost nothing"
    setting.results.check("doctor", problem)
    if which("script") is None:
        setting.results.skip("live line on a terminal", "`script` is not installed")


def bad_input(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    command_lines(setting)
    ports(setting)
    job_directory(setting)
    port_scanner(setting)
    nothing_left_behind(setting)
    repeated_failures(setting)
    rank_that_left(setting)
    doctor(setting)

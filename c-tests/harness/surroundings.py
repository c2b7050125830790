"""Tests what callers and hosts give a job: descriptors, names that are not UTF-8, signals, working directories, no network,
filters of system calls, limits. Each must work, or end with one line that names the cause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import build, reports
from .bad_input import FORBIDDEN_TEXTS
from .core import TESTS, Outcome, Setting, problem_of, run, which
from .jobs import LOGGING

# Steps of 20 ms, in which an image is taken.
STEPS = 150
LATIN = b"data_\xe9\xe8.txt"
CONTAINER = "kcmp, process_vm_readv, process_vm_writev, personality"
# System calls that containers refuse. The job must run without them, or say in a line what is missing.
REFUSED_CALLS = {
    "clone3": [435],
    "clone3, pidfd_open, close_range, statx": [435, 434, 436, 332],
    CONTAINER: [312, 310, 311, 135],
    "sched_setaffinity, setpriority": [203, 141],
}
# System calls without which there is no job, and a word of the line that says so.
NEEDED_CALLS = {"prlimit64": ([302], "limit"), "memfd_create": ([319], "memfd_create")}


def before(code: str, *command: str | Path) -> list[str | Path]:
    """The command, executed after some Python in the same process."""
    return [sys.executable, "-c", f"import os, resource, signal, sys\n{code}\nos.execv(sys.argv[1], sys.argv[1:])", *command]


def one_line_problem(outcome: Outcome, *words: str) -> str | None:
    """A job that cannot run ends soon, with a line of ours that has one of the words, and without a panic."""
    if outcome.code in (0, None):
        return problem_of(outcome, code=2)
    for forbidden in FORBIDDEN_TEXTS:
        if forbidden in outcome.err:
            return f"prints `{forbidden}`: {outcome.output_tail()}"
    lines = [line for line in outcome.err.splitlines() if line.startswith("ftmpiexec:")]
    if not any(word in line for line in lines for word in words):
        return f"no line names {words}: {outcome.output_tail()}"
    return None


def filter_program(where: Path) -> Path | None:
    """A program that refuses system calls to the command that it executes; `None`: it may not."""
    jail = where / "jail"
    made = run(["gcc", "-O1", "-w", "-o", jail, TESTS / "programs" / "refusing_filter.c"], timeout=60)
    may = made.code == 0 and run([jail, "1", "435", "--", "true"], timeout=20).code == 0
    return jail if may else None


class Surroundings:
    """The tests that need no death of a rank."""

    def __init__(self, setting: Setting, program: Path) -> None:
        self.setting, self.program = setting, program
        self.where = setting.new_folder("surroundings")

    def check(self, name: str, outcome: Outcome, wanted: str | None = "right\n") -> None:
        problem = problem_of(outcome)
        if problem is None and wanted is not None and outcome.out != wanted:
            problem = f"printed {outcome.out!r}, wanted {wanted!r}: {outcome.err[-300:]}"
        self.setting.results.check(f"surroundings: {name}", problem)

    def run(self, command: list[str | Path], env: dict[str, str] | None = None, cwd: Path | None = None) -> Outcome:
        return run(command, timeout=40, cwd=cwd or self.where, env=env)

    def ring(self, *options: str | Path, ranks: int = 2) -> list[str | Path]:
        return [*self.setting.mpiexec(ranks, *options), self.program, "20"]

    def descriptors(self) -> None:
        (self.where / "in").write_text("from a file\n")
        bash = which("bash")
        if bash is None:
            return self.setting.results.skip("surroundings: descriptors", "bash is not installed")
        line = '"$0" -n 1 sh -c \'cat "$1" && cat <&7 && echo told >&8\' x <(echo from a pipe) 7<in 8>out; cat out'
        self.check("descriptors of the caller reach the program",
                   self.run([bash, "-c", line, self.setting.launcher]), "from a pipe\nfrom a file\ntold\n")

    def names(self) -> None:
        name = os.fsdecode(LATIN)
        (self.where / name).write_text("contents\n")
        script = 'cat "$1" && printf "%s" "$LATIN$MORE" | od -An -tx1'
        words = ["sh", "-c", script, "x", name]
        env = {"LATIN": os.fsdecode(b"caf\xe9"), "MORE": os.fsdecode(b"\xff")}
        wanted = "contents\n 63 61 66 e9 ff\n"
        self.check("arguments and variables that are not UTF-8",
                   self.run([*self.setting.mpiexec(1), *words], env), wanted)
        file = self.where / "config"
        file.write_bytes(b"-n 1 -env MORE \xff \\\n sh -c '" + script.encode() + b"' x " + LATIN + b"\n")
        self.check("a configfile that is not UTF-8 and continues lines",
                   self.run([self.setting.launcher, "-configfile", file], {**env, "MORE": ""}), wanted)
        folder = self.where / os.fsdecode(b"lat\xe9in")
        folder.mkdir()
        self.check("a working directory that is not UTF-8", self.run(self.ring(), cwd=folder))
        inside = [*self.setting.mpiexec(1, "-wdir", folder, "-outfile-pattern", folder / "o%r"), "pwd"]
        outcome = self.run(inside)
        outcome.out = (folder / "o0").read_text(errors="surrogateescape") if (folder / "o0").exists() else ""
        self.check("-wdir and -outfile-pattern that are not UTF-8", outcome, f"{folder}\n")

    def signals(self) -> None:
        ignores = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
        for protocol in ("none", "pessimistic"):
            outcome = self.run(before(ignores, *self.setting.mpiexec(2, "--protocol", protocol), "sh", "-c",
                                      f"echo x >>{protocol}; exit $((PMI_RANK+3))"))
            times = len((self.where / protocol).read_text().split())
            # The first rank that ends with a code ends the job.
            known = outcome.code in (3, 4) and times in (1, 2)
            self.setting.results.check(f"surroundings: ignored SIGCHLD, {protocol}",
                                       None if known else f"exit code {outcome.code}, executed {times} times")
        blocks = "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))"
        self.check("all signals blocked", self.run(before(blocks, *self.ring())))
        self.ends_by(blocks, signal.SIGTERM, 143, "SIGTERM, which the caller had blocked, ends the job")
        hangup = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
        self.ends_by(hangup, signal.SIGHUP, 0, "SIGHUP, which the caller ignores (nohup), does not end the job")

    def ends_by(self, first: str, number: int, code: int, name: str) -> None:
        """Sends the launcher a signal once its program runs."""
        started = self.where / "started"
        started.unlink(missing_ok=True)
        command = before(first, *self.setting.mpiexec(1, "--protocol", "none"), "sh", "-c", "touch started; sleep 2")
        process = subprocess.Popen([str(word) for word in command], cwd=self.where, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(number)
        try:
            found = process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            found = process.wait()
        self.setting.results.check(f"surroundings: {name}", None if found == code else f"exit code {found}, wanted {code}")

    def directories(self) -> None:
        gone = self.where / "gone"
        gone.mkdir()
        words = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "x", *self.setting.mpiexec(1, "--protocol", "none"), "true"]
        outcome = self.run(words, cwd=gone)
        self.setting.results.check("surroundings: a working directory that is gone",
                                   one_line_problem(outcome, "working directory"))
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            return self.setting.results.skip("surroundings: a read-only directory", "no mount namespaces")
        folder = self.where / "read-only"
        folder.mkdir()
        mount = f"mount -t tmpfs none {folder} && mount -o remount,ro {folder} && cd {folder} && exec \"$@\""
        self.check("a read-only working directory", self.run(["unshare", "-m", "sh", "-c", mount, "x", *self.ring()]))
        outcome = self.run(["unshare", "-m", "sh", "-c", mount, "x", *self.ring()], {"TMPDIR": str(folder)})
        self.setting.results.check("surroundings: no directory can be written",
                                   one_line_problem(outcome, "no job directory can be made"))

    def filters(self) -> None:
        jail = filter_program(self.where)
        if jail is None:
            return self.setting.results.skip("surroundings: filters of system calls", "no filter can be installed")
        for name, calls in REFUSED_CALLS.items():
            outcome = self.run([jail, "1", *map(str, calls), "--", *self.ring()])
            self.setting.results.check(f"surroundings: refused: {name}", problem_of(outcome, expected_text="right"))
        for name, (calls, word) in NEEDED_CALLS.items():
            outcome = self.run([jail, "1", *map(str, calls), "--", *self.ring()])
            self.setting.results.check(f"surroundings: refused: {name}", one_line_problem(outcome, word))
        # Threads and new filters are refused: one line says so.
        outcome = self.run([jail, "1", "435", "157", "317", "--", *self.ring()])
        self.setting.results.check("surroundings: refused: threads and filters", one_line_problem(outcome, "clone3"))

    def limits(self) -> None:
        for name, code in {
            "1024 descriptors": "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))",
            "256 descriptors, soft": "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))",
            "no core files": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        }.items():
            self.check(f"a limit of {name}", self.run(before(code, *self.ring())))
        for name, code, words in (
            ("512 descriptors", "resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))", ["open files"]),
            ("100 KiB for each file", "resource.setrlimit(resource.RLIMIT_FSIZE, (102400, 102400))", ["ulimit -f"]),
            ("1 GiB of addresses", "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))", ["ulimit -v"]),
        ):
            outcome = self.run(before(code, *self.ring()))
            problem = problem_of(outcome, expected_text="right")
            self.setting.results.check(f"surroundings: a limit of {name}",
                                       problem and one_line_problem(outcome, *words))


def surroundings(setting: Setting) -> None:
    """Surroundings in which all ranks live."""
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "callers_files.c")
    if program is None:
        return setting.results.bad("surroundings", made.output_tail())
    tests = Surroundings(setting, program)
    tests.descriptors()
    tests.names()
    tests.signals()
    tests.directories()
    tests.filters()
    tests.limits()


def surroundings_killed(setting: Setting) -> None:
    """Surroundings in which a rank dies and comes back."""
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "callers_files.c")
    if program is None:
        return setting.results.bad("surroundings", made.output_tail())
    descriptors_come_back(setting, program)
    job_directory_comes_back(setting, program)
    without_network(setting, program)
    without_fixed_addresses(setting, program)
    hard_callers(setting, program)
    living_children(setting)


def both(setting: Setting) -> None:
    surroundings(setting)
    surroundings_killed(setting)


def descriptors_come_back(setting: Setting, program: Path) -> None:
    """A killed rank reads a file of the caller on at the right place, from an image and from the start."""
    faults = ["--ckpt-interval", "200ms", "--inject", "kill:rank=0,point=image,nth=2"]
    for name, options, more in (("an image", faults, []), ("the start", ["--ckpt", "off"], ["died"])):
        where = setting.new_folder("callers_files")
        (where / "lines").write_text("".join(f"{step:3}\n" for step in range(STEPS)))
        reader, once = os.pipe()
        told, writer = os.pipe()
        os.write(once, b"once")
        os.close(once)
        file = os.open(where / "lines", os.O_RDONLY)
        command = [*setting.mpiexec(2, *LOGGING, *options, "--report", where / "report"),
                   program, STEPS, file, reader, writer, where / "note", *more]
        done = subprocess.run([str(word) for word in command], cwd=where, pass_fds=(file, reader, writer),
                              capture_output=True, timeout=60, text=True)
        for fd in (file, reader, writer):
            os.close(fd)
        with os.fdopen(told) as pipe:
            text = pipe.read()
        report, unread = reports.read(where / "report")
        problem = unread if report is None else None
        if done.returncode != 0 or text != f"{STEPS}\n":
            problem = f"exit code {done.returncode}, {text!r} in the pipe: {done.stderr[-400:]}"
        elif report and [bool(failure["image"]) for failure in report["failures"]] != [name == "an image"]:
            problem = f"other failures than one, from {name}: {report['failures']}"
        elif done.stderr.count("do not get descriptor") != 1:
            problem = f"does not tell once what is withheld: {done.stderr[-400:]}"
        setting.results.check(f"surroundings: descriptors of the caller, again from {name}", problem)


def job_directory_comes_back(setting: Setting, program: Path) -> None:
    """A job is stopped and goes on. Its directory, an argument and a variable are not UTF-8."""
    where = setting.new_folder("job_directory")
    folder, word = os.fsdecode(b"job-\xe9"), os.fsdecode(b"slow \xff")
    command = [*setting.mpiexec(2, *LOGGING, "--job-dir", folder, "--ckpt-interval", "200ms"), program, "150", word]

    sent: list[int] = []

    def stop(process: subprocess.Popen) -> None:
        # Both ranks have begun to send events. A second signal would end the job at once.
        if not sent and len(list((where / folder).glob("event-logger-0/r*.events"))) == 2:
            process.send_signal(signal.SIGTERM)
            sent.append(process.pid)

    stopped = run(command, timeout=60, cwd=where, env={"LATIN": os.fsdecode(b"\xe9")}, meanwhile=stop)
    problem = problem_of(stopped, code=75)
    if problem is None:
        problem = problem_of(run([setting.launcher, "--restart", folder], timeout=60, cwd=where), expected_text="right")
    if problem is None:
        listed = run([setting.dist / "bin" / "ftmpi-ckpt", "list", "--json", folder], timeout=20, cwd=where)
        problem = problem_of(listed)
    setting.results.check("surroundings: a job directory that is not UTF-8, and --restart", problem)


def living_children(setting: Setting) -> None:
    """Ranks have children that wait, with pipes to them. A rank comes back from an image, with its children."""
    program, made = build.build(setting, TESTS / "programs" / "children.c")
    if program is None:
        return setting.results.bad("surroundings: living children", made.output_tail())
    for protocol in ("pessimistic", "coordinated", *(("causal", "optimistic") if setting.full else ())):
        where = setting.new_folder("children")
        words = [*setting.mpiexec(2, "--protocol", protocol, "--ckpt-interval", "300ms", "--report", where / "report",
                                  "--inject", "kill:rank=1,point=image,nth=2", "--inject", "kill:rank=0,at=1700ms"),
                 program, "200"]
        outcome = run(words, timeout=60, cwd=where)
        report, unread = reports.read(where / "report")
        problem = problem_of(outcome, expected_text="children of 2 ranks") or (unread if report is None else None)
        # On a busy machine the first death may come before the first wave is complete; all later ones find an image.
        healed = [bool(failure["image"]) for failure in report["failures"]] if problem is None else []
        if problem is None and not (any(healed) and all(healed[1:])):
            problem = f"not healed by images: {report['failures']}"
        setting.results.check(f"surroundings: living children, {protocol}", problem, f"{outcome.seconds:.1f} s")


def without_network(setting: Setting, program: Path) -> None:
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        return setting.results.skip("surroundings: no network", "no network namespaces")
    for options in (["--protocol", "pessimistic"], ["--protocol", "coordinated", "--transport", "tcp"],
                    ["--protocol", "channel-memory"]):
        where = setting.new_folder("no_network")
        words = [*setting.mpiexec(2, *options, "--ckpt-interval", "200ms", "--inject", "kill:rank=1,at=600ms",
                                  "--report", where / "report"), program, "60", "slow"]
        outcome = run(["unshare", "-n", *words], timeout=60, cwd=where)
        report, unread = reports.read(where / "report")
        problem = problem_of(outcome, expected_text="right") or (unread if report is None else None)
        if problem is None and not report["failures"]:
            problem = "no rank died"
        setting.results.check(f"surroundings: no network and no loopback device, {' '.join(options)}", problem)


def without_fixed_addresses(setting: Setting, program: Path) -> None:
    """Containers refuse `personality`: the kernel places stack and heap elsewhere in each incarnation."""
    jail = filter_program(setting.new_folder("jail"))
    if jail is None:
        return setting.results.skip("surroundings: addresses left to chance", "no filter can be installed")
    for protocol in ("pessimistic", "coordinated"):
        where = setting.new_folder("chance")
        words = [*setting.mpiexec(2, "--protocol", protocol, "--ckpt-interval", "200ms", "--report", where / "report",
                                  "--inject", "kill:rank=1,point=image,nth=2"), program, "60", "slow"]
        outcome = run([jail, "1", *map(str, REFUSED_CALLS[CONTAINER]), "--", *words], timeout=60, cwd=where)
        report, unread = reports.read(where / "report")
        problem = problem_of(outcome, expected_text="right") or (unread if report is None else None)
        if problem is None and [bool(failure["image"]) for failure in report["failures"]] != [True]:
            problem = f"not one failure that an image healed: {report['failures']}"
        setting.results.check(f"surroundings: addresses left to chance, {protocol}", problem)


# What a caller may do before it starts a job in which a rank dies.
HARD_CALLERS = {
    "every signal is ignored and blocked": """
every = set(signal.valid_signals())
for number in every - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, every)""",
    "1024 descriptors and no more": "resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))",
}


def hard_callers(setting: Setting, program: Path) -> None:
    """A rank comes back from an image all the same."""
    for name, first in HARD_CALLERS.items():
        where = setting.new_folder("caller")
        words = [*setting.mpiexec(2, *LOGGING, "--ckpt-interval", "200ms", "--report", where / "report",
                                  "--inject", "kill:rank=1,point=image,nth=2"), program, "60", "slow"]
        outcome = run(before(first, *words), timeout=60, cwd=where)
        report, unread = reports.read(where / "report")
        problem = problem_of(outcome, expected_text="right") or (unread if report is None else None)
        if problem is None and [bool(failure["image"]) for failure in report["failures"]] != [True]:
            problem = f"not one failure that an image healed: {report['failures']}"
        setting.results.check(f"surroundings: {name}, a rank killed", problem, f"{outcome.seconds:.1f} s")

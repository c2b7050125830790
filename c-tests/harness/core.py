"""The basis of every suite: running a command with a time limit, counting, and printing.

Guarantees: a command that does not end in time is a failure called "hang", and leaves no process behind. Every result
is one line. The last line of a run is `N passed, N failed, N skipped`."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "c-tests"
KERNELS = ROOT / "npb-harness" / "kernels"


def descendants(pid: int) -> list[int]:
    """The process ids below `pid`, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path("/proc", entry, "stat").read_text()
        except OSError:
            continue
        parent = int(stat.rsplit(")", 1)[1].split()[1])
        children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(0), []):
            found.append(child)
            queue.append(child)
    return found


def kill(pids: list[int], number: int = signal.SIGKILL) -> None:
    """Sends a signal to processes. Processes that have ended already are no error."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


@dataclass
class Outcome:
    """How a command ended."""

    code: int | None  # None: the command hung and was killed
    out: str
    err: str
    seconds: float

    def output_tail(self) -> str:
        """The end of the output, in one line."""
        lines = [line for line in (self.err + "\n" + self.out).splitlines() if line.strip()]
        wanted = [line for line in lines if "FAIL" in line] or lines[-3:]
        return " | ".join(line.strip() for line in wanted[:3])[:400]


def pipe_with(text: str | None) -> int:
    """A pipe from which a command can read the text. Some launchers cannot poll a file."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY)
    data = text.encode()
    reader, writer = os.pipe()
    assert len(data) < 1 << 20
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.write(writer, data)
    os.close(writer)
    return reader


def run(
    command: list[str | Path],
    *,
    timeout: float,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: str | int | None = None,
    meanwhile=None,
) -> Outcome:
    """Runs a command to its end or its time limit. `stdin`: a text, or an open descriptor. `meanwhile(process)` is
    called about every 50 ms while the command runs."""
    words = [str(word) for word in command]
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        feed = os.dup(stdin) if isinstance(stdin, int) else pipe_with(stdin)
        try:
            process = subprocess.Popen(
                words,
                stdin=feed,
                stdout=out,
                stderr=err,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        finally:
            os.close(feed)
        try:
            code = wait_for_exit(process, begin + timeout, meanwhile)
        finally:
            # The command hangs, or this program is being ended: the command leaves no process behind.
            if process.poll() is None:
                below = descendants(process.pid)
                kill([process.pid])
                kill(below)
                process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return Outcome(code, texts[0], texts[1], time.monotonic() - begin)


def wait_for_exit(process: subprocess.Popen, until: float, meanwhile) -> int | None:
    """Waits for the end of a process, at most until the time `until`."""
    while True:
        try:
            return process.wait(timeout=0.05 if meanwhile else 0.5)
        except subprocess.TimeoutExpired:
            pass
        if meanwhile:
            meanwhile(process)
        if time.monotonic() > until:
            return None


@dataclass
class Results:
    """Counts and prints results."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def good(self, name: str, note: str = "") -> None:
        self.passed += 1
        print(f"ok    {name}" + (f"  ({note})" if note else ""), flush=True)

    def bad(self, name: str, why: str) -> None:
        self.failed += 1
        self.failures.append(name)
        print(f"FAIL  {name}: {why}", flush=True)

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        print(f"skip  {name}: {why}", flush=True)

    def check(self, name: str, problem: str | None, note: str = "") -> bool:
        """Counts a test, which has failed if there is a problem."""
        if problem is None:
            self.good(name, note)
        else:
            self.bad(name, problem)
        return problem is None

    def finish(self) -> int:
        if self.failures:
            print("failed: " + ", ".join(self.failures), flush=True)
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0


def problem_of(outcome: Outcome, code: int = 0, expected_text: str | None = None) -> str | None:
    """The problem of an outcome, or None."""
    if outcome.code is None:
        return f"hang: no end after {outcome.seconds:.0f} s; {outcome.output_tail()}"
    if outcome.code != code:
        return f"exit code {outcome.code}, expected {code}; {outcome.output_tail()}"
    if expected_text is not None and expected_text not in outcome.out:
        return f"did not print `{expected_text}`; {outcome.output_tail()}"
    return None


# Protocols that recover from every fault of these suites, with their options.
PROTOCOLS = [
    ["pessimistic"],
    ["causal"],
    ["causal", "--event-logger", "off"],
    ["causal", "--piggyback", "manetho"],
    ["causal", "--piggyback", "manetho", "--event-logger", "off"],
    ["causal", "--piggyback", "logon"],
    ["causal", "--piggyback", "logon", "--event-logger", "off"],
    ["optimistic"],
    ["optimistic", "--tracking", "standard"],
    ["coordinated"],
    ["coordinated", "--wave", "nonblocking"],
    ["channel-memory"],
    ["channel-memory", "--channel-memories", "2"],
    ["hierarchical", "--cluster", "2"],
    ["hierarchical", "--cluster", "2", "--wave", "nonblocking"],
    ["hierarchical", "--cluster", "2", "--between", "causal"],
    ["hierarchical", "--cluster", "1", "--between", "causal", "--event-logger", "off"],
    ["hierarchical", "--cluster", "2", "--between", "optimistic"],
]


@dataclass
class Setting:
    """Where the files are, and the options of the run."""

    dist: Path
    work: Path
    results: Results
    full: bool = False
    seed: int = 1
    timeout: float = 120.0
    # The arguments of `--protocol`. Empty: what the test means. `rotate`: PROTOCOLS in turn.
    protocol: str = ""
    turn: int = 0

    def protocol_options(self) -> list[str]:
        """The protocol options of the next run with faults."""
        if not self.protocol:
            return []
        words = self.protocol.split()
        if self.protocol == "rotate":
            words = PROTOCOLS[self.turn % len(PROTOCOLS)]
            self.turn += 1
        return ["--protocol", *words]

    @property
    def launcher(self) -> Path:
        return self.dist / "bin" / "ftmpiexec"

    @property
    def cc(self) -> Path:
        return self.dist / "bin" / "ftmpicc"

    @property
    def fc(self) -> Path:
        return self.dist / "bin" / "ftmpifort"

    def new_folder(self, name: str) -> Path:
        """Makes an empty directory of that name below the working directory."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def dist_is_built(self) -> bool:
        """Whether dist/ is built. Counts a failure if not."""
        for tool in (self.launcher, self.cc):
            if not tool.exists():
                self.results.bad("dist", f"{tool} is missing: run `make` first")
                return False
        return True

    def mpiexec(self, ranks: int, *options: str | Path) -> list[str | Path]:
        """The first words of a command line of ours."""
        return [self.launcher, "-n", str(ranks), *options]


def which(name: str) -> str | None:
    return shutil.which(name)


def warn(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

"""Runs jobs, and keeps what each of them gave.

Guarantees: a job that has been measured is not run again. Its result is a file in the folder of the commit, named after
its parameters, with the machine, the load and the time. Rounds go around: every variant runs once before any runs for
the second time, in the opposite order."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.core import KERNELS, ROOT, TESTS, Outcome, Results, descendants, kill, run

from .model import Missing
from .network import Network

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "instructions": TESTS / "speed" / "instructions.c",
    "netpipe": HERE / "netpipe.c",
    "rawtcp": HERE / "rawtcp.c",
    "halo": HERE / "halo.c",
    "cg": KERNELS / "cg.c",
    "lu": TESTS / "kernels" / "wavefront.c",
    "bt": TESTS / "kernels" / "pipeline.c",
    "is": TESTS / "kernels" / "sort.c",
}
# The kernel of the short form: few messages, which depend on each other.
TINY = "lu"
# What a kernel of ours stands for. The kernels of the user's NPB3.4-MPI replace them (`--npb`).
LABELS = {"cg": "CG", "lu": "LU-like", "bt": "BT-like", "is": "IS-like"}
# Folders whose changes change what is measured.
MEASURED_CODE = ["wire", "protocols", "libftmpi", "transport", "checkpoint", "servers", "ftmpiexec", "options", "sim",
                 "include", "Cargo.toml", "Cargo.lock", "build.rs"]
KEPT = ("wall_s", "failures", "orphans", "checkpoints", "waves", "messages", "piggyback", "event_logger", "recovered",
        "logs", "channel_memories", "migrations", "rank_time", "exit_code")


@dataclass(frozen=True)
class Job:
    """One run of a program under `ftmpiexec`. Two jobs that are equal have the same result."""

    program: str
    arguments: tuple[str, ...]
    ranks: int
    options: tuple[str, ...]
    # here: shared memory; tcp: TCP on one host; slow, fast: hosts of their own at 100 Mbit/s, at full speed.
    place: str = "here"
    # Lines of a machine file. Its hosts are virtual ones, on this machine.
    machines: tuple[str, ...] = ()
    # Checkpoint servers on hosts of their own, where `place` has such hosts.
    servers: int = 1
    timeout: float = 300.0
    # A run that does not end in time is a result, too.
    may_hang: bool = False
    recovery: str = ""
    # A model of faults, for `--inject model:FILE`.
    model: str = ""


@dataclass
class Result:
    """What a job gave in one round."""

    seconds: float | None      # the program's own time; None: it did not end in time
    wall: float
    pairs: dict[int, float]    # lines `BYTES MICROSECONDS`
    report: dict

    def counter(self, *path: str) -> float:
        """A number of the report."""
        value = self.report
        for name in path:
            if name not in value:
                raise Missing(f"this ftmpi has no `{'.'.join(path)}` in its report")
            value = value[name]
        return float(value)


def other_work() -> float:
    """The share of the processors that other work has now: the smaller of two looks, because a job that has just ended
    may still be cleaning up."""
    def ticks() -> tuple[int, int]:
        values = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(values) - values[3] - values[4], sum(values)

    shares = []
    for _ in range(2):
        busy, whole = ticks()
        time.sleep(0.1)
        busy_then, whole_then = ticks()
        shares.append((busy_then - busy) / max(1, whole_then - whole))
    return min(shares)


class Lab:
    """Where jobs run."""

    def __init__(self, dist: Path, results: Results, folder: Path, work: Path, *, tiny: bool, rounds: int,
                 simulator: Path | None, npb: Path | None, name: str | None):
        self.dist, self.results, self.work, self.tiny, self.rounds = dist, results, work, tiny, rounds
        self.simulator = simulator
        self.commit = name or commit(dist)
        self.kept = folder / self.commit
        self.machine = machine()
        self.networks: dict[str, Network] = {}
        self.no_network = ""
        self.programs: dict[str, Path] = {}
        self.rounds_end = float("inf")
        self.most = 1 << 20
        self.patience = 1
        self.ran = self.reused = 0
        self.others: list[float] = []
        self.lock = threading.Lock()
        self.locks: dict[Path, threading.Lock] = {}
        self.suite = self.npb_suite(npb) if npb else None

    def with_patience(self, factor: int) -> Lab:
        """The same, with programs that run longer, where they run for a time."""
        patient = copy.copy(self)
        patient.patience = factor
        return patient

    # ---- results that are kept ---------------------------------------------------------------

    def path_of(self, what: dict, number: int) -> Path:
        name = json.dumps({**what, "npb": bool(self.suite)}, sort_keys=True)
        return self.kept / f"{hashlib.sha256(name.encode()).hexdigest()[:20]}-{number}.json"

    def keep(self, what: dict, number: int, measure: Callable[[], dict]) -> dict:
        """The result that is kept under these parameters; else measures it and keeps it."""
        path = self.path_of(what, number)
        with self.lock:
            own = self.locks.setdefault(path, threading.Lock())
        with own:
            if path.exists():
                self.reused += 1
                kept = json.loads(path.read_text())
                self.others.append(kept["others"])
                return kept["result"]
            others = other_work()
            began = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
            result = measure()
            self.ran += 1
            self.others.append(others)
            path.parent.mkdir(parents=True, exist_ok=True)
            about = {"parameters": what, "round": number, "commit": self.commit, "machine": self.machine,
                     "began": began, "others": others}
            part = path.with_suffix(".part")
            part.write_text(json.dumps({**about, "result": result}, indent=1))
            part.rename(path)
            return result

    def work_of_others(self, since: int = 0) -> float:
        """The largest share of the processors that other work had before a result, of all results behind the first so many."""
        return max(self.others[since:], default=0.0)

    # ---- jobs --------------------------------------------------------------------------------

    def measure(self, jobs: list[Job], rounds: int | None = None) -> dict[Job, list[Result]]:
        """Runs all jobs, round by round. When the time for further rounds is over, one round is enough."""
        found: dict[Job, list[Result]] = {job: [] for job in jobs}
        for number in range(rounds or self.rounds):
            known = all(self.path_of(parameters(job), number).exists() for job in jobs)
            if number and not known and time.monotonic() > self.rounds_end:
                break
            for job in jobs if number % 2 == 0 else reversed(jobs):
                value = self.keep(parameters(job), number, lambda job=job, number=number: self.run(job, number))
                found[job].append(Result(**{**value, "pairs": {int(k): v for k, v in value["pairs"].items()}}))
        return found

    def run(self, job: Job, number: int) -> dict:
        folder = Path(tempfile.mkdtemp(prefix="run.", dir=self.work))
        report = folder / "report.json"
        # Each round has a seed of its own.
        options = [word.replace("SEED", str(number + 1)).replace("DIST", str(self.dist)) for word in job.options]
        options += ["--report", str(report)]
        if job.machines:
            (folder / "machines").write_text("\n".join(job.machines) + "\n")
            options += ["--launcher", "fork", "-f", "machines"]
        if job.recovery:
            (folder / "recovery.toml").write_text(job.recovery)
            options += ["--recovery", "recovery.toml"]
        if job.model:
            (folder / "model.toml").write_text(job.model.replace("SEED", str(number + 1)))
            options += ["--inject", "model:model.toml"]
        before: list[str] = []
        if job.place == "tcp":
            options += ["--transport", "tcp"]
        elif job.place in ("slow", "fast"):
            network = self.network(job.place)
            before = network.inside(0)
            options += network.options(job.ranks, job.servers, folder)
        words = [*before, str(self.dist / "bin" / "ftmpiexec"), "-n", str(job.ranks), *options,
                 str(self.program(job.program)), *job.arguments]
        outcome = run(words, timeout=job.timeout, cwd=folder)
        if not job.may_hang or outcome.code is not None:
            self.problem(job, outcome, words)
        read = json.loads(report.read_text()) if report.exists() else {}
        shutil.rmtree(folder, ignore_errors=True)
        return {"seconds": seconds_of(outcome), "wall": outcome.seconds, "pairs": pairs(outcome),
                "report": {name: read[name] for name in KEPT if name in read}}

    def problem(self, job: Job, outcome: Outcome, words: list[str]) -> None:
        why = ""
        if outcome.code is None:
            why = f"no end after {outcome.seconds:.0f} s"
        elif outcome.code != 0 and not job.may_hang:
            why = f"exit code {outcome.code}"
        elif "SUCCESSFUL" not in outcome.out and job.program != "netpipe" and not job.may_hang:
            why = "did not verify"
        if why:
            raise Missing(f"{why}: {' '.join(words[words.index('-n'):])}: {outcome.output_tail()}")

    # ---- programs ----------------------------------------------------------------------------

    def program(self, name: str) -> Path:
        with self.lock:
            return self.compiled(name)

    def compiled(self, name: str) -> Path:
        if name in self.programs:
            return self.programs[name]
        if self.suite and "." in name:
            kernel, _, size = name.partition(".")
            program, why = self.suite.build(kernel, size)
            if program is None:
                raise Missing(why)
        else:
            program = self.work / name
            compiler = "cc" if name == "rawtcp" else self.dist / "bin" / "ftmpicc"
            made = run([compiler, "-O3", "-o", program, PROGRAMS[name], "-lm"], timeout=120)
            if made.code != 0:
                raise Missing(f"{name} does not compile: {made.output_tail()}")
        self.programs[name] = program
        return program

    def npb_suite(self, folder: Path):
        from harness import npb
        from harness.core import Setting
        suite = npb.Suite(Setting(self.dist, self.work, self.results), folder)
        if suite.problem:
            raise Missing(suite.problem)
        return suite

    def kernel(self, name: str, seconds: float = 0, times: int = 1) -> tuple[str, tuple[str, ...]]:
        """Program and arguments of a kernel: one of ours, or the user's. `seconds`: it runs for that time. `times`: so
        many times the usual work."""
        if self.suite and not seconds and times == 1:
            return f"{name}.{'S' if self.tiny else 'A'}", ()
        size = {"cg": ("--class", "S" if self.tiny else "A"),
                "lu": ("--edge", "8" if self.tiny else "32"),
                "bt": ("--edge", "16" if self.tiny else "40"),
                "is": ("--edge", "16" if self.tiny else "256")}[name]
        passes = times * (4 if self.tiny else {"cg": 1, "lu": 20, "bt": 20, "is": 50}[name])
        return name, (*size, *(("--seconds", f"{seconds * self.patience:g}") if seconds else ("--repeat", str(passes))))

    def sizes(self, ranks: tuple[int, ...]) -> tuple[int, ...]:
        """Those that this machine is asked to run (`--most`), at least the smallest."""
        return tuple(size for size in ranks if size <= self.most) or ranks[:1]

    # ---- networks ----------------------------------------------------------------------------

    def place(self, wanted: str) -> str:
        """Where a job of a paper's network runs: hosts of their own where they can be made, otherwise TCP here."""
        if self.tiny or self.no_network:
            return "tcp"
        try:
            self.network(wanted)
        except (OSError, subprocess.CalledProcessError) as error:
            self.no_network = str(getattr(error, "stderr", "") or error).strip()
            self.results.skip("hosts in network namespaces", f"{self.no_network}; TCP on one host instead")
            return "tcp"
        return wanted

    def network(self, kind: str) -> Network:
        with self.lock:
            if kind in self.networks:
                return self.networks[kind]
            self.networks[kind] = Network(self.work / f"network-{kind}", "100mbit" if kind == "slow" else "")
            return self.networks[kind]

    def raw_tcp(self, place: str, repeats: int, most: int) -> list[dict[int, float]]:
        """Microseconds one way of a bare TCP connection, by bytes, in each round."""
        program = self.program("rawtcp")
        there, here, address = [], [], "127.0.0.1"
        if place != "tcp":
            network = self.network(place)
            there, here, address = network.inside(1), network.inside(2), network.address(1)

        def once() -> dict:
            server = subprocess.Popen([*there, program, "listen"], stdout=subprocess.PIPE, text=True)
            try:
                port = server.stdout.readline().strip()
                outcome = run([*here, program, address, port, str(repeats), str(most)], timeout=120)
            finally:
                kill([server.pid, *descendants(server.pid)])
                server.wait()
                server.stdout.close()
            if outcome.code != 0:
                raise Missing(f"rawtcp: {outcome.output_tail()}")
            return {str(size): value for size, value in pairs(outcome).items()}

        what = {"raw tcp": place, "repeats": repeats, "most": most}
        return [{int(k): v for k, v in self.keep(what, number, once).items()} for number in range(self.rounds)]

    def close(self) -> None:
        for network in self.networks.values():
            network.remove()


def parameters(job: Job) -> dict:
    """What a result depends on. The time limit matters only where not to end is a result."""
    values = asdict(job)
    if not job.may_hang:
        del values["timeout"]
    return {"job": values}


def pairs(outcome: Outcome) -> dict[int, float]:
    return {int(size): float(value) for size, value in re.findall(r"^(\d+) ([\d.]+)$", outcome.out, re.M)}


def seconds_of(outcome: Outcome) -> float | None:
    found = re.search(r"^time ([\d.]+) s|Time in seconds\s*=\s*([\d.]+)", outcome.out, re.M)
    return float(found[1] or found[2]) if found and outcome.code == 0 else None


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout


def commit(dist: Path) -> str:
    """The last commit that changed what is measured. Where the programs are of something else, a mark of them."""
    programs = [dist / "bin" / "ftmpiexec", *sorted((dist / "lib" / "ftmpi").glob("libmpi.so*"))]
    newest = max((path.stat().st_mtime for path in programs if path.exists()), default=0)
    name, _, when = git("log", "-1", "--format=%h %ct", "--", *MEASURED_CODE).strip().partition(" ")
    if name and newest >= float(when) and not git("status", "--porcelain", "--", *MEASURED_CODE).strip():
        return name
    mark = hashlib.sha256()
    for path in programs:
        mark.update(path.read_bytes() if path.is_file() else b"")
    return f"built-{mark.hexdigest()[:8]}"


def machine() -> dict:
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return {"processors": os.cpu_count(), "model": model[1] if model else platform.machine(),
            "kernel": platform.release()}

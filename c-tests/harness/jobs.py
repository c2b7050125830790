"""Programs of a chosen duration, and the verdict on a run in which ranks die.

A run counts only if its exit code is 0, its result is verified, and the report has at least as many failures as the
test asked for. Every rank that was not killed must keep its process."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from . import build, reports
from .core import TESTS, Outcome, Setting, descendants, problem_of, run

RANKS = 4
KERNEL_EXPECTED = "VERIFICATION SUCCESSFUL"


@dataclass
class Job:
    """A program that lasts about as long as wanted."""

    name: str
    program: Path
    arguments: list[str]
    expected_text: str
    # The measured duration in seconds, if the duration cannot be chosen. The program ran once, without other load.
    seconds: float = 0

    def with_more_work(self, factor: int) -> Job:
        """The same job with `factor` times as much work."""
        return replace(self, arguments=[str(word) for word in self.command(factor)[1:]])

    def command(self, factor: int) -> list[str | Path]:
        """The program and its arguments for `factor` times as much work."""
        words: list[str | Path] = [self.program]
        for before, word in zip(["", *self.arguments], self.arguments):
            if before == "--seconds":
                word = str(float(word) * factor)
            words.append(word)
        return words


def rank_failures(report: dict) -> list[dict]:
    return [f for f in report.get("failures", []) if isinstance(f, dict) and f.get("rank") is not None]


def process_count_problem(report: dict) -> str | None:
    """Checks that exactly the ranks that failed or were orphans got new processes, and as many as they had failures."""
    clusters = report.get("clusters")
    if clusters:
        # A failure or an orphan gives every rank of its cluster a new process, and no other rank. A rank that dies
        # before MPI_Init begins again alone.
        failures = rank_failures(report)
        returned = {clusters[incarnation["rank"]] for incarnation in
                    [f for f in failures if f["recovery"] in ("rollback", "migrate")] + report.get("orphans", [])}
        alone = {failure["rank"] for failure in failures if failure["recovery"] == "restart"}
        for rank, incarnations in enumerate(report["pids"]):
            distinct = len({incarnation["pid"] for incarnation in incarnations})
            if clusters[rank] in returned and distinct < 2:
                return f"rank {rank} did not return with the others of its cluster"
            if clusters[rank] not in returned and rank not in alone and distinct != 1:
                return f"nothing of the cluster of rank {rank} failed, and it had {distinct} processes"
        return None
    failed: dict[int, int] = {}
    for failure in rank_failures(report) + report.get("orphans", []):
        failed[failure["rank"]] = failed.get(failure["rank"], 0) + 1
    for rank, incarnations in enumerate(report["pids"]):
        distinct = len({incarnation["pid"] for incarnation in incarnations})
        # An incarnation that was killed before it had a process leaves a gap in the numbers.
        without = incarnations[-1]["incarnation"] - incarnations[0]["incarnation"] + 1 - len(incarnations)
        if not distinct <= 1 + failed.get(rank, 0) <= distinct + without:
            return f"rank {rank} failed or rolled back {failed.get(rank, 0)} times and had {distinct} processes"
    return None


def judge(outcome: Outcome, file: Path, expected_text: str, least: int, ranks: int = RANKS,
          at_once: bool = False, killed: frozenset[int] = frozenset()) -> tuple[str | None, str]:
    """The problem (or None) of a run, and a note.

    `at_once`: ranks that return together were killed at the same time. Only the first death is a failure, because the
    return of the first may end the others. The test then counts ended incarnations. `killed`: a rank may be killed when
    it is an orphan that is about to be rolled back. Such a rank counts as an orphan."""
    problem = problem_of(outcome, expected_text=expected_text)
    report, unread = reports.read(file)
    if report is None:
        return problem or unread, ""
    if problem is None:
        problem = reports.report_problem(report, ranks, outcome.code, outcome.seconds)
    failures = rank_failures(report)
    note = f"{outcome.seconds:.1f} s, {len(failures)} failures"
    seen = len(failures)
    if at_once and report.get("clusters"):
        seen = sum(len(incarnations) - 1 for incarnations in report["pids"])
    missed = {failure["rank"] for failure in failures}
    seen += len({orphan["rank"] for orphan in report.get("orphans", [])} & killed - missed)
    if problem is None and seen < least:
        problem = f"only {seen} failures in {outcome.seconds:.1f} s, {least} wanted"
    if problem is None and outcome.code == 0:
        problem = process_count_problem(report)
    return problem, note


AT = re.compile(r"\bat=(\d+)(ms|s)\b")


def last_fault_s(injections: list[str]) -> float:
    """The time of the last of these faults plus one second. Infinite if a fault has no time."""
    found = [AT.search(injection) for injection in injections]
    return max([int(at[1]) / (1000 if at[2] == "ms" else 1) + 1 if at else math.inf for at in found],
               default=math.inf)


def judge_with_faults(job: Job, file: Path, least: int, execute, injections: list[str] | None = None,
                ranks: int = RANKS) -> tuple[str | None, str]:
    """Judges a run, and repeats the run with more work if the run was right and had too few faults. On a busy machine
    the ranks may start late, and the time between two faults may be longer. `execute` runs a command. A run that lasted
    longer than its `injections` is not repeated: more work would bring no more faults, and would look like a hang."""
    problem, note = None, ""
    until = last_fault_s(injections or [])
    at_once = sum(ranks if "rank=all" in injection else "rank=" in injection
                  for injection in injections or []) > 1
    killed = frozenset(int(rank) for injection in injections or []
                       for rank in re.findall(r"^kill:rank=(\d+),at=", injection))
    for factor in (1, 4, 16):
        outcome = execute(job.command(factor))
        problem, note = judge(outcome, file, job.expected_text, least, ranks, at_once, killed)
        # Faults of servers do not show in anything that is judged here.
        unstruck = math.isfinite(until) and outcome.seconds < until - 1
        missing = unstruck if problem is None else problem.startswith("only ")
        if not missing or outcome.seconds > until:
            break
    return problem, note


TOO_SOON = "ended well, but too soon"


def retry_with_more_work(attempt) -> tuple[str | None, str]:
    """The problem and note of `attempt(factor)`. `attempt` runs a program with `factor` times as much work. It returns
    TOO_SOON if the program was right and ended before the fault. On a busy machine images come late, and a fault may
    find nothing to destroy."""
    problem, note = None, ""
    for factor in (1, 4, 16):
        problem, note = attempt(factor)
        if problem is None or TOO_SOON not in problem:
            break
    return problem, note


@dataclass
class Prepared:
    """One run: its job, its folder, and the file for its report."""

    job: Job
    where: Path
    report: Path


class Jobs:
    """Compiles programs once. Each program lasts at least as long as wanted, on any machine. The crash programs pause
    for a fixed time in each round, and kernels look at MPI's clock."""

    CRASH = ["master_worker", "probe_loop", "waitany", "test_loop", "two_receives", "clock",
             "collectives", "overlap", "traffic", "addresses", "lines",
             "one_sided", "fences", "shared_file"]
    OTHERS = ["output_digest", "late", "shared_memory", "scratch_files", "thread_order",
              "thread_windows", "thread_lock", "uneven", "cancelled"]
    # The same programs with other arguments.
    VARIANTS = {"shared_threads": ("shared_memory", ["--threads"]),
                "output_digest_memory": ("output_digest", ["--memory"])}
    KERNELS = {"cg": ["--class", "A"], "wavefront": [], "pipeline": [], "sort": []}

    def __init__(self, setting: Setting, seconds: float, ranks: int = RANKS):
        self.setting = setting
        self.seconds = seconds
        self.ranks = ranks
        # Measured seconds of programs whose duration cannot be chosen.
        self.durations: dict[str, float] = {}

    def make(self, name: str, seed: int) -> tuple[Job | None, str]:
        if name in self.VARIANTS:
            base, more = self.VARIANTS[name]
            job, why = self.make(base, seed)
            return job and replace(job, name=name, arguments=[*job.arguments, *more]), why
        if name in self.CRASH or name in self.OTHERS:
            source = TESTS / "crash" / f"{name}.c"
        elif name in self.KERNELS:
            source = next(s for s in build.kernel_sources() if s.stem == name)
        else:
            return None, f"there is no program {name}"
        program = self.setting.work / "bin" / source.parent.name / name
        if not program.exists():
            made_program, made = build.build(self.setting, source)
            if made_program is None:
                return None, made.output_tail()
            program = made_program
        if name in self.CRASH or name in self.OTHERS:
            arguments = ["--seconds", str(self.seconds), "--seed", str(seed)]
            return Job(name, program, arguments, f"{name} on {self.ranks}: ok"), ""
        arguments = [*self.KERNELS[name], "--seconds", str(self.seconds)]
        return Job(name, program, arguments, KERNEL_EXPECTED), ""

    def prepare(self, test: str, name: str, seed: int, made: tuple[Job | None, str] | None = None) -> Prepared | None:
        """A job (`made`, if it is there) and a folder for one run of it. `None` if the program cannot be made; that
        counts as a failure of `test`."""
        job, why = made or self.make(name, seed)
        if job is None:
            self.setting.results.bad(test, why)
            return None
        where = self.setting.new_folder("run")
        return Prepared(job, where, where / "report.json")


def program_pids(launcher: int, program: Path) -> list[int]:
    """The ranks of a running job: processes below the launcher that execute the program."""
    found = []
    for pid in descendants(launcher):
        try:
            if os.path.realpath(f"/proc/{pid}/exe") == str(program.resolve()):
                found.append(pid)
        except OSError:
            pass
    return found


# Options of runs that differ in transport, events and images.
MODES = [
    [],
    ["--transport", "tcp"],
    ["--events", "all"],
    ["--transport", "tcp", "--events", "all"],
]


def modes_of(protocol: str) -> list[list[str]]:
    """The modes that this protocol accepts. A protocol without logs refuses `--events`."""
    silent = protocol in ("coordinated", "plugin:{waves}")
    return [mode for mode in MODES if not (silent and "--events" in mode)]


# For tests of what only a protocol that logs messages does.
LOGGING = ["--protocol", "pessimistic"]
BLOCKING = ["--protocol", "coordinated", "--wave", "blocking"]
NONBLOCKING = ["--protocol", "coordinated", "--wave", "nonblocking"]
TCP = ["--transport", "tcp"]
WAVES = [BLOCKING, NONBLOCKING, [*BLOCKING, *TCP], [*NONBLOCKING, *TCP]]

"""Kills: programs run, ranks and servers die, and everything must come out right.

A run counts only if it ended with 0, verified its result, saw at least as many failures as asked
for, and every rank that was not killed kept its process."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import build, npb, reports
from .core import ROOT, TESTS, Outcome, Setting, descendants, problem_of, run

RANKS = 4
KERNEL_SAYS = "VERIFICATION SUCCESSFUL"


@dataclass
class Job:
    """A program that lasts about as long as wanted."""

    name: str
    program: Path
    arguments: list[str]
    says: str
    # How long it lasts if that cannot be chosen: it did once, with nobody else there.
    seconds: float = 0

    def lasting(self, factor: int) -> Job:
        """The same with so many times as much to do."""
        return replace(self, arguments=[str(word) for word in self.longer(factor)[1:]])

    def longer(self, factor: int) -> list[str | Path]:
        """Program and arguments of a run that lasts so many times as long."""
        words: list[str | Path] = [self.program]
        for before, word in zip(["", *self.arguments], self.arguments):
            if before == "--repeat":
                word = str(int(word) * factor)
            elif before == "--seconds":
                word = str(float(word) * factor)
            words.append(word)
        return words


def failures_of(what: dict) -> list[dict]:
    return [f for f in what.get("failures", []) if isinstance(f, dict) and f.get("rank") is not None]


def survivors(what: dict) -> str | None:
    """Whether exactly the ranks that failed or were orphans, and as often, got new processes."""
    clusters = what.get("clusters")
    if clusters:
        # Every rank of a cluster has a new process after a failure or an orphan in it, and no other rank has.
        returned = {clusters[life["rank"]] for life in failures_of(what) + what.get("orphans", [])}
        for rank, lives in enumerate(what["pids"]):
            distinct = len({life["pid"] for life in lives})
            if clusters[rank] in returned and distinct < 2:
                return f"rank {rank} did not return with the others of its cluster"
            if clusters[rank] not in returned and distinct != 1:
                return f"nothing of the cluster of rank {rank} failed, and it had {distinct} processes"
        return None
    failed: dict[int, int] = {}
    for failure in failures_of(what) + what.get("orphans", []):
        failed[failure["rank"]] = failed.get(failure["rank"], 0) + 1
    for rank, lives in enumerate(what["pids"]):
        distinct = len({life["pid"] for life in lives})
        # A life that was killed before it had a process leaves a gap in the numbers.
        without = lives[-1]["incarnation"] - lives[0]["incarnation"] + 1 - len(lives)
        if not distinct <= 1 + failed.get(rank, 0) <= distinct + without:
            return f"rank {rank} failed or rolled back {failed.get(rank, 0)} times and had {distinct} processes"
    return None


def judge(outcome: Outcome, file: Path, says: str, least: int, ranks: int = RANKS,
          at_once: bool = False, killed: frozenset[int] = frozenset()) -> tuple[str | None, str]:
    """Problem (or None) and a note about the run. Of ranks that return together and are killed
    `at_once` only the first to be missed is a failure, the others may be ended by its return: then
    lives are counted that came to their end. A rank that is `killed` when it is an orphan already, about to
    be rolled back, is missed as that."""
    problem = problem_of(outcome, says=says)
    what, unread = reports.read(file)
    if what is None:
        return problem or unread, ""
    if problem is None:
        problem = reports.wrong(what, ranks, outcome.code, outcome.seconds)
    failures = failures_of(what)
    note = f"{outcome.seconds:.1f} s, {len(failures)} failures"
    seen = len(failures)
    if at_once and what.get("clusters"):
        seen = sum(len(lives) - 1 for lives in what["pids"])
    missed = {failure["rank"] for failure in failures}
    seen += len({orphan["rank"] for orphan in what.get("orphans", [])} & killed - missed)
    if problem is None and seen < least:
        problem = f"only {seen} failures in {outcome.seconds:.1f} s, {least} wanted"
    if problem is None and outcome.code == 0:
        problem = survivors(what)
    return problem, note


AT = re.compile(r"\bat=(\d+)(ms|s)\b")


def all_over_at(injections: list[str]) -> float:
    """When the last of these faults has happened, with a second to spare; for ever if one has no time."""
    found = [AT.search(injection) for injection in injections]
    return max([int(at[1]) / (1000 if at[2] == "ms" else 1) + 1 if at else math.inf for at in found],
               default=math.inf)


def long_enough(job: Job, file: Path, least: int, execute, injections: list[str] | None = None,
                ranks: int = RANKS) -> tuple[str | None, str]:
    """Judges a run; one that was right and over before its faults came says nothing, and is repeated
    with more to do. (How long a program lasts is measured when it begins, perhaps on a busy machine.)
    `execute` runs these words. A run that lasted longer than its `injections` has had them all: more
    to do would bring no more of them, only a run that looks like a hang."""
    problem, note = None, ""
    until = all_over_at(injections or [])
    at_once = sum(ranks if "rank=all" in injection else "rank=" in injection
                  for injection in injections or []) > 1
    killed = frozenset(int(rank) for injection in injections or []
                       for rank in re.findall(r"^kill:rank=(\d+),at=", injection))
    for factor in (1, 4, 16):
        outcome = execute(job.longer(factor))
        problem, note = judge(outcome, file, job.says, least, ranks, at_once, killed)
        # Those that strike servers show in nothing that is judged here.
        unstruck = math.isfinite(until) and outcome.seconds < until - 1
        missing = unstruck if problem is None else problem.startswith("only ")
        if not missing or outcome.seconds > until:
            break
    return problem, note


TOO_SOON = "ended well, but too soon"


def until_it_lasts(attempt) -> tuple[str | None, str]:
    """Problem and note of `attempt(factor)`, which runs a program so many times as long and says TOO_SOON
    if it was right and over before what was to happen to it: on a busy machine images come late, and
    what is to be lost is not always there."""
    problem, note = None, ""
    for factor in (1, 4, 16):
        problem, note = attempt(factor)
        if problem is None or TOO_SOON not in problem:
            break
    return problem, note


# ---- the programs ---------------------------------------------------------------------------


class Jobs:
    """Compiled once; kernels are measured once, so that they last as long as wanted."""

    CRASH = ["master_worker", "probe_loop", "waitany", "test_loop", "two_receives", "clock",
             "collectives", "overlap", "traffic", "addresses", "lines",
             "one_sided", "fences", "shared_file"]
    OTHERS = ["told", "late", "shared_memory", "scratch_files"]
    # The same program with other arguments.
    VARIANTS = {"shared_threads": ("shared_memory", ["--threads"]), "told_memory": ("told", ["--memory"])}
    KERNELS = {"cg": ["--class", "A"], "wavefront": [], "pipeline": [], "sort": []}

    def __init__(self, setting: Setting, seconds: float, ranks: int = RANKS):
        self.setting = setting
        self.seconds = seconds
        self.ranks = ranks
        self.repeats: dict[str, int] = {}

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
                return None, made.last_words()
            program = made_program
        if name in self.CRASH or name in self.OTHERS:
            arguments = ["--seconds", str(self.seconds), "--seed", str(seed)]
            return Job(name, program, arguments, f"{name} on {self.ranks}: ok"), ""
        base = self.KERNELS[name]
        if name not in self.repeats:
            self.repeats[name], why = self.measure(program, base)
            if why:
                del self.repeats[name]
                return None, why
        repeat = ["--repeat", str(self.repeats[name])]
        return Job(name, program, [*base, *repeat], KERNEL_SAYS), ""

    def measure(self, program: Path, base: list[str]) -> tuple[int, str]:
        """How many passes fill the time."""
        passes = 2
        while True:
            outcome = run(
                [*self.setting.mpiexec(self.ranks, "--protocol", "pessimistic"), program, *base,
                 "--repeat", str(passes)],
                timeout=self.setting.timeout,
                cwd=self.setting.fresh("run"),
            )
            problem = problem_of(outcome, says=KERNEL_SAYS)
            if problem:
                return 0, f"without kills: {problem}"
            if outcome.seconds > 2.5 or passes > 1_000_000:
                return max(1, int(passes * self.seconds / max(outcome.seconds - 0.3, 0.2))), ""
            passes *= 4


# ---- kills ------------------------------------------------------------------------------------


def program_pids(launcher: int, program: Path) -> list[int]:
    """Ranks of a running job: processes below the launcher that execute the program."""
    found = []
    for pid in descendants(launcher):
        try:
            if os.path.realpath(f"/proc/{pid}/exe") == str(program.resolve()):
                found.append(pid)
        except OSError:
            pass
    return found


class Killer:
    """kill -9 from outside, at random times, of random ranks."""

    def __init__(self, program: Path, seed: int, every: float, count: int, together: bool = False, ranks: int = RANKS):
        self.program, self.random = program, random.Random(seed)
        self.every, self.left, self.together, self.ranks = every, count, together, ranks
        self.next = time.monotonic() + every
        self.done = 0

    def __call__(self, process) -> None:
        if self.left <= 0 or time.monotonic() < self.next:
            return
        pids = program_pids(process.pid, self.program)
        if len(pids) < self.ranks:
            return  # one of them is just coming back
        for pid in pids if self.together else [self.random.choice(pids)]:
            try:
                os.kill(pid, signal.SIGKILL)
                self.done += 1
            except ProcessLookupError:
                pass
        self.left -= 1
        self.next = time.monotonic() + self.every * self.random.uniform(0.6, 1.4)


MODES = [
    [],
    ["--transport", "tcp"],
    ["--events", "all"],
    ["--transport", "tcp", "--events", "all"],
]


BLOCKING = ["--protocol", "coordinated", "--wave", "blocking"]
NONBLOCKING = ["--protocol", "coordinated", "--wave", "nonblocking"]
TCP = ["--transport", "tcp"]
WAVES = [BLOCKING, NONBLOCKING, [*BLOCKING, *TCP], [*NONBLOCKING, *TCP]]


def kills(
    setting: Setting,
    runs: int,
    programs: list[str],
    external: bool,
    seconds: float,
    npb_sources: Path | None,
    waves: bool = False,
    ranks: int = RANKS,
) -> None:
    """`runs` runs, programs and modes in turn, a new seed in each."""
    if not setting.ready():
        return
    jobs = Jobs(setting, seconds, ranks)
    names = programs or ["cg", *Jobs.CRASH[:4], "wavefront", *Jobs.CRASH[4:-1], "pipeline", "sort"]
    suite = npb.Suite(setting, npb_sources) if npb_sources else None
    if suite and not programs:
        names += ["npb-bt", "npb-lu", "npb-sp", "npb-cg"]
    for number in range(runs):
        seed = setting.seed + number
        name = names[number % len(names)]
        modes = WAVES if waves else MODES
        mode = modes[number % len(modes)] if not external else modes[number % 2]
        outside = external or number % 5 == 4
        protocol = setting.protocol_options()
        on = "" if ranks == RANKS else f" on {ranks}"
        test = f"kills: {name}, seed {seed}{on}" + ("" if not mode else " " + " ".join(mode)) + "".join(f" {word}" for word in protocol) + (
            ", from outside" if outside else "")
        if name.startswith("npb-") and suite:
            job, why = suite.job(name[4:], jobs)
        else:
            job, why = jobs.make(name, seed)
        if job is None:
            setting.results.bad(test, why)
            continue
        where = setting.fresh("run")
        file = where / "report.json"
        least = 3 if seconds >= 8 else 2
        options = ["--ckpt-interval", "1s", "--report", file, *mode, *protocol]
        if not outside:
            options += ["--inject", f"kill:every=2s,count=20,seed={seed}"]

        def execute(words: list) -> Outcome:
            return run(
                [*setting.mpiexec(ranks, *options), *words],
                timeout=max(setting.timeout, 10 * max(seconds, job.seconds)),
                cwd=where,
                meanwhile=Killer(job.program, seed, 2.0, 20, ranks=ranks) if outside else None,
            )

        problem, note = long_enough(job, file, least, execute, ranks=ranks)
        left = sorted(path.name for path in where.glob(".*.ftmpi-*"))
        if problem is None and left:
            problem = f"left behind: {', '.join(left)[:200]}"
        setting.results.check(test, problem, note)


# ---- clusters ---------------------------------------------------------------------------------


def clusters(setting: Setting) -> None:
    """Kills of one rank, of a whole cluster of two, and of one rank of each cluster: the ranks of these
    clusters return, and `survivors` sees to it that no other process is new. Of two ranks of a cluster
    that are killed at once the second may be ended by the return that the first began."""
    if not setting.ready():
        return
    jobs = Jobs(setting, 3)
    two = ["--cluster", "2"]
    cases = [
        ("traffic", [*two], [(1, 1500)], 1),
        ("waitany", [*two, "--wave", "nonblocking", "--events", "all"], [(2, 2000), (3, 2000)], 2),
        ("master_worker", [*two, "--between", "causal", *TCP], [(2, 1500)], 1),
        ("test_loop", ["--cluster", "3", "--between", "causal", "--event-logger", "off"],
         [(0, 1000), (3, 2000)], 4),
        ("probe_loop", [*two, "--between", "optimistic", "--events", "all"], [(1, 1200), (2, 2200)], 2),
        ("one_sided", [*two, "--wave", "nonblocking"], [(1, 1500)], 1),
    ]
    for number, (name, options, faults, least) in enumerate(cases if not setting.full else cases * 4):
        job, why = jobs.make(name, setting.seed + number)
        injected = [f"kill:rank={rank},at={at}ms" for rank, at in faults]
        test = f"clusters: {name} {' '.join(options)}, {' '.join(injected)}"
        if job is None:
            setting.results.bad(test, why)
            continue
        where = setting.fresh("run")
        file = where / "report.json"
        words = [*setting.mpiexec(RANKS, "--protocol", "hierarchical", *options, "--ckpt-interval",
                                  "700ms", "--report", file)]
        for fault in injected:
            words += ["--inject", fault]
        problem, note = long_enough(
            job, file, least,
            lambda program: run([*words, *program], timeout=setting.timeout, cwd=where),
            injected)
        setting.results.check(test, problem, note)


# ---- named points -----------------------------------------------------------------------------

# Where, and which time: early and late. `log` points exist where determinants are.
NTH = {
    "acted": [1, 20],
    "init": [1],
    "exit": [1],
    "finalize-begin": [1],
    "finalize": [1],
    "finalize-end": [1],
    "image": [1, 2],
    "replay": [1],
    "replay-step": [1, 40],
    "wave": [1, 2],
}
OTHER_NTH = [1, 300]


def points_of_library() -> list[str]:
    """The names that the library's sources have, so that none is forgotten here."""
    names: set[str] = set()
    for folder in ("libftmpi", "transport", "checkpoint"):
        for file in (ROOT / folder).rglob("*.rs"):
            names.update(re.findall(r'\bpoint\(\s*"([a-z][a-z0-9-]+)"', file.read_text()))
    return sorted(names)


def points(setting: Setting) -> None:
    """Rank 1 dies at every named point, and so does rank 0."""
    if not setting.ready():
        return
    names = points_of_library()
    if not names:
        setting.results.bad("points", "no named point was found in the sources of the library")
        return
    jobs = Jobs(setting, 3)
    in_waves = setting.protocol.startswith(("coordinated", "hierarchical"))
    for index, name in enumerate(names):
        if name == "wave" and setting.protocol and not in_waves:
            continue
        for nth in NTH.get(name, OTHER_NTH):
            for rank in [index % 2] if not setting.full else [0, 1, RANKS - 1]:
                program = ["probe_loop", "waitany"][index % 2]
                if "rendezvous" in name:
                    program = "traffic"
                if name == "acted":
                    program = "shared_file"
                job, why = jobs.make(program, 1)
                test = f"point {name}, time {nth}, rank {rank}"
                if job is None:
                    setting.results.bad(test, why)
                    continue
                where = setting.fresh("run")
                file = where / "report.json"
                options = ["--ckpt-interval", "700ms", "--report", file, *setting.protocol_options()]
                arguments = list(job.arguments)
                replaying = name.startswith("replay")
                if replaying:
                    options += ["--inject", f"kill:rank={rank},at=2500ms"]
                if name == "replay-step":
                    # Everything since the start is repeated: there is enough to die in.
                    options += ["--ckpt", "off"]
                if name == "exit":
                    # The others are still busy: the rank that dies must come back to its exit.
                    arguments += ["--first-to-exit", str(rank)]
                if name == "wave" and not setting.protocol:
                    options += BLOCKING if rank == 0 else NONBLOCKING
                options += ["--inject", f"kill:rank={rank},point={name},nth={nth}"]
                outcome = run(
                    [*setting.mpiexec(RANKS, *options), job.program, *arguments],
                    timeout=setting.timeout,
                    cwd=where,
                )
                problem, note = judge(outcome, file, job.says, 2 if replaying else 1)
                if problem is None:
                    problem = died_at(file, rank, replaying)
                setting.results.check(test, problem, note)


def died_at(file: Path, rank: int, replaying: bool) -> str | None:
    """Whether the deaths were where they were wanted: of that rank, once more in its replay if it
    was to die there, and the last life came to the end of its own."""
    what, unread = reports.read(file)
    if what is None:
        return unread
    failures = failures_of(what)
    if {failure["rank"] for failure in failures} != {rank}:
        return f"failures of other ranks than {rank}: {failures}"
    if failures[-1]["catch_up_ms"] is None:
        return f"the last life never caught up: {failures[-1]}"
    if replaying and (len(failures) != 2 or failures[0]["catch_up_ms"] is not None):
        return f"the second death was not in the replay after the first: {failures}"
    return None


# ---- servers, everybody, images -----------------------------------------------------------------


def simple(setting: Setting, test: str, program: str, injections: list[str], least: int,
           options: list[str] | None = None, seconds: float = 6,
           also: Callable[[dict], str | None] | None = None) -> None:
    """One run with faults; `also` looks at the report."""
    job, why = Jobs(setting, seconds).make(program, setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return
    where = setting.fresh("run")
    file = where / "report.json"
    protocol = setting.protocol_options()
    test += "".join(f" {word}" for word in protocol)
    words: list[str | Path] = ["--ckpt-interval", "1s", "--report", file, *(options or []), *protocol]
    for injection in injections:
        words += ["--inject", injection]
    problem, note = long_enough(
        job, file, least,
        lambda program: run([*setting.mpiexec(RANKS, *words), *program], timeout=setting.timeout,
                            cwd=where),
        injections)
    if problem is None and also:
        what, unread = reports.read(file)
        problem = unread if what is None else also(what)
    setting.results.check(test, problem, note)


def servers(setting: Setting) -> None:
    if not setting.ready():
        return
    memories(setting)
    if setting.protocol.startswith("channel-memory"):
        return
    for server in ("event-logger", "checkpoint-server"):
        for program in ("master_worker", "collectives") if setting.full else ("master_worker",):
            simple(setting, f"{server} killed under {program}", program,
                   [f"kill:server={server},at=2s"], 0)
            simple(setting, f"{server} killed, then a rank, under {program}", program,
                   [f"kill:server={server},at=2s", "kill:rank=1,at=4s"], 1)
    simple(setting, "checkpoint-scheduler killed again and again, then a rank", "master_worker",
           ["kill:server=checkpoint-scheduler,every=700ms,count=4", "kill:rank=1,at=4s"], 1,
           also=lambda report: None if report["checkpoints"]["ordered"] >= 2
           and report["servers_restarted"] >= 2 and report["failures"][0]["image"]
           else f"images came too seldom, or not by order: {report['checkpoints']}")
    library = setting.dist / "lib" / "ftmpi" / "libftmpi_example_protocol.so"
    if not setting.protocol:
        simple(setting, "a protocol of a library, ranks killed", "master_worker",
               ["kill:every=1500ms,count=2,seed=4"], 2, ["--protocol", f"plugin:{library}"])
        # One of them, which is that of the rank that dies; all.
        for way, which, back in (("loggers", ",number=1", 1), ("broadcast", "", 3)):
            simple(setting, f"three event loggers, {way}, {back} killed", "master_worker",
                   [f"kill:server=event-logger{which},at=2s", "kill:rank=1,at=3s"], 1,
                   ["--protocol", "optimistic", "--event-loggers", "3", "--stable-vector", way],
                   also=restarted(back))
        simple(setting, "one of three event loggers and its rank at once, then all ranks", "waitany",
               ["kill:server=event-logger,number=2,at=2s", "kill:rank=2,at=2s", "kill:rank=all,at=4s"],
               RANKS, ["--protocol", "causal", "--events", "all", "--event-loggers", "3"],
               also=restarted(1))
    # Every message waits for the logger: few rounds are enough.
    simple(setting, "a slow event logger", "probe_loop",
           ["delay:logger=5ms", "kill:every=2s,count=2,seed=3"], 1, seconds=1.5)
    simple(setting, "no images: replay from the start", "waitany", ["kill:rank=2,at=2s"], 1,
           ["--ckpt", "off"])


def restarted(servers: int) -> Callable[[dict], str | None]:
    """Whether exactly so many servers were started again."""
    def look(report: dict) -> str | None:
        seen = report["servers_restarted"]
        return None if seen == servers else f"{seen} servers were started again, {servers} wanted"

    return look


def memories(setting: Setting) -> None:
    """Channel memories die, alone and with ranks; they are event loggers as well."""
    options = [] if setting.protocol else ["--protocol", "channel-memory"]
    two = [*options, "--channel-memories", "2"]
    if setting.protocol and not setting.protocol.startswith("channel-memory"):
        return
    simple(setting, "channel memory killed, then a rank", "master_worker",
           ["kill:server=channel-memory,at=2s", "kill:rank=1,at=4s"], 1, options)
    simple(setting, "both channel memories killed again and again, and all ranks", "two_receives",
           ["kill:server=channel-memory,every=1500ms,count=3", "kill:rank=all,at=3s"], RANKS, two)
    # 4 MiB in main memory, some 7 MB wait.
    simple(setting, "messages wait on the disk of a channel memory, all ranks killed", "late",
           ["kill:rank=all,at=2s"], RANKS, [*options, "--memory-limit", "4"], seconds=3,
           also=lambda report: None if report["channel_memories"]["spilled_bytes"] > 1_000_000
           else f"nothing waited on a disk: {report['channel_memories']}")
    if setting.full or setting.protocol:
        simple(setting, "both channel memories and ranks killed", "traffic",
               ["kill:server=channel-memory,every=2s,count=3", "kill:every=2s,count=3,seed=5"], 1, two)
        simple(setting, "channel memories, no images", "waitany",
               ["kill:server=channel-memory,at=1s", "kill:rank=2,at=2s"], 1,
               [*options, "--ckpt", "off"])


def all_ranks(setting: Setting) -> None:
    if not setting.ready():
        return
    for program in ("master_worker", "wavefront", "collectives"):
        simple(setting, f"all ranks killed at once under {program}", program,
               ["kill:rank=all,at=3s"], RANKS)
    simple(setting, "all ranks killed twice", "probe_loop",
           ["kill:rank=all,at=2s", "kill:rank=all,at=5s"], 2 * RANKS, seconds=8)
    simple(setting, "two ranks at once", "two_receives",
           ["kill:rank=0,at=3s", "kill:rank=2,at=3s"], 2)
    if not setting.protocol:
        simple(setting, "all ranks killed at once in waves", "master_worker",
               ["kill:rank=all,at=3s"], RANKS, NONBLOCKING)

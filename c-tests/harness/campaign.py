"""Runs the campaign: every protocol and option with several seeds, while programs and faults rotate.

A run counts only if all of this holds: the exit code is 0, the result is verified, and as many ranks failed and servers
restarted as the fault asks for. In addition, a rank may have a new process only if it failed, was an orphan, or belongs
to a cluster that returned.

Each run prints one line, and a table ends the output. The files of a failed run are kept below the working directory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import npb, orphans, reports
from .core import Outcome, Setting, run
from .jobs import RANKS, Jobs, judge, judge_with_faults, modes_of

THREE = ["--event-loggers", "3", "--stable-vector"]
CLUSTERS = ["hierarchical", "--cluster", "2"]
SLOW = ["--inject", "delay:logger=60ms"]

# The arguments of `--protocol`. Under `optimistic` the logger is slow, so that orphans arise.
VARIANTS: list[list[str]] = [
    ["channel-memory"],
    ["channel-memory", "--channel-memories", "3"],
    ["pessimistic"],
    ["pessimistic", "--event-loggers", "3"],
    *[["causal", "--piggyback", way, "--event-logger", logger]
      for way in ("vcausal", "manetho", "logon") for logger in ("on", "off")],
    ["causal", "--piggyback", "vcausal", *THREE, "loggers"],
    ["causal", "--piggyback", "manetho", *THREE, "broadcast"],
    ["causal", "--piggyback", "logon", *THREE, "piggyback"],
    ["optimistic", "--tracking", "o2p", *SLOW],
    ["optimistic", "--tracking", "standard", *SLOW],
    ["optimistic", *THREE, "loggers", *SLOW],
    ["optimistic", *THREE, "broadcast", *SLOW],
    *[["coordinated", "--wave", wave, "--images", images]
      for wave in ("blocking", "nonblocking") for images in ("local+remote", "remote")],
    *[[*CLUSTERS, "--between", between, "--wave", wave]
      for between in ("pessimistic", "causal") for wave in ("blocking", "nonblocking")],
    [*CLUSTERS, "--between", "causal", "--event-logger", "off"],
    [*CLUSTERS, "--between", "causal", *THREE, "loggers"],
    *[[*CLUSTERS, "--between", "optimistic", "--wave", wave, *SLOW] for wave in ("blocking", "nonblocking")],
    [*CLUSTERS, "--between", "optimistic", "--tracking", "standard", *THREE, "broadcast", *SLOW],
    ["plugin:{library}"],
    ["plugin:{waves}"],
]

# These benchmarks are skipped if no class lasts long enough.
NPB = ["npb-bt", "npb-lu", "npb-mg", "npb-cg"]


@dataclass
class Fault:
    """A fault: the injections, how many ranks must fail, and how many servers must restart."""

    name: str
    injections: list[str]
    ranks: int = 0
    servers: int = 0


@dataclass
class Count:
    """The counts of one variant."""

    runs: int = 0
    failed: list[str] = field(default_factory=list)
    deaths: int = 0
    orphans: int = 0
    servers: int = 0


def loggers_of(variant: list[str]) -> tuple[str, int]:
    """The servers that keep a variant's events: their kind (empty if there are none) and their number."""
    name = variant[0]
    if name == "channel-memory":
        count = variant[variant.index("--channel-memories") + 1] if len(variant) > 1 else 1
        return "channel-memory", int(count)
    if name in ("coordinated", "plugin:{waves}") or ("--event-logger", "off") in zip(variant, variant[1:]):
        return "", 0
    count = variant[variant.index("--event-loggers") + 1] if "--event-loggers" in variant else 1
    return "event-logger", int(count)


def faults_of(variant: list[str], ranks: int, draw: random.Random) -> list[Fault]:
    """All faults for a variant. The generator draws the moments and the ranks."""
    def at() -> str:
        return f"at={draw.randint(900, 2200)}ms"

    one, two = draw.sample(range(ranks), 2)
    moment = at()
    seed = draw.randint(1, 1 << 30)
    kill = f"kill:rank={one},{moment}"
    found = [
        Fault("none", []),
        Fault("one", [kill], 1),
        Fault("every 2 s", [f"kill:every=2s,count=20,seed={seed}"], 1),
        Fault("two at once", [kill, f"kill:rank={two},{moment}"], 2),
        Fault("all at once", [f"kill:rank=all,{moment}"], ranks),
        Fault("in recovery", [kill, f"kill:rank={one},point=replay"], 2),
        Fault("another in recovery", [kill, f"kill:rank={two},at={int(moment[3:-2]) + 40}ms"], 2),
        Fault("in image", [f"kill:rank={one},point=image,nth={draw.randint(1, 3)}"], 1),
        Fault("checkpoint server, then a rank",
              [f"kill:server=checkpoint-server,{moment}", f"kill:rank={two},at=2300ms"], 1, 1),
        Fault("scheduler and a rank", [f"kill:server=checkpoint-scheduler,{at()}", kill], 1, 1),
    ]
    if variant[0] in ("coordinated", "hierarchical", "plugin:{waves}"):
        found.append(Fault("in wave", [f"kill:rank={one},point=wave,nth={draw.randint(1, 3)}"], 1))
    kind, count = loggers_of(variant)
    if kind:
        which = f"kill:server={kind}" + (f",number={draw.randrange(count)}" if count > 1 else "")
        found += [
            Fault("logger, then a rank", [f"{which},{moment}", f"kill:rank={two},at=2300ms"], 1, 1),
            Fault("logger and rank at once", [f"{which},{moment}", kill], 1, 1),
            Fault("logger again and again, all ranks",
                  [f"{which},every=700ms,count=3", f"kill:rank=all,at={draw.randint(900, 2200)}ms"],
                  ranks, 2),
        ]
    if count > 1:
        found += [
            Fault("all loggers and all ranks", [f"kill:server={kind},{moment}", f"kill:rank=all,{moment}"],
                  ranks, count),
            Fault("one logger after the other, a rank between",
                  [f"kill:server={kind},number={number},at={800 + 700 * number}ms"
                   for number in range(count)] + [f"kill:rank={one},at={draw.randint(800, 2300)}ms"],
                  1, count),
        ]
    return found


def programs(sources: Path | None) -> Iterator[str]:
    """Kernels and nondeterministic programs, in an endless rotation."""
    names = ["cg", "master_worker", "wavefront", "waitany", "traffic", "sort", "probe_loop", "pipeline",
             "test_loop", "two_receives", "collectives", "clock", "overlap", "addresses", *(NPB if sources else [])]
    while True:
        yield from names


def fault_problem(report: dict | None, fault: Fault) -> str | None:
    """What the report of this fault must show in addition to `judge`."""
    if report is None:
        return None
    if report["servers_restarted"] < fault.servers:
        return f"only {report['servers_restarted']} servers were started again, {fault.servers} wanted"
    return orphans.rollback_problem(report) if report.get("orphans") else None


def campaign(setting: Setting, runs: int, only: list[str], seconds: float, sources: Path | None,
             ranks: int = RANKS) -> None:
    """Runs `runs` seeds of each variant. `only`: variants whose names contain one of these words."""
    if not setting.dist_is_built():
        return
    library = setting.dist / "lib" / "ftmpi" / "libftmpi_example_protocol.so"
    waves = library.with_name("libftmpi_example_waves.so")
    jobs = Jobs(setting, seconds, ranks)
    suite = npb.Suite(setting, sources) if sources else None
    table: dict[str, Count] = {}
    for index, variant in enumerate(VARIANTS):
        if ranks <= 2 and variant[:3] == CLUSTERS:
            # The ranks form two clusters, because nothing is logged within one cluster.
            variant = [CLUSTERS[0], CLUSTERS[1], "1", *variant[3:]]
        name = " ".join(variant).format(library="example", waves="waves")
        if only and not any(part in name for part in only):
            continue
        count = table[name] = Count()
        names = programs(sources)
        # Each variant begins with another program.
        [next(names) for _ in range(index)]
        for seed in range(setting.seed, setting.seed + runs):
            draw = random.Random(f"{seed} {name}")
            faults = faults_of(variant, ranks, draw)
            modes = modes_of(variant[0])
            fault, mode = faults[seed % len(faults)], modes[draw.randrange(len(modes))]
            program = next(names)
            size = f" on {ranks}" if ranks != RANKS else ""
            test = f"campaign: {name}: {program}{size}, {fault.name}, seed {seed} {' '.join(mode)}".rstrip()
            made = suite.job(program[4:], jobs) if program.startswith("npb-") and suite else None
            prepared = jobs.prepare(test, program, seed, made)
            if prepared is None:
                continue
            job, where, file = prepared.job, prepared.where, prepared.report
            protocol = [word.format(library=library, waves=waves) for word in variant]
            options = ["--ckpt-interval", "600ms", "--report", file, *mode, "--protocol", *protocol]
            for injection in fault.injections:
                options += ["--inject", injection]
            outcomes: list[Outcome] = []

            # Over TCP with many ranks a run takes ten times as long as the wanted time, because every message waits
            # for a stable event.
            patience = 20 * max(seconds, job.seconds) * max(1, ranks // RANKS)

            def execute(program: list) -> Outcome:
                outcomes.append(run([*setting.mpiexec(ranks, *options), *program],
                                timeout=max(setting.timeout, patience), cwd=where))
                return outcomes[-1]

            if fault.ranks:
                problem, note = judge_with_faults(job, file, fault.ranks, execute, fault.injections, ranks)
            else:
                problem, note = judge(execute(job.command(1)), file, job.expected_text, 0, ranks)
            report, _ = reports.read(file)
            problem = problem or fault_problem(report, fault)
            count.runs += 1
            if report is not None:
                count.deaths += sum(len(incarnations) - 1 for incarnations in report["pids"])
                count.orphans += len(report.get("orphans", []))
                count.servers += report["servers_restarted"]
            if problem:
                count.failed.append(f"{seed}")
                (where / "output.txt").write_text(f"{test}\n{options}\n{outcomes[-1].err}\n{outcomes[-1].out}")
                where.rename(setting.work / f"failed-{index}-{seed}")
            setting.results.check(test, problem, note)
    print_table(table)


def print_table(table: dict[str, Count]) -> None:
    """Prints one line per variant."""
    print("runs failed incarnations-ended orphans servers-restarted protocol")
    for name, count in table.items():
        seeds = f" (failed: {', '.join(count.failed)})" if count.failed else ""
        print(f"{count.runs:4d} {len(count.failed):6d} {count.deaths:11d} {count.orphans:7d} "
              f"{count.servers:17d} {name}{seeds}", flush=True)

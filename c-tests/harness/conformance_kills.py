"""Runs conformance programs under a logging protocol, with one `kill -9` of a random rank at a random moment in each
run. The output must equal the output of an undisturbed run.

Most of these programs end within a tenth of a second. So half of the moments are events of the library instead of
times: the n-th message that is read, or the n-th batch of events that is sent or acknowledged. The seed decides n. A
run counts only if the kill took place. A run that was over before is repeated with an earlier moment. A program that
reads no message dies in `MPI_Init` or at the beginning of `MPI_Finalize`."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from . import build, reports
from .conformance import ANY_ERROR, EXIT_CODES, NEEDS_RANKS, difference, run_program
from .core import Outcome, Setting, problem_of, run
from .jobs import rank_failures, process_count_problem

POINTS = ["ring-read", "log-sent", "log-acknowledged"]
CERTAIN_POINTS = ["finalize-begin", "init"]
TRIES = 7


def random_kills(setting: Setting, only: list[str], runs: int) -> None:
    """Runs `runs` seeds of every program, or of those that `only` names."""
    if not setting.dist_is_built():
        return
    for source in build.sources("conformance"):
        name = source.stem
        if (only and name not in only) or name in EXIT_CODES or name in ANY_ERROR:
            continue
        if build.is_fortran(source) and not build.fortran_available(setting):
            setting.results.skip(name, "no Fortran compiler")
            continue
        program, made = build.build(setting, source)
        if program is None:
            setting.results.bad(f"{name} compiles", made.output_tail())
            continue
        undisturbed: dict[int, Outcome] = {}
        for seed in range(setting.seed, setting.seed + runs):
            kill_once(setting, name, program, seed, undisturbed)


def kills_at_every_event(setting: Setting, only: list[str], until: int) -> None:
    """Runs the named programs with a death at each n-th batch of events and each n-th file operation, up to `until`, of
    two ranks. No effect outside of the rank may occur twice or be missing."""
    if not setting.dist_is_built():
        return
    protocol = setting.protocol_options() or ["--protocol", "pessimistic"]
    for source in build.sources("conformance"):
        if source.stem not in only or (build.is_fortran(source) and not build.fortran_available(setting)):
            continue
        program, made = build.build(setting, source)
        if program is None:
            setting.results.bad(f"{source.stem} compiles", made.output_tail())
            continue
        ranks = max(NEEDS_RANKS.get(source.stem, 1), 3)
        undisturbed = run_program(setting, program, ranks, protocol)
        swept = Program(source.stem, program, [*protocol, "--ckpt", "off"], ranks, undisturbed)
        for victim in (0, 1):
            for point in ("log-sent", "acted"):
                kill_at_every(setting, swept, victim, point, until)


@dataclass
class Program:
    """A compiled program, the options and ranks of its runs, and its undisturbed run."""

    name: str
    path: Path
    options: list[str]
    ranks: int
    undisturbed: Outcome


def kill_at_every(setting: Setting, program: Program, victim: int, point: str, until: int) -> None:
    """Kills rank `victim` at the first, second … time that it passes the point, in one run each."""
    problem, deaths, seconds = problem_of(program.undisturbed), 0, 0.0
    for nth in range(1, until + 1):
        if problem:
            break
        where = setting.new_folder("run")
        file = where / "report.json"
        fault = f"kill:rank={victim},point={point},nth={nth}"
        options = [*program.options, "--report", file, "--inject", fault]
        outcome = run([*setting.mpiexec(program.ranks, *options), program.path], timeout=setting.timeout, cwd=where)
        seconds += outcome.seconds
        report, unread = reports.read(file)
        problem = problem_of(outcome) or (unread if report is None else None)
        if problem is None and report is not None and not rank_failures(report):
            break
        deaths += 1
        if problem is None and outcome.out != program.undisturbed.out:
            problem = "prints something else than undisturbed: " + difference(outcome.out, program.undisturbed.out)
        if problem:
            problem = f"{fault}: {problem}"
    if problem is None and deaths == 0 and (victim, point) == (0, "log-sent"):
        problem = "no rank died"
    test = f"{program.name} on {program.ranks}, {' '.join(program.options)}, rank {victim} dies at every {point}"
    setting.results.check(test, problem, f"{deaths} deaths, {seconds:.0f} s")


def kill_moments(dice: random.Random, seconds: float) -> list[str]:
    """Moments to try until the kill takes place, each earlier than the one before."""
    listed, nth, last = [], int(10 ** dice.uniform(0, 3.5)), seconds
    point = dice.choice(POINTS)
    by_time = dice.random() < 0.5
    for _ in range(TRIES - len(CERTAIN_POINTS)):
        if by_time:
            last = dice.uniform(0.1, 0.95) * last
            listed.append(f"at={max(1, int(last * 1000))}ms")
        else:
            nth = dice.randint(1, nth)
            listed.append(f"point={point},nth={nth}")
        by_time = by_time and len(listed) < 2
    return listed + [f"point={point},nth=1" for point in CERTAIN_POINTS]


def kill_once(setting: Setting, name: str, program: Path, seed: int, undisturbed: dict[int, Outcome]) -> None:
    dice = random.Random(f"{name} {seed}")
    ranks = max(NEEDS_RANKS.get(name, 1), dice.choice([2, 2, 3, 4]))
    protocol = setting.protocol_options() or ["--protocol", "pessimistic"]
    if ranks not in undisturbed:
        undisturbed[ranks] = run_program(setting, program, ranks, protocol)
    undisturbed_run = undisturbed[ranks]
    victim, images = dice.randrange(ranks), dice.choice(["off", "off", "100ms", "300ms"])
    options = [*protocol, *(["--ckpt", "off"] if images == "off" else ["--ckpt-interval", images])]
    if dice.random() < 0.3:
        options += ["--transport", "tcp"]
    test = f"{name} on {ranks}, seed {seed}, {' '.join(options)}"
    problem = problem_of(undisturbed_run)
    if problem:
        setting.results.bad(test, f"without a kill: {problem}")
        return
    for moment in kill_moments(dice, undisturbed_run.seconds):
        where = setting.new_folder("run")
        file = where / "report.json"
        outcome = run(
            [*setting.mpiexec(ranks, *options, "--report", file, "--inject", f"kill:rank={victim},{moment}"),
             program],
            timeout=setting.timeout, cwd=where)
        report, unread = reports.read(file)
        problem = problem_of(outcome) or (unread if report is None else None)
        if problem is None and report is not None:
            if not rank_failures(report):
                continue
            problem = process_count_problem(report)
        if problem is None and outcome.out != undisturbed_run.out:
            problem = "prints something else than undisturbed: " + difference(outcome.out, undisturbed_run.out)
        setting.results.check(f"{test}, rank {victim} dies at {moment}", problem, f"{outcome.seconds:.1f} s")
        return
    setting.results.bad(test, f"rank {victim} did not die in {TRIES} runs")

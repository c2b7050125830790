"""Runs random datatypes, collectives and traffic (c-tests/random), with a new seed in each run.

A run fails if a byte is wrong, or if the rank that was to die did not. A run also fails if the sums that rank 0 prints
depend on the protocol, the transport or a death."""

from __future__ import annotations

import random
from pathlib import Path

from . import build
from .core import Outcome, Setting, problem_of, run
from .jobs import rank_failures
from . import reports

PLAIN = [
    ["--protocol", "none"],
    ["--protocol", "pessimistic"],
    ["--protocol", "none", "--transport", "tcp"],
    ["--protocol", "pessimistic", "--transport", "tcp"],
    ["--protocol", "pessimistic", "--events", "all"],
]
PAUSE_US = 25_000   # between the rounds of a run in which a rank dies


def random_programs(setting: Setting, runs: int, only: list[str], rounds: int) -> None:
    """Runs `runs` seeds of each program, each seed without and with the death of a rank."""
    if not setting.dist_is_built():
        return
    for source in build.sources("random"):
        name = source.stem
        if only and name not in only:
            continue
        program, made = build.build(setting, source)
        if program is None:
            setting.results.bad(f"{name} compiles", made.output_tail())
            continue
        for number in range(runs):
            seed = setting.seed + number
            one_seed(setting, name, program, seed, number, rounds)


def one_seed(
    setting: Setting, name: str, program: Path, seed: int, number: int, rounds: int
) -> None:
    ranks = [4, 3, 2, 5][number % 4]
    arguments = ["--seed", str(seed), "--rounds", str(rounds)]
    expected_text = f"{name} on {ranks}: ok"

    def run_once(options: list[str | Path], more: list[str]) -> Outcome:
        return run([*setting.mpiexec(ranks, *options), program, *arguments, *more],
                   timeout=setting.timeout, cwd=setting.new_folder("run"))

    modes = PLAIN if setting.full else [PLAIN[0], PLAIN[1 + number % 4]]
    expected = None
    for mode in modes:
        outcome = run_once(mode, [])
        problem = problem_of(outcome, expected_text=expected_text)
        if problem is None and expected is not None and outcome.out != expected:
            problem = "another sum than in the first run"
        expected = expected or outcome.out
        setting.results.check(f"random {name}, seed {seed} on {ranks}, {' '.join(mode)}", problem,
                              f"{outcome.seconds:.1f} s")
    dice = random.Random(seed)
    protocol = setting.protocol_options() or ["--protocol", "pessimistic"]
    if number % 2:
        protocol = [*protocol, "--transport", "tcp"]
    victim, at = dice.randrange(ranks), dice.randrange(300, 300 + rounds * PAUSE_US // 1500)
    report_file = setting.work / f"random-{name}.json"
    report_file.unlink(missing_ok=True)
    outcome = run_once(["--ckpt-interval", "500ms", "--report", report_file, *protocol,
                     "--inject", f"kill:rank={victim},at={at}ms"], ["--pause-us", str(PAUSE_US)])
    problem = problem_of(outcome, expected_text=expected_text)
    if problem is None and outcome.out != expected:
        problem = "another sum than without a death"
    if problem is None:
        report, unread = reports.read(report_file)
        problem = unread if report is None else None
        if report is not None and not rank_failures(report):
            problem = "no rank died"
    setting.results.check(
        f"random {name}, seed {seed} on {ranks}, {' '.join(protocol)}, rank {victim} dies at {at} ms", problem,
        f"{outcome.seconds:.1f} s")

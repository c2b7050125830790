"""Tests jobs that go on without ranks that die (`--recovery ignore`) and the functions of ULFM, over both transports:
each call answers with the right error class, and nobody waits for ever."""

from __future__ import annotations

from pathlib import Path

from . import build
from .bad_input import error_message_problem
from .core import TESTS, Outcome, Setting, problem_of, run, which

# Each case of the program, and how many ranks it leaves at the end: `n` ranks in all.
CASES = {
    "receive": "n-1", "sends": "n-1", "middle": "n-1", "any-source": "n-1", "probes": "n-1", "lists": "n-1",
    "partitioned": "n-1", "collectives-short": "n-1", "collectives-long": "n-1", "collectives-later": "n-1",
    "making": "n-1", "intercomms": "n-1", "files": "n-1",
    "windows": "n-1", "locks": "n-1", "exposures": "n-1", "revoke": "n", "late": "n", "agree": "n-1",
    "repeatedly": "1", "shrink-later": "n-1", "leaves": "n-1", "leaves-with-code": "n-1", "aborts": "n-2",
    "finalize": "n-1",
}
LIMIT_S = 60


def left(case: str, ranks: int) -> int:
    return {"n": ranks, "n-1": ranks - 1, "n-2": ranks - 2, "1": 1}[CASES[case]]


def problem_of_case(outcome: Outcome, case: str, ranks: int) -> str | None:
    problem = problem_of(outcome)
    printed = outcome.out.splitlines().count(f"ok {case}")
    if problem is None and printed != left(case, ranks):
        problem = f"{printed} ranks ended well, not {left(case, ranks)}: {outcome.output_tail()}"
    if problem is None and CASES[case] != "n" and "the others go on without it [process: ignore]" not in outcome.err:
        problem = f"no line names the death: {outcome.output_tail()}"
    return problem


def command(setting: Setting, program: Path, ranks: int, case: str, *options: str | Path) -> list[str | Path]:
    return [setting.launcher, "-n", str(ranks), *options, program, case]


def going_on(setting: Setting) -> None:
    """Every case once: with shared memory and sockets in turn, on 2 to 5 ranks."""
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "going_on.c")
    if program is None:
        setting.results.bad("going on", made.output_tail() if made else "it does not compile")
        return
    ignore = ["--protocol", "none", "--recovery", "ignore"]
    for number, case in enumerate(CASES):
        ranks = 5 if case in ("repeatedly", "aborts") else 2 + number % 4
        one(setting, program, case, ranks, ["--transport", ["auto", "tcp"][number % 2]], ignore)
    fatal(setting, program)
    refused(setting, program)
    without(setting, program)
    fortran(setting, "going_on_fortran.f90", "mpi")
    fortran(setting, "going_on_f08.f90", "mpi_f08")


def all_cases(setting: Setting) -> None:
    """Every case over both transports on 2 to 8 ranks."""
    program, made = build.build(setting, TESTS / "programs" / "going_on.c")
    if program is None:
        setting.results.bad("going on", made.output_tail() if made else "it does not compile")
        return
    for case in CASES:
        for ranks in (3, 5, 8) if case == "aborts" else (2, 3, 5, 8):
            for transport in ("auto", "tcp"):
                one(setting, program, case, ranks, ["--transport", transport], ["-disable-auto-cleanup"])


def one(setting: Setting, program: Path, case: str, ranks: int, transport: list[str], ignore: list[str]) -> None:
    outcome = run(command(setting, program, ranks, case, *ignore, *transport), timeout=LIMIT_S,
                  cwd=setting.new_folder("run"))
    name = f"going on: {case}, {ranks} ranks, {transport[-1]}"
    setting.results.check(name, problem_of_case(outcome, case, ranks), f"{outcome.seconds:.1f} s")


def fatal(setting: Setting, program: Path) -> None:
    """MPI_ERRORS_ARE_FATAL ends the job with a line that names the call and the dead rank."""
    outcome = run(command(setting, program, 3, "fatal", "-disable-auto-cleanup"), timeout=LIMIT_S,
                  cwd=setting.new_folder("run"))
    problem = None
    if outcome.code in (0, None):
        problem = f"ended with {outcome.code}: {outcome.output_tail()}"
    elif "MPI_Barrier on MPI_COMM_WORLD failed: MPIX_ERR_PROC_FAILED: rank 2 of the job has died" not in outcome.err:
        problem = f"no line names call and rank: {outcome.output_tail()}"
    setting.results.check("going on: an error that is fatal", problem, f"{outcome.seconds:.1f} s")


def refused(setting: Setting, program: Path) -> None:
    """What cannot be sound is refused before the start, in one line."""
    where = setting.new_folder("run")
    stall = where / "stall.toml"
    stall.write_text('[[rule]]\ndetectors = [{ name = "stall", recovery = "ignore" }]\n')
    process = where / "process.toml"
    process.write_text('[[rule]]\ndetectors = [{ name = "process", recovery = "ignore" }]\n')
    cases: list[tuple[str, list[str | Path], str]] = [
        ("a protocol that logs", ["--protocol", "causal", "--recovery", "ignore"], "goes with --protocol none"),
        ("the default protocol", ["--recovery", "ignore"], "goes with --protocol none"),
        ("a protocol that logs, in a file", ["--recovery", process], "goes with --protocol none"),
        ("-disable-auto-cleanup with a protocol", ["-dac", "--protocol", "coordinated"], "goes with --protocol none"),
        ("a stall", ["--protocol", "none", "--recovery", stall], "cannot `ignore`"),
    ]
    for name, options, words in cases:
        outcome = run(command(setting, program, 2, "receive", *options), timeout=LIMIT_S, cwd=where)
        problem = error_message_problem(outcome, words, most_lines=2)
        setting.results.check(f"going on: refused with {name}", problem)


def without(setting: Setting, program: Path) -> None:
    """A rank that is not to be ignored ends the job, though others are."""
    where = setting.new_folder("run")
    file = where / "some.toml"
    file.write_text('[[rule]]\nranks = "0-1"\ndetectors = [{ name = "process", recovery = "ignore" }]\n')
    outcome = run(command(setting, program, 3, "receive", "--protocol", "none", "--recovery", file), timeout=LIMIT_S,
                  cwd=where)
    problem = None
    if outcome.code in (0, None) or "rank 2" not in outcome.err or "go on without" in outcome.err:
        problem = f"ended with {outcome.code}: {outcome.output_tail()}"
    setting.results.check("going on: not without a rank that the rule leaves out", problem)


def fortran(setting: Setting, source: str, module: str) -> None:
    """Every subroutine of ULFM from Fortran, with the interfaces of this module."""
    name = f"going on: Fortran, use {module}"
    if not which("gfortran"):
        return setting.results.skip(name, "no gfortran")
    program, made = build.build(setting, TESTS / "programs" / source)
    if program is None:
        return setting.results.bad(name, made.output_tail() if made else "it does not compile")
    outcome = run([setting.launcher, "-n", "3", "-dac", program], timeout=LIMIT_S, cwd=setting.new_folder("run"))
    problem = problem_of(outcome)
    if problem is None and outcome.out.count("ok fortran") != 2:
        problem = f"not all ranks end well: {outcome.output_tail()}"
    setting.results.check(name, problem, f"{outcome.seconds:.1f} s")

"""Tests processes that join a running job: spawned ones, on one host and on three, over shared memory and TCP; ports,
names and sockets; what fails. A spawn that cannot work must end in an error, never in a hang."""

from __future__ import annotations

import os
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, problem_of, run

SOURCE = TESTS / "programs" / "new_processes.c"
HOSTS = ["-launcher", "fork", "-hosts", "a,b,c"]
# Each test, and where it runs: all that begin by themselves on one host, and those with channels elsewhere.
EVERYWHERE = ["spawn", "again", "below", "multiple", "port"]
ONCE = ["joined-end", "missing", "info", "join", "threads", "many"]
# Tests whose job must end by itself, and its code.
ENDS = [("die", 137), ("abort", 7)]


def new_processes(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, SOURCE)
    if program is None:
        return setting.results.bad("new processes", made.output_tail())
    for name in EVERYWHERE + ONCE:
        ranks = 1 if name in ("threads", "many") else 2
        check(setting, name, "", launched(setting, program, name, ranks=ranks), 0)
    for name in EVERYWHERE:
        check(setting, name, " on three hosts", launched(setting, program, name, *HOSTS, ranks=3), 0)
    check(setting, "again", " over TCP", launched(setting, program, "again", "--transport", "tcp"), 0)
    check(setting, "join-busy", " over TCP", launched(setting, program, "join-busy", "--transport", "tcp"), 0)
    for name, code in ENDS:
        check(setting, name, "", launched(setting, program, name), code)
    outcome = launched(setting, program, "replace", "--recovery", "ignore", ranks=3)
    check(setting, "replace", " a dead rank", outcome, 0)
    refusals(setting, program)


def launched(setting: Setting, program: Path, name: str, *options: str, ranks: int = 2,
             protocol: str = "none") -> Outcome:
    command = [setting.dist / "bin" / "ftmpiexec", "-n", str(ranks), "--protocol", protocol, *options, program, name]
    return run(command, timeout=60, cwd=setting.new_folder("new"))


def check(setting: Setting, name: str, where: str, outcome: Outcome, code: int) -> None:
    problem = None
    if outcome.code != code:
        problem = f"code {outcome.code}, not {code}: {problem_of(outcome)}"
    elif code == 0 and outcome.out != f"ok {name}\n":
        problem = f"printed {outcome.out!r}: {outcome.output_tail()}"
    setting.results.check(f"new processes: {name}{where}", problem, f"{outcome.seconds:.1f} s")


def refusals(setting: Setting, program: Path) -> None:
    """Where there are no new processes, one line says what to type."""
    for protocol in ("pessimistic", "coordinated"):
        outcome = launched(setting, program, "spawn", protocol=protocol, ranks=1)
        wanted = ["MPI_ERR_SPAWN", protocol, "--protocol none"]
        refused(setting, f"under {protocol}", outcome, wanted)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(setting.dist / "lib" / "ftmpi")}
    outcome = run([program, "spawn"], timeout=60, env=environment)
    refused(setting, "without ftmpiexec", outcome, ["MPI_ERR_SPAWN", "ftmpiexec -n 1"])


def refused(setting: Setting, name: str, outcome: Outcome, wanted: list[str]) -> None:
    missing = [text for text in wanted if text not in outcome.err]
    problem = None
    if outcome.code in (0, None) or missing:
        problem = f"code {outcome.code}, without {missing}: {outcome.output_tail()}"
    setting.results.check(f"new processes are refused {name}", problem)

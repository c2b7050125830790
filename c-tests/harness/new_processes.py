"""Tests processes that join a running job: spawned ones, on one host and on three, over shared memory and TCP; ports,
names and sockets; what fails; and processes that are killed at each moment of a spawn, under the default protocol and
under those that repeat ranks from logs. A spawn that cannot work must end in an error, never in a hang."""

from __future__ import annotations

import os
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, problem_of, run

SOURCE = TESTS / "programs" / "new_processes.c"
MANAGERS = TESTS / "programs" / "managers.c"
CONNECTIONS = TESTS / "programs" / "connections.c"
HOSTS = ["-launcher", "fork", "-hosts", "a,b,c"]
# Each test, and where it runs: all that begin by themselves on one host, and those with channels elsewhere.
EVERYWHERE = ["spawn", "again", "below", "multiple", "port"]
ONCE = ["joined-end", "missing", "info", "join", "threads", "many"]
# Tests whose job must end by itself, and its code.
ENDS = [("die", 137), ("abort", 7)]
# Moments at which managers.c has a process killed: before a spawn, during it, after it, and after the workers' end.
MOMENTS = ["before", "init", "manager-during", "worker-first", "manager-first", "worker", "manager", "worker-last",
           "manager-last"]
ROUNDS, WORKERS, TURNS = 3, 2, 40
# Protocols that repeat ranks from logs, and ask again what was asked.
HIERARCHICAL = ["--protocol", "hierarchical", *HOSTS]
PESSIMISTIC = ["--protocol", "pessimistic"]
# Tests that run under them: "many" waits for the end of processes that stay there, "join" is refused.
REPEATED = [*EVERYWHERE, "joined-end", "missing", "info"]
# Kills in the short form: the moment, with a wave before or not, and the ranks of the first world.
SHORT = [
    (HIERARCHICAL, "manager-during", "now", 1), (HIERARCHICAL, "worker", "wave", 1),
    (PESSIMISTIC, "manager-first", "now", 2),
]
# Moments at which connections.c kills a process: the server, then the client.
MEETINGS = ["opened", "published", "accepted", "serving", "served", "closed", "found", "connected", "asking", "parted"]
# Kills at points of the library. Without a rank every process is killed there, also those that are spawned.
POINTS = ["rank=0,point=question,nth=2", "rank=0,point=answer,nth=2", "point=init,nth=1", "point=image,nth=1",
          "rank=0,point=image,nth=2", "point=finalize,nth=1"]


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
    for name in EVERYWHERE + ONCE:
        ranks = 1 if name in ("threads", "many") else 2
        outcome = launched(setting, program, name, "--ckpt-interval", "300ms", ranks=ranks, protocol="auto")
        check(setting, name, " under the default protocol", outcome, 0)
    check(setting, "spawn", " on three hosts under the default protocol",
          launched(setting, program, "spawn", *HOSTS, ranks=3, protocol="auto"), 0)
    repeated(setting, program)
    refusals(setting, program)
    managers(setting)
    connections(setting)


def repeated(setting: Setting, program: Path) -> None:
    """Under protocols that repeat ranks from logs, without a failure."""
    for words in (HIERARCHICAL, PESSIMISTIC):
        for name in REPEATED if setting.full else ["below", "port"]:
            outcome = launched(setting, program, name, "--ckpt-interval", "300ms", *words[2:], protocol=words[1])
            check(setting, name, f" under {words[1]}", outcome, 0)


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


def managers(setting: Setting) -> None:
    """A manager whose processes are killed, with a wave of images before that or without one."""
    program, made = build.build(setting, MANAGERS)
    if program is None:
        return setting.results.bad("managers", made.output_tail())
    for moment in MOMENTS:
        for when in ("now", "wave"):
            kill(setting, program, moment, when, ranks=2 if moment == "before" else 1)
    kill(setting, program, "worker", "wave", "--wave", "nonblocking", "--protocol", "coordinated", ranks=1)
    kill(setting, program, "worker", "wave", *HOSTS, "--protocol", "coordinated", ranks=2)
    for words, moment, when, ranks in SHORT:
        kill(setting, program, moment, when, *words, ranks=ranks)
    at_point(setting, program, POINTS[1], "now", *HIERARCHICAL)
    if setting.full:
        for words in (HIERARCHICAL, PESSIMISTIC, [*HIERARCHICAL, "--wave", "nonblocking"]):
            for moment in MOMENTS:
                for when in ("now", "wave"):
                    kill(setting, program, moment, when, *words, ranks=2)
            for fault in POINTS:
                at_point(setting, program, fault, "wave", *words)


def printed() -> list[str]:
    """What managers.c prints, whatever is killed."""
    lines, total = ["ok"], 0
    for number in range(ROUNDS):
        for turn in range(TURNS):
            total += sum((1000 * number + 10 * turn + to) * 31 + 7 * to + 1 for to in range(WORKERS))
        lines.append(f"round {number}: {total}")
        lines += [f"worker {worker} of round {number}" for worker in range(WORKERS)]
    return sorted(lines)


def kill(setting: Setting, program: Path, moment: str, when: str, *options: str, ranks: int) -> None:
    folder = setting.new_folder("managers")
    command = [setting.dist / "bin" / "ftmpiexec", "-n", str(ranks), "--ckpt-interval", "300ms", *options, program,
               moment, when, folder]
    outcome = run(command, timeout=120, cwd=folder)
    problem = None
    if outcome.code != 0:
        problem = f"code {outcome.code}: {problem_of(outcome)}"
    elif sorted(outcome.out.splitlines()) != printed():
        problem = f"printed {outcome.out!r}: {outcome.output_tail()}"
    elif not (folder / "killed").is_dir() or "killed by signal 9" not in outcome.err:
        problem = f"nothing was killed: {outcome.output_tail()}"
    name = f"new processes: killed at {moment}, {when} {' '.join(options)}".rstrip()
    setting.results.check(name, problem, f"{outcome.seconds:.1f} s")


def connections(setting: Setting) -> None:
    """A server and a client that meet at a port, and a process that is killed at each moment."""
    program, made = build.build(setting, CONNECTIONS)
    if program is None:
        return setting.results.bad("connections", made.output_tail())
    short = [(HIERARCHICAL, "connected"), (PESSIMISTIC, "published")]
    every = [(words, moment) for words in (HIERARCHICAL, PESSIMISTIC, ["--protocol", "coordinated"])
             for moment in MEETINGS]
    wanted = ["ok", *(f"round {number}: {sum((100 * number + turn) * 7 + 1 for turn in range(60))}"
                      for number in range(ROUNDS))]
    for words, moment in every if setting.full else short:
        folder = setting.new_folder("connections")
        outcome = run([setting.dist / "bin" / "ftmpiexec", "-n", "2", "--ckpt-interval", "100ms", *words, program,
                       moment, folder], timeout=60, cwd=folder)
        problem = None
        if outcome.code != 0:
            problem = f"code {outcome.code}: {problem_of(outcome)}"
        elif sorted(outcome.out.splitlines()) != sorted(wanted):
            problem = f"printed {outcome.out!r}: {outcome.output_tail()}"
        elif not (folder / "killed").is_dir() or "killed by signal 9" not in outcome.err:
            problem = f"nothing was killed: {outcome.output_tail()}"
        name = f"connections: killed when {moment} under {words[1]}"
        setting.results.check(name, problem, f"{outcome.seconds:.1f} s")


def at_point(setting: Setting, program: Path, fault: str, when: str, *options: str) -> None:
    """Processes are killed at a point of the library."""
    folder = setting.new_folder("managers")
    command = [setting.dist / "bin" / "ftmpiexec", "-n", "2", "--ckpt-interval", "300ms", *options, "--inject",
               f"kill:{fault}", program, "never", when, folder]
    outcome = run(command, timeout=120, cwd=folder)
    problem = None
    if outcome.code != 0:
        problem = f"code {outcome.code}: {problem_of(outcome)}"
    elif sorted(outcome.out.splitlines()) != printed():
        problem = f"printed {outcome.out!r}: {outcome.output_tail()}"
    elif "killed by signal 9" not in outcome.err:
        problem = f"nothing was killed: {outcome.output_tail()}"
    name = f"new processes: killed by {fault} {' '.join(options)}"
    setting.results.check(name, problem, f"{outcome.seconds:.1f} s")


def refusals(setting: Setting, program: Path) -> None:
    """Where there are no new processes, one line says what to type."""
    for protocol in ("causal", "optimistic", "channel-memory"):
        outcome = launched(setting, program, "spawn", protocol=protocol, ranks=1)
        wanted = ["MPI_Comm_spawn", "MPI_ERR_SPAWN", protocol, "ftmpiexec --protocol coordinated"]
        refused(setting, f"under {protocol}", outcome, wanted)
    outcome = launched(setting, program, "join", protocol="pessimistic")
    wanted = ["MPI_Comm_join", "MPI_ERR_UNSUPPORTED_OPERATION", "pessimistic", "ftmpiexec --protocol coordinated"]
    refused(setting, "by a socket under pessimistic", outcome, wanted)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(setting.dist / "lib" / "ftmpi")}
    outcome = run([program, "spawn"], timeout=60, env=environment)
    refused(setting, "without ftmpiexec", outcome, ["MPI_ERR_SPAWN", "ftmpiexec -n 1"])


def refused(setting: Setting, name: str, outcome: Outcome, wanted: list[str]) -> None:
    missing = [text for text in wanted if text not in outcome.err]
    problem = None
    if outcome.code in (0, None) or missing:
        problem = f"code {outcome.code}, without {missing}: {outcome.output_tail()}"
    setting.results.check(f"new processes are refused {name}", problem)

"""Tests processes that other commands bring into a running job (`ftmpiexec --join`): a server and clients that connect,
with a process that is killed at each moment; clients that fail; and what is refused. The server's command runs until
all clients have been there, and each client's command has its own output and exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, kill, problem_of, run

SOURCE = TESTS / "programs" / "joined.c"
HOSTS = ["-launcher", "fork", "-hosts", "a,b"]
NONE = ["--protocol", "none"]
DEFAULT = ["--ckpt-interval", "300ms"]
NONBLOCKING = [*DEFAULT, "--protocol", "coordinated", "--wave", "nonblocking"]
PESSIMISTIC = [*DEFAULT, "--protocol", "pessimistic"]
HIERARCHICAL = [*DEFAULT, "--protocol", "hierarchical", *HOSTS]
TURNS, SERVERS, CLIENTS = 40, 2, 2
# Moments at which the second client, or the server, loses a process.
OF_CLIENTS = ["begun", "found", "connected", "asking", "parted"]
OF_SERVERS = ["accepted", "serving", "served"]
SHORT = [(DEFAULT, "asking"), (PESSIMISTIC, "serving")]
# How a client fails that has met nobody: its exit code, and what its command says.
FAILURES = [("exit", 9, "exit code 9"), ("abort", 7, "MPI_Abort"), ("late", 5, ""), ("unknown", None, "--join JOB")]


@dataclass
class Job:
    """A server, and the commands that run while it does."""

    folder: Path
    clients: list[Outcome] = field(default_factory=list)
    done: bool = False


def joins(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, SOURCE)
    if program is None:
        return setting.results.bad("joins", made.output_tail())
    meets(setting, program, NONE, "never")
    failures(setting, program, NONE)
    for words, moment in SHORT:
        meets(setting, program, words, moment)
    refused(setting, program)
    if setting.full:
        ended_by_its_user(setting, program)
        failures(setting, program, DEFAULT)
        failures(setting, program, PESSIMISTIC)
        for words in (DEFAULT, NONBLOCKING, PESSIMISTIC, HIERARCHICAL):
            for moment in ["never", *OF_CLIENTS, *OF_SERVERS]:
                meets(setting, program, words, moment)


def expected(number: int, far: int, near: int) -> int:
    """What all ranks of one side sum up in the talk with a client."""
    return near * sum((1000 * number + 10 * turn + rank) * 3 + rank for turn in range(TURNS) for rank in range(far))


def serve(setting: Setting, program: Path, options: list[str], clients: int, moment: str, commands) -> tuple:
    """Runs a server, and `commands(job, ftmpiexec --join ...)` once it is ready."""
    job = Job(setting.new_folder("joins"))

    def meanwhile(process: subprocess.Popen) -> None:
        if not job.done and (job.folder / "ready").is_dir():
            job.done = True
            commands(job, [setting.dist / "bin" / "ftmpiexec", "--join", str(process.pid)])

    outcome = run([setting.dist / "bin" / "ftmpiexec", "-n", str(SERVERS), *options, program, "server", job.folder,
                   str(clients), moment], timeout=120, cwd=job.folder, meanwhile=meanwhile)
    return job, outcome


def client(job: Job, join: list, program: Path, *words: str, ranks: int = CLIENTS) -> Outcome:
    command = [*join, "-n", str(ranks), program, words[0], job.folder, *words[1:]]
    outcome = run(command, timeout=60, cwd=job.folder)
    job.clients.append(outcome)
    return outcome


def meets(setting: Setting, program: Path, options: list[str], moment: str) -> None:
    """Two clients, one after the other. The second one or the server loses a process."""
    of_server = moment if moment in OF_SERVERS else "never"

    def commands(job: Job, join: list) -> None:
        client(job, join, program, "client", "0", "never")
        client(job, join, program, "client", "1", moment if moment in OF_CLIENTS else "never")

    job, outcome = serve(setting, program, options, 2, of_server, commands)
    total = sum(expected(number, CLIENTS, SERVERS) for number in range(2))
    problem = None
    for number, one in enumerate(job.clients):
        wanted = f"client {number}: {expected(number, SERVERS, CLIENTS)}\n"
        if (one.code, one.out) != (0, wanted):
            problem = problem or f"client {number}: code {one.code}, {one.out!r}: {problem_of(one)}"
    if problem is None and (outcome.code, outcome.out) != (0, f"served 2: {total}\n"):
        problem = f"server: code {outcome.code}, {outcome.out!r}: {problem_of(outcome)}"
    if problem is None and moment != "never" and "killed by signal 9" not in outcome.err:
        problem = f"nothing was killed: {outcome.output_tail()}"
    if problem is None and len(job.clients) != 2:
        problem = f"the server was never ready: {outcome.output_tail()}"
    name = f"joins: killed when {moment} {' '.join(options)}"
    setting.results.check(name, problem, f"{outcome.seconds:.1f} s")


def failures(setting: Setting, program: Path, options: list[str]) -> None:
    """Clients that fail give their exit code to their own command. The server goes on."""
    failing = [*FAILURES, *([("crash", 139, "signal 11")] if options is NONE else [])]

    def commands(job: Job, join: list) -> None:
        for what, _, _ in failing:
            client(job, join, program, what)
        client(job, join, program, "client", "0", "never")

    job, outcome = serve(setting, program, options, 1, "never", commands)
    problem = None
    for (what, code, text), one in zip(failing, job.clients):
        if one.code in (0, None) or (code is not None and one.code != code) or text not in one.err:
            problem = problem or f"{what}: code {one.code}: {problem_of(one)}"
    if problem is None and (outcome.code, len(job.clients)) != (0, len(failing) + 1):
        problem = f"server: code {outcome.code}: {problem_of(outcome)}"
    if problem is None and job.clients[-1].code != 0:
        problem = f"client: code {job.clients[-1].code}: {problem_of(job.clients[-1])}"
    setting.results.check(f"joins: clients that fail {' '.join(options)}", problem, f"{outcome.seconds:.1f} s")


def ended_by_its_user(setting: Setting, program: Path) -> None:
    """SIGINT at a command ends its processes, and the server goes on; so does SIGKILL for none of them."""

    def commands(job: Job, join: list) -> None:
        with open(job.folder / "waits", "w") as out:
            waiting = subprocess.Popen([*map(str, join), "-n", "2", str(program), "wait", str(job.folder)], stdout=out,
                                       cwd=job.folder, start_new_session=True)
        until = time.monotonic() + 60
        while (job.folder / "waits").read_text().count("waits") < 2 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(waiting.pid, signal.SIGINT)
        try:
            code = waiting.wait(timeout=60)
        except subprocess.TimeoutExpired:
            kill([waiting.pid])
            code = waiting.wait()
        job.clients.append(Outcome(code, (job.folder / "waits").read_text(), "", 0.0))
        client(job, join, program, "client", "0", "never")

    job, outcome = serve(setting, program, DEFAULT, 1, "never", commands)
    codes = [one.code for one in job.clients]
    problem = None
    if codes != [130, 0] or outcome.code != 0:
        problem = f"codes {codes}, server {outcome.code}: {problem_of(outcome)}"
    setting.results.check("joins: ended by its user", problem, f"{outcome.seconds:.1f} s")


def refused(setting: Setting, program: Path) -> None:
    """What cannot work is refused in one line, and the server goes on."""
    tries = [
        (["-n", "1", "-hosts", "nowhere"], "is no host of this job"),
        (["-n", "1", "--protocol", "none"], "--protocol is for a job of its own"),
    ]

    def commands(job: Job, join: list) -> None:
        for words, _ in tries:
            job.clients.append(run([*join, *words, program, "client", job.folder, "0"], timeout=60, cwd=job.folder))
        client(job, join, program, "client", "0", "never")

    job, outcome = serve(setting, program, NONE, 1, "never", commands)
    problem = None if outcome.code == 0 and len(job.clients) == 3 else f"server: {problem_of(outcome)}"
    for (_, text), one in zip(tries, job.clients):
        if one.code in (0, None) or text not in one.err or len(one.err.splitlines()) != 1:
            problem = problem or f"code {one.code}, without {text!r}: {one.err!r}"
    setting.results.check("joins: refused words", problem, f"{outcome.seconds:.1f} s")
    for protocol in ("causal", "channel-memory"):
        # The server's first call of a port is refused there, too: any program serves.
        folder, seen = setting.new_folder("joins"), []

        def meanwhile(process: subprocess.Popen) -> None:
            if not seen and (folder / "waits").exists() and "waits" in (folder / "waits").read_text():
                join = [setting.dist / "bin" / "ftmpiexec", "--join", str(process.pid), "-n", "1"]
                seen.append(run([*join, program, "late", folder], timeout=60))
                os.kill(process.pid, signal.SIGINT)

        run(["sh", "-c", 'exec "$@" > waits', "sh", setting.dist / "bin" / "ftmpiexec", "-n", "1", "--protocol",
             protocol, program, "wait", folder], timeout=60, cwd=folder, meanwhile=meanwhile)
        text = seen[0].err if seen else "it never ran"
        good = seen and seen[0].code == 1 and protocol in text and "--protocol coordinated" in text
        setting.results.check(f"joins: refused under {protocol}", None if good else text, "")

"""Tests `ftmpi-ctl`: the status of a running job, ranks that move while a program runs, hosts that are emptied and that
join, health, stalls, hostile requests. A program whose ranks moved must have its result, and no failure."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import build, reports
from .core import TESTS, Setting, problem_of, run
from .jobs import RANKS, TOO_SOON, Job, Jobs, retry_with_more_work

# Two ranks on each of two hosts, and a third host without ranks; all are this machine.
HOSTS = ["-launcher", "fork", "-hosts", "a:2,b:2,c:2"]

# Protocols of `make check`, and the others.
SHORT = [["pessimistic"], ["coordinated"]]
LONG = [["causal"], ["causal", "--event-logger", "off"], ["optimistic"], ["channel-memory"],
        ["coordinated", "--wave", "nonblocking"], ["hierarchical", "--cluster", "2"],
        ["hierarchical", "--cluster", "2", "--between", "causal"]]


@dataclass
class Control:
    """Calls `ftmpi-ctl` for the job of one launcher."""

    tool: Path
    launcher: int
    problems: list[str] = field(default_factory=list)

    def call(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess:
        command = [str(self.tool), str(self.launcher), *words]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no answer within {timeout} s")

    def expect(self, *words: str, code: int = 0, text: str = "") -> str:
        """Calls, and notes a problem if the answer is another one."""
        made = self.call(*words)
        if made.returncode != code or text not in made.stdout + made.stderr:
            said = (made.stdout + made.stderr).strip()[-300:]
            self.problems.append(f"ftmpi-ctl {' '.join(words)}: code {made.returncode}, `{said}`, expected {code} "
                                 f"and `{text}`")
        return made.stdout + made.stderr

    def status(self) -> dict | None:
        made = self.call("status", "--json", timeout=20)
        try:
            return json.loads(made.stdout)
        except ValueError:
            return None


class Driver:
    """Waits until all ranks of a job run, and then takes the steps once."""

    def __init__(self, setting: Setting, steps):
        self.tool, self.steps = setting.dist / "bin" / "ftmpi-ctl", steps
        self.done = False
        self.control: Control | None = None

    def __call__(self, process) -> None:
        if self.done:
            return
        control = Control(self.tool, process.pid)
        status = control.status()
        running = ("computing", "waiting", "blocked")
        if not status or len(status["ranks"]) == 0 or any(r["state"] not in running for r in status["ranks"]):
            return
        self.done, self.control = True, control
        self.steps(control, status)

    def problem(self) -> str | None:
        if self.control is None:
            return f"{TOO_SOON}: the ranks never ran all at once"
        return self.control.problems[0] if self.control.problems else None


def on_host(status: dict | None, rank: int) -> str:
    return status["ranks"][rank]["host"] if status else "?"


def status_problem(status: dict, protocol: str) -> str | None:
    """Whether a status has what viewers rely on."""
    if status["version"] != 1 or status["job"]["protocol"] != protocol.split()[0]:
        return f"status of another job: {status['job']}"
    if [host["name"] for host in status["hosts"]] != ["a", "b", "c"]:
        return f"hosts: {status['hosts']}"
    if [host["ranks"] for host in status["hosts"]] != [[0, 1], [2, 3], []]:
        return f"ranks of hosts: {status['hosts']}"
    for rank in status["ranks"]:
        if not rank["pid"] or not os.path.exists(f"/proc/{rank['pid']}"):
            return f"rank without a process: {rank}"
    if not all(server["up"] for server in status["servers"]) or not status["servers"]:
        return f"servers: {status['servers']}"
    return None


def moves(control: Control, status: dict) -> None:
    """The steps of a job whose ranks move."""
    problem = status_problem(status, status["job"]["protocol"])
    if problem:
        control.problems.append(problem)
    control.expect("migrate", "rank=3", "to=c", text="rank 3 has moved from b to c")
    if on_host(control.status(), 3) != "c":
        control.problems.append("rank 3 is not on c")
    control.expect("migrate", "rank=3", "to=c", code=1, text="is on c already")
    control.expect("migrate", "rank=3", "to=x", code=1, text="ftmpi-ctl add x")
    control.expect("migrate", "rank=9", "to=c", code=1, text="no rank 9")
    control.expect("drain", "a", text="no rank is left on a")
    after = control.status()
    if after is None or after["hosts"][0]["ranks"] or not after["hosts"][0]["drained"]:
        control.problems.append(f"a is not empty: {after and after['hosts']}")
    control.expect("migrate", "rank=3", "to=a", code=1, text="ftmpi-ctl undrain a")
    control.expect("add", "d:2", text="d has joined")
    control.expect("health", "b", "bad", "--why", "ECC errors", text="is being emptied")
    control.expect("undrain", "a", text="a takes ranks")


def move_problem(file: Path, code: int | None) -> str | None:
    report, unread = reports.read(file)
    if report is None:
        return unread
    moved = report["migrations"]
    if report["failures"] or report["exit_code"] != code:
        return f"a migration counts as a failure: {report['failures']}"
    if [m["rank"] for m in moved[:3]] != [3, 0, 1] or any(m["outcome"] != "done" for m in moved[:3]):
        return f"migrations of the report: {moved}"
    if any(m["total_ms"] is None or m["image_ms"] > m["total_ms"] for m in moved[:3]):
        return f"times of migrations: {moved}"
    if report["hosts"] != ["a", "b", "c", "d"]:
        return f"hosts of the report: {report['hosts']}"
    return None


def moving(setting: Setting, protocol: list[str], program: str) -> None:
    """A rank moves, a host is emptied, a host joins, a host falls ill; the program has its result."""
    test = f"ranks move while {program} runs, {' '.join(protocol)}"
    job, why = Jobs(setting, 6).make(program, setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return

    def attempt(factor: int, job: Job = job) -> tuple[str | None, str]:
        where = setting.new_folder("moving")
        driver, file = Driver(setting, moves), where / "report.json"
        options = [*HOSTS, "--protocol", *protocol, "--ckpt-interval", "1h", "--report", file]
        outcome = run([*setting.mpiexec(RANKS, *options), *job.command(factor)], timeout=setting.timeout, cwd=where,
                      meanwhile=driver)
        problem = problem_of(outcome, expected_text=job.expected_text) or driver.problem()
        if problem and "ended before that was done" in problem:
            problem = f"{TOO_SOON}: {problem}"
        problem = problem or move_problem(file, outcome.code)
        if problem is None and "rank 3 has moved from b to c" not in outcome.err:
            problem = f"the job itself says nothing: {outcome.output_tail()}"
        return problem, f"{outcome.seconds:.1f} s"

    setting.results.check(test, *retry_with_more_work(attempt))


def stalled(setting: Setting, program: Path, label: str, words: list[str], steps, *texts: str) -> None:
    """A program that does not go on: the launcher says so, and `ftmpi-ctl end` or a signal ends it."""
    where = setting.new_folder("stall")
    driver = Driver(setting, steps)
    options = [*HOSTS, "--stall", "1s", "--ckpt-interval", "1h"]
    outcome = run([*setting.mpiexec(RANKS, *options), program, *words], timeout=60, cwd=where, meanwhile=driver)
    problem = f"hang; {outcome.output_tail()}" if outcome.code is None else driver.problem()
    for text in texts:
        if problem is None and text not in outcome.err:
            problem = f"`{text}` is not said: {outcome.err[-600:]}"
    setting.results.check(f"a stall is told: {label}", problem, f"{outcome.seconds:.1f} s")


def wait_for(control: Control, text: str, seconds: float = 15) -> None:
    """Waits until `ftmpi-ctl waits` says this."""
    until = time.monotonic() + seconds
    while True:
        made = control.call("waits", timeout=20)
        if text in made.stdout:
            return
        if time.monotonic() > until:
            control.problems.append(f"waits never says `{text}`: {made.stdout}{made.stderr}")
            return
        time.sleep(0.2)


def circle(control: Control, status: dict) -> None:
    wait_for(control, "deadlock: ranks 0-3 wait for each other")
    wait_for(control, "rank 2 on b waits for rank 3 in MPI_Recv (tag 42)")
    time.sleep(2.5)
    control.expect("end", text="ftmpiexec --restart")


def stop_one(control: Control, status: dict) -> None:
    victim = status["ranks"][1]["pid"]
    os.kill(victim, signal.SIGSTOP)
    wait_for(control, "rank 1 on a is stopped")
    time.sleep(2.5)
    os.kill(victim, signal.SIGCONT)


STOPPED = '[[rule]]\ndetectors = [ { name = "stall", after = "2s", recovery = "%s" } ]\n'


def stopped_for_good(setting: Setting, program: Path, protocol: str, recovery: str, *texts: str) -> None:
    """Somebody stops a rank, and nobody lets it go on: the recovery file has it begin again."""
    where = setting.new_folder("stopped")
    (where / "recovery.toml").write_text(STOPPED % recovery)
    file = where / "report.json"
    driver = Driver(setting, lambda control, status: os.kill(status["ranks"][1]["pid"], signal.SIGSTOP))
    options = [*HOSTS, "--protocol", protocol, "--stall", "0", "--ckpt-interval", "500ms", "--report", file,
               "--recovery", where / "recovery.toml"]
    outcome = run([*setting.mpiexec(RANKS, *options), program, "rings", "5"], timeout=60, cwd=where, meanwhile=driver)
    code = 75 if recovery == "give-up" else 0
    told = "rollback" if protocol == "coordinated" else recovery
    problem = problem_of(outcome, code=code) or driver.problem()
    for text in texts:
        if problem is None and text not in outcome.err:
            problem = f"`{text}` is not said: {outcome.err[-600:]}"
    report, unread = reports.read(file)
    failures = report["failures"] if report else []
    named = {(failure["detector"], failure["recovery"]) for failure in failures if failure["rank"] == 1}
    if problem is None and (report is None or (code == 0 and named != {("stall", told)})):
        problem = unread or f"the report has {failures}"
    setting.results.check(f"a stopped rank, {protocol}: {recovery}", problem, f"{outcome.seconds:.1f} s")


def stalls(setting: Setting, full: bool) -> None:
    program, made = build.build(setting, TESTS / "programs" / "stalls.c")
    if program is None:
        setting.results.bad("stalls", made.output_tail())
        return
    deadlock = ["deadlock: rank 0 on a waits for rank 1 in MPI_Recv (tag 40) for", "a fault of the program"]
    stalled(setting, program, "a deadlock", ["circle"], circle, *deadlock)
    stalled(setting, program, "a stopped rank", ["rings", "6"], stop_one, "rank 1 on a is stopped", "kill -CONT",
            "rank 1 goes on")
    stopped_for_good(setting, program, "pessimistic", "restart", "rank 1 on a: it has been stopped (SIGSTOP) for",
                     "[stall: restart]", "rank 1 is back")
    if full:
        stopped_for_good(setting, program, "coordinated", "restart", "rank 1 on a: it has been stopped", "all ranks return")
        stopped_for_good(setting, program, "causal", "migrate", "it moves to c [stall: migrate]")
        stopped_for_good(setting, program, "pessimistic", "give-up", "the job is given up [stall: give-up]", "--restart")
        stalled(setting, program, "a rank that computes", ["busy", "5"], lambda control, status: None,
                "rank 1 on a computes", "in MPI_Allreduce since", "rank 1 goes on")
        stalled(setting, program, "a wait for any rank", ["any", "5"], lambda control, status: None,
                "rank 0 on a waits for any rank in MPI_Recv (tag 3)")


def connected(directory: Path) -> socket.socket:
    """A connection to a launcher."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    folder = os.open(directory, os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{folder}/control")
    finally:
        os.close(folder)
    return connection


def raw(directory: Path, line: bytes) -> str:
    """The answer of a launcher to these bytes."""
    with connected(directory) as connection:
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile().read()


def another_user(control: Control, directory: Path) -> None:
    """Who is not the job's user gets no answer, also where the files would let that user in."""
    python = Path("/usr/bin/python3")
    nobody = subprocess.run(["id", "nobody"], capture_output=True).returncode == 0
    if os.geteuid() != 0 or not nobody or not python.exists():
        return
    modes = {path: path.stat().st_mode for path in (directory, directory / "control")}
    for path in modes:
        path.chmod(0o777)
    ask = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1]); "
           "s.sendall(b'{\"version\":1,\"verb\":\"status\"}\\n'); print(s.makefile().read())")
    # The path has a limit, and folders above may be closed to others.
    folder = os.open(directory, os.O_RDONLY)
    try:
        made = subprocess.run(
            ["setpriv", "--reuid=nobody", "--clear-groups", python, "-c", ask, f"/proc/self/fd/{folder}/control"],
            capture_output=True, text=True, timeout=20, pass_fds=(folder,))
    finally:
        os.close(folder)
        for path, mode in modes.items():
            path.chmod(mode)
    reached = made.returncode == 0 or "reset" in made.stderr.lower() or "BrokenPipe" in made.stderr
    if not reached or "ranks" in made.stdout:
        control.problems.append(f"another user: {made.stdout[:200]}{made.stderr[-200:]}")


def hostile(control: Control, status: dict) -> None:
    """Bytes that are no request cost nothing; other users are not answered."""
    directory = Path(status["job"]["directory"])
    for line, wanted in ((b"{\n", "refused"), (b"[" * 4000 + b"\n", "refused"), (b"\x00\xff\n", ""),
                         (b'{"version":9,"verb":"status"}\n', "version 1"),
                         (b'{"version":1,"verb":{"drain":{"host":"b","x":1}}}\n', "refused"),
                         (b'{"version":1,"verb":{"add":{"host":"-oProxyCommand=x"}}}\n', "refused")):
        try:
            answer = raw(directory, line)
        except OSError as error:
            answer = f"{error}"
        if wanted not in answer or (wanted == "" and answer not in ("", "refused")):
            control.problems.append(f"{line[:40]!r} is answered with `{answer[:200]}`")
    control.expect("status", text="RANK")
    # Connections that ask nothing take no place for good.
    idle = [connected(directory) for _ in range(70)]
    control.expect("status", text="RANK")
    for connection in idle:
        connection.close()
    another_user(control, directory)
    control.expect("status", text="RANK")
    listed = subprocess.run([str(control.tool), "list"], capture_output=True, text=True, timeout=30)
    if str(control.launcher) not in listed.stdout:
        control.problems.append(f"the job is not listed: {listed.stdout}{listed.stderr}")
    control.expect("image", text="rank 3: image 1")


def refused(control: Control, status: dict) -> None:
    """A job without fault tolerance has a status, and moves nothing."""
    if status["job"]["directory"] is not None:
        control.problems.append(f"a directory under none: {status['job']}")
    control.expect("migrate", "rank=0", "to=c", code=1, text="has no images")
    control.expect("drain", "a", code=1, text="has no images")
    control.expect("add", "d", code=1, text="has no use for more hosts")
    control.expect("image", code=1, text="takes no images")
    control.expect("end", code=1, text="nothing to go on from")
    control.expect("health", "a", "bad", text="keeps its ranks")


def single_runs(setting: Setting) -> None:
    program, made = build.build(setting, TESTS / "programs" / "stalls.c")
    if program is None:
        setting.results.bad("ftmpi-ctl", made.output_tail())
        return
    for label, steps, options in (("hostile requests and images", hostile, []),
                                  ("--protocol none", refused, ["--protocol", "none"])):
        where = setting.new_folder("control")
        driver = Driver(setting, steps)
        outcome = run([*setting.mpiexec(RANKS, *HOSTS, *options), program, "rings", "4"], timeout=60, cwd=where,
                      meanwhile=driver)
        problem = problem_of(outcome, expected_text="stalls: ok") or driver.problem()
        setting.results.check(f"ftmpi-ctl: {label}", problem, f"{outcome.seconds:.1f} s")
    health(setting, program)
    tool = setting.dist / "bin" / "ftmpi-ctl"
    for words, text in ((["4194304", "status"], "ftmpi-ctl list"), ([str(setting.work), "status"], "is not the directory of a job"),
                        (["migrate", "3", "b"], "rank=3 to=node7"), (["statsu"], "status")):
        made_call = subprocess.run([str(tool), *words], capture_output=True, text=True, timeout=30)
        good = made_call.returncode == 2 and text in made_call.stderr and "panicked" not in made_call.stderr
        setting.results.check(f"ftmpi-ctl {' '.join(words[:2])} is answered with the next step",
                              None if good else f"code {made_call.returncode}: {made_call.stderr}")


def health(setting: Setting, program: Path) -> None:
    """A health command that fails on one host empties that host."""
    where = setting.new_folder("health")
    flag = where / "ill"
    command = f"test \"$FTMPI_HEALTH_HOST\" != b || test ! -e {flag} || (echo 'fan 2 stands'; exit 1)"
    options = ["--health-command", command, "--health-interval", "200ms", "--ckpt-interval", "1h"]

    def steps(control: Control, status: dict) -> None:
        flag.write_text("")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            after = control.status()
            if after and after["hosts"][1]["health"] == "bad" and not after["hosts"][1]["ranks"]:
                break
            time.sleep(0.1)
        else:
            control.problems.append(f"b is never bad and empty: {after and after['hosts']}")

    driver = Driver(setting, steps)
    outcome = run([*setting.mpiexec(RANKS, *HOSTS, *options), program, "rings", "4"], timeout=60, cwd=where,
                  meanwhile=driver)
    problem = problem_of(outcome, expected_text="stalls: ok") or driver.problem()
    if problem is None and "host b: its health is bad (fan 2 stands)" not in outcome.err:
        problem = f"the reason is not said: {outcome.err[-400:]}"
    setting.results.check("a health command that fails empties its host", problem, f"{outcome.seconds:.1f} s")


def control(setting: Setting, short: bool = False) -> None:
    """`short`: what fits into `make check`."""
    for protocol, program in zip(SHORT if short else SHORT + LONG, ["waitany", "traffic", "collectives"] * 4):
        moving(setting, protocol, program)
    stalls(setting, not short)
    single_runs(setting)

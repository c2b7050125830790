"""Tests standbys: they take the place of ranks that die, on one host and on several, and whatever is killed when, the
job ends with the right output.

The scripts wait for what `ftmpi-ctl status` says, never for a time. Hosts are virtual: all are this machine."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable, Generator
from pathlib import Path

from . import build, reports
from .control import Control
from .core import TESTS, Setting, descendants, kill, problem_of, run
from .jobs import RANKS, TCP, Jobs, judge_with_faults, program_pids

HOSTS = ["-launcher", "fork", "-hosts", "a:2,b:2,c:4"]
# Images come when the script asks for them.
OPTIONS = ["--protocol", "pessimistic", "--standby", "all", "--ckpt-interval", "1h"]
REPLICATED = ["--protocol", "replicated", "-launcher", "fork", "-hosts", "a:2,b:2,c:2"]
TAKES = "takes its place, with image "
# The descriptor of the image that a process reads (`fds::IMAGE`): a standby has it open until it goes on.
IMAGE = 1002
LIVES = ("computing", "waiting", "blocked")


def is_standby(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}/fd/{IMAGE}")


def rank_of(pid: int) -> int | None:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return None
    found = re.search(r"\brank=(\d+),incarnation=", environment)
    return int(found[1]) if found else None


def is_ready(rank: dict) -> bool:
    return rank["state"] in LIVES and bool(rank["standby"]) and rank["standby"]["ready"]


Steps = Generator[None, None, None]


class Script:
    """The steps of a test beside its job. The last of them makes the file that ends the program."""

    def __init__(self, setting: Setting, where: Path, steps: Callable[[Script], Steps]):
        self.tool, self.done = setting.dist / "bin" / "ftmpi-ctl", where / "done"
        self.steps, self.running = steps, None
        self.over, self.waits_for = False, "the start"
        self.control: Control | None = None
        self.last: dict | None = None

    def __call__(self, process) -> None:
        if self.over:
            return
        if self.running is None:
            self.control, self.running = Control(self.tool, process.pid), self.steps(self)
        try:
            next(self.running)
        except StopIteration:
            self.done.touch()
            self.over = True

    def until(self, what: str, wanted: Callable[[dict], bool]) -> Generator[None, None, dict]:
        """Waits for a status of the job."""
        while True:
            self.waits_for = what
            status = self.control.status()
            if status and status["ranks"] and wanted(status):
                return status
            self.last = status
            yield

    def run_all(self) -> Generator[None, None, dict]:
        return self.until("running ranks", lambda status: all(rank["state"] in LIVES for rank in status["ranks"]))

    def all_ready(self, failures: int) -> Generator[None, None, dict]:
        """Waits until all ranks run and have standbys that are ready, after so many failures at least: a rank may fail
        twice when it goes on in a process that is being killed."""
        return self.until(f"standbys after {failures} failures",
                          lambda s: len(s["faults"]) >= failures and all(map(is_ready, s["ranks"])))

    def take_images(self) -> None:
        self.control.expect("image")

    def standbys(self, rank: int | None = None) -> list[int]:
        return [pid for pid in descendants(self.control.launcher)
                if is_standby(pid) and rank_of(pid) is not None and rank in (None, rank_of(pid))]

    def problem(self) -> str | None:
        if self.control and self.control.problems:
            return self.control.problems[0]
        return None if self.over else f"the script waited for {self.waits_for}; {self.seen()}"

    def seen(self) -> str:
        """The last status, in short."""
        if not self.last:
            return "no status"
        ranks = [f"{rank['rank']} on {rank['host']} {rank['state']}, standby {rank['standby']}" for rank in self.last["ranks"]]
        return f"{len(self.last['faults'])} failures, {'; '.join(ranks)}"


def output_problem(out: str) -> str | None:
    """Whether every rank has said each tenth step once and in order."""
    for rank in range(RANKS):
        said = [int(step) for step in re.findall(rf"^rank {rank} at step (\d+)$", out, re.MULTILINE)]
        if said != list(range(0, 10 * len(said), 10)) or f"rank {rank} is right\n" not in out:
            return f"rank {rank} said {said}"
    return None


def are_as(found: list[str], wanted: list) -> bool:
    """Whether these recoveries are those; `...` stands for any."""
    if ... in wanted:
        begin, end = wanted[:wanted.index(...)], wanted[wanted.index(...) + 1:]
        return len(found) >= len(begin) + len(end) and are_as(found[:len(begin)], begin) and are_as(found[len(found) - len(end):], end)
    return len(found) == len(wanted) and all(one in these for one, these in zip(found, wanted))


def scripted(setting: Setting, test: str, steps: Callable[[Script], Steps], recoveries: list,
             arguments: list[str] | None = None, texts: tuple[str, ...] = (), options: list[str] | None = None) -> None:
    """Runs a job beside its script. `recoveries`: what the report may say about each failure."""
    program, made = build.build(setting, TESTS / "programs" / "until.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        return
    where = setting.new_folder("standbys")
    script, report = Script(setting, where, steps), where / "report.json"
    command = setting.mpiexec(RANKS, *(options or [*HOSTS, *OPTIONS]), "--report", report)
    outcome = run([*command, program, script.done, *(arguments or [])], timeout=setting.timeout, cwd=where, meanwhile=script)
    problem = script.problem() or problem_of(outcome) or output_problem(outcome.out)
    if problem and not script.over:
        problem += f": {outcome.output_tail()}"
    said = reports.read(report)[0] or {}
    failures = said.get("failures", [])
    if problem is None and "replicated" in command and said.get("protocol") != "replicated":
        problem = f"the report says protocol {said.get('protocol')}"
    found = [failure["recovery"] for failure in failures]
    if problem is None and not are_as(found, recoveries):
        problem = f"recoveries {found}: {outcome.output_tail()}"
    for text in texts:
        if problem is None and text not in outcome.err:
            problem = f"`{text}` is not said: {outcome.output_tail()}"
    came_back = ", ".join(f"{failure['recovery']} {failure['restore_ms']} ms" for failure in failures)
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s; {came_back}")


def again_and_again(script: Script) -> Steps:
    """Promotion, promotion right after another, leader and standby at once, a standby, all standbys of a host."""
    yield from script.run_all()
    script.take_images()
    status = yield from script.all_ready(0)
    first = status["ranks"][1]["pid"]
    kill([first])
    # The process that takes its place is killed as soon as it has gone on; where is its standby then?
    status = yield from script.until("a promoted rank", lambda s: s["ranks"][1]["pid"] not in (None, first))
    kill([status["ranks"][1]["pid"]])
    status = yield from script.all_ready(2)
    kill([status["ranks"][2]["pid"], *script.standbys(2)])
    status = yield from script.all_ready(3)
    failures = len(status["faults"])
    before = set(script.standbys())
    kill(script.standbys(3))
    yield from script.until("another standby", lambda s: all(map(is_ready, s["ranks"])) and set(script.standbys(3)) - before)
    # The host of most standbys is lost; they are made again.
    status = yield from script.all_ready(failures)
    host = next(host for host in status["hosts"] if host["name"] == status["ranks"][0]["standby"]["host"])
    here = [rank["rank"] for rank in status["ranks"] if rank["host"] == host["name"]]
    gone = set(script.standbys(0))
    kill([host["agent_pid"]])
    status = yield from script.until("standbys after the loss of a host", lambda s: (
        len(s["faults"]) >= failures + len(here) and all(map(is_ready, s["ranks"])) and not gone & set(script.standbys(0))))
    kill([status["ranks"][0]["pid"]])
    yield from script.all_ready(len(status["faults"]) + 1)


def in_short(script: Script) -> Steps:
    """Promotion; leader and standby at once. The standbys are on the free host."""
    yield from script.run_all()
    script.take_images()
    status = yield from script.all_ready(0)
    if any(rank["standby"]["host"] != "c" for rank in status["ranks"]):
        script.control.problems.append(f"standbys are not on the free host: {status['ranks']}")
    kill([status["ranks"][1]["pid"], status["ranks"][2]["pid"], *script.standbys(2)])
    yield from script.all_ready(2)


def while_it_reads(script: Script) -> Steps:
    """A standby is killed while it reads its image; the next one is used."""
    yield from script.run_all()
    script.take_images()
    until = time.monotonic() + 5
    while not (found := script.standbys(1)) and time.monotonic() < until:
        yield
    kill(found)
    status = yield from script.all_ready(0)
    kill([status["ranks"][1]["pid"]])
    yield from script.all_ready(1)


def while_the_standby_reads(script: Script) -> Steps:
    """Ranks die while their standbys read: whatever is used, the output is right."""
    yield from script.run_all()
    script.take_images()
    until = time.monotonic() + 5
    while not script.standbys(1) and time.monotonic() < until:
        yield
    status = script.control.status()
    kill([status["ranks"][1]["pid"], status["ranks"][2]["pid"]])
    yield from script.all_ready(2)


def without_a_standby(script: Script) -> Steps:
    yield from script.run_all()
    script.take_images()
    status = yield from script.until("the end of standbys", lambda s: not any(rank["standby"] for rank in s["ranks"]))
    kill([status["ranks"][1]["pid"]])
    yield from script.until("its return", lambda s: len(s["faults"]) == 1 and s["faults"][0]["back_s"] is not None
                            and all(rank["state"] in LIVES for rank in s["ranks"]))


def all_at_once(script: Script) -> Steps:
    yield from script.run_all()
    script.take_images()
    status = yield from script.all_ready(0)
    kill([rank["pid"] for rank in status["ranks"]])
    yield from script.all_ready(RANKS)


def three_hosts(script: Script) -> Steps:
    """Three of four hosts are lost for ever, one after the other. Where the standbys have been made again by then, the
    ranks go on in them."""
    yield from script.run_all()
    script.take_images()
    left = "abcd"
    while len(left) > 1:
        left = left[1:]
        yield from script.until(f"ranks and standbys on {left}", lambda s: all(
            is_ready(rank) and rank["host"] in left and rank["standby"]["host"] in left for rank in s["ranks"]))


def one_by_one(script: Script) -> Steps:
    """Each rank dies, after an image of all of them."""
    yield from script.run_all()
    script.take_images()
    for rank in range(RANKS):
        status = yield from script.all_ready(rank)
        kill([status["ranks"][rank]["pid"]])
    yield from script.all_ready(RANKS)


def one_after_the_other(script: Script) -> Steps:
    """Three ranks die. Images come by themselves, so a standby may have begun to
    read the next one when its rank dies: it is awaited."""
    yield from script.run_all()
    for rank in range(3):
        status = yield from script.all_ready(rank)
        kill([status["ranks"][rank]["pid"]])
    yield from script.all_ready(3)


def in_the_middle_of_reading(script: Script) -> Steps:
    """Each rank in turn dies while its standby reads an image that takes long to read."""
    yield from script.run_all()
    for rank in range(RANKS):
        yield from script.all_ready(rank)
        status = yield from script.until("a standby that reads", lambda s: s["ranks"][rank]["state"] in LIVES and (
            s["ranks"][rank]["standby"] and not s["ranks"][rank]["standby"]["ready"]))
        kill([status["ranks"][rank]["pid"]])
    yield from script.all_ready(RANKS)


def continued(setting: Setting, options: list[str]) -> None:
    """The launcher dies, `--restart` goes on, and a rank of the continued job dies: its standby is made again."""
    test = f"standbys: after --restart {' '.join(options[:2])}"
    program, made = build.build(setting, TESTS / "programs" / "until.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        return
    where = setting.new_folder("standbys")

    def first_steps(script: Script) -> Steps:
        yield from script.run_all()
        script.take_images()
        yield from script.all_ready(0)
        kill([script.control.launcher])
        yield from script.until("its end", lambda status: False)

    def second_steps(script: Script) -> Steps:
        status = yield from script.until("standbys after --restart", lambda s: all(map(is_ready, s["ranks"])))
        kill([status["ranks"][1]["pid"]])
        yield from script.until("another standby", lambda s: (
            all(map(is_ready, s["ranks"])) and s["ranks"][1]["pid"] != status["ranks"][1]["pid"]))

    first, second = Script(setting, where, first_steps), Script(setting, where, second_steps)
    command = [*setting.mpiexec(RANKS, *options), "--job-dir", where / "job", program, first.done]
    early = run(command, timeout=setting.timeout, cwd=where, meanwhile=first)
    problem = None if early.code == -signal.SIGKILL else f"the launcher was to be killed: {early.output_tail()}"
    if problem is None:
        command = [setting.launcher, "--restart", where / "job"]
        late = run(command, timeout=setting.timeout, cwd=where, meanwhile=second)
        problem = second.problem() or problem_of(late)
        if problem is None and (late.out.count("is right") != RANKS or TAKES not in late.err):
            problem = late.output_tail()
    setting.results.check(test, problem)


class Killer:
    """Kills leaders, standbys, both at once, or a leader and soon after it the process that takes its place."""

    def __init__(self, program: Path, seed: int, kinds: list[str], count: int, every: float = 1.0):
        self.program, self.random = program, random.Random(seed)
        self.kinds, self.left, self.every = kinds, count, every
        self.next = time.monotonic() + every

    def __call__(self, process) -> None:
        if self.left <= 0 or time.monotonic() < self.next:
            return
        pids = program_pids(process.pid, self.program)
        standbys = [pid for pid in pids if is_standby(pid)]
        leaders = [pid for pid in pids if pid not in standbys]
        if len(leaders) < RANKS or not standbys:
            return
        kind = self.random.choice(self.kinds)
        if kind == "standby":
            kill([self.random.choice(standbys)])
        elif kind == "both":
            kill([self.random.choice(leaders), *standbys])
        elif kind == "all":
            kill(leaders)
        else:
            kill([self.random.choice(leaders)])
        if kind == "again":
            # The process that has just gone on, or is about to.
            time.sleep(self.random.uniform(0, 0.04))
            kill([pid for pid in standbys if not is_standby(pid)] or [self.random.choice(standbys)])
        self.left -= kind != "standby"
        self.next = time.monotonic() + self.every * self.random.uniform(0.5, 1.5)


def random_kills(setting: Setting, runs: int, seconds: float) -> None:
    """Programs whose leaders and standbys are killed at random moments."""
    jobs = Jobs(setting, seconds)
    names = ["master_worker", "traffic", "waitany", "lines", "one_sided", "cg", "probe_loop", "shared_file"]
    kinds = [["leader"], ["leader", "standby", "both", "again"], ["again"], ["all", "standby", "leader"]]
    protocols = [["pessimistic"], ["replicated"], ["causal"], ["channel-memory"], ["optimistic"]]
    for number in range(runs):
        seed = setting.seed + number
        name, what, protocol = (some[number % len(some)] for some in (names, kinds, protocols))
        mode = TCP if number % 3 == 2 else []
        test = f"standbys: {name}, seed {seed}, {' '.join(protocol)}, killed: {' '.join(what)} {' '.join(mode)}"
        prepared = jobs.prepare(test, name, seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        said = []
        options = ["--protocol", *protocol, "--standby", "all", "--ckpt-interval", "400ms", *mode, "--report", file]

        def execute(arguments: list):
            killer = Killer(job.program, seed, what, 3)
            outcome = run([*setting.mpiexec(RANKS, *options), *arguments], timeout=max(setting.timeout, 10 * seconds),
                          cwd=where, meanwhile=killer)
            said.append(outcome.err)
            return outcome

        problem, note = judge_with_faults(job, file, 2, execute)
        promoted = said[-1].count(TAKES) if said else 0
        setting.results.check(test, problem, f"{note}, {promoted} promoted")


def refused(setting: Setting) -> None:
    file = setting.new_folder("standbys") / "recovery.toml"
    file.write_text('[[rule]]\ndetectors = [ { name = "process", recovery = "promote" } ]\n')
    for options, text in (
        (["--protocol", "coordinated", "--standby", "all"],
         "--standby has no effect under --protocol coordinated; drop it, or use it under pessimistic, replicated"),
        (["--protocol", "none", "--standby", "all"], "--standby has no effect under --protocol none"),
        (["--protocol", "pessimistic", "--standby", "0,4"], "--standby: there is no rank 4; the last one is 1"),
        (["--protocol", "pessimistic", "--standby", "some"], "--standby: `some` is not a list of ranks"),
        (["--protocol", "pessimistic", "--ckpt", "off", "--standby", "all"], "--standby is for images"),
        (["--protocol", "replicated", "--ckpt", "off"], "--protocol replicated is for images, and --ckpt off takes none"),
        (["--protocol", "pessimistic", "--recovery", file],
         "the recovery `promote` is for the detector process, and needs --standby"),
    ):
        outcome = run([*setting.mpiexec(2, *options), "true"], timeout=20)
        problem = None if outcome.code == 2 and text in outcome.err else outcome.output_tail()
        setting.results.check(f"standbys: {' '.join(map(str, options[:-1]))} … is refused", problem)


def told(setting: Setting) -> None:
    """What a user may not expect is said, and nothing of it where it does not hold."""
    only, ranks = "standbys are on the only host", "--standby names ranks: rank 1 has a standby"
    for options, says in ((["--protocol", "replicated"], [only]),
                          (["--protocol", "replicated", *HOSTS], []),
                          (["--standby", "1", *HOSTS], [ranks])):
        outcome = run([*setting.mpiexec(2, *options), "true"], timeout=20)
        problem = problem_of(outcome)
        if problem is None and [text for text in (only, ranks) if text in outcome.err] != says:
            problem = outcome.output_tail()
        setting.results.check(f"standbys: what {' '.join(options)} says", problem)


def standbys(setting: Setting, runs: int) -> None:
    """`runs`: runs with random kills; with none, only a part of the rest."""
    if not setting.dist_is_built():
        return
    promote, any_way = {"promote"}, {"promote", "restart", "migrate"}
    refused(setting)
    scripted(setting, "standbys: one takes its rank's place, one dies with its rank", in_short, [any_way, any_way, ...],
             texts=("rank 1 on a: killed by signal 9 (SIGKILL); its standby on c " + TAKES, "[process: promote]"))
    told(setting)
    scripted(setting, "replicated: three ranks die one after the other", one_after_the_other, [promote] * 3, options=REPLICATED)
    if runs == 0:
        return
    scripted(setting, "replicated: ranks die while their standbys read", in_the_middle_of_reading, [promote] * RANKS, ["60"],
             options=REPLICATED)
    scripted(setting, "standbys: again and again; a standby, both at once, a host with standbys", again_and_again,
             [promote, any_way, any_way, ..., promote])
    scripted(setting, "standbys: with a socket there is none, and the rank restarts", without_a_standby, [{"restart"}],
             ["0", "socket"], ("rank 1 has no standby any more: on c, the program has a socket",))
    one = [*OPTIONS, "-launcher", "fork"]
    scripted(setting, "standbys: all ranks of one host at once", all_at_once, [promote] * RANKS, options=one)
    scripted(setting, "standbys: one is killed while it reads", while_it_reads, [promote], ["60"])
    scripted(setting, "standbys: ranks die while theirs read", while_the_standby_reads, [any_way] * 2, ["60"])
    losses = [word for host, at in zip("abc", (10, 20, 30)) for word in ("--inject", f"host:{host},at={at}s,for=ever")]
    scripted(setting, "standbys: three of four hosts are lost", three_hosts, [any_way, ..., any_way],
             options=["-launcher", "fork", "-hosts", "a:2,b:2,c:4,d:4", "--detect", "3s", *OPTIONS, *losses])
    scripted(setting, "standbys: under the protocol that --standby chooses", one_by_one, [promote] * RANKS,
             options=["--standby", "all", "--ckpt-interval", "1h"])
    continued(setting, [*OPTIONS, *HOSTS])
    continued(setting, REPLICATED)
    random_kills(setting, runs, 3)

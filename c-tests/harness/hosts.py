"""What a network, or the loss of a host, does to a job: two hosts that do not reach each other, a server whose host is
gone, a launcher whose own link is down.

`virtual_hosts` needs one machine only: `--launcher fork -hosts a,b,c` and `--inject`. `hosts` makes five hosts of network
namespaces, with an sshd in each, and breaks their links. Root only."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import reports
from .core import Outcome, Setting, kill, problem_of, run, which
from .jobs import Job, Jobs, judge, rank_failures
from .netns import missing, pids_in

SUSPENDED = 75
CUT = "do not reach each other"
AWAY = "does not answer"
OWN_LINK = "the link of this host seems to be down"

# A host is lost after 6 s (--detect), a server is away after 7 s.
DETECTED_S = 8
# From the loss of a host until its ranks run elsewhere: by default, and with --detect 1s.
ELSEWHERE_S = {"6s": 8, "1s": 2}


def says(outcome: Outcome, *texts: str) -> str | None:
    """The problem that a text was not said."""
    for text in texts:
        if text not in outcome.err:
            return f"`{text}` is not said: {outcome.output_tail()}"
    return None


def moved(file: Path, ranks: list[int]) -> str | None:
    """The problem that other ranks than these got new processes."""
    report, unread = reports.read(file)
    if report is None:
        return unread
    anew = [rank for rank, incarnations in enumerate(report["pids"]) if len(incarnations) > 1]
    return None if anew == ranks else f"ranks {anew} began again, {ranks} should have"


# ---- one machine -----------------------------------------------------------------------------------------------------


def virtual_hosts(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 11)
    cut_of_two_hosts(setting, jobs, "pessimistic", [2, 3])
    if setting.full:
        cut_of_two_hosts(setting, jobs, "coordinated", [0, 1, 2, 3])
        cut_of_two_hosts(setting, jobs, "causal", [2, 3])
        cut_of_two_hosts(setting, jobs, "none", [])
    for what in LOST if setting.full else ["both servers"]:
        lost_server(setting, Jobs(setting, 4), what)
    if setting.full:
        behind_firewalls(setting, Jobs(setting, 4))
    faults_of_a_model(setting, Jobs(setting, 8))
    stopped_rank(setting, Jobs(setting, 4))


def cut_of_two_hosts(setting: Setting, jobs: Jobs, protocol: str, ranks: list[int]) -> None:
    """Ranks 2 and 3, on host b, do not reach ranks 0 and 1 on host a: they move to c, which reaches both."""
    test = f"virtual hosts: two of three do not reach each other under {protocol}"
    prepared = jobs.prepare(test, "waitany", setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    options: list[str | Path] = [
        "--protocol", protocol, "--launcher", "fork", "-hosts", "a:2,b:2,c:2", "--report", file,
        "--inject", "cut:a-b,at=1s",
    ]
    if protocol != "none":
        options += ["--ckpt-interval", "1s"]
    outcome = run([*setting.mpiexec(4, *options), job.program, *job.arguments], timeout=setting.timeout, cwd=where)
    if protocol == "none":
        # The injected cut takes the connections at once, which no log repairs.
        problem = problem_of(outcome, code=1) or says(outcome, "lost its connection to rank")
    else:
        problem = problem_of(outcome, expected_text=job.expected_text) or says(
            outcome, f"hosts a and b {CUT}", "ranks 2-3 move from b to c") or moved(file, ranks)
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


@dataclass
class Lost:
    """What a host has that is lost for good: its duties in the machine file, options, and the servers that are named."""

    duties: str
    servers: tuple[str, ...]
    options: tuple[str, ...] = ()

    def named(self) -> list[str]:
        return [f"the {server}" for server in self.servers]


LOST = {
    "both servers": Lost("event-logger checkpoint-server", ("event-logger", "checkpoint-server")),
    "the event logger": Lost("event-logger", ("event-logger",), ("--protocol", "pessimistic")),
    "the checkpoint server": Lost("checkpoint-server", ("checkpoint-server",)),
    "the channel memory": Lost("event-logger", ("channel-memory",), ("--protocol", "channel-memory")),
}


def lost_server(setting: Setting, jobs: Jobs, what: str) -> None:
    """The host of servers goes down for good: the job ends in time, and goes on when the host is back."""
    test, lost = f"virtual hosts: the host of {what} is lost", LOST[what]
    prepared = jobs.prepare(test, "waitany", setting.seed)
    if prepared is None:
        return
    job, where = prepared.job, prepared.where
    (where / "machines").write_text(f"a:2\nb:2\nstore:0 {lost.duties}\n")
    outcome = run(
        [*setting.mpiexec(4, *lost.options, "--launcher", "fork", "-f", "machines", "--job-dir", "job", "--ckpt-interval",
                          "500ms", "--storage-patience", "2s", "--inject", "host:store,at=2s"), job.program, *job.arguments],
        timeout=setting.timeout, cwd=where)
    problem = problem_of(outcome, code=SUSPENDED) or says(
        outcome, *(f"{server} {AWAY}" for server in lost.named()), "has not answered for 2 s", "--restart")
    if not setting.results.check(test, problem, f"{outcome.seconds:.1f} s"):
        return
    outcome = run([setting.launcher, "--restart", "job"], timeout=setting.timeout, cwd=where)
    setting.results.check(f"{test}, and the job goes on", problem_of(outcome, expected_text=job.expected_text))


def behind_firewalls(setting: Setting, jobs: Jobs) -> None:
    """Channel memories pass on all messages, so hosts that never reach each other are no fault. A rank dies, too."""
    test = "virtual hosts: two hosts never reach each other, under channel-memory"
    prepared = jobs.prepare(test, "waitany", setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    outcome = run(
        [*setting.mpiexec(4, "--protocol", "channel-memory", "--launcher", "fork", "-hosts", "a:2,b:2,c:2", "--report", file,
                          "--ckpt-interval", "500ms", "--inject", "cut:a-b,at=0s", "--inject", "kill:rank=3,at=2s"),
         job.program, *job.arguments], timeout=setting.timeout, cwd=where)
    setting.results.check(test, no_way_missed(outcome, job, file), f"{outcome.seconds:.1f} s")


def no_way_missed(outcome: Outcome, job: Job, file: Path) -> str | None:
    """The problem with a job that needs no way between its hosts, and in which rank 3 dies."""
    problem = problem_of(outcome, expected_text=job.expected_text) or moved(file, [3])
    return problem or (f"a way was missed: {outcome.output_tail()}" if CUT in outcome.err else None)


MODEL = """seed = 5
[[process]]
every = "5s"
hosts = ["a"]
count = 3
[[stop]]
every = "20s"
for = "300ms"
count = 2
[[host]]
every = "6s"
for = "2s"
hosts = ["b", "c"]
count = 1
[[cut]]
every = "12s"
for = "1s"
hosts = ["a", "b", "c"]
count = 1
"""


def faults_of_a_model(setting: Setting, jobs: Jobs) -> None:
    """Everything may fail at random rates, the seed decides what, and the result is right."""
    said: list[list[str]] = []
    for number in range(2):
        test = f"virtual hosts: faults at random rates, run {number + 1}"
        prepared = jobs.prepare(test, "waitany", setting.seed)
        if prepared is None:
            return
        job, where, file = prepared.job, prepared.where, prepared.report
        (where / "machines").write_text("a:2 switch=s\nb:2 switch=t\nc:2 switch=t\n")
        (where / "model").write_text(MODEL)
        outcome = run(
            [*setting.mpiexec(4, "--launcher", "fork", "-f", "machines", "--protocol", "pessimistic", "--ckpt-interval",
                              "1s", "--inject", "model:model", "--report", file), job.program, *job.arguments],
            timeout=setting.timeout, cwd=where)
        report, _ = reports.read(file)
        problem = problem_of(outcome, expected_text=job.expected_text)
        said.append([line for line in outcome.err.splitlines() if "(--inject)" in line])
        if problem is None and report is not None and not rank_failures(report):
            problem = "no rank failed"
        setting.results.check(test, problem, f"{outcome.seconds:.1f} s, {len(said[-1])} faults with a line")
    length = min(map(len, said))
    problem = None if length and said[0][:length] == said[1][:length] else f"{said[0]} and {said[1]}"
    setting.results.check("virtual hosts: the same seed gives the same faults", problem)


def stopped_rank(setting: Setting, jobs: Jobs) -> None:
    """A rank is stopped for a time: nobody is restarted, and with a detector for it the rank begins again."""
    for restarts in (False, True):
        test = f"virtual hosts: a rank is stopped, {'a detector restarts it' if restarts else 'and goes on'}"
        prepared = jobs.prepare(test, "waitany", setting.seed)
        if prepared is None:
            return
        job, where, file = prepared.job, prepared.where, prepared.report
        (where / "recovery").write_text('[[rule]]\ndetectors = [ { name = "stall", after = "1s" } ]\n')
        options = ["--stall", "1s", "--recovery", "recovery"] if restarts else []
        outcome = run(
            [*setting.mpiexec(4, *options, "--protocol", "pessimistic", "--ckpt-interval", "500ms", "--report", file,
                              "--inject", f"stop:rank=2,at=1s{'' if restarts else ',for=2s'}"),
             job.program, *job.arguments], timeout=setting.timeout, cwd=where)
        problem = problem_of(outcome, expected_text=job.expected_text) or says(
            outcome, "stopping rank 2 (--inject)", "[stall: restart]" if restarts else "continuing rank 2 (--inject)")
        problem = problem or moved(file, [2] if restarts else [])
        setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


# ---- five hosts ------------------------------------------------------------------------------------------------------

NAMES = ("login", "a", "b", "c", "store")


@dataclass
class Network:
    """Five namespaces on one bridge."""

    folder: Path
    tag: str
    daemons: list[subprocess.Popen]

    def space(self, name: str) -> str:
        return f"{self.tag}{name}"

    def address(self, name: str) -> str:
        return f"10.77.32.{NAMES.index(name) + 1}"

    def inside(self, name: str) -> list[str]:
        return ["ip", "netns", "exec", self.space(name)]

    def ssh(self) -> str:
        return f"ssh -F {self.folder / 'ssh_config'}"

    def link(self, name: str, state: str) -> None:
        checked("ip", "-n", self.space(name), "link", "set", "eth0", state)

    def part(self, a: str, b: str, cut: bool) -> None:
        """Packets between two hosts go to a station that does not exist."""
        for here, there in ((a, b), (b, a)):
            if cut:
                checked("ip", "-n", self.space(here), "neigh", "replace", self.address(there),
                        "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
            else:
                subprocess.run(["ip", "-n", self.space(here), "neigh", "del", self.address(there), "dev", "eth0"],
                               capture_output=True)

    def mend(self) -> None:
        for name in NAMES:
            self.link(name, "up")
        self.part("a", "b", False)


def checked(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def create(folder: Path) -> Network:
    """Makes the hosts. Raises CalledProcessError with the command that failed."""
    network = Network(folder, f"fh{os.getpid()}", [])
    try:
        bridge = network.space("bridge")
        checked("ip", "netns", "add", bridge)
        checked("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        checked("ip", "-n", bridge, "link", "set", "br0", "up")
        for number, name in enumerate(NAMES):
            space = network.space(name)
            checked("ip", "netns", "add", space)
            checked("ip", "-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}",
                    "netns", bridge)
            checked("ip", "-n", bridge, "link", "set", f"port{number}", "master", "br0", "up")
            checked("ip", "-n", space, "addr", "add", f"{network.address(name)}/24", "dev", "eth0")
            checked("ip", "-n", space, "link", "set", "eth0", "up")
            checked("ip", "-n", space, "link", "set", "lo", "up")
        for key in ("host_key", "user_key"):
            checked("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
        (folder / "authorized_keys").write_text((folder / "user_key.pub").read_text())
        Path("/run/sshd").mkdir(exist_ok=True)
        (folder / "sshd_config").write_text(
            f"Port 22\nHostKey {folder / 'host_key'}\nAuthorizedKeysFile {folder / 'authorized_keys'}\n"
            "PidFile none\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nUsePAM no\nMaxStartups 100\n")
        (folder / "ssh_config").write_text(
            f"Host *\n  IdentityFile {folder / 'user_key'}\n  IdentitiesOnly yes\n  User root\n"
            "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  ConnectTimeout 5\n")
        sshd = which("sshd") or "/usr/sbin/sshd"
        for name in NAMES:
            network.daemons.append(subprocess.Popen(
                [*network.inside(name), sshd, "-D", "-e", "-f", str(folder / "sshd_config")],
                stdout=subprocess.DEVNULL, stderr=(folder / f"sshd-{name}.log").open("w")))
        for name in NAMES[1:]:
            wait_for_ssh(network, name)
        return network
    except BaseException:
        remove(network)
        raise


def wait_for_ssh(network: Network, name: str) -> None:
    until = time.monotonic() + 10
    words = [*network.inside("login"), *network.ssh().split(), network.address(name), "true"]
    while True:
        tried = subprocess.run(words, capture_output=True, text=True)
        if tried.returncode == 0:
            return
        if time.monotonic() > until:
            raise subprocess.CalledProcessError(1, f"ssh {name}", tried.stdout, tried.stderr)
        time.sleep(0.2)


def remove(network: Network) -> None:
    for daemon in network.daemons:
        daemon.terminate()
    for name in (*NAMES, "bridge"):
        subprocess.run(["ip", "netns", "del", network.space(name)], capture_output=True)
    for daemon in network.daemons:
        daemon.wait()


class Watcher:
    """Breaks something some seconds after the ranks run, mends it later, and notes when a text was said, or when two
    ranks run on the host `goal`."""

    def __init__(self, network: Network, program: Path, after: float, breaks: Callable[[], None],
                 mends: Callable[[], None] | None = None, lasts: float = 0, text: str = "", goal: str = "",
                 limit: float = DETECTED_S):
        self.network, self.program, self.after, self.lasts = network, program, after, lasts
        self.breaks, self.mends, self.text, self.goal, self.limit = breaks, mends, text, goal, limit
        self.running: float | None = None
        self.broken: float | None = None
        self.mended = False
        self.said: float | None = None
        self.log: Path | None = None

    def __call__(self, process: subprocess.Popen) -> None:
        now = time.monotonic()
        if self.running is None:
            if len(pids_in(self.network.space("a"), self.program)) >= 2:
                self.running = now
            return
        if self.broken is None and now - self.running > self.after:
            self.breaks()
            self.broken = now
        if self.broken is None:
            return
        if self.mends and not self.mended and now - self.broken > self.lasts:
            self.mends()
            self.mended = True
        if self.said is None and self.is_seen():
            self.said = time.monotonic()

    def is_seen(self) -> bool:
        if self.goal:
            return len(pids_in(self.network.space(self.goal), self.program)) >= 2
        return bool(self.text) and self.text in self.log.read_text()

    def late(self) -> str | None:
        """The problem that the text was said too late, or not at all."""
        if self.broken is None:
            return "the ranks never ran on host a"
        what = f"the ranks on {self.goal}" if self.goal else f"`{self.text}`"
        if self.said is None:
            return f"{what}: never seen"
        return None if self.seconds() <= self.limit else f"{what}: seen after {self.seconds():.1f} s"

    def seconds(self) -> float:
        return (self.said or self.broken or 0) - (self.broken or 0)


def launch(setting: Setting, network: Network, job: Job, where: Path, watcher: Watcher, *options: str | Path,
           duties: str = LOST["both servers"].duties) -> Outcome:
    """Runs a job of four ranks on a and b, with servers on `store`, under this watcher."""
    lines = [f"{network.address('a')}:2", f"{network.address('b')}:2", f"{network.address('c')}:2",
             f"{network.address('store')}:0 {duties}"]
    (where / "machines").write_text("\n".join(lines) + "\n")
    watcher.log = where / "said"
    watcher.log.touch()
    words = [*setting.mpiexec(4, "-f", "machines", "--rsh", network.ssh(), "--ckpt-interval", "1s", *options),
             job.program, *job.arguments]
    line = " ".join(f"'{word}'" for word in words)
    outcome = run([*network.inside("login"), "sh", "-c", f"exec {line} 2>said"], timeout=setting.timeout, cwd=where,
                  meanwhile=watcher)
    outcome.err = watcher.log.read_text()
    return outcome


def hosts(setting: Setting) -> None:
    """The tests on five hosts."""
    results = setting.results
    reason = missing()
    if reason:
        results.skip("five hosts", reason)
        return
    if not setting.dist_is_built():
        return
    try:
        network = create(setting.new_folder("hosts"))
    except (subprocess.CalledProcessError, OSError) as error:
        results.skip("five hosts", f"namespaces cannot be made here: {getattr(error, 'stderr', '') or error}")
        return
    try:
        servers = map(host_of_servers, LOST if setting.full else ["both servers"])
        for test in (way_between_hosts, firewall, *servers, link_of_launcher, *map(lost_host, ELSEWHERE_S)):
            test(setting, network)
            network.mend()
    finally:
        remove(network)


def finish(setting: Setting, network: Network, test: str, problem: str | None, note: str, program: Path) -> None:
    setting.results.check(test, problem, note)
    left = [pid for name in NAMES for pid in pids_in(network.space(name), program)]
    setting.results.check(f"{test}: nothing left behind", f"processes {left}" if left else None)
    kill(left)


def way_between_hosts(setting: Setting, network: Network) -> None:
    test = "five hosts: a and b do not reach each other"
    prepared = Jobs(setting, 12).prepare(test, "waitany", setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    watcher = Watcher(network, job.program, 2, lambda: network.part("a", "b", True), text=CUT)
    outcome = launch(setting, network, job, where, watcher, "--report", file, "--protocol", "pessimistic")
    problem, note = judge(outcome, file, job.expected_text, 2)
    problem = problem or watcher.late() or says(outcome, f"from {network.address('b')} to {network.address('c')}")
    finish(setting, network, test, problem or moved(file, [2, 3]), note, job.program)


def firewall(setting: Setting, network: Network) -> None:
    """Hosts a and b never reach each other; their ranks open connections to the channel memory only."""
    test = "five hosts: a and b never reach each other, under channel-memory"
    prepared = Jobs(setting, 6).prepare(test, "waitany", setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    network.part("a", "b", True)
    watcher = Watcher(network, job.program, 0, lambda: None)
    outcome = launch(setting, network, job, where, watcher, "--report", file, "--protocol", "channel-memory",
                     "--inject", "kill:rank=3,at=2s")
    finish(setting, network, test, no_way_missed(outcome, job, file), f"{outcome.seconds:.1f} s", job.program)


def host_of_servers(what: str) -> Callable[[Setting, Network], None]:
    """The link of the host of servers is down: the job ends in time, and goes on when the host is back."""

    def test_it(setting: Setting, network: Network) -> None:
        test, lost = f"five hosts: the host of {what} is lost", LOST[what]
        prepared = Jobs(setting, 6).prepare(test, "waitany", setting.seed)
        if prepared is None:
            return
        job, where = prepared.job, prepared.where
        watcher = Watcher(network, job.program, 2, lambda: network.link("store", "down"), text=AWAY)
        outcome = launch(setting, network, job, where, watcher, *lost.options, "--job-dir", where / "job",
                         "--storage-patience", "4s", duties=lost.duties)
        problem = problem_of(outcome, code=SUSPENDED) or watcher.late() or says(outcome, *lost.named(), "--restart")
        finish(setting, network, test, problem, f"{outcome.seconds:.1f} s", job.program)
        if problem:
            return
        network.link("store", "up")
        line = f"exec '{setting.launcher}' --restart '{where / 'job'}' --rsh '{network.ssh()}'"
        again = run([*network.inside("login"), "sh", "-c", line], timeout=setting.timeout, cwd=where)
        setting.results.check(f"{test}, and the job goes on", problem_of(again, expected_text=job.expected_text))

    return test_it


def link_of_launcher(setting: Setting, network: Network) -> None:
    """The agents must have been up for some time, so that the launcher relies on them."""
    test = "five hosts: the launcher's own link is down for 12 s"
    prepared = Jobs(setting, 16).prepare(test, "uneven", setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    watcher = Watcher(network, job.program, 13, lambda: network.link("login", "down"),
                      lambda: network.link("login", "up"), 12, OWN_LINK)
    outcome = launch(setting, network, job, where, watcher, "--report", file)
    problem = problem_of(outcome, expected_text=job.expected_text) or watcher.late() or says(outcome, "hosts answer again")
    report, unread = reports.read(file)
    if problem is None:
        problem = unread if report is None else None
    if problem is None and (rank_failures(report) or re.search("starting its agent again|moves? ", outcome.err)):
        problem = f"something began again: {outcome.output_tail()}"
    finish(setting, network, test, problem, f"{outcome.seconds:.1f} s", job.program)


def lost_host(detect: str) -> Callable[[Setting, Network], None]:
    """The link of host b is down for good: its ranks run on c in time. Its agent ends the old ones."""

    def test_it(setting: Setting, network: Network) -> None:
        test = f"five hosts: a host is lost, --detect {detect}"
        # The first with few messages, so that a busy machine does not make it long.
        name = "uneven" if detect == "6s" else "waitany"
        prepared = Jobs(setting, 8).prepare(test, name, setting.seed)
        if prepared is None:
            return
        job, where, file = prepared.job, prepared.where, prepared.report
        watcher = Watcher(network, job.program, 2, lambda: network.link("b", "down"), goal="c", limit=ELSEWHERE_S[detect])
        outcome = launch(setting, network, job, where, watcher, "--report", file, "--detect", detect)
        problem, note = judge(outcome, file, job.expected_text, 2)
        problem = problem or watcher.late() or says(outcome, f"silent for {detect[:-1]} s (--detect)") or moved(file, [2, 3])
        finish(setting, network, test, problem, f"{note}, elsewhere after {watcher.seconds():.1f} s", job.program)

    return test_it

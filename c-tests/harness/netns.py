"""Makes two hosts of one: network namespaces joined by a veth pair, with an sshd in each. Kills the ranks of one
namespace and its agent, and disconnects the link for a moment. Root only."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .core import Setting, kill, problem_of, run, which
from .jobs import Jobs, judge

HOSTS = ("10.77.31.1", "10.77.31.2")


@dataclass
class Hosts:
    """The two namespaces."""

    folder: Path
    names: tuple[str, str]
    daemons: list[subprocess.Popen] = field(default_factory=list)

    def ssh(self) -> str:
        return f"ssh -F {self.folder / 'ssh_config'}"

    def inside(self, host: int) -> list[str]:
        return ["ip", "netns", "exec", self.names[host]]


def missing() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("ip", "sshd", "ssh", "ssh-keygen"):
        if which(tool) is None and not Path("/usr/sbin", tool).exists():
            return f"{tool} is not installed"
    return None


def create_hosts(folder: Path) -> Hosts:
    """Makes both hosts. Raises CalledProcessError with the command that failed."""
    tag = f"ft{os.getpid()}"
    hosts = Hosts(folder, (f"{tag}a", f"{tag}b"))

    def run_checked(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, text=True)

    try:
        for name in hosts.names:
            run_checked("ip", "netns", "add", name)
        a, b = f"{tag}v0", f"{tag}v1"
        run_checked("ip", "link", "add", a, "type", "veth", "peer", "name", b)
        for name, link, address in zip(hosts.names, (a, b), HOSTS):
            run_checked("ip", "link", "set", link, "netns", name)
            run_checked("ip", "-n", name, "addr", "add", f"{address}/24", "dev", link)
            run_checked("ip", "-n", name, "link", "set", link, "up")
            run_checked("ip", "-n", name, "link", "set", "lo", "up")
        run_checked("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "host_key"))
        run_checked("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "user_key"))
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        (folder / "authorized_keys").chmod(0o600)
        Path("/run/sshd").mkdir(exist_ok=True)
        (folder / "sshd_config").write_text(
            f"Port 22\nHostKey {folder / 'host_key'}\nAuthorizedKeysFile {folder / 'authorized_keys'}\n"
            f"PidFile none\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nUsePAM no\nMaxStartups 100\n"
        )
        (folder / "ssh_config").write_text(
            f"Host *\n  IdentityFile {folder / 'user_key'}\n  IdentitiesOnly yes\n  User root\n"
            "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
        )
        sshd = which("sshd") or "/usr/sbin/sshd"
        for host in (0, 1):
            hosts.daemons.append(
                subprocess.Popen(
                    [*hosts.inside(host), sshd, "-D", "-e", "-f", str(folder / "sshd_config")],
                    stdout=subprocess.DEVNULL,
                    stderr=(folder / f"sshd{host}.log").open("w"),
                )
            )
        for host in (0, 1):
            until = time.monotonic() + 10
            while True:
                tried = subprocess.run(
                    [*hosts.inside(1 - host), "ssh", "-F", str(folder / "ssh_config"), HOSTS[host], "true"],
                    capture_output=True, text=True,
                )
                if tried.returncode == 0:
                    break
                if time.monotonic() > until:
                    raise subprocess.CalledProcessError(1, f"ssh {HOSTS[host]}", tried.stdout, tried.stderr)
                time.sleep(0.2)
        return hosts
    except BaseException:
        remove_hosts(hosts)
        raise


def remove_hosts(hosts: Hosts) -> None:
    for daemon in hosts.daemons:
        daemon.terminate()
    for name in hosts.names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
    for daemon in hosts.daemons:
        daemon.wait()


def pids_in(namespace: str, program: Path) -> list[int]:
    """The processes of the program in one namespace."""
    listed = subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True
    ).stdout.split()
    found = []
    for word in listed:
        try:
            if os.path.realpath(f"/proc/{word}/exe") == str(program.resolve()):
                found.append(int(word))
        except OSError:
            pass
    return found


def netns(setting: Setting) -> None:
    results = setting.results
    reason = missing()
    if reason:
        results.skip("two hosts", reason)
        return
    if not setting.dist_is_built():
        return
    try:
        hosts = create_hosts(setting.new_folder("hosts"))
    except (subprocess.CalledProcessError, OSError) as error:
        results.skip("two hosts", f"namespaces cannot be made here: {getattr(error, 'stderr', '') or error}")
        return
    try:
        in_another_network(setting, hosts)
        scenarios(setting, hosts)
    finally:
        remove_hosts(hosts)


class Sockets:
    """Collects where processes of the hosts listen, and which connections there are between the hosts, without those of
    ssh."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.listening: set[int] = set()
        self.networks: set[str] = set()

    def __call__(self, process) -> None:
        for host in (0, 1):
            table = subprocess.run([*self.hosts.inside(host), "cat", "/proc/net/tcp"], capture_output=True, text=True)
            for line in table.stdout.splitlines()[1:]:
                words = line.split()
                (own, port), (other, other_port) = (word.split(":") for word in words[1:3])
                ports = (int(port, 16), int(other_port, 16))
                if 22 in ports:
                    continue
                if words[3] == "0A":
                    self.listening.add(ports[0])
                elif words[3] == "01" and own != other:
                    self.networks.add(".".join(str(byte) for byte in bytes.fromhex(own)[::-1][:3]))


def in_another_network(setting: Setting, hosts: Hosts) -> None:
    """ssh reaches the hosts in one network; the job uses another one, and a few ports."""
    test = "two hosts: another network, and a range of ports"
    subprocess.run(["ip", "-n", hosts.names[0], "link", "add", "second0", "type", "veth", "peer", "name", "second1", "netns",
                    hosts.names[1]], check=True)
    for host, (name, link) in enumerate(zip(hosts.names, ("second0", "second1")), 1):
        subprocess.run(["ip", "-n", name, "addr", "add", f"10.77.32.{host}/24", "dev", link], check=True)
        subprocess.run(["ip", "-n", name, "link", "set", link, "up"], check=True)
    (hosts.folder / "machines").write_text(f"{HOSTS[0]}:2\n{HOSTS[1]}:2 event-logger checkpoint-server\n")
    prepared = Jobs(setting, 4).prepare(test, "collectives", setting.seed)
    if prepared is None:
        return
    job, sockets = prepared.job, Sockets(hosts)
    first, last = 25000, 25011
    options = ["-f", hosts.folder / "machines", "--rsh", hosts.ssh(), "--protocol", "pessimistic", "--ckpt-interval", "1s",
               "--interface", "second0", "--port-range", f"{first}-{last}", "--inject", "kill:rank=3,at=1500ms"]
    outcome = run([*hosts.inside(0), *setting.mpiexec(4, *options), job.program, *job.arguments],
                  timeout=setting.timeout, cwd=prepared.where, meanwhile=sockets)
    problem = problem_of(outcome, expected_text=job.expected_text)
    outside = sorted(port for port in sockets.listening if not first <= port <= last)
    if problem is None and (outside or len(sockets.listening) < 4):
        problem = f"listens at {sorted(sockets.listening)}, wanted ports from {first} to {last}"
    if problem is None and sockets.networks != {"10.77.32"}:
        problem = f"connections in the networks {sorted(sockets.networks)}, wanted 10.77.32"
    setting.results.check(test, problem, f"{len(sockets.listening)} ports, {outcome.seconds:.1f} s")
    subprocess.run(["ip", "-n", hosts.names[0], "link", "del", "second0"], check=True)


def scenarios(setting: Setting, hosts: Hosts) -> None:
    jobs = Jobs(setting, 8)

    class HostKiller:
        """Kills all ranks of the second host at once, from outside."""

        problem = None

        def __init__(self, program: Path):
            self.program, self.begin, self.done = program, time.monotonic(), False

        def __call__(self, process) -> None:
            if self.done or time.monotonic() - self.begin < 4:
                return
            pids = pids_in(hosts.names[1], self.program)
            if len(pids) == 2:
                kill(pids)
                self.done = True

    def set_link(state: str) -> None:
        links = subprocess.run(
            ["ip", "-n", hosts.names[0], "-br", "link"], capture_output=True, text=True
        ).stdout.split()
        link = next(w.split("@")[0] for w in links if "@" in w)
        subprocess.run(["ip", "-n", hosts.names[0], "link", "set", link, state], check=True)

    class Cutter:
        """Disconnects the link for two seconds."""

        problem = None

        def __init__(self, program: Path) -> None:
            self.begin, self.state = time.monotonic(), 0

        def __call__(self, process) -> None:
            age = time.monotonic() - self.begin
            if self.state == 0 and age > 3:
                set_link("down")
                self.state = 1
            elif self.state == 1 and age > 5:
                set_link("up")
                self.state = 2

    class Splitter:
        """Disconnects the link for the rest of the job. Both sides run on, and only one may continue the job. When
        the ranks of the other host run here, none may be left on the other host."""

        def __init__(self, program: Path) -> None:
            self.program, self.begin, self.cut = program, time.monotonic(), False
            self.problem: str | None = "no rank was moved to this host"

        def __call__(self, process) -> None:
            if not self.cut and time.monotonic() - self.begin > 3:
                set_link("down")
                self.cut = True
            if self.cut and self.problem and len(pids_in(hosts.names[0], self.program)) > 2:
                there = pids_in(hosts.names[1], self.program)
                self.problem = f"they live on at the other side of the cut: {there}" if there else None

    cases: list[tuple] = [
        ("no fault", "collectives", [], None, 0),
        ("random kills", "master_worker", ["kill:every=2s,count=10,seed=5"], None, 2),
        ("random kills", "wavefront", ["kill:every=2s,count=10,seed=6"], None, 2),
        ("all ranks of one host killed", "probe_loop", [], HostKiller, 2),
        ("the agent of one host killed", "waitany", [f"kill:agent={HOSTS[1]},at=4s"], None, 2),
        ("all ranks killed", "two_receives", ["kill:rank=all,at=4s"], None, 4),
        ("the wire cut for two seconds", "test_loop", [], Cutter, 0),
        ("the wire cut and not repaired", "waitany", [], Splitter, 2),
        ("the wire cut and not repaired", "shared_memory", [], Splitter, 2, "--protocol", "coordinated"),
        ("the wire cut and not repaired", "scratch_files", [], Splitter, 2, "--protocol", "coordinated"),
    ]
    for label, program, injections, watcher, least, *more in cases:
        test = f"two hosts: {label} under {program}"
        prepared = jobs.prepare(test, program, setting.seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        options: list[str | Path] = ["-hosts", ",".join(HOSTS), "-ppn", "2", "--rsh", hosts.ssh(),
                                     "--ckpt-interval", "1s", "--report", file, *more]
        for injection in injections:
            options += ["--inject", injection]
        meanwhile = watcher and watcher(job.program)
        outcome = run(
            [*hosts.inside(0), *setting.mpiexec(4, *options), job.program, *job.arguments],
            timeout=setting.timeout,
            cwd=where,
            meanwhile=meanwhile,
        )
        set_link("up")
        problem, note = judge(outcome, file, job.expected_text, least)
        setting.results.check(test, problem or (meanwhile and meanwhile.problem), note)
        left = [p for name in hosts.names for p in pids_in(name, job.program)]
        setting.results.check(f"{test}: nothing left behind",
                              f"processes {left}" if left else None)
        kill(left)

"""Jobs in containers, a rank killed in each: bubblewrap, and podman with an image of `packaging/Containerfile`.

Podman filters system calls as it does by default. The containers have a read-only root, a tiny /dev/shm, users without a
name and a home, other user numbers, little memory. Two containers with sshd are the workers of Kubernetes' MPI operator:
one of them falls away and comes back. Images, containers and networks are removed. Root only."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import build
from .core import ROOT, TESTS, Outcome, Setting, problem_of, run, which

# Ranks, and what they do for about three seconds.
RANKS = 4
STEPS = ["250", "10000"]
# A wave of images is there when the rank dies.
KILL = ["--ckpt-interval", "300ms", "--inject", "kill:rank=1,point=image,nth=3"]
JOB = ["ftmpiexec", "-n", str(RANKS), *KILL]
SUSPENDED = 75
# As long as a job that is interrupted may take.
LONG = ["6000", "10000"]
WORKERS = ("job-worker-0.job.default.svc", "job-worker-1.job.default.svc")
USER = "4711:4711"


def expected_sum(steps: list[str]) -> str:
    return f"{sum(sum(range(RANKS)) + RANKS * step for step in range(int(steps[0])))}"


def survived(outcome: Outcome) -> str | None:
    """The problem of a job in which a rank was to return to an image."""
    problem = problem_of(outcome, 0, f"rank 1 of {RANKS}: {expected_sum(STEPS)}")
    if problem is None and "rank 1 is back from image" not in outcome.err + outcome.out:
        problem = f"no rank returned to an image: {outcome.output_tail()}"
    return problem


def said(outcome: Outcome, code: int | None, *texts: str) -> str | None:
    if outcome.code is None or code is not None and outcome.code != code:
        return f"exit code {outcome.code}; {outcome.output_tail()}"
    missing = [text for text in texts if text not in outcome.err + outcome.out]
    return f"no `{missing[0]}` in: {outcome.output_tail()}" if missing else None


def containers(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    manifests(setting)
    if os.geteuid() != 0 or which("debootstrap") is None:
        return setting.results.skip("containers", "needs root and debootstrap")
    system = setting.new_folder("containers") / "system"
    # Users of no name enter.
    for folder in (setting.work, system.parent):
        folder.chmod(0o755)
    made = run([which("debootstrap"), "--variant=minbase", "--include=gcc,libc6-dev,openssh-server,openssh-client",
                "stable", system], timeout=900)
    if made.code != 0:
        return setting.results.skip("containers", f"debootstrap failed: {made.output_tail()}")
    try:
        bubblewrap(setting, system)
        podman(setting, system)
    finally:
        shutil.rmtree(system, ignore_errors=True)


def manifests(setting: Setting) -> None:
    python = ROOT / ".peers" / "kubernetes-validate" / "bin" / "python"
    if not python.exists():
        return setting.results.skip("manifests of Kubernetes", "kubernetes-validate is not below .peers")
    found = run([python, Path(__file__).with_name("manifests.py"), ROOT / "packaging/kubernetes/mpijob.yaml"], timeout=60)
    setting.results.check("manifests of Kubernetes", problem_of(found))


# ---- bubblewrap ------------------------------------------------------------------------------------------------------


def bubblewrap(setting: Setting, system: Path) -> None:
    if run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], timeout=20).code != 0 if which("bwrap") else True:
        return setting.results.skip("bubblewrap", "bwrap is not installed, or may make no namespaces")
    program, made = build.build(setting, TESTS / "batch" / "steps.c")
    if program is None:
        return setting.results.bad("bubblewrap: steps compiles", made.output_tail())
    for name in ("ftmpi", "programs"):
        (system / name).mkdir(exist_ok=True)
    inside = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", system, "/", "--dev", "/dev", "--ro-bind",
              setting.dist, "/ftmpi", "--ro-bind", program.parent, "/programs", "--clearenv", "--setenv", "PATH",
              "/ftmpi/bin:/usr/bin:/bin"]
    proc, here, job = ["--proc", "/proc"], setting.new_folder("bwrap"), [*JOB, f"/programs/{program.name}", *STEPS]
    unnamed = [*proc, "--tmpfs", "/tmp", "--uid", "4711", "--gid", "4711", "--unshare-user"]
    check = setting.results.check
    check("bubblewrap: a read-only root", survived(run([*inside, *proc, "--tmpfs", "/tmp", *job], timeout=60, cwd=here)))
    check("bubblewrap: a user without a name", survived(run([*inside, *unnamed, *job], timeout=60, cwd=here)))
    check("bubblewrap: nothing can be written",
          said(run([*inside, *proc, *job], timeout=30, cwd=here), 2, "no job directory can be made", "--job-dir"))
    check("bubblewrap: no /proc",
          said(run([*inside, "--tmpfs", "/tmp", *job], timeout=30, cwd=here), 2, "Is /proc mounted?"))
    in_and_out(setting, program)
    a_container_for_each(setting, system, program)


def in_and_out(setting: Setting, program: Path) -> None:
    """A job that is stopped in a container goes on outside, and the other way round."""
    here = setting.new_folder("in_and_out")
    jail = ["bwrap", "--unshare-all", "--die-with-parent", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--ro-bind", setting.dist, setting.dist]
    for name, first, second in (("into", [], jail), ("out of", jail, [])):
        folder = here / name.replace(" ", "-")
        words = setting.mpiexec(RANKS, "--job-dir", folder, "--ckpt-interval", "200ms", "--timeout", "2s")
        stopped = run([*first, *words, program, *STEPS], timeout=60, cwd=here)
        problem = problem_of(stopped, SUSPENDED)
        if problem is None:
            outcome = run([*second, setting.launcher, "--restart", folder, "--timeout", "60"], timeout=60, cwd=here)
            problem = problem_of(outcome, 0, f"rank 1 of {RANKS}: {expected_sum(STEPS)}")
            if problem is None and f"{RANKS} of {RANKS} ranks from images" not in outcome.err:
                problem = f"not from images: {outcome.output_tail()}"
        setting.results.check(f"bubblewrap: images go {name} a container", problem)


def a_container_for_each(setting: Setting, system: Path, program: Path) -> None:
    """`ftmpiexec -n 4 apptainer exec IMAGE ./prog`, with bubblewrap: each rank is process 2 in its own container, with
    the files of another system. Somebody kills it, and it is restored in a container that is made anew."""
    kill = ["--ckpt-interval", "300ms", "--inject", "kill:rank=1,at=1500ms"]
    for name, options in {
        "other processes": ["--bind", "/", "/"],
        "other files, users and processes": [
            "--unshare-user", "--uid", "4711", "--ro-bind", system, "/", "--tmpfs", "/tmp",
            *(word for path in (setting.dist, program.parent) for word in ("--ro-bind", path, path))],
    }.items():
        for protocol in ("coordinated", "pessimistic"):
            outcome = run([*setting.mpiexec(RANKS, "--protocol", protocol, *kill), "bwrap", "--unshare-pid", *options,
                           "--dev-bind", "/dev", "/dev", "--proc", "/proc", program, *STEPS], timeout=60,
                          cwd=setting.new_folder("each"))
            setting.results.check(f"bubblewrap: a container for each rank, {name}, {protocol}", survived(outcome))


# ---- podman ----------------------------------------------------------------------------------------------------------


@dataclass
class Podman:
    """Podman with a store of its own."""

    setting: Setting
    words: list[str]
    limits: list[str]
    share: Path
    image: str = "localhost/ftmpi:test"

    def call(self, *words: str | Path, timeout: float = 120, stdin=None) -> Outcome:
        return run([*self.words, *words], timeout=timeout, stdin=stdin)

    def start(self, *options: str | Path) -> list[str | Path]:
        """The words that run something in a container."""
        return [*self.words, "run", *self.limits, "--volume", f"{self.share}:/share", "--workdir", "/share", *options,
                self.image]

    def job(self, *options: str, timeout: float = 90) -> Outcome:
        return run([*self.start("--rm", "--network", "none", *options), *JOB, "/share/steps", *STEPS], timeout=timeout)

    def remove(self, *names: str) -> None:
        self.call("rm", "--force", "--time", "0", *names, timeout=60)


def runtime_of(store: list[str], limits: list[str]) -> tuple[str | None, str]:
    """A runtime with which containers start here, and what the last one said."""
    why = "neither runc nor crun is installed"
    for runtime in ("runc", "crun"):
        if which(runtime) is not None:
            tried = run(["podman", *store, "--runtime", runtime, "run", "--rm", "--network", "none", *limits,
                         "localhost/base:test", "true"], timeout=60)
            if tried.code == 0:
                return runtime, ""
            why = tried.output_tail()
    return None, why


def podman(setting: Setting, system: Path) -> None:
    if which("podman") is None:
        return setting.results.skip("podman", "not installed")
    home = setting.new_folder("podman")
    store = ["--root", str(home / "store"), "--runroot", str(home / "run"), "--cgroup-manager", "cgroupfs"]
    limits = []
    for name, kind in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        soft, hard = (min(max(value, 0) or 1 << 15, 1 << 15) if value != resource.RLIM_INFINITY else 1 << 15
                      for value in resource.getrlimit(kind))
        limits += ["--ulimit", f"{name}={min(soft, hard)}:{hard}"]
    try:
        with subprocess.Popen(["tar", "-C", system, "-c", "."], stdout=subprocess.PIPE) as packed:
            imported = run(["podman", *store, "import", "--quiet", "-", "localhost/base:test"], timeout=300,
                           stdin=packed.stdout.fileno())
        if imported.code != 0:
            return setting.results.skip("podman", f"no image can be made: {imported.output_tail()}")
        runtime, why = runtime_of(store, limits)
        if runtime is None:
            return setting.results.skip("podman", f"no container starts here: {why}")
        share = home / "share"
        share.mkdir()
        share.chmod(0o777)
        tests = Podman(setting, ["podman", *store, "--runtime", runtime], limits, share)
        if image(tests, home):
            alone(tests)
            stopped_and_continued(tests)
            pods(tests)
    finally:
        # Layers are mounted as long as the store knows them.
        run(["podman", *store, "rmi", "--all", "--force"], timeout=120)
        run(["podman", *store, "unshare", "true"], timeout=30)
        shutil.rmtree(home / "store", ignore_errors=True)


def image(tests: Podman, home: Path) -> bool:
    """Builds the image of the recipe, with a compiled program on the shared folder."""
    check, share = tests.setting.results.check, tests.share
    packed = run([ROOT / "packaging" / "deb.sh", tests.setting.dist, home / "packages"], timeout=300)
    built = packed if packed.code else tests.call(
        "build", *tests.limits, "--network", "none", "--build-arg", "BASE=localhost/base:test", "--file",
        ROOT / "packaging" / "Containerfile", "--tag", tests.image, home / "packages", timeout=300)
    if not check("podman: the image of packaging/Containerfile", problem_of(built)):
        return False
    for name in ("batch/steps.c", "batch/memory_eater.c"):
        shutil.copy(TESTS / name, share)
    compiled = run([*tests.start("--rm", "--network", "none"), "sh", "-c",
                    "ftmpicc -o steps steps.c && ftmpicc -o memory_eater memory_eater.c"], timeout=60)
    return check("podman: ftmpicc compiles in it", problem_of(compiled))


def alone(tests: Podman) -> None:
    """All ranks in one container."""
    check = tests.setting.results.check
    looked = run([*tests.start("--rm", "--network", "none"), "sh", "-c",
                  "grep -q 'Seccomp:.2' /proc/self/status && ftmpiexec --doctor"], timeout=60)
    check("podman: --doctor under the default filter", problem_of(looked, 0, "Nothing stands in the way."))
    for name, options in {
        "the default filter of system calls": [],
        "a read-only root": ["--read-only"],
        "/dev/shm of 1 MiB": ["--shm-size", "1m"],
        "no name, no home": ["--user", USER, "--env", "HOME="],
        "other numbers of users": ["--uidmap", "0:100000:65536", "--gidmap", "0:100000:65536", "--user", "0"],
        "256 MiB of memory": ["--memory", "256m"],
        "no capabilities, no new privileges": ["--cap-drop", "all", "--security-opt", "no-new-privileges"],
    }.items():
        check(f"podman: {name}", survived(tests.job(*options)))
    nowhere = run([*tests.start("--rm", "--network", "none", "--read-only", "--read-only-tmpfs=false", "--workdir", "/"),
                   *JOB, "/share/steps", *STEPS], timeout=60)
    check("podman: nothing can be written", said(nowhere, 2, "no job directory can be made", "--job-dir"))
    for name, limit in (("of memory", []), ("of memory with swap", ["--memory-swap", "200m"])):
        full = run([*tests.start("--rm", "--network", "none", "--memory", "200m", *limit), "ftmpiexec", "-n", "2",
                    "./memory_eater", "1000"], timeout=90)
        check(f"podman: a limit {name} is reached", said(full, 137, "memory limit 200 MiB", "raise the limit"))


def stopped_and_continued(tests: Podman) -> None:
    """A container is stopped, or lost; another one continues its job."""
    name = f"ftmpi-stopped-{os.getpid()}"
    for what, end, code in (("stopped", ["stop", "--time", "30"], SUSPENDED), ("killed", ["kill"], 137)):
        shutil.rmtree(tests.share / "job", ignore_errors=True)
        started = run([*tests.start("--detach", "--name", name, "--network", "none"), "ftmpiexec", "-n", str(RANKS),
                       "--job-dir", "/share/job", "--ckpt-interval", "200ms", "/share/steps", "500", "10000"], timeout=60)
        time.sleep(3)
        tests.call(*end, name)
        known = tests.call("wait", name).out.strip()
        tests.remove(name)
        problem = problem_of(started) or (None if known == str(code) else f"exit code {known}, expected {code}")
        if problem is None:
            resumed = run([*tests.start("--rm", "--network", "none", "--hostname", "other"), "ftmpiexec", "--restart",
                           "/share/job"], timeout=60)
            problem = problem_of(resumed, 0, f"rank 1 of {RANKS}: {expected_sum(['500'])}")
            problem = problem or said(resumed, 0, f"{RANKS} of {RANKS} ranks from images")
        tests.setting.results.check(f"podman: a container is {what}, another one goes on", problem)


# ---- pods ------------------------------------------------------------------------------------------------------------


@contextmanager
def network(tests: Podman):
    """The options of the three containers, on a network of their own; None if there can be none."""
    name = f"ftmpi-test-{os.getpid()}"
    third = os.getpid() % 250
    made = tests.call("network", "create", "--subnet", f"10.201.{third}.0/24", name)
    try:
        if made.code != 0:
            yield None, made.output_tail()
            return
        hosts = [word for number, host in enumerate(WORKERS)
                 for word in ("--add-host", f"{host}:10.201.{third}.{10 + number}")]
        yield lambda last: ["--network", name, "--ip", f"10.201.{third}.{last}", *hosts], ""
    finally:
        tests.call("network", "rm", "--force", name)


def pods(tests: Podman) -> None:
    """Workers with sshd, and a launcher that gets hosts and options of ssh as the MPI operator gives them."""
    if which("ssh-keygen") is None:
        return tests.setting.results.skip("podman: pods", "ssh-keygen is not installed")
    keys = tests.setting.new_folder("podman_keys")
    run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", keys / "id_rsa"], timeout=60)
    shutil.copy(keys / "id_rsa.pub", keys / "authorized_keys")
    for file in keys.iterdir():
        file.chmod(0o644)
    (tests.share / "hostfile").write_text("".join(f"{host}:2\n" for host in WORKERS))
    (tests.share / "recovery").write_text('retry = "3s"\n')
    mount = ["--volume", f"{keys}:/home/mpiuser/.ssh:ro"]
    names = [f"ftmpi-worker-{number}-{os.getpid()}" for number in range(2)]
    with network(tests) as (options, why):
        if options is None:
            return tests.setting.results.skip("podman: pods", f"no network can be made: {why}")
        try:
            for number, name in enumerate(names):
                started = run([*tests.start("--detach", "--name", name, "--hostname", f"job-worker-{number}",
                                            *options(10 + number), *mount), "/usr/sbin/sshd", "-De", "-f",
                               "/home/mpiuser/.sshd_config"], timeout=60)
                if started.code != 0:
                    return tests.setting.results.skip("podman: pods", f"no network: {started.output_tail()}")
            launcher = tests.start(
                "--rm", "--hostname", "job-launcher", *options(20), *mount, "--env", "HYDRA_HOST_FILE=/share/hostfile",
                "--env", "HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10")
            killed = run([*launcher, "ftmpiexec", *KILL, "/share/steps", *STEPS], timeout=90)
            tests.setting.results.check("podman: pods, a rank killed", survived(killed))
            tests.setting.results.check("podman: pods come and go", come_and_go(tests, launcher, names))
        finally:
            tests.remove(*names)


def come_and_go(tests: Podman, launcher: list, names: list[str]) -> str | None:
    """One worker falls away; it comes back and takes the ranks of the other, which falls away then. The job could not
    end otherwise."""
    words = [*launcher, "ftmpiexec", "--job-dir", "/share/pods", "--ckpt-interval", "300ms", "--recovery",
             "/share/recovery", "/share/steps", *LONG]
    log = tests.share.parent / "pods.log"
    with log.open("wb") as file:
        process = subprocess.Popen([str(word) for word in words], stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    try:
        for text, pause, deed in (
            ("job directory", 6, ["kill", names[1]]),
            ("ranks 2-3 move", 0, ["start", names[1]]),
            (f"host {WORKERS[1]} is back", 3, ["kill", names[0]]),
            (f"move to {WORKERS[1]}", 3, ["start", names[0]]),
        ):
            until = time.monotonic() + 100
            while text not in log.read_text(errors="replace"):
                if time.monotonic() > until or process.poll() is not None:
                    return f"no `{text}`: {log.read_text(errors='replace')[-400:]}"
                time.sleep(0.2)
            time.sleep(pause)
            tests.call(*deed)
        process.wait(120)
    except subprocess.TimeoutExpired:
        return f"hang: {log.read_text(errors='replace')[-400:]}"
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    text = log.read_text(errors="replace")
    expected = f"rank 1 of {RANKS}: {expected_sum(LONG)}"
    return None if process.returncode == 0 and expected in text else f"exit code {process.returncode}: {text[-400:]}"

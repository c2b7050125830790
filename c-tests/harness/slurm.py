"""Starts a Slurm of four nodes on this machine, and runs jobs in its allocations: hosts and ranks from Slurm, signals
at steps and at the whole job, a node that goes down, a job that returns to the queue. Root only.

The Slurm has its own configuration, key, sockets and ports. The machine's Slurm, if there is one, is not touched."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from . import build, direct, slurm_changes
from .core import TESTS, Outcome, Setting, problem_of, run, which

NODES = 4
TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scancel", "scontrol", "sinfo", "squeue")
# A job of about eight seconds, and one of three.
STEPS = ["400", "20000"]
SHORT = ["300", "10000"]


def missing() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    for tool in TOOLS:
        if tool_path(tool) is None:
            return f"{tool} is not installed"
    return None


def tool_path(name: str) -> str | None:
    found = which(name) or next((p for p in (f"/usr/sbin/{name}",) if Path(p).exists()), None)
    return str(found) if found else None


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody uses."""
    for first in range(23000 + os.getpid() % 4000, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


def configuration(folder: Path, host: str, port: int) -> str:
    lines = {
        "ClusterName": "ftmpi", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmUser": "root", "SlurmdUser": "root",
        "AuthType": "auth/munge", "AuthInfo": f"socket={folder}/munge/socket", "CredType": "cred/munge",
        "SlurmctldPort": port, "SlurmctldPidFile": f"{folder}/run/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/run/slurmd-%n.pid", "SlurmctldLogFile": f"{folder}/log/slurmctld",
        "SlurmdLogFile": f"{folder}/log/slurmd-%n", "StateSaveLocation": f"{folder}/state",
        # PMIx has folders of each node below the latter.
        "SlurmdSpoolDir": f"{folder}/state/%n", "TmpFS": f"{folder}/tmp/%n", "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none", "AccountingStorageType": "accounting_storage/none",
        "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU", "SchedulerType": "sched/backfill",
        "SchedulerParameters": "sched_interval=1,batch_sched_delay=1,permit_job_expansion", "MpiDefault": "none", "KillWait": 8,
        "ReturnToService": 2, "SlurmdTimeout": 60, "SlurmdParameters": "config_overrides",
        **slurm_changes.SETTINGS,
    }
    nodes = (f"NodeName=n[1-{NODES}] NodeHostname={host} NodeAddr=127.0.0.1 Port={port + 1}-{port + NODES} "
             "CPUs=2 RealMemory=1000 State=UNKNOWN")
    part = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverTimeLimit=0 PreemptMode=OFF"
    return "\n".join([*(f"{key}={value}" for key, value in lines.items()), nodes, part, slurm_changes.PARTITIONS, ""])


@contextmanager
def cluster(folder: Path):
    """Runs the daemons, and ends them by their process ids."""
    for name in ("run", "log", "state", "munge", *(f"tmp/n{node}" for node in range(1, NODES + 1))):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(configuration(folder, host, free_ports(NODES + 1)))
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    daemons = []

    def daemon(*words: str) -> None:
        daemons.append(subprocess.Popen([tool_path(words[0]), *words[1:]], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        munge = folder / "munge"
        daemon("munged", "-F", "--force", "--key-file", str(key), "--socket", str(munge / "socket"), "--pid-file",
               str(munge / "pid"), "--log-file", str(munge / "log"), "--seed-file", str(munge / "seed"))
        until = time.monotonic() + 60
        while not (munge / "socket").exists() and time.monotonic() < until:
            time.sleep(0.1)
        daemon("slurmctld", "-D", "-f", str(conf))
        for node in range(1, NODES + 1):
            daemon("slurmd", "-D", "-f", str(conf), "-N", f"n{node}")
        while time.monotonic() < until:
            idle = subprocess.run([tool_path("sinfo"), "-h", "-t", "idle", "-o", "%D"], env=environment,
                                  capture_output=True, text=True).stdout.strip()
            if idle == str(NODES):
                break
            time.sleep(0.2)
        else:
            raise RuntimeError("Slurm did not start: " + (folder / "log" / "slurmctld").read_text()[-300:])
        yield {"SLURM_CONF": str(conf)}
    finally:
        for process in reversed(daemons):
            process.terminate()
        for process in reversed(daemons):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Jobs:
    """Runs commands and batch scripts under the Slurm."""

    def __init__(self, setting: Setting, environment: dict[str, str], program: Path):
        self.setting, self.environment, self.program = setting, environment, program
        self.launcher = setting.dist / "bin" / "ftmpiexec"

    def run(self, *words: str | Path) -> Outcome:
        return run([tool_path(str(words[0])), *map(str, words[1:])], timeout=90, cwd=self.setting.new_folder("run"),
                   env=self.environment)

    def submit(self, folder: Path, options: list[str], body: str) -> str:
        script = folder / "script.sh"
        script.write_text(f"#!/bin/bash\n{body}\n")
        done = run([tool_path("sbatch"), "--parsable", "--output", folder / "output", *options, script], timeout=30,
                   cwd=folder, env=self.environment)
        return done.out.strip()

    def wait_for(self, folder: Path, text: str, seconds: float) -> str:
        """The output of a batch job, once it has this text or the time is over."""
        until = time.monotonic() + seconds
        while True:
            output = (folder / "output").read_text(errors="replace") if (folder / "output").exists() else ""
            if text in output or time.monotonic() > until:
                return output
            time.sleep(0.1)


    def wait_for_ranks(self, count: int, seconds: float = 20) -> None:
        """Until so many processes of the program run, and have had time for MPI_Init."""
        until = time.monotonic() + seconds
        while processes_of(self.program) < count and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)


def processes_of(program: Path) -> int:
    """How many processes on this machine run this file."""
    found = 0
    for link in Path("/proc").glob("[0-9]*/exe"):
        with suppress(OSError):
            found += os.readlink(link) == str(program.resolve())
    return found


def expected_sum(ranks: int, steps: list[str]) -> str:
    return f"{sum(sum(range(ranks)) + ranks * step for step in range(int(steps[0])))}"


def lacks(output: str, *texts: str) -> str | None:
    wanted = [text for text in texts if text not in output]
    return f"no `{wanted[0]}` in: …{' | '.join(output.splitlines()[-8:])[-900:]}" if wanted else None


def ranks_of(output: str, ranks: int, steps: list[str] = STEPS) -> list[str]:
    return [f"rank {rank} of {ranks}: {expected_sum(ranks, steps)}" for rank in range(ranks)]


def slurm(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    why = missing()
    if why:
        setting.results.skip("slurm", why)
        return
    program, made = build.build(setting, TESTS / "batch" / "steps.c")
    if program is None:
        setting.results.bad("steps compiles", made.output_tail())
        return
    folder = setting.new_folder("slurm")
    shutil.rmtree(folder)
    try:
        with cluster(folder) as environment:
            jobs = Jobs(setting, environment, program)
            direct_starts(setting, jobs)
            direct.under_slurm(setting, jobs)
            a_signal_at_the_steps(setting, jobs)
            a_cancelled_job_goes_on(setting, jobs)
            a_script_of_ftmpiexec(setting, jobs)
            a_node_goes_down(setting, jobs)
            if setting.full:
                slurm_changes.an_allocation_grows(setting, jobs)
                for partition in ("low", "lowest"):
                    slurm_changes.a_job_makes_room(setting, jobs, partition)
    except RuntimeError as error:
        setting.results.bad("slurm", str(error))


def direct_starts(setting: Setting, jobs: Jobs) -> None:
    alone = jobs.run("srun", "-n", "2", jobs.program)
    setting.results.check("slurm: srun of a program says what to type",
                          lacks(alone.err, "started this program as one of 2", "ftmpiexec -n 2", "--mpi=pmi2")
                          if alone.code else f"ended with {alone.code}")
    twice = jobs.run("srun", "-n", "2", jobs.launcher, "-n", "2", jobs.program)
    setting.results.check("slurm: srun of ftmpiexec says what to type",
                          lacks(twice.err, "started ftmpiexec 2 times") if twice.code else "ended with 0")
    allowed = run([tool_path("srun"), "-n", "2", jobs.program], timeout=60, cwd=setting.new_folder("run"),
                  env={**jobs.environment, "FTMPI_SINGLETON": "1"})
    setting.results.check("slurm: separate jobs of one rank, if they are wanted",
                          problem_of(allowed, 0, "rank 0 of 1"))
    given = jobs.run("salloc", "-N", "2", "-n", "3", jobs.launcher, "-v", jobs.program)
    on = {line.rsplit(" ", 1)[1] for line in given.err.splitlines() if ": process " in line}
    problem = problem_of(given, 0, "rank 2 of 3")
    if problem is None and len(on) != 2:
        problem = f"ranks on {on or 'no node'}"
    setting.results.check("slurm: hosts and ranks of an allocation", problem)
    named = jobs.run("salloc", "-N", "2", "-n", "2", jobs.launcher, "--launcher", "slurm", "-launcher-exec", tool_path("srun"),
                     "--rsh-options=--mem=0", "-ppn", "1", "-prepend-pattern", "%h ", jobs.program)
    on = {line.split(" rank ")[0] for line in named.out.splitlines() if " rank " in line}
    setting.results.check("slurm: another srun, with more options",
                          problem_of(named, 0) or (None if len(on) == 2 else f"ranks on {on or 'no node'}"))


def a_signal_at_the_steps(setting: Setting, jobs: Jobs) -> None:
    """Slurm signals the steps, not the script: the agents tell the launcher."""
    folder = setting.new_folder("signal")
    job = jobs.submit(folder, ["-N", "1", "-n", "2"],
                      f"{jobs.launcher} --job-dir job {jobs.program} {' '.join(STEPS)}; echo code $?")
    jobs.wait_for(folder, "job directory", 20)
    jobs.wait_for_ranks(2)
    jobs.run("scancel", "--signal=TERM", job)
    output = jobs.wait_for(folder, "code ", 30)
    problem = lacks(output, "every rank that can has a last image", "code 75")
    if problem is None and "restarting" in output:
        problem = "SIGTERM of Slurm ended ranks: " + output[-300:]
    setting.results.check("slurm: SIGTERM at the steps takes last images", problem)


def a_cancelled_job_goes_on(setting: Setting, jobs: Jobs) -> None:
    """The same script begins the job and continues it after scancel."""
    folder = setting.new_folder("cancel")
    body = f"{jobs.launcher} --job-dir job --auto-restart {jobs.program} {' '.join(STEPS)}; echo code $?"
    job = jobs.submit(folder, ["-N", "2", "-n", "4"], body)
    jobs.wait_for(folder, "job directory", 20)
    jobs.wait_for_ranks(4)
    jobs.run("scancel", job)
    output = jobs.wait_for(folder, "to go on:", 20)
    setting.results.check("slurm: scancel takes last images", lacks(output, "every rank that can has a last image"))
    until = time.monotonic() + 20
    while jobs.run("squeue", "-h").out.strip() and time.monotonic() < until:
        time.sleep(0.2)
    (folder / "output").unlink()
    jobs.submit(folder, ["-N", "2", "-n", "4"], body)
    output = jobs.wait_for(folder, "code ", 60)
    setting.results.check("slurm: the same script continues",
                          lacks(output, "4 of 4 ranks from images", *ranks_of(output, 4), "code 0"))
    (folder / "output").unlink()
    jobs.submit(folder, ["-N", "2", "-n", "4"], body)
    output = jobs.wait_for(folder, "code ", 30)
    setting.results.check("slurm: a job that has ended does not run again",
                          lacks(output, "has ended with exit code 0", "code 0"))


def a_script_of_ftmpiexec(setting: Setting, jobs: Jobs) -> None:
    """`ftmpiexec sbatch --submit`: a signal puts the job back into the queue, and the next run continues; a cancelled
    job does not come back."""
    folder = setting.new_folder("script")
    words = [jobs.launcher, "sbatch", "-N", "2", "-n", "2", "--output", folder / "output", "--submit", jobs.program, *SHORT]

    def submit() -> str:
        done = run(words, timeout=30, cwd=folder, env={**jobs.environment, "PATH": f"/usr/sbin:{os.environ['PATH']}"})
        job = done.out.strip().split(" ")[-1]
        jobs.wait_for(folder, "job directory", 20)
        jobs.wait_for_ranks(2)
        return job

    job = submit()
    jobs.run("scancel", "--signal=TERM", "--batch", job)
    output = jobs.wait_for(folder, "to go on:", 20)
    problem = lacks(output, "every rank that can has a last image")
    # Slurm would wait two minutes, so that nothing of the first run is left. A run that is asked for earlier fails.
    continued = ranks_of(output, 2, SHORT)[0]
    until = time.monotonic() + 90
    pending = 0
    while continued not in output and time.monotonic() < until:
        pending = pending + 1 if jobs.run("squeue", "-h", "-j", job, "-o", "%T").out.strip() == "PENDING" else 0
        if pending >= 3:
            jobs.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        output = jobs.wait_for(folder, continued, 2)
    problem = problem or lacks(output, "2 of 2 ranks from images", *ranks_of(output, 2, SHORT))
    if problem:
        problem += " | Slurm: " + " ".join(jobs.run("scontrol", "show", "job", job).out.split())[:900]
    setting.results.check("slurm: a script of ftmpiexec returns to the queue and continues", problem)
    (folder / "output").unlink()
    job = submit()
    jobs.run("scancel", job)
    jobs.wait_for(folder, "to go on:", 20)
    until = time.monotonic() + 20
    while jobs.run("squeue", "-h", "-j", job).out.strip() and time.monotonic() < until:
        time.sleep(0.2)
    left = jobs.run("squeue", "-h", "-j", job).out.strip()
    setting.results.check("slurm: a cancelled job does not come back", f"it is {left}" if left else None)


def a_node_goes_down(setting: Setting, jobs: Jobs) -> None:
    folder = setting.new_folder("down")
    jobs.submit(folder, ["--no-kill", "-N", str(NODES), "-n", str(NODES)],
                f"{jobs.launcher} -v --ckpt-interval 500ms -prepend-pattern '%h ' {jobs.program} {' '.join(STEPS)}; echo code $?")
    jobs.wait_for(folder, ": process ", 20)
    time.sleep(2.5)
    jobs.run("scontrol", "update", f"nodename=n{NODES}", "state=down", "reason=test")
    output = jobs.wait_for(folder, "code ", 90)
    problem = lacks(output, "moves to", *ranks_of(output, NODES), "code 0")
    if problem is None and f"n{NODES} rank " in output:
        problem = "the prefix names the node that went down"
    setting.results.check("slurm: a node goes down", problem)

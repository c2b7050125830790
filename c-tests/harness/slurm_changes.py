"""What takes a minute on a real Slurm: an allocation that grows while its job runs, and a job that makes room for another
one of higher priority and goes on later."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from . import build
from .core import TESTS, Setting, problem_of, run, which

if TYPE_CHECKING:
    from .slurm import Jobs

# Seconds from the first signal of a preemption to the end of a job in `low`.
GRACE = 20
# Whoever runs in `low` or `lowest` makes room for `high`; jobs in `low` are told so before.
PARTITIONS = "\n".join(f"PartitionName={name} Nodes=ALL MaxTime=INFINITE State=UP {rest}" for name, rest in (
    ("low", f"PriorityTier=1 PreemptMode=REQUEUE GraceTime={GRACE}"), ("lowest", "PriorityTier=1 PreemptMode=REQUEUE"),
    ("high", "PriorityTier=9 PreemptMode=OFF")))
SETTINGS = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
# The launcher asks once a minute.
JOIN_LIMIT = 150


def wait_until(what, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.3)
    return True


def tool(name: str) -> str:
    return which(name) or f"/usr/sbin/{name}"


def lacks(output: str, *texts: str) -> str | None:
    wanted = [text for text in texts if text not in output]
    return f"no `{wanted[0]}` in: …{' | '.join(output.splitlines()[-8:])[-900:]}" if wanted else None


def state_of(jobs: Jobs, job: str) -> str:
    return jobs.run("squeue", "-h", "-j", job, "-o", "%T").out.strip()


def an_allocation_grows(setting: Setting, jobs: Jobs) -> None:
    """A second job gives its node to the first one. The node is a spare host, and takes the ranks of one that goes
    down."""
    program, made = build.build(setting, TESTS / "programs" / "until.c")
    if program is None:
        return setting.results.bad("until compiles", made.output_tail())
    folder = setting.new_folder("grows")
    over = folder / "over"
    job = jobs.submit(folder, ["--no-kill", "-N", "2", "-n", "2"],
                      f"{jobs.launcher} -v --ckpt-interval 500ms {program} {over}; echo code $?")
    jobs.wait_for(folder, "step", 30)
    # (A job with steps, as a script is one, cannot give away its nodes.)
    given = jobs.run("salloc", f"--dependency=expand:{job}", "-N", "1", "-w", "n3", "sh", "-c",
                     f"{tool('scontrol')} update JobId=$SLURM_JOB_ID NumNodes=0 && echo given")
    problem = problem_of(given, 0, "given")
    def nodes() -> str:
        return jobs.run("squeue", "-h", "-j", job, "-o", "%D").out.strip()

    if problem is None and not wait_until(lambda: nodes() == "3", 30):
        problem = f"Slurm gave it {nodes()} nodes"
    output = jobs.wait_for(folder, "has joined the job", JOIN_LIMIT)
    problem = problem or lacks(output, "has joined the allocation", "has joined the job")
    setting.results.check("slurm: a node that joins is a spare host", problem)
    new = output.split(" has joined the job")[0].split()[-1] if problem is None else "?"
    first = [line.rsplit(" ", 1)[1] for line in output.splitlines() if ": process " in line]
    on = jobs.run("squeue", "-h", "-j", job, "-o", "%B").out.strip()
    # (The launcher runs on the first node.)
    victim = next((node for node in first if node != on), "?")
    jobs.run("scontrol", "update", f"nodename={victim}", "state=down", "reason=test")
    output = jobs.wait_for(folder, "is back from image", 60)
    over.touch()
    output = jobs.wait_for(folder, "code ", 60)
    jobs.run("scontrol", "update", f"nodename={victim}", "state=resume")
    setting.results.check("slurm: it takes the ranks of a node that goes down",
                          problem or lacks(output, f"moves to {new}", "code 0"))


def a_job_makes_room(setting: Setting, jobs: Jobs, partition: str) -> None:
    """A job of higher priority takes the nodes: last images. Afterwards the same job goes on."""
    name = f"slurm: a job of partition {partition} that makes room"
    folder = setting.new_folder(f"room-{partition}")
    over = folder / "over"
    program, made = build.build(setting, TESTS / "programs" / "until.c")
    if program is None:
        return setting.results.bad("until compiles", made.output_tail())
    words = [jobs.launcher, "sbatch", "-p", partition, "-N", "2", "-n", "2", "--output", folder / "output", "--submit", program,
             over]
    done = run(words, timeout=30, cwd=folder, env={**jobs.environment, "PATH": f"/usr/sbin:{os.environ['PATH']}"})
    job = done.out.strip().split(" ")[-1]
    jobs.wait_for(folder, "step", 30)
    other = jobs.submit(setting.new_folder("high"), ["-p", "high", "-N", "4", "-n", "8"], "sleep 2")
    output = jobs.wait_for(folder, "to go on:", GRACE + 40)
    if not setting.results.check(f"{name} takes last images", lacks(output, "every rank that can has a last image")):
        jobs.run("scancel", job, other)
        return
    wait_until(lambda: not state_of(jobs, other), 60)
    over.touch()
    # Slurm would wait two minutes with the next run. A run that is asked for too early fails.
    pending = 0
    until = time.monotonic() + 120
    wanted = "2 of 2 ranks from images"
    while wanted not in output and time.monotonic() < until:
        pending = pending + 1 if state_of(jobs, job) == "PENDING" else 0
        if pending >= 3:
            jobs.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        output = jobs.wait_for(folder, wanted, 2)
    wait_until(lambda: state_of(jobs, job) not in ("RUNNING", "COMPLETING"), 60)
    text = " ".join(jobs.run("scontrol", "show", "job", job).out.split())
    problem = lacks((folder / "output").read_text(), wanted) or lacks(text, "JobState=COMPLETED")
    setting.results.check(f"{name} goes on by itself", problem)
    jobs.run("scancel", job)

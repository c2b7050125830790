"""Tests that a wave that a kill interrupts is abandoned: its images are never offered to a later launcher."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from . import reports
from .core import Setting, run
from .jobs import RANKS, TOO_SOON, Job, Jobs, rank_failures, judge, program_pids, retry_with_more_work


class WaveBreaker:
    """Kills rank 1 while a wave has an image of rank 0 and none of rank 1. The first wave does not count. Then waits
    for the new processes, and records whether the server still offers that image of rank 0."""

    def __init__(self, folder: Path, program: Path):
        self.folder, self.program = folder, program
        self.wave = 0
        self.before: list[int] = []
        self.left: list[str] | None = None

    def images(self, rank: int) -> dict[int, str]:
        """The complete images of a rank: number of the wave, and name of the file."""
        found = {}
        for file in self.folder.glob(f"checkpoint-server-*/r{rank:010}-i*-n*.image"):
            found[int(file.name.split("-")[1][1:])] = file.name
        return found

    def __call__(self, process) -> None:
        if self.left is not None:
            return
        pids = program_pids(process.pid, self.program)
        if not self.wave:
            new = self.images(0).keys() - self.images(1).keys()
            victim = [pid for pid in pids if rank_of(pid) == 1]
            if not new or max(new) < 2 or len(pids) < RANKS or not victim:
                return
            self.wave, self.before = max(new), pids
            os.kill(victim[0], signal.SIGKILL)
        elif len(pids) == RANKS and not set(pids) & set(self.before):
            self.left = [name for wave, name in self.images(0).items() if wave == self.wave]


def rank_of(pid: int) -> int | None:
    """The rank of a process, from the process's environment."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    found = re.search(rb"\0?FTMPI_RANK=rank=(\d+)", text)
    return int(found[1]) if found else None


def abandoned_wave(setting: Setting, library: Path) -> None:
    """After all ranks return to a wave, `--restart` is offered no image of a newer wave."""
    for protocol in ("coordinated", f"plugin:{library}"):
        test = f"a rank killed within a wave, {protocol.split(':')[0]}: its images are given up"
        job, why = Jobs(setting, 12).make("uneven", setting.seed)
        if job is None:
            setting.results.bad(test, why)
            continue

        def attempt(factor: int, job: Job = job, protocol: str = protocol) -> tuple[str | None, str]:
            where = setting.new_folder("run")
            file, folder = where / "report.json", where / "job"
            breaker = WaveBreaker(folder, job.program)
            options = ["--protocol", protocol, "--ckpt-interval", "2s", "--compress", "0",
                       "--job-dir", folder, "--report", file]
            outcome = run([*setting.mpiexec(RANKS, *options), *job.command(factor)],
                          timeout=setting.timeout, cwd=where, meanwhile=breaker)
            # Without a death there is nothing to judge.
            problem, note = judge(outcome, file, job.expected_text, 1 if breaker.wave else 0)
            report, _ = reports.read(file)
            images = [failure["image"] for failure in rank_failures(report or {})]
            if problem is None and (breaker.left is None or breaker.wave in images):
                problem = f"{TOO_SOON}: rank 1 did not die within a wave"
            if problem is None and breaker.left:
                problem = f"an image of the abandoned wave is still there: {', '.join(breaker.left)}"
            return problem, note

        setting.results.check(test, *retry_with_more_work(attempt))

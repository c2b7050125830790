"""Tests jobs on hosts with little: a control group with a memory limit, a disk without room for messages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import build
from .core import TESTS, Setting, problem_of, run
from .jobs import LOGGING

# The memory of the test's control group, and the part of it that sender logs may hold by default.
GROUP_BYTES = 512 << 20
LOGS_PART = 4
# A disk that is full after some messages. An image does not fit.
DISK_BYTES = 6 << 20
# All messages of so many rounds of two ranks do not fit on this disk.
LOGS_ROUNDS, LOGS_DISK_BYTES = 6000, 600 << 20


def memory_group() -> tuple[Path, str] | str:
    """The folder of a new control group with a memory limit and the name of the file with its processes; or why there
    is none."""
    if os.geteuid() != 0:
        return "needs root for a control group"
    old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    name = f"ftmpi-test-{os.getpid()}"
    for top, limit in ((old, "memory.limit_in_bytes"), (new, "memory.max")):
        folder = top / name
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit).write_text(str(GROUP_BYTES))
            return folder, "cgroup.procs"
        except OSError:
            folder.rmdir()
    return "no control group with a memory limit can be made here"


def logs_follow_the_control_group(setting: Setting) -> None:
    test = "the default of --log-limit follows the control group"
    program, made = build.build(setting, TESTS / "programs" / "log_limit.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        return
    group = memory_group()
    if isinstance(group, str):
        setting.results.skip(test, group)
        return
    folder, processes = group
    enter = ["sh", "-c", f'echo $$ >{folder / processes} && exec "$@"', "sh"]
    try:
        for ranks in (1, 4):
            outcome = run([*enter, *setting.mpiexec(ranks, *LOGGING), program], timeout=60, cwd=setting.new_folder("bounds"))
            problem = problem_of(outcome)
            wanted = GROUP_BYTES // LOGS_PART // ranks
            limits = [int(line.split(": ")[1]) for line in outcome.out.splitlines() if line.startswith("rank ")]
            if problem is None and limits != [wanted] * ranks:
                problem = f"the ranks may hold {limits}, should be {wanted} each"
            setting.results.check(f"{test}, {ranks} ranks", problem)
    finally:
        try:
            folder.rmdir()
        except OSError:
            pass


@contextmanager
def flood_on_a_small_disk(setting: Setting, test: str, size: int) -> Iterator[tuple[Path, Path] | None]:
    """The program `flood` and a file system of so many bytes, below a folder of its own. None: the reason is reported."""
    program, made = build.build(setting, TESTS / "programs" / "flood.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        yield None
        return
    if os.geteuid() != 0:
        setting.results.skip(test, "needs root for a small file system")
        yield None
        return
    small = setting.new_folder("bounds") / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(small)],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        setting.results.skip(test, f"cannot mount: {mounted.stderr.strip()}")
        yield None
        return
    try:
        yield program, small
    finally:
        subprocess.run(["umount", "-l", str(small)], capture_output=True)


def channel_memory_without_room(setting: Setting) -> None:
    test = "a channel memory without room on its disk: the job ends after --storage-patience and can go on"
    with flood_on_a_small_disk(setting, test, DISK_BYTES) as there:
        if there is None:
            return
        program, small = there
        job = small / "job"
        outcome = run([*setting.mpiexec(2, "--protocol", "channel-memory", "--storage-patience", "2s", "--memory-limit",
                                        "1", "--ckpt-interval", "1s", "--job-dir", job), program, "400"],
                      timeout=60, cwd=small.parent)
        problem = problem_of(outcome, code=75)
        for text in ("cannot store what ranks send", "could not store what ranks sent for 2 s", "--restart"):
            if problem is None and text not in outcome.err:
                problem = f"`{text}` is not said: {outcome.output_tail()}"
        setting.results.check(test, problem)
        if problem is not None:
            return
        # With room the job goes on.
        roomy = subprocess.run(["mount", "-o", "remount,size=400m", str(small)], capture_output=True, text=True)
        outcome = run([setting.launcher, "--restart", job], timeout=60, cwd=small.parent)
        problem = roomy.stderr.strip() or problem_of(outcome, expected_text="flood of 400 rounds: ok")
        setting.results.check("with room the job goes on where its channel memory stood still", problem or None)


def logs_ask_for_images(setting: Setting) -> None:
    """All messages together do not fit on the disk, and no image is due."""
    test = "logs that take more of a disk than they leave lead to images, which cut them"
    with flood_on_a_small_disk(setting, test, LOGS_DISK_BYTES) as there:
        if there is None:
            return
        program, small = there
        outcome = run([*setting.mpiexec(2, "--protocol", "channel-memory", "--storage-patience", "20s", "--memory-limit",
                                        "1", "--ckpt-interval", "1h", "--job-dir", small / "job"), program, str(LOGS_ROUNDS)],
                      timeout=max(setting.timeout, 150), cwd=small.parent)
        problem = problem_of(outcome, expected_text=f"flood of {LOGS_ROUNDS} rounds: ok")
        if problem is None and outcome.err.count("images are taken now") != 1:
            problem = f"it is not said once that images are taken: {outcome.output_tail()}"
        setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def bounds(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    logs_ask_for_images(setting)
    logs_follow_the_control_group(setting)
    channel_memory_without_room(setting)

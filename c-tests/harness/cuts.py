"""Tests that ranks reconnect after their connections break while no rank dies. Nothing is lost and no process is
replaced. Under `none` a broken connection is one clear error. The test shuts the sockets down from outside
(`pidfd_getfd`), as a router that forgets a connection does."""

from __future__ import annotations

import ctypes
import os
import random
import socket
import time
from pathlib import Path

from . import reports
from .bad_input import error_message_problem
from .core import Setting, run
from .jobs import LOGGING, RANKS, Jobs, judge, program_pids

SYS_PIDFD_GETFD = 438
EVERY_S = 0.25


class Cutter:
    """Shuts down a random connection of a random rank, again and again."""

    def __init__(self, program: Path, seed: int, most: int = 1000, memories: bool = False):
        self.program, self.random, self.left = program, random.Random(seed), most
        # All sockets of ranks lead to channel memories. A connection between two ranks is an error.
        self.memories, self.between_ranks = memories, 0
        self.next = time.monotonic() + 1.0
        self.cut = 0
        self.libc = ctypes.CDLL(None, use_errno=True)

    def __call__(self, process) -> None:
        if time.monotonic() < self.next or self.left <= 0:
            return
        self.next = time.monotonic() + EVERY_S
        # Both ends of a channel between ranks are in ranks. Servers and agents are left alone.
        ends = [end for pid in program_pids(process.pid, self.program) for end in sockets(pid)]
        inner = {(mine, theirs) for _, _, mine, theirs in ends}
        between = [end for end in ends if (end[3], end[2]) in inner]
        self.between_ranks += len(between)
        if not self.memories:
            ends = between
        if ends:
            pid, fd, *_ = self.random.choice(ends)
            if self.shut(pid, fd):
                self.cut += 1
                self.left -= 1

    def shut(self, pid: int, fd: int) -> bool:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            return False
        try:
            copy = self.libc.syscall(SYS_PIDFD_GETFD, handle, fd, 0)
            if copy < 0:
                return False
            with socket.socket(fileno=copy) as theirs:
                theirs.shutdown(socket.SHUT_RDWR)
            return True
        except OSError:
            return False
        finally:
            os.close(handle)


def sockets(pid: int) -> list[tuple[int, int, str, str]]:
    """The connected TCP sockets of a process: (pid, descriptor, own address, peer's address)."""
    try:
        table = Path("/proc", str(pid), "net/tcp").read_text().splitlines()[1:]
        by_inode = {}
        for line in table:
            words = line.split()
            if words[3] == "01":
                by_inode[words[9]] = (words[1], words[2])
        found = []
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:[") and target[8:-1] in by_inode:
                found.append((pid, int(name), *by_inode[target[8:-1]]))
        return found
    except OSError:
        return []


def missing_feature() -> str | None:
    """The reason why this machine cannot copy a descriptor of another process, or None."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.pidfd_open(os.getpid())
    copy = libc.syscall(SYS_PIDFD_GETFD, handle, 0, 0)
    os.close(handle)
    if copy < 0:
        return f"pidfd_getfd: {os.strerror(ctypes.get_errno())}"
    os.close(copy)
    return None


def cuts(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    reason = missing_feature()
    if reason:
        setting.results.skip("connections cut", reason)
        return
    jobs = Jobs(setting, 4)
    for name in ("probe_loop", "traffic", "collectives") if setting.full else ("traffic",):
        protocol = setting.protocol_options() or LOGGING
        test = " ".join([f"connections cut again and again under {name}, seed {setting.seed}", *protocol])
        prepared = jobs.prepare(test, name, setting.seed)
        if prepared is None:
            continue
        job, where, file = prepared.job, prepared.where, prepared.report
        memories = "channel-memory" in protocol
        cutter = Cutter(job.program, setting.seed, memories=memories)
        outcome = run(
            [*setting.mpiexec(RANKS, "--transport", "tcp", "--report", file, *protocol), job.program,
             *job.arguments], timeout=setting.timeout, cwd=where, meanwhile=cutter)
        problem, note = judge(outcome, file, job.expected_text, 0)
        report, _ = reports.read(file)
        if problem is None and report and report["failures"]:
            problem = f"a cut was taken for a death: {report['failures'][0]}"
        if problem is None and cutter.cut < 4:
            problem = f"only {cutter.cut} connections could be cut"
        if problem is None and memories and cutter.between_ranks:
            problem = "ranks were connected to one another"
        setting.results.check(test, problem, f"{note}, {cutter.cut} cuts")
    job, why = Jobs(setting, 20).make("traffic", setting.seed)
    if job is None:
        setting.results.bad("a connection cut under `none`", why)
        return
    outcome = run(
        [*setting.mpiexec(RANKS, "--transport", "tcp", "--protocol", "none"), job.program,
         *job.arguments], timeout=setting.timeout, cwd=setting.new_folder("run"),
        meanwhile=Cutter(job.program, setting.seed, 1))
    setting.results.check("a connection cut under `none` is one clear error",
                          error_message_problem(outcome, "lost its connection to rank"))

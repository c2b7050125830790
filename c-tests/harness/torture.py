"""Tests images of every kind of state. Each program is killed at random moments and restored from its images many
times, and must continue its computation.

A test counts only if the report shows the wanted number of restores from images. A rank that is killed before its first
image begins again, which does not count."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from . import build, imb, reports
from .core import ROOT, TESTS, Outcome, Setting, problem_of, run, which

KINDS = ["sparse", "shared", "huge", "memfd", "brk", "stack", "files", "deleted", "pipes", "signals",
         "timers", "dlopen", "threads", "registers", "append", "mapped", "masks", "clock", "few", "fewest", "loop", "base",
         "children", "openmp",
         "units", "interpreter"]
FAILED = "it does not compile"
# Where small files return with the ranks.
PROTOCOL = {"base": ["--protocol", "coordinated"]}
# Over sockets: over shared memory, descriptors of the library could be in a program's way.
OPTIONS = {"few": ["--transport", "tcp"], "fewest": ["--transport", "tcp"]}
# Milliseconds between two failures. On a slow machine the time grows, so that images are taken in between.
EVERY, EVERY_MAX = 600, 20000
RANKS = 2
# Steps of one pass. A step takes a millisecond or more.
STEPS = 4000


def restores(report: dict) -> int:
    return sum(1 for failure in report["failures"] if failure["recovery"] and failure["image"])


def torture(setting: Setting, wanted: int, kinds: list[str], as_user: bool) -> None:
    if not setting.dist_is_built():
        return
    user: list[str] = []
    if as_user and os.geteuid() == 0:
        if which("setpriv") is None:
            setting.results.skip("torture: as an ordinary user", "there is no setpriv")
            return
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if not kinds:
        high_descriptor(setting)
        closes_all(setting)
    for kind in kinds or KINDS:
        program, why = program_of(setting, kind)
        if program is None:
            missing = kind in ("units", "interpreter") and not why.startswith(FAILED)
            (setting.results.skip if missing else setting.results.bad)(f"torture: {kind}", why)
        elif len(program) > 1:
            # The interpreter is in its user's folder, which other users may not read.
            torture_kind(setting, program, kind, wanted, [])
        else:
            torture_kind(setting, program, kind, wanted, user)


def program_of(setting: Setting, kind: str) -> tuple[list[str | Path] | None, str]:
    """The command for one kind of state, or the reason why there is none."""
    folder = TESTS / "torture"
    if kind == "interpreter":
        place, why = imb.environment(ROOT / ".peers", "mpi4py")
        if place is None:
            return None, why
        python = place / "bin" / "python"
        if run([python, "-c", "import numpy"], timeout=60).code != 0:
            why = imb.install_package(place, "numpy")
        return ([python, folder / "interpreter.py"], "") if not why else (None, why)
    if kind == "units" and not build.fortran_available(setting):
        return None, "no gfortran"
    program, made = build.build(setting, folder / ("units.f90" if kind == "units" else "state.c"))
    if program is None:
        return None, f"{FAILED}: {made.output_tail() if made else ''}"
    return [program], ""


def torture_kind(setting: Setting, parts: list[str | Path], kind: str, wanted: int, user: list[str]) -> None:
    test = f"torture: {kind}, {wanted} restores" + (", as an ordinary user" if user else "")
    done, seconds, passes, every = 0, 0.0, 0, EVERY
    program = parts[0]
    while done < wanted:
        where = setting.new_folder("run")
        launcher = setting.launcher
        if user:
            program, launcher = copy_for_user(setting, program, where)
            parts = [program]
        file = where / "report.json"
        # Each failure takes time: a pass with more wanted failures is longer.
        steps = min(STEPS, 400 * (wanted - done) + 400)
        command = [
            *user, launcher, "-n", str(RANKS), "--ckpt-interval", "150ms", "--report", file,
            "--max-restarts", "500", *(PROTOCOL.get(kind) or setting.protocol_options()),
            "--inject", f"kill:every={every}ms,count={wanted - done},seed={setting.seed + passes}",
            *OPTIONS.get(kind, []), *parts, "--what", kind, "--steps", str(steps),
        ]
        outcome: Outcome = run(command, timeout=setting.timeout + 10 * wanted, cwd=where)
        seconds += outcome.seconds
        passes += 1
        problem = problem_of(outcome, expected_text=f"state {kind} on {RANKS}: ok")
        report = None
        if problem is None:
            report, problem = reports.read(file)
        if problem or report is None:
            setting.results.bad(test, f"after {done} restores: {problem}")
            return
        images = report["checkpoints"]
        if images["failed"] > images["count"]:
            # An image that a kill interrupts is not a failure of the program. All others must succeed.
            setting.results.bad(test, f"{images['count']} images, {images['failed']} failed")
            return
        more = restores(report)
        if more == 0:
            every = min(2 * every, EVERY_MAX)
        if more == 0 and passes > 9:
            setting.results.bad(test, f"no restore from an image in pass {passes}")
            return
        done += more
    setting.results.check(test, None, f"{done} restores, {passes} passes, {seconds:.1f} s")


def high_descriptor(setting: Setting) -> None:
    """An image cannot contain this descriptor. The launcher reports the descriptor, and the rank is replayed from the
    start."""
    test = "torture: a descriptor among the library's"
    program, made = build.build(setting, TESTS / "programs" / "high_descriptor.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else FAILED)
        return
    outcome = run(
        [*setting.mpiexec(RANKS, "--ckpt-interval", "150ms", "--inject",
                          f"kill:every=700ms,count=3,seed={setting.seed}"), program, "1500", "200"],
        timeout=setting.timeout, cwd=setting.new_folder("run"),
    )
    problem = problem_of(outcome, expected_text=f"descriptor 1500 on {RANKS}: ok")
    if problem is None and "descriptor 1500 of the program (/dev/null) has a number" not in outcome.err:
        problem = f"no warning about the descriptor: {outcome.output_tail()}"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def closes_all(setting: Setting) -> None:
    """The library's descriptors stay open in every incarnation, even if a program closes all descriptors."""
    test = "torture: all descriptors closed"
    program, made = build.build(setting, TESTS / "programs" / "closes_all.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else FAILED)
        return
    report_file = setting.new_folder("run") / "report.json"
    outcome = run(
        [*setting.mpiexec(RANKS, "--ckpt-interval", "200ms", "--report", report_file, "--inject",
                          f"kill:every=900ms,count=3,seed={setting.seed}"), program, "300"],
        timeout=setting.timeout, cwd=report_file.parent,
    )
    problem = problem_of(outcome, expected_text=f"everything closed on {RANKS}: ok")
    if problem is None:
        report, problem = reports.read(report_file)
        if report is not None and restores(report) == 0:
            problem = "no incarnation began from an image"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def copy_for_user(setting: Setting, program: Path, where: Path) -> tuple[Path, Path]:
    """A copy of the installation that an ordinary user may run, and a directory for that user to write."""
    copy = setting.work / "for-user"
    if not copy.exists():
        shutil.copytree(setting.dist, copy / "dist", symlinks=True)
        for path in [copy, *copy.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH
                           | (0o111 if path.is_dir() or path.stat().st_mode & 0o100 else 0))
    copied = copy / program.name
    if not copied.exists():
        shutil.copy2(program, copied)
        # The wrappers record the path of the library, but the launcher's own path comes first.
        copied.chmod(0o755)
    for folder in [setting.work, where]:
        folder.chmod(0o755)
    os.chown(where, 65534, 65534)
    return copied, copy / "dist" / "bin" / "ftmpiexec"

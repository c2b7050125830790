"""Builds a copy of the user's sources of the NAS Parallel Benchmarks 3.4 outside of their tree, and runs classes,
ranks, protocols and transports. The sources are not part of this project, and nothing is downloaded."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import build
from .core import Outcome, Setting, problem_of, run, which
from .jobs import Job

SQUARE = {"bt", "sp"}
POWER_OF_TWO = {"cg", "ft", "is", "lu", "mg"}
SUCCESS = ("VERIFICATION SUCCESSFUL", "Verification    =               SUCCESSFUL",
           "Verification    =              SUCCESSFUL", "SUCCESSFUL")

MODES = [
    ("none", ["--protocol", "none"]),
    ("none tcp", ["--protocol", "none", "--transport", "tcp"]),
    ("pessimistic", ["--protocol", "pessimistic", "--events", "nondeterministic"]),
    ("pessimistic all", ["--protocol", "pessimistic", "--events", "all"]),
    ("pessimistic tcp", ["--protocol", "pessimistic", "--transport", "tcp"]),
    ("pessimistic all tcp",
     ["--protocol", "pessimistic", "--events", "all", "--transport", "tcp"]),
]


def allowed(kernel: str, ranks: int) -> bool:
    root = round(ranks**0.5)
    if kernel in SQUARE:
        return root * root == ranks
    if kernel in POWER_OF_TWO:
        return ranks & (ranks - 1) == 0
    return True


def verified(outcome: Outcome) -> str | None:
    problem = problem_of(outcome)
    if problem:
        return problem
    for line in outcome.out.splitlines():
        words = line.upper()
        if "VERIFICATION" in words and "SUCCESSFUL" in words and "UNSUCCESSFUL" not in words:
            return None
    return f"not verified; {outcome.output_tail()}"


class Suite:
    """A copy of the sources for one pair of wrappers."""

    def __init__(self, setting: Setting, sources: Path, peer: bool = False):
        self.setting = setting
        self.label = "peer" if peer else "ours"
        self.tree = setting.work / f"npb-{self.label}"
        self.problem: str | None = None
        if not (sources / "CG").is_dir() or not (sources / "sys").is_dir():
            self.problem = f"{sources} is not the folder NPB3.4-MPI (no CG, no sys)"
            return
        if not peer and not build.fortran_available(setting):
            self.problem = "no Fortran compiler"
            return
        if not (self.tree / "CG").exists():
            shutil.copytree(sources, self.tree, dirs_exist_ok=True)
        cc, fc = (build.PEER_CC, build.PEER_FC) if peer else (setting.cc, setting.fc)
        (self.tree / "bin").mkdir(exist_ok=True)
        (self.tree / "config" / "make.def").write_text(
            f"MPIFC = {fc}\nFLINK = $(MPIFC)\nFMPI_LIB =\nFMPI_INC =\n"
            "FFLAGS = -O3 -fallow-argument-mismatch -w\nFLINKFLAGS = $(FFLAGS)\n"
            f"MPICC = {cc}\nCLINK = $(MPICC)\nCMPI_LIB =\nCMPI_INC =\n"
            "CFLAGS = -O3 -w\nCLINKFLAGS = $(CFLAGS)\nCC = cc -g\nBINDIR = ../bin\n"
            "RAND = randi8\n"
        )

    def build(self, kernel: str, size: str) -> tuple[Path | None, str]:
        if self.problem:
            return None, self.problem
        program = self.tree / "bin" / f"{kernel}.{size}.x"
        if program.exists():
            return program, ""
        made = run(["make", "-C", self.tree, kernel, f"CLASS={size}"], timeout=600)
        if made.code != 0 or not program.exists():
            return None, f"does not compile: {made.output_tail()}"
        return program, ""

    def job(self, kernel: str, jobs):
        """A kernel in the smallest class that lasts as long as the runs with kills need."""
        for size in ("W", "A", "B", "C"):
            program, why = self.build(kernel, size)
            if program is None:
                return None, why
            key = f"npb-{kernel}-{size}"
            if key not in jobs.durations:
                outcome = run(
                    [*self.setting.mpiexec(jobs.ranks, "--protocol", "pessimistic"), program],
                    timeout=600,
                    cwd=self.setting.new_folder("run"),
                )
                problem = verified(outcome)
                if problem:
                    return None, f"class {size} without kills: {problem}"
                jobs.durations[key] = outcome.seconds
            if jobs.durations[key] >= jobs.seconds * 0.8:
                return Job(key, program, [], "SUCCESSFUL", jobs.durations[key]), ""
        return None, "no class lasts long enough"


def npb(
    setting: Setting,
    sources: Path,
    classes: list[str],
    kernels: list[str],
    ranks: list[int],
    peer_built: bool,
) -> None:
    if not setting.dist_is_built():
        return
    suites = [Suite(setting, sources)]
    if peer_built:
        if which(build.PEER_FC):
            suites.append(Suite(setting, sources, peer=True))
        else:
            setting.results.skip("npb built by MPICH's wrappers", f"{build.PEER_FC} is missing")
    for suite in suites:
        for kernel in kernels:
            for size in classes:
                program, why = suite.build(kernel, size)
                name = f"npb {kernel}.{size} ({suite.label})"
                if program is None:
                    setting.results.bad(name, why)
                    continue
                for n in ranks:
                    if not allowed(kernel, n):
                        continue
                    for label, options in MODES:
                        outcome = run(
                            [*setting.mpiexec(n, *options), program],
                            timeout=max(setting.timeout, 300),
                            cwd=setting.new_folder("run"),
                        )
                        setting.results.check(
                            f"{name} on {n}, {label}", verified(outcome), f"{outcome.seconds:.1f} s"
                        )

"""Runs programs of others that find MPI in their own ways: mpi4py's wheel, mpi4py compiled for the standard ABI, and
Debian's mocassin and yorick. Programs that are not installed are skipped."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from . import build, imb, mpi4py_suite
from .core import TESTS, Setting, problem_of, run, which

MODES = [["--protocol", "none"], ["--protocol", "pessimistic"]]

def programs(setting: Setting, peers: Path) -> None:
    if not setting.dist_is_built():
        return
    wheel, why = imb.environment(peers, "mpi4py")
    mpi4py(setting, "mpi4py", wheel, why)
    standard, why = mpi4py_suite.compiled_for_standard(setting, peers)
    mpi4py(setting, "mpi4py for the standard ABI", standard, why)
    for program, package, test in [("mocassin", "mocassin", mocassin), ("mpy.mpich2", "yorick-mpy-mpich2", yorick)]:
        if which(program) is None:
            setting.results.skip(program, f"not installed (Debian package {package})")
        else:
            test(setting)
    parts(setting)


def parts(setting: Setting) -> None:
    """A command with `:` is one job, and each process knows its part."""
    program, made = build.build(setting, TESTS / "programs" / "parts.c")
    if program is None:
        setting.results.bad("parts of a command", made.output_tail())
        return
    outcome = run([*setting.mpiexec(1), program, ":", "-n", "2", program, "a", ":", "-n", "1", program],
                  timeout=setting.timeout, cwd=setting.new_folder("run"))
    setting.results.check("parts of a command", problem_of(outcome, expected_text="1 102 102 201"),
                          f"{outcome.seconds:.1f} s")


def mpi4py(setting: Setting, name: str, folder: Path | None, why: str) -> None:
    if folder is None:
        setting.results.skip(name, why)
        return
    for ranks in (1, 3, 4):
        for mode in MODES:
            where = setting.new_folder("run")
            outcome = run(
                [*setting.mpiexec(ranks, *mode), folder / "bin" / "python",
                 TESTS / "programs" / "mpi4py_basics.py", where / "data"],
                timeout=setting.timeout, cwd=where,
            )
            setting.results.check(f"{name} on {ranks}, {mode[1]}",
                                  problem_of(outcome, expected_text=f"mpi4py on {ranks}: ok"),
                                  f"{outcome.seconds:.1f} s")


HII_REGION = Path("/usr/share/mocassin/benchmarks/gas/HII20")


def mocassin(setting: Setting) -> None:
    """A smaller form of the benchmark HII20 of Debian's mocassin-benchmarks, with fewer cells and photons. The clock
    seeds the photons, so the answer must be near the expected one, not equal."""
    if not (HII_REGION / "input.in").is_file():
        setting.results.skip("mocassin", "no input (Debian package mocassin-benchmarks)")
        return
    for ranks, mode in ((1, MODES[0]), (3, MODES[0]), (3, MODES[1])):
        where = setting.new_folder("run")
        (where / "output").mkdir()
        shutil.copytree(HII_REGION, where / "input")
        given = (where / "input" / "input.in").read_text()
        for key, value in {"autoPackets": None, "maxIterateMC": "2 100.", "nPhotons": "4000", "nx": "5",
                           "ny": "5", "nz": "5"}.items():
            line = f"{key} {value}" if value else ""
            given = re.sub(rf"(?m)^{key} .*$", line, given)
        (where / "input" / "input.in").write_text("\n".join(filter(None, given.splitlines())) + "\n")
        outcome = run([*setting.mpiexec(ranks, *mode), which("mocassin")], timeout=max(setting.timeout, 300),
                      cwd=where)
        problem = problem_of(outcome)
        if problem is None:
            problem = temperature_problem(where / "output" / "summary.out")
        setting.results.check(f"mocassin on {ranks}, {mode[1]}", problem, f"{outcome.seconds:.0f} s")


def temperature_problem(summary: Path) -> str | None:
    """Checks that the gas has the temperature of such a region after the second iteration."""
    if not summary.is_file():
        return "no summary was written"
    found = re.findall(r"T\(H\+\)\s+([\d.]+)", summary.read_text(errors="replace"))
    if len(found) < 4:
        return f"{len(found)} temperatures in the summary, must be 4"
    return None if 6000 < float(found[-1]) < 8500 else f"the gas has {found[-1]} K"


def yorick(setting: Setting) -> None:
    for mode in MODES:
        where = setting.new_folder("run")
        (where / "hello.i").write_text('if (!mp_rank) write, format="yorick on %ld\\n", mp_size;\nquit;\n')
        outcome = run([*setting.mpiexec(3, *mode), which("mpy.mpich2"), "-batch", "hello.i"],
                      timeout=setting.timeout, cwd=where)
        setting.results.check(f"yorick on 3, {mode[1]}", problem_of(outcome, expected_text="yorick on 3"))

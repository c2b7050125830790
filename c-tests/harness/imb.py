"""Runs IMB-MPI1, IMB-P2P, IMB-NBC, IMB-RMA and IMB-MT of the Python package `impi-rt`, without changes. The binaries
are linked to `libmpi.so.12`. The package is installed in a virtual environment below `.peers/`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from .core import Setting, problem_of, run, which

PACKAGE = "impi-rt"
# IMB-MT is linked to libiomp5.so, which this package has.
THREADS = "intel-openmp"


def environment(peers: Path, package: str, name: str = "", arguments: list[str] | None = None,
                env: dict[str, str] | None = None) -> tuple[Path | None, str]:
    """A virtual environment with one package, created if it is missing. `arguments` and `env` are for pip. `name`:
    another name of the folder."""
    folder = peers / (name or package)
    done = folder / "done"
    if done.exists():
        return folder, ""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = run([sys.executable, "-m", "venv", folder], timeout=300)
    if made.code != 0:
        return None, f"python3 -m venv: {made.output_tail()}"
    why = install_package(folder, package, arguments, env)
    if why:
        return None, why
    done.write_text("")
    return folder, ""


def install_package(folder: Path, package: str, arguments: list[str] | None = None,
                    env: dict[str, str] | None = None) -> str:
    """Installs one more package in an environment. Returns the reason of a failure."""
    got = run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *(arguments or []), package], timeout=900,
              env=env or {})
    return f"pip install {package}: {got.output_tail()}" if got.code != 0 else ""


def missing_library(program: Path, env: dict[str, str]) -> str:
    """The first library that a program would not find, except MPI, which the launcher provides."""
    for line in run(["ldd", program], timeout=20, env=env).out.splitlines():
        if "not found" in line and not line.strip().startswith("libmpi"):
            return line.split()[0]
    return ""


def find_program(folder: Path, name: str) -> Path | None:
    found = sorted(p for p in folder.rglob(name) if p.is_file())
    for path in found:
        path.chmod(path.stat().st_mode | 0o111)
        return path
    return None


def end_problem(suite: str, out: str) -> str | None:
    """The problem if a benchmark did not come to its end. IMB-MT prints nothing at its end, so the last table counts.
    """
    last = r"Benchmarking AllReduceMT\n.*\n.*\n.*\n( +[\d.]+){5}" if suite == "IMB-MT" else \
        "All processes entering MPI_Finalize"
    return None if re.search(last, out) else "did not come to its end"


def imb(setting: Setting, peers: Path, quick: bool) -> None:
    if not setting.dist_is_built():
        return
    results = setting.results
    folder, why = environment(peers, PACKAGE)
    if folder is None:
        results.skip("imb", why)
        return
    arguments = ["-iter", "20", "-time", "0.2", "-msglog", "0:16"] if quick else []
    modes = [("none", ["--protocol", "none"]), ("pessimistic", ["--protocol", "pessimistic"])]
    if setting.full:
        modes += [("none tcp", ["--protocol", "none", "--transport", "tcp"]),
                  ("pessimistic tcp", ["--protocol", "pessimistic", "--transport", "tcp"])]
    for suite in ("IMB-MPI1", "IMB-P2P", "IMB-NBC", "IMB-RMA", "IMB-MT"):
        program = find_program(folder, suite)
        if program is None:
            results.skip(suite, f"{PACKAGE} has none")
            continue
        env = {}
        if suite == "IMB-MT":
            # IMB-MT has options of its own.
            arguments = ["-count", "1,1000", "-repeat", "2"] if quick else []
            if not any(folder.rglob("libiomp5.so")):
                install_package(folder, THREADS)
            for library in folder.rglob("libiomp5.so"):
                env = {"LD_LIBRARY_PATH": str(library.parent.resolve()), "OMP_NUM_THREADS": "2"}
        lacking = missing_library(program, env)
        if lacking:
            results.skip(suite, f"{lacking} is not installed")
            continue
        for ranks in (2, 4):
            for label, options in modes:
                level = "serialized" if "channel-memory" in options else "multiple"
                threads = ["-thread_level", level]
                outcome = run(
                    [*setting.mpiexec(ranks, *options), program, *arguments,
                     *(threads if suite == "IMB-MT" else [])],
                    timeout=max(setting.timeout, 1800),
                    cwd=setting.new_folder("run"),
                    env=env,
                )
                problem = problem_of(outcome) or end_problem(suite, outcome.out)
                results.check(f"{suite} on {ranks}, {label}", problem, f"{outcome.seconds:.0f} s")
    netpipe = which("NPmpich2")
    if netpipe is None:
        results.skip("NPmpich2", "not installed (Debian package netpipe-mpich2)")
        return
    for label, options in modes:
        where = setting.new_folder("run")
        outcome = run(
            [*setting.mpiexec(2, *options), netpipe, "-u", "100000" if quick else "4000000"],
            timeout=max(setting.timeout, 900),
            cwd=where,
        )
        problem = problem_of(outcome)
        if problem is None and not (where / "np.out").exists():
            problem = "wrote no np.out"
        results.check(f"NPmpich2, {label}", problem, f"{outcome.seconds:.0f} s")

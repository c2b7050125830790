"""Runs mpi4py's own test suite: some 1900 tests from its source package in the Python registry, in the version whose
wheel is installed below `.peers/`. Each module is one job.

Modules about new processes run under `none` and the default protocol, since logging protocols do not offer them. Left
out: the tests in `EXCEPT`, which gives the reason of each."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

from . import imb
from .core import Outcome, Setting, problem_of, run

DYNAMIC = {"test_spawn", "test_dynproc"}
# testGetFortranInfo: the wheel was compiled with a header in which MPI_INTEGER16 is MPI_DATATYPE_NULL, although the
# library has that type. testIAgree: one rank starts an MPI_Iallreduce before a barrier and the others after the
# barrier, an order that MPI-4.1, 6.14 forbids.
EXCEPT = ["testGetFortranInfo", "testIAgree"]
# Without windows, because shared windows are refused where payloads are logged.
SHORT = ["test_p2p_obj", "test_op", "test_pack", "test_comm", "test_error", "test_request", "test_info", "test_group",
         "test_status"]
SUMMARY = re.compile(r"Ran (\d+) tests? in")


def sources(peers: Path) -> tuple[Path | None, Path | None, str]:
    """The environment with mpi4py and the folder with its tests, or the reason why there is none."""
    peers = peers.absolute()
    folder, why = imb.environment(peers, "mpi4py")
    if folder is None:
        return None, None, why
    tests = peers / "mpi4py-tests"
    if not (tests / "main.py").exists():
        asked = run([folder / "bin" / "python", "-c", "import mpi4py; print(mpi4py.__version__)"], timeout=60)
        version = asked.out.strip()
        got = run([folder / "bin" / "python", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                   "mpi4py", "--dest", peers / "mpi4py-source", f"mpi4py=={version}"], timeout=600)
        found = sorted((peers / "mpi4py-source").glob("mpi4py-*.tar.gz"))
        if got.code != 0 or not found:
            return None, None, f"no source package: {got.output_tail()}"
        with tarfile.open(found[0]) as package:
            package.extractall(peers / "mpi4py-source", filter="data")
        unpacked = found[0].with_name(found[0].name.removesuffix(".tar.gz"))
        shutil.copytree(unpacked / "test", tests, dirs_exist_ok=True)
    return folder, tests, ""


def compiled_for_standard(setting: Setting, peers: Path) -> tuple[Path | None, str]:
    """An environment with mpi4py compiled for libmpi_abi.so.1. Building it takes minutes."""
    compiler = setting.dist.absolute() / "bin" / "ftmpicc"
    return imb.environment(peers, "mpi4py", "mpi4py-standard", ["--no-binary", "mpi4py", "--no-cache-dir"],
                           {"MPI4PY_BUILD_MPICC": f"{compiler} -mpi-abi", "CFLAGS": "-O0 -g0"})


def mpi4py_suite(setting: Setting, peers: Path, sizes: list[int], short: bool = False, standard: bool = False,
                 only: list[str] | None = None) -> None:
    """`standard`: mpi4py is compiled for the standard ABI."""
    if not setting.dist_is_built():
        return
    folder, tests, why = sources(peers)
    if standard and folder is not None:
        folder, why = compiled_for_standard(setting, peers)
    if folder is None or tests is None:
        setting.results.skip("mpi4py's tests", why)
        return
    modules = SHORT if short else sorted(path.stem for path in tests.glob("test_*.py"))
    if only:
        modules = only
    called = "mpi4py's tests for the standard ABI" if standard else "mpi4py's tests"
    protocols = [setting.protocol_options()] if setting.protocol else [
        ["--protocol", "none"], ["--protocol", "auto"], ["--protocol", "pessimistic"]]
    for ranks in sizes:
        for protocol in protocols[-1:] if short else protocols:
            # In the short form all modules are one job.
            for chosen in [modules] if short else [[module] for module in modules]:
                offers = ["none", "auto"] if chosen[0] in DYNAMIC else ["none", "pessimistic"]
                if not setting.protocol and protocol[-1] not in offers:
                    continue
                outcome = module_run(setting, folder, tests, ranks, protocol, chosen)
                name = "a part" if short else chosen[0]
                setting.results.check(f"{called}: {name} on {ranks}, {' '.join(protocol)}",
                                      verdict(outcome, ranks), note(outcome))


def module_run(setting: Setting, folder: Path, tests: Path, ranks: int, protocol: list[str],
               modules: list[str]) -> Outcome:
    # Without a cache of bytecode, so that the folder of the tests stays unchanged.
    command: list[str | Path] = [*setting.mpiexec(ranks, *protocol), folder / "bin" / "python", "-B",
                               tests / "main.py"]
    for module in modules:
        command += ["-i", rf"^{module}\.py$" if len(modules) == 1 else module]
    for left_out in EXCEPT:
        command += ["-x", left_out]
    return run(command, timeout=max(setting.timeout, 300), cwd=setting.new_folder("run"))


def verdict(outcome: Outcome, ranks: int) -> str | None:
    """The problem, or None. Every rank must come to the end of its tests and print OK."""
    problem = problem_of(outcome)
    wrong = re.findall(r"^(?:ERROR|FAIL): (\S+ \(\S+)\)", outcome.err, re.M)
    if wrong:
        return ", ".join(sorted(set(wrong)))[:300]
    if problem is None and len(SUMMARY.findall(outcome.err)) != ranks:
        problem = f"{len(SUMMARY.findall(outcome.err))} of {ranks} ranks came to the end"
    return problem


def note(outcome: Outcome) -> str:
    counts = [int(n) for n in SUMMARY.findall(outcome.err)]
    return f"{max(counts, default=0)} tests, {outcome.seconds:.1f} s"

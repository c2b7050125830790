"""Tests the standard ABI: programs compiled with `ftmpicc -mpi-abi` run on libmpi_abi.so.1, and print the same as
programs compiled for the MPICH ABI."""

from __future__ import annotations

from pathlib import Path

from . import build, conformance, standard_header
from .core import Setting, problem_of, run

# Programs that print numbers of the MPICH ABI (standard/values.c is the counterpart), or call functions that the
# standard ABI lacks. These are functions that MPI-3 removed, `MPI_Comm_c2f` and similar ones.
FIRST_ONLY = {"constants", "handles", "names_infos", "types_forms"}
# The output contains error classes, or rank numbers with a special meaning.
NUMBERS_DIFFER = {"errors", "topologies"}


def standard(setting: Setting, peers: Path, short: bool = False) -> None:
    """Runs all programs of `standard/`, `conformance/` and `random/` in C."""
    if not setting.dist_is_built():
        return
    standard_header.compare_published(setting, peers)
    sources = [s for folder in ("standard", "conformance", "random") for s in build.sources(folder)]
    modes = conformance.modes(False)[:1] if short else conformance.modes(False)
    for source in sources:
        name = source.stem
        if build.is_fortran(source) or name in FIRST_ONLY | set(conformance.EXIT_CODES) | conformance.ANY_ERROR:
            continue
        program, made = build.build(setting, source, standard=True)
        if program is None:
            setting.results.bad(f"{name} compiles for the standard ABI", made.output_tail())
            continue
        expected = None
        if source.parent.name != "standard" and name not in NUMBERS_DIFFER:
            first, made = build.build(setting, source)
            if first is None:
                setting.results.bad(f"{name} compiles", made.output_tail())
                continue
            expected = conformance.run_program(setting, first, 4, ["--protocol", "none"]).out
        for label, options in modes:
            outcome = conformance.run_program(setting, program, 4, options)
            problem = problem_of(outcome)
            if problem is None and expected is not None and outcome.out != expected:
                problem = "differs from the first interface: " + conformance.difference(outcome.out, expected)
            setting.results.check(f"standard ABI: {name} on 4, {label}", problem, f"{outcome.seconds:.1f} s")
    linked = run(["ldd", setting.work / "bin-standard" / "standard" / "values"], timeout=20).out
    setting.results.check("standard ABI: programs ask for libmpi_abi.so.1 alone",
                          None if "libmpi_abi.so.1 =>" in linked else linked.strip())

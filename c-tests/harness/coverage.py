"""Tests that some program here calls every function of the table, from C and from Fortran. The test reads the undefined
symbols of the programs. It fails for a new function of `include/mpi.table` that no program calls, and for an exception
below that a program calls."""

from __future__ import annotations

import re

from . import build
from .core import ROOT, Setting, run

# The functions that no program calls, with the reason.
EXCEPTIONS: dict[str, str] = {}
# The same for functions that have a Fortran symbol.
KINDS = "the kinds of addresses and counts are one for gfortran: no generic name can tell the two forms apart"
FORTRAN_EXCEPTIONS: dict[str, str] = {
    **{f"MPI_{name}_c": KINDS for name in (
        "Type_get_extent", "Type_get_true_extent", "Type_create_resized", "File_get_type_extent")},
}


def coverage(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    table = set(re.findall(r"^(MPI_\w+) ", (ROOT / "include" / "mpi.table").read_text(), re.M))
    called: dict[bool, set[str]] = {False: set(), True: set()}
    for folder in ("conformance", "crash", "random", "kernels"):
        for source in build.sources(folder):
            fortran = build.is_fortran(source)
            if fortran and not build.fortran_available(setting):
                continue
            program, made = build.build(setting, source)
            if program is None:
                setting.results.bad(f"{source.stem} compiles", made.output_tail())
                continue
            symbols = run(["nm", "-D", "--undefined-only", program], timeout=20).out
            called[fortran] |= set(re.findall(r"\b(p?mpi_\w+)" if fortran else r"\bP?(MPI_\w+)", symbols))
    check_called(setting, "every function is called", table, called[False] & table, EXCEPTIONS)
    if not build.fortran_available(setting):
        setting.results.skip("every function is called from Fortran", "no Fortran compiler")
        return
    library = run(["nm", "-D", "--defined-only", setting.dist / "lib" / "ftmpi" / "libmpifort.so.12"], timeout=20).out
    there = set(re.findall(r"\bmpi_\w+", library))
    bound = {name for name in table if fortran_symbols(name) & there}
    check_called(setting, "every function that Fortran has is called from Fortran", bound,
         {name for name in bound if fortran_symbols(name) & called[True]}, FORTRAN_EXCEPTIONS)


def fortran_symbols(name: str) -> set[str]:
    """The Fortran symbols of a function: of mpif.h and `mpi`, and of `mpi_f08`, which has the `_c` forms."""
    lower = name.lower()
    if lower.endswith("_c"):
        return {f"{lower[:-2]}_f08_large_", f"{lower[:-2]}_f08ts_large_"}
    return {f"{lower}_", f"{lower}_f08_", f"{lower}_f08ts_"}


def check_called(setting: Setting, title: str, wanted: set[str], called: set[str], exceptions: dict[str, str]) -> None:
    missing = sorted(wanted - called - set(exceptions))
    needless = sorted(set(exceptions) & called)
    problem = None
    if missing:
        problem = f"no program calls {len(missing)}: {' '.join(missing[:20])}"
    elif needless:
        problem = f"no exception any more: {' '.join(needless)}"
    setting.results.check(f"{title} ({len(called)} of {len(wanted)})", problem)

"""Which functions of the table does no program here call? Asked of the programs themselves: the symbols that
they want from `libmpi.so.12`. A function that is new in `include/mpi.table` fails this until a program calls
it; so does an exception below that is called by now."""

from __future__ import annotations

import re

from . import build
from .core import ROOT, Setting, run

# No program calls them, and why.
EXCEPTIONS: dict[str, str] = {}


def coverage(setting: Setting) -> None:
    if not setting.ready():
        return
    table = set(re.findall(r"^(MPI_\w+) ", (ROOT / "include" / "mpi.table").read_text(), re.M))
    called: set[str] = set()
    for folder in ("conformance", "crash", "random", "kernels"):
        for source in build.sources(folder):
            if build.is_fortran(source):
                continue
            program, made = build.build(setting, source)
            if program is None:
                setting.results.bad(f"{source.stem} compiles", made.last_words())
                continue
            symbols = run(["nm", "-D", "--undefined-only", program], timeout=20).out
            called |= set(re.findall(r"\bP?(MPI_\w+)", symbols))
    missing = sorted(table - called - set(EXCEPTIONS))
    idle = sorted(set(EXCEPTIONS) & called)
    problem = None
    if missing:
        problem = f"no program calls {' '.join(missing[:20])}"
    elif idle:
        problem = f"no exception any more: {' '.join(idle)}"
    setting.results.check(f"every function is called ({len(table & called)} of {len(table)})", problem)

"""Compiles the programs of this tree with our wrappers and, for comparison, with the peer's."""

from __future__ import annotations

from pathlib import Path

from .core import KERNELS, TESTS, Outcome, Setting, run, which

PEER_CC = "mpicc.mpich"
PEER_FC = "mpifort.mpich"
PEER_EXEC = "mpiexec.mpich"

CFLAGS = ["-O2", "-g", "-Wall", "-Wextra", "-Wno-stringop-overflow", "-Wno-maybe-uninitialized"]
# The programs that this run has compiled already.
COMPILED: set[Path] = set()
FFLAGS = ["-O1", "-g", "-w", "-fallow-argument-mismatch"]


def sources(folder: str) -> list[Path]:
    """The programs of a folder, in a fixed order."""
    found = [p for p in (TESTS / folder).iterdir() if p.suffix in (".c", ".f", ".f90")]
    return sorted(found)


def kernel_sources() -> list[Path]:
    return [KERNELS / "cg.c", *sources("kernels")]


def is_fortran(source: Path) -> bool:
    return source.suffix in (".f", ".f90")


def build(
    setting: Setting, source: Path, peer: bool = False, standard: bool = False
) -> tuple[Path | None, Outcome | None]:
    """Compiles one program once. `peer`: for the other MPI. `standard`: for the standard ABI. Returns its path, or the
    compiler's output."""
    where = setting.work / ("peer" if peer else "bin-standard" if standard else "bin")
    # Two folders may have programs of the same name.
    target = where / source.parent.name / source.stem
    target.parent.mkdir(parents=True, exist_ok=True)
    if target in COMPILED:
        return target, None
    wrapper: str | Path
    if is_fortran(source):
        # The compiler writes module files into the folder that it was started in, unless it is told another one.
        wrapper, flags = (PEER_FC if peer else setting.fc), [*FFLAGS, f"-J{target.parent}"]
        if "\n#include " in source.read_text():
            flags = [*flags, "-cpp"]
    else:
        wrapper, flags = (PEER_CC if peer else setting.cc), CFLAGS
    if source.parent.name == "torture" and not is_fortran(source):
        flags = [*flags, "-fopenmp"]
    if source.parent == KERNELS:
        flags = ["-O3", *flags[1:]]
    if standard:
        flags = ["-mpi-abi", *flags]
    made = run([wrapper, *flags, "-o", target, source, "-lm"], timeout=120)
    if made.code != 0:
        return None, made
    COMPILED.add(target)
    return target, made


def peer_available() -> bool:
    return which(PEER_CC) is not None and which(PEER_EXEC) is not None


def fortran_available(setting: Setting) -> bool:
    return which("gfortran") is not None and setting.fc.exists()

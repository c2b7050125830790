"""Compares our header of the standard ABI with the published one (`mpi_abi.h` of the Python package `mpich`), in
both directions: every constant, size, offset, prototype and callback."""

from __future__ import annotations

import re
from pathlib import Path

from . import imb
from .core import Outcome, Setting, run

TYPES = """MPI_Aint MPI_Count MPI_Offset MPI_Comm MPI_Datatype MPI_Errhandler MPI_File MPI_Group MPI_Info
MPI_Message MPI_Op MPI_Request MPI_Session MPI_Win MPI_Status MPI_T_enum MPI_T_cvar_handle MPI_T_pvar_handle
MPI_T_pvar_session MPI_T_event_instance MPI_T_event_registration MPI_T_cb_safety MPI_T_source_order""".split()
FIELDS = ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"]
# Names that only one of the two headers may have: (name, reason).
OURS_ALONE: dict[str, str] = {}
THEIRS_ALONE: dict[str, str] = {}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def constants(text: str) -> set[str]:
    """The names of numbers: names that are defined with a value, and names in enumerations."""
    text = without_comments(text)
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(MPI_\w+)[ \t]+[-(\dM]", text, re.M))
    for body in re.findall(r"enum\b[^{;]*\{(.*?)\}", text, re.S):
        names |= set(re.findall(r"\b(MPI_\w+)[ \t]*(?=[=,\n])", body))
    # The published header defines types in several steps: these names are left out.
    return {name for name in names if not name.startswith("MPI_ABI_") or "VERSION" in name}


def prototypes(text: str) -> dict[str, str]:
    """The functions by name, as they are declared."""
    found = {}
    for line in re.findall(r"^[ \t]*(?:extern[ \t]+)?((?:int|double|MPI_\w+)[ \t]+\**P?MPI_\w+\([^;{]*\))[^;()]*;",
                           without_comments(text), re.M):
        found[re.search(r"(P?MPI_\w+)\(", line).group(1)] = re.sub(r"\s+", " ", line)
    return found


def values(setting: Setting, folder: Path, names: list[str], types: list[str]) -> dict[str, str] | Outcome:
    where = setting.new_folder("published")
    lines = ["#include <mpi.h>", "#include <stdio.h>", "#include <stddef.h>", "#include <stdint.h>",
             "int main(void) {"]
    lines += [f'printf("{n} %lld\\n", (long long)(intptr_t)({n}));' for n in names]
    lines += [f'printf("sizeof-{t} %zu\\n", sizeof({t}));' for t in types]
    lines += [f'printf("MPI_Status.{f} %zu\\n", offsetof(MPI_Status, {f}));' for f in FIELDS]
    (where / "values.c").write_text("\n".join([*lines, "return 0; }\n"]))
    made = run(["cc", "-w", "-std=gnu11", f"-I{folder}", where / "values.c", "-o", where / "values",
                "-Wl,--unresolved-symbols=ignore-all"], timeout=60)
    if made.code != 0:
        return made
    outcomes = run([where / "values"], timeout=20)
    return dict(line.split(" ", 1) for line in outcomes.out.splitlines()) if outcomes.code == 0 else outcomes


def compare(setting: Setting, theirs: Path) -> tuple[list[str], int]:
    """The differences, and the number of compared names. `theirs`: a folder in which the published header is called
    mpi.h."""
    ours = setting.dist / "include" / "ftmpi" / "standard"
    texts = [(folder / "mpi.h").read_text() for folder in (ours, theirs)]
    here, there = map(constants, texts)
    differences = [f"{n}: not in ours" for n in sorted(there - here - set(THEIRS_ALONE))]
    differences += [f"{n}: ours alone" for n in sorted(here - there - set(OURS_ALONE))]
    types = [t for t in TYPES if all(re.search(rf"\b{t}\b", text) for text in texts)]
    differences += [f"{t}: a type that only one has" for t in TYPES if t not in types]
    outcomes = [values(setting, folder, sorted(here & there), types) for folder in (ours, theirs)]
    for one in outcomes:
        if isinstance(one, Outcome):
            return [f"the values cannot be printed: {one.output_tail()}"], 0
    differences += [f"{n}: {value}, there {outcomes[1].get(n)}" for n, value in outcomes[0].items()
                    if outcomes[1].get(n) != value]
    mine, known = map(prototypes, texts)
    differences += [f"{n}: no prototype in ours" for n in sorted(set(known) - set(mine))]
    # Our prototypes stand behind the published ones: the compiler refuses another type.
    both = sorted(set(mine) & set(known))
    where = setting.new_folder("published")
    (where / "both.c").write_text("#include <mpi.h>\n" + "".join(
        f"#undef {n}\nextern {mine[n]};\n" for n in both) + "int x;\n")
    made = run(["cc", "-std=gnu11", f"-I{theirs}", "-fsyntax-only", where / "both.c"], timeout=60)
    differences += [line for line in made.err.splitlines() if " error: " in line]
    return differences, len(outcomes[0]) + len(both)


def compare_published(setting: Setting, peers: Path) -> None:
    name = "standard ABI: mpi.h against the published header"
    folder, why = imb.environment(peers, "mpich")
    header = folder / "include" / "mpi_abi.h" if folder else None
    if header is None or not header.is_file():
        setting.results.skip(name, why or "the package mpich has no mpi_abi.h")
        return
    theirs = setting.new_folder("reference")
    (theirs / "mpi.h").write_text(header.read_text())
    differences, count = compare(setting, theirs)
    if not differences and count < 1500:
        differences = [f"only {count} names were found"]
    for line in differences:
        print(f"  {line}", flush=True)
    setting.results.check(f"{name} ({count} compared)", "; ".join(differences[:5]) or None)

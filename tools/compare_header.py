#!/usr/bin/env python3
"""Compares our mpi.h with the mpi.h of an installed MPICH. Nothing that is compiled into programs may differ.

Compiled with either header: the value of every constant, the size of every type, and the offsets within MPI_Status.
Compiled with both at once: our prototypes and callback types stand behind the other's, so that the compiler refuses any
difference.

usage: compare_header.py [OUR_MPI_H [REFERENCE_INCLUDE_DIR]]
exit code 0: the headers agree; 1: they differ; 77: there is nothing to compare
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# Names that may differ.
VERSIONS = {"MPI_VERSION", "MPI_SUBVERSION", "MPICH_NAME", "FTMPI_VERSION"}
# Types that the reference was built without. Newer releases have the value that we use.
ABSENT_THERE = {"MPI_INTEGER16", "MPI_REAL16", "MPI_COMPLEX32"}
# Prototypes that gained a const after the release of the reference.
CONST_SINCE = {"MPI_Pready_list", "PMPI_Pready_list"}

TYPES = """MPI_Aint MPI_Count MPI_Offset MPI_Fint MPI_Comm MPI_Datatype MPI_Errhandler MPI_File MPI_Group MPI_Info
MPI_Message MPI_Op MPI_Request MPI_Session MPI_Win MPI_Status MPI_F08_status MPI_T_enum MPI_T_cvar_handle
MPI_T_pvar_handle MPI_T_pvar_session MPI_T_cb_safety MPI_T_source_order""".split()
FIELDS = ["count_lo", "count_hi_and_cancelled", "MPI_SOURCE", "MPI_TAG", "MPI_ERROR"]


def reference_include():
    for wrapper in ("mpicc.mpich", "mpicc"):
        if shutil.which(wrapper):
            shown = subprocess.run([wrapper, "-show"], capture_output=True, text=True).stdout
            for folder in re.findall(r"-I(\S+)", shown):
                header = Path(folder) / "mpi.h"
                if header.is_file() and "MPICH_NUMVERSION" in header.read_text(errors="replace"):
                    return Path(folder)
    return None


def constants(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = re.findall(r"^#define (MPI_\w+) +\S", text, re.M)
    for body in re.findall(r"enum \w+\s*\{(.*?)\}", text, re.S):
        names += re.findall(r"\b(MPI_\w+)\b", body)
    return [n for n in dict.fromkeys(names) if not n.endswith(("_SPEC", "INCLUDED", "_DEFINED"))]


def value_program(names, enums):
    out = ["#include <mpi.h>", "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    for n in names:
        line = f'printf("{n} %lld\\n", (long long)(size_t)({n}));'
        if n in enums:
            out.append(line)
        elif n.endswith("DUP_FN"):
            continue
        else:
            out += [f"#ifdef {n}", line.replace("(long long)(size_t)", "(long long)"), "#endif"]
    out += [f'printf("sizeof {t} %zu\\n", sizeof({t}));' for t in TYPES]
    for s in ("MPI_Status", "MPI_F08_status"):
        out += [f'printf("{s}.{f} %zu\\n", offsetof({s}, {f}));' for f in FIELDS]
    return "\n".join(out + ["return 0; }"]) + "\n"


def run_with(include, program, folder, name):
    source, binary = folder / f"{name}.c", folder / name
    source.write_text(program)
    # Without warnings, because pointers are printed as integers on purpose.
    command = ["cc", "-w", "-std=gnu11", f"-I{include}", str(source), "-o", str(binary)]
    command += ["-Wl,--unresolved-symbols=ignore-all"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare_header: the values cannot be compiled with {include}/mpi.h\n{done.stderr}")
    lines = subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


def prototypes_agree(ours, include, folder):
    functions = ours[ours.index("/* ---- Functions ---- */") :].split("#ifdef __cplusplus")[0]
    callbacks = re.findall(r"^typedef \w+\(MPI_\w+\)\(.*?\);", ours, re.M | re.S)
    known = set(re.findall(r"\b(P?MPI_\w+)\s*\(", re.sub(r"/\*.*?\*/", "", all_text(include), flags=re.S)))
    names = re.findall(r"^extern [^(]*?\b(P?MPI_\w+)\(", functions, re.M)
    # The reference defines conversions as macros as well.
    undo = "".join(f"#undef {n}\n" for n in names)
    source = folder / "prototypes.c"
    source.write_text(f"#include <mpi.h>\n{undo}" + "\n".join(callbacks) + "\n" + functions + "\nint x;\n")
    done = subprocess.run(
        ["cc", "-std=gnu11", f"-I{include}", "-fsyntax-only", str(source)], capture_output=True, text=True
    )
    # A type that an older reference does not know cannot be compared.
    errors = [l for l in done.stderr.splitlines() if " error: " in l and "unknown type name" not in l]
    errors = [l for l in errors if not any(f"‘{n}’" in l or f"'{n}'" in l for n in CONST_SINCE)]
    missing = sorted(n for n in known - set(names) if n.startswith("MPI_") and is_function(n, include))
    return errors, missing, len(set(names) & known)


def all_text(include):
    files = [include / name for name in ("mpi.h", "mpi_proto.h")]
    return "".join(file.read_text(errors="replace") for file in files if file.is_file())


def is_function(name, include):
    return re.search(rf"^\w[\w \*]*\b{name}\(", all_text(include), re.M) and not re.search(
        rf"#define\s+{name}\b", all_text(include)
    )


def main():
    header = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "include/generated/mpi.h"
    include = Path(sys.argv[2]) if len(sys.argv) > 2 else reference_include()
    if include is None:
        print("compare_header: skipped, no MPICH is installed to compare with (tools/setup.sh installs one)")
        sys.exit(77)
    ours = header.read_text()
    names = constants(ours)
    enums = {n for b in re.findall(r"enum \w+\s*\{(.*?)\}", ours, re.S) for n in re.findall(r"\bMPI_\w+\b", b)}
    reference = all_text(include)
    enums_there = {n for n in enums if re.search(rf"\b{n}\b", reference)}
    names = [n for n in names if n not in enums or n in enums_there]
    differences = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        program = value_program(names, enums_there)
        here = run_with(header.parent, program, folder, "ours")
        there = run_with(include, program, folder, "reference")
        for name in sorted(set(here) & set(there)):
            if here[name] != there[name] and name not in VERSIONS | ABSENT_THERE:
                differences.append(f"{name}: ours {here[name]}, reference {there[name]}")
        # Names in capitals with _T count the functions of the reference's own profiling layers.
        theirs = constants(re.sub(r"^# *define\s+", "#define ", reference, flags=re.M))
        for name in theirs:
            if name not in names and not re.search(r"_(c2f|f2c|T)$", name):
                differences.append(f"{name}: missing in ours")
        errors, missing, functions = prototypes_agree(ours, include, folder)
        differences += errors + [f"{n}: no prototype in ours" for n in missing]
    for line in differences:
        print(f"compare_header: {line}")
    compared = len(set(here) & set(there))
    print(f"compare_header: {compared} values and {functions} prototypes compared, {len(differences)} differ")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()

"""Tests the compiler wrappers, the names under which programs look for our libraries, and the exported symbols.

Where MPICH has the same wrapper, the same tests run with MPICH's wrapper: the tests ask for what users know."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from .core import ROOT, Outcome, Setting, problem_of, run, which

C = "#include <mpi.h>\nint main(int c,char**v){return MPI_Init(&c,&v);}\n"
SOURCES = {
    "a b.c": C,
    "m.cc": C,
    "m.f": "      program m\n      include 'mpif.h'\n      integer i\n      call mpi_init(i)\n      end\n",
    "m.f90": "program m\n use mpi\n integer :: i\n call mpi_init(i)\nend program\n",
}
LIBRARIES = ["libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12", "libfmpich.so.12",
             "empty/libmpicxx/libmpicxx.so.12"]
DATA = ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
        "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE", "MPI_T_PVAR_ALL_HANDLES", "MPIR_Dup_fn"]


def wrappers(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    folder = setting.new_folder("wrappers")
    compiled(setting, folder)
    for ours, theirs, letters in [("ftmpicc", "mpicc.mpich", "CC"), ("ftmpicxx", "mpicxx.mpich", "CXX"),
                                  ("ftmpifort", "mpifort.mpich", "FC")]:
        for name, tool in ((ours, setting.dist / "bin" / ours), (theirs, which(theirs))):
            if tool is None:
                setting.results.skip(f"options of {name}", "not installed")
                continue
            wrong = options_of(tool, letters, folder)
            setting.results.check(f"options of {name}", "; ".join(wrong) or None)
    own_options(setting, folder)
    configurations(setting, folder)
    profiling(setting, folder)
    modules_of_another_compiler(setting, folder)
    library_names(setting)
    version_line(setting)
    other_names(setting)
    symbols(setting)


def compiled(setting: Setting, folder: Path) -> None:
    """Each wrapper compiles a program that is linked to our library by its path."""
    for wrapper, source, compiler in [("ftmpicc", "a b.c", "cc"), ("ftmpicxx", "m.cc", "c++"),
                                      ("ftmpifort", "m.f", "gfortran"), ("ftmpifort", "m.f90", "gfortran")]:
        (folder / source).write_text(SOURCES[source])
        name = f"{wrapper} {source}"
        if not which(compiler):
            setting.results.skip(name, f"no {compiler}")
            continue
        made = run([setting.dist / "bin" / wrapper, '-DX="a b"', folder / source, "-o", folder / "out"], timeout=60)
        needed = run(["readelf", "-d", folder / "out"], timeout=20).out
        linked = "libmpi" in needed and str(setting.dist / "lib" / "ftmpi") in needed
        setting.results.check(name, problem_of(made) or (None if linked else "not linked to our library"))


def call(tool: Path | str, arguments: list, folder: Path, **variables: str) -> Outcome:
    """Runs a wrapper in `folder`, without the caller's variables that choose a compiler."""
    kept = {key: value for key, value in os.environ.items()
            if not re.match(r"(MPICH|FTMPI)_|MPI(CC|CXX|FORT)_PROFILE$", key)}
    chosen = [f"{key}={value}" for key, value in {**kept, **variables}.items()]
    return run(["env", "-i", *chosen, tool, *arguments], timeout=60, cwd=folder)


def options_of(tool: Path | str, letters: str, folder: Path) -> list[str]:
    """Tests the options of a wrapper."""
    ending = {"CC": "c", "CXX": "cc", "FC": "f"}[letters]
    source = f"x.{ending}"
    (folder / source).write_text("")
    flag, variable = f"-{letters.lower()}=echo chosen", f"MPICH_{letters}"
    cases = {
        "-show": (["-show", source], {}, lambda t: "-I" in t and "-L" in t and "-lmpi" in t and source in t),
        "-show -c": (["-show", "-c", source], {}, lambda t: "-I" in t and "-lmpi" not in t and f"-c {source}" in t),
        "-compile_info": (["-compile_info"], {}, lambda t: "-I" in t),
        "-compile-info": (["-compile-info"], {}, lambda t: "-I" in t),
        "-link_info": (["-link_info"], {}, lambda t: "-L" in t and "-lmpi" in t),
        "-link-info": (["-link-info"], {}, lambda t: "-L" in t and "-lmpi" in t),
        "-show-compile-info": (["-show-compile-info"], {}, lambda t: "-I" in t and "-lmpi" not in t),
        "-show-link-info": (["-show-link-info"], {}, lambda t: "-I" not in t and "-lmpi" in t),
        "another compiler": ([flag, "-c", source], {}, lambda t: t.startswith("chosen ") and f"-c {source}" in t),
        "shown": ([flag, "-show", source], {}, lambda t: t.startswith("echo chosen ") and "-lmpi" in t),
        variable: (["-c", source], {variable: "echo other"}, lambda t: t.startswith("other ") and "-lmpi" not in t),
        "option before variable": (
            [flag, "-c", source], {variable: "echo other"}, lambda t: t.startswith("chosen ")),
        "-E": ([flag, "-E", source], {}, lambda t: "-lmpi" not in t),
        "-nativelinking": ([flag, "-nativelinking", source], {}, lambda t: "-lmpi" not in t),
    }
    if "fort" in str(tool) and "mpich" in str(tool):
        del cases["-nativelinking"], cases["-show-compile-info"], cases["-show-link-info"]
    wrong = []
    for name, (arguments, variables, right) in cases.items():
        outcome = call(tool, arguments, folder, **variables)
        if outcome.code != 0 or not right(outcome.out):
            wrong.append(f"{name}: exit code {outcome.code}, `{outcome.out.strip()[:200]}`")
    if call(tool, ["-c", f"missing.{ending}"], folder).code == 0:
        wrong.append("a compiler's failure is not the wrapper's")
    return wrong


def expect(setting: Setting, name: str, outcome: Outcome, right: bool) -> None:
    setting.results.check(name, None if right else f"exit code {outcome.code}: {outcome.out.strip()[:300]}")


def own_options(setting: Setting, folder: Path) -> None:
    """Options that MPICH's wrappers do not have, or have in another form."""
    tool = setting.cc
    done = call(tool, ["-c", "x.c"], folder, MPICH_CC="echo m", FTMPI_CC="echo f")
    expect(setting, "FTMPI_CC before MPICH_CC", done, done.out.startswith("f "))
    done = call(tool, ["-show", "-mpi-abi", "x.c"], folder)
    expect(setting, "ftmpicc -mpi-abi", done,
           "/include/ftmpi/standard" in done.out and done.out.rstrip().endswith("-lmpi_abi"))
    done = call(tool, ["-show", "-profile=wrap", "x.c"], folder)
    expect(setting, "ftmpicc -profile", done, done.out.rstrip().endswith("-lwrap -lmpi"))
    done = call(tool, ["-c", "x.c"], folder, MPICH_CC=str(tool))
    expect(setting, "a wrapper that names itself", done, done.code == 1)
    done = call(tool, ["-help"], folder)
    expect(setting, "ftmpicc -help", done, done.code == 0 and "-profile=NAME" in done.out and "set -eu" not in done.out)


def configurations(setting: Setting, folder: Path) -> None:
    """Tests `-config=NAME` in a tree of its own: the tree under test stays unchanged."""
    tree = folder / "tree"
    for part in ("bin", "etc"):
        (tree / part).mkdir(parents=True)
    for name in ("ftmpicc", "ftmpifort", "mpicc"):
        shutil.copy(setting.cc, tree / "bin" / name)
    (tree / "etc" / "mpicc-other.conf").write_text('CC="other -1"\nFC=wrong\nshow=\n')
    (tree / "etc" / "ftmpifort-other.conf").write_text("FC=fortran\n")
    for name, begins in {"ftmpicc": "other -1 x.c", "mpicc": "other -1 x.c", "ftmpifort": "fortran x.c"}.items():
        done = call(tree / "bin" / name, ["-config=other", "-show", "x.c"], folder)
        expect(setting, f"{name} -config", done, done.code == 0 and done.out.startswith(begins))
    done = call(tree / "bin" / "ftmpicc", ["-config=missing", "x.c"], folder)
    expect(setting, "a configuration that is missing", done, done.code == 1)


def modules_of_another_compiler(setting: Setting, folder: Path) -> None:
    """Tests modules that no compiler or another one has made, in a tree of its own."""
    name = "modules of another compiler"
    if not which("gfortran"):
        setting.results.skip(name, "no gfortran")
        return
    tree, cache = folder / "modules", folder / "cache"
    shutil.copytree(setting.dist / "include", tree / "include")
    (tree / "bin").mkdir()
    shutil.copy(setting.cc, tree / "bin" / "ftmpifort")
    installed = tree / "include" / "ftmpi" / "fortran"
    for module in installed.glob("*.mod"):
        module.unlink()
    fort, source = tree / "bin" / "ftmpifort", folder / "m.f90"

    def compiles(title: str, right: bool, folders: int, **variables: str) -> None:
        done = call(fort, ["-c", source, "-o", "m.o"], folder, **{"XDG_CACHE_HOME": str(cache), **variables})
        made = len(list(cache.glob("ftmpi/fortran/*/mpi.mod")))
        ok = (done.code == 0) == right and made == folders
        setting.results.check(title, None if ok else f"exit code {done.code}, {made} in the cache: {done.err[:300]}")

    done = call(fort, ["-c", folder / "m.f", "-o", "m.o"], folder, XDG_CACHE_HOME=str(cache))
    expect(setting, "mpif.h needs no modules", done, done.code == 0 and not cache.exists())
    compiles("modules that are missing", True, 1)
    compiles("modules that were compiled before", True, 1)
    for module in cache.glob("ftmpi/fortran/*/*.mod"):
        shutil.copy(module, installed)
    (installed / "compiler").write_text("GNU Fortran 4.2\n")
    shutil.rmtree(cache)
    compiles(name, True, 1)
    shown = call(fort, ["-show"], folder, XDG_CACHE_HOME=str(cache))
    expect(setting, "ftmpifort -show names their folder", shown, f"-I{cache}/ftmpi/fortran/" in shown.out)
    (folder / "file").write_text("")
    done = call(fort, ["-c", source], folder, XDG_CACHE_HOME=str(folder / "file"))
    expect(setting, "a cache that cannot be written", done, "give -I that folder" in done.err)


def profiling(setting: Setting, folder: Path) -> None:
    """Tests a library that wraps MPI_Init: linked before ours, preloaded, and absent."""
    (folder / "wrap.c").write_text("#include <mpi.h>\n#include <stdio.h>\nint MPI_Init(int *c, char ***v)"
                                   '{ puts("wrapped"); return PMPI_Init(c, v); }\n')
    (folder / "plain.c").write_text(
        "#include <mpi.h>\nint main(int c,char**v){MPI_Init(&c,&v);return MPI_Finalize();}\n")
    for arguments in (["-shared", "-fPIC", "wrap.c", "-o", "libwrap.so"], ["plain.c", "-o", "plain"],
                      ["-profile=wrap", "-L.", "plain.c", "-o", "linked", f"-Wl,-rpath,{folder}"]):
        call(setting.cc, arguments, folder)
    for name, program, options, wrapped in (
        ("linked before ours", "linked", [], True),
        ("preloaded", "plain", ["-env", "LD_PRELOAD", folder / "libwrap.so"], True),
        ("absent", "plain", [], False),
    ):
        done = run([*setting.mpiexec(1, "--protocol", "none"), *options, folder / program], timeout=setting.timeout)
        expect(setting, f"a profiling library {name}", done, done.code == 0 and ("wrapped" in done.out) == wrapped)


def library_names(setting: Setting) -> None:
    for name in LIBRARIES:
        shown = run(["readelf", "-d", setting.dist / "lib" / "ftmpi" / name], timeout=20)
        soname = f"soname: [{Path(name).name}]"
        setting.results.check(name, None if soname in shown.out else "its soname is another")


# How programs learn from the library's version whose binary interface it has: MPI.jl (MPIPreferences), mpi4py, PETSc.
CLIENTS = {"MPI.jl": r"^MPICH2? Version:\s+(\d+.\d+(?:.\d+)?\w*)\n", "mpi4py": r"MPICH(?:2|3)? Version:\s*(\d+)\.(\d+)",
           "people": r"\nftmpi Version:\s+\d+\.\d+\.\d+ "}
# As MPI.jl asks: the library is loaded, asked before MPI_Init, and unloaded.
ASK = """import _ctypes, ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
_ctypes.dlclose(library._handle)
sys.stdout.write(text.raw[:length.value].decode())
"""


def version_line(setting: Setting) -> None:
    asked = run([sys.executable, "-c", ASK, setting.dist / "lib" / "ftmpi" / "libmpi.so.12"], timeout=30)
    wrong = [name for name, pattern in CLIENTS.items() if not re.search(pattern, asked.out)]
    setting.results.check("the library's version as MPI.jl and mpi4py read it",
                          problem_of(asked) or (f"not {wrong}: {asked.out}" if wrong else None))


def other_names(setting: Setting) -> None:
    """Tests the names of MPICH's programs that are no compilers."""
    names = setting.dist / "lib" / "ftmpi" / "bin"
    shown = run([names / "mpichversion"], timeout=20)
    wrong = [name for name, pattern in CLIENTS.items() if not re.search(pattern, shown.out)]
    setting.results.check("mpichversion", problem_of(shown) or (f"not {wrong}: {shown.out}" if wrong else None))
    shown = run([names / "mpiexec.hydra", "--version"], timeout=20)
    setting.results.check("mpiexec.hydra", problem_of(shown))


def symbols(setting: Setting) -> None:
    """Every function of the table exists in C under both of its names."""
    library = setting.dist / "lib" / "ftmpi" / "libmpi.so.12"
    shown = run(["nm", "-D", "--defined-only", library], timeout=20)
    exported = {line.split()[-1].split("@")[0] for line in shown.out.splitlines()}
    names = re.findall(r"^(MPI_\w+) ", (ROOT / "include" / "mpi.table").read_text(), re.M)
    missing = [name for function in names for name in (function, "P" + function) if name not in exported]
    missing += [name for name in DATA if name not in exported]
    setting.results.check(f"symbols of libmpi.so.12 ({len(names)} functions)", " ".join(missing[:10]) or None)

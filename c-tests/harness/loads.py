"""How programs are built, loaded and watched: another MPI's library in the way, plugins, sanitizers, C++ bindings, a
debugger. A rank gets our library by every way to load one, or a line says which other it has."""

from __future__ import annotations

from pathlib import Path

from .core import TESTS, Outcome, Setting, problem_of, run, which

PROGRAMS = TESTS / "programs"
# The hash stands for those that tools for Python wheels add.
NAMES = ["libmpi.so.12", "libmpich.so.12", "libmpi.so.12.2.1", "libmpi-0a1b2c3d.so.12.2.1", "libmpi_gnu_123.so.12"]


def loads(setting: Setting) -> None:
    """Programs that end well."""
    if not setting.dist_is_built():
        return
    folder = setting.new_folder("loads")
    other_library(setting, folder)
    linked_programs(setting, folder)
    strangers(setting, folder)
    plugins(setting, folder)
    sanitizers(setting, folder, False)
    bindings(setting, folder)
    debugger(setting, folder)


def killed(setting: Setting) -> None:
    """The same where ranks die."""
    if not setting.dist_is_built():
        return
    folder = setting.new_folder("loads")
    sanitizers(setting, folder, True)
    hidden_death(setting, folder)


def compiled(setting: Setting, target: Path, source: str, *options: str | Path, wrapper: str | Path = "cc") -> bool:
    """Compiles one program. A failure is a failed test."""
    made = run([wrapper, "-O1", "-g", PROGRAMS / source, "-o", target, *options], timeout=60)
    if made.code != 0:
        setting.results.bad(f"compiling {target.name}", made.output_tail())
    return made.code == 0


def other_mpi(setting: Setting, target: Path, soname: str) -> bool:
    target.parent.mkdir(exist_ok=True)
    name = [f"-Wl,-soname,{soname}"] if soname else []
    return compiled(setting, target, "other_mpi.c", "-shared", "-fPIC", *name)


def started(setting: Setting, folder: Path, *command: str | Path, mode: str = "none", more: list[str] | None = None,
            env: dict[str, str] | None = None) -> Outcome:
    return run([*setting.mpiexec(2, "--protocol", mode, *(more or [])), *command], timeout=60, cwd=folder, env=env)


def both_ranks_problem(outcome: Outcome) -> str | None:
    problem = problem_of(outcome)
    if problem is None and sorted(outcome.out.split("\n")[:2]) != ["rank 0 of 2", "rank 1 of 2"]:
        problem = f"the ranks do not see each other: {outcome.output_tail()}"
    return problem


def other_library(setting: Setting, folder: Path) -> None:
    """The program asks for the library of another MPI by its path, or by a name that leads there."""
    program = folder / "loads"
    if not compiled(setting, program, "loads.c", "-ldl"):
        return
    for name in NAMES:
        if other_mpi(setting, folder / "other" / name, "libmpi.so.12"):
            outcome = started(setting, folder, program, "open", folder / "other" / name)
            setting.results.check(f"dlopen of another {name}", both_ranks_problem(outcome))
    link = folder / "other" / "libmpi.so"
    link.unlink(missing_ok=True)
    link.symlink_to(NAMES[2])
    for label, way, path in [("a link without a version", "open", link),
                             ("dlmopen of another libmpi.so.12", "namespace", folder / "other" / NAMES[0])]:
        setting.results.check(label, both_ranks_problem(started(setting, folder, program, way, path)))
    # A library that is linked to MPI, with a search path that goes before LD_LIBRARY_PATH.
    plugin = folder / "libplugin.so"
    if compiled(setting, plugin, "loads.c", "-shared", "-fPIC", "-DLIBRARY", "-DLIBRARY_OR_LINKED",
                folder / "other" / NAMES[0], f"-Wl,-rpath,{folder / 'other'}", "-Wl,--disable-new-dtags"):
        for mode in ("none", "pessimistic"):
            outcome = started(setting, folder, program, "call", plugin, mode=mode)
            setting.results.check(f"a plugin with a search path to another MPI, {mode}", both_ranks_problem(outcome))
    preloaded = started(setting, folder, program, "call", plugin, env={"LD_PRELOAD": str(folder / "other" / NAMES[0])})
    setting.results.check("another MPI in LD_PRELOAD", both_ranks_problem(preloaded))


def linked_programs(setting: Setting, folder: Path) -> None:
    """Programs that name the library of another MPI by its path."""
    nameless = folder / "nameless" / "libmpi.so.12"
    if not other_mpi(setting, nameless, ""):
        return
    program = folder / "linked"
    if compiled(setting, program, "loads.c", "-DLIBRARY_OR_LINKED", nameless):
        setting.results.check("a program that needs another MPI by its path",
                              both_ranks_problem(started(setting, folder, program, "linked")))
    # A library of the program needs it, not the program itself.
    plugin = folder / "libindirect.so"
    if compiled(setting, plugin, "loads.c", "-shared", "-fPIC", "-DLIBRARY", "-DLIBRARY_OR_LINKED", nameless):
        outcome = started(setting, folder, folder / "loads", "call", plugin)
        setting.results.check("a plugin that needs another MPI by its path", both_ranks_problem(outcome))


def strangers(setting: Setting, folder: Path) -> None:
    """Libraries that cannot become ours: a line says so."""
    path = folder / "other" / "libmpi.so.40"
    if other_mpi(setting, path, "libmpi.so.40"):
        outcome = started(setting, folder, folder / "loads", "open", path)
        line = f"has loaded {path}: Open MPI"
        setting.results.check("Open MPI is loaded", problem_of(outcome) or (
            None if outcome.err.count(line) == 1 else f"not told once: {outcome.output_tail()}"))
    fortran_alone(setting, folder)
    # One part of the job knows nothing of MPI, and the other one waits for it.
    if compiled(setting, folder / "ring", "ring.c", wrapper=setting.cc):
        outcome = run([*setting.mpiexec(1, "--protocol", "none", "--timeout", "6s"), folder / "ring", ":", "-n", "1",
                       "true"], timeout=30, cwd=folder)
        told = "rank 1 ended without calling MPI_Init" in outcome.err
        setting.results.check("a rank that is no MPI program among others",
                              None if told and outcome.code else f"not told: {outcome.output_tail()}")
    lib = setting.dist / "lib" / "ftmpi"
    needs = run(["readelf", "-d", lib / "libftmpi_loads.so"], timeout=20)
    setting.results.check("the auditor needs no library", problem_of(needs) or (
        "it needs one" if "NEEDED" in needs.out else None))


def fortran_alone(setting: Setting, folder: Path) -> None:
    """Without the launcher nobody redirects: our Fortran library meets another MPI, which has all functions of the
    standard."""
    library = setting.dist / "lib" / "ftmpi" / "libmpifort.so.12"
    if not library.exists():
        setting.results.skip("our Fortran library with another MPI", "not built")
        return
    wanted = run(["nm", "-D", "--undefined-only", library], timeout=20).out.split()
    names = sorted({name for name in wanted if name.startswith(("MPI", "PMPI"))})
    source, whole = folder / "whole.c", folder / "whole" / "libmpi.so.12"
    data = ("MPI_F_", "MPI_F08", "MPIR_")
    source.write_text("".join(f"long {name}[64];\n" if name.startswith(data) else f"int {name}(void) {{ return 0; }}\n"
                              for name in names))
    whole.parent.mkdir(exist_ok=True)
    made = run(["cc", "-shared", "-fPIC", "-w", "-Wl,-soname,libmpi.so.12", "-o", whole, source], timeout=60)
    if made.code != 0:
        setting.results.bad("compiling another MPI", made.output_tail())
        return
    outcome = run([folder / "loads", "open", library], timeout=30, cwd=folder, env={"LD_PRELOAD": str(whole)})
    told = f"an MPI library that is not ftmpi's ({whole})" in outcome.err
    setting.results.check("our Fortran library with another MPI", None if told else f"not told: {outcome.output_tail()}")


def plugins(setting: Setting, folder: Path) -> None:
    """A program that knows nothing of MPI unloads the plugin that has loaded MPI."""
    host, plugin = folder / "host", folder / "plugin.so"
    if not compiled(setting, host, "ring.c", "-DHOST", "-ldl"):
        return
    for label, options in [("C", []), ("the standard ABI", ["-mpi-abi"])]:
        if compiled(setting, plugin, "ring.c", "-shared", "-fPIC", "-DPLUGIN", *options, wrapper=setting.cc):
            outcome = started(setting, folder, host, "20", "100", plugin, mode="pessimistic")
            setting.results.check(f"a plugin with MPI is unloaded, {label}", problem_of(outcome, expected_text="fine"))
    for name in ("libmpi.so.12", "libmpifort.so.12", "libmpi_abi.so.1"):
        library = setting.dist / "lib" / "ftmpi" / name
        flags = run(["readelf", "-d", library], timeout=20).out
        setting.results.check(f"{name} is never unloaded",
                              None if "NODELETE" in flags or not library.exists() else "not marked so")


def sanitizers(setting: Setting, folder: Path, deaths: bool) -> None:
    for name in ("address", "thread", "undefined", "leak"):
        program = folder / name
        made = run([setting.cc, "-g", "-O1", f"-fsanitize={name}", PROGRAMS / "ring.c", "-o", program], timeout=60)
        if made.code != 0:
            setting.results.skip(f"sanitizer {name}", "the compiler does not have it")
        elif deaths:
            if name in ("address", "thread"):
                more = ["--ckpt-interval", "300ms", "--inject", "kill:rank=1,at=1200ms"]
                outcome = started(setting, folder, program, "1500", "1000", mode="pessimistic", more=more)
                setting.results.check(f"sanitizer {name}, a rank killed", problem_of(outcome, expected_text="fine"))
        else:
            for mode in ("none", "pessimistic"):
                outcome = started(setting, folder, program, "50", "100", mode=mode)
                setting.results.check(f"sanitizer {name}, {mode}", problem_of(outcome, expected_text="fine"))
    if not deaths and (folder / "address").exists():
        outcome = started(setting, folder, folder / "address", "5", "0", "overflow")
        told = outcome.code not in (0, None) and "heap-buffer-overflow" in outcome.err
        setting.results.check("sanitizer address tells an overflow", None if told else outcome.output_tail())


def hidden_death(setting: Setting, folder: Path) -> None:
    """A script goes on after the death of its program, and ends with 0."""
    script = folder / "hides.sh"
    script.write_text('#!/bin/sh\n"$@"\nexit 0\n')
    script.chmod(0o755)
    if compiled(setting, folder / "ring", "ring.c", wrapper=setting.cc):
        outcome = started(setting, folder, script, folder / "ring", "500", "1000", mode="pessimistic",
                          more=["--inject", "kill:rank=1,at=300ms"])
        restarted = "restarting it" in outcome.err
        setting.results.check("a script that hides the death of its program",
                              problem_of(outcome, expected_text="fine") or (None if restarted else "no rank died"))


def bindings(setting: Setting, folder: Path) -> None:
    """The C++ bindings of the user's MPICH run over our library. Where there are none, a program that names them
    without need starts all the same."""
    wrapper = which("mpicxx.mpich")
    if wrapper is None:
        setting.results.skip("C++ bindings", "no mpicxx.mpich")
    elif compiled(setting, folder / "cxx", "cxx_bindings.cpp", wrapper=wrapper):
        for mode in ("none", "pessimistic"):
            outcome = started(setting, folder, folder / "cxx", mode=mode)
            setting.results.check(f"C++ bindings, {mode}", problem_of(outcome, expected_text="bindings on 2: ok"))
    # No system has this one: MPICH's name without Debian's changes.
    empty = setting.dist / "lib" / "ftmpi" / "empty" / "libmpicxx" / "libmpicxx.so.12"
    if compiled(setting, folder / "named", "ring.c", "-Wl,--no-as-needed", empty, wrapper=setting.cc):
        outcome = started(setting, folder, folder / "named", "5", "0")
        setting.results.check("a program that names C++ bindings without need",
                              problem_of(outcome, expected_text="fine"))


def debugger(setting: Setting, folder: Path) -> None:
    gdb = which("gdb")
    if gdb is None:
        setting.results.skip("under a debugger", "no gdb")
        return
    if not compiled(setting, folder / "ring", "ring.c", wrapper=setting.cc):
        return
    outcome = started(setting, folder, gdb, "-q", "-batch", "-ex", "run", "--args", folder / "ring", "800", "1000",
                      mode="pessimistic", more=["--ckpt-interval", "300ms"])
    problem = problem_of(outcome, expected_text="fine")
    stopped = [line for line in outcome.out.splitlines() if "received signal" in line]
    setting.results.check("under a debugger", problem or (stopped[0] if stopped else None))

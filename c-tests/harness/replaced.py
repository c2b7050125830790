"""Tests that a rank comes back with the files that it had open, and as the program that it was. Files are removed, renamed
and made anew in every step; program, library and plug-in are replaced while the job runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from . import reports
from .core import TESTS, Outcome, Setting, problem_of, run
from .jobs import rank_failures
from .restart import Stopper

SOURCES = TESTS / "replaced"
RANKS = 3
STEPS = {"plain": 60, "rename": 60, "mpi": 25}
PROGRAM_STEPS = 400
PLUGIN_STEPS = 1000
# Deaths of the launcher.
KILLS = 3
CONTINUED_STEPS = 80


def replaced(setting: Setting) -> None:
    if setting.dist_is_built():
        files(setting)
        continued(setting)
        moved(setting)
        programs(setting)
        plugins(setting)
        spawned(setting)


def spawned(setting: Setting) -> None:
    """Workers are compiled anew between two spawns. Then one of the first spawn dies."""
    where = setting.new_folder("run")
    for target, version in (("spawner", 0), ("worker", 1), ("worker2", 2)):
        why = compile_one(setting, where / target, "spawner.c", f"-DPROGRAM_VERSION={version}")
        if why is not None:
            return setting.results.bad("a program is replaced between two spawns", why)
    outcome = run([*setting.mpiexec(1, "--protocol", "pessimistic", "--ckpt-interval", "30s"), "./spawner"],
                  timeout=setting.timeout, cwd=where)
    problem = problem_of(outcome, expected_text="versions 1 1 2 2 1 1 2 2\n")
    if problem is None and "killed by signal 9" not in outcome.err:
        problem = "no worker died"
    setting.results.check("a program is replaced between two spawns", problem, f"{outcome.seconds:.1f} s")


def compile_one(setting: Setting, target: Path, source: str, *flags: str) -> str | None:
    command = [setting.cc, "-O1", "-o", str(target), str(SOURCES / source), *flags]
    made = subprocess.run(command, capture_output=True, text=True)
    return None if made.returncode == 0 else made.stderr[-300:]


def files(setting: Setting) -> None:
    """A rank dies after its third image, when the files of the image before are gone."""
    program = setting.new_folder("replaced") / "files"
    why = compile_one(setting, program, "files.c")
    if why is not None:
        return setting.results.bad("files that are made anew", why)
    for kind, steps in STEPS.items():
        for protocol in ("pessimistic", "coordinated"):
            where = setting.new_folder("run")
            report = where / "report.json"
            outcome = run(
                [*setting.mpiexec(RANKS, "--protocol", protocol, "--ckpt-interval", "300ms", "--report", report,
                                  "--inject", "kill:rank=1,point=image,nth=3"), program, kind, str(steps)],
                timeout=setting.timeout, cwd=where,
            )
            problem = problem_of(outcome, expected_text="all files right") or from_image_problem(report)
            setting.results.check(f"files that are made anew: {kind}, {protocol}", problem, f"{outcome.seconds:.1f} s")


def continued(setting: Setting) -> None:
    """The launcher is killed again and again, and the job goes on: its new agents know nothing of the old ones."""
    program = setting.new_folder("replaced") / "files"
    why = compile_one(setting, program, "files.c")
    if why is not None:
        return setting.results.bad("files of a job that is continued", why)
    for kind in ("plain", "mpi"):
        where = setting.new_folder("run")
        job = where / "job"
        options = ["--protocol", "pessimistic", "--ckpt-interval", "200ms", "--job-dir", job]
        command = [*setting.mpiexec(RANKS, *options), program, kind, str(CONTINUED_STEPS)]
        seconds, problem, kills = 0.0, None, 0
        while problem is None:
            stop = Stopper(job, 0.9, "launcher") if kills < KILLS else None
            outcome = run(command, timeout=setting.timeout, cwd=where, meanwhile=stop)
            seconds += outcome.seconds
            if stop is None or not stop.done:
                problem = problem_of(outcome, expected_text="all files right")
                break
            kills += 1
            command = [setting.launcher, "--restart", job]
        if problem is None and kills < 2:
            problem = f"the launcher was killed {kills} times only"
        setting.results.check(f"files of a job that is continued: {kind}, {kills} deaths", problem, f"{seconds:.1f} s")


def moved(setting: Setting) -> None:
    """The whole job dies. Its libraries lie elsewhere when it goes on: the linker finds one of them there, and nobody has
    loaded the other one. Then one of them is another version, which no image may get."""
    for test, version in (("libraries at other paths", 1), ("another library at another path", 2)):
        where = setting.new_folder("moved")
        first, second, job = where / "first", where / "second", where / "job"
        for folder in (first, second):
            (folder / "plug").mkdir(parents=True)
        library, plug_in = Path("libversion.so"), Path("plug/plug.so")
        why = compile_one(setting, first / library, "library.c", "-shared", "-fPIC")
        why = why or compile_one(setting, first / plug_in, "library.c", "-shared", "-fPIC", "-DLIBRARY_VERSION=2")
        why = why or compile_one(setting, where / "other.so", "library.c", "-shared", "-fPIC", "-DLIBRARY_VERSION=3")
        why = why or compile_one(setting, where / "program", "moved.c", f"-L{first}", "-lversion",
                                 f"-Wl,-rpath,{first}:{second}")
        if why is not None:
            return setting.results.bad(test, why)
        stop = Stopper(job, 1.0, "everything", 2)
        early = run([*setting.mpiexec(2, "--job-dir", job, "--ckpt-interval", "300ms"), where / "program",
                     str(CONTINUED_STEPS * 5), first / plug_in], timeout=setting.timeout, cwd=where, meanwhile=stop)
        if not stop.done:
            return setting.results.bad(test, f"ended too soon: {early.output_tail()}")
        (first / library).rename(second / library)
        (where / "other.so" if version == 2 else first / plug_in).rename(second / plug_in)
        if version == 2:
            (first / plug_in).unlink()
        late = run([setting.launcher, "--restart", job], timeout=setting.timeout, cwd=where)
        if version == 1:
            problem = problem_of(late, expected_text="0 wrong steps")
            if problem is None and "2 of 2 ranks from images" not in late.err:
                problem = f"not from images: {late.output_tail()}"
        else:
            refused = late.code and "plug.so, which the program maps, cannot be read" in late.err
            problem = None if refused else f"it was not refused: {late.output_tail()}"
        setting.results.check(test, problem, f"{late.seconds:.1f} s")


def from_image_problem(file: Path) -> str | None:
    """The rank must have come back from an image: from its beginning it makes all files itself."""
    report, unread = reports.read(file)
    if report is None:
        return unread
    failures = rank_failures(report)
    if not failures:
        return "no rank died"
    return None if all(failure["image"] for failure in failures) else f"a rank came back without image: {failures}"


def programs(setting: Setting) -> None:
    """Somebody puts a new program, or a new library, in the place of the old one; then a rank dies."""
    for what in ("program", "library", "script"):
        for protocol, interval in (("pessimistic", "30s"), ("coordinated", "300ms")):
            test = f"the {what} is replaced: {protocol}, images every {interval}"
            where = setting.new_folder("run")
            why = make_versions(setting, where)
            if why is not None:
                return setting.results.bad(test, why)
            outcome = replace_and_kill(setting, where, what, protocol, interval)
            if what == "script" and interval == "30s":
                # A script finds itself by its name, so the one that was held cannot be used. (An image continues the
                # program that the script has executed.)
                problem = None if outcome.code and "is another program" in outcome.err and "script" in outcome.err \
                    else f"ended with {outcome.code}, should have named the script: {outcome.output_tail()}"
            else:
                problem = problem_of(outcome, expected_text="one program")
            if problem is None and "version" in outcome.out:
                problem = f"a rank was another program: {outcome.output_tail()}"
            if problem is None and "killed by signal 9" not in outcome.err:
                problem = "no rank died"
            setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def plugins(setting: Setting) -> None:
    """A library that the program loads after MPI_Init is replaced; then a rank dies."""
    cases = [("pessimistic", "30s")] + ([("coordinated", "300ms"), ("causal", "30s")] if setting.full else [])
    for protocol, interval in cases:
        test = f"a plug-in is replaced: {protocol}, images every {interval}"
        where = setting.new_folder("run")
        why = make_versions(setting, where) or compile_one(setting, where / "host", "program.c", "-DPLUGIN", "-ldl")
        if why is not None:
            return setting.results.bad(test, why)
        # Older than the job by more than a second, which times of files may have for their unit.
        time.sleep(1.1)
        seen: list[float] = []

        def meanwhile(process) -> None:
            # The agent has seen by then what the rank has loaded.
            if not seen and (where / "twenty-steps").exists():
                seen.append(time.monotonic() + 2.5)
            if seen and seen[0] and time.monotonic() > seen[0]:
                os.replace(where / "lib2.so", where / "libversion.so")
                seen[0] = 0

        outcome = run([*setting.mpiexec(2, "--protocol", protocol, "--ckpt-interval", interval,
                                        "--inject", "kill:rank=1,at=4s"), where / "host", str(PLUGIN_STEPS),
                       where / "libversion.so"], timeout=setting.timeout, cwd=where, meanwhile=meanwhile)
        problem = problem_of(outcome, expected_text="one program")
        if problem is None and "version" in outcome.out:
            problem = f"a rank had another plug-in: {outcome.output_tail()}"
        if problem is None and (not seen or seen[0]):
            problem = "the plug-in was not replaced"
        if problem is None and "killed by signal 9" not in outcome.err:
            problem = "no rank died"
        setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def make_versions(setting: Setting, where: Path) -> str | None:
    for version in (1, 2):
        why = compile_one(setting, where / f"lib{version}.so", "library.c", "-shared", "-fPIC",
                          f"-DLIBRARY_VERSION={version}")
        if why is not None:
            return why
        if version == 1:
            shutil.copy(where / "lib1.so", where / "libversion.so")
        why = compile_one(setting, where / f"program{version}", "program.c", f"-DPROGRAM_VERSION={version}",
                          f"-L{where}", "-lversion", f"-Wl,-rpath,{where}")
        if why is not None:
            return why
        (where / f"script{version}").write_text(f"#!/bin/sh\n# Version {version}\nexec {where}/program{version} \"$@\"\n")
        (where / f"script{version}").chmod(0o755)
    shutil.copy(where / "program1", where / "program")
    shutil.copy(where / "script1", where / "script")
    return None


def replace_and_kill(setting: Setting, where: Path, what: str, protocol: str, interval: str) -> Outcome:
    new, old = {"program": ("program2", "program"), "library": ("lib2.so", "libversion.so"),
                "script": ("script2", "script")}[what]
    done = False

    def meanwhile(process) -> None:
        nonlocal done
        if not done and (where / "twenty-steps").exists():
            os.replace(where / new, where / old)
            done = True

    executed = where / ("script" if what == "script" else "program")
    return run(
        [*setting.mpiexec(2, "--protocol", protocol, "--ckpt-interval", interval,
                          "--inject", "kill:rank=1,at=1500ms"), executed, str(PROGRAM_STEPS)],
        timeout=setting.timeout, cwd=where, meanwhile=meanwhile,
    )

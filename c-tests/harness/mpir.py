"""The MPIR interface of ftmpiexec, as debuggers and STAT use it: gdb stops at `MPIR_Breakpoint` and reads the processes
of all ranks, also after ranks have begun again: once, when all of them have. It also attaches to a launcher that runs."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from . import build
from .core import TESTS, Setting, kill, run, which

# Without debugging information the types must be written. An entry has 24 bytes: two texts, and the process.
TABLE = "(*(char **)&MPIR_proctable)"
SHOW = (f'printf "table %d %d %d %s %s\\n", *(int *)&MPIR_proctable_size, *(int *)({TABLE} + 16), '
        f'*(int *)({TABLE} + 40), *(char **){TABLE}, *(char **)({TABLE} + 8)')


def mpir(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    if which("gdb") is None:
        setting.results.skip("mpir", "gdb is not installed")
        return
    program, made = build.build(setting, TESTS / "batch" / "steps.c")
    if program is None:
        setting.results.bad("steps compiles", made.output_tail())
        return
    commands = ["set pagination off", "set breakpoint pending on", "break MPIR_Breakpoint", "run", SHOW, "continue", SHOW,
                "delete", "continue"]
    words = [word for command in commands for word in ("-ex", command)]
    outcome = run([which("gdb"), "-batch", "-nx", *words, "--args", setting.launcher, "-n", "2", "--inject",
                   "kill:rank=1,at=500ms", program, "100", "20000"], timeout=60, cwd=setting.new_folder("mpir"))
    found = re.findall(r"table (\d+) (\d+) (\d+) (\S+) (\S+)", outcome.out)
    problem = None
    if outcome.code is None or len(found) != 2:
        problem = f"{len(found)} tables; {outcome.output_tail()}"
    else:
        (size, first, second, host, path), (_, again_first, again_second, _, _) = found
        if size != "2" or first == second or not host or path != str(program):
            problem = f"the first table is {found[0]}"
        elif again_first == first or again_second == second:
            problem = f"after the death of rank 1: {found}"
        elif "rank 0 of 2" not in outcome.out:
            problem = f"the job did not end well; {outcome.output_tail()}"
    setting.results.check("mpir: gdb finds the ranks, also those that began again", problem)
    attach(setting)


def attach(setting: Setting) -> None:
    """A debugger comes when the job runs already."""
    program, made = build.build(setting, TESTS / "programs" / "until.c")
    if program is None:
        return setting.results.bad("until compiles", made.output_tail())
    folder = setting.new_folder("mpir-attach")
    lines = folder / "lines"
    with lines.open("wb") as file:
        launcher = subprocess.Popen([setting.launcher, "-n", "2", program, folder / "over"], cwd=folder, stdout=file,
                                    stderr=file, stdin=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while "rank 1 at step" not in lines.read_text() and time.monotonic() < until:
        time.sleep(0.1)
    outcome = run([which("gdb"), "-batch", "-nx", "-p", str(launcher.pid), "-ex", SHOW], timeout=60, cwd=folder)
    found = re.search(r"table 2 (\d+) (\d+) (\S+) (\S+)", outcome.out)
    named = [Path("/proc", pid, "exe").resolve() for pid in found.groups()[:2]] if found else []
    (folder / "over").touch()
    try:
        code = launcher.wait(60)
    except subprocess.TimeoutExpired:
        code = None
        kill([launcher.pid])
    problem = None
    if named != [program.resolve()] * 2:
        problem = f"it names {named}; {outcome.output_tail()}"
    elif code != 0:
        problem = f"the job ended with {code}; {lines.read_text()[-300:]}"
    setting.results.check("mpir: gdb attaches to a job that runs", problem)

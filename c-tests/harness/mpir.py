"""The MPIR interface of ftmpiexec, as debuggers and STAT use it: gdb stops at `MPIR_Breakpoint` and reads the processes
of all ranks, also after ranks have begun again: once, when all of them have."""

from __future__ import annotations

import re

from . import build
from .core import TESTS, Setting, run, which

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

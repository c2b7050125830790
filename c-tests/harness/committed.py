"""`--output committed`: what is printed is what the last incarnation of a rank remembers to have said,
though it was killed when it had said more; and it does not wait for the program's next call."""

from __future__ import annotations

import subprocess
import time

from .core import Setting, run
from .jobs import RANKS, Jobs, judge

MASK = (1 << 64) - 1


def chain(h: int, data: bytes) -> int:
    """As `chain` in `order.h`."""
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h ^ (h >> 29)


def story(out: str) -> str | None:
    """Whether the lines agree with the digest at their end."""
    told, h = 0, 1
    for line in out.splitlines():
        words = line.split()
        if words[:1] == ["told"] and len(words) == 4:
            numbers = [int(word) for word in words[1:]]
            if numbers[0] != told:
                return f"line {told} is `{line}`"
            told += 1
            h = chain(h, b"".join(n.to_bytes(4, "little", signed=True) for n in numbers))
        elif words[:1] == ["story"]:
            return None if words[1] == f"{h:016x}" else (
                f"{told} lines give the digest {h:016x}, the rank that printed them says {words[1]}")
    return "the story has no end"


def committed(setting: Setting) -> None:
    if not setting.ready():
        return
    jobs = Jobs(setting, 4)
    job, why = jobs.make("told", setting.seed)
    of_memory, why_not = jobs.make("told_memory", setting.seed)
    if job is None or of_memory is None:
        setting.results.bad("told", why or why_not)
        return
    # A slow logger leaves much time in which text is not final.
    for one, label, options in [
        (job, "a slow logger", ["--inject", "delay:logger=20ms", "--inject", "kill:rank=0,at=1s",
                                "--inject", "kill:rank=0,at=2s"]),
        (job, "an image now and then", ["--ckpt-interval", "500ms", "--inject",
                                        f"kill:every=700ms,count=4,seed={setting.seed}"]),
        (job, "whole lines", ["--output", "lines,committed", "--inject", "kill:rank=0,at=2s"]),
        (of_memory, "what others put", ["--inject", f"kill:rank=0,every=600ms,count=5,seed={setting.seed}"]),
    ]:
        where = setting.fresh("run")
        file = where / "report.json"
        outcome = run(
            [*setting.mpiexec(RANKS, "--output", "committed", "--report", file, *options),
             one.program, *one.arguments], timeout=setting.timeout, cwd=where)
        problem, note = judge(outcome, file, one.says, 1)
        setting.results.check(f"committed output: {label}", problem or story(outcome.out), note)
    soon(setting)


SILENT = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv)
{
    int n = 1;
    MPI_Init(&argc, &argv);
    MPI_Sendrecv_replace(&n, 1, MPI_INT, 0, 0, MPI_ANY_SOURCE, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("first words\\n");
    fflush(stdout);
    time_t begin = time(NULL);
    while (time(NULL) < begin + 6)
        ;
    MPI_Finalize();
    return 0;
}
"""


def soon(setting: Setting) -> None:
    """A program that prints and then computes for long: the text is made final meanwhile."""
    where = setting.fresh("run")
    (where / "silent.c").write_text(SILENT)
    made = run([setting.cc, "-o", where / "silent", where / "silent.c"], timeout=60)
    if made.code != 0:
        setting.results.bad("committed output comes soon", made.last_words())
        return
    process = subprocess.Popen(
        [str(word) for word in [*setting.mpiexec(1, "--output", "committed"), where / "silent"]],
        cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    came = time.monotonic()
    rest = process.stdout.read()
    code = process.wait(timeout=setting.timeout)
    early = time.monotonic() - came
    problem = None
    if (line, rest, code) != ("first words\n", "", 0):
        problem = f"printed {line!r}, {rest!r}, exit code {code}"
    elif early < 2:
        problem = f"came only {early:.1f} s before the end of a program that computed for 6 s"
    setting.results.check("committed output comes soon", problem, f"{early:.1f} s before the end")

"""Tests `--output committed`. The printed text must be the text of the last incarnation of a rank, although an earlier
incarnation had printed more when it was killed. Text becomes final without another call of the program."""

from __future__ import annotations

import subprocess
import time

from .core import Setting, run
from .jobs import RANKS, Jobs, judge

MASK = (1 << 64) - 1


def chain(h: int, data: bytes) -> int:
    """The same function as `chain` in `order.h`."""
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h ^ (h >> 29)


def digest_problem(out: str) -> str | None:
    """Checks the lines against the digest at their end."""
    count, h = 0, 1
    for line in out.splitlines():
        words = line.split()
        if words[:1] == ["received"] and len(words) == 4:
            numbers = [int(word) for word in words[1:]]
            if numbers[0] != count:
                return f"line {count} is `{line}`"
            count += 1
            h = chain(h, b"".join(n.to_bytes(4, "little", signed=True) for n in numbers))
        elif words[:1] == ["digest"]:
            return None if words[1] == f"{h:016x}" else (
                f"{count} lines give the digest {h:016x}, the rank that printed them has {words[1]}")
    return "the digest at the end is missing"


def committed(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 4)
    job, why = jobs.make("output_digest", setting.seed)
    memory_job, why_not = jobs.make("output_digest_memory", setting.seed)
    if job is None or memory_job is None:
        setting.results.bad("output_digest", why or why_not)
        return
    # With a slow logger, text stays provisional for a long time.
    for chosen, label, options in [
        (job, "a slow logger", ["--inject", "delay:logger=20ms", "--inject", "kill:rank=0,at=1s",
                                "--inject", "kill:rank=0,at=2s"]),
        (job, "an image now and then", ["--ckpt-interval", "500ms", "--inject",
                                        f"kill:every=700ms,count=4,seed={setting.seed}"]),
        (job, "whole lines", ["--output", "lines,committed", "--inject", "kill:rank=0,at=2s"]),
        (memory_job, "what others put", ["--inject", f"kill:rank=0,every=600ms,count=5,seed={setting.seed}"]),
    ]:
        where = setting.new_folder("run")
        file = where / "report.json"
        outcome = run(
            [*setting.mpiexec(RANKS, "--output", "committed", "--report", file, *options),
             chosen.program, *chosen.arguments], timeout=setting.timeout, cwd=where)
        problem, note = judge(outcome, file, chosen.expected_text, 1)
        setting.results.check(f"committed output: {label}", problem or digest_problem(outcome.out), note)
    text_comes_early(setting)


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


def text_comes_early(setting: Setting) -> None:
    """A program prints and then computes for long. The text must become final during the computation."""
    where = setting.new_folder("run")
    (where / "silent.c").write_text(SILENT)
    made = run([setting.cc, "-o", where / "silent", where / "silent.c"], timeout=60)
    if made.code != 0:
        setting.results.bad("committed output comes soon", made.output_tail())
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

"""Tests that determinants leave when messages are delivered (mpich-v-2006, 3.3; o2p-2009, 3.3). The logger's answer
then comes while the program computes: sends wait for nothing, and piggybacks are empty."""

from __future__ import annotations

from . import reports
from .core import Setting, run

ROUNDS = 8
DELAY_MS = 30
# Each round: a receive that can match in several ways, a computation of some times the delay, a message.
PROGRAM = """
#include <mpi.h>
#include <time.h>
static void compute(double seconds)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec - begin.tv_sec + 1e-9 * (now.tv_nsec - begin.tv_nsec) < seconds);
}
int main(int argc, char **argv)
{
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < %d; round++) {
        if (rank == 0) {
            MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(0.25);
            MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
""" % ROUNDS


def gate_problem(report: dict) -> str | None:
    """The first determinant is waited for: until then nothing is known of the logger's distance. A busy machine may
    delay some more; determinants that leave with the next message would all be waited for."""
    waited = report["messages"]["gate_wait_ms"]
    return None if waited < ROUNDS * DELAY_MS / 2 else f"sends waited {waited:.0f} ms for the logger"


def piggyback_problem(report: dict) -> str | None:
    events = report["piggyback"]["events"]
    return None if events <= ROUNDS / 2 else f"{events} events travelled with {ROUNDS} messages"


def determinants(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    where = setting.new_folder("run")
    (where / "computes.c").write_text(PROGRAM)
    compiled = run([setting.cc, "-O1", "-o", where / "computes", where / "computes.c"], timeout=60)
    if compiled.code != 0:
        setting.results.bad("determinants leave at delivery", compiled.err)
        return
    for protocol, problem_of in [("pessimistic", gate_problem), ("causal", piggyback_problem),
                                 ("optimistic", piggyback_problem)]:
        file = where / f"{protocol}.json"
        outcome = run(
            [*setting.mpiexec(2, "--protocol", protocol, "--event-rings", "off", "--ckpt", "off",
                              "--inject", f"delay:logger={DELAY_MS}ms", "--report", file), where / "computes"],
            timeout=setting.timeout, cwd=where)
        report, problem = reports.read(file)
        if outcome.code != 0:
            problem = f"exit code {outcome.code}: {outcome.err}"
        elif report is not None:
            if report["messages"]["determinants"] < ROUNDS:
                problem = f"only {report['messages']['determinants']} determinants"
            else:
                problem = problem_of(report)
        setting.results.check(f"determinants leave at delivery, {protocol}", problem)

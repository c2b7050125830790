"""Tests `FTMPI_CHECK=1`. Collective calls that do not match are errors on every rank, with a text that names both
calls. `MPI_Finalize` and `MPI_Comm_free` report what a program leaves open. Without `FTMPI_CHECK=1` nothing is
reported."""

from __future__ import annotations

from . import build
from .core import TESTS, Setting, problem_of, run

RANKS = 3
# The mistake of a case, and the texts that every rank must print.
COLLECTIVES = {
    "kind": ("MPI_Barrier", "MPI_Bcast"),
    "root": ("MPI_Bcast with root",),
    "operation": ("MPI_Allreduce with another operation",),
    "length": ("MPI_Allreduce with", "bytes"),
    "type": ("MPI_Allreduce with values of", "MPI_FLOAT", "MPI_INT"),
    "later-fits": ("no error",),
    "later-kind": ("MPI_Ibarrier", "MPI_Ibcast"),
    "later-length": ("MPI_Ireduce with", "bytes"),
    # For several requests only the class of the error is reported.
    "later-among": ("invalid root",),
    "now-and-later": ("MPI_Ibarrier", "MPI_Barrier"),
    "persistent": ("MPI_Bcast_init with", "bytes"),
}
LEFT_OPEN = {
    "request": "request that was started and not completed",
    "message": "message that came and was not received",
    "communicator": "communicator that was not freed",
    "freed": "MPI_Comm_free: 1 message that came on the lost one and was not received",
}


def checks(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "mismatch.c")
    if program is None:
        setting.results.bad("mismatch compiles", made.output_tail())
        return

    def run_case(case: str, protocol: str, checked: str = "1"):
        return run([*setting.mpiexec(RANKS, "--protocol", protocol), program, case], timeout=setting.timeout,
                   cwd=setting.new_folder("run"), env={"FTMPI_CHECK": checked})

    for protocol in ("none", "pessimistic"):
        for case, texts in COLLECTIVES.items():
            outcome = run_case(case, protocol)
            problem = problem_of(outcome)
            lines = [line for line in outcome.err.splitlines() if line.startswith("rank ")]
            # Ranks that agree with each other and not with the first rank report the error, too.
            wrong = [line for line in lines if not all(word in line for word in texts)]
            if problem is None and (len(lines) != RANKS or wrong):
                problem = f"{len(lines)} ranks spoke; {wrong[:1]} lacks {texts}"
            setting.results.check(f"FTMPI_CHECK, {case}, {protocol}", problem)
        for case, texts in LEFT_OPEN.items():
            outcome = run_case(case, protocol)
            problem = problem_of(outcome)
            if problem is None and outcome.err.count(texts) != RANKS:
                problem = f"`{texts}` was printed {outcome.err.count(texts)} times: {outcome.output_tail()}"
            setting.results.check(f"FTMPI_CHECK, {case}, {protocol}", problem)
        for case, checked in (("nothing", "1"), ("communicator", "0"), ("freed", "0")):
            outcome = run_case(case, protocol, checked)
            problem = problem_of(outcome)
            if problem is None and "MPI_Finalize:" in outcome.err or "MPI_Comm_free:" in outcome.err:
                problem = f"printed {outcome.output_tail()}"
            setting.results.check(f"FTMPI_CHECK={checked}, {case}, {protocol}", problem)

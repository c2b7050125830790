"""Runs every conformance program under our launcher on 1 to 8 ranks and under both protocols. Compares the output byte
for byte with the output of another MPI, if one is installed."""

from __future__ import annotations

from pathlib import Path

from . import build
from .core import Outcome, Setting, problem_of, run

# Programs that end with another code than 0, or need input or a number of ranks.
EXIT_CODES = {"abort": 7, "exit_code": 3}
ANY_ERROR = {"fatal"}
STDIN = {"exit_code": "".join(f"{i}\n" for i in range(50000))}
NEEDS_RANKS = {"abort": 2, "fatal": 2}
# The standard does not fix the output of these programs, or the other MPI fails on them.
NOT_COMPARED = {"fatal", "abort", "exit_code",   # Hydra breaks off when it feeds much input.
                # MPICH 4.0 has other errors for null requests, and other counts of elements.
                "nothing",
                # Debian's MPICH 4.0 dies in Fortran files, and loses a put under groups.
                "f_windows_files", "f_windows_files_f08",
                # MPICH 4.0 dies in the combined non-blocking exchanges.
                "p2p_forms",
                # MPICH 4.0 also takes the gaps of sections with gaps, or dies.
                "f_sections_f08", "f_sections_p2p_f08",
                # From mpi_f08, MPICH 4.0 counts the requests of MPI_Waitany and MPI_Waitsome from 0, and loses its
                # atomic operations on windows.
                "f_point_f08", "f_one_sided_f08",
                # MPICH 4.0 takes values that C copy functions make for values of Fortran.
                "f_languages"}
# On 4 spinning ranks these programs take seconds.
SPIN = {"coll_reduce", "files_together", "groups_comms", "p2p_modes", "rma_active", "rma_passive", "threads"}
# On 4 ranks, Debian's MPICH 4.0 dies in these programs.
DIE_ON_4 = {"coll_inter", "coll_mixed", "f_collectives_f08"}
# These programs call what Debian's MPICH 4.0 lacks: large counts of files from mpi_f08, functions since MPI-4.1, and
# keywords and types of `use mpi`.
NEWER = {"f_files_f08", "f_newer_f08", "f_newer_usempi", "mpich_habits"}


def run_program(setting: Setting, program: Path, ranks: int, options: list[str]) -> Outcome:
    where = setting.new_folder("run")
    return run(
        [*setting.mpiexec(ranks, *options), program],
        timeout=setting.timeout,
        cwd=where,
        stdin=STDIN.get(program.name, ""),
    )


def judge(name: str, outcome: Outcome, stdin_text: str = "") -> str | None:
    if name in ANY_ERROR:
        if outcome.code is None:
            return problem_of(outcome)
        if outcome.code == 0:
            return "ended with 0, should have failed"
        return None if outcome.err.strip() else "printed nothing on standard error"
    problem = problem_of(outcome, EXIT_CODES.get(name, 0))
    if problem is None and stdin_text and stdin_sum(stdin_text) not in outcome.out:
        return f"not all of standard input came: {outcome.output_tail()}, sent {stdin_sum(stdin_text)}"
    return problem


def stdin_sum(text: str) -> str:
    numbers = [int(line) for line in text.split()]
    return f"{len(numbers)} lines, sum {sum(numbers)}"


def modes(full: bool) -> list[tuple[str, list[str]]]:
    listed = [
        ("none", ["--protocol", "none"]),
        ("pessimistic", ["--protocol", "pessimistic"]),
    ]
    if full:
        listed += [
            ("none tcp", ["--protocol", "none", "--transport", "tcp"]),
            ("pessimistic tcp", ["--protocol", "pessimistic", "--transport", "tcp"]),
            ("pessimistic all events", ["--protocol", "pessimistic", "--events", "all"]),
        ]
    else:
        listed += [("pessimistic tcp", ["--protocol", "pessimistic", "--transport", "tcp"])]
    return listed


# Numbers of ranks under `none` and under `pessimistic` in `make check`, which runs everything once. `make check-all`
# runs all of 1, 2, 4 and 7 under both.
SHORT_SIZES = ([2, 7], [1, 4])


def conformance(setting: Setting, only: list[str], sizes: list[int] | None = None, short: bool = False) -> None:
    """Runs all programs of `conformance/`, or those that `only` names."""
    if not setting.dist_is_built():
        return
    results = setting.results
    peer = build.peer_available()
    if not peer:
        results.skip("comparison with another MPI", f"{build.PEER_EXEC} is not installed")
    for source in build.sources("conformance"):
        name = source.stem
        if only and name not in only:
            continue
        if build.is_fortran(source) and not build.fortran_available(setting):
            results.skip(name, "no Fortran compiler")
            continue
        program, made = build.build(setting, source)
        if program is None:
            results.bad(f"{name} compiles", made.output_tail())
            continue
        expected: dict[int, str] = {}
        if peer and name not in NOT_COMPARED | NEWER:
            expected = peer_output(setting, source, [2, 4] if short and name not in SPIN else [2] if short else sizes)
        listed = sizes or ([1, 2, 3, 4, 5, 6, 7, 8] if setting.full else [1, 2, 4, 7])
        for number, (label, options) in enumerate(modes(setting.full)):
            for ranks in SHORT_SIZES[number] if short and number < 2 else listed:
                if ranks < NEEDS_RANKS.get(name, 1):
                    continue
                if number == 2 and not setting.full and ranks != 4 and not sizes:
                    continue
                test = f"{name} on {ranks}, {label}"
                outcome = run_program(setting, program, ranks, options)
                problem = judge(name, outcome, STDIN.get(name, ""))
                if problem is None and ranks in expected and outcome.out != expected[ranks]:
                    problem = "output differs from the other MPI's: " + difference(
                        outcome.out, expected[ranks]
                    )
                results.check(test, problem, f"{outcome.seconds:.1f} s")


def peer_output(setting: Setting, source: Path, sizes: list[int] | None) -> dict[int, str]:
    """The output of the other MPI, by number of ranks. The other MPI spins when ranks outnumber processors, so fewer
    numbers of ranks are compared by default. The programs check themselves on all."""
    program, made = build.build(setting, source, peer=True)
    if program is None:
        setting.results.bad(f"{source.stem} compiles with {build.PEER_CC}", made.output_tail())
        return {}
    expected = {}
    usual = [1, 2, 3, 4] if setting.full else [1, 2] if source.stem in SPIN else [1, 2, 4]
    for ranks in [n for n in sizes or usual if n < (4 if source.stem in DIE_ON_4 else 5)]:
        outcome = run(
            [build.PEER_EXEC, "-n", str(ranks), program],
            timeout=setting.timeout,
        )
        if judge(source.stem, outcome) is None:
            expected[ranks] = outcome.out
        else:
            setting.results.skip(
                f"{source.stem} on {ranks} compared", f"the other MPI: {outcome.output_tail()}"
            )
    return expected


def difference(got: str, want: str) -> str:
    for a, b in zip(got.splitlines(), want.splitlines()):
        if a != b:
            return f"`{a}`, there `{b}`"
    return f"{len(got.splitlines())} lines, there {len(want.splitlines())}"


def peer_only(setting: Setting) -> None:
    """Validates the programs themselves: runs all of them under the other MPI alone."""
    if not build.peer_available():
        setting.results.skip("validation", f"{build.PEER_EXEC} is not installed")
        return
    listed = [
        *((s, []) for s in build.sources("conformance") if s.stem not in NEWER),
        *((s, ["--seconds", "1"]) for s in build.sources("crash")),
        *((s, []) for s in build.kernel_sources()),
    ]
    for source, arguments in listed:
        program, made = build.build(setting, source, peer=True)
        if program is None:
            setting.results.bad(f"{source.stem} compiles", made.output_tail())
            continue
        for ranks in [1, 2, 4]:
            if ranks < max(NEEDS_RANKS.get(source.stem, 1), 2 if source.stem == "two_receives" else 1):
                continue
            outcome = run(
                [build.PEER_EXEC, "-n", str(ranks), program, *arguments],
                timeout=setting.timeout,
            )
            setting.results.check(
                f"{source.stem} on {ranks}, other MPI",
                judge(source.stem, outcome) if source.stem != "fatal" else
                (None if outcome.code else "ended with 0"),
                f"{outcome.seconds:.1f} s",
            )

"""Tests that options and variables of Hydra mean here what they mean there."""

from __future__ import annotations

import os
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, problem_of, run

TWO_HOSTS = ["-launcher", "fork", "-hosts", "a,b"]


def prints(outcome: Outcome, *lines: str, code: int = 0) -> str | None:
    """The command must end with the code and print these lines, in any order and among others."""
    problem = problem_of(outcome, code)
    missing = [line for line in lines if line not in outcome.out.splitlines()]
    return problem or (f"no line {missing}: {outcome.output_tail()}" if missing else None)


def hydra_options(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    where = setting.new_folder("hydra")

    def start(words: list, variables: dict[str, str] | None = None) -> Outcome:
        # No options of tests: variables stand for options that are not given.
        return run([setting.launcher, "--protocol", "none", *words], timeout=60, cwd=where,
                   env={**os.environ, **(variables or {})})

    def script(text: str) -> list[str]:
        return ["sh", "-c", text]

    def check(name: str, problem: str | None) -> None:
        setting.results.check(f"hydra: {name}", problem)

    outcome = start(["-n", "2", *TWO_HOSTS, "-rankmap", "1,0", "-prepend-pattern", "%h/%r: ", *script("echo here")])
    check("-rankmap and -prepend-pattern", prints(outcome, "b/0: here", "a/1: here"))
    outcome = start(["-n", "3", *TWO_HOSTS, "-rankmap", "(0,2,1)", *script("echo here")])
    refused = outcome.code == 2 and "--rankmap: it has 2 ranks, and the job has 3" in outcome.err
    check("a map of too few ranks", None if refused else outcome.output_tail())
    ends = script("test $PMI_RANK = 0 || sleep 0.4; test $PMI_RANK = 2 && sleep 60; exit $((PMI_RANK * 3))")
    outcome = start(["-n", "3", *TWO_HOSTS, "-rankmap", "0,0,1", "-print-all-exitcodes", *ends])
    check("-print-all-exitcodes", prints(outcome, "Exit codes: [a] 0,3 [b] 137", code=3))
    program, made = build.build(setting, TESTS / "programs" / "universe.c")
    if program is None:
        check("-usize", made.output_tail() if made else "it does not compile")
    else:
        for size, wanted in (("9", 9), ("INFINITE", 2**31 - 1), ("SYSTEM", 5)):
            outcome = start(["-n", "2", "-launcher", "fork", "-hosts", "a:2,b:3", "-usize", size, program])
            check(f"-usize {size}", prints(outcome, f"universe {wanted}"))
    if Path("/proc/self/numa_maps").exists():
        outcome = start(["-n", "1", "-membind", "interleave:all", *script("head -n 1 /proc/self/numa_maps")])
        given = " interleave:" in outcome.out or "--membind: " in outcome.err
        check("-membind", problem_of(outcome) or (None if given else outcome.output_tail()))
    else:
        setting.results.skip("hydra: -membind", "this kernel does not know NUMA nodes")
    cpus = script("grep Cpus_allowed_list /proc/self/status")
    outcome = start(["-n", "1", *cpus], {"HYDRA_BINDING": "hwthread"})
    alone = outcome.out.split()[-1:] if outcome.out else []
    one = len(alone) == 1 and alone[0].isdigit()
    check("HYDRA_BINDING", problem_of(outcome) or (None if one else outcome.output_tail()))
    outcome = start(["-n", "1", "true"], {"MPICH_PORT_RANGE": "24999:24999"})
    named = outcome.code != 0 and "no port from 24999 to 24999 is free" in outcome.err
    check("MPICH_PORT_RANGE", None if named else outcome.output_tail())
    outcome = start(["-v", "-n", "1", "true"], {"HYDRA_IFACE": "no-such-0"})
    told = "HYDRA_IFACE=no-such-0 counts as not set" in outcome.err
    check("HYDRA_IFACE of another host", problem_of(outcome) or (None if told else outcome.output_tail()))

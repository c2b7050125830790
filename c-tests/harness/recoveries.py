"""Tests which recovery follows which failure, and where ranks go: spares, slots, the same death, memory, detectors.

All hosts are this machine. A script stands for ssh: it tells the agent the name of its host, and fails for hosts that
are down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from . import build, reports
from .bounds import memory_group
from .core import TESTS, Outcome, Setting, problem_of, run

# HOSTS/NAME: `down`: the host cannot be reached; `hangs`: it does not answer; `once X`: it can be reached once, then X;
# otherwise it can be reached always.
STARTER = """#!/bin/sh
host=$1; shift
read -r state later 2>/dev/null <"$HOSTS/$host"
case "$state" in
down) echo "$host: no route to host" >&2; exit 255 ;;
hangs) exec sleep 60 ;;
once) echo "$later" >"$HOSTS/$host" ;;
esac
export ON=$host
exec sh -c "$*"
"""


@dataclass
class Case:
    """A job on hosts of a machine file. `hosts`: the states of those that cannot always be reached."""

    test: str
    machines: str
    options: list[str] = field(default_factory=list)
    ranks: int = 4
    program: list[str] = field(default_factory=lambda: ["40"])
    hosts: dict[str, str] = field(default_factory=dict)


def run_case(setting: Setting, case: Case) -> tuple[Outcome | None, dict[int, str], dict]:
    """The outcome, the host of each rank at the end, and the report."""
    program, made = build.build(setting, TESTS / "programs" / "whereabouts.c")
    if program is None:
        setting.results.bad(case.test, made.output_tail())
        return None, {}, {}
    where = setting.new_folder("recoveries")
    (where / "machines").write_text(case.machines)
    starter = where / "starter"
    starter.write_text(STARTER)
    starter.chmod(0o755)
    states = where / "hosts"
    states.mkdir()
    for host, state in case.hosts.items():
        (states / host).write_text(state)
    report = where / "report.json"
    outcome = run([*setting.mpiexec(case.ranks, "-f", where / "machines", "--rsh", starter, "--report", report,
                                    *case.options), program, *case.program],
                  timeout=60, cwd=where, env={"HOSTS": str(states)})
    found = re.findall(r"^rank (\d+) runs on (\w+)$", outcome.out, re.MULTILINE)
    return outcome, {int(rank): host for rank, host in found}, reports.read(report)[0] or {}


def check(setting: Setting, case: Case, wanted: dict[int, str] | None, texts: tuple[str, ...] = (), code: int = 0,
          recovery: tuple[str, str] | None = None, seconds: float = 0) -> None:
    """Runs a case. `wanted`: where ranks are at the end; `recovery`: detector and recovery of the first failure;
    `seconds`: the longest time from a failure until its rank was back."""
    outcome, hosts, report = run_case(setting, case)
    if outcome is None:
        return
    problem = problem_of(outcome, code=code)
    if problem is None and wanted is not None and any(hosts.get(rank) != host for rank, host in wanted.items()):
        problem = f"the ranks are on {hosts}"
    for text in texts:
        if problem is None and text not in outcome.err:
            problem = f"`{text}` is not said: {outcome.output_tail()}"
    failures = report.get("failures", [])
    if problem is None and recovery and (not failures or recovery != (failures[0]["detector"], failures[0]["recovery"])):
        problem = f"the report has {failures[:1]}"
    restored = [failure["restore_ms"] for failure in failures]
    if problem is None and seconds and any(ms is None or ms > 1000 * seconds for ms in restored):
        problem = f"ranks came back after {restored} ms"
    setting.results.check(case.test, problem, f"{outcome.seconds:.1f} s")


KILL = ["--inject", "kill:agent=h1,at=1s"]
QUICK = '[[rule]]\ndetectors = [ { name = "physical", patience = "500ms" } ]\n'


def recovery_file(setting: Setting, text: str) -> str:
    file = setting.new_folder("recovery") / "recovery.toml"
    file.write_text(text)
    return str(file)


def where_ranks_go(setting: Setting) -> None:
    quick = ["--recovery", recovery_file(setting, QUICK)]
    check(setting, Case("ranks of a lost host go to free slots, never to a host without slots",
                        "h1:2\nh2:4\nstore:0\n", [*KILL, *quick], program=["15"], hosts={"h1": "once down"}),
          dict.fromkeys(range(4), "h2"), ("ranks 0-1 move to h2",), recovery=("physical", "migrate"))
    check(setting, Case("ranks of a lost host go to the spare first, after 5 s at the most",
                        "h1:2\nh2:4\nh3:2 spare\nh4:2 spare\n", KILL, program=["15"],
                        hosts={"h1": "once hangs", "h4": "down"}),
          {0: "h3", 1: "h3", 2: "h2", 3: "h2"}, ("spare host h4: ", "the job begins without it"), seconds=7.5)
    check(setting, Case("max_slots holds after a failure, too: the job ends and can go on",
                        "h1:2\nh2:2 max_slots=3\n", [*KILL, *quick, "--job-dir", "job"], program=["600"],
                        hosts={"h1": "once down"}),
          None, ("no other host is left", "--restart"), code=1)


def how_often(setting: Setting) -> None:
    for protocol in ("pessimistic", "coordinated"):
        check(setting, Case(f"a lost host with 4 ranks is one failure ({protocol})", "h1:4\n",
                            ["--protocol", protocol, "--max-restarts", "1", *KILL], program=["15"]),
              dict.fromkeys(range(4), "h1"))


def the_same_death(setting: Setting) -> None:
    check(setting, Case("three equal deaths on one host move the rank", "h1:2\nh2:2\n", ranks=3,
                        program=["20", "sick", "h1"]),
          {0: "h1", 1: "h2", 2: "h2"},
          ("3 times at the same place on h1", "it tries h2", "[same-death: migrate]"),
          recovery=("process", "rollback"))
    check(setting, Case("the same death on two hosts is the program's", "h1:2\nh2:2\n", ranks=3,
                        program=["20", "sick", "all"]),
          # (A rank that returns with others may come a message further before it dies: that counts as progress.)
          None, ("4 times at the same place, also on h", ": a fault of the program"), code=128 + 7)


def detectors(setting: Setting) -> None:
    text = ('[[rule]]\nranks = "1"\ndetectors = [ { name = "repeated", count = 2, window = "1m" } ]\n')
    check(setting, Case("a file of --recovery chooses for some ranks", "h1:2\nh2:2\n",
                        ["--recovery", recovery_file(setting, text), "--inject", "kill:rank=1,at=600ms",
                         "--inject", "kill:rank=1,at=1600ms", "--inject", "kill:rank=0,at=2200ms"],
                        program=["30"]),
          {1: "h2"}, ("2 failures of processes on h1 within 60 s", "[repeated: migrate]"))
    from_a_library(setting)
    shown = run([setting.launcher, "--recovery", "show"], timeout=20)
    problem = problem_of(shown)
    if problem is None:
        again = run([*setting.mpiexec(1, "--recovery", recovery_file(setting, shown.out)), "true"], timeout=20,
                    cwd=setting.new_folder("recoveries"))
        problem = problem_of(again)
    setting.results.check("what --recovery show prints is read back", problem)
    bad = recovery_file(setting, '[[rule]]\ndetectors = [ { name = "process", recovery = "hope" } ]\n')
    refused = run([*setting.mpiexec(1, "--recovery", bad), "true"], timeout=20)
    expected = "the recovery `hope` does not exist in this version; there are restart, promote, migrate, ignore, give-up"
    problem = None if refused.code == 2 and expected in refused.err else refused.output_tail()
    setting.results.check("a recovery that does not exist is refused", problem)


def from_a_library(setting: Setting) -> None:
    """Two processes on two hosts of one switch die: the example library has all ranks leave the switch."""
    library = setting.dist / "lib" / "ftmpi" / "libftmpi_example_judge.so"
    rule = ('[[rule]]\ndetectors = [ {{ name = "{}", library = "{}", settings = "2", recovery = "{}" }} ]\n')
    machines = "h1:2 switch=s\nh2:2 switch=s\nh3:4 switch=t\n"
    kills = ["--inject", "kill:rank=0,at=600ms", "--inject", "kill:rank=2,at=1600ms"]
    for protocol in ("pessimistic", "coordinated"):
        check(setting, Case(f"a library has the ranks leave a switch ({protocol})", machines,
                            ["--protocol", protocol, *kills, "--recovery",
                             recovery_file(setting, rule.format("feed", library, "leave-switch"))], program=["40"]),
              dict.fromkeys(range(4), "h3"),
              ("2 processes died on the feed of switch s", "no rank begins on h1, h2 any more [feed: leave-switch]"))
    check(setting, Case("a built-in detector with the recovery of a library", machines,
                        [*kills[:2], "--recovery", recovery_file(setting, rule.format("process", library, "leave-switch"))],
                        program=["30"]),
          {0: "h3", 1: "h3"}, ("[process: leave-switch]",))
    for words, expected in ((("hot", library, "migrate"), "it has no `hot`; it has the detectors feed"),
                            (("feed", library, "hide"), "and the recoveries leave-switch"),
                            (("feed", library.with_name("libftmpi_example_waves.so"), "migrate"), "no function `ftmpi_judge`"),
                            (("feed", library.with_name("none.so"), "migrate"), "No such file"),
                            (("process", library, "restart"), "leave `library` out"),
                            (("feed", library, "ignore"), "cannot `ignore`")):
        refused = run([*setting.mpiexec(1, "--recovery", recovery_file(setting, rule.format(*words))), "true"], timeout=20)
        problem = None if refused.code == 2 and expected in refused.err else refused.output_tail()
        setting.results.check(f"a library is refused: {expected}", problem)


def too_little_memory(setting: Setting) -> None:
    test = "a rank that reaches the memory limit of a control group is told from a kill, and not restarted for ever"
    program, made = build.build(setting, TESTS / "programs" / "whereabouts.c")
    if program is None:
        setting.results.bad(test, made.output_tail())
        return
    group = memory_group()
    if isinstance(group, str):
        setting.results.skip(test, group)
        return
    folder, processes = group
    enter = ["sh", "-c", f'echo $$ >{folder / processes} && exec "$@"', "sh"]
    try:
        outcome = run([*enter, *setting.mpiexec(3, "--job-dir", "job"), program, "30", "greedy"], timeout=60,
                      cwd=setting.new_folder("recoveries"))
        problem = problem_of(outcome, code=128 + 9)
        for text in ("rank 1 on localhost: the kernel killed it: memory limit 512 MiB (cgroup)",
                     "3 times at the same place: it needs more memory than it may have", "--restart"):
            if problem is None and text not in outcome.err:
                problem = f"`{text}` is not said: {outcome.output_tail()}"
        if problem is None and "agent" in outcome.err:
            problem = f"the agent was killed, too: {outcome.output_tail()}"
        setting.results.check(test, problem, f"{outcome.seconds:.1f} s")
    finally:
        try:
            folder.rmdir()
        except OSError:
            pass


def recoveries(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    where_ranks_go(setting)
    how_often(setting)
    the_same_death(setting)
    detectors(setting)
    too_little_memory(setting)

"""Tests what `--protocol auto`, the default, chooses, and what a user gets from each choice when a rank or a host dies."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from . import build, reports
from .core import TESTS, Outcome, Setting, problem_of, run
from .jobs import RANKS, Jobs, judge

TWO_HOSTS = ["--launcher", "fork", "-hosts", "a,b", "-ppn", "2"]
LINE = re.compile(r"^line (\d+) (\d+)$", re.M)


@dataclass
class Case:
    """One run: the program, its options, what must be chosen, and which ranks must have new processes."""

    test: str
    program: str
    options: list[str]
    chosen: str
    returned: set[int]
    # The failed rank must come back from an image.
    image: bool = True
    seconds: float = 2
    ranks: int = RANKS
    said: list[str] = field(default_factory=list)


EVERY = ["--ckpt-interval", "400ms"]
# When an image is complete, and the next one begins.
KILL = ["--inject", "kill:rank=1,point=image,nth=2"]
CASES = [
    Case("one host: all ranks return", "lines", [*EVERY, *KILL],
         "coordinated", {0, 1, 2, 3}, seconds=5, said=["all ranks return to wave"]),
    Case("one host, before the first image", "probe_loop", ["--inject", "kill:rank=2,at=700ms"],
         "coordinated", {0, 1, 2, 3}, image=False, seconds=1, said=["all ranks return to the beginning"]),
    Case("one host, memory and threads that share it", "shared_threads",
         [*EVERY, *KILL], "coordinated", {0, 1}, ranks=2),
    Case("two hosts: the ranks of one return", "traffic", [*TWO_HOSTS, *EVERY, *KILL],
         "hierarchical", {0, 1}, said=["ranks 0, 1 return to wave"]),
    Case("two hosts, one of them dies", "shared_file", [*TWO_HOSTS, *EVERY, "--inject", "kill:agent=b,at=1500ms"],
         "hierarchical", {2, 3}, said=["ranks 2, 3 return to wave"]),
    Case("an option that needs a log", "waitany", [*EVERY, "--events", "all", *KILL],
         "pessimistic", {1}, seconds=1.5, said=["restarting it from image"]),
]


def auto(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    for case in CASES:
        run_case(setting, case)
    no_image_can_be_made(setting)
    memory_shared_on_two_hosts(setting)
    logs_are_ready(setting)


def run_case(setting: Setting, case: Case) -> None:
    test = f"auto: {case.test}"
    prepared = Jobs(setting, case.seconds, case.ranks).prepare(test, case.program, setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    outcome = run(
        [*setting.mpiexec(case.ranks, *case.options, "-v", "--report", file), job.program, *job.arguments],
        timeout=setting.timeout, cwd=where)
    problem, note = judge(outcome, file, job.expected_text, 1, case.ranks)
    problem = problem or choice_problem(file, case) or said_problem(outcome, case)
    if problem is None and case.program == "lines":
        problem = repeated_lines_problem(outcome.out, case.ranks)
    setting.results.check(test, problem, note)


def choice_problem(file: Path, case: Case) -> str | None:
    report = json.loads(file.read_text())
    if (report["protocol_asked"], report["protocol"]) != ("auto", case.chosen):
        return f"chose {report['protocol']} for {report['protocol_asked']}, should be {case.chosen}"
    returned = {rank for rank, processes in enumerate(report["pids"]) if len(processes) > 1}
    if returned != case.returned:
        return f"new processes of the ranks {returned}, should be {case.returned}"
    if case.image != all(failure["image"] is not None for failure in report["failures"]):
        return f"came back from the wrong place: {report['failures']}"
    return None


def said_problem(outcome: Outcome, case: Case) -> str | None:
    choice = [line for line in outcome.err.splitlines() if "--protocol auto: " in line]
    if len(choice) != 1 or f"--protocol auto: {case.chosen}, because " not in choice[0]:
        return f"the choice is not told once: {choice}"
    missing = [text for text in case.said if text not in outcome.err]
    return f"it did not say {missing}" if missing else None


def repeated_lines_problem(out: str, ranks: int) -> str | None:
    """Text that was printed before the death is not printed again by the incarnation that returned."""
    for rank in range(ranks):
        numbers = [int(number) for of, number in LINE.findall(out) if int(of) == rank]
        if not numbers or numbers != list(range(len(numbers))):
            return f"rank {rank} printed other lines than once each: {len(numbers)} lines"
    return None


def no_image_can_be_made(setting: Setting) -> None:
    """Nothing is logged and no image can be taken: a death begins the job again, and a line has said so before."""
    test = "auto: no image can be made"
    program, made = build.build(setting, TESTS / "programs" / "no_images.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else "it does not compile")
        return
    file = setting.new_folder("run") / "report.json"
    outcome = run(
        [*setting.mpiexec(2, "--ckpt-interval", "100ms", "--report", file,
                          "--inject", "kill:rank=1,point=rendezvous,nth=1000"), program, "1500"],
        timeout=setting.timeout, cwd=file.parent)
    problem = problem_of(outcome, expected_text="received: ok")
    report, unread = reports.read(file)
    if problem is None:
        problem = unread if report is None else None
    if problem is None and [failure["image"] for failure in report["failures"]] != [None]:
        problem = f"should have begun again once: {report['failures']}"
    for text in ("all ranks return to the beginning", "a socket that is connected over the network"):
        if problem is None and text not in outcome.err:
            problem = f"it did not say `{text}`: {outcome.output_tail()}"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def logs_are_ready(setting: Setting) -> None:
    """A rank whose log has grown makes memory ready for more of it while it waits."""
    test = "auto: memory of a log that grows is ready after a wait"
    program, made = build.build(setting, TESTS / "programs" / "log_ahead.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else "it does not compile")
        return
    outcome = run([*setting.mpiexec(2, *TWO_HOSTS[:-2], "-ppn", "1"), program],
                  timeout=setting.timeout, cwd=setting.new_folder("run"))
    ready = outcome.out.startswith("ready: ")
    setting.results.check(test, problem_of(outcome) or (None if ready else outcome.output_tail()),
                          f"{outcome.out.strip()}, {outcome.seconds:.1f} s")


def memory_shared_on_two_hosts(setting: Setting) -> None:
    """No log repeats loads and stores: `auto` sees the call in the program, and a protocol that logs says at the start and
    at the call what it refuses."""
    test = "auto: memory that ranks share, on two hosts"
    program, made = build.build(setting, TESTS / "programs" / "shared_hosts.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else "it does not compile")
        return
    file = setting.new_folder("run") / "report.json"
    outcome = run([*setting.mpiexec(4, *TWO_HOSTS, *EVERY, *KILL, "-v", "--report", file), program, "3000"],
                  timeout=setting.timeout, cwd=file.parent)
    case = Case(test, "", [], "coordinated", {0, 1, 2, 3}, said=["no log repeats loads and stores"])
    problem = problem_of(outcome, expected_text="granted: multiple\nsum: ok")
    setting.results.check(test, problem or choice_problem(file, case) or said_problem(outcome, case),
                          f"{outcome.seconds:.1f} s")
    outcome = run([*setting.mpiexec(4, *TWO_HOSTS, "--protocol", "hierarchical"), program, "100"],
                  timeout=setting.timeout, cwd=file.parent)
    missing = [text for text in ("which --protocol hierarchical refuses where several ranks share memory",
                                 "use --protocol none or coordinated") if text not in outcome.err]
    problem = "it ended well" if outcome.code == 0 else f"it did not say {missing}" if missing else None
    setting.results.check("memory that ranks share under a protocol that logs", problem, f"exit code {outcome.code}")

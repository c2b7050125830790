"""Tests programs of which no image can be taken: their logs stay within their limit, nobody waits for an image that
never comes, and a death that nothing can repair ends the job with a line."""

from __future__ import annotations

from . import build, reports
from .core import TESTS, Setting, problem_of, run
from .jobs import LOGGING

LIMIT_MIB, SENT_MIB = 8, 100
# A send waits until an image is refused, and until its receiver gives way: some tenths of a second.
LONGEST_S = 5


def without_images(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "no_images.c")
    if program is None:
        setting.results.bad("no images", made.output_tail() if made else "it does not compile")
        return
    for protocol in ["pessimistic", "causal", "optimistic"]:
        full_logs(setting, program, protocol)
    death(setting, program)


def command(setting: Setting, program, *options):
    return [setting.launcher, "-n", "2", "--log-limit", str(LIMIT_MIB), *options, program, str(SENT_MIB)]


def full_logs(setting: Setting, program, protocol: str) -> None:
    test = f"no images: full logs, {protocol}"
    report_file = setting.new_folder("run") / "report.json"
    outcome = run(command(setting, program, "--protocol", protocol, "--report", report_file),
                  timeout=setting.timeout, cwd=report_file.parent)
    problem = problem_of(outcome, expected_text="received: ok")
    if problem is None:
        longest = int(outcome.out.split("longest send ")[1].split()[0])
        if longest > LONGEST_S:
            problem = f"a send took {longest} s"
        elif "a socket that is connected over the network" not in outcome.err:
            problem = f"no line names the descriptor: {outcome.output_tail()}"
        elif outcome.err.count("If it dies before it has an image, the job ends") != 1:
            problem = f"the cost is not said once: {outcome.output_tail()}"
    if problem is None:
        report, problem = reports.read(report_file)
        held = (report["logs"]["peak_bytes"] if report else 0) >> 20
        if problem is None and held > 2 * LIMIT_MIB:
            problem = f"a log held {held} MiB"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")


def death(setting: Setting, program) -> None:
    """The receiver dies after it has given way: its messages are gone, and one line says so."""
    test = "no images: a death that nothing repairs"
    outcome = run(command(setting, program, *LOGGING, "--inject", "kill:rank=1,point=rendezvous,nth=60"),
                  timeout=setting.timeout, cwd=setting.new_folder("run"))
    problem = None
    if outcome.code in (0, None):
        problem = f"ended with {outcome.code}: {outcome.output_tail()}"
    elif "rank 1 cannot be recovered" not in outcome.err or "no image of rank 1 could be taken" not in outcome.err:
        problem = f"no line tells why: {outcome.output_tail()}"
    setting.results.check(test, problem, f"{outcome.seconds:.1f} s")

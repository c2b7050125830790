"""Kills under what other suites of `make check` kill nowhere: the graph techniques of piggybacking, each policy of the checkpoint
scheduler, servers on several hosts, copies of images. The report must show what was used: where events came from
(`recovered`), waves, and which rank took an image when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from .core import Setting, run
from .damage import Damager
from .jobs import RANKS, Jobs, judge, judge_with_faults
from .reports import read

# Rank 0 receives from any source, so it has events, and most of the messages.
PROGRAM, KILLED = "waitany", 0
MACHINES = "a:2 event-logger=0-1 checkpoint-server=2-3\nb:2 event-logger=2-3\nstore:0 checkpoint-server=0-1\n"
# One clock of the launcher has the times of images, with milliseconds.
CLOCK_S = 0.002


def one_after_the_other(report: dict) -> tuple[str | None, Counter]:
    """The problem that an image was ordered while another one was under way, or that there are too few images before
    the first failure; and how many each rank took until then."""
    until = report["failures"][0]["at_s"]
    images = sorted((image for image in report["timeline"]["images"] if image["ordered_s"] < until),
                    key=lambda image: image["ordered_s"])
    counts = Counter(image["rank"] for image in images)
    for image, later in pairwise(images):
        if image["ended_s"] is None or later["ordered_s"] + CLOCK_S < image["ended_s"]:
            return f"an image was ordered beside another one: {image}, {later}", counts
    return None if len(images) > 2 else f"only {len(images)} images", counts


def in_turn(report: dict) -> str | None:
    problem, counts = one_after_the_other(report)
    # (A rank that has not begun when its turn comes is passed over.)
    if problem is None and (len(counts) < RANKS or max(counts.values()) - min(counts.values()) > 2):
        problem = f"not every rank has its turn: {dict(counts)}"
    return problem


def drawn(report: dict) -> str | None:
    problem, counts = one_after_the_other(report)
    return problem or (None if len(counts) > 1 else f"one rank is drawn always: {dict(counts)}")


def most_received(report: dict) -> str | None:
    problem, counts = one_after_the_other(report)
    if problem is None and counts[KILLED] < max(counts.values()):
        problem = f"rank {KILLED} receives most, and has not most of the images: {dict(counts)}"
    return problem


def events_of(report: dict, logger: bool) -> str | None:
    """The problem with the origin of the events of the rank that was killed."""
    found = [entry for entry in report["recovered"] if entry["rank"] == KILLED]
    if len(found) != 1 or found[0]["ms"] <= 0:
        return f"`recovered` is {report['recovered']}"
    right = found[0]["from_logger"] > 0 if logger else found[0]["from_logger"] == 0 and found[0]["from_peers"] > 0
    return None if right else f"events came from elsewhere: {found[0]}"


@dataclass
class Case:
    """Options, and what the report must show."""

    name: str
    options: list[str]
    order: Callable[[dict], str | None]
    loggers: int
    # It dies while it takes its image of this number: it has older ones, however busy the machine is.
    image: int
    hosts: str = ""


CASES = [
    Case("manetho, images in turn, servers on three hosts",
         ["--protocol", "causal", "--piggyback", "manetho", "--ckpt-policy", "round-robin"], in_turn, 2, 3, MACHINES),
    Case("logon without a logger, images by lot", ["--protocol", "causal", "--piggyback", "logon", "--event-logger", "off",
                                                   "--ckpt-policy", "random"], drawn, 0, 4),
    Case("images of who has received most", ["--protocol", "pessimistic", "--ckpt-policy", "payload"], most_received, 1, 3),
]


def killed(setting: Setting, jobs: Jobs, case: Case) -> None:
    test = f"policies: {case.name}"
    prepared = jobs.prepare(test, PROGRAM, setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    options = [*case.options, "--ckpt-interval", "200ms", "--report", file,
               "--inject", f"kill:rank={KILLED},point=image,nth={case.image}"]
    if case.hosts:
        (where / "machines").write_text(case.hosts)
        options += ["--launcher", "fork", "-f", "machines"]
    problem, note = judge_with_faults(
        job, file, 1, lambda program: run([*setting.mpiexec(RANKS, *options), *program], timeout=setting.timeout,
                                          cwd=where))
    report, unread = read(file)
    if problem is None and report is None:
        problem = unread
    if problem is None and report["failures"][0]["image"] is None:
        problem = f"it began again at its start: {report['failures'][0]}"
    problem = problem or events_of(report, case.loggers > 0) or case.order(report)
    loggers = report["event_logger"]["count"] if report else 0
    if problem is None and loggers != case.loggers:
        problem = f"there were {loggers} event loggers, not {case.loggers}"
    setting.results.check(test, problem, note)


def copies_on_the_host(setting: Setting) -> None:
    """All images of the server are damaged, and a rank dies: all ranks return to a wave by the copies on their host."""
    test = "policies: a wave is read from copies on the host, by Young's interval"
    prepared = Jobs(setting, 5).prepare(test, PROGRAM, setting.seed)
    if prepared is None:
        return
    job, where, file = prepared.job, prepared.where, prepared.report
    damager = Damager(where / "job", job.program, "all", after=2)
    outcome = run([*setting.mpiexec(RANKS, "--protocol", "coordinated", "--images", "local+remote", "--ckpt-policy",
                                    "young-daly", "--ckpt-interval", "400ms", "--job-dir", "job", "--report", file),
                   job.program, *job.arguments], timeout=setting.timeout, cwd=where, meanwhile=damager)
    if not damager.damaged:
        return setting.results.bad(test, f"not every rank had two images to damage; {outcome.output_tail()}")
    problem, note = judge(outcome, file, job.expected_text, 1)
    report, unread = read(file)
    problem = problem or unread
    if problem is None and any(failure["image"] is None for failure in report["failures"]):
        problem = f"the copies were not read: {report['failures']}"
    if problem is None:
        waves, timeline = report["waves"], report["timeline"]["waves"]
        complete = sum(wave["complete"] for wave in timeline)
        if not 1 <= waves["complete"] == complete or not 0 < waves["duration_ms_mean"] <= waves["duration_ms_max"]:
            problem = f"the report has the waves {waves}, and {complete} complete ones in the timeline"
    setting.results.check(test, problem, note)


def policies(setting: Setting, short: bool = False) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 3)
    for case in CASES[:1] if short else CASES:
        killed(setting, jobs, case)
    copies_on_the_host(setting)

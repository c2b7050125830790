"""Measures what a user gets without an option, against `none`, in turn: messages inside a host, kernels with images,
the return of many ranks after a death, the start of many ranks.

Kernels take at least IMAGES images in each run. The time of a return is the launcher's: from the death until the last
rank has caught up. It is set beside a goal in seconds."""

from __future__ import annotations

import json
import re

from harness.core import KERNELS, TESTS

from .libraries import DEFAULT, OURS, Library
from .metrics import FLOOR, label

IMAGES = 3
# Seconds in which so many small ranks are to be back.
RETURN_S = {128: 1.0, 256: 2.0}


def round_of(bench) -> None:
    compared = [library for library in bench.libraries if library.name in (OURS, DEFAULT)]
    bench.side_by_side(lambda library: messages(bench, library), among=compared)
    # Seconds, because an image takes hundredths of a second whatever the length of a run.
    large = ["--class", "W"] if bench.args.tiny else ["--class", "A", "--repeat", "16"]
    edge = ["--edge", "24", "--repeat", "4"] if bench.args.tiny else ["--edge", "33", "--repeat", "8000"]
    for ranks in (2,) if bench.args.tiny else (2, 4):
        kernel(bench, compared, KERNELS / "cg.c", "CG", ranks, large)
        kernel(bench, compared, TESTS / "kernels" / "wavefront.c", "LU-like wavefront", ranks, edge)
    ours = next(library for library in compared if library.name == DEFAULT)
    death(bench, ours, 8 if bench.args.tiny else 128)
    if not bench.args.tiny:
        death(bench, ours, 256)
        for library in bench.libraries:
            # Other peers take minutes for so many ranks.
            if library.name in (OURS, DEFAULT, "impi-rt"):
                bench.start(library, 256)


def messages(bench, library: Library) -> None:
    """Messages between two ranks of one host. The default takes no image in so short a time."""
    for kind, arguments in (("shm", []), ("written", ["written"])):
        times = bench.curve(library, f"default, ping-pong {kind}", False, 4, *arguments)
        for size, value in times.items():
            bench.metric(f"default, ping-pong {kind} {label(size)}", against=OURS, goal_default=1 / 0.95).add(
                library.name, value)
    for size, value in bench.curve(library, "default, stream", False, 1, source="stream.c").items():
        bench.metric(f"default, stream {label(size)}", against=OURS, goal_default=1 / 0.95).add(library.name, value)


def kernel(bench, compared: list[Library], source, name: str, ranks: int, arguments: list[str]) -> None:
    """The time of a kernel. The interval of the default's images follows from the time under `none`."""
    program = bench.program(compared[0], source)
    title = f"default, {name}, {ranks} ranks"
    if program is None:
        return
    base = None
    for library in compared:
        options, report = [], bench.work / "default.json"
        if library.name == DEFAULT:
            if base is None:
                return
            interval = max(100, int(base * 1000 / (IMAGES + 1)))
            options = ["--ckpt-interval", f"{interval}ms", "--report", str(report)]
        variant = Library(library.name, [*library.launcher, *options], library.env)
        outcome = bench.measure(variant, title, ranks, False, [program, *arguments], 300)
        found = re.search(r"^time ([\d.]+) s", outcome.out, re.M) if outcome else None
        if outcome and ("VERIFICATION SUCCESSFUL" not in outcome.out or not found):
            bench.record_failure(library, title, "did not verify")
        if found is None:
            return
        seconds = float(found[1])
        base = seconds if library.name == OURS else base
        bench.metric(title, unit="s", against=OURS, goal_default=1.05).add(library.name, seconds)
        if options:
            images = json.loads(report.read_text())["checkpoints"]["count"] / ranks
            bench.metric(f"{title}: images of each rank", unit="").add(library.name, images)
            if images < IMAGES and not bench.args.tiny:
                bench.results.skip(title, f"{images:g} images of each rank instead of {IMAGES} or more")


def death(bench, library: Library, ranks: int) -> None:
    """One rank dies among many that add up numbers in turn."""
    program = bench.program(library, bench.source("stream.c"))
    title = f"default, one death among {ranks} ranks"
    if program is None:
        return
    report = bench.work / "death.json"
    at, seconds = ("1.5s", 3) if ranks < 100 else ("8s", 14)
    options = ["--ckpt-interval", "1s" if ranks < 100 else "4s", "--inject", f"kill:rank=1,at={at}",
               "--report", str(report)]
    variant = Library(library.name, [*library.launcher, *options], library.env)
    if bench.measure(variant, title, ranks, False, [program, "turns", seconds], 180) is None:
        return
    failures = json.loads(report.read_text())["failures"]
    back = [sum(f[part] or 0 for part in ("detect_ms", "restore_ms", "catch_up_ms")) for f in failures]
    if not back:
        bench.record_failure(library, title, "the report has no failure")
        return
    metric = bench.metric(f"{title}, until all are back", unit="s", against=FLOOR, goal_default=1.0)
    metric.add(library.name, max(back) / 1e3)
    metric.add(FLOOR, RETURN_S.get(ranks, 1.0))


__all__ = ["round_of"]

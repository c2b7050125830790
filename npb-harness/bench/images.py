"""Measures the cost of images and compares it with the lowest possible cost, in one run.

For ftmpi there are three comparisons. The pause: with a bare copy-on-write child of the same process. The time until an
image is durable: with writing and syncing as many bytes. The restore: with one second for a GiB. A program that
rewrites all its memory shows the loss for each image, against the loss for a bare child of the same duration. For other
tools that take images of processes (CRIU, DMTCP), where they run: the same program without MPI."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from harness.core import run, which

from .libraries import LOGGED, Library
from .metrics import FLOOR

SOURCE = Path(__file__).resolve().parent / "images.c"
SINKS = 3
OTHERS = ("CRIU", "DMTCP")
# For the program that rewrites its memory. The goal is stated for one image per interval of so many seconds.
RESIDENT_MB, INTERVAL_S = 100, 30


def round_of(bench) -> None:
    library = next(library for library in bench.libraries if library.name == LOGGED)
    program = bench.program(library, SOURCE)
    if program is None:
        return
    megabytes = 32 if bench.args.tiny else 1024
    whole_images(bench, library, program, megabytes)
    slowdown(bench, library, program)
    if not bench.args.tiny:
        other_tools(bench, megabytes)


def launch(bench, library: Library, title: str, options: list[str], command: list, timeout: float = 180):
    """The output and the report of a run of ours."""
    report = bench.work / f"{title.replace(' ', '-')}.json"
    ours = Library(LOGGED, [*library.launcher, *options, "--report", str(report)])
    outcome = bench.measure(ours, title, 1, False, command, timeout)
    return (outcome, json.loads(report.read_text())) if outcome else (None, None)


def number(outcome, name: str) -> float | None:
    found = re.search(rf"^{name} ([\d.]+)", outcome.out if outcome else "", re.M)
    return float(found.group(1)) if found else None


def raw_sink(work: Path, bytes_: int) -> float:
    """Seconds to write and sync so many bytes in the folder of the images: the median of a few."""
    block, path, times = os.urandom(1 << 20), work / "sink", []
    for _ in range(SINKS):
        begin = time.monotonic()
        with path.open("wb", buffering=0) as file:
            for _ in range(max(bytes_ >> 20, 1)):
                file.write(block)
            os.fsync(file.fileno())
        times.append(time.monotonic() - begin)
        path.unlink()
    return statistics.median(times)


def whole_images(bench, library: Library, program: Path, megabytes: int) -> None:
    """Whole images of one process, and its restore."""
    seconds, interval, death = (2, "300ms", "1.5s") if bench.args.tiny else (16, "2s", "14s")
    outcome, report = launch(bench, library, "images",
                           ["--ckpt-interval", interval, "--ckpt-incremental", "off",
                            "--inject", f"kill:rank=0,at={death}"],
                           [program, "steps", megabytes, seconds])
    clone = number(outcome, "clone")
    if clone is None:
        return
    images, failures = report["checkpoints"], report["failures"]
    if images["count"] < 3 or not failures or not failures[0]["image"]:
        bench.record_failure(library, "images", f"only {images['count']} images, {len(failures)} restores")
        return
    size = f"{megabytes} MiB"

    def put(name: str, unit: str, value: float, floor: float, goal: float) -> None:
        metric = bench.metric(f"{name}, {size}", unit=unit, against=FLOOR, goal_logged=goal)
        metric.add(LOGGED, value)
        metric.add(FLOOR, floor)

    put("pause of an image", "ms", images["pause_ms_mean"], clone, 1.2)
    bytes_ = images["bytes"] // images["count"]
    put("image until durable", "s", images["duration_ms_mean"] / 1e3, raw_sink(bench.work, bytes_), 1.25)
    put("restore", "s", failures[0]["restore_ms"] / 1e3, megabytes / 1024, 1.0)
    bench.metric(f"size of an image, {size}", unit="MiB").add(LOGGED, bytes_ / (1 << 20))


def slowdown(bench, library: Library, program: Path) -> None:
    """The loss for each image of a program that rewrites its memory all the time."""
    megabytes, passes = (16, 200) if bench.args.tiny else (RESIDENT_MB, 1200)
    command = [program, "rewrite", megabytes, passes]
    plain, _ = launch(bench, library, "rewriting", ["--ckpt", "off"], command)
    base = number(plain, "rewrite")
    if base is None:
        return
    # The interval gives about five images in a run.
    interval = f"{max(base / 6, 0.05) * 1e3:.0f}ms"
    imaged, report = launch(bench, library, "rewriting with images", ["--ckpt-interval", interval], command)
    with_images = number(imaged, "rewrite")
    if with_images is None or report["checkpoints"]["count"] < 3:
        bench.results.skip("slowdown by images", "fewer than three images in a run")
        return
    images = report["checkpoints"]
    duration = f"{images['duration_ms_mean']:.0f}"
    cloned, _ = launch(bench, library, "rewriting with children", ["--ckpt", "off"],
                       [*command, images["count"], duration])
    with_children = number(cloned, "rewrite")
    if with_children is None:
        return
    share = 100 / images["count"] / INTERVAL_S * RESIDENT_MB / megabytes
    name = f"slowdown per {RESIDENT_MB} MiB, an image every {INTERVAL_S} s"
    metric = bench.metric(name, unit="%", against=FLOOR)
    metric.add(LOGGED, max(with_images - base, 0) * share)
    metric.add(FLOOR, max(with_children - base, 0) * share)


def other_tools(bench, megabytes: int) -> None:
    program = bench.work / "images-plain"
    made = run(["cc", "-O2", "-DPLAIN", "-o", str(program), str(SOURCE)], timeout=60)
    if made.code != 0:
        bench.results.bad("images of other tools", made.output_tail())
        return
    for name, tool in zip(OTHERS, (criu, dmtcp)):
        why = tool(bench, program, megabytes)
        if why:
            bench.results.skip(f"images by {name}", why)


def add(bench, name: str, megabytes: int, taken: float, restored: float, folder: Path) -> None:
    stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    size = f"{megabytes} MiB"
    bench.metric(f"image until written, {size}", unit="s").add(name, taken)
    bench.metric(f"restore, {size}", unit="s", against=FLOOR, goal_logged=1.0).add(name, restored)
    bench.metric(f"size of an image, {size}", unit="MiB").add(name, stored / (1 << 20))
    bench.results.good(f"images by {name}", f"{taken:.2f} s until written, restored in {restored:.2f} s, "
                                            f"{stored / 1e6:.0f} MB")


def fresh(bench, name: str) -> Path:
    folder = bench.work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def start_until_ready(command: list) -> subprocess.Popen:
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    process.stdout.readline()
    return process


def end(*pids: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass


def criu(bench, program: Path, megabytes: int) -> str | None:
    """The reason why CRIU cannot be measured, or None."""
    tool = which("criu") or (shutil.which("criu", path="/usr/sbin:/sbin"))
    if tool is None:
        return "not installed"
    check = run([tool, "check"], timeout=30)
    if check.code != 0:
        return f"does not run on kernel {os.uname().release}: {check.output_tail()}"
    folder = fresh(bench, "criu")
    process = start_until_ready([program, "steps", megabytes, 60])
    begin = time.monotonic()
    dumped = run([tool, "dump", "--shell-job", "-t", str(process.pid), "-D", folder], timeout=120)
    taken = time.monotonic() - begin
    end(process.pid)
    process.wait()
    if dumped.code != 0:
        return f"no image: {dumped.output_tail()}"
    pids = folder.parent / "criu.pid"
    begin = time.monotonic()
    restored = run([tool, "restore", "--shell-job", "-d", "--pidfile", pids, "-D", folder], timeout=120)
    took = time.monotonic() - begin
    if restored.code != 0:
        return f"no restore: {restored.output_tail()}"
    end(int(pids.read_text()))
    add(bench, "CRIU", megabytes, taken, took, folder)
    return None


def dmtcp(bench, program: Path, megabytes: int) -> str | None:
    """The reason why DMTCP cannot be measured, or None."""
    if which("dmtcp_launch") is None:
        return "not installed (Debian 12 has no package of it)"
    folder = fresh(bench, "dmtcp")
    port = ["--coord-port", "0", "--port-file", folder / "port"]
    command = ["dmtcp_launch", *port, "--ckptdir", folder, "--no-gzip", program, "steps", megabytes, 60]
    process = start_until_ready(command)
    coordinator = ["--coord-port", (folder / "port").read_text().strip()]
    begin = time.monotonic()
    written = run(["dmtcp_command", *coordinator, "--bcheckpoint"], timeout=120)
    taken = time.monotonic() - begin
    run(["dmtcp_command", *coordinator, "--quit"], timeout=30)
    process.wait()
    images = list(folder.glob("ckpt_*.dmtcp"))
    if written.code != 0 or not images:
        return f"no image: {written.output_tail()}"
    begin = time.monotonic()
    again = subprocess.Popen(["dmtcp_restart", *map(str, port), *map(str, images)],
                             stdout=subprocess.DEVNULL, start_new_session=True)
    while again.poll() is None and time.monotonic() < begin + 60:
        state = run(["dmtcp_command", *coordinator, "--status"], timeout=30)
        if "RUNNING=yes" in state.out:
            break
        time.sleep(0.02)
    took = time.monotonic() - begin
    run(["dmtcp_command", *coordinator, "--quit"], timeout=30)
    end(again.pid)
    again.wait()
    add(bench, "DMTCP", megabytes, taken, took, folder)
    return None


__all__ = ["OTHERS", "round_of"]

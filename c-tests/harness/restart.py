"""Tests whole jobs: everything dies, or the launcher is asked to stop, and a later launcher continues the job.

A test counts only if the job was interrupted as wanted and its last launcher ended with 0 and the right result. No
process of an earlier run may be left."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from . import build
from .core import TESTS, Outcome, Setting, descendants, kill, problem_of, run
from .jobs import RANKS, TOO_SOON, Job, Jobs, retry_with_more_work

SUSPENDED = 75


class Stopper:
    """Waits until the job has run for some time and has images. Then kills everything, kills the launcher alone, or
    sends the launcher a signal."""

    def __init__(self, folder: Path, after: float, way: str, images: int = RANKS):
        self.folder, self.after, self.way, self.images = folder, after, way, images
        self.draw = random.Random(f"{after} {way}")
        self.begin = time.monotonic()
        self.done = False

    def __call__(self, process: subprocess.Popen) -> None:
        if self.done or time.monotonic() - self.begin < self.after:
            return
        if len(list(self.folder.rglob("*.image"))) < self.images:
            return
        self.done = True
        if self.way == "everything":
            below = descendants(process.pid)
            kill([process.pid, *below])
        elif self.way == "one by one":
            # The launcher dies first, so that nothing is started again. The others outlive the launcher for a moment
            # each.
            below = descendants(process.pid)
            self.draw.shuffle(below)
            for pid in [process.pid, *below]:
                kill([pid])
                time.sleep(self.draw.uniform(0, 0.03))
        elif self.way == "launcher":
            kill([process.pid])
        else:
            os.kill(process.pid, getattr(signal, self.way))


def remaining_processes(folder: Path, patience: float = 10.0) -> list[int]:
    """The processes whose command line names the job's directory after the wait."""
    until = time.monotonic() + patience
    while True:
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                try:
                    line = Path("/proc", entry, "cmdline").read_bytes()
                except OSError:
                    continue
                if os.fsencode(str(folder)) in line:
                    found.append(int(entry))
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


def begin(setting: Setting, job: Job, folder: Path, stop: Stopper | None, *options: str | Path,
          stdin: str | int | None = None) -> Outcome:
    return run(
        [*setting.mpiexec(RANKS, "--job-dir", folder, "--ckpt-interval", "500ms", *options),
         job.program, *job.arguments],
        timeout=setting.timeout, cwd=folder.parent, meanwhile=stop, stdin=stdin,
    )


def continue_job(setting: Setting, folder: Path, stop: Stopper | None, *options: str | Path,
          stdin: str | int | None = None) -> Outcome:
    return run(
        [setting.launcher, "--restart", folder, *options],
        timeout=setting.timeout, cwd=folder.parent, meanwhile=stop, stdin=stdin,
    )


def with_earlier_output(earlier: str, outcome: Outcome) -> Outcome:
    """Adds the output of earlier runs, because a job does not repeat what it printed before its last images."""
    return replace(outcome, out=earlier + outcome.out)


def interruption_problem(outcome: Outcome, stop: Stopper) -> str | None:
    """Checks that a run ended because it was stopped."""
    if outcome.code is None:
        return f"hang: {outcome.output_tail()}"
    if not stop.done:
        return (f"{TOO_SOON}: it could not be interrupted" if outcome.code == 0 else
                f"ended ({outcome.code}) before it could be interrupted; {outcome.output_tail()}")
    wanted = SUSPENDED if stop.way.startswith("SIG") else -signal.SIGKILL
    if outcome.code != wanted:
        return f"exit code {outcome.code}, expected {wanted}; {outcome.output_tail()}"
    if stop.way.startswith("SIG") and "--restart" not in outcome.err:
        return "it does not say how to go on"
    return None


def interrupt_and_continue(setting: Setting, jobs: Jobs, program: str, ways: list[str], *options: str | Path,
          later: list[str | Path] | None = None) -> None:
    """Interrupts the job once in each way, and continues the job each time."""
    test = f"restart: {program}, {', '.join(ways)}" + "".join(f" {o}" for o in options)
    if later:
        test += " then " + " ".join(str(o) for o in later)
    job, why = jobs.make(program, setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return
    draw = random.Random(f"{setting.seed} {test}")

    def attempt(factor: int) -> tuple[str | None, str]:
        longer = job.with_more_work(factor)
        folder = setting.new_folder("run") / "job"
        problem, seconds, earlier = None, 0.0, ""
        for number, way in enumerate([*ways, ""]):
            images = 0 if "--ckpt" in options else RANKS
            stop = Stopper(folder, draw.uniform(0.5, 2.0), way, images) if way else None
            if number == 0:
                outcome = begin(setting, longer, folder, stop, *options)
            else:
                outcome = continue_job(setting, folder, stop, *(later or []))
            seconds += outcome.seconds
            continued = with_earlier_output(earlier, outcome)
            earlier = continued.out
            problem = (interruption_problem(outcome, stop) if stop
                       else problem_of(continued, expected_text=job.expected_text))
            if problem is None and remaining_processes(folder):
                problem = "processes of the dead job are left"
            if problem:
                problem = f"run {number + 1}: {problem}"
                break
        return problem, f"{seconds:.1f} s"

    setting.results.check(test, *retry_with_more_work(attempt))


LINE = re.compile(r"^line (\d+) (\d+)$", re.M)


def output_and_input(setting: Setting, jobs: Jobs) -> None:
    """No line is lost, and no line comes in the wrong order. Only lines that were being printed at the death may come
    twice. Input is read once."""
    test = "restart: output and input"
    job, why = jobs.make("lines", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return
    folder = setting.new_folder("run") / "job"
    numbers = [str(n * 37 % 101) for n in range(200)]
    first, rest = "\n".join(numbers[:120]) + "\n", "\n".join(numbers[120:]) + "\n"
    stop = Stopper(folder, 1.0, "launcher")
    # The pipe stays open, so this input has no end. Later input follows the input that was read.
    reader, writer = os.pipe()
    os.write(writer, first.encode())
    early = begin(setting, job, folder, stop, stdin=reader)
    os.close(reader)
    os.close(writer)
    late = continue_job(setting, folder, None, stdin=rest)
    problem = None
    if not stop.done:
        problem = f"ended before it could be interrupted; {early.output_tail()}"
    problem = problem or problem_of(late, expected_text=job.expected_text)
    problem = problem or lines_are_whole(early.out, late.out)
    if problem is None:
        total = sum(int(n) * (i % 7 + 1) for i, n in enumerate(numbers, 1))
        if f"read 200 numbers, sum {total}," not in late.out:
            problem = f"input was lost or read twice: {late.out.strip().splitlines()[-2:]}"
    setting.results.check(test, problem, f"{early.seconds + late.seconds:.1f} s")


def exactly_once(setting: Setting, jobs: Jobs) -> None:
    """With `--output committed`, a job that is suspended and continued prints every line once."""
    test = "restart: committed output of a suspended job"
    job, why = jobs.make("lines", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return

    def attempt(factor: int) -> tuple[str | None, str]:
        longer = job.with_more_work(factor)
        folder = setting.new_folder("run") / "job"
        stop = Stopper(folder, 1.2, "SIGTERM")
        early = begin(setting, longer, folder, stop, "--protocol", "coordinated", "--output", "committed")
        problem = interruption_problem(early, stop)
        if problem is None:
            late = continue_job(setting, folder, None)
            problem = (problem_of(with_earlier_output(early.out, late), expected_text=job.expected_text)
                       or lines_are_whole(early.out, late.out, twice=0))
        return problem, f"{early.seconds:.1f} s to the end of the first run"

    setting.results.check(test, *retry_with_more_work(attempt))


def output_files(setting: Setting, jobs: Jobs) -> None:
    """Text that ranks printed into files is still there after `--restart` from any directory. A launcher that comes too
    early does not touch the files."""
    test = "restart: -outfile-pattern"
    job, why = jobs.make("lines", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return

    def attempt(factor: int) -> tuple[str | None, str]:
        longer = job.with_more_work(factor)
        where = setting.new_folder("run")
        folder = where / "job"
        stop = Stopper(folder, 1.2, "everything")
        early = begin(setting, longer, folder, stop, "-outfile-pattern", "out.%r")
        problem = interruption_problem(early, stop)
        texts = [where / f"out.{rank}" for rank in range(RANKS)]
        before = "".join(text.read_text() for text in texts)
        elsewhere = where / "elsewhere"
        elsewhere.mkdir()
        if problem is None:
            late = run([setting.launcher, "--restart", folder], timeout=setting.timeout, cwd=elsewhere)
            after = [text.read_text() for text in texts]
            problem = problem_of(replace(late, out="".join(after)), expected_text=job.expected_text)
            if problem is None and not before:
                problem = "the first run printed nothing"
        if problem is None:
            seen = {rank: "".join(line for line in before.splitlines(True)
                                  if line.startswith(f"line {rank} ")) for rank in range(RANKS)}
            rest = ""
            for rank, text in enumerate(after):
                if not text.startswith(seen[rank]):
                    problem = f"out.{rank}: what the first run printed is not there"
                    break
                rest += text[len(seen[rank]):]
            problem = problem or lines_are_whole(before, rest)
        return problem, f"{early.seconds:.1f} s to the death"

    setting.results.check(test, *retry_with_more_work(attempt))


def after_failed_command(setting: Setting, jobs: Jobs) -> None:
    """A command that fails leaves the job's directory unchanged: nothing of a new job, everything of an old one."""
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        setting.results.bad("restart: after a mistake", why)
        return
    folder = setting.new_folder("run") / "job"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        metrics = ["--metrics", f"127.0.0.1:{taken.getsockname()[1]}"]
        wrong = begin(setting, job, folder, None, *metrics)
        problem = problem_of(wrong, code=2)
        left = sorted(entry.name for entry in folder.iterdir() if entry.name != "lock")
        if problem is None and left:
            problem = f"left in the directory: {left}"
        stop = Stopper(folder, 1.0, "everything")
        early = begin(setting, job, folder, stop)
        problem = problem or interruption_problem(early, stop)
        if problem is None:
            wrong = continue_job(setting, folder, None, *metrics)
            problem = problem_of(wrong, code=2)
        if problem is None:
            late = continue_job(setting, folder, None)
            problem = problem_of(with_earlier_output(early.out, late), expected_text=job.expected_text)
            if problem is None and f"{RANKS} of {RANKS} ranks from images" not in late.err:
                problem = f"not from images: {late.output_tail()}"
    setting.results.check("restart: after a command that could not be carried out", problem)


def lines_are_whole(early: str, late: str, twice: int = 8) -> str | None:
    seen: dict[int, list[int]] = {rank: [] for rank in range(RANKS)}
    for rank, number in LINE.findall(early):
        seen[int(rank)].append(int(number))
    seam = {rank: len(numbers) for rank, numbers in seen.items()}
    for rank, numbers in seen.items():
        if numbers != list(range(len(numbers))):
            return f"rank {rank}: lines of the first run are not in order"
    after: dict[int, list[int]] = {rank: [] for rank in range(RANKS)}
    for rank, number in LINE.findall(late):
        after[int(rank)].append(int(number))
    ends = set()
    for rank, numbers in after.items():
        if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
            return f"rank {rank}: lines of the second run are not in order"
        if not seam[rank] - twice <= numbers[0] <= seam[rank]:
            return (f"rank {rank}: the first run printed {seam[rank]} lines, the second begins "
                    f"with line {numbers[0]}")
        ends.add(numbers[-1])
    return None if len(ends) == 1 else f"the ranks end with different lines: {sorted(ends)}"


def encrypted(setting: Setting, jobs: Jobs) -> None:
    """Only the key opens the images: the job continues with the key and not without. The tools report which images are
    encrypted."""
    test = "restart: encrypted images"
    job, why = jobs.make("master_worker", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return
    where = setting.new_folder("run")
    folder, key = where / "job", where / "key"
    stop = Stopper(folder, 1.5, "everything", 2 * RANKS)
    early = begin(setting, job, folder, stop, "--encrypt-images", "--image-key", key, "--compress", "3",
                  "--inject", f"kill:every=700ms,count=2,seed={setting.seed}")
    problem = interruption_problem(early, stop)
    tool = setting.dist / "bin" / "ftmpi-ckpt"
    if problem is None:
        closed = run([tool, "verify", folder], timeout=60)
        opened = run([tool, "--image-key", key, "verify", folder], timeout=60)
        shown = run([tool, "--image-key", key, "show", folder], timeout=60)
        hidden = run([tool, "show", folder], timeout=60)
        problem = (problem_of(closed, expected_text="are encrypted") or problem_of(opened, expected_text="0 damaged")
                   or problem_of(shown, expected_text="master_worker") or problem_of(hidden, code=2))
        if problem is None and "key is not at hand" not in hidden.err:
            problem = f"show without the key: {hidden.output_tail()}"
        if problem is None and "are encrypted" in opened.out:
            problem = "verify with the key did not open the images"
        # Every image contains the program's own text.
        if problem is None and any(b"master_worker" in image.read_bytes().split(b"FTMPIIMG")[1][40:-4096]
                                   for image in folder.rglob("*.image")):
            problem = "an image can be read without the key"
    if problem is None:
        saved = key.read_bytes()
        key.unlink()
        without = continue_job(setting, folder, None)
        problem = problem_of(without, code=2)
        if problem is None and "--image-key" not in without.err:
            problem = f"without the key: {without.output_tail()}"
        elsewhere = where / "elsewhere"
        elsewhere.write_bytes(saved)
        elsewhere.chmod(0o600)
    if problem is None:
        late = continue_job(setting, folder, None, "--image-key", elsewhere)
        problem = problem_of(with_earlier_output(early.out, late), expected_text=job.expected_text)
        wanted = f"{RANKS} of {RANKS} ranks from images"
        if problem is None and wanted not in late.err:
            problem = f"it did not say `{wanted}`"
    setting.results.check(test, problem, f"{early.seconds:.1f} s to the death")


def killed_at_its_end(setting: Setting) -> None:
    """All ranks have ended well, and no process reads their last output. A launcher that is killed then leaves a job
    that can be continued for the rest, with all files that this takes. Once everything is printed, `--restart` is
    refused and only the job's files are left."""
    test = "restart: killed at its end while no process reads"
    program, made = build.build(setting, TESTS / "programs" / "output_at_end.c")
    if program is None:
        setting.results.bad(test, made.output_tail() if made else "it does not compile")
        return
    lines, steps = 8000, 150
    where = setting.new_folder("run")
    folder, journal = where / "job", where / ".noted.data.ftmpi-undo"
    command = setting.mpiexec(RANKS, "--job-dir", folder, "--ckpt-interval", "500ms", "--protocol", "coordinated")
    process = subprocess.Popen([str(word) for word in [*command, program, steps, lines]], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, cwd=where, start_new_session=True)
    try:
        problem = None if end_of_ranks(process, program, setting.timeout) else "its ranks do not end"
        # Time in which a faulty launcher would delete too much.
        time.sleep(2.0)
        if problem is None and not journal.exists():
            problem = "the journal has gone while the job can still be continued"
        if problem is None and process.poll() is not None:
            problem = "it did not wait for a reader"
    finally:
        kill([process.pid, *descendants(process.pid)])
    early = process.communicate()[0].decode()
    if problem is None:
        late = continue_job(setting, folder, None)
        problem = problem_of(late)
        numbers = [[int(n) for n in re.findall(r"^line (\d+) of the output at the end$", text, re.M)]
                   for text in (early, late.out, early + late.out)]
        # A full pipe may end in the middle of a line, and the later launcher continues there.
        if problem is None and sorted({n for some in numbers for n in some}) != list(range(lines)):
            problem = f"{len(numbers[0])} and {len(numbers[1])} of {lines} lines came"
    if problem is None:
        data = (where / "noted.data").read_bytes()
        if data != steps.to_bytes(4, "little") * RANKS:
            problem = f"the file is {data!r}"
        elif journal.exists():
            problem = "the journal stays"
        else:
            problem = problem_of(continue_job(setting, folder, None), code=2)
    setting.results.check(test, problem)


def end_of_ranks(process: subprocess.Popen, program: Path, patience: float) -> bool:
    """Waits until the program has had processes below the launcher and none is left."""
    until, seen = time.monotonic() + patience, False
    while time.monotonic() < until:
        there = False
        for pid in descendants(process.pid):
            try:
                there |= Path("/proc", str(pid), "exe").resolve() == program.resolve()
            except OSError:
                continue
        if seen and not there:
            return True
        seen |= there
        time.sleep(0.05)
    return False


def refusals(setting: Setting, jobs: Jobs) -> None:
    """Tests a second launcher, a job that has ended, and a damaged plan."""
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        setting.results.bad("restart: refusals", why)
        return
    folder = setting.new_folder("run") / "job"
    continued: list[Outcome] = []

    def second(process: subprocess.Popen) -> None:
        if not continued and list(folder.rglob("*.image")):
            continued.append(continue_job(setting, folder, None))

    # The second launcher waits three seconds for the end of the first.
    outcome = run(
        [*setting.mpiexec(RANKS, "--job-dir", folder, "--ckpt-interval", "300ms"), *job.command(3)],
        timeout=setting.timeout, cwd=folder.parent, meanwhile=second,
    )
    problem = problem_of(outcome, expected_text=job.expected_text)
    if problem is None:
        problem = "the job ended too soon" if not continued else problem_of(continued[0], code=2)
    if problem is None and "is alive" not in continued[0].err:
        problem = f"the second launcher: {continued[0].output_tail()}"
    setting.results.check("restart: a second launcher is refused", problem)
    ended = continue_job(setting, folder, None)
    problem = problem_of(ended, code=2)
    if problem is None and "has ended" not in ended.err:
        problem = ended.output_tail()
    setting.results.check("restart: a job that has ended is refused", problem)
    plan = folder / "plan"
    text = bytearray(plan.read_bytes())
    text[len(text) // 2] ^= 1
    plan.write_bytes(text)
    damaged = continue_job(setting, folder, None)
    problem = problem_of(damaged, code=2)
    if problem is None and "checksum" not in damaged.err:
        problem = damaged.output_tail()
    setting.results.check("restart: a damaged plan is refused", problem)


def runs_without_progress(setting: Setting) -> None:
    """Two runs of `--auto-restart` that make no newer image are the last ones. By hand the job goes on."""
    program, made = build.build(setting, TESTS / "batch" / "steps.c")
    if program is None:
        setting.results.bad("steps compiles", made.output_tail())
        return
    folder = setting.new_folder("fruitless") / "job"
    line = [*setting.mpiexec(2, "--job-dir", folder, "--auto-restart", "--ckpt-interval", "60s"), program, "3000", "10000"]
    for _ in range(3):
        run(line, timeout=30, meanwhile=Stopper(folder, 0.6, "everything", images=0))
    refused = run(line, timeout=30)
    problem = None if refused.code == 1 and "have made no newer image" in refused.err else refused.output_tail()
    setting.results.check("restart: a script that makes no progress ends", problem)
    by_hand = run([setting.launcher, "--restart", folder, "--timeout", "1s"], timeout=60)
    setting.results.check("restart: by hand it goes on", problem_of(by_hand, SUSPENDED))


def restart(setting: Setting, full: bool = False) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 4)
    interrupt_and_continue(setting, jobs, "master_worker", ["everything", "launcher"])
    two = ["-hosts", "one,two", "--launcher", "fork"]
    interrupt_and_continue(setting, jobs, "collectives", ["everything"], *two, later=["-hosts", "other"])
    interrupt_and_continue(setting, jobs, "probe_loop", ["SIGTERM", "SIGUSR1"])
    interrupt_and_continue(setting, jobs, "scratch_files", ["everything", "SIGTERM"], "--protocol", "coordinated")
    interrupt_and_continue(setting, jobs, "waitany", ["launcher"], "--protocol", "hierarchical", "--cluster", "2")
    three = ["--event-loggers", "3"]
    interrupt_and_continue(setting, jobs, "waitany", ["one by one", "everything"], "--protocol", "causal", "--events",
          "all", *three, "--acknowledge", "durable")
    interrupt_and_continue(setting, jobs, "traffic", ["one by one"], *three)
    output_and_input(setting, jobs)
    exactly_once(setting, jobs)
    output_files(setting, jobs)
    after_failed_command(setting, jobs)
    encrypted(setting, Jobs(setting, 6))
    killed_at_its_end(setting)
    refusals(setting, Jobs(setting, 2))
    runs_without_progress(setting)
    if full:
        for program in [*Jobs.CRASH, *Jobs.KERNELS]:
            interrupt_and_continue(setting, Jobs(setting, 8), program, ["everything"] * 3)
            interrupt_and_continue(setting, Jobs(setting, 8), program, ["SIGTERM", "everything", "launcher"],
                  "--transport", "tcp")
        interrupt_and_continue(setting, Jobs(setting, 8), "waitany", ["everything", "everything"], "--ckpt", "off")

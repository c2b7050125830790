"""Tests that ranks return to older images when newer images are damaged, and to newer images when logs are."""

from __future__ import annotations

import time
from pathlib import Path

from .core import Setting, kill, problem_of, run
from .jobs import LOGGING, RANKS, Jobs, judge, program_pids, retry_with_more_work
from .restart import Stopper, begin, continue_job, interruption_problem, with_earlier_output


class Damager:
    """Waits for two images of every rank, and for so many seconds, damages the newest file (or its base image), and
    kills the rank."""

    def __init__(self, folder: Path, program: Path, kind: str, after: float = 4):
        self.folder, self.program, self.kind, self.after = folder, program, kind, after
        self.begin = time.monotonic()
        self.damaged = ""

    def newest(self) -> dict[str, Path] | None:
        """The newest image file of every rank, once every rank has two. The name of a file begins with the rank."""
        by_rank: dict[str, list[Path]] = {}
        for file in self.folder.rglob("*.image"):
            by_rank.setdefault(file.name.split("-")[0], []).append(file)
        if len(by_rank) < RANKS or any(len(files) < 2 for files in by_rank.values()):
            return None
        if self.kind == "all":
            return {file.name: file for files in by_rank.values() for file in files}
        newest = {rank: max(files, key=lambda f: f.name) for rank, files in by_rank.items()}
        if self.kind == "one, all die":
            rank = min(newest)
            return {rank: newest[rank]}
        return self.below(newest) if self.kind == "below" else newest

    def below(self, newest: dict[str, Path]) -> dict[str, Path] | None:
        """The base images of the newest images: the whole image of their chain. Two chains take turns, so the image
        before the newest belongs to the other chain."""
        found = {}
        for rank, file in newest.items():
            number = int(file.name.split("-")[1][1:])
            row = [base for base in self.folder.rglob(f"{rank}-*.ground")
                   if int(base.name.split("-")[1][1:]) % 2 == number % 2]
            if not row:
                return None
            found[rank] = max(row, key=lambda f: f.stat().st_size)
        return found

    def __call__(self, process) -> None:
        if self.damaged or time.monotonic() - self.begin < self.after:
            return
        pids = program_pids(process.pid, self.program)
        chosen = self.newest()
        if chosen is None or len(pids) < RANKS:
            return
        try:
            # The images of all ranks are damaged, because any rank may be the one that dies.
            for file in chosen.values():
                size = file.stat().st_size
                with file.open("r+b") as image:
                    if self.kind in ("below", "all"):
                        image.seek(size // 3)
                        image.write(bytes(size // 3))
                    elif self.kind == "bit":
                        image.seek(size // 2)
                        byte = image.read(1)
                        image.seek(size // 2)
                        image.write(bytes([byte[0] ^ 0x10]))
                    else:
                        image.truncate(size * 2 // 3)
        except FileNotFoundError:
            return  # A newer image has just replaced the file: try again.
        self.damaged = ", ".join(f.name for f in chosen.values())
        kill(pids if self.kind == "one, all die" else pids[:1])


# Accepted messages when a rank has two images since a restart and the logs no longer reach back far enough.
GIVEN_UP = ("it has no older image to return to", "logs do not reach back to the beginning any more",
            "the logs no longer reach back to the start")


def damage(setting: Setting) -> None:
    """Damages the newest images and kills a rank: the rank must return to its older image. With copies on the host, all
    images of the server may be damaged. When all ranks die, a rank returns to its older image if the newer one has less
    of its log than an older image of a peer needs."""
    if not setting.dist_is_built():
        return
    for kind in ("bit", "below", "all", "one, all die") + (("truncated",) if setting.full else ()):
        test = f"newest image damaged ({kind})" if kind != "all" else "the server's images damaged"
        copies = ["--images", "local+remote"] if kind == "all" else []
        job, why = Jobs(setting, 9).make("master_worker", setting.seed)
        if job is None:
            setting.results.bad(test, why)
            continue
        where = setting.new_folder("run")
        file, folder = where / "report.json", where / "job"
        damager = Damager(folder, job.program, kind)
        outcome = run(
            [*setting.mpiexec(RANKS, "--ckpt-interval", "1s", "--job-dir", folder, "--report", file,
                              *copies, *(setting.protocol_options() or LOGGING)),
             job.program, *job.arguments],
            timeout=setting.timeout,
            cwd=where,
            meanwhile=damager,
        )
        if not damager.damaged:
            setting.results.bad(test, f"not every rank had two images to damage; {outcome.output_tail()}")
            continue
        problem, note = judge(outcome, file, job.expected_text, 1)
        if kind == "one, all die" and any(text in outcome.err for text in GIVEN_UP):
            problem, note = problem_of(outcome, code=1), "ended with a clear error"
        setting.results.check(test, problem, note)
    flipped_logs(setting)


# A header and the mark of an incarnation take 64 bytes of a log, and a batch of events has a header of 32.
FIRST_EVENT_AT = 96


def flip_first_events(folder: Path) -> int:
    """Flips a bit in the first event that the log of each rank has. Returns the number of these logs."""
    first: dict[str, Path] = {}
    for file in sorted((folder / "event-logger-0").glob("r*.events")):
        first.setdefault(file.name.split("-")[0], file)
    flipped = 0
    for file in first.values():
        contents = bytearray(file.read_bytes())
        # A rank may have no events.
        if len(contents) > FIRST_EVENT_AT + 8:
            contents[FIRST_EVENT_AT + 8] ^= 4
            file.write_bytes(contents)
            flipped += 1
    return flipped


def flipped_logs(setting: Setting) -> None:
    """The whole job dies, and the begin of its event logs is damaged. The images need only what lies behind."""
    test = "event logs damaged before the images"
    job, why = Jobs(setting, 3).make("master_worker", setting.seed)
    if job is None:
        return setting.results.bad(test, why)

    def attempt(factor: int) -> tuple[str | None, str]:
        folder = setting.new_folder("run") / "job"
        stop = Stopper(folder, 1.5, "everything", 2 * RANKS)
        early = begin(setting, job.with_more_work(factor), folder, stop, *LOGGING)
        problem = interruption_problem(early, stop)
        if problem is None:
            flipped = flip_first_events(folder)
            late = continue_job(setting, folder, None)
            problem = problem_of(with_earlier_output(early.out, late), expected_text=job.expected_text)
            if problem is None and f"{RANKS} of {RANKS} ranks from images" not in late.err:
                problem = f"not from images: {late.output_tail()}"
            told = late.err.count("has lost the events before")
            if problem is None and (not flipped or told != flipped):
                problem = f"{flipped} logs are damaged, and {told} are named: {late.output_tail()}"
        return problem, f"{early.seconds:.1f} s to the death"

    setting.results.check(test, *retry_with_more_work(attempt))

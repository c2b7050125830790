"""Tests images in an object store, with checkpoint servers that lose their disks.

A test counts only if images were in the store when the disk was lost, and the job continued from these images with
the right result. Its end must leave nothing in the store."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from .core import ROOT, Setting, descendants, kill, problem_of, which
from .jobs import LOGGING, RANKS, TOO_SOON, Job, Jobs, program_pids, retry_with_more_work
from .restart import Stopper, begin, continue_job, interruption_problem, with_earlier_output

SERVER = "checkpoint-server-0"
BUCKET = "images"
# The faults of a server and its disk.
DIES = "dies and loses its disk"
LOSES = "loses its disk"
FLIPS = "has wrong bytes on its disk"


class StoreFilled(Stopper):
    """Waits until the store has `images` images, as `count` reports them."""

    def __init__(self, folder: Path, fault: str, count, images: int = 2 * RANKS):
        super().__init__(folder, 0.5, fault)
        self.count, self.wanted = count, images

    def __call__(self, process: subprocess.Popen) -> None:
        if not self.done and self.count() >= self.wanted:
            super().__call__(process)


class DiskFault:
    """Waits until the store has images, applies a fault to the server's disk, and kills a rank."""

    def __init__(self, job: Job, folder: Path, count, fault: str):
        self.job, self.folder, self.count, self.fault = job, folder, count, fault
        self.done = False

    def __call__(self, process: subprocess.Popen) -> None:
        if self.done or self.count() < 2 * RANKS:
            return
        self.done = True
        if self.fault == DIES:
            server = [pid for pid in descendants(process.pid) if name_of(pid) == "ftmpi-checkpoin"]
            # The next server must not find half of the files.
            kill(server, signal.SIGSTOP)
            delete_files(self.folder / SERVER)
            kill(server)
        elif self.fault == LOSES:
            delete_files(self.folder / SERVER, (".image", ".ground"))
        else:
            corrupt_images(self.folder / SERVER)
        kill(program_pids(process.pid, self.job.program)[:1])


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def delete_files(folder: Path, suffixes: tuple[str, ...] = ("",)) -> None:
    for entry in folder.iterdir():
        if entry.name != "lock" and entry.name.endswith(suffixes):
            entry.unlink(missing_ok=True)


def corrupt_images(folder: Path) -> None:
    """Changes a byte in the middle of each image."""
    for entry in folder.iterdir():
        if entry.suffix in (".image", ".ground"):
            with open(entry, "r+b") as file:
                middle = file.seek(0, os.SEEK_END) // 2
                file.seek(middle)
                byte = file.read(1)
                file.seek(middle)
                file.write(bytes([byte[0] ^ 1]))


def image_counter(store: Path):
    return lambda: len([*store.rglob("*.image")])


def images_problem(text: str) -> str | None:
    """Checks that every rank of a continued job came from an image."""
    wanted = f"going on with the job: {RANKS} of {RANKS} ranks from images"
    return None if wanted in text else f"it did not say `{wanted}`: {text.strip()[-300:]}"


def whole_job(setting: Setting, jobs: Jobs, test: str, address: str, count, remaining,
              *options: str) -> None:
    """Everything dies, the server's disk is lost, and a later launcher continues the job."""
    test += "".join(f" {option}" for option in options)
    job, why = jobs.make("master_worker", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return

    def attempt(factor: int) -> tuple[str | None, str]:
        folder = setting.new_folder("run") / "job"
        stop = StoreFilled(folder, "everything", count)
        early = begin(setting, job.with_more_work(factor), folder, stop, "--object-store", address, *options)
        problem = interruption_problem(early, stop)
        if problem is None:
            until = time.monotonic() + 20
            while time.monotonic() < until and server_runs(folder):
                time.sleep(0.05)
            delete_files(folder / SERVER)
            late = continue_job(setting, folder, None)
            whole = with_earlier_output(early.out, late)
            problem = problem_of(whole, expected_text=job.expected_text) or images_problem(late.err)
            if problem is None and remaining():
                problem = f"{remaining()} objects are left after the end"
        return problem, f"{early.seconds:.1f} s to the death"

    setting.results.check(test, *retry_with_more_work(attempt))


def server_runs(folder: Path) -> bool:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and name_of(int(entry)) == "ftmpi-checkpoin":
            try:
                if os.fsencode(str(folder)) in Path("/proc", entry, "cmdline").read_bytes():
                    return True
            except OSError:
                pass
    return False


def running_job(setting: Setting, jobs: Jobs, fault: str, *options: str) -> None:
    """A fault strikes the server's disk while the job runs, and a rank dies."""
    test = f"object store: a living job whose server {fault}"
    test += "".join(f" {option}" for option in options)
    job, why = jobs.make("master_worker", setting.seed)
    if job is None:
        setting.results.bad(test, why)
        return

    def attempt(factor: int) -> tuple[str | None, str]:
        run_folder = setting.new_folder("run")
        folder, store = run_folder / "job", run_folder / "store"
        disk_fault = DiskFault(job, folder, image_counter(store), fault)
        outcome = begin(setting, job.with_more_work(factor), folder, disk_fault, "--object-store", f"file://{store}",
                        *options)
        problem = problem_of(outcome, expected_text=job.expected_text)
        if problem is None and not disk_fault.done:
            problem = f"{TOO_SOON}: nothing was lost yet"
        wanted = "starting it again" if fault == DIES else "was fetched again from file://"
        if problem is None and wanted not in outcome.err:
            if "killed by signal 9" not in outcome.err:
                return f"{TOO_SOON}: the rank had ended", ""
            problem = f"it did not say `{wanted}`: {outcome.output_tail()}"
        remaining = len([*store.rglob("*.image"), *store.rglob("*.record")])
        if problem is None and remaining:
            problem = f"{remaining} objects are left after the end"
        return problem, f"{outcome.seconds:.1f} s"

    setting.results.check(test, *retry_with_more_work(attempt))


class S3:
    """A real S3 server on this machine (moto), with one bucket."""

    def __init__(self, program: str, folder: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = open(folder / "s3.log", "wb")
        self.process = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)],
                                        stdout=self.log, stderr=self.log, start_new_session=True)

    def begin(self, patience: float = 60.0) -> str | None:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                request = urllib.request.Request(f"{self.url}/{BUCKET}", method="PUT")
                urllib.request.urlopen(request, timeout=5).read()
                return None
            except (urllib.error.URLError, OSError):
                if self.process.poll() is not None:
                    return "it ended by itself"
                time.sleep(0.2)
        return "it does not answer"

    def count(self, suffix: str = ".image</Key>") -> int:
        try:
            listing = f"{self.url}/{BUCKET}?list-type=2"
            return urllib.request.urlopen(listing, timeout=5).read().decode().count(suffix)
        except (urllib.error.URLError, OSError):
            return 0

    def end(self) -> None:
        kill([self.process.pid])
        self.process.wait()
        self.log.close()


def s3_server() -> str | None:
    own = ROOT / ".peers" / "moto" / "bin" / "moto_server"
    return str(own) if own.exists() else which("moto_server")


def with_s3(setting: Setting, jobs: Jobs) -> None:
    test = "object store: S3, everything dies and the server's disk is lost"
    program = s3_server()
    if program is None:
        setting.results.skip(test, "no S3 server: pip install 'moto[server]' (tools/setup.sh does)")
        return
    server = S3(program, setting.work)
    environment = {
        "AWS_ENDPOINT_URL": server.url, "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
    }
    before = {name: os.environ.get(name) for name in environment}
    try:
        why = server.begin()
        if why:
            setting.results.skip(test, f"the S3 server cannot be used: {why}")
            return
        os.environ.update(environment)
        whole_job(setting, jobs, test, f"s3://{BUCKET}/some/prefix", server.count,
                  lambda: server.count("</Key>"))
    finally:
        server.end()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def object_store(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 6)
    for options in [LOGGING, ("--protocol", "hierarchical", "--cluster", "2"), ("--protocol", "coordinated")]:
        store = setting.new_folder("store")
        whole_job(setting, jobs,
                  "object store: a directory, everything dies and the server's disk is lost",
                  f"file://{store}", image_counter(store), image_counter(store), *options)
        shutil.rmtree(store, ignore_errors=True)
    running_job(setting, Jobs(setting, 3), DIES, *LOGGING)
    running_job(setting, Jobs(setting, 4), DIES, "--protocol", "hierarchical", "--cluster", "2")
    running_job(setting, Jobs(setting, 4), LOSES, "--protocol", "coordinated")
    running_job(setting, Jobs(setting, 4), FLIPS, *LOGGING)
    with_s3(setting, jobs)

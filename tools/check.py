#!/usr/bin/env python3
"""Runs the tests and counts: check.py [--quick | --all] [DIST]

The last line is `N passed, N failed, N skipped`. The exit code is 0 if none failed. A step whose tool is missing on
this machine is skipped, with a line that names the tool.

Programs that end well run while the tests are compiled and while unit tests run that start processes. Tests that only
compute run beside programs whose ranks die, with the processor time that these leave (SCHED_IDLE). The benchmark runs
without other load.

--quick compiles the crates of a job once (profile `quick`), and runs their unit tests, some hundred seeds of the
simulator and a handful of kills. --all also runs the suites of LONG."""
import argparse
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
# Compilation and unit tests yield the processors to the programs that run at the same time.
LATER = ["nice", "-n", "10"]
# Lines that name a failure: of our programs, of cargo, and of this program's steps.
FAILED = re.compile(r"^(FAIL  |test .* \.\.\. FAILED$|check: .*: FAILED|thread .* panicked at|error(\[|:))")


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.lock = threading.Lock()

    def add(self, passed=0, failed=0, skipped=0):
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def one(self, name, ok, why=""):
        self.add(passed=int(ok), failed=int(not ok))
        line = f"check: {name}: {'ok' if ok else 'FAILED'}{' ' + why if why else ''}"
        print(line, flush=True)
        self.note_failure(line)

    def note_failure(self, line):
        """Keeps a line that names a failure, for the end of the output."""
        if FAILED.match(line):
            with self.lock:
                self.failures.append(line.rstrip())

    def skip(self, name, why):
        self.add(skipped=1)
        print(f"check: {name}: skipped: {why}", flush=True)


def run(count, command, **options):
    """Runs a command and shows its output while it runs. Returns the exit code and the output."""
    print("+", " ".join(map(str, command)), flush=True)
    process = subprocess.Popen(
        list(map(str, command)), cwd=TOP, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options,
    )
    lines = []
    for line in process.stdout:
        # Only whole lines are written, because two steps may print at the same time.
        sys.stdout.write(line if line.endswith("\n") else line + "\n")
        sys.stdout.flush()
        count.note_failure(line)
        lines.append(line)
    return process.wait(), "".join(lines)


def clippy_environment():
    """The environment in which cargo compiles our crates with clippy, so that lints need no second compilation."""
    where = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    driver = Path(where) / "bin" / "clippy-driver"
    return {"RUSTC_WORKSPACE_WRAPPER": str(driver)} if where and driver.exists() else None


class TestBinary:
    """An executable that cargo made of the tests of one crate, or of one file of its folder `tests`."""

    def __init__(self, message):
        target = message["target"]
        self.name = f"{Path(message['manifest_path']).parent.name}/{target['name']}"
        self.path = message["executable"]
        # Cargo runs tests in the folder of their package.
        self.folder = Path(message["manifest_path"]).parent
        self.integration = "test" in target["kind"]

    def only_computes(self):
        """Whether these tests start no processes and wait for none, so that lack of processor time cannot fail them."""
        return self.name.split("/")[0] in COMPUTING


def compile_tests(count, quick):
    """Checks format and lints, and compiles the tests. Returns the executables and the environment to run them in."""
    count.one("format", run(count, [CARGO, "fmt", "--all", "--check"])[0] == 0)
    # Clippy compiles our crates a second time if programs are compiled alike, so the quick form leaves lints out.
    lints = None if quick else clippy_environment()
    # A failing test names its file and line without debug information, which costs a sixth of the compilation.
    env = {**os.environ, "CARGO_PROFILE_DEV_DEBUG": "0", **(lints or {})}
    crates = ["--profile", "quick", *QUICK_CRATES] if quick else ["--workspace"]
    code, text, messages = run_with_messages(
        count, [*LATER, CARGO, "test", *crates, "--no-run", "--message-format=json-render-diagnostics"], env)
    if code != 0:
        count.one("compilation of the tests", False)
    if lints is None:
        count.skip("lints", "QUICK" if quick else "this Rust comes without clippy")
    else:
        # Cargo shows the warnings of this workspace only.
        found = re.findall(r"^warning: `([^`]*)` .* generated \d+ warning", text, re.M)
        count.one("lints", code == 0 and not found, ", ".join(sorted(set(found))))
    binaries = [TestBinary(m) for m in messages if m.get("executable") and m.get("profile", {}).get("test")]
    return binaries, env


def run_with_messages(count, command, env):
    """Runs cargo. Returns the exit code, what cargo told people, and the messages for machines."""
    print("+", " ".join(map(str, command)), flush=True)
    process = subprocess.Popen(command, cwd=TOP, env=env, text=True, errors="replace",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    messages = []

    def read_messages():
        messages.extend(json.loads(line) for line in process.stdout if line.startswith("{"))

    reader = threading.Thread(target=read_messages)
    reader.start()
    lines = []
    for line in process.stderr:
        sys.stdout.write(line)
        sys.stdout.flush()
        count.note_failure(line)
        lines.append(line)
    reader.join()
    return process.wait(), "".join(lines), messages


def unit_tests(count, binaries, env, priority=LATER):
    """Runs the executables of the tests, some at a time: many of them wait for processes most of their time."""
    # One seed, so that a commit that passes here passes everywhere. `make fuzz` draws other seeds.
    seed = os.environ.get("PROPTEST_RNG_SEED", "1")
    print(f"check: random input from PROPTEST_RNG_SEED={seed}", flush=True)
    env = {**env, "PROPTEST_RNG_SEED": seed, "CARGO": CARGO}
    # The long ones begin first.
    ordered = sorted(binaries, key=lambda b: (b.name not in LONG_TESTS, not b.integration, b.name))
    with ThreadPoolExecutor(max_workers=(os.cpu_count() or 2) + 1) as pool:
        for _ in pool.map(lambda binary: run_tests(count, binary, env, priority), ordered):
            pass


@functools.cache
def rust_libraries():
    """The folder of Rust's own shared libraries."""
    return subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True).stdout.strip()


def when_idle():
    """The command before a command that is to run with the processor time that others leave."""
    return ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]


def run_tests(count, binary, env, priority):
    begin = time.monotonic()
    # As cargo does, for tests that are linked to shared libraries of the workspace and of Rust.
    where = Path(binary.path).parent
    libraries = ":".join(map(str, [where, where.parent, rust_libraries(), env.get("LD_LIBRARY_PATH", "")])).rstrip(":")
    process = subprocess.Popen([*priority, binary.path], cwd=binary.folder, text=True, errors="replace",
                               env={**env, "CARGO_MANIFEST_DIR": str(binary.folder), "LD_LIBRARY_PATH": libraries},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for line in output.splitlines():
        count.note_failure(line)
    with count.lock:
        # The output as a whole, because other tests print at the same time.
        print(f"tests of {binary.name}: {time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of "
              f"processors\n{output}", end="", flush=True)
    results = re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output)
    for passed, failed, ignored in results:
        count.add(int(passed), int(failed), int(ignored))
    if process.returncode != 0 and not any(int(failed) for _, failed, _ in results):
        count.one(f"tests of {binary.name}", False, f"(exit code {process.returncode})")


def run_suite(count, name, command):
    """Runs a test program of ours, whose last line has the counts."""
    if not (TOP / command[1]).exists():
        count.skip(name, f"{command[1]} is not there")
        return
    code, text = run(count, command)
    found = re.findall(r"(\d+) passed, (\d+) failed, (\d+) skipped", text)
    if found:
        count.add(*map(int, found[-1]))
        if code != 0 and found[-1][1] == "0":
            count.one(name, False, f"(exit code {code})")
    elif code == 77:
        count.skip(name, "the suite skips itself")
    else:
        count.one(name, code == 0, f"(exit code {code})")


def run_in_parallel(count, *steps):
    """Runs all steps at the same time, to their ends."""
    ended = []
    threads = [threading.Thread(target=lambda step=step: ended.append(step())) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(ended) != len(steps):
        count.one("steps", False, "one of them ended early (see above)")


# Seeds of the simulator in `make check QUICK=1`.
QUICK_SEEDS = 400

# The executables of tests that take longest, as `folder of the crate/name`.
LONG_TESTS = {"sim/simulation", "servers/ftmpi_servers", "boot/kernel_state", "boot/programs", "ftmpiexec/jobs"}

# The folders of the crates whose tests only compute.
COMPUTING = {"copy", "core", "headers", "codegen", "options", "protocols", "sim", "wire"}

# The crates whose unit tests `make check QUICK=1` runs: what messages, failures and images pass through.
QUICK_CRATES = [
    "--lib", "--no-default-features",
    *(word for crate in ["checkpoint", "core", "protocols", "runtime", "transport", "wire"]
      for word in ("-p", f"ftmpi-{crate}")),
]

# The additional suites of `make check-all`: suites that last long, or need root and tools that few machines have.
LONG = [
    ("ftmpi-ctl under every protocol", ["c-tests/run.py", "ctl"]),
    ("every protocol and option, killed", ["c-tests/run.py", "campaign", "--runs", "1"]),
    ("mpi4py's own tests", ["c-tests/run.py", "mpi4py"]),
    ("new processes, killed at each moment", ["c-tests/run.py", "new-processes", "--full"]),
    ("views, and a trace by OpenTelemetry's definitions", ["c-tests/run.py", "views", "--full"]),
    ("IMB", ["c-tests/run.py", "imb", "--quick"]),
    ("two hosts", ["c-tests/run.py", "netns"]),
    ("five hosts", ["c-tests/run.py", "hosts", "--full"]),
    ("virtual hosts", ["c-tests/run.py", "virtual-hosts", "--full"]),
    ("Slurm: nodes that join, jobs that make room", ["c-tests/run.py", "slurm", "--full"]),
    ("packages", ["c-tests/run.py", "packages"]),
    ("containers", ["c-tests/run.py", "containers"]),
    ("images, restored again and again", ["c-tests/run.py", "torture", "--restores", "20"]),
    ("random programs", ["c-tests/run.py", "random", "--runs", "4"]),
    ("conformance on more ranks", ["c-tests/run.py", "conformance"]),
    ("every named point", ["c-tests/run.py", "points"]),
    ("all faults of servers", ["c-tests/run.py", "servers"]),
    ("kills in waves", ["c-tests/run.py", "--protocol", "coordinated", "kills", "--waves", "--runs", "8"]),
    ("kills under each protocol", ["c-tests/run.py", "--protocol", "rotate", "kills", "--runs", "18"]),
    ("orphans", ["c-tests/run.py", "orphans", "--runs", "6"]),
    ("ranks that move", ["c-tests/run.py", "moves", "--runs", "3", "--seconds", "3"]),
    ("standbys, killed at random moments", ["c-tests/run.py", "standbys", "--runs", "8"]),
    ("going on without ranks, on more of them", ["c-tests/run.py", "going-on"]),
    ("conformance, killed", ["c-tests/run.py", "conformance", "--kills", "1"]),
]


def simulator(count, seeds):
    """Simulates so many seeds of every protocol."""
    code, _ = run(count, ["make", "--no-print-directory", "sim", f"SEEDS={seeds}"])
    count.one(f"simulator, {seeds} seeds of every protocol", code == 0)


def seeds_of_quick(count, dist):
    """Simulates some hundred seeds with the simulator that the Makefile compiled in the folder of `dist`."""
    simulator = dist.parent / "ftmpi-sim"
    code, _ = run(count, ["tools/sim.sh", simulator, QUICK_SEEDS, 1, dist.parent / "sim"])
    count.one(f"simulator, {QUICK_SEEDS} seeds", code == 0)


def header(count):
    code, _ = run(count, [sys.executable, "tools/compare_header.py"])
    if code == 77:
        count.skip("mpi.h against MPICH's", "no MPICH to compare with")
    else:
        count.one("mpi.h against MPICH's", code == 0)


def style(count):
    """Checks the rules of CONTRIBUTING.md that a machine can see."""
    count.one("style", run(count, [sys.executable, "tools/style.py"])[0] == 0)


def documents(count, *options):
    """Checks links, options, paths and lengths of the documents; with `options`, also runs their code blocks."""
    run_suite(count, "documents", [sys.executable, "tools/docs_check.py", *options])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", nargs="?", type=Path, default=TOP / "dist")
    parser.add_argument("--quick", action="store_true", help="unit tests, some seeds, a handful of kills")
    parser.add_argument("--all", action="store_true", help="also the suites that take long")
    return parser.parse_args()


def main():
    # A shell ignores SIGINT for what it starts in the background. Tests send it to jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = arguments()
    dist = args.dist.resolve()
    count = Count()

    def step(name, work, *given):
        begin, (busy_before, all_before) = time.monotonic(), processor_time()
        result = work(*given)
        busy, whole = processor_time()
        share = 100 * (busy - busy_before) // max(1, whole - all_before)
        print(f"check: step {name}: {time.monotonic() - begin:.0f} s, processors busy for {share} %", flush=True)
        return result

    def lane(number):
        command = [sys.executable, "c-tests/run.py", "--dist", dist, "check", "--lane", number]
        return lambda: run_suite(count, f"programs, lane {number}", command)

    if args.quick:
        binaries, env = step("compile", compile_tests, count, True)
        step("style", style, count)
        step("documents", documents, count)
        step("unit tests", unit_tests, count, binaries, env)
        step("simulator", seeds_of_quick, count, dist)
        step("programs", lane("quick"))
        finish(count)
    step("style", style, count)
    header(count)
    tests = []

    def compile_and_test():
        binaries, env = step("compile", compile_tests, count, False)
        tests.append(([binary for binary in binaries if binary.only_computes()], env))
        unit_tests(count, [binary for binary in binaries if not binary.only_computes()], env)

    step("programs, compilation, unit tests", run_in_parallel, count, compile_and_test, lane(1))
    computing = [lambda: unit_tests(count, *tests[0], when_idle())] if tests else []
    step("kills, computing tests", run_in_parallel, count, lane(2), lane(3), lane(4), *computing)
    step("documents", documents, count, "--all" if args.all else "--run", dist)
    step("benchmark", run_suite, count, "benchmark, tiny",
         [sys.executable, "npb-harness/bench.py", "--tiny", "--dist", dist])
    step("figures of the papers", run_suite, count, "figures of the papers, tiny",
         [sys.executable, "npb-harness/figures.py", "--tiny", "--dist", dist])
    if args.all:
        step("simulator", simulator, count, 2000)
        for name, command in LONG:
            step(name, run_suite, count, name, [sys.executable, *command, "--dist", dist])
    finish(count)


def processor_time():
    """The time that all processors of this machine have been busy, and all their time, in ticks since the start."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def finish(count):
    """Prints the failures and the closing line, and ends the program."""
    if count.failed:
        # The failures once more, because a reader looks at the end first.
        print("what failed:", *(count.failures or ["no step named it"]), sep="\n  ")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    sys.exit(1 if count.failed else 0)


if __name__ == "__main__":
    main()

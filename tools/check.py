#!/usr/bin/env python3
"""Runs every test there is and counts: check.py [DIST]

The last line is `N passed, N failed, N skipped`; the exit code is 0 if none failed. A step whose tool is
missing on this machine is skipped, with a line that says which.

The tests in Rust are compiled and run, at low priority, while the programs run in two lanes: these wait
most of the time. The benchmark comes last and alone.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
# What waits for the processor if others want it.
LATER = ["nice", "-n", "10"]


# What says that a test failed: our programs, cargo, and the steps here.
FAILED = re.compile(r"^(FAIL  |test .* \.\.\. FAILED$|check: .*: FAILED|thread .* panicked at|error(\[|:))")


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.words = []
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
        self.hear(line)

    def hear(self, line):
        """Keeps a line that tells of a failure, to be said once more at the end."""
        if FAILED.match(line):
            with self.lock:
                self.words.append(line.rstrip())

    def skip(self, name, why):
        self.add(skipped=1)
        print(f"check: {name}: skipped: {why}", flush=True)


def run(count, command, **options):
    """Exit code and everything printed, which is also shown while it runs."""
    print("+", " ".join(map(str, command)), flush=True)
    process = subprocess.Popen(
        list(map(str, command)), cwd=TOP, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options,
    )
    lines = []
    for line in process.stdout:
        # Whole lines at once: two steps may speak at the same time.
        sys.stdout.write(line if line.endswith("\n") else line + "\n")
        sys.stdout.flush()
        count.hear(line)
        lines.append(line)
    return process.wait(), "".join(lines)


def rust(count):
    for name, command in {
        "format": [CARGO, "fmt", "--all", "--check"],
        "lints": [CARGO, "clippy", "--workspace", "--all-targets", "--quiet"],
        "generated headers": [CARGO, "run", "--quiet", "-p", "ftmpi-headers", "--", "--check", "include/generated"],
    }.items():
        count.one(name, run(count, [*LATER, *command])[0] == 0)
    code, text = run(count, [*LATER, CARGO, "test", "--workspace", "--no-fail-fast"])
    results = re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text)
    for passed, failed, ignored in results:
        count.add(int(passed), int(failed), int(ignored))
    if code != 0 and not any(int(f) for _, f, _ in results):
        count.one("cargo test", False, "(did not build or crashed)")


def counted(count, name, command):
    """A test program of ours: its last line counts."""
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
        count.skip(name, "it says so")
    else:
        count.one(name, code == 0, f"(exit code {code})")


def wrappers(count, dist):
    """The compiler wrappers and the names under which programs look for the libraries."""
    bin_, lib = dist / "bin", dist / "lib"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "a b.c").write_text("#include <mpi.h>\nint main(int c,char**v){return MPI_Init(&c,&v);}\n")
        (folder / "m.cc").write_text("#include <mpi.h>\nint main(int c,char**v){return MPI_Init(&c,&v);}\n")
        (folder / "m.f").write_text("      program m\n      include 'mpif.h'\n      integer i\n      call mpi_init(i)\n      end\n")
        (folder / "m.f90").write_text("program m\n use mpi\n integer :: i\n call mpi_init(i)\nend program\n")
        for wrapper, source, compiler in [
            ("ftmpicc", "a b.c", "cc"), ("ftmpicxx", "m.cc", "c++"),
            ("ftmpifort", "m.f", "gfortran"), ("ftmpifort", "m.f90", "gfortran"),
        ]:
            if not shutil.which(compiler):
                count.skip(f"{wrapper} {source}", f"no {compiler}")
                continue
            out = folder / "out"
            code = subprocess.run([bin_ / wrapper, "-DX=\"a b\"", folder / source, "-o", out]).returncode
            needed = subprocess.run(["readelf", "-d", out], capture_output=True, text=True).stdout
            ok = code == 0 and "libmpi" in needed and str(lib) in needed
            count.one(f"{wrapper} {source}", ok)
        shown = subprocess.run([bin_ / "ftmpicc", "-show", "x.c"], capture_output=True, text=True).stdout
        count.one("ftmpicc -show", f"-I{dist}/include" in shown and "-lmpi" in shown and "x.c" in shown)
        env = dict(os.environ, MPICH_CC="echo other")
        shown = subprocess.run([bin_ / "ftmpicc", "-c", "x.c"], capture_output=True, text=True, env=env).stdout
        count.one("MPICH_CC", shown.startswith("other -c x.c") and "-lmpi" not in shown)
    for name in ["libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12",
                 "libfmpich.so.12", "libmpicxx.so.12"]:
        text = subprocess.run(["readelf", "-d", lib / name], capture_output=True, text=True).stdout
        count.one(name, f"soname: [{name}]" in text)
    symbols(count, lib)


def symbols(count, lib):
    """Every function of the table exists in C under both its names."""
    text = subprocess.run(["nm", "-D", "--defined-only", lib / "libmpi.so.12"], capture_output=True, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    table = (TOP / "include/mpi.table").read_text()
    names = re.findall(r"^(MPI_\w+) ", table, re.M)
    missing = [n for name in names for n in (name, "P" + name) if n not in exported]
    data = ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
            "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE", "MPI_T_PVAR_ALL_HANDLES", "MPIR_Dup_fn"]
    missing += [n for n in data if n not in exported]
    count.one(f"symbols of libmpi.so.12 ({len(names)} functions)", not missing, " ".join(missing[:10]))


def main():
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else TOP / "dist").resolve()
    count = Count()
    done = []
    in_rust = threading.Thread(target=lambda: done.append(rust(count)))
    in_rust.start()
    code, _ = run(count, [sys.executable, "tools/drift.py"])
    if code == 77:
        count.skip("mpi.h against MPICH's", "no MPICH to compare with")
    else:
        count.one("mpi.h against MPICH's", code == 0)
    wrappers(count, dist)
    lanes = [threading.Thread(target=lambda lane=lane: done.append(counted(
        count, f"programs, lane {lane}", [sys.executable, "c-tests/run.py", "--dist", dist, "check", "--lane", lane],
    ))) for lane in (1, 2)]
    for thread in lanes:
        thread.start()
    for thread in [*lanes, in_rust]:
        thread.join()
    if len(done) != 3:
        count.one("steps", False, "one of them ended early (see above)")
    counted(count, "benchmark, tiny", [sys.executable, "npb-harness/bench.py", "--tiny", "--dist", dist])
    if count.failed:
        # Once more, where one looks first.
        print("what failed:", *(count.words or ["nothing said which"]), sep="\n  ")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    sys.exit(1 if count.failed else 0)


if __name__ == "__main__":
    main()

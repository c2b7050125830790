#!/usr/bin/env python3
"""Runs the tests and counts: check.py [--quick | --all] [DIST]

The last line is `N passed, N failed, N skipped`; the exit code is 0 if none failed. A step whose tool is
missing on this machine is skipped, with a line that says which.

The tests in Rust are compiled first; they run, at low priority, beside the programs that end well by themselves.
Programs whose ranks die have the processors for themselves, and so has the benchmark.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
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
        self.hear(line)

    def hear(self, line):
        """Keeps a line that tells of a failure, to be said once more at the end."""
        if FAILED.match(line):
            with self.lock:
                self.failures.append(line.rstrip())

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


def linter():
    """Cargo's environment in which our crates are compiled by clippy: lints cost no compilation of their own then."""
    where = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    driver = Path(where) / "bin" / "clippy-driver"
    return {"RUSTC_WORKSPACE_WRAPPER": str(driver)} if where and driver.exists() else None


def compiled(count):
    """Format, lints, and the tests of all crates, compiled. Gives the environment to run them in."""
    count.one("format", run(count, [CARGO, "fmt", "--all", "--check"])[0] == 0)
    lints = linter()
    env = {**os.environ, **(lints or {})}
    code, text = run(count, [CARGO, "test", "--workspace", "--no-run"], env=env)
    if lints is None:
        count.skip("lints", "this Rust comes without clippy")
    else:
        # What cargo calls a warning of ours is one in a crate of this workspace: those of others are not shown.
        found = re.findall(r"^warning: `([^`]*)` .* generated \d+ warning", text, re.M)
        count.one("lints", code == 0 and not found, ", ".join(sorted(set(found))))
    headers = [CARGO, "run", "--quiet", "-p", "ftmpi-headers", "--", "--check", "include/generated"]
    count.one("generated headers", run(count, headers, env=env)[0] == 0)
    return env


def rust(count, env):
    # One seed, so that a commit that passes here passes everywhere; `make fuzz` tries others.
    seed = os.environ.get("PROPTEST_RNG_SEED", "1")
    print(f"check: random input from PROPTEST_RNG_SEED={seed}", flush=True)
    code, text = run(
        count, [*LATER, CARGO, "test", "--workspace", "--no-fail-fast"],
        env={**env, "PROPTEST_RNG_SEED": seed},
    )
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
    bin_, lib = dist / "bin", dist / "lib" / "ftmpi"
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
        for wrapper, peer, letters in [("ftmpicc", "mpicc.mpich", "CC"), ("ftmpicxx", "mpicxx.mpich", "CXX"),
                                       ("ftmpifort", "mpifort.mpich", "FC")]:
            # What is right is what MPICH's own do, too.
            for name, tool in ((wrapper, bin_ / wrapper), (peer, shutil.which(peer))):
                if tool is None:
                    count.skip(f"options of {name}", "not installed")
                    continue
                wrong = options_of(tool, letters, folder)
                count.one(f"options of {name}", not wrong, "; ".join(wrong))
        own_options(count, bin_, lib, folder)
    for name in ["libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12",
                 "libfmpich.so.12", "libmpicxx.so.12"]:
        text = subprocess.run(["readelf", "-d", lib / name], capture_output=True, text=True).stdout
        count.one(name, f"soname: [{name}]" in text)
    symbols(count, lib)


def said(command, folder, **env):
    """Standard output, and the exit code."""
    words = {k: v for k, v in os.environ.items() if not re.match(r"(MPICH|FTMPI)_|MPI(CC|CXX|FORT)_PROFILE$", k)}
    done = subprocess.run(list(map(str, command)), cwd=folder, env={**words, **env}, capture_output=True, text=True)
    return done.stdout, done.returncode


def options_of(tool, letters, folder):
    """What is wrong with a wrapper's options."""
    ending = {"CC": "c", "CXX": "cc", "FC": "f"}[letters]
    (folder / f"x.{ending}").write_text("")
    flag, variable, source = f"-{letters.lower()}=echo chosen", f"MPICH_{letters}", f"x.{ending}"
    cases = {
        "-show": (["-show", source], {}, lambda t: "-I" in t and "-L" in t and "-lmpi" in t and source in t),
        "-show -c": (["-show", "-c", source], {}, lambda t: "-I" in t and "-lmpi" not in t and f"-c {source}" in t),
        "-compile_info": (["-compile_info"], {}, lambda t: "-I" in t),
        "-compile-info": (["-compile-info"], {}, lambda t: "-I" in t),
        "-link_info": (["-link_info"], {}, lambda t: "-L" in t and "-lmpi" in t),
        "-link-info": (["-link-info"], {}, lambda t: "-L" in t and "-lmpi" in t),
        "-show-compile-info": (["-show-compile-info"], {}, lambda t: "-I" in t and "-lmpi" not in t),
        "-show-link-info": (["-show-link-info"], {}, lambda t: "-I" not in t and "-lmpi" in t),
        "another compiler": ([flag, "-c", source], {}, lambda t: t.startswith("chosen ") and f"-c {source}" in t),
        "shown": ([flag, "-show", source], {}, lambda t: t.startswith("echo chosen ") and "-lmpi" in t),
        variable: (["-c", source], {variable: "echo other"}, lambda t: t.startswith("other ") and "-lmpi" not in t),
        "option before variable": (
            [flag, "-c", source], {variable: "echo other"}, lambda t: t.startswith("chosen ")),
        "-E": ([flag, "-E", source], {}, lambda t: "-lmpi" not in t),
        "-nativelinking": ([flag, "-nativelinking", source], {}, lambda t: "-lmpi" not in t),
    }
    if "fort" in str(tool) and "mpich" in str(tool):
        del cases["-nativelinking"], cases["-show-compile-info"], cases["-show-link-info"]
    wrong = []
    for name, (arguments, env, right) in cases.items():
        text, code = said([tool, *arguments], folder, **env)
        if code != 0 or not right(text):
            wrong.append(f"{name}: exit code {code}, `{text.strip()[:200]}`")
    _, code = said([tool, "-c", "missing." + ending], folder)
    if code == 0:
        wrong.append("a compiler's failure is none of the wrapper's")
    return wrong


def own_options(count, bin_, lib, folder):
    """Those where ours goes its own way."""
    def one(name, ok, code, text):
        count.one(name, ok, "" if ok else f"exit code {code}: {text}")

    text, code = said([bin_ / "ftmpicc", "-c", "x.c"], folder, MPICH_CC="echo m", FTMPI_CC="echo f")
    one("FTMPI_CC before MPICH_CC", text.startswith("f "), code, text)
    text, code = said([bin_ / "ftmpicc", "-show", "-mpi-abi", "x.c"], folder)
    one("ftmpicc -mpi-abi", "/include/ftmpi/standard" in text and text.rstrip().endswith("-lmpi_abi"), code, text)
    text, code = said([bin_ / "ftmpicc", "-show", "-profile=wrap", "x.c"], folder)
    one("ftmpicc -profile", text.rstrip().endswith("-lwrap -lmpi"), code, text)
    text, code = said([bin_ / "ftmpicc", "-c", "x.c"], folder, MPICH_CC=str(bin_ / "ftmpicc"))
    one("a wrapper that names itself", code == 1, code, text)
    text, code = said([bin_ / "ftmpicc", "-help"], folder)
    one("ftmpicc -help", code == 0 and "-profile=X" in text and "set -eu" not in text, code, text)
    # A tree of its own: nothing is written into the one under test.
    tree = folder / "tree"
    for part in ("bin", "etc"):
        (tree / part).mkdir(parents=True)
    for name in ("ftmpicc", "ftmpifort", "mpicc"):
        shutil.copy(bin_ / "ftmpicc", tree / "bin" / name)
    (tree / "etc" / "mpicc-other.conf").write_text('CC="other -1"\nFC=wrong\nshow=\n')
    (tree / "etc" / "ftmpifort-other.conf").write_text("FC=fortran\n")
    for name, words in {"ftmpicc": "other -1 x.c", "mpicc": "other -1 x.c", "ftmpifort": "fortran x.c"}.items():
        text, code = said([tree / "bin" / name, "-config=other", "-show", "x.c"], folder)
        one(f"{name} -config", code == 0 and text.startswith(words), code, text)
    text, code = said([tree / "bin" / "ftmpicc", "-config=missing", "x.c"], folder)
    one("a configuration that is missing", code == 1, code, text)
    # A library that wraps MPI_Init: linked before ours, preloaded, and not there.
    (folder / "wrap.c").write_text("#include <mpi.h>\n#include <stdio.h>\nint MPI_Init(int *c, char ***v)"
                                   '{ puts("wrapped"); return PMPI_Init(c, v); }\n')
    (folder / "plain.c").write_text("#include <mpi.h>\nint main(int c,char**v){MPI_Init(&c,&v);return MPI_Finalize();}\n")
    for command in (["-shared", "-fPIC", "wrap.c", "-o", "libwrap.so"], ["plain.c", "-o", "plain"],
                    ["-profile=wrap", "-L.", "plain.c", "-o", "linked", f"-Wl,-rpath,{folder}"]):
        said([bin_ / "ftmpicc", *command], folder)
    for name, program, env, wrapped in (
        ("linked before ours", "linked", {}, True), ("preloaded", "plain", {"LD_PRELOAD": str(folder / "libwrap.so")}, True),
        ("not there", "plain", {}, False),
    ):
        options = [word for key, value in env.items() for word in ("-env", key, value)]
        text, code = said([bin_ / "ftmpiexec", "-n", "1", "--protocol", "none", *options, folder / program], folder)
        one(f"a profiling library {name}", code == 0 and ("wrapped" in text) == wrapped, code, text)


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


def side_by_side(count, *steps):
    """All of these at once, to their ends."""
    ended = []
    threads = [threading.Thread(target=lambda step=step: ended.append(step())) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(ended) != len(steps):
        count.one("steps", False, "one of them ended early (see above)")


# What `make check-all` has besides: suites that last long, or need root and tools that few machines have.
LONG = [
    ("every protocol and option, killed", ["c-tests/run.py", "campaign", "--runs", "1"]),
    ("mpi4py's own tests", ["c-tests/run.py", "mpi4py"]),
    ("IMB", ["c-tests/run.py", "imb", "--quick"]),
    ("two hosts", ["c-tests/run.py", "netns"]),
    ("images, restored again and again", ["c-tests/run.py", "torture", "--restores", "20"]),
    ("random programs", ["c-tests/run.py", "random", "--runs", "4"]),
    ("kills under each protocol", ["c-tests/run.py", "--protocol", "rotate", "kills", "--runs", "18"]),
    ("orphans", ["c-tests/run.py", "orphans", "--runs", "6"]),
    ("conformance, killed", ["c-tests/run.py", "conformance", "--kills", "1"]),
]


def simulator(count, seeds):
    """So many seeds of every protocol."""
    code, _ = run(count, ["make", "--no-print-directory", "sim", f"SEEDS={seeds}"])
    count.one(f"simulator, {seeds} seeds of every protocol", code == 0)


def style(count):
    """What the rules of CONTRIBUTING.md say that a machine can see, and the documents."""
    for name in ("style", "docs_check"):
        if (TOP / "tools" / f"{name}.py").exists():
            count.one(name, run(count, [sys.executable, f"tools/{name}.py"])[0] == 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", nargs="?", type=Path, default=TOP / "dist")
    parser.add_argument("--quick", action="store_true", help="unit tests, some seeds, a handful of kills")
    parser.add_argument("--all", action="store_true", help="also what takes long")
    return parser.parse_args()


def main():
    args = arguments()
    dist = args.dist.resolve()
    count = Count()

    def step(name, work, *given):
        begin = time.monotonic()
        result = work(*given)
        print(f"check: step {name}: {time.monotonic() - begin:.0f} s", flush=True)
        return result

    def lane(number):
        command = [sys.executable, "c-tests/run.py", "--dist", dist, "check", "--lane", number]
        return lambda: counted(count, f"programs, lane {number}", command)

    env = step("compile", compiled, count)
    step("style", style, count)
    if args.quick:
        step("unit tests beside programs", side_by_side, count, lambda: rust(count, env), lane("quick"))
        finish(count)
    code, _ = run(count, [sys.executable, "tools/drift.py"])
    if code == 77:
        count.skip("mpi.h against MPICH's", "no MPICH to compare with")
    else:
        count.one("mpi.h against MPICH's", code == 0)
    step("wrappers", wrappers, count, dist)
    step("unit tests beside programs", side_by_side, count, lambda: rust(count, env), lane(1))
    step("kills", side_by_side, count, lane(2), lane(3))
    step("benchmark", counted, count, "benchmark, tiny",
         [sys.executable, "npb-harness/bench.py", "--tiny", "--dist", dist])
    if args.all:
        step("simulator", simulator, count, 2000)
        for name, command in LONG:
            step(name, counted, count, name, [sys.executable, *command, "--dist", dist])
    finish(count)


def finish(count):
    """The closing line, and what failed."""
    if count.failed:
        # Once more, where a reader looks first.
        print("what failed:", *(count.failures or ["no step named it"]), sep="\n  ")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    sys.exit(1 if count.failed else 0)


if __name__ == "__main__":
    main()

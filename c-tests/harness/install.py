"""Tests `make install` and `make uninstall`. Build systems find ftmpi in each documented way, also on a machine with
another MPI. Files of other packages are neither changed nor shadowed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .core import ROOT, Setting, problem_of, run, which

CMAKE = """cmake_minimum_required(VERSION 3.10)
project(found C)
set(MPI_DETERMINE_LIBRARY_VERSION TRUE)
find_package(MPI REQUIRED COMPONENTS C)
message(STATUS "is ${MPI_C_LIBRARY_VERSION_STRING}")
add_executable(found found.c)
target_link_libraries(found MPI::MPI_C)
"""
HELLO = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int n = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Reduce(&one, &n, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("found on %d\\n", n);
    MPI_Finalize();
    return 0;
}
"""
# The files of another MPI. An installation must not place any of these where users of another MPI look.
SHADOWS = ["bin/mpicc", "bin/mpicxx", "bin/mpifort", "bin/mpiexec", "bin/mpirun", "include/mpi.h", "include/mpif.h",
           "lib/pkgconfig/mpich.pc"]


def install(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    where = setting.new_folder("install")
    prefix = where / "prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib" / "libother.so").write_text("theirs")
    made = run([ROOT / "tools" / "install.sh", setting.dist, prefix], timeout=120, env={"DESTDIR": ""})
    if not setting.results.check("install", problem_of(made)):
        return
    other_mpi_unchanged(setting, prefix)
    activation(setting, prefix, where)
    cmake(setting, prefix, where)
    pkg_config(setting, prefix, where)
    upgrade(setting, prefix)
    uninstall(setting, prefix)


def other_mpi_unchanged(setting: Setting, prefix: Path) -> None:
    """Users of another MPI still get that MPI."""
    there = [name for name in SHADOWS if (prefix / name).exists()]
    there += [path.name for path in (prefix / "lib").glob("libmpi*")]
    setting.results.check("an installation shadows no other MPI", f"it has {there}" if there else None)
    if which("ldconfig") is None:
        setting.results.skip("ldconfig does not see our libraries", "no ldconfig")
        return
    conf, cache = prefix.parent / "ld.so.conf", prefix.parent / "ld.so.cache"
    conf.write_text(f"{prefix}/lib\n")
    made = run(["ldconfig", "-X", "-f", conf, "-C", cache], timeout=60)
    listed = run(["ldconfig", "-C", cache, "-p"], timeout=60)
    ours = [line for line in listed.out.splitlines() if str(prefix) in line]
    setting.results.check("ldconfig does not see our libraries",
                          problem_of(made) or (f"it lists {ours}" if ours else None))


def activation(setting: Setting, prefix: Path, where: Path) -> None:
    """The shell line of the README and the environment module choose ftmpi."""
    (where / "found.c").write_text(HELLO)
    shell = f". {prefix}/share/ftmpi/activate.sh && mpicc found.c -o activated && mpiexec -n 2 ./activated"
    for name in ("bash", "zsh"):
        if which(name) is None:
            setting.results.skip(f"the line for {name}", f"no {name}")
            continue
        outcome = run([name, "-c", shell], timeout=setting.timeout, cwd=where)
        setting.results.check(f"the line for {name}", problem_of(outcome, expected_text="found on 2"))
    command = module_command()
    if command is None:
        setting.results.skip("the environment module", "no modulecmd")
        return
    script = (f'eval "$({command} bash use {prefix}/share/modulefiles)"; eval "$({command} bash load ftmpi)"; '
              "mpicc found.c -o by-module && mpiexec -n 2 ./by-module")
    outcome = run(["bash", "-c", script], timeout=setting.timeout, cwd=where)
    setting.results.check("the environment module", problem_of(outcome, expected_text="found on 2"))


def module_command() -> str | None:
    """The program behind `module` of Environment Modules or of Lmod."""
    for path in ("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/modules/libexec/modulecmd.tcl",
                 "/usr/share/lmod/lmod/libexec/lmod"):
        if Path(path).exists():
            return path
    return None


def check_program(setting: Setting, name: str, program: Path, prefix: Path) -> None:
    """Checks that a program runs, and is linked to our library."""
    linked = run(["ldd", program], timeout=20)
    paths = [os.path.realpath(path) for path in re.findall(r"libmpi\.so\.12 => (\S+)", linked.out)]
    ours = os.path.realpath(prefix / "lib" / "ftmpi" / "libmpi.so.12")
    problem = None if paths == [ours] else f"linked to another MPI: {linked.out}"
    outcome = run([prefix / "bin" / "ftmpiexec", "-n", "2", "--protocol", "none", program], timeout=setting.timeout)
    setting.results.check(name, problem or problem_of(outcome, expected_text="found on 2"))


def cmake(setting: Setting, prefix: Path, where: Path) -> None:
    if which("cmake") is None:
        setting.results.skip("CMake finds us", "cmake is not installed")
        return
    (where / "CMakeLists.txt").write_text(CMAKE)
    (where / "found.c").write_text(HELLO)
    home = prefix / "lib" / "ftmpi"
    beside = "with MPICH beside" if which("mpicc.mpich") else "alone"
    for way, options, env in [
        ("PATH", [], {"PATH": f"{home / 'bin'}:{os.environ['PATH']}"}),
        ("MPI_HOME", [f"-DMPI_HOME={home}"], {}),
        ("MPI_HOME of the environment", [], {"MPI_HOME": str(home)}),
        ("CMAKE_PREFIX_PATH", [f"-DCMAKE_PREFIX_PATH={home}"], {}),
    ]:
        name = f"CMake finds us by {way}, {beside}"
        build = setting.new_folder("cmake")
        made = run(["cmake", "-S", where, "-B", build, *options], timeout=120, env=env)
        if made.code == 0 and not re.search(r"-- is MPICH Version:.*\nftmpi Version:", made.out):
            setting.results.bad(name, f"CMake does not tell the version: {made.output_tail()}")
            continue
        if made.code == 0:
            made = run(["cmake", "--build", build], timeout=120, env=env)
        if made.code != 0:
            setting.results.bad(name, made.output_tail())
            continue
        check_program(setting, name, build / "found", prefix)


def pkg_config(setting: Setting, prefix: Path, where: Path) -> None:
    if which("pkg-config") is None:
        setting.results.skip("pkg-config finds us", "pkg-config is not installed")
        return
    for package, folder in (("ftmpi", "lib/pkgconfig"), ("mpich", "lib/ftmpi/pkgconfig")):
        name = f"pkg-config finds {package}"
        asked = run(["pkg-config", "--cflags", "--libs", package], timeout=20,
                    env={"PKG_CONFIG_PATH": str(prefix / folder)})
        made = asked
        if asked.code == 0:
            made = run(["cc", where / "found.c", "-o", where / package, *asked.out.split()], timeout=60)
        if made.code != 0:
            setting.results.bad(name, made.output_tail())
            continue
        check_program(setting, name, where / package, prefix)


def upgrade(setting: Setting, prefix: Path) -> None:
    """A newer version removes the files that only an older version had."""
    old = prefix / "lib" / "ftmpi" / "libold.so"
    old.write_text("of an earlier version")
    manifest = prefix / "lib" / "ftmpi" / "manifest"
    manifest.write_text(manifest.read_text() + "lib/ftmpi/libold.so\n")
    made = run([ROOT / "tools" / "install.sh", setting.dist, prefix], timeout=120, env={"DESTDIR": ""})
    setting.results.check("an upgrade removes what is no more",
                          problem_of(made) or ("libold.so is still there" if old.exists() else None))


def uninstall(setting: Setting, prefix: Path) -> None:
    made = run([ROOT / "tools" / "install.sh", "--remove", prefix], timeout=60, env={"DESTDIR": ""})
    left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir())
    problem = problem_of(made) or (None if left == ["lib/libother.so"] else f"left: {left[:10]}")
    setting.results.check("uninstall leaves what is not ours, and nothing else", problem)

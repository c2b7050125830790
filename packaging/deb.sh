#!/bin/sh
# deb.sh DIST FOLDER    makes a Debian package of the built tree. `make deb` calls it.
# The tree lies in /usr/lib/ftmpi; links lead there. Another MPI stays the system's default: the alternatives of
# ftmpi have a lower priority than those of Debian's MPIs (Open MPI 50, MPICH 40).
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dist=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml" | head -1)
priority=10
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
home=usr/lib/ftmpi
mkdir -p "$tree/$home" "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/doc/ftmpi" "$tree/usr/share/man/man1"
cp -a "$dist/bin" "$dist/lib" "$dist/include" "$tree/$home/"
cp -a "$dist/share" "$tree/$home/share"
rm -f "$tree/$home/lib/ftmpi/manifest"

# Programs, manual pages and completions where the system looks for them.
for program in "$tree/$home"/bin/*; do
    name=$(basename "$program")
    ln -s "../lib/ftmpi/bin/$name" "$tree/usr/bin/$name"
done
for page in "$tree/$home"/share/man/man1/*; do
    [ -f "$page" ] || continue
    gzip -9nc "$page" >"$tree/usr/share/man/man1/$(basename "$page").gz"
done
rm -rf "$tree/$home/share/man"
for shell in bash-completion/completions zsh/site-functions fish/vendor_completions.d; do
    [ -d "$tree/$home/share/$shell" ] || continue
    to=$tree/usr/share/$shell
    [ $shell != zsh/site-functions ] || to=$tree/usr/share/zsh/vendor-completions
    mkdir -p "$to"
    mv "$tree/$home/share/$shell"/* "$to/"
    rm -rf "$tree/$home/share/${shell%%/*}"
done
cp "$top/README.md" "$top/CHANGELOG.md" "$tree/usr/share/doc/ftmpi/"
rm -rf "$tree/$home/share/doc"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: ftmpi"
    echo
    echo "Files: *"
    echo "Copyright: the authors of ftmpi"
    echo "License: MIT or Apache-2.0"
    sed 's/^$/./; s/^/ /' "$top/LICENSE-MIT"
    echo " ."
    echo " The text of the Apache License is in /usr/share/common-licenses/Apache-2.0."
} >"$tree/usr/share/doc/ftmpi/copyright"

# The oldest C library that has all symbols.
libc=$(find "$tree/$home" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec readelf -W --version-info {} + 2>/dev/null |
    sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -1)
size=$(du -sk "$tree/usr" | cut -f1)
cat >"$tree/DEBIAN/control" <<END
Package: ftmpi
Version: $version
Architecture: amd64
Section: science
Priority: optional
Maintainer: ftmpi <ftmpi@localhost>
Installed-Size: $size
Depends: libc6 (>= ${libc:-2.28}), libgcc-s1
Recommends: gcc | c-compiler
Suggests: gfortran, openssh-client, python3-mpi4py
Description: fault-tolerant MPI with the binary interface of MPICH
 Programs go on when ranks, servers or hosts die: ftmpi logs messages, takes
 checkpoint images, and restarts what has failed. Programs that were built
 with MPICH run unchanged under ftmpiexec. Another MPI stays the default.
END
# One name of a group, one line for each link: what users of a default MPI call.
cat >"$tree/DEBIAN/postinst" <<END
#!/bin/sh
set -e
if [ "\$1" = configure ]; then
    update-alternatives --install /usr/bin/mpirun mpirun /usr/lib/ftmpi/lib/ftmpi/bin/mpirun $priority \\
        --slave /usr/bin/mpiexec mpiexec /usr/lib/ftmpi/lib/ftmpi/bin/mpiexec
    update-alternatives --install /usr/bin/mpicc mpi /usr/lib/ftmpi/lib/ftmpi/bin/mpicc $priority \\
        --slave /usr/bin/mpicxx mpicxx /usr/lib/ftmpi/lib/ftmpi/bin/mpicxx \\
        --slave /usr/bin/mpic++ mpic++ /usr/lib/ftmpi/lib/ftmpi/bin/mpic++ \\
        --slave /usr/bin/mpifort mpifort /usr/lib/ftmpi/lib/ftmpi/bin/mpifort \\
        --slave /usr/bin/mpif90 mpif90 /usr/lib/ftmpi/lib/ftmpi/bin/mpif90 \\
        --slave /usr/bin/mpif77 mpif77 /usr/lib/ftmpi/lib/ftmpi/bin/mpif77
fi
END
cat >"$tree/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = deconfigure ]; then
    update-alternatives --remove mpirun /usr/lib/ftmpi/lib/ftmpi/bin/mpirun
    update-alternatives --remove mpi /usr/lib/ftmpi/lib/ftmpi/bin/mpicc
fi
END
chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm"
(cd "$tree" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
package=$folder/ftmpi_${version}_amd64.deb
dpkg-deb --root-owner-group -Zxz -z1 --build "$tree" "$package" >/dev/null
echo "$package"

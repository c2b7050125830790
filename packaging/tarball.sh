#!/bin/sh
# tarball.sh DIST FOLDER    packs the built tree. `make tarball` calls it.
# The tree can lie anywhere. It has an environment module: module use TREE/share/modulefiles; module load ftmpi
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dist=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml" | head -1)
name=ftmpi-$version-linux-x86_64
package=$folder/$name.tar.gz
tar -C "$dist" --exclude ./lib/ftmpi/manifest --owner=0 --group=0 --sort=name --transform "flags=r;s,^\.,$name," \
    -czf "$package.new" .
mv -f "$package.new" "$package"
echo "$package"

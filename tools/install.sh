#!/bin/sh
# install.sh DIST PREFIX       copies the tree to PREFIX, and removes files that only an older version had
# install.sh --remove PREFIX   removes the installed files, and nothing else
# Set DESTDIR to install below another root. The list of installed files is PREFIX/lib/ftmpi/manifest.
set -eu
root=${DESTDIR:-}

# Prints the files that an installation wrote, one per line, relative to the prefix.
manifest() { [ ! -f "$1/lib/ftmpi/manifest" ] || cat "$1/lib/ftmpi/manifest"; }

# Removes the files that standard input names, and folders that become empty.
remove() { # PREFIX
    while IFS= read -r file; do
        case $file in
        /* | *..*) continue ;;
        esac
        rm -f "$1/$file"
        folder=$(dirname "$file")
        while [ "$folder" != . ]; do
            rmdir "$1/$folder" 2>/dev/null || break
            folder=$(dirname "$folder")
        done
    done
}

if [ "$1" = --remove ]; then
    prefix=$root$2
    [ -f "$prefix/lib/ftmpi/manifest" ] || {
        echo "install: there is no $prefix/lib/ftmpi/manifest: ftmpi is not installed in $2" >&2
        exit 1
    }
    list=$(mktemp)
    manifest "$prefix" >"$list"
    echo lib/ftmpi/manifest >>"$list"
    remove "$prefix" <"$list"
    rm -f "$list"
    echo "removed ftmpi from $prefix"
    exit 0
fi

dist=$1
prefix=$root$2
mkdir -p "$prefix/lib/ftmpi"
new=$(mktemp)
gone=$(mktemp)
trap 'rm -f "$new" "$gone"' EXIT
(cd "$dist" && find . ! -type d | sed 's|^\./||' | sort) >"$new"
manifest "$prefix" | sort | comm -23 - "$new" >"$gone"
# A file is replaced by renaming, because a running job may have the old file mapped.
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    cp -P --preserve=mode,timestamps "$dist/$file" "$prefix/$file.ftmpi-new"
    mv -fT "$prefix/$file.ftmpi-new" "$prefix/$file"
done <"$new"
remove "$prefix" <"$gone"
cp "$new" "$prefix/lib/ftmpi/manifest"
echo "installed ftmpi in $2; choose it in a shell with: . $2/share/ftmpi/activate.sh"

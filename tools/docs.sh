#!/bin/sh
# Renders docs/ to HTML in target/book with mdBook. Installs mdBook below target if this machine has none.
set -eu
top=$(dirname "$(dirname "$(readlink -f "$0")")")
target=${CARGO_TARGET_DIR:-$top/target}
version=0.4.52
mdbook=$(command -v mdbook || echo "$target/mdbook/bin/mdbook")
if [ ! -x "$mdbook" ]; then
    echo "docs: there is no mdbook; it is installed in $target/mdbook (some minutes, once)"
    "${CARGO:-cargo}" install mdbook --version "$version" --locked --quiet --no-default-features --features search \
        --root "$target/mdbook" || {
        echo "docs: mdbook cannot be installed; the pages are readable as they are, from docs/README.md on" >&2
        exit 1
    }
fi
"$mdbook" build "$top/docs" --dest-dir "$target/book"
echo "docs: $target/book/index.html"

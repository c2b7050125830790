#!/bin/bash
# Runs in the environment that recipe.yaml describes. FTMPI_DIST: a tree that `make` has built already.
set -euo pipefail
dist=${FTMPI_DIST:-$SRC_DIR/dist}
[ -n "${FTMPI_DIST:-}" ] || make build DIST="$dist"
tools/install.sh "$dist" "$PREFIX"

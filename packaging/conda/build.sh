#!/bin/bash
set -euo pipefail
make build DIST="$SRC_DIR/dist"
tools/install.sh "$SRC_DIR/dist" "$PREFIX"

#!/bin/sh
# Builds quickjs.wasm from QuickJS-NG and glue.c; see compile.sh.
#   build.sh          rebuild quickjs.wasm and quickjs.wasm.sha256
#   build.sh --check  rebuild into a temporary directory and compare
set -eu
cd "$(dirname "$0")"
EXACT=1 exec ./compile.sh glue.c quickjs.wasm 524288 2097152 "$@"

#!/bin/sh
# Builds plugin.wasm, which every plugin in JavaScript is made of, from QuickJS-NG, plugin.c
# and prelude.js; see plugins/script/module/compile.sh.
#   build.sh          rebuild plugin.wasm and plugin.wasm.sha256
#   build.sh --check  rebuild into a temporary directory and compare
set -eu
cd "$(dirname "$0")"
include=$(mktemp -d)
trap 'rm -rf "$include"' EXIT
od -An -v -tx1 prelude.js | sed 's/ \(..\)/0x\1,/g' >"$include/prelude.inc"
echo 0 >>"$include/prelude.inc"
INCLUDE=$include ../../script/module/compile.sh plugin.c plugin.wasm 393216 1048576 "$@"

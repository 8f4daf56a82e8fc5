#!/bin/sh
# Builds the plugin of the tests with the command that authors use, and Debian's clang.
#   build.sh          rebuild mask.wasm and its hash
#   build.sh --check  rebuild it and compare
set -eu
cd "$(dirname "$0")"
go run ../../../cmd/sluice plugin build mask -q >/dev/null
cd mask
if [ "${1:-}" = --check ]; then
	sha256sum --quiet -c mask.wasm.sha256 || { echo "plugins/guest/testdata/mask/mask.wasm is not what its source gives" >&2; exit 1; }
	exit 0
fi
sha256sum mask.wasm | tee mask.wasm.sha256

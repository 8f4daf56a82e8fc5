#!/bin/sh
# Builds the plugins of the tests with the command that authors use, and Debian's clang.
#   build.sh          rebuild each module and its hash
#   build.sh --check  rebuild them and compare
set -eu
cd "$(dirname "$0")"
CPATH=$PWD/../../../sdk/c # where clang finds sluice.h, which authors have beside plugin.c
export CPATH
for p in keep mask moody stamp relay thread; do
	go run ../../../cmd/sluice plugin build "$p" -q >/dev/null
	cd "$p"
	if [ "${1:-}" = --check ]; then
		sha256sum --quiet -c "$p.wasm.sha256" || { echo "plugins/guest/testdata/$p/$p.wasm is not what its source gives" >&2; exit 1; }
	else
		sha256sum "$p.wasm" | tee "$p.wasm.sha256"
	fi
	cd ..
done

#!/bin/sh
# Builds engine.wasm from engine.c, bit for bit, with Debian's clang and lld.
#   build.sh          rebuild engine.wasm and engine.wasm.sha256
#   build.sh --check  rebuild into a temporary file and compare
# Connectors of users hold the build that made them, so the engine of the last commit is
# kept in earlier/ when it changes; --check wants there what make upgrade begins with.
# The driver runs wasm-opt when binaryen is installed, so compile and link are
# two steps. CLANG and WASM_LD name other programs.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-14}
lld=${WASM_LD:-wasm-ld-14}
for tool in "$clang" "$lld"; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install clang-14 lld-14" >&2; exit 1; }
done
# among FILE BUILD...: it is one of the builds.
among() {
	file=$1
	shift
	for build; do
		if cmp -s "$file" "$build"; then return; fi
	done
	return 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
version=$(sed -n 's/^const Version = //p' program.go)
"$clang" --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -fno-ident \
	-msimd128 -mbulk-memory -msign-ext -mnontrapping-fptoint -fno-jump-tables \
	-Wall -Wextra -Werror -Wno-unused-function -DENGINE_VERSION="$version" \
	-c engine.c -o "$dir/engine.o"
# The stack comes first: an overflow traps instead of reaching data. 131072 is
# SEGMENT of engine.c.
"$lld" --no-entry --stack-first -z stack-size=98304 --initial-memory=131072 \
	--strip-all -O2 "$dir/engine.o" -o "$dir/engine.wasm"
if [ "${1:-}" = --check ]; then
	cmp "$dir/engine.wasm" engine.wasm || { echo "engine.wasm is not what engine.c gives: run build.sh" >&2; exit 1; }
	for commit in $(sed '/^#/d' ../../.ci/previous ../../.ci/previous-cluster); do
		git show "$commit:./engine.wasm" >"$dir/previous.wasm" 2>/dev/null || continue # not fetched: make upgrade does
		among "$dir/previous.wasm" engine.wasm earlier/*.wasm || { echo "engine.wasm of commit $commit is not in earlier/: its connectors cannot be opened" >&2; exit 1; }
	done
	exit 0
fi
if git show HEAD:./engine.wasm >"$dir/last.wasm" 2>/dev/null && ! among "$dir/last.wasm" "$dir/engine.wasm" earlier/*.wasm; then
	name=$version-$(printf %02d $(($(ls "earlier/$version"-*.wasm | wc -l) + 1))).wasm
	cp "$dir/last.wasm" "earlier/$name"
	(cd earlier && sha256sum "$name" >"$name.sha256")
fi
cp "$dir/engine.wasm" engine.wasm
sha256sum engine.wasm >engine.wasm.sha256
ls -l engine.wasm

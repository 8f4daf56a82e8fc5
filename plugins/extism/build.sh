#!/bin/sh
# Builds kernel.wasm from kernel.c, and the C plugins of testdata, bit for bit, with
# Debian's clang and lld.
#   build.sh          rebuild them and build.sha256
#   build.sh --check  rebuild into a temporary directory and compare
# The driver runs wasm-opt when binaryen is installed, so compile and link are
# two steps. CLANG and WASM_LD name other programs.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-14}
lld=${WASM_LD:-wasm-ld-14}
for tool in "$clang" "$lld"; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install clang-14 lld-14" >&2; exit 1; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/testdata"
build() { # build NAME LINK-FLAGS…
	name=$1
	shift
	"$clang" --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -fno-ident \
		-mbulk-memory -msign-ext -mnontrapping-fptoint \
		-Wall -Wextra -Werror -Wno-incompatible-library-redeclaration -Wno-infinite-recursion -Wno-empty-body -I. -c "$name.c" -o "$dir/$name.o"
	"$lld" --no-entry --stack-first --strip-all -O2 "$@" "$dir/$name.o" -o "$dir/$name.wasm"
	rm "$dir/$name.o"
}
build kernel -z stack-size=1024
for c in testdata/*.c; do build "${c%.c}" -z stack-size=16384; done
(cd "$dir" && sha256sum ./*.wasm testdata/*.wasm) >"$dir/build.sha256"
if [ "${1:-}" = --check ]; then
	cmp "$dir/build.sha256" build.sha256 || { echo "plugins/extism: a .wasm is not what its source gives: run build.sh" >&2; exit 1; }
	sha256sum --quiet -c build.sha256
	exit 0
fi
cp "$dir"/*.wasm .
cp "$dir"/testdata/*.wasm testdata/
cp "$dir/build.sha256" .
cat build.sha256

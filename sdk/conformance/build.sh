#!/bin/sh
# Builds the modules of the conformance cases: c.wasm (clang-14), rust.wasm and
# extism-pdk.wasm (cargo), and as.wasm (npm). What is not installed is left as it is, with a warning.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-14}
lld=${WASM_LD:-wasm-ld-14}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if command -v "$clang" >/dev/null && command -v "$lld" >/dev/null; then
	"$clang" --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -fno-ident -mbulk-memory -msign-ext -mnontrapping-fptoint \
		-Wall -Wextra -Werror -I../c -c c/plugin.c -o "$dir/c.o"
	"$lld" --no-entry --stack-first --strip-all -O2 "$dir/c.o" -o c.wasm
else echo "WARNING: no $clang or $lld: c.wasm is as it was" >&2; fi
if command -v cargo >/dev/null; then
	RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=$HOME=~" CARGO_TARGET_DIR="$dir/rust" \
		cargo build --quiet --release --target wasm32-unknown-unknown --manifest-path rust/Cargo.toml
	cp "$dir/rust/wasm32-unknown-unknown/release/conformance.wasm" rust.wasm
	RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=$HOME=~" CARGO_TARGET_DIR="$dir/rust" \
		cargo build --quiet --release --target wasm32-unknown-unknown --manifest-path extism-pdk/Cargo.toml
	cp "$dir/rust/wasm32-unknown-unknown/release/conformance_extism_pdk.wasm" extism-pdk.wasm
else echo "WARNING: no cargo: rust.wasm is as it was" >&2; fi
if command -v npm >/dev/null; then
	cp as/index.ts as/package.json as/package-lock.json as/.npmrc "$dir/"
	(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error &&
		npx asc index.ts --outFile as.wasm --optimizeLevel 3 --shrinkLevel 1 --runtime stub --exportStart _initialize --use abort=index/stop)
	cp "$dir/as.wasm" as.wasm
else echo "WARNING: no npm: as.wasm is as it was" >&2; fi
sha256sum ./*.wasm

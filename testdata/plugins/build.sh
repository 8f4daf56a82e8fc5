#!/bin/bash
# Builds the plugins of the tests with the command that authors use, and Debian's clang;
# prune, which only benchmarks load, with cargo.
#   build.sh [c] [rust]          rebuild these, or all, and their hashes
#   build.sh --check [c] [rust]  rebuild them and compare
# Equal compilers give equal bytes in any directory. prune/prune.wasm.sha256 also names
# the compiler and has the hashes of the sources, which go test compares without any
# compiler; where that rustc or its target is not here, prune is left as it is, with a
# warning.
set -euo pipefail
cd "$(dirname "$0")"
check=
[ "${1:-}" = --check ] && { check=1; shift; }
[ $# -gt 0 ] || set -- c rust

build_c() {
	CPATH=$PWD/../../sdk/c # where clang finds sluice.h, which authors have beside plugin.c
	export CPATH
	go build -o "$dir/sluice" ../../cmd/sluice
	for p in keep mask moody reach stamp relay thread; do
		cd "$p"
		"$dir/sluice" plugin build . -q >/dev/null
		if [ -n "$check" ]; then
			sha256sum --quiet -c "$p.wasm.sha256" || { echo "testdata/plugins/$p/$p.wasm is not what its source gives" >&2; exit 1; }
		else
			sha256sum "$p.wasm" | tee "$p.wasm.sha256"
		fi
		cd ..
	done
}

# The paths of sources are part of a module: they are made those of the repository and
# of a folder "crates".
build_rust() {
	local want here flags target=wasm32-unknown-unknown root=$dir/root
	want=$(sed -n '1s/^# rustc //p' prune/prune.wasm.sha256)
	if [ -z "${RUSTUP_TOOLCHAIN:-}" ] && command -v rustup >/dev/null && rustup run "$want" true 2>/dev/null; then export RUSTUP_TOOLCHAIN=$want; fi
	here=$(rustc --version 2>/dev/null | cut -d' ' -f2) || true
	if [ -n "$check" ] && [ "$here" != "$want" ]; then
		echo "WARNING: prune.wasm was not compared: it was built with rustc $want, and here is ${here:-none}" >&2
		return
	fi
	if [ ! -e "$(rustc --print target-libdir --target $target)" ]; then
		echo "WARNING: prune.wasm is as it was: rustup target add $target" >&2
		return
	fi
	mkdir -p "$root/testdata/plugins" "$root/sdk/rust"
	cp -r prune "$root/testdata/plugins/"
	cp -r ../../sdk/rust/{Cargo.toml,src} "$root/sdk/rust/"
	(
		cd "$root/testdata/plugins/prune"
		rm -rf target
		cargo fetch --quiet --locked # so that its sources are there to be remapped
		flags="--remap-path-prefix=$root=."
		for src in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do flags+=" --remap-path-prefix=$src=crates"; done
		RUSTFLAGS=$flags CARGO_TARGET_DIR=$dir/target cargo build --quiet --locked --release --lib --target $target
	)
	if [ -n "$check" ]; then
		cmp "$dir/target/$target/release/prune.wasm" prune/prune.wasm || { echo "testdata/plugins/prune/prune.wasm is not what its source gives" >&2; exit 1; }
		return
	fi
	cd prune
	cp "$dir/target/$target/release/prune.wasm" .
	chmod 644 prune.wasm
	{
		echo "# rustc $here"
		sha256sum prune.wasm Cargo.toml Cargo.lock src/*.rs ../../../sdk/rust/Cargo.toml ../../../sdk/rust/src/*.rs
	} >prune.wasm.sha256
	cat prune.wasm.sha256
	cd ..
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for part in "$@"; do "build_$part"; done

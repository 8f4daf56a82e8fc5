#!/bin/bash
# Builds the plugins of the tests with the command that authors use, and Debian's clang;
# prune, which only benchmarks load, with Debian's Rust.
#   build.sh [c] [rust]          rebuild these, or all, and their hashes
#   build.sh --check [c] [rust]  rebuild them and compare
# Equal compilers give equal bytes in any directory. prune/prune.wasm.sha256 also names
# the compiler and has the hashes of the sources, which go test compares without any
# compiler; where that Rust is not here, prune is left as it is, with a warning.
set -euo pipefail
cd "$(dirname "$0")"
check=
[ "${1:-}" = --check ] && { check=1; shift; }
[ $# -gt 0 ] || set -- c rust

build_c() {
	CPATH=$PWD/../../sdk/c # where clang finds sluice.h, which authors have beside plugin.c
	export CPATH
	go build -o "$dir/sluice" ../../cmd/sluice
	for p in keep mask moody parrot reach stamp relay thread; do
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

# With the Rust of Debian 12, which everybody can install; its cargo knows no registry of
# today, so another one fetches the crates. Paths are part of a module: those of sources are
# made those of the repository and of a folder "crates", and what is built is one workspace,
# because the name of a package outside of it has its whole path in it.
build_rust() {
	local here target=wasm32-unknown-unknown root=$dir/root built=$dir/target/wasm32-unknown-unknown/release/prune.wasm
	if [ ! -d /usr/lib/rustlib/$target ] || [ ! -x /usr/bin/cargo ]; then
		echo "WARNING: prune.wasm is as it was: apt-get install cargo rustc libstd-rust-dev-wasm32" >&2
		return
	fi
	here=$(/usr/bin/rustc --version | cut -d' ' -f2)
	if [ -n "$check" ] && [ "$(head -1 prune/prune.wasm.sha256)" != "# rustc $here" ]; then
		echo "WARNING: prune.wasm was not compared: it was built with$(head -1 prune/prune.wasm.sha256 | tr -d '#'), and here is rustc $here" >&2
		return
	fi
	mkdir -p "$root/testdata/plugins" "$root/sdk/rust"
	cp -r prune "$root/testdata/plugins/"
	cp -r ../../sdk/rust/{Cargo.toml,src} "$root/sdk/rust/"
	rm -rf "$root/testdata/plugins/prune/target"
	mv "$root/testdata/plugins/prune/Cargo.lock" "$root/"
	{
		printf '[workspace]\nresolver = "2"\nmembers = ["sdk/rust", "testdata/plugins/prune"]\n\n'
		sed -n '/^\[profile/,$p' prune/Cargo.toml
	} >"$root/Cargo.toml"
	sed -i '/^\[profile/,$d' "$root/testdata/plugins/prune/Cargo.toml"
	(
		cd "$root"
		mkdir .cargo
		cargo vendor --locked "$dir/crates" >"$dir/cargo.toml" 2>"$dir/vendor.log" || { cat "$dir/vendor.log" >&2; exit 1; }
		mv "$dir/cargo.toml" .cargo/config.toml
		PATH=/usr/bin:$PATH RUSTFLAGS="--remap-path-prefix=$root=. --remap-path-prefix=$dir/crates=crates" CARGO_TARGET_DIR=$dir/target \
			cargo build --quiet --locked --release --package prune --lib --target $target
	)
	if [ -n "$check" ]; then
		cmp -s "$built" prune/prune.wasm || { echo "testdata/plugins/prune/prune.wasm is not what its source gives: run testdata/plugins/build.sh rust" >&2; exit 1; }
		return
	fi
	cd prune
	cp "$built" .
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

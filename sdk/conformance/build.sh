#!/bin/bash
# Builds the modules of the conformance cases from their sources: c.wasm and auth.wasm (clang-14),
# rust.wasm (cargo and rustc of Debian 12: apt-get install cargo rustc libstd-rust-dev-wasm32),
# extism-pdk.wasm (cargo, for wasm32-wasip1), as.wasm and as-auth.wasm (npm).
#   build.sh [c] [auth] [rust] [extism-pdk] [as] [as-auth]          rebuild these, or all, and their .sha256 files
#   build.sh --check [c] [auth] [rust] [extism-pdk] [as] [as-auth]  rebuild them elsewhere and compare
# Equal compilers give equal bytes in any directory. MODULE.sha256 names the compiler
# and has the hashes of the module and of its sources: go test compares these without
# any compiler, --check the bytes where the compiler is the same. What cannot be built
# here is left as it is, with a warning.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
check=
[ "${1:-}" = --check ] && { check=1; shift; }
[ $# -gt 0 ] || set -- c auth rust extism-pdk as as-auth
clang=${CLANG:-clang-14}
lld=${WASM_LD:-wasm-ld-14}
debian=/usr/lib/rustlib/wasm32-unknown-unknown # there: Debian's Rust builds rust.wasm
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/out"

have() {
	command -v "$1" >/dev/null && return 0
	[ -z "$check" ] || [ "${CI:-}" != true ] || { echo "sdk/conformance: no $1, and CI checks $2" >&2; exit 1; }
	echo "WARNING: no $1: $2 is as it was" >&2
	return 1
}

build_c() {
	have "$clang" c.wasm && have "$lld" c.wasm || return 0
	"$clang" --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -fno-ident -mbulk-memory -msign-ext -mnontrapping-fptoint \
		-Wall -Wextra -Werror -I../c -c c/plugin.c -o "$dir/c.o"
	"$lld" --no-entry --stack-first --strip-all -O2 "$dir/c.o" -o "$dir/out/c.wasm"
}

build_auth() {
	have "$clang" auth.wasm && have "$lld" auth.wasm || return 0
	"$clang" --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -fno-ident -mbulk-memory -msign-ext -mnontrapping-fptoint \
		-Wall -Wextra -Werror -c auth/plugin.c -o "$dir/auth.o"
	"$lld" --no-entry --stack-first --strip-all -O2 "$dir/auth.o" -o "$dir/out/auth.wasm"
}

# cargo_build TARGET CRATE OUTPUT: in a copy, where the paths of packages are those of
# one workspace, wherever that is: they are part of the names in a module.
cargo_build() {
	local flags="--remap-path-prefix=$dir/rust=." src
	for src in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do flags+=" --remap-path-prefix=$src=crates"; done
	(cd "$dir/rust/conformance/$2" && RUSTFLAGS=$flags CARGO_TARGET_DIR="$dir/target" cargo build --quiet --locked --release --target "$1")
	cp "$dir/target/$1/release/$3" "$dir/out/$4"
}

build_rust() {
	have cargo "rust.wasm" || return 0
	[ ! -d "$debian" ] || local -x PATH=/usr/bin:$PATH
	if [ ! -d "$debian" ] && command -v rustup >/dev/null; then rustup --quiet target add wasm32-unknown-unknown; fi
	mkdir -p "$dir/rust/conformance"
	cp -r ../rust "$dir/rust/rust"
	cp -r rust "$dir/rust/conformance/"
	rm -rf "$dir"/rust/rust/{target,Cargo.lock} "$dir"/rust/conformance/rust/target
	mv "$dir/rust/conformance/rust/Cargo.lock" "$dir/rust/"
	{
		printf '[workspace]\nresolver = "2"\nmembers = ["rust", "conformance/rust"]\nexclude = ["conformance/extism-pdk"]\n\n'
		sed -n '/^\[profile/,$p' rust/Cargo.toml
	} >"$dir/rust/Cargo.toml"
	sed -i '/^\[profile/,$d' "$dir/rust/conformance/rust/Cargo.toml"
	cargo_build wasm32-unknown-unknown rust conformance.wasm rust.wasm
}

build_extism-pdk() {
	have cargo "extism-pdk.wasm" || return 0
	if command -v rustup >/dev/null; then rustup --quiet target add wasm32-wasip1; fi
	mkdir -p "$dir/rust/conformance"
	cp -r extism-pdk "$dir/rust/conformance/"
	rm -rf "$dir/rust/conformance/extism-pdk/target"
	cargo fetch --quiet --locked --manifest-path "$dir/rust/conformance/extism-pdk/Cargo.toml" # so that its sources are there to be remapped
	cargo_build wasm32-wasip1 extism-pdk conformance_extism_pdk.wasm extism-pdk.wasm
}

build_as() {
	have npm as.wasm || return 0
	mkdir "$dir/as"
	cp as/index.ts as/package.json as/package-lock.json as/.npmrc "$dir/as/"
	(cd "$dir/as" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null &&
		npx asc index.ts --outFile "$dir/out/as.wasm" --optimizeLevel 3 --shrinkLevel 1 --runtime stub --exportStart _initialize --use abort=index/stop)
}

build_as-auth() { # as "sluice plugin build" does, with the guest package beside it
	have npm as-auth.wasm || return 0
	mkdir "$dir/as-auth"
	cp as/auth.ts as/package.json as/package-lock.json as/.npmrc ../as/sluice.ts "$dir/as-auth/"
	(cd "$dir/as-auth" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null &&
		npx asc auth.ts --outFile "$dir/out/as-auth.wasm" -O3 --exportStart _initialize --use abort=sluice/abort)
}

# compiler MODULE: what made it, on one line.
compiler() {
	case $1 in
	c | auth) command -v "$clang" >/dev/null && "$clang" --version | sed -n '1s/^[^0-9]*\([0-9.]*\).*/clang \1/p' ;;
	rust) PATH=$([ ! -d "$debian" ] || echo /usr/bin:)$PATH && rustc --version 2>/dev/null | cut -d' ' -f1-2 ;;
	extism-pdk) command -v rustc >/dev/null && rustc --version | cut -d' ' -f1-2 ;;
	as | as-auth) sed -n '/node_modules\/assemblyscript"/,/version/s/.*"version": "\(.*\)".*/assemblyscript \1/p' as/package-lock.json ;;
	esac
}

# sources MODULE: the files that it is made from, from here.
sources() {
	case $1 in
	c) echo c/plugin.c ../c/sluice.h ;;
	auth) echo auth/plugin.c ../c/sluice.h ;;
	rust) echo rust/Cargo.toml rust/Cargo.lock rust/src/*.rs ../rust/Cargo.toml ../rust/src/*.rs ;;
	extism-pdk) echo extism-pdk/Cargo.toml extism-pdk/Cargo.lock extism-pdk/src/*.rs ;;
	as-auth) echo as/auth.ts ../as/sluice.ts as/package.json as/package-lock.json as/.npmrc ;;
	as) echo as/index.ts as/package.json as/package-lock.json as/.npmrc ;;
	esac
}

for part in "$@"; do "build_$part"; done
failed=0
for built in "$dir"/out/*.wasm; do
	[ -e "$built" ] || continue
	module=$(basename "$built" .wasm)
	if [ -z "$check" ]; then
		cp "$built" "$module.wasm"
		chmod 644 "$module.wasm"
		{
			echo "# $(compiler "$module")"
			sha256sum "$module.wasm" $(sources "$module")
		} >"$module.sha256"
	elif [ "$(head -1 "$module.sha256")" != "# $(compiler "$module")" ]; then
		echo "WARNING: $module.wasm was not compared: it was built with$(head -1 "$module.sha256" | tr -d '#'), and here is $(compiler "$module")" >&2
	elif ! cmp -s "$built" "$module.wasm"; then
		echo "sdk/conformance/$module.wasm is not what its source gives: run $here/build.sh" >&2
		failed=1
	fi
done
[ -n "$check" ] || sha256sum ./*.wasm
exit $failed

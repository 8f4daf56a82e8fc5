#!/bin/sh
# Compiles QuickJS-NG (whose sources the crate of Cargo.lock carries) with a file that joins
# it to a host, bit for bit, with Debian's clang, lld and wasi-libc.
#   compile.sh FILE.c OUT.wasm STACK MEMORY [--check]
# writes OUT.wasm and OUT.wasm.sha256, or compiles into a temporary directory and compares.
# STACK and MEMORY are bytes. INCLUDE is one more directory of headers; CLANG, WASM_LD and CARGO name other programs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
glue=$1 out=$2 stack=$3 memory=$4 mode=${5:-}
clang=${CLANG:-clang-14}
lld=${WASM_LD:-wasm-ld-14}
cargo=${CARGO:-cargo}
builtins=/usr/lib/llvm-14/lib/clang/14.0.6/lib/wasi/libclang_rt.builtins-wasm32.a
for tool in "$clang" "$lld" "$cargo"; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install clang-14 lld-14, and install Rust" >&2; exit 1; }
done
for file in /usr/lib/wasm32-wasi/libc.a "$builtins"; do
	[ -f "$file" ] || { echo "$file is missing: apt-get install wasi-libc libclang-rt-14-dev-wasm32" >&2; exit 1; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$here/Cargo.toml" "$here/Cargo.lock" "$dir/"
: >"$dir/none.rs"
(cd "$dir" && "$cargo" vendor --quiet --locked sources >/dev/null)
sources=$dir/sources/rquickjs-sys/quickjs
sed -i 's/^static JSValue JS_CallInternal(/JSValue JS_CallInternal(/' "$sources/quickjs.c"
# EXACT is for what reads and writes whole numbers beyond 2^53 as BigInts, see interpreter.c.
if [ -n "${EXACT:-}" ]; then
	sed -i -e 's/num\.val = js_float64(strtod((const char \*)p_start, NULL));/num.val = exact_number(s->ctx, p_start, p);/' -e '/^static JSValue json_parse_value(/,/^}/s/ val = s->token\.u\.num\.val;/ val = js_dup(s->token.u.num.val);/' "$sources/quickjs.c"
	sed -i '/^            ret = js_atof(s->ctx, (const char \*)p, (const char \*\*)&p, 0,$/{s/ret = /p1 = p; ret = /;n;s/flags);/flags); ret = exact_literal(s->ctx, ret, p1, p);/}' "$sources/quickjs.c"
	[ "$(grep -c 'exact_literal(\|exact_number(\|val = js_dup(s->token.u.num.val)' "$sources/quickjs.c")" = 3 ] || { echo "quickjs.c reads numbers in another way" >&2; exit 1; }
fi
compile() { # compile NAME FILE FLAGS…
	name=$1 file=$2
	shift 2
	"$clang" --target=wasm32-wasi --sysroot=/usr -isystem /usr/include/wasm32-wasi -Os -include "$here/libc.h" -D_GNU_SOURCE -DNDEBUG -fno-ident -fno-builtin-fprintf \
		-mbulk-memory -msign-ext -mnontrapping-fptoint -ffunction-sections -fdata-sections -I"$sources" -w "$@" -c "$file" -o "$dir/$name.o"
}
for name in libregexp libunicode dtoa; do
	compile "$name" "$sources/$name.c" -std=c11 -DEMSCRIPTEN=1 -fmacro-prefix-map="$sources"=.
done
# __ANDROID__ makes it ask malloc for sizes, so that the memory limit counts bytes.
compile interpreter "$here/interpreter.c" -std=c11 -D__ANDROID__ -DEMSCRIPTEN=1 -DFE_DOWNWARD=0 -DFE_UPWARD=0 ${EXACT:+-DEXACT} -fmacro-prefix-map="$sources"=.
compile glue "$glue" -std=gnu11 -I"$here" -I"$here/../../../sdk/c" ${INCLUDE:+-I"$INCLUDE"}
# The stack comes first: an overflow traps instead of reaching data.
"$lld" --no-entry --gc-sections --stack-first -z stack-size="$stack" --initial-memory="$memory" --strip-all -O2 \
	-L/usr/lib/wasm32-wasi "$dir/dtoa.o" "$dir/glue.o" "$dir/interpreter.o" "$dir/libregexp.o" "$dir/libunicode.o" -lc "$builtins" -o "$dir/out.wasm"
if [ "$mode" = --check ]; then
	cmp "$dir/out.wasm" "$out" || { echo "$PWD/$out is not what its sources give: run build.sh" >&2; exit 1; }
	exit 0
fi
cp "$dir/out.wasm" "$out"
sha256sum "$out" >"$out.sha256"
ls -l "$out"

#!/usr/bin/env bash
# Follows docs/plugins/quick-start.md for each language, in a directory and with caches of its
# own, and prints how long the way to the first call took, and what a call of the plugin costs.
#
#	sdk/quick-start.sh BINARY [LANGUAGE…]
#
# Without languages: all whose compiler is installed. A step that fails ends the language, is
# shown, and makes the script fail. Compilers are there before the clock starts.
set -uo pipefail

[ $# -ge 1 ] || { sed -n 's/^#\t/usage: /p' "$0" >&2; exit 2; }
sluice=$(realpath "$1")
shift
repository=$(realpath "$(dirname "$0")/..")
page=$repository/docs/plugins/quick-start.md

has() { for name in "$@"; do command -v "$name" >/dev/null && return; done; return 1; }

# installed LANGUAGE: whether its compiler is.
installed() {
	case $1 in
	javascript) true ;;
	go) has go ;;
	rust) has cargo && { [ -d /usr/lib/rustlib/wasm32-unknown-unknown ] || [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" ]; } ;;
	c | cpp) has clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 ;;
	assemblyscript) has npm ;;
	zig) has zig python-zig ;;
	esac
}

# commands HEADING: the commands of that section of the page, without what begins a node.
commands() {
	awk -v heading="## $1" '/^## / { in_it = $0 == heading } in_it && /^\$ / { print substr($0, 3) }' "$page"
}

failed=0
printf '| language | new, build, test | of a processor | publish, bind, first call | together | a call of its golden case, median | module |\n| --- | --- | --- | --- | --- | --- | --- |\n'
[ $# -gt 0 ] || set -- javascript go rust c cpp assemblyscript zig
for language in "$@"; do
	installed "$language" || { echo "$language: not installed" >&2; continue; }
	work=$(mktemp -d)
	mkdir "$work/bin" "$work/cache"
	ln -s "$sluice" "$work/bin/sluice"
	(
		cd "$work" || exit 1
		export PATH=$work/bin:$PATH XDG_CACHE_HOME=$work/cache GOCACHE=$work/cache/go npm_config_cache=$work/cache/npm ZIG_GLOBAL_CACHE_DIR=$work/cache/zig
		unset CARGO_TARGET_DIR SLUICE_DATA SLUICE_TOKEN
		step() { # step COMMAND: runs it, and shows what it said when it does not do what the page says
			local want=0 got
			case $1 in
			*" test drop-empty") [ ! -e drop-empty/testdata/list.json ] || grep -q output drop-empty/testdata/list.json || want=6 ;;
			esac
			bash -c "$1" >out 2>&1
			got=$?
			[ "$got" = $want ] && return
			printf '%s: "%s" ended with %d:\n%s\n' "$language" "$1" "$got" "$(cat out)" >&2
			exit 1
		}
		echo '{"pets": [], "total": 0}' >body.json
		begin=$(date +%s%N)
		while read -r command; do
			[[ $command != *--update ]] || cp /dev/null out
			[[ $command != *--in\ body.json ]] || first=1
			step "${command/--lang go/--lang $language}" </dev/null
			[ -z "${first-}" ] || { echo '{"input": {"pets": [], "total": 0}}' >drop-empty/testdata/list.json; first=; }
		done < <(commands Write)
		written=$(date +%s%N)
		times >used # a pipe would be another shell
		used=$(tail -1 used | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
		sluice run --demo --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 >node.log 2>&1 &
		node=$!
		trap 'kill -INT $node; wait $node' EXIT
		for _ in $(seq 100); do [ -e sluice-data/endpoint ] && break; sleep 0.1; done
		while read -r command; do
			step "$command" </dev/null
			if [[ $command == *" --trace" ]]; then
				called=$(date +%s%N)
				grep -q drop-empty out || { echo "$language: the trace has no line for the plugin:" "$(cat out)" >&2; exit 1; }
				sed -i 's/"version": "0\.1\.0"/"version": "0.1.1"/' drop-empty/plugin.json
				step "sluice plugin build drop-empty" </dev/null
			fi
		done < <(commands Run)
		median=$(sluice plugin test drop-empty --bench -o json </dev/null | tee bench.json | sed -n 's/.*"median[A-Za-z]*": *\([0-9.]*\).*/\1/p' | head -1)
		awk -v l="$language" -v a="$begin" -v b="$written" -v c="$called" -v u="$used" -v m="${median:-?}" -v s="$(stat -c %s drop-empty/drop-empty.wasm)" \
			'BEGIN { printf "| `%s` | %.0f s | %.1f s | %.0f s | %.0f s | %.3g µs | %d KB |\n", l, (b - a) / 1e9, u, (c - b) / 1e9, (c - a) / 1e9, m, s / 1000 }'
	) || failed=1
	chmod -R u+w "$work"
	rm -rf "$work"
done
exit $failed

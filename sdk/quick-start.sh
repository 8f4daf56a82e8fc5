#!/usr/bin/env bash
# Follows docs/plugins/quick-start.md for each language and kind of plugin, each in a directory and
# with caches of its own, until a call over MCP has run the plugin on a node. Prints how long that
# took, and what a call of the plugin costs.
#
#	sdk/quick-start.sh BINARY [LANGUAGE…]
#
# Without languages: all whose compiler is installed; KINDS are the kinds, default all. A step that
# fails ends the way, is shown, and makes the script fail. Compilers are there before the clock
# starts.
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

# follow LANGUAGE KIND: one way, in the current directory. Writes its measurements to a line of
# "measured".
follow() {
	local language=$1 kind=$2 name=drop-empty node
	export PATH=$PWD/bin:$PATH XDG_CACHE_HOME=$PWD/cache GOCACHE=$PWD/cache/go npm_config_cache=$PWD/cache/npm ZIG_GLOBAL_CACHE_DIR=$PWD/cache/zig
	unset CARGO_TARGET_DIR SLUICE_DATA SLUICE_TOKEN
	step() { # step COMMAND: runs it, and shows what it said when it does not do what the page says
		local want=0 got command=${1/--lang go/--lang $language}
		[ "$language" = go ] || command=${command/ --set */}
		[ "$language" = go ] || command=${command/open_discussions owner=acme repo=anvil/issue_with_comments owner=acme repo=anvil issue_number=1}
		[ "$kind" != projection ] || command=${command/ --lang/ --kind projection --lang}
		case $command in
		*" test drop-empty") [ ! -e drop-empty/testdata/list.json ] || grep -q output drop-empty/testdata/list.json || want=6 ;;
		esac
		bash -c "$command" >out 2>&1 </dev/null
		got=$?
		[ "$got" = $want ] && return
		printf '%s %s: "%s" ended with %d:\n%s\n' "$language" "$kind" "$command" "$got" "$(cat out)" >&2
		[ ! -e node.log ] || tail -n 3 node.log >&2
		exit 1
	}
	local write=() run=() command
	case $kind in
	filter | projection) mapfile -t write < <(commands Write) && mapfile -t run < <(commands Run) ;;
	workflow | auth)
		mapfile -t run < <(commands "$([ "$kind" = auth ] && echo Auth plugin || echo Workflow)")
		write=("${run[@]:0:3}")
		name=${run[0]#sluice plugin new }
		name=${name%% *}
		mapfile -t command < <(commands Run | head -2) # the key, once
		run=("${command[@]/drop-empty/$name}" "${run[@]:3}")
		;;
	esac
	echo '{"pets": [], "total": 0}' >body.json
	echo any >secret.txt
	local begin written called used
	begin=$(date +%s%N)
	for command in "${write[@]}"; do
		step "$command"
		[[ $command != *--in\ body.json ]] || echo '{"input": {"pets": [], "total": 0}}' >drop-empty/testdata/list.json
	done
	written=$(date +%s%N)
	times >used # a pipe would be another shell
	used=$(tail -1 used | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
	sluice run --demo --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 >node.log 2>&1 &
	node=$!
	trap "kill -INT $node; wait $node" EXIT
	for _ in $(seq 600); do grep -q "^Ctrl-C" node.log && break; sleep 0.1; done
	for command in "${run[@]}"; do
		step "$command"
		if [[ $command == *" --trace" ]]; then
			called=$(date +%s%N)
			grep -q " $name " out || { echo "$language $kind: the trace has no line for the plugin:" "$(cat out)" >&2; exit 1; }
			sed -i 's/"version": "0\.1\.0"/"version": "0.1.1"/' $name/plugin.json
			step "sluice plugin build $name"
		fi
	done
	local median
	median=$(sluice plugin test $name --bench -o json </dev/null | sed -n 's/.*"median[A-Za-z]*": *\([0-9.]*\).*/\1/p' | head -1)
	echo "$language $kind $begin $written $called $used ${median:-?} $(stat -c %s $name/$name.wasm)" >>"$measured"
}

failed=0
measured=$(mktemp)
trap 'rm -f "$measured"' EXIT
[ $# -gt 0 ] || set -- javascript go rust c cpp assemblyscript zig
for language in "$@"; do
	installed "$language" || { echo "$language: not installed" >&2; continue; }
	for kind in ${KINDS:-filter projection workflow auth}; do
		work=$(mktemp -d)
		mkdir "$work/bin" "$work/cache"
		ln -s "$sluice" "$work/bin/sluice"
		(cd "$work" && follow "$language" "$kind") || failed=1
		chmod -R u+w "$work"
		rm -rf "$work"
	done
done
awk '
	function seconds(from, to) { return sprintf("%.0f s", (to - from) / 1e9) }
	!($1 in seen) { seen[$1] = 1; order[++n] = $1 }
	{ all[$1, $2] = seconds($3, $5); if ($2 == "filter") row[$1] = sprintf("| `%s` | %s | %.1f s | %s | %s | %.3g µs | %d KB |", $1, seconds($3, $4), $6, seconds($4, $5), seconds($3, $5), $7, $8 / 1000) }
	END {
		print "| until the first call | filter | projection | workflow | auth |\n| --- | ---: | ---: | ---: | ---: |"
		for (i = 1; i <= n; i++) {
			line = "| `" order[i] "`"
			split("filter projection workflow auth", kinds, " ")
			for (k = 1; k <= 4; k++) line = line " | " ((order[i], kinds[k]) in all ? all[order[i], kinds[k]] : "—")
			print line " |"
		}
		print "\n| filter | new, build, test | of a processor | publish, bind, first call | together | a call of its golden case, median | module |\n| --- | --- | --- | --- | --- | --- | --- |"
		for (i = 1; i <= n; i++) if (order[i] in row) print row[order[i]]
	}' "$measured"
exit $failed

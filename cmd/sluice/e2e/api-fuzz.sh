#!/usr/bin/env bash
# api-fuzz.sh SLUICE SCHEMATHESIS SECONDS calls every operation of the admin API of a clean
# node with generated requests, valid and not, and fails when one is answered with 5xx that is
# not a documented answer of an upstream (502, 504), or with what the document does not say.
set -euo pipefail
sluice=$1 schemathesis=$2 seconds=$3
work=$(mktemp -d)
node=
cleanup() {
	[ -z "$node" ] || { kill "$node" 2>/dev/null || true; wait "$node" 2>/dev/null || true; }
	rm -rf "$work"
}
trap cleanup EXIT

"$sluice" run --demo --no-input --data "$work/data" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 >"$work/out" 2>"$work/log" &
node=$!
for _ in $(seq 600); do
	if grep -q "Toolset URL" "$work/out" "$work/log" 2>/dev/null; then break; fi
	kill -0 "$node" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.1
done
url=$(grep -o 'http://[^"]*' "$work/data/endpoint" | head -1)
token=$(cat "$work/data/admin.token")

# What would end the run itself: its session and token, and the keys of the node. Logins at
# other hosts and jobs are bounded by time-outs of their own. The streams of a connection's steps and of changes have tests
# of their own: what they say is not a JSON document.
cat >"$work/hooks.py" <<'PY'
import schemathesis


@schemathesis.check
def explained(ctx, response, case):
    """5xx are answers about an upstream, in problem details that say so."""
    if response.status_code < 500:
        return
    problem = response.json()
    known = {502: ("unreachable", "upstream_status", "upstream_too_large", "upstream_malformed", "cannot_connect_mcp_server"),
             503: ("unavailable",), 504: ("timeout",)}
    assert problem.get("code") in known.get(response.status_code, ()), f"{response.status_code}: {problem}"
PY
cd "$work"
SCHEMATHESIS_HOOKS=hooks PYTHONPATH="$work" "$schemathesis" --no-color run "$url/v1/openapi.json" --url "$url" \
	-H "Authorization: Bearer $token" -c explained,response_schema_conformance,content_type_conformance \
	--exclude-path-regex '^/v1/(session|keys/rotate|registry|releases/resume|tokens/\{id\}|members/\{id\}|mcp/test-connection/steps|changes$)' \
	--max-time "$seconds" --max-failures 20 --continue-on-failure --request-timeout 30 --generation-database none \
	--workers 1 --mode all ${PHASES:+--phases "$PHASES"} --suppress-health-check all --warnings off ${SEED:+--seed "$SEED"} || { status=$?; grep -i "panic\|level=ERROR\|\"ERROR\"" "$work/log" | tail -20 >&2 || true; exit "$status"; }
kill -0 "$node" || { echo "the node has ended:" >&2; tail -20 "$work/log" >&2; exit 1; }

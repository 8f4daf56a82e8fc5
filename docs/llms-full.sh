#!/usr/bin/env bash
# Prints llms-full.txt: llms.txt, and behind it every page that it lists, as it is.
set -euo pipefail
cd "$(dirname "$0")"
cat llms.txt
grep -o '](\([^)]*\.md\))' llms.txt | tr -d '()]' | while read -r page; do
	printf '\n\n<!-- docs/%s -->\n\n' "$page"
	cat "$page"
done

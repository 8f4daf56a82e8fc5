#!/usr/bin/env bash
# Writes what is installed beside the program into DIR, such as /usr/share: manual pages,
# and completions of bash, zsh and fish. The same program gives the same bytes for the
# same SOURCE_DATE_EPOCH. ZSH is where completions of zsh are.
set -euo pipefail
[ $# = 2 ] || { echo "usage: deploy/share.sh PROGRAM DIR" >&2; exit 2; }
program=$(realpath "$1") out=$2
zsh=$out/${ZSH:-zsh/site-functions}
mkdir -p "$out/bash-completion/completions" "$zsh" "$out/fish/vendor_completions.d"
"$program" man "$out/man/man1" >/dev/null
gzip -9n "$out"/man/man1/sluice*.1
"$program" completion bash >"$out/bash-completion/completions/sluice"
"$program" completion zsh >"$zsh/_sluice"
"$program" completion fish >"$out/fish/vendor_completions.d/sluice.fish"

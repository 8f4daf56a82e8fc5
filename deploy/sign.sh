#!/usr/bin/env bash
# Signs the SHA256SUMS of a release in DIR with a key of cosign, a file or the address of one
# in a KMS, and verifies it as its users do. Nothing goes to a transparency log.
set -euo pipefail
[ $# = 2 ] || { echo "usage: deploy/sign.sh KEY DIR" >&2; exit 2; }
key=$1 dir=$2
command -v cosign >/dev/null || { echo "cosign is missing: make bin/interop/cosign builds it" >&2; exit 1; }
case $key in
*://*) ;;
*) [ -f "$key" ] || { echo "$key, which COSIGN_KEY names, is no file: cosign generate-key-pair makes one" >&2; exit 1; } ;;
esac
(cd "$dir" && sha256sum --check --quiet SHA256SUMS)
cosign public-key --key "$key" >"$dir/cosign.pub"
cosign sign-blob --yes --tlog-upload=false --key "$key" --output-signature "$dir/SHA256SUMS.sig" "$dir/SHA256SUMS" >/dev/null
chmod 644 "$dir/SHA256SUMS.sig"
cosign verify-blob --insecure-ignore-tlog --key "$dir/cosign.pub" --signature "$dir/SHA256SUMS.sig" "$dir/SHA256SUMS"

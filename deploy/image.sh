#!/usr/bin/env bash
# Builds the release image sluice:VERSION of this machine's architecture from
# dist/image/linux/<arch>/sluice, with buildah and without a daemon.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: deploy/image.sh VERSION}
context=dist/image
arch=$(go env GOHOSTARCH)

command -v buildah >/dev/null || { echo "buildah is missing (Debian: apt-get install buildah)" >&2; exit 1; }
bundle=
for f in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
	[ ! -f "$f" ] || { bundle=$f; break; }
done
[ -n "$bundle" ] || { echo "no bundle of CA certificates on this machine (Debian: apt-get install ca-certificates)" >&2; exit 1; }
cp "$bundle" "$context/ca-certificates.crt"
mkdir -p "$context/data"

# The HEALTHCHECK exists in Docker's image format only.
buildah --storage-driver "${STORAGE_DRIVER:-vfs}" bud --isolation chroot --format docker \
	--build-arg TARGETARCH="$arch" --tag "sluice:$version" --file deploy/Dockerfile.release "$context"

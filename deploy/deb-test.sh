#!/usr/bin/env bash
# Installs, upgrades, removes and purges the package of a binary below a directory of its
# own: nothing of this machine changes, and no root is needed.
set -euo pipefail
binary=$(realpath "${1:?usage: deploy/deb-test.sh BINARY}")
cd "$(dirname "$0")"
fail() { echo "deb-test: $*" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$work/again"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
dpkg() {
	DPKG_MAINTSCRIPT_DEBUG='' command dpkg --root="$root" --log="$work/log" --force-not-root --force-script-chrootless --force-confold \
		--force-bad-path --force-depends "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "dpkg $*"; }
}
is() { [ "$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version} ${db:Status-Status}' sluice 2>/dev/null || echo none)" = "$1" ] || fail "the package is not $1 after $2"; }
have() { [ -e "$root/$1" ] || fail "no /$1 after $2"; }
gone() { [ ! -e "$root/$1" ] || fail "/$1 is there after $2"; }

export COMPRESSION=none # as large as the binary, and quick
arch=$(command dpkg --print-architecture)
old=$(./deb.sh v1.0.0 "$arch" "$binary" "$work" 2>/dev/null)
new=$(./deb.sh v1.0.1-3-gabcdef0 "$arch" "$binary" "$work" 2>/dev/null)
cmp "$new" "$(./deb.sh v1.0.1-3-gabcdef0 "$arch" "$binary" "$work/again" 2>/dev/null)" || fail "two builds differ"

dpkg --install "$old"
is "1.0.0 installed" install
for f in usr/bin/sluice lib/systemd/system/sluice.service lib/systemd/system/sluice-edge.service etc/sluice/sluice.yaml etc/sluice/edge.env \
	usr/share/bash-completion/completions/sluice usr/share/zsh/vendor-completions/_sluice usr/share/fish/vendor_completions.d/sluice.fish \
	usr/share/man/man1/sluice.1.gz usr/share/man/man1/sluice-toolset-list.1.gz; do have $f install; done
gzip -dc "$root/usr/share/man/man1/sluice-add.1.gz" | grep -q '^\.TH "SLUICE' || fail "sluice-add.1.gz is not a manual page"
"$root/usr/bin/sluice" version >/dev/null || fail "the installed program does not run"
(cd "$root" && md5sum --check --quiet var/lib/dpkg/info/sluice.md5sums) || fail "files differ from the package's list"

# What an operator and the units add.
echo "log-level: debug" >>"$root/etc/sluice/sluice.yaml"
echo "a token" >"$root/etc/sluice/join-token"
mkdir -p "$root/var/lib/private/sluice/keys" "$root/var/lib/private/sluice-edge"
ln -s private/sluice "$root/var/lib/sluice"
touch "$root/var/lib/private/sluice/keys/master.key"

dpkg --install "$new"
is "1.0.1.3.gabcdef0 installed" upgrade
grep -q 'log-level: debug' "$root/etc/sluice/sluice.yaml" || fail "an upgrade replaced the configuration"
have var/lib/sluice/keys/master.key upgrade

dpkg --remove sluice
gone usr/bin/sluice remove
gone usr/share/man/man1/sluice.1.gz remove
gone lib/systemd/system/sluice.service remove
have etc/sluice/sluice.yaml remove
have var/lib/sluice/keys/master.key remove

dpkg --install "$new"
is "1.0.1.3.gabcdef0 installed" "a second install"
grep -q 'log-level: debug' "$root/etc/sluice/sluice.yaml" || fail "a second install replaced the configuration"

dpkg --purge sluice
for f in usr/bin/sluice etc/sluice var/lib/sluice var/lib/private/sluice var/lib/private/sluice-edge; do gone $f purge; done
echo "installed, upgraded, removed and purged: $(basename "$new"), $(stat -c %s "$new") bytes without compression"

#!/usr/bin/env bash
# Builds DIR/sluice_VERSION_ARCH.deb around a binary, with dpkg-deb. The same binary and
# version give the same bytes. PROGRAM writes the manual pages and completions, where BINARY cannot run here.
set -euo pipefail
[ $# = 4 ] || { echo "usage: deploy/deb.sh VERSION ARCH BINARY DIR" >&2; exit 2; }
arch=$2 binary=$(realpath "$3") out=$(realpath "$4") program=$(realpath "${PROGRAM:-$3}")
command -v dpkg-deb >/dev/null || { echo "dpkg-deb is missing (Debian: apt-get install dpkg)" >&2; exit 1; }
cd "$(dirname "$0")"

# A Debian version begins with a digit, and a hyphen would begin the packaging's own.
version=${1#v}
version=${version//-/.}
[[ $version =~ ^[0-9]+\. ]] || version=0~$version

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 755 "$binary" "$root/usr/bin/sluice"
install -D -m 644 -t "$root/lib/systemd/system" systemd/sluice.service systemd/sluice-edge.service
install -D -m 644 -t "$root/etc/sluice" debian/sluice.yaml debian/edge.yaml debian/edge.env
install -D -m 644 ../LICENSE "$root/usr/share/doc/sluice/copyright"
ZSH=zsh/vendor-completions ./share.sh "$program" "$root/usr/share"

size=$(find "$root" -type f -printf "%s\n" | awk '{ n += $1 } END { print int(n / 1024) + 1 }')
install -d -m 755 "$root/DEBIAN"
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@SIZE@/$size/" debian/control >"$root/DEBIAN/control"
install -m 755 -t "$root/DEBIAN" debian/postinst debian/prerm debian/postrm
(cd "$root" && find etc -type f | LC_ALL=C sort | sed 's|^|/|') >"$root/DEBIAN/conffiles"
(cd "$root" && find usr lib -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 755 "$root"
chmod -R u=rwX,go=rX "$root"

find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Z"${COMPRESSION:-xz}" --build "$root" "$out/sluice_${version}_$arch.deb" >&2
echo "$out/sluice_${version}_$arch.deb"

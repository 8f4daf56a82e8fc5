#!/usr/bin/env bash
# Packs the Helm chart for a version of the program into FILE, as "helm package" does. The
# same commit gives the same bytes for the same SOURCE_DATE_EPOCH.
set -euo pipefail
[ $# = 2 ] || { echo "usage: deploy/chart.sh VERSION FILE.tgz" >&2; exit 2; }
version=$1 file=$(realpath -m "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp -r "$(dirname "$0")/helm/sluice" "$work/sluice"
# The version of a chart is one of https://semver.org; that of a build between releases is not.
chart=${version#v}
[[ $chart =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || chart=0.0.0-$(tr -c '0-9A-Za-z.\n-' - <<<"$chart")
sed -i "s/^version:.*/version: $chart/; s/^appVersion:.*/appVersion: \"$version\"/" "$work/sluice/Chart.yaml"
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@${SOURCE_DATE_EPOCH:-0}" -C "$work" -c sluice | gzip -9n >"$file"

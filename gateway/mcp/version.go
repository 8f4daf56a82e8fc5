package mcp

import "github.com/sluicegate/sluice/internal/jsonscan"

// Version is a revision of the protocol.
type Version uint8

// The revisions that are served; VersionNone is anything else.
const (
	VersionNone Version = iota
	V20241105
	V20250326
	V20250618
	V20251125
	V20260728
	versionCount
)

// VersionCount is the number of Versions, for tables.
const VersionCount = int(versionCount)

var versionNames = [VersionCount]string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// modernName is the first revision without a handshake. Revisions are dates, so
// text order is time order.
const modernName = "2026-07-28"

// String is the revision's date; "" for VersionNone.
func (v Version) String() string { return versionNames[v] }

// HasSessions reports whether a revision by its name is one that is spoken and in which
// clients may have sessions.
func HasSessions(name []byte) bool {
	v := versionOf(name)
	return v != VersionNone && v < V20260728
}

func versionOf(name []byte) Version {
	for v := V20241105; v < versionCount; v++ {
		if string(name) == versionNames[v] {
			return v
		}
	}
	return VersionNone
}

// appendVersions appends the array of all revisions, newest first.
func appendVersions(dst []byte) []byte {
	dst = append(dst, '[')
	for v := versionCount - 1; v > VersionNone; v-- {
		dst = jsonscan.AppendStringOf(dst, versionNames[v])
		dst = append(dst, ',')
	}
	dst[len(dst)-1] = ']'
	return dst
}

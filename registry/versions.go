package registry

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
)

// MaxVersionBytes of a version: it is an OCI tag too, which ends at 128.
const MaxVersionBytes = 64

// Version is a version of a plugin (Semantic Versioning 2.0.0). Build metadata is
// refused: two versions that differ only there could not be told apart.
type Version struct {
	Major, Minor, Patch uint32
	Pre                 string // "rc.1"; "" for a release
}

// ParseVersion reads "1.2.3" or "1.2.3-rc.1". It fails with a
// [problem.InvalidArgument].
func ParseVersion(s string) (Version, error) {
	bad := func() error {
		return problem.New(problem.InvalidArgument, "%.80q is not a version", s).Fix("write major.minor.patch, such as 1.2.3 or 1.2.3-rc.1")
	}
	if len(s) > MaxVersionBytes {
		return Version{}, bad()
	}
	numbers, pre, hasPre := strings.Cut(s, "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 3 {
		return Version{}, bad()
	}
	var n [3]uint32
	for i, p := range parts {
		v, ok := versionNumber(p)
		if !ok {
			return Version{}, bad()
		}
		n[i] = v
	}
	if hasPre {
		for id := range strings.SplitSeq(pre, ".") {
			if id == "" || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
				return Version{}, bad()
			}
			if numeric(id) && len(id) > 1 && id[0] == '0' {
				return Version{}, bad()
			}
		}
	}
	return Version{n[0], n[1], n[2], pre}, nil
}

func numeric(s string) bool { return strings.Trim(s, "0123456789") == "" }

func versionNumber(s string) (uint32, bool) {
	if s == "" || !numeric(s) || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 32)
	return uint32(v), err == nil
}

// String is the version as ParseVersion reads it.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	return s
}

// Compare orders versions (Semantic Versioning 2.0.0 §11): -1, 0 or 1.
func (v Version) Compare(o Version) int {
	if c := cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.Patch, o.Patch)); c != 0 {
		return c
	}
	switch {
	case v.Pre == o.Pre:
		return 0
	case v.Pre == "":
		return 1
	case o.Pre == "":
		return -1
	}
	a, b := strings.Split(v.Pre, "."), strings.Split(o.Pre, ".")
	for i := range min(len(a), len(b)) {
		an, bn := numeric(a[i]), numeric(b[i])
		var c int
		switch {
		case an && bn: // by value; digits without leading zeros: the longer is the greater
			c = cmp.Or(cmp.Compare(len(a[i]), len(b[i])), strings.Compare(a[i], b[i]))
		case an:
			c = -1
		case bn:
			c = 1
		default:
			c = strings.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// VersionRange is a set of versions that a toolset accepts of a plugin.
type VersionRange struct {
	low  Version // included
	high Version // excluded; the zero version: no end
	only bool    // exactly low
}

// ParseVersionRange reads a range: "*" (every release), "1.2.3" (exactly that),
// "^1.2.3" (up to the next version that may break: 2.0.0, and 0.3.0 for ^0.2.1),
// "~1.2.3" (patches only), "1" or "1.2" (all below that). It fails with a
// [problem.InvalidArgument].
func ParseVersionRange(s string) (VersionRange, error) {
	var r VersionRange
	if s == "*" {
		return r, nil
	}
	if len(s) > MaxVersionBytes+1 {
		s = s[:MaxVersionBytes]
	}
	sign, rest := byte(0), s
	if s != "" && (s[0] == '^' || s[0] == '~') {
		sign, rest = s[0], s[1:]
	}
	if parts := strings.Split(rest, "."); sign == 0 && len(parts) < 3 {
		major, ok := versionNumber(parts[0])
		if len(parts) == 1 && ok && major < 1<<31 {
			r.low, r.high = Version{Major: major}, Version{Major: major + 1}
			return r, nil
		}
		if len(parts) == 2 && ok {
			if minor, ok := versionNumber(parts[1]); ok && minor < 1<<31 {
				r.low, r.high = Version{Major: major, Minor: minor}, Version{Major: major, Minor: minor + 1}
				return r, nil
			}
		}
	}
	v, err := ParseVersion(rest)
	if err != nil || v.Major >= 1<<31 || v.Minor >= 1<<31 || v.Patch >= 1<<31 {
		return r, problem.New(problem.InvalidArgument, "%.80q is not a range of versions", s).Fix("write *, 1.2.3, ^1.2.3, ~1.2.3, 1 or 1.2")
	}
	r.low = v
	switch {
	case sign == 0:
		r.only = true
	case sign == '~':
		r.high = Version{Major: v.Major, Minor: v.Minor + 1}
	case v.Major > 0:
		r.high = Version{Major: v.Major + 1}
	case v.Minor > 0:
		r.high = Version{Minor: v.Minor + 1}
	default:
		r.high = Version{Patch: v.Patch + 1}
	}
	return r, nil
}

// Has reports whether the range holds a version. A pre-release is in a range only
// that names a pre-release of the same numbers, or exactly it.
func (r VersionRange) Has(v Version) bool {
	if r.only {
		return v == r.low
	}
	if v.Pre != "" && (r.low.Pre == "" || v.Major != r.low.Major || v.Minor != r.low.Minor || v.Patch != r.low.Patch) {
		return false
	}
	return v.Compare(r.low) >= 0 && (r.high == Version{} || v.Compare(r.high) < 0)
}

// Best returns the highest version of the range, and false when it holds none of
// them.
func (r VersionRange) Best(versions []Version) (Version, bool) {
	var best Version
	found := false
	for _, v := range versions {
		if r.Has(v) && (!found || v.Compare(best) > 0) {
			best, found = v, true
		}
	}
	return best, found
}

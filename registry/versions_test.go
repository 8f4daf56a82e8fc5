package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestParseVersion(t *testing.T) {
	for _, s := range []string{"0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0A.is.legal", "4294967295.0.0", "1.0.0-" + strings.Repeat("a", MaxVersionBytes-6)} {
		v, err := ParseVersion(s)
		if err != nil || v.String() != s {
			t.Errorf("%q: %v %v", s, v, err)
		}
	}
	for _, s := range []string{
		"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.02.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+build", "1.2.3-é", "1.2.x", "4294967296.0.0",
		"-1.2.3", "1.0.0-" + strings.Repeat("a", MaxVersionBytes-5),
	} {
		if v, err := ParseVersion(s); problem.As(err) == nil || problem.As(err).Remedy == "" {
			t.Errorf("%q: %v %v", s, v, err)
		}
	}
}

// TestVersionOrder is the order of Semantic Versioning 2.0.0 §11.4.
func TestVersionOrder(t *testing.T) {
	order := []string{
		"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
		"1.0.10", "1.2.0", "2.0.0",
	}
	var all []Version
	for _, s := range order {
		v, err := ParseVersion(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for i := range all {
		for j := range all {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := all[i].Compare(all[j]); got != want {
				t.Errorf("%s against %s: %d", order[i], order[j], got)
			}
		}
	}
}

func TestVersionRange(t *testing.T) {
	all := []string{"0.1.9", "0.2.0", "0.2.1", "0.2.9", "0.3.0", "1.0.0", "1.2.2", "1.2.3", "1.2.9", "1.9.0", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0", "2.0.1"}
	f := func(r, best string, in ...string) {
		t.Helper()
		rng, err := ParseVersionRange(r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var versions []Version
		for _, s := range all {
			v, err := ParseVersion(s)
			if err != nil {
				t.Fatal(err)
			}
			if versions = append(versions, v); rng.Has(v) {
				got = append(got, s)
			}
		}
		if !slices.Equal(got, in) {
			t.Errorf("%s holds %v, want %v", r, got, in)
		}
		slices.Reverse(versions)
		if v, ok := rng.Best(versions); ok != (best != "") || ok && v.String() != best {
			t.Errorf("%s: best is %v %v, want %s", r, v, ok, best)
		}
	}
	f("*", "2.0.1", "0.1.9", "0.2.0", "0.2.1", "0.2.9", "0.3.0", "1.0.0", "1.2.2", "1.2.3", "1.2.9", "1.9.0", "2.0.0", "2.0.1")
	f("1.2.3", "1.2.3", "1.2.3")
	f("1.2.4", "")
	f("^1.2.3", "1.9.0", "1.2.3", "1.2.9", "1.9.0")
	f("^0.2.1", "0.2.9", "0.2.1", "0.2.9")
	f("^0.0.1", "")
	f("~1.2.3", "1.2.9", "1.2.3", "1.2.9")
	f("1", "1.9.0", "1.0.0", "1.2.2", "1.2.3", "1.2.9", "1.9.0")
	f("1.2", "1.2.9", "1.2.2", "1.2.3", "1.2.9")
	f("^2.0.0-rc.1", "2.0.1", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0", "2.0.1")
	f("2.0.0-rc.2", "2.0.0-rc.2", "2.0.0-rc.2")
	for _, s := range []string{"", "^", "~1", "^1.2", "latest", ">1.2.3", "1.2.3.4", "^v1.2.3", "2147483648", "1.2147483648", "^1.2.3+b"} {
		if _, err := ParseVersionRange(s); problem.As(err) == nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

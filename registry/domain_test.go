package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
)

func TestValidHost(t *testing.T) {
	f := func(s string, want bool) {
		t.Helper()
		if got := ValidHost(s); got != want {
			t.Errorf("ValidHost(%q) = %v", s, got)
		}
	}
	label := strings.Repeat("a", maxLabelBytes)
	f("tools.example.com", true)
	f("a.b", true)
	f("xn--bcher-kva.example", true)
	f("1.2.3.example", true)
	f(label+".example", true)
	f("a"+label+".example", false)
	long := strings.Repeat("a.", MaxHostBytes/2) + "a"
	f(long, true)
	f("a"+long, false)
	for _, s := range []string{"", "example", "localhost", "a.localhost", "127.0.0.1", "::1", "127.1", "a..b", ".a.b", "a.b.", "A.b", "-a.b", "a-.b", "a_b.c", "*.a.b", "a.b:1", "a/b.c", "bücher.example", "a b.c"} {
		f(s, false)
	}
}

func TestReleaseDomains(t *testing.T) {
	r := sampleRelease()
	b, err := r.Encode()
	if err != nil || strings.Contains(string(b), "domains") {
		t.Fatalf("a release without domains names them: %v, %s", err, b)
	}
	r.Domains = []ReleaseDomain{{Host: "b.example", Workspace: "acme"}, {Host: "a.example", Workspace: "acme", Toolset: "ts_1"}}
	if b, err = r.Encode(); err != nil {
		t.Fatal(err)
	}
	got, err := ParseRelease(b)
	if err != nil || len(got.Domains) != 2 || got.Domains[0] != r.Domains[1] || r.Domains[0].Host != "b.example" {
		t.Fatalf("%v: %+v", err, got)
	}
	if other, _ := ParseRelease(b); !got.SameContent(other) {
		t.Error("the same domains differ")
	}
	other := *got
	other.Domains = slices.Clone(got.Domains)
	if other.Domains[1].Toolset = "ts_2"; got.SameContent(&other) {
		t.Error("a domain of another toolset is the same content")
	}
	f := func(pointer string, change func(*Release)) {
		t.Helper()
		r := sampleRelease()
		r.FormatVersion = ReleaseFormat
		change(r)
		p := problem.As(r.Validate())
		if p == nil || p.Kind != problem.InvalidRelease || p.Place.Pointer != pointer {
			t.Errorf("fault %+v, want one at %s", p, pointer)
		}
	}
	f("/domains/0/host", func(r *Release) { r.Domains = []ReleaseDomain{{Host: "localhost", Workspace: "a"}} })
	f("/domains/0/workspace", func(r *Release) { r.Domains = []ReleaseDomain{{Host: "a.b", Workspace: "A"}} })
	f("/domains/0/toolset", func(r *Release) { r.Domains = []ReleaseDomain{{Host: "a.b", Workspace: "a", Toolset: "/"}} })
	f("/domains/1/host", func(r *Release) {
		r.Domains = []ReleaseDomain{{Host: "a.b", Workspace: "a"}, {Host: "a.b", Workspace: "b"}}
	})
	many := func(n int) (out []ReleaseDomain) {
		for i := range n {
			out = append(out, ReleaseDomain{Host: fmt.Sprintf("h%d.example", i), Workspace: "a"})
		}
		return out
	}
	r = sampleRelease()
	r.FormatVersion, r.Domains = ReleaseFormat, many(MaxReleaseDomains)
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	f("/domains", func(r *Release) { r.Domains = many(MaxReleaseDomains + 1) })
}

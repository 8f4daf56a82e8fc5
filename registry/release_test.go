package registry

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

func sampleRelease() *Release {
	at := time.Date(2026, 12, 1, 8, 0, 0, 123, time.FixedZone("X", 3600))
	return &Release{
		Group: "default", Epoch: 1, Revision: 7, Issued: at, Expires: at.Add(72 * time.Hour),
		Trusted: []TrustedKey{
			{KeyID: strings.Repeat("b", 64), Use: UseWorkspace, PublicKey: []byte("k2")},
			{KeyID: strings.Repeat("a", 64), Use: UseRelease, PublicKey: []byte("k1")},
		},
		Toolsets: []ReleaseToolset{
			{ID: "ts_2", Workspace: "acme", Slug: "b", Revision: 1, Repository: "acme/toolsets/b", Bundle: DigestOf([]byte("b"))},
			{ID: "ts_1", Workspace: "acme", Slug: "a", Revision: 3, Repository: "acme/toolsets/a", Bundle: DigestOf([]byte("a"))},
		},
	}
}

func TestReleaseEncode(t *testing.T) {
	r := sampleRelease()
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if r.Toolsets[0].ID != "ts_2" {
		t.Fatal("Encode changed its receiver")
	}
	got, err := ParseRelease(b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Toolsets[0].ID != "ts_1" || got.Trusted[0].Use != UseRelease || got.Issued.Nanosecond() != 0 || got.Issued.Location() != time.UTC {
		t.Fatalf("not in its order and times: %s", b)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("encode of parse differs, %v:\n%s\n%s", err, b, again)
	}
	if !bytes.Contains(b, []byte(`"plugins":[]`)) {
		t.Fatalf("an empty list is not []: %s", b)
	}
}

func TestReleaseFaults(t *testing.T) {
	f := func(pointer string, change func(*Release)) {
		t.Helper()
		r := sampleRelease()
		r.FormatVersion = ReleaseFormat
		change(r)
		p := problem.As(r.Validate())
		if p == nil || p.Kind != problem.InvalidRelease || p.Place.Pointer != pointer {
			t.Fatalf("fault %+v, want one at %s", p, pointer)
		}
	}
	f("/formatVersion", func(r *Release) { r.FormatVersion = 2 })
	f("/group", func(r *Release) { r.Group = "" })
	f("/epoch", func(r *Release) { r.Epoch = 0 })
	f("/revision", func(r *Release) { r.Revision = 0 })
	f("/expires", func(r *Release) { r.Expires = r.Issued })
	f("/trusted", func(r *Release) { r.Trusted = r.Trusted[:1] })
	f("/trusted/0/keyid", func(r *Release) { r.Trusted[0].KeyID = "k" })
	f("/trusted/0/publicKey", func(r *Release) { r.Trusted[0].PublicKey = nil })
	f("/trusted/0/use", func(r *Release) { r.Trusted[0].Use = "all" })
	f("/trusted/0/workspace", func(r *Release) { r.Trusted[0].Workspace = "A" })
	f("/toolsets/1/id", func(r *Release) { r.Toolsets[1].ID = "ts_2" })
	f("/toolsets/1/slug", func(r *Release) { r.Toolsets[1].Slug = "b" })
	f("/toolsets/0/revision", func(r *Release) { r.Toolsets[0].Revision = 0 })
	f("/toolsets/0/repository", func(r *Release) { r.Toolsets[0].Repository = "../x" })
	f("/toolsets/0/bundle", func(r *Release) { r.Toolsets[0].Bundle = "x" })
	f("/plugins/0/manifest", func(r *Release) { r.Plugins = []ReleasePlugin{{Workspace: "a", Repository: "a/plugins/x"}} })
	f("/trusted", func(r *Release) {
		for range MaxTrustedKeys - 1 {
			r.Trusted = append(r.Trusted, r.Trusted[0])
		}
	})
	f("/plugins", func(r *Release) {
		for range MaxReleasePlugins + 1 {
			r.Plugins = append(r.Plugins, ReleasePlugin{Workspace: "a", Repository: "a/plugins/x", Manifest: DigestOf(nil)})
		}
	})
}

func TestReleaseToolsetLimit(t *testing.T) {
	r := sampleRelease()
	r.Toolsets = nil
	for i := range MaxReleaseToolsets {
		s := "t" + strconv.Itoa(i)
		r.Toolsets = append(r.Toolsets, ReleaseToolset{
			ID: s, Workspace: "acme", Slug: s, Revision: 1, Repository: "acme/toolsets/" + s, Bundle: DigestOf([]byte(s)),
		})
	}
	b, err := r.Encode()
	if err != nil {
		t.Fatalf("%d toolsets: %v", MaxReleaseToolsets, err)
	}
	if _, err := ParseRelease(b); err != nil || len(b) > MaxReleaseBytes {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	more := r.Toolsets[0]
	more.ID, more.Slug = "more", "more"
	r.Toolsets = append(r.Toolsets, more)
	if _, err := r.Encode(); !problem.Is(err, problem.InvalidRelease) {
		t.Fatalf("%d toolsets: %v", len(r.Toolsets), err)
	}
}

func TestCompare(t *testing.T) {
	f := func(ea, ra, eb, rb uint64, want int) {
		t.Helper()
		if got := Compare(ea, ra, eb, rb); got != want || Compare(eb, rb, ea, ra) != -want {
			t.Fatalf("Compare(%d.%d, %d.%d) = %d, want %d", ea, ra, eb, rb, got, want)
		}
	}
	f(1, 1, 1, 1, 0)
	f(1, 1, 1, 2, -1)
	f(1, 9, 2, 1, -1)
}

func FuzzParseRelease(f *testing.F) {
	b, err := sampleRelease().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"formatVersion":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRelease(b)
		if err != nil {
			return
		}
		first, err := r.Encode()
		if err != nil {
			t.Fatalf("parsed and cannot be encoded: %v", err)
		}
		again, err := ParseRelease(first)
		if err != nil {
			t.Fatalf("encoded and cannot be parsed: %v", err)
		}
		if !again.SameContent(r) || again.Epoch != r.Epoch || again.Revision != r.Revision {
			t.Fatalf("%s became %s", b, first)
		}
	})
}

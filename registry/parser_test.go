package registry_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// manyRelease is the document of a release of n toolsets; change may change it.
func manyRelease(t testing.TB, n int, change func(*registry.Release)) []byte {
	t.Helper()
	r := &registry.Release{
		Group: "default", Epoch: 1, Revision: 1, Issued: time.Unix(1_800_000_000, 0), Expires: time.Unix(1_800_100_000, 0),
		Trusted: []registry.TrustedKey{{KeyID: strings.Repeat("ab", 32), Use: registry.UseRelease, PublicKey: []byte("key")}},
	}
	for i := range n {
		r.Toolsets = append(r.Toolsets, registry.ReleaseToolset{
			ID: fmt.Sprintf("ts_%05d", i), Workspace: "acme", Slug: fmt.Sprintf("slug-%d", i), Revision: uint64(i) + 1,
			Repository: fmt.Sprintf("acme/toolsets/slug-%d", i), Bundle: registry.DigestOf([]byte{byte(i), byte(i >> 8)}),
		})
	}
	if change != nil {
		change(r)
	}
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever came before, the parser says of a document what ParseRelease says.
func TestReleaseParser(t *testing.T) {
	base := string(manyRelease(t, 50, nil))
	entry := func(i int) string {
		at := strings.Index(base, fmt.Sprintf(`{"id":"ts_%05d"`, i))
		return base[at : at+strings.Index(base[at:], "}")+1]
	}
	docs := map[string]string{
		"the same":          base,
		"one changed":       string(manyRelease(t, 50, func(r *registry.Release) { r.Toolsets[7].Revision = 99 })),
		"one more":          string(manyRelease(t, 51, nil)),
		"one less":          string(manyRelease(t, 49, nil)),
		"none":              string(manyRelease(t, 0, nil)),
		"another revision":  string(manyRelease(t, 50, func(r *registry.Release) { r.Revision = 9 })),
		"another order":     strings.Replace(strings.Replace(strings.Replace(base, entry(3), "@", 1), entry(4), entry(3), 1), "@", entry(4), 1),
		"one twice":         strings.Replace(base, entry(3), entry(3)+","+entry(3), 1),
		"a slug twice":      strings.Replace(base, entry(3), strings.Replace(entry(3), `"slug-3"`, `"slug-4"`, 1), 1),
		"an unknown field":  strings.Replace(base, entry(3), strings.Replace(entry(3), `{"id"`, `{"x":1,"id"`, 1), 1),
		"a bad digest":      strings.Replace(base, entry(3), strings.Replace(entry(3), "sha256:", "sha512:", 1), 1),
		"two lists":         strings.Replace(base, `"toolsets":[`, `"toolsets":[],"toolsets":[`, 1),
		"a spelled list":    strings.Replace(base, `"toolsets":[`, `"tool\u0073ets":[`, 1),
		"no list":           strings.Replace(base, `"toolsets":[`, `"plugins":[`, 1),
		"null":              base[:strings.Index(base, `"toolsets":[`)] + `"toolsets":null}`,
		"an odd entry":      strings.Replace(base, entry(3), "7", 1),
		"an unknown member": strings.Replace(base, `"toolsets":[`, `"x":1,"toolsets":[`, 1),
		"space":             strings.Replace(base, `"toolsets":[`, "\n\"toolsets\" : [ ", 1),
		"something behind":  base + "{}",
		"cut":               base[:len(base)-5],
		"empty":             "",
	}
	for before, first := range docs {
		for name, doc := range docs {
			var p registry.ReleaseParser
			_, _ = p.Parse([]byte(first)) // some are refused
			want, wantErr := registry.ParseRelease([]byte(doc))
			for range 2 { // a refused one leaves nothing behind
				got, err := p.Parse([]byte(doc))
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%s behind %s: %v; want %v", name, before, err, wantErr)
				}
				if want != nil && len(want.Toolsets) == 0 && len(got.Toolsets) == 0 {
					got.Toolsets = want.Toolsets // nil or empty: there is none
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s behind %s: %+v; want %+v", name, before, got, want)
				}
			}
		}
	}
}

// FuzzReleaseParser: the same for any two documents.
func FuzzReleaseParser(f *testing.F) {
	base := manyRelease(f, 3, nil)
	f.Add(base, manyRelease(f, 4, nil))
	f.Add(base, []byte(strings.Replace(string(base), `"toolsets"`, `"toolset\u0073"`, 1)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var p registry.ReleaseParser
		_, _ = p.Parse(first)
		got, err := p.Parse(second)
		want, wantErr := registry.ParseRelease(second)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v; want %v", err, wantErr)
		}
		if err == nil && (len(got.Toolsets) != 0 || len(want.Toolsets) != 0) && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v; want %+v", got, want)
		}
	})
}

func BenchmarkReleaseParser(b *testing.B) {
	docs := [2][]byte{manyRelease(b, 1000, nil), manyRelease(b, 1000, func(r *registry.Release) { r.Toolsets[500].Revision = 7777 })}
	b.Run("impl=baseline", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := registry.ParseRelease(docs[i%2]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=sluice", func(b *testing.B) {
		var p registry.ReleaseParser
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := p.Parse(docs[i%2]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

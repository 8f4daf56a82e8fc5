package registry_test

import (
	"regexp"
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// FuzzNames: names are checked byte by byte exactly as the expressions say that
// define them (OCI Distribution Specification 1.1 "Pulling manifests").
func FuzzNames(f *testing.F) {
	slug := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	repository := regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	for _, s := range []string{
		"", "a", "-", "a-", "-a", "a-b", "a--b", "a_b", "a__b", "a___b", "a.b", "a..b", "a._b", "a/b", "a//b", "/a", "a/", "a/b.c/d__e---f", "A", "a\n", "é", "a-/b", "a/-b", "a_/b", "x.y_z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := registry.ValidSlug(s), len(s) <= registry.MaxSlugBytes && slug.MatchString(s); got != want {
			t.Fatalf("ValidSlug(%q) = %v", s, got)
		}
		if got, want := registry.ValidRepository(s), len(s) <= 255 && repository.MatchString(s); got != want {
			t.Fatalf("ValidRepository(%q) = %v", s, got)
		}
	})
}

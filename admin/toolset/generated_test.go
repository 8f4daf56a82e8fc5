package toolset

import (
	"maps"
	"slices"
	"testing"
)

// TestTogether: a scheme goes with those that every requirement with it names.
func TestTogether(t *testing.T) {
	g := &Generated{Together: map[string][]string{}}
	for _, r := range [][]string{{"id", "secret", "version"}, {"secret", "id"}, {"key"}, {}, {"login", "tenant"}, {"login"}} {
		g.need(r)
	}
	want := map[string][]string{"id": {"secret"}, "secret": {"id"}, "version": {"id", "secret"}, "key": {}, "login": {}, "tenant": {"login"}}
	if !maps.EqualFunc(g.Together, want, slices.Equal) {
		t.Errorf("%v, want %v", g.Together, want)
	}
}

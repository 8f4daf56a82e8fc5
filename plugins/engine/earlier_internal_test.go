package engine

import (
	"bytes"
	"testing"
)

// TestOpenEarlier opens a module of an earlier build of the engine, and none of a build that was
// changed.
func TestOpenEarlier(t *testing.T) {
	for version, builds := range earlier {
		for i, build := range builds {
			if now, _ := Code(version); bytes.Equal(build, now) {
				t.Errorf("build %d of engine version %d is the one that is used", i, version)
			}
			m, err := linkTo(nil, build, version, nil, "section", []byte("manifest"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(m, "section")
			if err != nil || string(l.Manifest) != "manifest" || l.Version != version {
				t.Errorf("build %d of engine version %d: %+v, %v", i, version, l, err)
			}
			other := bytes.Clone(build)
			other[len(other)/2] ^= 1
			if m, err = linkTo(nil, other, version, nil, "section", []byte("manifest")); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(m, "section"); err == nil {
				t.Errorf("a changed build %d of engine version %d was opened", i, version)
			}
		}
	}
}

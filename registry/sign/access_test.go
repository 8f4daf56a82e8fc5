package sign

import (
	"testing"

	"github.com/sluicegate/sluice/registry"
)

// TestAccess: only a key that may sign releases signs access documents, and a
// release is none.
func TestAccess(t *testing.T) {
	k, other := key(t), key(t)
	d := &registry.AccessDocument{Workspace: "w", Toolset: "ts_1", Mode: registry.AccessNone}
	env, err := SignAccess(k, d)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := VerifyAccess(env, trust(t, k)); err != nil || got.Toolset != "ts_1" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := VerifyAccess(env, trust(t, other)); err == nil {
		t.Error("another key's signature was believed")
	}
	release, err := Sign(k, PayloadRelease, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyAccess(release, trust(t, k)); err == nil {
		t.Error("a release was taken for an access document")
	}
	if _, err := SignAccess(k, &registry.AccessDocument{}); err == nil {
		t.Error("a document that is not valid was signed")
	}
}

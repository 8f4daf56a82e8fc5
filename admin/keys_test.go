package admin_test

import (
	"bytes"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/publish/keyring"
	"github.com/sluicegate/sluice/registry"
)

// TestRotateKeys: keys are rotated while credentials are written and used; each opens
// at every moment, and what the last but one key sealed is under the current one.
func TestRotateKeys(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Locked", "locked.yaml")
	quiet := w.create("Quiet", "locked.yaml") // its credential is sealed again by rotations only
	w.putAuth(quiet.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "let-me-in"})
	first := w.ring.Current()
	w.later.Store(int64(time.Hour))
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "let-me-in"})
	// One that nobody stores meanwhile, so that there is something to wrap each time.
	w.putAuth(w.create("Idle", "locked.yaml").ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "let-me-in"})
	uses := map[string]int{}
	for _, k := range want[admin.List[keyring.ControlKey]](w, w.do("GET", "/v1/keys", nil), http.StatusOK).Items {
		uses[k.Use+" "+k.State]++
		if k.ID == "" || k.Use == "credentials" && k.ID != first {
			t.Errorf("%+v", k)
		}
	}
	if uses["credentials current"] != 1 || uses["release current"] != 1 {
		t.Errorf("keys %v", uses)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			_ = w.do("PUT", "/v1/toolsets/"+ts.ID+"/authentication", map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": "let-me-in"})
		}
	})
	for i := range 3 {
		r := want[keyring.RotatedKeys](w, w.do("POST", "/v1/keys/rotate", nil), http.StatusOK)
		if r.Current != w.ring.Current() || len(r.Opening) != 1 || r.Rewrapped == 0 && i > 0 {
			t.Fatalf("rotation %d: %+v", i, r)
		}
		if got := w.do("POST", "/v1/toolsets/"+ts.ID+"/test", `{}`); got.StatusCode != http.StatusOK {
			t.Errorf("rotation %d: a test says %d %.300s", i, got.StatusCode, got.body)
		}
		// Too soon: what is being stored has to settle.
		want[front.Problem](w, w.do("POST", "/v1/keys/rotate", nil), http.StatusConflict)
		w.later.Add(int64(2 * time.Minute))
	}
	stop.Store(true)
	wg.Wait()
	for _, id := range w.ring.IDs() {
		if id == first {
			t.Error("the first key was never retired")
		}
	}
	row, err := w.credential(ts.ID, ts.Connector.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.ring.Open(row.Record(), row.Sealed); err != nil || got.Reveal() != "let-me-in" {
		t.Errorf("the credential: %v", err)
	}
}

// TestRotateKeysReachesEdges: an edge that waits for its credentials has the key of the pool as
// soon as the keys are rotated: nodes with different keys share nothing.
func TestRotateKeysReachesEdges(t *testing.T) {
	w := newWorld(t)
	w.create("Locked", "locked.yaml")
	e := w.enrolEdge(`{}`)
	before, _ := e.credentials("")
	answered := make(chan registry.EdgeCredentials, 1)
	go func() {
		after, _ := e.credentials(before.ETag + "&wait=10")
		answered <- after
	}()
	want[keyring.RotatedKeys](w, w.do("POST", "/v1/keys/rotate", nil), http.StatusOK)
	if after := <-answered; len(after.Pool) == 0 || bytes.Equal(after.Pool, before.Pool) {
		t.Error("the edge was not told of the new key")
	}
}

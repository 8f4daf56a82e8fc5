package admin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/front"
)

// TestDamagedContent: where one byte of what the registry keeps is another, or a file of it
// is gone, every operation that needs it says which content and what to do, and nothing
// takes it for sound.
func TestDamagedContent(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	digest := ts.Connector.Digest
	file := filepath.Join(w.dir, "registry", "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	requests := func(what string) {
		t.Helper()
		w.stop()
		w.open()
		refused := 0
		for _, r := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/v1/toolsets/pets", nil},
			{"GET", "/v1/toolsets/pets/tools", nil},
			{"PATCH", "/v1/toolsets/pets", map[string]any{"name": "Others"}},
			{"POST", "/v1/toolsets", w.createBody("Pets", "pets.yaml")},
		} {
			headers := []string{"If-Match", "*"}
			if r.method == http.MethodPatch {
				headers = append(headers, "Content-Type", "application/merge-patch+json")
			}
			a := w.do(r.method, r.path, r.body, headers...)
			if a.StatusCode == http.StatusOK { // it did not need the content
				continue
			}
			refused++
			p := want[front.Problem](w, a, http.StatusServiceUnavailable)
			if !strings.Contains(p.Detail, digest[len("sha256:"):][:12]) || !strings.Contains(p.Remedy, "sluice restore") {
				t.Errorf("%s: %s %s: %q, %q", what, r.method, r.path, p.Detail, p.Remedy)
			}
		}
		if refused < 2 {
			t.Errorf("%s: %d operations needed the content", what, refused)
		}
	}
	damaged := append([]byte(nil), sound...)
	damaged[len(damaged)/2] ^= 0x21
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	requests("another byte")
	ready := func(want bool) {
		t.Helper()
		w.until("the registry is inspected", func() bool {
			a := w.do("GET", "/readyz?verbose", nil)
			return a.StatusCode == http.StatusOK && strings.Contains(a.body, "[!]registry the registry does not have what 1 live toolsets need; the log") == want
		})
	}
	ready(true)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	requests("gone")
	if err := os.WriteFile(file, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	w.get(ts.ID)
	w.restart()
	ready(false)
}

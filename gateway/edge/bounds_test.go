package edge_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
)

// TestEdgeMessageBounds: the control plane reads a message of an edge up to its bound; of
// one that is a byte longer nothing counts.
func TestEdgeMessageBounds(t *testing.T) {
	p := newPlane(t)
	dir := filepath.Join(t.TempDir(), "cache")
	e := p.enrol(dir, p.join(`{}`))
	e.until("ready", func(s edge.Status) bool { return s.Ready })
	e.stop()
	b, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var id struct{ Token string }
	if err := json.Unmarshal(b, &id); err != nil {
		t.Fatal(err)
	}
	client := p.client()
	f := func(path, body string, limit, want int) {
		t.Helper()
		for n, want := range map[int]int{limit: want, limit + 1: http.StatusRequestEntityTooLarge} {
			text := append([]byte(body), bytes.Repeat([]byte(" "), n-len(body))...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.addr+path, bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+id.Token)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s, %d bytes: %d %.200s, want %d", path, n, resp.StatusCode, got, want)
			}
		}
	}
	f(registry.EdgeStatusPath, `{"ready":true}`, registry.MaxEdgeMessageBytes, http.StatusNoContent)
	f(registry.EdgeEnrolPath, `{}`, registry.MaxEdgeMessageBytes, http.StatusBadRequest)
	f(registry.EdgeTokenPath, `{"edge":"x","time":"2026-01-01T00:00:00Z"}`, registry.MaxEdgeMessageBytes, http.StatusUnauthorized)
	f(registry.EdgePluginsPath, `{}`, registry.MaxEdgePluginsBytes, http.StatusNoContent)
	f(registry.EdgeUsagePath, `{}`, registry.MaxUsageBytes, http.StatusBadRequest)
}

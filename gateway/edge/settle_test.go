package edge_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/edge"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// TestDamagedConnector: what is damaged of a connector on disk is fetched before anybody
// calls it, and written again; when nobody can give it the release before is served, and the
// fault is told.
func TestDamagedConnector(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	n := w.start(dir, nil)
	older := w.deploy("one", "older")
	n.persisted(older)
	newer := w.deploy("one", "newer")
	n.persisted(newer)
	connector := n.newest().Toolsets[0].Bundle.Connectors[0].Manifest
	n.stop()
	damage := func() {
		t.Helper()
		packs, err := filepath.Glob(filepath.Join(dir, "content", "*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		module, found := connectorModule(t, "one", "newer"), false
		for _, path := range packs {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.LastIndex(b, module); i >= 0 {
				b[i+len(module)/2] ^= 1
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				found = true
			}
		}
		if !found {
			t.Fatal("the connector is in no pack")
		}
	}
	away := func(context.Context, string, registry.Digest, oci.Kind) (*oci.Artifact, error) { return nil, errDown }
	damage()
	x := &wire{Source: w.source, release: down}
	n = w.start(dir, x)
	n.live(newer)
	n.until("fetching the connector", func(edge.Status) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return slices.Contains(x.asked, connector)
	})
	n.until("asking for releases, which comes behind that", func(s edge.Status) bool { return s.Following != nil })
	n.stop()
	x = &wire{Source: w.source, release: down, artifact: away}
	n = w.start(dir, x)
	if err := n.next().Toolsets[0].Connectors["main"].Load(); err != nil {
		t.Errorf("after it was written again: %v", err)
	}
	n.until("asking for releases", func(s edge.Status) bool { return s.Following != nil })
	n.stop()

	damage()
	n = w.start(dir, &wire{Source: w.source, release: down, artifact: away})
	n.live(older)
	s := n.until("telling the fault", func(s edge.Status) bool { return s.Cache != nil && s.Following != nil })
	if !strings.Contains(s.Cache.Error(), fmt.Sprintf("persisted release 1.%d:", newer.Release().Revision)) {
		t.Errorf("the cache is said to be: %v", s.Cache)
	}
	if err := n.newest().Toolsets[0].Connectors["main"].Load(); err != nil {
		t.Errorf("the release before: %v", err)
	}
}

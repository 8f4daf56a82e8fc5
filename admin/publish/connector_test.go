package publish_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

func source(t *testing.T, name string) openapi.Source {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Source{Name: name, Data: b}
}

func TestConnector(t *testing.T) {
	store, rec := openStore(t, t.TempDir()), &records{}
	p := newPublisher(t, store, newKey(t), rec, nil)
	req := publish.ConnectorRequest{Workspace: "acme", Source: source(t, "things.json")}
	c, err := p.Connector(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if c.Repository != "acme/connectors/things" || c.Spec.Tools != 2 || c.Opened.Len() != 2 || c.Opened.Version() != "1.2.0+beta" {
		t.Fatalf("connector %+v of %d tools", c, c.Opened.Len())
	}
	if want := "1.2.0_beta-" + c.Module.Hex()[:8]; c.Tag != want {
		t.Fatalf("tag %q, want %q", c.Tag, want)
	}
	if d, err := store.Resolve(t.Context(), c.Repository, c.Tag); err != nil || d != c.Manifest {
		t.Fatalf("the tag is at %s, %v", d, err)
	}
	again, err := p.Compile(t.Context(), req)
	if err != nil || again.Manifest != c.Manifest {
		t.Fatalf("the same specification gives another connector: %v", err)
	}
	// All the way to a release.
	rec.live = []registry.ReleaseToolset{bundle(t, p, toolset("things", "Things", c.Ref("main")))}
	if r, err := p.Release(t.Context()); err != nil || len(r.Release().Toolsets) != 1 {
		t.Fatalf("release %v, %v", r, err)
	}
}

// A specification that cannot be used leaves nothing behind.
func TestConnectorRefuses(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, openStore(t, dir), newKey(t), &records{}, nil)
	before := count(t, dir)
	f := func(workspace, text, want string) {
		t.Helper()
		c, err := p.Connector(t.Context(), publish.ConnectorRequest{
			Workspace: workspace, Source: openapi.Source{Name: "x.json", Data: []byte(text)},
		})
		if c != nil || problem.As(err) == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%.40s: %v, %v; want %q", text, c, err, want)
		}
		if n := count(t, dir); n != before {
			t.Fatalf("%.40s: left %d files", text, n-before)
		}
	}
	f("Acme", "{}", "workspace")
	f("acme", "hello", "Invalid OpenAPI spec")
	f("acme", `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{}}`, "Invalid OpenAPI spec")
}

// count is the number of files in the store.
func count(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

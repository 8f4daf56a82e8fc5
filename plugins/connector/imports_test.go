package connector_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// imported takes the whole way of an import: document, connector, opened connector.
func imported(t *testing.T) (connector.Artifact, *connector.Connector) {
	t.Helper()
	a, refused := compileFile(t, filepath.Join("testdata", "wire.json"))
	if len(refused) > 0 || a.Module == nil {
		t.Fatal(refused)
	}
	c, err := connector.Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		if _, err := c.Tool(i); err != nil {
			t.Fatal(err)
		}
	}
	return a, c
}

// TestImportsAtOnce: imports that run at the same time give the same bytes; run with
// -race. They are the bytes of testdata/wire.digest, on every machine: look at what
// changed, then -update.
func TestImportsAtOnce(t *testing.T) {
	artifacts := make([]connector.Artifact, 4)
	var wg sync.WaitGroup
	for i := range artifacts {
		wg.Go(func() { artifacts[i], _ = imported(t) })
	}
	wg.Wait()
	for _, a := range artifacts {
		if a.Digest != artifacts[0].Digest {
			t.Fatal("two imports of one document differ")
		}
	}
	linked, err := engine.Open(artifacts[0].Module, manifest.Section)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, p := range linked.Programs {
		_, _ = sum.Write(p)
	}
	got := fmt.Sprintf("manifest sha256:%x\nprograms sha256:%x\n", sha256.Sum256(linked.Manifest), sum.Sum(nil))
	golden := filepath.Join("testdata", "wire.digest")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("digests\n%swant\n%s", got, want)
	}
}

// TestImportsLeaveNothing: memory returns to its base line over fifty imports.
func TestImportsLeaveNothing(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		runtime.GC() // finalizers and pools of the first
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const warm, imports = 10, 50
	var base int64
	for n := range warm + imports {
		if n == warm {
			base = live()
		}
		imported(t)
	}
	const slack = 1 << 20 // fifty modules that stayed would be many times that
	if grown := live() - base; grown > slack {
		t.Errorf("%d imports leave %d bytes", imports, grown)
	}
}

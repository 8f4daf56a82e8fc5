package examples

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/sdk/scaffold"
)

// TestAuthProject: the projects of auth plugins in C and C++ build and give the signatures of its
// golden cases, which another implementation of HMAC made. They need clang.
func TestAuthProject(t *testing.T) {
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	for _, language := range []string{"c", "cpp"} {
		files, err := scaffold.Files(language, scaffold.Data{Name: "signer", Kind: "auth"})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, f := range files {
			path := filepath.Join(dir, filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(language, func(t *testing.T) { testExample(t, h, dir) })
	}
}

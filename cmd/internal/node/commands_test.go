package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/gateway/process"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestExposedCommands: a command is refused where others than this machine reach the
// gateway, when it is added and when it is called, unless its operator said otherwise.
func TestExposedCommands(t *testing.T) {
	outside := false
	c := &commands{dir: t.TempDir(), outside: func() bool { return outside }}
	var err error
	if c.running, err = process.New(process.Options{Lookup: c.lookup}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.running.Close)
	keep := func(in *local.Command) string { // as Add does, without an installation
		t.Helper()
		at, err := c.Address(in)
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimPrefix(at, "stdio://")
		text := `{"argv":["x"]}`
		if in.Exposed {
			text = `{"argv":["x"],"exposed":true}`
		}
		if err := os.WriteFile(c.path(id), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := keep(&local.Command{Argv: []string{"x"}})
	if spec, err := c.lookup(t.Context(), id); err != nil || spec.Argv[0] != "x" {
		t.Errorf("on loopback: %v", err)
	}
	outside = true
	if _, err := c.lookup(t.Context(), id); !problem.Is(err, problem.Forbidden) {
		t.Errorf("called from outside: %v", err)
	}
	if err := c.Add(t.Context(), &local.Command{Argv: []string{"x"}}); !problem.Is(err, problem.Forbidden) || !strings.Contains(problem.As(err).Remedy, "--expose") {
		t.Errorf("added: %v", err)
	}
	if same := keep(&local.Command{Argv: []string{"x"}, Exposed: true}); same != id {
		t.Errorf("the word changes the address: %s, %s", id, same)
	}
	if _, err := c.lookup(t.Context(), id); err != nil {
		t.Errorf("exposed: %v", err)
	}
	if err := c.Add(t.Context(), &local.Command{Argv: []string{"x"}, Exposed: true}); err != nil {
		t.Errorf("added again, it is installed already: %v", err)
	}
	// A file that was changed is none.
	if err := os.WriteFile(filepath.Join(c.dir, id+".json"), []byte(`{"argv":["rm"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.lookup(t.Context(), id); err == nil {
		t.Error("a changed command runs")
	}
	for _, none := range []string{"c0", "../x", ""} {
		if _, err := c.lookup(t.Context(), none); !problem.Is(err, problem.NotFound) {
			t.Errorf("lookup %q: %v", none, err)
		}
	}
}

package e2e

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/sluicegate/sluice/admin/store/storetest"
)

// TestStandby: of two control planes on one PostgreSQL the second takes over when the
// first is killed, and an edge that was told of both follows it, restarts included.
func TestStandby(t *testing.T) {
	database := storetest.Postgres(t)
	artifacts := httptest.NewServer(ggcr.New(ggcr.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	t.Cleanup(artifacts.Close)
	serve := func(p *plane, ready func() bool) {
		p.process = start(t, ready, binary, "serve", "--role", "control", "--standby", "--data", p.data, "--admin-listen", p.admin,
			"--database", database, "--registry", "oci://"+strings.TrimPrefix(artifacts.URL, "http://")+"/sluice")
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(`{"auths":{"`+strings.TrimPrefix(artifacts.URL, "http://")+`":{"auth":"YTpi"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(dir string) *plane {
		return &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), dir)}, t: t, dir: t.TempDir()}
	}
	first, second := named("first"), named("second")
	up := func(p *plane) func() bool { return func() bool { return answers("http://" + p.admin + "/readyz") } }
	standBy := func(p *plane) {
		serve(p, func() bool { return true })
		p.until("it stands by", func() bool { return strings.Contains(p.out.String(), "standing by") })
	}
	serve(first, up(first))
	// As an operator makes the second one: with the keys of the first, and its token for the
	// command line.
	if err := os.MkdirAll(second.data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keys", "admin.token"} {
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(first.data, name), second.data).CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v: %s", name, err, out)
		}
	}
	standBy(second)
	if up(second)() {
		t.Fatal("the second serves beside the first")
	}

	spec, upstream := things(t)
	first.cli(t, "add", spec, "--public", "--name", "before", "--base-url", upstream.URL)
	e := &follower{p: first, name: "one", join: first.invite(), data: filepath.Join(first.dir, "one"), serve: freePort(t), ops: freePort(t), control: "http://" + first.admin + ",http://" + second.admin}
	e.again()
	serves := func(toolset string) bool { return strings.Contains(e.call(toolset), "anvil") }
	first.until("the edge serves", func() bool { return serves("before") })

	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done
	second.until("the second has taken over", up(second))
	second.cli(t, "add", spec, "--public", "--name", "after", "--base-url", upstream.URL)
	second.until("the edge has what the second published", func() bool { return serves("after") && serves("before") })
	e.p = second
	second.until("the second knows the edge", func() bool { return strings.Contains(e.row(), "connected") })

	// It enrolled with the first, which is gone: it starts again all the same.
	e.stop(t)
	e.again()
	second.cli(t, "add", spec, "--public", "--name", "later", "--base-url", upstream.URL)
	second.until("the edge follows after a restart", func() bool { return serves("later") })

	// The first comes back and stands by; the second goes, and the edge follows the first.
	standBy(first)
	second.stop(t)
	first.until("the first has taken over", up(first))
	e.p = first
	first.cli(t, "add", spec, "--public", "--name", "last", "--base-url", upstream.URL)
	first.until("the edge followed back", func() bool { return serves("last") })
}

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// kills is how often the process is killed at a moment that chance chooses.
const kills = 8

// TestKilledAtAnyPoint kills the process, without a warning, while toolsets are
// made, and starts it again on the same data. Every toolset that was reported as
// made must answer; one whose making was cut off may exist or not, but then
// whole. No restart needs the specification again.
func TestKilledAtAnyPoint(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil","self_url":"http://127.0.0.1/api/1"}]`)
	}))
	defer upstream.Close()
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	data := t.TempDir()
	var made []string
	for round := range kills {
		n := startSluiceOn(t, data)
		for _, slug := range made {
			serves(t, n, slug)
		}
		stop := time.AfterFunc(time.Duration(chance.IntN(1500))*time.Millisecond, func() { _ = n.cmd.Process.Kill() })
		for i := 0; ; i++ {
			slug := fmt.Sprintf("things-%d-%d", round, i)
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"add", spec, "--name", slug, "--base-url", upstream.URL}, n.flags()...)...)
			cmd.Stderr = &stderr
			if err := cmd.Run(); err == nil {
				made = append(made, slug)
				continue
			}
			select {
			case <-n.done:
			case <-time.After(10 * time.Second):
				t.Fatalf("sluice add was refused by a node that lives: %s", stderr.String())
			}
			break
		}
		stop.Stop()
	}
	n := startSluiceOn(t, data)
	for _, slug := range made {
		serves(t, n, slug)
	}
	t.Logf("%d toolsets through %d kills", len(made), kills)
	if len(made) == 0 {
		t.Error("no toolset was made between two kills")
	}
}

// serves fails the test unless the toolset answers as its upstream does.
func serves(t *testing.T, n *node, slug string) {
	t.Helper()
	s := connect(t, "http://"+n.gateway+"/t/"+slug, eras[1])
	defer s.Close()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_things"})
	if err != nil {
		t.Fatalf("%s after the restart: %v", slug, err)
	}
	if got := text(res); res.IsError || !strings.Contains(got, "anvil") || strings.Contains(got, "self_url") {
		t.Fatalf("%s after the restart answers %s", slug, got)
	}
}

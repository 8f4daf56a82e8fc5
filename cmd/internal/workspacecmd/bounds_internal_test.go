package workspacecmd

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestMaxAuditRecords: so many records may be asked for; more are a mistake that is told
// before anything is asked.
func TestMaxAuditRecords(t *testing.T) {
	for n, ok := range map[int]bool{maxAuditRecords: true, maxAuditRecords + 1: false, 1: true, 0: false} {
		asked := false
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked = true
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"items":[]}`))
		}))
		s := &command.Session{Terminal: terminal.Terminal{Out: io.Discard, Err: io.Discard}}
		s.Flags.Server, s.Flags.Timeout, s.Env.Token = srv.URL, time.Minute, secrets.New("token")
		cmd := auditList(s)
		cmd.SetArgs([]string{"--limit", fmt.Sprint(n)})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "--limit is 1 to") {
			t.Errorf("--limit %d: %v", n, err)
		}
		if !ok && asked {
			t.Errorf("--limit %d was asked for", n)
		}
		srv.Close()
	}
}

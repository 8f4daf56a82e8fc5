package handshake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin/login/handshake"
)

// TestSteps: what a client notices becomes steps, each in its order.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name  string
		keyed bool
		run   func(*handshake.Watch)
		want  string
	}{
		{name: "all works", run: func(w *handshake.Watch) {
			w.Notice(handshake.Event{Status: 200})
			w.Notice(handshake.Event{Status: 202}) // of the second exchange
			w.Notice(handshake.Event{Agreed: "2026-07-28"})
			w.Notice(handshake.Event{Tools: 1})
			w.Succeed("2026-07-28", false, 2, 1, 3)
		}, want: "reach running|reach done It answered HTTP 200|protocol running|protocol done MCP 2026-07-28 over Streamable HTTP|authentication running|" +
			"authentication done None is wanted|list running|list running 1 tool so far|list done 2 tools, 1 prompt, 3 resources"},
		{
			name: "a client that notices nothing", keyed: true, run: func(w *handshake.Watch) { w.Succeed("2024-11-05", true, 1, 0, 0) },
			want: "reach running|reach done|protocol running|protocol done MCP 2024-11-05 over HTTP with SSE|authentication running|authentication done The credential was accepted|list running|list done 1 tool",
		},
		{name: "nothing answers", run: func(w *handshake.Watch) { w.Fail("connection refused", nil) }, want: "reach running|reach failed connection refused"},
		{name: "a web page", run: func(w *handshake.Watch) {
			w.Notice(handshake.Event{Status: 404})
			w.Fail("no MCP server", nil)
		}, want: "reach running|reach done It answered HTTP 404|protocol running|protocol failed no MCP server"},
		{name: "401 at once", run: func(w *handshake.Watch) {
			w.Notice(handshake.Event{Status: 401})
			w.Fail("it wants a login", handshake.OfChallenge(`Bearer scope="x"`))
		}, want: "reach running|reach done It answered HTTP 401|protocol running|protocol skipped The server tells it after the authentication|authentication failed it wants a login (bearer)"},
		{name: "401 at the list", run: func(w *handshake.Watch) {
			w.Notice(handshake.Event{Status: 200})
			w.Notice(handshake.Event{Agreed: "2025-06-18"})
			w.Fail("it wants a password", handshake.OfChallenge("basic realm=x"))
		}, want: "reach running|reach done It answered HTTP 200|protocol running|protocol done MCP 2025-06-18 over Streamable HTTP|authentication running|authentication failed it wants a password (basic)"},
		{name: "a list without an end", run: func(w *handshake.Watch) {
			w.Notice(handshake.Event{Agreed: "2026-07-28"})
			w.Notice(handshake.Event{Tools: 200})
			w.Fail("no end", nil)
		}, want: "reach running|reach done|protocol running|protocol done MCP 2026-07-28 over Streamable HTTP|authentication running|authentication done None is wanted|list running|list running 200 tools so far|list failed no end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			now := time.Unix(0, 0)
			w := handshake.New(c.keyed, func() time.Time { now = now.Add(time.Second); return now }, func(s handshake.Step) {
				line := strings.TrimSpace(s.Name + " " + s.State + " " + s.Detail)
				if s.Wants != nil {
					line += fmt.Sprintf(" (%s)", s.Wants.Kind)
				}
				if s.Seconds <= 0 {
					t.Errorf("%s: %v seconds", line, s.Seconds)
				}
				told = append(told, line)
			})
			c.run(w)
			if got := strings.Join(told, "|"); got != c.want {
				t.Errorf("told\n%s, want\n%s", got, c.want)
			}
		})
	}
	if got := handshake.OfChallenge("").Kind; got != handshake.Unknown {
		t.Errorf("no challenge: %s", got)
	}
}

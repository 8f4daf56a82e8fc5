package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// loopPlugin never ends.
func loopPlugin(t testing.TB) *guest.Package {
	t.Helper()
	body := "\x03\x40\x0c\x00\x0b\x00\x0b"
	code := []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x05\x03\x01\x00\x01\x07\x16\x01\x12transform_response\x00\x00")
	code = append(code, 10, byte(len(body)+3), 1, byte(len(body)+1), 0)
	m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "mask", Version: "2.0.0"}
	code, err := module.AppendCustom(nil, append(code, body...), manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, code)
}

// runner makes what runs plugins, on a host of its own.
func runner(t testing.TB, grace time.Duration) *plugin.Runner {
	t.Helper()
	h, err := extism.New(extism.Options{Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h, Policy: guest.NodePolicy()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// trial is a gateway that serves a toolset with a candidate beside it.
type trial struct {
	*gatewaytest.Stack
	t  testing.TB
	up *upstreamtest.Server
	in snapshot.ToolsetInput
}

func newTrial(t testing.TB, live *guest.Package) *trial {
	t.Helper()
	w := &trial{Stack: start(t, gatewaytest.Options{Plugins: runner(t, 10*time.Second), Shadow: runner(t, 0)}), t: t, up: upstreamtest.New(t)}
	w.up.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id": 1, "mail": "ada@example.com"}`))
	w.up.Handle("GET /v2/items/{id}", upstreamtest.JSON(200, `{"id": 1, "mail": "ada@example.com"}`))
	w.in = w.toolset(w.connector(getItem()), live)
	return w
}

func (w *trial) connector(ops ...*operation.Operation) *connector.Connector {
	w.t.Helper()
	c, err := gatewaytest.Connector("acme", w.up.URL, ops...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *trial) toolset(c *connector.Connector, p *guest.Package) snapshot.ToolsetInput {
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) {
		if p != nil {
			ts.Plugins = []registry.PluginRef{refTo(p)}
		}
	})
	if p != nil {
		in.Plugins = []*guest.Package{p}
	}
	return in
}

// serve makes the toolset live with a candidate.
func (w *trial) serve(mode string, percent int, candidate snapshot.ToolsetInput) {
	w.t.Helper()
	candidate.Digest = registry.DigestOf([]byte("candidate"))
	in := w.in
	in.Trial = &snapshot.TrialInput{
		Release:   registry.ReleaseTrial{ID: "roll_1", Mode: mode, Percent: percent, Repository: "test/toolsets/acme", Bundle: candidate.Digest},
		Candidate: &candidate,
	}
	if err := w.Serve(in); err != nil {
		w.t.Fatal(err)
	}
}

func (w *trial) call() string {
	w.t.Helper()
	status, got := post(w.t, w.URL("acme"), callBody("get_item", `{"id":1}`))
	if status != 200 {
		w.t.Fatalf("%d %s", status, got)
	}
	return got
}

// counted drains until n comparisons, skips and misses were counted.
func (w *trial) counted(n uint64) registry.TrialCounts {
	w.t.Helper()
	var sum registry.TrialCounts
	for range 2000 {
		for _, got := range w.Meter.Drain().Trials {
			if err := sum.Add(&got.TrialCounts); err != nil {
				w.t.Fatal(err)
			}
		}
		if sum.Candidate.Calls+sum.Skipped+sum.Missing >= n {
			return sum
		}
		time.Sleep(5 * time.Millisecond) // the shadow works beside calls
	}
	w.t.Fatalf("%+v: %d calls were not counted", sum, n)
	return sum
}

// TestShadow: a candidate that answers the same, something else, traps or loops changes
// nothing of what callers get, and is counted.
func TestShadow(t *testing.T) {
	mask := maskPlugin(t)
	moved := getItem()
	moved.Path = "/v2/items/{id}"
	other := getItem()
	other.ID, other.Path = "other", "/other/{id}"
	for _, c := range []struct {
		name      string
		candidate func(w *trial) snapshot.ToolsetInput
		want      func(n *registry.TrialCounts) bool
	}{
		{"same", func(w *trial) snapshot.ToolsetInput { return w.toolset(w.in.Connectors["api"], mask) }, func(n *registry.TrialCounts) bool {
			return n.Candidate.Calls == 3 && n.Different == 0 && n.Candidate.Errors == 0 && n.Requests.Any == 0 && n.Live.Bytes == n.Candidate.Bytes
		}},
		{"without the plugin", func(w *trial) snapshot.ToolsetInput { return w.toolset(w.in.Connectors["api"], nil) }, func(n *registry.TrialCounts) bool {
			return n.Different == 3 && n.Candidate.Errors == 0 && n.Live.Bytes > 0 && n.Candidate.Tokens > 0
		}},
		{"traps", func(w *trial) snapshot.ToolsetInput { return w.toolset(w.in.Connectors["api"], trapPlugin(t)) }, func(n *registry.TrialCounts) bool {
			return n.Different == 3 && n.Candidate.Errors == 3 && n.Live.Errors == 0
		}},
		{"loops", func(w *trial) snapshot.ToolsetInput { return w.toolset(w.in.Connectors["api"], loopPlugin(t)) }, func(n *registry.TrialCounts) bool {
			return n.Candidate.Errors+n.Skipped == 3 && n.Live.Errors == 0
		}},
		{"other operation", func(w *trial) snapshot.ToolsetInput { return w.toolset(w.connector(other), mask) }, func(n *registry.TrialCounts) bool {
			return n.Missing == 3
		}},
		{"other origin", func(w *trial) snapshot.ToolsetInput {
			in := w.toolset(w.in.Connectors["api"], mask)
			in.Bundle.Connectors[0].BaseURL = "http://127.0.0.1:1/elsewhere"
			return in
		}, func(n *registry.TrialCounts) bool {
			return n.Requests.Any == 3 && n.Requests.Origin == 3 && n.Requests.Path == 3 && n.Requests.Query == 0 && n.Candidate.Errors == 0 && n.Different == 0
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTrial(t, mask)
			if err := w.Serve(w.in); err != nil {
				t.Fatal(err)
			}
			want := w.call()
			w.serve(registry.TrialShadow, 0, c.candidate(w))
			before := len(w.up.Requests())
			for range 3 {
				if got := w.call(); got != want {
					t.Errorf("the caller gets\n%s, want\n%s", got, want)
				}
			}
			n := w.counted(3)
			if !c.want(&n) {
				t.Errorf("counted: %+v", n)
			}
			if got := len(w.up.Requests()) - before; got != 3 {
				t.Errorf("%d requests came to the upstream, want those of the 3 calls", got)
			}
		})
	}
}

// TestCanaryShare: a tenth of 1,000 callers get the candidate, and the same ones at every
// call and in every snapshot.
func TestCanaryShare(t *testing.T) {
	mask := maskPlugin(t)
	w := newTrial(t, mask)
	w.serve(registry.TrialCanary, 10, w.toolset(w.in.Connectors["api"], nil))
	first, drawn := map[string]bool{}, 0
	for round := range 3 {
		if round == 2 { // a smaller share is one of the same callers
			w.serve(registry.TrialCanary, 5, w.toolset(w.in.Connectors["api"], nil))
		}
		ts := w.Holder.Load().Slug("acme")
		for i := range 1000 {
			key := access.TokenPrincipal("ts_acme", fmt.Sprint("tok_", i))
			got := ts.For(key.Key()) != ts
			switch {
			case round == 0:
				if first[key.Key()] = got; got {
					drawn++
				}
			case round == 1 && got != first[key.Key()], round == 2 && got && !first[key.Key()]:
				t.Fatalf("round %d: caller %d changed sides", round, i)
			}
		}
	}
	if drawn < 70 || drawn > 130 {
		t.Errorf("%d of 1000 callers were drawn for 10 %%", drawn)
	}
}

// TestCanary: who was drawn gets the candidate's answers, the others the live ones, and
// both are counted. A filter of the candidate that cannot run withholds the answer.
func TestCanary(t *testing.T) {
	mask := maskPlugin(t)
	w := newTrial(t, mask)
	w.serve(registry.TrialCanary, 100, w.toolset(w.in.Connectors["api"], trapPlugin(t)))
	for range 2 {
		if got := w.call(); strings.Contains(got, "ada@") || !strings.Contains(got, "withheld") {
			t.Errorf("a candidate that cannot redact gives %s", got)
		}
	}
	n := w.counted(2)
	if n.Candidate.Errors != 2 || n.Live.Calls != 0 {
		t.Errorf("counted: %+v", n)
	}
	if err := w.Serve(w.in); err != nil {
		t.Fatal(err)
	}
	if got := w.call(); !strings.Contains(got, "***@example.com") {
		t.Errorf("after the trial: %s", got)
	}
}

// TestNewOriginGetsNoCredential: a candidate whose connector has another origin gets no
// credential there, neither beside a call nor from a caller that was drawn.
func TestNewOriginGetsNoCredential(t *testing.T) {
	w := newTrial(t, nil)
	elsewhere := upstreamtest.New(t)
	elsewhere.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id": 1}`))
	w.Secrets.Set("cred_1", credentials.Credential{Value: secrets.New("the-key-of-the-toolset"), Version: 1, Origins: registry.Origins{w.up.URL}})
	auth := &registry.AuthShape{Type: "header", HeaderName: "X-Api-Key", CredentialID: "cred_1"}
	w.in.Bundle.Connectors[0].Auth = auth
	for _, mode := range []string{registry.TrialShadow, registry.TrialCanary} {
		candidate := w.toolset(w.in.Connectors["api"], nil)
		candidate.Bundle.Connectors[0].Auth, candidate.Bundle.Connectors[0].BaseURL = auth, elsewhere.URL
		percent := 100
		if mode == registry.TrialShadow {
			percent = 0
		}
		w.serve(mode, percent, candidate)
		got := w.call()
		if n := w.counted(1); n.Candidate.Calls != 1 {
			t.Errorf("%s: counted %+v", mode, n)
		}
		if mode == registry.TrialCanary && !strings.Contains(got, `"isError":true`) {
			t.Errorf("a caller that was drawn gets %s", got)
		}
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("%d requests came to the new origin", n)
	}
}

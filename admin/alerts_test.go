package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/registry"
)

// receiver is a receiver of webhooks that checks signatures as its vendor's library does.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string // guarded by mu
	status int    // guarded by mu; of answers
	got    []hook // guarded by mu
	bad    error  // guarded by mu; a signature that does not verify
}

type hook struct {
	id   string
	Type string `json:"type"`
	Data struct {
		Workspace string      `json:"workspace"`
		Alert     alert.Alert `json:"alert"`
	} `json:"data"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		check, err := standardwebhooks.NewWebhook(r.secret)
		if err == nil {
			err = check.Verify(b, req.Header)
		}
		h := hook{id: req.Header.Get("webhook-id")}
		if err == nil {
			err = json.Unmarshal(b, &h)
		}
		if err != nil {
			r.bad = err
		}
		r.got = append(r.got, h)
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) hooks(t *testing.T) []hook {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bad != nil {
		t.Fatal(r.bad)
	}
	return append([]hook(nil), r.got...)
}

// webhook makes a channel that leads to a new receiver.
func (w *world) webhook(name string, routes notify.Routes) (*receiver, notify.Channel) {
	w.t.Helper()
	r := newReceiver(w.t)
	c := want[notify.Channel](w, w.do("POST", "/v1/channels", notify.NewChannel{Name: name, Kind: notify.Webhook, URL: r.URL + "/hook?key=hidden", Routes: routes}), http.StatusCreated)
	r.mu.Lock()
	r.secret = c.Secret
	r.mu.Unlock()
	return r, c
}

func newAlertWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.stop()
	w.private = true
	w.open()
	return w
}

// refusedCall is a call in a usage report whose credential the upstream took or not.
func (w *world) answered(toolset, connector, tool string, status int, caller string) registry.UsageCall {
	c := registry.UsageCall{
		Workspace: "default", Toolset: toolset, Tool: tool, Connector: connector, At: w.now().UTC().Truncate(time.Millisecond), Revision: 1,
		Outcome: "tool_error", Cause: "http_401", Credential: "refused", Status: status, CallerKind: "token", Caller: caller,
	}
	if status == 200 {
		c.Outcome, c.Cause, c.Credential = "ok", "", "accepted"
	}
	return c
}

func (w *world) alerts(query string) []alert.Alert {
	w.t.Helper()
	return want[admin.List[alert.Alert]](w, w.do("GET", "/v1/alerts"+query, nil), http.StatusOK).Items
}

// TestRefusedCredential: the first call whose key is refused is an alert that names cause
// and remedy, in the list and at a webhook; more calls add to it, a 403 of one resource is
// none, and a call that is accepted ends it.
func TestRefusedCredential(t *testing.T) {
	w := newAlertWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	e := w.enrolEdge(`{}`)
	r, c := w.webhook("ops", notify.Routes{})
	if !strings.HasPrefix(c.Secret, "whsec_") || strings.Contains(c.Where, "hidden") {
		t.Fatalf("%+v", c)
	}
	seq := uint64(0)
	report := func(calls ...registry.UsageCall) {
		t.Helper()
		seq++
		u := &registry.UsageReport{Epoch: "E", Sequence: seq, Oldest: seq, Minute: w.now().Truncate(time.Minute).Unix(), Posted: w.now(), Calls: calls}
		want[registry.UsageReceipt](w, e.usage(u), http.StatusOK)
	}
	conn := ts.Connectors[0].Name
	// One resource that is forbidden, among calls that work.
	for range 6 {
		report(w.answered(ts.ID, conn, "list_pets", 403, "act_1"), w.answered(ts.ID, conn, "get_pet", 200, "act_1"))
	}
	first := w.answered(ts.ID, conn, "list_pets", 401, "act_1")
	report(first)
	w.until("the alert is delivered", func() bool { return len(r.hooks(t)) == 1 })
	h := r.hooks(t)[0]
	a := h.Data.Alert
	if h.Type != alert.TypeFired || a.Kind != alert.KindAuthFailed || a.State != alert.Firing || a.Severity != "critical" || h.Data.Workspace != "default" {
		t.Errorf("%+v", h)
	}
	d := a.Details
	if d.Toolset != ts.Slug || d.Connector != conn || d.Status != 401 || d.Sent != "X-Api-Key: ••••9f3c" || d.Calls != 1 || d.Callers != 1 || d.FirstCall != "call_13" ||
		d.LastCall != "call_13" || len(d.Tools) != 1 || d.Command != "sluice toolset auth "+ts.Slug+" rotate --api-key-file FILE" ||
		d.Preceded == nil || d.Preceded.Action != "authentication.set" || !strings.Contains(a.Title, ts.Slug) {
		t.Errorf("%+v, preceded by %+v", d, d.Preceded)
	}
	report(w.answered(ts.ID, conn, "get_pet", 401, "act_2"), w.answered(ts.ID, conn, "list_pets", 401, "act_2"))
	w.until("the alert counts on", func() bool {
		l := w.alerts("?open=true")
		return len(l) == 1 && l[0].ID == a.ID && l[0].Details.Calls == 3 && l[0].Details.Callers == 2 && l[0].Details.LastCall == "call_15" && len(l[0].Details.Tools) == 2
	})
	// A restart neither repeats nor forgets.
	w.stop()
	w.open()
	report(w.answered(ts.ID, conn, "get_pet", 200, "act_2"))
	w.until("the end is delivered", func() bool { return len(r.hooks(t)) == 2 })
	if h := r.hooks(t)[1]; h.Type != alert.TypeResolved || h.Data.Alert.ID != a.ID || h.Data.Alert.State != alert.Resolved || h.id == r.hooks(t)[0].id {
		t.Errorf("%+v", h)
	}
	if l := w.alerts("?open=true"); len(l) != 0 {
		t.Errorf("still open: %+v", l)
	}
	var out []notify.Delivery
	w.until("the delivery is recorded", func() bool { // after the receiver has answered
		out = want[admin.List[notify.Delivery]](w, w.do("GET", "/v1/deliveries?channel=ops", nil), http.StatusOK).Items
		return len(out) == 2 && out[0].State != "pending"
	})
	if out[0].State != "delivered" || out[0].Status != 204 || len(out[0].Log) != 1 || out[0].ID != r.hooks(t)[1].id {
		t.Errorf("%+v", out)
	}
}

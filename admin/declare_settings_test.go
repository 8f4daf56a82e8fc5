package admin_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
)

// settled are rules and channels of a plan, each with what becomes of it and what is missing.
func settled(p declare.ImportPlan) (out []string) {
	for _, list := range [][]declare.PlannedSetting{p.AlertRules, p.Channels} {
		for _, s := range list {
			out = append(out, strings.Join(strings.Fields(fmt.Sprint(s.Action, " ", s.Name, " ", s.Toolset, " ", strings.Join(s.Missing, ","))), " "))
		}
	}
	return out
}

// TestRoundTripOfSettings: rules, thresholds of presets and channels without their secrets are
// the same on another server, which names the secrets that it asks for.
func TestRoundTripOfSettings(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.do("POST", "/v1/alert-rules", `{"name":"slow","metric":"latency_p95","threshold":2000,"toolset":"pets"}`)
	w.do("POST", "/v1/alert-rules", `{"name":"busy","metric":"calls","threshold":100,"each":"caller","window":"day"}`)
	w.do("PATCH", "/v1/alert-rules/upstream.slow", `{"threshold":3000}`)
	w.do("PATCH", "/v1/alert-rules/upstream.slow?toolset=pets", `{"enabled":false}`)
	want[notify.Channel](w, w.do("POST", "/v1/channels", notify.NewChannel{
		Name: "ops", Kind: notify.Webhook, URL: "https://hooks.example/in?key=hook-secret-1", Routes: notify.Routes{Kinds: []string{"upstream.*"}, Toolsets: []string{ts.ID}}, Digest: &notify.Digest{Every: "hourly"},
	}), 201)
	want[notify.Channel](w, w.do("POST", "/v1/channels", notify.NewChannel{Name: "chat", Kind: notify.Slack, URL: "https://chat.example/slack-secret-2"}), 201)
	mail := notify.NewChannel{Name: "mail", Kind: notify.Email, Mail: &notify.Mail{Host: "mail.example", Username: "u", From: "a@a.example", To: []string{"b@a.example"}}, Password: "mail-secret-3"}
	want[notify.Channel](w, w.do("POST", "/v1/channels", mail), 201)
	doc, raw := w.export("")
	for _, secret := range []string{"hook-secret", "slack-secret", "mail-secret", "whsec_"} {
		if strings.Contains(raw.body, secret) {
			t.Errorf("the export has %s", secret)
		}
	}
	if len(doc.AlertRules) != 4 || len(doc.Channels) != 3 || doc.AlertRules[1].Name != "slow" || doc.AlertRules[1].Toolset != "pets" || !slices.Equal(doc.Channels[2].Routes.Toolsets, []string{"pets"}) {
		t.Errorf("exported %+v and %+v", doc.AlertRules, doc.Channels)
	}
	if p := w.importing("", doc); p.Changes != 0 {
		t.Errorf("the same changes %+v", p)
	}

	to := newWorld(t)
	wanted := []string{"create busy", "create slow pets", "create upstream.slow", "create upstream.slow pets", "create chat url", "create mail password", "create ops url"}
	if p := to.importing("?dryRun=true", doc); !slices.Equal(settled(p), wanted) || p.Changes != 5 {
		t.Errorf("planned %q, %d changes", settled(p), p.Changes)
	}
	to.importing("", doc)
	if out, _ := to.export(""); len(out.Channels) != 0 || len(out.AlertRules) != 4 {
		t.Errorf("without secrets there are %+v", out.Channels)
	}
	given := doc
	given.Channels = slices.Clone(doc.Channels)
	given.Channels[0].URL = secrets.Wire{Secret: secrets.New("https://chat.example/slack-secret-2")}
	given.Channels[1].Password = secrets.Wire{Secret: secrets.New("mail-secret-3")}
	given.Channels[2].URL = secrets.Wire{Secret: secrets.New("https://hooks.example/in?key=hook-secret-1")}
	editor := bearer(to.withRole("default", store.RoleEditor))
	want[front.Problem](to, to.do("POST", "/v1/import", given, editor...), http.StatusForbidden)
	if p := to.importing("", given); p.Changes != 3 {
		t.Errorf("with secrets %q", settled(p))
	}
	if p := want[declare.ImportPlan](to, to.do("POST", "/v1/import", given, editor...), 200); p.Changes != 0 {
		t.Errorf("the same again changes %+v", p)
	}
	if _, copied := to.export(""); copied.body != raw.body {
		t.Errorf("the copy is\n%s\nnot\n%s", copied.body, raw.body)
	}

	// A password goes to no other server than it was given for.
	given.Channels[1].Password = secrets.Wire{}
	moved := *given.Channels[1].Mail
	moved.Host = "evil.example"
	given.Channels[1].Mail = &moved
	if p := to.importing("", given); p.Changes != 0 || !slices.Contains(settled(p), "update mail password") {
		t.Errorf("another server: %q", settled(p))
	}
	given.Channels[1].Password = secrets.Wire{Secret: secrets.New("mail-secret-4")}
	if p := to.importing("", given); p.Changes != 1 {
		t.Errorf("another server with its password: %q", settled(p))
	}
	given.Channels[2].URL = secrets.Wire{Secret: secrets.New("https://hooks.example/in?key=hook-secret-9")}
	given.Channels[1].Password = secrets.Wire{}
	given.Channels[2].Off = true
	if p := to.importing("", given); p.Changes != 1 || !strings.Contains(fmt.Sprint(p.Channels), "another secret") {
		t.Errorf("another URL: %+v", p.Channels)
	}
	given.Channels, given.AlertRules = []notify.DeclaredChannel{}, given.AlertRules[:1]
	wanted = []string{"none busy", "delete slow pets", "delete upstream.slow", "delete upstream.slow pets", "delete chat", "delete mail", "delete ops"}
	if p := to.importing("?prune=true", given); !slices.Equal(settled(p), wanted) || p.Changes != 6 {
		t.Errorf("pruned %q", settled(p))
	}
	if rest, _ := to.export(""); len(rest.Channels) != 0 || len(rest.AlertRules) != 1 {
		t.Errorf("what is left: %+v, %+v", rest.AlertRules, rest.Channels)
	}
}

// TestImportRefusesSettings: what is wrong with a rule or a channel is said with its place,
// before anything is changed.
func TestImportRefusesSettings(t *testing.T) {
	w := newWorld(t)
	w.create("Pets", "pets.yaml")
	doc, _ := w.export("")
	limit, much := 5.0, 101.0
	f := func(name, pointer string, change func(d *declare.Declaration)) {
		t.Helper()
		d := doc
		change(&d)
		p := want[front.Problem](w, w.do("POST", "/v1/import", d), http.StatusBadRequest)
		if !strings.Contains(fmt.Sprintf("%+v", p), pointer) {
			t.Errorf("%s: %+v, want %s", name, p, pointer)
		}
	}
	rule := func(name, toolset, metric string, threshold *float64) (d alert.DeclaredRule) {
		d.Name, d.Toolset, d.Metric, d.Threshold = name, toolset, metric, threshold
		return d
	}
	rules := func(list ...alert.DeclaredRule) func(d *declare.Declaration) {
		return func(d *declare.Declaration) { d.AlertRules = list }
	}
	f("threshold", "/alertRules/1/threshold", rules(rule("a", "", "calls", &limit), rule("b", "", "error_rate", &much)))
	f("no metric", "/alertRules/0/metric", rules(rule("a", "", "", &limit)))
	f("preset that looks at another thing", "/alertRules/0/metric", rules(rule("upstream.slow", "", "calls", &limit)))
	f("toolset", "/alertRules/0/toolset", rules(rule("a", "none", "calls", &limit)))
	f("twice", "/alertRules/1/name", rules(rule("a", "", "calls", &limit), rule("a", "pets", "calls", &limit)))
	channels := func(list ...notify.DeclaredChannel) func(d *declare.Declaration) {
		return func(d *declare.Declaration) { d.Channels = list }
	}
	f("mail without a server", "/channels/0/mail", channels(notify.DeclaredChannel{Name: "a", Kind: notify.Email}))
	f("channel twice", "/channels/1/name", channels(notify.DeclaredChannel{Name: "a", Kind: notify.Slack}, notify.DeclaredChannel{Name: "a", Kind: notify.Webhook}))
	f("route", "/channels/0/routes/toolsets", channels(notify.DeclaredChannel{Name: "a", Kind: notify.Slack, Routes: notify.Routes{Toolsets: []string{"none"}}}))
	f("no URL", "/channels/0/url", channels(notify.DeclaredChannel{Name: "a", Kind: notify.Slack, URL: secrets.Wire{Secret: secrets.New("ftp://a.example")}}))
}

package golden

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
)

// TestRequests: a case answers the requests of a plugin, its clock stands, and what the
// plugin makes has the effect that its manifest says.
func TestRequests(t *testing.T) {
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	code, err := os.ReadFile("../../testdata/plugins/reach/reach.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	f := func(p *guest.Package, file, want string) {
		t.Helper()
		c, err := Parse("case", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.Load(h, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if r := Run(t.Context(), p, g, c); want == "" && r.Diff != "" || !strings.Contains(r.Diff, want) {
			t.Errorf("%s: %s, want %q", file, r.Diff, want)
		}
	}
	f(p, `{"config":{"url":"https://rates.example/x"},"requests":[{"url":"https://rates.example/x","status":404,"text":"1"}],"input":{},"output":{"answer":{},"status":404,"body":1}}`, "")
	f(p, `{"config":{"url":"https://rates.example/x"},"requests":[{"url":"https://rates.example/y"}],"input":{},"output":{}}`, "has no answer for GET https://rates.example/x")
	f(p, `{"requests":[{"url":"https://rates.example/y"}],"input":{},"output":{"answer":{}}}`, "it does not request https://rates.example/y")
	f(p, `{"config":{"clock":"x"},"input":{},"output":{"answer":{},"seconds":1767225600}}`, "")
	f(p, `{"config":{"clock":"x"},"time":"2026-03-01T12:00:00Z","input":{},"output":{"answer":{},"seconds":1772366400}}`, "")
	f(p, `{"context":{"part":"error"},"input":{"message":"no"},"outputText":"reach says: {\"message\":\"no\"}"}`, "")
	f(p, `{"context":{"part":"arguments"},"config":{"add":"\"b\":2"},"input":{"a":1},"output":{"a":1,"b":2}}`, "")
	m := *p.Manifest
	m.Output = nil
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if p, err = guest.Open(code); err != nil {
		t.Fatal(err)
	}
	f(p, `{"input":{"a":1},"output":{"answer":{"a":1}}}`, `its output is no part of what it got, and its manifest says effect "subset": /answer is a member that did not come`)
	for _, bad := range []string{`{"url":"x"}`, `{"url":"https://a.example","value":1,"text":"x"}`, `{"url":"https://a.example","status":99}`} {
		if _, err := Parse("case", []byte(`{"input":1,"requests":[`+bad+`]}`)); err == nil {
			t.Errorf("%s is a request", bad)
		}
	}
	many := func(n int) error {
		_, err := Parse("case", []byte(`{"input":1,"requests":[{"url":"https://a.example"}`+strings.Repeat(`,{"url":"https://a.example"}`, n-1)+`]}`))
		return err
	}
	if err := many(maxRequests); err != nil {
		t.Error(err)
	}
	if err := many(maxRequests + 1); err == nil {
		t.Errorf("%d requests are taken", maxRequests+1)
	}
}

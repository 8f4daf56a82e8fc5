package call

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/compress"
	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/gateway/metering"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// writers are plugins by name: what they write, or that they fail.
type writers struct {
	write map[string]string
	asked []string
	told  []string // whose output could not be used
}

func (w *writers) Transform(_ context.Context, dst, in []byte, p *snapshot.Plugin, c *guest.Context) ([]byte, error) {
	w.asked = append(w.asked, p.Ref.Name+" "+c.InputType+" "+string(in))
	out, ok := w.write[p.Ref.Name]
	if !ok {
		return dst, errors.New("it fails")
	}
	return append(dst, out...), nil
}

func (w *writers) Check(p *snapshot.Plugin, _ string, check func() error) error {
	err := check()
	if err != nil {
		w.told = append(w.told, p.Ref.Name)
	}
	return err
}

// pluginOf makes a filter that reads types.
func pluginOf(name string, closed bool, types ...string) *snapshot.Plugin {
	m := &manifest.Manifest{Kind: manifest.Filter, Input: &manifest.Input{Types: types}}
	return &snapshot.Plugin{Ref: &registry.PluginRef{Name: name}, Package: &guest.Package{Manifest: m}, Closed: closed, Redacts: closed}
}

// TestFilter: each plugin gets what the one before left, as long as it reads that; what one that is
// closed does not read, or fails on, is shown to nobody, and an open one leaves the piece as it was.
func TestFilter(t *testing.T) {
	const text, document = "text/plain", manifest.TypeJSON
	open, closed := pluginOf("open", false, text, document), pluginOf("closed", true, text, document)
	onlyJSON, onlyJSONClosed := pluginOf("json", false, document), pluginOf("mask", true, document)
	toText := pluginOf("totext", false, document)
	toText.Package.Manifest.Output = &manifest.Output{Effect: manifest.EffectText}
	noErrors := pluginOf("noerrors", true, text)
	no := false
	noErrors.Package.Manifest.Input.Errors = &no
	for name, c := range map[string]struct {
		plugins     []*snapshot.Plugin
		is, part    string
		write       map[string]string
		out, become string
		withheld    bool
		asked, told string
	}{
		"none":                          {nil, text, partAnswer, nil, "piece", text, false, "", ""},
		"one":                           {[]*snapshot.Plugin{open}, text, partAnswer, map[string]string{"open": "left"}, "left", text, false, "open text/plain piece", ""},
		"one behind the other":          {[]*snapshot.Plugin{open, closed}, text, partAnswer, map[string]string{"open": "left", "closed": "less"}, "less", text, false, "open text/plain piece, closed text/plain left", ""},
		"an open one fails":             {[]*snapshot.Plugin{open, closed}, text, partAnswer, map[string]string{"closed": "less"}, "less", text, false, "open text/plain piece, closed text/plain piece", ""},
		"a closed one fails":            {[]*snapshot.Plugin{closed, open}, text, partAnswer, map[string]string{"open": "left"}, "", "", true, "closed text/plain piece", ""},
		"an open one does not read it":  {[]*snapshot.Plugin{onlyJSON, open}, text, partAnswer, map[string]string{"open": "left"}, "left", text, false, "open text/plain piece", ""},
		"a closed one does not read it": {[]*snapshot.Plugin{onlyJSONClosed, open}, text, partAnswer, map[string]string{"open": "left"}, "", "", true, "", ""},
		"beside the answer":             {[]*snapshot.Plugin{open, closed}, text, partMetadata, map[string]string{"open": "left", "closed": "less"}, "less", text, false, "closed text/plain piece", ""},
		"errors that it does not read":  {[]*snapshot.Plugin{noErrors}, text, partError, map[string]string{"noerrors": "left"}, "", "", true, "", ""},
		"a document made a text":        {[]*snapshot.Plugin{toText, open}, document, partAnswer, map[string]string{"totext": "words", "open": "fewer"}, "fewer", media.TypeText, false, "totext application/json piece, open text/plain words", ""},
		"a document that is none":       {[]*snapshot.Plugin{open}, document, partAnswer, map[string]string{"open": "{"}, "piece", document, false, "open application/json piece", "open"},
		"of a closed one":               {[]*snapshot.Plugin{closed}, document, partAnswer, map[string]string{"closed": "{"}, "", "", true, "closed application/json piece", "closed"},
	} {
		w := &writers{write: c.write}
		x := exchangeOf(t, nil)
		x.c.plugins, x.ready.Answer, x.ready.Plugins = w, &answer.Plan{}, c.plugins
		out, become, err := x.render(received{}).filter([]byte("piece"), c.is, c.part)
		if string(out) != c.out || become != c.become || (err != nil) != c.withheld || err != nil && !problem.Is(err, problem.InvalidPlugin) {
			t.Errorf("%s: %q %q, %v; want %q %q", name, out, become, err, c.out, c.become)
		}
		if got := strings.Join(w.asked, ", "); got != c.asked || strings.Join(w.told, ", ") != c.told {
			t.Errorf("%s: asked %q, told %q; want %q, %q", name, got, w.told, c.asked, c.told)
		}
	}
	// Settings that redact name members of documents: of everything else nothing is shown.
	x := exchangeOf(t, nil)
	x.ready.Answer = &answer.Plan{Redact: true}
	if out, _, err := x.render(received{}).filter([]byte("piece"), text, partAnswer); err == nil || out != nil {
		t.Errorf("beside settings that redact: %q, %v", out, err)
	}
	if out, _, err := x.render(received{}).filterFile([]byte("file"), "image/png"); err == nil || out != nil {
		t.Errorf("a file beside settings that redact: %q, %v", out, err)
	}
	a := x.render(received{})
	a.text = []byte("piece")
	if err := a.filterText(text); err == nil || a.text != nil {
		t.Errorf("a text beside settings that redact: %q, %v", a.text, err)
	}
	x.ready.Answer = &answer.Plan{}
	a = x.render(received{})
	a.text = []byte("piece")
	if err := a.filterText(text); err != nil || string(a.text) != "piece" {
		t.Errorf("a text: %q, %v", a.text, err)
	}
	if out, shown, err := x.render(received{}).filterFile([]byte("file"), "image/png"); string(out) != "file" || shown != "image/png" || err != nil {
		t.Errorf("a file: %q %q, %v", out, shown, err)
	}
	// A node without plugins fails as the binding says.
	for p, withheld := range map[*snapshot.Plugin]bool{open: false, closed: true} {
		x := exchangeOf(t, nil)
		x.ready.Answer, x.ready.Plugins = &answer.Plan{}, []*snapshot.Plugin{p}
		if out, _, err := x.render(received{}).filter([]byte("piece"), text, partAnswer); (err != nil) != withheld || !withheld && string(out) != "piece" {
			t.Errorf("%s without plugins: %q, %v", p.Ref.Name, out, err)
		}
	}
}

// TestReadsText: text of an MCP server that is not a document is looked at where a plugin reads it.
func TestReadsText(t *testing.T) {
	for _, c := range []struct {
		plugins []*snapshot.Plugin
		want    bool
	}{{nil, false}, {[]*snapshot.Plugin{pluginOf("a", false, manifest.TypeJSON)}, false}, {[]*snapshot.Plugin{pluginOf("a", false, manifest.TypeJSON), pluginOf("b", false, "text/*")}, true}} {
		x := exchangeOf(t, nil)
		x.ready.Plugins = c.plugins
		if got := x.readsText(); got != c.want {
			t.Errorf("%d plugins: %v", len(c.plugins), got)
		}
	}
}

// TestShareOfABatch: an answer that fits its share is whole, at the bound too, and one more token
// cuts it; without a budget none is cut.
func TestShareOfABatch(t *testing.T) {
	text := strings.Repeat("word ", 400)
	for _, c := range []struct {
		share, tokens int
		failed        bool
		whole         bool
	}{{0, 100, false, true}, {100, 100, false, true}, {100, 99, true, true}, {100, 101, true, false}} {
		x := exchangeOf(t, nil)
		b := &batchAnswer{text: []byte(text), tokens: c.tokens, format: compress.JSON, call: &batchCall{}}
		if c.failed {
			b.call.result.Error = text
		}
		out, err := x.render(received{}).appendShare([]byte("> "), b, c.share)
		if err != nil || (string(out) == "> "+text) != c.whole || len(out) > len(text)+2 {
			t.Errorf("%+v: %d of %d bytes, %v", c, len(out), len(text)+2, err)
		}
	}
}

// TestShadowThatPanics: a candidate that ends in a panic is skipped, reported, and takes nothing
// with it.
func TestShadowThatPanics(t *testing.T) {
	meter := metering.New()
	s := newShadow(&Options{}, slog.New(slog.DiscardHandler))
	defer s.close()
	s.compare(&shadowCall{trial: &snapshot.Trial{Meter: meter.Trial(metering.TrialID{Workspace: "acme", Toolset: "ts_1", Trial: "1"})}}) // there is no candidate
	if u := meter.Drain(); len(u.Trials) != 1 || u.Trials[0].Skipped != 1 || u.Trials[0].Missing != 0 || u.Trials[0].Candidate.Calls != 0 {
		t.Errorf("%+v", u.Trials)
	}
}

// TestPluginsOfADocument: a document that a closed plugin does not read is withheld, one that an
// open one does not read goes on as it is.
func TestPluginsOfADocument(t *testing.T) {
	for _, closed := range []bool{true, false} {
		w := &writers{write: map[string]string{"words": "left", "json": `{"a":2}`}}
		x := exchangeOf(t, nil)
		x.c.plugins, x.ready.Answer = w, &answer.Plan{}
		x.ready.Plugins = []*snapshot.Plugin{pluginOf("words", closed, "text/*"), pluginOf("json", false, manifest.TypeJSON)}
		a := x.render(received{})
		a.isJSON, a.small = true, []byte(`{"a":1}`)
		err := a.plugins()
		if closed && (!problem.Is(err, problem.InvalidPlugin) || len(w.asked) != 0) || !closed && (err != nil || string(a.small) != `{"a":2}` || len(w.asked) != 1) {
			t.Errorf("closed %v: %s, %v, asked %q", closed, a.small, err, w.asked)
		}
	}
}

// TestRepeatedArguments: headers that repeat arguments for an MCP server have those of this call
// only, also in an exchange that was used before.
func TestRepeatedArguments(t *testing.T) {
	x := exchangeOf(t, nil)
	x.ready.MCP = &snapshot.MCP{Tool: "t", Headers: []mcp.HeaderParam{{Header: "Mcp-Param-Who", Path: []string{"who"}}, {Header: "Mcp-Param-Id", Path: []string{"a", "id"}}}}
	for _, c := range []struct{ args, want string }{
		{`{"who":"ann","a":{"id":7}}`, "[Mcp-Param-Who: ann] [Mcp-Param-Id: 7]"},
		{`{"who":null,"a":{"id":8}}`, "[Mcp-Param-Id: 8]"},
		{`{"who":"bob","a":7}`, "[Mcp-Param-Who: bob]"},
		{`{"a":{"id":null}}`, ""},
		{`{"who":""}`, "[Mcp-Param-Who: ]"},
	} {
		x.prepareMCP(jsonscan.Trusted([]byte(c.args)))
		var got []string
		for _, h := range x.call.Headers {
			got = append(got, "["+h.Name+": "+string(h.Value)+"]")
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
}

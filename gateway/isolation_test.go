package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/plugin"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/registry"
)

// keepPlugin is the plugin that tells what it saw at its last call, as one of a kind.
func keepPlugin(t testing.TB, kind manifest.Kind) *guest.Package {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/keep/keep.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m := manifest.Manifest{FormatVersion: 1, Kind: kind, Name: "keep", Version: "1.0.0"}
	switch kind {
	case manifest.Projection:
		m.Output = &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"type":"object"}`)}
	case manifest.Auth:
		m.Capabilities = &manifest.Capabilities{Signing: &manifest.Signing{Algorithm: "hmac-sha256"}}
	case manifest.Workflow:
		m.Tool = &manifest.OfferedTool{Name: "keep", Description: "Keeps.", InputSchema: json.RawMessage(`{"type":"object"}`)}
		m.Capabilities = &manifest.Capabilities{Tools: []string{"item"}}
	}
	if kind == manifest.Filter || kind == manifest.Projection {
		m.Output = &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{}`)}
	}
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	return open(t, code)
}

// seen finds the id that the plugin saw at its last call, in an answer or a header.
var seen = regexp.MustCompile(`was"?:"?(?:\{"id":(\d+))?`)

// TestPluginServesOneCaller: a plugin of any kind that gives away what it saw at its
// last call gives it to nobody else: not to another toolset, and not to
// another token of the same one.
func TestPluginServesOneCaller(t *testing.T) {
	for _, kind := range []manifest.Kind{manifest.Filter, manifest.Projection, manifest.Auth, manifest.Workflow} {
		for _, callers := range [][]string{{"one ada", "two ada", "one bob", "two bob"}, {"one", "two"}} {
			t.Run(string(kind)+"/"+strconv.Itoa(len(callers)), func(t *testing.T) { servesOne(t, kind, callers) })
		}
	}
}

// servesOne calls toolsets one and two in turn, by their tokens or without.
func servesOne(t *testing.T, kind manifest.Kind, callers []string) {
	h, err := extism.New(extism.Options{Functions: guest.Functions(), Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := start(t, gatewaytest.Options{Plugins: r, CacheBytes: -1})
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		upstreamtest.JSON(200, `{"id": `+q.PathValue("id")+`}`).ServeHTTP(w, q)
	}))
	keep := keepPlugin(t, kind)
	var all []snapshot.ToolsetInput
	for _, slug := range []string{"one", "two"} {
		c, err := gatewaytest.Connector("acme", up.URL, getItem())
		if err != nil {
			t.Fatal(err)
		}
		ref := refTo(keep)
		if kind == manifest.Workflow {
			ref.Calls = []registry.CalledTool{{Name: "item", Connector: "api", Method: "GET", Path: "/items/{id}"}}
		}
		in := gatewaytest.Toolset(slug, 1, c, func(ts *registry.Toolset) { ts.Plugins = []registry.PluginRef{ref} })
		in.Plugins = []*guest.Package{keep}
		if len(callers) > 2 {
			doc := tokens(tokenGrant("ada"+slug), tokenGrant("bob"+slug))
			doc.Workspace, doc.Toolset = "test", in.ID
			b, err := doc.Encode()
			if err != nil {
				t.Fatal(err)
			}
			in.Access, in.AccessDigest = doc, registry.DigestOf(b)
		}
		all = append(all, in)
	}
	if err := s.Serve(all...); err != nil {
		t.Fatal(err)
	}
	tool := "get_item"
	if kind == manifest.Workflow {
		tool = "keep"
	}
	// What the plugin gave away at a call: the answer, or the header of the request.
	call := func(slug, who string, id int) string {
		t.Helper()
		up.Forget()
		status, got := post(t, s.URL(slug), callBody(tool, fmt.Sprintf(`{"id":%d}`, id)), "Authorization", "Bearer slt_"+who+slug)
		if status != 200 || strings.Contains(got, `"isError":true`) {
			t.Fatalf("%s of %s: %d %s", who, slug, status, got)
		}
		if kind == manifest.Auth {
			return up.Requests()[0].Header.Get("X-Was")
		}
		return got
	}
	remembered := false
	for round := range 4 {
		for i, who := range callers {
			slug, name, _ := strings.Cut(who, " ")
			got := call(slug, name, 100*(i+1)+round)
			saw := seen.FindStringSubmatch(strings.ReplaceAll(got, `\`, ""))
			switch own := strconv.Itoa(100*(i+1) + round - 1); {
			case saw == nil:
				t.Fatalf("%s: %s", who, got)
			case saw[1] == own && round > 0:
				remembered = true
			case saw[1] != "":
				t.Errorf("%s in round %d saw the call of another: %s", who, round, got)
			}
		}
	}
	if !remembered {
		t.Error("the plugin remembers nothing: this test proves nothing")
	}
}

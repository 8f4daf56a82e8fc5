package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
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

// maskPlugin is the C plugin of plugins/guest: it masks e-mail addresses.
func maskPlugin(t testing.TB) *guest.Package {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/mask/mask.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return open(t, code)
}

// trapPlugin crashes on every answer.
func trapPlugin(t testing.TB) *guest.Package {
	t.Helper()
	code := []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x16\x01\x12transform_response\x00\x00\x0a\x05\x01\x03\x00\x00\x0b")
	m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: "trap", Version: "1"}
	code, err := module.AppendCustom(nil, code, manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, code)
}

func open(t testing.TB, code []byte) *guest.Package {
	t.Helper()
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func refTo(p *guest.Package) registry.PluginRef {
	d := registry.Digest(p.Digest)
	return registry.PluginRef{Name: p.Manifest.Name, Version: p.Manifest.Version, Repository: "test/plugins/x", Manifest: d, Digest: d}
}

// withPlugins starts a gateway that serves two operations with these plugins.
func withPlugins(t testing.TB, now func() time.Time, refs []registry.PluginRef, packages ...*guest.Package) *gatewaytest.Stack {
	t.Helper()
	h, err := extism.New(extism.Options{Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r, err := plugin.New(plugin.Options{Host: h, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := start(t, gatewaytest.Options{Plugins: r})
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id": 1, "mail": "ada@example.com"}`))
	up.Handle("GET /text", upstreamtest.Text(200, "text/plain", "mail ada@example.com"))
	c, err := gatewaytest.Connector("acme", up.URL, getItem(), gatewaytest.Operation("text", "GET", "/text"))
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) { ts.Plugins = refs })
	in.Plugins = packages
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlugins: the plugins of a tool run in their order on what they read, those of
// others do not, and the trace names them.
func TestPlugins(t *testing.T) {
	mask := maskPlugin(t)
	all, one, other := refTo(mask), refTo(mask), refTo(mask)
	one.Connector, one.Method, one.Path, one.Config = "api", "GET", "/items/{id}", json.RawMessage(`{"mask":"first"}`)
	other.Connector, other.Method, other.Path, other.Config = "api", "GET", "/text", json.RawMessage(`{"mask":"other"}`)
	s := withPlugins(t, nil, []registry.PluginRef{one, all, other}, mask, mask, mask)
	f := func(tool, args, want string) {
		t.Helper()
		for range 2 {
			status, got := post(t, s.URL("acme"), callBody(tool, args))
			if status != 200 || !strings.Contains(got, want) || strings.Contains(got, `"isError":true`) {
				t.Fatalf("%d %s, want %s", status, got, want)
			}
		}
	}
	f("get_item", `{"id":1}`, `***@example.com`)
	f("text", `{}`, `mail ***@example.com`)
	traced := strings.Replace(callBody("get_item", `{"id":1}`), `"arguments"`, `"_meta":{"dev.sluice/trace":true},"arguments"`, 1)
	_, got := post(t, s.URL("acme"), traced)
	if shape := regexp.MustCompile(`"ms":[0-9.]+`).ReplaceAllString(got, `"ms":0`); !strings.Contains(shape,
		`"plugins":[{"name":"mask","version":"0.1.0","digest":"`+mask.Digest+`","ms":0,"bytesIn":33,"bytes":35,"failed":false},{"name":"mask"`) {
		t.Errorf("trace: %s", got)
	}
}

// TestPluginFails: the answer goes on as it was, or is withheld, as the binding says;
// where it says nothing, as the kind of the plugin is.
func TestPluginFails(t *testing.T) {
	trap, no := trapPlugin(t), false
	shapes := *trap
	shapes.Manifest = &manifest.Manifest{Kind: manifest.Projection, Name: "trap", Version: "1"}
	says := *trap
	says.Manifest = &manifest.Manifest{Kind: manifest.Filter, Name: "trap", Version: "1", Output: &manifest.Output{Effect: manifest.EffectSubset, Redacts: &no}}
	for _, c := range []struct {
		onError string
		pkg     *guest.Package
		closed  bool
	}{
		{"", trap, true},
		{registry.OnErrorPass, trap, false},
		{registry.OnErrorFail, trap, true},
		{"", &shapes, false},
		{registry.OnErrorFail, &shapes, true},
		{"", &says, false},
	} {
		ref := refTo(c.pkg)
		ref.OnError = c.onError
		s := withPlugins(t, nil, []registry.PluginRef{ref}, c.pkg)
		_, got := post(t, s.URL("acme"), callBody("get_item", `{"id":1}`))
		withheld := strings.Contains(got, `"isError":true`) && strings.Contains(got, "withheld") && !strings.Contains(got, "ada@")
		if c.closed != withheld || !withheld && !strings.Contains(got, "ada@example.com") {
			t.Errorf("%s %q: %s", c.pkg.Manifest.Kind, c.onError, got)
		}
	}
}

// TestPluginIsUnbound: one that keeps failing is left out, and tried again later.
func TestPluginIsUnbound(t *testing.T) {
	var clock time.Duration
	base := time.Now()
	now := func() time.Time { return base.Add(clock) }
	h, err := extism.New(extism.Options{Grace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	r, err := plugin.New(plugin.Options{Host: h, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	trap := trapPlugin(t)
	ref := refTo(trap)
	bound := bind(t, ref, trap)
	try := func() string {
		_, err := r.Transform(t.Context(), nil, []byte("{}"), bound, &guest.Context{})
		return fmt.Sprint(err)
	}
	for n := range 11 {
		if got := try(); !strings.Contains(got, "crashed") {
			t.Fatalf("call %d: %s", n, got)
		}
	}
	if got := try(); got != plugin.ErrUnbound.Error() {
		t.Fatalf("after 11 failures: %s", got)
	}
	clock = plugin.Unbound - time.Second
	if got := try(); got != plugin.ErrUnbound.Error() {
		t.Fatalf("too early: %s", got)
	}
	clock = plugin.Unbound
	if got := try(); !strings.Contains(got, "crashed") {
		t.Fatalf("after the pause: %s", got)
	}
}

// bind makes the binding of a plugin as a snapshot does.
func bind(t testing.TB, ref registry.PluginRef, p *guest.Package) *snapshot.Plugin {
	t.Helper()
	c, err := gatewaytest.Connector("acme", "http://127.0.0.1:1", getItem())
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) { ts.Plugins = []registry.PluginRef{ref} })
	in.Plugins = []*guest.Package{p}
	s, err := snapshot.Compile(snapshot.Input{Toolsets: []snapshot.ToolsetInput{in}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Slug("acme").Tools()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := tools[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	return ready.Plugins[0]
}

// TestPluginOnServerAnswers: the plugins of a tool of an MCP server run on JSON in text
// and on structuredContent: what one takes out is in neither.
func TestPluginOnServerAnswers(t *testing.T) {
	mask := maskPlugin(t)
	h, err := extism.New(extism.Options{Grace: 10 * time.Second})
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
	s, u := start(t, gatewaytest.Options{Plugins: r}), newUpstreamServer(t, true)
	c, err := gatewaytest.MCPConnector("up", u.URL+"/mcp", anyTool)
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{registry.ProfileOff, registry.ProfileLossless, registry.ProfileConcise} {
		in := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) { ts.Profile, ts.Plugins = profile, []registry.PluginRef{refTo(mask)} })
		in.Plugins, in.Digest = []*guest.Package{mask}, registry.DigestOf([]byte(profile))
		if err := s.Serve(in); err != nil {
			t.Fatal(err)
		}
		u.answer("do.it", `"result":{"content":[{"type":"text","text":"{\"mail\":\"ada@example.com\"}"}],"structuredContent":{"mail":"ada@example.com"}}`)
		_, got := callRaw(t, s, false, "do_it", "")
		if strings.Contains(got, "ada@") || !strings.Contains(got, "***@example.com") {
			t.Errorf("%s: %s", profile, got)
		}
	}
}

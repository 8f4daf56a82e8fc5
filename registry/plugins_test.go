package registry

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPluginRefs(t *testing.T) {
	good := PluginRef{
		Name: "mask", Version: "1", Repository: "acme/plugins/mask", Manifest: DigestOf([]byte("m")), Digest: DigestOf([]byte("d")),
		Connector: "things", Method: "GET", Path: "/things", Config: json.RawMessage(`{"mask":"x"}`), OnError: OnErrorFail,
	}
	f := func(pointer string, change func(*PluginRef)) {
		t.Helper()
		p := good
		change(&p)
		faults := &faults{}
		(&Toolset{Plugins: []PluginRef{p}}).validatePlugins(faults, map[string]bool{"things": true})
		err := faults.err("x")
		if pointer == "" != (err == nil) || err != nil && err.(interface{ Error() string }).Error() == "" {
			t.Fatalf("%s: %v", pointer, err)
		}
		if err != nil && !strings.Contains(err.Error(), pointer) {
			t.Errorf("got %v, want a fault at %s", err, pointer)
		}
	}
	f("", func(*PluginRef) {})
	f("", func(p *PluginRef) { p.Connector, p.Method, p.Path, p.Config, p.OnError = "", "", "", nil, "" })
	f("name", func(p *PluginRef) { p.Name = "Mask" })
	f("connector", func(p *PluginRef) { p.Connector = "other" })
	f("an operation is", func(p *PluginRef) { p.Method = "" })
	f("an operation is", func(p *PluginRef) { p.Connector = "" })
	f("digest", func(p *PluginRef) { p.Digest = "x" })
	f("object", func(p *PluginRef) { p.Config = json.RawMessage(`[]`) })
	f("neither", func(p *PluginRef) { p.OnError = "maybe" })
	config := func(n int) json.RawMessage { return json.RawMessage(`{"a":"` + strings.Repeat("x", n-8) + `"}`) }
	f("", func(p *PluginRef) { p.Config = config(MaxPluginConfig) })
	f("more than", func(p *PluginRef) { p.Config = config(MaxPluginConfig + 1) })
	flow := func(change func(*PluginRef, *CalledTool)) func(*PluginRef) {
		return func(p *PluginRef) {
			c := CalledTool{Name: "list", Connector: "things", Method: "GET", Path: "/things"}
			p.Connector, p.Method, p.Path = "", "", ""
			change(p, &c)
			p.Calls = append(p.Calls, c)
		}
	}
	f("", flow(func(*PluginRef, *CalledTool) {}))
	f("as a whole", flow(func(p *PluginRef, _ *CalledTool) { p.Connector = "things" }))
	f("name of a tool", flow(func(_ *PluginRef, c *CalledTool) { c.Name = "1" }))
	f("named twice", flow(func(p *PluginRef, c *CalledTool) { p.Calls = []CalledTool{*c} }))
	f("no connector", flow(func(_ *PluginRef, c *CalledTool) { c.Connector = "other" }))
	f("upper-case", flow(func(_ *PluginRef, c *CalledTool) { c.Method = "get" }))
	f("not a path", flow(func(_ *PluginRef, c *CalledTool) { c.Path = "things" }))
	f("more than 64", flow(func(p *PluginRef, _ *CalledTool) { p.Calls = make([]CalledTool, 64) }))
	named := func(o OfferedTool) func(*PluginRef) {
		return flow(func(p *PluginRef, _ *CalledTool) { p.Tool = &o })
	}
	text := func(n int) *string { s := strings.Repeat("x", n); return &s }
	f("", named(OfferedTool{text(64), text(MaxNameRunes), text(MaxDescriptionRunes)}))
	f("tool name", named(OfferedTool{Name: text(65)}))
	f("/plugins/0/tool/title", named(OfferedTool{Title: text(MaxNameRunes + 1)}))
	f("/plugins/0/tool/description", named(OfferedTool{Description: text(MaxDescriptionRunes + 1)}))
	f("not a workflow", func(p *PluginRef) { p.Tool = &OfferedTool{Name: text(1)} })
	many := &faults{}
	(&Toolset{Plugins: make([]PluginRef, MaxPlugins+1)}).validatePlugins(many, nil)
	if err := many.err("x"); err == nil || !strings.Contains(err.Error(), "65 plugins") {
		t.Errorf("one plugin more than MaxPlugins: %v", err)
	}

	for _, c := range []struct {
		ref                     PluginRef
		connector, method, path string
		want                    bool
	}{
		{PluginRef{}, "a", "GET", "/", true},
		{PluginRef{Connector: "a"}, "a", "GET", "/", true},
		{PluginRef{Connector: "a"}, "b", "GET", "/", false},
		{good, "things", "GET", "/things", true},
		{good, "things", "POST", "/things", false},
		{good, "things", "GET", "/other", false},
	} {
		if got := c.ref.Applies(c.connector, c.method, c.path); got != c.want {
			t.Errorf("%+v applies to %s %s %s: %v", c.ref, c.connector, c.method, c.path, got)
		}
	}
}

package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// script plays plugins by their names and keeps what they got. What plugins really
// do is tested with the sandbox in package gateway.
type script struct {
	make    map[string]string // output; absent: the input
	got     map[string]string
	refused int
}

var errBroken = errors.New("broken")

func (s *script) Transform(_ context.Context, dst, in []byte, p *snapshot.Plugin, _ *guest.Context) ([]byte, error) {
	s.got[p.Ref.Name] = string(in)
	switch out, ok := s.make[p.Ref.Name]; {
	case out == "!":
		return dst, errBroken
	case ok:
		return append(dst, out...), nil
	}
	return append(dst, in...), nil
}

func (s *script) Check(_ *snapshot.Plugin, _ string, check func() error) error {
	err := check()
	if err != nil {
		s.refused++
	}
	return err
}

// withPlugins serves the list of pets with plugins of these effects.
func withPlugins(t *testing.T, s *script, answers *registry.Answers, effects ...*manifest.Output) (*world, *snapshot.Tool) {
	t.Helper()
	stack, err := gatewaytest.New(gatewaytest.Options{CacheBytes: -1, Plugins: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stack.Stop() })
	w := &world{t: t, up: upstreamtest.New(t), s: stack}
	w.up.Handle("/", upstreamtest.JSON(200, pets(1)))
	op := petOperation()
	c, err := gatewaytest.Connector("acme", w.up.URL, op)
	if err != nil {
		t.Fatal(err)
	}
	in := gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Answers = answers
		for i := range effects {
			d := registry.DigestOf([]byte{byte(i)})
			b.Plugins = append(b.Plugins, registry.PluginRef{Name: string(rune('a' + i)), Version: "1.0.0", Repository: "x/plugins/x", Manifest: d, Digest: d})
		}
	})
	for i, o := range effects {
		in.Plugins = append(in.Plugins, &guest.Package{
			Digest: string(registry.DigestOf([]byte{byte(i)})), Manifest: &manifest.Manifest{Kind: manifest.Projection, Name: string(rune('a' + i)), Output: o},
		})
	}
	in.Digest = ""
	if in.Programs, err = in.Bundle.CompilePrograms(); err != nil {
		t.Fatal(err)
	}
	if err := stack.Serve(in); err != nil {
		t.Fatal(err)
	}
	return w, w.tool(op.Name)
}

func concise() *registry.Answers {
	return &registry.Answers{Format: registry.FormatJSON, Structured: true}
}

// TestPluginEffectOnFields: the caller's fields come behind the plugins, which see
// what they decide by.
func TestPluginEffectOnFields(t *testing.T) {
	f := func(out, args, got, want string, effects ...*manifest.Output) {
		t.Helper()
		s := &script{make: map[string]string{}, got: map[string]string{}}
		if out != "" {
			s.make["a"] = out
		}
		w, tool := withPlugins(t, s, concise(), effects...)
		if text := w.text(tool, args); text != want || s.got["a"] != got {
			t.Errorf("%s: the plugin got %s and the agent %s; want %s and %s", args, s.got["a"], text, got, want)
		}
	}
	all, small := minified(t, pets(1)), `{"items":[{"id":0,"name":"pet number 0","owner":{"login":"user0"}}],"total":1}`
	f("", `{}`, small, small, nil)
	f("", `{"fields":"items.id"}`, all, `{"items":[{"id":0}]}`, nil)
	f("", `{"fields":"items.id"}`, all, `{"items":[{"id":0}]}`, &manifest.Output{Effect: manifest.EffectSubset})
	f("!", `{"fields":"items.id"}`, all, `{"items":[{"id":0}]}`, nil)
	own := &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer"},"names":{"type":"array","items":{"type":"string"}}}}`)}
	f(`{"count":1,"names":["x"]}`, `{}`, small, `{"count":1,"names":["x"]}`, own)
	f(`{"count":1,"names":["x"]}`, `{"fields":"count"}`, small, `{"count":1}`, own)
	f(`one pet`, `{"fields":"items.id"}`, `{"items":[{"id":0}]}`, `one pet`, &manifest.Output{Effect: manifest.EffectText})

	s := &script{got: map[string]string{}}
	w, tool := withPlugins(t, s, concise(), own)
	if said := w.failure(tool, `{"fields":"items"}`); !strings.Contains(said, `unknown field "items"`) {
		t.Errorf("a field that the plugin's schema does not have: %s", said)
	}
	// What is not JSON is the plugin's fault.
	s = &script{make: map[string]string{"a": "oops"}, got: map[string]string{}}
	w, tool = withPlugins(t, s, concise(), nil)
	if text := w.text(tool, `{}`); text != small || s.refused != 1 {
		t.Errorf("%s, refused %d", text, s.refused)
	}
}

// TestPluginEffectOnSchema: the output schema is true of what plugins leave.
func TestPluginEffectOnSchema(t *testing.T) {
	f := func(want string, effects ...*manifest.Output) {
		t.Helper()
		w, tool := withPlugins(t, &script{got: map[string]string{}}, concise(), effects...)
		list := w.list()
		_, schema, found := strings.Cut(list, `"outputSchema":`)
		if found != (want != "") || !strings.HasPrefix(schema, want) {
			t.Errorf("output schema %s; want %s", schema, want)
		}
		if r := w.call(tool, "{}", call.CallOptions{}); (r.StructuredContent != nil) != found {
			t.Errorf("structured content %s beside the schema %s", r.StructuredContent, schema)
		}
	}
	f(strings.NewReplacer(`,"avatar_url":{"type":["string","null"]}`, "").Replace(petSchema), nil)
	schema := json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":1,"items":{"type":"object","required":["b"]}}}}`)
	replace := &manifest.Output{Effect: manifest.EffectReplace, Schema: schema}
	f(string(schema), replace)
	f(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}`, replace, nil)
	f(string(schema), nil, replace)
	f("", replace, &manifest.Output{Effect: manifest.EffectText})
	list := &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"type":"array","items":{"type":"object","required":["b"]}}`)}
	f(`{"type":"object","properties":{"result":{"type":"array","items":{"type":"object","required":["b"]}}},"required":["result"]}`, list)
	f(`{"type":"object","properties":{"result":{"type":"array","items":{"type":"object"}}},"required":["result"]}`, list, nil)
}

// TestPluginRedactsHeaders: a plugin that redacts sees the headers that are told, and
// what it leaves of them is what the agent reads.
func TestPluginRedactsHeaders(t *testing.T) {
	yes := true
	redacts := &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{}`), Redacts: &yes} // it answers the same to every part
	f := func(out, want string) {
		t.Helper()
		s := &script{make: map[string]string{"a": out}, got: map[string]string{}}
		w, tool := withPlugins(t, s, nil, redacts)
		w.up.Handle("/list", answerWith(200, `{"id":7}`, "Content-Type", "application/json", "X-Total-Count", "secret-5"))
		r := w.call(tool, `{}`, call.CallOptions{})
		all := strings.Join(texts(r), "\n")
		if s.got["a"] != `{"X-Total-Count":"secret-5"}` {
			t.Errorf("the plugin got %q last", s.got["a"])
		}
		if strings.Contains(all, "secret") || strings.Contains(all, "[headers: ") != (want != "") || !strings.Contains(all, want) {
			t.Errorf("%s: the agent got %q, want %q", out, all, want)
		}
	}
	f(`{"X-Total-Count":"hidden"}`, "[headers: X-Total-Count: hidden]")
	f(`{}`, "")
}

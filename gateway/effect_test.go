package gateway_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/registry"
)

// reachPlugin is the plugin of the tests that transforms answers, errors and arguments,
// with another manifest.
func reachPlugin(t testing.TB, change func(*manifest.Manifest)) *guest.Package {
	t.Helper()
	code, err := os.ReadFile("../testdata/plugins/reach/reach.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m := *open(t, code).Manifest
	m.Capabilities, m.Limits = nil, nil
	change(&m)
	if code, err = module.AppendCustom(nil, code, manifest.Section, m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	return open(t, code)
}

// TestEffects: what a plugin makes of an answer has the effect that its manifest says, or
// it failed.
func TestEffects(t *testing.T) {
	f := func(output *manifest.Output, onError, want string) {
		t.Helper()
		p := reachPlugin(t, func(m *manifest.Manifest) { m.Output = output })
		ref := refTo(p)
		ref.OnError = onError
		s := withPlugins(t, nil, []registry.PluginRef{ref}, p)
		_, got := post(t, s.URL("acme"), strings.Replace(callBody("get_item", `{"id":1}`), `"arguments"`, `"_meta":{"dev.sluice/trace":true},"arguments"`, 1))
		if !strings.Contains(got, want) {
			t.Errorf("%+v: %s, want %s", output, got, want)
		}
	}
	no := false
	f(&manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"required":["answer"]}`)}, "", `{\"answer\":{\"id\":1`)
	f(&manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"required":["other"]}`)}, "", `withheld`)
	f(&manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{"required":["other"]}`), Redacts: &no}, "", `its output does not follow its schema`)
	f(&manifest.Output{Effect: manifest.EffectSubset}, "", `withheld`)
	f(&manifest.Output{Effect: manifest.EffectSubset}, registry.OnErrorPass, `{\"id\":1,\"mail\":`)
	f(&manifest.Output{Effect: manifest.EffectSubset}, registry.OnErrorPass, `/answer is a member that did not come`)
}

// TestTransformArguments: a plugin changes arguments before the request is built, and what
// it makes is checked again; errors go through its function for them.
func TestTransformArguments(t *testing.T) {
	p := reachPlugin(t, func(m *manifest.Manifest) {
		m.Output = &manifest.Output{Effect: manifest.EffectReplace, Schema: json.RawMessage(`{}`)}
	})
	f := func(tool, config, onError, args, want string) {
		t.Helper()
		ref := refTo(p)
		ref.Config, ref.OnError = json.RawMessage(config), onError
		s := withPlugins(t, nil, []registry.PluginRef{ref}, p)
		if _, got := post(t, s.URL("acme"), callBody(tool, args)); !strings.Contains(got, want) {
			t.Errorf("%s %s %s: %s, want %s", tool, config, args, got, want)
		}
	}
	f("get_item", `{}`, "", `{"id":1}`, `ada@example.com`)
	f("get_item", `{"add":"\"nobody\":1"}`, "", `{"id":1}`, `could not transform its arguments`)
	f("get_item", `{"add":"\"nobody\":1"}`, registry.OnErrorPass, `{"id":1}`, `ada@example.com`)
	f("get_item", `{"add":"x"}`, "", `{"id":1}`, `could not transform its arguments`)
	f("get_item", `{}`, "", `{}`, `id`) // the caller's own fault is told first
}

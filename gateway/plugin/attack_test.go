package plugin

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/module"
	"github.com/sluicegate/sluice/registry"
)

// bomb is a filter of the toolset "greedy" whose function has this body.
func bomb(t *testing.T, name, body string) *snapshot.Plugin {
	t.Helper()
	code := []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x05\x03\x01\x00\x01\x07\x16\x01\x12transform_response\x00\x00")
	code = append(code, 10, byte(len(body)+3), 1, byte(len(body)+1), 0)
	m := manifest.Manifest{FormatVersion: 1, Kind: manifest.Filter, Name: name, Version: "1"}
	code, err := module.AppendCustom(nil, append(code, body...), manifest.Section, m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	return &snapshot.Plugin{
		Workspace: "acme", Toolset: "ts_greedy", Slug: "greedy", Package: p, Key: name,
		Ref: &registry.PluginRef{Name: name, Version: "1"},
	}
}

// TestForeignPluginsGoOn: 16 callers of plugins that loop, recurse and fill their memory
// in one toolset cost another toolset no call, and only the hostile ones are left out.
func TestForeignPluginsGoOn(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	out := map[string]bool{}
	w.r.o.Unbound = func(u registry.PluginUnbound) {
		mu.Lock()
		defer mu.Unlock()
		out[u.Toolset+"/"+u.Name] = true
	}
	bombs := []*snapshot.Plugin{
		bomb(t, "loop", "\x03\x40\x0c\x00\x0b\x00\x0b"),
		bomb(t, "recursion", "\x10\x00\x0b"),
		bomb(t, "memory", "\x03\x40\x41\x01\x40\x00\x1a\x0c\x00\x0b\x00\x0b"),
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			for round := 0; !stop.Load(); round++ {
				if _, err := w.r.Transform(t.Context(), nil, []byte(`{}`), bombs[(n+round)%len(bombs)], &guest.Context{}); err == nil {
					t.Error("a bomb gives an answer")
				} else if errors.Is(err, ErrUnbound) {
					w.pass(Unbound) // the attack goes on
				}
			}
		})
	}
	modest := moody(t, "echo", &registry.UnbindLimits{ErrorPercent: 1})
	modest.Toolset, modest.Slug = "ts_modest", "modest"
	for n := range 100 {
		if got, err := w.r.Transform(t.Context(), nil, []byte(`{"a":1}`), modest, &guest.Context{}); err != nil || string(got) != `{"a":1}` {
			t.Errorf("call %d of the other toolset: %q %v", n, got, err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if out["modest/moody"] {
		t.Error("the plugin of the other toolset is left out")
	}
}

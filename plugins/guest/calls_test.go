package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// tools is a ToolCaller.
type tools func(context.Context, ToolCall) (ToolResult, error)

func (f tools) CallTool(ctx context.Context, c ToolCall) (ToolResult, error) { return f(ctx, c) }

func relay(t testing.TB, change func(*manifest.Manifest)) *Package {
	t.Helper()
	p, err := Open(relayWith(t, change))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// relayGrace lets the workflow be slow on a busy machine.
const relayGrace = time.Second

// runRelay runs the workflow of the tests on a script.
func runRelay(t testing.TB, interrupt bool, p *Package, script string, by ToolCaller) (string, *Calls, error) {
	t.Helper()
	h, err := extism.New(extism.Options{Functions: Functions(), Interrupt: interrupt, Grace: relayGrace})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	config, err := json.Marshal(map[string]string{"script": script})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Load(h, p, Options{Policy: AuthorPolicy(p), Config: config})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	calls := NewCalls(p, by)
	out, err := g.Transform(t.Context(), nil, []byte(`{}`), &Context{Calls: calls})
	return string(out), calls, err
}

// TestCalls: calls have their results in their order, at most MaxParallel at once, and
// waiting for them is not the plugin's time, metered or interrupted.
func TestCalls(t *testing.T) {
	p := relay(t, func(*manifest.Manifest) {})
	for _, interrupt := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			script := strings.TrimSuffix(strings.Repeat(`{"tool":"item","arguments":{"id":1}}`+"\n", MaxParallel+1), "\n") + "\n\n" + `{"tool":"text","arguments":null}`
			const takes = relayGrace + 60*time.Millisecond // longer than the plugin's own deadline
			out, calls, err := runRelay(t, interrupt, p, script, tools(func(_ context.Context, c ToolCall) (ToolResult, error) {
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				switch c.Tool {
				case "item":
					time.Sleep(takes)
					return ToolResult{Status: 200, Value: []byte("{ \"id\":\n1}")}, nil
				default:
					return ToolResult{Text: "a\nb", Status: 201}, nil
				}
			}))
			want := "[" + strings.Repeat(`{"status":200,"value":{"id":1}},`, MaxParallel+1) + `{"status":201,"text":"a\nb"}]`
			if err != nil || out != want {
				t.Errorf("interrupted %t: %s, %v", interrupt, out, err)
			}
			if most.Load() != MaxParallel || calls.Waited() != 2*takes {
				t.Errorf("interrupted %t: %d at once, waited %s", interrupt, most.Load(), calls.Waited())
			}
		})
	}
}

// TestParallel: a batch takes as long as its rounds of MaxParallel.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCalls(relay(t, func(*manifest.Manifest) {}), tools(func(context.Context, ToolCall) (ToolResult, error) {
			time.Sleep(time.Second)
			return ToolResult{}, nil
		}))
		if _, err := c.run(t.Context(), make([]ToolCall, 2*MaxParallel)); err != nil || c.Waited() != 2*time.Second {
			t.Errorf("%s %v", c.Waited(), err)
		}
	})
}

// TestCallRules: each rule that a workflow can break stops it with a reason.
func TestCallRules(t *testing.T) {
	answer := ToolResult{Status: 200, Value: []byte(`1`)}
	var mu sync.Mutex
	made := 0
	by := tools(func(context.Context, ToolCall) (ToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		made++
		return answer, nil
	})
	one := `{"tool":"item"}`
	f := func(p *Package, script, want string) {
		t.Helper()
		made = 0
		_, _, err := runRelay(t, false, p, script, by)
		var trap *extism.TrapError
		switch {
		case want == "":
			if err != nil {
				t.Errorf("%.80q: %v", script, err)
			}
		case !errors.As(err, &trap) || !strings.Contains(trap.Reason, want):
			t.Errorf("%.80q: %v, want %s", script, err, want)
		case made > 0:
			t.Errorf("%.80q: %d calls were made", script, made)
		}
	}
	three := relay(t, func(m *manifest.Manifest) { m.Limits.Calls = 3 })
	f(three, one+"\n"+one+"\n"+one, "")
	f(three, one+"\n"+one+"\n"+one+"\n"+one, "more often than its manifest says")
	usual := relay(t, func(m *manifest.Manifest) { m.Limits.Calls = 0 })
	f(usual, strings.TrimSuffix(strings.Repeat(one+"\n", manifest.DefaultCalls), "\n"), "")
	f(usual, strings.Repeat(one+"\n", manifest.DefaultCalls)+one, "more often than its manifest says")
	f(usual, `{"tool":"other"}`, `"other", which its manifest does not name`)
	f(usual, `{"tool":7}`, "something other than")
	f(usual, `{"tool":"item","arguments":"x"}`, "something other than")
	f(usual, `[]`, "not a JSON object")
	f(usual, ``, "not a JSON object")
	if _, err := NewCalls(usual, by).read([]byte(`{"tool":"item","arguments":{"x":"` + strings.Repeat("x", MaxCallBytes-36) + `"}}`)); err != "" {
		t.Error(err)
	}
	if _, err := NewCalls(usual, by).read([]byte(`{"tool":"item","arguments":{"x":"` + strings.Repeat("x", MaxCallBytes-35) + `"}}`)); !strings.Contains(err, "more than") {
		t.Errorf("a long line: %q", err)
	}
	var none *Calls
	if _, refusal := none.read(nil); refusal == "" {
		t.Error("a filter calls tools")
	}
	c := NewCalls(usual, by)
	half := ToolResult{Value: []byte(`"` + strings.Repeat("x", MaxResultBytes/2-64) + `"`)}
	if _, refusal := c.write([]ToolResult{half, half}); refusal != "" {
		t.Error(refusal)
	}
	if _, refusal := c.write([]ToolResult{{Text: strings.Repeat("x", 200)}}); !strings.Contains(refusal, "more than") {
		t.Errorf("results past their bound: %q", refusal)
	}
	by = func(context.Context, ToolCall) (ToolResult, error) { return ToolResult{}, errors.New("too late") }
	f(usual, one+"\n"+one, "too late")
}

// TestCallGrant: a workflow cannot be loaded where nothing serves its calls, and a
// filter cannot import them.
func TestCallGrant(t *testing.T) {
	p := relay(t, func(*manifest.Manifest) {})
	bare, err := extism.New(extism.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close(context.Background())
	if _, err := Load(bare, p, Options{}); !problem.Is(err, problem.InvalidPlugin) {
		t.Errorf("without the function: %v", err)
	}
	code, err := os.ReadFile("../../testdata/plugins/relay/relay.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h, err := extism.New(extism.Options{Functions: Functions()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	if _, err := h.Load(extism.Spec{Name: "x", Code: code}); err == nil || !strings.Contains(fmt.Sprint(err), "not granted") {
		t.Errorf("without a grant: %v", err)
	}
}

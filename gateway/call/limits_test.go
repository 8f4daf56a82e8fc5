package call

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/registry"
)

// TestHeadersAreToldWhole: what is too long to be shown whole is left out.
func TestHeadersAreToldWhole(t *testing.T) {
	f := func(name, value string, want bool) {
		t.Helper()
		x := newExchange()
		x.tell(name, []byte(value))
		if got := len(x.told) > 0; got != want {
			t.Errorf("a name of %d and a value of %d bytes: told %v", len(name), len(value), got)
		}
	}
	for over := range 2 {
		f("Etag", strings.Repeat("v", maxHeaderValue+over), over == 0)
		f(strings.Repeat("N", maxToldName+over), "v", over == 0)
		if name := strings.Repeat("n", maxToldName+over); plainName([]byte(name)) != (over == 0) {
			t.Errorf("a member's name of %d bytes", len(name))
		}
	}
}

// TestFailureOfPluginIsCut guards what a trace keeps of a plugin's words.
func TestFailureOfPluginIsCut(t *testing.T) {
	for over := range 2 {
		got := newPluginTrace(&snapshot.Plugin{Ref: &registry.PluginRef{}}, 0, 0, 0, nil, errors.New(strings.Repeat("w", maxPluginFailure+over)))
		if len(got.Failure) != maxPluginFailure {
			t.Errorf("%d of %d bytes are kept", len(got.Failure), maxPluginFailure+over)
		}
	}
}

// TestItemsOfResultAreBounded guards the walk through a tool's result.
func TestItemsOfResultAreBounded(t *testing.T) {
	const item = `{"type":"text","text":""}`
	for over := range 2 {
		list := "[" + strings.Repeat(item+",", maxContentItems+over-1) + item + "]"
		x := newExchange()
		r := x.readResult(jsonscan.Trusted([]byte(`{"content":` + list + `}`)))
		if err := x.checkResult(&r); (err == nil) != (over == 0) {
			t.Errorf("%d items: %v", maxContentItems+over, err)
		}
	}
}

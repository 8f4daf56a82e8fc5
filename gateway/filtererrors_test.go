package gateway_test

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// TestFiltersThatReadNoErrors: input.errors of a manifest is honoured: a plugin that does
// not understand errors is not run on them, and where its binding fails closed they are
// withheld; one that does gets them though it redacts nothing.
func TestFiltersThatReadNoErrors(t *testing.T) {
	f := newFiltered(t)
	check := func(kind manifest.Kind, reads bool, onError string, runs bool, want string) {
		t.Helper()
		for _, piece := range []string{"json", "text", "html"} {
			p := fake("scrub", "*/*")
			p.Manifest.Kind, p.Manifest.Input.Errors = kind, &reads
			g := sentry{plugin: p, onError: onError}
			f.serve(&g, forms["concise"], "")
			before := f.played.runs.Load()
			if got := f.read("answer", `{"kind":"`+piece+`","status":500}`); !strings.Contains(got, want) {
				t.Errorf("%s, reads %v, on error %s: a %s error is %s, want %s", kind, reads, onError, piece, got, want)
			}
			if ran := f.played.runs.Load() > before; ran != runs {
				t.Errorf("%s, reads %v, on error %s: it ran on a %s error: %v", kind, reads, onError, piece, ran)
			}
			if got := f.read("answer", `{"kind":"`+piece+`","status":200}`); piece != "html" && !strings.Contains(got, "***") { // a page in the place of JSON is an error
				t.Errorf("%s, reads %v, on error %s: the answer is %s", kind, reads, onError, got)
			}
		}
	}
	check(manifest.Filter, true, registry.OnErrorFail, true, "***")
	check(manifest.Filter, false, registry.OnErrorFail, false, "withheld")
	check(manifest.Filter, false, registry.OnErrorPass, false, canary)
	check(manifest.Projection, false, registry.OnErrorPass, false, canary)
	check(manifest.Projection, true, registry.OnErrorPass, true, "***")
}

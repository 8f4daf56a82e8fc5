package call_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
)

// gate is a host of plugins in which every call waits until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
}

func (g *gate) Transform(_ context.Context, dst, in []byte, _ *snapshot.Plugin, _ *guest.Context) ([]byte, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	return append(dst, in...), nil
}

func (*gate) Check(_ *snapshot.Plugin, _ string, check func() error) error { return check() }

// TestShadowQueue: a gateway whose shadow is busy answers every call, keeps MaxShadowQueue of
// them for it, and counts the one past that, and one that is too large to be copied, as
// skipped. Nothing is counted twice when it goes on.
func TestShadowQueue(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle("GET /items/{id}", upstreamtest.JSON(200, `{"id": 1}`))
	up.Handle("GET /large", upstreamtest.JSON(200, `{"a": "`+strings.Repeat("x", call.MaxShadowCall)+`"}`))
	g := &gate{make(chan struct{}, 1), make(chan struct{})}
	s, err := gatewaytest.New(gatewaytest.Options{Shadow: g})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	once := sync.OnceFunc(func() { close(g.open) })
	defer once()
	c, err := gatewaytest.Connector("acme", up.URL,
		gatewaytest.Operation("get_item", "GET", "/items/{id}", gatewaytest.Param("id", operation.InPath, operation.TypeInteger, true)),
		gatewaytest.Operation("large", "GET", "/large"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../testdata/plugins/mask/mask.wasm")
	if err != nil {
		t.Fatal(err)
	}
	mask, err := guest.Open(code)
	if err != nil {
		t.Fatal(err)
	}
	d := registry.Digest(mask.Digest)
	candidate := gatewaytest.Toolset("acme", 1, c, func(ts *registry.Toolset) {
		ts.Plugins = []registry.PluginRef{{Name: "mask", Version: mask.Manifest.Version, Repository: "test/plugins/x", Manifest: d, Digest: d}}
	})
	candidate.Plugins, candidate.Digest = []*guest.Package{mask}, d
	in := gatewaytest.Toolset("acme", 1, c, nil)
	in.Trial = &snapshot.TrialInput{Release: registry.ReleaseTrial{ID: "roll_1", Mode: registry.TrialShadow, Repository: "test/toolsets/acme", Bundle: d}, Candidate: &candidate}
	if err := s.Serve(in); err != nil {
		t.Fatal(err)
	}
	ask := func(tool, args string) {
		t.Helper()
		ready, err := s.Holder.Load().Slug("acme").Tool([]byte(tool))
		if err != nil || ready == nil {
			t.Fatal(tool, err)
		}
		got, outcome, err := s.Caller.Call(t.Context(), ready, jsonscan.Trusted([]byte(args)), call.CallOptions{}, nil)
		if err != nil || outcome.IsError {
			t.Fatalf("%s is answered %.200s, %v", tool, got, err)
		}
	}
	var sum registry.TrialCounts
	counted := func() uint64 {
		t.Helper()
		for _, n := range s.Meter.Drain().Trials {
			if err := sum.Add(&n.TrialCounts); err != nil {
				t.Fatal(err)
			}
		}
		return sum.Candidate.Calls
	}
	ask("get_item", `{"id":0}`)
	<-g.entered // it is being worked on, and the queue is empty
	for i := range call.MaxShadowQueue {
		ask("get_item", fmt.Sprintf(`{"id":%d}`, i+1))
	}
	if counted(); sum.Skipped != 0 || sum.Candidate.Calls != 0 {
		t.Fatalf("at the bound: %+v", sum)
	}
	ask("get_item", `{"id":999}`)
	if counted(); sum.Skipped != 1 {
		t.Errorf("one past the bound: %d are skipped, want 1", sum.Skipped)
	}
	ask("large", `{}`)
	if counted(); sum.Skipped != 2 {
		t.Errorf("a call that is too large: %d are skipped, want 2", sum.Skipped)
	}
	once()
	const all = call.MaxShadowQueue + 1
	for begin := time.Now(); counted() < all && time.Since(begin) < time.Minute; {
		time.Sleep(5 * time.Millisecond) // the shadow works beside calls
	}
	if sum.Candidate.Calls != all || sum.Live.Calls != all || sum.Skipped != 2 {
		t.Errorf("%d live and %d candidate calls, %d skipped; want %d, %[4]d and 2", sum.Live.Calls, sum.Candidate.Calls, sum.Skipped, all)
	}
}

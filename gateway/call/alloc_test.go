//go:build !race

package call_test

import (
	"bytes"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/upstreamtest"
	"github.com/sluicegate/sluice/registry"
)

// TestCachedCallAllocates nothing: arguments checked, request built, answer
// found, program run, result written, as JSON and as table text.
func TestCachedCallAllocates(t *testing.T) {
	for format, want := range map[string]string{registry.FormatJSON: `{\"id\":0,`, registry.FormatAuto: `#A\tid\tname=`} {
		t.Run(format, func(t *testing.T) { cachedCallAllocates(t, format, want) })
	}
}

func cachedCallAllocates(t *testing.T, format, want string) {
	up := upstreamtest.New(t)
	up.Handle("/list", upstreamtest.JSON(200, string(answer20K())))
	s, err := gatewaytest.New(gatewaytest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c, err := gatewaytest.Connector("acme", up.URL, listOperation())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, func(b *registry.Toolset) {
		b.Cache, b.Answers = &registry.CachePolicy{TTLSeconds: 3600}, &registry.Answers{Format: format}
	})); err != nil {
		t.Fatal(err)
	}
	tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
	if err != nil {
		t.Fatal(err)
	}
	var dst []byte
	var outcome call.Outcome
	f := func() {
		if dst, outcome, err = s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{}, dst[:0]); err != nil || outcome.IsError {
			t.Fatalf("%.300s, %v", dst, err)
		}
	}
	f()
	s.Caller.WaitCache()
	for range 100 {
		f()
	}
	if !outcome.Cached || !bytes.Contains(dst, []byte(want)) {
		t.Fatalf("kept: %v; %.300s", outcome.Cached, dst)
	}
	if n := testing.AllocsPerRun(200, f); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

package access

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluicegate/sluice/gateway/pool"
	"github.com/sluicegate/sluice/gateway/pool/pooltest"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// TestPool: limits hold for two nodes together, of each caller and of all, and for each
// node alone while what they share is away.
func TestPool(t *testing.T) {
	server := pooltest.Start(t)
	caller := tokenGrant("act_1", "slt_one")
	caller.Limits = &registry.RateLimits{RequestsPerMinute: 1, Burst: 4}
	doc := &registry.AccessDocument{Mode: registry.AccessToken, Limits: &registry.RateLimits{Concurrent: 3}, Tokens: []registry.TokenGrant{caller}}
	var nodes []*Policy
	for range 2 {
		p, err := pool.Open(pool.Options{URL: secrets.New(server.URL()), Key: func() []byte { return bytes.Repeat([]byte("k"), 32) }, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		policy, err := Compile(registry.Access{}, doc, "ts_1", nil, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, policy)
	}
	enter := func(node int) (Pass, Reason) {
		pass, refusal := admit(t, nodes[node], "Bearer slt_one")
		if refusal != nil {
			return pass, refusal.Reason
		}
		return pass, ""
	}
	first, why := enter(0)
	if why != "" {
		t.Fatal(why)
	}
	for i, node := range []int{1, 0} {
		if _, why := enter(node); why != "" {
			t.Fatalf("request %d: %s", i+2, why)
		}
	}
	if _, why := enter(1); why != TooManyAtOne {
		t.Errorf("a fourth at the same time: %q", why)
	}
	first.Leave()
	if _, why := enter(1); why != TooMany { // the one that was refused has been counted
		t.Errorf("a fifth in a minute: %q", why)
	}
	server.Kill()
	for range 2 { // 2 run at the first node, 1 at the other, which counts from here on
		if _, why := enter(1); why != "" {
			t.Errorf("a node alone: %q", why)
		}
	}
	if _, why := enter(1); why != TooManyAtOne {
		t.Errorf("a fourth at the same time at one node: %q", why)
	}
}

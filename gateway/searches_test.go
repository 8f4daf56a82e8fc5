package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicegate/sluice/gateway/access"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/registry"
)

func foundTools(names ...string) (out []snapshot.Found) {
	for _, n := range names {
		out = append(out, snapshot.Found{Tool: &snapshot.Tool{Name: n}})
	}
	return out
}

// remembered is how many searches are in memory.
func (s *searches) remembered() (n int) {
	for i := range s.shards {
		x := &s.shards[i]
		x.mu.Lock()
		for j := range x.ring {
			if x.ring[j].query != "" {
				n++
			}
		}
		x.mu.Unlock()
	}
	return n
}

// Searches are forgotten in time, also when nobody comes again.
func TestSearchesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearches(nil)
		defer s.stop()
		s.remember("1", "ts", "first thing", foundTools("a"))
		time.Sleep(learnWindow - time.Second)
		s.remember("2", "ts", "second thing", foundTools("a"))
		if q, _, ok := s.take("1", "ts", "a"); !ok || q != "first thing" {
			t.Errorf("%q, %t at the end of the window", q, ok)
		}
		s.remember("3", "ts", "third thing", foundTools("a"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := s.remembered(); n != 2 {
			t.Errorf("%d are remembered after the first sweep, want 2", n)
		}
		time.Sleep(learnWindow)
		synctest.Wait()
		if _, _, ok := s.take("2", "ts", "a"); ok || s.remembered() != 0 {
			t.Errorf("after the window: %t, %d", ok, s.remembered())
		}
	})
}

// The newest searches of a shard stay; the tools and the text of each are bounded.
func TestSearchesAreBounded(t *testing.T) {
	s := newSearches(nil)
	defer s.stop()
	for i := range learnSearches + 1 {
		s.remember("me", "ts", fmt.Sprintf("search %d", i), foundTools(fmt.Sprintf("tool%d", i)))
	}
	if _, _, ok := s.take("me", "ts", "tool0"); ok {
		t.Error("the oldest is still there")
	}
	if q, _, ok := s.take("me", "ts", "tool1"); !ok || q != "search 1" {
		t.Errorf("%q, %t", q, ok)
	}
	var names []string
	for i := range learnTools + 1 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	s.remember("1", "ts", strings.Repeat("é ", registry.MaxUsageQueryBytes), foundTools(names...))
	if _, _, ok := s.take("1", "ts", names[learnTools]); ok {
		t.Error("a tool past the limit is remembered")
	}
	q, _, ok := s.take("1", "ts", names[learnTools-1])
	if !ok || len(q) > registry.MaxUsageQueryBytes || len(q) < registry.MaxUsageQueryBytes-3 {
		t.Errorf("%d bytes, %t", len(q), ok)
	}
	if _, _, ok := s.take("1", "other", names[0]); ok {
		t.Error("a search of another toolset")
	}
	for _, query := range []string{"", "  ", "ab", "ann@example.com"} {
		if l := learnable(query); l != "" {
			t.Errorf("%q is learned as %q", query, l)
		}
	}
}

func TestWho(t *testing.T) {
	at := netip.MustParseAddr
	seen := map[string]string{}
	for name, caller := range map[string]string{
		"token":           who("ts", access.TokenPrincipal("ts", "a"), at("10.0.0.1")),
		"other token":     who("ts", access.TokenPrincipal("ts", "b"), at("10.0.0.1")),
		"other toolset":   who("tt", access.TokenPrincipal("ts", "a"), at("10.0.0.1")),
		"anonymous":       who("ts", access.Principal{}, at("10.0.0.1")),
		"other address":   who("ts", access.Principal{}, at("10.0.0.2")),
		"without address": who("ts", access.Principal{}, netip.Addr{}),
	} {
		if other := seen[caller]; other != "" {
			t.Errorf("%s and %s are one caller", name, other)
		}
		seen[caller] = name
	}
	if who("ts", access.TokenPrincipal("ts", "a"), at("10.0.0.9")) != who("ts", access.TokenPrincipal("ts", "a"), at("10.0.0.1")) {
		t.Error("a token is another caller from elsewhere")
	}
}

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// rollout is what the test reads of one.
type rollout struct {
	State, Reason   string
	Live, Candidate struct{ Calls, Errors uint64 }
}

// canary is a toolset whose roll-out runs on two edges, each a process.
type canary struct {
	*plane

	edges   []*follower
	callers []string // access tokens
	sent    [2]uint64
}

// caller calls on an edge, counts the call, and reports whether it got the candidate.
func (c *canary) caller(e *follower, token string) (drawn bool) {
	c.t.Helper()
	got := e.call("shop", "Authorization", "Bearer "+token)
	switch {
	case strings.Contains(got, "anvil"):
		c.sent[0]++
	case strings.Contains(got, "hammer"), strings.Contains(got, "out of order"):
		c.sent[1]++
		return true
	default:
		c.t.Fatalf("edge %s answers %s", e.name, got)
	}
	return false
}

// same has every caller call on an edge and fails if one is on another side than before.
func (c *canary) same(e *follower, when string, drawn map[string]bool) {
	c.t.Helper()
	for i, token := range c.callers {
		if got := c.caller(e, token); got != drawn[token] {
			c.t.Errorf("%s: caller %d gets the candidate: %v, before %v", when, i, got, drawn[token])
		}
	}
}

func (c *canary) newest() (r rollout) {
	c.t.Helper()
	var list struct{ Rollouts []rollout }
	c.api(c.t, "/v1/toolsets/shop/rollouts", &list)
	return list.Rollouts[0]
}

// counted waits until the control plane has every call that was sent, and not one more.
func (c *canary) counted(when string) {
	c.t.Helper()
	var r rollout
	c.until("every call is counted "+when, func() bool {
		r = c.newest()
		return r.Live.Calls+r.Candidate.Calls >= c.sent[0]+c.sent[1]
	})
	if r.Live.Calls != c.sent[0] || r.Candidate.Calls != c.sent[1] || r.State != "running" {
		c.t.Errorf("%s: %d live and %d candidate calls were counted, %d and %d were made; it is %s", when, r.Live.Calls, r.Candidate.Calls, c.sent[0], c.sent[1], r.State)
	}
}

// revision is that of the release that the edge serves.
func (e *follower) revision() string {
	e.p.t.Helper()
	res, err := http.Get("http://" + e.ops + "/metrics")
	if err != nil {
		e.p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		e.p.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\nsluice_release_revision ")
	if !ok {
		e.p.t.Fatalf("edge %s has no metric of its release", e.name)
	}
	revision, _, _ := strings.Cut(rest, "\n")
	return revision
}

// begin changes where the draft's calls go and rolls it out, and waits for the edges.
func (c *canary) begin(url string, flags ...string) (drawn map[string]bool) {
	c.t.Helper()
	c.cli(c.t, "toolset", "set", "shop", "--base-url", url)
	before := map[*follower]string{}
	for _, e := range c.edges {
		before[e] = e.revision()
	}
	c.cli(c.t, append([]string{"toolset", "rollout", "start", "shop", "--canary", "50%", "--reason", "a test"}, flags...)...)
	for _, e := range c.edges {
		c.until("edge "+e.name+" has the candidate", func() bool { return e.revision() != before[e] })
	}
	c.sent = [2]uint64{}
	drawn = map[string]bool{}
	for _, token := range c.callers {
		drawn[token] = c.caller(c.edges[0], token)
	}
	if c.sent[0] == 0 || c.sent[1] == 0 {
		c.t.Fatalf("of %d callers %d get the candidate", len(c.callers), c.sent[1])
	}
	return drawn
}

// TestRolloutOnEdges: two edges draw the same callers for a canary, also after one was ended
// or killed and while the control plane is gone; every call is counted once, whatever ended
// meanwhile; and it is rolled back by the sum of both when neither has the minimum of calls.
func TestRolloutOnEdges(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/things":
			_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"}]`)
		case "/two/things":
			_, _ = io.WriteString(w, `[{"id":1,"name":"hammer"}]`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"message":"out of order"}`)
		}
	}))
	t.Cleanup(upstream.Close)
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := startPlane(t)
	c := &canary{plane: p, edges: []*follower{p.edge("one", p.join), p.edge("two", p.join)}}
	one, two := c.edges[0], c.edges[1]
	p.cli(t, "add", spec, "--name", "shop", "--base-url", upstream.URL)
	p.cli(t, "toolset", "access", "shop", "set", "token")
	for i := range 12 {
		c.callers = append(c.callers, strings.TrimSpace(p.cli(t, "toolset", "access", "shop", "token", "create", fmt.Sprint("caller-", i))))
	}
	last := c.callers[len(c.callers)-1]
	for _, e := range c.edges {
		p.until("edge "+e.name+" serves", func() bool { return strings.Contains(e.call("shop", "Authorization", "Bearer "+last), "anvil") })
	}

	drawn := c.begin(upstream.URL+"/two", "--min-calls", "100000")
	c.same(two, "the other edge", drawn)
	one.stop(t) // with calls that it has not reported
	one.again()
	c.same(one, "after an edge was started again", drawn)
	c.counted("after an edge was started again")
	if err := two.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-two.done
	two.again()
	c.same(two, "after an edge was killed", drawn)
	c.same(one, "beside it", drawn)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
	c.same(one, "without a control plane", drawn)
	c.same(two, "without a control plane", drawn)
	p.again()
	c.counted("after the control plane was killed")
	c.same(one, "after the control plane was killed", drawn)
	c.counted("at the end")
	p.cli(t, "toolset", "rollout", "abort", "shop")
	for _, e := range c.edges {
		p.until("edge "+e.name+" has no candidate", func() bool {
			for _, token := range c.callers {
				if !strings.Contains(e.call("shop", "Authorization", "Bearer "+token), "anvil") {
					return false
				}
			}
			return true
		})
	}

	// Neither edge has as many calls of the candidate as it is judged by.
	const least = 60
	drawn = c.begin(upstream.URL+"/broken", "--min-calls", fmt.Sprint(least))
	each := map[*follower]int{}
	for _, token := range c.callers {
		if drawn[token] {
			each[one]++
		}
	}
	for _, e := range c.edges {
		for each[e] < least-10 {
			for _, token := range c.callers {
				if drawn[token] && each[e] < least-10 {
					c.caller(e, token)
					each[e]++
				}
			}
		}
	}
	var r rollout
	p.until("it is rolled back", func() bool { r = c.newest(); return r.State == "rolled_back" })
	if !strings.Contains(r.Reason, "100.0 % of its") || r.Candidate.Calls < least || r.Candidate.Calls > c.sent[1] || r.Candidate.Errors != r.Candidate.Calls {
		t.Errorf("%q, %+v; %d calls of the candidate were made", r.Reason, r.Candidate, c.sent[1])
	}
	for _, e := range c.edges {
		p.until("edge "+e.name+" is back", func() bool {
			for _, token := range c.callers {
				if !strings.Contains(e.call("shop", "Authorization", "Bearer "+token), "anvil") {
					return false
				}
			}
			return true
		})
	}
}

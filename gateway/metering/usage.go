package metering

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

// Credential is what became of the credentials of a call.
type Credential uint8

// The states of credentials.
const (
	NoCredential Credential = iota // the call used none
	Accepted                       // applied, and the upstream did not refuse it
	Refused                        // the upstream answered 401 or 403
	Missing                        // there is none, or it ended
	credentialCount
)

var credentialNames = [credentialCount]string{"none", "accepted", "refused", "missing"}

// String is the value in usage reports.
func (c Credential) String() string { return credentialNames[c] }

const (
	// maxCauses of one tool between two drains; the rest is counted as "other".
	maxCauses = 32
	// maxSamples of failed calls of one tool between two drains: enough to see what
	// fails, whatever fails most.
	maxSamples = 20
	// otherCause is what causes beyond maxCauses are counted as.
	otherCause = "other"
)

// counted holds the counts of one tool, outcome and state of credentials.
type counted struct {
	calls, cached, inner, bytesBefore, bytesAfter, tokensBefore, tokensAfter atomic.Uint64
	duration, upstream, plugins                                              atomic.Uint64 // nanoseconds
	latency, upstreamLatency                                                 rollup.Live
}

// failures are the failed calls of one tool since the last drain.
type failures struct {
	mu      sync.Mutex
	causes  map[string]uint64      // guarded by mu
	samples []registry.UsageSample // guarded by mu
	perCall map[string]int         // guarded by mu; samples by cause, so that one does not crowd out others
}

// usage counts the call for usage reports.
func (t *Tool) usage(c *Call, tokensBefore, tokensAfter int) {
	slot := &t.counted[c.Outcome][c.Credential]
	n := slot.Load()
	if n == nil {
		slot.CompareAndSwap(nil, &counted{})
		n = slot.Load()
	}
	n.calls.Add(1)
	if c.Cached {
		n.cached.Add(1)
	}
	if c.Inner {
		n.inner.Add(1)
	}
	n.bytesBefore.Add(uint64(len(c.Before)))
	n.bytesAfter.Add(uint64(len(c.After)))
	if tokensBefore > 0 {
		n.tokensBefore.Add(uint64(tokensBefore))
	}
	if tokensAfter > 0 {
		n.tokensAfter.Add(uint64(tokensAfter))
	}
	n.duration.Add(uint64(max(c.Duration, 0)))
	n.latency.Add(c.Duration)
	if c.Asked {
		n.upstream.Add(uint64(max(c.Upstream, 0)))
		n.upstreamLatency.Add(c.Upstream)
	}
	if c.Plugins > 0 {
		n.plugins.Add(uint64(c.Plugins))
	}
	if c.Outcome != OK {
		t.fail(c)
	}
}

// fail counts the cause of a failed call and keeps what the agent was told.
func (t *Tool) fail(c *Call) {
	f := &t.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.causes == nil {
		f.causes, f.perCall = map[string]uint64{}, map[string]int{}
	}
	cause := c.Cause
	if cause == "" {
		cause = c.Outcome.String()
	}
	if _, known := f.causes[cause]; !known && len(f.causes) >= maxCauses {
		cause = otherCause
	}
	f.causes[cause]++
	// Redaction takes longer than a call, so there are few samples of each tool and of
	// all of them.
	if len(f.samples) >= maxSamples || f.perCall[cause] >= maxSamples/4 || t.m.samples.Add(1) > registry.MaxUsageSamples {
		return
	}
	f.perCall[cause]++
	f.samples = append(f.samples, registry.UsageSample{
		Workspace: t.id.Workspace, Toolset: t.id.Toolset, Tool: t.id.Tool, Outcome: c.Outcome.String(), Cause: cause, Status: c.Status,
		At: time.Now().UTC().Truncate(time.Millisecond), Text: strings.ReplaceAll(redact.Text(string(c.Failure), registry.MaxUsageSampleBytes), "\x00", " "),
	})
}

// maxFound different requests of one tool between two drains: an agent at work asks
// a few.
const maxFound = 20

// found are the searches that calls of one tool followed, since the last drain.
type found struct {
	mu    sync.Mutex
	calls map[request]uint64 // guarded by mu
}

type request struct{ connector, method, path, query string }

// Found counts a search after which a call of the tool, an operation of this method
// and path of a connector, succeeded. The query must be redacted.
func (t *Tool) Found(connector, method, path, query string) {
	if t == nil || t.id.Toolset == "" {
		return
	}
	t.found.mu.Lock()
	defer t.found.mu.Unlock()
	r := request{connector, method, path, query}
	if _, known := t.found.calls[r]; !known && len(t.found.calls) >= maxFound {
		return
	}
	if t.found.calls == nil {
		t.found.calls = map[request]uint64{}
	}
	t.found.calls[r]++
}

// Usage is what was counted since the last [Meter.Drain].
type Usage struct {
	Series  []registry.UsageSeries
	Causes  []registry.UsageCause
	Samples []registry.UsageSample
	Found   []registry.UsageFound
	Calls   []registry.UsageCall
	Omitted []registry.UsageOmitted // one for each toolset that has any
	Trials  []registry.UsageTrial
}

// Drain takes what was counted for usage since the last one, and starts again from
// nothing. Each call is in exactly one of all drains; one that ends meanwhile may
// have some of its sums in this and some in the next. Tools without a toolset's
// identifier (tests of drafts) are in none.
func (m *Meter) Drain() *Usage {
	u := &Usage{}
	if m == nil {
		return u
	}
	m.samples.Store(0)
	m.mu.Lock()
	tools := make([]*Tool, 0, len(m.tools))
	for _, t := range m.tools {
		tools = append(tools, t)
	}
	trials := make([]*Trial, 0, len(m.trials))
	for _, t := range m.trials {
		trials = append(trials, t)
	}
	u.Trials, m.forgotten = m.forgotten, nil
	m.mu.Unlock()
	for _, t := range trials {
		t.drain(u)
	}
	for _, t := range tools {
		if t.id.Toolset != "" {
			t.drain(u)
		}
	}
	u.Calls = m.calls.drain()
	return u
}

// omit counts calls of a toolset that are not in the log.
func (u *Usage) omit(workspace, toolset string, n uint64) {
	u.Omitted = addOmitted(u.Omitted, registry.UsageOmitted{Workspace: workspace, Toolset: toolset, Calls: n})
}

func addOmitted(to []registry.UsageOmitted, o registry.UsageOmitted) []registry.UsageOmitted {
	i := slices.IndexFunc(to, func(x registry.UsageOmitted) bool { return x.Workspace == o.Workspace && x.Toolset == o.Toolset })
	if i < 0 {
		return append(to, o)
	}
	to[i].Calls += o.Calls
	return to
}

func (t *Tool) drain(u *Usage) {
	for o := range t.counted {
		for c := range t.counted[o] {
			n := t.counted[o][c].Load()
			if n == nil {
				continue
			}
			s := registry.UsageSeries{
				UsageKey: registry.UsageKey{
					Workspace: t.id.Workspace, Toolset: t.id.Toolset, Tool: t.id.Tool, Outcome: Outcome(o).String(), Credential: Credential(c).String(),
				},
				UsageCounts: registry.UsageCounts{
					Calls: n.calls.Swap(0), Cached: n.cached.Swap(0), Inner: n.inner.Swap(0), BytesBefore: n.bytesBefore.Swap(0), BytesAfter: n.bytesAfter.Swap(0),
					TokensBefore: n.tokensBefore.Swap(0), TokensAfter: n.tokensAfter.Swap(0),
					Duration: micros(&n.duration), Upstream: micros(&n.upstream), Plugins: micros(&n.plugins),
				},
			}
			var latency, upstream rollup.Histogram
			n.latency.Drain(&latency)
			n.upstreamLatency.Drain(&upstream)
			s.Latency, s.UpstreamLatency = latency.AppendBinary(nil), upstream.AppendBinary(nil)
			if s.Calls > 0 || s.Duration > 0 || s.BytesBefore > 0 || s.BytesAfter > 0 || len(s.Latency) > 0 || len(s.UpstreamLatency) > 0 ||
				s.Cached > 0 || s.TokensBefore > 0 || s.TokensAfter > 0 {
				u.Series = append(u.Series, s)
			}
		}
	}
	if n := t.omitted.Swap(0); n > 0 {
		u.omit(t.id.Workspace, t.id.Toolset, n)
	}
	f := &t.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	for cause, n := range f.causes {
		u.Causes = append(u.Causes, registry.UsageCause{Workspace: t.id.Workspace, Toolset: t.id.Toolset, Tool: t.id.Tool, Cause: cause, Calls: n})
	}
	u.Samples = append(u.Samples, f.samples...)
	f.causes, f.samples, f.perCall = nil, nil, nil
	t.found.mu.Lock()
	defer t.found.mu.Unlock()
	for r, n := range t.found.calls {
		u.Found = append(u.Found, registry.UsageFound{Workspace: t.id.Workspace, Toolset: t.id.Toolset, Connector: r.connector, Method: r.method, Path: r.path, Query: r.query, Calls: n})
	}
	t.found.calls = nil
}

// micros takes whole microseconds; the rest of a nanosecond count stays for the next
// time.
func micros(n *atomic.Uint64) uint64 {
	us := n.Load() / 1000
	if us > 0 {
		n.Add(-us * 1000)
	}
	return us
}

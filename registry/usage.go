package registry

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
)

// Bounds of usage reports.
const (
	// MaxUsageBytes of one report: MaxUsageSeries of about 400 bytes, with room for
	// samples.
	MaxUsageBytes = 4 << 20
	// MaxUsageSeries of one report. A node that counts more spools several.
	MaxUsageSeries = 2000
	// MaxUsageSamples of one report.
	MaxUsageSamples = 200
	// MaxUsageSampleBytes of the text of a sample.
	MaxUsageSampleBytes = 500
	// MaxUsageCount of one counter of one report: a thousand calls a second for a year,
	// or 35 years in microseconds. It keeps sums far from what 63 bits hold.
	MaxUsageCount = 1 << 50
	// UsageMinuteAge is how old a report may be: minutes are kept that long, and so is
	// what tells a repeated report from a new one.
	UsageMinuteAge = 35 * 24 * time.Hour
)

// UsageReport is what one node counted in a part of one minute. It is applied once,
// whenever and however often it arrives: (node, Epoch, Sequence) names it. The node
// is the edge that posts it.
type UsageReport struct {
	Epoch    string `json:"epoch"`    // of one run of the node: a ULID
	Sequence uint64 `json:"sequence"` // 1, 2, … in the epoch
	// Oldest is the lowest sequence of the epoch that the node may still post: what is
	// below was applied or is lost.
	Oldest  uint64        `json:"oldest"`
	Minute  int64         `json:"minute"` // its beginning, in seconds since 1970, by the node's clock
	Posted  time.Time     `json:"posted"` // when the report is sent, by the node's clock, which may be wrong
	Series  []UsageSeries `json:"series"`
	Causes  []UsageCause  `json:"causes,omitempty"`
	Samples []UsageSample `json:"samples,omitempty"`
	Found   []UsageFound  `json:"found,omitempty"` // of toolsets that learn
	// Calls is the call log of what is counted, and Omitted what is not in it: there is
	// a bound to it and none to counts.
	Calls   []UsageCall    `json:"calls,omitempty"`
	Omitted []UsageOmitted `json:"omitted,omitempty"`
	// Trials are what was counted of candidates beside live toolsets.
	Trials []UsageTrial `json:"trials,omitempty"`
}

// UsageKey names a series.
type UsageKey struct {
	Workspace  string `json:"workspace"`
	Toolset    string `json:"toolset"` // its identifier
	Tool       string `json:"tool"`
	Outcome    string `json:"outcome"`    // ok, tool_error, …
	Credential string `json:"credential"` // none, accepted, refused, missing
}

// UsageSeries counts the calls of one tool that ended in one way.
type UsageSeries struct {
	UsageKey
	UsageCounts
}

// UsageCounts are sums over calls. Times are microseconds.
type UsageCounts struct {
	Calls        uint64 `json:"calls"`
	Cached       uint64 `json:"cached,omitempty"`       // answered without the upstream
	Inner        uint64 `json:"inner,omitempty"`        // made by a workflow, a script or a batch
	BytesBefore  uint64 `json:"bytesBefore,omitempty"`  // as the upstream sent them
	BytesAfter   uint64 `json:"bytesAfter,omitempty"`   // as the agent got them
	TokensBefore uint64 `json:"tokensBefore,omitempty"` // estimated
	TokensAfter  uint64 `json:"tokensAfter,omitempty"`  // estimated
	Duration     uint64 `json:"duration"`               // of the whole call
	Upstream     uint64 `json:"upstream,omitempty"`     // of that, waiting for the upstream
	Plugins      uint64 `json:"plugins,omitempty"`      // of that, in response programs and plugins
	// Latency and UpstreamLatency are encoded rollup.Histograms of single calls; the
	// second of those that asked the upstream.
	Latency         []byte `json:"latency,omitempty"`
	UpstreamLatency []byte `json:"upstreamLatency,omitempty"`
}

// UsageCause counts the failed calls of one tool by what made them fail.
type UsageCause struct {
	Workspace string `json:"workspace"`
	Toolset   string `json:"toolset"`
	Tool      string `json:"tool"`
	Cause     string `json:"cause"` // http_404, timeout, invalid_tool_arguments, …
	Calls     uint64 `json:"calls"`
}

// UsageSample is one failed call, for people to read. Its text was redacted where it
// was taken.
type UsageSample struct {
	Workspace string    `json:"workspace"`
	Toolset   string    `json:"toolset"`
	Tool      string    `json:"tool"`
	Outcome   string    `json:"outcome"`
	Cause     string    `json:"cause"`
	Status    int       `json:"status,omitempty"` // of the upstream
	At        time.Time `json:"at"`
	Text      string    `json:"text"` // what the agent was told
}

// UsageReceipt answers a report: it is applied and may be forgotten.
type UsageReceipt struct {
	Applied bool `json:"applied"` // false: it was applied before, or is too old
}

// counters are the sums of c, to check and to add.
func (c *UsageCounts) counters() []*uint64 {
	return []*uint64{
		&c.Calls, &c.Cached, &c.Inner, &c.BytesBefore, &c.BytesAfter, &c.TokensBefore, &c.TokensAfter, &c.Duration, &c.Upstream, &c.Plugins,
	}
}

// Add adds the counts of o. It fails when a histogram cannot be read, and then c is
// as it was.
func (c *UsageCounts) Add(o *UsageCounts) error {
	latency, err := mergeEncoded(c.Latency, o.Latency)
	if err != nil {
		return err
	}
	upstream, err := mergeEncoded(c.UpstreamLatency, o.UpstreamLatency)
	if err != nil {
		return err
	}
	c.Latency, c.UpstreamLatency = latency, upstream
	to := c.counters()
	for i, n := range o.counters() {
		*to[i] += *n
	}
	return nil
}

func mergeEncoded(a, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return a, nil
	}
	var h rollup.Histogram
	if err := h.MergeBinary(a); err != nil {
		return nil, err
	}
	if err := h.MergeBinary(b); err != nil {
		return nil, err
	}
	return h.AppendBinary(nil), nil
}

// Validate checks names, sizes and counts; refusals are *problem.Error.
func (r *UsageReport) Validate() error {
	bad := func(format string, a ...any) error { return problem.New(problem.InvalidArgument, format, a...) }
	switch {
	case !usageWord(r.Epoch, 40):
		return bad("the epoch of the usage is not an identifier")
	case r.Sequence == 0 || r.Oldest == 0 || r.Oldest > r.Sequence || r.Sequence > MaxUsageCount:
		return bad("the sequence %d of the usage, oldest %d, is not valid", r.Sequence, r.Oldest)
	case r.Minute <= 0 || r.Minute%60 != 0 || r.Minute > MaxUsageCount:
		return bad("%d is not the beginning of a minute", r.Minute)
	case r.Posted.Year() < 1970 || r.Posted.Year() > 9999:
		return bad("the usage does not say when it is posted")
	case len(r.Series) > MaxUsageSeries || len(r.Causes) > MaxUsageSeries || len(r.Samples) > MaxUsageSamples:
		return problem.New(problem.TooLarge, "the usage has more than %d series or %d samples", MaxUsageSeries, MaxUsageSamples)
	}
	seen := make(map[UsageKey]bool, len(r.Series))
	for i := range r.Series {
		s := &r.Series[i]
		if !usageTool(s.Workspace, s.Toolset, s.Tool) || !usageWord(s.Outcome, 40) || !usageWord(s.Credential, 40) {
			return bad("series %d of the usage does not name a tool", i)
		}
		if seen[s.UsageKey] {
			return bad("series %d of the usage is there twice", i)
		}
		seen[s.UsageKey] = true
		for _, n := range s.counters() {
			if *n > MaxUsageCount {
				return bad("a count of series %d of the usage is too large", i)
			}
		}
		for _, b := range [][]byte{s.Latency, s.UpstreamLatency} {
			var h rollup.Histogram
			if err := h.MergeBinary(b); err != nil {
				return bad("a histogram of series %d of the usage cannot be read", i)
			}
			for _, n := range h {
				if n > MaxUsageCount {
					return bad("a count of series %d of the usage is too large", i)
				}
			}
		}
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		if !usageTool(c.Workspace, c.Toolset, c.Tool) || !usageWord(c.Cause, 64) || c.Calls > MaxUsageCount {
			return bad("cause %d of the usage is not valid", i)
		}
	}
	for i := range r.Samples {
		s := &r.Samples[i]
		if !usageTool(s.Workspace, s.Toolset, s.Tool) || !usageWord(s.Outcome, 40) || !usageWord(s.Cause, 64) || s.Status < 0 || s.Status > 999 ||
			s.At.Year() < 1970 || s.At.Year() > 9999 || len(s.Text) > MaxUsageSampleBytes || !plainText(s.Text) {
			return bad("sample %d of the usage is not valid", i)
		}
	}
	if err := r.validFound(); err != nil {
		return err
	}
	if err := r.validTrials(); err != nil {
		return err
	}
	return r.validCalls()
}

// maxUsageTool of a tool's name: MCP clients take 128 bytes at most.
const maxUsageTool = 256

func usageTool(workspace, toolset, tool string) bool {
	return ValidSlug(workspace) && usageWord(toolset, 64) && tool != "" && len(tool) <= maxUsageTool && plainText(tool)
}

// usageWord reports whether s is 1 to most of the letters of identifiers.
func usageWord(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// plainText reports whether both databases can hold a text.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

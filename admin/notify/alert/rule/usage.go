package rule

import (
	"strconv"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
)

// Class is what made a call fail, as far as alerts tell it apart.
type Class int

// Classes of failed calls.
const (
	Other       Class = iota // the arguments, the API's own errors, …
	Refused                  // the credential was refused, or there is none
	Unreachable              // the upstream was not reached
	TimedOut                 // it did not answer in time
	Broken                   // it answered with an error of its own, or what cannot be read
	Turned                   // turned away before the upstream was asked
	Limited                  // the upstream answered 429
	PluginFault              // a plugin failed
	Cancelled                // the caller went away: it says nothing of anybody
	classes
)

// classOf is the class of a cause that usage names.
func classOf(cause string) Class {
	switch problem.Kind(cause) {
	case problem.Unreachable:
		return Unreachable
	case problem.Timeout:
		return TimedOut
	case problem.UpstreamMalformed, problem.UpstreamTooLarge, problem.UpstreamStatus:
		return Broken
	case problem.Unavailable:
		return Turned
	case problem.RateLimited:
		return Limited
	case problem.InvalidPlugin:
		return PluginFault
	case problem.Cancelled:
		return Cancelled
	case problem.Unauthenticated, problem.Forbidden:
		return Refused
	}
	if len(cause) != len("http_500") || cause[:5] != "http_" {
		return Other
	}
	switch status, _ := strconv.Atoi(cause[5:]); {
	case status == 401 || status == 403:
		return Refused
	case status == 429:
		return Limited
	case status >= 500:
		return Broken
	}
	return Other
}

// Cell is the usage of a tool in a minute, or a sum of them.
type Cell struct {
	Calls, Errors, Cached, Tokens uint64
	Took, Waited                  uint64 // microseconds: of whole calls, and of waiting for the upstream
	By                            [classes]uint64
	causes                        map[string]uint64 // failed calls by cause; nil: none
	latency, upstream             [][]byte          // encoded histograms
}

// Outcome adds calls that ended in one way. The histograms are kept, not copied.
func (c *Cell) Outcome(calls, cached, tokens, took, waited uint64, ok bool, latency, upstream []byte) {
	c.Calls, c.Cached, c.Tokens, c.Took, c.Waited = c.Calls+calls, c.Cached+cached, c.Tokens+tokens, c.Took+took, c.Waited+waited
	if !ok {
		c.Errors += calls
	}
	if len(latency) > 0 {
		c.latency = append(c.latency, latency)
	}
	if len(upstream) > 0 {
		c.upstream = append(c.upstream, upstream)
	}
}

// Cause adds failed calls that [Cell.Outcome] counted by their cause.
func (c *Cell) Cause(cause string, calls uint64) {
	c.By[classOf(cause)] += calls
	if c.causes == nil {
		c.causes = map[string]uint64{}
	}
	c.causes[cause] += calls
}

// count adds o without its causes and histograms.
func (c *Cell) count(o *Cell) {
	c.Calls, c.Errors, c.Cached, c.Tokens, c.Took, c.Waited = c.Calls+o.Calls, c.Errors+o.Errors, c.Cached+o.Cached, c.Tokens+o.Tokens, c.Took+o.Took, c.Waited+o.Waited
	if o.Errors > 0 {
		for i, n := range o.By {
			c.By[i] += n
		}
	}
}

func (c *Cell) add(o *Cell) {
	c.count(o)
	for cause, n := range o.causes {
		if c.causes == nil {
			c.causes = map[string]uint64{}
		}
		c.causes[cause] += n
	}
	c.latency, c.upstream = append(c.latency, o.latency...), append(c.upstream, o.upstream...)
}

// asked is how many calls say something of the upstream.
func (c *Cell) asked() uint64 { return sub(c.Calls, c.Cached+c.By[Cancelled]) }

// failed is how many calls failed by anybody's fault.
func (c *Cell) failed() uint64 { return sub(c.Errors, c.By[Cancelled]) }

func sub(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

// top is the most frequent cause of a class; of [classes]: of any. Ties go to the first by
// name.
func (c *Cell) top(of Class) string {
	best, most := "", uint64(0)
	for cause, n := range c.causes {
		k := classOf(cause)
		if of != classes && k != of || k == Cancelled {
			continue
		}
		if n > most || n == most && cause < best {
			best, most = cause, n
		}
	}
	return best
}

// quantile of encoded histograms, in milliseconds.
func quantile(encoded [][]byte, q float64) float64 {
	var h rollup.Histogram
	for _, b := range encoded {
		_ = h.MergeBinary(b) // what is not a histogram was refused when it was reported
	}
	return float64(h.Quantile(q).Microseconds()) / 1000
}

// Minute is the usage of a workspace in a minute: by toolset and tool.
type Minute map[string]map[string]*Cell

// Cell is the cell of a tool; it is made when it is not there.
func (m Minute) Cell(toolset, tool string) *Cell {
	tools := m[toolset]
	if tools == nil {
		tools = map[string]*Cell{}
		m[toolset] = tools
	}
	c := tools[tool]
	if c == nil {
		c = new(Cell)
		tools[tool] = c
	}
	return c
}

// Book is the usage of the last minutes, by the second at which each begins.
type Book map[int64]Minute

// minutes is the usage of a toolset in the last n minutes, the newest first.
func (b Book) minutes(now time.Time, n int, toolset string) []map[string]*Cell {
	out := make([]map[string]*Cell, n)
	at := now.Truncate(time.Minute).Unix()
	for i := range out {
		out[i] = b[at-int64(i)*60][toolset]
	}
	return out
}

// series is the usage of some tools of a toolset by minute, the newest first.
type series struct {
	minutes []map[string]*Cell
	only    string            // this tool; empty: those of keep
	keep    func(string) bool // nil: all
}

// each calls fn with the cells of a minute.
func (s *series) each(i int, fn func(*Cell)) {
	if s.only != "" {
		if c := s.minutes[i][s.only]; c != nil {
			fn(c)
		}
		return
	}
	for tool, c := range s.minutes[i] {
		if s.keep == nil || s.keep(tool) {
			fn(c)
		}
	}
}

// newest sums up as few of the newest minutes as hold enough calls, at most those of a
// window, without causes and histograms; n is how many minutes those are.
func (s *series) newest(window time.Duration, enough uint64) (sum Cell, n int, ok bool) {
	for i := range min(len(s.minutes), int(window/time.Minute)) {
		s.each(i, func(c *Cell) { sum.count(c) })
		if sum.asked() >= max(enough, 1) {
			return sum, i + 1, true
		}
	}
	return sum, len(s.minutes), false
}

// whole is the sum of the newest n minutes with causes and histograms.
func (s *series) whole(n int) (sum Cell) {
	for i := range n {
		s.each(i, sum.add)
	}
	return sum
}

package registry

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
)

func usage() *UsageReport {
	var h rollup.Histogram
	h.Add(time.Millisecond)
	return &UsageReport{
		Epoch: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Sequence: 2, Oldest: 1, Minute: 60, Posted: time.Unix(70, 0),
		Series: []UsageSeries{{
			UsageKey:    UsageKey{Workspace: "acme", Toolset: "ts_1", Tool: "list", Outcome: "ok", Credential: "none"},
			UsageCounts: UsageCounts{Calls: 1, Latency: h.AppendBinary(nil)},
		}},
		Causes:  []UsageCause{{Workspace: "acme", Toolset: "ts_1", Tool: "list", Cause: "timeout", Calls: 1}},
		Samples: []UsageSample{{Workspace: "acme", Toolset: "ts_1", Tool: "list", Outcome: "timeout", Cause: "timeout", At: time.Unix(65, 0), Text: "t"}},
	}
}

func TestUsageValidate(t *testing.T) {
	f := func(change func(*UsageReport), ok bool) {
		t.Helper()
		u := usage()
		change(u)
		err := u.Validate()
		if (err == nil) != ok || err != nil && problem.As(err) == nil {
			t.Errorf("%v", err)
		}
	}
	f(func(*UsageReport) {}, true)
	f(func(u *UsageReport) { u.Epoch = "a b" }, false)
	f(func(u *UsageReport) { u.Sequence = 0 }, false)
	f(func(u *UsageReport) { u.Oldest = 0 }, false)
	f(func(u *UsageReport) { u.Oldest = 2 }, true)
	f(func(u *UsageReport) { u.Oldest = 3 }, false)
	f(func(u *UsageReport) { u.Minute = 61 }, false)
	f(func(u *UsageReport) { u.Posted = time.Time{} }, false)
	f(func(u *UsageReport) { u.Series[0].Workspace = "Not" }, false)
	f(func(u *UsageReport) { u.Series[0].Toolset = "" }, false)
	f(func(u *UsageReport) { u.Series[0].Tool = "a\x00" }, false)
	f(func(u *UsageReport) { u.Series[0].Tool = strings.Repeat("a", 256) }, true)
	f(func(u *UsageReport) { u.Series[0].Tool = strings.Repeat("a", 257) }, false)
	f(func(u *UsageReport) { u.Series[0].Outcome = "'" }, false)
	f(func(u *UsageReport) { u.Series[0].Latency = []byte{0} }, false)
	f(func(u *UsageReport) { u.Series[0].Calls = MaxUsageCount }, true)
	f(func(u *UsageReport) { u.Series[0].Calls = MaxUsageCount + 1 }, false)
	f(func(u *UsageReport) { u.Series[0].Plugins = MaxUsageCount + 1 }, false)
	f(func(u *UsageReport) {
		var h rollup.Histogram
		h[3] = MaxUsageCount + 1
		u.Series[0].Latency = h.AppendBinary(nil)
	}, false)
	f(func(u *UsageReport) { u.Series = append(u.Series, u.Series[0]) }, false)
	many := func(n int) func(u *UsageReport) {
		return func(u *UsageReport) {
			for len(u.Series) < n {
				s := u.Series[0]
				s.Tool = strings.Repeat("a", 1+len(u.Series)%200) + "_" + strings.Repeat("b", 1+len(u.Series)/200)
				u.Series = append(u.Series, s)
			}
		}
	}
	f(many(MaxUsageSeries), true)
	f(many(MaxUsageSeries+1), false)
	samples := func(n int) func(u *UsageReport) {
		return func(u *UsageReport) {
			for len(u.Samples) < n {
				u.Samples = append(u.Samples, u.Samples[0])
			}
		}
	}
	f(samples(MaxUsageSamples), true)
	f(samples(MaxUsageSamples+1), false)
	f(func(u *UsageReport) { u.Samples[0].Text = strings.Repeat("x", MaxUsageSampleBytes) }, true)
	f(func(u *UsageReport) { u.Samples[0].Text = strings.Repeat("x", MaxUsageSampleBytes+1) }, false)
	f(func(u *UsageReport) { u.Samples[0].Text = "\xff" }, false)
	f(func(u *UsageReport) { u.Samples[0].Status = 1000 }, false)
	f(func(u *UsageReport) { u.Causes[0].Cause = "" }, false)
}

// FuzzUsageReport: what is accepted survives the way over the wire, and adds up.
func FuzzUsageReport(f *testing.F) {
	b, err := json.Marshal(usage())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var u UsageReport
		if json.Unmarshal(b, &u) != nil || u.Validate() != nil {
			return
		}
		again, err := json.Marshal(&u)
		if err != nil {
			t.Fatal(err)
		}
		var v UsageReport
		if err := json.Unmarshal(again, &v); err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		var sum UsageCounts
		for i := range v.Series {
			if err := sum.Add(&v.Series[i].UsageCounts); err != nil {
				t.Fatal(err)
			}
		}
	})
}

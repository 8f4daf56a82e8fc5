package registry

import (
	"strings"
	"testing"
	"time"
)

// releaseWith is a valid release whose only toolset has this trial.
func releaseWith(trial ReleaseTrial) *Release {
	d := DigestOf([]byte("x"))
	return &Release{
		FormatVersion: ReleaseFormat, Group: "default", Epoch: 1, Revision: 1, Issued: time.Unix(1000, 0).UTC(), Expires: time.Unix(2000, 0).UTC(),
		Trusted:  []TrustedKey{{KeyID: strings.Repeat("a", 64), Use: UseRelease, PublicKey: []byte("k")}},
		Toolsets: []ReleaseToolset{{ID: "ts_1", Workspace: "w", Slug: "shop", Revision: 1, Repository: "w/toolsets/shop", Bundle: d, Trial: trial}},
		Plugins:  []ReleasePlugin{},
	}
}

// TestReleaseTrial: a release without a trial is the bytes that it was before trials, so
// that older nodes read it; one that is wrong is refused with its place.
func TestReleaseTrial(t *testing.T) {
	b, err := releaseWith(ReleaseTrial{}).Encode()
	if err != nil || strings.Contains(string(b), "trial") {
		t.Fatalf("%s, %v", b, err)
	}
	good := ReleaseTrial{ID: "roll_1", Mode: TrialCanary, Percent: 100, Repository: "w/toolsets/shop", Bundle: DigestOf([]byte("y"))}
	if b, err = releaseWith(good).Encode(); err != nil {
		t.Fatal(err)
	}
	r, err := ParseRelease(b)
	if err != nil || r.Toolsets[0].Trial != good || r.SameContent(releaseWith(ReleaseTrial{})) {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := r.Toolsets[0].Candidate(); c.Bundle != good.Bundle || c.Trial.Running() || c.Slug != "shop" {
		t.Errorf("candidate %+v", c)
	}
	for at, change := range map[string]func(*ReleaseTrial){
		"/toolsets/0/trial/id":         func(x *ReleaseTrial) { x.ID = "" },
		"/toolsets/0/trial/mode":       func(x *ReleaseTrial) { x.Mode = "half" },
		"/toolsets/0/trial/percent":    func(x *ReleaseTrial) { x.Percent = 101 },
		"/toolsets/0/trial/repository": func(x *ReleaseTrial) { x.Repository = "W" },
		"/toolsets/0/trial/bundle":     func(x *ReleaseTrial) { x.Bundle = "sha256:1" },
	} {
		bad := good
		change(&bad)
		if _, err := releaseWith(bad).Encode(); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v", at, err)
		}
	}
	shadow := good
	shadow.Mode = TrialShadow
	if _, err := releaseWith(shadow).Encode(); err == nil {
		t.Error("a shadow with a share of the callers is accepted")
	}
}

// TestUsageTrialBounds: as many roll-outs as MaxUsageTrials and counts of MaxUsageCount are
// taken, and one more is not.
func TestUsageTrialBounds(t *testing.T) {
	report := func(n int, count uint64) *UsageReport {
		r := &UsageReport{Epoch: "e", Sequence: 1, Oldest: 1, Minute: 60, Posted: time.Unix(1000, 0)}
		for range n {
			r.Trials = append(r.Trials, UsageTrial{Workspace: "w", Toolset: "ts_1", Trial: "roll_1", TrialCounts: TrialCounts{Live: TrialSide{Calls: count}}})
		}
		return r
	}
	for _, c := range []struct {
		r    *UsageReport
		want bool
	}{{report(MaxUsageTrials, MaxUsageCount), true}, {report(MaxUsageTrials+1, 1), false}, {report(1, MaxUsageCount+1), false}} {
		if err := c.r.Validate(); (err == nil) != c.want {
			t.Errorf("%d roll-outs, %d calls: %v", len(c.r.Trials), c.r.Trials[0].Live.Calls, err)
		}
	}
	bad := report(1, 1)
	bad.Trials[0].Candidate.Latency = []byte{255}
	if bad.Validate() == nil {
		t.Error("a histogram that cannot be read is accepted")
	}
}

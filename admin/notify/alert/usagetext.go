package alert

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/store"
)

const (
	// sampleBytes of what an agent was told about a failed call are in the cause of an alert.
	sampleBytes = 200
	// maxSamples of failed calls are looked at for one of the cause.
	maxSamples = 50
	// maxToolsets are named in an alert.
	maxToolsets = 20
	// before is how long before an alert its first failed call may be.
	before = 15 * time.Minute
)

// usageCondition is a finding as an alert tells it. row is its alert; nil: there is none yet.
func (r *Room) usageCondition(ctx context.Context, ws *store.Workspace, f *rule.Finding, row *store.Alert) (*condition, error) {
	c := &condition{key: f.Key, kind: f.Kind, severity: f.Severity, stage: f.Stage, hold: f.Rule.For, linger: f.Linger}
	var d Details
	var err error
	if row != nil {
		if d, err = detailsOf(row); err != nil {
			return nil, err
		}
	}
	if row != nil && (f.Kept || row.Kind == f.Kind && d.Value == f.Value && d.Calls == f.Failed && len(d.ToolsetIDs) == len(f.Toolsets)) {
		c.severity, c.stage, c.title, c.details = row.Severity, row.Stage, row.Title, d // nothing new is known
		return c, nil
	}
	names, err := slugs(ctx, ws, f.Toolsets[:min(len(f.Toolsets), maxToolsets)])
	if err != nil {
		return nil, err
	}
	d.ToolsetIDs, d.Toolset, d.Toolsets = f.Toolsets, "", nil
	if len(names) == 1 {
		c.toolset, d.Toolset = f.Toolsets[0], names[0]
	} else {
		d.Toolsets = names
	}
	d.Connector, d.Upstream, d.Rule = f.Place.Connector, f.Place.Upstream, f.Rule.Name
	d.Calls, d.Value, d.Threshold, d.Unit = f.Failed, f.Value, f.Rule.Threshold, f.Rule.Unit()
	d.Tools = f.Tools
	if d.Caller, err = callerOf(ctx, ws, f); err != nil {
		return nil, err
	}
	d.Status = 0
	if code, ok := strings.CutPrefix(f.Cause, "http_"); ok {
		d.Status, _ = strconv.Atoi(code) // of another cause it stays 0
	}
	if err := r.failedCalls(ctx, ws, f, row, &d); err != nil {
		return nil, err
	}
	if d.Preceded == nil && len(f.Toolsets) > 0 {
		if d.Preceded, err = preceding(ctx, ws, ws.Now(), f.Toolsets...); err != nil {
			return nil, err
		}
	}
	c.title = usageTitle(f, names)
	if d.Cause, err = r.usageCause(ctx, ws, f); err != nil {
		return nil, err
	}
	d.Remedy, d.Command = usageRemedy(f, names)
	c.details = d
	return c, nil
}

// failedCalls adds which calls were hit, as far as the call log has them.
func (r *Room) failedCalls(ctx context.Context, ws *store.Workspace, f *rule.Finding, row *store.Alert, d *Details) error {
	now := ws.Now()
	d.LastAt = now
	if len(f.Toolsets) == 0 || f.Failed == 0 || f.Caller != (rule.Caller{}) {
		return nil // of a caller the command shows them
	}
	since := now.Add(-before)
	if row != nil {
		since = row.Since.Add(-before)
	}
	callers, first, last, err := ws.FailedCalls(ctx, f.Toolsets, f.Tools, f.Cause, since)
	if err != nil || callers == 0 {
		return err
	}
	if d.Callers = max(d.Callers, callers); d.FirstCall == "" {
		d.FirstCall, d.FirstAt = first.ID(), first.At.Time
	}
	d.LastCall, d.LastAt = last.ID(), last.At.Time
	return nil
}

// upstreamName is what the upstream of a finding is called.
func upstreamName(f *rule.Finding, names []string) string {
	switch {
	case f.Place.Upstream != "":
		return f.Place.Upstream
	case f.Place.Connector != "":
		return "the API of " + f.Place.Connector
	}
	return "the API of " + list(names, 1)
}

// usageTitle says what is wrong in a sentence.
func usageTitle(f *rule.Finding, names []string) string {
	up, of := upstreamName(f, names), "the workspace"
	if len(names) == 1 {
		of = "toolset " + names[0]
	} else if len(names) > 1 {
		of = "toolsets " + list(names, 3)
	}
	if f.Caller != (rule.Caller{}) { // notices have the title, and do not name the caller
		of = "one caller of " + of
	}
	tools := "tool " + list(f.Tools, 1)
	if len(f.Tools) > 1 {
		tools = fmt.Sprintf("%d tools", len(f.Tools))
	}
	switch f.Kind {
	case rule.KindUnreachable:
		return up + " cannot be reached: calls of " + of + " fail"
	case rule.KindTimeout:
		return up + " does not answer in time: calls of " + of + " fail"
	case rule.KindErrors:
		return up + " answers with errors: calls of " + of + " fail"
	case rule.KindCircuitOpen:
		return "calls of " + of + " to " + up + " are turned away"
	case rule.KindLimited:
		return up + " limits the calls of " + of
	case rule.KindSlow:
		return up + " is slow: calls of " + of + " wait for it"
	case rule.KindToolFailing:
		return "every call of " + tools + " of " + of + " fails"
	case rule.KindErrorRate:
		return "many calls of " + of + " fail"
	case rule.KindPlugin:
		return "a plugin of " + of + " fails: calls of " + tools + " fail"
	case rule.KindBudget:
		if f.Stage == "spent" {
			return "budget " + f.Rule.Name + " of " + of + " is spent"
		}
		return "budget " + f.Rule.Name + " of " + of + " is nearly spent"
	}
	if f.Rule.Each == rule.EachTool {
		of = tools + " of " + of
	}
	return fmt.Sprintf("rule %s: %s of %s passed %s", f.Rule.Name, f.Rule.Metric, of, amount(f.Rule.Threshold, f.Rule.Unit()))
}

// amount is a number with its unit: 12.5 %, 300 ms, 20 calls.
func amount(n float64, unit string) string {
	return strings.TrimSpace(strconv.FormatFloat(float64(int64(n*10+0.5))/10, 'f', -1, 64) + " " + unit)
}

// window of a rule, for people.
func window(r *rule.Rule) string {
	switch {
	case r.Calendar != "":
		return "this " + r.Calendar + " (UTC)"
	case r.Preset:
		return "the newest calls of the last " + rule.Text(r.Window)
	}
	return "the last " + rule.Text(r.Window)
}

// usageCause says what was seen.
func (r *Room) usageCause(ctx context.Context, ws *store.Workspace, f *rule.Finding) (string, error) {
	var b strings.Builder
	switch {
	case f.Kind == rule.KindSlow:
		fmt.Fprintf(&b, "95 of 100 answers came within %s, in %s (%d calls); the threshold is %s", amount(f.Value, "ms"), window(f.Rule), f.Calls, amount(f.Rule.Threshold, "ms"))
	case f.Rule.Preset:
		fmt.Fprintf(&b, "%d of %d calls failed, in %s", f.Failed, f.Calls, window(f.Rule))
	default:
		fmt.Fprintf(&b, "%s is %s, in %s; the threshold is %s", f.Rule.Metric, amount(f.Value, f.Rule.Unit()), window(f.Rule), amount(f.Rule.Threshold, f.Rule.Unit()))
	}
	if f.Cause == "" || len(f.Toolsets) == 0 {
		return b.String(), nil
	}
	fmt.Fprintf(&b, ", mostly: %s", f.Cause)
	now := ws.Now()
	for _, ts := range f.Toolsets[:min(len(f.Toolsets), 3)] {
		samples, err := ws.UsageSamples(ctx, now.Add(-2*before), now.Add(time.Minute), ts, "", maxSamples)
		if err != nil {
			return "", err
		}
		for i := range samples {
			s := &samples[i]
			if s.Cause != f.Cause || len(f.Tools) > 0 && !slices.Contains(f.Tools, s.Tool) {
				continue
			}
			text := strings.Join(strings.Fields(s.Text), " ")
			if len(text) > sampleBytes {
				text = strings.ToValidUTF8(text[:sampleBytes], "") + "…"
			}
			if text != "" {
				fmt.Fprintf(&b, ": %q", text)
			}
			return b.String(), nil
		}
	}
	return b.String(), nil
}

// usageRemedy says what resolves it.
func usageRemedy(f *rule.Finding, names []string) (remedy, command string) {
	toolset := ""
	if len(names) > 0 {
		toolset = names[0]
	}
	switch f.Kind {
	case rule.KindUnreachable:
		return "look whether the upstream runs, and at its address, name and certificate", "sluice toolset test " + toolset
	case rule.KindTimeout, rule.KindSlow:
		return "look at the load of the upstream; a tool that takes long by nature may have a longer limit", "sluice usage " + toolset + " --since 1h"
	case rule.KindErrors:
		switch f.Cause {
		case "upstream_malformed":
			return "look whether the API itself answers: at the base URL, at redirects, and at a login page or proxy in between; a new version of it may answer otherwise", "sluice toolset test " + toolset
		case "upstream_too_large":
			return "ask for less (sluice toolset optimize " + toolset + " --fields), or raise the limit (--max-response)", "sluice usage " + toolset + " --samples"
		case "http_502", "http_503", "http_504":
			return "the upstream, or a proxy in front of it, reports that it is down, overloaded or in maintenance: check it, or wait", "sluice usage " + toolset + " --samples"
		}
		return "look at the log of the upstream; a new version of it may have another specification", "sluice usage " + toolset + " --samples"
	case rule.KindCircuitOpen:
		return "look whether the upstream runs, and at the limit of calls at a time", "sluice usage " + toolset + " --samples"
	case rule.KindLimited:
		return "ask the vendor for a higher limit, keep answers (sluice toolset optimize " + toolset + " --cache), or limit callers", "sluice usage " + toolset + " --since 1h"
	case rule.KindToolFailing, rule.KindErrorRate:
		return "check the errors that agents get: wrong arguments, a wrong address, or a tool that the API no longer has", "sluice usage " + toolset + " --samples"
	case rule.KindPlugin:
		return "deploy the toolset with another version of the plugin, or yank this one", "sluice plugin list"
	case rule.KindBudget:
		if f.Caller != (rule.Caller{}) {
			break
		}
		return "limit callers, keep answers short (sluice toolset optimize), or raise the budget", "sluice alert rule set " + f.Rule.Name + " --threshold N"
	}
	if f.Caller != (rule.Caller{}) {
		return "look at what this caller calls; sluice toolset access TOOLSET set --rate N limits each caller", "sluice logs --since 1h --caller " + shellWord(f.Caller.ID)
	}
	if toolset == "" {
		return "look at the usage", "sluice usage --since 1h"
	}
	return "look at the usage of the toolset", "sluice usage " + toolset + " --since 1h"
}

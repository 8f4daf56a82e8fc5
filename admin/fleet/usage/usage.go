package usage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxUsagePoints of one group: a chart has no more pixels.
	maxUsagePoints = 1500
	// maxUsageGroups of one answer; the busiest are given.
	maxUsageGroups = 500
	// maxUsageRange is how far back the hours go.
	maxUsageRange = store.UsageHourAge
	// clockSkew is how far the clock of a node may be off before its minutes are
	// moved to where they belong by ours.
	clockSkew = 10 * time.Minute
	// localNode is the gateway in the process of a control plane.
	localNode = "local"
	// usageOK is the outcome of calls that did not fail.
	usageOK = "ok"
)

// Room keeps the usage figures and the call log.
type Room struct {
	Store *store.Store
	Log   *slog.Logger
	// Settle posts what the gateway of this node counted, before usage is read. nil: what
	// is read may be ten seconds old.
	Settle func(ctx context.Context) error
	// DropUnwanted removes from a report what toolsets learned that are to learn nothing.
	DropUnwanted func(ctx context.Context, r *registry.UsageReport) error
	// Seal seals the run of a script for a record. nil: runs are not kept.
	Seal func(rec secrets.Record, text []byte) ([]byte, error)
	// Arrived is told when calls arrived. It must not block.
	Arrived func()
	// Tried is told when calls of a roll-out arrived. It must not block.
	Tried func()
	// Stopping is closed when the server stops: who follows the call log is answered.
	Stopping <-chan struct{}

	arrived publish.Bell // rings when calls arrived
}

// PostUsage applies a report of the gateway in this process.
func (r *Room) PostUsage(ctx context.Context, report *registry.UsageReport) (registry.UsageReceipt, error) {
	return r.apply(ctx, localNode, "", report)
}

// PostEdge applies a report of an edge.
func (r *Room) PostEdge(ctx context.Context, e *store.Edge, report *registry.UsageReport) (registry.UsageReceipt, error) {
	if e.AllWorkspaces {
		return r.apply(ctx, e.ID, "", report)
	}
	return r.apply(ctx, e.ID, e.WorkspaceID, report)
}

// apply applies a report. What a node that serves one workspace says is that
// workspace's; what is said of a workspace that is not known is the operator's.
func (r *Room) apply(ctx context.Context, node, only string, report *registry.UsageReport) (registry.UsageReceipt, error) {
	if err := report.Validate(); err != nil {
		return registry.UsageReceipt{}, err
	}
	known := map[string]bool{}
	if only == "" {
		ids, err := r.Store.Workspaces(ctx)
		if err != nil {
			return registry.UsageReceipt{}, err
		}
		for _, id := range ids {
			known[id] = true
		}
	}
	place := func(ws *string) {
		switch {
		case only != "":
			*ws = only
		case !known[*ws]:
			*ws = request.Operator
		}
	}
	for i := range report.Series {
		place(&report.Series[i].Workspace)
	}
	for i := range report.Causes {
		place(&report.Causes[i].Workspace)
	}
	now := r.Store.Now()
	skew := now.Sub(report.Posted)
	for i := range report.Samples {
		place(&report.Samples[i].Workspace)
		if skew.Abs() > clockSkew {
			report.Samples[i].At = report.Samples[i].At.Add(skew)
		}
	}
	for i := range report.Calls {
		place(&report.Calls[i].Workspace)
		if skew.Abs() > clockSkew {
			report.Calls[i].At = report.Calls[i].At.Add(skew)
		}
	}
	for i := range report.Omitted {
		place(&report.Omitted[i].Workspace)
	}
	for i := range report.Found {
		place(&report.Found[i].Workspace)
	}
	for i := range report.Trials {
		place(&report.Trials[i].Workspace)
	}
	if err := r.sealRuns(report); err != nil {
		return registry.UsageReceipt{}, err
	}
	if err := r.DropUnwanted(ctx, report); err != nil {
		return registry.UsageReceipt{}, err
	}
	minute := time.Unix(report.Minute, 0)
	if skew.Abs() > clockSkew {
		minute = minute.Add(skew)
	}
	if minute.After(now) {
		minute = now
	}
	report.Minute = max(minute.Truncate(time.Minute).Unix(), 60)
	if err := report.Validate(); err != nil { // two workspaces may have become one
		return registry.UsageReceipt{}, err
	}
	applied, err := r.Store.ApplyUsage(ctx, node, report)
	if applied && len(report.Calls) > 0 {
		r.arrived.Ring()
		r.Arrived()
	}
	if applied && len(report.Trials) > 0 {
		r.Tried()
	}
	return registry.UsageReceipt{Applied: applied}, err
}

// sealRuns seals the runs of scripts in a report: nothing else of it may hold them.
func (r *Room) sealRuns(report *registry.UsageReport) error {
	for i := range report.Calls {
		c := &report.Calls[i]
		if len(c.Run) == 0 || r.Seal == nil {
			c.Run = nil
			continue
		}
		var err error
		if c.Sealed, err = r.Seal(store.RunRecord(c.Workspace, c.Toolset, c.Script), c.Run); err != nil {
			return fmt.Errorf("sealing the run of a script: %w", err)
		}
		c.Run = nil
	}
	return nil
}

// UsageInput asks for usage.
type UsageInput struct {
	Range   string    `query:"range" default:"24h" maxLength:"20" doc:"How far back from to: 1h, 24h, 7d, 30d, 400d at most. Not with from."`
	From    time.Time `query:"from" doc:"Beginning; moved back to the beginning of a step."`
	To      time.Time `query:"to" doc:"End. Default: now."`
	Step    string    `query:"step" maxLength:"20" doc:"Width of a point: 1m, 10m, 1h, 6h, 1d. Default: by the range."`
	Toolset string    `query:"toolset" maxLength:"128" doc:"Only of this toolset, by id or slug."`
	Tool    string    `query:"tool" maxLength:"256" doc:"Only of tools of this name."`
	By      []string  `query:"by" enum:"toolset,tool,outcome,credential" maxItems:"4" doc:"What to divide by."`
}

// UsageErrorsInput asks for failed calls.
type UsageErrorsInput struct {
	Range   string    `query:"range" default:"24h" maxLength:"20" doc:"How far back from to; 35d at most, samples 7d."`
	To      time.Time `query:"to" doc:"End. Default: now."`
	Toolset string    `query:"toolset" maxLength:"128" doc:"Only of this toolset, by id or slug."`
	Tool    string    `query:"tool" maxLength:"256" doc:"Only of tools of this name."`
	Limit   int64     `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Most causes, and most samples."`
}

// UsageReportOutput is usage over a range.
type UsageReportOutput struct {
	From        time.Time    `json:"from"`
	To          time.Time    `json:"to"`
	StepSeconds int64        `json:"stepSeconds"`
	Totals      UsageNumbers `json:"totals" doc:"Of all groups, also of those that are not listed."`
	Groups      []UsageGroup `json:"groups" doc:"The busiest first."`
	Truncated   bool         `json:"truncated,omitempty" doc:"There are more groups than are listed."`
}

// UsageGroup is the usage of one toolset, tool, outcome and state of credentials, as
// far as they were asked for.
type UsageGroup struct {
	ToolsetID  string       `json:"toolsetId,omitempty"`
	Toolset    string       `json:"toolset,omitempty" doc:"Slug; absent when the toolset was deleted."`
	Tool       string       `json:"tool,omitempty"`
	Outcome    string       `json:"outcome,omitempty" doc:"ok, tool_error, protocol_error, upstream_error, timeout, denied, plugin_error or cancelled."`
	Credential string       `json:"credential,omitempty" doc:"State of the credentials: none, accepted, refused or missing."`
	Totals     UsageNumbers `json:"totals"`
	Points     []UsagePoint `json:"points" doc:"Steps without calls are left out."`
}

// UsagePoint is the usage in one step.
type UsagePoint struct {
	At time.Time `json:"at" doc:"Beginning of the step."`
	UsageNumbers
}

// UsageNumbers are sums over calls.
type UsageNumbers struct {
	Calls        uint64       `json:"calls"`
	Errors       uint64       `json:"errors" doc:"Calls whose outcome is not ok."`
	Inner        uint64       `json:"innerCalls" doc:"Of the calls, those that a workflow, a script or a batch made; the others were made by agents."`
	Cached       uint64       `json:"cached" doc:"Calls answered without the upstream."`
	BytesBefore  uint64       `json:"bytesBefore" doc:"Of answers as the upstream sent them."`
	BytesAfter   uint64       `json:"bytesAfter" doc:"Of answers as agents got them."`
	TokensBefore uint64       `json:"tokensBefore" doc:"Estimated."`
	TokensAfter  uint64       `json:"tokensAfter" doc:"Estimated."`
	Latency      UsageLatency `json:"latency" doc:"Of whole calls."`
	Upstream     UsageLatency `json:"upstream" doc:"Of calls that asked the upstream: how long they waited for it."`
	PluginsMs    float64      `json:"pluginsMs" doc:"Mean time in response programs and plugins."`
}

// UsageLatency is how long calls took, in milliseconds. Percentiles are estimated
// from buckets that are 13.6 % wide.
type UsageLatency struct {
	MeanMs float64 `json:"meanMs"`
	P50Ms  float64 `json:"p50Ms"`
	P95Ms  float64 `json:"p95Ms"`
	P99Ms  float64 `json:"p99Ms"`
}

// UsageErrors are the failed calls of a range.
type UsageErrors struct {
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Causes  []UsageCause  `json:"causes" doc:"The most frequent first."`
	Samples []UsageSample `json:"samples" doc:"Newest first. What looks like a secret or names a person was taken out."`
}

// UsageCause counts failed calls of a tool by what made them fail.
type UsageCause struct {
	ToolsetID string `json:"toolsetId"`
	Toolset   string `json:"toolset,omitempty"`
	Tool      string `json:"tool"`
	Cause     string `json:"cause" doc:"http_404, timeout, invalid_tool_arguments, …"`
	Calls     uint64 `json:"calls"`
}

// UsageSample is one failed call.
type UsageSample struct {
	At        time.Time `json:"at"`
	ToolsetID string    `json:"toolsetId"`
	Toolset   string    `json:"toolset,omitempty"`
	Tool      string    `json:"tool"`
	Outcome   string    `json:"outcome"`
	Cause     string    `json:"cause"`
	Status    int       `json:"status,omitempty" doc:"Of the upstream."`
	Node      string    `json:"node" doc:"Edge that served the call; local: the control plane's own gateway."`
	Text      string    `json:"text" doc:"What the agent was told."`
}

// ParseRange reads a duration such as 90m, 24h or 30d.
func ParseRange(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && fmt.Sprint(n) == days && n > 0 && n <= 4000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, problem.New(problem.InvalidArgument, "%.40q is not a range of time", text).Fix("write it like 90m, 24h or 30d")
}

// autoStep gives ranges about a hundred points.
func autoStep(d time.Duration) time.Duration {
	switch {
	case d <= 2*time.Hour:
		return time.Minute
	case d <= 48*time.Hour:
		return 10 * time.Minute
	case d <= 8*24*time.Hour:
		return time.Hour
	case d <= 40*24*time.Hour:
		return 6 * time.Hour
	}
	return 24 * time.Hour
}

// query makes the query of the store.
func (in *UsageInput) query(now time.Time) (*store.UsageQuery, error) {
	q := &store.UsageQuery{To: in.To.UTC(), From: in.From.UTC(), Tool: in.Tool}
	if in.To.IsZero() {
		q.To = now
	}
	if in.From.IsZero() {
		d, err := ParseRange(in.Range)
		if err != nil {
			return nil, err
		}
		q.From = q.To.Add(-d)
	}
	length := q.To.Sub(q.From)
	if length <= 0 {
		return nil, problem.New(problem.InvalidArgument, "the range ends before it begins")
	}
	if length > maxUsageRange+24*time.Hour {
		return nil, problem.New(problem.InvalidArgument, "the range is longer than %d days", maxUsageRange/(24*time.Hour))
	}
	q.Step = autoStep(length)
	if in.Step != "" {
		var err error
		if q.Step, err = ParseRange(in.Step); err != nil {
			return nil, err
		}
	}
	old := q.From.Before(now.Add(-registry.UsageMinuteAge))
	switch {
	case q.Step%time.Minute != 0:
		return nil, problem.New(problem.InvalidArgument, "a step is whole minutes")
	case old && q.Step%time.Hour != 0 && in.Step != "":
		return nil, problem.New(problem.InvalidArgument, "beyond %d days back a step is whole hours", registry.UsageMinuteAge/(24*time.Hour)).Fix("ask for step=1h")
	case old && q.Step < time.Hour:
		q.Step = time.Hour
	}
	q.Hours = q.Step%time.Hour == 0
	q.From = q.From.Truncate(q.Step)
	if n := q.To.Sub(q.From) / q.Step; n > maxUsagePoints {
		return nil, problem.New(problem.InvalidArgument, "%d points are more than %d", n, maxUsagePoints).Fix("ask for a wider step or a shorter range")
	}
	for _, by := range in.By {
		switch by {
		case "toolset":
			q.Group.Toolset = true
		case "tool":
			q.Group.Tool = true
		case "outcome":
			q.Group.Outcome = true
		case "credential":
			q.Group.Credential = true
		}
	}
	return q, nil
}

// usageSum adds points up.
type usageSum struct {
	registry.UsageCounts

	errors            uint64
	latency, upstream rollup.Histogram
}

func (u *usageSum) add(p *store.UsagePoint) error {
	if p.Outcome != usageOK {
		u.errors += p.Calls
	}
	u.latency.Merge(&p.Latencies)
	u.upstream.Merge(&p.UpstreamLatencies)
	return u.UsageCounts.Add(&p.UsageCounts)
}

func (u *usageSum) show() UsageNumbers {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	mean := func(sum, n uint64) float64 {
		if n == 0 {
			return 0
		}
		return float64(sum/n) / 1000
	}
	latency := func(h *rollup.Histogram, sum uint64) UsageLatency {
		return UsageLatency{MeanMs: mean(sum, h.Count()), P50Ms: ms(h.Quantile(0.5)), P95Ms: ms(h.Quantile(0.95)), P99Ms: ms(h.Quantile(0.99))}
	}
	return UsageNumbers{
		Calls: u.Calls, Errors: u.errors, Inner: u.Inner, Cached: u.Cached, BytesBefore: u.BytesBefore, BytesAfter: u.BytesAfter, TokensBefore: u.TokensBefore,
		TokensAfter: u.TokensAfter, Latency: latency(&u.latency, u.Duration), Upstream: latency(&u.upstream, u.Upstream), PluginsMs: mean(u.Plugins, u.Calls),
	}
}

// usageGroup adds up one group and its steps.
type usageGroup struct {
	key   registry.UsageKey
	sum   usageSum
	steps map[time.Time]*usageSum
}

// Usage reads usage over a range.
func (r *Room) Usage(ctx context.Context, ws *store.Workspace, in *UsageInput) (*UsageReportOutput, error) {
	q, err := in.query(ws.Now())
	if err != nil {
		return nil, err
	}
	if q.Toolset, err = ToolsetID(ctx, ws, in.Toolset); err != nil {
		return nil, err
	}
	r.settle(ctx)
	divided := q.Group.Outcome
	q.Group.Outcome = true // what is an error is seen by it
	points, err := ws.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	groups, total := map[registry.UsageKey]*usageGroup{}, usageSum{}
	for _, p := range points {
		key := p.UsageKey
		if !divided {
			key.Outcome = ""
		}
		g := groups[key]
		if g == nil {
			g = &usageGroup{key: key, steps: map[time.Time]*usageSum{}}
			groups[key] = g
		}
		step := g.steps[p.At]
		if step == nil {
			step = &usageSum{}
			g.steps[p.At] = step
		}
		for _, to := range []*usageSum{&total, &g.sum, step} {
			if err := to.add(p); err != nil {
				return nil, err
			}
		}
	}
	sorted := make([]*usageGroup, 0, len(groups))
	for _, g := range groups {
		sorted = append(sorted, g)
	}
	slices.SortFunc(sorted, func(a, b *usageGroup) int {
		return cmp.Or(cmp.Compare(b.sum.Calls, a.sum.Calls), cmp.Compare(a.key.Toolset, b.key.Toolset), cmp.Compare(a.key.Tool, b.key.Tool),
			cmp.Compare(a.key.Outcome, b.key.Outcome), cmp.Compare(a.key.Credential, b.key.Credential))
	})
	out := &UsageReportOutput{From: q.From, To: q.To, StepSeconds: int64(q.Step / time.Second), Totals: total.show(), Groups: []UsageGroup{}}
	out.Truncated = len(sorted) > maxUsageGroups
	slugs := slugsOf(ctx, ws)
	for _, g := range sorted[:min(len(sorted), maxUsageGroups)] {
		shown := UsageGroup{
			ToolsetID: g.key.Toolset, Tool: g.key.Tool, Outcome: g.key.Outcome, Credential: g.key.Credential, Totals: g.sum.show(),
			Points: make([]UsagePoint, 0, len(g.steps)),
		}
		if shown.Toolset, err = slugs(g.key.Toolset); err != nil {
			return nil, err
		}
		for at, sum := range g.steps {
			shown.Points = append(shown.Points, UsagePoint{At: at, UsageNumbers: sum.show()})
		}
		slices.SortFunc(shown.Points, func(a, b UsagePoint) int { return a.At.Compare(b.At) })
		out.Groups = append(out.Groups, shown)
	}
	return out, nil
}

// settle brings usage up to date. When that does not work, what is read is a
// few seconds older.
func (r *Room) settle(ctx context.Context) {
	if r.Settle == nil {
		return
	}
	if err := r.Settle(ctx); err != nil && ctx.Err() == nil {
		r.Log.LogAttrs(ctx, slog.LevelWarn, "usage of this node is not up to date", slog.Any("error", err))
	}
}

// ToolsetID is the identifier of a toolset. One that was deleted still has usage,
// by its identifier.
func ToolsetID(ctx context.Context, ws *store.Workspace, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "ts_") {
		return name, nil
	}
	ts, err := ws.ToolsetBySlug(ctx, name)
	if err != nil {
		return "", err
	}
	return ts.ID, nil
}

// slugsOf looks slugs up once each; "" for a toolset that was deleted.
func slugsOf(ctx context.Context, ws *store.Workspace) func(id string) (string, error) {
	known := map[string]string{"": ""}
	return func(id string) (string, error) {
		slug, ok := known[id]
		if ok {
			return slug, nil
		}
		ts, err := ws.Toolset(ctx, id)
		switch {
		case problem.Is(err, problem.NotFound):
		case err != nil:
			return "", err
		default:
			slug = ts.Slug
		}
		known[id] = slug
		return slug, nil
	}
}

// Errors reads why calls of a range failed.
func (r *Room) Errors(ctx context.Context, ws *store.Workspace, in *UsageErrorsInput) (*UsageErrors, error) {
	d, err := ParseRange(in.Range)
	if err != nil {
		return nil, err
	}
	toolset, err := ToolsetID(ctx, ws, in.Toolset)
	if err != nil {
		return nil, err
	}
	to := in.To.UTC()
	if in.To.IsZero() {
		to = ws.Now().Add(time.Second)
	}
	from := to.Add(-d)
	r.settle(ctx)
	out := &UsageErrors{From: from, To: to, Causes: []UsageCause{}, Samples: []UsageSample{}}
	causes, err := ws.UsageCauses(ctx, from.Truncate(time.Minute), to, toolset, in.Tool, in.Limit)
	if err != nil {
		return nil, err
	}
	samples, err := ws.UsageSamples(ctx, from, to, toolset, in.Tool, in.Limit)
	if err != nil {
		return nil, err
	}
	slugs := slugsOf(ctx, ws)
	for i := range causes {
		c := &causes[i]
		slug, err := slugs(c.ToolsetID)
		if err != nil {
			return nil, err
		}
		out.Causes = append(out.Causes, UsageCause{ToolsetID: c.ToolsetID, Toolset: slug, Tool: c.Tool, Cause: c.Cause, Calls: c.Calls})
	}
	for i := range samples {
		x := &samples[i]
		slug, err := slugs(x.ToolsetID)
		if err != nil {
			return nil, err
		}
		out.Samples = append(out.Samples, UsageSample{
			At: x.At.Time, ToolsetID: x.ToolsetID, Toolset: slug, Tool: x.Tool, Outcome: x.Outcome, Cause: x.Cause, Status: x.Status, Node: x.Node, Text: x.Text,
		})
	}
	return out, nil
}

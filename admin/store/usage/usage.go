package usage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/rollup"
	"github.com/sluicegate/sluice/registry"
)

const (
	// HourAge is how long hours are kept: thirteen months, so that a month can be
	// compared with the one a year before.
	HourAge = 400 * 24 * time.Hour
	// usageSampleAge is how long failed calls are kept for people to read.
	usageSampleAge = 7 * 24 * time.Hour
	// maxUsageSamples of one workspace; the oldest go first.
	maxUsageSamples = 2000
	// maxAhead is how many reports after one that is missing are remembered. A node
	// posts in order, so more is no accident.
	maxAhead = 10000
)

// Reader reads the usage of one workspace, on a connection or in a transaction.
type Reader struct {
	db        bun.IDB
	workspace string
}

// Of reads the usage of a workspace.
func Of(db bun.IDB, workspace string) Reader { return Reader{db, workspace} }

// from starts a query of the workspace's rows of model.
func (r *Reader) from(model any) *bun.SelectQuery {
	return r.db.NewSelect().Model(model).Where("workspace_id = ?", r.workspace)
}

// Writer adds the reports of nodes. It is not changed once it is used.
type Writer struct {
	Now      func() time.Time
	NewID    func(prefix string) string
	CallRows uint64        // how many calls of each workspace are kept
	CallAge  time.Duration // how long calls are kept
}

// usageRow is a row of usage_minutes or usage_hours; minute is where its time begins.
type usageRow struct {
	bun.BaseModel `bun:"table:usage_minutes,alias:u"`
	table.InWorkspace
	Minute          int64  `bun:"minute,pk"`
	ToolsetID       string `bun:"toolset_id,pk"`
	Tool            string `bun:"tool,pk"`
	Outcome         string `bun:"outcome,pk"`
	Credential      string `bun:"credential,pk"`
	Calls           uint64 `bun:"calls"`
	Cached          uint64 `bun:"cached"`
	BytesBefore     uint64 `bun:"bytes_before"`
	BytesAfter      uint64 `bun:"bytes_after"`
	TokensBefore    uint64 `bun:"tokens_before"`
	TokensAfter     uint64 `bun:"tokens_after"`
	Duration        uint64 `bun:"duration"`
	Upstream        uint64 `bun:"upstream"`
	Plugins         uint64 `bun:"plugins"`
	Inner           uint64 `bun:"inner_calls"`
	Latency         []byte `bun:"latency"`
	UpstreamLatency []byte `bun:"upstream_latency"`
}

func (r *usageRow) key() registry.UsageKey {
	return registry.UsageKey{Workspace: r.WorkspaceID, Toolset: r.ToolsetID, Tool: r.Tool, Outcome: r.Outcome, Credential: r.Credential}
}

func (r *usageRow) counts() registry.UsageCounts {
	return registry.UsageCounts{
		Calls: r.Calls, Inner: r.Inner, Cached: r.Cached, BytesBefore: r.BytesBefore, BytesAfter: r.BytesAfter, TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter,
		Duration: r.Duration, Upstream: r.Upstream, Plugins: r.Plugins, Latency: r.Latency, UpstreamLatency: r.UpstreamLatency,
	}
}

func newUsageRow(minute int64, k registry.UsageKey, c *registry.UsageCounts) usageRow {
	r := usageRow{
		InWorkspace: table.InWorkspace{WorkspaceID: k.Workspace}, Minute: minute, ToolsetID: k.Toolset, Tool: k.Tool, Outcome: k.Outcome, Credential: k.Credential,
		Calls: c.Calls, Inner: c.Inner, Cached: c.Cached, BytesBefore: c.BytesBefore, BytesAfter: c.BytesAfter, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter,
		Duration: c.Duration, Upstream: c.Upstream, Plugins: c.Plugins, Latency: c.Latency, UpstreamLatency: c.UpstreamLatency,
	}
	if r.Latency == nil {
		r.Latency = []byte{}
	}
	if r.UpstreamLatency == nil {
		r.UpstreamLatency = []byte{}
	}
	return r
}

type usageCauseRow struct {
	bun.BaseModel `bun:"table:usage_causes,alias:c"`
	table.InWorkspace
	Minute    int64  `bun:"minute,pk"`
	ToolsetID string `bun:"toolset_id,pk"`
	Tool      string `bun:"tool,pk"`
	Cause     string `bun:"cause,pk"`
	Calls     uint64 `bun:"calls"`
}

// Sample is a failed call that was kept for people to read.
type Sample struct {
	bun.BaseModel `bun:"table:usage_samples"`
	table.InWorkspace
	ID        string     `bun:"id,pk"` // use_…
	Node      string     `bun:"node"`
	ToolsetID string     `bun:"toolset_id"`
	Tool      string     `bun:"tool"`
	Outcome   string     `bun:"outcome"`
	Cause     string     `bun:"cause"`
	Status    int        `bun:"status"`
	At        table.Time `bun:"at"`
	Text      string     `bun:"text"`
}

// usageNode is which reports of one run of a node were applied: all up to Floor, and
// those of Ahead.
type usageNode struct {
	bun.BaseModel `bun:"table:usage_nodes"`
	Node          string     `bun:"node,pk"`
	Epoch         string     `bun:"epoch,pk"`
	Floor         uint64     `bun:"floor"`
	Ahead         string     `bun:"ahead"` // JSON: sorted numbers above Floor
	UpdatedAt     table.Time `bun:"updated_at"`
}

// take marks a report as applied and reports whether it is new.
func (n *usageNode) take(r *registry.UsageReport) (bool, error) {
	var ahead []uint64
	if err := json.Unmarshal([]byte(n.Ahead), &ahead); err != nil {
		return false, fmt.Errorf("reading what was applied of node %s: %w", n.Node, err)
	}
	// What is below the oldest that the node still has will not come any more.
	n.Floor = max(n.Floor, r.Oldest-1)
	at, found := slices.BinarySearch(ahead, r.Sequence)
	if r.Sequence <= n.Floor || found {
		return false, nil
	}
	ahead = slices.Insert(ahead, at, r.Sequence)
	for len(ahead) > 0 && ahead[0] <= n.Floor+1 {
		n.Floor = max(n.Floor, ahead[0])
		ahead = ahead[1:]
	}
	if len(ahead) > maxAhead {
		return false, problem.New(problem.Conflict, "%d usage reports came before report %d", len(ahead), n.Floor+1).Fix("post them in order")
	}
	b, err := json.Marshal(ahead)
	n.Ahead = string(b)
	return true, err
}

// Add adds a report of a node to the minutes and hours, once: it reports false for one
// that was added before. The transaction belongs to the caller, who has made the writers
// of each of the report's workspaces wait for each other.
func (w *Writer) Add(ctx context.Context, tx bun.Tx, node string, r *registry.UsageReport) (fresh bool, err error) {
	n := &usageNode{Node: node, Epoch: r.Epoch}
	err = tx.NewSelect().Model(n).WherePK().Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		n.Ahead, err = "[]", nil
	}
	if err != nil {
		return false, fmt.Errorf("reading what was applied of node %s: %w", node, err)
	}
	if fresh, err = n.take(r); err != nil || !fresh {
		return false, err
	}
	n.UpdatedAt = table.Time{Time: w.Now()}
	if _, err := tx.NewInsert().Model(n).On("CONFLICT (node, epoch) DO UPDATE").Set("floor = EXCLUDED.floor").Set("ahead = EXCLUDED.ahead").
		Set("updated_at = EXCLUDED.updated_at").Exec(ctx); err != nil {
		return false, fmt.Errorf("marking usage of node %s: %w", node, err)
	}
	hour := r.Minute - r.Minute%3600
	for _, t := range []struct {
		table string
		at    int64
	}{{"usage_minutes", r.Minute}, {"usage_hours", hour}} {
		if err := addUsage(ctx, tx, t.table, t.at, r.Series); err != nil {
			return false, fmt.Errorf("adding usage of node %s: %w", node, err)
		}
	}
	if err := markUsage(ctx, tx, Workspaces(r), r.Minute); err != nil {
		return false, fmt.Errorf("marking usage of node %s: %w", node, err)
	}
	if err := w.addFailures(ctx, tx, node, r); err != nil {
		return false, fmt.Errorf("adding failures of node %s: %w", node, err)
	}
	if err := w.addCalls(ctx, tx, node, r); err != nil {
		return false, fmt.Errorf("adding calls of node %s: %w", node, err)
	}
	if err := addCallers(ctx, tx, r); err != nil {
		return false, fmt.Errorf("adding usage of callers of node %s: %w", node, err)
	}
	return true, nil
}

// Workspaces are those that a report is about, sorted: in one order no two writers wait
// for each other.
func Workspaces(r *registry.UsageReport) []string {
	set := map[string]bool{}
	for i := range r.Series {
		set[r.Series[i].Workspace] = true
	}
	for i := range r.Causes {
		set[r.Causes[i].Workspace] = true
	}
	for i := range r.Calls {
		set[r.Calls[i].Workspace] = true
	}
	for i := range r.Omitted {
		set[r.Omitted[i].Workspace] = true
	}
	for i := range r.Found {
		set[r.Found[i].Workspace] = true
	}
	for i := range r.Trials {
		set[r.Trials[i].Workspace] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// addUsage adds series to the rows of one table that begin at a time.
func addUsage(ctx context.Context, tx bun.Tx, into string, at int64, series []registry.UsageSeries) error {
	byWorkspace := map[string][]*registry.UsageSeries{}
	for i := range series {
		byWorkspace[series[i].Workspace] = append(byWorkspace[series[i].Workspace], &series[i])
	}
	for ws, part := range byWorkspace {
		for chunk := range slices.Chunk(part, table.Chunk) {
			if err := addChunk(ctx, tx, into, ws, at, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func addChunk(ctx context.Context, tx bun.Tx, into, ws string, at int64, series []*registry.UsageSeries) error {
	toolsets := make([]string, 0, 4)
	for _, s := range series {
		if !slices.Contains(toolsets, s.Toolset) {
			toolsets = append(toolsets, s.Toolset)
		}
	}
	var have []usageRow
	if err := tx.NewSelect().Model(&have).ModelTableExpr(into+" AS u").Where("workspace_id = ?", ws).Where("minute = ?", at).
		Where("toolset_id IN (?)", bun.List(toolsets)).Scan(ctx); err != nil {
		return err
	}
	sums := make(map[registry.UsageKey]registry.UsageCounts, len(have))
	for i := range have {
		sums[have[i].key()] = have[i].counts()
	}
	rows := make([]usageRow, len(series))
	for i, s := range series {
		sum := sums[s.UsageKey]
		if err := sum.Add(&s.UsageCounts); err != nil {
			return err
		}
		rows[i] = newUsageRow(at, s.UsageKey, &sum)
	}
	q := tx.NewInsert().Model(&rows).ModelTableExpr(into).On("CONFLICT (workspace_id, minute, toolset_id, tool, outcome, credential) DO UPDATE")
	for _, c := range []string{
		"calls", "inner_calls", "cached", "bytes_before", "bytes_after", "tokens_before", "tokens_after", "duration", "upstream", "plugins", "latency", "upstream_latency",
	} {
		q = q.Set("? = EXCLUDED.?", bun.Ident(c), bun.Ident(c))
	}
	_, err := q.Exec(ctx)
	return err
}

// addFailures adds causes and samples.
func (w *Writer) addFailures(ctx context.Context, tx bun.Tx, node string, r *registry.UsageReport) error {
	sums := map[usageCauseRow]uint64{}
	for i := range r.Causes {
		c := &r.Causes[i]
		sums[usageCauseRow{InWorkspace: table.InWorkspace{WorkspaceID: c.Workspace}, Minute: r.Minute, ToolsetID: c.Toolset, Tool: c.Tool, Cause: c.Cause}] += c.Calls
	}
	causes := make([]usageCauseRow, 0, len(sums))
	for row, n := range sums {
		row.Calls = n
		causes = append(causes, row)
	}
	for chunk := range slices.Chunk(causes, table.Chunk) {
		if _, err := tx.NewInsert().Model(&chunk).On("CONFLICT (workspace_id, minute, toolset_id, tool, cause) DO UPDATE").
			Set("calls = c.calls + EXCLUDED.calls").Exec(ctx); err != nil {
			return err
		}
	}
	samples := make([]Sample, len(r.Samples))
	for i := range r.Samples {
		x := &r.Samples[i]
		samples[i] = Sample{
			InWorkspace: table.InWorkspace{WorkspaceID: x.Workspace}, ID: w.NewID("use"), Node: node, ToolsetID: x.Toolset, Tool: x.Tool,
			Outcome: x.Outcome, Cause: x.Cause, Status: x.Status, At: table.Time{Time: x.At}, Text: x.Text,
		}
	}
	if len(samples) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&samples).Exec(ctx)
	return err
}

// Group says what the rows of a usage query are divided by, besides time.
type Group struct{ Toolset, Tool, Outcome, Credential bool }

// Query asks for usage of a workspace.
type Query struct {
	From, To time.Time // the second is not part of it
	// Step is the width of a point: whole minutes up to 35 days back, whole hours
	// beyond. 0: one point.
	Step    time.Duration
	Hours   bool   // of the hour table
	Toolset string // identifier; empty: all
	Tool    string // empty: all
	Group   Group
}

// Point is the usage of a group in a step.
type Point struct {
	At time.Time // when the step begins
	registry.UsageKey
	// UsageCounts without the encoded histograms, which are in those below.
	registry.UsageCounts
	Latencies         rollup.Histogram // of calls
	UpstreamLatencies rollup.Histogram // of those that asked the upstream
}

// add adds a row.
func (p *Point) add(r *usageRow) error {
	n := r.counts()
	if err := errors.Join(p.Latencies.MergeBinary(n.Latency), p.UpstreamLatencies.MergeBinary(n.UpstreamLatency)); err != nil {
		return err
	}
	n.Latency, n.UpstreamLatency = nil, nil
	return p.UsageCounts.Add(&n)
}

// Usage adds up what a query asks for, by group and then by time. Fields of the key
// that it is not divided by are empty.
func (r *Reader) Usage(ctx context.Context, q *Query) ([]*Point, error) {
	from := "usage_minutes"
	if q.Hours {
		from = "usage_hours"
	}
	var row usageRow
	sel := r.db.NewSelect().Model(&row).ModelTableExpr(from+" AS u").Where("workspace_id = ?", r.workspace).
		Where("minute >= ?", q.From.Unix()).Where("minute < ?", endSecond(q.To))
	if q.Toolset != "" {
		sel = sel.Where("toolset_id = ?", q.Toolset)
	}
	if q.Tool != "" {
		sel = sel.Where("tool = ?", q.Tool)
	}
	type at struct {
		key  registry.UsageKey
		time int64
	}
	sums := map[at]*Point{}
	rows, err := sel.Rows(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what matters
	for rows.Next() {
		row = usageRow{}
		if err := sel.DB().ScanRow(ctx, rows, &row); err != nil {
			return nil, fmt.Errorf("reading usage: %w", err)
		}
		k := at{row.key(), q.From.Unix()}
		k.key.Workspace = ""
		for _, f := range []struct {
			keep bool
			to   *string
		}{{q.Group.Toolset, &k.key.Toolset}, {q.Group.Tool, &k.key.Tool}, {q.Group.Outcome, &k.key.Outcome}, {q.Group.Credential, &k.key.Credential}} {
			if !f.keep {
				*f.to = ""
			}
		}
		if q.Step > 0 {
			step := int64(q.Step / time.Second)
			k.time = row.Minute - row.Minute%step
		}
		if sums[k] == nil {
			sums[k] = &Point{At: time.Unix(k.time, 0).UTC(), UsageKey: k.key}
		}
		if err := sums[k].add(&row); err != nil {
			return nil, fmt.Errorf("reading usage: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	points := slices.Collect(maps.Values(sums))
	slices.SortFunc(points, func(a, b *Point) int {
		return cmp.Or(cmp.Compare(a.Toolset, b.Toolset), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Outcome, b.Outcome),
			cmp.Compare(a.Credential, b.Credential), a.At.Compare(b.At))
	})
	return points, nil
}

// Cause counts failed calls by cause.
type Cause struct {
	ToolsetID string `bun:"toolset_id"`
	Tool      string `bun:"tool"`
	Cause     string `bun:"cause"`
	Calls     uint64 `bun:"calls"`
}

// UsageCauses lists what calls failed of, the most frequent first, at most limit.
// Empty toolset and tool: of all.
func (r *Reader) UsageCauses(ctx context.Context, from, to time.Time, toolset, tool string, limit int64) ([]Cause, error) {
	var out []Cause
	q := r.db.NewSelect().Model((*usageCauseRow)(nil)).Column("toolset_id", "tool", "cause").ColumnExpr("CAST(SUM(calls) AS BIGINT) AS calls").
		Where("workspace_id = ?", r.workspace).Where("minute >= ?", from.Unix()).Where("minute < ?", endSecond(to)).
		Group("toolset_id", "tool", "cause").OrderExpr("calls DESC, toolset_id, tool, cause").Limit(limit)
	if toolset != "" {
		q = q.Where("toolset_id = ?", toolset)
	}
	if tool != "" {
		q = q.Where("tool = ?", tool)
	}
	if err := q.Scan(ctx, &out); err != nil {
		return nil, fmt.Errorf("reading causes of failed calls: %w", err)
	}
	return out, nil
}

// UsageSamples lists failed calls, newest first. Empty toolset and tool: of all.
func (r *Reader) UsageSamples(ctx context.Context, from, to time.Time, toolset, tool string, limit int64) ([]Sample, error) {
	var rows []Sample
	q := r.from(&rows).Where("at >= ?", table.Time{Time: from}).Where("at < ?", table.Time{Time: to}).OrderExpr("at DESC, id DESC").Limit(limit)
	if toolset != "" {
		q = q.Where("toolset_id = ?", toolset)
	}
	if tool != "" {
		q = q.Where("tool = ?", tool)
	}
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("reading failed calls: %w", err)
	}
	return rows, nil
}

// Sweep removes usage that is past its time in these workspaces, which are all, by the
// workspace's part of each key, so that it costs what it removes.
func (w *Writer) Sweep(ctx context.Context, db bun.IDB, workspaces []string) error {
	now := w.Now()
	minutes, hours := now.Add(-registry.UsageMinuteAge).Unix(), now.Add(-HourAge).Unix()
	for _, id := range workspaces {
		for _, t := range []struct {
			table, column string
			before        any
		}{
			{"usage_minutes", "minute", minutes},
			{"usage_hours", "minute", hours},
			{"usage_causes", "minute", minutes},
			{"usage_marks", "minute", minutes},
			{"usage_samples", "at", table.Time{Time: now.Add(-usageSampleAge)}},
			{"calls", "at", table.Time{Time: now.Add(-w.CallAge)}},
			{"calls_omitted", "minute", now.Add(-w.CallAge).Unix()},
			{"caller_minutes", "minute", now.Add(-callerMinuteAge).Unix()},
			{"caller_hours", "minute", now.Add(-callerHourAge).Unix()},
		} {
			if _, err := db.NewDelete().Table(t.table).Where("workspace_id = ?", id).Where("? < ?", bun.Ident(t.column), t.before).Exec(ctx); err != nil {
				return fmt.Errorf("sweeping %s: %w", t.table, err)
			}
		}
		if _, err := db.NewUpdate().Model((*Call)(nil)).Set("run = ?", []byte{}).Where("workspace_id = ?", id).Where("at < ?", table.Time{Time: now.Add(-ScriptRunAge)}).
			Where("script <> ''").Where("LENGTH(run) > 0").Exec(ctx); err != nil {
			return fmt.Errorf("sweeping runs of scripts: %w", err)
		}
		oldest := db.NewSelect().Table("usage_samples").Column("id").Where("workspace_id = ?", id).Order("id DESC").Limit(1).Offset(maxUsageSamples)
		if _, err := db.NewDelete().Table("usage_samples").Where("workspace_id = ?", id).Where("id <= (?)", oldest).Exec(ctx); err != nil {
			return fmt.Errorf("sweeping usage_samples: %w", err)
		}
	}
	// A day more than reports are taken, so that none is taken twice.
	if _, err := db.NewDelete().Model((*usageNode)(nil)).Where("updated_at < ?", table.Time{Time: now.Add(-registry.UsageMinuteAge - 24*time.Hour)}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping usage_nodes: %w", err)
	}
	return nil
}

// endSecond is the first second that a range up to t does not hold: in the first
// second of a minute, that minute has begun.
func endSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

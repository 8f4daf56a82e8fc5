package alert

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// Caller is whose calls an alert reports. It is in what those read who may read the call
// log, and in no notice: channels lead to people who may not.
type Caller struct {
	Kind string `json:"kind" enum:"token,jwt" doc:"How the caller is known."`
	ID   string `json:"id" doc:"Of the access token, or the subject."`
	Name string `json:"name,omitempty" doc:"Of the access token, when it is of one toolset that is reported."`
}

type summedCallers struct {
	at    time.Time
	cells []rule.CallerCell
}

// cellsOf are the callers that are told apart.
func cellsOf(rows []store.CallerUsage) []rule.CallerCell {
	out := make([]rule.CallerCell, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.CallerKind == store.CallerOther {
			continue
		}
		out = append(out, rule.CallerCell{
			Toolset: r.ToolsetID, Tool: r.Tool, Caller: rule.Caller{Kind: r.CallerKind, ID: r.Caller}, Totals: rule.Totals{Calls: r.Calls, Errors: r.Errors, Tokens: r.Tokens},
			Took: r.Duration, Waited: r.Upstream, Latency: r.Latency, Upstream: r.UpstreamLatency,
		})
	}
	return out
}

// readCallers brings the minutes of single callers up to a time, as far back as rules look at
// them. marks are those of the minutes.
func (l *ledger) readCallers(ctx context.Context, ws *store.Workspace, now time.Time, marks map[int64]uint64) error {
	from := now.Truncate(time.Minute).Add(-time.Duration(l.set.CallerMinutes()-1) * time.Minute).Unix()
	for at := range l.callers {
		if at < from {
			delete(l.callers, at)
			delete(l.callerMarks, at)
		}
	}
	for at, n := range marks {
		if at < from || at > now.Unix() || l.callerMarks[at] == n {
			continue
		}
		rows, err := ws.MinuteCallers(ctx, at)
		if err != nil {
			return err
		}
		l.callers[at], l.callerMarks[at] = cellsOf(rows), n
	}
	return nil
}

// callerTotals is totals of single callers.
func (l *ledger) callerTotals(ctx context.Context, ws *store.Workspace, from, now time.Time) ([]rule.CallerCell, error) {
	for at, s := range l.callerHours {
		if now.Sub(s.at) > time.Hour {
			delete(l.callerHours, at)
		}
	}
	if s, ok := l.callerHours[from]; ok && now.Sub(s.at) < hourAge(from, now) {
		return s.cells, nil
	}
	rows, err := ws.CallerTotals(ctx, from, now)
	if err != nil {
		return nil, err
	}
	s := summedCallers{now, cellsOf(rows)}
	l.callerHours[from] = s
	return s.cells, nil
}

// callerOf is the caller of a finding, with the name of its access token; nil: it is of no
// single caller.
func callerOf(ctx context.Context, ws *store.Workspace, f *rule.Finding) (*Caller, error) {
	if f.Caller == (rule.Caller{}) {
		return nil, nil //nolint:nilnil // nil: of no single caller
	}
	c := &Caller{Kind: f.Caller.Kind, ID: f.Caller.ID}
	if c.Kind != "token" || len(f.Toolsets) != 1 {
		return c, nil
	}
	token, err := ws.AccessToken(ctx, f.Toolsets[0], c.ID)
	switch {
	case err == nil:
		c.Name = token.Name
	case !problem.Is(err, problem.NotFound):
		return nil, err
	}
	return c, nil
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@.,:/+-]+$`)

// shellWord writes a text as one word of a shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// callerRoom reports whether a rule may count single callers beside those that do.
func callerRoom(ctx context.Context, tx *store.Tx, made *rule.Rule, id string) error {
	if !made.ByCaller() {
		return nil
	}
	rows, err := tx.AlertRules(ctx)
	if err != nil {
		return err
	}
	n := 0
	for i := range rows {
		var s rule.Settings
		if rows[i].ID == id || json.Unmarshal([]byte(rows[i].Document), &s) != nil {
			continue // itself, or what an older version wrote
		}
		if s.Each == rule.EachCaller || s.Caller != "" {
			n++
		}
	}
	if n >= rule.MaxCallerRules {
		return problem.New(problem.Conflict, "a workspace has at most %d rules over single callers", rule.MaxCallerRules).Fix("remove one first, or leave the caller out: one rule with --each caller counts for all callers")
	}
	return nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/store/usage"
)

// Subjects are the kinds of records whose changes [Workspace.ChangeMarks] tells apart, in the order of its texts.
var Subjects = []string{"jobs", "alerts", "toolsets", "usage", "records"}

// usageLooked is how far back late reports of usage are noticed, in whole hours.
const usageLooked = 2 * time.Hour

// ChangeMarks is a text for each of [Subjects], which is another one after records of that
// kind changed. It reads without a transaction: a change that it misses it finds the next time.
func (w *Workspace) ChangeMarks(ctx context.Context) ([]string, error) {
	hour := w.Now().Truncate(time.Hour).Add(-usageLooked).Unix()
	out := make([]string, len(Subjects))
	for i, columns := range []struct {
		of    any
		expr  string
		where string
		args  []any
	}{
		{(*Job)(nil), "COUNT(*) AS a, COALESCE(MAX(updated_at), 0) AS b, CAST(COALESCE(SUM(CASE WHEN state = 'running' THEN 1 ELSE 0 END), 0) AS BIGINT) AS c", "", nil},
		{(*Alert)(nil), "COUNT(*) AS a, CAST(COALESCE(SUM(version), 0) AS BIGINT) AS b, COALESCE(MAX(updated_at), 0) AS c", "resolved_at = 0", nil},
		{(*Toolset)(nil), "COUNT(*) AS a, CAST(COALESCE(SUM(version), 0) AS BIGINT) AS b, COALESCE(MAX(updated_at), 0) AS c", "", nil},
		{(*usage.Mark)(nil), "CAST(COALESCE(SUM(reports), 0) AS BIGINT) AS a, COALESCE(MAX(minute), 0) AS b, 0 AS c", "minute >= ?", []any{hour}},
		{(*Audit)(nil), "COALESCE(MAX(seq), 0) AS a, 0 AS b, 0 AS c", "", nil},
	} {
		var m struct {
			A int64 `bun:"a"`
			B int64 `bun:"b"`
			C int64 `bun:"c"`
		}
		q := w.from(columns.of).ColumnExpr(columns.expr)
		if columns.where != "" {
			q = q.Where(columns.where, columns.args...)
		}
		if err := q.Scan(ctx, &m); err != nil {
			return nil, fmt.Errorf("looking for changes of %s: %w", Subjects[i], err)
		}
		out[i] = fmt.Sprintf("%x.%x.%x", m.A, m.B, m.C)
	}
	return out, nil
}

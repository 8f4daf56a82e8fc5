package usage

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// TestSampleBound: a workspace keeps so many failed calls, the newest ones.
func TestSampleBound(t *testing.T) {
	now := time.Now()
	for samples, oldest := range map[int]int{maxUsageSamples: 1, maxUsageSamples + 1: 2} {
		plain, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = plain.Close() })
		db := bun.NewDB(plain, sqlitedialect.New())
		statements := []string{
			`CREATE TABLE usage_samples (workspace_id TEXT, id INTEGER, at BIGINT)`, `CREATE TABLE usage_nodes (updated_at BIGINT)`,
			`CREATE TABLE calls (workspace_id TEXT, at BIGINT, script TEXT, run BLOB)`,
			fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO usage_samples SELECT 'w', i, %d FROM n`, samples, now.UnixMilli()),
			fmt.Sprintf(`INSERT INTO usage_samples VALUES ('other', 0, %d)`, now.UnixMilli()),
		}
		for _, name := range []string{"usage_minutes", "usage_hours", "usage_causes", "usage_marks", "calls_omitted", "caller_minutes", "caller_hours"} {
			statements = append(statements, `CREATE TABLE `+name+` (workspace_id TEXT, minute BIGINT)`)
		}
		for _, q := range statements {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		w := &Writer{Now: func() time.Time { return now }, CallAge: time.Hour}
		if err := w.Sweep(t.Context(), db, []string{"w", "other"}); err != nil {
			t.Fatal(err)
		}
		var left []int
		if err := db.NewSelect().Table("usage_samples").Column("id").Order("id").Scan(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		if len(left) != maxUsageSamples+1 || left[0] != 0 || left[1] != oldest {
			t.Errorf("of %d, %d are left beside that of another workspace, from %d", samples, len(left)-1, left[1])
		}
	}
}

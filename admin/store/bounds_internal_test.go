package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// loose opens a store whose rows may refer to nothing, and writes rows into it.
func loose(t *testing.T, now time.Time, statements ...string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "a.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, q := range append([]string{`PRAGMA foreign_keys = OFF`}, statements...) {
		if _, err := s.write.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	return s
}

// numbers is a table "n" of the numbers 1 to most, for INSERT … SELECT.
func numbers(most int) string {
	return fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, most)
}

// TestLearnBounds: of one report one request counts maxLearnedUses times; a tool keeps
// MaxLearnedOfTool requests and a toolset MaxLearned, the most used ones.
func TestLearnBounds(t *testing.T) {
	now := time.Now()
	for calls, want := range map[uint64]int64{maxLearnedUses: maxLearnedUses * learnedUse, maxLearnedUses + 1: maxLearnedUses * learnedUse} {
		changed, _ := learn(nil, "w", "t", []*registry.UsageFound{{Method: "GET", Path: "/", Query: "q", Calls: calls}}, now)
		if len(changed) != 1 || changed[0].Milli != want {
			t.Errorf("%d calls count as %+v", calls, changed)
		}
	}
	for _, c := range []struct {
		requests, ofTool, kept int
		weakest                string
	}{
		{MaxLearnedOfTool, MaxLearnedOfTool, MaxLearnedOfTool, ""},
		{MaxLearnedOfTool + 1, MaxLearnedOfTool + 1, MaxLearnedOfTool, "query 0"},
		{MaxLearned, 1, MaxLearned, ""},
		{MaxLearned + 1, 1, MaxLearned, "query 0"},
	} {
		found := make([]*registry.UsageFound, c.requests)
		for i := range found {
			found[i] = &registry.UsageFound{Method: "GET", Path: fmt.Sprint("/", i/c.ofTool), Query: fmt.Sprint("query ", i), Calls: 2}
		}
		found[0].Calls = 1
		changed, gone := learn(nil, "w", "t", found, now)
		if len(changed) != c.kept || len(gone) != c.requests-c.kept || len(gone) > 0 && gone[0].Query != c.weakest {
			t.Errorf("%d requests, %d of a tool: %d are kept, %d go: %.1v", c.requests, c.ofTool, len(changed), len(gone), gone)
		}
	}
}

// TestLeastLearned: a request that counts just as much stays, and one that counts less goes.
func TestLeastLearned(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	s := loose(t, now, fmt.Sprintf(`INSERT INTO learned_requests VALUES ('w', 't', '', 'GET', '/', 'less', 'a', %d, 0, %d, false), ('w', 't', '', 'GET', '/', 'least', 'b', %d, 0, %d, false)`,
		leastLearned-1, now.UnixMilli(), leastLearned, now.UnixMilli()))
	if err := s.sweepLearnedOf(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	var left []string
	if err := s.read.NewSelect().Table("learned_requests").Column("digest").Scan(t.Context(), &left); err != nil || len(left) != 1 || left[0] != "least" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestBlockedBound: so many deleted requests of a toolset are remembered, the newest.
func TestBlockedBound(t *testing.T) {
	now := time.Now()
	for blocked, oldest := range map[int]string{maxBlocked: "1", maxBlocked + 1: "2"} {
		s := loose(t, now, numbers(blocked)+fmt.Sprintf(`INSERT INTO learned_requests SELECT 'w', 't', '', 'GET', '/', i, '', 0, 0, %d + i, true FROM n`, now.Add(-time.Hour).UnixMilli()))
		if err := s.sweepLearnedOf(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		var left []string
		if err := s.read.NewSelect().Table("learned_requests").Column("digest").Order("last_at").Scan(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		if len(left) != maxBlocked || left[0] != oldest {
			t.Errorf("of %d, %d are left, from %s", blocked, len(left), left[0])
		}
	}
}

// TestDueSourcesBound: so many sources are due in one round, those that waited longest.
func TestDueSourcesBound(t *testing.T) {
	now := time.Now()
	for due, last := range map[int]int{maxDueSources: maxDueSources, maxDueSources + 1: maxDueSources} {
		s := loose(t, now, numbers(due)+`INSERT INTO toolset_sources (workspace_id, toolset_id, connector, etag, last_modified, overlays, checked_at, every_seconds)
			SELECT 'w', i, '', '', '', '', i, 60 FROM n`)
		rows, err := s.DueSources(t.Context())
		if err != nil || len(rows) != last || rows[last-1].ToolsetID != fmt.Sprint(last) {
			t.Errorf("of %d, %d are due, %v", due, len(rows), err)
		}
	}
}

// TestPluginBounds: a plugin has so many versions, and a version golden cases of so many
// bytes.
func TestPluginBounds(t *testing.T) {
	s := loose(t, time.Now(), numbers(MaxPluginVersions-2)+`INSERT INTO plugin_versions SELECT 'w', 'p', 'v' || i, '', '', '', '', '', '', '', 0, '', '', '', '', '', 0, 0, '' FROM n`)
	if err := s.EnsureWorkspace(t.Context(), "w", "w"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		version string
		cases   int
		kind    problem.Kind
	}{
		{"too large", maxCases + 1, problem.TooLarge},
		{"one before the last", maxCases, ""},
		{"the last", 0, ""},
		{"one more", 0, problem.Conflict},
	} {
		err := s.Workspace("w").Update(t.Context(), func(tx *Tx) error {
			return tx.AddPluginVersion(t.Context(), &PluginVersion{Name: "p", Version: c.version, Cases: make([]byte, c.cases)})
		})
		if c.kind == "" && err != nil || c.kind != "" && !problem.Is(err, c.kind) {
			t.Errorf("%s: %v", c.version, err)
		}
	}
	if cases, err := s.Workspace("w").PluginCases(t.Context(), "p", "one before the last"); err != nil || len(cases) != maxCases {
		t.Errorf("%d bytes of golden cases are read, %v", len(cases), err)
	}
	if rows, err := s.Workspace("w").PluginVersions(t.Context(), "p"); err != nil || len(rows) != MaxPluginVersions {
		t.Errorf("%d versions are listed, %v", len(rows), err)
	}
}

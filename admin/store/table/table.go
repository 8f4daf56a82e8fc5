package table

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// Chunk is how many rows one statement writes: under the megabyte that SQLite takes as
// one statement.
const Chunk = 200

// Bounds of lists.
const (
	// DefaultSize is how many records a list returns when nothing is said.
	DefaultSize = 50
	// MaxSize is the most a list returns at once: what a table on a screen
	// shows, and a bound for the memory of one request.
	MaxSize = 200
)

// Time is a time in UTC, stored in whole milliseconds; the zero time is 0.
type Time struct{ time.Time }

// Value implements [driver.Valuer].
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return int64(0), nil
	}
	return t.UnixMilli(), nil
}

// Scan implements sql.Scanner.
func (t *Time) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T, not as an integer", src)
	}
	if t.Time = (time.Time{}); ms != 0 {
		t.Time = time.UnixMilli(ms).UTC()
	}
	return nil
}

// InWorkspace is the first key column of every record but a workspace. The store
// sets it; what a caller puts there is overwritten.
type InWorkspace struct {
	WorkspaceID string `bun:"workspace_id,pk"`
}

// Workspace is where the store writes the workspace of a record.
func (w *InWorkspace) Workspace() *string { return &w.WorkspaceID }

// Page says which part of a list is wanted.
type Page struct {
	After string // last key of the previous page; empty: from the beginning
	Limit int    // 1 to MaxSize; 0: DefaultSize
	// What package listing reads; empty: everything, in the list's own order.
	Q, Filter, OrderBy string
}

// Size is how many records the page has at most.
func (p Page) Size() int64 {
	switch {
	case p.Limit <= 0:
		return DefaultSize
	case p.Limit > MaxSize:
		return MaxSize
	}
	return int64(p.Limit)
}

// cut takes the extra record off that reports a next page, and returns the key
// to continue after, or "".
func cut[T any](rows []T, p Page, key func(*T) string) ([]T, string) {
	if n := int(p.Size()); len(rows) > n {
		return rows[:n], key(&rows[n-1])
	}
	return rows, ""
}

// Found turns sql.ErrNoRows into a problem of kind NotFound.
func Found(err error, what, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return problem.New(problem.NotFound, "there is no %s %.80q in this workspace", what, id)
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", what, id, err)
	}
	return nil
}

package store_test

import (
	"testing"

	"github.com/sluicegate/sluice/admin/store"
)

// Every state with every step: what is not listed is refused.
func TestLifecycle(t *testing.T) {
	allowed := map[[2]string]store.State{
		{"draft", "change"}: store.Draft, {"draft", "pass"}: store.Tested, {"draft", "publish_untested"}: store.Published,
		{"tested", "change"}: store.Draft, {"tested", "pass"}: store.Tested, {"tested", "publish"}: store.Published,
		{"published", "supersede"}: store.Superseded, {"published", "roll_back"}: store.RolledBack,
		{"superseded", "restore"}: store.Published, {"superseded", "archive"}: store.Archived,
		{"rolled_back", "restore"}: store.Published, {"rolled_back", "archive"}: store.Archived,
	}
	steps := []store.Step{store.Change, store.Pass, store.Publish, store.PublishUntested, store.Supersede, store.RollBack, store.Restore, store.Archive, "x"}
	for _, from := range []store.State{store.Draft, store.Tested, store.Published, store.Superseded, store.RolledBack, store.Archived, "x"} {
		for _, step := range steps {
			want, ok := allowed[[2]string{string(from), string(step)}]
			got, err := store.Next(from, step)
			if got != want || (err == nil) != ok {
				t.Errorf("%s after %s: %q, %v; want %q", from, step, got, err, want)
			}
		}
	}
}

package alert

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/retry"
)

// interval is how often everything is looked at when nothing asks for it sooner.
const interval = 5 * time.Second

// Room finds what is wrong and keeps the alerts.
type Room struct {
	Store *store.Store
	Log   *slog.Logger
	// Space is how many bytes are free on the disk of the records. nil: it is not watched.
	Space func() (free int64, known bool)
	// Told is called after notices were written. It must not block.
	Told func()

	wake    chan struct{}        // capacity 1
	backup  backupSeen           // of Run
	began   time.Time            // when this process began to listen
	looked  map[string]time.Time // when the records of a workspace were looked through; of Run
	ledgers map[string]*ledger   // of workspaces; of Run
	late    map[string]bool      // workspaces some of whose usage is late, as the records say; of Run
}

// New makes a room. The fields of o do not change after it.
func New(o Room) *Room {
	r := o
	r.wake, r.looked, r.began = make(chan struct{}, 1), map[string]time.Time{}, o.Store.Now()
	r.ledgers, r.late = map[string]*ledger{}, map[string]bool{}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	return &r
}

// Wake has what is wrong looked at soon, because something was recorded. It does not
// block.
func (r *Room) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run evaluates until ctx ends, while this process holds the claim on the database.
func (r *Room) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := r.Round(ctx); err != nil && ctx.Err() == nil {
			r.Log.LogAttrs(ctx, slog.LevelWarn, "alerts were not evaluated: it is tried again", slog.Any("error", err))
			_ = retry.Sleep(ctx, time.Second) // the loop looks at ctx
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// Round looks at everything once, in every workspace. It does not run twice at a time.
func (r *Room) Round(ctx context.Context) error {
	if err := r.Store.Claimed(ctx); err != nil {
		return err
	}
	ids, err := r.Store.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		told, err := r.round(ctx, r.Store.Workspace(id))
		if told && r.Told != nil {
			r.Told()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finding is what one source of alerts found in a round.
type finding struct {
	covers     func(kind string) bool // the kinds whose conditions these are all of
	conditions []condition
	commit     func(ctx context.Context, tx *store.Tx) error // written with the alerts; nil: nothing
}

// source looks at one part of the records of a workspace.
type source func(ctx context.Context, ws *store.Workspace, have open) (*finding, error)

// round is one round of a workspace. Each source is a transaction of its own, so that one
// that fails keeps no other from telling.
func (r *Room) round(ctx context.Context, ws *store.Workspace) (told bool, err error) {
	rows, err := ws.OpenAlerts(ctx)
	if err != nil {
		return false, err
	}
	have := openOf(rows)
	for _, look := range r.sources() {
		f, err := look(ctx, ws, have)
		if err != nil {
			return told, err
		}
		if f == nil {
			continue
		}
		err = ws.Update(ctx, func(tx *store.Tx) error {
			did, err := apply(ctx, tx, f.covers, f.conditions)
			if err != nil {
				return err
			}
			told = told || did
			if f.commit == nil {
				return nil
			}
			return f.commit(ctx, tx)
		})
		if err != nil {
			return told, err
		}
	}
	return told, nil
}

func (r *Room) sources() []source {
	return []source{r.credentials, r.rollbacks, r.records, r.usage}
}

// concerns reports whether a round has anything to write: something is wrong, or an alert
// that the source covers is open.
func (f *finding) concerns(have open) bool {
	if len(f.conditions) > 0 || f.commit != nil {
		return true
	}
	for _, row := range have {
		if f.covers(row.Kind) {
			return true
		}
	}
	return false
}

// only covers one kind.
func only(kind string) func(string) bool { return func(k string) bool { return k == kind } }

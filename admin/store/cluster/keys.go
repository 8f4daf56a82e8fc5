package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// reloadEvery is how often a member looks for keys that it lacks: a command may unwrap them.
const reloadEvery = 2 * time.Second

// keys are those that a member opens what the leader sealed with.
type keys struct {
	mu    sync.Mutex
	ring  *secrets.Keyring // guarded by mu
	asked time.Time        // guarded by mu; when they were looked for last
	lacks *problem.Error   // guarded by mu; nil: none is missing
}

// keyring is the keyring of this member, read anew when it may have changed.
func (f *Front) keyring(anew bool) *secrets.Keyring {
	f.keys.mu.Lock()
	defer f.keys.mu.Unlock()
	if anew && f.o.Reload != nil {
		f.keys.asked = f.o.Now()
		if ring, err := f.o.Reload(); err == nil { // else the keys that were there are used
			f.keys.ring = ring
		}
	}
	return f.keys.ring
}

// open opens the key of a leader, also with a key that was put here since the start.
func (f *Front) open(l *store.Leader) ([]byte, error) {
	key, err := f.keyring(false).OpenBytes(l.Record(), l.Sealed)
	if _, unknown := errors.AsType[*secrets.UnknownKeyError](err); !unknown || f.o.Reload == nil {
		return key, err
	}
	f.keys.mu.Lock()
	early := f.o.Now().Sub(f.keys.asked) < reloadEvery
	f.keys.mu.Unlock()
	if early {
		return key, err
	}
	return f.keyring(true).OpenBytes(l.Record(), l.Sealed)
}

// lack notes what this member lacks, nil for nothing, and says so once.
func (f *Front) lack(ctx context.Context, what *problem.Error) {
	f.keys.mu.Lock()
	before := f.keys.lacks
	f.keys.lacks = what
	f.keys.mu.Unlock()
	switch {
	case what != nil && before == nil:
		f.log.LogAttrs(ctx, slog.LevelError, "the leader has rotated its key: this control plane follows, and cannot take over until it has that key", slog.Any("error", what))
	case what == nil && before != nil:
		f.log.LogAttrs(ctx, slog.LevelInfo, "the keys of the leader are here")
	}
}

// Lacks says which key of the leader this member does not have, so that it follows and could
// not take over; nil: it has them all.
func (f *Front) Lacks() *problem.Error {
	f.keys.mu.Lock()
	defer f.keys.mu.Unlock()
	return f.keys.lacks
}

// otherKeys says that a leader has keys that this member does not have, and how they get here.
func (f *Front) otherKeys(l *store.Leader, text string) *problem.Error {
	remedy := "copy the folder keys of its data directory to this node, and start it again"
	if f.o.Remedy != nil {
		host := l.Member
		if u, err := url.Parse(l.URL); err == nil {
			host = u.Hostname()
		}
		remedy = f.o.Remedy(host)
	}
	return problem.New(problem.Conflict, "%s", text).Fix("%s", remedy)
}

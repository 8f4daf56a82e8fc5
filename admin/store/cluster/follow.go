package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/promtext"
	"github.com/sluicegate/sluice/internal/secrets"
)

const (
	// followEvery is how often a member asks who leads.
	followEvery = 250 * time.Millisecond
	// SeenEvery is how often a member says that it is there.
	SeenEvery = 5 * time.Second
	// probeEvery is how often it asks the leader whether that one is there.
	probeEvery = time.Second
	// askTime bounds one question to the database.
	askTime = 2 * time.Second
)

// Check asks who leads before this node follows. It fails with [problem.Conflict] when this
// node does not have the keys of the leader.
func (f *Front) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	l, err := f.o.Records.Leader(ctx)
	if err != nil {
		return nil // the database is asked again
	}
	return f.see(ctx, l)
}

// Run follows the leader until ctx ends, and says that this node is there. It fails with
// [problem.Conflict] when the leader has other keys.
func (f *Front) Run(ctx context.Context) error {
	follow, seen, probe := time.NewTicker(followEvery), time.NewTicker(SeenEvery), time.NewTicker(probeEvery)
	defer follow.Stop()
	defer seen.Stop()
	defer probe.Stop()
	defer f.gone(context.WithoutCancel(ctx))
	f.beat(ctx)
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-seen.C:
			f.beat(ctx)
		case <-probe.C:
			f.probe(ctx)
		case <-follow.C:
			if f.state.Load().leads != nil {
				follow.Stop()
				continue
			}
			l, err := f.ask(ctx)
			if (err != nil) != failing && ctx.Err() == nil {
				if failing = err != nil; failing {
					f.log.LogAttrs(ctx, slog.LevelWarn, "the database cannot be asked who leads: the leader that was known is used", slog.Any("error", err))
				}
			}
			if err != nil {
				continue
			}
			if err := f.see(ctx, l); err != nil {
				return err
			}
		}
	}
}

func (f *Front) ask(ctx context.Context) (*store.Leader, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return f.o.Records.Leader(ctx)
}

// see makes the leader of the database the one that requests are passed on to.
func (f *Front) see(ctx context.Context, l *store.Leader) error {
	s := f.state.Load()
	if s.leads != nil || same(s.of, l) {
		return nil
	}
	if l == nil || l.URL == "" || l.Member == f.name {
		f.change(&state{of: l})
		return nil
	}
	key, err := f.open(l)
	if err != nil {
		text := "the control plane " + l.Member + " leads with another key-encryption key"
		if unknown, ok := errors.AsType[*secrets.UnknownKeyError](err); ok {
			text += ", " + unknown.ID
		}
		lack := f.otherKeys(l, text)
		if s.peer != nil && s.peer.number == l.Number { // it rotated its key, and takes requests as before
			f.lack(ctx, lack)
			return nil
		}
		return lack
	}
	f.lack(ctx, nil)
	if use := f.otherUse(l.Keys); use != "" {
		return f.otherKeys(l, "the control plane "+l.Member+" leads with another "+use+" key")
	}
	p, err := newPeer(l, key, &f.o)
	if err != nil {
		f.log.LogAttrs(ctx, slog.LevelError, "requests are not passed on to the leader", slog.String("leader", l.Member), slog.Any("error", err))
		f.change(&state{of: l})
		return nil
	}
	f.change(&state{of: l, peer: p})
	f.probe(ctx)
	f.log.LogAttrs(ctx, slog.LevelInfo, "requests are passed on to the leader", slog.String("leader", l.Member), slog.Uint64("number", l.Number))
	return nil
}

// same reports whether nothing that matters has changed.
func same(a, b *store.Leader) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Number == b.Number && a.Member == b.Member && a.URL == b.URL && a.Pin == b.Pin && a.Keys == b.Keys && bytes.Equal(a.Sealed, b.Sealed)
}

// keysText writes identifiers of keys by their use: "release=ID,ID workspace=ID".
func keysText(keys map[string][]string) string {
	var parts []string
	for _, use := range slices.Sorted(maps.Keys(keys)) {
		parts = append(parts, use+"="+strings.Join(slices.Sorted(slices.Values(keys[use])), ","))
	}
	return strings.Join(parts, " ")
}

// otherUse is the use of which this node and a leader have no key in common. A key is
// replaced in two steps, and is there beside the old one in between.
func (f *Front) otherUse(text string) string {
	for part := range strings.FieldsSeq(text) {
		use, ids, _ := strings.Cut(part, "=")
		mine := f.o.Keys[use]
		if !slices.ContainsFunc(strings.Split(ids, ","), func(id string) bool { return slices.Contains(mine, id) }) {
			return use
		}
	}
	return ""
}

// probe asks the leader whether it is there.
func (f *Front) probe(ctx context.Context) {
	p := f.state.Load().peer
	if p == nil {
		return
	}
	err := p.probe(ctx, f.name, f.o.Now())
	if was := p.up.Swap(err == nil); was && err != nil && ctx.Err() == nil {
		f.log.LogAttrs(ctx, slog.LevelWarn, "the leader cannot be reached", slog.String("leader", p.name), slog.Any("error", err))
	}
}

// beat says that this node is there.
func (f *Front) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := f.o.Records.Seen(ctx, &store.ClusterMember{Name: f.name, URL: f.o.URL, Version: f.o.Version, StartedAt: store.Time{Time: f.began}})
	if err != nil && ctx.Err() == nil {
		f.log.LogAttrs(ctx, slog.LevelDebug, "the other control planes were not told that this one is there", slog.Any("error", err))
	}
}

func (f *Front) gone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_ = f.o.Records.Gone(ctx, f.name) // it is forgotten by itself
}

// writeMetrics writes what a member that follows says of itself.
func (f *Front) writeMetrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", promtext.ContentType)
	parts := []func(io.Writer){f.WritePrometheus}
	if f.o.Metrics != nil {
		parts = append(parts, f.o.Metrics)
	}
	promtext.WritePage(w, parts...)
}

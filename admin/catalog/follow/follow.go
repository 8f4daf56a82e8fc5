package follow

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry"
)

const (
	// Interval between looks at a registry: entries change a few times a month.
	Interval = 15 * time.Minute
	// pullTimeout of one look at one registry.
	pullTimeout = 30 * time.Second
	// maxLogged faults of the entries of a catalog: whoever publishes it can see all of
	// them with catalog lint.
	maxLogged = 20
)

// Follower holds the entries of folders and of published catalogs. Of entries with the
// same id the last source's counts.
type Follower struct {
	Log     *slog.Logger
	Replace func(own []*entries.Entry) // is told the entries when they change

	sources []*followed
}

type followed struct {
	source  *Source // nil: a folder, which is read once
	entries []*entries.Entry
	digest  registry.Digest // of the newest that was accepted
	issued  time.Time
}

// AddFolder adds entries of a folder, and logs those that cannot be used: they must not
// keep a node from starting that serves toolsets which have nothing to do with them.
func (f *Follower) AddFolder(dir string) error {
	list, faults, err := entries.Open(dir)
	if err != nil {
		return err
	}
	f.logFaults("folder", dir, faults)
	f.sources = append(f.sources, &followed{entries: list})
	return nil
}

// Add adds a published catalog: as it is in the registry, or as it was kept where that
// cannot be had. One that nobody trusted signed is logged and left out.
func (f *Follower) Add(ctx context.Context, s *Source) {
	x := &followed{source: s}
	f.sources = append(f.sources, x)
	last, err := s.Last()
	switch {
	case err == nil:
		x.entries, x.issued = last.Entries, last.IssuedAt
	case !errors.Is(err, os.ErrNotExist):
		f.Log.LogAttrs(ctx, slog.LevelWarn, "the catalog that was kept cannot be used", slog.String("catalog", s.Name), slog.Any("error", err))
	}
	f.look(ctx, x)
}

// Entries are those of all sources: of those with the same id the last.
func (f *Follower) Entries() []*entries.Entry {
	var out []*entries.Entry
	for _, x := range f.sources {
		for _, e := range x.entries {
			if i := slices.IndexFunc(out, func(o *entries.Entry) bool { return o.ID == e.ID }); i >= 0 {
				out[i] = e
			} else {
				out = append(out, e)
			}
		}
	}
	return out
}

// Run looks for newer catalogs until ctx ends. Nothing else may use f meanwhile.
func (f *Follower) Run(ctx context.Context) error {
	if !slices.ContainsFunc(f.sources, func(x *followed) bool { return x.source != nil }) {
		return nil
	}
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.Look(ctx)
		}
	}
}

// Look looks at all registries once. What was good stays where nothing better is.
func (f *Follower) Look(ctx context.Context) {
	changed := false
	for _, x := range f.sources {
		if x.source != nil && f.look(ctx, x) {
			changed = true
		}
	}
	if changed && f.Replace != nil {
		f.Replace(f.Entries())
	}
}

func (f *Follower) look(ctx context.Context, x *followed) (changed bool) {
	pctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	next, envelope, err := x.source.Pull(pctx, x.digest)
	if err == nil && next == nil {
		return false
	}
	if err == nil && next.IssuedAt.Before(x.issued) {
		err = problem.New(problem.Conflict, "the catalog %s in the registry was issued %s, before the one that is used, %s",
			x.source.Name, next.IssuedAt.Format(time.RFC3339), x.issued.Format(time.RFC3339)).Fix("publish the older entries again if they are meant")
	}
	if err != nil {
		if ctx.Err() == nil {
			f.Log.LogAttrs(ctx, slog.LevelWarn, "a catalog cannot be read; its entries stay as they were",
				slog.String("catalog", x.source.Name), slog.Int("entries", len(x.entries)), slog.Any("error", err))
		}
		return false
	}
	if err := x.source.keep(envelope); err != nil {
		f.Log.LogAttrs(ctx, slog.LevelWarn, "the catalog is used and not kept for a time without the registry", slog.String("catalog", x.source.Name), slog.Any("error", err))
	}
	f.logFaults("catalog", x.source.Name, next.Faults)
	x.entries, x.digest, x.issued = next.Entries, next.Digest, next.IssuedAt
	f.Log.LogAttrs(ctx, slog.LevelInfo, "catalog read", slog.String("catalog", x.source.Name), slog.Int("entries", len(x.entries)),
		slog.String("digest", string(x.digest)), slog.String("signed_by", next.KeyID))
	return true
}

func (f *Follower) logFaults(kind, name string, faults []error) {
	for _, fault := range faults[:min(len(faults), maxLogged)] {
		if p := problem.As(fault); p != nil && len(p.Parts) > 0 { // the fault itself says only that there are some
			fault = p.Parts[0]
		}
		f.Log.Warn("an entry of the catalog cannot be used", slog.String(kind, name), slog.Any("error", fault))
	}
	if more := len(faults) - maxLogged; more > 0 {
		f.Log.Warn("more entries of the catalog cannot be used", slog.String(kind, name), slog.Int("entries", more))
	}
}

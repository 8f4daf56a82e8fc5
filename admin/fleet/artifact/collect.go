package artifact

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluicegate/sluice/admin/fleet"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// EventArchived says that retention let a revision of a toolset go.
const EventArchived = "toolset.archived"

// Room decides about artifacts.
type Room struct {
	Store     *store.Store
	Publisher *publish.Publisher
	Log       *slog.Logger
	Audit     *audit.Log
	Events    *publish.Events
	Fleet     *fleet.Room // what the releases of edges need
	// Registry has the artifacts. nil: they are in a registry elsewhere.
	Registry  *server.Store
	Retention Retention

	one  chan struct{} // full while something is collected
	more chan struct{} // tells Run that a collection left something
}

// Open makes a room. The fields of o do not change after it.
func Open(o Room) *Room {
	room := o
	room.Retention.defaults()
	room.one, room.more = make(chan struct{}, 1), make(chan struct{}, 1)
	return &room
}

const (
	// collectInterval is how often garbage is collected by itself.
	collectInterval = time.Hour
	// collectLimit is how long one collection removes: a client that waits for it gets its
	// answer well before it gives up, and the disk is not busy for long.
	collectLimit = 5 * time.Second
	// collectPause comes before a collection that goes on with what the last one left.
	collectPause = 20 * time.Second
)

// Retention is what stays beside what is live and every draft.
type Retention struct {
	Revisions int           // newest revisions of each toolset. Default: 10
	Age       time.Duration // and every one younger than this. Default: 30 days
	Releases  int           // newest releases of each group. Default: 50
	Grace     time.Duration // contents that no record names yet. Default: 24 h
	Limit     time.Duration // how long one collection removes. Default: 5 s
	Pause     time.Duration // before a collection that goes on with what the last one left. Default: 20 s
}

func (r *Retention) defaults() {
	if r.Revisions <= 0 {
		r.Revisions = 10
	}
	if r.Age <= 0 {
		r.Age = 30 * 24 * time.Hour
	}
	if r.Releases <= 0 {
		r.Releases = 50
	}
	if r.Grace <= 0 {
		r.Grace = 24 * time.Hour
	}
	if r.Limit <= 0 {
		r.Limit = collectLimit
	}
	if r.Pause <= 0 {
		r.Pause = collectPause
	}
}

// Collected is what a collection of garbage did.
type Collected struct {
	Archived  int   `json:"archived" doc:"Revisions that retention let go."`
	Manifests int   `json:"manifests" doc:"OCI manifests removed."`
	Blobs     int   `json:"blobs" doc:"Contents removed."`
	Bytes     int64 `json:"bytes"`
	Kept      int   `json:"kept" doc:"Contents that stay."`
	More      bool  `json:"more" doc:"Something is left to remove: it goes on by itself soon, or when you ask again."`
}

// Run checks what is live, and collects, every hour until ctx ends, and soon again when something was left.
func (room *Room) Run(ctx context.Context) {
	if room.Registry == nil {
		return
	}
	next := time.NewTimer(collectInterval)
	defer next.Stop()
	room.inspect(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-room.more:
			next.Reset(room.Retention.Pause)
			continue
		case <-next.C:
		}
		next.Reset(collectInterval)
		room.inspect(ctx)
		if _, err := room.Collect(ctx); err != nil && ctx.Err() == nil {
			room.Log.LogAttrs(ctx, slog.LevelWarn, "collecting garbage did not work", slog.Any("error", err))
		}
	}
}

// inspect finds damage of what is live.
func (room *Room) inspect(ctx context.Context) {
	if err := room.Publisher.Inspect(ctx); err != nil && ctx.Err() == nil {
		room.Log.LogAttrs(ctx, slog.LevelWarn, "the contents of the registry were not checked", slog.Any("error", err))
	}
}

// Collect archives what retention lets go and removes from the registry what no
// record needs. Publishing goes on meanwhile: contents that are younger than the
// grace stay, and pushing again makes them young. One collection waits for another, and
// removes for a limited time; Run goes on with the rest. It fails with
// [problem.Unsupported] when the registry is elsewhere.
func (room *Room) Collect(ctx context.Context) (Collected, error) {
	var out Collected
	if room.Registry == nil {
		return out, problem.New(problem.Unsupported, "the registry is not kept by this control plane")
	}
	select {
	case room.one <- struct{}{}:
		defer func() { <-room.one }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	ids, err := room.Store.Workspaces(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		var archived []store.Revision
		ws := room.Store.Workspace(id)
		err := ws.Update(ctx, func(tx *store.Tx) (err error) {
			if archived, err = tx.ArchiveRevisions(ctx, room.Retention.Revisions, room.Retention.Age); err != nil {
				return err
			}
			for i := range archived {
				rec := request.Audit(ctx, EventArchived, archived[i].ToolsetID)
				rec.Digest, rec.After = archived[i].Digest, store.JSON(map[string]any{"revision": archived[i].N})
				if err := tx.Audit(ctx, rec); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		out.Archived += len(archived)
		for i := range archived {
			r := &archived[i]
			room.Events.Emit(publish.Event{Type: EventArchived, Workspace: id, Toolset: r.ToolsetID, Revision: r.N, Digest: r.Digest, From: string(store.Superseded), To: string(r.State)})
		}
	}
	// Before the records are read: what is pushed from here on is young.
	started := time.Now()
	bundles, err := room.Store.NeededBundles(ctx)
	if err != nil {
		return out, err
	}
	needed := make(map[registry.Digest]bool, 2*len(bundles))
	for _, b := range bundles {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		c, err := room.Publisher.Content(ctx, b.Repository, registry.Digest(b.Digest))
		if errors.Is(err, registry.ErrNotFound) {
			continue // gone already: nothing of it can be kept
		}
		if err != nil {
			return out, err // what it needs is not known, so nothing may go
		}
		for _, d := range c.Digests {
			needed[d] = true
		}
	}
	published, err := room.Store.PluginContents(ctx)
	if err != nil {
		return out, err
	}
	for _, d := range published {
		needed[d] = true
	}
	rep, err := room.Registry.Collect(ctx, server.CollectOptions{
		Needed: needed, Before: started.Add(-room.Retention.Grace), Releases: room.Retention.Releases, Limit: room.Retention.Limit,
	})
	out.Manifests, out.Blobs, out.Bytes, out.Kept, out.More = rep.Manifests, rep.Blobs, rep.Bytes, rep.Kept, rep.More
	if out.More {
		select {
		case room.more <- struct{}{}:
		default: // it was told already
		}
	}
	return out, err
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicegate/sluice/admin/publish/backup"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/diskfault"
	"github.com/sluicegate/sluice/internal/filelock"
	"github.com/sluicegate/sluice/internal/probe"
	"github.com/sluicegate/sluice/internal/problem"
)

const (
	// probeBytes are written to see whether the data directory can be: what a small
	// publish writes, and beyond what is left in blocks that are in use.
	probeBytes = 64 << 10
	// probeEvery and probeAgain are how often, when it could and when it could not.
	probeEvery = 10 * time.Second
	probeAgain = time.Second
	// probePatience is how long a disk may take for that.
	probePatience = 15 * time.Second
)

// openData makes the data directory and takes its lock: two processes on one directory
// would publish over each other. A restore that was interrupted is finished.
func (n *Node) openData() error {
	if err := n.makeData(); err != nil {
		return n.dataFault(err)
	}
	unlock, err := filelock.Exclusive(n.path(datadir.Lock))
	if err != nil {
		return n.dataFault(err)
	}
	n.onClose(unlock)
	return backup.Finish(n.o.Data)
}

// openEdgeData is openData for an edge, which only needs to read what it has: a
// directory that cannot be written is said and served from.
func (n *Node) openEdgeData(ctx context.Context) error {
	err := n.openData()
	if err == nil {
		err = writeTo(n.o.Data)
	}
	if p := problem.As(err); p != nil && p.Kind == problem.Conflict {
		return err
	}
	fault := diskfault.Of(err)
	if _, serr := os.Stat(n.path(datadir.Edge)); fault == nil || serr != nil {
		return err // nothing is there to serve from
	}
	n.o.Logger.LogAttrs(ctx, slog.LevelWarn, "data directory cannot be written: this edge serves what is in it, and keeps nothing new", slog.Any("error", fault))
	n.readOnly = true
	return nil
}

func (n *Node) makeData() error {
	for _, dir := range []string{n.o.Data, n.path("keys"), n.path("cache")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// dataFault says why the data directory cannot be used.
func (n *Node) dataFault(err error) error {
	if errors.Is(err, filelock.ErrLocked) {
		return problem.New(problem.Conflict, "another node runs in %s", n.o.Data).
			Fix("add to it with: sluice add SPEC   or choose another directory with --data").Because(err)
	}
	text, remedy := err.Error(), "choose another with --data"
	if p := diskfault.Of(err); p != nil {
		text, remedy = p.Detail, p.Remedy+"; or choose another directory with --data"
	}
	return problem.New(problem.Unavailable, "the data directory %s cannot be used: %s", n.o.Data, text).Fix("%s", remedy).Because(err)
}

// codeCache is where compiled code is kept; "", compiled at each start, when it cannot be
// written.
func (n *Node) codeCache() string {
	if n.readOnly {
		return ""
	}
	return n.path(datadir.CodeCache)
}

// openStore opens the records, once.
func (c *control) openStore(ctx context.Context) (err error) {
	if c.store != nil {
		return nil
	}
	database := store.Options{Path: c.path(datadir.Database), CallLogRows: c.o.Records.CallLogRows, CallLogAge: c.o.Records.CallLogAge, Logger: c.o.Logger}
	if !c.o.Records.Database.IsZero() {
		database.Path, database.URL, database.Claim = "", c.o.Records.Database.Reveal(), true
		if c.front != nil {
			database.StandBy = func(taken error) {
				if tell := c.o.Records.Cluster.Follows; tell != nil {
					tell(taken)
				}
			}
		}
	}
	if c.store, err = store.Open(ctx, database); err == nil {
		c.onClose(c.store.Close)
	}
	return err
}

// newDirProbe looks whether a data directory can be written, at most once in ten seconds: in
// each of the places that may be volumes, or may belong to users, of their own.
func newDirProbe(dir string) *probe.Probe {
	return &probe.Probe{Every: probeEvery, Again: probeAgain, Patience: probePatience, Check: func(context.Context) error {
		for _, place := range [...]string{"", filepath.Join(datadir.Registry, "blobs", "sha256"), filepath.Join(datadir.Registry, "repositories"), datadir.Audit, datadir.Edge, datadir.Usage} {
			err := writeTo(filepath.Join(dir, place))
			if err == nil || place != "" && errors.Is(err, fs.ErrNotExist) { // not every node has all of them
				continue
			}
			if p := diskfault.Of(err); p != nil {
				return p
			}
			return problem.New(problem.Unavailable, "the data directory cannot be written: %s", err).Because(err)
		}
		return nil
	}}
}

// writeTo writes a file, syncs it and removes it.
func writeTo(dir string) error {
	// One name, so that a kill leaves one file at most, which the next look takes over.
	f, err := os.OpenFile(filepath.Join(dir, atomicfile.TempPrefix+"probe"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write to the data directory: %w", err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("write to the data directory: %w", err)
	}
	return nil
}

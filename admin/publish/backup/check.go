package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
	"github.com/sluicegate/sluice/registry/sign"
)

// check proves that a node can serve what was restored: the records are whole, every
// key that they need is there, everything that a live toolset and the index name is
// there, and the newest release is of this release key. With raise it then signs the
// releases in a new epoch, and returns it.
func (s *staged) check(ctx context.Context, ring *secrets.Keyring, artifacts func(context.Context, string) (oci.Backend, error), raise bool) (epoch uint64, err error) {
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(s.dir, fileDatabase)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Check(ctx); err != nil {
		return 0, err
	}
	if s.sum.Outside, err = checkKeys(ctx, s.dir, &s.head, st, ring); err != nil {
		return 0, err
	}
	dir := filepath.Join(s.dir, dirRegistry)
	var backend oci.Backend
	embedded := !s.elsewhere()
	switch {
	case embedded:
		files, err := server.Open(server.Options{Dir: dir})
		if err != nil {
			return 0, err
		}
		if s.head.Version > 1 { // one of version 1 does not say what it lacks
			if err := s.checkIndex(ctx, files); err != nil {
				return 0, err
			}
		}
		backend = files
	case !raise:
		return 0, nil // what another registry holds is not part of the backup
	default:
		if backend, err = artifacts(ctx, s.dir); err != nil {
			return 0, err
		}
	}
	contents := oci.NewStore(backend)
	live, err := st.LiveBundles(ctx)
	if err != nil {
		return 0, err
	}
	for _, l := range live {
		if _, err := publish.ReadContent(ctx, contents, l.Repository, registry.Digest(l.Digest)); err != nil {
			return 0, damaged("it lacks what the live toolset of "+l.Repository+" needs", err)
		}
	}
	release, err := sign.ReadReleaseKey(filepath.Join(s.dir, filepath.FromSlash(fileReleaseKey)))
	if err != nil {
		return 0, err
	}
	workspace, err := sign.ReadKey(filepath.Join(s.dir, filepath.FromSlash(fileWorkspaceKey)))
	if err != nil {
		return 0, err
	}
	p, err := publish.New(ctx, publish.Options{Store: contents, Records: st, ReleaseKey: release, WorkspaceKey: workspace})
	if err != nil || !raise {
		return 0, err
	}
	r, err := p.NewEpoch(ctx)
	if err != nil {
		return 0, err
	}
	return r.Release().Epoch, nil
}

// elsewhere reports whether the artifacts are in another registry.
func (s *staged) elsewhere() bool {
	b, err := os.ReadFile(filepath.Join(s.dir, dirRegistry, "content"))
	return err == nil && strings.HasPrefix(string(b), "oci://")
}

// checkIndex compares the index with the contents: each manifest, and what it names,
// must be there, but for what the backup says that it lacks.
func (s *staged) checkIndex(ctx context.Context, files *server.Store) error {
	absent := make(map[string]bool, len(s.absent))
	for _, hex := range s.absent {
		absent[hex] = true
	}
	there := func(d registry.Digest) error {
		if !d.Valid() || absent[d.Hex()] {
			return nil
		}
		_, err := files.Content().Size(ctx, d)
		if errors.Is(err, registry.ErrNotFound) {
			return damaged(fmt.Sprintf("it lacks the content %s, which its index names", d), err)
		}
		return err
	}
	index, ok := files.Index().(server.Enumerator)
	if !ok {
		return problem.New(problem.Unsupported, "the index of this registry cannot be listed")
	}
	return index.EachManifest(ctx, func(_ string, d registry.Digest) error {
		if err := there(d); err != nil || absent[d.Hex()] {
			return err
		}
		b, err := files.Content().Fetch(ctx, d, server.MaxManifestBytes)
		if err != nil {
			return err
		}
		var m struct {
			Config    struct{ Digest registry.Digest }
			Layers    []struct{ Digest registry.Digest }
			Manifests []struct{ Digest registry.Digest }
		}
		if json.Unmarshal(b, &m) != nil {
			return nil //nolint:nilerr // one that cannot be read names nothing, here as at a collection
		}
		err = there(m.Config.Digest)
		for _, l := range append(m.Layers, m.Manifests...) {
			err = errors.Join(err, there(l.Digest))
		}
		return err
	})
}

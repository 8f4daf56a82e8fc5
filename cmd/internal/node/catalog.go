package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/follow"
	"github.com/sluicegate/sluice/cmd/internal/artifacts"
	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Catalogs are further entries of the catalog.
type Catalogs struct {
	Places []string // folders, and oci:// references; of entries with the same id the last counts
	Keys   []string // files with the public keys of publishers who may sign those in registries
	// Open finds what a reference names in a registry. Needed for references.
	Open func(reference string) (store *oci.Store, repository, at string, err error)
}

// openCatalog reads the built-in entries and the operator's. A file at fault, and a
// registry that is away, are logged: they must not keep a node from starting that serves
// toolsets which have nothing to do with them.
func (c *control) openCatalog(ctx context.Context, o *Catalogs) (*catalog.Room, error) {
	c.catalogs = &follow.Follower{Log: c.o.Logger}
	keys, err := publisherKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	for _, place := range o.Places {
		if !artifacts.IsReference(place) {
			if err := c.catalogs.AddFolder(place); err != nil {
				return nil, err
			}
			continue
		}
		if len(keys) == 0 {
			return nil, problem.New(problem.InvalidArgument, "the catalog %s needs a publisher that you trust", place).Fix("name the publisher's public key: --catalog-key FILE.pub")
		}
		s := &follow.Source{Name: place, Keys: keys}
		if s.Store, s.Repository, s.At, err = o.Open(place); err != nil {
			return nil, err
		}
		name := sha256.Sum256([]byte(place))
		s.Kept = filepath.Join(c.path(datadir.Catalogs), hex.EncodeToString(name[:8])+".json")
		if err := atomicfile.MkdirAll(atomicfile.OS, filepath.Dir(s.Kept), 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of catalogs: %w", err)
		}
		c.catalogs.Add(ctx, s)
	}
	room, err := catalog.New(c.catalogs.Entries())
	if err == nil {
		c.catalogs.Replace = room.Replace
	}
	return room, err
}

// publisherKeys reads the public keys of publishers.
func publisherKeys(files []string) ([]*sign.PublisherKey, error) {
	var out []*sign.PublisherKey
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, problem.New(problem.NotFound, "the publisher's public key %s cannot be read", file).Because(err)
		}
		key, err := sign.ParsePublisherKey(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, nil
}

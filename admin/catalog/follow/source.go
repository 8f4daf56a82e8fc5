package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	entries "github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/sign"
)

// Source is a published catalog.
type Source struct {
	Name       string // for messages: its reference
	Store      *oci.Store
	Repository string
	At         string // tag or digest
	Keys       []*sign.PublisherKey
	Kept       string // file of the last good one; "": none is kept
}

// Catalog is what a source has.
type Catalog struct {
	Digest   registry.Digest // of the OCI manifest; "": it is the one that was kept
	KeyID    string          // of the publisher who signed it
	IssuedAt time.Time
	Entries  []*entries.Entry
	Faults   []error // of entries that are left out
	Files    []entries.File
}

// Pull fetches the catalog, unless it has the digest known, and verifies it; nil: it is
// the known one. What comes from the registry is not believed before a trusted publisher's
// signature is.
func (s *Source) Pull(ctx context.Context, known registry.Digest) (*Catalog, []byte, error) {
	d := registry.Digest(s.At)
	if !d.Valid() {
		var err error
		if d, err = s.Store.Resolve(ctx, s.Repository, s.At); err != nil {
			return nil, nil, s.fault(err)
		}
	}
	if d == known {
		return nil, nil, nil
	}
	a, err := s.Store.Pull(ctx, s.Repository, d, oci.KindCatalog)
	if err != nil {
		return nil, nil, s.fault(err)
	}
	c, err := s.open(a.Layer())
	if err != nil {
		return nil, nil, err
	}
	c.Digest = d
	return c, a.Layer(), nil
}

func (s *Source) fault(err error) error {
	switch p := problem.As(err); {
	case errors.Is(err, registry.ErrNotFound):
		return problem.New(problem.NotFound, "there is no catalog %s", s.Name).Fix("publish one: sluice catalog push DIR %s --key FILE", s.Name).Because(err)
	case p != nil && p.Kind == problem.InvalidPlugin: // of the form of the artifact
		return problem.New(problem.InvalidArgument, "%s is not a catalog: %s", s.Name, p.Detail)
	case p != nil:
		return err
	case errors.Is(err, registry.ErrCorrupt):
		return problem.New(problem.Unavailable, "the catalog %s is refused: what the registry sends is not what it says it has (its digest is another)", s.Name).
			Fix("publish it again: sluice catalog push DIR %s --key FILE; if that is of no use, somebody changes it on its way", s.Name).Because(err)
	}
	return problem.New(problem.Unavailable, "the catalog %s cannot be fetched", s.Name).Because(err)
}

// open verifies and reads a signed catalog.
func (s *Source) open(envelope []byte) (*Catalog, error) {
	payload, keyID, err := sign.VerifyCatalog(envelope, s.Keys)
	if err != nil {
		return nil, fmt.Errorf("the catalog %s is refused: %w", s.Name, err)
	}
	pack, list, faults, err := entries.Unpack(payload)
	if err != nil {
		return nil, fmt.Errorf("the catalog %s is refused: %w", s.Name, err)
	}
	return &Catalog{KeyID: keyID, IssuedAt: pack.IssuedAt, Entries: list, Faults: faults, Files: pack.Entries}, nil
}

// Last is the last good catalog as it was kept, verified with the keys that are trusted
// now. It fails with [os.ErrNotExist] when there is none.
func (s *Source) Last() (*Catalog, error) {
	if s.Kept == "" {
		return nil, os.ErrNotExist
	}
	f, err := os.Open(s.Kept)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog that was kept: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, oci.MaxCatalogBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the catalog that was kept: %w", err)
	}
	return s.open(b)
}

func (s *Source) keep(envelope []byte) error {
	if s.Kept == "" {
		return nil
	}
	if err := atomicfile.Write(s.Kept, envelope, 0o600); err != nil {
		return fmt.Errorf("keeping the catalog %s: %w", s.Name, err)
	}
	return nil
}

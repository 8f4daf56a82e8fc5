package admin

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluicegate/sluice/admin/store"
)

// followKeys signs again what an older release key signed, when the key was replaced
// while the server was down, and makes the releases that tell edges of it. It does
// nothing otherwise. When it is cut off the next start does it.
func (s *Server) followKeys(ctx context.Context, workspaces []string) error {
	if !s.o.Publisher.KeysChanged() {
		return nil
	}
	documents := 0
	for _, id := range workspaces {
		ws := s.o.Store.Workspace(id)
		all, err := allToolsets(ctx, ws)
		if err != nil {
			return err
		}
		for _, ts := range all {
			signed, err := s.signAccess(ctx, ws, ts)
			if err != nil {
				return fmt.Errorf("signing the access of %s with the new release key: %w", ts.ID, err)
			}
			if signed {
				documents++
			}
		}
	}
	r, err := s.o.Publisher.Release(ctx)
	if err != nil {
		return fmt.Errorf("making a release with the new release key: %w", err)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "the release key was replaced, edges are told", slog.Int("access_documents", documents),
		slog.Uint64("revision", r.Release().Revision), slog.String("key", r.Signer().KeyID[:16]))
	return nil
}

// signAccess signs the access document of a toolset as it is, and reports whether
// there is one.
func (s *Server) signAccess(ctx context.Context, ws *store.Workspace, ts *store.Toolset) (bool, error) {
	row, err := ws.Access(ctx, ts.ID)
	if err != nil || row == nil || row.Digest == "" {
		return false, err
	}
	settings, err := settingsOf(row)
	if err != nil {
		return false, err
	}
	valid, err := ws.ValidAccessTokens(ctx, ts.ID, store.Time{Time: ws.Now()})
	if err != nil {
		return false, err
	}
	doc, err := accessDocument(ts, settings, valid)
	if err != nil {
		return false, err
	}
	doc.Capture = row.Capture
	digest, err := s.o.Publisher.Access(ctx, repositoryOf(ts), doc)
	if err != nil || string(digest) == row.Digest {
		return true, err
	}
	row.Digest = string(digest)
	return true, ws.Update(ctx, func(tx *store.Tx) error { return tx.SaveAccess(ctx, row) })
}

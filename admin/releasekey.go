package admin

import (
	"context"
	"fmt"
	"log/slog"
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
			signed, err := s.access.Sign(ctx, ws, ts)
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

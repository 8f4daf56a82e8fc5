package store

import "context"

// Claimed is nil while this process is the one control plane of its database, asked
// of the server; [problem.Unavailable] when the lock is lost. It is nil for SQLite,
// whose directory is locked, and without [Options].Claim.
func (s *Store) Claimed(ctx context.Context) error {
	if s.claim == nil {
		return nil
	}
	return s.claim.Held(ctx)
}

// Moved is closed when this process lost the lock of [Options].Claim and found that another
// control plane has it: what this one remembers of releases may be older than what the other
// published. It is nil where nothing is claimed.
func (s *Store) Moved() <-chan struct{} {
	if s.claim == nil {
		return nil
	}
	return s.claim.Moved()
}

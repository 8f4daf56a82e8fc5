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

// OnRegain sets what has to succeed before the lock of [Options].Claim, once lost, is held again:
// the database may have failed over to a replica that lacks the newest writes. It reads only.
func (s *Store) OnRegain(check func(context.Context) error) {
	if s.claim != nil {
		s.claim.OnRegain(check)
	}
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

package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sluicegate/sluice/admin/store/table"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// IdempotencyTTL is how long a POST can be repeated with its answer.
const IdempotencyTTL = 24 * time.Hour

// jobTTL is how long a finished job can be read.
const jobTTL = 7 * 24 * time.Hour

// AddToken writes a token. It fails with [problem.Conflict] when its hash is
// there already.
func (t *Tx) AddToken(ctx context.Context, row *Token) error {
	if len(row.Hash) != sha256.Size {
		return fmt.Errorf("writing token %s: its hash has %d bytes", row.ID, len(row.Hash))
	}
	if row.ID == "" {
		row.ID = t.NewID("tok")
	}
	row.CreatedAt = Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); isUnique(err) {
		return problem.New(problem.Conflict, "this token is stored already")
	} else if err != nil {
		return fmt.Errorf("writing token %s: %w", row.ID, err)
	}
	return nil
}

// RevokeToken ends a token. It fails with [problem.NotFound].
func (t *Tx) RevokeToken(ctx context.Context, id string) error {
	n, err := affected(t.updateOf((*Token)(nil)).Set("revoked_at = ?", Time{Time: t.Now()}).Where("id = ?", id).Where("revoked_at = 0").Exec(ctx))
	if err != nil {
		return fmt.Errorf("revoking token %s: %w", id, err)
	}
	if n == 0 {
		return problem.New(problem.NotFound, "there is no token %.80q in this workspace", id)
	}
	return nil
}

// TokenByHash finds the valid token with a hash in any workspace: it is how the
// workspace of a request becomes known. It fails with [problem.Unauthenticated]
// when there is none or it was revoked or has expired, or its member was removed. Role
// is what the token may do now: no more than its member may.
func (s *Store) TokenByHash(ctx context.Context, hash []byte) (*Token, error) {
	row := new(Token)
	err := s.read.NewSelect().Model(row).Where("hash = ?", hash).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("looking a token up: %w", err)
	}
	if err == nil {
		err = s.Workspace(row.WorkspaceID).limit(ctx, s.now(), row)
	}
	if errors.Is(err, sql.ErrNoRows) || problem.Is(err, problem.NotFound) {
		return nil, problem.New(problem.Unauthenticated, "the token is not known, has expired or was revoked")
	}
	if err != nil {
		return nil, err
	}
	return row, nil
}

// limit gives a token the role that it has now: no more than its member has. It fails with
// [problem.NotFound] when the token was revoked or has expired, or its member was removed.
func (c *scope) limit(ctx context.Context, now time.Time, row *Token) error {
	if !row.RevokedAt.IsZero() || (!row.ExpiresAt.IsZero() && !now.Before(row.ExpiresAt.Time)) {
		return problem.New(problem.NotFound, "the token has expired or was revoked")
	}
	if row.MemberID == "" {
		return nil
	}
	m, err := c.Member(ctx, row.MemberID)
	if err != nil {
		return err
	}
	row.Role = lowerRole(row.Role, m.Role)
	return nil
}

// Job reads a job. It fails with [problem.NotFound].
func (c *scope) Job(ctx context.Context, id string) (*Job, error) {
	row := new(Job)
	return row, table.Found(c.from(row).Where("id = ?", id).Scan(ctx), "job", id)
}

// Jobs lists jobs, newest first.
func (c *scope) Jobs(ctx context.Context, p Page) ([]Job, string, error) {
	var rows []Job
	return table.Read(ctx, c.db, c.from(&rows), &rows, JobList, p, "jobs")
}

// AddJob writes a new running job.
func (t *Tx) AddJob(ctx context.Context, row *Job) error {
	row.ID, row.State = t.NewID("job"), JobRunning
	row.CreatedAt, row.UpdatedAt = Time{Time: t.Now()}, Time{Time: t.Now()}
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("writing job %s: %w", row.Kind, err)
	}
	return nil
}

// SaveJob writes phase, state and outcome of a job that runs. It fails with
// [problem.Conflict] when the job ended before.
func (t *Tx) SaveJob(ctx context.Context, row *Job) error {
	row.UpdatedAt = Time{Time: t.Now()}
	n, err := affected(t.updateOf(row).Column("state", "phase", "resource", "result", "error", "updated_at").
		Where("id = ?", row.ID).Where("state = ?", JobRunning).Exec(ctx))
	if err != nil {
		return fmt.Errorf("writing job %s: %w", row.ID, err)
	}
	if n == 0 {
		return problem.New(problem.Conflict, "job %s has ended", row.ID)
	}
	return nil
}

// BeginKey takes an idempotency key for a request. It returns nil when the key
// is new (or older than [IdempotencyTTL]) and the caller must handle the request
// and call EndKey or DropKey; otherwise what is stored under the key.
func (t *Tx) BeginKey(ctx context.Context, row *IdempotencyKey) (*IdempotencyKey, error) {
	row.State, row.CreatedAt, row.Sealed = KeyRunning, Time{Time: t.Now()}, []byte{}
	old := new(IdempotencyKey)
	err := t.from(old).Where("token_id = ?", row.TokenID).Where("key = ?", row.Key).Scan(ctx)
	switch {
	case err == nil && t.Now().Sub(old.CreatedAt.Time) < IdempotencyTTL:
		return old, nil
	case err == nil:
		err = t.DropKey(ctx, row.TokenID, row.Key)
	case errors.Is(err, sql.ErrNoRows):
		err = nil
	}
	if err == nil {
		_, err = t.insert(row).Exec(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("taking an idempotency key: %w", err)
	}
	return nil, nil //nolint:nilnil // nil: the key is new
}

// EndKey stores the answer of the request that took a key.
func (t *Tx) EndKey(ctx context.Context, row *IdempotencyKey) error {
	row.State = KeyDone
	if _, err := t.updateOf(row).Column("state", "status", "sealed").
		Where("token_id = ?", row.TokenID).Where("key = ?", row.Key).Exec(ctx); err != nil {
		return fmt.Errorf("storing an idempotent answer: %w", err)
	}
	return nil
}

// RewrapAnswers puts the sealed answers of the workspace under the current
// key-encryption key and returns how many it changed. One whose key is gone is removed:
// it can never be given again.
func (t *Tx) RewrapAnswers(ctx context.Context, ring *secrets.Keyring) (int, error) {
	var rows []IdempotencyKey
	if err := t.from(&rows).Where("state = ?", KeyDone).Scan(ctx); err != nil {
		return 0, fmt.Errorf("reading idempotent answers: %w", err)
	}
	changed := 0
	for i := range rows {
		row := &rows[i]
		sealed, did, err := ring.Rewrap(row.Record(), row.Sealed)
		switch {
		case err != nil:
			err = t.DropKey(ctx, row.TokenID, row.Key)
		case did:
			row.Sealed = sealed
			changed++
			err = t.EndKey(ctx, row)
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// DropKey frees a key, so that the request can be tried again.
func (t *Tx) DropKey(ctx context.Context, token, key string) error {
	if _, err := t.deleteOf((*IdempotencyKey)(nil)).Where("token_id = ?", token).Where("key = ?", key).Exec(ctx); err != nil {
		return fmt.Errorf("freeing an idempotency key: %w", err)
	}
	return nil
}

// Recover ends what a process that died left behind in every workspace: jobs and
// idempotency keys that run become failed or free. It must be called before
// requests are served, by the only process on the database.
func (s *Store) Recover(ctx context.Context, jobError string) (jobs int64, err error) {
	jobs, err = affected(s.write.NewUpdate().Model((*Job)(nil)).Set("state = ?", JobFailed).Set("error = ?", jobError).
		Set("updated_at = ?", Time{Time: s.now()}).Where("state = ?", JobRunning).Exec(ctx))
	if err != nil {
		return 0, fmt.Errorf("ending the jobs of the last process: %w", err)
	}
	if _, err := s.write.NewDelete().Model((*IdempotencyKey)(nil)).Where("state = ?", KeyRunning).Exec(ctx); err != nil {
		return jobs, fmt.Errorf("freeing the keys of the last process: %w", err)
	}
	return jobs, nil
}

// Sweep removes idempotency keys, finished jobs, logins, events and usage that are past their
// time, in every workspace.
func (s *Store) Sweep(ctx context.Context) error {
	if _, err := s.write.NewDelete().Model((*IdempotencyKey)(nil)).Where("created_at < ?", Time{Time: s.now().Add(-IdempotencyTTL)}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping idempotency keys: %w", err)
	}
	if _, err := s.write.NewDelete().Model((*Job)(nil)).Where("state <> ?", JobRunning).Where("updated_at < ?", Time{Time: s.now().Add(-jobTTL)}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping jobs: %w", err)
	}
	if _, err := s.write.NewDelete().Model((*Preview)(nil)).Where("expires_at <= ?", Time{Time: s.now()}).Exec(ctx); err != nil {
		return fmt.Errorf("sweeping previews: %w", err)
	}
	if err := s.sweepLogins(ctx); err != nil {
		return err
	}
	if err := s.sweepSessions(ctx, s.now()); err != nil {
		return err
	}
	if err := s.sweepLearned(ctx); err != nil {
		return err
	}
	if err := s.sweepEvents(ctx); err != nil {
		return err
	}
	if err := s.sweepLocks(ctx); err != nil {
		return err
	}
	return s.sweepUsage(ctx)
}

// Audit appends a record to the workspace's log. Records are never changed; each
// holds the hash of the one before, so that a change or a gap is found by
// [Workspace.VerifyAudit].
func (t *Tx) Audit(ctx context.Context, row *Audit) error {
	last := new(Audit)
	err := t.from(last).Column("seq", "hash").Order("seq DESC").Limit(1).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	row.WorkspaceID, row.Seq, row.ID, row.At = t.id, last.Seq+1, t.NewID("aud"), Time{Time: t.Now().Truncate(time.Millisecond)}
	row.Previous = last.Hash
	if row.Previous == nil {
		row.Previous = []byte{}
	}
	row.Hash = row.sum()
	if _, err := t.insert(row).Exec(ctx); err != nil {
		return fmt.Errorf("appending to the audit log: %w", err)
	}
	t.last = row
	return nil
}

// OnAudit makes fn the one that is notified of the newest audit record of each transaction,
// after its commit and before its caller goes on. Transactions of one workspace may
// arrive in another order than they were committed in. fn must not change the record.
func (s *Store) OnAudit(fn func(*Audit)) { s.audited.Store(&fn) }

// AuditTail returns number and hash of the newest record of the audit log; 0 and nil
// when there is none.
func (c *scope) AuditTail(ctx context.Context) (seq uint64, hash []byte, err error) {
	last := new(Audit)
	err = c.from(last).Column("seq", "hash").Order("seq DESC").Limit(1).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return last.Seq, last.Hash, nil
}

// AuditHash returns the hash of a record of the audit log; nil when there is none with
// that number.
func (c *scope) AuditHash(ctx context.Context, seq uint64) ([]byte, error) {
	row := new(Audit)
	err := c.from(row).Column("hash").Where("seq = ?", seq).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return row.Hash, nil
}

// sum hashes every field with its length, so that moving text from one field to
// the next changes it.
func (a *Audit) sum() []byte {
	var b []byte
	add := func(s string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	add("sluice/audit/1")
	add(string(a.Previous))
	b = binary.BigEndian.AppendUint64(b, a.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(a.At.UnixMilli())) // same bits
	for _, s := range []string{
		a.WorkspaceID, a.ID, a.ActorType, a.ActorID, a.ActorIP, a.Action, a.Resource,
		a.Before, a.After, a.Digest, a.Reason, a.RequestID, a.Outcome,
	} {
		add(s)
	}
	h := sha256.Sum256(b)
	return h[:]
}

// AuditLog lists the audit log, newest first. Page.After is a record's id.
func (c *scope) AuditLog(ctx context.Context, p Page) ([]Audit, string, error) {
	var rows []Audit
	return table.Read(ctx, c.db, c.from(&rows), &rows, AuditList, p, "the audit log")
}

// VerifyAudit checks the whole chain of the workspace and returns how many
// records it has. It fails with [problem.Conflict] and the number of the first
// record that was changed, removed or added by something else.
func (w *Workspace) VerifyAudit(ctx context.Context) (uint64, error) {
	var previous []byte
	var seq uint64
	for {
		var rows []Audit
		if err := w.from(&rows).Where("seq > ?", seq).Order("seq").Limit(MaxLimit).Scan(ctx); err != nil {
			return seq, fmt.Errorf("reading the audit log: %w", err)
		}
		if len(rows) == 0 {
			return seq, nil
		}
		for i := range rows {
			a := &rows[i]
			if a.Seq != seq+1 || string(a.Previous) != string(previous) || string(a.Hash) != string(a.sum()) {
				return seq, problem.New(problem.Conflict, "the audit log was changed outside of Sluice: record %d does not follow record %d", a.Seq, seq)
			}
			seq, previous = a.Seq, a.Hash
		}
	}
}

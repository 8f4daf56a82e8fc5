package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// maxHeadBytes is the largest envelope that is read: a head has some hundred bytes.
const maxHeadBytes = 16 << 10

const (
	headSuffix = ".json"
	// lostSuffix ends the names of heads that the records did not reach at a start. They
	// stay until the operator has looked and removes them.
	lostSuffix = ".lost.json"
)

// Head is what is signed.
type Head struct {
	Workspace string    `json:"workspace"`
	Seq       uint64    `json:"seq"`  // number of the newest record
	Hash      string    `json:"hash"` // of that record, in hexadecimal
	At        time.Time `json:"at"`
}

// Options of a Keeper. All but Logger are required.
type Options struct {
	Dir    string       // of the files; made with mode 0700
	Key    *sign.Key    // signs heads: the release key
	Store  *store.Store // holds the records
	Logger *slog.Logger // default: discard
}

// Keeper keeps the heads of all workspaces of a store.
type Keeper struct {
	dir   string
	key   *sign.Key
	trust *sign.Trust
	store *store.Store
	log   *slog.Logger

	mu   sync.Mutex
	last map[string]uint64 // guarded by mu: newest signed record by workspace
}

// Open compares the heads that were kept with the records, signs the present ones and
// follows the store from then on. A head that the records do not reach, or that no key
// of the release signed, is an error in the log and a record of the audit log, and the
// file is kept beside the new one; it does not keep the control plane from starting.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	trust, err := sign.NewTrust(o.Key.TrustedAll(registry.UseRelease, ""), registry.UseRelease)
	if err != nil {
		return nil, fmt.Errorf("keeping the heads of the audit logs: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the heads of the audit logs: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{dir: o.Dir, key: o.Key, trust: trust, store: o.Store, log: o.Logger.With(slog.String("component", "audit")), last: map[string]uint64{}}
	ids, err := o.Store.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := k.open(ctx, o.Store.Workspace(id)); err != nil {
			return nil, err
		}
	}
	o.Store.OnAudit(func(a *store.Audit) { k.advance(a.WorkspaceID, a.Seq, a.Hash) })
	for _, id := range ids { // what was written meanwhile, also by this
		if err := k.catchUp(ctx, o.Store.Workspace(id)); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// open checks the kept head of one workspace.
func (k *Keeper) open(ctx context.Context, ws *store.Workspace) error {
	envelope, err := readHead(k.path(ws.ID(), headSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = k.VerifyHead(ctx, ws, envelope)
	}
	switch {
	case err == nil:
		return nil
	case problem.As(err) == nil:
		return err // the database or the directory, and not the head
	}
	seq, _, terr := ws.AuditTail(ctx)
	if terr != nil {
		return terr
	}
	lost := k.path(ws.ID(), "."+time.Now().UTC().Format("20060102T150405.000Z")+lostSuffix)
	if err := os.Rename(k.path(ws.ID(), headSuffix), lost); err != nil {
		return fmt.Errorf("keeping the head of the audit log: %w", err)
	}
	k.log.LogAttrs(ctx, slog.LevelError, "the audit log does not reach its signed head: records were removed or changed outside of Sluice",
		slog.String("workspace", ws.ID()), slog.Uint64("records", seq), slog.String("head", lost), slog.Any("error", err))
	after, err := json.Marshal(map[string]any{"records": seq, "head": filepath.Base(lost), "reason": err.Error()})
	if err != nil {
		return fmt.Errorf("recording the lost head: %w", err)
	}
	return ws.Update(ctx, func(tx *store.Tx) error {
		return tx.Audit(ctx, &store.Audit{ActorType: "system", ActorID: "start", Action: "audit.lost", Resource: ws.ID(), After: string(after), Outcome: "failed"})
	})
}

func (k *Keeper) catchUp(ctx context.Context, ws *store.Workspace) error {
	seq, hash, err := ws.AuditTail(ctx)
	if err == nil && seq > 0 {
		k.advance(ws.ID(), seq, hash)
	}
	return err
}

func readHead(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxHeadBytes {
		return nil, problem.New(problem.InvalidRelease, "the head has %d bytes, the limit is %d", info.Size(), maxHeadBytes)
	}
	return os.ReadFile(path)
}

// path of a file of a workspace, whose id is a slug.
func (k *Keeper) path(workspace, suffix string) string { return filepath.Join(k.dir, workspace+suffix) }

// advance signs a head and replaces the file, unless a newer one was signed. What is
// acknowledged stays so when the file cannot be written: the log says it, and the next
// record tries again.
func (k *Keeper) advance(workspace string, seq uint64, hash []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if seq <= k.last[workspace] {
		return
	}
	envelope, err := k.sign(workspace, seq, hash)
	if err == nil {
		err = atomicfile.Write(k.path(workspace, headSuffix), envelope, 0o600)
	}
	if err != nil {
		k.log.LogAttrs(context.Background(), slog.LevelError, "the head of the audit log was not kept",
			slog.String("workspace", workspace), slog.Uint64("record", seq), slog.Any("error", err))
		return
	}
	k.last[workspace] = seq
}

func (k *Keeper) sign(workspace string, seq uint64, hash []byte) ([]byte, error) {
	payload, err := json.Marshal(Head{Workspace: workspace, Seq: seq, Hash: hex.EncodeToString(hash), At: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	return sign.Sign(k.key, sign.PayloadAuditHead, payload)
}

// Head returns the kept envelope of a workspace; of a log without records, one with
// the number 0.
func (k *Keeper) Head(workspace string) ([]byte, error) {
	b, err := readHead(k.path(workspace, headSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return k.sign(workspace, 0, nil)
	}
	return b, err
}

// VerifyHead checks a head, kept here or elsewhere; see [Verify].
func (k *Keeper) VerifyHead(ctx context.Context, ws *store.Workspace, envelope []byte) error {
	return Verify(ctx, ws, k.trust, envelope)
}

// VerifyKept checks the head that the directory dir keeps of a workspace, from outside
// of a running control plane. A workspace without one passes: it has no record yet, or
// was written by a program that kept none. It fails as [Verify] does, and for a head
// that the records did not reach at some start.
func VerifyKept(ctx context.Context, dir string, ws *store.Workspace, trust *sign.Trust) error {
	lost, err := lostHeads(dir, ws.ID())
	if err != nil || len(lost) > 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = problem.New(problem.Conflict, "the audit log did not reach its signed head at an earlier start, which was kept as %s", filepath.Join(dir, lost[0])).
				Fix("compare with a backup, and remove the file when it is settled")
		}
		return err
	}
	envelope, err := readHead(filepath.Join(dir, ws.ID()+headSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Verify(ctx, ws, trust, envelope)
}

// Verify checks a head against the records of the workspace. It fails with
// [problem.InvalidRelease] when no key of trust signed it, with
// [problem.InvalidArgument] when it is another workspace's, and with
// [problem.Conflict] when the records do not hold what it names.
func Verify(ctx context.Context, ws *store.Workspace, trust *sign.Trust, envelope []byte) error {
	payload, _, err := sign.Verify(envelope, sign.PayloadAuditHead, trust)
	if err != nil {
		return err
	}
	var h Head
	if err := json.Unmarshal(payload, &h); err != nil {
		return problem.New(problem.InvalidRelease, "the signed head of the audit log cannot be read").Because(err)
	}
	if h.Workspace != ws.ID() {
		return problem.New(problem.InvalidArgument, "the head is of workspace %.64q, not of %s", h.Workspace, ws.ID())
	}
	want, err := hex.DecodeString(h.Hash)
	if err != nil {
		return problem.New(problem.InvalidRelease, "the signed head of the audit log cannot be read").Because(err)
	}
	if h.Seq == 0 {
		return nil // of a log without records, which every log continues
	}
	have, err := ws.AuditHash(ctx, h.Seq)
	switch {
	case err != nil:
		return err
	case have == nil:
		tail, _, err := ws.AuditTail(ctx)
		if err != nil {
			return err
		}
		return problem.New(problem.Conflict, "the audit log ends at record %d, but record %d was signed at %s: its tail was cut off", tail, h.Seq, h.At.Format(time.RFC3339)).
			Fix("compare with a backup, and find out who could write to the database")
	case !bytes.Equal(have, want):
		return problem.New(problem.Conflict, "record %d of the audit log is not the one that was signed at %s", h.Seq, h.At.Format(time.RFC3339)).
			Fix("compare with a backup, and find out who could write to the database")
	}
	return nil
}

// Lost names the files of heads that the records of a workspace did not reach at some
// start, oldest first.
func (k *Keeper) Lost(workspace string) ([]string, error) { return lostHeads(k.dir, workspace) }

func lostHeads(dir, workspace string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the heads of the audit logs: %w", err)
	}
	var names []string
	for _, e := range entries { // sorted by name, which begins with the time
		if rest, ok := strings.CutPrefix(e.Name(), workspace+"."); ok && strings.HasSuffix(rest, lostSuffix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

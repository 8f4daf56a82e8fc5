package keyring

import (
	"context"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// settleTime is how long a change that sealed something under a key may take to be
// stored: a key is retired no sooner after the one that follows it was made.
const settleTime = time.Minute

// Room keeps the keys of the control plane.
type Room struct {
	Store     *store.Store
	Keyring   *secrets.Keyring
	Publisher *publish.Publisher
	// Rotated is notified of each rotation. Default: nobody is.
	Rotated func(ctx context.Context)

	rotation sync.Mutex // held while keys are rotated
	rotated  time.Time  // guarded by rotation: when, in this process
}

// RotatedKeys is what a rotation of the key-encryption key did.
type RotatedKeys struct {
	Current   string   `json:"current" doc:"Identifier of the key that seals from now on."`
	Rewrapped int      `json:"rewrapped" doc:"Sealed values that were put under it."`
	Opening   []string `json:"opening,omitempty" doc:"Older keys that still open, until the next rotation removes them."`
}

// ControlKey is a key of the control plane, by its identifier.
type ControlKey struct {
	ID    string `json:"id" doc:"Of signing keys: hex SHA-256 of the public key's DER."`
	Use   string `json:"use" enum:"credentials,release,workspace" doc:"credentials: seals secrets; release: signs releases and access documents; workspace: signs generated connectors."`
	State string `json:"state" enum:"current,opening" doc:"opening: it only opens what it sealed, until the next rotation."`
}

// List names all keys.
func (r *Room) List() []ControlKey {
	out := []ControlKey{}
	for i, id := range r.Keyring.IDs() {
		k := ControlKey{ID: id, Use: "credentials", State: "opening"}
		if i == 0 {
			k.State = "current"
		}
		out = append(out, k)
	}
	for _, k := range r.Publisher.Trusted() {
		out = append(out, ControlKey{ID: k.KeyID, Use: k.Use, State: "current"})
	}
	return out
}

// Rotate makes a new current key and puts every sealed value under it. Keys
// before the one that sealed until now are removed first: whatever they sealed was put
// under that one long ago. What is being stored at this moment under the last key is
// opened by it, until the next rotation.
func (r *Room) Rotate(ctx context.Context) (out RotatedKeys, err error) {
	r.rotation.Lock()
	defer r.rotation.Unlock()
	if at := r.rotated; !at.IsZero() && r.Store.Now().Sub(at) < settleTime {
		return out, problem.New(problem.Conflict, "the key was rotated %d seconds ago", int(r.Store.Now().Sub(at).Seconds())).Fix("wait a minute, so that what is being stored settles")
	}
	ring := r.Keyring
	before := ring.Current()
	if len(ring.IDs()) > 1 {
		if _, err := r.rewrapAll(ctx, ""); err != nil {
			return out, err
		}
		if err := ring.Retire(); err != nil {
			return out, err
		}
	}
	if err := ring.Rotate(); err != nil {
		return out, err
	}
	r.rotated = r.Store.Now()
	out.Current = ring.Current()
	if out.Rewrapped, err = r.rewrapAll(ctx, before); err != nil {
		return out, err
	}
	out.Opening = ring.IDs()[1:]
	if r.Rotated != nil {
		r.Rotated(ctx)
	}
	return out, nil
}

// rewrapAll puts the sealed values of all workspaces under the current key. before is
// the key that a rotation follows; "" does not record one.
func (r *Room) rewrapAll(ctx context.Context, before string) (total int, err error) {
	ids, err := r.Store.Workspaces(ctx)
	if err != nil {
		return 0, err
	}
	if total, err = r.Store.RewrapACMEValues(ctx, r.Keyring); err != nil {
		return total, err
	}
	for _, id := range ids {
		n := 0
		err := r.Store.Workspace(id).Update(ctx, func(tx *store.Tx) (err error) {
			if n, err = tx.RewrapCredentials(ctx, r.Keyring); err != nil {
				return err
			}
			answers, err := tx.RewrapAnswers(ctx, r.Keyring)
			if n += answers; err != nil {
				return err
			}
			runs, err := tx.RewrapRuns(ctx, r.Keyring)
			if n += runs; err != nil || before == "" {
				return err
			}
			rec := request.Audit(ctx, "keys.rotate", "keys")
			rec.Before, rec.After = store.JSON(map[string]any{"key": before}), store.JSON(map[string]any{"key": r.Keyring.Current(), "rewrapped": n})
			return tx.Audit(ctx, rec)
		})
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

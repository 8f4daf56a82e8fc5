package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// settleTime is how long a change that sealed something under a key may take to be
// stored: a key is retired no sooner after the one that follows it was made.
const settleTime = time.Minute

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

func (s *Server) registerKeys() {
	register(s, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Summary: "List the keys of the control plane", Tags: []string{"keys"},
		Description: "Operator only. Identifiers, never keys. A handful: there is one page.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[List[ControlKey]], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		out := List[ControlKey]{Items: []ControlKey{}}
		for i, id := range s.o.Keyring.IDs() {
			k := ControlKey{ID: id, Use: "credentials", State: "opening"}
			if i == 0 {
				k.State = "current"
			}
			out.Items = append(out.Items, k)
		}
		for _, k := range s.o.Publisher.Trusted() {
			out.Items = append(out.Items, ControlKey{ID: k.KeyID, Use: k.Use, State: "current"})
		}
		return &bodyOutput[List[ControlKey]]{out}, nil
	})
	register(s, huma.Operation{
		OperationID: "rotate-keys", Method: http.MethodPost, Path: "/v1/keys/rotate", Summary: "Make a new key-encryption key", Tags: []string{"keys"},
		Description: "Operator only. Every sealed value is put under the new key, none is decrypted, and calls go on meanwhile. " +
			"The key before it still opens, until the next rotation removes it. Not while the last rotation is less than a minute old, " +
			"and not when the key is given as a value.",
	}, func(ctx context.Context, _ *struct{}) (*bodyOutput[RotatedKeys], error) {
		if err := request.RequireOperator(ctx); err != nil {
			return nil, err
		}
		r, err := s.rotateKeys(ctx)
		return &bodyOutput[RotatedKeys]{r}, err
	})
}

// rotateKeys makes a new current key and puts every sealed value under it. Keys
// before the one that sealed until now are removed first: whatever they sealed was put
// under that one long ago. What is being stored at this moment under the last key is
// opened by it, until the next rotation.
func (s *Server) rotateKeys(ctx context.Context) (out RotatedKeys, err error) {
	s.rotation.Lock()
	defer s.rotation.Unlock()
	if at := s.rotated; !at.IsZero() && s.now().Sub(at) < settleTime {
		return out, problem.New(problem.Conflict, "the key was rotated %d seconds ago", int(s.now().Sub(at).Seconds())).Fix("wait a minute, so that what is being stored settles")
	}
	ring := s.o.Keyring
	before := ring.Current()
	if len(ring.IDs()) > 1 {
		if _, err := s.rewrapAll(ctx, ""); err != nil {
			return out, err
		}
		if err := ring.Retire(); err != nil {
			return out, err
		}
	}
	if err := ring.Rotate(); err != nil {
		return out, err
	}
	s.rotated = s.now()
	out.Current = ring.Current()
	if out.Rewrapped, err = s.rewrapAll(ctx, before); err != nil {
		return out, err
	}
	out.Opening = ring.IDs()[1:]
	return out, nil
}

// rewrapAll puts the sealed values of all workspaces under the current key. before is
// the key that a rotation follows; "" does not record one.
func (s *Server) rewrapAll(ctx context.Context, before string) (total int, err error) {
	ids, err := s.o.Store.Workspaces(ctx)
	if err != nil {
		return 0, err
	}
	if total, err = s.o.Store.RewrapACMEValues(ctx, s.o.Keyring); err != nil {
		return total, err
	}
	for _, id := range ids {
		n := 0
		err := s.o.Store.Workspace(id).Update(ctx, func(tx *store.Tx) (err error) {
			if n, err = tx.RewrapCredentials(ctx, s.o.Keyring); err != nil {
				return err
			}
			answers, err := tx.RewrapAnswers(ctx, s.o.Keyring)
			if n += answers; err != nil {
				return err
			}
			runs, err := tx.RewrapRuns(ctx, s.o.Keyring)
			if n += runs; err != nil || before == "" {
				return err
			}
			rec := request.Audit(ctx, "keys.rotate", "keys")
			rec.Before, rec.After = store.JSON(map[string]any{"key": before}), store.JSON(map[string]any{"key": s.o.Keyring.Current(), "rewrapped": n})
			return tx.Audit(ctx, rec)
		})
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

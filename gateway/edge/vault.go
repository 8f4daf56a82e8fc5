package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// fileCredentials holds the sealed credentials as they were received: without the
// node's key nothing can be read in it.
const fileCredentials = "credentials.json"

// Vault keeps the credentials of the toolsets this node serves: sealed to the
// node on the way and on disk, open in memory only. What it has is used until
// something newer comes, also over a restart without the control plane. Its
// methods may be called by many goroutines; Run is one.
type Vault struct {
	remote *Remote
	log    *slog.Logger

	users  userTokens
	values atomic.Pointer[map[string]registry.EdgeCredential]

	mu    sync.Mutex
	etag  string // guarded by mu
	fault error  // guarded by mu
}

// OpenVault opens what is on disk. A file that does not open is no error: the
// credentials are asked for again, and Fault says so until they came.
func OpenVault(r *Remote) *Vault {
	v := &Vault{remote: r, log: r.log}
	v.values.Store(&map[string]registry.EdgeCredential{})
	b, err := readFile(filepath.Join(r.opts.Dir, fileCredentials), registry.MaxSealedBytes*2)
	if err == nil {
		err = v.open(b)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.set(fmt.Errorf("the stored credentials cannot be used: %w", err))
		v.log.LogAttrs(context.Background(), slog.LevelWarn, "stored credentials are not usable, asking for them again", slog.Any("error", err))
	}
	return v
}

// open makes what the control plane sent the current credentials.
func (v *Vault) open(b []byte) error {
	id := v.remote.current()
	if id == nil {
		return errors.New("the node is not enrolled")
	}
	var doc registry.SealedCredentials
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("read sealed credentials: %w", err)
	}
	key, err := id.sealKey()
	if err != nil {
		return err
	}
	plain, err := key.Open(registry.SealInfo(id.Edge), doc.Sealed)
	if err != nil {
		return err
	}
	defer clear(plain)
	var in registry.EdgeCredentials
	if err := json.Unmarshal(plain, &in); err != nil {
		return errors.New("the credentials are not in a form this version reads") // never the text
	}
	if in.Edge != id.Edge {
		return problem.New(problem.Conflict, "the credentials are for another edge")
	}
	values := make(map[string]registry.EdgeCredential, len(in.Credentials))
	for _, c := range in.Credentials {
		values[c.ID] = c
	}
	v.values.Store(&values)
	v.users.follow(in.Users)
	v.mu.Lock()
	v.etag = in.ETag
	v.mu.Unlock()
	return nil
}

// Credential returns a credential, from memory; [problem.NotFound] when this node
// has none of that id.
func (v *Vault) Credential(id string) (registry.EdgeCredential, error) {
	c, ok := (*v.values.Load())[id]
	if !ok {
		return c, problem.New(problem.NotFound, "this edge has no credential %.80q", id).
			Fix("look at the edge's state: it gets credentials from the control plane")
	}
	return c, nil
}

// Fault is what keeps the node from its newest credentials; nil: nothing.
func (v *Vault) Fault() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fault
}

func (v *Vault) set(err error) (news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	news = (err == nil) != (v.fault == nil)
	v.fault = err
	return news
}

// Follow gets newer credentials once, waiting for them as long as the control
// plane holds the question. It returns registry.ErrUnchanged when there are none.
func (v *Vault) Follow(ctx context.Context) error {
	v.mu.Lock()
	known := v.etag
	v.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, DefaultPollTimeout)
	defer cancel()
	b, err := v.remote.get(ctx, registry.EdgeCredentialsPath, known, registry.MaxSealedBytes*2)
	if err != nil {
		return err
	}
	if err := v.open(b); err != nil {
		return fmt.Errorf("open the credentials: %w", err)
	}
	if err := atomicfile.WriteOn(v.remote.opts.System, filepath.Join(v.remote.opts.Dir, fileCredentials), b, 0o600); err != nil {
		return fmt.Errorf("the credentials are used and cannot be kept: %w", err)
	}
	return nil
}

// Run follows the credentials until ctx ends; it returns ctx's error.
func (v *Vault) Run(ctx context.Context) error {
	pause := DefaultMinRetry
	for ctx.Err() == nil {
		asked := time.Now()
		err := v.Follow(ctx)
		quick := time.Since(asked) < quickAnswer
		if errors.Is(err, registry.ErrUnchanged) {
			err = nil
		} else if err == nil {
			quick = false
		}
		if ctx.Err() != nil {
			break
		}
		if v.set(err) {
			v.log.LogAttrs(ctx, slog.LevelInfo, "credentials followed", slog.Any("error", err))
		}
		switch {
		case err != nil:
			pause = min(2*pause, DefaultMaxRetry)
		case quick:
			pause = DefaultMinRetry
		default:
			pause = DefaultMinRetry
			continue
		}
		t := time.NewTimer(pause/2 + rand.N(pause/2+1)) //nolint:gosec // spreads load, keeps no secret
		select {
		case <-ctx.Done():
			t.Stop()
		case <-t.C:
		}
	}
	return ctx.Err()
}

package admin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// maxUserTokens are kept open in memory: some hundred bytes each.
const maxUserTokens = 20_000

// secretCache keeps opened credentials for the gateway in this process.
type secretCache struct {
	mu         sync.RWMutex
	generation uint64                  // guarded by mu; raised by every forget
	values     map[string]openedSecret // guarded by mu
	// most values are kept, 0: as many as there are; set before the first use.
	most int
	// changed is called when a secret is forgotten; set before the first use.
	changed func()
}

type openedSecret struct {
	value   secrets.Secret
	version uint64
	renew   time.Time // of an access token: when a new one is due; zero: never
	expires time.Time // of an access token; zero: not known
	origins registry.Origins
}

func (v *openedSecret) held() credential.HeldSecret {
	return credential.HeldSecret{Value: v.value, Version: v.version, Origins: v.origins}
}

// Secret returns the value of a credential and where it may be sent. It answers from
// memory but for the first time after a change, and is what the gateway of this
// process asks. It fails with [problem.NotFound], and as [loginSecrets.Refresh] does.
func (s *loginSecrets) Secret(ctx context.Context, id string) (credential.HeldSecret, error) {
	v, err := s.secret(ctx, id)
	return v.held(), err
}

func (s *loginSecrets) secret(ctx context.Context, id string) (openedSecret, error) {
	c := &s.shared
	c.mu.RLock()
	v, ok := c.values[id]
	generation := c.generation
	c.mu.RUnlock()
	if ok && (v.renew.IsZero() || s.o.Store.Now().Before(v.renew)) {
		return v, nil
	}
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return openedSecret{}, err
	}
	if credential.IsOAuth(row.AuthType) {
		return s.renew(ctx, tokenOf(row.ID, nil), 0, false)
	}
	bound, err := s.origins.boundOf(ctx, row)
	if err != nil {
		return openedSecret{}, err
	}
	value, err := s.open(row)
	if err != nil {
		return openedSecret{}, err
	}
	if row.AuthType == registry.AuthBasic {
		sh, err := credential.ShapeOf(row)
		if err != nil {
			return openedSecret{}, err
		}
		value = secrets.New(sh.Username + ":" + value.Reveal())
	}
	v = openedSecret{value: value, version: row.Version, origins: bound.Call}
	c.put(id, v, generation)
	return v, nil
}

func (s *loginSecrets) open(row *store.Credential) (secrets.Secret, error) {
	value, err := s.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("opening credential %s: %w", row.ID, err)
	}
	return value, nil
}

// put remembers a value that was read when the cache had a generation. A change
// since then would be hidden by the old value.
func (c *secretCache) put(id string, v openedSecret, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if c.values == nil {
		c.values = map[string]openedSecret{}
	}
	if c.most > 0 && len(c.values) >= c.most {
		clear(c.values) // they are read again
	}
	c.values[id] = v
}

func (c *secretCache) now() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.generation
}

// forget drops a cached secret after its record changed.
func (c *secretCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	delete(c.values, id)
	if c.changed != nil {
		c.changed()
	}
}

// forgetAll drops the cached secrets of what a toolset had and has.
func (s *loginSecrets) forgetAll(lists ...[]credential.Draft) {
	for _, list := range lists {
		for i := range list {
			s.shared.forget(list[i].Row.ID)
		}
	}
	s.forgetUsers()
}

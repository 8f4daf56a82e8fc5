package login

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// maxUserTokens are kept open in memory: some hundred bytes each.
const maxUserTokens = 20_000

// cache keeps opened credentials for the gateway in this process.
type cache struct {
	mu         sync.RWMutex
	generation uint64            // guarded by mu; raised by every forget
	values     map[string]Opened // guarded by mu
	// most values are kept, 0: as many as there are; set before the first use.
	most int
	// changed is called when a secret is forgotten; set before the first use.
	changed func()
}

// Opened is a secret that is kept in memory.
type Opened struct {
	Value   secrets.Secret
	Version uint64
	Renew   time.Time // of an access token: when a new one is due; zero: never
	Expires time.Time // of an access token; zero: not known
	Origins registry.Origins
}

func (v *Opened) held() credential.HeldSecret {
	return credential.HeldSecret{Value: v.Value, Version: v.Version, Origins: v.Origins}
}

// Secret returns the value of a credential and where it may be sent. It answers from
// memory but for the first time after a change, and is what the gateway of this
// process asks. It fails with [problem.NotFound], and as [Secrets.Refresh] does.
func (s *Secrets) Secret(ctx context.Context, id string) (credential.HeldSecret, error) {
	v, err := s.Open(ctx, id)
	return v.held(), err
}

// Open is Secret with how long an access token is good.
func (s *Secrets) Open(ctx context.Context, id string) (Opened, error) {
	c := &s.shared
	c.mu.RLock()
	v, ok := c.values[id]
	generation := c.generation
	c.mu.RUnlock()
	if ok && (v.Renew.IsZero() || s.o.Store.Now().Before(v.Renew)) {
		return v, nil
	}
	row, err := s.o.Store.SealedCredential(ctx, id)
	if err != nil {
		return Opened{}, err
	}
	if credential.IsOAuth(row.AuthType) {
		return s.another(ctx, tokenOf(row.ID, nil), 0, false)
	}
	bound, err := s.origins.Of(ctx, row)
	if err != nil {
		return Opened{}, err
	}
	value, err := s.Unseal(row)
	if err != nil {
		return Opened{}, err
	}
	if row.AuthType == registry.AuthBasic {
		sh, err := credential.ShapeOf(row)
		if err != nil {
			return Opened{}, err
		}
		value = secrets.New(sh.Username + ":" + value.Reveal())
	}
	v = Opened{Value: value, Version: row.Version, Origins: bound.Call}
	c.put(id, v, generation)
	return v, nil
}

// Unseal opens what is sealed of a credential.
func (s *Secrets) Unseal(row *store.Credential) (secrets.Secret, error) {
	value, err := s.o.Keyring.Open(row.Record(), row.Sealed)
	if err != nil {
		return secrets.Secret{}, fmt.Errorf("opening credential %s: %w", row.ID, err)
	}
	return value, nil
}

// put remembers a value that was read when the cache had a generation. A change
// since then would be hidden by the old value.
func (c *cache) put(id string, v Opened, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if c.values == nil {
		c.values = map[string]Opened{}
	}
	if c.most > 0 && len(c.values) >= c.most {
		clear(c.values) // they are read again
	}
	c.values[id] = v
}

func (c *cache) now() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.generation
}

// forget drops a cached secret after its record changed.
func (c *cache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	delete(c.values, id)
	if c.changed != nil {
		c.changed()
	}
}

// ForgetAll drops the cached secrets of what a toolset had and has.
func (s *Secrets) ForgetAll(lists ...[]credential.Draft) {
	for _, list := range lists {
		for i := range list {
			s.shared.forget(list[i].Row.ID)
		}
	}
	s.forgetUsers()
}

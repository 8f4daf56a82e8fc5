package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxUserTokens of single callers are kept; when there are more, all are asked for
	// again.
	maxUserTokens = 10_000
	// userTokenTTL is how long the token of a caller is used without asking again, so
	// that a login that was revoked ends also on an edge that is cut off.
	userTokenTTL = 10 * time.Minute
	// userTimeout bounds asking for one: the control plane may have to renew it.
	userTimeout = 50 * time.Second
)

// userTokens are tokens of single callers, open in memory and never on disk.
type userTokens struct {
	flights singleflight.Group

	mu     sync.Mutex
	epoch  uint64               // guarded by mu; of the control plane: another one means that some were forgotten
	values map[string]userToken // guarded by mu
}

type userToken struct {
	credential registry.EdgeCredential
	until      time.Time
}

func (u *userTokens) get(key string, now time.Time) (registry.EdgeCredential, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	v, ok := u.values[key]
	if !ok || !now.Before(v.until) || v.credential.Expires != 0 && now.Unix() >= v.credential.Expires {
		return registry.EdgeCredential{}, false
	}
	return v.credential, true
}

// put keeps a token that was asked for at an epoch.
func (u *userTokens) put(key string, c registry.EdgeCredential, epoch uint64, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if epoch != u.epoch {
		return
	}
	if u.values == nil {
		u.values = map[string]userToken{}
	}
	if len(u.values) >= maxUserTokens {
		clear(u.values)
	}
	until := now.Add(userTokenTTL)
	if c.Renew != 0 {
		if at := time.Unix(c.Renew, 0); at.Before(until) {
			until = at
		}
	}
	u.values[key] = userToken{c, until}
}

func (u *userTokens) drop(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.values, key)
}

func (u *userTokens) now() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.epoch
}

// follow forgets everything when the control plane forgot something.
func (u *userTokens) follow(epoch uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if epoch != u.epoch {
		u.epoch = epoch
		clear(u.values)
	}
}

// UserCredential returns the token of one caller, from memory or from the control
// plane, which seals it to this node. rejected is the version that an upstream
// refused, scopes what it wants beyond what the token has. A caller who must log in
// gets [problem.Unauthenticated] with a [registry.LoginError].
func (v *Vault) UserCredential(ctx context.Context, id string, user registry.User, rejected uint64, scopes []string) (registry.EdgeCredential, error) {
	key := id + "/" + user.Key()
	if len(scopes) == 0 {
		c, ok := v.users.get(key, time.Now())
		if ok && (rejected == 0 || c.Version != rejected) {
			return c, nil
		}
	}
	epoch := v.users.now()
	flight := fmt.Sprint(key, "\x00", rejected, "\x00", scopes)
	result := v.users.flights.DoChan(flight, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), userTimeout)
		defer cancel()
		return v.askUser(ctx, &registry.EdgeUserRequest{Credential: id, User: user, Rejected: rejected, Scopes: scopes})
	})
	select {
	case <-ctx.Done():
		return registry.EdgeCredential{}, problem.New(problem.Timeout, "the control plane did not give the caller's token in time").Fix("try again").Because(ctx.Err())
	case r := <-result:
		if r.Err != nil {
			v.users.drop(key)
			return registry.EdgeCredential{}, r.Err
		}
		c := r.Val.(registry.EdgeCredential)
		v.users.put(key, c, epoch, time.Now())
		return c, nil
	}
}

func (v *Vault) askUser(ctx context.Context, in *registry.EdgeUserRequest) (registry.EdgeCredential, error) {
	none := registry.EdgeCredential{}
	id := v.remote.current()
	if id == nil {
		return none, problem.New(problem.Unavailable, "the edge is not enrolled yet")
	}
	var doc registry.SealedCredentials
	if err := v.remote.post(ctx, registry.EdgeUserPath, true, in, &doc); err != nil {
		if problem.As(err) == nil {
			return none, problem.New(problem.Unavailable, "the control plane cannot be asked for the caller's token").Fix("try again later").Because(err)
		}
		return none, err
	}
	key, err := id.sealKey()
	if err != nil {
		return none, err
	}
	plain, err := key.Open(registry.SealUserInfo(id.Edge, in.Credential, &in.User), doc.Sealed)
	if err != nil {
		return none, err
	}
	defer clear(plain)
	var out registry.EdgeUserAnswer
	if json.Unmarshal(plain, &out) != nil {
		return none, errors.New("the caller's token is not in a form this version reads") // never the text
	}
	if out.Credential == nil {
		return none, problem.New(problem.Unauthenticated, "%.500s", out.Detail).Fix("%.500s", out.Remedy).Because(&registry.LoginError{URL: out.Login})
	}
	return *out.Credential, nil
}

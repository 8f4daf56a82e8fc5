package edge

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// TestUserTokens: how long the token of a caller is used without asking again.
func TestUserTokens(t *testing.T) {
	var u userTokens
	now := time.Unix(1e9, 0)
	has := func(key string, at time.Time, want bool) {
		t.Helper()
		if _, ok := u.get(key, at); ok != want {
			t.Errorf("%s after %s: %v, want %v", key, at.Sub(now), ok, want)
		}
	}
	u.follow(7)
	x := secrets.Wire{Secret: secrets.New("x")}
	u.put("a", registry.EdgeCredential{Value: x}, 7, now)
	u.put("soon", registry.EdgeCredential{Value: x, Renew: now.Add(time.Minute).Unix(), Expires: now.Add(2 * time.Minute).Unix()}, 7, now)
	u.put("ended", registry.EdgeCredential{Value: x, Expires: now.Unix()}, 7, now)
	has("a", now.Add(userTokenTTL-time.Second), true)
	has("a", now.Add(userTokenTTL), false)
	has("soon", now.Add(time.Minute-time.Second), true)
	has("soon", now.Add(time.Minute), false)
	has("ended", now, false)
	has("b", now, false)
	u.follow(7)
	has("a", now, true)
	u.follow(8) // a login was revoked
	has("a", now, false)
	u.put("a", registry.EdgeCredential{Value: x}, 7, now) // asked for before that
	has("a", now, false)
	for i := range maxUserTokens {
		u.put(fmt.Sprint(i), registry.EdgeCredential{Value: x}, 8, now)
	}
	has("0", now, true)
	u.put("one more", registry.EdgeCredential{Value: x}, 8, now)
	has("0", now, false)
	has("one more", now, true)
	u.drop("one more")
	has("one more", now, false)
}

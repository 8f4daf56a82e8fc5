package login

import (
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// TestSecretCacheAfterChange reads a secret, changes it, and then tries to remember
// what was read: the old value must not come back.
func TestSecretCacheAfterChange(t *testing.T) {
	var c cache
	old, now := Opened{Value: secrets.New("old")}, Opened{Value: secrets.New("new")}
	read := c.now()
	c.forget("c1")
	c.put("c1", old, read)
	if v, ok := c.values["c1"]; ok {
		t.Errorf("a value that was read before the change is remembered: version %d", v.Version)
	}
	c.put("c1", now, c.now())
	if v := c.values["c1"]; v.Value.Reveal() != "new" {
		t.Error("the value after the change is not remembered")
	}
	c.forget("c1")
	if len(c.values) != 0 {
		t.Error("a forgotten value is remembered")
	}
	// The bound: one more than the most starts again.
	c.most = 2
	for i, id := range []string{"a", "b", "c"} {
		c.put(id, now, c.now())
		if want := []int{1, 2, 1}[i]; len(c.values) != want {
			t.Errorf("%d values after %s, want %d", len(c.values), id, want)
		}
	}
}

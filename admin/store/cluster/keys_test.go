package cluster

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// TestRotatedKey: when the leader rotates its key, a member without the new one passes
// requests on as before, says what it lacks and how it gets here, and takes the key when the
// file is there; one that starts without it does not follow.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	open := func(name string) *secrets.Keyring {
		t.Helper()
		k, err := secrets.OpenFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	copyKeys := func() {
		t.Helper()
		b, err := os.ReadFile(at("one"))
		if err == nil {
			err = os.WriteFile(at("two"), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reload := func(name string) func() (*secrets.Keyring, error) {
		return func() (*secrets.Keyring, error) { return secrets.OpenFile(at(name)) }
	}
	var d database
	ring := open("one")
	copyKeys()
	one := d.member(t, settings{ring: open("one"), reload: reload("one")}) // not the keyring that is rotated, as in a node
	two := d.member(t, settings{ring: open("two"), reload: reload("two")})
	l := d.leads(t, one, api("one"))
	until(t, "two reaches the leader", func() bool { return two.Ready() == nil })
	for range 2 { // the second rotation removes the key that two has
		if len(ring.IDs()) > 1 {
			if err := ring.Retire(); err != nil {
				t.Fatal(err)
			}
		}
		if err := ring.Rotate(); err != nil {
			t.Fatal(err)
		}
		if err := one.Repin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		until(t, "two sees that it lacks a key", func() bool { lack := two.Lacks(); return lack != nil && strings.Contains(lack.Error(), ring.Current()) })
		if lack := two.Lacks(); lack == nil || lack.Remedy != "copy the folder keys from 127.0.0.1" {
			t.Errorf("two says %v", lack)
		}
		if res, _ := two.do(t, "GET", "/v1/x", ""); res.StatusCode != http.StatusOK {
			t.Errorf("a request to two: %s", res.Status)
		}
		if res, text := two.do(t, "GET", "/readyz?verbose", ""); res.StatusCode != http.StatusOK || !strings.Contains(text, "[!]keys the control plane") || !strings.Contains(text, "copy the folder keys from 127.0.0.1") {
			t.Errorf("/readyz?verbose of two: %s %s", res.Status, text)
		}
	}
	// One that starts so is refused.
	f, err := New(Options{URL: "http://127.0.0.1:1", Records: &d, Keyring: open("two"), Keys: map[string][]string{"release": {"r1"}}, Reload: reload("two")})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(t.Context()); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), ring.Current()) {
		t.Errorf("it starts to follow: %v", err)
	}
	copyKeys()
	until(t, "two has the key", func() bool { return two.Lacks() == nil })
	if res, text := two.do(t, "GET", "/readyz?verbose", ""); strings.Contains(text, "keys") {
		t.Errorf("/readyz?verbose of two: %s %s", res.Status, text)
	}
	// It can take over.
	d.leads(t, two, api("two"))
	if res, text := two.do(t, "GET", "/v1/x", ""); res.StatusCode != http.StatusOK || !strings.Contains(text, `"By":"two"`) {
		t.Errorf("two leads: %s %s", res.Status, text)
	}
}

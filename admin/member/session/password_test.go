package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

func TestHashes(t *testing.T) {
	m := &Room{hashing: make(chan struct{}, hashesAtOnce)}
	password := secrets.New("correct horse battery")
	one, err := m.hash(t.Context(), password)
	if err != nil || !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%s %v", one, err)
	}
	two, err := m.hash(t.Context(), password)
	if err != nil || one == two {
		t.Errorf("two hashes of one password: %s and %s, %v", one, two, err)
	}
	for _, c := range []struct {
		password, phc string
		ok, fails     bool
	}{
		{"correct horse battery", one, true, false},
		{"correct horse battery", two, true, false},
		{"Correct horse battery", one, false, false},
		{"", one, false, false},
		{"", "", false, false},
		{strings.Repeat("\x00", hashBytes), "", false, false},
		{"x", "$argon2id$v=19$m=4294967295,t=2,p=1$AAAA$AAAA", false, true}, // no cost but ours is paid
		{"x", "$argon2i$v=19$m=19456,t=2,p=1$AAAA$AAAA", false, true},
		{"x", "$argon2id$v=19$m=19456,t=2,p=1$*$AAAA", false, true},
		{"x", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$*", false, true},
		{"x", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$", false, false},
		{"x", "plain", false, true},
	} {
		ok, err := m.verify(t.Context(), secrets.New(c.password), c.phc)
		if ok != c.ok || (err != nil) != c.fails {
			t.Errorf("%q %q: %v, %v", c.password, c.phc, ok, err)
		}
		if err != nil && strings.Contains(err.Error(), "AAAA") {
			t.Errorf("the error has the hash: %v", err)
		}
	}
}

// While as many passwords are hashed as may be at once, another waits, no longer than its
// request.
func TestHashesAtOnce(t *testing.T) {
	m := &Room{hashing: make(chan struct{}, hashesAtOnce)}
	for range hashesAtOnce {
		m.hashing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.hash(ctx, secrets.New("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("hash: %v", err)
	}
	if ok, err := m.verify(ctx, secrets.New("x"), ""); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("verify: %v", err)
	}
	<-m.hashing
	if _, err := m.hash(t.Context(), secrets.New("x")); err != nil {
		t.Error(err)
	}
}

func TestCheckPassword(t *testing.T) {
	ada := &store.Member{Email: "ada@example.com", Name: "Ada King-Noel Lovelace"}
	for password, ok := range map[string]bool{
		"": false,
		strings.Repeat("ab", minPassword/2-1) + "c": false, // one too few
		strings.Repeat("ab", minPassword/2):         true,
		strings.Repeat("é€", minPassword/2):         true, // characters, not bytes
		strings.Repeat("é", minPassword-1):          false,
		strings.Repeat("ab", maxPassword/2):         true,
		strings.Repeat("ab", maxPassword/2) + "a":   false,
		"ADA@example.com":                           false,
		"ada king-noel lovelace":                    false,
		strings.Repeat("A", 10) + "aaa":             false,
		"correct horse battery staple":              true,
	} {
		if err := checkPassword(password, ada); (err == nil) != ok || err != nil && !problem.Is(err, problem.InvalidArgument) {
			t.Errorf("%.40q: %v", password, err)
		}
	}
}

// Package freeport finds addresses for servers of tests that are started before anybody can ask
// them for theirs. It is for tests only, and reserves nothing.
package freeport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Addr returns an address of the loopback interface that nobody listens on, and that the
// system gives to nobody who asks for any: until a process listens on it, a client's
// connection could take it.
func Addr(t testing.TB) string {
	t.Helper()
	addr, err := find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Find is Addr for what has no test at hand.
func Find() (string, error) { return find(context.Background()) }

func find(ctx context.Context) (string, error) {
	const first, ports = 12_000, 20_000 // below those for any: 32,768 on Linux, 49,152 elsewhere
	var err error
	for range 100 {
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports))); err == nil { //nolint:gosec // any will do
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("no port is free: %w", err)
}

package freeport

import (
	"net"
	"testing"
)

// TestAddr: somebody can listen there.
func TestAddr(t *testing.T) {
	addr := Addr(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() || tcp.Port < 12_000 || tcp.Port >= 32_000 {
		t.Errorf("%s", addr)
	}
}

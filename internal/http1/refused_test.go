package http1

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCannotListen: the error of a listener says which of the causes it is.
func TestCannotListen(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ addr, cause, fix string }{
		{taken.Addr().String(), "the port is in use", "stop what uses the port, or choose another with --listen"},
		{"192.0.2.1:0", "this machine has no such address", "an address of this machine with --listen"},
		{"name.invalid:0", "there is no such name", "an address of this machine"},
		{"127.0.0.1", "it is not an address", "an address of this machine"},
		{"127.0.0.1:70000", "it is not an address", "an address of this machine"},
	} {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", c.addr)
		if err == nil {
			ln.Close()
			t.Errorf("%s is listened on", c.addr)
			continue
		}
		p := CannotListen("the gateway", c.addr, "--listen", err)
		if want := "the gateway cannot listen on " + c.addr + ": " + c.cause; p.Detail != want || !strings.Contains(p.Remedy, c.fix) {
			t.Errorf("%s\n%s\nwant %s\n%s (%v)", p.Error(), p.Remedy, want, c.fix, err)
		}
	}
	denied := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}
	if p := CannotListen("the gateway", "0.0.0.0:443", "--listen", denied); !strings.Contains(p.Error(), "may not use the port") || !strings.Contains(p.Remedy, "CAP_NET_BIND_SERVICE") {
		t.Errorf("%s: %s", p.Error(), p.Remedy)
	}
}

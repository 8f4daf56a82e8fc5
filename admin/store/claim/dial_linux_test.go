package claim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSilence: the kernel ends a connection to a server whose network is gone, with a cause that
// Fault knows; one over a socket of the machine has no network.
func TestSilence(t *testing.T) {
	config, err := Config("postgres://sluice@127.0.0.1/db?sslmode=disable", "test")
	if err != nil {
		t.Fatal(err)
	}
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		c, err := config.DialFunc(t.Context(), network, ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		tcp, ok := c.(watched).Conn.(*net.TCPConn)
		if ok != (network == "tcp") {
			t.Fatalf("%s: %T", network, c.(watched).Conn)
		}
		if !ok {
			continue
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: int(silence.Milliseconds()), unix.TCP_KEEPIDLE: 3, unix.TCP_KEEPINTVL: 2, unix.TCP_KEEPCNT: 2} {
				if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil || got != want {
					t.Errorf("option %d is %d, want %d (%v)", option, got, want, err)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// brokenConn is a connection whose reads and writes fail.
type brokenConn struct {
	net.Conn

	err error
}

func (b brokenConn) Read([]byte) (int, error)  { return 0, b.err }
func (b brokenConn) Write([]byte) (int, error) { return 0, b.err }

// TestSilentIsUnreachable: what the kernel says after silence is no timeout to the driver, which
// would use the connection again; every other error stays.
func TestSilentIsUnreachable(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ETIMEDOUT, syscall.ECONNRESET} {
		c := watched{brokenConn{err: &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", errno)}}}
		_, read := c.Read(nil)
		_, wrote := c.Write(nil)
		for _, err := range []error{read, wrote} {
			p := Fault(fmt.Errorf("a statement: %w", err))
			if errno != syscall.ETIMEDOUT {
				if p != nil || !errors.Is(err, errno) {
					t.Errorf("%v: %v", err, p)
				}
				continue
			}
			if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
				t.Errorf("%v is a timeout", err)
			}
			if p == nil || !strings.Contains(p.Error(), "cannot be reached: no answer") {
				t.Errorf("%v: %v", err, p)
			}
		}
	}
}

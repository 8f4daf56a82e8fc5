// Package pooltest starts Redis or Valkey servers for tests.
package pooltest

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/freeport"
)

// Server is a server on a port of 127.0.0.1, of the test's own.
type Server struct {
	Addr string // HOST:PORT

	t         testing.TB
	dir       string
	cert, key string // files; "": it speaks no TLS
	more      []string
	cmd       *exec.Cmd
}

// Start starts a server that ends with the test. It skips the test where neither
// valkey-server nor redis-server is installed.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartTLS(t, "", "")
}

// StartTLS is Start of a server that speaks TLS with the certificate of two files.
func StartTLS(t testing.TB, cert, key string) *Server {
	t.Helper()
	s := &Server{Addr: freeport.Addr(t), t: t, dir: t.TempDir(), cert: cert, key: key}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// startWith starts a server with more arguments.
func startWith(t testing.TB, more ...string) *Server {
	t.Helper()
	s := &Server{Addr: freeport.Addr(t), t: t, dir: t.TempDir(), more: more}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// URL is where nodes find the server.
func (s *Server) URL() string {
	if s.cert != "" {
		return "rediss://" + s.Addr
	}
	return "redis://" + s.Addr
}

// Run starts the server again after Kill, empty.
func (s *Server) Run() {
	s.t.Helper()
	program := lookUp(s.t, "valkey-server", "redis-server")
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	args := []string{"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir, "--logfile", filepath.Join(s.dir, "log")}
	if s.cert == "" {
		args = append(args, "--port", port)
	} else {
		args = append(args, "--port", "0", "--tls-port", port, "--tls-cert-file", s.cert, "--tls-key-file", s.key, "--tls-auth-clients", "no")
	}
	args = append(args, s.more...)
	s.start(program, args)
}

// lookUp finds one of two programs, and skips the test where there is none.
func lookUp(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skipf("none of %q is installed: apt-get install redis-server", names)
	return ""
}

// start runs the program and waits until it listens.
func (s *Server) start(program string, args []string) {
	s.t.Helper()
	s.cmd = exec.Command(program, args...) //nolint:gosec,noctx // one of two names; Kill ends it
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 500 {
		if c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Addr); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("%s does not listen on %s", program, s.Addr)
}

// Kill ends the server at once.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

//go:build unix

package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// ErrNoPostgres says that PostgreSQL is not installed.
var ErrNoPostgres = errors.New("no PostgreSQL on this machine: install the package postgresql")

// startTime is how long a server may take to start.
const startTime = 30 * time.Second

// Server is a PostgreSQL server on loopback, without sync to disk, which its owner closes.
type Server struct {
	Addr string // host and port

	bin, dir string
	attr     *syscall.SysProcAttr
	process  *exec.Cmd
	settings []string
}

// StartServer makes a database cluster and starts a server for it. settings are NAME=VALUE of
// its configuration. The server refuses to run as root, so root runs it as the user
// "postgres". It fails with [ErrNoPostgres].
func StartServer(ctx context.Context, settings ...string) (*Server, error) {
	s, err := newServer(settings)
	if err != nil {
		return nil, err
	}
	if out, err := s.command(ctx, "initdb", "-D", s.data(), "-U", "sluice", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), s.Close())
	}
	return s, s.start(ctx)
}

func newServer(settings []string) (*Server, error) {
	s := &Server{settings: settings, attr: &syscall.SysProcAttr{}}
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			s.bin = filepath.Dir(p)
		}
	}
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin"); s.bin == "" && err == nil && len(found) > 0 {
		s.bin = found[len(found)-1]
	}
	if s.bin == "" {
		return nil, ErrNoPostgres
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "sluice-pg"); err != nil {
		return nil, err
	}
	if os.Getuid() != 0 {
		return s, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	s.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(s.dir, uid, gid); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// URL is that of a database of the server.
func (s *Server) URL(database string) string {
	return "postgres://sluice@" + s.Addr + "/" + database + "?sslmode=disable"
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, name), args...) //nolint:gosec // the programs of the server that was found
	cmd.SysProcAttr, cmd.Dir = s.attr, s.dir
	return cmd
}

// start starts the server and waits until it answers.
func (s *Server) start(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	s.Addr = ln.Addr().String()
	_, port, err := net.SplitHostPort(s.Addr)
	if err = errors.Join(err, ln.Close()); err != nil {
		return errors.Join(err, s.Close())
	}
	args := []string{"-D", s.data(), "-h", "127.0.0.1", "-p", port, "-k", s.dir, "-F"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.process = s.command(ctx, "postgres", args...)
	if err := s.process.Start(); err != nil {
		s.process = nil
		return errors.Join(err, s.Close())
	}
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(startTime); ; time.Sleep(20 * time.Millisecond) { // another program starts
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("PostgreSQL does not start: %w", err), s.Close())
		}
	}
}

// Standby makes a copy of the server that follows it under a name, by which the server's
// synchronous_standby_names may have it.
func (s *Server) Standby(ctx context.Context, name string) (*Server, error) {
	c, err := newServer(s.settings)
	if err != nil {
		return nil, err
	}
	from := "host=127.0.0.1 user=sluice application_name=" + name + " port=" + s.port()
	if out, err := c.command(ctx, "pg_basebackup", "-d", from, "-D", c.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("pg_basebackup: %w\n%s", err, out), c.Close())
	}
	return c, c.start(ctx)
}

func (s *Server) port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// Set changes a setting of a server that runs.
func (s *Server) Set(ctx context.Context, name, value string) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, q := range []string{"ALTER SYSTEM SET " + name + " = '" + value + "'", "SELECT pg_reload_conf()"} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Promote makes a standby a server that takes writes.
func (s *Server) Promote(ctx context.Context) error {
	if out, err := s.command(ctx, "pg_ctl", "promote", "-w", "-D", s.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w\n%s", err, out)
	}
	return nil
}

// Crash ends the server at once: clients lose their connections, and nothing that runs ends
// in order.
func (s *Server) Crash() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGQUIT) // immediate shutdown
	_ = s.process.Wait()
	s.process = nil
}

// Close ends the server and removes what it has.
func (s *Server) Close() error {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = s.process.Wait()
		s.process = nil
	}
	return os.RemoveAll(s.dir)
}

// Restart starts a server that crashed, at another address.
func (s *Server) Restart(ctx context.Context) error { return s.start(ctx) }

//go:build unix

package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// Postgres starts a real server for the test, without sync to disk, and returns the URL
// of its maintenance database. The server refuses to run as root, so root runs it as the
// user "postgres". The test is skipped where PostgreSQL is not installed.
func Postgres(t *testing.T) string {
	t.Helper()
	bin := ""
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			bin = filepath.Dir(p)
		}
	}
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin"); bin == "" && err == nil && len(found) > 0 {
		bin = found[len(found)-1]
	}
	if bin == "" {
		t.Skip("no PostgreSQL on this machine: install the package postgresql")
	}
	dir, err := os.MkdirTemp("", "sluice-pg") //nolint:usetesting // another user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, name), args...) //nolint:gosec // the programs of the server that was found
		cmd.SysProcAttr, cmd.Dir = attr, dir
		return cmd
	}
	if out, err := run("initdb", "-D", data, "-U", "sluice", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().(*net.TCPAddr)
	_ = ln.Close()
	server := run("postgres", "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(addr.Port), "-k", dir, "-F")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = server.Wait()
	})
	url := fmt.Sprintf("postgres://sluice@127.0.0.1:%d/postgres?sslmode=disable", addr.Port)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if err = db.PingContext(t.Context()); err == nil {
			return url
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not start: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // another program starts
	}
}

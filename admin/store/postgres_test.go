//go:build unix

package store_test

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
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// postgres starts a real server for the test and returns the URL of its
// maintenance database. It does not run as root, so root runs it as "postgres".
func postgres(t *testing.T) string {
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
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, name), args...)
		cmd.SysProcAttr, cmd.Dir = attr, dir
		return cmd
	}
	if out, err := run("initdb", "-D", data, "-U", "sluice", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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

// TestPostgreSQL runs the suite on a real server, with a database for each test.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	admin := postgres(t)
	exec := func(t *testing.T, url, statement string) {
		t.Helper()
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	n, current := 0, ""
	create := func(t *testing.T, options string) string {
		t.Helper()
		n++
		name := "test" + strconv.Itoa(n)
		exec(t, admin, "CREATE DATABASE "+name+options)
		return admin[:len(admin)-len("postgres?sslmode=disable")] + name + "?sslmode=disable"
	}
	empty := func(t *testing.T) string { t.Helper(); return create(t, "") }
	// Most of the time of a test would go into migrations: they are made once, in the
	// database that the others are copies of.
	ready := empty(t)
	made, err := store.Open(t.Context(), store.Options{URL: ready})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	suite(t, harness{
		empty: empty,
		full: []string{
			`CREATE FUNCTION disk_full() RETURNS trigger AS $$ BEGIN RAISE 'disk full'; END $$ LANGUAGE plpgsql`,
			`CREATE TRIGGER disk_full BEFORE INSERT ON jobs EXECUTE FUNCTION disk_full()`,
		},
		whole: `DROP TRIGGER disk_full ON jobs`,
		open: func(t *testing.T, now func() time.Time, change ...func(*store.Options)) *store.Store {
			t.Helper()
			current = create(t, " TEMPLATE test1")
			o := store.Options{URL: current, Now: now}
			for _, c := range change {
				c(&o)
			}
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			for _, ws := range []string{"one", "two"} {
				if err := s.EnsureWorkspace(t.Context(), ws, ws); err != nil {
					t.Fatal(err)
				}
			}
			return s
		},
		raw: func(t *testing.T, statement string) { t.Helper(); exec(t, current, statement) },
	})
}

func TestPostgreSQLUnreachable(t *testing.T) {
	for _, url := range []string{"postgres://sluice:hunter2@127.0.0.1:1/x?sslmode=disable&connect_timeout=2", "postgres://u:hunter2@[::bad/"} {
		_, err := store.Open(t.Context(), store.Options{URL: url})
		if p := problem.As(err); p == nil || p.Remedy == "" {
			t.Errorf("%v", err)
		}
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "hunter2") {
			t.Errorf("the error shows the password: %s", text)
		}
	}
}

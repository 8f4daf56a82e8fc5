//go:build unix

package claim_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sluicegate/sluice/admin/store/claim"
	"github.com/sluicegate/sluice/admin/store/storetest"
	"github.com/sluicegate/sluice/internal/problem"
)

// TestFault: a server that cannot be used is unavailable, for the reason that it gives.
func TestFault(t *testing.T) {
	t.Parallel()
	admin := storetest.Postgres(t)
	statement(t, admin, `CREATE ROLE few LOGIN CONNECTION LIMIT 0`)
	of := func(change func(*url.URL)) string {
		u, err := url.Parse(admin)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	few := func(u *url.URL) { u.User = url.User("few") }
	for name, c := range map[string]struct{ url, query, want string }{
		"no connection left": {of(few), "", "the database server has no connection left"},
		"no database":        {of(func(u *url.URL) { u.Path = "/none" }), "", "no database of that name"},
		"no TLS":             {of(func(u *url.URL) { u.RawQuery = "sslmode=require" }), "", "cannot be reached: it does not speak TLS"},
		"refused":            {of(func(u *url.URL) { u.Host = "127.0.0.1:1" }), "", "cannot be reached: connection refused"},
		"ended":              {admin, `SELECT pg_terminate_backend(pg_backend_pid())`, "ended the connection"},
		"a standby":          {admin, `SET transaction_read_only = on; CREATE TABLE t (id BIGINT)`, "read-only"},
		"a full disk":        {admin, `DO $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$`, "disk of the database server is full"},
		"nothing wrong":      {admin, `SELECT 1`, ""},
		"a wrong statement":  {admin, `SELECT none`, ""},
	} {
		config, err := claim.Config(c.url, "test")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err == nil {
			_, err = conn.PgConn().Exec(t.Context(), c.query).ReadAll()
			_ = conn.Close(t.Context())
		}
		p := claim.Fault(fmt.Errorf("reading: %w", err))
		if c.want == "" {
			if p != nil {
				t.Errorf("%s: %v", name, p)
			}
			continue
		}
		if p == nil || p.Kind != problem.Unavailable || !strings.Contains(p.Detail, c.want) || p.Remedy == "" || strings.Contains(p.Detail+p.Remedy, "127.0.0.1") {
			t.Errorf("%s: %v of %v, want %q", name, p, err, c.want)
		}
	}
}

func TestCause(t *testing.T) {
	for want, err := range map[string]error{
		"its name is not known":          &net.DNSError{IsNotFound: true},
		"its name cannot be looked up":   &net.DNSError{IsTimeout: true},
		"its certificate is not trusted": &tls.CertificateVerificationError{Err: errors.New("unknown authority")},
		"no answer":                      context.DeadlineExceeded,
		"":                               errors.New("something else"),
	} {
		if got := claim.Cause(fmt.Errorf("dialing: %w", err)); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestSession: what each session sets, and under which name the server lists it.
func TestSession(t *testing.T) {
	t.Parallel()
	admin := storetest.Postgres(t)
	statement(t, admin, `ALTER SYSTEM SET synchronous_commit = off`)
	statement(t, admin, `SELECT pg_reload_conf()`)
	config, err := claim.Config(admin, "sluice of a test")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(stdlib.GetConnector(*config))
	defer func() { _ = db.Close() }()
	for setting, want := range map[string]string{"synchronous_commit": "on", "tcp_keepalives_idle": "3", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "2", "application_name": "sluice of a test"} {
		var got string
		if err := db.QueryRowContext(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q: %v", setting, got, want, err)
		}
	}
}

// TestConnectTimeout: a server that says nothing is not waited for without end.
func TestConnectTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{"": 10 * time.Second, "?connect_timeout=30": 30 * time.Second} {
		if c, err := claim.Config("postgres://127.0.0.1:1/x"+query, "test"); err != nil || c.ConnectTimeout != want {
			t.Errorf("%q: %v, want %s: %v", query, c, want, err)
		}
	}
	var lc net.ListenConfig
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	_, err = claim.Open(t.Context(), "postgres://"+silent.Addr().String()+"/x?connect_timeout=1", nil, quiet)
	if p := problem.As(err); p == nil || !strings.HasSuffix(p.Detail, "cannot be reached: no answer") {
		t.Errorf("%v", err)
	}
}

// TestExclusive: where another user of the database is given the session that has the lock, as
// a pooler of transactions does, the lock keeps nobody out.
func TestExclusive(t *testing.T) {
	t.Parallel()
	admin := storetest.Postgres(t)
	c, err := claim.Open(t.Context(), admin, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the one session of a pooler
	if err := claim.Exclusive(t.Context(), db); err != nil {
		t.Errorf("with sessions of their own: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), claim.TakeClaim); err != nil {
		t.Fatal(err)
	}
	if err := claim.Exclusive(t.Context(), db); !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("with one session for both: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := claim.Exclusive(ctx, db); err == nil {
		t.Error("an error of the server is taken for a lock that holds")
	}
}

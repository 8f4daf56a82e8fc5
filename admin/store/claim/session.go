package claim

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sluicegate/sluice/internal/problem"
)

// Name is what the server knows sessions by that read and write records.
const Name = "sluice"

// begin is what each session sets before its first statement: an acknowledged write survives a
// crash, and the server sees within ten seconds that this machine is gone, which frees the locks
// of its sessions. They are no parameters of the connection, because PgBouncer refuses those.
const begin = `SET synchronous_commit = on; SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2`

// connectTimeout of one connection, where the URL has no connect_timeout: a server that accepts
// and says nothing would hold up a start, and requests, for ever.
const connectTimeout = 10 * time.Second

// Config reads the URL of a database, for sessions that the server knows by name.
func Config(url, name string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // its text would hold parts of the URL
		return nil, problem.New(problem.InvalidArgument, "the database is not named by a postgres:// URL").
			Fix("write it as postgres://user@host:5432/database?sslmode=verify-full")
	}
	config.RuntimeParams["application_name"] = name
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.DialFunc = dial(config.ConnectTimeout)
	// One round trip a statement, without statements kept on the server: numbers are in
	// the text, so that few would be used twice.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.Exec(ctx, begin).Close()
	}
	return config, nil
}

// Exclusive is nil when a session of db cannot take the lock, which a [Claim] of this process
// has. A pooler that gives each transaction any session of its own lets it: then the lock keeps
// no other control plane out.
func Exclusive(ctx context.Context, db *sql.DB) error {
	var shared bool
	if err := db.QueryRowContext(ctx, takeClaim).Scan(&shared); err != nil {
		return fmt.Errorf("looking whether the lock on the database holds: %w", err)
	}
	if !shared {
		return nil
	}
	_, _ = db.ExecContext(ctx, giveClaim)
	return problem.New(problem.Conflict, "a pooler gives this control plane another session of the database for each transaction, so no lock keeps others out").
		Fix("name the server itself, or set pool_mode = session for this database in PgBouncer")
}

// Server is the host and port of the server in config, or the directory of its socket.
func Server(config *pgx.ConnConfig) string {
	if strings.HasPrefix(config.Host, "/") {
		return config.Host
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
}

// Codes of PostgreSQL (its documentation, appendix A) for a server that cannot be used.
const (
	diskFull           = "53100"
	tooManyConnections = "53300"
	readOnly           = "25006"
	dataCorrupted      = "XX001"
	indexCorrupted     = "XX002"
	invalidPassword    = "28P01"
	invalidAuth        = "28000"
	noDatabase         = "3D000"
	shuttingDown       = "57P01"
	crashed            = "57P02"
	starting           = "57P03"
)

// Fault returns what is wrong with the server, without its address, which those who ask the
// API need not know; nil when err reports no such fault.
func Fault(err error) *problem.Error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if p := serverFault(e.Code); p != nil {
			return p.Because(err)
		}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unreachable(cause(err)).Because(err)
	}
	if errors.Is(err, errSilent) {
		return unreachable("no answer").Because(err)
	}
	return nil
}

// Full reports whether the disk of the server has no room.
func Full(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == diskFull
}

func serverFault(code string) *problem.Error {
	switch code {
	case diskFull:
		return problem.New(problem.Unavailable, "the disk of the database server is full").Fix("make room there")
	case tooManyConnections:
		return problem.New(problem.Unavailable, "the database server has no connection left").
			Fix("raise its max_connections, or the limit of the role or database: a control plane uses up to 17")
	case readOnly:
		return problem.New(problem.Unavailable, "the database server is read-only").Fix("name the primary server, not a standby")
	case dataCorrupted, indexCorrupted:
		return problem.New(problem.Unavailable, "the database server reports damaged data").Fix("look at its log; restore a backup into a new database")
	case invalidPassword, invalidAuth:
		return problem.New(problem.Unavailable, "the database server refuses the user or password").Fix("check SLUICE_DATABASE")
	case noDatabase:
		return problem.New(problem.Unavailable, "the database server has no database of that name").Fix("make it, or check SLUICE_DATABASE")
	case shuttingDown, crashed:
		return problem.New(problem.Unavailable, "the database server ended the connection").
			Fix("see whether what you asked for was done before you repeat it")
	case starting:
		return unreachable("it starts or stops")
	}
	return nil
}

func unreachable(why string) *problem.Error {
	detail := "the database cannot be reached"
	if why != "" {
		detail += ": " + why
	}
	return problem.New(problem.Unavailable, "%s", detail).Fix("see that its server runs, and that SLUICE_DATABASE names it; the log has its address")
}

func timedOut(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// cause says why there is no connection; "": unknown.
func cause(err error) string {
	dns, noName := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case noName && dns.IsNotFound:
		return "its name is not known"
	case noName:
		return "its name cannot be looked up"
	case untrusted:
		return "its certificate is not trusted"
	case timedOut(err), errors.Is(err, errSilent):
		return "no answer"
	case strings.Contains(err.Error(), "server refused TLS connection"): // and sslmode asks for it
		return "it does not speak TLS"
	}
	return ""
}

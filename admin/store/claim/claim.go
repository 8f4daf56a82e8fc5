package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/retry"
)

const (
	// claimWait is how long a start waits for the lock: the server takes a moment to see
	// that the control plane before it was killed.
	claimWait = 10 * time.Second
	// claimRetry is the pause between two tries.
	claimRetry = 250 * time.Millisecond
	// claimCheck is how often a lock that was lost is tried again.
	claimCheck = 5 * time.Second
	// claimSign is how often a lock that is held is looked at, which tells the others that this
	// process does not stand still.
	claimSign = 3 * time.Second
	// claimTimeout of one statement on the connection of the lock.
	claimTimeout = 2 * time.Second
)

// claimKey is the advisory lock that the one control plane of a schema holds.
const claimKey = `hashtextextended('sluice control plane ' || current_schema(), 0)`

// takeClaim takes the lock for as long as the session lives.
const takeClaim = `SELECT pg_try_advisory_lock(` + claimKey + `)`

// giveClaim gives it back at once: the server sees the end of a session a moment later.
const giveClaim = `SELECT pg_advisory_unlock(` + claimKey + `)`

// claimStill is when a session says nothing that should say something each [claimSign]: its
// process stands still, or its machine does, whose kernel goes on confirming.
const claimStill = `a.state_change < clock_timestamp() - interval '10 seconds'`

// claimHolder finds the session that has the lock, and its number if it stands still. A lock of
// one bigint key shows as its two halves, with objsubid 1 (PostgreSQL documentation, pg_locks).
const claimHolder = `SELECT COALESCE(a.application_name, ''), COALESCE(host(a.client_addr), ''), COALESCE(a.backend_start, now()),
       COALESCE(CASE WHEN a.state = 'idle' AND ` + claimStill + ` THEN a.pid END, 0)
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid, (SELECT ` + claimKey + ` AS key) k
 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.classid::bigint = (k.key >> 32) & 4294967295 AND l.objid::bigint = k.key & 4294967295`

// claimExpel ends a session that has the lock and stands still, and the transactions that its
// process left open: the next leader would wait for them.
const claimExpel = `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.datname = current_database()
   AND (a.pid = $1 OR a.application_name = '` + Name + `' AND a.state = 'idle in transaction' AND ` + claimStill + `)`

// Claim is the lock of one control plane on a PostgreSQL database: an advisory lock of
// a session of its own. The server frees it when the session ends, however it ends.
type Claim struct {
	config *pgx.ConnConfig
	log    *slog.Logger
	stop   context.CancelFunc
	done   chan struct{} // closed when watch has returned
	moved  chan struct{} // closed when another control plane has the lock that was lost here
	once   sync.Once     // closes moved
	number atomic.Uint64 // under which this process leads; 0: not yet
	again  atomic.Pointer[func(context.Context) error]
	hang   atomic.Pointer[func(bool)]

	mu    sync.Mutex // held over statements on conn and spare, which are used by one at a time
	conn  *pgx.Conn  // guarded by mu; nil: the lock was lost
	spare *pgx.Conn  // guarded by mu; a session that did not get the lock, for the next try; nil: none
	why   error      // guarded by mu; why it was lost and not taken again
	still int32      // guarded by mu; the session that has the lock and stands still; 0: none does
}

// Begin sets the number under which this process leads: who finds another one in the database
// after the lock was lost knows that somebody led meanwhile.
func (c *Claim) Begin(number uint64) { c.number.Store(number) }

// Number is what [Claim.Begin] set; 0: nothing yet.
func (c *Claim) Number() uint64 { return c.number.Load() }

// OnRegain sets what has to succeed before a lock that was lost is held again: the database may
// have failed over to a replica meanwhile.
func (c *Claim) OnRegain(check func(context.Context) error) { c.again.Store(&check) }

// OnHang sets what is told after the loss of the lock whether the server hangs: it, or the network
// before it, accepts connections and says nothing.
func (c *Claim) OnHang(tell func(hangs bool)) { c.hang.Store(&tell) }

// Moved is closed when another control plane has the lock that was lost here.
func (c *Claim) Moved() <-chan struct{} { return c.moved }

// Replaced says that another control plane leads.
func (c *Claim) Replaced() { c.once.Do(func() { close(c.moved) }) }

// Open takes the lock, waiting a moment for a control plane that just ended, then
// fails with [problem.Conflict], naming the one that has it. With standBy it waits until
// that one ends, and calls standBy first.
func Open(ctx context.Context, url string, standBy func(taken error), log *slog.Logger) (*Claim, error) {
	config, err := Config(url, claimName())
	if err != nil {
		return nil, err
	}
	c := &Claim{config: config, log: log, done: make(chan struct{}), moved: make(chan struct{})}
	deadline, waits := time.Now().Add(claimWait), false
	for {
		tctx, cancel := context.WithTimeout(ctx, claimWait)
		c.mu.Lock()
		err = c.takeLocked(tctx)
		c.mu.Unlock()
		cancel()
		taken := problem.Is(err, problem.Conflict)
		if taken && waits {
			c.expel(ctx)
		}
		if taken && standBy != nil {
			standBy(err)
			waits, standBy = true, nil
		}
		if waits && ctx.Err() == nil { // the database may restart meanwhile
			taken = err != nil
		}
		if !taken || !waits && time.Now().After(deadline) {
			break
		}
		if err := retry.Sleep(ctx, claimRetry); err != nil {
			c.dropSpare(ctx)
			return nil, err
		}
	}
	if err != nil {
		c.dropSpare(ctx)
		return nil, err
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	go c.watch(watch)
	return c, nil
}

// claimName says who holds the lock, in the 63 bytes of ASCII that the server keeps of
// an application's name: process and host.
func claimName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	name := "sluice/" + strconv.Itoa(os.Getpid()) + "/" + host
	return name[:min(len(name), 63)]
}

// dropSpare ends the session that did not get the lock.
func (c *Claim) dropSpare(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spare != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		defer cancel()
		_ = c.spare.Close(ctx) // it holds nothing
		c.spare = nil
	}
}

// takeLocked takes the lock in a session, which is kept for the next try while another one
// has it. It fails with [problem.Conflict] also when another one had it since this process
// lost it.
func (c *Claim) takeLocked(ctx context.Context) (err error) {
	conn := c.spare
	if c.spare = nil; conn == nil {
		conn, err = pgx.ConnectConfig(ctx, c.config.Copy())
		if tell := c.hang.Load(); tell != nil {
			(*tell)(err != nil && timedOut(err))
		}
		if err != nil {
			return cmp.Or(Fault(err), unreachable("").Because(err))
		}
	}
	var mine bool
	if err = conn.QueryRow(ctx, takeClaim).Scan(&mine); err == nil && !mine {
		if c.still, err = holder(ctx, conn); problem.Is(err, problem.Conflict) && !conn.IsClosed() {
			c.spare = conn
			return err
		}
	}
	if err == nil {
		err = c.stillLocked(ctx, conn)
	}
	if err != nil {
		if mine {
			_, _ = conn.Exec(ctx, giveClaim) // else the end of the session gives it back
		}
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	c.conn, c.why = conn, nil
	return nil
}

// retakeLocked takes the lock that was lost, unless what OnRegain set fails.
func (c *Claim) retakeLocked(ctx context.Context) error {
	if err := c.takeLocked(ctx); err != nil {
		return err
	}
	check := c.again.Load()
	if check == nil {
		return nil
	}
	err := (*check)(ctx)
	if err != nil {
		// The end of the session gives the lock back too, but later: the next try would find it
		// taken, and this process would believe that another one leads.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout) // the check may have used up that of the try
		defer cancel()
		_, _ = c.conn.Exec(ctx, giveClaim)
		_ = c.conn.Close(ctx)
		c.conn, c.why = nil, err
	}
	return err
}

// stillLocked asks whether nobody led between the loss of the lock and now.
func (c *Claim) stillLocked(ctx context.Context, conn *pgx.Conn) error {
	number := c.number.Load()
	if number == 0 {
		return nil
	}
	var now uint64
	if err := conn.QueryRow(ctx, `SELECT number FROM cluster_leader WHERE id = 1`).Scan(&now); err != nil {
		return err
	}
	if now != number {
		return problem.New(problem.Conflict, "another control plane has used this database meanwhile").Fix("start this one again")
	}
	return nil
}

// expel ends the session of a leader that stands still. What it tries to write when it goes on
// is refused as that of any leader that was replaced.
func (c *Claim) expel(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still == 0 || c.spare == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	_, err := c.spare.Exec(ctx, claimExpel, c.still)
	c.log.LogAttrs(ctx, slog.LevelWarn, "the control plane that leads has said nothing for ten seconds: its session is ended", slog.Any("error", err))
	c.still = 0
}

// holder is the error that names the control plane which has the lock, and its session if it
// stands still.
func holder(ctx context.Context, conn *pgx.Conn) (still int32, taken error) {
	var name, addr string
	var since time.Time
	err := conn.QueryRow(ctx, claimHolder).Scan(&name, &addr, &since, &still)
	who := "another control plane"
	if err == nil {
		process, host, _ := strings.Cut(strings.TrimPrefix(name, "sluice/"), "/")
		if host == "" { // the server does not show another role's sessions
			process, host = "?", "?"
		}
		who = fmt.Sprintf("another control plane (host %s, process %s", host, process)
		if addr != "" {
			who += ", from " + addr
		}
		who += ", since " + since.UTC().Format(time.RFC3339) + ")"
	}
	return still, problem.New(problem.Conflict, "%s uses this database", who).
		Fix("stop it, or name another database with --database; two control planes would publish over each other")
}

// watch looks at the lock until ctx ends, and takes it again when it was lost.
func (c *Claim) watch(ctx context.Context) {
	defer close(c.done)
	for pause := claimSign; retry.Sleep(ctx, pause) == nil; {
		c.mu.Lock()
		had := c.conn != nil
		var err error
		if had {
			err = c.checkLocked(ctx)
		} else {
			tctx, cancel := context.WithTimeout(ctx, claimCheck)
			err = c.retakeLocked(tctx)
			cancel()
			if err != nil {
				c.why = err
			}
			if problem.Is(err, problem.Conflict) {
				c.Replaced()
			}
		}
		has := c.conn != nil
		c.mu.Unlock()
		if pause = claimCheck; has {
			pause = claimSign
		}
		switch {
		case ctx.Err() != nil:
		case had && !has:
			c.log.LogAttrs(ctx, slog.LevelError, "the lock on the database is lost, nothing is published until it is regained", slog.Any("error", err))
		case !had && has:
			c.log.LogAttrs(ctx, slog.LevelInfo, "the lock on the database is regained")
		}
	}
}

// checkLocked asks the server on the session of the lock, which holds it while it
// lives.
func (c *Claim) checkLocked(ctx context.Context) error {
	if c.conn == nil {
		return c.why
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	_, err := c.conn.Exec(ctx, "SELECT 1")
	if err != nil {
		_ = c.conn.Close(ctx) // it is useless
		c.conn, c.why = nil, err
	}
	return err
}

// Held is nil when this process has the lock now.
func (c *Claim) Held(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.checkLocked(ctx)
	if err == nil {
		return nil
	}
	detail := "the connection that holds the lock on the database is lost"
	if p := problem.As(err); p != nil {
		detail = p.Detail
	}
	return problem.New(problem.Unavailable, "publishing is stopped: %s", detail).
		Fix("it goes on by itself when the lock is regained; look at the database, and for another control plane on it").Because(err)
}

// Close gives the lock back.
func (c *Claim) Close() error {
	c.stop()
	<-c.done
	c.dropSpare(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	_, _ = c.conn.Exec(ctx, giveClaim) // else the end of the session gives it back
	return c.conn.Close(ctx)
}

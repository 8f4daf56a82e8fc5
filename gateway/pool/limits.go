package pool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// leaseTime is how long a running request is counted after the node was last heard of:
	// what a node that died has taken is free again then.
	leaseTime = 30 * time.Second
	// renewEvery is how often a node says which of its requests run.
	renewEvery = 10 * time.Second
	// firstProbe is when a node first looks whether the server can be used: edges have the
	// key of the pool by then.
	firstProbe = time.Second
	// renewAtOnce is how many requests are renewed in one message.
	renewAtOnce = 1000
)

var leaseMilliseconds = strconv.FormatInt(leaseTime.Milliseconds(), 10)

// Limit is what the requests of one caller, or of one toolset, may do.
type Limit struct {
	Every float64 // microseconds between requests, on average; 0: any rate
	Burst int     // requests at once, of Every
	Most  int     // running at the same time; 0: any number
}

// Verdict is what a Limit says of a request.
type Verdict struct {
	Wait    time.Duration // the rate allows the next one then; 0: now
	Crowded bool          // too many run
	Lease   string        // to be given to Leave; "": nothing is to be left
}

// enter takes a place among the running requests and counts the request with the generic
// cell rate algorithm (ITU-T I.371): the stored time is when the requests so far are paid
// off. KEYS: that time, the set of the running ones by when they are forgotten. ARGV:
// microseconds between requests, burst, most, name of the request, milliseconds of a lease.
// The clock is the server's.
var enter = valkey.NewLuaScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local every, burst, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if most > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  if redis.call('ZCARD', KEYS[2]) >= most then return {1, 0} end
end
if every > 0 then
  local paid = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
  local early = paid - (burst - 1) * every
  if early > now then return {0, early - now} end
  redis.call('SET', KEYS[1], string.format('%.2f', paid + every), 'PX', math.ceil((paid + every - now) / 1000) + 1000)
end
if most > 0 then
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[5]) * 1000, ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
return {0, 0}
`)

// extend keeps a running request in its set. KEYS: the set; ARGV: milliseconds of a lease,
// the request.
var extend = valkey.NewLuaScript(`
local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'XX', t[1] * 1000000 + t[2] + ARGV[1] * 1000, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`)

// Enter counts a request of whose, which is a name of any form. It fails with [ErrAway]:
// then the node counts by itself.
func (s *Store) Enter(ctx context.Context, whose string, l Limit) (v Verdict, err error) {
	err = s.do(ctx, "enter", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		name := k.name("limits", whose)
		request := ""
		if l.Most > 0 {
			var id [12]byte
			_, _ = rand.Read(id[:]) // never fails
			request = hex.EncodeToString(id[:])
		}
		said, err := enter.Exec(ctx, c, []string{name, name + ":running"}, []string{
			strconv.FormatFloat(l.Every, 'f', 3, 64), strconv.Itoa(l.Burst), strconv.Itoa(l.Most), request, leaseMilliseconds,
		}).AsIntSlice()
		if err != nil {
			return err
		}
		if len(said) != 2 {
			return errors.New("the server does not answer scripts as Redis does")
		}
		if v.Crowded = said[0] != 0; v.Crowded {
			return nil
		}
		if v.Wait = time.Duration(said[1]) * time.Microsecond; v.Wait == 0 && request != "" {
			v.Lease = request
			s.mu.Lock()
			s.leases[request] = name + ":running"
			s.mu.Unlock()
		}
		return nil
	})
	return v, err
}

// Leave says that a request has ended. When the server does not hear it the place is free
// after half a minute.
func (s *Store) Leave(lease string) {
	s.mu.Lock()
	set, ok := s.leases[lease]
	delete(s.leases, lease)
	s.mu.Unlock()
	if ok {
		_ = s.do(context.Background(), "leave", func(ctx context.Context, c valkey.Client, _ *derivedKeys) error {
			return c.Do(ctx, c.B().Zrem().Key(set).Member(lease).Build()).Error()
		})
	}
}

// renew keeps the requests that run here counted until the Store is closed, and looks
// whether the server can be used.
func (s *Store) renew() {
	first := time.NewTimer(firstProbe)
	defer first.Stop()
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	again := time.NewTicker(awayTime)
	defer again.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-first.C:
			s.probe()
		case <-tick.C:
			s.extendAll()
			s.probe()
		case <-again.C:
			if s.away.Load() != 0 {
				s.probe()
			}
			s.returned()
		}
	}
}

// probe does what calls do: keep something. A server that is wrong, full, or does not let
// this user write is known then before the first caller needs it, and one that is back is
// known without any. Of a cluster it asks the server that has what could not be had last: another
// one may answer all the time. What it finds is in the log and the metrics.
func (s *Store) probe() {
	_ = s.do(context.Background(), probing, func(ctx context.Context, c valkey.Client, k *derivedKeys) error { // told by do
		all := k.name("results", probing)
		if missing := s.missing.Load(); missing != nil {
			all = *missing + ":" + probing // of the same slot
		}
		return k.keep(ctx, c, all, probing, nil, leaseTime)
	})
}

func (s *Store) extendAll() {
	s.mu.Lock()
	pairs := make([]valkey.LuaExec, 0, len(s.leases))
	for request, set := range s.leases {
		pairs = append(pairs, valkey.LuaExec{Keys: []string{set}, Args: []string{leaseMilliseconds, request}})
	}
	s.mu.Unlock()
	for len(pairs) > 0 {
		n := min(len(pairs), renewAtOnce)
		err := s.do(context.Background(), "extend", func(ctx context.Context, c valkey.Client, _ *derivedKeys) error {
			var errs []error
			for _, answer := range extend.ExecMulti(ctx, c, pairs[:n]...) {
				errs = append(errs, answer.Error())
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return
		}
		pairs = pairs[n:]
	}
}

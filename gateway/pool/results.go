package pool

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// MaxValue is the largest value that is shared, in bytes: one that is larger takes the
	// server longer than a call should wait.
	MaxValue = 8 << 20
	// maxValues is how many one owner may have there: that which ends first goes.
	maxValues = 64
)

// put keeps a value and lets that of its owner go which ends first. KEYS: the value, the set of what
// its owner has by when it ends. ARGV: the value, for how many milliseconds, how many the owner may
// have.
var put = valkey.NewLuaScript(`
local t = redis.call('TIME')
local now, stay = t[1] * 1000000 + t[2], tonumber(ARGV[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', stay)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + stay * 1000, KEYS[1])
if redis.call('PTTL', KEYS[2]) < stay then redis.call('PEXPIRE', KEYS[2], stay) end
while redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[3]) do
  redis.call('DEL', redis.call('ZPOPMIN', KEYS[2])[1])
end
return 1
`)

// Put keeps value under the name id of owner for as long as ttl. The value is copied. What
// is larger than [MaxValue] is not kept. It fails with [ErrAway].
func (s *Store) Put(ctx context.Context, owner, id string, value []byte, ttl time.Duration) error {
	if len(value) > MaxValue {
		return nil
	}
	return s.do(ctx, "put", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		return k.keep(ctx, c, k.name("results", owner), id, value, ttl)
	})
}

// keep puts a value beside all others of its owner.
func (d *derived) keep(ctx context.Context, c valkey.Client, all, id string, value []byte, ttl time.Duration) error {
	name := all + ":" + id
	sealed := valkey.BinaryString(d.seal(name, value))
	return put.Exec(ctx, c, []string{name, all + ".ends"}, []string{sealed, strconv.FormatInt(ttl.Milliseconds(), 10), strconv.Itoa(maxValues)}).Error()
}

// Get returns what was put under a name of owner, as [Store.Await] says. It fails with [ErrNone] or
// [ErrAway].
func (s *Store) Get(ctx context.Context, owner, id string) (value []byte, err error) {
	err = s.Await(ctx, func() error {
		return s.do(ctx, "get", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
			value, err = k.get(ctx, c, owner, id)
			if errors.Is(err, ErrNone) && k.other != nil {
				value, err = k.other.get(ctx, c, owner, id)
			}
			return err
		})
	})
	return value, err
}

func (d *derived) get(ctx context.Context, c valkey.Client, owner, id string) ([]byte, error) {
	name := d.name("results", owner) + ":" + id
	sealed, err := readBounded(ctx, c, name, MaxValue+d.aead.Overhead())
	if err != nil {
		return nil, err
	}
	value, err := d.open(name, sealed)
	if err != nil {
		return nil, ErrNone // there is none, or it was written by somebody else
	}
	return value, nil
}

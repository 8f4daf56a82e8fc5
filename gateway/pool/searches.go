package pool

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

// maxSearched is how many tools are known of one caller's searches: one more, and those of
// before are forgotten.
const maxSearched = 64

// putSearch keeps what a search found. KEYS: what is known of a caller. ARGV: for how many
// milliseconds, how many tools may be known, then tools and what was asked for.
var putSearch = valkey.NewLuaScript(`
local known = redis.call('HLEN', KEYS[1])
for i = 3, #ARGV, 2 do known = known + 1 - redis.call('HEXISTS', KEYS[1], ARGV[i]) end
if known > tonumber(ARGV[2]) then redis.call('DEL', KEYS[1]) end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`)

// takeSearch gives what a tool was found by, and forgets it.
var takeSearch = valkey.NewLuaScript(`
local is = redis.call('HGET', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return is or ''
`)

// PutSearch keeps, for as long as ttl, that a caller, which is a name of any form, found tools
// by a request. It fails with [ErrAway].
func (s *Store) PutSearch(ctx context.Context, caller, request string, tools []string, ttl time.Duration) error {
	return s.do(ctx, "put-search", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		name := k.name("searches", caller)
		value := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(ttl).UnixMilli()))
		value = append(value, request...)
		args := []string{strconv.FormatInt(ttl.Milliseconds(), 10), strconv.Itoa(maxSearched)}
		for _, tool := range tools {
			field := k.field("search\x00" + tool)
			args = append(args, field, valkey.BinaryString(k.seal(name+"\x00"+field, value)))
		}
		return putSearch.Exec(ctx, c, []string{name}, args).Error()
	})
}

// TakeSearch returns the newest request by which a caller found a tool, at any node, and
// forgets it. It fails with [ErrNone] or [ErrAway].
func (s *Store) TakeSearch(ctx context.Context, caller, tool string) (request string, err error) {
	err = s.do(ctx, "take-search", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		name, field := k.name("searches", caller), k.field("search\x00"+tool)
		sealed, err := takeSearch.Exec(ctx, c, []string{name}, []string{field}).AsBytes()
		if err != nil {
			return err
		}
		value, err := k.open(name+"\x00"+field, sealed)
		if err != nil || len(value) < 8 || int64(binary.BigEndian.Uint64(value)) < time.Now().UnixMilli() {
			return ErrNone
		}
		request = string(value[8:])
		return nil
	})
	return request, err
}

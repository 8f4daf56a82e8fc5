package pool

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// MaxAnswer is the largest kept answer that is shared, in bytes: a node that has not got
	// one waits for it before it asks the API.
	MaxAnswer = 1 << 20
	// maxAnswers is how many one owner may have there, and maxAnswersBytes how large they are
	// together: those that end first go first.
	maxAnswers      = 10_000
	maxAnswersBytes = 64 << 20
	// endedAtOnce is how many answers that have ended one script forgets, so that it is short.
	endedAtOnce = 100
)

// putAnswer keeps an answer and lets those of its owner go that end first. KEYS: the answer,
// the ids of all that its owner has by when they end, their sizes with .all for the sum. ARGV:
// the answer, for how many milliseconds, its id, how many the owner may have, of how many bytes,
// how many that ended are forgotten at once.
var putAnswer = valkey.NewLuaScript(`
local value, order, sizes = KEYS[1], KEYS[2], KEYS[3]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stay = tonumber(ARGV[2])
if redis.call('EXISTS', order) == 0 then redis.call('DEL', sizes) end
local all = tonumber(redis.call('HGET', sizes, '.all') or 0)
local function forget(id)
  all = all - tonumber(redis.call('HGET', sizes, id) or 0)
  redis.call('HDEL', sizes, id)
  redis.call('ZREM', order, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', now, 'LIMIT', 0, ARGV[6])) do forget(id) end
forget(ARGV[3])
while all > 0 and all + #ARGV[1] > tonumber(ARGV[5]) or redis.call('ZCARD', order) >= tonumber(ARGV[4]) do
  local id = redis.call('ZRANGE', order, 0, 0)[1]
  if not id then
    all = 0
    break
  end
  forget(id)
  redis.call('DEL', order .. ':' .. id)
end
redis.call('SET', value, ARGV[1], 'PX', stay)
redis.call('ZADD', order, now + stay, ARGV[3])
redis.call('HSET', sizes, ARGV[3], #ARGV[1], '.all', all + #ARGV[1])
stay = math.max(stay, redis.call('PTTL', order))
redis.call('PEXPIRE', order, stay)
redis.call('PEXPIRE', sizes, stay)
return 1
`)

// answer is the names of an answer and of what its owner has, the id that it has there, and what
// seals it. The key of an answer is of no use to the server, and may have a secret in it.
func (d *derived) answer(owner, key string) (keys []string, id string, seal cipher.AEAD) {
	h := hmac.New(sha256.New, d.names)
	_, _ = h.Write([]byte("answer\x00" + owner + "\x00" + key))
	sum := h.Sum(nil)
	id = hex.EncodeToString(sum)
	all := d.name("answers", owner)
	// Answers are many: each has a key of its own, so that random nonces of one key stay few.
	h = hmac.New(sha256.New, d.answers)
	_, _ = h.Write(sum)
	block, _ := aes.NewCipher(h.Sum(nil))
	seal, _ = cipher.NewGCMWithRandomNonce(block)
	return []string{all + ":" + id, all, all + ":sizes"}, id, seal
}

// PutAnswer keeps an answer of owner under a key, of any form, for as long as ttl. What is
// larger than [MaxAnswer] is not kept. It fails with [ErrAway].
func (s *Store) PutAnswer(ctx context.Context, owner, key string, value []byte, ttl time.Duration) error {
	if len(value) > MaxAnswer || ttl < time.Millisecond {
		return nil
	}
	return s.do(ctx, "put-answer", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		keys, id, aead := k.answer(owner, key)
		sealed := valkey.BinaryString(aead.Seal(nil, nil, value, []byte(keys[0]))) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce
		return putAnswer.Exec(ctx, c, keys, []string{
			sealed, strconv.FormatInt(ttl.Milliseconds(), 10), id, strconv.Itoa(maxAnswers), strconv.Itoa(maxAnswersBytes), strconv.Itoa(endedAtOnce),
		}).Error()
	})
}

// Answer returns what is kept of owner under a key. It fails with [ErrNone] or [ErrAway].
func (s *Store) Answer(ctx context.Context, owner, key string) (value []byte, err error) {
	err = s.do(ctx, "answer", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		keys, _, aead := k.answer(owner, key)
		sealed, err := readBounded(ctx, c, keys[0], MaxAnswer+aead.Overhead())
		if err != nil {
			return err
		}
		if value, err = aead.Open(nil, nil, sealed, []byte(keys[0])); err != nil {
			return ErrNone // there is none, or it was written by somebody else
		}
		return nil
	})
	return value, err
}

// readBounded reads a value of at most so many bytes: whatever the server holds there, no more
// is read than what may have been put.
func readBounded(ctx context.Context, c valkey.Client, name string, most int) ([]byte, error) {
	b, err := c.Do(ctx, c.B().Getrange().Key(name).Start(0).End(int64(most)).Build()).AsBytes()
	if err == nil && len(b) > most {
		err = ErrNone
	}
	return b, err
}

package pool

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"math/big"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// maxRecords is how many one owner may have: the one unused longest goes first. As many
	// are known as ended.
	maxRecords = 10_000
	// maxFields is how many fields a record may have, and maxField how large one may be, its
	// name included.
	maxFields = 128
	maxField  = 8 << 10
	// tagBytes is how much of the keyed hash of a field stands before it, so that the server
	// can tell whether it is still the one that a node means.
	tagBytes = 8
)

// Errors of records.
var (
	// ErrEnded says that a record was ended.
	ErrEnded = errors.New("the record was ended")
	// ErrFull says that a record has no room for a field.
	ErrFull = errors.New("the record is full")
)

// Record is what all nodes know of something of one owner that changes: fields with names.
type Record struct {
	Version string            // is another after each change
	Fields  map[string][]byte // nil: they are those of the version that the caller knows
}

// Every script has KEYS: the record, the records of its owner by when they were used. A
// record is a hash; its field .v is the version, and .ended says that it has ended.

// openRecord makes a record. ARGV: milliseconds that it stays, how many its owner may have,
// its id, version, then fields and values. 0: there is one.
var openRecord = valkey.NewLuaScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stay = tonumber(ARGV[1])
redis.call('HSET', KEYS[1], '.v', ARGV[4])
for i = 5, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], stay)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - stay)
redis.call('ZADD', KEYS[2], now, ARGV[3])
redis.call('PEXPIRE', KEYS[2], stay)
while redis.call('ZCARD', KEYS[2]) > tonumber(ARGV[2]) do
  redis.call('DEL', KEYS[2] .. ':' .. redis.call('ZPOPMIN', KEYS[2])[1])
end
return 1
`)

// touchRecord keeps a record that is used. ARGV: milliseconds that it stays, its id, the
// version that is known. It returns the version and, where that is another, all fields.
var touchRecord = valkey.NewLuaScript(`
if redis.call('HEXISTS', KEYS[1], '.ended') == 1 then return {'ended'} end
local v = redis.call('HGET', KEYS[1], '.v')
if not v then return {'none'} end
local t = redis.call('TIME')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], t[1] * 1000 + math.floor(t[2] / 1000), ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
if v == ARGV[3] then return {v} end
local all = redis.call('HGETALL', KEYS[1])
table.insert(all, 1, v)
return all
`)

// setField sets a field. ARGV: the field, its value, '1' where one that is there stays, how
// many fields a record may have. It returns the version and what the field is now.
var setField = valkey.NewLuaScript(`
if redis.call('HEXISTS', KEYS[1], '.ended') == 1 then return {'ended'} end
local v = redis.call('HGET', KEYS[1], '.v')
if not v then return {'none'} end
local is = redis.call('HGET', KEYS[1], ARGV[1])
if is and ARGV[3] == '1' then return {v, is} end
if not is and redis.call('HLEN', KEYS[1]) > tonumber(ARGV[4]) then return {'full'} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HINCRBY', KEYS[1], '.v', 1)
return {redis.call('HGET', KEYS[1], '.v'), ARGV[2]}
`)

// unsetField takes a field out. ARGV: the field, the beginning of its value or ” for any.
var unsetField = valkey.NewLuaScript(`
local is = redis.call('HGET', KEYS[1], ARGV[1])
if is and (ARGV[2] == '' or string.sub(is, 1, #ARGV[2]) == ARGV[2]) then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HINCRBY', KEYS[1], '.v', 1)
end
return 1
`)

// endRecord ends a record, which stays known as ended. ARGV: milliseconds that it does, its
// id, for how many milliseconds nobody may have used it, '0' for any, and how many ended
// records of its owner stay known. 0: somebody used it.
var endRecord = valkey.NewLuaScript(`
local idle = tonumber(ARGV[3])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local used = redis.call('ZSCORE', KEYS[2], ARGV[2])
if idle > 0 and used and now - used < idle then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], '.ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local ended = KEYS[2] .. ':ended'
redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - ARGV[1])
redis.call('ZADD', ended, now, ARGV[2])
redis.call('PEXPIRE', ended, ARGV[1])
while redis.call('ZCARD', ended) > tonumber(ARGV[4]) do
  redis.call('DEL', KEYS[2] .. ':' .. redis.call('ZPOPMIN', ended)[1])
end
return 1
`)

// record is the names of a record and of all that its owner has, and the id of the record as
// the server has it: a keyed hash, since who has the id of a session may use it where no token
// is needed.
func (d *derived) record(owner, id string) (keys []string, hidden string) {
	all, hidden := d.name("records", owner), d.field("id\x00"+id)
	return []string{all + ":" + hidden, all}, hidden
}

// field is the name that a field has at the server.
func (d *derived) field(name string) string {
	h := hmac.New(sha256.New, d.names)
	_, _ = h.Write([]byte("field\x00" + name))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tag is a keyed hash of a field.
func (d *derived) tag(name string, value []byte) string {
	h := hmac.New(sha256.New, d.names)
	_, _ = h.Write([]byte("tag\x00" + name + "\x00"))
	_, _ = h.Write(value)
	return string(h.Sum(nil)[:tagBytes])
}

// sealField binds a field to its record and name, which stands in it.
func (d *derived) sealField(record, name string, value []byte) string {
	text := append(append(binary.BigEndian.AppendUint16(nil, uint16(len(name))), name...), value...)
	return d.tag(name, value) + string(d.seal(record+"\x00"+d.field(name), text))
}

// openField is false for what no node wrote there.
func (d *derived) openField(record, field, sealed string) (name string, value []byte, ok bool) {
	if len(sealed) < tagBytes {
		return "", nil, false
	}
	text, err := d.open(record+"\x00"+field, []byte(sealed[tagBytes:]))
	if err != nil {
		return "", nil, false
	}
	if len(text) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(text))
	if n > len(text)-2 {
		return "", nil, false
	}
	return string(text[2 : 2+n]), text[2+n:], true
}

// Open makes the record id of owner with fields, for as long as stay after it was last
// used. It fails with ErrNone when there is one already, and with [ErrFull] or [ErrAway].
func (s *Store) Open(ctx context.Context, owner, id string, fields map[string][]byte, stay time.Duration) (version string, err error) {
	if len(fields) > maxFields {
		return "", ErrFull
	}
	err = s.do(ctx, "open", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		if k.other != nil { // who opens it again may know less of it than others wrote there
			is, err := k.other.touch(ctx, c, owner, id, "", stay)
			if err == nil {
				all := map[string][]byte{}
				maps.Copy(all, fields)
				maps.Copy(all, is.Fields)
				fields = all
			} else if errors.Is(err, ErrEnded) {
				return ErrNone
			} else if !errors.Is(err, ErrNone) {
				return err
			}
		}
		version, err = k.openRecord(ctx, c, owner, id, fields, stay)
		return err
	})
	return version, err
}

func (d *derived) openRecord(ctx context.Context, c valkey.Client, owner, id string, fields map[string][]byte, stay time.Duration) (version string, err error) {
	n, _ := rand.Int(rand.Reader, big.NewInt(1<<47)) // never fails
	version = n.String()
	keys, hidden := d.record(owner, id)
	args := []string{milliseconds(stay), strconv.Itoa(maxRecords), hidden, version}
	for name, value := range fields {
		if len(name)+len(value) <= maxField {
			args = append(args, d.field(name), d.sealField(keys[0], name, value))
		}
	}
	made, err := openRecord.Exec(ctx, c, keys, args).AsInt64()
	if err == nil && made == 0 {
		err = ErrNone
	}
	return version, err
}

// Touch says that a record was used, and returns it; known is the version that the caller
// knows, "" for none. It fails with [ErrNone], [ErrEnded] or [ErrAway].
func (s *Store) Touch(ctx context.Context, owner, id, known string, stay time.Duration) (r Record, err error) {
	err = s.do(ctx, "touch", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		r, err = k.touch(ctx, c, owner, id, known, stay)
		if !errors.Is(err, ErrNone) || k.other == nil {
			return err
		}
		if r, err = k.other.touch(ctx, c, owner, id, "", stay); err != nil {
			return err
		}
		// It is taken along: the other key counts for a while only.
		if _, err = k.openRecord(ctx, c, owner, id, r.Fields, stay); err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		r, err = k.touch(ctx, c, owner, id, "", stay)
		return err
	})
	return r, err
}

func (d *derived) touch(ctx context.Context, c valkey.Client, owner, id, known string, stay time.Duration) (r Record, err error) {
	keys, hidden := d.record(owner, id)
	said, err := touchRecord.Exec(ctx, c, keys, []string{milliseconds(stay), hidden, known}).AsStrSlice()
	if err = refused(said, err); err != nil {
		return r, err
	}
	if r.Version = said[0]; len(said) == 1 {
		return r, nil
	}
	r.Fields = map[string][]byte{}
	for i := 1; i+1 < len(said) && i < 2*(maxFields+2); i += 2 {
		if len(said[i+1]) > maxField+tagBytes+d.aead.Overhead()+2 {
			continue
		}
		if name, value, ok := d.openField(keys[0], said[i], said[i+1]); ok {
			r.Fields[name] = value
		}
	}
	return r, nil
}

// refused is what a script says instead of a record.
func refused(said []string, err error) error {
	switch {
	case err != nil:
		return err
	case len(said) == 0:
		return errors.New("the server does not answer scripts as Redis does")
	case said[0] == "none":
		return ErrNone
	case said[0] == "ended":
		return ErrEnded
	case said[0] == "full":
		return ErrFull
	}
	return nil
}

// Set sets a field of a record; with once one that is there stays. It returns the version,
// and what the field is now. It fails with [ErrNone], [ErrEnded], [ErrFull] or [ErrAway].
func (s *Store) Set(ctx context.Context, owner, id, name string, value []byte, once bool) (version string, holds []byte, err error) {
	if len(name)+len(value) > maxField {
		return "", nil, ErrFull
	}
	err = s.do(ctx, "set", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		keys, _ := k.record(owner, id)
		stays := "0"
		if once {
			stays = "1"
		}
		said, err := setField.Exec(ctx, c, keys, []string{k.field(name), k.sealField(keys[0], name, value), stays, strconv.Itoa(maxFields)}).AsStrSlice()
		if err = refused(said, err); err != nil {
			return err
		}
		if version = said[0]; len(said) != 2 {
			return ErrNone
		}
		_, is, ok := k.openField(keys[0], k.field(name), said[1])
		if !ok {
			return ErrNone // it was written by somebody else
		}
		holds = is
		return nil
	})
	return version, holds, err
}

// Unset takes a field out of a record when it is value; nil: whatever it is. It fails with
// [ErrAway].
func (s *Store) Unset(ctx context.Context, owner, id, name string, value []byte) error {
	return s.do(ctx, "unset", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		tag := ""
		if value != nil {
			tag = k.tag(name, value)
		}
		keys, _ := k.record(owner, id)
		return unsetField.Exec(ctx, c, keys, []string{k.field(name), tag}).Error()
	})
}

// End ends a record, which is known as ended for as long as stay; idle: unless it was used
// within that time, 0 for always. It reports whether it has ended, and fails with
// [ErrAway].
func (s *Store) End(ctx context.Context, owner, id string, idle, stay time.Duration) (ended bool, err error) {
	err = s.do(ctx, "end", func(ctx context.Context, c valkey.Client, k *derivedKeys) error {
		if ended, err = k.end(ctx, c, owner, id, idle, stay); ended && err == nil && k.other != nil {
			_, err = k.other.end(ctx, c, owner, id, 0, stay) // nodes that use that one first know it, too
		}
		return err
	})
	return ended, err
}

func (d *derived) end(ctx context.Context, c valkey.Client, owner, id string, idle, stay time.Duration) (ended bool, err error) {
	keys, hidden := d.record(owner, id)
	n, err := endRecord.Exec(ctx, c, keys, []string{milliseconds(stay), hidden, milliseconds(idle), strconv.Itoa(maxRecords)}).AsInt64()
	return n == 1, err
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

var kinds = []string{string(Connector), string(Toolset), string(Filter), string(Projection), string(Workflow), string(Auth)}

// decoder reads members strictly and keeps the first fault.
type decoder struct {
	path []byte // JSON pointer of where it is
	err  *problem.Error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = problem.New(problem.InvalidPlugin, "invalid manifest: "+format, args...).
			At("", 0, 0, string(d.path)).Fix("generate or fetch the plugin again with a matching version of Sluice")
	}
}

func (d *decoder) enter(name string) {
	d.path = append(d.path, '/')
	d.path = append(d.path, name...)
}

// member says how one member of an object is read.
type member struct {
	name     string
	required bool
	read     func(jsonscan.Value)
}

// object reads an object that has these members and no others, none twice.
func (d *decoder) object(v jsonscan.Value, members []member) {
	if d.err != nil {
		return
	}
	if v.Kind() != jsonscan.Object {
		d.fail("expected an object, got %s", v.Kind())
		return
	}
	var seen uint32 // a bit for each of members; no object has more than 32
	for it := v.Members(); it.Next(); {
		i := slices.IndexFunc(members, func(m member) bool { return it.KeyEqual(m.name) })
		if i < 0 {
			d.fail("unknown member %q", cut(string(it.KeyText(nil))))
			return
		}
		n := len(d.path)
		d.enter(members[i].name)
		if seen&(1<<i) != 0 {
			d.fail("the member occurs twice")
			return
		}
		seen |= 1 << i
		members[i].read(it.Value())
		if d.err != nil {
			return
		}
		d.path = d.path[:n]
	}
	for i, m := range members {
		if m.required && seen&(1<<i) == 0 {
			d.fail("the member %q is missing", m.name)
			return
		}
	}
}

// list reads an array of at most MaxItems; it is never nil.
func list[T any](d *decoder, v jsonscan.Value, read func(jsonscan.Value) T) []T {
	return listOf(d, v, MaxItems, read)
}

// listOf reads an array of at most limit elements.
func listOf[T any](d *decoder, v jsonscan.Value, limit int, read func(jsonscan.Value) T) []T {
	out := []T{}
	if v.Kind() != jsonscan.Array {
		d.fail("expected an array, got %s", v.Kind())
		return nil
	}
	for it := v.Elements(); it.Next() && d.err == nil; {
		if len(out) == limit {
			d.fail("more than %d items", limit)
			return nil
		}
		n := len(d.path)
		d.enter(strconv.Itoa(len(out)))
		out = append(out, read(it.Value()))
		if d.err == nil {
			d.path = d.path[:n]
		}
	}
	return out
}

func (d *decoder) alternatives(v jsonscan.Value) [][]string { return list(d, v, d.texts) }

func (d *decoder) texts(v jsonscan.Value) []string {
	return list(d, v, func(v jsonscan.Value) string { return d.text(v, 0, MaxText) })
}

// text reads a string of lo to hi bytes.
func (d *decoder) text(v jsonscan.Value, lo, hi int) string {
	if v.Kind() != jsonscan.String {
		d.fail("expected a string, got %s", v.Kind())
		return ""
	}
	s := string(v.AppendText(nil))
	if len(s) < lo || len(s) > hi {
		d.fail("the text has %d bytes, allowed are %d to %d", len(s), lo, hi)
		return ""
	}
	return s
}

func (d *decoder) match(v jsonscan.Value, hi int, ok func(string) bool, want string) string {
	s := d.text(v, 1, hi)
	if d.err == nil && !ok(s) {
		d.fail("%q is not %s", cut(s), want)
	}
	return s
}

func (d *decoder) oneOf(v jsonscan.Value, words []string) string {
	s := d.text(v, 1, MaxText)
	if d.err == nil && !slices.Contains(words, s) {
		d.fail("%q is none of %s", cut(s), strings.Join(words, ", "))
	}
	return s
}

func (d *decoder) boolean(v jsonscan.Value) bool {
	b, ok := v.Bool()
	if !ok {
		d.fail("expected true or false, got %s", v.Kind())
	}
	return b
}

func (d *decoder) integer(v jsonscan.Value, lo, hi int64) int {
	n, ok := v.Int64()
	if !ok || n < lo || n > hi {
		d.fail("expected an integer from %d to %d", lo, hi)
		return 0
	}
	return int(n)
}

func (d *decoder) rawObject(v jsonscan.Value, maxBytes int) json.RawMessage {
	if v.Kind() != jsonscan.Object {
		d.fail("expected an object, got %s", v.Kind())
		return nil
	}
	if len(v.Raw()) > maxBytes {
		d.fail("it has %d bytes, the limit is %d", len(v.Raw()), maxBytes)
	}
	return v.Raw()
}

// cut keeps what comes from outside short in a message.
func cut(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func slug(s string) bool {
	return all(s, func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' })
}

func toolName(s string) bool {
	return s[0] >= 'a' && s[0] <= 'z' && all(s, func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' })
}

// mcpToolName accepts what clients and model APIs accept.
func mcpToolName(s string) bool {
	return s[0] != '-' && (s[0] < '0' || s[0] > '9') && all(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	})
}

func hash(s string) bool {
	digits, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(digits) == 64 && all(digits, func(c byte) bool { return c >= 'a' && c <= 'f' || c >= '0' && c <= '9' })
}

// methodToken accepts an RFC 9110 token.
func methodToken(s string) bool {
	return all(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
	})
}

func rooted(s string) bool { return s[0] == '/' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

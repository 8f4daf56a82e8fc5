// Package cdnloop bounds what one request may cause by way of other gateways, by the header
// CDN-Loop (RFC 8586): each gateway adds a value of its own and passes on those of others, so
// that a toolset that calls itself by way of others ends.
//
// A value weighs more the more calls one request makes: the second and third count as three
// gateways, the fourth to seventh as five, those behind them as seven. However calls of calls
// fan out, fewer than 900 requests are served for one, where it would be the calls of a script
// to the power of maxWeight; of batches it is some 190. Were it thousands, they would wait for
// each other's connections.
//
// It neither reads nor writes requests: package gateway refuses what has come too far, and
// whatever sends a request for a call sets the header.
package cdnloop

import (
	"context"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	// Header is the name of the header.
	Header = "CDN-Loop"
	// Own is the value that each gateway adds: it says nothing of the node.
	Own = "sluice"
	// weight is the parameter of values that weigh more than one.
	weight = "weight"
	// maxWeight of the values of gateways in a request: toolsets of toolsets are in use, such
	// as one of a team in that of a company. Each call weighs less, so that a script's last one
	// reaches a gateway, and one behind it.
	maxWeight = 8
	// maxHeader is the longest header that is passed on, in bytes. What came through so many
	// others is refused.
	maxHeader = 1 << 10
)

// Verdict says what becomes of a request.
type Verdict uint8

// The verdicts.
const (
	Fine      Verdict = iota
	TooFar            // it came through too many gateways, or the header is too long
	Malformed         // the header is not that of RFC 8586
)

// Request is a request whose calls are counted. Its methods may be called from several
// goroutines; nil is one whose client sent no header and that makes one call.
type Request struct {
	before  string // the values that it came with, and a comma
	fixed   string // in place of what is counted
	made    atomic.Uint32
	refused atomic.Bool
}

// Read judges a request by the fields of its header; the request is nil when it had none.
func Read(fields [][]byte) (*Request, Verdict) {
	size, own := 0, 0
	for _, f := range fields {
		if size += len(f) + len(", "); size > maxHeader {
			return nil, TooFar
		}
		n, ok := count(string(f))
		if !ok {
			return nil, Malformed
		}
		if own += n; own > maxWeight {
			return nil, TooFar
		}
	}
	var b strings.Builder
	for _, f := range fields {
		if len(f) > 0 {
			b.Write(f)
			b.WriteString(", ")
		}
	}
	if b.Len() == 0 {
		return nil, Fine
	}
	return &Request{before: b.String()}, Fine
}

// Stream is r for one stream, which is opened again when it ends: its weight stays.
func (r *Request) Stream() *Request {
	if r == nil {
		return nil
	}
	return &Request{fixed: r.next()}
}

// next is the header of the next request that is made for r.
func (r *Request) next() string {
	if r == nil {
		return Own
	}
	if r.fixed != "" {
		return r.fixed
	}
	n := min(2*bits.Len32(max(r.made.Add(1), 1))-1, maxWeight-1)
	if r.before == "" {
		return weighted[n]
	}
	return r.before + weighted[n]
}

// weighted are the values of this gateway by what they weigh.
var weighted = func() (w [maxWeight]string) {
	w[1] = Own
	for n := 2; n < maxWeight; n++ {
		w[n] = Own + "; " + weight + "=" + strconv.Itoa(n)
	}
	return w
}()

type key struct{}

// With is ctx for the calls of a request.
func With(ctx context.Context, r *Request) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, r)
}

// Counted is ctx for a call that makes others.
func Counted(ctx context.Context) context.Context {
	if of(ctx) != nil {
		return ctx
	}
	return With(ctx, &Request{})
}

func of(ctx context.Context) *Request {
	r, _ := ctx.Value(key{}).(*Request)
	return r
}

// Sent is the header of the next request that is made for a call.
func Sent(ctx context.Context) string { return of(ctx).next() }

// Answered notes the status of a request that was made for a call. After one that a gateway
// refused no more are to be made: they weigh no less. A call that came through no gateway goes
// on: the refusal is about something else.
func Answered(ctx context.Context, status int) {
	if r := of(ctx); status == http.StatusLoopDetected && r != nil && r.before != "" {
		r.refused.Store(true)
	}
}

// Refused reports whether no further call is to be made.
func Refused(ctx context.Context) bool {
	r := of(ctx)
	return r != nil && r.refused.Load()
}

// count is what this gateway and others like it weigh in a field; false: the field is
// malformed. Empty elements are permitted (RFC 9110 §5.6.1.2).
func count(s string) (n int, ok bool) {
	for {
		s = blank(s)
		if s == "" {
			return n, true
		}
		if s[0] != ',' {
			var id string
			var w int
			if id, w, s, ok = info(s); !ok {
				return 0, false
			}
			if strings.EqualFold(id, Own) {
				n += w
			}
			if s = blank(s); s == "" {
				return n, true
			}
		}
		if s[0] != ',' {
			return 0, false
		}
		s = s[1:]
	}
}

// info reads a cdn-info: a host with or without a port, or a token, and parameters. What it
// weighs is at least 1; a weight that is no number or beyond all is the greatest.
func info(s string) (id string, weighs int, rest string, ok bool) {
	id, rest = span(s, isHost)
	if weighs = 1; id == "" {
		return "", 0, "", false
	}
	for {
		after := blank(rest)
		if after == "" || after[0] != ';' {
			return id, weighs, rest, true
		}
		var name, value string
		name, after = span(blank(after[1:]), isToken)
		if name == "" || after == "" || after[0] != '=' {
			return "", 0, "", false
		}
		if after = after[1:]; strings.HasPrefix(after, `"`) {
			if rest, ok = quoted(after[1:]); !ok {
				return "", 0, "", false
			}
			continue
		}
		if value, rest = span(after, isToken); value == "" {
			return "", 0, "", false
		}
		if strings.EqualFold(name, weight) {
			n, err := strconv.ParseUint(value, 10, 8)
			if err != nil {
				n = maxWeight + 1
			}
			weighs = max(weighs, int(min(n, maxWeight+1)))
		}
	}
}

// quoted reads the rest of a quoted-string (RFC 9110 §5.6.4).
func quoted(s string) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[i+1:], true
		case c == '\\':
			if i++; i == len(s) || !isText(s[i]) {
				return "", false
			}
		case !isText(c):
			return "", false
		}
	}
	return "", false
}

func blank(s string) string { return strings.TrimLeft(s, " \t") }

func span(s string, of func(byte) bool) (is, rest string) {
	i := 0
	for i < len(s) && of(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func isText(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f }

func isToken(c byte) bool {
	return c > ' ' && c <= '~' && strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) < 0
}

// isHost takes the characters of a token and those of a host and its port besides, also of an
// IP literal (RFC 3986 §3.2.2).
func isHost(c byte) bool {
	return isToken(c) || c == ':' || c == '[' || c == ']' || c == '(' || c == ')' || c == '='
}

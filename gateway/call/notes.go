package call

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Bounds of what stands beside an answer. Headers are bytes of a stranger.
const (
	// maxHeaderTokens: the line of headers costs no more, unless its first value alone
	// does.
	maxHeaderTokens = 25
	// maxHeaderValue: a longer value is left out; half an address is of no use.
	maxHeaderValue = 256
	// maxHeadTokens bounds the line of an answer to HEAD, which is nothing but headers.
	maxHeadTokens = 200
	// maxToldName: a longer name is not said.
	maxToldName = 64
)

// shownHeaders are the headers that carry information for whoever called, most
// important first.
var shownHeaders = [...]string{
	"X-Total-Count", "X-Total", "Total-Count", "X-Total-Results", "X-Total-Items", "X-Pagination-Total-Count", "X-Pagination-Count", "X-WP-Total", "X-Count", "Content-Range",
	"X-Next-Page", "X-Next-Cursor", "X-Cursor", "X-Next-Token", "X-Continuation-Token", "X-Next",
}

// hiddenHeaders are left out of an answer to HEAD: they are of the connection, of
// programs in between, or of browsers.
var hiddenHeaders = [...]string{
	"Date", "Server", "Connection", "Keep-Alive", "Transfer-Encoding", "Via", "Set-Cookie", "Vary", "Strict-Transport-Security", "Content-Security-Policy", "Referrer-Policy",
	"Access-Control-", "X-Frame-Options", "X-Content-Type-Options", "X-Xss-Protection", "Cf-", "X-Amz-", "X-Request-Id", "X-Runtime", "X-Powered-By", "X-Cache", "Alt-Svc",
	"Nel", "Report-To", "Permissions-Policy", "Cross-Origin-", "Trailer", "Upgrade", "Www-Authenticate", "Proxy-", "Authorization", "X-Ratelimit-", "Ratelimit",
}

// noteHeaders reads the headers that the agent is told of, as a JSON object without
// braces, before the answer is kept.
func (x *exchange) noteHeaders() {
	x.headers = x.headers[:0]
	if x.status < 200 || x.status > 299 {
		return
	}
	if x.ready.Method == fasthttp.MethodHead {
		for k, v := range x.http.Headers() {
			if !hiddenHeader(k) {
				x.noteHeader(string(k), v)
			}
		}
		return
	}
	switch x.status {
	case fasthttp.StatusCreated, fasthttp.StatusAccepted:
		location := x.http.Header(fasthttp.HeaderLocation)
		if len(location) > 0 && !bytes.Contains(x.body, location) { // else it is in the answer
			x.noteHeader("Location", x.ownPath(location))
		}
		if after, _ := retryAfter(x.http.Header(fasthttp.HeaderRetryAfter)); after != nil {
			x.noteHeader("Retry-After", after)
		}
	}
	for _, name := range x.ready.Plan.Told() {
		switch {
		case strings.EqualFold(name, fasthttp.HeaderLocation):
			if x.status != fasthttp.StatusCreated && x.status != fasthttp.StatusAccepted { // shown above
				x.noteHeader(name, x.ownPath(x.http.Header(name)))
			}
		case !shownAnyway(name):
			x.noteHeader(name, x.http.Header(name))
		}
	}
	for _, name := range shownHeaders {
		x.noteHeader(name, x.http.Header(name))
	}
	if tag := x.http.Header(fasthttp.HeaderETag); len(tag) > 0 && x.tool.Binding.IfMatch() {
		x.noteHeader("ETag", tag)
	}
	if d := x.http.Header(fasthttp.HeaderContentDisposition); bytes.Contains(d, []byte("filename")) {
		x.noteHeader("Content-Disposition", d)
	}
}

// shownAnyway reports a header that is shown whether it is declared or not.
func shownAnyway(name string) bool {
	for _, shown := range shownHeaders {
		if strings.EqualFold(name, shown) {
			return true
		}
	}
	return false
}

// ownPath is an address of the origin that was asked without that origin.
func (x *exchange) ownPath(location []byte) []byte {
	u := x.http.Request.URI()
	rest, ok := bytes.CutPrefix(location, u.Scheme())
	if ok {
		rest, ok = bytes.CutPrefix(rest, []byte("://"))
	}
	if ok {
		rest, ok = bytes.CutPrefix(rest, u.Host())
	}
	if ok && len(rest) > 0 && rest[0] == '/' {
		return rest
	}
	return location
}

func hiddenHeader(name []byte) bool {
	for _, h := range hiddenHeaders {
		if len(name) >= len(h) && bytes.EqualFold(name[:len(h)], []byte(h)) && (len(name) == len(h) || h[len(h)-1] == '-' || h == "Ratelimit" || h == "X-Cache") {
			return true
		}
	}
	return false
}

// noteHeader adds a header, if it has a value that can be shown whole.
func (x *exchange) noteHeader(name string, value []byte) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || len(value) > maxHeaderValue || len(name) > maxToldName {
		return
	}
	if len(x.headers) > 0 {
		x.headers = append(x.headers, ',')
	}
	x.headers = append(jsonscan.AppendStringOf(x.headers, name), ':')
	x.headers = jsonscan.AppendString(x.headers, value)
}

// appendNotes puts what stands beside the answer behind it: what was left out, and
// headers. Text that is a JSON document stays one: then the lines are a text of their
// own.
func (x *exchange) appendNotes() {
	if x.inner || x.bad || x.ready.MCP != nil || strings.HasPrefix(x.media, "image/") || strings.HasPrefix(x.media, "audio/") {
		return
	}
	x.notes = x.notes[:0]
	x.noteStream()
	x.noteHeaderLine()
	x.noteLeftOut()
	if len(x.notes) == 0 || x.pure {
		return
	}
	if len(x.form) == 0 || len(x.text) == 0 || &x.form[0] != &x.text[0] {
		x.form = append(x.form[:0], x.text...)
	}
	x.form = append(append(x.form, '\n'), x.notes...)
	x.text, x.notes = x.form, x.notes[:0]
}

func (x *exchange) openNote() {
	if len(x.notes) > 0 {
		x.notes = append(x.notes, '\n')
	}
}

// noteStream says that a stream was not read to its end.
func (x *exchange) noteStream() {
	if !x.goesOn {
		return
	}
	x.openNote()
	x.notes = append(x.notes, "[the stream goes on: this is what came before the time limit of the call]"...)
}

// noteHeaderLine says the headers in one line, as the filters leave them.
func (x *exchange) noteHeaderLine() {
	headers := x.headers
	if x.hit != nil {
		headers = x.hit.headers
	}
	if len(headers) == 0 {
		return
	}
	x.item = append(append(append(x.item[:0], '{'), headers...), '}')
	doc := x.item
	if x.redacts() {
		out, is, err := x.filter(doc, manifest.TypeJSON, partMetadata)
		if err != nil || is != manifest.TypeJSON {
			return
		}
		doc = out
	}
	most := maxHeaderTokens
	if x.ready.Method == fasthttp.MethodHead {
		most = maxHeadTokens
	}
	mark := len(x.notes)
	x.openNote()
	from := len(x.notes)
	x.notes = append(x.notes, "[headers: "...)
	first := len(x.notes)
	for it := jsonscan.Trusted(doc).Members(); it.Next(); {
		if it.Value().Kind() != jsonscan.String {
			continue
		}
		before := len(x.notes)
		if before > first {
			x.notes = append(x.notes, "; "...)
		}
		x.notes = append(it.KeyText(x.notes), ": "...)
		at := len(x.notes)
		x.notes = it.Value().AppendText(x.notes)
		x.notes = textfilter.Append(x.notes[:at], bytes.Clone(x.notes[at:]))
		for i := at; i < len(x.notes); i++ {
			if c := x.notes[i]; c < ' ' || c == ']' { // the line ends with the first
				x.notes[i] = ' '
			}
		}
		if before > first && tokens.Estimate(x.notes[from:]) > most-1 { // and the bracket
			x.notes = x.notes[:before]
			break
		}
	}
	if len(x.notes) == first {
		x.notes = x.notes[:mark]
		return
	}
	x.notes = append(x.notes, ']')
}

// noteLeftOut names what the default projection left out and somebody may want.
func (x *exchange) noteLeftOut() {
	a := x.ready.Answer
	if x.leftOut == 0 || x.program != nil || a.Redact || a.Profile != registry.ProfileConcise {
		return
	}
	x.openNote()
	x.notes = AppendLeftOut(x.notes, x.leftOut, x.leftName, a.Argument)
}

// AppendLeftOut appends the line that says that n members, name among them, were left
// out, and which argument gives them back; "" when none does.
func AppendLeftOut(dst []byte, n uint64, name []byte, argument string) []byte {
	dst = strconv.AppendUint(append(dst, "[left out: "...), n, 10)
	dst = append(dst, " member"...)
	if n > 1 {
		dst = append(dst, 's')
	}
	if plainName(name) {
		dst = append(append(dst, " such as "...), name...)
	}
	if argument != "" {
		dst = append(append(append(dst, "; "...), argument...), "=* gives all"...)
	}
	return append(dst, ']')
}

// told takes over what a response program says it left out. The name is in the
// program, not in what the upstream sent.
func (x *exchange) told(table []byte, st *engine.Stats) {
	if x.leftOut == 0 && st.Told > 0 && uint64(st.ToldAt)+uint64(st.ToldLen) <= uint64(len(table)) {
		x.leftName = table[st.ToldAt:][:st.ToldLen]
	}
	x.leftOut += st.Told
}

// plainName reports whether a name can stand in a line.
func plainName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || c == ']' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= maxToldName
}

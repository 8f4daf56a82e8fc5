package call

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/registry"
)

// Bounds of the notes beside an answer. Headers are untrusted bytes.
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
	"Operation-Location", "X-Total-Count", "X-Total", "Total-Count", "X-Total-Results", "X-Total-Items", "X-Pagination-Total-Count", "X-Pagination-Count", "X-WP-Total", "X-Count", "Content-Range",
	"X-Next-Page", "X-Next-Cursor", "X-Cursor", "X-Next-Token", "X-Continuation-Token", "X-Ms-Continuationtoken", "X-Ms-Continuation", "X-Next",
}

// hiddenHeaders are left out of an answer to HEAD: they concern the connection, proxies
// or browsers.
var hiddenHeaders = [...]string{
	"Date", "Server", "Connection", "Keep-Alive", "Transfer-Encoding", "Via", "Set-Cookie", "Vary", "Strict-Transport-Security", "Content-Security-Policy", "Referrer-Policy",
	"Access-Control-", "X-Frame-Options", "X-Content-Type-Options", "X-Xss-Protection", "Cf-", "X-Amz-", "X-Request-Id", "X-Runtime", "X-Powered-By", "X-Cache", "Alt-Svc",
	"Nel", "Report-To", "Permissions-Policy", "Cross-Origin-", "Trailer", "Upgrade", "Www-Authenticate", "Proxy-", "Authorization", "X-Ratelimit-", "Ratelimit",
}

// tellHeaders returns the headers that the agent reads, as a JSON object without
// braces, before the answer is kept.
func (x *exchange) tellHeaders(r *received) []byte {
	x.told = x.told[:0]
	if r.status < 200 || r.status > 299 {
		return nil
	}
	if x.ready.Method == fasthttp.MethodHead {
		for k, v := range x.http.Headers() {
			if !hiddenHeader(k) {
				x.tell(string(k), v)
			}
		}
		return x.told
	}
	switch r.status {
	case fasthttp.StatusCreated, fasthttp.StatusAccepted:
		location := x.http.Header(fasthttp.HeaderLocation)
		if len(location) > 0 && !bytes.Contains(r.body, location) { // else it is in the answer
			x.tell("Location", x.ownPath(location))
		}
		if after, _ := upstream.RetryAfter(x.http.Header(fasthttp.HeaderRetryAfter)); after != nil {
			x.tell("Retry-After", after)
		}
	}
	for _, name := range x.ready.Plan.Told() {
		switch {
		case strings.EqualFold(name, fasthttp.HeaderLocation):
			if r.status != fasthttp.StatusCreated && r.status != fasthttp.StatusAccepted { // shown above
				x.tell(name, x.ownPath(x.http.Header(name)))
			}
		case !shownAnyway(name):
			x.tell(name, x.http.Header(name))
		}
	}
	if p := x.ready.Answer.Paging; p != nil {
		for _, name := range p.Headers {
			if !shownAnyway(name) {
				x.tell(name, x.http.Header(name))
			}
		}
	}
	for _, name := range shownHeaders {
		x.tell(name, x.ownPath(x.http.Header(name)))
	}
	if tag := x.http.Header(fasthttp.HeaderETag); len(tag) > 0 && x.tool.Binding.IfMatch() {
		x.tell("ETag", tag)
	}
	x.tell("Link rel=next", x.ownPath(x.ready.Answer.Unfollowed(x.http.Header(fasthttp.HeaderLink))))
	if d := x.http.Header(fasthttp.HeaderContentDisposition); bytes.Contains(d, []byte("filename")) {
		x.tell("Content-Disposition", d)
	}
	return x.told
}

// shownAnyway reports a header that is shown whether it is declared or not.
func shownAnyway(name string) bool {
	return slices.ContainsFunc(shownHeaders[:], func(shown string) bool { return strings.EqualFold(name, shown) })
}

// ownPath is an address of the origin that was asked, without that origin.
func (x *exchange) ownPath(location []byte) []byte {
	if !bytes.HasPrefix(location, []byte("http")) {
		return location
	}
	u := x.http.Request.URI()
	rest, ok := bytes.CutPrefix(location, slices.Concat(u.Scheme(), []byte("://"), u.Host()))
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

// tell adds a header, if it has a value that can be shown whole.
func (x *exchange) tell(name string, value []byte) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || len(value) > maxHeaderValue || len(name) > maxToldName {
		return
	}
	if len(x.told) > 0 {
		x.told = append(x.told, ',')
	}
	x.told = append(jsonscan.AppendStringOf(x.told, name), ':')
	x.told = jsonscan.AppendString(x.told, value)
}

// appendNotes puts what stands beside the answer behind it: what was left out, and
// headers. Text that is a JSON document stays one: then, and behind an image or a sound, the
// lines are a text of their own.
func (a *rendering) appendNotes() {
	if a.inner || a.isError {
		return
	}
	seen := strings.HasPrefix(a.media, "image/") || strings.HasPrefix(a.media, "audio/")
	a.notes = a.notes[:0]
	a.noteStream()
	if len(a.remark) > 0 && !a.redacts() { // filters did not see it
		a.openNote()
		a.notes = append(a.notes, a.remark...)
	}
	a.noteHeaderLine()
	a.noteLeftOut()
	if len(a.notes) == 0 || a.isDocument || seen {
		return
	}
	if len(a.form) == 0 || len(a.text) == 0 || &a.form[0] != &a.text[0] {
		a.form = append(a.form[:0], a.text...)
	}
	a.form = append(append(a.form, '\n'), a.notes...)
	a.text, a.notes = a.form, a.notes[:0]
}

func (a *rendering) openNote() {
	if len(a.notes) > 0 {
		a.notes = append(a.notes, '\n')
	}
}

// noteStream says that a stream was not read to its end.
func (a *rendering) noteStream() {
	if !a.unfinished {
		return
	}
	a.openNote()
	a.notes = append(a.notes, "[the stream goes on: this is what came before the time limit of the call]"...)
}

// noteHeaderLine says the headers in one line, as the filters leave them.
func (a *rendering) noteHeaderLine() {
	if len(a.headers) == 0 {
		return
	}
	a.item = append(append(append(a.item[:0], '{'), a.headers...), '}')
	doc := a.item
	if a.redacts() {
		out, is, err := a.filter(doc, manifest.TypeJSON, partMetadata)
		if err != nil || is != manifest.TypeJSON {
			return
		}
		doc = out
	}
	most := maxHeaderTokens
	if a.ready.Method == fasthttp.MethodHead {
		most = maxHeadTokens
	}
	mark := len(a.notes)
	a.openNote()
	from := len(a.notes)
	a.notes = append(a.notes, "[headers: "...)
	first := len(a.notes)
	for it := jsonscan.Trusted(doc).Members(); it.Next(); {
		if it.Value().Kind() != jsonscan.String {
			continue
		}
		before := len(a.notes)
		if before > first {
			a.notes = append(a.notes, "; "...)
		}
		a.notes = append(it.KeyText(a.notes), ": "...)
		at := len(a.notes)
		a.notes = it.Value().AppendText(a.notes)
		a.notes = textfilter.Append(a.notes[:at], bytes.Clone(a.notes[at:]))
		for i := at; i < len(a.notes); i++ {
			if c := a.notes[i]; c < ' ' || c == ']' { // the line ends with the first
				a.notes[i] = ' '
			}
		}
		if before > first && tokens.Estimate(a.notes[from:]) > most-1 { // and the bracket
			a.notes = a.notes[:before]
			break
		}
	}
	if len(a.notes) == first {
		a.notes = a.notes[:mark]
		return
	}
	a.notes = append(a.notes, ']')
}

// noteLeftOut names what the default projection left out and somebody may want.
func (a *rendering) noteLeftOut() {
	plan := a.ready.Answer
	if a.leftOut == 0 || a.mask != nil || plan.Redact || plan.Profile != registry.ProfileConcise {
		return
	}
	a.openNote()
	a.notes = AppendLeftOut(a.notes, a.leftOut, a.leftName, plan.Argument)
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

// countLeftOut adds what a response program says it left out. The name is in the
// program, not in what the upstream sent.
func (a *rendering) countLeftOut(table []byte, st *engine.Stats) {
	if a.leftOut == 0 && st.Told > 0 && uint64(st.ToldAt)+uint64(st.ToldLen) <= uint64(len(table)) {
		a.leftName = table[st.ToldAt:][:st.ToldLen]
	}
	a.leftOut += st.Told
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

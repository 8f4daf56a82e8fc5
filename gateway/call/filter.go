package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// An agent reads more than the JSON documents of answers: texts, files, error bodies,
// what an MCP server says beside its content. What redacts has to see all of it, so
// every stage that shows bytes of an upstream gives them to filter first.

// Parts of an answer, as plugins are told by sluice.part.
const (
	partAnswer   = "answer"   // what the tool answers
	partError    = "error"    // the body of an answer of an error status, a failed result
	partMetadata = "metadata" // what stands beside the content of an MCP server: links, annotations, _meta
	partQuestion = "question" // what an MCP server asks the user
)

// Media types of pieces that come without one.
const (
	mediaText     = "text/plain"
	mediaMarkdown = "text/markdown"
	mediaXML      = "text/xml"
	mediaBinary   = "application/octet-stream"
)

// maxMediaType is the longest media type that plugins are told; no registered one is
// longer (RFC 6838 §4.2).
const maxMediaType = 127

// redacts reports whether something has to see every byte that the agent reads.
func (x *exchange) redacts() bool {
	return x.ready != nil && x.ready.Answer != nil && x.ready.Redacts()
}

// closed reports whether what cannot be redacted is withheld.
func (x *exchange) closed() bool { return x.ready != nil && x.ready.Answer != nil && x.ready.Closed() }

// guestContext is what plugins are told of the call.
func (x *exchange) guestContext(part string) *guest.Context {
	args := x.args.Raw()
	if len(args) == 0 {
		args = []byte("{}")
	}
	return &guest.Context{
		Caller: x.principal, Tool: x.tool.Name, Operation: x.ready.Method + " " + x.ready.Path, Status: x.status, ContentType: string(x.contentType), Part: part, Arguments: args,
	}
}

// filter gives a piece of an answer that is not the JSON document of the answer to the
// plugins, and returns what they leave of it and what that is: a JSON document, or
// text or a file of the media type. Of a tool's answer all of them get it that read
// its type; of anything else those that redact. It fails when the piece must not be
// shown. out is piece itself, or valid until the next call.
func (x *exchange) filter(piece []byte, mediaType, part string) (out []byte, is string, err error) {
	if x.ready.Answer.Redact {
		return nil, "", x.withheld() // the settings name members of answers that are JSON
	}
	out, is = x.visible(piece, mediaType), mediaType
	if len(x.ready.Plugins) == 0 {
		return out, is, nil
	}
	ctx, cancel := context.WithDeadline(x.ctx, x.deadline)
	defer cancel()
	c := x.guestContext(part)
	for _, p := range x.ready.Plugins {
		if part != partAnswer && !p.Redacts {
			continue
		}
		if !p.Package.Manifest.Reads(is) {
			if p.Closed {
				return nil, "", x.withheldFrom(p, is)
			}
			continue
		}
		c.InputType = is
		err := errNoPlugins
		begin := time.Now()
		if x.c.plugins != nil {
			x.clean[1], err = x.c.plugins.Transform(ctx, x.clean[1][:0], out, p, c)
			if err == nil {
				if err = x.acceptPiece(is, p.Package.Text()); err != nil {
					x.c.plugins.Refuse(p, err)
				}
			}
		}
		if err := x.ran(p, len(out), len(x.clean[1]), begin, err); err != nil {
			return nil, "", err
		}
		if err != nil {
			continue
		}
		x.clean[0], x.clean[1] = x.clean[1], x.clean[0]
		out = x.clean[0]
		if is == manifest.TypeJSON && p.Package.Text() {
			is = mediaText
		}
	}
	return out, is, nil
}

// visible is a piece as what redacts has to see it: without the characters that nobody
// sees, which would split what it looks for, and which the end of the call removes. It
// is piece itself in nearly all cases.
func (x *exchange) visible(piece []byte, mediaType string) []byte {
	switch {
	case !x.redacts():
	case mediaType == manifest.TypeJSON:
		if textfilter.IndexJSON(piece) >= 0 {
			x.seen = textfilter.AppendJSON(x.seen[:0], piece)
			return x.seen
		}
	case strings.HasPrefix(mediaType, "text/"):
		if textfilter.Index(piece) >= 0 {
			x.seen = textfilter.Append(x.seen[:0], piece)
			return x.seen
		}
	}
	return piece
}

// acceptPiece checks what a plugin wrote to clean[1].
func (x *exchange) acceptPiece(is string, text bool) error {
	if is != manifest.TypeJSON || text {
		return nil
	}
	v, err := jsonscan.Parse(x.clean[1], jsonscan.DefaultMaxDepth)
	if err != nil {
		return errNotJSON
	}
	x.clean[1] = jsonscan.AppendMinified(x.clean[1][:0], v.Raw()) // never longer than what it reads
	return nil
}

// ran notes how a plugin ended, and returns what ends the call then; nil: the answer
// goes on.
func (x *exchange) ran(p *snapshot.Plugin, before, after int, begin time.Time, err error) error {
	if x.trace != nil {
		x.trace.plugin(p, before, after, time.Since(begin), err)
	}
	if err == nil {
		return nil
	}
	x.c.log.LogAttrs(x.ctx, slog.LevelDebug, "plugin could not run", slog.String("toolset", x.ts.Slug), slog.String("tool", x.tool.Name),
		slog.String("plugin", p.Ref.Name), slog.Any("error", err))
	if !p.Closed {
		return nil
	}
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the plugin %s could not run on it", p.Ref.Name).
		Fix("ask the operator of %s to look at the plugin", x.ts.Slug)
}

// withheldFrom answers nothing because a plugin that redacts cannot read it.
func (x *exchange) withheldFrom(p *snapshot.Plugin, mediaType string) error {
	if x.trace != nil {
		x.trace.plugin(p, 0, 0, 0, errNotRead)
	}
	if mediaType = shownMediaType(mediaType); mediaType == "" {
		mediaType = "this kind"
	}
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the plugin %s redacts, and does not read %s", p.Ref.Name, mediaType).
		Fix("ask the operator of %s for a plugin that does", x.ts.Slug)
}

var errNotRead = errors.New("it does not read what came")

// appendFiltered appends to dst at most n bytes of an error text of the upstream, or says that
// they are withheld.
func (x *exchange) appendFiltered(dst, text []byte, n int) []byte {
	if len(text) == 0 {
		return dst
	}
	if x.redacts() {
		out, _, err := x.filter(text, mediaText, partError)
		if err != nil {
			return append(dst, noticeWithheld...)
		}
		text = out
	}
	return appendClipped(dst, text, n)
}

// noticeWithheld stands for words of an upstream inside a text of ours.
const noticeWithheld = "[withheld: the operator's filters could not be applied to it]"

// appendErrorBody appends the useful part of an error answer, as the filters leave it.
func (x *exchange) appendErrorBody(dst []byte) []byte {
	if !x.redacts() || len(bytes.TrimSpace(x.body)) == 0 {
		body := x.body
		if kindOf(x.contentType, body, true) == kindJSON {
			body = x.stripDocument(body)
		}
		return appendErrorBody(dst, x.contentType, body)
	}
	piece, is := x.body, mediaText
	switch kindOf(x.contentType, x.body, true) {
	case kindJSON:
		if v, err := jsonscan.Parse(x.body, jsonscan.DefaultMaxDepth); err == nil {
			x.small = jsonscan.AppendMinified(x.small[:0], v.Raw())
			piece, is = x.small, manifest.TypeJSON
		}
	case kindXML:
		is = mediaXML
		if doc, err := appendXML(x.form[:0], x.body); err == nil {
			x.form, piece, is = doc, doc, manifest.TypeJSON
		}
	case kindHTML:
		x.form = appendHTMLText(x.form[:0], x.body)
		piece = x.form
	case kindText, kindStream:
	default:
		return dst // not shown
	}
	out, is, err := x.filter(piece, is, partError)
	switch {
	case err != nil:
		return append(dst, noticeWithheld...)
	case is == manifest.TypeJSON:
		return appendErrorBody(dst, typeJSON, out)
	}
	return appendClipped(dst, bytes.TrimSpace(out), maxFailure)
}

// filterText gives the text that the agent would read to the plugins.
func (x *exchange) filterText(mediaType string) error {
	if len(x.ready.Plugins) == 0 && !x.ready.Answer.Redact {
		return nil
	}
	out, _, err := x.filter(x.text, mediaType, partAnswer)
	x.text = out
	return err
}

// textType is the media type of text as plugins are told it: one of text/*, so that a
// plugin which reads all text says so in one range.
func textType(k kind, contentType []byte) string {
	switch m := mediaType(contentType); {
	case k == kindXML:
		return mediaXML
	case k == kindHTML:
		return "text/html"
	case bytes.HasPrefix(m, []byte("text/")) && len(m) <= maxMediaType:
		return string(m)
	}
	return mediaText
}

// fileType is the media type of a file as plugins are told it.
func fileType(m []byte) string {
	if len(m) == 0 || len(m) > maxMediaType {
		return mediaBinary
	}
	return string(m)
}

// shownTypes are the media types that an agent is told of where something redacts: the
// header of an answer is bytes of the upstream too.
var shownTypes = map[string]bool{
	"application/json": true, "application/xml": true, "application/pdf": true, "application/zip": true, "application/gzip": true, mediaBinary: true,
	mediaText: true, "text/html": true, "text/csv": true, mediaMarkdown: true, mediaXML: true, "text/css": true, "text/javascript": true, "text/calendar": true,
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/svg+xml": true, "image/bmp": true, "image/tiff": true, "image/avif": true,
	"audio/mpeg": true, "audio/wav": true, "audio/x-wav": true, "audio/ogg": true, "audio/mp4": true, "audio/webm": true, "audio/flac": true, "audio/aac": true,
}

// shownMediaType is a media type that may be shown; "" for one that may not.
func shownMediaType(m string) string {
	if shownTypes[m] {
		return m
	}
	return ""
}

// filterFile gives a file to the plugins and returns what is left of it, and the type
// that is shown of it.
func (x *exchange) filterFile(file []byte, m string) (out []byte, shown string, err error) {
	if len(x.ready.Plugins) == 0 && !x.ready.Answer.Redact {
		return file, m, nil
	}
	if out, _, err = x.filter(file, fileType([]byte(m)), partAnswer); err != nil {
		return nil, "", err
	}
	if shown = m; x.redacts() && shownMediaType(m) == "" {
		shown = mediaBinary
	}
	return out, shown, nil
}

// filterNextPage leaves the arguments of the next page out, which come from the answer
// before it was filtered, unless the filters leave them as they are.
func (x *exchange) filterNextPage() {
	if len(x.next) == 0 || !x.redacts() || x.ready.Answer.Redact { // of its own settings nextPage reads what they left
		return
	}
	// The room around the arguments makes a document of them.
	x.item = append(append(append(x.item[:0], '{'), x.next...), '}')
	out, is, err := x.filter(x.item, manifest.TypeJSON, partMetadata)
	if err != nil || is != manifest.TypeJSON || !bytes.Equal(out, jsonscan.AppendMinified(nil, jsonscan.Trusted(x.item).Raw())) {
		x.next = x.next[:0]
	}
}

// filterFailure replaces what went wrong at the upstream where something redacts: such
// a text may repeat what the upstream said, cut anywhere. What Sluice itself refuses
// stays as it is.
func (x *exchange) filterFailure() {
	if x.failed == nil || !x.asked || x.link != "" || !x.closed() {
		return
	}
	var said string
	switch x.failed.Kind {
	case problem.Unreachable:
		said = "the upstream could not be reached"
	case problem.Unauthenticated, problem.Forbidden:
		said = "the upstream refused the credential of the toolset"
	case problem.UpstreamStatus, problem.CannotConnectMCP:
		said = "the upstream answered with an error"
	case problem.UpstreamMalformed, problem.Unsupported:
		said = "the upstream answered what cannot be used"
	case problem.InvalidPlugin, problem.Cancelled:
		return // ours
	default:
		if x.http.Redirects == 0 {
			return
		}
		said = "the call failed behind a redirect of the upstream"
	}
	x.failed = problem.New(x.failed.Kind, "%s; what it said is withheld, because the answers of this tool are filtered", said).
		Fix("try again later, or ask the operator of %s to look at its log", x.ts.Slug)
}

// retryAfter is the header of that name when it has one of its two forms (RFC 9110
// §10.2.3); nil otherwise.
func retryAfter(v []byte) (out []byte, seconds bool) {
	if len(v) == 0 || len(v) > 40 {
		return nil, false
	}
	seconds = true
	for _, c := range v {
		seconds = seconds && c >= '0' && c <= '9'
	}
	if !seconds {
		if _, err := fasthttp.ParseHTTPDate(v); err != nil {
			return nil, false
		}
	}
	return v, seconds
}

// progressOnly tells the client how far a call of an MCP server is, by numbers alone:
// words of a server that come while its call runs are not filtered one by one.
func (x *exchange) progressOnly(method string, params jsonscan.Value) {
	if method != "notifications/progress" {
		return
	}
	progress, err := strconv.ParseFloat(string(params.Get("progress").Raw()), 64)
	if err != nil {
		return
	}
	total, _ := strconv.ParseFloat(string(params.Get("total").Raw()), 64) // 0: not known
	x.call.Stream.Progress(progress, total, "")
}

// decodeBase64 appends what a member of an MCP server's result holds to dst.
func decodeBase64(dst []byte, v jsonscan.Value) ([]byte, error) {
	return base64.StdEncoding.AppendDecode(dst, v.AppendText(nil))
}

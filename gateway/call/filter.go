package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/errorbody"
	"github.com/sluicegate/sluice/gateway/media"
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

// redacts reports whether something has to see every byte that the agent reads.
func (in *input) redacts() bool {
	return in.ready != nil && in.ready.Answer != nil && in.ready.Redacts()
}

// guestContext is what plugins learn of the call.
func (a *rendering) guestContext(part string) *guest.Context {
	return &guest.Context{
		Caller: a.principalKey, Tool: a.tool.Name, Operation: a.ready.Method + " " + a.ready.Path, Status: a.status, ContentType: string(a.contentType), Part: part, Arguments: orEmpty(a.args).Raw(),
	}
}

// filter gives a piece of an answer that is not the JSON document of the answer to the
// plugins, and returns what they leave of it and what that is: a JSON document, or
// text or a file of the media type. Of a tool's answer all of them get it that read
// its type; of anything else those that redact. It fails when the piece must not be
// shown. out is piece itself, or valid until the next call.
func (a *rendering) filter(piece []byte, mediaType, part string) (out []byte, is string, err error) {
	if a.ready.Answer.Redact {
		return nil, "", a.withheld() // the settings name members of answers that are JSON
	}
	out, is = a.visible(piece, mediaType), mediaType
	if len(a.ready.Plugins) == 0 {
		return out, is, nil
	}
	ctx, cancel := context.WithDeadline(a.ctx, a.deadline)
	defer cancel()
	c := a.guestContext(part)
	for _, p := range a.ready.Plugins {
		if reads, said := p.Package.Manifest.ReadsErrors(); part == partError && said && !reads {
			if p.Closed {
				return nil, "", a.withheldFrom(p, "")
			}
			continue
		}
		if !takes(p, part) {
			continue
		}
		if !p.Package.Manifest.Reads(is) {
			if p.Closed {
				return nil, "", a.withheldFrom(p, is)
			}
			continue
		}
		c.InputType = is
		err := errNoPlugins
		begin := time.Now()
		if a.c.plugins != nil {
			a.filtered[1], err = a.c.plugins.Transform(ctx, a.filtered[1][:0], out, p, c)
			if err == nil {
				got, form := out, is // what a closure names would be allocated in every call
				err = a.c.plugins.Check(p, a.principalKey, func() error { return a.acceptPiece(p.Package, got, form, part) })
			}
		}
		if err := a.ran(p, c, len(out), len(a.filtered[1]), begin, err); err != nil {
			return nil, "", err
		}
		if err != nil {
			continue
		}
		a.filtered[0], a.filtered[1] = a.filtered[1], a.filtered[0]
		out = a.filtered[0]
		if is == manifest.TypeJSON && (p.Package.Text() || ownErrors(p.Package, part) && !isJSON(out)) {
			is = media.TypeText
		}
	}
	return out, is, nil
}

// visible is a piece as what redacts has to see it: without the characters that nobody
// sees, which would split what it looks for, and which the end of the call removes, and in
// JSON without escapes of characters that need none, in which a plugin that looks at bytes
// would not find them. It is piece itself in nearly all cases.
func (a *rendering) visible(piece []byte, mediaType string) []byte {
	switch {
	case !a.redacts():
	case mediaType == manifest.TypeJSON:
		if textfilter.IndexJSON(piece) >= 0 {
			a.unhidden = textfilter.AppendJSON(a.unhidden[:0], piece)
			piece = a.unhidden
		}
		if bytes.Contains(piece, []byte(`\u`)) || bytes.Contains(piece, []byte(`\/`)) {
			a.unhidden = jsonscan.AppendUnescaped(a.unhidden[:0], piece)
			piece = a.unhidden
		}
	case strings.HasPrefix(mediaType, "text/"):
		if textfilter.Index(piece) >= 0 {
			a.unhidden = textfilter.Append(a.unhidden[:0], piece)
			return a.unhidden
		}
	}
	return piece
}

// takes reports whether a plugin gets a part of an answer: what redacts all of it, others
// the answer itself, and errors when they have a function for them or say that they
// understand them.
func takes(p *snapshot.Plugin, part string) bool {
	reads, _ := p.Package.Manifest.ReadsErrors()
	switch {
	case ownErrors(p.Package, part):
		return true
	case p.Package.NoAnswers:
		return false
	}
	return part == partAnswer || p.Redacts || part == partError && reads
}

// ownErrors reports whether a plugin transforms the part with its function for errors,
// which may make any text of it.
func ownErrors(p *guest.Package, part string) bool { return part == partError && p.Errors }

func isJSON(b []byte) bool {
	_, err := jsonscan.Parse(b, jsonscan.DefaultMaxDepth)
	return err == nil
}

// transformsErrors reports whether a plugin of the tool has a function for errors, or says
// that it understands them.
func (a *rendering) transformsErrors() bool {
	for _, p := range a.ready.Plugins {
		if reads, _ := p.Package.Manifest.ReadsErrors(); reads || p.Package.Errors {
			return true
		}
	}
	return false
}

// acceptPiece checks what a plugin wrote to filtered[1] for a piece.
func (a *rendering) acceptPiece(p *guest.Package, piece []byte, is, part string) error {
	if is != manifest.TypeJSON || p.Text() || ownErrors(p, part) {
		return nil
	}
	v, err := jsonscan.Parse(a.filtered[1], jsonscan.DefaultMaxDepth)
	if err != nil {
		return guest.ErrNotJSON
	}
	if err := p.CheckEffect(piece, v.Raw(), part == partAnswer); err != nil {
		return err
	}
	a.filtered[1] = jsonscan.AppendMinified(a.filtered[1][:0], v.Raw()) // never longer than what it reads
	return nil
}

// ran notes how a plugin ended, and returns what ends the call then; nil: the answer
// goes on.
func (a *rendering) ran(p *snapshot.Plugin, c *guest.Context, before, after int, begin time.Time, err error) error {
	a.ranPlugin(p, before, after, begin, time.Since(begin), c.Requests, err)
	if err == nil {
		return nil
	}
	a.c.log.LogAttrs(a.ctx, slog.LevelDebug, "plugin could not run", slog.String("toolset", a.ts.Slug), slog.String("tool", a.tool.Name),
		slog.String("plugin", p.Ref.Name), slog.Any("error", err))
	if !p.Closed {
		return nil
	}
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the plugin %s could not run on it", p.Ref.Name).
		Fix("ask the operator of %s to look at the plugin", a.ts.Slug)
}

// withheldFrom answers nothing because a plugin that redacts cannot read it.
func (a *rendering) withheldFrom(p *snapshot.Plugin, mediaType string) error {
	a.ranPlugin(p, 0, 0, time.Now(), 0, nil, errNotRead)
	if mediaType = media.Shown(mediaType); mediaType == "" {
		mediaType = "this kind of answer"
	}
	return problem.New(problem.InvalidPlugin, "the answer is withheld: the plugin %s redacts, and does not read %s", p.Ref.Name, mediaType).
		Fix("ask the operator of %s for a plugin that does", a.ts.Slug)
}

var errNotRead = errors.New("it does not read what came")

// appendFiltered appends to dst at most n bytes of an error text of the upstream, or says that
// they are withheld.
func (a *rendering) appendFiltered(dst, text []byte, n int) []byte {
	if len(text) == 0 {
		return dst
	}
	if a.redacts() {
		out, _, err := a.filter(text, media.TypeText, partError)
		if err != nil {
			return append(dst, noticeWithheld...)
		}
		text = out
	}
	return media.AppendClipped(dst, text, n)
}

// noticeWithheld stands for words of an upstream inside a text of ours.
const noticeWithheld = "[withheld: the operator's filters could not be applied to it]"

// appendErrorBody appends the useful part of an error answer, as the filters leave it.
func (a *rendering) appendErrorBody(dst []byte) []byte {
	filtered, inspected := a.redacts() || a.transformsErrors(), a.inspection()
	var piece []byte
	var is string
	shown, empty := false, len(bytes.TrimSpace(a.body)) == 0
	if (filtered || inspected != nil) && !empty {
		if piece, is, shown = a.errorPiece(); shown && inspected != nil {
			inspected.input(partError, is, a.visible(piece, is))
		}
	}
	switch {
	case !filtered || empty:
		body := a.body
		if media.KindOf(a.contentType, body, true) == media.JSON {
			body = a.stripDocument(body)
		}
		return errorbody.Append(dst, a.contentType, body)
	case !shown:
		return dst
	}
	out, is, err := a.filter(piece, is, partError)
	switch {
	case err != nil:
		return append(dst, noticeWithheld...)
	case is == manifest.TypeJSON:
		return errorbody.Append(dst, typeJSON, out)
	}
	return media.AppendClipped(dst, bytes.TrimSpace(out), errorbody.Max)
}

// errorPiece is the body of an error answer as plugins get it, and what it is: a document
// where it is one, else its text. What is not text is not shown.
func (a *rendering) errorPiece() (piece []byte, is string, shown bool) {
	switch media.KindOf(a.contentType, a.body, true) {
	case media.JSON:
		if v, err := jsonscan.Parse(a.body, jsonscan.DefaultMaxDepth); err == nil {
			a.small = jsonscan.AppendMinified(a.small[:0], v.Raw())
			return a.small, manifest.TypeJSON, true
		}
	case media.XML:
		if doc, err := media.AppendXML(a.form[:0], a.body); err == nil {
			a.form = doc
			return doc, manifest.TypeJSON, true
		}
		return a.body, media.TypeXML, true
	case media.HTML:
		a.form = media.AppendHTMLText(a.form[:0], a.body)
		return a.form, media.TypeText, true
	case media.Text, media.Stream:
	default:
		return nil, "", false
	}
	return a.body, media.TypeText, true
}

// filterText gives the text that the agent would read to the plugins.
func (a *rendering) filterText(mediaType string) error {
	if i := a.inspection(); i != nil {
		i.input(partAnswer, mediaType, a.visible(a.text, mediaType))
	}
	if len(a.ready.Plugins) == 0 && !a.ready.Answer.Redact {
		return nil
	}
	out, _, err := a.filter(a.text, mediaType, partAnswer)
	a.text = out
	return err
}

// filterFile gives a file to the plugins and returns what is left of it, and the type
// that is shown of it.
func (a *rendering) filterFile(file []byte, m string) (out []byte, shown string, err error) {
	if i := a.inspection(); i != nil {
		i.input(partAnswer, media.FileType([]byte(m)), nil)
	}
	if len(a.ready.Plugins) == 0 && !a.ready.Answer.Redact {
		return file, m, nil
	}
	if out, _, err = a.filter(file, media.FileType([]byte(m)), partAnswer); err != nil {
		return nil, "", err
	}
	if shown = m; a.redacts() && media.Shown(m) == "" {
		shown = media.TypeBinary
	}
	return out, shown, nil
}

// filterNextPage leaves the arguments of the next page out, which come from the answer
// before it was filtered, unless the filters leave them as they are.
func (a *rendering) filterNextPage() {
	if len(a.next) == 0 || !a.redacts() || a.ready.Answer.Redact { // of its own settings nextPage reads what they left
		return
	}
	// The room around the arguments makes a document of them.
	a.item = append(append(append(a.item[:0], '{'), a.next...), '}')
	out, is, err := a.filter(a.item, manifest.TypeJSON, partMetadata)
	if err != nil || is != manifest.TypeJSON || !bytes.Equal(out, jsonscan.AppendMinified(nil, a.visible(a.item, manifest.TypeJSON))) {
		a.next = a.next[:0]
	}
}

// decodeBase64 appends what a member of an MCP server's result holds to dst.
func decodeBase64(dst []byte, v jsonscan.Value) ([]byte, error) {
	return base64.StdEncoding.AppendDecode(dst, v.AppendText(nil))
}

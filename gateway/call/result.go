package call

import (
	"encoding/base64"
	"strings"

	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
)

// result writes the members of the MCP result (MCP 2026-07-28 "CallToolResult") without
// hidden characters.
func (x *exchange) result() error {
	mark := len(x.dst)
	from, to := x.appendResult()
	if len(x.bound.Values) > 0 && x.converted() {
		x.dst, from, to = append(x.dst[:mark], x.bound.Redact(x.dst[mark:])...), 0, 0
	}
	x.stripResult(mark, from, to)
	return nil
}

// converted reports whether the answer is of an HTTP API and was not JSON: what the marks of
// a web page, of XML, or characters that are removed split, such as a credential, is together
// in what is made of it.
func (x *exchange) converted() bool {
	switch {
	case x.members != nil || x.ready == nil:
		return false
	case !x.answer.isJSON:
		return true
	}
	return media.KindOf(x.answer.contentType, x.answer.body, x.ready.JSON) == media.XML // which was made JSON
}

// appendResult appends the members to dst. dst[from:to] is a string of them that is known
// to have no hidden characters; nothing when from is to.
func (x *exchange) appendResult() (from, to int) {
	if x.failed != nil {
		x.failure = appendProblem(x.failure[:0], x.failed)
		if x.link != "" {
			x.failure = appendLink(x.failure, x.link)
		}
		x.answer.text, x.answer.media = x.failure, ""
	}
	if x.failed == nil && x.members != nil {
		x.dst = append(x.dst, x.members...)
		return 0, 0
	}
	if x.answer.media != "" {
		x.dst = append(x.appendNotesText(x.appendMedia(x.dst)), ']')
		return 0, 0
	}
	x.dst = append(x.dst, `"content":[{"type":"text","text":`...)
	from = len(x.dst)
	var plain bool
	if x.dst, plain = jsonscan.AppendPlain(x.dst, x.answer.text); !plain {
		from = len(x.dst)
	}
	to = len(x.dst)
	x.dst = append(x.appendNotesText(append(x.dst, '}')), ']')
	switch {
	case x.failed != nil || x.answer.isError:
		x.dst = append(x.dst, `,"isError":true`...)
	case x.answer.structured == nil:
	case x.answer.structured[0] == '{':
		x.dst = append(append(x.dst, `,"structuredContent":`...), x.answer.structured...)
	default: // MCP wants an object
		x.dst = append(append(append(x.dst, `,"structuredContent":{"result":`...), x.answer.structured...), '}')
	}
	return from, to
}

// appendMedia writes an image, a sound, or a text that says what it is and the
// file behind it.
func (x *exchange) appendMedia(dst []byte) []byte {
	kind, _, _ := strings.Cut(x.answer.media, "/")
	dst = append(dst, `"content":[{"type":"`...)
	data, mime := `","data":"`, `","mimeType":`
	if kind != "image" && kind != "audio" {
		dst = append(dst, `text","text":`...)
		dst = jsonscan.AppendString(dst, x.answer.text)
		dst = append(dst, `},{"type":"resource","resource":{"uri":`...)
		dst = jsonscan.AppendStringOf(dst, "sluice://"+x.ts.Slug+"/"+x.tool.Name)
		dst = append(dst, `,"blob":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, x.answer.file)
		dst = append(dst, mime...)
		dst = jsonscan.AppendStringOf(dst, x.answer.media)
		return append(dst, `}}`...)
	}
	dst = append(dst, kind...)
	dst = append(dst, data...)
	dst = base64.StdEncoding.AppendEncode(dst, x.answer.text)
	dst = append(dst, mime...)
	dst = jsonscan.AppendStringOf(dst, x.answer.media)
	return append(dst, '}')
}

// appendNotesText appends the lines that are a text of their own.
func (x *exchange) appendNotesText(dst []byte) []byte {
	if len(x.notes) == 0 || x.failed != nil {
		return dst
	}
	return append(jsonscan.AppendString(append(dst, `,{"type":"text","text":`...), x.notes), '}')
}

// appendProblem appends what an agent reads of a problem: the fault, what to do,
// and each single fault with its place on a line of its own.
func appendProblem(dst []byte, p *problem.Error) []byte {
	if len(p.Parts) == 0 {
		return append(dst, p.Error()...)
	}
	head := p.Detail
	if i := strings.Index(head, ": "+p.Parts[0].Error()); i >= 0 && len(p.Parts) > 1 {
		head = head[:i] // the faults follow
	}
	dst = append(dst, head...)
	if p.Remedy != "" {
		dst = append(append(append(dst, " ("...), p.Remedy...), ')')
	}
	for _, part := range p.Parts {
		dst = append(dst, "\n- "...)
		dst = append(dst, part.Error()...)
	}
	return dst
}

// filterFailure replaces what went wrong at the upstream where something redacts: such
// a text may repeat what the upstream said, cut anywhere. What Sluice itself refuses
// stays as it is.
func (x *exchange) filterFailure() {
	if x.failed == nil || !x.asked || x.link != "" || !x.redacts() {
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

package call

import (
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/gateway/errorbody"
	"github.com/sluicegate/sluice/gateway/media"
	"github.com/sluicegate/sluice/gateway/upstream"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/registry"
)

const (
	// maxBinary is the largest file of another kind that is passed on, before base64:
	// a client that shows it to a model as text pays for every byte.
	maxBinary = 256 << 10
	// maxMedia is the largest image or sound that is passed on, before base64.
	maxMedia = 4 << 20
)

// compress decides what the agent reads.
func (a *rendering) compress() error {
	if err := a.write(); err != nil {
		return err
	}
	a.appendNotes()
	return nil
}

// write writes the text, or describes the file.
func (a *rendering) write() error {
	if a.status < 200 || a.status > 299 {
		a.statusFailure()
		return nil
	}
	if len(a.body) == 0 || a.broken && len(bytes.TrimSpace(a.body)) == 0 {
		a.remark = nil
		a.failure = fmt.Appendf(a.failure[:0], "Done. The API answered HTTP %d without content.", a.status)
		a.text = a.failure
		return nil
	}
	if a.isText {
		a.text, a.isJSON = a.small, false
		a.cut()
		return nil
	}
	switch k := media.KindOf(a.contentType, a.body, a.ready.JSON); k {
	case media.JSON, media.Stream:
		switch {
		case !a.isJSON && media.IsProse(a.body):
			return a.prose(a.body, media.TypeText)
		case !a.isJSON:
			a.malformed()
		case a.verbatim:
			a.whole(k)
		default:
			a.encode()
			if k == media.JSON {
				a.nextPage(a.body)
			}
		}
		return nil
	case media.XML:
		if a.isJSON {
			a.encode()
			a.nextPage(a.small) // the body is no JSON
			return nil
		}
		return a.prose(a.body, media.TypeXML)
	case media.HTML:
		switch {
		case a.ready.JSON:
			a.unexpectedPage()
			return nil
		case a.ready.Answer.Profile == registry.ProfileConcise:
			a.small = media.AppendMarkdown(a.small[:0], a.body)
			return a.prose(a.small, media.TypeMarkdown)
		}
		return a.prose(a.body, media.TextType(k, a.contentType))
	case media.Text:
		return a.prose(a.body, media.TextType(k, a.contentType))
	default:
		return a.binary(k)
	}
}

// prose is an answer that is text of a media type: filtered, then cut at the budget.
func (a *rendering) prose(text []byte, mediaType string) error {
	a.text = text
	if err := a.filterText(mediaType); err != nil {
		return err
	}
	a.cut()
	return nil
}

// binary is an answer that is an image, a sound or another file. What is too large to
// be passed on is only described.
func (a *rendering) binary(k media.Kind) error {
	shown := string(bytes.ToValidUTF8(media.Type(a.contentType), nil))
	seen, most := k == media.Image || k == media.Audio, maxBinary
	if seen {
		most = maxMedia
	}
	if len(a.body) > most {
		if a.redacts() {
			shown = media.Shown(shown)
		}
		a.describeBinary(shown)
		return nil
	}
	var err error
	if a.file, shown, err = a.filterFile(a.body, shown); err != nil {
		return err
	}
	if a.media = shown; seen {
		if shown == media.TypeBinary { // not the type that it came with
			a.media = "image/*"
			if k == media.Audio {
				a.media = "audio/*"
			}
		}
		a.text = a.file
		return nil
	}
	a.describeBinary(shown)
	if a.media == "" {
		a.media = media.TypeBinary
	}
	return nil
}

// cut pages a text that is over the budget.
func (a *rendering) cut() {
	budget := a.budget()
	if budget > 0 && tokens.Exceeds(a.text, budget) {
		a.page()
	}
}

// whole is an answer as it came, unless it is over the budget: then it is cut at
// whole items of its minified form, or at whole lines.
func (a *rendering) whole(k media.Kind) {
	body := a.stripDocument(a.body)
	a.text, a.isDocument = body, k == media.JSON
	budget := a.budget()
	if budget > 0 && a.pages.Exceeds(a.text, budget) {
		if a.isJSON = k == media.JSON && !a.deep; a.isJSON {
			v := jsonscan.Trusted(body) // transform validated it
			if a.minified {
				a.spare = append(a.spare[:0], v.Raw()...)
			} else {
				a.spare = jsonscan.AppendMinified(a.spare[:0], v.Raw())
			}
			a.small, a.spare = a.spare, a.small
		}
		a.page()
		a.isJSON, a.isDocument = true, false
	}
}

// fail makes text the answer, which says that the call failed.
func (a *rendering) fail(text []byte) { a.failure, a.text, a.isError = text, text, true }

// statusFailure writes what an agent can use of an error answer: the status, the
// API's own message, and what to do.
func (a *rendering) statusFailure() {
	f := fmt.Appendf(a.failure[:0], "HTTP %d", a.status)
	if s := fasthttp.StatusMessage(a.status); s != "Unknown Status Code" {
		f = append(append(f, ' '), s...)
	}
	mark := len(f)
	if f = a.appendErrorBody(append(f, ": "...)); len(f) == mark+2 {
		f = f[:mark]
	}
	switch {
	case a.status == fasthttp.StatusUnauthorized && len(a.rules) > 0:
		f = fmt.Appendf(f, "\nThe API refused the credential of this toolset, sent as %s. Its operator must check the key, the name and the prefix for %s.", a.rules, a.ts.Slug)
	case a.status == fasthttp.StatusUnauthorized:
		f = fmt.Appendf(f, "\nThe API wants authentication and this toolset has none for it. Its operator must configure it for %s.", a.ts.Slug)
	case a.status == fasthttp.StatusForbidden && len(a.rules) > 0:
		f = fmt.Appendf(f, "\nThe key of this toolset, sent as %s, may not do this. Use another tool, or ask the operator for a key with more rights.", a.rules)
	case a.status == fasthttp.StatusTooManyRequests, a.status == fasthttp.StatusServiceUnavailable:
		if after, seconds := upstream.RetryAfter(a.header.Header(fasthttp.HeaderRetryAfter)); seconds {
			f = fmt.Appendf(f, "\nTry again after %s seconds.", after)
		} else if after != nil {
			f = fmt.Appendf(f, "\nTry again after %s.", after)
		}
	case a.status >= 300 && a.status < 400:
		if to := a.header.Header(fasthttp.HeaderLocation); len(to) > 0 {
			f = append(f, "\nThe redirect was not followed; the base URL of the toolset may be wrong."...)
		}
	}
	a.fail(f)
}

// malformed says that an answer claims to be JSON and is not.
func (a *rendering) malformed() {
	a.why = "its body is not valid JSON"
	f := fmt.Appendf(a.failure[:0], "The API answered HTTP %d with a body that is not valid JSON", a.status)
	if _, err := jsonscan.Parse(a.body, 0); err != nil {
		f = fmt.Appendf(f, " (%s)", err)
	}
	a.fail(a.appendFiltered(append(f, ". It begins: "...), a.stripDocument(a.body), errorbody.Max))
}

// unexpectedPage says that a web page came where JSON was announced: a login
// page, a proxy's error, a wrong base URL.
func (a *rendering) unexpectedPage() {
	a.why = "it is a web page instead of JSON; the base URL may be wrong, or a login is in between"
	f := fmt.Appendf(a.failure[:0], "The API answered HTTP %d with a web page instead of JSON; the base URL of the toolset may be wrong, or a login is in between. The page says: ", a.status)
	a.form = media.AppendHTMLText(a.form[:0], a.body)
	a.fail(a.appendFiltered(f, a.form, errorbody.Max))
}

// describeBinary says that a file of a media type came.
func (a *rendering) describeBinary(mediaType string) {
	f := fmt.Appendf(a.failure[:0], "The API answered HTTP %d with %d bytes of ", a.status, len(a.body))
	f = append(media.AppendClipped(f, []byte(mediaType), 100), ", which is not text."...)
	a.failure, a.text = f, f
}

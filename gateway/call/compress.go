package call

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

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
	// maxFailure is the longest part of an error's body that is repeated.
	maxFailure = 2000
)

// compress decides what the agent reads.
func (x *exchange) compress() error {
	if err := x.write(); err != nil {
		return err
	}
	x.appendNotes()
	return nil
}

// write writes the text, or describes the file.
func (x *exchange) write() error {
	if x.ready.MCP != nil && !x.inItem {
		return nil // item by item, in transform
	}
	if x.status < 200 || x.status > 299 {
		x.statusFailure()
		return nil
	}
	if len(x.body) == 0 {
		x.failure = append(x.failure[:0], "Done. The API answered HTTP "...)
		x.failure = strconv.AppendInt(x.failure, int64(x.status), 10)
		x.text = append(x.failure, " without content."...)
		x.failure = x.text
		return nil
	}
	a := x.ready.Answer
	if x.asText {
		x.text, x.out.JSON = x.small, false
		x.cut()
		return nil
	}
	switch k := kindOf(x.contentType, x.body, x.ready.JSON); k {
	case kindJSON, kindStream:
		switch {
		case !x.out.JSON:
			x.malformed()
		case x.asItCame:
			x.whole(k)
		default:
			x.encode()
			if k == kindJSON {
				x.nextPage()
			}
		}
		return nil
	case kindXML:
		if x.out.JSON {
			x.encode()
			return nil
		}
		return x.prose(x.body, mediaXML)
	case kindHTML:
		switch {
		case x.ready.JSON:
			x.unexpectedPage()
			return nil
		case a.Profile == registry.ProfileConcise:
			x.small = appendMarkdown(x.small[:0], x.body)
			return x.prose(x.small, mediaMarkdown)
		}
		return x.prose(x.body, textType(k, x.contentType))
	case kindText:
		return x.prose(x.body, textType(k, x.contentType))
	default:
		return x.binary(k)
	}
}

// prose is an answer that is text of a media type: filtered, then cut at the budget.
func (x *exchange) prose(text []byte, mediaType string) error {
	x.text = text
	if err := x.filterText(mediaType); err != nil {
		return err
	}
	x.cut()
	return nil
}

// binary is an answer that is an image, a sound or another file. What is too large to
// be passed on is only described.
func (x *exchange) binary(k kind) error {
	shown := string(bytes.ToValidUTF8(mediaType(x.contentType), nil))
	seen, most := k == kindImage || k == kindAudio, maxBinary
	if seen {
		most = maxMedia
	}
	if len(x.body) > most {
		if x.redacts() {
			shown = shownMediaType(shown)
		}
		x.describeBinary(shown)
		return nil
	}
	var err error
	if x.file, shown, err = x.filterFile(x.body, shown); err != nil {
		return err
	}
	if x.media = shown; seen {
		if shown == mediaBinary { // not the type that it came with
			x.media = "image/*"
			if k == kindAudio {
				x.media = "audio/*"
			}
		}
		x.text = x.file
		return nil
	}
	x.describeBinary(shown)
	if x.media == "" {
		x.media = mediaBinary
	}
	return nil
}

// cut pages a text that is over the budget.
func (x *exchange) cut() {
	budget := x.budget()
	if budget > 0 && len(x.text) > budget {
		if x.tokens = tokens.Estimate(x.text); x.tokens > budget {
			x.page()
		}
	}
}

// whole is an answer as it came, unless it is over the budget: then it is cut at
// whole items of its minified form, or at whole lines.
func (x *exchange) whole(k kind) {
	body := x.stripDocument(x.body)
	x.text, x.pure = body, k == kindJSON
	budget := x.budget()
	if budget > 0 && len(x.text) > budget {
		if x.tokens = tokens.Estimate(x.text); x.tokens > budget {
			v, err := jsonscan.Parse(body, jsonscan.DefaultMaxDepth)
			if x.out.JSON = err == nil && k == kindJSON; x.out.JSON {
				x.spare = jsonscan.AppendMinified(x.spare[:0], v.Raw())
				x.small, x.spare = x.spare, x.small
			}
			x.page()
			x.out.JSON, x.pure = true, false
		}
	}
}

// statusFailure writes what an agent can use of an error answer: the status, the
// API's own message, and what to do.
func (x *exchange) statusFailure() {
	f := append(x.failure[:0], "HTTP "...)
	f = strconv.AppendInt(f, int64(x.status), 10)
	if s := fasthttp.StatusMessage(x.status); s != "Unknown Status Code" {
		f = append(append(f, ' '), s...)
	}
	mark := len(f)
	f = append(f, ": "...)
	f = x.appendErrorBody(f)
	if len(f) == mark+2 {
		f = f[:mark]
	}
	switch {
	case x.status == fasthttp.StatusUnauthorized && len(x.creds) > 0:
		f = append(f, "\nThe API refused the credential of this toolset, sent as "...)
		f = append(f, x.rules.String()...)
		f = append(f, ". Its operator must check the key, the name and the prefix for "...)
		f = append(append(f, x.ts.Slug...), '.')
	case x.status == fasthttp.StatusUnauthorized:
		f = append(f, "\nThe API wants authentication and this toolset has none for it. Its operator must configure it for "...)
		f = append(append(f, x.ts.Slug...), '.')
	case x.status == fasthttp.StatusForbidden && len(x.creds) > 0:
		f = append(f, "\nThe key of this toolset, sent as "...)
		f = append(f, x.rules.String()...)
		f = append(f, ", may not do this. Use another tool, or ask the operator for a key with more rights."...)
	case x.status == fasthttp.StatusTooManyRequests, x.status == fasthttp.StatusServiceUnavailable:
		if after, seconds := retryAfter(x.http.Header(fasthttp.HeaderRetryAfter)); after != nil {
			f = append(f, "\nTry again after "...)
			f = append(f, after...)
			if seconds {
				f = append(f, " seconds"...)
			}
			f = append(f, '.')
		}
	case x.status >= 300 && x.status < 400:
		if to := x.http.Header(fasthttp.HeaderLocation); len(to) > 0 {
			f = append(f, "\nThe redirect was not followed; the base URL of the toolset may be wrong."...)
		}
	}
	x.failure, x.text, x.bad = f, f, true
}

// malformed says that an answer claims to be JSON and is not.
func (x *exchange) malformed() {
	f := append(x.failure[:0], "The API answered HTTP "...)
	f = strconv.AppendInt(f, int64(x.status), 10)
	f = append(f, " with a body that is not valid JSON"...)
	if _, err := jsonscan.Parse(x.body, 0); err != nil {
		f = append(append(f, " ("...), err.Error()...)
		f = append(f, ')')
	}
	f = append(f, ". It begins: "...)
	f = x.appendFiltered(f, x.stripDocument(x.body), maxFailure)
	x.failure, x.text, x.bad = f, f, true
}

// unexpectedPage says that a web page came where JSON was announced: a login
// page, a proxy's error, a wrong base URL.
func (x *exchange) unexpectedPage() {
	f := append(x.failure[:0], "The API answered HTTP "...)
	f = strconv.AppendInt(f, int64(x.status), 10)
	f = append(f, " with a web page instead of JSON; the base URL of the toolset may be wrong, or a login is in between. The page says: "...)
	x.form = appendHTMLText(x.form[:0], x.body)
	f = x.appendFiltered(f, x.form, maxFailure)
	x.failure, x.text, x.bad = f, f, true
}

// describeBinary says that a file of a media type came.
func (x *exchange) describeBinary(mediaType string) {
	f := append(x.failure[:0], "The API answered HTTP "...)
	f = strconv.AppendInt(f, int64(x.status), 10)
	f = append(f, " with "...)
	f = strconv.AppendInt(f, int64(len(x.body)), 10)
	f = append(f, " bytes of "...)
	f = appendClipped(f, []byte(mediaType), 100)
	f = append(f, ", which is no text."...)
	x.failure, x.text = f, f
}

// appendClipped appends at most n bytes of b, cut at a character.
func appendClipped(dst, b []byte, n int) []byte {
	mark := len(dst)
	return clip(append(dst, b[:min(len(b), n+utf8.UTFMax)]...), mark, n)
}

// clip cuts what was appended after mark to n bytes and a mark of the cut.
func clip(dst []byte, mark, n int) []byte {
	if len(dst)-mark <= n {
		return dst
	}
	end := mark + n
	for end > mark && !utf8.RuneStart(dst[end]) {
		end--
	}
	return append(dst[:end], " […]"...)
}

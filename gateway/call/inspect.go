package call

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/credentials"
)

const (
	// MaxInspected limits each text of an [Inspection]: a page of an operator's console
	// shows it, and a longer one shows nothing more about the tool.
	MaxInspected = 512 << 10
	// maxInspectedHeaders limits the headers of an inspected request.
	maxInspectedHeaders = 64
)

// Masked stands for a credential in an inspected request.
const Masked = "••••"

// Inspection is what a call sent and received, for the operator of its toolset. It holds
// no credential: the request is read before the credential is put on it, and the answer
// after credentials were taken out of it. Texts are cut at [MaxInspected].
type Inspection struct {
	Method, URL string            // "" unless the tool is an operation of an HTTP API
	Headers     []InspectedHeader // of the request; at most 64, those of credentials with [Masked] in place of the value
	Body        []byte            // of the request, without a credential that travels in it
	ContentType string            // of the answer
	Received    []byte            // the answer as received
	Shaped      []byte            // the same answer as JSON behind the response program and the plugins; nil: it is not JSON, or is as received
	Cut         bool              // a text was cut
}

// InspectedHeader is a header of a request.
type InspectedHeader struct{ Name, Value string }

func (i *Inspection) take(text []byte) []byte {
	if len(text) > MaxInspected {
		text, i.Cut = text[:MaxInspected], true
	}
	return bytes.Clone(text)
}

func (i *Inspection) add(name, value string) {
	if len(i.Headers) < maxInspectedHeaders {
		i.Headers = append(i.Headers, InspectedHeader{name, value})
	}
}

// inspect keeps what the stage that ended left, for whoever asked for it.
func (x *exchange) inspect(s stage) {
	i := x.trace.Inspection
	switch s {
	case stageBuild:
		h := &x.http.Request.Header
		i.Method, i.URL, i.Body = string(h.Method()), string(i.take(x.url)), i.take(x.http.Request.Body())
		for name, value := range h.All() {
			i.add(string(i.take(name)), string(i.take(value)))
		}
	case stageAuth:
		if x.wire != nil {
			x.inspectCredentials()
		}
	case stageSend:
		i.ContentType, i.Received = string(x.contentType), i.take(x.body)
	case stageTransform, stagePlugins:
		if i.Shaped = nil; x.answer.isJSON && !x.answer.verbatim && !x.answer.isText && x.answer.small != nil {
			i.Shaped = i.take(x.answer.small)
		}
	case stageDecode, stageCache, stageCompress, stageResult, stageCount:
	}
}

// inspectCredentials names the headers and parameters that the credential added or
// changed.
func (x *exchange) inspectCredentials() {
	i := x.trace.Inspection
	before := make(map[InspectedHeader]bool, len(i.Headers))
	for _, h := range i.Headers {
		before[h] = true
	}
	masked := map[string]bool{}
	for name, value := range x.http.Request.Header.All() {
		if !before[InspectedHeader{string(name), string(value)}] {
			masked[string(name)] = true
		}
	}
	kept := i.Headers[:0]
	for _, h := range i.Headers {
		if !masked[h.Name] {
			kept = append(kept, h)
		}
	}
	i.Headers = kept
	for name := range x.http.Request.Header.All() {
		if n := string(name); masked[n] {
			i.add(n, Masked)
			masked[n] = false
		}
	}
	names := x.signed.queries
	for _, r := range x.bound.Rules {
		if r.Type == credentials.Query {
			names = append(slices.Clip(names), r.Name)
		}
	}
	for _, name := range names {
		mark := "?"
		if strings.Contains(i.URL, "?") {
			mark = "&"
		}
		i.URL += mark + name + "=" + Masked
	}
}

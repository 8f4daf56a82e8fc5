package call

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/plugins/manifest"
)

const (
	// MaxInspected limits each text of an [Inspection]: a page of an operator's console
	// shows it, and a longer one shows nothing more about the tool.
	MaxInspected = 512 << 10
	// maxInspectedHeaders limits the headers of an inspected request.
	maxInspectedHeaders = 64
	// maxInspectedInputs limits what is kept of an answer of many parts: golden cases are
	// made of it, and the parts of one answer are much alike.
	maxInspectedInputs = 8
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
	Inputs      []InspectedInput  // what third-party plugins get of the answer, bound or not, before any of them ran; at most 8
	Cut         bool              // a text was cut
}

// InspectedInput is a part of an answer as the first plugin gets it.
type InspectedInput struct {
	Part, Type string // sluice.part and sluice.input_type
	Body       []byte // nil: a file
	Cut        bool   // Body is longer, and was cut
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

// input keeps a part of the answer that plugins get; body nil: a file.
func (i *Inspection) input(part, mediaType string, body []byte) {
	if len(i.Inputs) == maxInspectedInputs {
		return
	}
	in := InspectedInput{Part: part, Type: mediaType, Cut: len(body) > MaxInspected}
	if body != nil {
		in.Body = bytes.Clone(body[:min(len(body), MaxInspected)])
	}
	i.Inputs = append(i.Inputs, in)
}

// inspection is where the operator of the toolset reads what went on; nil: nobody asked.
func (in *input) inspection() *Inspection {
	if in.trace == nil {
		return nil
	}
	return in.trace.Inspection
}

// inspectAnswer keeps the JSON document that plugins get.
func (a *rendering) inspectAnswer() {
	i := a.inspection()
	if i == nil || !a.isJSON || a.isError {
		return
	}
	body := a.small
	if a.verbatim {
		body = a.visible(a.body, manifest.TypeJSON)
	}
	i.input(partAnswer, manifest.TypeJSON, body)
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

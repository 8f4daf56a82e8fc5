package arazzo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON value")
	}
	return v, nil
}

func numberOf(n int) json.Number { return json.Number(itoa(n)) }

// textOf is a value inside a text.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	text, err := marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// inQuotes is a text inside a string of JSON.
func inQuotes(s string) string {
	text, err := marshal(s)
	if err != nil {
		return ""
	}
	return string(text[1 : len(text)-1])
}

// stepScope is what the expressions of a step see.
type stepScope struct {
	f        *frame
	s        *Step // nil: the workflow's own
	call     *Call
	response *Response
	nested   map[string]any // outputs of the workflow that the step has run
	holds    bool           // a place among the calls at once, although its call has ended
}

var _ scope = (*stepScope)(nil)

func (sc *stepScope) status() int {
	if sc.response == nil {
		return 0
	}
	return sc.response.Status
}

func (sc *stepScope) message(e *expression) any {
	r := sc.response
	switch e.root {
	case "request":
		return sc.request(e)
	case "self":
		if self := sc.f.r.plan.Document.Self; self != "" {
			return self
		}
		return nil
	}
	if r == nil {
		return nil
	}
	switch e.root {
	case "url":
		return r.URL
	case "method":
		return r.Method
	case "statusCode":
		return numberOf(r.Status)
	}
	switch e.part {
	case "body":
		return r.Body
	case "header":
		if r.Header != nil {
			if v := r.Header(e.name); v != "" {
				return v
			}
		}
	}
	return nil
}

// request is what the document has given for a request: not what a credential adds.
func (sc *stepScope) request(e *expression) any {
	if sc.call == nil {
		return nil
	}
	if e.part == "body" {
		return sc.call.Body
	}
	for _, p := range sc.call.Parameters {
		if p.In == e.part && (p.Name == e.name || p.In == "header" && strings.EqualFold(p.Name, e.name)) {
			return p.Value
		}
	}
	if e.part == "header" && strings.EqualFold(e.name, "content-type") && sc.call.ContentType != "" {
		return sc.call.ContentType
	}
	return nil
}

func (sc *stepScope) inputs() map[string]any  { return sc.f.given }
func (sc *stepScope) outputs() map[string]any { return sc.nested }

func (sc *stepScope) step(id string) map[string]any {
	sc.f.mu.Lock()
	defer sc.f.mu.Unlock()
	return sc.f.steps[id]
}

func (sc *stepScope) workflow(id, part string) map[string]any {
	f := sc.f.r.ended(id)
	switch {
	case f == nil:
		return nil
	case part == "inputs":
		return f.given
	}
	return f.result
}

func (sc *stepScope) source(name, field string) any {
	for _, s := range sc.f.r.plan.Document.Sources {
		switch {
		case s.Name != name:
		case field == "url":
			return s.URL
		case field == "name":
			return s.Name
		case field == "type" && s.Type != "":
			return s.Type
		}
	}
	return nil
}

func (sc *stepScope) component(name string) *Parameter { return sc.f.r.plan.Document.parameters[name] }

// prepare makes the call of a step.
func (sc *stepScope) prepare() (*Call, error) {
	c := &Call{Operation: sc.s.Operation, Headers: sc.s.headers}
	sc.call = c
	own := len(sc.s.parameters)
	for i, p := range slices.Concat(sc.s.parameters, sc.f.w.parameters) {
		if i >= own && (p.In == "" || slices.ContainsFunc(sc.s.parameters, p.same)) {
			continue
		}
		v, err := p.value.read(sc)
		if err != nil {
			return nil, fmt.Errorf("the parameter %s: %w", p.Name, err)
		}
		if at := c.at(p); at >= 0 { // a list has no duplicates, says the specification: the last one is meant
			c.Parameters[at] = Argument{p.Name, p.In, v}
			continue
		}
		c.Parameters = append(c.Parameters, Argument{p.Name, p.In, v})
	}
	b := sc.s.body
	if b == nil {
		return c, nil
	}
	c.HasBody, c.ContentType = true, b.contentType
	payload, err := b.read(sc)
	if err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	c.Body = ReadText(b.contentType, payload)
	for _, r := range b.replacements {
		v, err := r.value.read(sc)
		if err != nil {
			return nil, fmt.Errorf("the body: %w", err)
		}
		if r.path != nil {
			c.Body, err = replaceAll(c.Body, r.path, r.target, v)
		} else {
			c.Body, err = replace(c.Body, r.target, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, small(c.Body)
}

// at is where a parameter is among the arguments; -1: it is not.
func (c *Call) at(p *Parameter) int {
	return slices.IndexFunc(c.Parameters, func(a Argument) bool { return p.same(&Parameter{Name: a.Name, In: a.In}) })
}

// same reports whether two parameters are one: names of headers are without regard to case.
func (p *Parameter) same(q *Parameter) bool {
	return p.In == q.In && (p.Name == q.Name || p.In == "header" && strings.EqualFold(p.Name, q.Name))
}

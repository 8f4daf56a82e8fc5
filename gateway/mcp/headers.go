package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// Headers of the protocol, in the form fasthttp normalises names to.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
)

// HeaderParam is an argument that a 2026-07-28 client must repeat as a header,
// because the tool's input schema marks it with x-mcp-header.
type HeaderParam struct {
	Header string   // "Mcp-Param-Region"
	Path   []string // member names from the arguments down
	Kind   string   // string, integer or boolean
}

// maxHeaderDepth bounds the walk through nested properties.
const maxHeaderDepth = 16

// HeaderParams finds the x-mcp-header marks of an input schema, which must be
// valid JSON. It fails when a mark breaks the rules of MCP 2026-07-28 "Custom
// Headers": clients drop such a tool.
func HeaderParams(inputSchema []byte) ([]HeaderParam, error) {
	if !bytes.Contains(inputSchema, []byte(`"x-mcp-header"`)) {
		return nil, nil
	}
	var out []HeaderParam
	var walk func(schema jsonscan.Value, path []string) error
	walk = func(schema jsonscan.Value, path []string) error {
		if len(path) > maxHeaderDepth {
			return nil
		}
		properties := schema.Get("properties")
		it := properties.Members()
		for it.Next() {
			name, v := string(it.KeyText(nil)), it.Value()
			at := append(slices.Clip(path), name)
			if mark := v.Get("x-mcp-header"); mark.Exists() {
				p := HeaderParam{Header: headerParam + string(mark.AppendText(nil)), Path: at, Kind: string(v.Get("type").AppendText(nil))}
				switch {
				case mark.Kind() != jsonscan.String || !isToken(p.Header[len(headerParam):]):
					return fmt.Errorf("x-mcp-header of %s is not a header name", strings.Join(at, "."))
				case p.Kind != "string" && p.Kind != "integer" && p.Kind != "boolean":
					return fmt.Errorf("x-mcp-header of %s needs the type string, integer or boolean", strings.Join(at, "."))
				}
				for _, o := range out {
					if strings.EqualFold(o.Header, p.Header) {
						return fmt.Errorf("x-mcp-header %s is used twice", p.Header)
					}
				}
				out = append(out, p)
			}
			if err := walk(v, at); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(jsonscan.Trusted(inputSchema), nil); err != nil {
		return nil, err
	}
	return out, nil
}

// checkParams compares the Mcp-Param headers with the arguments; false when it
// answered with an error.
func (x *exchange) checkParams(params []HeaderParam) bool {
	for i := range params {
		p := &params[i]
		v := x.call.Arguments
		for _, name := range p.Path {
			v = v.Get(name)
		}
		h := x.req.Peek(p.Header)
		has := v.Exists() && v.Kind() != jsonscan.Null
		ok := has == (h != nil)
		if ok && has {
			x.text, ok = appendHeaderValue(x.text[:0], h)
			ok = ok && sameValue(v, x.text, &x.scratch)
		}
		if !ok {
			x.failf(fasthttp.StatusBadRequest, codeHeaderMismatch, "header mismatch: a header must repeat its argument:", []byte(p.Header))
			return false
		}
	}
	return true
}

// sameValue compares an argument with a header's text; integers by value, so that
// 1.0 is 1.
func sameValue(v jsonscan.Value, text []byte, scratch *[]byte) bool {
	switch v.Kind() {
	case jsonscan.String:
		return equalText(v, text, scratch)
	case jsonscan.Bool:
		return bytes.Equal(v.Raw(), text)
	case jsonscan.Number:
		return sameInteger(v.Raw(), text)
	}
	return false
}

// sameInteger compares two decimal literals without converting them: sign, then
// digits without leading zeros; a fraction must be zero.
func sameInteger(a, b []byte) bool {
	an, ad, aok := integer(a)
	bn, bd, bok := integer(b)
	return aok && bok && an == bn && bytes.Equal(ad, bd)
}

func integer(b []byte) (negative bool, digits []byte, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		negative, b = true, b[1:]
	}
	whole, fraction, dotted := bytes.Cut(b, []byte("."))
	if len(whole) == 0 || dotted && len(fraction) == 0 || len(bytes.Trim(fraction, "0")) != 0 {
		return false, nil, false
	}
	for _, c := range whole {
		if c < '0' || c > '9' {
			return false, nil, false
		}
	}
	whole = bytes.TrimLeft(whole, "0")
	return negative && len(whole) > 0, whole, true
}

// appendHeaderValue appends the value a header carries: the text itself, or what
// =?base64?…?= encloses. False when that is not valid base64.
func appendHeaderValue(dst, h []byte) ([]byte, bool) {
	h = trim(h)
	const open, end = "=?base64?", "?="
	if len(h) < len(open)+len(end) || !bytes.HasPrefix(h, []byte(open)) || !bytes.HasSuffix(h, []byte(end)) {
		return append(dst, h...), true
	}
	out, err := base64.StdEncoding.AppendDecode(dst, h[len(open):len(h)-len(end)])
	return out, err == nil
}

// equalText compares the text of a JSON string with text.
func equalText(v jsonscan.Value, text []byte, scratch *[]byte) bool {
	if plain, ok := v.Plain(); ok {
		return bytes.Equal(plain, text)
	}
	// Behind the method's text, which may live at the start of the scratch.
	n := len(*scratch)
	*scratch = v.AppendText(*scratch)
	return bytes.Equal((*scratch)[n:], text)
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

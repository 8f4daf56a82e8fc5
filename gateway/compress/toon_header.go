package compress

import (
	"bytes"
	"strconv"

	"github.com/sluicegate/sluice/internal/jsonscan"
)

// toonHeader is what stands in front of an array or a keyed object (§6).
type toonHeader struct {
	key    []byte // as written; nil: none
	n      int
	keyed  bool
	delim  byte
	fields []field // key as JSON, with quotes
	leaves int
	rest   []byte // behind the colon
}

// header reads the header that text begins with; nil when it is none. Strict mode
// refuses what only looks like one.
func (d *toonReader) header(text []byte) (*toonHeader, error) {
	open, colon := unquoted(text, '['), unquoted(text, ':')
	if open < 0 || colon < open || !toonKey(text[:open]) {
		return nil, nil
	}
	h := &toonHeader{delim: ','}
	if open > 0 {
		h.key = text[:open]
	}
	why := h.read(d, text[open+1:])
	switch {
	case why == "":
		return h, nil
	case d.lenient:
		return nil, nil
	}
	return nil, d.fail("%s", why)
}

// read reads a header from behind its bracket on; why is what is wrong with it.
func (h *toonHeader) read(d *toonReader, s []byte) (why string) {
	end := bytes.IndexByte(s, ']')
	if end < 0 {
		return "the bracket of the header is not closed"
	}
	size, s := s[:end], s[end+1:]
	digits := 0
	for digits < len(size) && size[digits] >= '0' && size[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(string(size[:digits]))
	if err != nil || digits > 1 && size[0] == '0' {
		return "between the brackets of a header stands the number of items"
	}
	h.n, size = n, size[digits:]
	if len(size) > 0 && size[0] == ':' {
		h.keyed, size = true, size[1:]
	}
	if len(size) == 1 && (size[0] == '\t' || size[0] == '|') {
		h.delim, size = size[0], nil
	}
	if len(size) > 0 {
		return "behind the number of items stands at most a colon and then a tab or |"
	}
	if len(s) > 0 && s[0] == '{' {
		if h.fields, s, why = d.fields(h, s[1:], 1); why != "" {
			return why
		}
	}
	switch {
	case len(s) == 0 || s[0] != ':':
		return "a colon must follow the header"
	case h.keyed && h.fields == nil:
		return "a header of keyed rows needs fields"
	}
	if h.rest = trimSpaces(s[1:]); h.fields != nil && len(h.rest) > 0 {
		return "values stand in rows below a header with fields"
	}
	return ""
}

// fields reads names up to the closing brace and returns what is behind it.
func (d *toonReader) fields(h *toonHeader, s []byte, depth int) (list []field, rest []byte, why string) {
	const broken = "the fields of the header are malformed"
	if depth > jsonscan.DefaultMaxDepth {
		return nil, s, "the fields of the header are nested too deeply"
	}
	seen := map[string]bool{}
	for {
		end := 0
		if len(s) > 0 && s[0] == '"' {
			if end = quotedEnd(s); end < 0 {
				return nil, s, broken
			}
		} else {
			for end < len(s) && s[end] != h.delim && s[end] != '{' && s[end] != '}' {
				if c := s[end]; c == ',' || c == '|' || c == '\t' {
					return nil, s, "the fields of the header are not separated as its brackets say"
				}
				end++
			}
		}
		name := trimSpaces(s[:end])
		if end == len(s) || len(name) == 0 {
			return nil, s, broken
		}
		key, err := d.name(name)
		if err != nil || seen[string(key)] && !d.lenient {
			return nil, s, broken
		}
		seen[string(key)] = true
		f := field{key: key}
		if s = s[end:]; s[0] == '{' {
			if f.sub, s, why = d.fields(h, s[1:], depth+1); why != "" {
				return nil, s, why
			}
		} else {
			h.leaves++
		}
		list = append(list, f)
		switch {
		case len(s) > 0 && s[0] == '}':
			return list, s[1:], ""
		case len(s) == 0 || s[0] != h.delim:
			return nil, s, broken
		}
		s = s[1:]
	}
}

package http1

import (
	"bytes"
	"math"
	"strings"
)

const (
	// maxMethod is the length of a method; the longest that is registered has 17.
	maxMethod = 32
	// maxLengthDigits keeps a Content-Length below 2^63.
	maxLengthDigits = 18
)

// chunked is the length of a body that ends with its last chunk.
const chunked = -1

// Classes of bytes (RFC 9110 §5.6.2, §5.5, RFC 3986 §3.2.2).
const (
	isToken  = 1 << iota // tchar
	isValue              // field-vchar, SP and HTAB
	isTarget             // what a request target is made of
	isHost               // what a registered name or IPv4 address is made of
	isHex
)

var class = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= isToken | isHost
		t[c-'a'+'A'] |= isToken | isHost
	}
	for c := '0'; c <= '9'; c++ {
		t[c] |= isToken | isHost | isHex
	}
	for _, c := range "abcdefABCDEF" {
		t[c] |= isHex
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] |= isToken
	}
	for _, c := range "-._~" {
		t[c] |= isHost
	}
	for c := 0x20; c <= 0xff; c++ {
		if c != 0x7f {
			t[c] |= isValue
		}
	}
	t['\t'] |= isValue
	for c := 0x21; c <= 0x7e; c++ {
		t[c] |= isTarget
	}
	for _, c := range "#\"<>\\^`{|}" { // none of them is in a URI (RFC 3986 §2)
		t[c] &^= isTarget
	}
	return t
}()

// all reports whether every byte is of a class.
func all(b []byte, of uint8) bool {
	for _, c := range b {
		if class[c]&of == 0 {
			return false
		}
	}
	return true
}

// span is a part of the buffer that a head is read from.
type span struct{ from, to int }

// head is the header block of one request as far as it was read. It is fed by
// advance with a buffer that grows at its end.
type head struct {
	line   int  // where the line begins that has not ended yet
	looked int  // up to here there is no end of it
	blank  bool // an empty line came before the request line
	begun  bool // the request line was read

	start      int  // of the request line
	old        bool // HTTP/1.0
	authority  span // of a target in absolute form
	host       span
	hosts      int
	length     int64 // of the body; chunked
	sized      bool  // Content-Length was there
	coded      bool  // Transfer-Encoding was there
	expects    bool  // 100-continue
	authorized bool  // has the header Authorization

	framing [3]span // lines that say how the body is framed
	framed  int
}

// advance reads the lines of b that are whole and were not read yet. It returns true
// when the block ended: it is b[:h.line] then, and what follows is the body.
func (h *head) advance(b []byte) (bool, error) {
	for {
		i := bytes.IndexByte(b[h.looked:], '\n')
		if i < 0 {
			h.looked = len(b)
			return false, nil
		}
		from, end := h.line, h.looked+i
		h.line, h.looked = end+1, end+1
		if end == from || b[end-1] != '\r' {
			return false, errLine
		}
		line := b[from : end-1]
		var err error
		switch {
		case !h.begun && len(line) == 0 && !h.blank:
			h.blank = true // RFC 9112 §2.2: one that old clients send behind a body
		case !h.begun:
			h.begun, h.start = true, from
			err = h.request(line)
		case len(line) == 0:
			return true, h.finish(b)
		default:
			err = h.field(line, span{from, end + 1})
		}
		if err != nil {
			return false, err
		}
	}
}

// request reads the request line (RFC 9112 §3).
func (h *head) request(line []byte) error {
	i := bytes.IndexByte(line, ' ')
	if i <= 0 || i > maxMethod || !all(line[:i], isToken) {
		return errMethod
	}
	method, rest := line[:i], line[i+1:]
	j := bytes.IndexByte(rest, ' ')
	if j <= 0 {
		return errRequestLine
	}
	target, version := rest[:j], rest[j+1:]
	switch {
	case string(version) == "HTTP/1.1":
	case string(version) == "HTTP/1.0":
		h.old = true
	case len(version) == len("HTTP/1.1") && string(version[:5]) == "HTTP/" && digit(version[5]) && version[6] == '.' && digit(version[7]):
		return errVersion
	default:
		return errRequestLine
	}
	if string(method) == "CONNECT" {
		return errConnect
	}
	if !all(target, isTarget) || !escapes(target) {
		return errTarget
	}
	switch {
	case target[0] == '/':
		return nil
	case len(target) == 1 && target[0] == '*':
		if string(method) != "OPTIONS" { // RFC 9112 §3.2.4
			return errTarget
		}
		return nil
	}
	// RFC 9112 §3.2.2: a server must take the absolute form, whose authority counts
	// then. It has to be that of the Host header, or the two are a riddle.
	skip := len("http://")
	if len(target) > skip && bytes.EqualFold(target[:skip], []byte("https:/")) {
		skip++
	}
	if len(target) <= skip || !bytes.EqualFold(target[:skip], []byte("https://")) && !bytes.EqualFold(target[:skip], []byte("http://")) {
		return errTarget
	}
	authority := target[skip:]
	if k := bytes.IndexAny(authority, "/?"); k >= 0 {
		authority = authority[:k]
	}
	if !host(authority) {
		return errTarget
	}
	h.authority.from = h.start + i + 1 + skip
	h.authority.to = h.authority.from + len(authority)
	return nil
}

func digit(c byte) bool { return c-'0' <= 9 }

// escapes reports whether each % begins two hexadecimal digits (RFC 3986 §2.1).
func escapes(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '%')
		if i < 0 {
			return true
		}
		if len(b) < i+3 || class[b[i+1]]&isHex == 0 || class[b[i+2]]&isHex == 0 {
			return false
		}
		b = b[i+3:]
	}
}

// host reports whether b is a host with or without a port (RFC 3986 §3.2.2): a name,
// an IPv4 address, or an IPv6 address in brackets.
func host(b []byte) bool {
	var name []byte
	if len(b) > 0 && b[0] == '[' {
		i := bytes.IndexByte(b, ']')
		if i < 0 {
			return false
		}
		for _, c := range b[1:i] {
			if class[c]&isHex == 0 && c != ':' && c != '.' {
				return false
			}
		}
		name, b = b[1:i], b[i+1:]
	} else {
		i := bytes.IndexByte(b, ':')
		if i < 0 {
			i = len(b)
		}
		name, b = b[:i], b[i:]
		if !all(name, isHost) {
			return false
		}
	}
	if len(name) == 0 || len(b) > len(":65535") {
		return false
	}
	port := 0
	for i, c := range b {
		if i == 0 && c != ':' || i > 0 && !digit(c) {
			return false
		}
		if i > 0 {
			port = port*10 + int(c-'0')
		}
	}
	return port <= math.MaxUint16
}

// field reads one header line (RFC 9112 §5), which is at in the buffer.
func (h *head) field(line []byte, at span) error {
	if line[0] == ' ' || line[0] == '\t' {
		return errFold
	}
	i := bytes.IndexByte(line, ':')
	if i <= 0 || !all(line[:i], isToken) {
		return errName
	}
	name, value := line[:i], line[i+1:]
	if !all(value, isValue) {
		return errValue
	}
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	before := i + 1 + len(line[i+1:]) - len(value) // of the line, in front of the value
	for len(value) > 0 && (value[len(value)-1] == ' ' || value[len(value)-1] == '\t') {
		value = value[:len(value)-1]
	}
	switch {
	case len(name) == 4 && bytes.EqualFold(name, []byte("Host")):
		if h.hosts++; h.hosts > 1 || !host(value) {
			return errHost
		}
		h.host = span{at.from + before, at.from + before + len(value)}
	case len(name) == 6 && bytes.EqualFold(name, []byte("Expect")):
		if h.expects || !bytes.EqualFold(value, []byte("100-continue")) {
			return errExpect
		}
		h.expects = true
		h.frames(at)
	case len(name) == 13 && bytes.EqualFold(name, []byte("Authorization")):
		if h.authorized { // whoever stands in front may have judged the other one
			return errTwoCredentials
		}
		h.authorized = true
	case len(name) == 14 && bytes.EqualFold(name, []byte("Content-Length")):
		if h.sized || len(value) == 0 || len(value) > maxLengthDigits {
			return errLength
		}
		var n int64
		for _, c := range value {
			if !digit(c) {
				return errLength
			}
			n = n*10 + int64(c-'0')
		}
		h.sized, h.length = true, n
		h.frames(at)
	case len(name) == 17 && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		if h.coded {
			return errCoding
		}
		h.coded = true
		h.frames(at)
		return coding(value)
	}
	return nil
}

func (h *head) frames(at span) {
	h.framing[h.framed] = at
	h.framed++
}

// coding judges a Transfer-Encoding (RFC 9112 §6.1, §7): chunked alone is served.
func coding(value []byte) error {
	if bytes.EqualFold(value, []byte("chunked")) {
		return nil
	}
	found := false
	for part := range strings.SplitSeq(string(value), ",") {
		part = strings.Trim(part, " \t")
		if part == "" || !all([]byte(part), isToken) || found { // chunked is the last, and once
			return errCoding
		}
		found = strings.EqualFold(part, "chunked")
	}
	return errUnknownCoding
}

// finish judges the block as a whole.
func (h *head) finish(b []byte) error {
	switch {
	case h.sized && h.coded:
		return errBoth
	case h.coded && h.old:
		return errCoding
	case h.hosts == 0 && !h.old:
		return errHost
	case h.hosts > 0 && h.authority.to > 0 && !bytes.EqualFold(b[h.authority.from:h.authority.to], b[h.host.from:h.host.to]):
		return errAuthority
	case h.coded:
		h.length = chunked
	}
	if h.old || h.length == 0 {
		h.expects = false // RFC 9110 §10.1.1: nothing is waited for
	}
	return nil
}

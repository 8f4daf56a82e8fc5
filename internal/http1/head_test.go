package http1

import (
	"errors"
	"testing"
)

// TestHeadIsRefused: what is wrong with a head is told here, whatever the server behind
// would think of it.
func TestHeadIsRefused(t *testing.T) {
	f := func(want *Error, raw string) {
		t.Helper()
		for _, piece := range []int{1, len(raw)} {
			var h head
			var whole bool
			var err error
			for n := piece; n <= len(raw) && !whole && err == nil; n += piece {
				whole, err = h.advance([]byte(raw[:n]))
			}
			if e := new(Error); !errors.As(err, &e) || e != want {
				t.Errorf("%q in pieces of %d: whole %v, %v; want: %v", raw, piece, whole, err, want)
			}
		}
	}
	line := func(want *Error, request string) { t.Helper(); f(want, request+"\r\nHost: h\r\n\r\n") }
	field := func(want *Error, lines string) { t.Helper(); f(want, "GET / HTTP/1.1\r\nHost: h\r\n"+lines+"\r\n\r\n") }

	f(errLine, "GET / HTTP/1.1\n")
	f(errLine, "\n")
	f(errMethod, "\r\n\r\n")
	for _, m := range []string{" ", "", "G\x00T ", "G{T "} {
		line(errMethod, m+"/ HTTP/1.1")
	}
	for _, l := range []string{"GET /", "GET  HTTP/1.1", "GET / HTTP/1", "GET / HTTP/1.1 ", "GET / HTTP/a.1", "GET / HTTP/1.a", "GET / HTTP/1:1", "GET / HTTP/::1", "GET / http/1.1", "GET / HTTP-1.1"} {
		line(errRequestLine, l)
	}
	for _, v := range []string{"1.2", "2.0", "0.9", "9.9"} {
		line(errVersion, "GET / HTTP/"+v)
	}
	line(errConnect, "CONNECT h:80 HTTP/1.1")
	for _, target := range []string{
		"/%", "/%4", "/%4g", "/%g4", "/%41%", "/%41%z", "/\x7f", "/\x80", "/\xff", "/#", "/<", "/\"", "/{", "*", "x*", "x", "h", "h:80", "http", "http:", "http:/", "http://", "http:///", "http://?",
		"https://", "https:///x", "httpx://h/", "ftp://host/", "://h", "http://u@h/", "http://h:a/", "http://[::1/", "http://h%/",
	} {
		line(errTarget, "GET "+target+" HTTP/1.1")
	}
	line(errTarget, "OPTIONS ** HTTP/1.1")
	line(errTarget, "OPTIONS *x HTTP/1.1")
	f(errHost, "GET / HTTP/1.1\r\n\r\n")
	f(errHost, "GET / HTTP/1.1\r\nX: h\r\n\r\n")
	f(errHost, "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n")
	f(errHost, "GET / HTTP/1.0\r\nHost: h\r\nHOST: h\r\n\r\n")
	for _, h := range []string{"", ":", ":80", "[]", "[]:80", "[", "[::1", "[::1]80", "[::1]x", "[::g]", "[v1.x]", "h:655350", "h:65536", "h:99999", "h:x", "h:8x", "h::1", "h/", "h,h", "h h", "u@h", "h%41", "h_x/", "é", "h\\"} {
		f(errHost, "GET / HTTP/1.1\r\nHost: "+h+"\r\n\r\n")
	}
	f(errAuthority, "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n")
	f(errAuthority, "GET http://h:80/ HTTP/1.1\r\nHost: h\r\n\r\n")
	f(errAuthority, "GET http://h/ HTTP/1.1\r\nHost: h:80\r\n\r\n")
	f(errAuthority, "GET https://h/ HTTP/1.1\r\nHost: g\r\n\r\n")
	field(errFold, " folded: x")
	field(errTwoCredentials, "Authorization: Bearer a\r\nauthorization: Bearer a")
	field(errTwoCredentials, "AUTHORIZATION: \r\nX: y\r\nAuthorization: Basic eDp5")
	field(errFold, "\tfolded: x")
	for _, l := range []string{"name", ": x", "na me: x", "name : x", "na\x00me: x", "(name): x", "n\xc3\xa9: x"} {
		field(errName, l)
	}
	for _, l := range []string{"X: \x00", "X: a\rb", "X: \x1f", "X: \x7f", "X:\x0b"} {
		field(errValue, l)
	}
	for _, v := range []string{"", "+1", "-1", "1,1", "1 1", "0x1", "1:", "1/", "a", "1.0"} {
		field(errLength, "Content-Length: "+v)
	}
	field(errLength, "Content-Length: 1\r\nContent-Length: 1")
	field(errLength, "Content-Length: 0\r\ncontent-length: 0")
	field(errExpect, "Expect: 200-ok")
	field(errExpect, "Expect:")
	field(errExpect, "Expect: 100-continue\r\nExpect: 100-continue")
	field(errCoding, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")
	for _, v := range []string{"", ",", "chunked,", ",chunked", "chunked, gzip", "chunked, chunked", "g{ip, chunked"} {
		field(errCoding, "Transfer-Encoding: "+v)
	}
	field(errCoding, "Transfer-Encoding: chunked x")
	for _, v := range []string{"gzip", "identity", "gzip, chunked", "xchunked", "gzip\t,\tchunked"} {
		field(errUnknownCoding, "Transfer-Encoding: "+v)
	}
	field(errBoth, "Content-Length: 0\r\nTransfer-Encoding: chunked")
	field(errBoth, "Transfer-Encoding: chunked\r\nContent-Length: 5")
	f(errCoding, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")
}

// TestHeadIsRead: what is unusual and allowed, and how its body is framed.
func TestHeadIsRead(t *testing.T) {
	f := func(raw, host string, length int64, expects bool) {
		t.Helper()
		for _, piece := range []int{1, len(raw)} {
			var h head
			b := []byte(raw + "next")
			whole := false
			for n := piece; n <= len(raw); n += piece {
				if whole {
					t.Fatalf("%q: whole before its end", raw)
				}
				var err error
				if whole, err = h.advance(b[:n]); err != nil {
					t.Errorf("%q in pieces of %d: %v", raw, piece, err)
					return
				}
			}
			if got := string(b[h.host.from:h.host.to]); !whole || h.line != len(raw) || got != host || h.length != length || h.expects != expects {
				t.Errorf("%q in pieces of %d: whole %v, %d bytes, host %q, length %d, expects %v", raw, piece, whole, h.line, got, h.length, h.expects)
			}
		}
	}
	line := func(l string) { t.Helper(); f(l+"\r\nHost: h\r\n\r\n", "h", 0, false) }
	lines := func(l string, length int64, expects bool) {
		t.Helper()
		f("POST / HTTP/1.1\r\nHost: h\r\n"+l+"\r\n\r\n", "h", length, expects)
	}

	line("GET / HTTP/1.1")
	line("\r\nGET / HTTP/1.1")
	line("G!#$%&'*+-.^_`|~T0 / HTTP/1.1")
	line("GET /%41%fF%0a?a=%E9 HTTP/1.1")
	line("GET /~!$&'()*+,;=:@[]? HTTP/1.1")
	line("OPTIONS * HTTP/1.1")
	line("OPTIONS / HTTP/1.1")
	for _, authority := range []string{"http://h", "http://h/", "HTTP://H/x", "https://h?x", "https://h/a/b?c", "http://h?x/y"} {
		line("GET " + authority + " HTTP/1.1")
	}
	f("GET https://h:8/x HTTP/1.1\r\nHost: H:8\r\n\r\n", "H:8", 0, false)
	f("GET http://a/ HTTP/1.0\r\n\r\n", "", 0, false) // nothing that it could contradict
	f("GET / HTTP/1.0\r\n\r\n", "", 0, false)
	f("GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", "", 3, false)
	for _, h := range []string{"h", "H.example-1_2~", "1.2.3.4", "h:", "h:0", "h:65535", "[::1]", "[::1]:", "[::ffff:1.2.3.4]:80", "[AbCdEf::]"} {
		f("GET / HTTP/1.1\r\nHost:\t "+h+" \t\r\n\r\n", h, 0, false)
	}
	lines("Hosts: x\r\nHos: y\r\nContent-Lengths: x\r\nTransfer-Encodings: x\r\nExpects: x", 0, false)
	lines("Authorization: Bearer a\r\nAuthorizations: x\r\nProxy-Authorization: Basic eDp5", 0, false)
	lines("X:\r\nX: \xff \x80\t~\r\nA: b", 0, false)
	for _, l := range []string{"Content-Length: 12", "content-length:12", "CONTENT-LENGTH: \t012 \t"} {
		lines(l, 12, false)
	}
	lines("Content-Length: 1\r\nExpect: 100-Continue", 1, true)
	lines("Expect: 100-continue\r\nContent-Length: 2", 2, true)
	lines("Expect: 100-continue\r\nContent-Length: 0", 0, false)
	lines("Expect: 100-continue", 0, false)
	lines("Transfer-Encoding: Chunked\r\nExpect: 100-continue", chunked, true)
}

// TestChunksAreRefused: framing that another reader may understand differently, and
// trailers that come behind what was decided by them.
func TestChunksAreRefused(t *testing.T) {
	read := func(body string) (string, error) {
		var k chunks
		var out []byte
		b := []byte(body)
		for len(b) > 0 && k.state != chunkEnd {
			framing, data, err := k.step(b)
			if err != nil {
				return "", err
			}
			b = b[framing:]
			out = append(out, b[:data]...)
			k.took(data)
			b = b[data:]
		}
		if k.state != chunkEnd || len(b) > 0 {
			return "", errors.New("no end")
		}
		return string(out), nil
	}
	for _, body := range []string{
		"\r\n", ";x\r\n", "g\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "1 \r\n", "1\n", "1\rx", "1;\x00\r\n", "1;x\n", "1;x\ry", "1\r\nxx", "1\r\nx\n", "1\r\nx\rx", "1\r\nx\r\n\r\n", "1\r\nx\r\n;x\r\n", "0x1\r\n",
	} {
		if _, err := read(body); !errors.Is(err, errChunk) {
			t.Errorf("%q: %v", body, err)
		}
	}
	for _, trailer := range []string{"x", ": x", "a b: c", "a : b", "a: \x00", "a: b\n", "\n", " a: b", "Host: h", "content-length: 1", "Transfer-encoding: chunked", "AUTHORIZATION: x", "Cookie: a=b", "X-Forwarded-For: 1.1.1.1"} {
		if _, err := read("0\r\n" + trailer + "\r\n\r\n"); !errors.Is(err, errTrailer) {
			t.Errorf("the trailer %q: %v", trailer, err)
		}
	}
	for body, want := range map[string]string{
		"0\r\n\r\n":                                      "",
		"A\r\n0123456789\r\n0\r\n\r\n":                   "0123456789",
		"a;x\r\n0123456789\r\n00;y\r\n\r\n":              "0123456789",
		"f\r\n0123456789abcde\r\n0\r\n\r\n":              "0123456789abcde",
		"F\r\n0123456789abcde\r\n0\r\n\r\n":              "0123456789abcde",
		"09\r\n012345678\r\n0\r\n\r\n":                   "012345678",
		"010\r\n0123456789abcdef\r\n0\r\n\r\n":           "0123456789abcdef",
		"1\r\nx\r\n2\r\n\r\n\r\n0\r\na: b\r\nc:\r\n\r\n": "x\r\n",
	} {
		if got, err := read(body); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", body, got, err, want)
		}
	}
}

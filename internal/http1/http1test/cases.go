// Package http1test holds requests that HTTP servers have disagreed about, and checks
// that a listener answers each of them once and closes the connection. It is for
// tests only.
package http1test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Case is one request that must be refused. In Raw, {line} is "POST path HTTP/1.1",
// {head} are the lines that make it an honest request but for its framing, {path} and
// {host} what they say, and {next} a second request that must never be served.
type Case struct {
	Name   string
	Raw    string
	Status int
	// Body says that the fault is in the body: a server that answers without reading
	// it may answer something else.
	Body bool
}

// Target is where cases are sent.
type Target struct {
	Addr string
	Host string // without port; the header's value
	Path string // of a POST
	// Head are further lines of an honest request, each with its CRLF.
	Head string
	// TLS is spoken when it is not nil.
	TLS *tls.Config
	// Next is the path of the second request, which is answered 200 or 401 by itself.
	Next string
}

const (
	head = "{line}\r\n{head}"
	next = "{next}"
	// body is an honest chunked body.
	body = "2\r\n{}\r\n0\r\n\r\n"
)

// with is a request with some lines between its head and the empty one.
func with(lines, body string) string { return head + lines + "\r\n" + body + next }

// chunks is a request whose body comes in chunks.
func chunks(body string) string { return with("Transfer-Encoding: chunked\r\n", body) }

// Cases are all requests that must be refused.
func Cases() []Case {
	out := []Case{
		// Both kinds of framing (RFC 9112 §6.3).
		{"CL.TE", with("Content-Length: 12\r\nTransfer-Encoding: chunked\r\n", body), 400, false},
		{"TE.CL", with("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", body), 400, false},
		{"CL 0 and TE", with("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", body), 400, false},
		{"TE and CL in other letters", with("tRANSFER-eNCODING: chunked\r\ncONTENT-lENGTH: 4\r\n", body), 400, false},
		// Content-Length (RFC 9110 §8.6).
		{"CL twice, the same", with("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"CL twice, different", with("Content-Length: 2\r\nContent-Length: 7\r\n", "{}"), 400, false},
		{"CL list, the same", with("Content-Length: 2, 2\r\n", "{}"), 400, false},
		{"CL list, different", with("Content-Length: 2, 0\r\n", "{}"), 400, false},
		{"CL with plus", with("Content-Length: +2\r\n", "{}"), 400, false},
		{"CL negative", with("Content-Length: -2\r\n", "{}"), 400, false},
		{"CL minus nought", with("Content-Length: -0\r\n", ""), 400, false},
		{"CL hexadecimal", with("Content-Length: 0x2\r\n", "{}"), 400, false},
		{"CL with underscore", with("Content-Length: 1_0\r\n", "{}"), 400, false},
		{"CL fraction", with("Content-Length: 2.0\r\n", "{}"), 400, false},
		{"CL exponent", with("Content-Length: 2e0\r\n", "{}"), 400, false},
		{"CL empty", with("Content-Length: \r\n", "{}"), 400, false},
		{"CL two numbers", with("Content-Length: 2 2\r\n", "{}"), 400, false},
		{"CL too large for 64 bits", with("Content-Length: 18446744073709551618\r\n", "{}"), 400, false},
		{"CL with nineteen digits", with("Content-Length: 0000000000000000002\r\n", "{}"), 400, false},
		{"CL with NUL", with("Content-Length: 2\x00\r\n", "{}"), 400, false},
		{"CL with vertical tab", with("Content-Length: \v2\r\n", "{}"), 400, false},
		{"CL of other digits", with("Content-Length: \xd9\xa2\r\n", "{}"), 400, false},
		// Transfer-Encoding (RFC 9112 §6.1).
		{"TE gzip", with("Transfer-Encoding: gzip\r\n", body), 501, false},
		{"TE identity", with("Transfer-Encoding: identity\r\n", "{}"), 501, false},
		{"TE gzip, chunked", with("Transfer-Encoding: gzip, chunked\r\n", body), 501, false},
		{"TE xchunked", with("Transfer-Encoding: xchunked\r\n", body), 501, false},
		{"TE chunked twice", with("Transfer-Encoding: chunked, chunked\r\n", body), 400, false},
		{"TE chunked first", with("Transfer-Encoding: chunked, identity\r\n", body), 400, false},
		{"TE twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body), 400, false},
		{"TE twice, one unknown", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", body), 400, false},
		{"TE empty", with("Transfer-Encoding: \r\n", body), 400, false},
		{"TE comma", with("Transfer-Encoding: ,chunked\r\n", body), 400, false},
		{"TE with parameter", with("Transfer-Encoding: chunked;q=1\r\n", body), 400, false},
		{"TE quoted", with("Transfer-Encoding: \"chunked\"\r\n", body), 400, false},
		{"TE behind vertical tab", with("Transfer-Encoding:\vchunked\r\n", body), 400, false},
		{"TE behind form feed", with("Transfer-Encoding: \fchunked\r\n", body), 400, false},
		{"TE in HTTP/1.0", "POST {path} HTTP/1.0\r\n{head}Transfer-Encoding: chunked\r\n\r\n" + body + next, 400, false},
		// Lines (RFC 9112 §2.2, §5).
		{"bare LF ends a header", with("X: 1\nContent-Length: 2\r\n", "{}"), 400, false},
		{"bare LF ends the block", head + "Content-Length: 2\r\n\n{}" + next, 400, false},
		{"bare LF ends the request line", "{line}\n{head}Content-Length: 2\r\n\r\n{}" + next, 400, false},
		{"bare LF everywhere", "POST {path} HTTP/1.1\nHost: {host}\nContent-Length: 0\n\n" + next, 400, false},
		{"bare CR in a value", with("X: 1\rTransfer-Encoding: chunked\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"bare CR in a name", with("X\r: 1\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"bare CR ends a line", with("X: 1\rY: 2\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"CR CR LF", with("X: 1\r\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"folded with a space", with("X: 1\r\n 2\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"folded with a tab", with("Transfer-Encoding:\r\n\tchunked\r\n", body), 400, false},
		{"folded first line", "{line}\r\n Host: {host}\r\n{head}Content-Length: 2\r\n\r\n{}" + next, 400, false},
		{"line of a space", with("X: 1\r\n \r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"space in front of the colon", with("Transfer-Encoding : chunked\r\n", body), 400, false},
		{"tab in front of the colon", with("Content-Length\t: 2\r\n", "{}"), 400, false},
		{"space in a name", with("Content Length: 2\r\n", "{}"), 400, false},
		{"NUL in a name", with("Content-Length\x00: 2\r\n", "{}"), 400, false},
		{"NUL in a value", with("X: a\x00b\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"DEL in a value", with("X: a\x7fb\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"escape in a value", with("X: a\x1b[0mb\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"name of other letters", with("Content-L\xc3\xa9ngth: 2\r\n", "{}"), 400, false},
		{"empty name", with(": 1\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"no colon", with("Content-Length\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"a quoted name", with("\"X\": 1\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"two credentials", with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n", "{}"), 400, false},
		{"port of a host too high", "POST {path} HTTP/1.1\r\nHost: {host}:65536\r\nContent-Length: 2\r\n\r\n{}" + next, 400, false},
		// The request line (RFC 9112 §3).
		{"HTTP/0.9", "GET {next-path}\r\n", 400, false},
		{"HTTP/0.9 with more", "GET {next-path}\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"HTTP/2.0", "GET {next-path} HTTP/2.0\r\nHost: {host}\r\n\r\n" + next, 505, false},
		{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + next, 505, false},
		{"HTTP/1.2", "GET {next-path} HTTP/1.2\r\nHost: {host}\r\n\r\n" + next, 505, false},
		{"HTTP/1.10", "GET {next-path} HTTP/1.10\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"http/1.1", "GET {next-path} http/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"HTTP/1", "GET {next-path} HTTP/1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"two spaces in front of the target", "GET  {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"two spaces behind the target", "GET {next-path}  HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"tab behind the method", "GET\t{next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"space behind the version", "GET {next-path} HTTP/1.1 \r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"space in the target", "GET {next-path} x HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"method that is not a token", "G(T {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"method of thirty-three letters", strings.Repeat("G", 33) + " {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"method behind NUL", "\x00GET {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"space in front of the method", " GET {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"two empty lines first", "\r\n\r\nGET {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"NUL in the target", "GET {next-path}\x00 HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"target of other letters", "GET {next-path}\xc3\xa9 HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"fragment in the target", "GET {next-path}#x HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"broken escape in the target", "GET {next-path}?%zz HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"broken escape in its second digit", "GET {next-path}?%4z HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"escape that ends early", "GET {next-path}?%4 HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"target without a slash", "GET x HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"authority form", "GET {host}:80 HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"CONNECT", "CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n" + next, 501, false},
		{"asterisk of another method", "GET * HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"absolute form of another host", "GET http://other.example{next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"absolute form with a user", "GET http://x@{host}{next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"absolute form of another scheme", "GET ftp://{host}{next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"absolute form without a host", "GET http://{next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 400, false},
		// Host (RFC 9112 §3.2).
		{"no Host", "GET {next-path} HTTP/1.1\r\n\r\n" + next, 400, false},
		{"empty Host", "GET {next-path} HTTP/1.1\r\nHost: \r\n\r\n" + next, 400, false},
		{"Host twice", "GET {next-path} HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n" + next, 400, false},
		{"Host twice, different", "GET {next-path} HTTP/1.1\r\nHost: {host}\r\nhost: other.example\r\n\r\n" + next, 400, false},
		{"Host list", "GET {next-path} HTTP/1.1\r\nHost: {host}, other.example\r\n\r\n" + next, 400, false},
		{"Host with a path", "GET {next-path} HTTP/1.1\r\nHost: {host}/x\r\n\r\n" + next, 400, false},
		{"Host with a user", "GET {next-path} HTTP/1.1\r\nHost: x@{host}\r\n\r\n" + next, 400, false},
		{"Host with a port of six digits", "GET {next-path} HTTP/1.1\r\nHost: {host}:000080\r\n\r\n" + next, 400, false},
		{"Host that is a port", "GET {next-path} HTTP/1.1\r\nHost: :80\r\n\r\n" + next, 400, false},
		{"Host in brackets that do not close", "GET {next-path} HTTP/1.1\r\nHost: [::1\r\n\r\n" + next, 400, false},
		{"Host of empty brackets", "GET {next-path} HTTP/1.1\r\nHost: []\r\n\r\n" + next, 400, false},
		{"Host with more behind brackets", "GET {next-path} HTTP/1.1\r\nHost: [::1]x\r\n\r\n" + next, 400, false},
		{"Host with a name in brackets", "GET {next-path} HTTP/1.1\r\nHost: [{host}]\r\n\r\n" + next, 400, false},
		{"Host with a bad port", "GET {next-path} HTTP/1.1\r\nHost: {host}:80a\r\n\r\n" + next, 400, false},
		{"Host with an open bracket", "GET {next-path} HTTP/1.1\r\nHost: [::1\r\n\r\n" + next, 400, false},
		// Expect (RFC 9110 §10.1.1).
		{"unknown expectation", with("Expect: 200-ok\r\nContent-Length: 2\r\n", "{}"), 417, false},
		{"expectation twice", with("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 2\r\n", "{}"), 417, false},
		// Size.
		{"header too large", with("X: "+strings.Repeat("x", 70<<10)+"\r\nContent-Length: 2\r\n", "{}"), 431, false},
		{"request line too large", "GET {next-path}?" + strings.Repeat("x", 70<<10) + " HTTP/1.1\r\nHost: {host}\r\n\r\n" + next, 431, false},
	}
	for name, b := range map[string]string{
		"chunk size missing":                 "\r\n{}\r\n0\r\n\r\n",
		"chunk size negative":                "-2\r\n{}\r\n0\r\n\r\n",
		"chunk size with plus":               "+2\r\n{}\r\n0\r\n\r\n",
		"chunk size with 0x":                 "0x2\r\n{}\r\n0\r\n\r\n",
		"chunk size with underscore":         "0_2\r\n{}\r\n0\r\n\r\n",
		"chunk size overflows":               "10000000000000002\r\n{}\r\n0\r\n\r\n",
		"chunk size of sixteen digits":       "0000000000000002\r\n{}\r\n0\r\n\r\n",
		"space in front of the chunk size":   " 2\r\n{}\r\n0\r\n\r\n",
		"space behind the chunk size":        "2 \r\n{}\r\n0\r\n\r\n",
		"space in front of an extension":     "2 ;x\r\n{}\r\n0\r\n\r\n",
		"bare LF behind the chunk size":      "2\n{}\r\n0\r\n\r\n",
		"bare LF in an extension":            "2;x\n{}\r\n0\r\n\r\n",
		"bare CR in an extension":            "2;x\ry\r\n{}\r\n0\r\n\r\n",
		"NUL in an extension":                "2;x\x00\r\n{}\r\n0\r\n\r\n",
		"quotes that an extension leaves":    "2;a=\"\r\n{}\r\n0\r\n\r\n",
		"a line that ends in quotes":         "2;a=\"\r\n{}\r\n0;b=\"\r\n\r\n",
		"quotes that are escaped":            "2;a=\"x\\\"\r\n{}\r\n0\r\n\r\n",
		"a pair that the line cuts":          "2;a=\"x\\\r\n{}\r\n0\r\n\r\n",
		"extension too long":                 "2;" + strings.Repeat("x", 257) + "\r\n{}\r\n0\r\n\r\n",
		"extensions of nearly empty chunks":  strings.Repeat("1;"+strings.Repeat("x", 200)+"\r\n \r\n", 200) + "0\r\n\r\n",
		"bare LF behind the data":            "2\r\n{}\n0\r\n\r\n",
		"chunk shorter than its data":        "1\r\n{}\r\n0\r\n\r\n",
		"no line end behind the data":        "2\r\n{}0\r\n\r\n",
		"bare LF behind the last chunk":      "2\r\n{}\r\n0\n\r\n",
		"bare LF ends the trailers":          "2\r\n{}\r\n0\r\n\n",
		"trailer Content-Length":             "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
		"trailer Transfer-Encoding":          "2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"trailer Host":                       "2\r\n{}\r\n0\r\nHost: other.example\r\n\r\n",
		"trailer Authorization":              "2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
		"trailer without a colon":            "2\r\n{}\r\n0\r\nX\r\n\r\n",
		"trailer with a space at the colon":  "2\r\n{}\r\n0\r\nX : 1\r\n\r\n",
		"trailer folded":                     "2\r\n{}\r\n0\r\nX: 1\r\n 2\r\n\r\n",
		"trailer with NUL":                   "2\r\n{}\r\n0\r\nX: \x00\r\n\r\n",
		"trailers too long":                  "2\r\n{}\r\n0\r\nX: " + strings.Repeat("x", 4<<10) + "\r\n\r\n",
		"a request in place of a chunk size": "GET {next-path} HTTP/1.1\r\nHost: {host}\r\n\r\n",
	} {
		out = append(out, Case{name, chunks(b), 400, true})
	}
	return out
}

// Check sends each case and wants exactly one answer and the end of the connection.
func Check(t *testing.T, to Target) {
	t.Helper()
	nextRequest := "GET " + to.Next + " HTTP/1.1\r\nHost: " + to.Host + "\r\n\r\n"
	fill := strings.NewReplacer("{line}", "POST "+to.Path+" HTTP/1.1", "{head}", "Host: "+to.Host+"\r\n"+to.Head,
		"{path}", to.Path, "{host}", to.Host, "{next}", nextRequest, "{next-path}", to.Next)
	for _, c := range Cases() {
		t.Run(strings.ReplaceAll(c.Name, "/", "|"), func(t *testing.T) {
			raw := fill.Replace(c.Raw)
			// Alone, and behind a request that is served on the same connection.
			for _, before := range []int{0, 1} {
				answers, err := exchange(to.Addr, to.TLS, strings.Repeat(nextRequest, before)+raw, false)
				if err != nil {
					t.Fatalf("behind %d requests: %v", before, err)
				}
				if len(answers) != before+1 {
					t.Fatalf("behind %d requests: answers %v, want one more", before, answers)
				}
				if got := answers[before].Status; got != c.Status && !(c.Body && got >= 400) {
					t.Errorf("behind %d requests: answer %d, want %d", before, got, c.Status)
				}
			}
		})
	}
}

// Answer is one answer of a server.
type Answer struct {
	Status int
	Body   string
}

// Talk sends raw, ends its own side, and returns what was answered.
func Talk(t testing.TB, addr, raw string) []Answer {
	t.Helper()
	out, err := exchange(addr, nil, raw, true)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// exchange sends raw and returns the answers up to the end of the connection, which
// the server must bring about when half is false: this side stays open then.
func exchange(addr string, secure *tls.Config, raw string, half bool) (out []Answer, err error) {
	nc, err := net.DialTimeout("tcp", addr, 10*time.Second) //nolint:noctx,forbidigo // a test's own listener
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, err
	}
	if secure != nil {
		nc = tls.Client(nc, secure)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(nc, raw) // the server may be gone before all was sent
		if cw, ok := nc.(interface{ CloseWrite() error }); ok && half {
			_ = cw.CloseWrite()
		}
	}()
	defer func() { <-sent }()
	r := bufio.NewReader(nc)
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return out, nil
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return out, fmt.Errorf("behind answers %v: %w", out, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return out, fmt.Errorf("reading answer %d: %w", resp.StatusCode, err)
		}
		_ = resp.Body.Close()
		out = append(out, Answer{resp.StatusCode, string(b)})
	}
}

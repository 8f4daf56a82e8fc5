package http1

import (
	"errors"
	"net/http"
	"strconv"
)

// Error is a request that is not served because of its form. The connection it came
// on must be closed: where the next request would begin is not known.
type Error struct {
	Status int    // 400, 417, 431, 501 or 505
	Text   string // a constant, without quotes
}

// Error is the text.
func (e *Error) Error() string { return e.Text }

// Errors of bodies.
var (
	// ErrTooLarge says that a body is larger than the caller of Body allowed.
	ErrTooLarge = errors.New("the body is too large")
	// ErrBusy says that bodies of other requests take all the memory there is for
	// bodies, of everybody or of this address.
	ErrBusy = errors.New("too many bodies are being read")
)

func bad(text string) *Error { return &Error{http.StatusBadRequest, text} }

var (
	errLine           = bad("a line of the request does not end in CRLF")
	errRequestLine    = bad("the request line is not METHOD SP TARGET SP HTTP/1.1")
	errMethod         = bad("the method is not a token")
	errTarget         = bad("the request target is not valid")
	errFold           = bad("a header is folded over several lines")
	errName           = bad("the name of a header is not a token")
	errValue          = bad("the value of a header has control characters")
	errHost           = bad("the Host header is missing, is there twice or is not a host")
	errAuthority      = bad("the request target and the Host header name different hosts")
	errTwoCredentials = bad("the Authorization header is there twice")
	errLength         = bad("Content-Length is there twice or is not a number")
	errCoding         = bad("Transfer-Encoding is there twice, is malformed, or is sent with HTTP/1.0")
	errBoth           = bad("Content-Length and Transfer-Encoding are both there")
	errChunk          = bad("the chunked body is malformed")
	errTrailer        = bad("a trailer is malformed, or is one that may not be a trailer")
	errUnknownCoding  = &Error{http.StatusNotImplemented, "no other transfer coding than chunked is implemented"}
	errConnect        = &Error{http.StatusNotImplemented, "CONNECT is not implemented"}
	errVersion        = &Error{http.StatusHTTPVersionNotSupported, "the protocol version is neither HTTP/1.1 nor HTTP/1.0"}
	errExpect         = &Error{http.StatusExpectationFailed, "no other expectation than 100-continue can be met"}
	errLarge          = &Error{http.StatusRequestHeaderFieldsTooLarge, "the request headers are too large"}
)

// errUnread is a server that asks for the next request without the body of this one.
var errUnread = errors.New("the body of the request before was not read")

// appendAnswer appends a whole answer that ends the connection.
func appendAnswer(dst []byte, status int, text string, retry int) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(append(append(dst, ' '), http.StatusText(status)...), "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"...)
	if retry > 0 {
		dst = append(strconv.AppendInt(append(dst, "Retry-After: "...), int64(retry), 10), "\r\n"...)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(text)+1), 10)
	return append(append(append(dst, "\r\n\r\n"...), text...), '\n')
}

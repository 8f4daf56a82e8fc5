package streamable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// maxMessage limits a message of MCP in either direction: a gateway cuts results far
// below it.
const maxMessage = 64 << 20

// maxShown is how much of an answer that is not a message is shown in an error.
const maxShown = 300

// StatusError is an HTTP answer without a JSON-RPC message, or one that refuses credentials.
type StatusError struct {
	Status int
	body   string // its beginning
}

// Error names the status and the beginning of the body.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s %s", e.Status, http.StatusText(e.Status), e.body))
}

func (e *StatusError) refused() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// answer is a JSON-RPC message from a server; a response has no method.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// aboutHTTP reports whether an answer is an error about the HTTP request: one without the id
// of a message.
func (a *answer) aboutHTTP() bool {
	return a.Error != nil && (len(a.ID) == 0 || string(a.ID) == "null")
}

// eachMessage gives every JSON-RPC message of an HTTP answer to f until f returns false:
// the body of a JSON answer, each event of an event stream. An answer that is neither is
// a [*StatusError]. f may keep a message until it returns.
func eachMessage(resp *http.Response, f func([]byte) bool) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream" && resp.StatusCode < 300:
		return eachEvent(io.LimitReader(resp.Body, maxMessage+1), f)
	case kind == "application/json":
		b, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		if len(b) > maxMessage {
			return tooLarge()
		}
		var m struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if json.Unmarshal(b, &m) != nil || m.JSONRPC == "" {
			return statusOf(resp, b)
		}
		f(b)
		return nil
	default:
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // only to show its beginning
		return statusOf(resp, b)
	}
}

func tooLarge() error {
	return problem.New(problem.TooLarge, "the answer of the MCP server has more than %d bytes", maxMessage)
}

// statusOf describes an answer by its status and the beginning of its body.
func statusOf(resp *http.Response, body []byte) error {
	s := strings.Join(strings.Fields(textfilter.Clean(string(body))), " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return &StatusError{resp.StatusCode, s}
}

// eachEvent gives the data of every event of a stream to f (HTML Living Standard,
// server-sent events).
func eachEvent(r io.Reader, f func([]byte) bool) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	var data []byte
	read := 0
	for s.Scan() {
		if read += len(s.Bytes()) + 1; read > maxMessage {
			return tooLarge()
		}
		line := bytes.TrimSuffix(s.Bytes(), []byte("\r"))
		switch {
		case len(line) == 0:
			if len(data) > 0 && !f(data) {
				return nil
			}
			data = data[:0]
		case bytes.HasPrefix(line, []byte("data:")):
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("reading the event stream: %w", err)
	}
	if len(data) > 0 {
		f(data)
	}
	return nil
}

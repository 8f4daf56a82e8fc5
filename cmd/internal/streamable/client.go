package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// Protocol versions that a client speaks: the newest without a handshake, and the newest
// with one.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// maxPages limits tools/list, so that a cursor that never ends is an error.
const maxPages = 1000

// Options of a client.
type Options struct {
	URL     string
	Name    string         // of the URL in errors, without what may be secret
	HTTP    *http.Client   // its Transport is used, with the client's own headers
	Access  secrets.Secret // access token of the toolset. Default: none is sent
	Version string         // of this program
	Trace   io.Writer      // gets two lines for each request. Default: nothing is written
	// Protocol is the version that is tried first: [Modern], from which the client falls
	// back to a handshake, or [Legacy]. Default: Modern.
	Protocol string
	// Elicits declares that questions of a tool are answered.
	Elicits bool
}

// Client calls the tools of one toolset URL. It is for one goroutine.
type Client struct {
	name    string
	session *mcp.ClientSession
	wire    *wire
}

// Connect settles the protocol version with the server. Where the server refuses the
// credentials, the error wraps a [*StatusError].
func Connect(ctx context.Context, o Options) (*Client, error) {
	w := &wire{Options: o}
	hc := *o.HTTP
	hc.Transport = w
	can := &mcp.ClientCapabilities{}
	if o.Elicits {
		can.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "sluice", Version: o.Version}, &mcp.ClientOptions{
		Capabilities: can,
		// The SDK's own rounds do not tell a handler the name of the question.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: o.URL, HTTPClient: &hc, MaxRetries: -1, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: o.Protocol})
	if err != nil {
		err = cause(err)
		if s, ok := errors.AsType[*StatusError](err); ok && s.refused() {
			return nil, problem.New(problem.Unauthenticated, "%s refuses the credentials: %s", o.Name, s.Error()).
				Fix("put a valid access token into SLUICE_ACCESS_TOKEN; see: sluice toolset access TOOLSET").Because(s)
		}
		return nil, err
	}
	return &Client{name: o.Name, session: s, wire: w}, nil
}

// Protocol is the version that was settled.
func (c *Client) Protocol() string { return c.session.InitializeResult().ProtocolVersion }

// Close ends the session, if the server has sessions.
func (c *Client) Close() { _ = c.session.Close() } // nothing is left to do with it

// Tools lists the tools of the server.
func (c *Client) Tools(ctx context.Context) ([]*mcp.Tool, error) {
	var out []*mcp.Tool
	var p mcp.ListToolsParams
	for range maxPages {
		page, err := c.session.ListTools(ctx, &p)
		if err != nil {
			return nil, cause(err)
		}
		out = append(out, page.Tools...)
		if page.NextCursor == "" {
			return out, nil
		}
		p.Cursor = page.NextCursor
	}
	return nil, problem.New(problem.Unavailable, "%s lists its tools without end", c.name)
}

// Call calls a tool and returns the result as the server wrote it.
func (c *Client) Call(ctx context.Context, p *mcp.CallToolParams) (json.RawMessage, error) {
	c.wire.take()
	_, err := c.session.CallTool(ctx, p)
	if result := c.wire.take(); result != nil {
		return result, nil // also where the SDK does not know what is in it
	}
	if err == nil {
		err = errors.New("the server sent no result")
	}
	return nil, cause(err)
}

// cause takes what the SDK and net/http wrap around an error off, where that says all.
func cause(err error) error {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s
	}
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return p
	}
	if e, ok := errors.AsType[*rpcError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // no answer, which the SDK calls "rejected by transport"
		return e
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &rpcError{e}
	}
	return err
}

// rpcError is a JSON-RPC error as it is shown.
type rpcError struct{ fault *jsonrpc.Error }

func (e *rpcError) Error() string {
	return fmt.Sprintf("%s (MCP error %d)", e.fault.Message, e.fault.Code)
}

// wire sends the requests of the SDK with the client's headers, and gives it one message
// for each.
type wire struct {
	Options

	mu     sync.Mutex
	result json.RawMessage // guarded by mu; of the last answer
}

// take returns the result of the last answer, once.
func (w *wire) take() json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.result
	w.result = nil
	return r
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "sluice/"+w.Version)
	if !w.Access.IsZero() {
		req.Header.Set("Authorization", "Bearer "+w.Access.Reveal())
	}
	resp, err := w.HTTP.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if w.Trace != nil {
		fmt.Fprintf(w.Trace, "> %s %s  %s\n< %d %s\n", req.Method, w.Name, req.Header.Get("Mcp-Method"), resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if req.Method != http.MethodPost || resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	defer resp.Body.Close()
	var found *answer
	var raw []byte
	err = eachMessage(resp, func(m []byte) bool {
		var a answer
		if json.Unmarshal(m, &a) == nil && a.Method == "" && (a.Result != nil || a.Error != nil) {
			found, raw = &a, bytes.Clone(m)
		}
		return found == nil
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, problem.New(problem.Unavailable, "%s ended its answer without a result", w.Name)
	case found.aboutHTTP():
		if refusal := (&StatusError{resp.StatusCode, found.Error.Message}); refusal.refused() {
			return nil, refusal
		}
		return nil, &rpcError{found.Error}
	}
	w.mu.Lock()
	w.result = found.Result
	w.mu.Unlock()
	resp.StatusCode, resp.Body, resp.ContentLength = http.StatusOK, io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	resp.Header.Set("Content-Type", "application/json")
	return resp, nil
}

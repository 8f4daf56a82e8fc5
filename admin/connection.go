package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/plugins/manifest"
)

type connectionInput struct {
	Body change.ConnectionRequest
}

func registerMCP(s *Server) {
	registerServerLogin(s)
	register(s, huma.Operation{
		OperationID: "test-mcp-connection", Method: http.MethodPost, Path: "/v1/mcp/test-connection", Summary: "Connect to an MCP server and list its tools", Tags: []string{"connectors"},
		Description: "Finds out transport and revision, and stores nothing. A server that cannot be connected to is a 502 \"Cannot connect to MCP server\" with the cause and what to do.",
	}, func(ctx context.Context, in *connectionInput) (*bodyOutput[change.Connection], error) {
		return pointed(s.changes.TestConnection(ctx, &in.Body))
	})
	registerConnectionSteps(s)
}

// Events of a connection test.
const (
	eventStep   = "step"
	eventDone   = "done"
	eventFailed = "failed"
)

func registerConnectionSteps(s *Server) {
	schemas := s.api.OpenAPI().Components.Schemas
	register(s, huma.Operation{
		OperationID: "watch-mcp-connection", Method: http.MethodPost, Path: "/v1/mcp/test-connection/steps", Summary: "Connect to an MCP server, step by step", Tags: []string{"connectors"},
		Description: "As test-mcp-connection, answered with a stream of events while it goes on: step for each change of a step, and at the end done with the connection, or failed with the problem. " +
			"The data of each is one line of JSON.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events (text/event-stream): step, then done or failed.",
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{OneOf: []*huma.Schema{
				schemas.Schema(reflect.TypeFor[handshake.Step](), true, ""), schemas.Schema(reflect.TypeFor[change.Connection](), true, ""), schemas.Schema(reflect.TypeFor[front.Problem](), true, ""),
			}}}},
		}},
	}, func(_ context.Context, in *connectionInput) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hc huma.Context) { s.streamConnection(hc, &in.Body) }}, nil
	})
}

// streamConnection tests a connection and sends its steps as they happen.
func (s *Server) streamConnection(hc huma.Context, in *change.ConnectionRequest) {
	ctx := hc.Context()
	hc.SetHeader("Content-Type", "text/event-stream")
	hc.SetHeader("X-Accel-Buffering", "no") // proxies hold it back otherwise
	hc.SetStatus(http.StatusOK)
	w := hc.BodyWriter()
	send := func(event string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic("BUG: an event is JSON: " + err.Error())
		}
		// The client is gone when these fail; what is tested is stored nowhere.
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		if rw, ok := w.(http.ResponseWriter); ok {
			_ = http.NewResponseController(rw).Flush()
		}
	}
	watch := handshake.New(in.Auth != nil || in.Login != "", s.now, func(step handshake.Step) { send(eventStep, step) })
	c, err := s.changes.TestConnection(change.Noticing(ctx, watch.Notice), in)
	if err != nil {
		var wants *handshake.Wants
		if cause, ok := errors.AsType[*handshake.WantsAuthError](err); ok {
			wants = cause.Wants
		}
		watch.Fail(request.Detail(err), wants)
		send(eventFailed, s.front.Fail(ctx, err))
		return
	}
	prompts, resources := 0, 0
	if c.Items != nil {
		prompts, resources = c.Items.Prompts, c.Items.Resources+c.Items.Templates
	}
	watch.Succeed(c.Protocol, c.Transport == manifest.TransportSSE, len(c.Tools), prompts, resources)
	send(eventDone, c)
}

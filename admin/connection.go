package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/compile"
	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/handshake"
	"github.com/sluicegate/sluice/admin/local"
	"github.com/sluicegate/sluice/admin/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/manifest"
	"github.com/sluicegate/sluice/plugins/openapi"
)

// ConnectionRequest asks whether a server can be connected to.
type ConnectionRequest struct {
	URL     string              `json:"url,omitempty" maxLength:"2048"`
	Command *local.Command      `json:"command,omitempty" doc:"Instead of url: a program that the node starts. For the operator, on a node that permits it (--allow-commands)."`
	Auth    *credential.SetAuth `json:"authentication,omitempty"`
	Login   string              `json:"login,omitempty" maxLength:"64" doc:"A finished login at the server, used instead of authentication."`
}

// Connection is a server that could be connected to.
type Connection struct {
	URL          string               `json:"url"`
	Transport    string               `json:"transport" enum:"streamable,sse" doc:"streamable: Streamable HTTP; sse: HTTP with SSE of 2024-11-05."`
	Protocol     string               `json:"protocolVersion" example:"2026-07-28"`
	Name         string               `json:"name,omitempty"`
	Title        string               `json:"title,omitempty"`
	Version      string               `json:"version,omitempty"`
	Instructions string               `json:"instructions,omitempty" doc:"What the server tells models."`
	Tools        []ConnectionTool     `json:"tools"`
	Items        *toolset.Items       `json:"items,omitempty" doc:"What it has besides tools; absent: nothing."`
	Warnings     []toolset.Diagnostic `json:"warnings,omitempty" doc:"What was found in the words of the server: hidden characters, instructions to models, texts that are too long."`
	Seconds      float64              `json:"seconds" doc:"Time of connecting and listing."`
}

// ConnectionTool is a tool as its server describes it.
type ConnectionTool struct {
	Name        string             `json:"name" doc:"As the server calls it."`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Annotations plugin.Annotations `json:"annotations" doc:"As the server claims."`
	Needs       []string           `json:"needs,omitempty" doc:"Client capabilities without which the server does not list it."`
	Tokens      int                `json:"tokens" doc:"Estimated tokens of its definition."`
	Hash        string             `json:"hash" doc:"What pins the definition."`
	Unsupported string             `json:"unsupported,omitempty" doc:"Why it cannot be served."`
}

type connectionInput struct {
	Body ConnectionRequest
}

func (s *Server) registerMCP() {
	s.registerServerLogin()
	register(s, huma.Operation{
		OperationID: "test-mcp-connection", Method: http.MethodPost, Path: "/v1/mcp/test-connection", Summary: "Connect to an MCP server and list its tools", Tags: []string{"connectors"},
		Description: "Finds out transport and revision, and stores nothing. A server that cannot be connected to is a 502 \"Cannot connect to MCP server\" with the cause and what to do.",
	}, func(ctx context.Context, in *connectionInput) (*bodyOutput[Connection], error) {
		c, err := s.testConnection(ctx, &in.Body)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[Connection]{*c}, nil
	})
	s.registerConnectionSteps()
}

func (s *Server) testConnection(ctx context.Context, in *ConnectionRequest) (*Connection, error) {
	ws := s.workspace(ctx)
	create := &CreateToolset{Source: CreateSource{MCP: &MCPSource{URL: in.URL, Command: in.Command}}, Auth: in.Auth, Login: in.Login}
	if err := s.useCommand(ctx, create); err != nil {
		return nil, err
	}
	if err := s.adopt(ctx, create); err != nil {
		return nil, err
	}
	if err := create.check(); err != nil {
		return nil, err
	}
	ctx, _ = s.grants.See(ctx, create.addresses()) // for this test alone
	start := time.Now()
	src, err := s.readServer(ctx, create, nil, func(string) {})
	if err != nil {
		return nil, err
	}
	out := &Connection{
		URL: src.URL, Transport: src.Server.Transport, Protocol: src.Server.Protocol, Name: src.Server.Name, Title: src.Server.Title,
		Version: src.Server.Version, Instructions: src.Server.Instructions, Tools: []ConnectionTool{},
		Warnings: compile.Noticed(src.Notices),
		Seconds:  time.Since(start).Seconds(),
	}
	c, err := s.compiler.Pack(ws.ID(), src)
	if err != nil {
		return nil, err
	}
	for i := range c.Opened.Len() {
		h, err := c.Opened.Head(i)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, ConnectionTool{
			Name: h.MCP.Name, Title: h.Title, Description: h.Description, Annotations: plugin.Annotations(h.Annotations), Needs: h.MCP.Needs, Hash: h.MCP.Hash,
			Tokens: tokens.Estimate(h.InputSchema) + tokens.Estimate([]byte(h.Name)) + tokens.Estimate([]byte(h.Title)) + tokens.Estimate([]byte(h.Description)),
		})
	}
	out.Items = toolset.ItemsOf(c.Opened)
	for _, r := range append(src.Refused, c.Refused...) {
		if r.List != connector.ListTools {
			out.Warnings = append(out.Warnings, toolset.Diagnostic{Code: "item_not_packed", Severity: openapi.SeverityWarning, Pointer: r.Pointer(), Detail: r.Reason})
			continue
		}
		out.Tools = append(out.Tools, ConnectionTool{Name: r.Name, Unsupported: r.Reason})
	}
	return out, nil
}

// Events of a connection test.
const (
	eventStep   = "step"
	eventDone   = "done"
	eventFailed = "failed"
)

func (s *Server) registerConnectionSteps() {
	schemas := s.api.OpenAPI().Components.Schemas
	register(s, huma.Operation{
		OperationID: "watch-mcp-connection", Method: http.MethodPost, Path: "/v1/mcp/test-connection/steps", Summary: "Connect to an MCP server, step by step", Tags: []string{"connectors"},
		Description: "As test-mcp-connection, answered with a stream of events while it goes on: step for each change of a step, and at the end done with the connection, or failed with the problem. " +
			"The data of each is one line of JSON.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events (text/event-stream): step, then done or failed.",
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{OneOf: []*huma.Schema{
				schemas.Schema(reflect.TypeFor[handshake.Step](), true, ""), schemas.Schema(reflect.TypeFor[Connection](), true, ""), schemas.Schema(reflect.TypeFor[Problem](), true, ""),
			}}}},
		}},
	}, func(_ context.Context, in *connectionInput) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(hc huma.Context) { s.streamConnection(hc, &in.Body) }}, nil
	})
}

// streamConnection tests a connection and sends its steps as they happen.
func (s *Server) streamConnection(hc huma.Context, in *ConnectionRequest) {
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
	c, err := s.testConnection(context.WithValue(ctx, noticedKey{}, watch.Notice), in)
	if err != nil {
		var wants *handshake.Wants
		if cause, ok := errors.AsType[*handshake.WantsAuthError](err); ok {
			wants = cause.Wants
		}
		watch.Fail(request.Detail(err), wants)
		send(eventFailed, s.fail(ctx, err))
		return
	}
	prompts, resources := 0, 0
	if c.Items != nil {
		prompts, resources = c.Items.Prompts, c.Items.Resources+c.Items.Templates
	}
	watch.Succeed(c.Protocol, c.Transport == manifest.TransportSSE, len(c.Tools), prompts, resources)
	send(eventDone, c)
}

type noticedKey struct{}

// noticedOf is who wants to know what is found out about a server; nil: nobody.
func noticedOf(ctx context.Context) func(handshake.Event) {
	told, _ := ctx.Value(noticedKey{}).(func(handshake.Event))
	return told
}

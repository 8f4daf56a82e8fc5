package change

import (
	"context"
	"time"

	"github.com/sluicegate/sluice/admin/change/compile"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/handshake"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/connector"
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

// TestConnection connects to an MCP server, lists what it has and stores nothing. What is
// found out on the way is told to whoever [Noticing] names.
func (r *Room) TestConnection(ctx context.Context, in *ConnectionRequest) (*Connection, error) {
	create := &CreateToolset{Source: CreateSource{MCP: &MCPSource{URL: in.URL, Command: in.Command}}, Auth: in.Auth, Login: in.Login}
	if err := r.useCommand(ctx, create); err != nil {
		return nil, err
	}
	if err := r.adopt(ctx, create); err != nil {
		return nil, err
	}
	if err := create.check(); err != nil {
		return nil, err
	}
	ctx, _ = r.Grants.See(ctx, create.addresses()) // for this test alone
	start := time.Now()
	src, err := r.readServer(ctx, create, nil, func(string) {})
	if err != nil {
		return nil, err
	}
	out := &Connection{
		URL: src.URL, Transport: src.Server.Transport, Protocol: src.Server.Protocol, Name: src.Server.Name, Title: src.Server.Title,
		Version: src.Server.Version, Instructions: src.Server.Instructions, Tools: []ConnectionTool{},
		Warnings: compile.Noticed(src.Notices),
		Seconds:  time.Since(start).Seconds(),
	}
	c, err := r.Compiler.Pack(r.workspace(ctx).ID(), src)
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

type noticedKey struct{}

// Noticing returns a context whose connection test reports what it finds out.
func Noticing(ctx context.Context, tell func(handshake.Event)) context.Context {
	return context.WithValue(ctx, noticedKey{}, tell)
}

// noticedOf is who wants to know what is found out about a server; nil: nobody.
func noticedOf(ctx context.Context) func(handshake.Event) {
	told, _ := ctx.Value(noticedKey{}).(func(handshake.Event))
	return told
}

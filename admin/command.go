package admin

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/local"
	"github.com/sluicegate/sluice/admin/mcpserver"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// envHeader begins the name of the header that gives a command a credential as an
// environment variable, as package process of the gateway reads it.
const envHeader = "Sluice-Env-"

// useCommand gives a source that is a command its address. Nothing is kept or run.
func (s *Server) useCommand(ctx context.Context, in *CreateToolset) error {
	m := in.Source.MCP
	switch {
	case m == nil:
		return nil
	case m.Command == nil && m.URL == "":
		return request.FieldFault("/source/mcp", "source.mcp needs url or command")
	case m.Command == nil:
		return nil
	case m.URL != "" || in.BaseURL != "" || in.Login != "":
		return request.FieldFault("/source/mcp/command", "a command has no URL and no login")
	}
	if err := local.Require(ctx, s.o.Commands); err != nil {
		return err
	}
	if in.Auth != nil {
		for _, it := range in.Auth.Each() {
			if it.AuthType != registry.AuthNone && (it.AuthType != registry.AuthHeader || !strings.HasPrefix(it.HeaderName, envHeader) || it.HeaderPrefix != "") {
				return request.FieldFault("/authentication", "a command gets credentials as environment variables: authType header with headerName %sNAME (--auth env:NAME)", envHeader)
			}
		}
	}
	at, err := s.o.Commands.Address(m.Command)
	if err != nil {
		return err
	}
	in.Source.MCP = &MCPSource{URL: at, Command: m.Command}
	return nil
}

// serverAddress is the address of the MCP server of a request. That of a command comes
// from the command itself, or from the toolset that is refreshed.
func (s *Server) serverAddress(ctx context.Context, in *CreateToolset, again *refresh, phase func(string)) (string, error) {
	m := in.Source.MCP
	if m.Command == nil && (again == nil || !registry.IsStdio(m.URL)) {
		return mcpserver.CheckURL(m.URL)
	}
	if m.Command != nil {
		phase("installing the command")
		if err := s.local.Add(ctx, m.Command); err != nil {
			return "", err
		}
	}
	return m.URL, nil
}

type outputInput struct {
	ToolsetConnectorInput
}

// registerCommands registers what is of commands alone.
func (s *Server) registerCommands() {
	register(s, huma.Operation{
		OperationID: "read-command-output", Method: http.MethodGet, Path: "/v1/toolsets/{id}/connectors/{connector}/output",
		Summary: "Read what the command of a connector wrote for people", Tags: []string{"toolsets"},
		Description: "For a connector that is a command of this node: its newest lines on stderr, and when its processes began and ended, and why.",
	}, func(ctx context.Context, in *outputInput) (*bodyOutput[local.Output], error) {
		d, _, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := d.Focus(in.Connector); err != nil {
			return nil, err
		}
		if !registry.IsStdio(d.Row.SourceURL) {
			return nil, problem.New(problem.Conflict, "connector %s of toolset %s is no command of this node", d.Row.Name, d.Toolset.Slug)
		}
		out := local.Output{Lines: []local.Line{}}
		if s.o.Commands != nil {
			out = s.o.Commands.Output(d.Row.SourceURL)
		}
		return &bodyOutput[local.Output]{out}, nil
	})
}

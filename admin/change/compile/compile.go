package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// Room makes connectors of sources. Nothing is stored.
type Room struct {
	Publisher *publish.Publisher
	Sources   *source.Room
	// Limits bound what a specification may cost.
	Limits openapi.Limits
}

// timeout bounds reading one specification: the largest known one takes a
// second, a hostile one must not take the machine.
const timeout = 2 * time.Minute

// Source makes a connector of a source, and tells phase what happens now.
func (r *Room) Source(ctx context.Context, workspace string, src *source.Source, phase func(string)) (*draft.Compiled, error) {
	if src.Server != nil {
		return r.server(workspace, src, phase)
	}
	phase("compiling the specification")
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	fetch := r.Sources.Part
	if src.Parts != nil {
		fetch = src.Part
	}
	c, err := r.Publisher.Compile(ctx, publish.ConnectorRequest{Workspace: workspace, Source: src.Spec, Options: openapi.Options{Limits: r.Limits, Fetch: fetch}})
	if err != nil {
		return nil, err
	}
	conn, err := toolset.Generate(c.Opened)
	if err != nil {
		return nil, err
	}
	report := draft.MakeReport(c, conn, int64(len(src.Spec.Data)), time.Since(start))
	src.Title, src.Documents = report.Title, c.Spec.Documents
	return &draft.Compiled{Source: src, Pushed: c, Conn: conn, Report: report}, nil
}

// Slug makes a slug of a name: lower-case letters, digits and single hyphens.
func Slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	s = strings.Trim(s[:min(len(s), registry.MaxSlugBytes)], "-")
	if s == "" {
		s = "toolset"
	}
	return s
}

// server makes the connector of an MCP server.
func (r *Room) server(workspace string, src *source.Source, phase func(string)) (*draft.Compiled, error) {
	phase("making the connector")
	start := time.Now()
	c, err := r.Pack(workspace, src)
	if err != nil {
		return nil, err
	}
	conn, err := toolset.Generate(c.Opened)
	if err != nil {
		return nil, err
	}
	document := src.Server.Append(nil)
	sum := sha256.Sum256(document)
	report := &draft.Report{
		Title: src.Title, Version: c.Opened.Version(), Format: store.SourceMCP, SpecVersion: src.Server.Protocol,
		SpecDigest: "sha256:" + hex.EncodeToString(sum[:]), SizeBytes: int64(len(document)), Operations: len(src.Server.Tools), ToolCount: len(conn.Tools), Items: toolset.ItemsOf(c.Opened),
		Servers: []toolset.APIServer{{URL: src.URL}}, BaseURL: src.URL, Methods: []credential.AuthMethod{}, Unsupported: []toolset.Unsupported{}, Warnings: []toolset.Diagnostic{},
		DurationMilli: time.Since(start).Milliseconds(),
	}
	report.Warnings = Noticed(src.Notices)
	for _, f := range src.Refused {
		report.Unsupported = append(report.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_refused", Reason: f.Reason})
	}
	for _, f := range c.Refused {
		report.Unsupported = append(report.Unsupported, toolset.Unsupported{Method: f.Method(), Path: "/" + f.Name, Pointer: f.Pointer(), Code: "tool_not_packed", Reason: f.Reason})
	}
	return &draft.Compiled{Source: src, Pushed: c, Conn: conn, Report: report}, nil
}

// Pack makes the module of an MCP server, which says also what of the server cannot be packed.
func (r *Room) Pack(workspace string, src *source.Source) (*publish.Connector, error) {
	return r.Publisher.CompileMCP(workspace, Slug(src.Title), src.Server)
}

// Noticed are the warnings about the words of an MCP server.
func Noticed(notices []connector.Notice) []toolset.Diagnostic {
	out := make([]toolset.Diagnostic, 0, len(notices))
	for _, n := range notices {
		out = append(out, toolset.Diagnostic{Code: n.Code, Severity: openapi.SeverityWarning, Pointer: n.Pointer, Detail: n.Detail, Remedy: n.Remedy})
	}
	return out
}

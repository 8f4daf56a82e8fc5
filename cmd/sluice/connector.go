package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/describe"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

func (a *app) connectorCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "connector", Aliases: []string{"connectors"}, Short: "List connectors, or generate one without a node"}
	cmd.AddCommand(a.connectorList(), a.connectorGenerate())
	return cmd
}

func (a *app) connectorList() *cobra.Command {
	var filter *command.Filter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List connectors of the node", Args: command.Exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.Client()
			items, raw, err := client.All[view.Connector](cmd.Context(), c, filter.Of("/v1/connectors"))
			if err != nil {
				return err
			}
			now := time.Now()
			return terminal.List(&a.Terminal, items, raw, []terminal.Column[view.Connector]{
				{Header: "name", Value: func(c view.Connector) string { return c.Name }},
				{Header: "version", Value: func(c view.Connector) string { return c.Latest.Version }},
				{Header: "kind", Value: func(c view.Connector) string { return c.Kind }},
				{Header: "tools", Value: func(c view.Connector) string { return terminal.Thousands(c.Tools) }},
				{Header: "updated", Value: func(c view.Connector) string { return terminal.Ago(c.UpdatedAt, now) }},
				{Header: "digest", Value: func(c view.Connector) string {
					if a.Format == "wide" {
						return c.Latest.Digest
					}
					return terminal.ShortDigest(c.Latest.Digest)
				}},
			}, func(c view.Connector) string { return c.Name })
		},
	}
	filter = command.FilterOf(cmd, "source:openapi updatedAt:>=7d", "-updatedAt,name")
	return cmd
}

// generated is the result of "sluice connector generate".
type generated struct {
	File        string                `json:"file"`
	Name        string                `json:"name"`
	Version     string                `json:"version"`
	Tag         string                `json:"tag"`
	Digest      string                `json:"digest"`
	Bytes       int                   `json:"bytes"`
	SpecVersion string                `json:"specVersion"`
	SpecDigest  string                `json:"specDigest"`
	Operations  int                   `json:"operations"`
	Tools       int                   `json:"tools"`
	Unsupported []toolset.Unsupported `json:"unsupported"`
	Warnings    []toolset.Diagnostic  `json:"warnings"`
}

func (a *app) connectorGenerate() *cobra.Command {
	var to, main string
	var overlays []string
	cmd := &cobra.Command{
		Use:   "generate SPEC|DIR|ZIP|URL|-",
		Short: "Generate a connector as a WebAssembly module",
		Long: `Compile a specification into a connector and write it as one WebAssembly module,
<name>-<tag>.wasm. No node and no compiler are needed; the same specification gives
the same bytes.`,
		Example: "  sluice connector generate petstore.yaml --to .",
		Args:    command.Exactly(1, "one specification: a file, a URL, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := specification.Open(&a.Session, args[0], main)
			if err != nil {
				return err
			}
			if spec.URL != "" {
				if err := spec.Fetch(cmd.Context(), &a.Session); err != nil {
					return err
				}
			}
			if err := spec.AddOverlays(cmd.Context(), &a.Session, overlays, true); err != nil {
				return err
			}
			return a.generate(cmd.Context(), &spec, to)
		},
	}
	cmd.Flags().StringArrayVar(&overlays, "overlay", nil, "Overlay document to apply, a file or URL; may be repeated")
	cmd.Flags().StringVar(&main, "main", "", "path of the main document in a directory or archive (default: found)")
	a.SpecLimitFlag(cmd)
	cmd.Flags().StringVar(&to, "to", ".", "directory to write to, made when it is missing")
	return cmd
}

func (a *app) generate(ctx context.Context, spec *specification.Document, to string) error {
	if info, err := os.Stat(to); err == nil && !info.IsDir() {
		return problem.New(problem.InvalidArgument, "--to %s is not a directory", to)
	}
	start := time.Now()
	artifact, result, err := a.compileConnector(ctx, spec)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // what is written there is meant to be read
		return problem.New(problem.InvalidArgument, "the directory --to %s cannot be made", to).Because(err)
	}
	path := filepath.Join(to, artifact.Name+"-"+artifact.Tag+".wasm")
	if err := atomicfile.Write(path, artifact.Module, 0o644); err != nil {
		return fmt.Errorf("writing the connector to %s: %w", path, err)
	}
	a.phase(spec.Origin(), "%-18s %9s   OpenAPI %s", spec.Short(), terminal.ByteSize(len(spec.Data)), result.SpecVersion)
	a.phase("check", "%s, %s", terminal.Plural(result.Operations, "operation"), describe.Methods(schemesOf(result.API)))
	a.phase("generate", "connector %s@%s   wasm %s   %s   %s", artifact.Name, artifact.Version, terminal.ByteSize(len(artifact.Module)), terminal.ShortDigest(artifact.Digest), terminal.ShortDuration(took))
	for _, u := range result.Unsupported[:min(len(result.Unsupported), describe.MaxListed)] {
		a.Say("! %s %s is not a tool: %s", u.Method, terminal.Printable(u.Path), terminal.Printable(u.Reason))
	}
	if n := len(result.Unsupported) - describe.MaxListed; n > 0 {
		a.Say("! and %s more: sluice openapi check %s -o json", terminal.Thousands(n), spec.Name)
	}
	if n := len(result.Warnings); n > 0 {
		a.Say("! %s: sluice openapi check %s", terminal.Plural(n, "finding"), spec.Name)
	}
	out := generated{
		File: path, Name: artifact.Name, Version: artifact.Version, Tag: artifact.Tag, Digest: artifact.Digest, Bytes: len(artifact.Module),
		SpecVersion: result.SpecVersion, SpecDigest: result.Digest, Operations: result.Operations, Tools: artifact.Tools,
		Unsupported: unsupportedOf(result), Warnings: findingsOf(result),
	}
	if a.Format == "name" {
		return a.WriteResult([]byte(path + "\n"))
	}
	return a.Object(out, func(w io.Writer) { fmt.Fprintf(w, "✓ %s: %s\n", path, terminal.Plural(artifact.Tools, "tool")) })
}

// compileConnector makes the connector of a specification in this process.
func (a *app) compileConnector(ctx context.Context, spec *specification.Document) (connector.Artifact, *openapi.Result, error) {
	api := new(operation.API) // filled before Finish: operations stream by before the whole is known
	b := connector.NewBuilder(api)
	result, err := compileInto(ctx, b, spec, spec.LocalOptions(&a.Session))
	if err != nil {
		return connector.Artifact{}, nil, err
	}
	if result.Tools == 0 {
		p := problem.New(problem.InvalidSpec, "none of its %d operations can be made a tool", result.Operations)
		p.Place.File = spec.Name
		if result.Operations == 0 {
			p.Detail, p.Remedy = "the specification has no operations", "add operations below paths"
		}
		for _, u := range result.Unsupported[:min(len(result.Unsupported), describe.MaxListed)] {
			p.Parts = append(p.Parts, problem.New(problem.InvalidSpec, "%s %s: %s", u.Method, u.Path, u.Reason).At("", u.Line, 0, u.Pointer))
		}
		return connector.Artifact{}, nil, p
	}
	*api = *result.API
	artifact, err := b.Finish()
	if err != nil {
		return connector.Artifact{}, nil, fmt.Errorf("making a connector of %s: %w", spec.Name, err)
	}
	return artifact, result, nil
}

func schemesOf(api *operation.API) []credential.AuthMethod {
	var out []credential.AuthMethod
	for _, s := range api.Schemes {
		out = append(out, credential.AuthMethod{ID: s.ID, Type: s.Type, In: s.In, Name: s.Name, Scheme: s.Scheme})
	}
	return out
}

// unsupportedOf and findingsOf write what the compiler found as the admin API does.
func unsupportedOf(r *openapi.Result) []toolset.Unsupported {
	out := make([]toolset.Unsupported, 0, len(r.Unsupported))
	for _, u := range r.Unsupported {
		out = append(out, toolset.Unsupported{
			Method: u.Method, Path: u.Path, OperationID: u.OperationID, Pointer: u.Pointer, Line: u.Line, Code: u.Code, Reason: u.Reason,
		})
	}
	return out
}

func findingsOf(r *openapi.Result) []toolset.Diagnostic {
	out := make([]toolset.Diagnostic, 0, len(r.Warnings))
	for _, d := range r.Warnings {
		out = append(out, toolset.Diagnostic{
			Code: d.Code, Severity: d.Severity, Line: d.Line, Column: d.Column, Pointer: d.Pointer, Detail: d.Detail, Remedy: d.Remedy,
		})
	}
	return out
}

var errNoSpecifications = errors.New("no specifications were found")

// compileInto compiles a specification into a connector's builder. An operation
// that was read and cannot be packed is listed as unsupported.
func compileInto(ctx context.Context, b *connector.Builder, spec *specification.Document, opts openapi.Options) (*openapi.Result, error) {
	var refused []openapi.Unsupported
	opts.Each = func(op *operation.Operation) error {
		if err := b.Add(op); err != nil {
			refused = append(refused, openapi.Unsupported{
				Method: op.Method, Path: op.Path, OperationID: op.ID, Pointer: op.Pointer, Line: op.Line,
				Code: "operation_not_packed", Reason: err.Error(),
			})
		}
		return nil
	}
	result, err := openapi.Compile(ctx, spec.Source(), opts)
	if err != nil {
		return nil, err
	}
	result.Tools -= len(refused)
	result.Unsupported = append(result.Unsupported, refused...)
	return result, nil
}

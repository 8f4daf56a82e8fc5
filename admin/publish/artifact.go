package publish

import (
	"context"
	"fmt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/selection"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/oci"
)

// codeNotPacked is the code of an operation that was read and does not fit into a
// connector.
const codeNotPacked = "operation_not_packed"

// ConnectorRequest says what to make a connector of.
type ConnectorRequest struct {
	Workspace string          // owner, a slug
	Source    openapi.Source  // the specification
	Options   openapi.Options // limits and fetching; Each is not used
}

// Connector is a connector that was made, and how its specification was read.
type Connector struct {
	Repository string               // <workspace>/connectors/<name>
	Tag        string               // version tag inside the repository
	Manifest   registry.Digest      // OCI manifest digest
	Module     registry.Digest      // digest of the module
	Opened     *connector.Connector // the module as a gateway opens it
	Spec       *openapi.Result      // what became of the specification; nil for an MCP server
	Refused    []connector.Refused  // tools of an MCP server that cannot be served

	artifact *oci.Artifact
}

// Ref is the connector as a toolset binds it, under a name inside the toolset.
func (c *Connector) Ref(name string) registry.ConnectorRef {
	return registry.ConnectorRef{Name: name, Repository: c.Repository, Manifest: c.Manifest, Digest: c.Module}
}

// Compile makes a connector of a specification and stores nothing. The same
// specification gives the same bytes. Faults of the specification are
// *problem.Error of kind invalid_openapi_spec.
func (p *Publisher) Compile(ctx context.Context, req ConnectorRequest) (*Connector, error) {
	if !registry.ValidSlug(req.Workspace) {
		return nil, problem.New(problem.InvalidArgument, "workspace %.80q is not a slug", req.Workspace)
	}
	opts := req.Options
	api := new(operation.API) // filled before Finish: operations stream by before the whole is known
	builder := connector.NewBuilder(api)
	var refused []openapi.Unsupported
	opts.Each = func(op *operation.Operation) error {
		// One operation that cannot be packed does not cost the others.
		if err := builder.Add(op); err != nil {
			refused = append(refused, openapi.Unsupported{
				Method: op.Method, Path: op.Path, OperationID: op.ID, Pointer: op.Pointer, Line: op.Line,
				Code: codeNotPacked, Reason: err.Error(),
			})
		}
		return nil
	}
	spec, err := openapi.Compile(ctx, req.Source, opts)
	if err != nil {
		return nil, err
	}
	spec.Tools -= len(refused)
	spec.Unsupported = append(spec.Unsupported, refused...)
	if spec.Tools == 0 {
		return nil, noTools(req.Source.Name, spec)
	}
	*api = *spec.API
	made, err := builder.Finish()
	if err != nil {
		return nil, fmt.Errorf("make a connector of %s: %w", req.Source.Name, err)
	}
	// Opened the way every gateway will: a module that would be refused there is
	// never stored.
	opened, err := connector.Open(made.Module)
	if err != nil {
		return nil, fmt.Errorf("open the connector made of %s: %w", req.Source.Name, err)
	}
	c, err := pack(req.Workspace, &made, opened)
	if err != nil {
		return nil, err
	}
	c.Spec = spec
	return c, nil
}

// CompileMCP makes the connector of an MCP server and stores nothing; name is its
// slug. The same server gives the same bytes. A server of which nothing can be
// served is a *problem.Error of kind cannot_connect_mcp_server.
func (p *Publisher) CompileMCP(workspace, name string, server *connector.MCPServer) (*Connector, error) {
	if !registry.ValidSlug(workspace) || !registry.ValidSlug(name) {
		return nil, problem.New(problem.InvalidArgument, "workspace %.80q or connector %.80q is not a slug", workspace, name)
	}
	made, refused, err := connector.BuildMCP(name, server)
	if err != nil {
		e := problem.New(problem.CannotConnectMCP, "none of the %d tools of the server can be served", len(server.Tools)).Because(err).
			Fix("only servers with tools, prompts or resources can be put into a toolset")
		const shown = 8 // enough to see the pattern
		for _, r := range refused[:min(len(refused), shown)] {
			e.Parts = append(e.Parts, problem.New(problem.CannotConnectMCP, "tool %.80q: %s", r.Name, r.Reason))
		}
		return nil, e
	}
	opened, err := connector.Open(made.Module)
	if err != nil {
		return nil, fmt.Errorf("open the connector made of %s: %w", name, err)
	}
	c, err := pack(workspace, &made, opened)
	if err != nil {
		return nil, err
	}
	c.Refused = refused
	return c, nil
}

func pack(workspace string, made *connector.Artifact, opened *connector.Connector) (*Connector, error) {
	artifact, err := oci.New(oci.KindPlugin, made.Module, map[string]string{
		"org.opencontainers.image.title":   made.Name,
		"org.opencontainers.image.version": made.Version,
	})
	if err != nil {
		return nil, err
	}
	return &Connector{
		Repository: workspace + "/connectors/" + made.Name, Tag: made.Tag,
		Manifest: artifact.Digest(), Module: artifact.LayerDigest(), Opened: opened, artifact: artifact,
	}, nil
}

func noTools(name string, spec *openapi.Result) error {
	e := problem.New(problem.InvalidSpec, "none of its %d operations can be made a tool", spec.Operations)
	e.Place.File = name
	if spec.Operations == 0 {
		e.Detail, e.Remedy = "the specification has no operations", "add operations below paths"
		return e
	}
	const shown = 8 // enough to see the pattern
	for _, u := range spec.Unsupported[:min(len(spec.Unsupported), shown)] {
		e.Parts = append(e.Parts, problem.New(problem.InvalidSpec, "%s %s: %s", u.Method, u.Path, u.Reason).
			At(name, u.Line, 0, u.Pointer))
	}
	return e
}

// Push stores a compiled connector; when it returns nil the connector is durable.
// Pushing the same connector again changes nothing.
func (p *Publisher) Push(ctx context.Context, c *Connector) error {
	return p.opts.Store.Push(ctx, c.Repository, c.Tag, c.artifact)
}

// Connector is Compile and Push.
func (p *Publisher) Connector(ctx context.Context, req ConnectorRequest) (*Connector, error) {
	c, err := p.Compile(ctx, req)
	if err != nil {
		return nil, err
	}
	return c, p.Push(ctx, c)
}

// Open reads a stored connector back, verified.
func (p *Publisher) Open(ctx context.Context, repository string, manifest registry.Digest) (*connector.Connector, error) {
	a, err := p.opts.Store.Pull(ctx, repository, manifest, oci.KindPlugin)
	if err != nil {
		return nil, err
	}
	return connector.Open(a.Layer())
}

// Bundle is a stored toolset bundle.
type Bundle struct {
	Repository string          // <workspace>/toolsets/<slug>
	Digest     registry.Digest // OCI manifest digest: the toolset's digest
}

// Bundle makes and stores the bundle of a toolset with its own response
// programs; when it returns nil the bundle is durable. It makes nothing live.
// The same toolset gives the same digest. Faults of t are those of
// [registry.Toolset.Validate].
//
// index is the stored index of the toolset's tools (registry.IndexTools), which
// search mode needs; nil: none.
func (p *Publisher) Bundle(ctx context.Context, t *registry.Toolset, programs [][]byte, index []byte) (Bundle, error) {
	module, err := registry.BuildBundle(t, programs)
	if err != nil {
		return Bundle{}, err
	}
	module = registry.AppendIndex(module, index)
	a, err := oci.New(oci.KindToolset, module, map[string]string{"org.opencontainers.image.title": t.Slug})
	if err != nil {
		return Bundle{}, err
	}
	b := Bundle{Repository: t.Workspace + "/toolsets/" + t.Slug, Digest: a.Digest()}
	return b, p.opts.Store.Push(ctx, b.Repository, "", a)
}

// verify opens what a release would list and the current one does not, as a
// gateway will.
func (p *Publisher) verify(ctx context.Context, current *registry.Release, toolsets []registry.ReleaseToolset) error {
	known := make(map[registry.ReleaseToolset]bool, len(current.Toolsets))
	for _, t := range current.Toolsets {
		t.Revision = 0 // says nothing about the content
		known[t] = true
	}
	for _, t := range toolsets {
		key := t
		key.Revision = 0
		if known[key] {
			continue
		}
		known[key] = true
		if err := p.verifyToolset(ctx, t); err != nil {
			return fmt.Errorf("toolset %s cannot be released: %w", t.Slug, err)
		}
		if !t.Trial.Running() {
			continue
		}
		if err := p.verifyToolset(ctx, t.Candidate()); err != nil {
			return fmt.Errorf("the candidate of toolset %s cannot be released: %w", t.Slug, err)
		}
	}
	return nil
}

func (p *Publisher) verifyToolset(ctx context.Context, t registry.ReleaseToolset) error {
	a, err := p.pull(ctx, t.Repository, t.Bundle, oci.KindToolset)
	if err != nil {
		return err
	}
	bare, index, err := registry.SplitIndex(a.Layer())
	if err != nil {
		return err
	}
	bundle, _, err := registry.OpenBundle(bare)
	if err != nil {
		return err
	}
	if bundle.NeedsIndex() {
		if _, err := selection.Open(index, selection.DefaultTable()); err != nil {
			return problem.New(problem.InvalidRelease, "the bundle of toolset %q has no usable index of its tools", bundle.Slug).Because(err)
		}
	}
	if bundle.ID != t.ID || bundle.Slug != t.Slug || bundle.Workspace != t.Workspace {
		return problem.New(problem.InvalidRelease, "the bundle is of toolset %q (%s) of %q", bundle.Slug, bundle.ID, bundle.Workspace)
	}
	if err := p.verifyAccess(ctx, t); err != nil {
		return err
	}
	for _, c := range bundle.Connectors {
		a, err := p.pull(ctx, c.Repository, c.Manifest, oci.KindPlugin)
		if err != nil {
			return fmt.Errorf("connector %s: %w", c.Name, err)
		}
		if a.LayerDigest() != c.Digest {
			return problem.New(problem.InvalidRelease, "connector %q has the module %s, the bundle names %s",
				c.Name, a.LayerDigest().Short(), c.Digest.Short())
		}
		if _, err := connector.Open(a.Layer()); err != nil {
			return fmt.Errorf("connector %s: %w", c.Name, err)
		}
	}
	for _, ref := range bundle.Plugins {
		if _, err := p.OpenPlugin(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

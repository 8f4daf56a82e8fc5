package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// AddConnector asks for another connector in a toolset. The same source again, under
// the same name, refreshes it and keeps its edits.
type AddConnector struct {
	Name      string               `json:"name,omitempty" maxLength:"63" pattern:"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" doc:"Of the connector in the toolset; tools whose names are taken get it in front. Default: made of the title."`
	Source    CreateSource         `json:"source"`
	BaseURL   string               `json:"baseUrl,omitempty" maxLength:"2048" doc:"Default: the specification's first server, or the MCP server."`
	Tools     []string             `json:"tools,omitempty" maxItems:"256" doc:"Names or globs of its tools to enable; a leading ! leaves out. Default: all."`
	Profile   string               `json:"profile,omitempty" enum:"off,lossless,concise" doc:"Of its tools' answers. Default: the toolset's."`
	Auth      *credential.SetAuth  `json:"authentication,omitempty"`
	Policy    string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools. Default: pin."`
	Test      *rollout.TestRequest `json:"test,omitempty" doc:"Which tool to test with. Default: the first safe one of this connector."`
	Stateless bool                 `json:"stateless,omitempty" doc:"The operator's word that the MCP server keeps nothing of a caller between calls: all callers of the toolset share one session, those whom nobody knows, too. Default: a session for each caller, unless the server gives none."`
	Deploy    *CreateDeploy        `json:"deploy,omitempty"`
}

// PatchConnector changes the fields that are there; "" restores the default.
type PatchConnector struct {
	BaseURL *string               `json:"baseUrl,omitempty" maxLength:"2048"`
	Policy  *string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools."`
	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"What is made of its tools' answers."`

	Fixed     map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see, of each tool that takes an argument of that name; body.member is a member of the argument body. null gives an argument back. No place for secrets."`
	Stateless *bool                      `json:"stateless,omitempty" doc:"The operator's word that the MCP server keeps nothing of a caller between calls: all callers of the toolset share one session, those whom nobody knows, too. Default: a session for each caller, unless the server gives none."`
}

// ToolsetConnectorDetail is a connector with what the compiler said about its source.
type ToolsetConnectorDetail struct {
	ToolsetConnector
	Operations  int                   `json:"operations" doc:"Operations in the specification."`
	Unsupported []toolset.Unsupported `json:"unsupported" doc:"Operations that are no tools, with the reason."`
	Warnings    []toolset.Diagnostic  `json:"warnings"`
}

// AddedConnector answers the addition of a connector.
type AddedConnector struct {
	Connector ToolsetConnectorDetail `json:"connector"`
	Created   bool                   `json:"created" doc:"false: the toolset had it, and it was refreshed."`
	Tools     []toolset.Tool         `json:"tools" doc:"Of this connector."`
	Renamed   []draft.KeptName       `json:"renamed" doc:"Tools whose generated names other tools of the toolset have."`
	Test      *rollout.TestRun       `json:"test,omitempty"`
	Granted   []string               `json:"granted,omitempty" doc:"Private addresses the toolset may now call from this node, because the operator named them on this machine."`
	Changes   *Changes               `json:"changes,omitempty" doc:"What a refresh changed."`
	Toolset   Toolset                `json:"toolset"`
}

// ToolsetConnectorInput is the path of a connector of a toolset.
type ToolsetConnectorInput struct {
	ToolsetInput
	Connector string `path:"connector" maxLength:"63" doc:"Its name in the toolset."`
}

type addConnectorInput struct {
	ToolsetInput
	Body AddConnector
}

type patchConnectorInput struct {
	ToolsetConnectorInput
	request.MatchInput
	Body PatchConnector `contentType:"application/merge-patch+json"`
}

type deleteConnectorInput struct {
	ToolsetConnectorInput
	request.MatchInput
}

type connectorOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body ToolsetConnectorDetail
}

type connectorsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body List[ToolsetConnector]
}

func (s *Server) registerToolsetConnectors() {
	tags := []string{"toolsets"}
	const path, one = "/v1/toolsets/{id}/connectors", "/v1/toolsets/{id}/connectors/{connector}"
	register(s, huma.Operation{
		OperationID: "list-toolset-connectors", Method: http.MethodGet, Path: path, Summary: "List the connectors of a toolset in their order", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*connectorsOutput, error) {
		d, t, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &connectorsOutput{ETag: request.ETag(d.Toolset.Version), Body: List[ToolsetConnector]{Items: t.Connectors}}, nil
	})
	register(s, huma.Operation{
		OperationID: "add-toolset-connector", Method: http.MethodPost, Path: path, Summary: "Add an API or an MCP server to a toolset", Tags: tags,
		Description: "Makes a connector, tests one of its safe tools, and deploys when the test passes. No tool that is there is renamed: " +
			"a new one whose name is taken gets the connector's name in front. The same source again refreshes that connector (200).",
	}, func(ctx context.Context, in *addConnectorInput) (*jobOutput, error) {
		return s.run(ctx, "connector.add", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.addConnector(ctx, in.ID, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), path, AddedConnector{}, http.StatusCreated, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "get-toolset-connector", Method: http.MethodGet, Path: one, Summary: "Read a connector of a toolset", Tags: tags,
	}, func(ctx context.Context, in *ToolsetConnectorInput) (*connectorOutput, error) {
		d, _, err := s.outlined(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if err := d.Focus(in.Connector); err != nil {
			return nil, err
		}
		return s.connectorAnswer(ctx, s.workspace(ctx), d)
	})
	register(s, huma.Operation{
		OperationID: "patch-toolset-connector", Method: http.MethodPatch, Path: one, Summary: "Change a connector of a toolset", Tags: tags,
		Description: "A change makes a new draft; what is live stays until the draft is tested or deployed. Needs If-Match.",
	}, s.patchConnector)
	register(s, huma.Operation{
		OperationID: "remove-toolset-connector", Method: http.MethodDelete, Path: one, Summary: "Take a connector out of a toolset", Tags: tags,
		Description: "Its edits, its examples and its credential go with it; what is live stays until the draft is tested or deployed, but its tools answer with an error " +
			"where they need the credential. The other tools keep their names. The last connector stays. Needs If-Match.",
	}, func(ctx context.Context, in *deleteConnectorInput) (*toolsetOutput, error) {
		return s.removeConnector(ctx, in)
	})
}

func (s *Server) outlined(ctx context.Context, id string) (*draft.Draft, Toolset, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, Toolset{}, err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return nil, Toolset{}, err
	}
	t, err := s.show(ctx, ws, d)
	return d, t, err
}

// showPart renders a connector of a toolset.
func (s *Server) showPart(ctx context.Context, ws *store.Workspace, p *draft.Part) (c *ToolsetConnector, err error) {
	r := p.Report
	c = &ToolsetConnector{
		Name: p.Row.Name,
		Source: Source{
			Kind: p.Row.SourceKind, URL: p.Row.SourceURL, Title: r.Title, Version: r.Version, SpecDigest: r.SpecDigest,
			Format: r.Format, Spec: r.SpecVersion, SizeBytes: r.SizeBytes,
		},
		Connector: refOf(p.Version), BaseURL: p.BaseURL(), Servers: r.Servers, Answers: toolset.ShowAnswers(p.Row.Answers), Fixed: toolset.ShowFixed(p.Row.Fixed),
		ToolCount: int(p.Version.Tools), Methods: r.Methods,
	}
	if c.Entry, err = s.catalog.Followed(p.Row.Entry); err != nil {
		return nil, err
	}
	if p.Row.SourceKind == store.SourceMCP {
		if c.Upstream, err = s.upstreamState(ctx, ws, p); err != nil {
			return nil, err
		}
	}
	if len(p.Creds) > 0 {
		c.Authentication, err = credential.Show(p.Creds, s.now())
	}
	return c, err
}

func (s *Server) detailPart(ctx context.Context, ws *store.Workspace, p *draft.Part) (ToolsetConnectorDetail, error) {
	c, err := s.showPart(ctx, ws, p)
	if err != nil {
		return ToolsetConnectorDetail{}, err
	}
	return ToolsetConnectorDetail{
		ToolsetConnector: *c, Operations: p.Report.Operations, Unsupported: p.Report.Unsupported, Warnings: p.Report.Warnings,
	}, nil
}

func (s *Server) connectorAnswer(ctx context.Context, ws *store.Workspace, d *draft.Draft) (*connectorOutput, error) {
	c, err := s.detailPart(ctx, ws, d.Part)
	if err != nil {
		return nil, err
	}
	return &connectorOutput{ETag: request.ETag(d.Toolset.Version), Body: c}, nil
}

// addConnector makes a source another connector of a toolset.
func (s *Server) addConnector(ctx context.Context, id string, in *AddConnector, phase func(string)) (*request.Done, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	whole := &CreateToolset{
		Slug: ts.Slug, Source: in.Source, BaseURL: in.BaseURL, Tools: in.Tools, Profile: in.Profile, Auth: in.Auth, Policy: in.Policy, Stateless: in.Stateless,
		Test: in.Test, Deploy: in.Deploy,
	}
	return (&change{s: s, ws: ws, in: whole, add: in, phase: phase}).run(ctx)
}

func (s *Server) patchConnector(ctx context.Context, in *patchConnectorInput) (*connectorOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	if err := in.Check(d.Toolset.Version, true); err != nil {
		return nil, err
	}
	if err := d.Focus(in.Connector); err != nil {
		return nil, err
	}
	before := connectorFields(d.Part)
	toolset.Put(&d.Row.BaseURL, in.Body.BaseURL)
	toolset.Put(&d.Row.UpstreamPolicy, in.Body.Policy)
	toolset.Put(&d.Row.Stateless, in.Body.Stateless)
	if err := draft.CheckStateless(&d.Row, "/stateless"); err != nil {
		return nil, err
	}
	if in.Body.Answers != nil {
		if d.Row.Answers, err = toolset.ChangeAnswers(d.Row.Answers, in.Body.Answers, "/answers", registry.OfConnector, nil); err != nil {
			return nil, err
		}
	}
	if d.Row.Fixed, err = toolset.ChangeFixed(d.Row.Fixed, in.Body.Fixed, "/fixed", d.Takes); err != nil {
		return nil, err
	}
	if err := source.CheckBaseURL(d.Row.BaseURL, "/baseUrl"); err != nil {
		return nil, err
	}
	if err := s.drafts.Save(ctx, ws, d, "connector.update", before, connectorFields(d.Part), false); err != nil {
		return nil, err
	}
	if in.Body.BaseURL != nil {
		if err := s.grants.GrantNamed(ctx, ws, d.Toolset.ID, *in.Body.BaseURL); err != nil {
			return nil, err
		}
	}
	return s.connectorAnswer(ctx, ws, d)
}

// connectorFields is what the audit log says of the fields that PATCH changes.
func connectorFields(p *draft.Part) map[string]any {
	return map[string]any{
		"connector": p.Row.Name, "baseUrl": p.Row.BaseURL, "upstreamPolicy": p.Row.UpstreamPolicy, "answers": toolset.ShowAnswers(p.Row.Answers),
		"fixed": toolset.ShowFixed(p.Row.Fixed), "stateless": p.Row.Stateless,
	}
}

func (s *Server) removeConnector(ctx context.Context, in *deleteConnectorInput) (*toolsetOutput, error) {
	ws := s.workspace(ctx)
	d, err := s.drafts.Load(ctx, ws, in.ID)
	if err != nil {
		return nil, err
	}
	if err := in.Check(d.Toolset.Version, true); err != nil {
		return nil, err
	}
	if d.Named(in.Connector) == nil {
		return nil, problem.New(problem.NotFound, "toolset %s has no connector %.80q", d.Toolset.Slug, in.Connector).Fix("it has %s", d.Names())
	}
	if err := d.Focus(in.Connector); err != nil {
		return nil, err
	}
	removed := *d.Part
	if err := d.Drop(); err != nil {
		return nil, err
	}
	if err := s.drafts.Push(ctx, d); err != nil {
		return nil, err
	}
	var lost login.Gone
	s.logins.Secrets.CollectLost(ctx, ws, &lost, removed.Creds, nil)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SaveConnectors(ctx, d.Toolset, d.Rows()); err != nil {
			return err
		}
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		if err := tx.ReplaceToolEdits(ctx, d.Toolset.ID, d.Edits); err != nil {
			return err
		}
		if err := tx.DeleteLearned(ctx, d.Toolset.ID, removed.Row.Name); err != nil {
			return err
		}
		if err := s.drafts.WriteAuth(ctx, tx, d); err != nil {
			return err
		}
		rec := request.Audit(ctx, "connector.remove", d.Toolset.ID)
		rec.Digest = d.Toolset.DraftDigest
		rec.Before = store.JSON(map[string]any{"connector": removed.Row.Name, "source": removed.Row.SourceURL, "digest": removed.Row.ConnectorDigest})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	s.logins.Secrets.ForgetAll(removed.Creds)
	s.logins.Secrets.RevokeGone(ctx, ws, d.Toolset.ID, &lost)
	s.upstreams.Forget(d.Toolset.ID, removed.Row.Name)
	return s.toolsetAnswer(ctx, ws, d)
}

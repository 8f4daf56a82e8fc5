package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/view"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// PatchConnector changes the fields that are there; "" restores the default.
type PatchConnector struct {
	BaseURL *string               `json:"baseUrl,omitempty" maxLength:"2048"`
	Policy  *string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools."`
	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"What is made of its tools' answers."`

	Fixed     map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see, of each tool that takes an argument of that name; body.member is a member of the argument body. null gives an argument back. No place for secrets."`
	Stateless *bool                      `json:"stateless,omitempty" doc:"The operator's word that the MCP server keeps nothing of a caller between calls: all callers of the toolset share one session, those whom nobody knows, too. Default: a session for each caller, unless the server gives none."`
}

// ToolsetConnectorInput is the path of a connector of a toolset.
type ToolsetConnectorInput struct {
	ToolsetInput
	Connector string `path:"connector" maxLength:"63" doc:"Its name in the toolset."`
}

type addConnectorInput struct {
	ToolsetInput
	Body change.AddConnector
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
	Body view.ToolsetConnectorDetail
}

type connectorsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body List[view.ToolsetConnector]
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
		return &connectorsOutput{ETag: request.ETag(d.Toolset.Version), Body: List[view.ToolsetConnector]{Items: t.Connectors}}, nil
	})
	register(s, huma.Operation{
		OperationID: "add-toolset-connector", Method: http.MethodPost, Path: path, Summary: "Add an API or an MCP server to a toolset", Tags: tags,
		Description: "Makes a connector, tests one of its safe tools, and deploys when the test passes. No tool that is there is renamed: " +
			"a new one whose name is taken gets the connector's name in front. The same source again refreshes that connector (200).",
	}, func(ctx context.Context, in *addConnectorInput) (*jobOutput, error) {
		return s.run(ctx, "connector.add", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Add(ctx, in.ID, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), path, change.AddedConnector{}, http.StatusCreated, http.StatusOK)
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

func (s *Server) outlined(ctx context.Context, id string) (*draft.Draft, view.Toolset, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, view.Toolset{}, err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return nil, view.Toolset{}, err
	}
	t, err := s.views.Toolset(ctx, ws, d)
	return d, t, err
}

func (s *Server) connectorAnswer(ctx context.Context, ws *store.Workspace, d *draft.Draft) (*connectorOutput, error) {
	c, err := s.views.Detail(ctx, ws, d.Part)
	if err != nil {
		return nil, err
	}
	return &connectorOutput{ETag: request.ETag(d.Toolset.Version), Body: c}, nil
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

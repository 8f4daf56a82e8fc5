package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/fleet/domain"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
)

// DomainInput is the path of a domain.
type DomainInput struct {
	Host string `path:"host" maxLength:"253" doc:"Host name." example:"tools.example.com"`
}

type toolsetDomainInput struct {
	ToolsetInput
	DomainInput
}

type toolsetDomainsInput struct {
	ToolsetInput
	ListInput
}

type removeDomainInput struct {
	DomainInput
	request.MatchInput
}

type removeToolsetDomainInput struct {
	ToolsetInput
	DomainInput
	request.MatchInput
}

type addDomainInput struct{ Body domain.New }

type addToolsetDomainInput struct {
	ToolsetInput
	Body domain.New
}

type domainOutput struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location" doc:"Of a new domain."`
	Body     domain.Domain
}

// registerDomains registers the domains of the workspace, and below each toolset those of
// the toolset.
func registerDomains(s *Server) {
	const path, ofToolset = "/v1/domains", "/v1/toolsets/{id}/domains"
	const proof = "The answer has the DNS records to make; it serves nothing until they are seen. DNS is asked from time to time for a week, and by …/verify at once."
	tags := []string{"domains"}
	register(s, huma.Operation{
		OperationID: "list-domains", Method: http.MethodGet, Path: path, Summary: "List the domains of the workspace and of its toolsets, by name", Tags: tags,
	}, func(ctx context.Context, in *ListInput) (*listOutput[domain.Domain], error) {
		return listDomains(ctx, s, in, "", path)
	})
	register(s, huma.Operation{
		OperationID: "add-domain", Method: http.MethodPost, Path: path, Summary: "Add a domain at which the toolsets of the workspace are", Tags: tags, DefaultStatus: http.StatusCreated, Description: proof,
	}, func(ctx context.Context, in *addDomainInput) (*domainOutput, error) {
		row, err := s.domains.Add(ctx, s.workspace(ctx), "", in.Body.Host)
		return domainAnswer(s, row, path, err)
	})
	register(s, huma.Operation{
		OperationID: "get-domain", Method: http.MethodGet, Path: path + "/{host}", Summary: "Read a domain", Tags: tags,
	}, func(ctx context.Context, in *DomainInput) (*domainOutput, error) {
		row, err := s.workspace(ctx).Domain(ctx, domain.Name(in.Host))
		return domainAnswer(s, row, "", err)
	})
	register(s, huma.Operation{
		OperationID: "verify-domain", Method: http.MethodPost, Path: path + "/{host}/verify", Summary: "Ask DNS about a domain now", Tags: tags, DefaultStatus: http.StatusOK,
		Description: "What DNS lacks is in cause of the answer. A certificate that could not be obtained is asked for again.",
	}, func(ctx context.Context, in *DomainInput) (*domainOutput, error) {
		row, err := s.domains.Verify(ctx, s.workspace(ctx), domain.Name(in.Host))
		return domainAnswer(s, row, "", err)
	})
	register(s, huma.Operation{
		OperationID: "remove-domain", Method: http.MethodDelete, Path: path + "/{host}", Summary: "Remove a domain", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "Gateways stop serving it, its certificate is revoked, and any workspace may add it.",
	}, func(ctx context.Context, in *removeDomainInput) (*struct{}, error) {
		return nil, s.domains.Remove(ctx, s.workspace(ctx), domain.Name(in.Host), &in.MatchInput)
	})

	register(s, huma.Operation{
		OperationID: "list-toolset-domains", Method: http.MethodGet, Path: ofToolset, Summary: "List the domains of a toolset, by name", Tags: tags,
	}, func(ctx context.Context, in *toolsetDomainsInput) (*listOutput[domain.Domain], error) {
		ts, err := s.workspace(ctx).FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return listDomains(ctx, s, &in.ListInput, ts.ID, "/v1/toolsets/"+ts.ID+"/domains")
	})
	register(s, huma.Operation{
		OperationID: "add-toolset-domain", Method: http.MethodPost, Path: ofToolset, Summary: "Add a domain that is the URL of a toolset", Tags: tags, DefaultStatus: http.StatusCreated, Description: proof,
	}, func(ctx context.Context, in *addToolsetDomainInput) (*domainOutput, error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		row, err := s.domains.Add(ctx, ws, ts.ID, in.Body.Host)
		if err == nil {
			row.Slug = ts.Slug
		}
		return domainAnswer(s, row, "/v1/toolsets/"+ts.ID+"/domains", err)
	})
	register(s, huma.Operation{
		OperationID: "get-toolset-domain", Method: http.MethodGet, Path: ofToolset + "/{host}", Summary: "Read a domain of a toolset", Tags: tags,
	}, func(ctx context.Context, in *toolsetDomainInput) (*domainOutput, error) {
		row, err := domain.OfToolset(ctx, s.workspace(ctx), in.ID, in.Host)
		return domainAnswer(s, row, "", err)
	})
	register(s, huma.Operation{
		OperationID: "verify-toolset-domain", Method: http.MethodPost, Path: ofToolset + "/{host}/verify", Summary: "Ask DNS about a domain of a toolset now", Tags: tags, DefaultStatus: http.StatusOK,
		Description: "What DNS lacks is in cause of the answer. A certificate that could not be obtained is asked for again.",
	}, func(ctx context.Context, in *toolsetDomainInput) (*domainOutput, error) {
		row, err := domain.OfToolset(ctx, s.workspace(ctx), in.ID, in.Host)
		if err == nil {
			row, err = s.domains.Verify(ctx, s.workspace(ctx), row.Host)
		}
		return domainAnswer(s, row, "", err)
	})
	register(s, huma.Operation{
		OperationID: "remove-toolset-domain", Method: http.MethodDelete, Path: ofToolset + "/{host}", Summary: "Remove a domain of a toolset", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "Gateways stop serving it, its certificate is revoked, and any workspace may add it.",
	}, func(ctx context.Context, in *removeToolsetDomainInput) (*struct{}, error) {
		row, err := domain.OfToolset(ctx, s.workspace(ctx), in.ID, in.Host)
		if err != nil {
			return nil, err
		}
		return nil, s.domains.Remove(ctx, s.workspace(ctx), row.Host, &in.MatchInput)
	})
}

func listDomains(ctx context.Context, s *Server, in *ListInput, toolset, path string) (*listOutput[domain.Domain], error) {
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	rows, next, err := s.workspace(ctx).Domains(ctx, toolset, p)
	if err != nil {
		return nil, err
	}
	return list(in, path, rows, next, s.domains.Show), nil
}

// domainAnswer shows a domain; made is the path that a new one is below.
func domainAnswer(s *Server, row *store.Domain, made string, err error) (*domainOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &domainOutput{ETag: request.ETag(row.Version), Body: s.domains.Show(row)}
	if made != "" {
		out.Location = made + "/" + row.Host
	}
	return out, nil
}

package admin

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/connectorrequest"
	"github.com/sluicegate/sluice/admin/catalog/requestpage"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

type listConnectorRequestsInput struct {
	ListInput

	State []string `query:"state" enum:"open,planned,building,published,declined" maxItems:"5" doc:"Only in these states."`
}

// ConnectorRequestInput is the path of a request.
type ConnectorRequestInput struct {
	ID string `path:"id" maxLength:"64"`
}

type createConnectorRequestInput struct {
	EvenIfSimilar bool `query:"evenIfSimilar" doc:"Also when one of this name or host is there."`
	Body          connectorrequest.NewRequest
}

type similarConnectorRequestsInput struct {
	ServiceName string `query:"serviceName" maxLength:"80"`
	Website     string `query:"website" maxLength:"500"`
	UseCase     string `query:"useCase" maxLength:"2000"`
}

type changeConnectorRequestInput struct {
	ConnectorRequestInput
	request.MatchInput

	Body connectorrequest.ChangeRequest
}

type connectorRequestOutput struct {
	ETag string `header:"ETag"`
	Body connectorrequest.Request
}

// SimilarConnectors is what is like a request that is about to be sent.
type SimilarConnectors struct {
	Requests []connectorrequest.Likeness `json:"requests" doc:"At most 5, the most alike first."`
	Entries  []catalog.EntryOutline      `json:"entries" doc:"Pre-built connectors of the catalog that may be it, at most 3."`
}

func registerConnectorRequests(s *Server) {
	const path = "/v1/connector-requests"
	s.wanted = &connectorrequest.Room{Told: s.notify.Wake, Exists: func(ctx context.Context, ws *store.Workspace, name string) (bool, error) {
		return isConnector(ctx, s, ws, name)
	}}
	tags := []string{"connector requests"}
	register(s, huma.Operation{
		OperationID: "list-connector-requests", Method: http.MethodGet, Path: path, Summary: "List the connectors that people ask for, by votes and age", Tags: tags,
	}, func(ctx context.Context, in *listConnectorRequestsInput) (*listOutput[connectorrequest.Request], error) {
		ws := s.workspace(ctx)
		voted, err := connectorrequest.Voted(ctx, ws)
		if err != nil {
			return nil, err
		}
		var names map[string]string
		return filtered(&in.ListInput, path, func(p store.Page) (rows []store.ConnectorRequest, next string, err error) {
			if rows, next, err = ws.ConnectorRequests(ctx, in.State, p); err == nil {
				names, err = requesters(ctx, ws, rows)
			}
			return rows, next, err
		},
			func(row *store.ConnectorRequest) (connectorrequest.Request, error) {
				shown, err := connectorrequest.Show(row, voted)
				shown.Name(names)
				return shown, err
			})
	})
	register(s, huma.Operation{
		OperationID: "similar-connector-requests", Method: http.MethodGet, Path: path + "/similar", Summary: "Find what is like a request before it is sent", Tags: tags,
	}, func(ctx context.Context, in *similarConnectorRequestsInput) (*bodyOutput[SimilarConnectors], error) {
		found, err := connectorrequest.Similar(ctx, s.workspace(ctx), &connectorrequest.NewRequest{ServiceName: in.ServiceName, Website: in.Website, UseCase: in.UseCase})
		if err != nil {
			return nil, err
		}
		out := SimilarConnectors{Requests: found, Entries: []catalog.EntryOutline{}}
		if in.ServiceName != "" {
			out.Entries = s.catalog.Named(in.ServiceName)
		}
		return &bodyOutput[SimilarConnectors]{out}, nil
	})
	register(s, huma.Operation{
		OperationID: "create-connector-request", Method: http.MethodPost, Path: path, Summary: "Ask for a connector", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "It has your vote. One of the same name or host is a conflict, unless evenIfSimilar is set.",
	}, func(ctx context.Context, in *createConnectorRequestInput) (*connectorRequestOutput, error) {
		return connectorRequest(ctx, s)(s.wanted.Create(ctx, s.workspace(ctx), &in.Body, in.EvenIfSimilar))
	})
	register(s, huma.Operation{
		OperationID: "get-connector-request", Method: http.MethodGet, Path: path + "/{id}", Summary: "Read a request", Tags: tags,
	}, func(ctx context.Context, in *ConnectorRequestInput) (*connectorRequestOutput, error) {
		return connectorRequest(ctx, s)(s.workspace(ctx).ConnectorRequest(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "patch-connector-request", Method: http.MethodPatch, Path: path + "/{id}", Summary: "Set the state of a request", Tags: tags,
		Description: "When it is published, a notice request.published goes to the channels, which names those who asked and voted.",
	}, func(ctx context.Context, in *changeConnectorRequestInput) (*connectorRequestOutput, error) {
		return connectorRequest(ctx, s)(s.wanted.Change(ctx, s.workspace(ctx), in.ID, &in.MatchInput, &in.Body))
	})
	vote := func(give bool) func(context.Context, *ConnectorRequestInput) (*connectorRequestOutput, error) {
		return func(ctx context.Context, in *ConnectorRequestInput) (*connectorRequestOutput, error) {
			return connectorRequest(ctx, s)(s.wanted.Vote(ctx, s.workspace(ctx), in.ID, give))
		}
	}
	register(s, huma.Operation{
		OperationID: "vote-connector-request", Method: http.MethodPut, Path: path + "/{id}/vote", Summary: "Vote for a request", Tags: tags,
	}, vote(true))
	register(s, huma.Operation{
		OperationID: "unvote-connector-request", Method: http.MethodDelete, Path: path + "/{id}/vote", Summary: "Take your vote back", Tags: tags,
	}, vote(false))
}

// RequestPage makes the public page of the requests of the operator's workspace, which people
// reach at url. It is called once, before anything is served.
func (s *Server) RequestPage(ctx context.Context, url string) (*requestpage.Room, error) {
	s.wanted.Page = url
	return requestpage.New(ctx, requestpage.Options{
		Store: s.o.Store, Workspace: request.Operator, Keyring: s.o.Keyring, Notify: s.notify, Requests: s.wanted, URL: url, Proxies: s.o.Proxies, Log: s.log, Counted: s.metrics.RequestPage,
	})
}

// isConnector reports whether a name is that of an entry of the catalog or of a toolset.
func isConnector(ctx context.Context, s *Server, ws *store.Workspace, name string) (bool, error) {
	if _, err := s.catalog.Show(name); err == nil {
		return true, nil
	}
	find := ws.ToolsetBySlug
	if strings.HasPrefix(name, "ts_") {
		find = ws.Toolset
	}
	_, err := find(ctx, name)
	if problem.Is(err, problem.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// requesters are the names of the people of requests.
func requesters(ctx context.Context, ws *store.Workspace, rows []store.ConnectorRequest) (map[string]string, error) {
	ids, err := connectorrequest.People(rows)
	if err != nil {
		return nil, err
	}
	return ws.Names(ctx, ids)
}

// connectorRequest makes the answer of an operation about one request.
func connectorRequest(ctx context.Context, s *Server) func(*store.ConnectorRequest, error) (*connectorRequestOutput, error) {
	return func(row *store.ConnectorRequest, err error) (*connectorRequestOutput, error) {
		if err != nil {
			return nil, err
		}
		voted, err := connectorrequest.Voted(ctx, s.workspace(ctx))
		if err != nil {
			return nil, err
		}
		names, err := requesters(ctx, s.workspace(ctx), []store.ConnectorRequest{*row})
		if err != nil {
			return nil, err
		}
		shown, err := connectorrequest.Show(row, voted)
		shown.Name(names)
		return &connectorRequestOutput{request.ETag(row.Version), shown}, err
	}
}

package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/toolset/access"
)

// Calls is a page of the call log.
type Calls struct {
	List[usage.LoggedCall]
	Omitted uint64 `json:"omitted,omitempty" doc:"Calls of the range that are counted in usage and not in the log: a node logs 4,096 in ten seconds. On the first page only."`
}

// CallsInput asks for calls.
type CallsInput struct {
	ListInput
	usage.CallRangeInput
}

type callsOutput struct {
	Link string `header:"Link" doc:"rel=\"next\": the next page."`
	Body Calls
}

type callInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the call."`
}

type setCaptureInput struct {
	ToolsetInput
	request.MatchInput
	Body access.CaptureSettings
}

func registerUsage(s *Server) {
	tags := []string{"usage"}
	register(s, huma.Operation{
		OperationID: "get-usage", Method: http.MethodGet, Path: "/v1/usage", Summary: "Read usage", Tags: tags,
		Description: "Calls, errors, latency, tokens and bytes over time, exact except for what a node that was killed had not written in its last ten seconds. " +
			"Nodes report every ten seconds; what one could not report yet is missing until it does.",
	}, answered(s, s.usage.Usage))
	register(s, huma.Operation{
		OperationID: "get-usage-errors", Method: http.MethodGet, Path: "/v1/usage/errors", Summary: "Read why calls failed", Tags: tags,
	}, answered(s, s.usage.Errors))
}

func registerCalls(s *Server) {
	tags := []string{"calls"}
	register(s, huma.Operation{
		OperationID: "list-calls", Method: http.MethodGet, Path: "/v1/calls", Summary: "Read the call log, newest first", Tags: tags,
		Description: "One record of each call: who, when, how it ended and where its time went. Arguments and answers are in none but the record of one call, where a toolset captures them.",
	}, func(ctx context.Context, in *CallsInput) (*callsOutput, error) {
		const path = "/v1/calls"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		shown, next, omitted, err := s.usage.Calls(ctx, s.workspace(ctx), &in.CallRangeInput, p)
		if err != nil {
			return nil, err
		}
		l := list(&in.ListInput, path, shown, next, same)
		return &callsOutput{Link: l.Link, Body: Calls{l.Body, omitted}}, nil
	})
	register(s, huma.Operation{
		OperationID: "follow-calls", Method: http.MethodGet, Path: "/v1/calls/follow", Summary: "Wait for calls", Tags: tags,
		Description: "Calls that arrived after a place in the log, in that order; waits until there is one. Nodes report every ten seconds.",
	}, answered(s, s.usage.Follow))
	register(s, huma.Operation{
		OperationID: "get-call", Method: http.MethodGet, Path: "/v1/calls/{id}", Summary: "Read a call, with what was captured of it", Tags: tags,
	}, func(ctx context.Context, in *callInput) (*bodyOutput[*usage.CallDetail], error) {
		return answer(s.usage.Call(ctx, s.workspace(ctx), in.ID))
	})
	const path = "/v1/toolsets/{id}/capture"
	register(s, huma.Operation{
		OperationID: "get-capture", Method: http.MethodGet, Path: path, Summary: "Read what the call log keeps of calls", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bodyOutput[access.CaptureSettings], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(s.access.Capture(ctx, ws, ts))
	})
	register(s, huma.Operation{
		OperationID: "set-capture", Method: http.MethodPut, Path: path, Summary: "Set what the call log keeps of calls", Tags: tags,
		Description: "In force at once, without a new revision of the toolset. Texts are redacted on the node that served the call; text that does not look like a secret is kept. " +
			"If-Match: the ETag of the toolset's access.",
	}, func(ctx context.Context, in *setCaptureInput) (*bodyOutput[access.CaptureSettings], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return answer(in.Body, s.access.SetCapture(ctx, ws, ts, &in.MatchInput, in.Body))
	})
}

package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/request"
)

type scheduleInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Which one, of a toolset with several."`
}

type setScheduleInput struct {
	ToolsetInput
	request.MatchInput
	Body change.Schedule
}

type acceptInput struct {
	ToolsetInput
	request.MatchInput
	Change string `path:"change" maxLength:"64" doc:"Id of the change that waits."`
	Body   *change.AcceptChange
}

func registerSchedules(s *Server) {
	tags := []string{"toolsets"}
	const path, accept = "/v1/toolsets/{id}/schedule", "/v1/toolsets/{id}/changes/{change}/accept"
	register(s, huma.Operation{
		OperationID: "get-schedule", Method: http.MethodGet, Path: path, Summary: "Read how often a specification is read again, and what waits", Tags: tags,
	}, func(ctx context.Context, in *scheduleInput) (*bodyOutput[change.Schedule], error) {
		d, err := s.drafts.Outline(ctx, in.ID, in.Connector)
		if err != nil {
			return nil, err
		}
		return pointed(s.changes.Schedule(ctx, d))
	})
	register(s, huma.Operation{
		OperationID: "set-schedule", Method: http.MethodPut, Path: path, Summary: "Set how often a specification is read again by itself", Tags: tags,
		Description: "What breaks nothing is tested and deployed when the test passes. What breaks something waits outside of the draft until it is accepted, " +
			"and so does everything while the draft has changes that are not live. What cannot be read changes nothing.",
	}, func(ctx context.Context, in *setScheduleInput) (*bodyOutput[change.Schedule], error) {
		return pointed(s.changes.SetSchedule(ctx, in.ID, &in.MatchInput, &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "accept-change", Method: http.MethodPost, Path: accept, Summary: "Accept a change that waits", Tags: tags,
		Description: "Reads the source again, takes over exactly what that change says, tests and deploys it. 409 when the source has changed again since. " +
			"With If-Match, nothing is read when the toolset was changed since it was read.",
	}, func(ctx context.Context, in *acceptInput) (*jobOutput, error) {
		req, err := s.changes.Accept(ctx, in.ID, in.Change, in.Body)
		if err != nil {
			return nil, err
		}
		return s.run(ctx, "toolset.accept", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.changes.Refresh(ctx, in.ID, &in.MatchInput, req, phase)
		})
	})
	documentJob(s.api.OpenAPI(), accept, change.Refreshed{}, http.StatusOK)
}

package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/fleet/usage"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/notify/alert/rule"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store/listing"
)

type listAlertRulesInput struct {
	ListInput

	Toolset string `query:"toolset" maxLength:"128" doc:"Only rules that count for this toolset, by id or slug."`
}

// AlertRuleInput is the path of a rule.
type AlertRuleInput struct {
	Name    string `path:"name" maxLength:"64"`
	Toolset string `query:"toolset" maxLength:"128" doc:"Of a preset: its settings for this toolset, by id or slug."`
}

type createAlertRuleInput struct{ Body alert.NewRule }

type changeAlertRuleInput struct {
	AlertRuleInput
	request.MatchInput

	Body    rule.Settings
	RawBody []byte
}

type deleteAlertRuleInput struct {
	AlertRuleInput
	request.MatchInput
}

type testAlertRuleInput struct {
	AlertRuleInput

	Body struct {
		Range string `json:"range,omitempty" default:"24h" maxLength:"20" doc:"How far back: 1m to 24h."`
		rule.Settings
	}
}

type alertRuleOutput struct {
	ETag string `header:"ETag"`
	Body alert.Rule
}

func ruleAnswer(r *alert.Rule, err error) (*alertRuleOutput, error) {
	if err != nil {
		return nil, err
	}
	return &alertRuleOutput{request.ETag(r.Version), *r}, nil
}

func registerAlertRules(s *Server) {
	tags := []string{"alerts"}
	register(s, huma.Operation{
		OperationID: "list-alert-rules", Method: http.MethodGet, Path: "/v1/alert-rules", Summary: "List the rules over usage", Tags: tags,
		Description: "Presets first, then own rules by name, unless orderBy says otherwise. Presets always exist; each is listed for the workspace, and once more for every toolset that overrides its settings.",
	}, of(s, listAlertRules))
	register(s, huma.Operation{
		OperationID: "create-alert-rule", Method: http.MethodPost, Path: "/v1/alert-rules", Summary: "Add a rule over usage", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *createAlertRuleInput) (*alertRuleOutput, error) {
		var err error
		if in.Body.Toolset, err = usage.ToolsetID(ctx, s.workspace(ctx), in.Body.Toolset); err != nil {
			return nil, err
		}
		return ruleAnswer(s.alerts.AddRule(ctx, s.workspace(ctx), &in.Body))
	})
	register(s, huma.Operation{
		OperationID: "get-alert-rule", Method: http.MethodGet, Path: "/v1/alert-rules/{name}", Summary: "Read a rule", Tags: tags,
	}, func(ctx context.Context, in *AlertRuleInput) (*alertRuleOutput, error) {
		ts, err := usage.ToolsetID(ctx, s.workspace(ctx), in.Toolset)
		if err != nil {
			return nil, err
		}
		return ruleAnswer(s.alerts.ShowRule(ctx, s.workspace(ctx), in.Name, ts))
	})
	register(s, huma.Operation{
		OperationID: "patch-alert-rule", Method: http.MethodPatch, Path: "/v1/alert-rules/{name}", Summary: "Change a rule, or switch it off and on", Tags: tags,
		Description: "Absent members stay unchanged; null restores the default: a filter such as tool is removed. A preset is changed for all toolsets, or with toolset for one.",
	}, func(ctx context.Context, in *changeAlertRuleInput) (*alertRuleOutput, error) {
		ts, err := usage.ToolsetID(ctx, s.workspace(ctx), in.Toolset)
		if err != nil {
			return nil, err
		}
		return ruleAnswer(s.alerts.ChangeRule(ctx, s.workspace(ctx), in.Name, ts, &in.MatchInput, &in.Body, request.Nulls(in.RawBody)...))
	})
	register(s, huma.Operation{
		OperationID: "delete-alert-rule", Method: http.MethodDelete, Path: "/v1/alert-rules/{name}", Summary: "Remove a rule, or the settings of a preset", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: "Its alerts are resolved. A preset gets its default settings again.",
	}, func(ctx context.Context, in *deleteAlertRuleInput) (*struct{}, error) {
		ts, err := usage.ToolsetID(ctx, s.workspace(ctx), in.Toolset)
		if err != nil {
			return nil, err
		}
		return nil, s.alerts.RemoveRule(ctx, s.workspace(ctx), in.Name, ts, &in.MatchInput)
	})
	register(s, huma.Operation{
		OperationID: "test-alert-rule", Method: http.MethodPost, Path: "/v1/alert-rules/{name}/test", Summary: "Say what a rule would have reported", Tags: tags,
		Description: "Evaluates it over the usage of the past, also with other settings, which are not kept.",
	}, func(ctx context.Context, in *testAlertRuleInput) (*bodyOutput[alert.RuleTest], error) {
		ws := s.workspace(ctx)
		ts, err := usage.ToolsetID(ctx, ws, in.Toolset)
		if err != nil {
			return nil, err
		}
		back, err := usage.ParseRange(in.Body.Range)
		if err != nil {
			return nil, err
		}
		out, err := s.alerts.TestRule(ctx, ws, in.Name, ts, back, &in.Body.Settings)
		if err != nil {
			return nil, err
		}
		return &bodyOutput[alert.RuleTest]{*out}, nil
	})
}

func listAlertRules(ctx context.Context, s *Server, in *listAlertRulesInput) (*listOutput[alert.Rule], error) {
	const path = "/v1/alert-rules"
	ts, err := usage.ToolsetID(ctx, s.workspace(ctx), in.Toolset)
	if err != nil {
		return nil, err
	}
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	q, err := listing.Parse(&alert.RuleList.Spec, p.Q, p.Filter, p.OrderBy, s.now())
	if err != nil {
		return nil, err
	}
	all, err := s.alerts.Rules(ctx, s.workspace(ctx), ts)
	if err != nil {
		return nil, err
	}
	rules, next, err := alert.RuleList.Page(all, q, p.After, p.Limit)
	if err != nil {
		return nil, err
	}
	return list(&in.ListInput, path, rules, next, same), nil
}

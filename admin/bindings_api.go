package admin

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/plugins/manifest"
)

type bindingsOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body ToolsetPlugins
}

type setPluginsInput struct {
	ToolsetInput
	request.MatchInput
	Body SetPlugins
}

func (s *Server) registerBindings() {
	const path = "/v1/toolsets/{id}/plugins"
	tags := []string{"plugins"}
	register(s, huma.Operation{
		OperationID: "get-toolset-plugins", Method: http.MethodGet, Path: path, Summary: "Read which plugins a toolset binds, in the order they run", Tags: tags,
	}, func(ctx context.Context, in *ToolsetInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.Load(ctx, ws, in.ID)
		if err != nil {
			return nil, err
		}
		out, err := s.bindingsAnswer(ctx, ws, d)
		if err != nil {
			return nil, err
		}
		return out, s.addLive(ctx, ws, d, &out.Body)
	})
	register(s, huma.Operation{
		OperationID: "set-toolset-plugins", Method: http.MethodPut, Path: path, Summary: "Set which plugins a toolset binds", Tags: tags,
		Description: "All bindings, in the order in which they run on an answer: behind the toolset's own settings of answers, before the caller's fields. " +
			"Each range is pinned to one version. Makes a new draft, as every change.",
	}, func(ctx context.Context, in *setPluginsInput) (*bindingsOutput, error) {
		ws := s.workspace(ctx)
		d, err := s.drafts.LoadMatching(ctx, ws, in.ID, &in.MatchInput)
		if err != nil {
			return nil, err
		}
		before, err := d.Bindings()
		if err != nil {
			return nil, err
		}
		after := make([]draft.Binding, 0, len(in.Body.Bindings))
		audited := any(&after)
		var letThrough []string
		for i := range in.Body.Bindings {
			b, err := s.resolveBinding(ctx, ws, d, before, &in.Body.Bindings[i], in.Body.Update, "/bindings/"+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			if err := allowGrants(ctx, before, b); err != nil {
				return nil, err
			}
			after = append(after, *b)
			row, err := ws.PluginVersion(ctx, b.Plugin, b.Pinned)
			if err != nil {
				return nil, err
			}
			m, err := manifest.Parse([]byte(row.Document))
			if err != nil {
				return nil, err
			}
			if letsThrough(b.OnError, m) {
				letThrough = append(letThrough, b.Plugin)
			}
		}
		if len(letThrough) > 0 {
			audited = &auditedBindings{Bindings: after, Warning: warnLetsThrough, Plugins: letThrough}
		}
		if d.Toolset.Plugins = ""; len(after) > 0 {
			d.Toolset.Plugins = store.JSON(after)
		}
		if err := s.drafts.Save(ctx, ws, d, "toolset.plugins", before, audited, false); err != nil {
			return nil, err
		}
		return s.bindingsAnswer(ctx, ws, d)
	})
}

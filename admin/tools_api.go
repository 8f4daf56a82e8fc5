package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/store/listing"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
)

type toolsInput struct {
	ToolsetInput
	ListInput
	Schemas bool `query:"schemas" doc:"With input and output schemas."`
}

// ToolInput is the path of a tool.
type ToolInput struct {
	ToolsetInput
	Name string `path:"name" maxLength:"64"`
}

type toolOutput struct {
	ETag string `header:"ETag" doc:"Of the toolset."`
	Body toolset.Tool
}

type patchToolInput struct {
	ToolInput
	request.MatchInput
	Body draft.PatchTool `contentType:"application/merge-patch+json"`
}

type batchInput struct {
	ToolsetInput
	request.MatchInput
	Body draft.BatchUpdate
}

func registerTools(s *Server) {
	tags := []string{"tools"}
	const path = "/v1/toolsets/{id}/tools"
	register(s, huma.Operation{
		OperationID: "list-tools", Method: http.MethodGet, Path: path, Summary: "List the tools of a toolset", Tags: tags,
		Description: "In the order of the connectors and their specifications, enabled or not, with the toolset's edits applied.",
	}, of(s, listTools))
	register(s, huma.Operation{
		OperationID: "list-added-tools", Method: http.MethodGet, Path: "/v1/toolsets/{id}/added-tools", Summary: "List the tools that Sluice adds to a toolset", Tags: tags,
		Description: "Those of its mode, as search_tools and run_code, batch, and the one that gives the rest of an answer, with their schemas, as clients would list them of the draft. " +
			"They can be tested as every tool, and not edited. A node without a gateway lists none.",
	}, func(ctx context.Context, in *ToolsetInput) (*offeredOutput[toolset.Tool], error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		added, err := s.rollouts.AddedTools(ctx, d)
		if err != nil {
			return nil, err
		}
		return &offeredOutput[toolset.Tool]{ETag: request.ETag(d.Toolset.Version), Body: List[toolset.Tool]{Items: added}}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-tool", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a tool with its schemas", Tags: tags,
		Description: "Also one of those that Sluice adds.",
	}, func(ctx context.Context, in *ToolInput) (*toolOutput, error) {
		d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		offered, err := s.drafts.Workflows(ctx, d, true)
		if err != nil {
			return nil, err
		}
		if offered, err = s.rollouts.WithAdded(ctx, d, offered, in.Name); err != nil {
			return nil, err
		}
		return toolAnswer(d, offered, in.Name)
	})
	register(s, huma.Operation{
		OperationID: "patch-tool", Method: http.MethodPatch, Path: path + "/{name}", Summary: "Rename, describe, enable or disable a tool", Tags: tags,
		Description: `Edits are kept by method and path, so they outlive a new version of the specification. "" restores what was generated.`,
	}, func(ctx context.Context, in *patchToolInput) (*toolOutput, error) {
		d, err := s.drafts.UpdateTools(ctx, in.ID, &in.MatchInput, &draft.BatchUpdate{Updates: []draft.ToolUpdate{{Tool: in.Name, PatchTool: in.Body}}})
		if err != nil {
			return nil, err
		}
		return toolAfter(ctx, s, d, in.Name)
	})
	register(s, huma.Operation{
		OperationID: "batch-update-tools", Method: http.MethodPost, Path: path + "/batch-update", Summary: "Change many tools at once", Tags: tags,
		Description: "All changes or none. enable is applied first: exactly the tools it matches are enabled afterwards.",
	}, func(ctx context.Context, in *batchInput) (*toolsetOutput, error) {
		d, err := s.drafts.UpdateTools(ctx, in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, s.workspace(ctx), d)
	})
}

func listTools(ctx context.Context, s *Server, in *toolsInput) (*listOutput[toolset.Tool], error) {
	d, err := s.drafts.Load(ctx, s.workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + d.Toolset.ID + "/tools"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	if p.After, err = keyAfter(d, p.After); err != nil {
		return nil, err
	}
	tools, err := s.drafts.Served(ctx, d, in.Schemas)
	if err != nil {
		return nil, err
	}
	return pageOf(d, &in.ListInput, path, toolset.ToolList, tools, p)
}

// pageOf is a page of a list of what the draft's connectors have. Its keys are those of
// these versions of the connectors.
func pageOf[T any](d *draft.Draft, in *ListInput, path string, m *listing.Memory[T], all []T, p store.Page) (*listOutput[T], error) {
	q, err := listing.Parse(&m.Spec, p.Q, p.Filter, p.OrderBy, time.Now())
	if err != nil {
		return nil, err
	}
	page, next, err := m.Page(all, q, p.After, p.Limit)
	if err != nil {
		return nil, err
	}
	if next != "" {
		next = connectorsDigest(d) + "/" + next
	}
	return list(in, path, page, next, same), nil
}

// connectorsDigest changes when one of the draft's connectors does.
func connectorsDigest(d *draft.Draft) string {
	if len(d.Parts) == 1 {
		return d.Version.Digest
	}
	h := sha256.New()
	for _, p := range d.Parts {
		_, _ = io.WriteString(h, p.Row.Name+"@"+p.Version.Digest+"\n") // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

// keyAfter is the key in a list of what the draft's connectors have.
func keyAfter(d *draft.Draft, key string) (string, error) {
	if key == "" {
		return "", nil
	}
	digest, rest, _ := strings.Cut(key, "/")
	if digest != connectorsDigest(d) {
		return "", problem.New(problem.InvalidArgument, "the list has changed since the cursor was made").Fix("start again without cursor")
	}
	return rest, nil
}

// toolAnswer is the answer for a tool that is offered, or else one of a connector.
func toolAnswer(d *draft.Draft, offered []toolset.Tool, name string) (*toolOutput, error) {
	for _, t := range slices.Concat(offered, d.Tools(true)) {
		if t.Name == name {
			return &toolOutput{ETag: request.ETag(d.Toolset.Version), Body: t}, nil
		}
	}
	return nil, d.NoSuchTool(name)
}

// toolAfter is the answer for the tool that had a name before the update.
func toolAfter(ctx context.Context, s *Server, d *draft.Draft, name string) (*toolOutput, error) {
	now, err := s.drafts.Served(ctx, d, true)
	if err != nil {
		return nil, err
	}
	for i := range d.Before {
		if d.Before[i].Name != name {
			continue
		}
		if j := draft.FindOperation(now, d.Before[i].Operation); j >= 0 {
			return &toolOutput{ETag: request.ETag(d.Toolset.Version), Body: now[j]}, nil
		}
	}
	return nil, d.NoSuchTool(name)
}

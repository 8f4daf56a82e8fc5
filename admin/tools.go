package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/listing"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
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
	Body PatchTool `contentType:"application/merge-patch+json"`
}

type batchInput struct {
	ToolsetInput
	request.MatchInput
	Body BatchUpdate
}

func (s *Server) registerTools() {
	tags := []string{"tools"}
	const path = "/v1/toolsets/{id}/tools"
	register(s, huma.Operation{
		OperationID: "list-tools", Method: http.MethodGet, Path: path, Summary: "List the tools of a toolset", Tags: tags,
		Description: "In the order of the connectors and their specifications, enabled or not, with the toolset's edits applied.",
	}, s.listTools)
	register(s, huma.Operation{
		OperationID: "get-tool", Method: http.MethodGet, Path: path + "/{name}", Summary: "Read a tool with its schemas", Tags: tags,
	}, func(ctx context.Context, in *ToolInput) (*toolOutput, error) {
		d, err := s.load(ctx, s.workspace(ctx), in.ID)
		if err != nil {
			return nil, err
		}
		offered, err := s.workflows(ctx, d, true)
		for i := range offered {
			if offered[i].Name == in.Name {
				return &toolOutput{ETag: request.ETag(d.ts.Version), Body: offered[i]}, nil
			}
		}
		if err != nil {
			return nil, err
		}
		return d.toolAnswer(in.Name)
	})
	register(s, huma.Operation{
		OperationID: "patch-tool", Method: http.MethodPatch, Path: path + "/{name}", Summary: "Rename, describe, enable or disable a tool", Tags: tags,
		Description: `Edits are kept by method and path, so they outlive a new version of the specification. "" restores what was generated.`,
	}, func(ctx context.Context, in *patchToolInput) (*toolOutput, error) {
		d, err := s.updateTools(ctx, in.ID, &in.MatchInput, &BatchUpdate{Updates: []ToolUpdate{{Tool: in.Name, PatchTool: in.Body}}})
		if err != nil {
			return nil, err
		}
		return s.toolAfter(ctx, d, in.Name)
	})
	register(s, huma.Operation{
		OperationID: "batch-update-tools", Method: http.MethodPost, Path: path + "/batch-update", Summary: "Change many tools at once", Tags: tags,
		Description: "All changes or none. enable is applied first: exactly the tools it matches are enabled afterwards.",
	}, func(ctx context.Context, in *batchInput) (*toolsetOutput, error) {
		d, err := s.updateTools(ctx, in.ID, &in.MatchInput, &in.Body)
		if err != nil {
			return nil, err
		}
		return s.toolsetAnswer(ctx, s.workspace(ctx), d)
	})
}

func (s *Server) listTools(ctx context.Context, in *toolsInput) (*listOutput[toolset.Tool], error) {
	d, err := s.load(ctx, s.workspace(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	path := "/v1/toolsets/" + d.ts.ID + "/tools"
	p, err := in.page(path)
	if err != nil {
		return nil, err
	}
	if p.After, err = d.after(p.After); err != nil {
		return nil, err
	}
	tools, err := s.served(ctx, d, in.Schemas)
	if err != nil {
		return nil, err
	}
	return pageOf(d, &in.ListInput, path, toolset.ToolList, tools, p)
}

// pageOf is a page of a list of what the draft's connectors have. Its keys are those of
// these versions of the connectors.
func pageOf[T any](d *draft, in *ListInput, path string, m *listing.Memory[T], all []T, p store.Page) (*listOutput[T], error) {
	q, err := listing.Parse(&m.Spec, p.Q, p.Filter, p.OrderBy, time.Now())
	if err != nil {
		return nil, err
	}
	page, next, err := m.Page(all, q, p.After, p.Limit)
	if err != nil {
		return nil, err
	}
	if next != "" {
		next = d.connectorsDigest() + "/" + next
	}
	return list(in, path, page, next, same), nil
}

// connectorsDigest changes when one of the draft's connectors does.
func (d *draft) connectorsDigest() string {
	if len(d.parts) == 1 {
		return d.version.Digest
	}
	h := sha256.New()
	for _, p := range d.parts {
		_, _ = io.WriteString(h, p.row.Name+"@"+p.version.Digest+"\n") // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

// after is the key in a list of what the draft's connectors have.
func (d *draft) after(key string) (string, error) {
	if key == "" {
		return "", nil
	}
	digest, rest, _ := strings.Cut(key, "/")
	if digest != d.connectorsDigest() {
		return "", problem.New(problem.InvalidArgument, "the list has changed since the cursor was made").Fix("start again without cursor")
	}
	return rest, nil
}

func (d *draft) toolAnswer(name string) (*toolOutput, error) {
	for _, t := range d.tools(true) {
		if t.Name == name {
			return &toolOutput{ETag: request.ETag(d.ts.Version), Body: t}, nil
		}
	}
	return nil, notFoundTool(name)
}

// toolAfter is the answer for the tool that had a name before the update.
func (s *Server) toolAfter(ctx context.Context, d *draft, name string) (*toolOutput, error) {
	now, err := s.served(ctx, d, true)
	if err != nil {
		return nil, err
	}
	for i := range d.before {
		if d.before[i].Name != name {
			continue
		}
		if j := findOperation(now, d.before[i].Operation); j >= 0 {
			return &toolOutput{ETag: request.ETag(d.ts.Version), Body: now[j]}, nil
		}
	}
	return nil, notFoundTool(name)
}

func findOperation(tools []toolset.Tool, op toolset.Operation) int {
	return slices.IndexFunc(tools, func(t toolset.Tool) bool { return t.Operation == op })
}

// updateTools applies a batch to the draft: all changes or none.
func (s *Server) updateTools(ctx context.Context, id string, match *request.MatchInput, in *BatchUpdate) (*draft, error) {
	ws := s.workspace(ctx)
	d, err := s.load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.ts.Version, false); err != nil {
		return nil, err
	}
	before, err := s.served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	d.before = before
	if len(in.Enable) > 0 {
		selection, err := toolset.ParseGlobs(in.Enable, "/enable")
		if err != nil {
			return nil, err
		}
		if err := d.enable(selection, before); err != nil {
			return nil, err
		}
	}
	for i := range in.Updates {
		if err := d.patchTool(before, &in.Updates[i], "/updates/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	if d.empty() {
		return nil, nothingEnabled()
	}
	after, err := s.served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if err := checkOffered(before, after, in.Updates); err != nil {
		return nil, err
	}
	b, a := changedTools(before, after)
	return d, s.saveDraft(ctx, ws, d, "tools.update", b, a, true)
}

// checkOffered refuses a name for a workflow's tool that another tool has: gateways
// would give it a longer one.
func checkOffered(before, after []toolset.Tool, updates []ToolUpdate) error {
	for i := range updates {
		in := &updates[i]
		old := slices.IndexFunc(before, func(t toolset.Tool) bool { return t.Name == in.Tool })
		if old < 0 || !before[old].Offered() || in.Name == nil || *in.Name == "" {
			continue
		}
		if now := findOperation(after, before[old].Operation); now >= 0 && after[now].Enabled && after[now].Name != *in.Name {
			return problem.New(problem.Conflict, "another tool is named %.80q", *in.Name).InTool(*in.Name).
				At("", 0, 0, "/updates/"+strconv.Itoa(i)+"/name").Fix("choose another name for one of them")
		}
	}
	return nil
}

func enabledCount(tools []toolset.Tool) (n int) {
	for i := range tools {
		if tools[i].Enabled {
			n++
		}
	}
	return n
}

// patchTool applies one change; before are the tools as the client saw them.
func (d *draft) patchTool(before []toolset.Tool, in *ToolUpdate, at string) error {
	for i := range before {
		t := &before[i]
		if t.Name != in.Tool {
			continue
		}
		if in.Name != nil && *in.Name != "" && !toolset.ToolName.MatchString(*in.Name) {
			return request.FieldFault(at+"/name", "the name %.80q must start with a letter or _ and have at most 64 letters, digits, _ and -", *in.Name)
		}
		if t.Offered() && in.Answers != nil {
			return request.FieldFault(at+"/answers", "%s is the tool of a workflow: its answers are what the workflow makes of them, in the format of the toolset", t.Name)
		}
		if t.Offered() && in.Annotations != nil {
			return request.FieldFault(at+"/annotations", "%s is the tool of a workflow: what it does follows from the tools that it calls; set theirs", t.Name)
		}
		answers, err := d.patchedAnswers(t.Operation, in.Answers, at+"/answers")
		if err != nil {
			return err
		}
		record := ""
		if i := slices.IndexFunc(d.edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == t.Operation }); i >= 0 {
			record = d.edits[i].Annotations
		}
		said, err := toolset.ChangeAnnotations(record, in.Annotations, at+"/annotations")
		if err != nil {
			return err
		}
		fixed, err := d.patchedFixed(t, in.Fixed, at+"/fixed")
		if err != nil {
			return err
		}
		listed, err := d.patchedArguments(t, in.Arguments, at+"/arguments")
		if err != nil {
			return err
		}
		d.edit(t.Operation, func(e *store.ToolEdit) {
			e.Answers, e.Annotations, e.Fixed, e.Arguments = answers, said, fixed, listed
			set(&e.Name, in.Name, t.OriginalName)
			set(&e.Title, in.Title, "")
			set(&e.Description, in.Description, "")
			if in.Enabled != nil {
				e.Disabled = !*in.Enabled
			}
		})
		return nil
	}
	return notFoundTool(in.Tool)
}

// patchedFixed is the record of a tool's fixed values after a change.
func (d *draft) patchedFixed(t *toolset.Tool, change map[string]json.RawMessage, at string) (string, error) {
	_, g := d.generated(t.Operation)
	if g == nil && len(change) > 0 {
		return "", request.FieldFault(at, "%s is the tool of a workflow: arguments of the tools that it calls can be fixed", t.Name)
	}
	record := ""
	for i := range d.edits {
		if e := &d.edits[i]; toolset.OperationOf(e) == t.Operation {
			record = e.Fixed
		}
	}
	if len(change) == 0 {
		return record, nil
	}
	return toolset.ChangeFixed(record, change, at, g.Takes)
}

// patchedArguments is the record of the arguments that clients list of a tool after a
// change; nil changes nothing.
func (d *draft) patchedArguments(t *toolset.Tool, names *[]string, at string) (string, error) {
	if names == nil {
		return toolset.RecordArguments(t.Arguments, at, nil)
	}
	_, g := d.generated(t.Operation)
	if g == nil {
		return "", request.FieldFault(at, "%s is the tool of a workflow, which says what its arguments are", t.Name)
	}
	return toolset.RecordArguments(*names, at, g.Takes)
}

// patchedAnswers is the record of an operation's settings of answers after p; nil
// changes nothing.
func (d *draft) patchedAnswers(op toolset.Operation, p *toolset.PatchAnswers, at string) (string, error) {
	record := ""
	for i := range d.edits {
		if e := &d.edits[i]; toolset.OperationOf(e) == op {
			record = e.Answers
		}
	}
	if p == nil {
		return record, nil
	}
	if _, g := d.generated(op); g != nil {
		return toolset.ChangeAnswers(record, p, at, registry.OfTool, g.OutputSchema)
	}
	return record, nil
}

// set takes a changed field over; "" and the generated value restore what was
// generated.
func set(to **string, from *string, generated string) {
	switch {
	case from == nil:
	case *from == "" || *from == generated:
		*to = nil
	default:
		*to = from
	}
}

// changedTools keeps the tools that differ, for the audit log. A workflow that lost a
// tool that it calls is not among those after.
func changedTools(before, after []toolset.Tool) (b, a []toolset.Tool) {
	now := make(map[toolset.Operation]*toolset.Tool, len(after))
	for i := range after {
		now[after[i].Operation] = &after[i]
	}
	for _, x := range before {
		if now[x.Operation] == nil {
			continue
		}
		y := *now[x.Operation]
		x.Tokens, y.Tokens = 0, 0
		if x.Name != y.Name || x.Title != y.Title || x.Description != y.Description || x.Enabled != y.Enabled ||
			x.Annotations != y.Annotations || !reflect.DeepEqual(x.Answers, y.Answers) || !reflect.DeepEqual(x.Fixed, y.Fixed) || !slices.Equal(x.Arguments, y.Arguments) {
			b, a = append(b, x), append(a, y)
		}
	}
	return b, a
}

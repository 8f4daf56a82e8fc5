package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

// Changes is what a new version of a specification changed in a toolset, tool by
// tool. Tools are told apart by method and path.
type Changes struct {
	ID        string `json:"id,omitempty" doc:"Absent in a dry run, which keeps nothing."`
	Connector string `json:"connector,omitempty" doc:"Name of the connector in the toolset."`

	From     SpecRef                `json:"from"`
	To       SpecRef                `json:"to"`
	Added    int                    `json:"added"`
	Removed  int                    `json:"removed"`
	Changed  int                    `json:"changed"`
	Breaking int                    `json:"breaking" doc:"Tools of that impact; removed ones are breaking, added ones safe. A new address counts as one."`
	Safe     int                    `json:"safe"`
	Wording  int                    `json:"wording"`
	Waits    bool                   `json:"quarantined,omitempty" doc:"The change of an MCP server waits to be accepted: nothing of it is served."`
	Origins  *OriginChange          `json:"origins,omitempty" doc:"The new version sends calls to another address. That waits, and nothing is sent there."`
	Kept     []KeptName             `json:"keptNames" doc:"Tools that the new version would name otherwise: they keep the name that agents know."`
	Tools    []connector.ToolChange `json:"tools"`
	At       time.Time              `json:"at"`
	Actor    string                 `json:"actor,omitempty"`
}

// SpecRef names a version of a specification.
type SpecRef struct {
	Version string `json:"version" doc:"info.version"`
	Digest  string `json:"digest"`
}

// KeptName is a tool whose name a refresh did not change.
type KeptName struct {
	Operation Operation `json:"operation"`
	Name      string    `json:"name"`
	Generated string    `json:"generated" doc:"Name by the new version."`
}

// Refreshed answers a refresh.
type Refreshed struct {
	Changed  bool     `json:"changed" doc:"The specification made another connector."`
	DryRun   bool     `json:"dryRun,omitempty"`
	Deployed bool     `json:"deployed" doc:"The new version was tested and is live now."`
	Waiting  string   `json:"waiting,omitempty" doc:"Why the new version stays a draft."`
	Changes  *Changes `json:"changes,omitempty"`
	Test     *TestRun `json:"test,omitempty"`
	Toolset  Toolset  `json:"toolset"`
}

// refresh is one refresh of a connector of a toolset by its URL.
type refresh struct {
	s       *Server
	ws      *store.Workspace
	request *RefreshRequest
	toolset *store.Toolset
	source  *store.ToolsetSource // it names the connector
	// approved is the version that an operator accepted: no other is taken over. Zero: any.
	approved SpecRef
}

// validators are those of the document that is known; none without a refresh.
func (r *refresh) validators() Validators {
	if r == nil || r.request.Force || r.request.approve != "" {
		return Validators{}
	}
	return Validators{ETag: r.source.ETag, LastModified: r.source.LastModified}
}

// compare notes what the draft's new connector changes, and keeps the names that
// agents know.
func (s *Server) compare(ctx context.Context, ws *store.Workspace, d *draft, v *store.ConnectorVersion, old *generated, moved moves) error {
	if v.Digest == d.version.Digest {
		return nil
	}
	tools, err := connector.Diff(old.opened, d.conn.opened)
	if err != nil {
		return fmt.Errorf("comparing versions of connector %s: %w", d.version.Connector, err)
	}
	c := &Changes{
		Connector: d.row.Name,
		From:      SpecRef{v.Version, v.SpecDigest}, To: SpecRef{d.version.Version, d.version.SpecDigest},
		Tools: tools, At: ws.Now(), Actor: request.Of(ctx).TokenID(), Kept: d.keepNames(old, moved),
	}
	if c.Tools == nil {
		c.Tools = []connector.ToolChange{}
	}
	kept := make(map[Operation]bool, len(c.Kept))
	for _, k := range c.Kept {
		kept[k.Operation] = true
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		if kept[Operation{d.row.Name, t.Method, t.Path}] {
			nameKept(t)
		}
		switch t.Kind {
		case connector.ToolAdded:
			c.Added++
		case connector.ToolRemoved:
			c.Removed++
		default:
			c.Changed++
		}
		switch t.Impact {
		case connector.ImpactBreaking:
			c.Breaking++
		case connector.ImpactSafe:
			c.Safe++
		default:
			c.Wording++
		}
	}
	d.changes = c
	return nil
}

// nameKept takes the gravity off a name that changes only in the specification.
func nameKept(t *connector.ToolChange) {
	t.Impact = connector.ImpactWording
	for i := range t.Details {
		if d := &t.Details[i]; d.Where == "name" {
			d.Impact, d.What = connector.ImpactWording, d.What+"; the tool keeps its name"
		}
		if d := t.Details[i].Impact; d == connector.ImpactBreaking || d == connector.ImpactSafe && t.Impact == connector.ImpactWording {
			t.Impact = d
		}
	}
}

// keepNames makes edits of the names that the new version would change, unless
// another of its tools has that name now.
func (d *draft) keepNames(old *generated, moved moves) []KeptName {
	kept := []KeptName{}
	now := make(map[Operation]*Tool)
	taken := make(map[string]bool)
	tools := d.tools(false)
	for i := range tools {
		now[tools[i].Operation] = &tools[i]
		taken[tools[i].Name] = true
	}
	for i := range old.tools {
		was := &old.tools[i]
		op := moved.of(Operation{Connector: d.row.Name, Method: was.method, Path: was.path})
		t := now[op]
		if t == nil || t.OriginalName == was.name || t.Name != t.OriginalName || taken[was.name] {
			continue // gone, as before, named by the operator, or in another's use
		}
		name := was.name
		d.edit(op, func(e *store.ToolEdit) { e.Name = &name })
		taken[name] = true
		kept = append(kept, KeptName{Operation: op, Name: name, Generated: t.OriginalName})
	}
	return kept
}

// why says why the changes are not taken over by themselves.
func (c *Changes) why() string {
	if c.Origins != nil {
		return c.Origins.why()
	}
	return fmt.Sprintf("%d tools change in a breaking way", c.Breaking)
}

// instructed says which tools have new text that is written for a model, and quotes the
// first; "": none has.
func (c *Changes) instructed() string {
	tools, first := 0, ""
	for i := range c.Tools {
		t := &c.Tools[i]
		at := slices.IndexFunc(t.Details, func(d connector.Detail) bool { return d.Where == connector.WhereInstructions })
		if at < 0 {
			continue
		}
		if tools++; first == "" {
			_, what, _ := strings.Cut(t.Details[at].What, "it ")
			first = "the tool " + t.Tool + " " + what
		}
	}
	if tools > 1 {
		first += fmt.Sprintf(", and %d more tools", tools-1)
	}
	return first
}

func (c *Changes) record(ctx context.Context, toolset string) *store.ToolsetChange {
	return &store.ToolsetChange{
		ToolsetID: toolset, Connector: c.Connector, FromDigest: c.From.Digest, ToDigest: c.To.Digest, FromVersion: c.From.Version, ToVersion: c.To.Version,
		Actor: request.Of(ctx).TokenID(), Report: store.JSON(c),
	}
}

// unchanged answers when the document is as it was, or makes the same connector.
func (r *refresh) unchanged(ctx context.Context, read *store.ToolsetSource) (*request.Done, error) {
	if !r.request.DryRun {
		last, err := lastChange(ctx, r.ws, r.toolset.ID, r.source.Connector)
		if err != nil {
			return nil, err
		}
		err = r.ws.Update(ctx, func(tx *store.Tx) error {
			if last != nil && last.Waits { // the server took back what was waiting
				back := &Changes{
					Connector: r.source.Connector, From: last.To, To: last.From, Tools: []connector.ToolChange{}, Kept: []KeptName{},
					At: r.ws.Now(), Actor: request.Of(ctx).TokenID(),
				}
				if err := tx.AddToolsetChange(ctx, back.record(ctx, r.toolset.ID)); err != nil {
					return err
				}
			}
			return tx.PutToolsetSource(ctx, read)
		})
		if err != nil {
			return nil, err
		}
	}
	d, err := outline(ctx, r.ws, r.toolset)
	if err != nil {
		return nil, err
	}
	return r.answer(ctx, d, Refreshed{DryRun: r.request.DryRun})
}

// quarantine keeps what a source changed and changes nothing that is served, nor the
// draft. why is for people.
func (r *refresh) quarantine(ctx context.Context, changes *Changes, why string) (*request.Done, error) {
	d, err := outline(ctx, r.ws, r.toolset)
	if err != nil {
		return nil, err
	}
	if err := d.focus(r.source.Connector); err != nil {
		return nil, err
	}
	last, err := lastChange(ctx, r.ws, d.ts.ID, r.source.Connector)
	if err != nil {
		return nil, err
	}
	changes.Waits = true
	news := last == nil || !last.Waits || last.To != changes.To
	if !news {
		changes.ID, changes.At = last.ID, last.At
	}
	err = r.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SourceChecked(ctx, d.ts.ID, r.source.Connector); err != nil || !news {
			return err
		}
		row := changes.record(ctx, d.ts.ID)
		if err := tx.AddToolsetChange(ctx, row); err != nil {
			return err
		}
		changes.ID, changes.At = row.ID, row.CreatedAt.Time
		rec := request.Audit(ctx, "toolset.quarantine", d.ts.ID)
		rec.Reason = why
		rec.After = store.JSON(map[string]any{"added": changes.Added, "removed": changes.Removed, "changed": changes.Changed, "breaking": changes.Breaking, "origins": changes.Origins})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	switch {
	case !news:
	case d.row.SourceKind == kindMCP:
		r.s.upstreamChanged(d, changes, slog.LevelWarn)
	default:
		r.s.drifted(d, changes, "waiting", why)
	}
	return r.answer(ctx, d, Refreshed{Changed: true, Changes: changes, Waiting: why + ": the change waits until it is accepted"})
}

// lastChange is the newest change of a connector of a toolset; nil: there is none.
func lastChange(ctx context.Context, ws *store.Workspace, toolset, connector string) (*Changes, error) {
	rows, _, err := ws.ToolsetChanges(ctx, toolset, connector, store.Page{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c := new(Changes)
	if err := json.Unmarshal([]byte(rows[0].Report), c); err != nil {
		return nil, fmt.Errorf("reading change %s: %w", rows[0].ID, err)
	}
	c.ID, c.At = rows[0].ID, rows[0].CreatedAt.Time
	return c, nil
}

// preview answers a dry run.
func (r *refresh) preview(ctx context.Context, changes *Changes) (*request.Done, error) {
	d, err := outline(ctx, r.ws, r.toolset)
	if err != nil {
		return nil, err
	}
	return r.answer(ctx, d, Refreshed{Changed: changes != nil, DryRun: true, Changes: changes})
}

// finish tests and deploys the new version where that harms nobody.
func (r *refresh) finish(ctx context.Context, d *draft, in *CreateToolset, phase func(string)) (*request.Done, error) {
	out := Refreshed{Changed: d.changes != nil, Changes: d.changes}
	switch {
	case d.changes == nil || d.ts.LiveDigest == d.ts.DraftDigest:
	case d.ts.LiveRevision == 0:
		out.Waiting = "the toolset is not live"
	case in.Deploy != nil && in.Deploy.Skip:
		out.Waiting = "the request asks for a draft"
	case d.changes.Origins != nil && len(d.changes.Origins.New) > 0:
		out.Waiting = d.changes.Origins.why()
	case d.changes.Breaking > 0 && !r.request.AcceptBreaking && !r.request.Accept:
		out.Waiting = d.changes.why()
	default:
		phase("testing a tool")
		req := TestRequest{}
		if in.Test != nil {
			req = *in.Test
		}
		if req.Tool == "" && req.Connector == "" && len(d.parts) > 1 {
			req.Connector = d.row.Name
		}
		test, err := r.s.test(ctx, r.ws, d, &req)
		if err != nil {
			return nil, err
		}
		out.Test = test
		reason := ""
		if !test.Possible && len(test.waits) == 0 && in.Deploy != nil {
			reason = in.Deploy.UntestedReason
		}
		switch {
		case test.Passed && !req.KeepDraft || reason != "":
			phase("publishing")
			if err := r.s.deploy(ctx, r.ws, d, test, reason); err != nil {
				return nil, err
			}
			out.Deployed = true
		case test.Passed:
			out.Waiting = "the request asks for a draft"
		default:
			out.Waiting = "the test did not pass: " + test.Reason
		}
	}
	switch {
	case d.changes == nil || d.row.SourceKind == kindMCP || !r.request.Hold && r.request.approve == "":
	case out.Deployed:
		r.s.drifted(d, d.changes, "deployed", "")
	default:
		r.s.drifted(d, d.changes, "draft", out.Waiting)
	}
	return r.answer(ctx, d, out)
}

func (r *refresh) answer(ctx context.Context, d *draft, out Refreshed) (*request.Done, error) {
	shown, err := r.s.show(ctx, r.ws, d)
	if err != nil {
		return nil, err
	}
	out.Toolset = shown
	return &request.Done{Status: http.StatusOK, Resource: "/v1/toolsets/" + d.ts.ID, ETag: request.ETag(d.ts.Version), Body: out}, nil
}

// refresh reads the source of a toolset's connector again.
func (s *Server) refresh(ctx context.Context, id string, req *RefreshRequest, phase func(string)) (*request.Done, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	if err := d.focus(req.Connector); err != nil {
		return nil, err
	}
	row := &d.row
	if row.SourceURL == "" && len(d.parts) > 1 {
		return nil, problem.New(problem.Conflict, "connector %s of toolset %s was made of an uploaded document, which cannot be read again", row.Name, ts.Slug).
			Fix("upload the new version under the same name: sluice add FILE --to %s --name %s", ts.Slug, row.Name)
	} else if row.SourceURL == "" {
		return nil, problem.New(problem.Conflict, "toolset %s was made of an uploaded document, which cannot be read again", ts.Slug).
			Fix("upload the new version under the same slug: sluice add FILE --slug %s", ts.Slug)
	}
	src, err := ws.ToolsetSource(ctx, ts.ID, row.Name)
	if err != nil {
		return nil, err
	}
	again := &refresh{s: s, ws: ws, request: req, toolset: ts, source: src}
	if req.approve != "" {
		req.Accept, req.AcceptBreaking = true, true
		if err := again.approve(ctx, req.approve); err != nil {
			return nil, err
		}
	}
	if row.SourceKind == kindMCP {
		in := &CreateToolset{Slug: ts.Slug, BaseURL: row.BaseURL, Source: CreateSource{MCP: &MCPSource{URL: row.SourceURL}}, Test: req.Test, Deploy: req.Deploy}
		return s.make(ctx, in, again, nil, phase)
	}
	in := &CreateToolset{Slug: ts.Slug, Source: CreateSource{OpenAPI: &OpenAPISource{URL: row.SourceURL}}, Test: req.Test, Deploy: req.Deploy}
	if src.Overlays != "" {
		if err := json.Unmarshal([]byte(src.Overlays), &in.Source.OpenAPI.Overlays); err != nil {
			return nil, fmt.Errorf("reading the overlays of toolset %s: %w", ts.ID, err)
		}
	}
	if in.Source.OpenAPI.Overlays == nil {
		in.Source.OpenAPI.Overlays = []OverlaySource{}
	}
	return s.make(ctx, in, again, nil, phase)
}

type refreshInput struct {
	ToolsetInput
	Body RefreshRequest
}

type changesInput struct {
	ToolsetInput
	Connector string `query:"connector" maxLength:"63" doc:"Of this one only."`
	ListInput
}

func (s *Server) registerRefresh() {
	tags := []string{"toolsets"}
	register(s, huma.Operation{
		OperationID: "refresh-toolset", Method: http.MethodPost, Path: "/v1/toolsets/{id}/refresh", Summary: "Read the specification of a toolset again", Tags: tags,
		Description: "Fetches it from its URL (only when the server says it changed), applies the toolset's overlays, says what changed tool by tool, " +
			"and keeps names, descriptions and disabled tools. Changes that break nothing are tested and deployed when the toolset is live; breaking ones wait in the draft.",
	}, func(ctx context.Context, in *refreshInput) (*jobOutput, error) {
		return s.run(ctx, "toolset.refresh", func(ctx context.Context, phase func(string)) (*request.Done, error) {
			return s.refresh(ctx, in.ID, &in.Body, phase)
		})
	})
	documentJob(s.api.OpenAPI(), "/v1/toolsets/{id}/refresh", Refreshed{}, http.StatusOK)
	register(s, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/v1/toolsets/{id}/changes", Summary: "List what refreshes changed, newest first", Tags: tags,
	}, func(ctx context.Context, in *changesInput) (*listOutput[Changes], error) {
		ws := s.workspace(ctx)
		ts, err := ws.FindToolset(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		path := "/v1/toolsets/" + ts.ID + "/changes"
		p, err := in.page(path)
		if err != nil {
			return nil, err
		}
		rows, next, err := ws.ToolsetChanges(ctx, ts.ID, in.Connector, p)
		if err != nil {
			return nil, err
		}
		shown := make([]Changes, len(rows))
		for i := range rows {
			if err := json.Unmarshal([]byte(rows[i].Report), &shown[i]); err != nil {
				return nil, fmt.Errorf("reading change %s: %w", rows[i].ID, err)
			}
			shown[i].ID, shown[i].At = rows[i].ID, rows[i].CreatedAt.Time
		}
		return list(&in.ListInput, path, shown, next, func(c *Changes) Changes { return *c }), nil
	})
}

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

	"github.com/sluicegate/sluice/admin/adoption"
	"github.com/sluicegate/sluice/admin/credential"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/rollout"
	"github.com/sluicegate/sluice/admin/source"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/workflow"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/connector"
)

// Changes is what a new version of a specification changed in a toolset, tool by
// tool. Tools are told apart by method and path.
type Changes struct {
	ID        string `json:"id,omitempty" doc:"Absent in a dry run, which keeps nothing."`
	Connector string `json:"connector,omitempty" doc:"Name of the connector in the toolset."`

	From     SpecRef                  `json:"from"`
	To       SpecRef                  `json:"to"`
	Added    int                      `json:"added"`
	Removed  int                      `json:"removed"`
	Changed  int                      `json:"changed"`
	Breaking int                      `json:"breaking" doc:"Tools of that impact; removed ones are breaking, added ones safe. A new address counts as one."`
	Safe     int                      `json:"safe"`
	Wording  int                      `json:"wording"`
	Waits    bool                     `json:"quarantined,omitempty" doc:"The change of an MCP server waits to be accepted: nothing of it is served."`
	Origins  *credential.OriginChange `json:"origins,omitempty" doc:"The new version sends calls to another address. That waits, and nothing is sent there."`
	Kept     []draft.KeptName         `json:"keptNames" doc:"Tools that the new version would name otherwise: they keep the name that agents know."`
	Tools    []connector.ToolChange   `json:"tools"`
	Entry    *adoption.EntryChange    `json:"entry,omitempty" doc:"The change is of the entry of the catalog that the connector was made of; the specification is as it was."`
	// Workflows are not compared in what they are, but in what they can call.
	Workflows []workflow.WorkflowChange `json:"workflows,omitempty" doc:"Workflows and scripts of the toolset that call what is gone, new or changed in a breaking way."`
	At        time.Time                 `json:"at"`
	Actor     string                    `json:"actor,omitempty"`
}

// SpecRef names a version of a specification.
type SpecRef struct {
	Version string `json:"version" doc:"info.version"`
	Digest  string `json:"digest"`
}

// Refreshed answers a refresh.
type Refreshed struct {
	Changed  bool             `json:"changed" doc:"The specification made another connector."`
	DryRun   bool             `json:"dryRun,omitempty"`
	Deployed bool             `json:"deployed" doc:"The new version was tested and is live now."`
	Waiting  string           `json:"waiting,omitempty" doc:"Why the new version stays a draft."`
	Changes  *Changes         `json:"changes,omitempty"`
	Test     *rollout.TestRun `json:"test,omitempty"`
	Toolset  Toolset          `json:"toolset"`
}

// refresh is what a change knows of the source that is read again.
type refresh struct {
	request *RefreshRequest
	toolset *store.Toolset
	source  *store.ToolsetSource // it names the connector
	// approved is the version that an operator accepted: no other is taken over. Zero: any.
	approved SpecRef
}

// validators are those of the document that is known; none without a refresh.
func (r *refresh) validators() source.Validators {
	if r == nil || r.request.Force || r.request.approve != "" {
		return source.Validators{}
	}
	return source.Validators{ETag: r.source.ETag, LastModified: r.source.LastModified}
}

// changesSince compares the connector that the draft is about with what it was, and
// keeps the names that agents know. nil: it is the same.
func changesSince(d *draft.Draft, was *draft.Part, moved toolset.Moves) (*Changes, error) {
	v := was.Version
	if v.Digest == d.Version.Digest {
		return nil, nil //nolint:nilnil // no difference is an ordinary outcome
	}
	tools, err := connector.Diff(was.Conn.Opened, d.Conn.Opened)
	if err != nil {
		return nil, fmt.Errorf("comparing versions of connector %s: %w", d.Version.Connector, err)
	}
	c := &Changes{
		Connector: d.Row.Name, From: SpecRef{v.Version, v.SpecDigest}, To: SpecRef{d.Version.Version, d.Version.SpecDigest},
		Tools: slices.Concat([]connector.ToolChange{}, tools), Kept: keepNames(d, was.Conn, moved),
	}
	kept := make(map[toolset.Operation]bool, len(c.Kept))
	for _, k := range c.Kept {
		kept[k.Operation] = true
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		if kept[toolset.Operation{Connector: d.Row.Name, Method: t.Method, Path: t.Path}] {
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
	list, err := workflow.Read(d.Toolset.Workflows)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(c.Tools)
	for from, to := range moved { // a document names the operation as it was
		named = append(named, connector.ToolChange{Kind: connector.ToolRemoved, Method: from.Method, Path: from.Path}, connector.ToolChange{Kind: connector.ToolAdded, Method: to.Method, Path: to.Path})
	}
	c.Workflows = workflow.Changed(list, d.Row.Name, named)
	return c, nil
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
func keepNames(d *draft.Draft, old *toolset.Generated, moved toolset.Moves) []draft.KeptName {
	kept := []draft.KeptName{}
	now := make(map[toolset.Operation]*toolset.Tool)
	taken := make(map[string]bool)
	tools := d.Tools(false)
	for i := range tools {
		now[tools[i].Operation] = &tools[i]
		taken[tools[i].Name] = true
	}
	for i := range old.Tools {
		was := &old.Tools[i]
		op := moved.Of(toolset.Operation{Connector: d.Row.Name, Method: was.Method, Path: was.Path})
		t := now[op]
		if t == nil || t.OriginalName == was.Name || t.Name != t.OriginalName || taken[was.Name] {
			continue // gone, as before, named by the operator, or in another's use
		}
		name := was.Name
		d.Edit(op, func(e *store.ToolEdit) { e.Name = &name })
		taken[name] = true
		kept = append(kept, draft.KeptName{Operation: op, Name: name, Generated: t.OriginalName})
	}
	return kept
}

// why says why the changes are not taken over by themselves.
func (c *Changes) why() string {
	if c.Origins != nil {
		return c.Origins.Why()
	}
	return fmt.Sprintf("%d tools change in a breaking way", c.Breaking)
}

// changes reports whether anything is different for an agent that knows the old version:
// a tool that is gone or of which any text, argument or annotation changed, or one that
// is added with text that is written for a model. A plain addition is none.
func (c *Changes) changes() bool {
	return c.Origins != nil || slices.ContainsFunc(c.Tools, func(t connector.ToolChange) bool {
		return t.Kind != connector.ToolAdded || t.Impact != connector.ImpactSafe
	})
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

// write records the changes of a toolset.
func (c *Changes) write(ctx context.Context, tx *store.Tx, toolset string) error {
	row := &store.ToolsetChange{
		ToolsetID: toolset, Connector: c.Connector, FromDigest: c.From.Digest, ToDigest: c.To.Digest, FromVersion: c.From.Version, ToVersion: c.To.Version,
		Actor: request.Of(ctx).ActorID(), Report: store.JSON(c),
	}
	if err := tx.AddToolsetChange(ctx, row); err != nil {
		return err
	}
	c.ID, c.At = row.ID, row.CreatedAt.Time
	return nil
}

// keepAsIs ends a refresh whose source is as it was, or makes the same connector; read
// is what is kept of how it was read.
func (c *change) keepAsIs(ctx context.Context, read *store.ToolsetSource) (*request.Done, error) {
	r := c.again
	if !r.request.DryRun {
		err := c.ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.PutToolsetSource(ctx, read); err != nil {
				return err
			}
			last, err := lastChange(ctx, tx, r.toolset.ID, r.source.Connector)
			if err != nil {
				return err
			}
			if last != nil && last.Waits { // the server took back what was waiting
				back := &Changes{
					Connector: r.source.Connector, From: last.To, To: last.From, Tools: []connector.ToolChange{}, Kept: []draft.KeptName{},
					At: c.ws.Now(), Actor: request.Of(ctx).ActorID(),
				}
				return back.write(ctx, tx, r.toolset.ID)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	c.diff = nil
	return c.show(ctx)
}

// show answers a refresh that changed neither toolset nor draft.
func (c *change) show(ctx context.Context) (*request.Done, error) {
	return c.refreshed(ctx, Refreshed{Changed: c.diff != nil, DryRun: c.again.request.DryRun, Changes: c.diff})
}

// refreshed answers a refresh that left the draft alone.
func (c *change) refreshed(ctx context.Context, out Refreshed) (*request.Done, error) {
	var err error
	if c.d, err = draft.Outline(ctx, c.ws, c.again.toolset); err != nil {
		return nil, err
	}
	if out.Toolset, err = c.s.show(ctx, c.ws, c.d); err != nil {
		return nil, err
	}
	return c.answer("", unchanged, out), nil
}

// hold keeps what a source changed, and changes nothing that is served, nor the draft.
// why is for people.
func (c *change) hold(ctx context.Context, why string) (*request.Done, error) {
	toolset, connector := c.again.toolset.ID, c.again.source.Connector
	c.diff.Waits = true
	news := false
	err := c.ws.Update(ctx, func(tx *store.Tx) error {
		if err := tx.SourceChecked(ctx, toolset, connector); err != nil {
			return err
		}
		last, err := lastChange(ctx, tx, toolset, connector)
		if err != nil {
			return err
		}
		if news = last == nil || !last.Waits || last.To != c.diff.To; !news {
			c.diff.ID, c.diff.At = last.ID, last.At
			return nil
		}
		if err := c.diff.write(ctx, tx, toolset); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.quarantine", toolset)
		rec.Reason = why
		rec.After = store.JSON(map[string]any{
			"added": c.diff.Added, "removed": c.diff.Removed, "changed": c.diff.Changed, "breaking": c.diff.Breaking, "origins": c.diff.Origins,
		})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	switch {
	case !news:
	case c.source.Server != nil:
		c.s.upstreamChanged(c.d, c.diff, slog.LevelWarn)
	default:
		c.s.drifted(c.d, c.diff, "waiting", why)
	}
	return c.refreshed(ctx, Refreshed{Changed: true, Changes: c.diff, Waiting: why + ": the change waits until it is accepted"})
}

// changeRecords are the changes of a workspace, in a transaction or outside of one.
type changeRecords interface {
	ToolsetChanges(ctx context.Context, toolset, connector string, p store.Page) ([]store.ToolsetChange, string, error)
}

// lastChange is the newest change of a connector of a toolset; nil: there is none.
func lastChange(ctx context.Context, records changeRecords, toolset, connector string) (*Changes, error) {
	rows, _, err := records.ToolsetChanges(ctx, toolset, connector, store.Page{Limit: 1})
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

// finishRefresh tests and deploys the new version where that harms nobody.
func (c *change) finishRefresh(ctx context.Context) (*request.Done, error) {
	d, r := c.d, c.again.request
	if c.source.Server != nil {
		c.s.upstreamChanged(d, c.diff, slog.LevelWarn)
	}
	out := Refreshed{Changed: c.diff != nil, Changes: c.diff}
	switch {
	case c.diff == nil || d.Toolset.LiveDigest == d.Toolset.DraftDigest:
	case d.Toolset.LiveRevision == 0:
		out.Waiting = "the toolset is not live"
	case c.in.Deploy != nil && c.in.Deploy.Skip:
		out.Waiting = "the request asks for a draft"
	case c.diff.Origins != nil && len(c.diff.Origins.New) > 0:
		out.Waiting = c.diff.Origins.Why()
	case c.diff.Breaking > 0 && !r.AcceptBreaking && !r.Accept:
		out.Waiting = c.diff.why()
	default:
		var err error
		if out.Test, out.Deployed, err = c.tryOut(ctx); err != nil {
			return nil, err
		}
		switch {
		case out.Deployed:
		case out.Test.Passed:
			out.Waiting = "the request asks for a draft"
		default:
			out.Waiting = "the test did not pass: " + out.Test.Reason
		}
	}
	switch {
	case c.diff == nil || c.source.Server != nil || !r.Hold && r.approve == "":
	case out.Deployed:
		c.s.drifted(d, c.diff, "deployed", "")
	default:
		c.s.drifted(d, c.diff, "draft", out.Waiting)
	}
	var err error
	if out.Toolset, err = c.s.show(ctx, c.ws, d); err != nil {
		return nil, err
	}
	return c.answer("", refreshed, out), nil
}

// refresh reads the source of a toolset's connector again.
func (s *Server) refresh(ctx context.Context, id string, req *RefreshRequest, phase func(string)) (*request.Done, error) {
	ws := s.workspace(ctx)
	ts, err := ws.FindToolset(ctx, id)
	if err != nil {
		return nil, err
	}
	d, err := draft.Outline(ctx, ws, ts)
	if err != nil {
		return nil, err
	}
	if err := d.Focus(req.Connector); err != nil {
		return nil, err
	}
	row := &d.Row
	if row.SourceURL == "" && len(d.Parts) > 1 {
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
	again := &refresh{request: req, toolset: ts, source: src}
	if req.approve != "" {
		req.Accept, req.AcceptBreaking = true, true
		if again.approved, err = waiting(ctx, ws, ts, row.Name, req.approve); err != nil {
			return nil, err
		}
	}
	in := &CreateToolset{Slug: ts.Slug, Test: req.Test, Deploy: req.Deploy}
	if row.SourceKind == store.SourceMCP {
		in.BaseURL, in.Source.MCP = row.BaseURL, &MCPSource{URL: row.SourceURL}
	} else {
		kept, err := overlaysOf(src)
		if err != nil {
			return nil, err
		}
		in.Source.OpenAPI = &source.OpenAPISource{URL: row.SourceURL, Overlays: slices.Concat([]source.OverlaySource{}, kept)}
	}
	return (&change{s: s, ws: ws, in: in, again: again, phase: phase}).run(ctx)
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

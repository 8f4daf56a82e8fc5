package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/registry"
)

// compileTimeout bounds reading one specification: the largest known one takes a
// second, a hostile one must not take the machine.
const compileTimeout = 2 * time.Minute

// compile makes a connector of a source. Nothing is stored.
func (s *Server) compile(ctx context.Context, workspace string, src *source, phase func(string)) (*publish.Connector, *generated, *Report, error) {
	if src.server != nil {
		return s.compileMCP(workspace, src, phase)
	}
	phase("compiling the specification")
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	start := time.Now()
	fetch := s.fetchPart
	if src.parts != nil {
		fetch = src.part
	}
	c, err := s.o.Publisher.Compile(ctx, publish.ConnectorRequest{Workspace: workspace, Source: src.spec, Options: openapi.Options{Limits: s.o.SpecLimits, Fetch: fetch}})
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := generate(c.Opened)
	if err != nil {
		return nil, nil, nil, err
	}
	r := makeReport(c, conn, src, time.Since(start))
	src.title, src.documents = r.Title, c.Spec.Documents
	return c, conn, r, nil
}

// create makes or refreshes a toolset: everything that can fail without a trace
// happens first, all records are written in one transaction, and then the draft
// is tested and deployed. A failed test leaves a draft, by design; every other
// failure leaves nothing.
func (s *Server) create(ctx context.Context, in *CreateToolset, phase func(string)) (*request.Done, error) {
	return s.make(ctx, in, nil, nil, phase)
}

// make creates a toolset from a source. With again it refreshes a connector of the
// toolset whose slug in names; with to it adds a connector to a toolset.
func (s *Server) make(ctx context.Context, in *CreateToolset, again *refresh, to *addition, phase func(string)) (*request.Done, error) {
	ws := s.workspace(ctx)
	if err := s.adopt(ctx, in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	selection, err := parseGlobs(in.Tools, "/tools")
	if err != nil {
		return nil, err
	}
	if ctx, err = s.ofNamed(ctx, ws, in, again); err != nil {
		return nil, err
	}
	ctx, named := s.seeNamed(ctx, in.addresses())
	src, err := s.readSource(ctx, in, again, phase)
	if err != nil {
		return nil, err
	}
	if again != nil && src.notModified {
		return again.unchanged(ctx, again.source)
	}
	compiled, conn, report, err := s.compile(ctx, ws.ID(), src, phase)
	if err != nil {
		return nil, err
	}
	slug := in.slug(connectorName(compiled, ws.ID()))
	unlock, err := s.creating.lock(ctx, ws.ID()+"/"+slug)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d, isNew, err := s.prepare(ctx, ws, in, src, report, again, to, slug)
	if err != nil {
		return nil, err
	}
	previous, old := d.version, d.conn // nil of a new connector
	if kept, err := s.keptOverlays(ctx, ws, d, in, previous == nil); err != nil {
		return nil, err
	} else if len(kept) > 0 && in.Source.OpenAPI != nil { // they are known only now that the toolset is
		whole := *in
		source := *in.Source.OpenAPI
		source.Overlays, whole.Source.OpenAPI = kept, &source
		unlock()
		return s.make(ctx, &whole, again, to, phase)
	}
	before := d.known()
	d.bind(compiled, conn, report)
	if previous != nil {
		moved := movesOf(d.row.Name, old, d.conn)
		if err := d.follow(moved); err != nil {
			return nil, err
		}
		for i := range before {
			before[i].Operation = moved.of(before[i].Operation)
		}
		if err := s.compare(ctx, ws, d, previous, old, moved); err != nil {
			return nil, err
		}
	}
	renamed := d.settle(before)
	if err := s.noteMoved(ctx, d, again, old); err != nil {
		return nil, err
	}
	switch {
	case again == nil:
	case again.approved != (SpecRef{}) && (d.changes == nil || d.changes.To != again.approved):
		return nil, problem.New(problem.Conflict, "the source has changed since the change was shown").
			Fix("look at what it is now: sluice toolset refresh %s --hold", d.ts.Slug)
	case again.approved != (SpecRef{}) && d.changes.Origins != nil:
		return nil, originsRefused(d.ts.Slug, []OriginChange{*d.changes.Origins})
	case previous.Digest == d.version.Digest:
		return again.unchanged(ctx, src.record(d.ts.ID, d.row.Name))
	case again.request.DryRun:
		return again.preview(ctx, d.changes)
	case src.server != nil && len(d.changes.Tools) == 0: // the same tools, otherwise spoken to
		return again.unchanged(ctx, src.record(d.ts.ID, d.row.Name))
	case src.server != nil && d.policy() == policyPin && !again.request.Accept:
		return again.quarantine(ctx, d.changes, "the MCP server changed its tools")
	case again.request.follows && d.changes.instructed() != "": // nobody has read it
		return again.quarantine(ctx, d.changes, d.changes.instructed())
	case again.holds(d) != "":
		return again.quarantine(ctx, d.changes, again.holds(d))
	case src.server != nil:
		s.upstreamChanged(d, d.changes, slog.LevelWarn)
	}
	if len(in.Tools) > 0 {
		tools := slices.DeleteFunc(d.tools(false), func(t Tool) bool { return t.Operation.Connector != d.row.Name })
		if err := d.enable(selection, tools); err != nil {
			return nil, err
		}
	}
	if in.Selection != "" || in.UseCase != "" {
		if err := d.chooseAnew(given(in.Selection), given(in.UseCase), nil); err != nil {
			return nil, err
		}
	}
	replaced := slices.Clone(d.creds)
	if in.Auth != nil {
		if err := d.authenticate(s, in.Auth, "/authentication"); err != nil {
			return nil, err
		}
		if err := s.bind(ctx, d); err != nil {
			return nil, err
		}
		if d.changes != nil && d.changes.Origins != nil {
			d.changes.Origins.New = nil // the secret was given for it
		}
	}
	phase("storing the connector")
	if err := s.o.Publisher.Push(ctx, compiled); err != nil {
		return nil, err
	}
	if err := s.pushDraft(ctx, d); err != nil {
		return nil, err
	}
	action := "toolset.refresh"
	switch {
	case isNew:
		action = "toolset.create"
	case previous == nil:
		action = "connector.add"
	}
	var opens *opening
	if isNew {
		opens, err = s.openingOf(ctx, d.ts, in.Access)
	} else {
		err = checkOpening(ctx, ws, d.ts, in.Access)
	}
	if err != nil {
		return nil, err
	}
	var lost gone
	s.collectLost(ctx, ws, &lost, replaced, d.creds)
	err = ws.Update(ctx, func(tx *store.Tx) error {
		if err := s.writeCreated(ctx, tx, d, src, action, in.Auth != nil); err != nil {
			return err
		}
		return opens.write(ctx, tx, d.ts.ID)
	})
	if err != nil {
		return nil, err
	}
	s.forgetAll(replaced, d.creds)
	s.revokeGone(ctx, ws, d.ts.ID, &lost)
	granted, err := s.grantSeen(ctx, ws, d.ts.ID, named)
	if err != nil {
		return nil, err
	}
	ctx = safedial.WithHolder(ctx, d.ts.ID)
	if again != nil {
		return again.finish(ctx, d, in, phase)
	}
	if src.server != nil {
		key := watchKey(d.ts.ID, d.row.Name)
		s.servers.keep(key, src.ttl, src.tells)
		s.servers.note(key, sighted{at: s.now()})
		defer s.startLook() // which listens to the server
	}
	m := &made{isNew: isNew, opens: opens, granted: granted, renamed: renamed, added: previous == nil}
	if to != nil {
		m.in = in
		return s.finishAdd(ctx, ws, d, m, phase)
	}
	return s.finishCreate(ctx, ws, d, in, m, phase)
}

// adopt makes the configuration of the login that a creation names its own.
func (s *Server) adopt(ctx context.Context, in *CreateToolset) (err error) {
	if in.Login == "" || in.Auth != nil && in.Auth.adopted != nil {
		return nil
	}
	if in.Source.MCP == nil {
		return problem.New(problem.InvalidArgument, "a login belongs to an MCP server").At("", 0, 0, "/login")
	}
	u, err := mcpURL(in.Source.MCP.URL)
	if err != nil {
		return err
	}
	in.Auth, err = s.takeOver(ctx, in.Login, u, in.Auth)
	return err
}

// check finds the faults of a creation that need no specification.
func (in *CreateToolset) check() error {
	if err := checkBaseURL(in.BaseURL, "/baseUrl"); err != nil {
		return err
	}
	if in.Auth != nil {
		if in.Source.MCP != nil {
			in.Auth.aim(cmp.Or(in.BaseURL, in.Source.MCP.URL))
		}
		// A refresh may keep the stored secret; whether there is one is seen later.
		return in.Auth.check("/authentication", keepAny)
	}
	return nil
}

// slug is the name of the toolset in URLs: the one given, one made of the given
// name, or the connector's, which is made of the title without what says nothing.
func (in *CreateToolset) slug(connector string) string {
	switch {
	case in.Slug != "":
		return in.Slug
	case in.Name != "":
		if slug := slugify(in.Name); slug != "" {
			return slug
		}
	}
	return connector
}

// made is what a creation did besides the draft.
type made struct {
	in      *CreateToolset
	isNew   bool // the toolset
	opens   *opening
	added   bool       // the connector is new
	granted []string   // private addresses the toolset may now call
	renamed []KeptName // tools whose names were taken
}

// known are the tools of a draft before a connector is bound to it.
func (d *draft) known() []Tool {
	for _, p := range d.parts {
		if p.conn == nil {
			rest := &draft{ts: d.ts, edits: d.edits}
			for _, p := range d.parts {
				if p.conn != nil {
					rest.parts = append(rest.parts, p)
				}
			}
			return rest.tools(false)
		}
	}
	return d.tools(false)
}

// prepare finds the toolset and the connector that are refreshed, or makes new ones.
// The draft is about that connector; a new one has no version yet.
func (s *Server) prepare(ctx context.Context, ws *store.Workspace, in *CreateToolset, src *source, report *Report, again *refresh, to *addition, slug string) (d *draft, isNew bool, err error) {
	ts, err := ws.ToolsetBySlug(ctx, slug)
	isNew = problem.Is(err, problem.NotFound)
	switch {
	case isNew && to == nil:
		name := in.Name
		if name == "" {
			name = clip(report.Title, registry.MaxNameRunes)
		}
		ts = &store.Toolset{ID: s.o.Store.NewID("ts"), Slug: slug, Name: name, Profile: registry.ProfileLossless}
		ts.WorkspaceID = ws.ID()
		if src.server != nil {
			ts.Instructions = src.server.Instructions
		}
		d = &draft{ts: ts}
		d.addPart(src)
	case err != nil:
		return nil, false, err
	default:
		if d, err = s.draftOf(ctx, ws, ts); err != nil {
			return nil, false, err
		}
		if err := d.find(src, again, to); err != nil {
			return nil, false, err
		}
	}
	if err := d.take(in, src, to != nil); err != nil {
		return nil, false, err
	}
	return d, isNew, nil
}

// addPart gives the draft another connector and makes it be about that.
func (d *draft) addPart(src *source) {
	d.part = &part{row: store.ToolsetConnector{ToolsetID: d.ts.ID, SourceKind: src.kind(), SourceURL: src.url}}
	d.parts = append(d.parts, d.part)
}

// find focuses the draft on the connector of a source: the one that is refreshed, the one
// that has this source, or a new one when the request adds a connector.
func (d *draft) find(src *source, again *refresh, to *addition) error {
	if again != nil {
		return d.focus(again.source.Connector)
	}
	if to != nil && to.name != "" {
		if p := d.named(to.name); p != nil && !p.is(src) {
			return problem.New(problem.Conflict, "toolset %s has a connector %s of another source", d.ts.Slug, to.name).Fix("choose another name, or remove that connector")
		} else if p != nil {
			d.part = p
			return nil
		}
		if err := d.roomForOne(); err != nil {
			return err
		}
		d.addPart(src)
		d.row.Name = to.name
		return nil
	}
	for _, p := range d.parts {
		if p.is(src) {
			d.part = p
			return nil
		}
	}
	if to == nil {
		return problem.New(problem.Conflict, "the slug %.80q belongs to toolset %s, which has another source", d.ts.Slug, d.ts.ID).
			Fix("choose another name or slug, or add it to that toolset: sluice add … --to %s", d.ts.Slug)
	}
	if err := d.roomForOne(); err != nil {
		return err
	}
	d.addPart(src)
	return nil
}

// roomForOne refuses more connectors than a bundle may have.
func (d *draft) roomForOne() error {
	if len(d.parts) < registry.MaxConnectors {
		return nil
	}
	return problem.New(problem.Conflict, "toolset %s has %d connectors already", d.ts.Slug, len(d.parts)).Fix("make another toolset")
}

// take puts what a request says into the draft: into the toolset, or where another
// connector is added into that alone.
func (d *draft) take(in *CreateToolset, src *source, adds bool) error {
	d.row.SourceTitle = src.title
	put(&d.row.BaseURL, given(in.BaseURL))
	put(&d.row.UpstreamPolicy, given(in.Policy))
	if in.Stateless {
		d.row.Stateless = true
		if err := checkStateless(&d.row, "/stateless"); err != nil {
			return err
		}
	}
	if adds && in.Profile != "" {
		var err error
		if d.row.Answers, err = patchAnswers(d.row.Answers, &PatchAnswers{Profile: &in.Profile}, "", registry.OfConnector, nil); err != nil {
			return err
		}
	}
	if adds {
		return nil
	}
	put(&d.ts.Name, given(in.Name))
	put(&d.ts.Description, given(in.Description))
	put(&d.ts.Instructions, given(in.Instructions))
	put(&d.ts.Profile, given(in.Profile))
	if in.Cache != nil {
		d.ts.CacheSeconds = int64(in.Cache.TTLSeconds)
	}
	return nil
}

// bind makes the compiled connector that of the part the draft is about. The name of
// a connector in a toolset stays, also when a refreshed specification has another.
func (d *draft) bind(c *publish.Connector, conn *generated, report *Report) {
	name := connectorName(c, d.ts.WorkspaceID)
	d.conn, d.report = conn, report
	d.version = &store.ConnectorVersion{
		Connector: name, Digest: string(c.Module), Manifest: string(c.Manifest), Repository: c.Repository, Tag: c.Tag,
		Version: report.Version, SpecDigest: report.SpecDigest, Tools: int64(report.ToolCount), Report: store.JSON(report),
	}
	d.row.Connector, d.row.ConnectorDigest = name, string(c.Module)
	if d.row.Name == "" {
		d.row.Name = d.freeName(name)
	}
}

// writeCreated writes every record of a toolset that is new, or one of whose connectors
// is new or refreshed. action is what the audit log calls it.
func (s *Server) writeCreated(ctx context.Context, tx *store.Tx, d *draft, src *source, action string, auth bool) error {
	err := tx.PutSpecification(ctx, &store.Specification{
		Digest: d.report.SpecDigest, Name: src.name(), URL: src.url, Format: src.format(d.report.Format), SpecVersion: d.report.SpecVersion, Content: src.content(),
	})
	if err != nil {
		return err
	}
	if err := tx.PutConnector(ctx, &store.Connector{Name: d.row.Connector, Title: d.report.Title, Kind: "custom", Source: src.kind()}, d.version); err != nil {
		return err
	}
	rec := request.Audit(ctx, action, d.ts.ID)
	rec.Digest = d.ts.DraftDigest
	if err := tx.SaveConnectors(ctx, d.ts, d.rows()); err != nil {
		return err
	}
	if action == "toolset.create" {
		err = tx.CreateToolset(ctx, d.ts)
	} else {
		err = tx.SaveToolset(ctx, d.ts)
	}
	if err != nil {
		return err
	}
	if err := tx.ReplaceToolEdits(ctx, d.ts.ID, d.edits); err != nil {
		return err
	}
	if err := tx.PutToolsetSource(ctx, src.record(d.ts.ID, d.row.Name)); err != nil {
		return err
	}
	if d.changes != nil {
		row := d.changes.record(ctx, d.ts.ID)
		if err := tx.AddToolsetChange(ctx, row); err != nil {
			return err
		}
		d.changes.ID, d.changes.At = row.ID, row.CreatedAt.Time
	}
	if auth || len(d.creds) > 0 {
		if err := s.writeAuth(ctx, tx, d); err != nil {
			return err
		}
	}
	rec.After = store.JSON(map[string]any{
		"slug": d.ts.Slug, "name": d.ts.Name, "source": d.row.SourceURL, "connector": d.row.ConnectorDigest, "tools": len(d.conn.tools),
		"authentication": s.auditAuth(d.creds),
	})
	return tx.Audit(ctx, rec)
}

// tryOut tests and deploys a draft as far as a creation wants it; nil: not at all.
func (s *Server) tryOut(ctx context.Context, ws *store.Workspace, d *draft, in *CreateToolset, phase func(string)) (*TestRun, error) {
	if in.Deploy != nil && in.Deploy.Skip {
		return nil, nil //nolint:nilnil // no test is an ordinary outcome
	}
	phase("testing a tool")
	req := TestRequest{}
	if in.Test != nil {
		req = *in.Test
	}
	if req.Tool == "" && req.Connector == "" && len(d.parts) > 1 {
		req.Connector = d.row.Name
	}
	test, err := s.test(ctx, ws, d, &req)
	if err != nil {
		return nil, err
	}
	reason := ""
	if !test.Possible && len(test.waits) == 0 && in.Deploy != nil {
		reason = in.Deploy.UntestedReason
	}
	if test.Passed && !req.KeepDraft || reason != "" {
		phase("publishing")
		if err := s.deploy(ctx, ws, d, test, reason); err != nil {
			return nil, err
		}
	}
	return test, nil
}

// finishCreate tests and deploys what was created, as far as the request wants
// it, and makes the answer.
func (s *Server) finishCreate(ctx context.Context, ws *store.Workspace, d *draft, in *CreateToolset, m *made, phase func(string)) (*request.Done, error) {
	test, err := s.tryOut(ctx, ws, d, in, phase)
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ctx, ws, d)
	if err != nil {
		return nil, err
	}
	if test != nil {
		shown.Test = test
	}
	advice, err := s.advice(ctx, d)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if m.isNew {
		status = http.StatusCreated
	}
	served, err := s.served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	cost, err := s.listTokens(d, served)
	if err != nil {
		return nil, err
	}
	body := CreatedToolset{
		ToolsetDetail: d.detail(shown), Created: m.isNew, Tools: d.tools(false), Tokens: cost, Advice: advice, Granted: m.granted, Changes: d.changes,
	}
	out := &request.Done{Status: status, Resource: "/v1/toolsets/" + d.ts.ID, ETag: request.ETag(d.ts.Version), Kept: body}
	if body.Token, err = m.opens.show(); err != nil {
		return nil, err
	}
	out.Body = body
	return out, nil
}

// addresses are what a creation names for the node to dial.
func (in *CreateToolset) addresses() []string {
	named := []string{in.BaseURL}
	if in.Source.MCP != nil {
		named = append(named, in.Source.MCP.URL)
	}
	if in.Source.OpenAPI != nil {
		named = append(named, in.Source.OpenAPI.URL)
		for i := range in.Source.OpenAPI.Overlays {
			named = append(named, in.Source.OpenAPI.Overlays[i].URL)
		}
	}
	if in.Auth != nil {
		named = append(named, in.Auth.addresses()...)
	}
	return named
}

// clip cuts a text at n runes and removes what a name may not hold.
func clip(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n])
	}
	if s = strings.TrimSpace(s); s == "" {
		return "Toolset"
	}
	return s
}

var errChanged = errors.New("the draft changed while it was tested")

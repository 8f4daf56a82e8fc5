package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluicegate/sluice/admin/catalog"
	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/change/adoption"
	"github.com/sluicegate/sluice/admin/change/difference"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/upstream"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/registry"
)

// changeTries of a change whose toolset is changed by others meanwhile. Each that fails
// lost to another that succeeded.
const changeTries = 20

// change is a source on its way into a toolset. It goes through its stages in order:
// read, compile, load, compare, decide, write, and last the test and the deploy. What
// can fail without a trace comes first, and all records are written in one transaction:
// a failed test leaves a draft, every other failure leaves nothing. Nothing is locked.
// When somebody else changed the toolset before the records are written, the change
// begins again from load, unless it is of one version only.
type change struct {
	r     *Room
	ws    *store.Workspace
	in    *CreateToolset     // what is asked for
	add   *AddConnector      // in is a connector for the toolset of its slug; nil: it is not
	again *refresh           // in is a source that is read again; nil: it is not
	match request.MatchInput // the version of the toolset that the change is of; empty: any
	phase func(string)       // is told what happens now

	entry    *catalog.Adoption // of the catalog, which the source is of; set by read, nil: of none
	source   *source.Source    // set by read
	seen     []grant.Seen      // private addresses that the operator named; set by read
	compiled *draft.Compiled   // set by compile

	d       *draft.Draft        // about the connector; set by load
	isNew   bool                // there was no such toolset
	was     draft.Part          // the connector before; without a version when it is new
	renamed []draft.KeptName    // tools whose names were taken; set by compare
	diff    *difference.Changes // set by compare; nil: the connector is new or the same
	opens   *access.Opening     // set by write
	granted []string            // private addresses that the toolset may now call; set by write
}

// verdict is what becomes of a change.
type verdict int

const (
	unchanged verdict = iota // the source makes the connector that is there
	dryRun                   // the differences are shown, nothing is kept
	hold                     // the differences wait until somebody accepts them
	create                   // a new toolset
	add                      // another connector of a toolset
	refreshed                // another version of a connector
)

// actions are the names of verdicts in the audit log.
var actions = map[verdict]string{create: "toolset.create", add: "connector.add", refreshed: "toolset.refresh"}

// decision is a verdict with its reason.
type decision struct {
	verdict verdict
	why     string // hold: for people
}

// run takes the change through its stages and makes the answer.
func (c *change) run(ctx context.Context) (*request.Done, error) {
	ctx, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	if c.source.NotModified {
		return c.keepAsIs(ctx, c.again.source)
	}
	if c.compiled, err = c.r.Compiler.Source(ctx, c.ws.ID(), c.source, c.phase); err != nil {
		return nil, err
	}
	var what decision
	for try := 1; ; try++ {
		what, err = c.take(ctx)
		if err == nil {
			break
		}
		if try == changeTries || c.match.IfMatch != "" || !errors.Is(err, store.ErrStale) {
			return nil, err
		}
	}
	switch what.verdict {
	case unchanged:
		return c.keepAsIs(ctx, c.source.Record(c.d.Toolset.ID, c.d.Row.Name))
	case dryRun:
		return c.show(ctx)
	case hold:
		return c.hold(ctx, what.why)
	}
	ctx = safedial.WithHolder(ctx, c.d.Toolset.ID)
	switch {
	case c.again != nil:
		return c.finishRefresh(ctx)
	case c.source.Server != nil:
		c.r.Upstreams.Keep(c.d.Toolset.ID, c.d.Row.Name, c.source.TTL, c.source.Tells)
		c.r.Upstreams.Saw(c.d.Toolset.ID, c.d.Row.Name)
		defer c.r.Upstreams.Look() // which listens to the server
	}
	if c.add != nil {
		return c.finishAdd(ctx, what.verdict)
	}
	return c.finishCreate(ctx, what.verdict)
}

// take loads the toolset, decides, and writes what was decided.
func (c *change) take(ctx context.Context) (decision, error) {
	if err := c.load(ctx); err != nil {
		return decision{}, err
	}
	if err := c.compare(ctx); err != nil {
		return decision{}, err
	}
	what, err := c.decide()
	if err != nil || actions[what.verdict] == "" {
		return what, err
	}
	return what, c.write(ctx, actions[what.verdict])
}

// read checks the request and reads its source. The context it returns may dial what
// the operator named.
func (c *change) read(ctx context.Context) (context.Context, error) {
	named := c.in.addresses() // what an entry of the catalog names, the operator did not
	var err error
	if c.in, c.entry, err = c.r.fromCatalog(c.in); err != nil {
		return nil, err
	}
	if err := c.r.useCommand(ctx, c.in); err != nil {
		return nil, err
	}
	if err := c.r.adopt(ctx, c.in); err != nil {
		return nil, err
	}
	if err := c.in.check(); err != nil {
		return nil, err
	}
	if _, err := toolset.ParseGlobs(c.in.Tools, "/tools"); err != nil {
		return nil, err
	}
	if ctx, err = c.r.ofNamed(ctx, c.ws, c.in, c.again); err != nil {
		return nil, err
	}
	switch {
	case c.again != nil:
		named = nil // the records name it: where the name leads now, nobody has said
	case c.entry == nil:
		named = c.in.addresses() // with that of a command, which is known only now
	}
	ctx, c.seen = c.r.Grants.See(ctx, named)
	c.source, err = c.r.readSource(ctx, c.in, c.again, c.phase)
	return ctx, err
}

// load finds the toolset and the connector that the source is of, or makes new ones,
// and gives them what the request says.
func (c *change) load(ctx context.Context) error {
	slug := c.in.slug(draft.ConnectorName(c.compiled.Pushed, c.ws.ID()))
	ts, err := c.ws.ToolsetBySlug(ctx, slug)
	c.isNew = problem.Is(err, problem.NotFound)
	switch {
	case c.isNew && c.add == nil:
		name := c.in.Name
		if name == "" {
			name = draft.ClipName(c.compiled.Report.Title, registry.MaxNameRunes)
		}
		ts = &store.Toolset{ID: c.r.Drafts.Store.NewID("ts"), Slug: slug, Name: name, Profile: registry.ProfileLossless}
		ts.WorkspaceID = c.ws.ID()
		if c.source.Server != nil {
			ts.Instructions = c.source.Server.Instructions
		}
		c.d = &draft.Draft{Toolset: ts}
		c.addPart()
	case err != nil:
		return err
	default:
		if err := c.match.Check(ts.Version, false); err != nil {
			return err
		}
		if c.d, err = c.r.Drafts.Of(ctx, c.ws, ts); err != nil {
			return err
		}
		if err := c.find(); err != nil {
			return err
		}
	}
	if c.was = *c.d.Part; c.was.Version != nil {
		if err := c.keepOverlays(ctx); err != nil {
			return err
		}
	}
	return c.settings()
}

// keepOverlays compiles the source again with the overlays that the connector has,
// when the request does not name any: they are known only now.
func (c *change) keepOverlays(ctx context.Context) error {
	if c.in.Source.OpenAPI == nil || c.in.Source.OpenAPI.Overlays != nil {
		return nil
	}
	row, err := c.ws.ToolsetSource(ctx, c.d.Toolset.ID, c.d.Row.Name)
	if err != nil {
		return err
	}
	kept, err := overlaysOf(row)
	if err != nil || len(kept) == 0 {
		return err
	}
	whole, source := *c.in, *c.in.Source.OpenAPI
	source.Overlays, whole.Source.OpenAPI = kept, &source
	c.in = &whole
	if c.source, err = c.r.readSource(ctx, c.in, c.again, c.phase); err != nil {
		return err
	}
	c.compiled, err = c.r.Compiler.Source(ctx, c.ws.ID(), c.source, c.phase)
	return err
}

// overlaysOf are the overlays that a source is read with.
func overlaysOf(row *store.ToolsetSource) ([]source.OverlaySource, error) {
	if row.Overlays == "" {
		return nil, nil
	}
	var kept []source.OverlaySource
	if err := json.Unmarshal([]byte(row.Overlays), &kept); err != nil {
		return nil, fmt.Errorf("reading the overlays of toolset %s: %w", row.ToolsetID, err)
	}
	return kept, nil
}

// addPart gives the draft another connector and focuses on it.
func (c *change) addPart() {
	c.d.Part = &draft.Part{Row: store.ToolsetConnector{ToolsetID: c.d.Toolset.ID, SourceKind: c.source.Kind(), SourceURL: c.source.URL}}
	c.d.Parts = append(c.d.Parts, c.d.Part)
}

// find focuses the draft on the connector of the source: the one that is refreshed, the
// one that has this source, or a new one when the request adds a connector.
func (c *change) find() error {
	d := c.d
	if c.again != nil {
		return d.Focus(c.again.source.Connector)
	}
	name := ""
	if c.add != nil {
		name = c.add.Name
	}
	for _, p := range d.Parts {
		if (name == "" || p.Row.Name == name) && p.Is(c.source) {
			d.Part = p
			return nil
		}
	}
	switch {
	case c.add == nil:
		return problem.New(problem.Conflict, "the slug %.80q belongs to toolset %s, which has another source", d.Toolset.Slug, d.Toolset.ID).
			Fix("choose another name or slug, or add it to that toolset: sluice add … --to %s", d.Toolset.Slug)
	case name != "" && d.Named(name) != nil:
		return problem.New(problem.Conflict, "toolset %s has a connector %s of another source", d.Toolset.Slug, name).Fix("choose another name, or remove that connector")
	case len(d.Parts) >= registry.MaxConnectors:
		return problem.New(problem.Conflict, "toolset %s has %d connectors already", d.Toolset.Slug, len(d.Parts)).Fix("make another toolset")
	}
	c.addPart()
	d.Row.Name = name
	return nil
}

// settings puts what the request says into the draft: into the toolset, or where
// another connector is added into that alone.
func (c *change) settings() error {
	d, in := c.d, c.in
	d.Row.SourceTitle = c.source.Title
	toolset.Put(&d.Row.BaseURL, given(in.BaseURL))
	toolset.Put(&d.Row.UpstreamPolicy, given(in.Policy))
	if in.Stateless {
		d.Row.Stateless = true
		if err := draft.CheckStateless(&d.Row, "/stateless"); err != nil {
			return err
		}
	}
	switch {
	case c.entry == nil:
	case c.was.Version == nil:
		if err := c.begin(); err != nil {
			return err
		}
	default:
		if err := c.entry.Same(d.Row.Entry, d.Toolset.Slug); err != nil {
			return err
		}
	}
	if c.add != nil {
		if in.Profile == "" {
			return nil
		}
		var err error
		d.Row.Answers, err = toolset.ChangeAnswers(d.Row.Answers, &toolset.PatchAnswers{Profile: &in.Profile}, "", registry.OfConnector, nil)
		return err
	}
	toolset.Put(&d.Toolset.Name, given(in.Name))
	toolset.Put(&d.Toolset.Description, given(in.Description))
	toolset.Put(&d.Toolset.Instructions, given(in.Instructions))
	toolset.Put(&d.Toolset.Profile, given(in.Profile))
	if in.Cache != nil {
		d.Toolset.CacheSeconds = int64(in.Cache.TTLSeconds)
	}
	return nil
}

// compare binds the compiled connector to the draft and notes what that changes for
// those who use the tools. Names that agents know stay.
func (c *change) compare(ctx context.Context) error {
	before := draft.Known(c.d)
	c.d.Bind(c.compiled)
	c.diff = nil
	if c.was.Version != nil {
		moved := toolset.MovesOf(c.d.Row.Name, c.was.Conn, c.d.Conn)
		if err := c.d.Follow(moved); err != nil {
			return err
		}
		for i := range before {
			before[i].Operation = moved.Of(before[i].Operation)
		}
		var err error
		if c.diff, err = difference.Since(c.d, &c.was, moved); err != nil {
			return err
		}
	}
	c.renamed = c.d.Settle(before)
	if c.diff == nil {
		return nil
	}
	c.diff.At, c.diff.Actor = c.ws.Now(), request.Of(ctx).ActorID()
	return c.compareOrigins(ctx)
}

// compareOrigins adds to the differences where calls go that did not before.
func (c *change) compareOrigins(ctx context.Context) error {
	d := c.d
	change := credential.Moved(d.Row.Name, d.Row.BaseURL, c.was.Conn, d.Conn)
	if change == nil {
		return nil
	}
	waits, err := c.r.Drafts.Unconfirmed(ctx, d)
	if err != nil {
		return err
	}
	for i := range waits {
		if waits[i].Connector == d.Row.Name {
			change.New = waits[i].New
		}
	}
	// A change that was accepted with its address is not held again for that.
	if c.again != nil && c.again.request.approve != "" && len(change.New) == 0 {
		return nil
	}
	c.diff.Origins = change
	c.diff.Breaking++
	return nil
}

// decide says what becomes of the change. Only a refresh may end in something else than
// what was asked for.
func (c *change) decide() (decision, error) {
	switch r, mcp := c.again, c.source.Server != nil; {
	case c.isNew:
		return decision{verdict: create}, nil
	case c.was.Version == nil:
		return decision{verdict: add}, nil
	case r == nil:
		return decision{verdict: refreshed}, nil
	case r.approved != (difference.SpecRef{}) && (c.diff == nil || c.diff.To != r.approved):
		return decision{}, problem.New(problem.Conflict, "the source has changed since the change was shown").
			Fix("look at what it is now: sluice toolset refresh %s --hold", c.d.Toolset.Slug)
	case r.approved != (difference.SpecRef{}) && c.diff.Origins != nil:
		return decision{}, credential.Refused(c.d.Toolset.Slug, []credential.OriginChange{*c.diff.Origins})
	case c.was.Version.Digest == c.d.Version.Digest:
		return decision{verdict: unchanged}, nil
	case r.request.DryRun:
		return decision{verdict: dryRun}, nil
	case mcp && len(c.diff.Tools) == 0: // the same tools, in another revision of the protocol
		return decision{verdict: unchanged}, nil
	case mcp && c.d.Policy() == upstream.Pin && !r.request.Accept:
		return decision{hold, "the MCP server changed its tools"}, nil
	case mcp && c.d.Policy() == upstream.Warn && !r.request.Accept && c.diff.Disturbs():
		return decision{hold, "the MCP server changed tools that agents know"}, nil
	case r.request.follows && c.diff.Instructed() != "": // nobody has read it
		return decision{hold, c.diff.Instructed()}, nil
	case !r.request.Hold:
	case c.diff.Origins != nil || c.diff.Breaking > 0:
		return decision{hold, c.diff.Why()}, nil
	case c.d.Toolset.DraftDigest != c.d.Toolset.LiveDigest:
		return decision{hold, "the draft has changes that are not live"}, nil
	}
	return decision{verdict: refreshed}, nil
}

// write stores the connector, the bundle of the draft and all records.
func (c *change) write(ctx context.Context, action string) error {
	r, d, in := c.r, c.d, c.in
	switch {
	case c.entry != nil && c.was.Version == nil:
		if err := adoption.Adopt(d, c.entry); err != nil {
			return err
		}
	case len(in.Tools) > 0:
		selection, err := toolset.ParseGlobs(in.Tools, "/tools")
		if err != nil {
			return err
		}
		if err := d.Enable(selection, d.ToolsOf(d.Row.Name)); err != nil {
			return err
		}
	}
	if in.Selection != "" || in.UseCase != "" {
		if err := d.ChooseAnew(given(in.Selection), given(in.UseCase), nil); err != nil {
			return err
		}
	}
	if in.Auth != nil {
		if err := r.Drafts.Authenticate(d, in.Auth, "/authentication"); err != nil {
			return err
		}
		if err := r.Drafts.BindCredentials(ctx, d); err != nil {
			return err
		}
		if c.diff != nil && c.diff.Origins != nil {
			c.diff.Origins.New = nil // the secret was given for it
		}
	}
	c.phase("storing the connector")
	if err := r.Drafts.Publisher.Push(ctx, c.compiled.Pushed); err != nil {
		return err
	}
	if err := r.Drafts.Push(ctx, d); err != nil {
		return err
	}
	var err error
	if c.isNew {
		c.opens, err = r.Access.Opening(ctx, c.ws, d.Toolset, in.Access)
	} else {
		err = access.CheckOpening(ctx, c.ws, d.Toolset, in.Access)
	}
	if err != nil {
		return err
	}
	var lost login.Gone
	r.Logins.Secrets.CollectLost(ctx, c.ws, &lost, c.was.Creds, d.Creds)
	if err := c.ws.Update(ctx, func(tx *store.Tx) error { return c.records(ctx, tx, action) }); err != nil {
		return err
	}
	r.Logins.Secrets.ForgetAll(c.was.Creds, d.Creds)
	r.Logins.Secrets.RevokeGone(ctx, c.ws, d.Toolset.ID, &lost)
	c.granted, err = r.Grants.GrantSeen(ctx, c.ws, d.Toolset.ID, c.seen)
	return err
}

// records writes every record of the change; action is what the audit log calls it.
func (c *change) records(ctx context.Context, tx *store.Tx, action string) error {
	d := c.d
	if err := draft.WriteDraft(ctx, tx, d, c.isNew); err != nil {
		return err
	}
	if c.diff != nil {
		if err := c.diff.Write(ctx, tx, d.Toolset.ID); err != nil {
			return err
		}
	}
	if c.in.Auth != nil || len(d.Creds) > 0 {
		if err := c.r.Drafts.WriteAuth(ctx, tx, d); err != nil {
			return err
		}
	}
	rec := request.Audit(ctx, action, d.Toolset.ID)
	rec.Digest = d.Toolset.DraftDigest
	rec.After = store.JSON(map[string]any{
		"slug": d.Toolset.Slug, "name": d.Toolset.Name, "source": d.Row.SourceURL, "connector": d.Row.ConnectorDigest, "tools": len(d.Conn.Tools),
		"authentication": credential.Audited(c.r.Drafts.Keyring, d.Creds),
	})
	if err := tx.Audit(ctx, rec); err != nil {
		return err
	}
	return c.opens.Write(ctx, tx, d.Toolset.ID)
}

// given is s, or nil when it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

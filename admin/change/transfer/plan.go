package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/binding"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/publish/plugin"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/sign"
)

// importing is one toolset on its way.
type importing struct {
	want    *declare.DeclaredToolset
	now     *store.Toolset // nil: it is new
	planned declare.PlannedToolset
	secrets bool // a secret that is given is not the one that is stored
}

// newKeys are the publisher keys of the document that are not trusted yet.
func (r *Room) newKeys(ctx context.Context, ws *store.Workspace, declared []plugin.NewPublisherKey) ([]store.PublisherKey, error) {
	have, err := declare.PublisherKeys(ctx, ws)
	if err != nil {
		return nil, err
	}
	var out []store.PublisherKey
	for i := range declared {
		at := "/publisherKeys/" + strconv.Itoa(i)
		k, err := sign.ParsePublisherKey([]byte(declared[i].PublicKey))
		if err != nil {
			if p := problem.As(err); p != nil {
				return nil, p.At("", 0, 0, at+"/publicKey")
			}
			return nil, err
		}
		known := func(row store.PublisherKey) bool { return row.ID == k.ID() }
		if slices.ContainsFunc(have, known) || slices.ContainsFunc(out, known) {
			continue
		}
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return nil, err
		}
		if _, err := ws.PublisherKey(ctx, k.ID()); err == nil {
			return nil, request.FieldFault(at, "the key of %.80q was revoked in this workspace", declared[i].Name)
		} else if !problem.Is(err, problem.NotFound) {
			return nil, err
		}
		out = append(out, store.PublisherKey{ID: k.ID(), Name: declared[i].Name, PublicKey: k.DER(), Algorithm: k.Algorithm(), CreatedBy: request.Of(ctx).ActorID()})
	}
	return out, nil
}

func (r *Room) addKeys(ctx context.Context, ws *store.Workspace, keys []store.PublisherKey) error {
	for i := range keys {
		err := ws.Update(ctx, func(tx *store.Tx) error {
			if err := tx.AddPublisherKey(ctx, &keys[i]); err != nil {
				return err
			}
			rec := request.Audit(ctx, "publisher_key.add", keys[i].ID)
			rec.After = store.JSON(map[string]any{"name": keys[i].Name, "algorithm": keys[i].Algorithm, "by": "import"})
			return tx.Audit(ctx, rec)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// plan checks the whole document and says what becomes of each toolset.
func (r *Room) plan(ctx context.Context, ws *store.Workspace, doc *declare.Declaration, all []*store.Toolset, prune bool) ([]importing, error) {
	var work []importing
	seen := map[string]bool{}
	for i := range doc.Toolsets {
		t := &doc.Toolsets[i]
		if seen[t.Slug] {
			return nil, request.FieldFault("/toolsets/"+strconv.Itoa(i)+"/slug", "the slug %.80q is there twice", t.Slug)
		}
		seen[t.Slug] = true
		x := importing{want: t, planned: declare.PlannedToolset{Slug: t.Slug, Action: "create"}}
		if at := slices.IndexFunc(all, func(row *store.Toolset) bool { return row.Slug == t.Slug }); at >= 0 {
			x.now = all[at]
		}
		if err := r.planToolset(ctx, ws, &x); err != nil {
			return nil, declare.Fault(err, doc.Toolsets, t.Slug)
		}
		work = append(work, x)
	}
	for _, row := range all {
		if seen[row.Slug] {
			continue
		}
		x := importing{now: row, planned: declare.PlannedToolset{Slug: row.Slug, Action: "extra"}}
		if prune {
			x.planned.Action = "delete"
		}
		work = append(work, x)
	}
	slices.SortFunc(work, func(a, b importing) int { return strings.Compare(a.planned.Slug, b.planned.Slug) })
	return work, nil
}

func (r *Room) planToolset(ctx context.Context, ws *store.Workspace, x *importing) error {
	t := x.want
	if err := t.Check(); err != nil {
		return err
	}
	for i := range t.Plugins {
		at := "/plugins/" + strconv.Itoa(i)
		b, g, err := r.declaredBinding(ctx, ws, &t.Plugins[i], at)
		if err != nil {
			return err
		}
		if binding.LetsThrough(b.OnError, g.Manifest) {
			x.planned.Warnings = append(x.planned.Warnings, declare.PlannedWarning{Pointer: at + "/onError", Plugin: b.Plugin, Detail: binding.WarnLetsThrough})
		}
	}
	if err := r.closeImported(ctx, ws, x); err != nil {
		return err
	}
	before := any(map[string]any{})
	if x.now != nil {
		have, err := r.declare(ctx, ws, x.now, nil)
		if err != nil {
			return err
		}
		before = have.View()
		x.planned.Action = "update"
		if have.Capture != t.Capture {
			err = request.RequireRole(ctx, store.RoleAdmin)
		}
		if err != nil {
			return err
		}
	} else if t.Capture != "" {
		if err := request.RequireRole(ctx, store.RoleAdmin); err != nil {
			return err
		}
	}
	if err := r.planSecrets(ctx, ws, x); err != nil {
		return err
	}
	if x.now == nil || !reflect.DeepEqual(before, t.View()) {
		// What cannot be compiled or tested must be known before anything is changed.
		ctx, _ := r.seeImported(ctx, x) // a plan grants nothing
		if _, err := r.importDraft(ctx, ws, x, func(string) {}); err != nil {
			return err
		}
	}
	if x.now != nil {
		x.planned.Changes = declare.Differences(before, t.View())
	}
	if x.secrets {
		x.planned.Changes = append(x.planned.Changes, declare.PlannedChange{Pointer: "/authentication", To: "another secret"})
	}
	if x.now != nil && len(x.planned.Changes) == 0 {
		x.planned.Action = "none"
	}
	return nil
}

// planSecrets finds which secrets are missing and which are new.
func (r *Room) planSecrets(ctx context.Context, ws *store.Workspace, x *importing) error {
	x.planned.Missing, x.secrets = nil, false
	have := &draft.Draft{}
	var sources []declare.DeclaredSource
	if x.now != nil {
		rows, err := ws.ToolsetConnectors(ctx, x.now)
		if err != nil {
			return err
		}
		for i := range rows {
			p := &draft.Part{Row: rows[i]}
			if p.Creds, err = credential.Load(ctx, ws, x.now.ID, rows[i].Name); err != nil {
				return err
			}
			have.Parts = append(have.Parts, p)
			sources = append(sources, declare.DeclaredSource{Kind: rows[i].SourceKind, URL: rows[i].SourceURL})
		}
	}
	for i := range x.want.Parts() {
		have.Part = &draft.Part{}
		if p := partOf(have, x.want, i, sources); p != nil {
			have.Part = p
		}
		if err := r.planPartSecrets(x, have, i); err != nil {
			return err
		}
	}
	return nil
}

func (r *Room) planPartSecrets(x *importing, have *draft.Draft, i int) error {
	declared := x.want.Parts()[i].Authentication
	match := x.auth(i).Matching(have.Creds)
	for k := range declared {
		it := &declared[k].AuthItem
		needed := !credential.IsOAuth(it.AuthType) || it.Grant == "client_credentials"
		switch given := it.Secret(); {
		case given.IsZero() && needed && (match[k] < 0 || !credential.KeepsSecret(&have.Creds[match[k]].Row, it)):
			field := cmp.Or(credential.SecretField(it.AuthType), "privateKey")
			x.planned.Missing = append(x.planned.Missing, fmt.Sprintf("%s/authentication/%d/%s", x.want.PointerTo(i), k, field))
		case given.IsZero():
		case match[k] < 0 || have.Creds[match[k]].Row.Version == 0:
			x.secrets = true
		default:
			stored, err := r.Logins.Secrets.Unseal(&have.Creds[match[k]].Row)
			if err != nil {
				return err
			}
			if !stored.Equal(given) {
				x.secrets = true
			}
		}
	}
	return nil
}

// declaredBinding is the record of a binding whose plugin is there, may run and takes
// its configuration, without the operations it is of, and the plugin.
func (r *Room) declaredBinding(ctx context.Context, ws *store.Workspace, p *declare.DeclaredPlugin, at string) (*draft.Binding, *guest.Package, error) {
	row, err := ws.PluginVersion(ctx, p.Plugin, p.Version)
	if problem.Is(err, problem.NotFound) {
		return nil, nil, problem.New(problem.NotFound, "there is no plugin %.80q %.80q in this workspace", p.Plugin, p.Version).At("", 0, 0, at).
			Fix("publish it here first: sluice plugin publish")
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Digest != "" && p.Digest != row.Digest {
		return nil, nil, problem.New(problem.Conflict, "plugin %s %s is another module here: %s", p.Plugin, p.Version, row.Digest).At("", 0, 0, at+"/digest")
	}
	within, err := registry.ParseVersionRange(p.Range)
	if err != nil {
		return nil, nil, request.FieldFault(at+"/range", "%.80q is not a range of versions: write *, 1.2.3, ^1.2.3, ~1.2.3, 1 or 1.2", p.Range)
	}
	if v, err := registry.ParseVersion(p.Version); err != nil || !within.Has(v) {
		return nil, nil, request.FieldFault(at+"/range", "the range %.80q does not hold the version %.80q", p.Range, p.Version)
	}
	b := &draft.Binding{Plugin: p.Plugin, Range: p.Range, Pinned: row.Version, Digest: row.Digest, Kind: row.Kind, OnError: p.OnError, Grants: p.Grants.Record()}
	if p.Unbind != nil && *p.Unbind != (plugin.PluginUnbinding{}) {
		b.Unbind = &registry.UnbindLimits{ErrorPercent: p.Unbind.ErrorPercent, MeanMilliseconds: p.Unbind.MeanMs}
	}
	if c := binding.CompactJSON(p.Config); c != "null" && c != "{}" {
		b.Config = json.RawMessage(c)
	}
	g, err := r.Publisher.OpenPlugin(ctx, plugin.RefOf(row))
	if err != nil {
		return nil, nil, err
	}
	if err := g.CheckConfig(b.Config); err != nil {
		if p := problem.As(err); p != nil {
			return nil, nil, p.At("", 0, 0, at+"/config")
		}
		return nil, nil, err
	}
	if b.Grants, err = plugin.Decided(g, b.Grants, "TOOLSET"); err != nil {
		return nil, nil, problem.As(err).At("", 0, 0, at+"/grants")
	}
	return b, g, g.Check(r.Bound.Policy)
}

// bindDeclared puts the bindings of a declaration on a draft that has its connectors and
// edits.
func (r *Room) bindDeclared(ctx context.Context, ws *store.Workspace, d *draft.Draft, list []declare.DeclaredPlugin, names declare.Names) error {
	before, err := d.Bindings()
	if err != nil {
		return err
	}
	bound := make([]draft.Binding, 0, len(list))
	for i := range list {
		p, at := &list[i], "/plugins/"+strconv.Itoa(i)
		b, g, err := r.declaredBinding(ctx, ws, p, at)
		if err != nil {
			return err
		}
		if p.Connector != "" {
			b.Connector = names[p.Connector]
		}
		in := &binding.PluginBinding{Plugin: p.Plugin, Connector: b.Connector, Operation: p.Operation, Calls: map[string]string{}}
		if p.Operation != nil {
			op := names.Operation(*p.Operation)
			b.Connector, b.Method, b.Path = op.Connector, op.Method, op.Path
		}
		// What the document says stands for itself, also where there is no such tool at
		// present; for the rest it is as when a person binds it.
		said := []draft.Binding{{Plugin: p.Plugin, Connector: b.Connector}}
		for name, op := range p.Calls {
			c := draft.BoundCall{Name: name, Operation: names.Operation(op)}
			said[0].Calls, in.Calls[name] = append(said[0].Calls, c), c.String()
		}
		if b.Calls, err = binding.ResolveCalls(d, g, said, in, at); err != nil {
			return err
		}
		if err := binding.AllowGrants(ctx, before, b); err != nil {
			return problem.As(err).At("", 0, 0, at+"/grants")
		}
		bound = append(bound, *b)
	}
	if d.Toolset.Plugins = ""; len(bound) > 0 {
		d.Toolset.Plugins = store.JSON(bound)
	}
	return nil
}

// closeImported gives a toolset of a document that says nothing of its access the one it
// has, and a new one on a node that others reach one that needs a token.
func (r *Room) closeImported(ctx context.Context, ws *store.Workspace, x *importing) error {
	if x.want.Access != nil || !r.Closed {
		return nil
	}
	settings := access.AccessSettings{Mode: registry.AccessToken}
	if x.now != nil {
		row, err := ws.Access(ctx, x.now.ID)
		if err != nil {
			return err
		}
		if settings, err = access.SettingsOf(row); err != nil {
			return err
		}
		if settings.Mode == registry.AccessNone {
			return nil // as it is, and as a document says that names none
		}
	}
	x.want.Access = &settings
	return nil
}

// partOf finds the connector of a draft that connector i of a declaration is; nil: none.
// A single one is the one of that source, whatever it is called here, else the first:
// its credential stays.
func partOf(d *draft.Draft, t *declare.DeclaredToolset, i int, have []declare.DeclaredSource) *draft.Part {
	parts := t.Parts()
	if p := d.Named(parts[i].Name); p != nil {
		return p
	}
	if len(parts) > 1 || len(d.Parts) == 0 {
		return nil
	}
	for k := range have {
		if have[k].URL == parts[i].Source.URL && have[k].Kind == parts[i].Source.Kind && have[k].FileName == parts[i].Source.FileName {
			return d.Parts[k]
		}
	}
	return d.Parts[0]
}

// misses reports whether the secret of an item of connector i is neither given nor
// stored.
func (x *importing) misses(i, item int) bool {
	at := fmt.Sprintf("%s/authentication/%d/", x.want.PointerTo(i), item)
	return slices.ContainsFunc(x.planned.Missing, func(m string) bool { return strings.HasPrefix(m, at) })
}

// auth is the authentication configuration of connector i without the items whose
// secret is missing.
func (x *importing) auth(i int) *credential.SetAuth {
	return declare.SetAuth(x.want.Parts()[i].Authentication, func(item int) bool { return x.misses(i, item) })
}

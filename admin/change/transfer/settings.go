package transfer

import (
	"context"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/notify"
	"github.com/sluicegate/sluice/admin/notify/alert"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// setting is a rule or a channel on its way.
type setting struct {
	planned declare.PlannedSetting
	at      string // where it is in the document
	apply   func(ctx context.Context) error
}

// changes reports whether an import changes the setting: one whose secret is missing is left
// as it is.
func (s *setting) changes() bool {
	return s.planned.Action != "none" && s.planned.Action != "extra" && len(s.planned.Missing) == 0
}

// compared says what becomes of a setting that the document has; have is as it is, nil: not
// there.
func compared(p *declare.PlannedSetting, have, want any) {
	if have == nil {
		p.Action = "create"
		return
	}
	if p.Changes, p.Action = declare.Differences(declare.Plain(have), declare.Plain(want)), "none"; len(p.Changes) > 0 {
		p.Action = "update"
	}
}

// placed puts the place of a member of the document before that of a fault in it.
func placed(err error, at string) error {
	if p := problem.As(err); p != nil {
		return p.At("", 0, 0, at+p.Place.Pointer)
	}
	return err
}

// unwanted is what becomes of what the document does not have.
func unwanted(prune bool) string {
	if prune {
		return "delete"
	}
	return "extra"
}

// slugsThen are the slugs of the toolsets that are there after an import.
func slugsThen(work []importing) map[string]bool {
	out := map[string]bool{}
	for i := range work {
		out[work[i].planned.Slug] = work[i].planned.Action != "delete"
	}
	return out
}

// planRules says what becomes of the rules, where the document has any.
func (r *Room) planRules(ctx context.Context, ws *store.Workspace, doc *declare.Declaration, work []importing, prune bool) ([]setting, error) {
	if doc.AlertRules == nil {
		return nil, nil
	}
	have, err := r.Alerts.Declared(ctx, ws)
	if err != nil {
		return nil, err
	}
	then, seen := slugsThen(work), map[string]bool{}
	var out []setting
	for i := range doc.AlertRules {
		d, at := &doc.AlertRules[i], "/alertRules/"+strconv.Itoa(i)
		if err := d.Check(); err != nil {
			return nil, placed(err, at)
		}
		if seen[d.Key()] {
			return nil, request.FieldFault(at+"/name", "the rule %.80q is there twice", d.Name)
		}
		seen[d.Key()] = true
		if d.Toolset != "" && !then[d.Toolset] {
			return nil, request.FieldFault(at+"/toolset", "there is no toolset %.80q here, nor in the document", d.Toolset)
		}
		s := setting{at: at, planned: declare.PlannedSetting{Name: d.Name, Toolset: d.Toolset}, apply: func(ctx context.Context) error { return r.Alerts.Put(ctx, ws, d) }}
		var was any
		if k := slices.IndexFunc(have, func(h alert.DeclaredRule) bool { return h.Key() == d.Key() }); k >= 0 {
			was = have[k]
		}
		compared(&s.planned, was, d)
		out = append(out, s)
	}
	for i := range have {
		d := &have[i]
		if !seen[d.Key()] {
			out = append(out, setting{planned: declare.PlannedSetting{Name: d.Name, Toolset: d.Toolset, Action: unwanted(prune)}, apply: func(ctx context.Context) error { return r.Alerts.Drop(ctx, ws, d) }})
		}
	}
	return out, nil
}

// planChannels says what becomes of the channels, where the document has any.
func (r *Room) planChannels(ctx context.Context, ws *store.Workspace, doc *declare.Declaration, all []*store.Toolset, work []importing, prune bool) ([]setting, error) {
	if doc.Channels == nil {
		return nil, nil
	}
	have, err := r.Notify.Declared(ctx, ws, slugOf(all))
	if err != nil {
		return nil, err
	}
	then, seen := slugsThen(work), map[string]bool{}
	var out []setting
	for i := range doc.Channels {
		d, at := &doc.Channels[i], "/channels/"+strconv.Itoa(i)
		if err := d.Check(); err != nil {
			return nil, placed(err, at)
		}
		if seen[d.Name] {
			return nil, request.FieldFault(at+"/name", "the channel %.80q is there twice", d.Name)
		}
		seen[d.Name] = true
		slices.Sort(d.Routes.Toolsets)
		s := setting{at: at, planned: declare.PlannedSetting{Name: d.Name}, apply: func(ctx context.Context) error { return r.putChannel(ctx, ws, d) }}
		var was any
		var known []string // what its routes name that is not a toolset any more
		if k := slices.IndexFunc(have, func(h notify.DeclaredChannel) bool { return h.Name == d.Name }); k >= 0 {
			was, known = have[k].Public(), have[k].Routes.Toolsets
		}
		for _, slug := range d.Routes.Toolsets {
			if !then[slug] && !slices.Contains(known, slug) {
				return nil, request.FieldFault(at+"/routes/toolsets", "there is no toolset %.80q here, nor in the document", slug)
			}
		}
		compared(&s.planned, was, d.Public())
		missing, another, err := r.Notify.Secrets(ctx, ws, d)
		if err != nil {
			return nil, err
		}
		s.planned.Missing = missing
		if another && was != nil {
			s.planned.Action, s.planned.Changes = "update", append(s.planned.Changes, declare.PlannedChange{Pointer: "/secret", To: "another secret"})
		}
		out = append(out, s)
	}
	for i := range have {
		name := have[i].Name
		if !seen[name] {
			out = append(out, setting{planned: declare.PlannedSetting{Name: name, Action: unwanted(prune)}, apply: func(ctx context.Context) error { return r.Notify.Drop(ctx, ws, name) }})
		}
	}
	if slices.ContainsFunc(out, func(s setting) bool { return s.changes() }) {
		return out, request.RequireRole(ctx, store.RoleAdmin)
	}
	return out, nil
}

// putChannel makes a channel what the document says, with the toolsets as they are then.
func (r *Room) putChannel(ctx context.Context, ws *store.Workspace, d *notify.DeclaredChannel) error {
	c := *d
	c.Routes.Toolsets = slices.Clone(d.Routes.Toolsets)
	for i, slug := range c.Routes.Toolsets {
		ts, err := ws.ToolsetBySlug(ctx, slug)
		switch {
		case err == nil:
			c.Routes.Toolsets[i] = ts.ID
		case !problem.Is(err, problem.NotFound): // it is the id of one that is gone
			return err
		}
	}
	return r.Notify.Put(ctx, ws, &c)
}

// slugOf names toolsets by their ids; "" for one that is not there.
func slugOf(all []*store.Toolset) func(id string) string {
	slugs := make(map[string]string, len(all))
	for _, ts := range all {
		slugs[ts.ID] = ts.Slug
	}
	return func(id string) string { return slugs[id] }
}

// applySettings makes rules and channels what the document says, one after the other.
func applySettings(ctx context.Context, list []setting) error {
	for i := range list {
		s := &list[i]
		if !s.changes() {
			continue
		}
		if err := s.apply(ctx); err != nil {
			return placed(err, s.at)
		}
	}
	return nil
}

// planned are the settings as a plan shows them, and how many change.
func planned(list []setting) (out []declare.PlannedSetting, changes int) {
	for i := range list {
		if out = append(out, list[i].planned); list[i].changes() {
			changes++
		}
	}
	return out, changes
}

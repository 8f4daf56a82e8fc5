package draft

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/admin/toolset/choice"
	"github.com/sluicegate/sluice/registry"
)

// PatchToolset changes the fields that are there (RFC 7396); null and "" restore
// the default.
type PatchToolset struct {
	Name         *string                `json:"name,omitempty" maxLength:"200"`
	Description  *string                `json:"description,omitempty" maxLength:"16384"`
	Instructions *string                `json:"instructions,omitempty" maxLength:"32768"`
	BaseURL      *string                `json:"baseUrl,omitempty" maxLength:"2048"`
	Profile      *string                `json:"profile,omitempty" enum:"off,lossless,concise" null:"\"lossless\""`
	Cache        *PatchedTTL            `json:"cache,omitempty" doc:"ttlSeconds 0 turns the cache off."`
	UseCase      *string                `json:"useCase,omitempty" maxLength:"4096" doc:"Use case of the toolset. Setting it chooses the tools again."`
	Selection    *string                `json:"selection,omitempty" enum:"all,use-case,search,code" null:"\"all\"" doc:"Which tools clients list; use-case needs useCase."`
	Batch        *bool                  `json:"batch,omitempty" doc:"Offer the tool batch, which makes many calls at once."`
	Destructive  *bool                  `json:"scriptsMayDestroy,omitempty" doc:"Scripts and batches may call tools that may destroy data. Only with the selection code or batch."`
	ScriptLimits *registry.ScriptLimits `json:"scriptLimits,omitempty" doc:"What each script may use, all of it; {} restores the defaults."`
	Learn        *bool                  `json:"learn,omitempty" doc:"Keep the searches of agents, redacted, that a successful call of a tool they found follows, as examples of that tool. Only with the selection search."`
	Policy       *string                `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools."`
	Stateless    *bool                  `json:"stateless,omitempty" doc:"The operator declares that the MCP server keeps no state of a caller between calls: all callers of the toolset share one session, unauthenticated ones included. Default: a session for each caller, unless the server has no sessions."`

	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"Settings of answers."`
}

// UnmarshalJSON decodes a merge patch.
func (p *PatchToolset) UnmarshalJSON(b []byte) error {
	type plain PatchToolset
	return request.UnmarshalPatch(b, (*plain)(p))
}

// PatchedTTL is a cache policy that can be turned off.
type PatchedTTL struct {
	TTLSeconds int `json:"ttlSeconds" minimum:"0" maximum:"86400"`
}

// PatchConnector changes the fields that are there (RFC 7396); null and "" restore the default.
type PatchConnector struct {
	BaseURL *string               `json:"baseUrl,omitempty" maxLength:"2048"`
	Policy  *string               `json:"upstreamPolicy,omitempty" enum:"pin,warn,follow" doc:"What happens when the MCP server changes its tools."`
	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"Settings of its tools' answers."`

	Fixed     map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see, of each tool that takes an argument of that name; body.member is a member of the argument body. null gives an argument back. No place for secrets."`
	Stateless *bool                      `json:"stateless,omitempty" doc:"The operator declares that the MCP server keeps no state of a caller between calls: all callers of the toolset share one session, unauthenticated ones included. Default: a session for each caller, unless the server has no sessions."`

	unfix bool // fixed is null: no argument has a fixed value any more
}

// UnmarshalJSON decodes a merge patch.
func (p *PatchConnector) UnmarshalJSON(b []byte) error {
	type plain PatchConnector
	p.unfix = slices.Contains(request.Nulls(b), "fixed")
	return request.UnmarshalPatch(b, (*plain)(p))
}

// Patch changes what a toolset says of itself, and of its only connector.
func (r *Room) Patch(ctx context.Context, ws *store.Workspace, id string, match *request.MatchInput, in *PatchToolset) (*Draft, error) {
	d, err := r.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, true); err != nil {
		return nil, err
	}
	if in.BaseURL != nil || in.Policy != nil || in.Stateless != nil {
		if err := d.Focus(""); err != nil { // which of several is meant is not clear
			return nil, err
		}
	}
	before := Fields(d)
	for _, f := range []struct{ to, from *string }{
		{&d.Toolset.Name, in.Name},
		{&d.Toolset.Description, in.Description},
		{&d.Toolset.Instructions, in.Instructions},
		{&d.Row.BaseURL, in.BaseURL},
		{&d.Toolset.Profile, in.Profile},
		{&d.Row.UpstreamPolicy, in.Policy},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	toolset.Put(&d.Row.Stateless, in.Stateless)
	if err := CheckStateless(&d.Row, "/stateless"); err != nil {
		return nil, err
	}
	if d.Toolset.Name == "" {
		d.Toolset.Name = ClipName(d.Report.Title, registry.MaxNameRunes)
	}
	if in.Cache != nil {
		d.Toolset.CacheSeconds = int64(in.Cache.TTLSeconds)
	}
	if in.Answers != nil {
		if d.Toolset.Answers, err = toolset.ChangeAnswers(d.Toolset.Answers, in.Answers, "/answers", registry.OfToolset, nil); err != nil {
			return nil, err
		}
	}
	if err := source.CheckBaseURL(d.Row.BaseURL, "/baseUrl"); err != nil {
		return nil, err
	}
	if err := d.ChooseAnew(in.Selection, in.UseCase, in.Learn); err != nil {
		return nil, err
	}
	if err := choice.SetBatch(d.Toolset, in.Batch); err != nil {
		return nil, err
	}
	if err := choice.SetDestructive(d.Toolset, in.Destructive); err != nil {
		return nil, err
	}
	if err := choice.SetLimits(d.Toolset, in.ScriptLimits); err != nil {
		return nil, err
	}
	if err := r.Save(ctx, ws, d, "toolset.update", before, Fields(d), false); err != nil {
		return nil, err
	}
	return d, nil
}

// PatchConnector changes one connector of a toolset; the draft is about it then.
func (r *Room) PatchConnector(ctx context.Context, ws *store.Workspace, id, connector string, match *request.MatchInput, in *PatchConnector) (*Draft, error) {
	d, err := r.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, true); err != nil {
		return nil, err
	}
	if err := d.Focus(connector); err != nil {
		return nil, err
	}
	before := connectorFields(d.Part)
	toolset.Put(&d.Row.BaseURL, in.BaseURL)
	toolset.Put(&d.Row.UpstreamPolicy, in.Policy)
	toolset.Put(&d.Row.Stateless, in.Stateless)
	if err := CheckStateless(&d.Row, "/stateless"); err != nil {
		return nil, err
	}
	if in.Answers != nil {
		if d.Row.Answers, err = toolset.ChangeAnswers(d.Row.Answers, in.Answers, "/answers", registry.OfConnector, nil); err != nil {
			return nil, err
		}
	}
	if in.unfix {
		d.Row.Fixed = ""
	}
	if d.Row.Fixed, err = toolset.ChangeFixed(d.Row.Fixed, in.Fixed, "/fixed", d.Takes); err != nil {
		return nil, err
	}
	if err := source.CheckBaseURL(d.Row.BaseURL, "/baseUrl"); err != nil {
		return nil, err
	}
	if err := r.Save(ctx, ws, d, "connector.update", before, connectorFields(d.Part), false); err != nil {
		return nil, err
	}
	return d, nil
}

// connectorFields is what the audit log says of the fields that PATCH changes.
func connectorFields(p *Part) map[string]any {
	return map[string]any{
		"connector": p.Row.Name, "baseUrl": p.Row.BaseURL, "upstreamPolicy": p.Row.UpstreamPolicy, "answers": toolset.ShowAnswers(p.Row.Answers),
		"fixed": toolset.ShowFixed(p.Row.Fixed), "stateless": p.Row.Stateless,
	}
}

// ClipName cuts a text at n runes and removes what a name may not hold.
func ClipName(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n])
	}
	if s = strings.TrimSpace(s); s == "" {
		return "Toolset"
	}
	return s
}

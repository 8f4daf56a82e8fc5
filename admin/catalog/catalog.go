package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/plugins/catalog"
	"github.com/sluicegate/sluice/registry"
)

// Where entries come from.
const (
	builtIn  = "built-in"
	operator = "operator"
)

// EntryOutline is an entry in a list.
type EntryOutline struct {
	ID       string `json:"id" example:"github"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Kind     string `json:"kind" enum:"openapi,mcp"`
	Summary  string `json:"summary"`
	Tools    int    `json:"tools" doc:"That the entry has; 0: all of the MCP server."`
	Verified bool   `json:"verified" doc:"Proven against the vendor's document."`
	Tokens   int    `json:"tokens,omitempty" doc:"Of tools/list, when it was verified."`
	Saved    int    `json:"savedPercent,omitempty" doc:"What that is less than the same operations as they are generated, in percent; below 0: more."`
	From     string `json:"from" enum:"built-in,operator" doc:"operator: from the folder of this server."`
	Version  string `json:"version" doc:"Of what a toolset takes over of it." example:"3f9c0b12aa47"`

	UsedBy  []EntryUse `json:"usedBy,omitempty" doc:"Connectors of toolsets that were made of it."`
	Updates int        `json:"updates,omitempty" doc:"How many of them have another version of it." example:"1"`
}

// EntryDetail is an entry with everything it says.
type EntryDetail struct {
	catalog.Entry
	From    string `json:"from" enum:"built-in,operator" doc:"operator: from the folder of this server."`
	Version string `json:"version" doc:"Of what a toolset takes over of it." example:"3f9c0b12aa47"`
}

// EntryChoice is a connector of the catalog as the source of a toolset.
type EntryChoice struct {
	Entry    string            `json:"entry" minLength:"1" maxLength:"63" doc:"Id of the entry." example:"github"`
	UseCase  string            `json:"useCase,omitempty" maxLength:"63" doc:"Only the tools of this use case of the entry. Default: all of the entry."`
	ReadOnly bool              `json:"readOnly,omitempty" doc:"Only tools that read."`
	URL      string            `json:"url,omitempty" maxLength:"2048" doc:"Read the vendor's document here instead, such as from a mirror; of an MCP server, its address."`
	Bare     bool              `json:"noWorkflows,omitempty" doc:"Leave out the workflows of the entry."`
	Values   map[string]string `json:"values,omitempty" doc:"Of the arguments that the entry asks for: the model does not see these." example:"{\"account\": \"1010\"}"`
	Partial  bool              `json:"partial,omitempty" doc:"Leave out tools whose operations the vendor no longer has, instead of failing."`
}

// Room answers from the catalog.
type Room struct {
	builtIn *catalog.Catalog
	now     atomic.Pointer[contents]
}

// contents is the catalog at a time.
type contents struct {
	entries *catalog.Catalog
	own     map[string]bool // ids of the operator's entries

	versions map[string]string // by id
}

// New makes a room of the built-in entries and the operator's, which replace those of
// the same id.
func New(own []*catalog.Entry) (*Room, error) {
	c, err := catalog.BuiltIn()
	if err != nil {
		return nil, err
	}
	r := &Room{builtIn: c}
	r.Replace(own)
	return r, nil
}

// Replace makes the operator's entries these. What reads the catalog at the time goes on
// with what it was.
func (r *Room) Replace(own []*catalog.Entry) {
	c := &contents{entries: r.builtIn.With(own), own: make(map[string]bool, len(own))}
	for _, e := range own {
		c.own[e.ID] = true
	}
	all := c.entries.All()
	c.versions = make(map[string]string, len(all))
	for _, e := range all {
		c.versions[e.ID] = e.Version()
	}
	r.now.Store(c)
}

func (r *Room) contents() *contents { return r.now.Load() }

func (c *contents) from(e *catalog.Entry) string {
	if c.own[e.ID] {
		return operator
	}
	return builtIn
}

// List finds entries: all of them by id, or with a query the best first.
func (r *Room) List(query, category, kind string) []EntryOutline {
	out, c := []EntryOutline{}, r.contents()
	for _, e := range c.entries.Search(query) {
		if category != "" && e.Category != category || kind != "" && e.Kind() != kind {
			continue
		}
		item := EntryOutline{
			ID: e.ID, Name: e.Name, Category: e.Category, Kind: e.Kind(), Summary: e.Summary, Tools: len(e.Tools), Verified: e.Verified != nil, From: c.from(e),
			Version: c.versions[e.ID],
		}
		if v := e.Verified; v != nil {
			item.Tokens, item.Saved = v.Tokens, 100-(100*v.Tokens+v.GeneratedTokens/2)/v.GeneratedTokens
		}
		out = append(out, item)
	}
	return out
}

// maxNamed entries are listed of a name.
const maxNamed = 3

// Named lists the entries whose name or id begins with a name, or the other way round,
// the best first, and at most three.
func (r *Room) Named(name string) []EntryOutline {
	out := []EntryOutline{}
	for _, item := range r.List(name, "", "") {
		if near(item.ID, name) || near(item.Name, name) {
			out = append(out, item)
		}
		if len(out) == maxNamed {
			break
		}
	}
	return out
}

// near reports whether one of two names begins with the other.
func near(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Show reads an entry.
func (r *Room) Show(id string) (EntryDetail, error) {
	c := r.contents()
	e, err := c.entries.Entry(id)
	if err != nil {
		return EntryDetail{}, err
	}
	return EntryDetail{Entry: *e, From: c.from(e), Version: c.versions[id]}, nil
}

// Adoption is an entry that becomes a connector of a toolset.
type Adoption struct {
	*catalog.Entry
	URL     string // of the vendor's document or server
	Mirror  bool   // URL is not the entry's
	tools   []*catalog.EntryTool
	partial bool
	choice  EntryChoice
	wanted  []string // globs of names, of a creation
}

// Wants notes the globs by which the tools were chosen, for an update.
func (a *Adoption) Wants(globs []string) { a.wanted = globs }

// Adopt chooses from an entry, whose values must be given. wanted are the names to enable; nil: all.
func (r *Room) Adopt(in *EntryChoice, wanted func(name string) bool) (*Adoption, error) {
	a, err := r.choose(in, wanted)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Values)) {
		if _, ok := a.Values[name]; !ok {
			err := problem.New(problem.InvalidArgument, "the entry %s asks for no value of %.80q", a.ID, name).At("", 0, 0, valueOf(name))
			if len(a.Values) > 0 {
				err = err.Fix("it asks for %s", strings.Join(slices.Sorted(maps.Keys(a.Values)), ", "))
			}
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Values)) {
		if in.Values[name] == "" {
			return nil, problem.New(problem.InvalidArgument, "%s wants one value of %s for all calls: give %s", a.Name, name, strings.TrimSuffix(a.Values[name], ".")).
				At("", 0, 0, valueOf(name)).Fix("sluice catalog add %s --value %s=…", a.ID, name)
		}
	}
	return a, nil
}

func valueOf(name string) string { return "/source/catalog/values/" + strictjson.EscapeToken(name) }

// choose is Adopt without the values: a toolset that was made before the entry asked for one
// goes on without.
func (r *Room) choose(in *EntryChoice, wanted func(name string) bool) (*Adoption, error) {
	e, err := r.contents().entries.Entry(in.Entry)
	if err != nil {
		return nil, err
	}
	a := &Adoption{Entry: e, URL: cmp.Or(in.URL, e.URL()), Mirror: in.URL != "", partial: in.Partial, choice: *in}
	if len(e.Tools) == 0 {
		if in.UseCase != "" || in.ReadOnly {
			return nil, request.FieldFault("/source/catalog", "the entry %s names no tools to choose from: choose by tools", e.ID)
		}
		return a, nil
	}
	a.tools, err = e.Choose(catalog.Choice{UseCase: in.UseCase, ReadOnly: in.ReadOnly, Wanted: wanted})
	return a, err
}

// Whole reports whether every tool of the source stays, with the names it has.
func (a *Adoption) Whole() bool { return len(a.tools) == 0 }

// Edits are the edits that make the chosen tools of those that were generated: the others
// are disabled. taken reports whether another connector of the toolset has a name, lists whether
// a generated tool has an argument. The fault of an entry whose operations are not all there has a part for each.
func (a *Adoption) Edits(generated []toolset.Tool, taken func(name string) bool, lists func(of toolset.Operation, name string) bool) ([]store.ToolEdit, error) {
	have := make([]catalog.Operation, len(generated))
	for i := range generated {
		have[i] = catalog.Operation{Method: generated[i].Operation.Method, Path: generated[i].Operation.Path}
	}
	if err := a.Fit(a.tools, have, a.URL); err != nil && !a.partial {
		return nil, err
	}
	chosen := map[catalog.Operation]*catalog.EntryTool{}
	for _, t := range a.tools {
		chosen[catalog.Operation{Method: t.Method(), Path: t.Path()}] = t
	}
	for _, name := range slices.Sorted(maps.Keys(a.Values)) {
		if a.choice.Values[name] != "" && !slices.ContainsFunc(generated, func(g toolset.Tool) bool { return lists(g.Operation, name) }) {
			return nil, problem.New(problem.Conflict, "the entry %s no longer fits: no tool has the argument %.80q, whose value it asks for", a.ID, name).
				Fix("have the entry updated")
		}
	}
	edits := make([]store.ToolEdit, 0, len(generated))
	enabled := 0
	for i := range generated {
		g := &generated[i]
		e := store.ToolEdit{Connector: g.Operation.Connector, Method: g.Operation.Method, Path: g.Operation.Path}
		t := chosen[have[i]]
		if t == nil {
			e.Disabled = true
		} else if err := a.edit(&e, t, g, taken, lists); err != nil {
			return nil, err
		} else {
			enabled++
		}
		edits = append(edits, e)
	}
	if enabled == 0 {
		return nil, a.Fit(a.tools, have, a.URL)
	}
	return edits, nil
}

// edit puts what the entry says of a tool into its edit.
func (a *Adoption) edit(e *store.ToolEdit, t *catalog.EntryTool, g *toolset.Tool, taken func(string) bool, lists func(toolset.Operation, string) bool) (err error) {
	at := "/entry/tools/" + t.Name
	name := t.Name
	if taken(name) {
		name = registry.PrefixedName(g.Operation.Connector, name, taken)
	}
	for _, f := range []struct {
		to        **string
		text, was string
	}{{&e.Name, name, g.OriginalName}, {&e.Title, t.Title, ""}, {&e.Description, t.Description, ""}} {
		if f.text != "" && f.text != f.was {
			*f.to = &f.text
		}
	}
	if e.Title == nil && t.Description != "" && g.Title != "" {
		e.Title = new(string) // the vendor's says another name
	}
	if t.ReadOnly {
		yes, no := true, false
		said := &registry.AnnotationEdit{ReadOnly: &yes, Destructive: &no}
		if e.Annotations, err = toolset.RecordAnnotations(said, at+"/readOnly"); err != nil {
			return err
		}
	}
	if s := t.Answers; s != nil {
		answers := &toolset.Answers{Fields: s.Fields, Rows: s.Rows, Where: s.Where, Limit: s.Limit, MaxString: s.MaxString, TokenBudget: s.TokenBudget}
		if e.Answers, err = answers.Record(at+"/answers", registry.OfTool); err != nil {
			return err
		}
	}
	if e.Arguments, err = toolset.RecordArguments(t.Arguments, at+"/arguments", nil); err != nil {
		return err
	}
	texts := a.TextsOf(t, func(name string) bool { return lists(g.Operation, name) })
	if e.Texts, err = toolset.RecordTexts(texts, at+"/texts"); err != nil {
		return err
	}
	e.Fixed, err = toolset.RecordFixed(a.fixed(t, func(name string) bool { return lists(g.Operation, name) }), at+"/fixed")
	return err
}

// fixed are the values of a tool's arguments that the entry says, and those that were given for
// arguments that the tool has.
func (a *Adoption) fixed(t *catalog.EntryTool, lists func(name string) bool) map[string]json.RawMessage {
	out := maps.Clone(t.Fixed)
	for name := range a.Values {
		if value := a.choice.Values[name]; value != "" && lists(name) {
			if out == nil {
				out = map[string]json.RawMessage{}
			}
			out[name] = json.RawMessage(store.JSON(value))
		}
	}
	return out
}

// Examples are the requests of the chosen tools, by method and path.
func (a *Adoption) Examples() map[catalog.Operation][]string {
	out := map[catalog.Operation][]string{}
	for _, t := range a.tools {
		if texts := t.Requests(); len(texts) > 0 {
			out[catalog.Operation{Method: t.Method(), Path: t.Path()}] = texts
		}
	}
	return out
}

// BaseURL is where calls go, given being what the request says; "" leaves it to the
// specification.
func (a *Adoption) BaseURL(given string) (string, error) {
	switch {
	case given != "" || a.Base == nil:
		return given, nil
	case a.Base.URL != "":
		return a.Base.URL, nil
	}
	return "", request.FieldFault("/baseUrl", "%s has no address that is the same for everybody: give %s", a.Name, strings.TrimSuffix(a.Base.Ask, "."))
}

package draft

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// FindOperation finds the tool of an operation; -1: there is none.
func FindOperation(tools []toolset.Tool, op toolset.Operation) int {
	return slices.IndexFunc(tools, func(t toolset.Tool) bool { return t.Operation == op })
}

// UpdateTools applies a batch to the draft: all changes or none.
func (r *Room) UpdateTools(ctx context.Context, id string, match *request.MatchInput, in *BatchUpdate) (*Draft, error) {
	ws := r.workspace(ctx)
	d, err := r.Load(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if err := match.Check(d.Toolset.Version, false); err != nil {
		return nil, err
	}
	before, err := r.Served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	d.Before = before
	if len(in.Enable) > 0 {
		selection, err := toolset.ParseGlobs(in.Enable, "/enable")
		if err != nil {
			return nil, err
		}
		if err := d.Enable(selection, before); err != nil {
			return nil, err
		}
	}
	for i := range in.Updates {
		if err := patchTool(d, before, &in.Updates[i], "/updates/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	if d.Empty() {
		return nil, NothingEnabled()
	}
	after, err := r.Served(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if err := checkOffered(before, after, in.Updates); err != nil {
		return nil, err
	}
	b, a := changedTools(before, after)
	return d, r.Save(ctx, ws, d, "tools.update", b, a, true)
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
		if now := FindOperation(after, before[old].Operation); now >= 0 && after[now].Enabled && after[now].Name != *in.Name {
			return problem.New(problem.Conflict, "another tool is named %.80q", *in.Name).InTool(*in.Name).
				At("", 0, 0, "/updates/"+strconv.Itoa(i)+"/name").Fix("choose another name for one of them")
		}
	}
	return nil
}

// EnabledCount counts the tools that are enabled.
func EnabledCount(tools []toolset.Tool) (n int) {
	for i := range tools {
		if tools[i].Enabled {
			n++
		}
	}
	return n
}

// patchTool applies one change; before are the tools as the client saw them.
func patchTool(d *Draft, before []toolset.Tool, in *ToolUpdate, at string) error {
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
		answers, err := patchedAnswers(d, t.Operation, in.Answers, at+"/answers")
		if err != nil {
			return err
		}
		record := ""
		if i := slices.IndexFunc(d.Edits, func(e store.ToolEdit) bool { return toolset.OperationOf(&e) == t.Operation }); i >= 0 {
			record = d.Edits[i].Annotations
		}
		said, err := toolset.ChangeAnnotations(record, in.Annotations, in.unsaid, at+"/annotations")
		if err != nil {
			return err
		}
		fixed, err := patchedFixed(d, t, in, at+"/fixed")
		if err != nil {
			return err
		}
		listed, err := patchedArguments(d, t, in.Arguments, at+"/arguments")
		if err != nil {
			return err
		}
		texts, err := patchedTexts(d, t, &in.PatchTool, at+"/argumentTexts")
		if err != nil {
			return err
		}
		d.Edit(t.Operation, func(e *store.ToolEdit) {
			e.Answers, e.Annotations, e.Fixed, e.Arguments, e.Texts = answers, said, fixed, listed, texts
			set(&e.Name, in.Name, t.OriginalName)
			set(&e.Title, in.Title, "")
			set(&e.Description, in.Description, "")
			if in.Enabled != nil {
				e.Disabled = !*in.Enabled
			}
		})
		return nil
	}
	return d.NoSuchTool(in.Tool)
}

// patchedFixed is the record of a tool's fixed values after a change.
func patchedFixed(d *Draft, t *toolset.Tool, in *ToolUpdate, at string) (string, error) {
	change := in.Fixed
	_, g := d.Generated(t.Operation)
	if g == nil && len(change) > 0 {
		return "", request.FieldFault(at, "%s is the tool of a workflow: arguments of the tools that it calls can be fixed", t.Name)
	}
	record := ""
	for i := range d.Edits {
		if e := &d.Edits[i]; toolset.OperationOf(e) == t.Operation {
			record = e.Fixed
		}
	}
	if in.unfix {
		record = ""
	}
	if len(change) == 0 {
		return record, nil
	}
	return toolset.ChangeFixed(record, change, at, g.Takes)
}

// patchedArguments is the record of the arguments that clients list of a tool after a
// change; nil changes nothing.
func patchedArguments(d *Draft, t *toolset.Tool, names *[]string, at string) (string, error) {
	if names == nil {
		return toolset.RecordArguments(t.Arguments, at, nil)
	}
	_, g := d.Generated(t.Operation)
	if g == nil {
		return "", request.FieldFault(at, "%s is the tool of a workflow, which says what its arguments are", t.Name)
	}
	return toolset.RecordArguments(*names, at, g)
}

// patchedTexts is the record of the descriptions of a tool's arguments after a change.
func patchedTexts(d *Draft, t *toolset.Tool, in *PatchTool, at string) (string, error) {
	next := maps.Clone(t.Texts)
	if in.untold {
		next = nil
	}
	if len(in.Texts) == 0 {
		return toolset.RecordTexts(next, at)
	}
	_, g := d.Generated(t.Operation)
	if g == nil {
		return "", request.FieldFault(at, "%s is the tool of a workflow, which describes its arguments", t.Name)
	}
	return toolset.ChangeTexts(next, in.Texts, at, g)
}

// patchedAnswers is the record of an operation's settings of answers after p; nil
// changes nothing.
func patchedAnswers(d *Draft, op toolset.Operation, p *toolset.PatchAnswers, at string) (string, error) {
	record := ""
	for i := range d.Edits {
		if e := &d.Edits[i]; toolset.OperationOf(e) == op {
			record = e.Answers
		}
	}
	if p == nil {
		return record, nil
	}
	if _, g := d.Generated(op); g != nil {
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
			x.Annotations != y.Annotations || !reflect.DeepEqual(x.Answers, y.Answers) || !reflect.DeepEqual(x.Fixed, y.Fixed) || !slices.Equal(x.Arguments, y.Arguments) || !maps.Equal(x.Texts, y.Texts) {
			b, a = append(b, x), append(a, y)
		}
	}
	return b, a
}

// NoSuchTool says that the toolset has no tool of a name, and which one has nearly that.
func (d *Draft) NoSuchTool(name string) error {
	return problem.New(problem.NotFound, "the toolset has no tool %.80q", name).Fix("%s", d.Meant(name))
}

// Meant says what to do about the name of a tool that the toolset does not have.
func (d *Draft) Meant(name string) string {
	all := d.Tools(false)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := nearest.Name(name, slices.Values(names)); near != "" {
		return "did you mean " + near + "?"
	}
	return "see: sluice toolset tools " + d.Toolset.Slug
}

// PatchTool changes one tool (RFC 7396): absent fields stay, null and "" restore what was
// generated.
type PatchTool struct {
	Name        *string `json:"name,omitempty" maxLength:"64"`
	Title       *string `json:"title,omitempty" maxLength:"200"`
	Description *string `json:"description,omitempty" maxLength:"16384"`
	Enabled     *bool   `json:"enabled,omitempty" null:"true"`

	Answers *toolset.PatchAnswers `json:"answers,omitempty" doc:"Settings of its answers."`

	Annotations *registry.AnnotationEdit `json:"annotations,omitempty" doc:"What the tool does, where what was generated is wrong. Absent members stay; {} restores what was generated."`

	Fixed map[string]json.RawMessage `json:"fixed,omitempty" doc:"Values of arguments that the model does not see, by the argument's name, over those of the connector; body.member is a member of the argument body. null gives an argument back. No place for secrets."`

	Arguments *[]string `json:"arguments,omitempty" maxItems:"256" doc:"The arguments that clients list besides the required ones, so that definitions cost fewer tokens; body.member is a member of the argument body. What is not listed is not refused. [] lists all."`

	Texts map[string]*string `json:"argumentTexts,omitempty" maxProperties:"256" doc:"Descriptions of arguments instead of the generated ones, by name as in arguments; \"\": the argument has none. null restores the generated one. Absent members stay."`

	unfix  bool     // fixed is null: no argument has a fixed value of this tool any more
	untold bool     // argumentTexts is null: all descriptions are as they were generated
	unsaid []string // members of annotations that are null: they are as they were generated
}

// UnmarshalJSON decodes a merge patch.
func (p *PatchTool) UnmarshalJSON(b []byte) error {
	type plain PatchTool
	var parts struct{ Annotations json.RawMessage }
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	nulls := request.Nulls(b)
	p.unfix, p.untold, p.unsaid = slices.Contains(nulls, "fixed"), slices.Contains(nulls, "argumentTexts"), request.Nulls(parts.Annotations)
	return request.UnmarshalPatch(b, (*plain)(p))
}

// BatchUpdate changes many tools at once: all changes or none.
type BatchUpdate struct {
	Updates []ToolUpdate `json:"updates,omitempty" maxItems:"4096"`
	Enable  []string     `json:"enable,omitempty" maxItems:"256" doc:"Names or globs; exactly these are enabled afterwards, before updates are applied."`
}

// ToolUpdate is one change of a batch.
type ToolUpdate struct {
	Tool string `json:"tool" doc:"Present name." minLength:"1" maxLength:"64"`
	PatchTool
}

// UnmarshalJSON decodes both parts.
func (u *ToolUpdate) UnmarshalJSON(b []byte) error {
	var named struct{ Tool string }
	if err := json.Unmarshal(b, &named); err != nil {
		return err
	}
	u.Tool = named.Tool
	return u.PatchTool.UnmarshalJSON(b)
}

package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/textfilter"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Impact says what a change of a tool means to an agent that knows the old one.
type Impact string

// The impacts, the gravest first.
const (
	ImpactBreaking Impact = "breaking" // a call that worked may fail, or an answer lacks what was there
	ImpactSafe     Impact = "safe"     // what worked works
	ImpactWording  Impact = "wording"  // only texts for people and models
)

// Kinds of a [ToolChange].
const (
	ToolAdded   = "added"
	ToolRemoved = "removed"
	ToolChanged = "changed"
)

// ToolChange is what became of one operation, or of a prompt, resource or resource
// template of an MCP server, whose method says so ([manifest.MethodPrompt]). Tools are the same tool when their
// method and path are, whatever the path's parameters are called.
type ToolChange struct {
	Kind    string   `json:"kind" enum:"added,removed,changed"`
	Impact  Impact   `json:"impact" enum:"breaking,safe,wording" doc:"The gravest of its details."`
	Method  string   `json:"method"`
	Path    string   `json:"path"`
	Tool    string   `json:"tool" doc:"Name as generated, of the newer one where both are there."`
	Details []Detail `json:"details" doc:"At most 50."`
}

// instructions notes what in n is written for a model and is not in o: such a change
// waits for an operator whatever else it is.
func (d *differ) instructions(o, n *manifest.Tool) {
	old := instructed(o)
	for _, f := range instructed(n) {
		if !slices.ContainsFunc(old, func(was textfilter.Finding) bool { return was.Kind == f.Kind && was.Quote == f.Quote }) {
			d.add(ImpactBreaking, WhereInstructions, "it is written for a model (%s): \"%s\"", f.Kind, f.Quote)
		}
	}
}

// Detail is one difference.
type Detail struct {
	Impact Impact `json:"impact" enum:"breaking,safe,wording"`
	Where  string `json:"where" doc:"input, output, request, authentication, client (what it needs of clients), name, title, description, annotations, instructions (text that is written for a model); with the JSON pointer inside a schema."`
	What   string `json:"what" doc:"One sentence."`
	Old    string `json:"old,omitempty" doc:"The text before, where a text changed: a title, description or definition as text, anything else as JSON; cut after 2,000 bytes."`
	New    string `json:"new,omitempty" doc:"The text now, likewise."`
}

// maxDetailText bounds Old and New of a [Detail], in bytes.
const maxDetailText = 2000

// maxDiffTexts bounds Old and New of all details of a comparison together, in bytes.
const maxDiffTexts = 1 << 20

// WhereInstructions is Where of a [Detail] about text that is written for a model.
const WhereInstructions = "instructions"

// maxDetails bounds the differences that are listed of one tool.
const maxDetails = 50

// maxDiffDepth bounds the comparison of schemas; published ones are six deep.
const maxDiffDepth = 64

// Diff compares two connectors, an older with a newer one, tool by tool, by what
// agents see of them and what is sent: added and changed ones in the newer's
// order, then the removed ones. It fails with [problem.InvalidPlugin].
func Diff(older, newer *Connector) ([]ToolChange, error) {
	was, err := older.contents()
	if err != nil {
		return nil, err
	}
	is, err := newer.contents()
	if err != nil {
		return nil, err
	}
	pairs, err := pairsOf(older, newer)
	if err != nil {
		return nil, err
	}
	var out []ToolChange
	seen := make(map[int]bool, older.Len())
	schemes := changedSchemes(was.head.Upstream.Schemes, is.head.Upstream.Schemes)
	sameAuth := len(schemes) == 0 && slices.EqualFunc(was.head.Upstream.Security, is.head.Upstream.Security, slices.Equal[[]string])
	for i := range newer.Len() {
		text, err := is.tools.text(i)
		if err != nil {
			return nil, inTool(err, newer, i)
		}
		t, err := manifest.ParseTool(text)
		if err != nil {
			return nil, inTool(err, newer, i)
		}
		j, known := pairs[i]
		if !known {
			d := differ{details: []Detail{}}
			d.instructions(&manifest.Tool{}, &t)
			c := ToolChange{Kind: ToolAdded, Impact: ImpactSafe, Method: t.Method, Path: t.Path, Tool: t.Name, Details: d.details}
			if len(d.details) > 0 {
				c.Impact = d.worst()
			}
			out = append(out, c)
			continue
		}
		seen[j] = true
		before, err := was.tools.text(j)
		if err != nil {
			return nil, inTool(err, older, j)
		}
		if sameAuth && bytes.Equal(before, text) {
			continue
		}
		o, err := manifest.ParseTool(before)
		if err != nil {
			return nil, inTool(err, older, j)
		}
		d := differ{}
		d.tool(&o, &t)
		d.servers(was.head.Upstream.Servers, is.head.Upstream.Servers, o.Servers, t.Servers)
		d.schemes(effective(was.head.Upstream.Security, o.Security), schemes)
		needed, needs := effective(was.head.Upstream.Security, o.Security), effective(is.head.Upstream.Security, t.Security)
		d.security(needed, needs)
		d.scopes(scopesOf(o.Request, needed), scopesOf(t.Request, needs))
		if len(d.details) == 0 {
			continue // another response program or place in the specification
		}
		out = append(out, ToolChange{Kind: ToolChanged, Impact: d.worst(), Method: t.Method, Path: t.Path, Tool: t.Name, Details: d.details})
	}
	for i := range older.Len() {
		if seen[i] {
			continue
		}
		h, err := older.Head(i)
		if err != nil {
			return nil, err
		}
		out = append(out, ToolChange{Kind: ToolRemoved, Impact: ImpactBreaking, Method: h.Method, Path: h.Path, Tool: h.Name, Details: []Detail{}})
	}
	out = append(out, itemChanges(was.head, is.head)...)
	boundTexts(out)
	return out, nil
}

// boundTexts drops the texts of the changes after those that fit maxDiffTexts: a record
// of a change must not grow with the size of both definitions.
func boundTexts(changes []ToolChange) {
	left := maxDiffTexts
	for i := range changes {
		for j := range changes[i].Details {
			d := &changes[i].Details[j]
			if left -= len(d.Old) + len(d.New); left < 0 {
				d.Old, d.New = "", ""
			}
		}
	}
}

func effective(all, own [][]string) [][]string {
	if own != nil {
		return own
	}
	return all
}

// differ collects the differences of one tool.
type differ struct{ details []Detail }

func (d *differ) add(impact Impact, where, format string, args ...any) {
	if len(d.details) < maxDetails {
		d.details = append(d.details, Detail{Impact: impact, Where: where, What: fmt.Sprintf(format, args...)})
		return
	}
	// The list is full; the impact of the tool must not depend on its order.
	if last := &d.details[maxDetails-1]; rank(impact) < rank(last.Impact) {
		*last = Detail{Impact: impact, Where: where, What: fmt.Sprintf(format, args...)}
	}
}

// texts adds a difference together with the text before and now, so that who accepts it
// reads what agents will read.
func (d *differ) texts(impact Impact, where, what, was, is string) {
	full := len(d.details) == maxDetails
	d.add(impact, where, "%s", what)
	if last := &d.details[len(d.details)-1]; !full || last.Where == where && last.What == what {
		last.Old, last.New = clipText(was), clipText(is)
	}
}

// clipText is the start of s, cut between characters.
func clipText(s string) string {
	if len(s) <= maxDetailText {
		return s
	}
	const mark = "…"
	end := maxDetailText - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

func rank(i Impact) int { return slices.Index([]Impact{ImpactBreaking, ImpactSafe, ImpactWording}, i) }

func (d *differ) worst() Impact {
	return slices.MinFunc(d.details, func(a, b Detail) int { return rank(a.Impact) - rank(b.Impact) }).Impact
}

func (d *differ) tool(o, n *manifest.Tool) {
	if o.Name != n.Name {
		d.add(ImpactBreaking, "name", "the specification now makes it %s, it was %s", n.Name, o.Name)
	}
	d.instructions(o, n)
	before := len(d.details)
	asked, asks := decoded(o.InputSchema), decoded(n.InputSchema)
	d.delisted(asked, asks, n.Request)
	d.input("input", asked, asks, 0)
	d.limits(o.Request, n.Request)
	was, is := decoded(o.OutputSchema), decoded(n.OutputSchema)
	d.output("output", was, is, 0)
	d.promises(o.Request, n.Request, was, is)
	d.told(o.Request, n.Request)
	if len(d.details) == before && !sameRequest(o.Request, n.Request) {
		d.add(ImpactSafe, "request", "the request is made in another way, or its hidden limits changed")
	}
	if o.Annotations != n.Annotations {
		d.texts(ImpactSafe, "annotations", "its annotations changed", jsonText(o.Annotations), jsonText(n.Annotations))
	}
	if o.Deprecated != n.Deprecated {
		d.add(ImpactSafe, "annotations", "it is %s", map[bool]string{true: "deprecated now", false: "no longer deprecated"}[n.Deprecated])
	}
	if o.Title != n.Title {
		d.texts(ImpactWording, "title", "the title changed", o.Title, n.Title)
	}
	if o.Description != n.Description {
		d.texts(ImpactWording, "description", "the description changed", o.Description, n.Description)
	}
	if o.MCP != nil && n.MCP != nil && !slices.Equal(o.MCP.Needs, n.MCP.Needs) {
		d.needs(o.MCP.Needs, n.MCP.Needs)
	}
	if len(d.details) == 0 && o.MCP != nil && n.MCP != nil && o.MCP.Hash != n.MCP.Hash {
		d.add(ImpactWording, "definition", "its definition changed in what is passed on as it is")
	}
}

// needs: clients without a capability that is needed now do not see the tool any more.
func (d *differ) needs(o, n []string) {
	impact := ImpactSafe
	for _, capability := range n {
		if !slices.Contains(o, capability) {
			impact = ImpactBreaking
		}
	}
	if len(n) == 0 {
		d.add(impact, "client", "every client sees it now")
		return
	}
	d.add(impact, "client", "only clients with %s see it", strings.Join(n, " and "))
}

// security: who could call without, or with a set that is gone, cannot.
func (d *differ) security(o, n [][]string) {
	optional := func(list [][]string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(r []string) bool { return len(r) == 0 })
	}
	has := func(list [][]string, r []string) bool {
		return slices.ContainsFunc(list, func(l []string) bool { return slices.Equal(l, r) })
	}
	switch {
	case optional(o) && !optional(n):
		d.add(ImpactBreaking, "authentication", "it needs authentication now: %s", requirementsText(n))
	case !optional(o) && optional(n):
		d.add(ImpactSafe, "authentication", "it needs no authentication any more")
	default:
		for _, r := range o {
			if !has(n, r) && len(r) > 0 && (len(n) > 0 || !optional(o)) {
				d.add(ImpactBreaking, "authentication", "%s is not accepted any more; now: %s", strings.Join(r, " and "), requirementsText(n))
			}
		}
		for _, r := range n {
			if !has(o, r) && len(r) > 0 {
				d.add(ImpactSafe, "authentication", "%s is accepted too", strings.Join(r, " and "))
			}
		}
	}
}

func requirementsText(list [][]string) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, strings.Join(r, " and "))
	}
	return strings.Join(parts, ", or ")
}

// decoded is a schema as encoding/json reads it; an empty one when there is none.
func decoded(raw json.RawMessage) map[string]any {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if len(raw) == 0 || dec.Decode(&m) != nil {
		return nil
	}
	return m
}

// plainText is a string of a schema as it is, and anything else as JSON; "" for nothing.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return jsonText(v)
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

// jsonText is a value of a schema for comparison and for people.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func pointerTo(at, name string) string {
	return at + "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func names(v any) []string {
	var out []string
	for _, e := range asList(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func asList(v any) []any { l, _ := v.([]any); return l }

// input compares what may be sent: what is narrower breaks.
func (d *differ) input(at string, o, n map[string]any, depth int) {
	if depth > maxDiffDepth || jsonText(o) == jsonText(n) {
		return
	}
	if to, tn := jsonText(o["type"]), jsonText(n["type"]); to != tn {
		impact := ImpactBreaking
		if n["type"] == nil || to == `"integer"` && tn == `"number"` {
			impact = ImpactSafe
		}
		d.add(impact, at, "the type was %s, is %s", typeText(o), typeText(n))
	}
	op, np := object(o["properties"]), object(n["properties"])
	required, wasRequired := names(n["required"]), names(o["required"])
	for _, name := range sortedNames(op, np) {
		where := pointerTo(at, name)
		_, before := op[name]
		_, now := np[name]
		switch {
		case before && !now:
			d.add(ImpactBreaking, where, "it is gone")
		case !before && slices.Contains(required, name):
			d.add(ImpactBreaking, where, "it is new and required")
		case !before:
			d.add(ImpactSafe, where, "it is new and optional")
		default:
			if r, w := slices.Contains(required, name), slices.Contains(wasRequired, name); r && !w {
				d.add(ImpactBreaking, where, "it is required now")
			} else if w && !r {
				d.add(ImpactSafe, where, "it is optional now")
			}
			d.input(where, object(op[name]), object(np[name]), depth+1)
		}
	}
	d.enum(at, o, n)
	d.bounds(at, o, n)
	if a, b := object(o["items"]), object(n["items"]); a != nil || b != nil {
		d.input(at+"/items", a, b, depth+1)
	}
	if a, b := jsonText(o["anyOf"]), jsonText(n["anyOf"]); a != b {
		d.anyOf(at, o, asList(o["anyOf"]), asList(n["anyOf"]), depth)
	}
	if a, b := o["additionalProperties"], n["additionalProperties"]; jsonText(a) != jsonText(b) {
		d.input(at+"/additionalProperties", object(a), object(b), depth+1)
	}
	d.words(at, o, n)
}

func typeText(m map[string]any) string {
	if m["type"] == nil {
		return "any"
	}
	return strings.Trim(jsonText(m["type"]), `"`)
}

func sortedNames(a, b map[string]any) []string {
	var out []string
	for name := range a {
		out = append(out, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (d *differ) enum(at string, o, n map[string]any) {
	a, b := asList(o["enum"]), asList(n["enum"])
	if jsonText(a) == jsonText(b) {
		return
	}
	texts := func(list []any) (out []string) {
		for _, v := range list {
			out = append(out, jsonText(v))
		}
		return out
	}
	ta, tb := texts(a), texts(b)
	const shown = 5 // enough to see what it is about
	var lost, won []string
	for _, v := range ta {
		if !slices.Contains(tb, v) {
			lost = append(lost, v)
		}
	}
	for _, v := range tb {
		if !slices.Contains(ta, v) {
			won = append(won, v)
		}
	}
	switch {
	case len(a) == 0:
		d.add(ImpactBreaking, at, "only some values are allowed now: %s", strings.Join(tb[:min(len(tb), shown)], ", "))
	case len(b) == 0:
		d.add(ImpactSafe, at, "other values than the %d are allowed now", len(a))
	case len(lost) > 0:
		d.add(ImpactBreaking, at, "values are not allowed any more: %s", strings.Join(lost[:min(len(lost), shown)], ", "))
	}
	if len(a) > 0 && len(b) > 0 && len(won) > 0 {
		d.add(ImpactSafe, at, "values are new: %s", strings.Join(won[:min(len(won), shown)], ", "))
	}
}

// bounds compares numbers and lengths; +1: a larger value is narrower.
func (d *differ) bounds(at string, o, n map[string]any) {
	for _, k := range [...]struct {
		name   string
		narrow int
	}{{"minimum", 1}, {"minLength", 1}, {"minItems", 1}, {"maximum", -1}, {"maxLength", -1}, {"maxItems", -1}} {
		a, hadA := o[k.name].(json.Number)
		b, hasB := n[k.name].(json.Number)
		if hadA == hasB && a == b {
			continue
		}
		switch fa, _ := a.Float64(); {
		case !hasB:
			d.add(ImpactSafe, at, "%s is no longer limited (%s)", k.name, a)
		case !hadA:
			d.add(ImpactBreaking, at, "%s is limited now to %s", k.name, b)
		default:
			impact := ImpactSafe
			if fb, _ := b.Float64(); (fb > fa) == (k.narrow > 0) {
				impact = ImpactBreaking
			}
			d.add(impact, at, "%s was %s, is %s", k.name, a, b)
		}
	}
	if a, b := jsonText(o["pattern"]), jsonText(n["pattern"]); a != b {
		impact := ImpactBreaking
		if n["pattern"] == nil {
			impact = ImpactSafe
		}
		d.add(impact, at, "the pattern changed")
	}
}

// anyOf: an alternative that is gone breaks those who used it.
func (d *differ) anyOf(at string, whole map[string]any, o, n []any, depth int) {
	var before, now []string
	for _, v := range o {
		before = append(before, jsonText(v))
	}
	for _, v := range n {
		now = append(now, jsonText(v))
	}
	accepted := func(v any) bool {
		return slices.ContainsFunc(n, func(is any) bool {
			one := differ{}
			one.input(at, object(v), object(is), depth+1)
			return len(one.details) == 0 || one.worst() != ImpactBreaking
		})
	}
	lost := slices.ContainsFunc(o, func(v any) bool { return !accepted(v) })
	switch {
	case len(o) == 0 && whole["type"] != nil && accepted(whole):
		d.add(ImpactSafe, at, "it is one of %d alternatives now, of which one is what it was", len(n))
	case len(o) == 0:
		d.add(ImpactBreaking, at, "it is one of %d alternatives now", len(n))
	case len(n) == 0:
		d.add(ImpactSafe, at, "it is no longer one of %d alternatives", len(o))
	case lost:
		d.add(ImpactBreaking, at, "alternatives changed")
	case len(n) > len(o):
		d.add(ImpactSafe, at, "there are more alternatives")
	case !slices.Equal(before, now):
		d.add(d.alike(at, o, n, depth), at, "the alternatives are described in another way")
	}
}

// alike is the impact of alternatives that accept what they did: wording where only
// their texts differ.
func (d *differ) alike(at string, o, n []any, depth int) Impact {
	if len(o) != len(n) {
		return ImpactSafe
	}
	all := differ{}
	for i := range o {
		all.input(at, object(o[i]), object(n[i]), depth+1)
	}
	if len(all.details) == 0 || all.worst() == ImpactWording {
		return ImpactWording
	}
	return ImpactSafe
}

func (d *differ) words(at string, o, n map[string]any) {
	if jsonText(o["description"]) != jsonText(n["description"]) {
		d.texts(ImpactWording, at, "the description changed", plainText(o["description"]), plainText(n["description"]))
	}
	if jsonText(o["default"]) != jsonText(n["default"]) {
		d.add(ImpactSafe, at, "the default is %s, was %s", jsonText(n["default"]), jsonText(o["default"]))
	}
}

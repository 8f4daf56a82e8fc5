package arazzo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"

	"github.com/sluicegate/sluice/internal/problem"
)

// Parse reads a document, YAML or JSON. Its faults are one *[problem.Error] of kind
// [problem.InvalidArgument] whose Parts name line and JSON pointer.
func Parse(name string, data []byte) (*Document, error) {
	if len(data) > MaxDocument {
		return nil, problem.New(problem.TooLarge, "the document has %d bytes, the limit is %d", len(data), MaxDocument).At(name, 0, 0, "")
	}
	r := &reader{file: name}
	top, err := r.load(data)
	if err != nil {
		return nil, err
	}
	r.top = top
	d := r.document(top)
	if len(r.faults) == 0 {
		r.link(d)
	}
	if len(r.faults) == 0 {
		return d, nil
	}
	slices.SortStableFunc(r.faults, func(a, b *problem.Error) int { return cmp.Compare(a.Place.Line, b.Place.Line) })
	p := problem.New(problem.InvalidArgument, "the workflow document is not valid").At(name, 0, 0, "")
	p.Parts = r.faults
	return nil, p
}

type reader struct {
	file   string
	top    node
	faults []*problem.Error
}

// node is a value of the document, and where it stands. YAML's anchors, merge keys and
// tags are refused: a document needs none, and readers disagree on them.
type node struct {
	*yaml.Node
	pointer string
}

func (n node) place() place { return place{n.pointer, n.line()} }

func (n node) line() int {
	if n.Node == nil {
		return 0
	}
	return n.Line
}

func (r *reader) fault(n node, format string, a ...any) {
	r.faultAt(n.place(), "", format, a...)
}

func (r *reader) faultAt(at place, fix, format string, a ...any) {
	if len(r.faults) >= maxFaults {
		return
	}
	p := problem.New(problem.InvalidArgument, format, a...).At(r.file, at.line, 0, at.pointer)
	if fix != "" {
		p = p.Fix("%s", fix)
	}
	r.faults = append(r.faults, p)
}

func (r *reader) load(data []byte) (node, error) {
	fault := func(line int, pointer, format string, a ...any) (node, error) {
		return node{}, problem.New(problem.InvalidArgument, format, a...).At(r.file, line, 0, pointer)
	}
	l, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limit.New(limit.DepthValue(2*maxNesting))))
	if err != nil {
		return node{}, fmt.Errorf("starting the YAML reader: %w", err)
	}
	var top, second yaml.Node
	if err := l.Load(&top); err != nil {
		return fault(0, "", "the document is neither YAML nor JSON: %.200s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := l.Load(&second); !errors.Is(err, io.EOF) {
		return fault(second.Line, "", "a file holds one document, and no second one")
	}
	if top.Kind != yaml.DocumentNode || len(top.Content) != 1 || top.Content[0].Kind != yaml.MappingNode {
		return fault(0, "", "the document is not an object")
	}
	n := node{Node: top.Content[0]}
	if at, why := refused(n, 0); why != "" {
		return fault(at.line(), at.pointer, "%s", why)
	}
	return n, nil
}

// refused finds what no document may have.
func refused(n node, depth int) (node, string) {
	switch {
	case depth > maxNesting:
		return n, fmt.Sprintf("the document nests deeper than %d", maxNesting)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return n, "anchors and aliases are not read: write the value where it is used, or below components"
	case n.Kind == yaml.MappingNode:
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return n, "a name of a member has to be a text"
			}
			child := node{n.Content[i+1], n.pointer + "/" + escapePointer(key.Value)}
			if seen[key.Value] {
				return child, fmt.Sprintf("the member %.80q is there twice", key.Value)
			}
			seen[key.Value] = true
			if at, why := refused(child, depth+1); why != "" {
				return at, why
			}
		}
	case n.Kind == yaml.SequenceNode:
		for i, c := range n.Content {
			if at, why := refused(node{c, n.pointer + "/" + strconv.Itoa(i)}, depth+1); why != "" {
				return at, why
			}
		}
	}
	return n, ""
}

// get is a member; its Node is nil when there is none.
func (n node) get(name string) node {
	child := node{pointer: n.pointer + "/" + escapePointer(name)}
	if n.Node != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				child.Node = n.Content[i+1]
			}
		}
	}
	return child
}

func (n node) missing() bool { return n.Node == nil }

func (n node) isText() bool { return n.Node != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" }

// text is a member that has to be a text; "" when it is missing.
func (r *reader) text(n node, name string, required bool) string {
	v := n.get(name)
	switch {
	case v.missing():
		if required {
			r.fault(n, "%s is missing", name)
		}
		return ""
	case v.Kind != yaml.ScalarNode || v.Tag == "!!null":
		r.fault(v, "%s has to be a text", name)
		return ""
	case len(v.Value) > maxText && name != "description" && name != "summary":
		r.fault(v, "%s has %d bytes, at most %d", name, len(v.Value), maxText)
		return ""
	}
	return v.Value
}

// list is a member that is a list; at most as long as a bound.
func (r *reader) list(n node, name string, most int) []node {
	v := n.get(name)
	if v.missing() {
		return nil
	}
	if v.Kind != yaml.SequenceNode {
		r.fault(v, "%s has to be a list", name)
		return nil
	}
	if len(v.Content) > most {
		r.fault(v, "%s has %d items, at most %d", name, len(v.Content), most)
		return nil
	}
	out := make([]node, len(v.Content))
	for i, c := range v.Content {
		out[i] = node{c, v.pointer + "/" + strconv.Itoa(i)}
	}
	return out
}

// members of an object in their order.
func (r *reader) members(v node) []namedNode {
	if v.missing() {
		return nil
	}
	if v.Kind != yaml.MappingNode {
		r.fault(v, "expected an object")
		return nil
	}
	if len(v.Content)/2 > maxMembers {
		r.fault(v, "%d members, at most %d", len(v.Content)/2, maxMembers)
		return nil
	}
	var out []namedNode
	for i := 0; i+1 < len(v.Content); i += 2 {
		name := v.Content[i].Value
		out = append(out, namedNode{name, node{v.Content[i+1], v.pointer + "/" + escapePointer(name)}})
	}
	return out
}

type namedNode struct {
	name string
	node node
}

// object says whether a node is one.
func (r *reader) object(n node, what string) bool {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		r.fault(n, "%s has to be an object", what)
		return false
	}
	return true
}

// known refuses members that the specification does not have: a misspelt one would do
// nothing.
func (r *reader) known(n node, what string, names ...string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !strings.HasPrefix(name, "x-") && !slices.Contains(names, name) {
			r.fault(n.get(name), "%s has no member %.80q; there are %s", what, name, strings.Join(names, ", "))
		}
	}
}

var (
	versionPattern = regexp.MustCompile(`^1\.[01]\.\d{1,4}(-.{1,40})?$`)
	// The specification recommends [A-Za-z0-9_\-]+ only.
	idPattern = regexp.MustCompile(`^[^\x00-\x1f\x7f$#{}\[\]]{1,200}$`)
)

func (r *reader) document(n node) *Document {
	d := &Document{Version: r.text(n, "arazzo", true), Self: r.text(n, "$self", false), parameters: map[string]*Parameter{}, success: map[string]*Action{}, failure: map[string]*Action{}}
	if d.Version != "" && !versionPattern.MatchString(d.Version) {
		r.fault(n.get("arazzo"), "version %.40q is not supported, 1.0 and 1.1 are", d.Version)
		return d
	}
	r.known(n, "the document", "arazzo", "$self", "info", "sourceDescriptions", "workflows", "components")
	d.Title = r.text(n.get("info"), "title", false)
	for _, s := range r.list(n, "sourceDescriptions", maxMembers) {
		if r.object(s, "a source description") {
			one := Source{Name: r.text(s, "name", true), URL: r.text(s, "url", true), Type: r.text(s, "type", false)}
			if slices.ContainsFunc(d.Sources, func(x Source) bool { return x.Name == one.Name }) {
				r.fault(s.get("name"), "the source description %.80q is there twice", one.Name)
			}
			d.Sources = append(d.Sources, one)
			if t := d.Sources[len(d.Sources)-1].Type; t != "" && t != "openapi" && t != "arazzo" {
				r.faultAt(s.get("type").place(), "only operations of HTTP APIs can be steps", "descriptions of type %.40q cannot be used", t)
			}
		}
	}
	c := n.get("components")
	for _, m := range r.members(c.get("parameters")) {
		d.parameters[m.name] = r.parameter(m.node, d, true)
	}
	for _, m := range r.members(c.get("successActions")) {
		d.success[m.name] = r.action(m.node, d, false)
	}
	for _, m := range r.members(c.get("failureActions")) {
		d.failure[m.name] = r.action(m.node, d, true)
	}
	workflows := r.list(n, "workflows", MaxWorkflows)
	if len(workflows) == 0 {
		r.fault(n, "the document has no workflows")
	}
	for _, w := range workflows {
		if r.object(w, "a workflow") {
			d.Workflows = append(d.Workflows, r.workflow(w, d))
		}
	}
	return d
}

func (r *reader) id(n node, name string) string {
	s := r.text(n, name, true)
	if s != "" && !idPattern.MatchString(s) {
		r.fault(n.get(name), "%s %.80q has to be 1 to 200 characters without brackets, $ and #", name, s)
	}
	return s
}

func (r *reader) texts(n node, name string) []string {
	var out []string
	for _, item := range r.list(n, name, maxMembers) {
		if !item.isText() {
			r.fault(item, "expected a text")
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

func (r *reader) workflow(n node, d *Document) *Workflow {
	r.known(n, "a workflow", "workflowId", "summary", "description", "inputs", "dependsOn", "steps", "successActions", "failureActions", "outputs", "parameters")
	w := &Workflow{
		ID: r.id(n, "workflowId"), Summary: r.text(n, "summary", false), Description: r.text(n, "description", false),
		DependsOn: r.texts(n, "dependsOn"), place: n.place(),
	}
	r.inputs(n.get("inputs"), w)
	for _, p := range r.list(n, "parameters", maxMembers) {
		w.parameters = append(w.parameters, r.parameter(p, d, false))
	}
	w.success, w.failure = r.actions(n, "successActions", d, false), r.actions(n, "failureActions", d, true)
	w.Outputs = r.outputs(n.get("outputs"))
	steps := r.list(n, "steps", MaxSteps)
	if len(steps) == 0 {
		r.fault(n, "the workflow has no steps")
	}
	for _, s := range steps {
		if r.object(s, "a step") {
			w.Steps = append(w.Steps, r.step(s, d))
		}
	}
	return w
}

func (r *reader) actions(n node, name string, d *Document, failure bool) []*Action {
	var out []*Action
	for _, a := range r.list(n, name, maxMembers) {
		out = append(out, r.action(a, d, failure))
	}
	return out
}

func (r *reader) outputs(n node) []Output {
	var out []Output
	for _, m := range r.members(n) {
		v := r.value(m.node, true)
		out = append(out, Output{m.name, v})
	}
	return out
}

var asyncMembers = []string{"channelPath", "correlationId", "action"}

func (r *reader) step(n node, d *Document) *Step {
	for _, name := range asyncMembers {
		if v := n.get(name); !v.missing() {
			r.faultAt(v.place(), "only operations of HTTP APIs and workflows can be steps", "%s is for messages of AsyncAPI, which are not supported", name)
			return &Step{}
		}
	}
	r.known(n, "a step", "stepId", "description", "operationId", "operationPath", "workflowId", "parameters", "requestBody", "successCriteria", "onSuccess", "onFailure", "outputs", "dependsOn", "timeout")
	s := &Step{ID: r.id(n, "stepId"), Description: r.text(n, "description", false), DependsOn: r.texts(n, "dependsOn"), place: n.place()}
	id, path := r.text(n, "operationId", false), r.text(n, "operationPath", false)
	s.Workflow = r.text(n, "workflowId", false)
	given := 0
	for _, v := range []string{id, path, s.Workflow} {
		if v != "" {
			given++
		}
	}
	if x := n.get("x-operation"); given == 0 && !x.missing() {
		s.foreign = "x-operation is an extension of another tool"
	} else if given != 1 {
		r.fault(n, "a step has one of operationId, operationPath and workflowId")
	}
	if s.Operation = id; path != "" {
		s.Operation, s.ByPath = path, true
	}
	if v := n.get("timeout"); !v.missing() {
		s.Timeout = r.duration(v, time.Millisecond)
	}
	for _, p := range r.list(n, "parameters", maxMembers) {
		s.parameters = append(s.parameters, r.parameter(p, d, false))
	}
	if b := n.get("requestBody"); !b.missing() && r.object(b, "requestBody") {
		s.body = r.body(b)
	}
	s.criteria = r.criteria(n, "successCriteria")
	s.success, s.failure = r.actions(n, "onSuccess", d, false), r.actions(n, "onFailure", d, true)
	s.outputs = r.outputs(n.get("outputs"))
	return s
}

func (r *reader) body(n node) *body {
	r.known(n, "a request body", "contentType", "payload", "replacements")
	b := &body{contentType: r.text(n, "contentType", false)}
	if v := n.get("payload"); !v.missing() {
		b.payload = r.value(v, false)
	}
	for _, x := range r.list(n, "replacements", maxMembers) {
		if !r.object(x, "a replacement") {
			continue
		}
		r.known(x, "a replacement", "target", "targetSelectorType", "value")
		if one, ok := r.replacement(x); ok {
			b.replacements = append(b.replacements, one)
		}
	}
	return b
}

// replacement reads a Payload Replacement Object; false: it cannot be used.
func (r *reader) replacement(x node) (replacement, bool) {
	one := replacement{target: r.text(x, "target", true)}
	of := x.get("targetSelectorType")
	kind := r.selectorType(of)
	switch {
	case kind == "" && !of.missing():
		return one, false
	case kind == kindJSONPath:
		var err error
		if one.path, err = parsePath(one.target); err != nil {
			r.fault(x.get("target"), "%s", err)
		}
	case kind != "" && kind != kindJSONPointer:
		r.fault(of, "the target of a replacement is a JSON pointer or a JSONPath, not %.40q", kind)
	case one.target != "" && one.target[0] != '/':
		r.faultAt(x.get("target").place(), "write /items/0/name, or a JSONPath with targetSelectorType: jsonpath", "the target %.80q is not a JSON pointer; XPath is not supported", one.target)
	}
	if x.get("value").missing() {
		r.fault(x, "value is missing")
		return one, false
	}
	one.value = r.value(x.get("value"), false)
	return one, true
}

// reused is what a Reusable Object names; "": the node is none.
func (r *reader) reused(n node, kind string) (name string, is bool) {
	ref := n.get("reference")
	if ref.missing() {
		return "", false
	}
	// What else it has is ignored, as the specification says.
	name, ok := strings.CutPrefix(ref.Value, "$components."+kind+".")
	if !ok {
		r.fault(ref, "expected $components.%s.NAME", kind)
	}
	return name, true
}

func (r *reader) parameter(n node, d *Document, component bool) *Parameter {
	p := &Parameter{place: n.place()}
	if !r.object(n, "a parameter") {
		return p
	}
	if name, is := r.reused(n, "parameters"); is && !component {
		of := d.parameters[name]
		if of == nil {
			r.fault(n.get("reference"), "there is no parameter %.80q below components", name)
			return p
		}
		*p = *of
		if v := n.get("value"); !v.missing() {
			p.value = r.value(v, false)
		}
		p.place = n.place()
		return p
	}
	r.known(n, "a parameter", "name", "in", "value")
	p.Name, p.In = r.text(n, "name", true), r.text(n, "in", false)
	switch p.In {
	case "", "path", "query", "header", "cookie", "querystring":
	default:
		r.fault(n.get("in"), "%.40q is none of path, query, header, cookie and querystring", p.In)
	}
	if v := n.get("value"); v.missing() {
		r.fault(n, "value is missing")
	} else {
		p.value = r.value(v, false)
	}
	return p
}

func (r *reader) action(n node, d *Document, failure bool) *Action {
	a := &Action{place: n.place()}
	if !r.object(n, "an action") {
		return a
	}
	kind, from := "successActions", d.success
	if failure {
		kind, from = "failureActions", d.failure
	}
	if name, is := r.reused(n, kind); is {
		if from[name] == nil {
			r.fault(n.get("reference"), "there is no action %.80q below components.%s", name, kind)
			return a
		}
		*a = *from[name]
		a.place = n.place()
		return a
	}
	r.known(n, "an action", "name", "type", "workflowId", "stepId", "retryAfter", "retryLimit", "criteria", "parameters")
	a.Name, a.Type = r.text(n, "name", true), r.text(n, "type", true)
	a.Workflow, a.Step = r.text(n, "workflowId", false), r.text(n, "stepId", false)
	a.criteria = r.criteria(n, "criteria")
	for _, p := range r.list(n, "parameters", maxMembers) {
		a.parameters = append(a.parameters, r.parameter(p, d, false))
	}
	switch {
	case a.Workflow != "" && a.Step != "":
		r.fault(n, "an action names a workflow or a step, not both")
	case a.Type == actionGoto && a.Workflow == "" && a.Step == "":
		r.fault(n, "goto needs a workflowId or a stepId")
	case a.Type == actionRetry && failure:
		a.Limit = 1
		if v := n.get("retryAfter"); !v.missing() {
			a.After = r.duration(v, time.Second)
		}
		if v := n.get("retryLimit"); !v.missing() {
			limit, err := strconv.Atoi(v.Value)
			if err != nil || limit < 0 || limit > MaxRetries {
				r.fault(v, "retryLimit has to be a whole number from 0 to %d", MaxRetries)
			}
			a.Limit = limit
		}
	case a.Type == actionGoto || a.Type == actionEnd:
	case a.Type != "":
		r.fault(n.get("type"), "%.40q is not an action here", a.Type)
	}
	return a
}

// duration reads a number of a unit.
func (r *reader) duration(v node, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(v.Value, 64)
	if err != nil || !(f >= 0 && f <= float64(MaxWait)/float64(unit)) {
		r.fault(v, "expected a number from 0 to %.0f", float64(MaxWait)/float64(unit))
		return 0
	}
	return time.Duration(f * float64(unit))
}

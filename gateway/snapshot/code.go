package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/gateway/mcp"
	"github.com/sluicegate/sluice/internal/typescript"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/script"
	"github.com/sluicegate/sluice/registry"
)

// Code mode: a client lists search_tools, which answers with signatures in TypeScript, and
// run_code, which runs a script that calls the tools.

// RunCode is the tool that runs scripts.
const RunCode = "run_code"

// DefaultSignatures is how many tools a search gives by default where scripts are run:
// fewer than in search mode, because each comes with its types.
const DefaultSignatures = 5

// MaxSignatures bounds one search of code mode: each tool comes with its types.
const MaxSignatures = 20

// Codes reports whether clients list the two tools of code mode instead of the toolset's
// own.
func (ts *Toolset) Codes() bool { return ts.bundle.SelectionMode() == registry.SelectCode }

// PlainList is tools/list of a toolset in code mode as if it listed every tool, with
// output schemas. sees and selection are as in [Toolset.ListOf]; nil and "": all.
func (ts *Toolset) PlainList(selection string, sees func(tool string) bool) (*List, error) {
	if sees == nil {
		sees = func(string) bool { return true }
	}
	return ts.listOf(listKey{selection: selection, plain: true}, sees)
}

// OnlyReads reports whether a tool says that it changes nothing.
func (t *Tool) OnlyReads() bool {
	if t.Binding == nil && t.Workflow == nil { // the gateway's own: who knows what they call
		return t.Fetch
	}
	n, err := t.nature()
	return err == nil && n.readOnly
}

// nature is what each call asks of a tool. Lists read the whole definition, which is decoded
// each time and not kept.
type nature struct {
	method, path          string
	readOnly, destructive bool
}

// nature decodes the definition of the tool once. A failure is not kept.
func (t *Tool) nature() (*nature, error) {
	if n := t.known.Load(); n != nil {
		return n, nil
	}
	head, err := t.head()
	if err != nil {
		return nil, err
	}
	n := &nature{strings.Clone(head.Method), strings.Clone(head.Path), head.Annotations.ReadOnly, head.Annotations.Destructive}
	t.known.Store(n)
	return n, nil
}

// ScriptMayCall reports whether scripts and batches may call a tool: those that may destroy
// only where the operator permits it.
func (ts *Toolset) ScriptMayCall(t *Tool) bool {
	if s := ts.bundle.Selection; s != nil && s.Destructive {
		return true
	}
	n, err := t.nature()
	return err == nil && !n.destructive
}

// scriptGroup is the name below which scripts find the tools of a connector or plugin.
func (t *Tool) scriptGroup() string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '/' {
			return '_'
		}
		return r
	}, t.group())
	if !typescript.IsIdentifier(name) {
		name = "_" + name
	}
	return name
}

// ScriptPath is how a script calls the tool.
func (t *Tool) ScriptPath() string {
	if !typescript.IsIdentifier(t.Name) {
		return fmt.Sprintf("tools.%s[%q]", t.scriptGroup(), t.Name)
	}
	return "tools." + t.scriptGroup() + "." + t.Name
}

// ScriptTool finds a tool by the path that a script has: GROUP.NAME, or only the name,
// which is unique in a toolset. nil: there is none.
func (ts *Toolset) ScriptTool(path string) (*Tool, error) {
	name := path
	group, rest, grouped := strings.Cut(path, ".")
	if grouped {
		name = rest
	}
	t, err := ts.Tool([]byte(name))
	if err != nil || t == nil || t.Own() || grouped && t.scriptGroup() != group {
		return nil, err
	}
	return t, nil
}

// ScriptNames lists what a script finds below a path: the groups, or the tools of one.
func (ts *Toolset) ScriptNames(path string, sees func(tool string) bool) []string {
	tools, err := ts.Tools()
	if err != nil {
		return nil
	}
	out := []string{}
	for _, t := range tools {
		switch group := t.scriptGroup(); {
		case !sees(t.Name):
		case path == "" && !slices.Contains(out, group):
			out = append(out, group)
		case path == group:
			out = append(out, t.Name)
		}
	}
	return out
}

// AppendSignatures appends the signatures of tools, for a script.
func AppendSignatures(dst []byte, tools []*Tool) ([]byte, error) {
	functions := make([]typescript.Function, len(tools))
	for i, t := range tools {
		ready, err := t.Load()
		if err != nil {
			return dst, err
		}
		head, err := t.head()
		if err != nil {
			return dst, fmt.Errorf("reading tool %s: %w", t.Name, err)
		}
		functions[i] = typescript.Function{Path: t.ScriptPath(), Text: scriptText(&head), Input: head.InputSchema, Output: ready.Answer.ResultSchema(), Skip: ready.Answer.Argument}
	}
	return typescript.Append(dst, functions), nil
}

// scriptText is the line over a signature.
func scriptText(h *connector.Head) string {
	text := h.Description
	if text == "" {
		text = h.Title
	}
	return FirstSentence(text) + " " + Effect(h.Annotations.ReadOnly, h.Annotations.Destructive)
}

// Effect is what a found tool does to data, in brackets.
func Effect(readOnly, destructive bool) string {
	switch {
	case readOnly:
		return "[reads]"
	case destructive:
		return "[may destroy]"
	}
	return "[writes]"
}

const (
	signaturesSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What the tools should do, in the words of the API"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"default":5}},"required":["query"]}`
	codeSchema = `{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}`
)

// ScriptLimits are what the operator allows each script.
func (ts *Toolset) ScriptLimits() registry.ScriptLimits {
	if l := ts.bundle.ScriptLimits; l != nil {
		return *l
	}
	return registry.ScriptLimits{}
}

// codeDescription is what a model has to know to write a script; %s is a group.
const codeDescription = "Run JavaScript that calls this server's tools, and read only what it returns: for several calls, loops, filters and joins. " +
	"Find signatures with search_tools first. Independent calls go in parallel:\n" +
	"const open = await tools.%[1]s.list_things({state: \"open\"});\n" +
	"return Promise.all(open.map(t => tools.%[1]s.get_thing({id: t.id})));\n" +
	"The code is the body of an async function; return small JSON. A tool that fails throws ToolError {tool, status, message}. " +
	"Plain JavaScript: no types, imports, network or files; sleep(ms) waits. Nothing is kept between runs. At most %[2]d calls, %[3]d at once. console.log comes back too."

// scriptInfo is what tools/list says of run_code. What a script may do is what the tools
// may do that it can call.
func (ts *Toolset) scriptInfo(sees func(string) bool) (mcp.ToolInfo, error) {
	info := mcp.ToolInfo{Name: ts.index.script.Name, InputSchema: []byte(codeSchema)}
	first, err := ts.effects(&info, sees)
	if err != nil {
		return info, err
	}
	group := "api"
	if first != nil {
		group = first.scriptGroup()
	}
	l := ts.ScriptLimits()
	info.Description = fmt.Sprintf(codeDescription, group, cmp.Or(l.Calls, script.DefaultCalls), cmp.Or(l.AtOnce, script.DefaultAtOnce))
	return info, nil
}

// effects sets the hints of a tool that calls the others: it may do what they may. It
// returns the first of those; nil: there is none.
func (ts *Toolset) effects(info *mcp.ToolInfo, sees func(string) bool) (first *Tool, err error) {
	info.ReadOnly, info.Idempotent = true, true
	for _, t := range ts.index.list {
		if sees != nil && !sees(t.Name) || !ts.ScriptMayCall(t) {
			continue
		}
		head, err := t.head()
		if err != nil {
			return nil, fmt.Errorf("reading tool %s: %w", t.Name, err)
		}
		if first == nil {
			first = t
		}
		info.ReadOnly = info.ReadOnly && head.Annotations.ReadOnly
		info.Idempotent = info.Idempotent && head.Annotations.Idempotent
		info.Destructive = info.Destructive || head.Annotations.Destructive
		info.OpenWorld = info.OpenWorld || head.Annotations.OpenWorld
	}
	return first, nil
}

// renderCode renders tools/list of code mode.
func (ts *Toolset) renderCode(sees func(string) bool) ([]byte, error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, err
	}
	count := 0
	for _, t := range tools {
		if sees == nil || sees(t.Name) {
			count++
		}
	}
	out := mcp.AppendTool([]byte{'['}, &mcp.ToolInfo{
		Name: SearchTools, InputSchema: []byte(signaturesSchema), ReadOnly: true, Idempotent: true,
		Description: fmt.Sprintf("Find tools among the %d of this server. Answers with their TypeScript signatures, for %s.", count, ts.index.script.Name),
	})
	info, err := ts.scriptInfo(sees)
	if err != nil {
		return nil, err
	}
	out = mcp.AppendTool(append(out, ','), &info)
	if ts.index.batch != nil {
		if out, err = ts.appendBatch(append(out, ','), sees); err != nil {
			return nil, err
		}
	}
	if f := ts.index.fetch; f != nil { // the handle of a long value is for the client itself
		if out, err = f.AppendDefinition(append(out, ',')); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// loadScript makes run_code ready. The calls of a script are filtered each by itself, and
// its value by what redacts all that the toolset answers.
func (t *Tool) loadScript() error {
	r := &t.ready.Ready
	r.Method, r.Path, r.JSON = "SCRIPT", "/"+RunCode, true
	r.Plugins = redactors(t.Toolset.pluginsOf("", r.Method, r.Path))
	var err error
	if r.Answer, err = t.answer(&connector.Tool{Head: connector.Head{Method: r.Method, Path: r.Path, Name: t.Name}}); err != nil {
		return err
	}
	r.Meter = t.Toolset.meter.Tool(t.meterID())
	return nil
}

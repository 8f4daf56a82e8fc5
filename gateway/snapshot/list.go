package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sluicegate/sluice/gateway/answer"
	"github.com/sluicegate/sluice/gateway/mcp"
)

const (
	// pageTools and pageBytes bound one page of tools/list. Many clients take only
	// the first page, and those that read more stop at 128 tools; pages are for what
	// no client could use anyway.
	pageTools = 1000
	pageBytes = 4 << 20
	// maxSelections that are kept rendered beside the whole list: access tokens that
	// see the same tools share one.
	maxSelections = 64
)

// List is tools/list as it is sent, for callers who see the same tools. It is
// immutable.
type List struct {
	pages  [][]byte // JSON arrays; at least one
	prefix string   // of cursors: the list they belong to
}

// Page returns the JSON array of the page a cursor names, nil for the first, and
// the cursor of the next, "" behind the last. ok is false for a cursor of another
// list: the toolset may have changed between two pages.
func (l *List) Page(cursor []byte) (page []byte, next string, ok bool) {
	n := 0
	if cursor != nil {
		text, found := strings.CutPrefix(string(cursor), l.prefix)
		var err error
		if n, err = strconv.Atoi(text); !found || err != nil || n < 1 || n >= len(l.pages) || strconv.Itoa(n) != text {
			return nil, "", false
		}
	}
	if n+1 < len(l.pages) {
		next = l.prefix + strconv.Itoa(n+1)
	}
	return l.pages[n], next, true
}

// lists are the rendered lists of a toolset, made on first use.
type lists struct {
	made attempt
	all  *List // written once

	mu   sync.Mutex
	some map[listKey]*List // guarded by mu; by selection
}

// List returns the list of all tools.
func (ts *Toolset) List() (*List, error) {
	err := ts.lists.made.do(func() (err error) { ts.lists.all, err = ts.render(listKey{}, nil); return err })
	return ts.lists.all, err
}

// ListOf returns the list of the tools that sees is true for. selection names
// what it selects.
func (ts *Toolset) ListOf(selection string, sees func(tool string) bool) (*List, error) {
	return ts.listOf(listKey{selection: selection}, sees)
}

// listKey is what a list that is not the toolset's own depends on.
type listKey struct {
	selection string // names the tools that the caller sees
	plain     bool   // of a toolset in code mode, for clients that bring their own
	// lacks are the capabilities of which some tool needs one and the client has none.
	lacks mcp.Capabilities
	tasks bool // for clients that may make calls tasks
}

// Lacks are the capabilities that tools of the toolset need and a client does not have.
func (ts *Toolset) Lacks(client mcp.Capabilities) mcp.Capabilities {
	if _, err := ts.Tools(); err != nil {
		return 0
	}
	return ts.index.needs &^ client
}

// ListWithout is ListOf without the tools that need a capability of lacks; plain is as in
// [Toolset.PlainList]. tasks says of which tools clients of 2025-11-25 may make a call a task. sees
// may be nil.
func (ts *Toolset) ListWithout(lacks mcp.Capabilities, plain, tasks bool, selection string, sees func(tool string) bool) (*List, error) {
	return ts.listOf(listKey{selection, plain, lacks, tasks}, func(name string) bool {
		t := ts.index.byName[name]
		return (sees == nil || sees(name)) && (t == nil || t.needs&lacks == 0)
	})
}

func (ts *Toolset) listOf(key listKey, sees func(tool string) bool) (*List, error) {
	ts.lists.mu.Lock()
	defer ts.lists.mu.Unlock()
	if l := ts.lists.some[key]; l != nil {
		return l, nil
	}
	l, err := ts.render(key, sees)
	if err != nil {
		return nil, err
	}
	if ts.lists.some == nil || len(ts.lists.some) >= maxSelections {
		ts.lists.some = map[listKey]*List{}
	}
	ts.lists.some[key] = l
	return l, nil
}

func (ts *Toolset) render(key listKey, sees func(string) bool) (*List, error) {
	tools, err := ts.Tools()
	if err != nil {
		return nil, err
	}
	l := &List{prefix: cursorPrefix(ts, fmt.Sprint(key.plain, key.lacks, key.tasks)+key.selection)}
	switch {
	case ts.Codes() && !key.plain:
		page, err := ts.renderCode(sees)
		l.pages = [][]byte{page}
		return l, err
	case ts.Searches():
		page, err := ts.renderSearch(sees)
		l.pages = [][]byte{page}
		return l, err
	}
	out, count := []byte{'['}, 0
	flush := func() {
		out = append(out, ']')
		l.pages = append(l.pages, append(make([]byte, 0, len(out)), out...)) // without the slack of growing
		out, count = out[:1], 0
	}
	for _, own := range []*Tool{ts.index.batch, ts.index.fetch} {
		if own != nil {
			tools = append(slices.Clip(tools), own)
		}
	}
	for _, t := range tools {
		if sees != nil && !t.Own() && !sees(t.Name) {
			continue
		}
		if t.Own() && count == 0 {
			continue // nothing to fetch the rest of, nothing to call
		}
		mark := len(out)
		if count > 0 {
			out = append(out, ',')
		}
		if t.Batch {
			out, err = ts.appendBatch(out, sees)
		} else {
			out, err = t.AppendDefinition(out)
			if key.tasks && err == nil && t.MayTask() {
				// Also where the server has nothing else: those who do not ask for a task are served.
				out = append(out[:len(out)-1], `,"execution":{"taskSupport":"optional"}}`...)
			}
		}
		if err != nil {
			return nil, err
		}
		if count > 0 && !t.Own() && (count == pageTools || len(out) > pageBytes) {
			tool := append([]byte(nil), out[mark+1:]...)
			out = out[:mark]
			flush()
			out = append(out, tool...)
		}
		count++
	}
	flush()
	return l, nil
}

// Added is tools/list with nothing but the tools that Sluice adds to those of the APIs: those
// of its mode, batch, and the one that gives the rest of an answer.
func (ts *Toolset) Added() ([]byte, error) {
	tools, err := ts.Tools()
	switch {
	case err != nil:
		return nil, err
	case ts.Codes():
		return ts.renderCode(nil)
	case ts.Searches():
		return ts.renderSearch(nil)
	case len(tools) == 0:
		return []byte("[]"), nil
	}
	out := []byte{'['}
	if ts.index.batch != nil {
		if out, err = ts.appendBatch(out, nil); err != nil {
			return nil, err
		}
	}
	if f := ts.index.fetch; f != nil {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = f.AppendDefinition(out); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// cursorPrefix tells the lists of a toolset apart, over revisions and selections,
// and is the same on every node.
func cursorPrefix(ts *Toolset, selection string) string {
	h := uint64(14695981039346656037) // FNV-1a; nothing depends on it being hard to guess
	for _, s := range []string{string(ts.Digest), selection} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
	}
	return fmt.Sprintf("%016x.", h)
}

// AppendDefinition appends the tool's object as tools/list has it.
func (t *Tool) AppendDefinition(dst []byte) ([]byte, error) {
	info, err := t.Info()
	if err != nil {
		return dst, err
	}
	return mcp.AppendTool(dst, &info), nil
}

// Info reads what tools/list says of the tool; it keeps nothing.
func (t *Tool) Info() (mcp.ToolInfo, error) {
	if t.Script {
		return t.Toolset.scriptInfo(nil)
	}
	if t.Batch {
		return t.Toolset.batchInfo(nil)
	}
	if t.Fetch {
		return mcp.ToolInfo{
			Name: t.Name, Description: fetchDescription, InputSchema: []byte(fetchSchema), ReadOnly: true, Idempotent: true, OpenWorld: true,
		}, nil
	}
	head, err := t.head()
	if err != nil {
		return mcp.ToolInfo{}, fmt.Errorf("reading tool %s: %w", t.Name, err)
	}
	info := mcp.ToolInfo{
		Name: t.Name, Title: head.Title, Description: head.Description, InputSchema: head.InputSchema,
		ReadOnly: head.Annotations.ReadOnly, Destructive: head.Annotations.Destructive,
		Idempotent: head.Annotations.Idempotent, OpenWorld: head.Annotations.OpenWorld,
		Given: head.MCP != nil,
	}
	if head.MCP != nil {
		info.Extra = head.MCP.Extra
	} else if !t.titled() && strings.EqualFold(strings.ReplaceAll(head.Title, " ", "_"), t.Name) {
		info.Title = "" // it says the name in other letters, and each list pays for it
	}
	if head.Structured && answer.Narrows(head.OutputSchema, head.Annotations.ReadOnly) {
		info.InputSchema = answer.WithFields(head.InputSchema, answer.FieldsArgument(head.InputSchema))
	}
	if b := t.Toolset.bundle; head.MCP != nil || b.Answers != nil && b.Answers.Structured {
		ready, err := t.Load()
		if err != nil {
			return mcp.ToolInfo{}, err
		}
		info.OutputSchema = ready.Answer.OutputSchema
	}
	return info, nil
}

// titled reports whether the operator wrote the title.
func (t *Tool) titled() bool {
	if t.Workflow != nil {
		return t.Workflow.Document != nil || t.Workflow.Plugin.Ref.Tool != nil && t.Workflow.Plugin.Ref.Tool.Title != nil
	}
	return t.edit != nil && t.edit.Title != nil
}

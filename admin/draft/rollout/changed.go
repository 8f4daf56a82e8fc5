package rollout

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/registry"
)

// maxChangedTests bounds the changed tools that one test calls.
const maxChangedTests = 10

// TestedTool is another tool that a test called, because the draft changes it.
type TestedTool struct {
	Tool            string     `json:"tool"`
	Passed          bool       `json:"passed"`
	Reason          string     `json:"reason,omitempty" doc:"Why it did not pass."`
	UpstreamStatus  int        `json:"upstreamStatus,omitempty"`
	DurationSeconds float64    `json:"durationSeconds"`
	Tokens          TestTokens `json:"tokens"`

	Unmatched []engine.Unmatched `json:"unmatched,omitempty" doc:"What the field mask of the tool names and this answer has nowhere, at most 10."`
}

// changedTools are the operations whose answers or fixed arguments differ between the
// live revision and the draft; none of a toolset that is not live.
func (r *Room) changedTools(ctx context.Context, d *draft.Draft) (map[toolset.Operation]bool, error) {
	if d.Toolset.LiveRevision == 0 || d.Toolset.LiveDigest == d.Toolset.DraftDigest {
		return nil, nil
	}
	live, err := r.Publisher.Toolset(ctx, d.Toolset.LiveRepository, registry.Digest(d.Toolset.LiveDigest))
	if err != nil {
		return nil, err
	}
	edits, err := d.RegistryEdits()
	if err != nil {
		return nil, err
	}
	was, err := callSettings(live.Tools)
	if err != nil {
		return nil, err
	}
	is, err := callSettings(edits)
	if err != nil {
		return nil, err
	}
	out := make(map[toolset.Operation]bool)
	for op, settings := range is {
		out[op] = !bytes.Equal(settings, was[op])
	}
	for op := range was {
		out[op] = out[op] || is[op] == nil
	}
	return out, nil
}

// callSettings are the parts of edits that change what a call sends or answers.
func callSettings(edits []registry.ToolEdit) (map[toolset.Operation][]byte, error) {
	out := make(map[toolset.Operation][]byte, len(edits))
	for i := range edits {
		e := &edits[i]
		if e.Answers == nil && len(e.Fixed) == 0 {
			continue
		}
		b, err := json.Marshal(struct {
			Answers *registry.Answers
			Fixed   registry.Fixed
		}{e.Answers, e.Fixed})
		if err != nil {
			return nil, err
		}
		out[toolset.Operation{Connector: e.Connector, Method: e.Method, Path: e.Path}] = b
	}
	return out, nil
}

// chooseChanged finds what of the changed tools can be tested by itself: enabled ones
// that only read, with arguments that the specification gives. The others are named.
func chooseChanged(d *draft.Draft, changed map[toolset.Operation]bool) (out []candidate, untested []string) {
	if len(changed) == 0 {
		return nil, nil
	}
	tools := d.Tools(true)
	for i := range tools {
		t := &tools[i]
		if !changed[t.Operation] || !t.Enabled {
			continue
		}
		p, g := d.Generated(t.Operation)
		args, ok := toolset.ExampleArguments(t.InputSchema)
		if !ok || !harmless(d, t) || len(t.Needs) > 0 || len(p.Creds) == 0 && g.Secured || p.BaseURL() == "" || len(out) == maxChangedTests {
			if len(untested) < maxChangedTests {
				untested = append(untested, t.Name)
			}
			continue
		}
		out = append(out, candidate{t, args})
	}
	return out, untested
}

// callMore calls the other changed tools until one does not pass.
func (r *Room) callMore(ctx context.Context, d *draft.Draft, more []candidate, run *TestRun) {
	for i := range more {
		if !run.Passed {
			return
		}
		one := &TestRun{Digest: run.Digest, Tool: more[i].tool.Name}
		r.call(ctx, d, &more[i], one)
		if run.Passed = one.Passed; !one.Passed {
			run.Reason = one.Tool + ": " + one.Reason
		}
		run.More = append(run.More, TestedTool{one.Tool, one.Passed, one.Reason, one.UpstreamStatus, one.DurationSeconds, one.Tokens, one.Unmatched})
	}
}

// ownMask is the field mask of a tool whose answers are those of an HTTP API; nil: it has none
// of its own. Masks of the toolset and of connectors name members of other tools, too.
func ownMask(d *draft.Draft, t *toolset.Tool) *engine.Mask {
	p := d.Named(t.Operation.Connector)
	if t.Answers == nil || t.Answers.Fields == "" || p == nil || p.Row.SourceKind == store.SourceMCP {
		return nil
	}
	m, err := engine.ReadMask(t.Answers.Fields)
	if err != nil {
		return nil // it was checked when it was set: a draft of another version
	}
	return m
}

// unmatched are the names of a mask that an answer does not have; none where it was cut, or is
// no JSON.
func unmatched(m *engine.Mask, i *playground.Inspection) []engine.Unmatched {
	if m == nil || i == nil || i.Cut {
		return nil
	}
	doc, err := jsonscan.Parse([]byte(i.Received), jsonscan.DefaultMaxDepth)
	if err != nil {
		return nil
	}
	return m.Unmatched(doc)
}

// hollow reports whether JSON text has objects and nothing in them: what is left of an
// answer when a mask names none of its members.
func hollow(text []byte) bool {
	return bytes.ContainsRune(text, '{') && len(bytes.Trim(text, "[]{}, \t\r\n")) == 0
}

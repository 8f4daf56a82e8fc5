package rollout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/draft"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/registry"
)

// Tester runs one tool of a draft through the pipeline that the gateway runs.
type Tester interface {
	// Test calls a tool. An upstream that answers with an error is an Answer with
	// IsError; err is for a call that could not be made at all.
	Test(ctx context.Context, call TestCall) (TestedAnswer, error)
	// Added is tools/list of a draft with nothing but the tools that the gateway adds to
	// those of the APIs. The call names no tool.
	Added(call TestCall) ([]byte, error)
	// CheckScript fails with a [problem.InvalidArgument] when a script cannot be compiled.
	CheckScript(ctx context.Context, code string) error
}

// TestCall is one call of a draft.
type TestCall struct {
	Toolset    *registry.Toolset               // the draft, as its bundle has it
	Digest     registry.Digest                 // of that bundle
	Connectors map[string]*connector.Connector // by their name in the toolset
	Plugins    []*guest.Package                // of Toolset.Plugins, in their order
	Index      []byte                          // of its tools, for a mode that searches; nil: none
	Tool       string                          // name as the toolset has it
	Arguments  []byte                          // JSON object
	Inspect    bool                            // the answer has an Inspection
}

// TestedAnswer is what a tool answered.
type TestedAnswer struct {
	IsError        bool
	Why            string // of an error, where the status does not say it; not what the upstream said
	PluginFailure  string // why the plugin failed that the call ended with, for its operator
	Text           []byte // what the agent would receive
	UpstreamStatus int    // 0: the upstream was not reached
	Duration       time.Duration
	Upstream       time.Duration
	BytesReceived  int
	Tokens         TestTokens
	Inspection     *playground.Inspection // nil unless asked for
}

const (
	// testTimeout bounds one test: an upstream that takes longer is no use to an
	// agent either.
	testTimeout = 60 * time.Second
	// maxOthers are tried after the first tool.
	maxOthers = 2
	// maxShownAnswer is how much of an answer the caller of a test sees.
	maxShownAnswer = 16 << 10
	// maxInspectedAnswer is how much of it the caller of an inspected test sees.
	maxInspectedAnswer = 256 << 10
)

// candidate is a tool that can be tested, with arguments.
type candidate struct {
	tool *toolset.Tool
	args []byte
}

// chooseTest finds what to test: the named tool, or the safe ones without required
// arguments and then those whose required arguments have examples, of the connector that is
// named or of any, the best first. The reason says why there is none. offered are the
// tools of workflows, and those that Sluice adds, which are tested when they are named.
func chooseTest(d *draft.Draft, req *TestRequest, offered []toolset.Tool) (found []candidate, reason string, err error) {
	tools := d.Tools(true)
	if req.Tool != "" {
		tools = append(tools, offered...)
		for i := range tools {
			if tools[i].Name != req.Tool {
				continue
			}
			args := []byte("{}")
			if req.Arguments != nil {
				args = []byte(store.JSON(req.Arguments))
			} else if examples, ok := toolset.ExampleArguments(tools[i].InputSchema); ok {
				args = examples
			}
			return []candidate{{&tools[i], args}}, "", nil
		}
		return nil, "", d.NoSuchTool(req.Tool)
	}
	var withExamples []candidate
	safe, locked := 0, 0
	for i := range tools {
		t := &tools[i]
		if !t.Enabled || !harmless(d, t) || len(t.Needs) > 0 || !d.Serves(t.Operation) || req.Connector != "" && t.Operation.Connector != req.Connector {
			continue
		}
		safe++
		if p, g := d.Generated(t.Operation); len(p.Creds) == 0 && g.Secured {
			locked++
			continue
		}
		args, ok := toolset.ExampleArguments(t.InputSchema)
		switch {
		case ok && string(args) == "{}":
			found = append(found, candidate{t, args})
		case ok:
			withExamples = append(withExamples, candidate{t, args})
		}
	}
	found = append(found, withExamples...)
	switch {
	case len(found) > 0:
		return found, "", nil
	case safe == 0:
		return nil, "no enabled tool is safe to call: all of them may change something", nil
	case locked == safe:
		return nil, "every safe tool needs authentication, and none is configured", nil
	}
	return nil, "no safe tool can be called without arguments that only you know", nil
}

// harmless reports a tool that may be called without being asked: one that only reads. Of a
// POST the words of a specification are no proof, what an operator or an entry of the
// catalog says is.
func harmless(d *draft.Draft, t *toolset.Tool) bool {
	if !t.Annotations.ReadOnly || t.Operation.Method != http.MethodPost {
		return t.Annotations.ReadOnly
	}
	return slices.ContainsFunc(d.Edits, func(e store.ToolEdit) bool {
		said, err := toolset.AnnotationsOf(e.Annotations)
		return toolset.OperationOf(&e) == t.Operation && err == nil && said != nil && said.ReadOnly != nil && *said.ReadOnly
	})
}

// Test runs a test of exactly the digest of d and records it. A test that is not
// possible is not recorded.
func (r *Room) Test(ctx context.Context, ws *store.Workspace, d *draft.Draft, req *TestRequest) (*TestRun, error) {
	run := &TestRun{Digest: d.Toolset.DraftDigest, At: ws.Now()}
	if req.Connector != "" && d.Named(req.Connector) == nil {
		return nil, request.FieldFault("/connector", "the toolset has no connector %.80q; it has %s", req.Connector, d.Names())
	}
	offered, err := r.Drafts.Workflows(ctx, d, true)
	if err != nil {
		return nil, err
	}
	if offered, err = r.WithAdded(ctx, d, offered, req.Tool); err != nil {
		return nil, err
	}
	var chosen []candidate
	if req.Tool == "" && req.Connector == "" {
		changed, err := r.changedTools(ctx, d)
		if err != nil {
			return nil, err
		}
		chosen, run.Untested = chooseChanged(d, changed)
	}
	var c *candidate
	var others []candidate
	var reason string
	if len(chosen) > 0 {
		c, chosen = &chosen[0], chosen[1:]
	} else if others, reason, err = chooseTest(d, req, offered); len(others) > 0 {
		c, others = &others[0], others[1:]
	}
	waits, fault := r.Drafts.Unconfirmed(ctx, d)
	switch {
	case err != nil:
		return nil, err
	case fault != nil:
		return nil, fault
	case len(waits) > 0: // nothing is sent there, not even by a test
		run.Reason, run.Waits = credential.WhyWaits(waits), waits
		return run, nil
	case c == nil && r.Servers.MCP != nil && mcpServerOf(d, req.Connector) != nil:
		return run, r.testListing(ctx, ws, d, mcpServerOf(d, req.Connector), run)
	case c == nil:
		run.Reason = reason
		return run, nil
	case r.Tester == nil:
		run.Reason = "this node has no gateway to test with"
		return run, nil
	case c.tool.OfConnector() && d.Named(c.tool.Operation.Connector).BaseURL() == "":
		run.Reason = "the specification names no server that is a complete URL, and no baseUrl is set"
		return run, nil
	}
	run.Possible, run.Tool, run.Arguments = true, c.tool.Name, c.args
	run.CredentialVersion = d.CredentialVersion()
	if d.Bundle == nil { // the draft was loaded, not just made
		if err := r.Drafts.Push(ctx, d); err != nil {
			return nil, err
		}
	}
	if d.Toolset.DraftDigest != run.Digest {
		return nil, fmt.Errorf("testing %s: the draft makes the digest %s, its record has %s", d.Toolset.ID, d.Toolset.DraftDigest, run.Digest)
	}
	run.inspect = req.Inspect
	r.call(ctx, d, c, run)
	r.callOthers(ctx, d, c, others, run)
	if run.NoTest {
		return run, nil
	}
	r.callMore(ctx, d, chosen, run)
	return run, r.recordTest(ctx, ws, d, run)
}

// callOthers tries other tools where one of an MCP server says that its call was wrong: it may
// need arguments that its schema does not. One that works shows as well that the server serves
// this toolset. Where none does, the first one's answer is what is told.
func (r *Room) callOthers(ctx context.Context, d *draft.Draft, c *candidate, others []candidate, run *TestRun) {
	if p := d.Named(c.tool.Operation.Connector); !c.tool.OfConnector() || p == nil || p.Row.SourceKind != store.SourceMCP {
		return
	}
	for i := range others[:min(len(others), maxOthers)] {
		if run.Passed || !run.refused {
			return
		}
		next := &TestRun{Digest: run.Digest, At: run.At, Possible: true, Tool: others[i].tool.Name, Arguments: others[i].args, CredentialVersion: run.CredentialVersion, inspect: run.inspect}
		if r.call(ctx, d, &others[i], next); next.Passed {
			*run = *next
		}
	}
}

// mcpServerOf finds a connector that is an MCP server: the one that is named, or the first.
func mcpServerOf(d *draft.Draft, connector string) *draft.Part {
	for _, p := range d.Parts {
		if p.Row.SourceKind == store.SourceMCP && (connector == "" || connector == p.Row.Name) {
			return p
		}
	}
	return nil
}

// call makes the call and judges the answer.
func (r *Room) call(ctx context.Context, d *draft.Draft, c *candidate, run *TestRun) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	start, mask := time.Now(), ownMask(d, c.tool)
	call := testCall(d)
	call.Tool, call.Arguments, call.Inspect = c.tool.Name, c.args, run.inspect || mask != nil
	a, err := r.Tester.Test(ctx, call)
	run.DurationSeconds = time.Since(start).Seconds()
	if err != nil {
		run.Reason = request.Detail(err)
		switch e := request.Fault(err); {
		case e == nil:
			run.Reason += " (try again, and report it if it persists)"
			r.Log.LogAttrs(ctx, slog.LevelError, "a test failed", slog.String("request_id", request.Of(ctx).ID), slog.Any("error", err))
		case e.Remedy != "":
			run.Reason += " (" + e.Remedy + ")"
		}
		return
	}
	run.UpstreamStatus, run.UpstreamSeconds, run.BytesReceived, run.Tokens = a.UpstreamStatus, a.Upstream.Seconds(), a.BytesReceived, a.Tokens
	if a.Duration > 0 {
		run.DurationSeconds = a.Duration.Seconds()
	}
	if run.inspect {
		run.Inspection = a.Inspection
	}
	run.show(a.Text)
	run.NoTest = c.tool.Added() && a.UpstreamStatus == 0
	trimmed := bytes.TrimSpace(a.Text)
	defer func() {
		if why, _ := request.CutText([]byte(a.PluginFailure), 300); !run.Passed && why != "" {
			run.Reason += "; " + why
		}
	}()
	switch {
	case c.tool.Added() && a.IsError:
		why, _ := request.CutText(a.Text, 300)
		run.Reason = "the call did not succeed: " + why
	case c.tool.OfConnector() && (a.UpstreamStatus == http.StatusUnauthorized || a.UpstreamStatus == http.StatusForbidden):
		run.Reason = fmt.Sprintf("the upstream refused the authentication with status %d; %s", a.UpstreamStatus, d.Named(c.tool.Operation.Connector).Sent())
	case a.IsError && a.UpstreamStatus >= 200 && a.UpstreamStatus <= 299:
		why := a.Why
		if why == "" {
			why = "the answer says that the call failed"
		}
		run.Reason = fmt.Sprintf("the upstream answered with status %d, but %s", a.UpstreamStatus, why)
	case a.IsError && a.UpstreamStatus != 0:
		run.Reason = fmt.Sprintf("the upstream answered with status %d", a.UpstreamStatus)
	case a.IsError:
		run.refused = a.BytesReceived > 0 // by a server of MCP, whose answers have no status
		// The dialer does not know what people call the toolset.
		said := bytes.Replace(a.Text, []byte("sluice grant create TOOLSET "), []byte("sluice grant create "+d.Toolset.Slug+" "), 1)
		text, _ := request.CutText(said, 300)
		run.Reason = "the call did not succeed: " + text
	case c.tool.Added() && a.UpstreamStatus == 0: // a search, or a script that calls nothing
		run.Passed = true
	case a.UpstreamStatus < 200 || a.UpstreamStatus > 299:
		run.Reason = fmt.Sprintf("the upstream answered with status %d", a.UpstreamStatus)
	case len(trimmed) == 0 || string(trimmed) == "null" || string(trimmed) == `""`:
		run.Reason = "the upstream's answer is empty"
	case c.tool.OfConnector() && refusal(trimmed) != "":
		run.Reason = fmt.Sprintf("the upstream answered with status %d, but refused the authentication: %s; %s", a.UpstreamStatus, refusal(trimmed), d.Named(c.tool.Operation.Connector).Sent())
	case hollow(trimmed) && a.BytesReceived > len(trimmed):
		run.Reason = "nothing of the answer is left: the mask of the tool names no member that the answer has"
	default:
		run.Passed = true
		run.Unmatched = unmatched(mask, a.Inspection)
	}
}

// refusal is the word with which an answer says that its credential was not accepted, where
// the status says that all is well: Slack answers {"ok": false, "error": "invalid_auth"}. Of
// other errors there, such as a channel that is not given, the credential is no cause.
func refusal(answer []byte) string {
	var said struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(answer, &said) != nil || said.OK == nil || *said.OK || !strings.Contains(said.Error, "auth") && !strings.Contains(said.Error, "token") {
		return ""
	}
	if len(said.Error) > 32 || strings.Trim(said.Error, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "its error is no word of a code"
	}
	return said.Error
}

// Told is a test as it is kept, for every member of the workspace: without what was asked and
// what the API said, which may be personal. Names of members can be that, too.
func (r *TestRun) Told() TestRun {
	kept := *r
	kept.Answer, kept.Arguments, kept.AnswerCut, kept.Unmatched = "", nil, false, nil
	kept.More = slices.Clone(r.More)
	for i := range kept.More {
		kept.More[i].Unmatched = nil
	}
	return kept
}

// show keeps the answer for the caller of the test.
func (r *TestRun) show(answer []byte) {
	most := maxShownAnswer
	if r.inspect {
		most = maxInspectedAnswer
	}
	r.Answer, r.AnswerCut = request.CutText(answer, most)
}

// recordTest writes a test. The toolset's version is raised, because what it
// shows of itself changes.
func (r *Room) recordTest(ctx context.Context, ws *store.Workspace, d *draft.Draft, run *TestRun) error {
	args := sha256.Sum256(run.Arguments)
	answer := sha256.Sum256([]byte(run.Answer))
	kept := run.Told()
	row := &store.TestRun{
		ToolsetID: d.Toolset.ID, Digest: run.Digest, CredentialVersion: run.CredentialVersion, Tool: run.Tool, Passed: run.Passed,
		ArgumentsHash: hex.EncodeToString(args[:]), AnswerHash: hex.EncodeToString(answer[:]), Outcome: store.JSON(kept),
	}
	from, to := store.Draft, store.Draft
	err := ws.Update(ctx, func(tx *store.Tx) error {
		cur, err := tx.Toolset(ctx, d.Toolset.ID)
		if err != nil {
			return err
		}
		if cur.DraftDigest != run.Digest {
			return problem.New(problem.Conflict, "the toolset was changed while it was tested").Fix("test it again").Because(store.ErrStale)
		}
		if last, err := tx.LastTestRun(ctx, d.Toolset.ID, run.Digest); err != nil {
			return err
		} else if last != nil && last.Passed {
			from, to = store.Tested, store.Tested
		}
		if run.Passed {
			if to, err = store.Next(from, store.Pass); err != nil {
				return err
			}
		}
		if err := tx.AddTestRun(ctx, row); err != nil {
			return err
		}
		*d.Toolset = *cur // another writer may have changed what is not in the digest
		if err := tx.SaveToolset(ctx, d.Toolset); err != nil {
			return err
		}
		rec := request.Audit(ctx, "toolset.test", d.Toolset.ID)
		rec.Digest = run.Digest
		rec.After = store.JSON(map[string]any{"tool": run.Tool, "passed": run.Passed, "upstreamStatus": run.UpstreamStatus, "testRunId": row.ID})
		if !run.Passed {
			rec.Outcome = request.OutcomeFailed
		}
		return tx.Audit(ctx, rec)
	})
	run.ID = row.ID
	if err == nil && from != to {
		r.Events.Emit(publish.Event{Type: EventTested, Workspace: ws.ID(), Toolset: d.Toolset.ID, Digest: run.Digest, From: string(from), To: string(to)})
	}
	return err
}

// ShowTest reads a recorded test.
func ShowTest(row *store.TestRun) (*TestRun, error) {
	run := new(TestRun)
	if err := json.Unmarshal([]byte(row.Outcome), run); err != nil {
		return nil, fmt.Errorf("reading test %s: %w", row.ID, err)
	}
	run.ID, run.At = row.ID, row.CreatedAt.Time
	return run, nil
}

// TestRun is a recorded test of exactly one digest. It is never the answer
// itself, which may hold personal data.
type TestRun struct {
	ID                string          `json:"id,omitempty"`
	Digest            string          `json:"digest"`
	Tool              string          `json:"tool,omitempty"`
	Arguments         json.RawMessage `json:"arguments,omitempty" doc:"Shown to the caller of the test only."`
	Passed            bool            `json:"passed"`
	Possible          bool            `json:"possible" doc:"false: no tool could be tested; reason says why."`
	NoTest            bool            `json:"noTest,omitempty" doc:"It called no API: it is not recorded, and deploys nothing."`
	Reason            string          `json:"reason,omitempty" doc:"Why it did not pass."`
	UpstreamStatus    int             `json:"upstreamStatus,omitempty"`
	DurationSeconds   float64         `json:"durationSeconds"`
	UpstreamSeconds   float64         `json:"upstreamSeconds"`
	BytesReceived     int             `json:"bytesReceived"`
	Tokens            TestTokens      `json:"tokens"`
	CredentialVersion uint64          `json:"credentialVersion" doc:"Version of the secret that was used, 0: none."`
	At                time.Time       `json:"at"`
	Answer            string          `json:"answer,omitempty" doc:"What the agent would receive, cut at 16 KiB, at 256 KiB with inspect; shown to the caller of the test only."`
	AnswerCut         bool            `json:"answerCut,omitempty"`

	Unmatched []engine.Unmatched `json:"unmatched,omitempty" doc:"What the field mask of the tool names and this answer has nowhere, at most 10: a mistyped name, or one that other answers have."`

	More     []TestedTool `json:"more,omitempty" doc:"Other tools that the draft changes and that were tested too, at most 9; the test passes when all do."`
	Untested []string     `json:"untested,omitempty" doc:"Tools that the draft changes and that this test does not cover: they may change something, or need arguments that only you know. At most 10."`

	// Waits are addresses that must be confirmed before anything is tested.
	Waits []credential.OriginChange `json:"-"`
	// Inspection is for the caller of the test only.
	Inspection *playground.Inspection `json:"-"`
	inspect    bool                   // was asked for
	refused    bool                   // the upstream was reached, and says that the call failed
}

// TestTokens are o200k_base tokens of the answer.
type TestTokens struct {
	Received int `json:"received" doc:"Body as received."`
	Minified int `json:"minified" doc:"The same without insignificant white space."`
	Result   int `json:"result" doc:"What the agent receives."`
}

// testListing is the test of an MCP server none of whose tools is known to be safe: it
// is reached with the connector's credential, and has the tools that are served.
func (r *Room) testListing(ctx context.Context, ws *store.Workspace, d *draft.Draft, p *draft.Part, run *TestRun) error {
	run.Possible, run.Tool, run.Arguments, run.CredentialVersion = true, "tools/list", []byte("{}"), d.CredentialVersion()
	if d.Bundle == nil {
		if err := r.Drafts.Push(ctx, d); err != nil {
			return err
		}
	}
	ctx = safedial.WithHolder(ctx, d.Toolset.ID)
	t := mcpserver.Target{URL: p.BaseURL(), Hint: *p.Conn.Opened.MCP()}
	start := time.Now()
	l, err := r.Servers.List(ctx, t, p.Creds)
	run.DurationSeconds = time.Since(start).Seconds()
	if err != nil {
		run.Reason = request.Detail(err)
		return r.recordTest(ctx, ws, d, run)
	}
	run.UpstreamStatus = http.StatusOK
	names := make(map[string]bool, len(l.Server.Tools))
	var all connector.MCPServer
	for _, raw := range l.Server.Tools {
		all.Tools = append(all.Tools, raw)
		names[connector.NameMCP(raw)] = true
	}
	run.BytesReceived = len(all.Append(nil))
	tools := d.Tools(false)
	missing := slices.IndexFunc(tools, func(t toolset.Tool) bool {
		return t.Enabled && t.Operation.Connector == p.Row.Name && !names[t.Operation.Path[1:]]
	})
	if missing >= 0 {
		run.Reason = fmt.Sprintf("the server has no tool %s any more", tools[missing].Operation.Path[1:])
	} else {
		run.Passed = true
	}
	return r.recordTest(ctx, ws, d, run)
}

// TestRequest names the tool to test. Without one: the first safe operation that
// needs no arguments, else one whose required arguments have examples.
type TestRequest struct {
	Connector string         `json:"connector,omitempty" maxLength:"63" doc:"Test a tool of this connector. Default: of any."`
	Tool      string         `json:"tool,omitempty" maxLength:"64"`
	Arguments map[string]any `json:"arguments,omitempty"`
	KeepDraft bool           `json:"keepDraft,omitempty" doc:"Do not deploy when it passes."`
	Inspect   bool           `json:"inspect,omitempty" doc:"Answer with what was sent and received too, credentials masked."`
}

package usage

import (
	"context"
	"strconv"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
)

// followTick is how often who follows the call log looks without being woken: the
// gateway of this node writes its calls when it is asked for them, and another
// control plane on the same database rings no bell here.
const followTick = time.Second

// CallFilterInput restricts a list of calls.
type CallFilterInput struct {
	Toolset string   `query:"toolset" maxLength:"128" doc:"Only of this toolset, by id or slug."`
	Tool    string   `query:"tool" maxLength:"256" doc:"Only of tools of this name."`
	Outcome []string `query:"outcome" enum:"ok,tool_error,protocol_error,upstream_error,timeout,denied,plugin_error,cancelled" maxItems:"8" doc:"Only these outcomes."`
	Failed  bool     `query:"failed" doc:"Every outcome but ok."`
	Cause   string   `query:"cause" maxLength:"64" doc:"Only calls that failed of this: http_404, timeout, …"`
	Caller  string   `query:"caller" maxLength:"255" doc:"Only of this caller: the id of an access token, the subject of a JSON Web Token."`
	Node    string   `query:"node" maxLength:"64" doc:"Only of this edge; local: the control plane's own gateway."`
	Request string   `query:"request" maxLength:"64" doc:"Only with this JSON-RPC id, as the client wrote it."`
	Trace   string   `query:"trace" maxLength:"32" doc:"Only of this trace, 32 hexadecimal digits."`
	MinMs   int64    `query:"minMs" minimum:"0" maximum:"3600000" doc:"Only calls that took at least so many milliseconds."`
	Range   string   `query:"range" maxLength:"20" doc:"How far back from now: 10m, 24h, 7d. Not with from. Default: everything that is kept."`
}

// CallRangeInput restricts a list of calls, also to an absolute range.
type CallRangeInput struct {
	CallFilterInput
	From time.Time `query:"from" doc:"Only calls that began then or later."`
	To   time.Time `query:"to" doc:"Only calls that began before."`
}

// FollowCallsInput asks for calls that arrived after a place in the log.
type FollowCallsInput struct {
	CallFilterInput
	After string `query:"after" maxLength:"64" doc:"next of the answer before. Absent: where the log ends now."`
	Wait  int    `query:"wait" minimum:"0" maximum:"60" default:"0" doc:"Seconds to wait for a call."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"200" doc:"Most items."`
}

// LoggedCall is a call of a tool.
type LoggedCall struct {
	ID         string     `json:"id" example:"call_1042"`
	At         time.Time  `json:"at" doc:"When it began, by the clock of its node."`
	ToolsetID  string     `json:"toolsetId"`
	Toolset    string     `json:"toolset,omitempty" doc:"Slug; absent when the toolset was deleted."`
	Tool       string     `json:"tool"`
	Revision   uint64     `json:"revision" doc:"Of the toolset."`
	Outcome    string     `json:"outcome" doc:"ok, tool_error, protocol_error, upstream_error, timeout, denied, plugin_error or cancelled."`
	Cause      string     `json:"cause,omitempty" doc:"What made it fail: http_404, timeout, …"`
	Credential string     `json:"credential" doc:"State of the credentials: none, accepted, refused or missing."`
	Status     int        `json:"status,omitempty" doc:"Of the upstream."`
	Cached     bool       `json:"cached,omitempty" doc:"Answered without the upstream."`
	Caller     CallCaller `json:"caller"`
	Node       string     `json:"node" doc:"Edge that served it; local: the control plane's own gateway."`
	Request    string     `json:"request,omitempty" doc:"JSON-RPC id, as the client wrote it."`
	Trace      string     `json:"trace,omitempty" doc:"trace-id of the client's traceparent."`
	Duration   CallStages `json:"duration"`
	Bytes      CallSizes  `json:"bytes" doc:"Of the answer."`
	Tokens     CallSizes  `json:"tokens" doc:"Of the answer, estimated."`
	Captured   bool       `json:"captured,omitempty" doc:"Arguments and answer were kept."`
	Inner      bool       `json:"inner,omitempty" doc:"A workflow, a script or a batch made it."`
	Script     string     `json:"script,omitempty" doc:"Digest of the script that ran."`
}

// CallCaller is who called.
type CallCaller struct {
	Kind string `json:"kind" doc:"anonymous, token or jwt."`
	ID   string `json:"id,omitempty" doc:"Of the access token, or the subject."`
	Name string `json:"name,omitempty" doc:"Of the access token; absent when its toolset was deleted."`
}

// CallStages is where the time of a call went, in milliseconds.
type CallStages struct {
	TotalMs    float64 `json:"totalMs"`
	PrepareMs  float64 `json:"prepareMs" doc:"Arguments, request, credential, cache."`
	UpstreamMs float64 `json:"upstreamMs" doc:"Waiting for the upstream."`
	ShapeMs    float64 `json:"shapeMs" doc:"Response programs and plugins."`
	EncodeMs   float64 `json:"encodeMs" doc:"The text that the agent reads."`
}

// CallSizes is how large an answer was.
type CallSizes struct {
	Before uint64 `json:"before" doc:"As the upstream sent it."`
	After  uint64 `json:"after" doc:"As the agent got it."`
}

// CallDetail is a call with what was captured of it.
type CallDetail struct {
	LoggedCall
	Arguments string `json:"arguments,omitempty" doc:"As the agent sent them, redacted and cut at 4096 bytes."`
	Answer    string `json:"answer,omitempty" doc:"As the agent got it, redacted and cut at 4096 bytes."`
}

// FollowedCalls is what arrived in the call log.
type FollowedCalls struct {
	Items []LoggedCall `json:"items" doc:"In the order in which they arrived."`
	Next  string       `json:"next" doc:"Where to go on, as after."`
}

// filter makes the filter of the store.
func (in *CallFilterInput) filter(ctx context.Context, ws *store.Workspace) (*store.CallFilter, error) {
	f := &store.CallFilter{
		Tool: in.Tool, Outcomes: in.Outcome, Failed: in.Failed, Caller: in.Caller, Node: in.Node, Cause: in.Cause, Request: in.Request, Trace: in.Trace,
		SlowerThan: time.Duration(in.MinMs) * time.Millisecond,
	}
	var err error
	if f.Toolset, err = ToolsetID(ctx, ws, in.Toolset); err != nil {
		return nil, err
	}
	if in.Range != "" {
		d, err := ParseRange(in.Range)
		if err != nil {
			return nil, err
		}
		f.From = ws.Now().Add(-d)
	}
	return f, nil
}

// Calls reads a page of the call log, newest first, and with the first page how many calls
// of the range are not in the log.
func (r *Room) Calls(ctx context.Context, ws *store.Workspace, in *CallRangeInput, page store.Page) (shown []LoggedCall, next string, omitted uint64, err error) {
	f, err := in.filter(ctx, ws)
	if err != nil {
		return nil, "", 0, err
	}
	if !in.From.IsZero() {
		if in.Range != "" {
			return nil, "", 0, problem.New(problem.InvalidArgument, "range and from are two ways to say the same").Fix("leave one out")
		}
		f.From = in.From.UTC()
	}
	f.To = in.To.UTC()
	if page.After == "" {
		r.settle(ctx)
		to := f.To
		if to.IsZero() {
			to = ws.Now().Add(time.Second)
		}
		if omitted, err = ws.CallsOmitted(ctx, f.From, to, f.Toolset); err != nil {
			return nil, "", 0, err
		}
	}
	rows, next, err := ws.Calls(ctx, f, page)
	if err != nil {
		return nil, "", 0, err
	}
	shown, err = showCalls(rows, namesOf(ctx, ws))
	return shown, next, omitted, err
}

// Call reads a call with what was captured of it.
func (r *Room) Call(ctx context.Context, ws *store.Workspace, id string) (*CallDetail, error) {
	row, err := ws.Call(ctx, id)
	if err != nil {
		return nil, err
	}
	shown, err := showCall(row, namesOf(ctx, ws))
	return &CallDetail{shown, row.Arguments, row.Answer}, err
}

// Follow waits for calls that arrive after a place in the log.
func (r *Room) Follow(ctx context.Context, ws *store.Workspace, in *FollowCallsInput) (*FollowedCalls, error) {
	f, err := in.filter(ctx, ws)
	if err != nil {
		return nil, err
	}
	var at uint64
	r.settle(ctx)
	if in.After == "" {
		if at, err = ws.LastCall(ctx); err != nil {
			return nil, err
		}
	} else if at, err = strconv.ParseUint(in.After, 10, 63); err != nil {
		return nil, problem.New(problem.InvalidArgument, "%.64q is not a place in the call log", in.After).Fix("send next of the answer before, or leave after out")
	}
	wait := time.NewTimer(time.Duration(in.Wait) * time.Second)
	defer wait.Stop()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	known := namesOf(ctx, ws)
	for {
		rung := r.arrived.Wait()
		rows, last, err := ws.CallsAfter(ctx, f, at, in.Limit)
		if err != nil {
			return nil, err
		}
		at = last
		done := len(rows) > 0
		if !done {
			select {
			case <-rung:
				continue
			case <-tick.C:
				r.settle(ctx)
				continue
			case <-wait.C:
			case <-r.Stopping:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		shown, err := showCalls(rows, known)
		return &FollowedCalls{Items: shown, Next: strconv.FormatUint(at, 10)}, err
	}
}

func showCalls(rows []store.Call, known names) ([]LoggedCall, error) {
	out := make([]LoggedCall, len(rows))
	for i := range rows {
		var err error
		if out[i], err = showCall(&rows[i], known); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func showCall(c *store.Call, known names) (LoggedCall, error) {
	ms := func(us uint64) float64 { return float64(us) / 1000 }
	slug, err := known.slug(c.ToolsetID)
	if err != nil {
		return LoggedCall{}, err
	}
	caller := CallCaller{Kind: c.CallerKind, ID: c.Caller}
	if c.CallerKind == "token" {
		if caller.Name, err = known.token(c.ToolsetID, c.Caller); err != nil {
			return LoggedCall{}, err
		}
	}
	return LoggedCall{
		ID: c.ID(), At: c.At.Time, ToolsetID: c.ToolsetID, Toolset: slug, Tool: c.Tool, Revision: c.Revision, Outcome: c.Outcome, Cause: c.Cause,
		Credential: c.Credential, Status: c.Status, Cached: c.Cached, Caller: caller, Node: c.Node,
		Request: c.Request, Trace: c.Trace, Captured: c.Captured, Inner: c.Inner, Script: c.Script,
		Duration: CallStages{TotalMs: ms(c.Duration), PrepareMs: ms(c.Prepare), UpstreamMs: ms(c.Upstream), ShapeMs: ms(c.Shape), EncodeMs: ms(c.Encode)},
		Bytes:    CallSizes{Before: c.BytesBefore, After: c.BytesAfter}, Tokens: CallSizes{Before: c.TokensBefore, After: c.TokensAfter},
	}, nil
}

// names reads what people call the toolsets and access tokens of calls, each of them once;
// what is gone has none.
type names struct {
	slug  func(toolset string) (string, error)
	token func(toolset, id string) (string, error)
}

func namesOf(ctx context.Context, ws *store.Workspace) names {
	tokens := map[[2]string]string{}
	return names{slug: slugsOf(ctx, ws), token: func(toolset, id string) (string, error) {
		key := [2]string{toolset, id}
		if name, ok := tokens[key]; ok {
			return name, nil
		}
		row, err := ws.AccessToken(ctx, toolset, id)
		switch {
		case problem.Is(err, problem.NotFound):
			tokens[key] = ""
		case err != nil:
			return "", err
		default:
			tokens[key] = row.Name
		}
		return tokens[key], nil
	}}
}

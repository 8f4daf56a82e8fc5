package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/extism"
)

// Trace is what a traced call reports about itself.
type Trace struct {
	Total, Upstream time.Duration
	Stages          [stageCount]time.Duration // in the order of a call

	Healed int  // arguments read as the type they should have ("5" as 5)
	Status int  // of the upstream; 0: no answer
	Cached bool // the answer was kept or shared

	Program        bool   // the response program ran
	ProgramFailure string // why it could not: input, fuel, depth, memory, trap; jq, jq_bounds
	FieldsDropped  uint64
	Form           string        // json, table or toon; "": not JSON
	Shown, Items   int           // of an answer that was cut: items shown and there; 0: not cut
	Plugins        []PluginTrace // third parties', in the order they ran
	Calls          []ToolTrace   // of a workflow, script or batch, in the order they ended
	Inspection     *Inspection   // nil unless asked for; not in JSON

	// Sizes of the answer: as received, received and pretty-printed, minified, and
	// the text the agent reads. Tokens are o200k_base, exact. All zero for what is
	// not text.
	BytesReceived, BytesMinified, BytesResult                  int
	TokensReceived, TokensPretty, TokensMinified, TokensResult int
}

// PluginTrace is one third-party plugin of a traced call.
type PluginTrace struct {
	Name    string       `json:"name"`
	Version string       `json:"version"`
	Digest  string       `json:"digest"`            // of its module
	Took    Milliseconds `json:"ms"`                // with waiting for an instance, and with loading it at the first call
	BytesIn int          `json:"bytesIn"`           // of the answer that it got
	Bytes   int          `json:"bytes"`             // and of the answer behind it
	Failure string       `json:"failure,omitempty"` // why it failed; for the operator
	Failed  bool         `json:"failed"`            // the answer went on as the plugin got it, or the call failed
	// Requests are those that were sent for the plugin to hosts that it was granted.
	Requests []RequestTrace `json:"requests,omitempty"`
}

// RequestTrace is an HTTP request that was sent for a plugin.
type RequestTrace struct {
	Method string       `json:"method"`
	Host   string       `json:"host"`
	Status int          `json:"status"` // 0: no answer
	Sent   int          `json:"bytesSent"`
	Bytes  int          `json:"bytes"`
	Took   Milliseconds `json:"ms"`
}

// ToolTrace is a call of a tool that a workflow, a script or a batch made.
type ToolTrace struct {
	Tool     string       `json:"tool"`
	Outcome  string       `json:"outcome"`
	Status   int          `json:"status"`  // of the upstream; 0: no answer
	Start    Milliseconds `json:"startMs"` // since the outer call began
	Took     Milliseconds `json:"ms"`
	Upstream Milliseconds `json:"upstreamMs"`
	Cached   bool         `json:"cached"`
	BytesIn  int          `json:"bytesIn"`  // of the answer as it came
	TokensIn int          `json:"tokensIn"` // of the answer as it came
	Bytes    int          `json:"bytes"`    // as it was given on
	Tokens   int          `json:"tokens"`   // as it was given on
}

// Milliseconds is a duration that JSON has in milliseconds.
type Milliseconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m).Microseconds())/1000, 'f', -1, 64), nil
}

// maxPluginFailure is how much of a plugin's own words about a failure a trace holds.
const maxPluginFailure = 300

func newPluginTrace(p *snapshot.Plugin, in, out int, took time.Duration, sent []extism.Request, err error) PluginTrace {
	pt := PluginTrace{
		Name: p.Ref.Name, Version: p.Ref.Version, Digest: string(p.Ref.Digest), Took: Milliseconds(took), BytesIn: in, Bytes: out, Failed: err != nil,
	}
	for _, r := range sent {
		pt.Requests = append(pt.Requests, RequestTrace{Method: r.Method, Host: r.Host, Status: r.Status, Sent: r.Sent, Bytes: r.Bytes, Took: Milliseconds(r.Took)})
	}
	switch _, said := errors.AsType[*extism.PluginError](err); {
	case err == nil:
	case said && p.Redacts: // its words may repeat what it was to take out
		pt.Failure = "the plugin said that it failed"
	default:
		pt.Failure = strings.ToValidUTF8(err.Error(), "\uFFFD")
		pt.Failure = strings.ToValidUTF8(pt.Failure[:min(len(pt.Failure), maxPluginFailure)], "")
	}
	return pt
}

// measure counts tokens, after the clock was read.
func (t *Trace) measure(x *exchange) {
	t.Status, t.Cached, t.Healed = x.out.Status, x.out.Cached, x.built.Healed
	if x.answer.media != "" {
		t.BytesReceived = len(x.body)
		return
	}
	t.BytesReceived, t.BytesResult = len(x.body), len(x.answer.text)
	t.TokensReceived, t.TokensResult = tokens.Count(x.body), tokens.Count(x.answer.text)+tokens.Count(x.notes)
	t.BytesMinified, t.TokensMinified, t.TokensPretty = t.BytesReceived, t.TokensReceived, t.TokensReceived
	v, err := jsonscan.Parse(x.body, 0)
	if err != nil {
		return
	}
	small := jsonscan.AppendMinified(nil, v.Raw())
	t.BytesMinified, t.TokensMinified = len(small), tokens.Count(small)
	var pretty bytes.Buffer
	if json.Indent(&pretty, small, "", "  ") == nil {
		t.TokensPretty = tokens.Count(pretty.Bytes())
	}
}

// StageTime is how long a stage of a call took.
type StageTime struct {
	Name string
	Took time.Duration
}

// StageTimes are the stages that the call went through, in their order.
func (t *Trace) StageTimes() []StageTime {
	var list []StageTime
	for i, d := range t.Stages {
		if d > 0 {
			list = append(list, StageTime{stageNames[i], d})
		}
	}
	return list
}

// TraceKey is the member of _meta that asks for a trace and that holds it.
const TraceKey = "dev.sluice/trace"

// AppendJSON appends the member of _meta: "dev.sluice/trace":{…}. Times are
// milliseconds.
func (t *Trace) AppendJSON(dst []byte) []byte {
	stages := []byte{'{'}
	for i, d := range t.Stages {
		ms, _ := Milliseconds(d).MarshalJSON() // never fails
		stages = jsonscan.AppendMember(stages, 1, []byte(stageNames[i]), ms)
	}
	type program struct {
		Ran     bool   `json:"ran"`
		Failure string `json:"failure,omitempty"`
		Dropped uint64 `json:"fieldsDropped"`
	}
	type cut struct {
		Shown int `json:"shown"`
		Items int `json:"items"`
	}
	type sizes struct {
		Received int  `json:"received"`
		Pretty   *int `json:"pretty,omitempty"`
		Minified int  `json:"minified"`
		Result   int  `json:"result"`
	}
	v := struct {
		Total    Milliseconds    `json:"totalMs"`
		Upstream Milliseconds    `json:"upstreamMs"`
		Stages   json.RawMessage `json:"stagesMs"`
		Healed   int             `json:"healed"`
		Status   int             `json:"status"`
		Cached   bool            `json:"cached"`
		Program  program         `json:"program"`
		Plugins  []PluginTrace   `json:"plugins,omitempty"`
		Calls    []ToolTrace     `json:"calls,omitempty"`
		Form     string          `json:"form"`
		Cut      *cut            `json:"cut,omitempty"`
		Bytes    sizes           `json:"bytes"`
		Tokens   sizes           `json:"tokens"`
	}{
		Milliseconds(t.Total), Milliseconds(t.Upstream), append(stages, '}'), t.Healed, t.Status, t.Cached,
		program{t.Program, t.ProgramFailure, t.FieldsDropped},
		t.Plugins, t.Calls, t.Form, nil,
		sizes{t.BytesReceived, nil, t.BytesMinified, t.BytesResult},
		sizes{t.TokensReceived, &t.TokensPretty, t.TokensMinified, t.TokensResult},
	}
	if t.Items > 0 {
		v.Cut = &cut{t.Shown, t.Items}
	}
	b, _ := json.Marshal(v) // plain data: never fails
	return append(append(dst, `"`+TraceKey+`":`...), b...)
}

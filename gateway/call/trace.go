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
	Calls          []ToolTrace   // of a workflow, in the order they ended

	// Sizes of the answer: as received, received and pretty-printed, minified, and
	// the text the agent reads. Tokens are o200k_base, exact. All zero for what is
	// not text.
	BytesReceived, BytesMinified, BytesResult                  int
	TokensReceived, TokensPretty, TokensMinified, TokensResult int
}

// PluginTrace is one third-party plugin of a traced call.
type PluginTrace struct {
	Name, Version string
	Digest        string        // of its module
	Took          time.Duration // with waiting for an instance, and with loading it at the first call
	BytesIn       int           // of the answer that it got
	Bytes         int           // and of the answer behind it
	Failed        bool          // the answer went on as the plugin got it, or the call failed
	Failure       string        // why; for the operator
}

// ToolTrace is a tool that a workflow called.
type ToolTrace struct {
	Tool           string
	Outcome        string
	Status         int           // of the upstream; 0: no answer
	Start          time.Duration // since the workflow was called
	Took, Upstream time.Duration
	Cached         bool
	BytesIn, Bytes int // of the answer as it came, and as the workflow got it
	TokensIn       int // of the answer as it came
}

// maxPluginFailure is how much of a plugin's own words about a failure a trace holds.
const maxPluginFailure = 300

func (t *Trace) plugin(p *snapshot.Plugin, in, out int, took time.Duration, err error) {
	pt := PluginTrace{
		Name: p.Ref.Name, Version: p.Ref.Version, Digest: string(p.Ref.Digest), Took: took, BytesIn: in, Bytes: out, Failed: err != nil,
	}
	switch _, said := errors.AsType[*extism.PluginError](err); {
	case err == nil:
	case said && p.Redacts: // its words may repeat what it was to take out
		pt.Failure = "the plugin said that it failed"
	default:
		pt.Failure = strings.ToValidUTF8(err.Error(), "\uFFFD")
		pt.Failure = strings.ToValidUTF8(pt.Failure[:min(len(pt.Failure), maxPluginFailure)], "")
	}
	t.Plugins = append(t.Plugins, pt)
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

// TraceKey is the member of _meta that asks for a trace and that holds it.
const TraceKey = "dev.sluice/trace"

// AppendJSON appends the member of _meta: "dev.sluice/trace":{…}. Times are
// milliseconds.
func (t *Trace) AppendJSON(dst []byte) []byte {
	ms := func(name string, d time.Duration) {
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = strconv.AppendFloat(dst, float64(d.Microseconds())/1000, 'f', -1, 64)
	}
	num := func(name string, n int) {
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	dst = append(dst, `"`+TraceKey+`":{`...)
	ms("totalMs", t.Total)
	dst = append(dst, ',')
	ms("upstreamMs", t.Upstream)
	dst = append(dst, `,"stagesMs":{`...)
	for i := range t.Stages {
		if i > 0 {
			dst = append(dst, ',')
		}
		ms(stageNames[i], t.Stages[i])
	}
	dst = append(dst, `},`...)
	num("healed", t.Healed)
	dst = append(dst, ',')
	num("status", t.Status)
	dst = append(dst, `,"cached":`...)
	dst = strconv.AppendBool(dst, t.Cached)
	dst = append(dst, `,"program":{"ran":`...)
	dst = strconv.AppendBool(dst, t.Program)
	if t.ProgramFailure != "" {
		dst = append(dst, `,"failure":`...)
		dst = jsonscan.AppendStringOf(dst, t.ProgramFailure)
	}
	dst = append(dst, ',')
	num("fieldsDropped", int(t.FieldsDropped))
	dst = append(dst, '}')
	for i, p := range t.Plugins {
		dst = append(dst, ",{"...)
		if i == 0 {
			dst = append(dst[:len(dst)-2], `,"plugins":[{`...)
		}
		dst = append(jsonscan.AppendStringOf(append(dst, `"name":`...), p.Name), ',')
		dst = append(jsonscan.AppendStringOf(append(dst, `"version":`...), p.Version), ',')
		dst = append(jsonscan.AppendStringOf(append(dst, `"digest":`...), p.Digest), ',')
		ms("ms", p.Took)
		dst = append(dst, ',')
		num("bytesIn", p.BytesIn)
		dst = append(dst, ',')
		num("bytes", p.Bytes)
		if p.Failure != "" {
			dst = jsonscan.AppendStringOf(append(dst, `,"failure":`...), p.Failure)
		}
		dst = strconv.AppendBool(append(dst, `,"failed":`...), p.Failed)
		dst = append(dst, '}')
		if i == len(t.Plugins)-1 {
			dst = append(dst, ']')
		}
	}
	dst = t.appendCalls(dst)
	dst = append(dst, `,"form":`...)
	dst = jsonscan.AppendStringOf(dst, t.Form)
	if t.Items > 0 {
		dst = append(dst, `,"cut":{`...)
		num("shown", t.Shown)
		dst = append(dst, ',')
		num("items", t.Items)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"bytes":{`...)
	num("received", t.BytesReceived)
	dst = append(dst, ',')
	num("minified", t.BytesMinified)
	dst = append(dst, ',')
	num("result", t.BytesResult)
	dst = append(dst, `},"tokens":{`...)
	num("received", t.TokensReceived)
	dst = append(dst, ',')
	num("pretty", t.TokensPretty)
	dst = append(dst, ',')
	num("minified", t.TokensMinified)
	dst = append(dst, ',')
	num("result", t.TokensResult)
	return append(dst, `}}`...)
}

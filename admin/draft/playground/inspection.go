package playground

import (
	"strings"
	"time"
)

// Inspection is what a call sent and received. Credentials are masked, and texts are cut
// at 512 KiB.
type Inspection struct {
	IsError      bool              `json:"isError" doc:"What the agent receives says isError."`
	Form         string            `json:"form,omitempty" doc:"json, table or toon. Absent: the answer is not JSON." example:"table"`
	Cached       bool              `json:"cached,omitempty" doc:"The answer was kept from an earlier call."`
	ContentType  string            `json:"contentType,omitempty" doc:"Of the answer of the API." example:"application/json"`
	Received     string            `json:"received" doc:"The answer of the API as received, without credentials; of an MCP server its result."`
	Shaped       string            `json:"shaped,omitempty" doc:"The same as JSON, with the settings of answers and the plugins applied; before it is written as the agent reads it. Absent: not JSON, or as received."`
	Inputs       []InspectedInput  `json:"inputs,omitempty" doc:"What third-party plugins get of the answer, before any of them ran; also where none is bound. At most 8."`
	Cut          bool              `json:"cut,omitempty" doc:"A text is longer than 512 KiB and was cut."`
	Failure      string            `json:"failure,omitempty" doc:"Why the settings of answers could not be applied." example:"fuel"`
	TotalMs      float64           `json:"totalMs" example:"214.3"`
	UpstreamMs   float64           `json:"upstreamMs" doc:"Waiting for the API." example:"198.1"`
	TokensPretty int               `json:"tokensPretty" doc:"Tokens of the answer as received, pretty-printed." example:"3184"`
	Request      *InspectedRequest `json:"request,omitempty" doc:"Absent: the tool is not an operation of an HTTP API, or nothing was sent."`
	Stages       []InspectedStage  `json:"stages,omitempty" doc:"The stages of the call, in their order."`
	Plugins      []InspectedPlugin `json:"plugins,omitempty" doc:"Third-party plugins, in the order they ran."`
	Calls        []InspectedCall   `json:"calls,omitempty" doc:"Calls of a workflow, a script or a batch, in the order they ended."`
}

// InspectedRequest is the request that was sent.
type InspectedRequest struct {
	Method  string            `json:"method" example:"GET"`
	URL     string            `json:"url" doc:"Credentials in the query are masked." example:"https://api.example.com/things?limit=5"`
	Headers []InspectedHeader `json:"headers,omitempty" doc:"At most 64."`
	Body    string            `json:"body,omitempty" doc:"Without a credential that travels in it."`
}

// InspectedHeader is a header of a request.
type InspectedHeader struct {
	Name  string `json:"name" example:"Authorization"`
	Value string `json:"value" doc:"•••• in place of a credential." example:"••••"`
}

// InspectedInput is a part of an answer as plugins get it.
type InspectedInput struct {
	Part string `json:"part" doc:"sluice.part of the contract: answer or error." example:"answer"`
	Type string `json:"type" doc:"Its media type." example:"application/json"`
	Text string `json:"text,omitempty" doc:"Absent: a file." example:"{\"id\":7}"`
	Cut  bool   `json:"cut,omitempty" doc:"The text is longer than 512 KiB and was cut."`
	File bool   `json:"file,omitempty" doc:"It is not text."`
}

// InspectedStage is a part of a call.
type InspectedStage struct {
	Name string  `json:"name" doc:"decode, build, auth, cache, send, transform, plugins, compress or result." example:"send"`
	Ms   float64 `json:"ms" example:"198.1"`
}

// InspectedPlugin is a third-party plugin that ran.
type InspectedPlugin struct {
	Name    string  `json:"name" example:"mask-emails"`
	Version string  `json:"version" example:"1.2.0"`
	Ms      float64 `json:"ms" example:"0.4"`
	BytesIn int     `json:"bytesIn" doc:"Of the answer that it got." example:"5120"`
	Bytes   int     `json:"bytes" doc:"Of the answer that it made." example:"4810"`
	Failure string  `json:"failure,omitempty" doc:"Why it failed."`
}

// InspectedCall is a call that a workflow, a script or a batch made.
type InspectedCall struct {
	Tool     string  `json:"tool" example:"list_issues"`
	Outcome  string  `json:"outcome" example:"ok"`
	Status   int     `json:"status" doc:"Of the API; 0: no answer." example:"200"`
	StartMs  float64 `json:"startMs" doc:"Since the outer call began." example:"1.2"`
	Ms       float64 `json:"ms" example:"98.4"`
	TokensIn int     `json:"tokensIn" doc:"Of the answer as received." example:"3184"`
	Tokens   int     `json:"tokens" doc:"Of the answer that the client got." example:"611"`
}

// Text is what JSON can hold of bytes that came from outside.
func Text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// Milliseconds is a duration to the microsecond.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

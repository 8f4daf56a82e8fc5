package toolset

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/registry"
)

// Answers are the settings of answers, of a toolset, of one of its connectors or of
// one tool, as the API shows them: what it says itself. What a tool does not say is its
// connector's, and what that does not say the toolset's.
type Answers struct {
	Profile     string `json:"profile,omitempty" doc:"Of a connector or a tool: off, lossless or concise, instead of the toolset's."`
	Format      string `json:"format,omitempty" enum:"auto,json,table,toon" doc:"Default: auto, the shorter of table text and JSON."`
	Fields      string `json:"fields,omitempty" doc:"Field mask: items(id,name) keeps, -body leaves out."`
	Rows        string `json:"rows,omitempty" doc:"Of a tool: path to the list that where and limit are about; absent: the answer itself is the list."`
	Where       string `json:"where,omitempty" doc:"Of a tool: condition on rows, state == 'open' and comments > 5."`
	Limit       int    `json:"limit,omitempty" doc:"Of a tool: rows at most."`
	MaxString   int    `json:"maxString,omitempty" doc:"Bytes of a string; longer ones are cut and say so."`
	TokenBudget int    `json:"tokenBudget,omitempty" doc:"Tokens of an answer; a longer one is cut at whole items. Default: 20,000; -1: none."`
	JQ          string `json:"jq,omitempty" doc:"Of a tool: jq expression that runs last."`
	Redact      bool   `json:"redact,omitempty" doc:"No answer rather than one that these settings could not be applied to."`
	Structured  bool   `json:"structured,omitempty" doc:"Of a toolset or a connector: send outputSchema and structuredContent."`
	KeepHidden  bool   `json:"keepHidden,omitempty" doc:"Leave control, zero-width, bidirectional and private use characters in answers, which are removed otherwise."`

	TimeoutMs        int   `json:"timeoutMs,omitempty" doc:"Milliseconds an answer may take. Each progress report of an MCP server restarts them, up to an hour in all. Default: 30,000."`
	MaxResponseBytes int64 `json:"maxResponseBytes,omitempty" doc:"The largest answer of the API or server, compressed or not. Default: 16 MiB."`
}

// PatchAnswers changes the fields that are there (RFC 7396); null, "", 0 and false restore the
// default.
type PatchAnswers struct {
	Profile     *string `json:"profile,omitempty" enum:",off,lossless,concise"`
	Format      *string `json:"format,omitempty" enum:",auto,json,table,toon"`
	Fields      *string `json:"fields,omitempty" maxLength:"8192"`
	Rows        *string `json:"rows,omitempty" maxLength:"8192"`
	Where       *string `json:"where,omitempty" maxLength:"8192"`
	Limit       *int    `json:"limit,omitempty" minimum:"0" maximum:"1000000"`
	MaxString   *int    `json:"maxString,omitempty" minimum:"0" maximum:"1048576"`
	TokenBudget *int    `json:"tokenBudget,omitempty" minimum:"-1" maximum:"2000000"`
	JQ          *string `json:"jq,omitempty" maxLength:"8192"`
	Redact      *bool   `json:"redact,omitempty"`
	Structured  *bool   `json:"structured,omitempty"`
	KeepHidden  *bool   `json:"keepHidden,omitempty"`

	TimeoutMs        *int   `json:"timeoutMs,omitempty" minimum:"0" maximum:"3600000" doc:"0, or 100 to 3,600,000."`
	MaxResponseBytes *int64 `json:"maxResponseBytes,omitempty" minimum:"0" maximum:"67108864" doc:"0, or from 1,024 to 64 MiB."`
}

// UnmarshalJSON decodes a merge patch.
func (p *PatchAnswers) UnmarshalJSON(b []byte) error {
	type plain PatchAnswers
	return request.UnmarshalPatch(b, (*plain)(p))
}

// Restore has p restore all defaults.
func (p *PatchAnswers) Restore() {
	for _, f := range reflect.ValueOf(p).Elem().Fields() {
		f.Set(reflect.New(f.Type().Elem()))
	}
}

// apply changes the fields of a that p has.
func (p *PatchAnswers) apply(a *registry.Answers) {
	Put(&a.Profile, p.Profile)
	Put(&a.Format, p.Format)
	Put(&a.Fields, p.Fields)
	Put(&a.Rows, p.Rows)
	Put(&a.Where, p.Where)
	Put(&a.Limit, p.Limit)
	Put(&a.MaxString, p.MaxString)
	Put(&a.Budget, p.TokenBudget)
	Put(&a.JQ, p.JQ)
	Put(&a.Redact, p.Redact)
	Put(&a.Structured, p.Structured)
	Put(&a.KeepHidden, p.KeepHidden)
	Put(&a.TimeoutMilliseconds, p.TimeoutMs)
	Put(&a.ResponseBytes, p.MaxResponseBytes)
	if a.Format == registry.FormatAuto {
		a.Format = ""
	}
	if a.Where == "" && a.Limit == 0 && p.Rows == nil {
		a.Rows = ""
	}
}

// Put writes what a request gives; nil keeps what is there.
func Put[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// AnswersOf reads the settings of a record; nil for none.
func AnswersOf(record string) (*registry.Answers, error) {
	if record == "" {
		return nil, nil //nolint:nilnil // no settings are no fault
	}
	a := new(registry.Answers)
	if err := json.Unmarshal([]byte(record), a); err != nil {
		return nil, fmt.Errorf("reading settings of answers: %w", err)
	}
	return a, nil
}

// ChangeAnswers changes the settings in a record and returns the new record.
// output is the tool's output schema.
func ChangeAnswers(record string, p *PatchAnswers, at string, of registry.AnswersOf, output json.RawMessage) (string, error) {
	a, err := AnswersOf(record)
	if err != nil {
		return "", err
	}
	if a == nil {
		a = new(registry.Answers)
	}
	p.apply(a)
	if of == registry.OfTool && a.Rows == "" && (a.Where != "" || a.Limit != 0) {
		if a.Rows, err = onlyList(output, at); err != nil {
			return "", err
		}
	}
	if err := a.Validate(at, of); err != nil {
		return "", err
	}
	if *a == (registry.Answers{}) {
		return "", nil
	}
	return store.JSON(a), nil
}

// onlyList is the path of the list in answers that a schema describes; "" when
// the answer itself is the list, or nothing is known of it.
func onlyList(output json.RawMessage, at string) (string, error) {
	var s struct {
		Properties map[string]struct {
			Items json.RawMessage `json:"items"`
		} `json:"properties"`
	}
	if len(output) > 0 {
		if err := json.Unmarshal(output, &s); err != nil {
			return "", fmt.Errorf("reading the output schema: %w", err)
		}
	}
	var lists []string
	for name, p := range s.Properties {
		if len(p.Items) > 0 && strings.Contains(string(p.Items), `"properties"`) {
			lists = append(lists, name)
		}
	}
	switch {
	case len(lists) == 0, len(s.Properties) == 1 && lists[0] == "result": // so an output schema describes a list
		return "", nil
	case len(lists) > 1:
		return "", request.FieldFault(at+"/rows", "the answer has several lists, %s: say which one where and limit are about", strings.Join(lists, ", "))
	}
	return lists[0], nil
}

// ShowAnswers is the settings of a record as the API shows them; nil for none.
func ShowAnswers(record string) *Answers {
	a, err := AnswersOf(record)
	if a == nil || err != nil {
		return nil
	}
	return &Answers{
		Profile: a.Profile, Format: a.Format, Fields: a.Fields, Rows: a.Rows, Where: a.Where, Limit: a.Limit, MaxString: a.MaxString,
		TokenBudget: a.Budget, JQ: a.JQ, Redact: a.Redact, Structured: a.Structured, KeepHidden: a.KeepHidden,
		TimeoutMs: a.TimeoutMilliseconds, MaxResponseBytes: a.ResponseBytes,
	}
}

// Record is the stored form of settings; "" for none.
func (a *Answers) Record(at string, of registry.AnswersOf) (string, error) {
	if a == nil {
		return "", nil
	}
	r := registry.Answers{
		Profile: a.Profile, Format: a.Format, Fields: a.Fields, Rows: a.Rows, Where: a.Where, Limit: a.Limit, MaxString: a.MaxString,
		Budget: a.TokenBudget, JQ: a.JQ, Redact: a.Redact, Structured: a.Structured, KeepHidden: a.KeepHidden,
		TimeoutMilliseconds: a.TimeoutMs, ResponseBytes: a.MaxResponseBytes,
	}
	if r == (registry.Answers{}) {
		return "", nil
	}
	return store.JSON(&r), r.Validate(at, of)
}

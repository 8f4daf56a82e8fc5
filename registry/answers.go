package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/engine"
	"github.com/sluicegate/sluice/plugins/jq"
)

// Bounds of the settings of answers.
const (
	// DefaultTokenBudget is what an answer may cost when nobody says: clients stop
	// at about 25,000 tokens (Claude Code does), and this leaves room for the rest.
	DefaultTokenBudget = 20_000
	// MinTokenBudget holds one ordinary item and the line about the others.
	MinTokenBudget = 200
	// MaxTokenBudget is more than any model's context.
	MaxTokenBudget = 2_000_000
	// NoTokenBudget lets every answer through whole.
	NoTokenBudget = -1
	// MinStringCap: a shorter cap leaves little but its mark.
	MinStringCap = 8
	// MaxStringCap is a long document.
	MaxStringCap = 1 << 20
	// MaxRowLimit of rows of a list.
	MaxRowLimit = 1_000_000
	// MinTimeoutMilliseconds of a call: nothing over a network is sure to answer in less.
	MinTimeoutMilliseconds = 100
	// MaxTimeoutMilliseconds is an hour: what takes longer is a job that is asked for
	// later. A call whose server reports progress may not take longer either.
	MaxTimeoutMilliseconds = 60 * 60 * 1000
	// MinResponseBytes holds the message of an error.
	MinResponseBytes = 1 << 10
	// MaxResponseBytes is the hard limit of an upstream body, 64 MiB: it is held in memory
	// while it is transformed.
	MaxResponseBytes = 64 << 20
)

// Formats of answers.
const (
	FormatAuto  = "auto"  // table text or minified JSON, whichever is fewer tokens
	FormatJSON  = "json"  // minified JSON
	FormatTable = "table" // table text (docs/table.md), where there is something to name once
	FormatTOON  = "toon"  // Token-Oriented Object Notation
)

// AnswersOf is what settings of answers belong to.
type AnswersOf uint8

// Settings belong to a whole toolset, to the tools of one of its connectors, or to one
// tool.
const (
	OfToolset AnswersOf = iota
	OfConnector
	OfTool
)

// Answers says what an operator makes of answers: of a toolset, of the tools of one
// connector in it, or of one tool. A tool's programs run before its connector's and
// those before the toolset's, and all before the connector's default projection; of
// the other settings the narrower win.
type Answers struct {
	Profile    string `json:"profile,omitempty"`     // of a connector or tool only; a toolset has Toolset.Profile
	Format     string `json:"format,omitempty"`      // FormatAuto, … Default: auto
	Fields     string `json:"fields,omitempty"`      // field mask: docs/response-programs.md §2
	Rows       string `json:"rows,omitempty"`        // path to the list that Where and Limit are about; "": the answer itself. Of a tool only
	Where      string `json:"where,omitempty"`       // condition on rows. Of a tool only
	Limit      int    `json:"limit,omitempty"`       // rows at most. Of a tool only; 0: all
	MaxString  int    `json:"maxString,omitempty"`   // bytes of a string; 0: no cap
	Budget     int    `json:"tokenBudget,omitempty"` // tokens; 0: DefaultTokenBudget, NoTokenBudget: none
	JQ         string `json:"jq,omitempty"`          // runs after all programs. Of a tool only
	Redact     bool   `json:"redact,omitempty"`      // no answer rather than one that the programs could not treat
	Structured bool   `json:"structured,omitempty"`  // send outputSchema and structuredContent. Not of a tool
	KeepHidden bool   `json:"keepHidden,omitempty"`  // leave control and invisible characters in answers

	// TimeoutMilliseconds is how long an answer may take; each report of progress of an
	// MCP server begins it anew, up to MaxTimeoutMilliseconds in all. 0: 30 seconds.
	TimeoutMilliseconds int `json:"timeoutMs,omitempty"`
	// ResponseBytes is the largest answer of an upstream, compressed or not. 0: 16 MiB.
	ResponseBytes int64 `json:"maxResponseBytes,omitempty"`

	// Program is the index of the compiled Fields, Rows, Where and Limit in the
	// bundle; nil: none of them is set.
	Program *int `json:"program,omitempty"`
}

// Validate reports the faults of a as [Toolset.Validate] does. at is the JSON
// pointer of a.
func (a *Answers) Validate(at string, of AnswersOf) error {
	f := &faults{kind: problem.InvalidArgument}
	a.validate(f, at, of)
	return f.err("the settings of answers are not valid")
}

// validate reports the faults of a.
func (a *Answers) validate(f *faults, at string, of AnswersOf) {
	switch a.Profile {
	case "":
	case ProfileOff, ProfileLossless, ProfileConcise:
		f.check(of != OfToolset, at+"/profile", "the profile of a toolset is its own field")
	default:
		f.add(at+"/profile", "profile %.80q is none of off, lossless, concise", a.Profile)
	}
	switch a.Format {
	case "", FormatAuto, FormatJSON, FormatTable, FormatTOON:
	default:
		f.add(at+"/format", "format %.80q is none of auto, json, table, toon", a.Format)
	}
	if a.Fields != "" {
		if _, err := engine.ParseMask(a.Fields); err != nil {
			f.add(at+"/fields", "%s", detail(err))
		}
	}
	if a.Rows != "" {
		if _, err := rowsPath(a.Rows); err != nil {
			f.add(at+"/rows", "%s", detail(err))
		}
	}
	if a.Where != "" {
		if _, err := engine.ParseWhere(a.Where); err != nil {
			f.add(at+"/where", "%s", detail(err))
		}
	}
	f.check(a.Rows == "" || a.Where != "" || a.Limit != 0, at+"/rows", "rows has no meaning without where or limit")
	f.check(a.Limit >= 0 && a.Limit <= MaxRowLimit, at+"/limit", "%d is not between 0 and %d", a.Limit, MaxRowLimit)
	f.check(a.MaxString == 0 || a.MaxString >= MinStringCap && a.MaxString <= MaxStringCap, at+"/maxString",
		"%d is not 0 or between %d and %d", a.MaxString, MinStringCap, MaxStringCap)
	f.check(a.Budget == 0 || a.Budget == NoTokenBudget || a.Budget >= MinTokenBudget && a.Budget <= MaxTokenBudget, at+"/tokenBudget",
		"%d is not 0, %d or between %d and %d", a.Budget, NoTokenBudget, MinTokenBudget, MaxTokenBudget)
	f.check(a.TimeoutMilliseconds == 0 || a.TimeoutMilliseconds >= MinTimeoutMilliseconds && a.TimeoutMilliseconds <= MaxTimeoutMilliseconds,
		at+"/timeoutMs", "%d is not 0 or between %d and %d", a.TimeoutMilliseconds, MinTimeoutMilliseconds, MaxTimeoutMilliseconds)
	f.check(a.ResponseBytes == 0 || a.ResponseBytes >= MinResponseBytes && a.ResponseBytes <= MaxResponseBytes,
		at+"/maxResponseBytes", "%d is not 0 or between %d and %d", a.ResponseBytes, MinResponseBytes, MaxResponseBytes)
	if a.JQ != "" {
		if _, err := jq.Compile(a.JQ); err != nil {
			f.add(at+"/jq", "%s", detail(err))
		}
	}
	if of == OfTool {
		f.check(!a.Structured, at+"/structured", "structured output is chosen for a toolset or a connector, not for a tool")
		return
	}
	f.check(a.Rows == "" && a.Where == "" && a.Limit == 0 && a.JQ == "", at,
		"where, rows, limit and jq belong to one tool: answers of different tools have different rows")
}

// detail is what err says to people.
func detail(err error) string {
	if p := problem.As(err); p != nil {
		return p.Error()
	}
	return err.Error()
}

// rowsPath reads Rows: names with dots between them.
func rowsPath(s string) ([]string, error) {
	m, err := engine.ReadMask(s)
	if err != nil {
		return nil, err
	}
	var path []string
	for {
		names := m.Names()
		if len(names) == 0 && m.Star() == nil && !m.Drops() {
			return path, nil
		}
		if len(names) != 1 || m.Star() != nil || m.Drops() {
			return nil, problem.New(problem.InvalidArgument, "%.80q is not a path to one list, such as data.items", s)
		}
		path = append(path, names[0])
		m = m.Sub(names[0])
	}
}

// Compile makes the program of a: what Fields, Rows, Where and Limit say; nil when
// they say nothing. Equal settings give equal bytes.
func (a *Answers) Compile() ([]byte, error) {
	if a.Fields == "" && a.Where == "" && a.Limit == 0 {
		return nil, nil
	}
	program := &engine.Program{}
	if a.Where != "" || a.Limit != 0 {
		rows := &engine.Node{Limit: uint32(a.Limit)}
		if a.Where != "" {
			var err error
			if rows.Where, err = engine.ParseWhere(a.Where); err != nil {
				return nil, err
			}
		}
		path, err := rowsPath(a.Rows)
		if a.Rows != "" && err != nil {
			return nil, err
		}
		if a.Rows == "" {
			path = nil
		}
		for _, name := range slices.Backward(path) {
			rows = &engine.Node{Fields: []engine.Field{{Name: name, Node: rows}}}
		}
		program.Root = rows
	}
	if a.Fields != "" {
		mask, err := engine.ParseMask(a.Fields)
		if err != nil {
			return nil, err
		}
		if program, err = engine.Merge(program, &engine.Program{Root: mask}); err != nil {
			return nil, fmt.Errorf("compiling settings of answers: %w", err)
		}
	}
	return engine.Compile(program)
}

// CompilePrograms compiles the settings of t, its connectors and its tools, notes in each which
// program is its own, and returns the programs of the bundle, equal ones once.
// t must be valid.
func (t *Toolset) CompilePrograms() ([][]byte, error) {
	var programs [][]byte
	at := map[string]int{}
	add := func(a *Answers) error {
		if a == nil {
			return nil
		}
		p, err := a.Compile()
		if err != nil {
			return err
		}
		a.Program = nil
		if p == nil {
			return nil
		}
		i, ok := at[string(p)]
		if !ok {
			i = len(programs)
			at[string(p)] = i
			programs = append(programs, p)
		}
		a.Program = &i
		return nil
	}
	if err := add(t.Answers); err != nil {
		return nil, err
	}
	for i := range t.Connectors {
		if err := add(t.Connectors[i].Answers); err != nil {
			return nil, fmt.Errorf("connector %s: %w", t.Connectors[i].Name, err)
		}
	}
	for i := range t.Tools {
		if err := add(t.Tools[i].Answers); err != nil {
			return nil, fmt.Errorf("%s %s: %w", t.Tools[i].Method, t.Tools[i].Path, err)
		}
	}
	return programs, nil
}

// checkPrograms requires that each setting names the program it compiles to:
// what a bundle's document says and what its programs do must be the same.
func (t *Toolset) checkPrograms(programs [][]byte) error {
	check := func(a *Answers, what string) error {
		if a == nil {
			return nil
		}
		want, err := a.Compile()
		if err != nil {
			return err
		}
		have := ""
		if a.Program != nil && *a.Program >= 0 && *a.Program < len(programs) {
			have = string(programs[*a.Program])
		}
		if have != string(want) {
			return problem.New(problem.InvalidPlugin, "the bundle's program of %s is not what its settings say", what).
				Fix("publish the toolset again with this version of Sluice")
		}
		return nil
	}
	if err := check(t.Answers, "the toolset"); err != nil {
		return err
	}
	for i := range t.Connectors {
		if err := check(t.Connectors[i].Answers, "connector "+t.Connectors[i].Name); err != nil {
			return err
		}
	}
	for i := range t.Tools {
		if err := check(t.Tools[i].Answers, strings.ToUpper(t.Tools[i].Method)+" "+t.Tools[i].Path); err != nil {
			return err
		}
	}
	return nil
}

package golden

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicegate/sluice/internal/atomicfile"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/strictjson"
	"github.com/sluicegate/sluice/internal/tokens"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// Bounds of golden cases.
const (
	// MaxCases of one plugin.
	MaxCases = 1000
	// MaxCaseBytes of one file: an answer and what becomes of it.
	MaxCaseBytes = 32 << 20
	// caseDepth is the nesting that encoding/json allows: answers nest as they do.
	caseDepth = 10000
)

// Case is one file.
type Case struct {
	Name      string // the file's, without .json
	Context   Context
	Config    json.RawMessage
	Input     json.RawMessage // a JSON body, or
	InputText *string         // any other
	// Calls are those that a workflow makes, with their recorded answers.
	Calls []Call
	// Secrets are those of an auth plugin's handles. They are part of the file: made up
	// or published ones.
	Secrets []string
	// Requests are those that a plugin with granted hosts makes, with their recorded answers.
	Requests []Request
	// Time is what a plugin reads that was granted the clock. Default: 2026-01-01, 0:00 UTC.
	Time time.Time
	Want Want

	replies *replies // of the plugin that was loaded last; see [Case.Load]
}

// Want is what the plugin has to make of the input: exactly one of the first three.
type Want struct {
	Output json.RawMessage // JSON, compared as JSON
	Text   *string         // anything else, compared as bytes
	Error  *string         // what the plugin says when it fails
	Tokens *Tokens         // written by an update
}

// Tokens are o200k_base tokens of the minified input and of the output.
type Tokens struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// Context is guest.Context as JSON.
type Context struct {
	Tool        string          `json:"tool,omitempty"`
	Operation   string          `json:"operation,omitempty"`
	Status      int             `json:"status,omitempty"`
	ContentType string          `json:"contentType,omitempty"`
	InputType   string          `json:"inputType,omitempty"` // "": JSON
	Part        string          `json:"part,omitempty"`      // "": answer
	Arguments   json.RawMessage `json:"arguments,omitempty"`
}

// Guest is the context that the plugin is given.
func (c *Context) Guest() *guest.Context {
	g := &guest.Context{Tool: c.Tool, Operation: c.Operation, Status: c.Status, ContentType: c.ContentType, InputType: cmp.Or(c.InputType, manifest.TypeJSON), Part: cmp.Or(c.Part, "answer"), Arguments: c.Arguments}
	if g.Status == 0 {
		g.Status = 200
	}
	if len(g.Arguments) == 0 {
		g.Arguments = []byte("{}")
	}
	return g
}

// caseFile is the JSON form of a Case.
type caseFile struct {
	Context    Context         `json:"context"`
	Config     json.RawMessage `json:"config,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	InputText  *string         `json:"inputText,omitempty"`
	Calls      []Call          `json:"calls,omitempty"`
	Secrets    []string        `json:"secrets,omitempty"`
	Requests   []Request       `json:"requests,omitempty"`
	Time       time.Time       `json:"time,omitzero"`
	Output     json.RawMessage `json:"output,omitempty"`
	OutputText *string         `json:"outputText,omitempty"`
	Error      *string         `json:"error,omitempty"`
	Tokens     *Tokens         `json:"tokens,omitempty"`
}

// Read returns the cases of a directory in the order of their names. It fails with
// a [problem.InvalidPlugin] that names the file.
func Read(dir string) ([]*Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		return nil, problem.New(problem.NotFound, "there are no golden cases in %s", dir).Fix(`write testdata/NAME.json with "input", and run "sluice plugin test --update"`)
	}
	if len(names) > MaxCases {
		return nil, problem.New(problem.InvalidPlugin, "%d golden cases are more than %d", len(names), MaxCases)
	}
	slices.Sort(names)
	var cases []*Case
	for _, n := range names {
		c, err := readCase(n)
		if err != nil {
			return nil, problem.New(problem.InvalidPlugin, "golden case %s: %v", n, err).Fix("see docs/plugins/testing.md")
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func readCase(name string) (*Case, error) {
	info, err := os.Stat(name)
	if err != nil || info.Size() > MaxCaseBytes {
		return nil, fmt.Errorf("it cannot be read, or has more than %d bytes", MaxCaseBytes)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	return Parse(strings.TrimSuffix(filepath.Base(name), ".json"), b)
}

// Parse reads the case of a name from the content of its file. Its errors are for
// whoever wrote it.
func Parse(name string, b []byte) (*Case, error) {
	var f caseFile
	if err := strictjson.Decode(b, &f, MaxCaseBytes, caseDepth); err != nil {
		return nil, err
	}
	if (f.Input == nil) == (f.InputText == nil) {
		return nil, errors.New(`it needs "input" or "inputText", and not both`)
	}
	for i := range f.Calls {
		if err := f.Calls[i].check(); err != nil {
			return nil, fmt.Errorf("calls[%d]: %w", i, err)
		}
	}
	if len(f.Requests) > maxRequests {
		return nil, fmt.Errorf("%d requests are more than %d", len(f.Requests), maxRequests)
	}
	for i := range f.Requests {
		if err := f.Requests[i].check(); err != nil {
			return nil, fmt.Errorf("requests[%d]: %w", i, err)
		}
	}
	return &Case{
		Name: name, Context: f.Context, Config: f.Config, Input: f.Input, InputText: f.InputText, Calls: f.Calls, Secrets: f.Secrets,
		Requests: f.Requests, Time: f.Time, Want: Want{Output: f.Output, Text: f.OutputText, Error: f.Error, Tokens: f.Tokens},
	}, nil
}

// Write writes the case to its file in dir.
func (c *Case) Write(dir string) error {
	f := caseFile{c.Context, c.Config, c.Input, c.InputText, c.Calls, c.Secrets, c.Requests, c.Time, c.Want.Output, c.Want.Text, c.Want.Error, c.Want.Tokens}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("writing golden case %s: %w", c.Name, err)
	}
	return atomicfile.Write(filepath.Join(dir, c.Name+".json"), b.Bytes(), 0o644)
}

// Body is the input as the plugin gets it: JSON minified, as the pipeline hands it on.
func (c *Case) Body() []byte {
	if c.InputText != nil {
		return []byte(*c.InputText)
	}
	var b bytes.Buffer
	if json.Compact(&b, c.Input) != nil {
		return c.Input
	}
	return b.Bytes()
}

// Transformer is what a case is run on; *guest.Plugin is one.
type Transformer interface {
	Transform(ctx context.Context, dst, in []byte, c *guest.Context) ([]byte, error)
}

// Result says what a plugin made of a case.
type Result struct {
	Got  Want          // Tokens included
	Diff string        // "" when it is what the case wants; otherwise for people
	Took time.Duration // of the call, once warm
}

// call makes the context of one call of p but for the calls of a workflow.
func (c *Case) call(p *guest.Package) *guest.Context {
	g := c.Context.Guest()
	if p.Manifest.Kind == manifest.Auth {
		list := make([]secrets.Secret, len(c.Secrets))
		for i, s := range c.Secrets {
			list[i] = secrets.New(s)
		}
		g.Keys = guest.NewKeys(p, list...)
	}
	return g
}

// Begin makes the context of one call of p, with the recorded answers of a workflow's
// calls.
func (c *Case) Begin(p *guest.Package) *guest.Context {
	g, _ := c.begin(p)
	return g
}

func (c *Case) begin(p *guest.Package) (*guest.Context, *player) {
	g, pl := c.call(p), &player{calls: c.Calls, made: make([]int, len(c.Calls))}
	if p.Manifest.Kind == manifest.Workflow {
		g.Calls = guest.NewCalls(p, pl)
	}
	return g, pl
}

// Run runs a case on t, which p was loaded as.
func Run(ctx context.Context, p *guest.Package, t Transformer, c *Case) Result {
	in := c.Body()
	g, calls := c.begin(p)
	out, err := t.Transform(ctx, nil, in, g)
	start := time.Now()
	// Once more when all is well, because the first call started the instance; a few
	// times after a deadline: a busy machine is no fault of the plugin, and one that
	// spins is stopped each time.
	const attempts = 3
	for range attempts {
		if err != nil && !errors.Is(err, extism.ErrDeadline) && !errors.Is(err, extism.ErrBusy) {
			break
		}
		g, calls = c.begin(p)
		start = time.Now()
		if out, err = t.Transform(ctx, out[:0], in, g); err == nil {
			break
		}
	}
	r := Result{Took: time.Since(start)}
	if errors.Is(err, extism.ErrDeadline) {
		r.Diff = err.Error()
		return r
	}
	if fault := calls.fault(); fault != "" {
		r.Diff = fault
		return r
	}
	if fault := c.replies.fault(); fault != "" && err == nil {
		r.Diff = fault
		return r
	}
	var said *extism.PluginError
	switch {
	case errors.As(err, &said):
		text := said.Error()
		r.Got.Error = &text
	case err != nil:
		r.Diff = err.Error()
		return r
	default:
		if !utf8.Valid(out) && c.InputText == nil {
			r.Diff = "its output is not UTF-8"
			return r
		}
		if fault := c.Refused(p, in, out); fault != nil {
			r.Diff = fault.Error()
			return r
		}
		r.Got.Tokens = &Tokens{Before: tokens.Count(in), After: tokens.Count(out)}
		if json.Valid(out) {
			r.Got.Output = out
		} else {
			text := string(out)
			r.Got.Text = &text
		}
	}
	r.Diff = compare(&c.Want, &r.Got)
	return r
}

// Refused says why a gateway would not take what a plugin made of an input: how what a filter or
// projection made of a document, or a workflow of its arguments, is not what its manifest says,
// or what an auth plugin made is not a patch.
func (c *Case) Refused(p *guest.Package, in, out []byte) error {
	kind, part := p.Manifest.Kind, c.Context.Part
	if kind == manifest.Auth {
		_, err := guest.ParsePatch(out)
		return err //nolint:wrapcheck // it says what is wrong with the patch
	}
	if kind == manifest.Workflow && p.Manifest.Tool.OutputSchema != nil {
		if _, err := jsonscan.Parse(out, jsonscan.DefaultMaxDepth); err != nil {
			return guest.ErrNotJSON
		}
		return p.CheckOffered(out)
	}
	if kind != manifest.Filter && kind != manifest.Projection || c.InputText != nil || p.Text() ||
		part == guest.PartArguments || part == guest.PartError && p.Errors {
		return nil
	}
	if _, err := jsonscan.Parse(out, jsonscan.DefaultMaxDepth); err != nil {
		return guest.ErrNotJSON
	}
	return p.CheckEffect(in, out, cmp.Or(part, "answer") == "answer")
}

func compare(want, got *Want) string {
	show := func(w *Want) string {
		switch {
		case w.Error != nil:
			return "error: " + *w.Error
		case w.Text != nil:
			return "text: " + *w.Text
		case w.Output != nil:
			var b bytes.Buffer
			if json.Indent(&b, w.Output, "", "  ") == nil {
				return b.String()
			}
			return string(w.Output)
		}
		return "nothing yet: run with --update"
	}
	if want.Output != nil && want.Text == nil && want.Error == nil && got.Output != nil && sameJSON(want.Output, got.Output) {
		return ""
	}
	a, b := show(want), show(got)
	if want.Output == nil && a == b {
		return ""
	}
	return lines(a, b)
}

// sameJSON compares values, numbers by their digits.
func sameJSON(a, b []byte) bool {
	norm := func(raw []byte) string {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return ""
		}
		out, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(out)
	}
	n := norm(a)
	return n != "" && n == norm(b)
}

// lines is the difference of two texts: common lines at both ends are left out but
// for three.
func lines(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(mark string, ls []string) {
		for i, l := range ls {
			if i == 40 {
				fmt.Fprintf(&out, "%s … %d lines more\n", mark, len(ls)-i)
				return
			}
			out.WriteString(mark + " " + l + "\n")
		}
	}
	write(" ", a[max(0, head-3):head])
	write("-", a[head:len(a)-tail])
	write("+", b[head:len(b)-tail])
	write(" ", a[len(a)-tail:min(len(a), len(a)-tail+3)])
	return out.String()
}

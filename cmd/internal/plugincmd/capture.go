package plugincmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/draft/playground"
	"github.com/sluicegate/sluice/admin/draft/rollout"
	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/callcmd"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/plugins/golden"
	"github.com/sluicegate/sluice/plugins/guest"
)

// maxCaptures of one command: each is a call of somebody's API, and a plugin's cases are
// read by people.
const maxCaptures = 20

// caseName is what the file of a captured case may be called, without .json.
var caseName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// captureFlags are those of "plugin capture".
type captureFlags struct {
	arguments, name, to, module, config string
	count                               int
	personal                            bool
}

// captured is the report of "plugin capture".
type captured struct {
	Cases []capturedCase `json:"cases"`
	// Same counts the calls whose answer was in a case already.
	Same int `json:"same"`
	// Redacted and Masked count the values that were taken out: secrets, and with
	// --mask-personal what is personal.
	Redacted int `json:"redacted"`
	Masked   int `json:"masked"`
}

// capturedCase is a file that was written.
type capturedCase struct {
	File   string `json:"file"`
	Status int    `json:"status"`
	Part   string `json:"part"`
	Type   string `json:"type"`
	Bytes  int    `json:"bytes"` // of the input
	Made   bool   `json:"made"`  // the module made its output
	// Fault is why the module made none.
	Fault string `json:"fault,omitempty"`
}

func (a plugins) pluginCapture() *cobra.Command {
	var f captureFlags
	cmd := &cobra.Command{
		Use:   "capture TOOLSET TOOL [k=v …] [--count N] [--to DIR] [--module FILE.wasm|DIR]",
		Short: "Make golden cases of live calls, without their secrets",
		Long: `Call a tool of the draft, and write what filters and projections get of its answer as
golden cases: the answer behind the toolset's own settings and before any plugin. The
bindings of the toolset do not matter, and nothing is deployed.

Secrets are taken out: what a gateway knows of the toolset's credentials, members with
names such as token and password, keys, JSON Web Tokens. Equal values stay equal, and
every member stays. With --mask-personal values that look personal go as well. No header
is written. Read the cases before you publish them.

With --module a plugin makes the output of each case; without it "sluice plugin test
--update" does.`,
		Example: `  sluice plugin capture shop list_orders status=open --to mask/testdata
  sluice plugin capture shop list_orders --count 3 --module mask --mask-personal`,
		Args: command.Between(2, -1, "a toolset, a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.capture(cmd.Context(), args[0], args[1], args[2:], &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.arguments, "args", "", "arguments as a JSON object")
	fs.StringVar(&f.name, "name", "", "name of the cases; the second is NAME-2 (default: the tool's)")
	fs.IntVar(&f.count, "count", 1, fmt.Sprintf("how often the tool is called, at most %d; equal answers are one case", maxCaptures))
	fs.StringVar(&f.to, "to", "", "`DIR` for the cases (default: testdata of the directory that --module names, else testdata)")
	fs.StringVar(&f.module, "module", "", "`FILE.wasm|DIR` of a plugin that makes the outputs")
	fs.StringVar(&f.config, "set", "", "configuration of the plugin in the cases, a JSON object")
	fs.BoolVar(&f.personal, "mask-personal", false, "take out what looks personal too: members such as email and last_name, e-mail addresses, long numbers")
	return cmd
}

// check says which flag cannot be so.
func (f *captureFlags) check() error {
	switch {
	case f.count < 1 || f.count > maxCaptures:
		return exit.Usagef("--count %d is not from 1 to %d", f.count, maxCaptures)
	case f.name != "" && !caseName.MatchString(f.name):
		return exit.Usagef("--name %s cannot be the name of a case: use letters, digits, '.', '_' and '-', at most 64", terminal.Printable(f.name))
	case f.config != "" && !isObject(f.config):
		return exit.Usagef("--set is not a JSON object")
	}
	return nil
}

func isObject(s string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(s), &o) == nil && o != nil
}

func (a plugins) capture(ctx context.Context, name, tool string, words []string, f *captureFlags) error {
	var p *guest.Package
	dir := cmp.Or(f.to, "testdata")
	if f.module != "" {
		var err error
		if p, _, err = openPlugin(f.module); err != nil {
			return err
		}
		if info, err := os.Stat(f.module); err == nil && info.IsDir() && f.to == "" {
			dir = filepath.Join(f.module, "testdata")
		}
	}
	c, t, _, err := a.Toolset(ctx, name)
	if err != nil {
		return err
	}
	var known toolset.Tool
	switch err := c.Get(ctx, client.ToolsetPath(t, "tools", tool), &known); {
	case problem.Is(err, problem.NotFound):
		return problem.New(problem.NotFound, "the draft of %s has no tool %s", t.Slug, terminal.Printable(tool)).Fix("see: sluice toolset tools %s", t.Slug)
	case err != nil:
		return err
	case known.Offered():
		return problem.New(problem.InvalidArgument, "%s is a workflow: filters and projections get the answers of the tools that it calls", known.Name).
			Fix("capture one of those: sluice toolset tools %s", t.Slug)
	case !known.Enabled:
		return problem.New(problem.Conflict, "%s is disabled in the draft: nothing calls it", known.Name).Fix("enable it: sluice toolset tools %s enable %s", t.Slug, known.Name)
	}
	in := rollout.TestRequest{Tool: known.Name, KeepDraft: true, Inspect: true}
	if len(words) > 0 || f.arguments != "" {
		given, err := callcmd.Arguments(a.Session, words, f.arguments, "", known.InputSchema)
		if err != nil {
			return err
		}
		in.Arguments = map[string]any{}
		for name, v := range given {
			in.Arguments[name] = v
		}
	}
	if missing, err := lacking(known.InputSchema, in.Arguments); err != nil {
		return err
	} else if len(missing) > 0 {
		return problem.New(problem.InvalidArgument, "%s cannot be called without %s", known.Name, strings.Join(missing, ", ")).
			Fix("sluice plugin capture %s %s %s=VALUE", t.Slug, known.Name, strings.Join(missing, "=VALUE "))
	}
	if !known.Annotations.ReadOnly {
		if err := a.Confirm(ctx, fmt.Sprintf("%s may change something. Call it %s?", known.Name, times(f.count))); err != nil {
			return err
		}
	}
	var cases []*golden.Case
	out := captured{Cases: []capturedCase{}}
	d := &redact.Document{Personal: f.personal}
	for range f.count {
		var run admin.TestAnswer
		if err := c.Post(ctx, client.ToolsetPath(t, "test"), in, &run, client.Wait); err != nil {
			return err
		}
		inputs, err := inputsOf(&run)
		if err != nil {
			return err
		}
		for _, i := range inputs {
			secrets, personal := d.Redacted, d.Masked
			one, err := golden.Capture(cmp.Or(f.name, known.Name), &golden.Captured{
				Tool: known.Name, Operation: known.Operation.Method + " " + known.Operation.Path, Status: run.UpstreamStatus, ContentType: run.Inspection.ContentType,
				Part: i.Part, Type: i.Type, Arguments: run.Arguments, Body: []byte(i.Text),
			}, d)
			if err != nil {
				return err
			}
			if hasInput(cases, one) {
				out.Same++
				d.Redacted, d.Masked = secrets, personal
				continue
			}
			if f.config != "" {
				one.Config = json.RawMessage(f.config)
			}
			cases = append(cases, one)
		}
	}
	out.Redacted, out.Masked = d.Redacted, d.Masked
	if err := nameCases(cases, dir, f.name != ""); err != nil {
		return err
	}
	faults, err := a.makeOutputs(ctx, p, cases)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // cases are meant to be read
		return problem.New(problem.InvalidArgument, "the directory %s for the cases cannot be made", terminal.Printable(dir)).Fix("name another one with --to").Because(err)
	}
	for i, one := range cases {
		if err := one.Write(dir); err != nil {
			return err
		}
		g := one.Context.Guest()
		out.Cases = append(out.Cases, capturedCase{
			File: filepath.Join(dir, one.Name+".json"), Status: g.Status, Part: g.Part, Type: g.InputType, Bytes: len(one.Body()), Made: p != nil && faults[i] == "", Fault: faults[i],
		})
	}
	return a.sayCaptured(&out, p, f)
}

// lacking names the required arguments of a tool that were not given.
func lacking(schema json.RawMessage, given map[string]any) (missing []string, err error) {
	var s struct {
		Required []string `json:"required"`
	}
	if len(schema) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("reading the input schema: %w", err)
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// inputsOf are the parts of an answer that can be cases, or why there are none.
func inputsOf(run *admin.TestAnswer) ([]playground.InspectedInput, error) {
	if !run.Possible {
		return nil, problem.New(problem.Unavailable, "%s cannot be called: %s", run.Tool, run.Reason).Fix("see: sluice doctor")
	}
	if run.Inspection == nil {
		return nil, problem.New(problem.Unavailable, "the call was made, but its answer is missing: it took too long, or failed before an answer came: %s", cmp.Or(run.Reason, "no reason was given")).
			Fix("try again, with a longer --timeout")
	}
	var texts []playground.InspectedInput
	file := ""
	for _, i := range run.Inspection.Inputs {
		switch {
		case i.Cut:
			return nil, problem.New(problem.TooLarge, "the answer of %s has more than %d KiB, too much for a golden case", run.Tool, golden.MaxCaptureBytes>>10).
				Fix("give arguments that ask for less, such as a smaller page")
		case i.File:
			file = i.Type
		default:
			texts = append(texts, i)
		}
	}
	switch {
	case len(texts) > 0:
		return texts, nil
	case file != "":
		return nil, problem.New(problem.Unsupported, "%s answers with a file (%s); golden cases hold JSON and text", run.Tool, file).Fix("capture a tool that answers with JSON or text")
	case run.UpstreamStatus == 0:
		return nil, problem.New(problem.Unavailable, "there is no answer to capture: %s", run.Reason).Fix("when it is fixed, see whether it answers: sluice toolset test %s %s --keep-draft", run.Toolset.Slug, run.Tool)
	}
	return nil, problem.New(problem.Unsupported, "the answer has nothing that a plugin gets: HTTP %d, %s", run.UpstreamStatus, terminal.ByteSize(run.BytesReceived)).
		Fix("give arguments for which %s answers with something", run.Tool)
}

// hasInput reports whether a case of the same part, input and arguments is there.
func hasInput(cases []*golden.Case, c *golden.Case) bool {
	for _, have := range cases {
		if have.Context.Part == c.Context.Part && have.Context.Status == c.Context.Status && bytes.Equal(have.Body(), c.Body()) {
			return true
		}
	}
	return false
}

// nameCases gives each case a name that no file of dir has. A name that was asked for is
// not changed.
func nameCases(cases []*golden.Case, dir string, asked bool) error {
	there, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return fmt.Errorf("reading %s: %w", dir, err)
	}
	if len(there)+len(cases) > golden.MaxCases {
		return problem.New(problem.TooLarge, "%s has %d golden cases; with these there are more than %d", dir, len(there), golden.MaxCases).Fix("name another directory with --to")
	}
	taken := map[string]bool{}
	for _, f := range there {
		taken[strings.TrimSuffix(filepath.Base(f), ".json")] = true
	}
	for i, c := range cases {
		name, n := c.Name, i+1
		if n > 1 {
			c.Name = fmt.Sprintf("%s-%d", name, n)
		}
		for taken[c.Name] {
			if asked {
				return problem.New(problem.Conflict, "%s exists already", filepath.Join(dir, c.Name+".json")).Fix("choose another --name, or remove it")
			}
			n++
			c.Name = fmt.Sprintf("%s-%d", name, n)
		}
		taken[c.Name] = true
	}
	return nil
}

// makeOutputs runs a plugin on the cases and returns why it made no output of them, each
// "" where it did.
func (a plugins) makeOutputs(ctx context.Context, p *guest.Package, cases []*golden.Case) ([]string, error) {
	faults := make([]string, len(cases))
	if p == nil {
		return faults, nil
	}
	h, err := a.newAuthor()
	if err != nil {
		return nil, err
	}
	defer h.close(ctx)
	for i, c := range cases {
		if faults[i] = c.Unread(p); faults[i] != "" {
			continue
		}
		g, err := c.Load(h.host, p, h.say)
		if err != nil {
			return nil, err
		}
		r := golden.Run(ctx, p, g, c)
		g.Close()
		if r.Got.Output == nil && r.Got.Text == nil && r.Got.Error == nil {
			faults[i] = strings.TrimSpace(r.Diff)
			continue
		}
		c.Want = r.Got
	}
	return faults, nil
}

// sayCaptured reports what was written. A module that could not run on a case makes the
// command fail, with the case written.
func (a plugins) sayCaptured(out *captured, p *guest.Package, f *captureFlags) error {
	failed := false
	if out.Same > 0 {
		a.Say("%s to a call was in a case already", terminal.Plural(out.Same, "answer"))
	}
	taken := terminal.Plural(out.Redacted, "secret")
	if f.personal {
		taken += ", " + terminal.Plural(out.Masked, "personal value")
	}
	a.Say("taken out: %s. Read the cases before you publish them", taken)
	for _, c := range out.Cases {
		if c.Fault != "" {
			failed = true
			a.Say("! %s has no output: plugin %s: %s", c.File, p.Manifest.Name, terminal.SafeText(c.Fault))
		}
	}
	err := a.Object(out, func(w io.Writer) {
		for _, c := range out.Cases {
			fmt.Fprintf(w, "%s  HTTP %d  %s  %s  %s\n", c.File, c.Status, c.Part, c.Type, terminal.ByteSize(c.Bytes))
		}
	})
	if err != nil {
		return err
	}
	if failed {
		return exit.SilentError(exit.Invalid)
	}
	if p == nil {
		a.Say("  next   sluice plugin test DIR --update   writes what the plugin of DIR makes of them")
	}
	return nil
}

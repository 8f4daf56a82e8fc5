package callcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/sluicegate/sluice/admin/toolset"
	"github.com/sluicegate/sluice/cmd/internal/client"
	"github.com/sluicegate/sluice/cmd/internal/command"
	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/specification"
	"github.com/sluicegate/sluice/cmd/internal/streamable"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/tokens"
)

// traceKey asks a gateway for a trace, and is where the trace is in the answer.
const traceKey = "dev.sluice/trace"

// callTrace is the trace of a call, as gateway/call writes it.
type callTrace struct {
	TotalMs    float64            `json:"totalMs"`
	UpstreamMs float64            `json:"upstreamMs"`
	StagesMs   map[string]float64 `json:"stagesMs"`
	Status     int                `json:"status"`
	Cached     bool               `json:"cached"`
	Program    struct {
		Ran           bool   `json:"ran"`
		Failure       string `json:"failure"`
		FieldsDropped int    `json:"fieldsDropped"`
	} `json:"program"`
	Plugins []struct {
		Name, Version, Digest, Failure string
		MS                             float64
		BytesIn, Bytes                 int
		Failed                         bool
	} `json:"plugins"`
	Calls  []innerCall `json:"calls"` // of a workflow, script or batch
	Bytes  struct{ Received, Minified, Result int }
	Tokens struct{ Received, Pretty, Minified, Result int }
}

// toolResult is the part of a CallToolResult that is shown.
type toolResult struct {
	Content []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		MIMEType string `json:"mimeType"`
		Data     string `json:"data"`
		Resource struct {
			URI      string `json:"uri"`
			MIMEType string `json:"mimeType"`
			Blob     string `json:"blob"`
		} `json:"resource"`
	} `json:"content"`
	IsError bool                       `json:"isError"`
	Meta    map[string]json.RawMessage `json:"_meta"`
}

// calls has the commands that use toolsets as an AI application does.
type calls struct{ *command.Session }

// Commands are call, connect and search.
func Commands(s *command.Session) []*cobra.Command {
	a := calls{s}
	return []*cobra.Command{a.callCommand(), a.connectCommand(), a.searchCommand()}
}

func (a calls) callCommand() *cobra.Command {
	var arguments, argumentsFile, input string
	var raw, stages bool
	cmd := &cobra.Command{
		Use:   "call TOOLSET|URL TOOL [k=v …]",
		Short: "Call a tool over MCP, as a client would",
		Long: `Call a tool at its toolset URL. The answer goes to stdout; status, time by stage
and tokens go to stderr. An answer that is an error (isError) ends with exit code 5.

k=v takes the type from the tool's input schema; k:=JSON is taken as written. A list
is k=a,b or k repeated.

A tool may ask before it goes on (MCP 2026-07-28): the questions are asked here, or
answered with --input '{"NAME": {"action": "accept", "content": {…}}}'.`,
		Example: `  sluice call petstore find_pets_by_status status=available
  sluice call petstore add_pet --args '{"name":"Rex","photoUrls":[]}' --trace
  sluice call https://gateway.example/t/petstore get_pet_by_id petId=7`,
		Args: command.Between(2, -1, "a toolset, a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), a.Flags.Timeout)
			defer cancel()
			// Who cannot be asked gets the text of the question instead.
			m, err := a.mcp(ctx, args[0], input != "" || !a.NoInput && terminal.IsTerminal(a.In))
			if err != nil {
				return err
			}
			defer m.Close()
			schema, err := a.toolSchema(ctx, m, args[0], args[1])
			if err != nil {
				return err
			}
			in, err := Arguments(a.Session, args[2:], arguments, argumentsFile, schema)
			if err != nil {
				return err
			}
			start := time.Now()
			call := &mcp.CallToolParams{Meta: mcp.Meta{traceKey: true}, Name: args[1], Arguments: in}
			answer, err := a.callTool(ctx, m, call, input)
			switch {
			case err != nil && strings.HasPrefix(err.Error(), "unknown tool "): // the node has it, and not for this caller
				return problem.New(problem.NotFound, "%s serves no tool %q to this caller", args[0], args[1]).
					Fix("list the live tools: sluice toolset show %s; and check which tools the access token in SLUICE_ACCESS_TOKEN may call", args[0]).Because(err)
			case err != nil:
				return err
			}
			return a.printCall(answer, time.Since(start), raw, stages)
		},
	}
	cmd.Flags().StringVar(&arguments, "args", "", "arguments as a JSON object")
	cmd.Flags().StringVar(&argumentsFile, "args-file", "", "file with the arguments as a JSON object, - for stdin")
	cmd.Flags().StringVar(&input, "input", "", "answers to what the tool asks, a JSON object by the names of the questions (default: asked here)")
	cmd.Flags().BoolVar(&raw, "raw", false, "only the answer")
	cmd.Flags().BoolVar(&stages, "trace", false, "show every stage")
	return cmd
}

// mcp connects to a toolset or URL.
func (a calls) mcp(ctx context.Context, target string, elicits bool) (*streamable.Client, error) {
	u, err := a.liveURL(ctx, target)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, a.Session, streamable.Options{URL: u, Elicits: elicits})
}

// liveURL returns the URL of a toolset, which must be live when it is given by its name.
func (a calls) liveURL(ctx context.Context, target string) (string, error) {
	if command.IsURL(target) {
		return target, nil
	}
	t, _, err := a.Client().Toolset(ctx, target)
	if err != nil {
		return "", err
	}
	if t.Revision == 0 {
		return "", problem.New(problem.Conflict, "toolset %s is not live yet", t.Slug).
			Fix("test a tool of its draft, which deploys the draft when the API answers: sluice toolset test %[1]s TOOL; or deploy it without a test: sluice toolset deploy %[1]s", t.Slug)
	}
	return t.URL, nil
}

// Dial connects to a toolset URL with the access token of the environment.
func Dial(ctx context.Context, a *command.Session, o streamable.Options) (*streamable.Client, error) {
	var err error
	if o.HTTP, err = a.HTTPClient(); err != nil {
		return nil, err
	}
	o.Name, o.Access, o.Version = safehttp.Redact(o.URL), a.Env.Access, a.Version
	if a.Flags.Verbose {
		o.Trace = a.Err
	}
	return streamable.Connect(ctx, o)
}

// toolSchema returns the input schema of a tool, or says which tool was meant. A tool
// that the selection of the toolset does not list is described by the toolset itself, or
// by its node.
func (a calls) toolSchema(ctx context.Context, m *streamable.Client, target, name string) (json.RawMessage, error) {
	list, err := m.Tools(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list))
	for _, t := range list {
		if t.Name == name {
			return json.Marshal(t.InputSchema)
		}
		names = append(names, t.Name)
	}
	if slices.Contains(names, describeTools) {
		if schema := described(ctx, m, name); schema != nil {
			return schema, nil
		}
	}
	if !command.IsURL(target) {
		t, _, err := a.Client().Toolset(ctx, target)
		if err != nil {
			return nil, err
		}
		var known []toolset.Tool
		if known, _, err = client.All[toolset.Tool](ctx, a.Client(), client.ToolsetPath(t, "tools")+"?schemas=true"); err != nil {
			return nil, err
		}
		for i := range known {
			if known[i].Enabled && known[i].Name == name {
				return known[i].InputSchema, nil
			}
			names = append(names, known[i].Name)
		}
	}
	p := problem.New(problem.NotFound, "%s has no tool %q", target, name).Fix("see: sluice toolset tools %s", target)
	if best := nearest.Name(name, slices.Values(names)); best != "" {
		p.Remedy = "did you mean " + best + "?"
	}
	return nil, p
}

// describeTools is the tool of a toolset with selection search that answers with
// definitions of other tools.
const describeTools = "describe_tools"

// described is the input schema of a tool as the toolset describes it; nil: it does not.
func described(ctx context.Context, m *streamable.Client, name string) json.RawMessage {
	answer, err := m.Call(ctx, &mcp.CallToolParams{Name: describeTools, Arguments: map[string][]string{"names": {name}}})
	if err != nil {
		return nil // the error of the call itself tells more
	}
	var result toolResult
	var tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal(answer, &result) != nil || result.IsError || len(result.Content) == 0 || json.Unmarshal([]byte(result.Content[0].Text), &tools) != nil {
		return nil
	}
	for _, t := range tools {
		if t.Name == name {
			return t.InputSchema
		}
	}
	return nil
}

// Arguments makes the arguments of a call from words and flags.
func Arguments(a *command.Session, words []string, text, file string, schema json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if text != "" && file != "" {
		return nil, exit.Usagef("--args and --args-file cannot both be given")
	}
	if file != "" {
		s, err := specification.Open(a, file, "")
		if err != nil {
			return nil, err
		}
		text = string(s.Data)
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
			return nil, exit.Usagef("the arguments are not a JSON object: %s", jsonFault(err))
		}
	}
	types, err := propertyTypes(schema)
	if err != nil {
		return nil, err
	}
	given := map[string][]string{}
	var order []string
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("%q is not an argument; write NAME=VALUE, or NAME:=JSON", w)
		}
		if strings.HasSuffix(name, ":") {
			if !json.Valid([]byte(value)) {
				return nil, exit.Usagef("%s is not JSON", w)
			}
			out[strings.TrimSuffix(name, ":")] = json.RawMessage(value)
			continue
		}
		if given[name] == nil {
			order = append(order, name)
		}
		given[name] = append(given[name], value)
	}
	for _, name := range order {
		v, err := typed(types[name], given[name])
		if err != nil {
			return nil, exit.Usagef("argument %s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

func jsonFault(err error) string {
	if err == nil {
		return "it is null"
	}
	return err.Error()
}

// propertyTypes returns the JSON types that the properties of an input schema may have.
func propertyTypes(schema json.RawMessage) (map[string][]string, error) {
	out := map[string][]string{}
	if len(schema) == 0 {
		return out, nil
	}
	var object struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return nil, fmt.Errorf("reading the input schema of the tool: %w", err)
	}
	for name, p := range object.Properties {
		property, _ := p.(map[string]any)
		alternatives, _ := property["anyOf"].([]any)
		for _, s := range append([]any{p}, alternatives...) {
			schema, _ := s.(map[string]any)
			switch t := schema["type"].(type) {
			case string:
				out[name] = append(out[name], t)
			case []any:
				for _, one := range t {
					s, _ := one.(string)
					out[name] = append(out[name], s)
				}
			}
		}
	}
	return out, nil
}

// typed makes JSON of the words given for one argument.
func typed(types, words []string) (json.RawMessage, error) {
	has := func(t string) bool { return slices.Contains(types, t) }
	if has("array") && !has("string") {
		if len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "[") && json.Valid([]byte(words[0])) {
			return json.RawMessage(words[0]), nil
		}
		if len(words) == 1 {
			words = strings.Split(words[0], ",")
		}
		items := make([]json.RawMessage, 0, len(words))
		for _, w := range words {
			item, err := typed(nil, []string{w})
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return json.Marshal(items)
	}
	if len(words) > 1 {
		return nil, errors.New("is given more than once, and is not a list")
	}
	w := words[0]
	number := json.Valid([]byte(w)) && strings.ContainsAny(w[:1], "-0123456789")
	switch {
	case (has("integer") || has("number")) && number,
		has("boolean") && (w == "true" || w == "false"),
		has("null") && w == "null" && !has("string"),
		has("object") && strings.HasPrefix(w, "{") && json.Valid([]byte(w)):
		return json.RawMessage(w), nil
	}
	return json.Marshal(w)
}

// printCall shows the answer of a tool.
func (a calls) printCall(answer json.RawMessage, took time.Duration, raw, stages bool) error {
	var r toolResult
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("reading the answer of the tool: %w", err)
	}
	var text strings.Builder
	for _, c := range r.Content {
		switch {
		case c.Type == "text":
			text.WriteString(c.Text)
			if !strings.HasSuffix(c.Text, "\n") {
				text.WriteByte('\n')
			}
		case c.Type == "resource":
			fmt.Fprintf(&text, "[%s %s %s, %s of base64]\n", c.Type, c.Resource.URI, c.Resource.MIMEType, terminal.ByteSize(len(c.Resource.Blob)))
		default:
			fmt.Fprintf(&text, "[%s %s, %s of base64]\n", c.Type, c.MIMEType, terminal.ByteSize(len(c.Data)))
		}
	}
	if !raw && a.Format == "table" {
		a.sayTrace(&r, took, text.String(), stages)
	}
	err := a.Object(answer, func(w io.Writer) {
		fmt.Fprint(w, text.String()) // object prints nothing that a terminal obeys
	})
	if err != nil {
		return err
	}
	if r.IsError {
		if a.Format == "name" { // which an answer has none of
			a.Say("✗ the tool answered with an error: %s", terminal.SafeText(strings.TrimSpace(text.String())))
		}
		return exit.SilentError(exit.ToolError)
	}
	return nil
}

// stageOrder is the order in which stages are shown.
var stageOrder = []string{"decode", "build", "auth", "cache", "send", "transform", "plugins", "compress", "result"}

func (a calls) sayTrace(r *toolResult, took time.Duration, text string, stages bool) {
	mark := ""
	if r.IsError {
		mark = "✗ the tool answered with an error · "
	}
	var t callTrace
	if err := json.Unmarshal(r.Meta[traceKey], &t); err != nil {
		a.Say("%s%s · %s tokens (no trace from this server)", mark, terminal.ShortDuration(took), terminal.Thousands(tokens.CountString(text)))
		return
	}
	status := "no answer from the upstream"
	switch {
	case t.Status > 0:
		status = fmt.Sprintf("HTTP %d", t.Status)
	case len(t.Calls) > 0:
		status = terminal.Plural(len(t.Calls), "call")
	}
	if t.Cached {
		status += " from the cache"
	}
	plugins := t.StagesMs["transform"] + t.StagesMs["plugins"] + t.StagesMs["compress"]
	a.Say("%s%s · %.1f ms (upstream %.1f, plugins %.2f, gateway %.2f)", mark, status, t.TotalMs, t.UpstreamMs, plugins, max(t.TotalMs-t.UpstreamMs-plugins, 0))
	if t.Tokens.Pretty > 0 && !r.IsError {
		line := fmt.Sprintf("tokens  pretty %s → minified %s → result %s %s", terminal.Thousands(t.Tokens.Pretty), terminal.Thousands(t.Tokens.Minified), terminal.Thousands(t.Tokens.Result), terminal.Saving(t.Tokens.Minified, t.Tokens.Result))
		a.Say("%s", strings.TrimSpace(line))
	}
	if t.Program.Failure != "" {
		a.Say("! the response program did not run: %s", t.Program.Failure)
	}
	for _, p := range t.Plugins {
		if p.Failed {
			a.Say("! plugin %s %s did not run: %s", p.Name, p.Version, terminal.SafeText(p.Failure))
		}
	}
	if !stages {
		return
	}
	for _, name := range stageOrder {
		if ms, ok := t.StagesMs[name]; ok {
			a.Say("  %-10s %9.3f ms", name, ms)
		}
	}
	for _, p := range t.Plugins {
		state := ""
		if p.Failed {
			state = ", failed"
		}
		a.Say("  plugin     %9.3f ms   %s %s (%s), %s → %s bytes%s", p.MS, p.Name, p.Version, terminal.ShortDigest(p.Digest), terminal.Thousands(p.BytesIn), terminal.Thousands(p.Bytes), state)
	}
	for _, line := range waterfall(t.Calls) {
		a.Say("  %s", line)
	}
	a.Say("  bytes      received %s, minified %s, result %s; %s dropped", terminal.Thousands(t.Bytes.Received), terminal.Thousands(t.Bytes.Minified), terminal.Thousands(t.Bytes.Result), terminal.Plural(t.Program.FieldsDropped, "field"))
}

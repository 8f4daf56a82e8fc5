package callcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/cmd/internal/streamable"
	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxRounds is how often a tool may ask before a call is given up: each answer may
// lead to another question.
const maxRounds = 8

// inputResult is a result that asks for input before the call can go on (MCP
// 2026-07-28 "Multi Round-Trip Requests").
type inputResult struct {
	Type     string                     `json:"resultType"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	State    string                     `json:"requestState"`
}

// inputRequest is one question of a tool.
type inputRequest struct {
	Method string `json:"method"`
	Params struct {
		Mode    string      `json:"mode"`
		Message string      `json:"message"`
		URL     string      `json:"url"`
		Schema  inputSchema `json:"requestedSchema"`
	} `json:"params"`
}

// inputSchema is the flat object that a form asks for.
type inputSchema struct {
	Properties map[string]struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// callTool calls a tool and answers what it asks on the way: with input, answers by
// the names of the questions, or else by asking at the terminal.
func (a calls) callTool(ctx context.Context, m *streamable.Client, call *mcp.CallToolParams, input string) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if input != "" {
		if err := json.Unmarshal([]byte(input), &given); err != nil {
			return nil, exit.Usagef("--input is not a JSON object: %s", jsonFault(err))
		}
	}
	for range maxRounds {
		answer, err := m.Call(ctx, call)
		if err != nil {
			return nil, err
		}
		var r inputResult
		if err := json.Unmarshal(answer, &r); err != nil || r.Type != "input_required" {
			return answer, nil //nolint:nilerr // what it is instead is for who prints it
		}
		responses := map[string]json.RawMessage{}
		for _, key := range sortedKeys(r.Requests) {
			if responses[key], err = a.answerInput(key, r.Requests[key], given); err != nil {
				return nil, err
			}
		}
		call.RequestState = r.State
		if call.InputResponses, err = inputResponses(responses); err != nil {
			return nil, err
		}
	}
	return nil, problem.New(problem.Unavailable, "the tool %s asked %d times and has no answer", call.Name, maxRounds)
}

// inputResponses gives answers the types that the MCP SDK sends.
func inputResponses(answers map[string]json.RawMessage) (mcp.InputResponseMap, error) {
	b, err := json.Marshal(answers)
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	var out mcp.InputResponseMap
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, exit.Usagef("--input has an answer that MCP does not know: %w", err)
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// answerInput answers one question.
func (a calls) answerInput(key string, raw json.RawMessage, given map[string]json.RawMessage) (json.RawMessage, error) {
	if v, ok := given[key]; ok {
		return v, nil
	}
	var q inputRequest
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, problem.New(problem.UpstreamMalformed, "the tool asks something that cannot be read")
	}
	if q.Method != "elicitation/create" {
		return nil, problem.New(problem.InvalidArguments, "the tool asks its client for %s, which the command line does not have", terminal.Printable(q.Method)).
			Fix("answer it yourself: --input '{%q: {…}}', or call the tool from an AI application", key)
	}
	if a.NoInput || !terminal.IsTerminal(a.In) {
		return nil, problem.New(problem.InvalidArguments, "the tool asks: %s", terminal.Printable(strings.TrimSpace(q.Params.Message+" "+q.Params.URL))).
			Fix("answer with --input '{%q: %s}'; action may also be decline or cancel", key, q.template())
	}
	fmt.Fprintln(a.Err, terminal.SafeText(q.Params.Message))
	if q.Params.Mode == "url" {
		return a.askOpened(q.Params.URL)
	}
	return a.askForm(&q.Params.Schema)
}

// template is an answer to be filled in.
func (q *inputRequest) template() string {
	if q.Params.Mode == "url" {
		return `{"action": "accept"}`
	}
	content := make([]string, 0, len(q.Params.Schema.Properties))
	for _, name := range sortedKeys(q.Params.Schema.Properties) {
		content = append(content, strconv.Quote(terminal.Printable(name))+": …")
	}
	return `{"action": "accept", "content": {` + strings.Join(content, ", ") + `}}`
}

const declined = `{"action":"decline"}`

// askOpened lets a person open a page.
func (a calls) askOpened(url string) (json.RawMessage, error) {
	fmt.Fprintf(a.Err, "Open %s, and press Enter when you are done (n declines): ", terminal.Printable(url))
	line, err := terminal.NewLineReader(a.In, 1<<10).Next()
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if strings.HasPrefix(strings.ToLower(string(line)), "n") {
		return json.RawMessage(declined), nil
	}
	return json.RawMessage(`{"action":"accept"}`), nil
}

// askForm asks for each property of a form. Nothing given for a required one
// declines.
func (a calls) askForm(s *inputSchema) (json.RawMessage, error) {
	content := map[string]json.RawMessage{}
	in := terminal.NewLineReader(a.In, 64<<10)
	for _, name := range sortedKeys(s.Properties) {
		p := s.Properties[name]
		required := slices.Contains(s.Required, name)
		label := cmp.Or(p.Title, name)
		if p.Description != "" {
			label += ", " + p.Description
		}
		if len(p.Enum) > 0 {
			label += " [" + strings.Join(p.Enum, "/") + "]"
		}
		if !required {
			label += " (may be empty)"
		}
		for {
			fmt.Fprintf(a.Err, "  %s: ", terminal.Printable(label))
			line, err := in.Next()
			if err != nil {
				return nil, fmt.Errorf("reading the answer: %w", err)
			}
			text := strings.TrimSpace(string(line))
			if text == "" && required {
				fmt.Fprintln(a.Err, "Declined.")
				return json.RawMessage(declined), nil
			}
			if text == "" {
				break
			}
			v, err := typed([]string{p.Type}, []string{text})
			if err == nil && (len(p.Enum) == 0 || slices.Contains(p.Enum, text)) {
				content[name] = v
				break
			}
			fmt.Fprintf(a.Err, "  that is no %s\n", cmp.Or(strings.Join(p.Enum, ", "), p.Type))
		}
	}
	b, err := json.Marshal(map[string]any{"action": "accept", "content": content})
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	return b, nil
}

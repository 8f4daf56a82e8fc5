package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluicegate/sluice/gateway/mcp"
)

// chunk is how many tools one run of the Inspector sees: it is a Node.js program
// that holds the list several times.
const chunk = 4000

// clients has software of others look at the definitions of every tool of the
// corpus: the MCP Inspector's lint of schemas, and the rules of the large clients,
// which are a Go test (plugins/openapi, clientRules).
func (r *report) clients(ctx context.Context) error {
	out, passed, err := r.goTest(ctx, "./plugins/openapi", "^(TestCorpus|TestPublishedAndPlanAgreeOnCorpus)$")
	if err != nil {
		return err
	}
	n := regexp.MustCompile(`(\d+) operations, (\d+) tools`).FindStringSubmatch(out)
	if n == nil {
		return errors.New("TestCorpus does not say how many tools it saw")
	}
	r.add("tools that keep the rules of Anthropic, OpenAI, Gemini, Cursor and the MCP SDKs (a Go test); plan and schema agree", "all", passed,
		"%s of %s", map[bool]string{true: n[2], false: "fewer"}[passed], n[2])
	const what, goal = "errors of MCP Inspector 2.12 `tools/list --strict`", "0"
	if r.inspector == "" {
		r.skip(what, goal, "no Inspector here")
		return nil
	}
	return r.inspect(ctx, what, goal)
}

// inspect serves every tool of the corpus, as tools/list renders them, and has the
// Inspector list them.
func (r *report) inspect(ctx context.Context, what, goal string) error {
	specs, err := r.specs()
	if err != nil {
		return err
	}
	var tools [][]byte
	for _, s := range specs {
		c, _, err := r.build(ctx, s.file)
		if err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		if c == nil {
			continue // it has no operation
		}
		for i := range c.Len() {
			h, err := c.Head(i)
			if err != nil {
				return err
			}
			tools = append(tools, mcp.AppendTool(nil, &mcp.ToolInfo{
				Name: h.Name, Title: h.Title, Description: h.Description, InputSchema: h.InputSchema, OutputSchema: h.OutputSchema,
				ReadOnly: h.Annotations.ReadOnly, Destructive: h.Annotations.Destructive, Idempotent: h.Annotations.Idempotent, OpenWorld: h.Annotations.OpenWorld,
			}))
		}
	}
	srv := httptest.NewServer(listServer(tools))
	defer srv.Close()
	faulty, warnings := 0, 0
	for from := 0; from < len(tools); from += chunk {
		out, err := r.inspector1(ctx, srv.URL+"/"+strconv.Itoa(from))
		if err != nil {
			return err
		}
		listed := strings.Count(out, `"inputSchema":`)
		if want := min(chunk, len(tools)-from); listed != want {
			return fmt.Errorf("the Inspector lists %d tools, %d were served:\n%.3000s", listed, want, out)
		}
		if m := findings.FindStringSubmatch(out[max(0, len(out)-1000):]); m != nil { // there is none when all is well
			errs, err := strconv.Atoi(m[1])
			if err != nil {
				return err
			}
			warns, err := strconv.Atoi(m[2])
			if err != nil {
				return err
			}
			faulty, warnings = faulty+errs, warnings+warns
		}
	}
	r.add(what, goal, faulty == 0, "%d in %d tools (%d warnings: types of answers that may be null, values of no declared type)", faulty, len(tools), warnings)
	return nil
}

// findings is the end of the Inspector's lint.
var findings = regexp.MustCompile(`(\d+) errors?, (\d+) warnings? across \d+ tools?\.`)

// The Inspector's exit codes.
const (
	lintPassed = 0
	lintErrors = 6
)

// inspector1 runs the Inspector once and returns what it writes.
func (r *report) inspector1(ctx context.Context, url string) (string, error) {
	file, err := os.Create(filepath.Join(r.temp, "inspector.out"))
	if err != nil {
		return "", err
	}
	defer file.Close()
	//nolint:gosec // the program was named on the command line
	cmd := exec.CommandContext(ctx, "node", filepath.Join(r.inspector, "clients", "launcher", "build", "index.js"),
		"--cli", url, "--transport", "http", "--protocol-era", "legacy", "--method", "tools/list", "--strict")
	cmd.Dir = r.temp
	cmd.Stdout, cmd.Stderr = file, file // a pipe would be cut when it exits with an error
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return "", err
	}
	b, err := os.ReadFile(file.Name())
	if code := cmd.ProcessState.ExitCode(); err == nil && code != lintPassed && code != lintErrors {
		err = fmt.Errorf("the Inspector ended with %d:\n%.3000s", code, b)
	}
	return string(b), err
}

// listServer is an MCP server that only lists: under /N the tools from number N.
func listServer(tools [][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		from, err := strconv.Atoi(strings.Trim(req.URL.Path, "/"))
		if err != nil || from < 0 || from >= len(tools) || req.Method != http.MethodPost {
			http.Error(w, "no such list", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := []byte(`{}`)
		switch m.Method {
		case "initialize":
			result = []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"corpus","version":"1"}}`)
		case "tools/list":
			result = append([]byte(`{"tools":[`), bytes.Join(tools[from:min(from+chunk, len(tools))], []byte(","))...)
			result = append(result, `]}`...)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
}

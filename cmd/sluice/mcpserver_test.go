package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
)

// mcpServer is a real MCP server whose tools are in the file tools.json of the
// script, read anew for each request: a list of {name, description, inputSchema,
// annotations}. A tool answers with its arguments and its name, and with who calls
// when that is known. allow says who may call; nil: everybody.
func mcpServer(ts *testscript.TestScript, allow func(w http.ResponseWriter, r *http.Request) (who string, ok bool)) *httptest.Server {
	file := ts.MkAbs("tools.json")
	serve := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		who := r.Header.Get("X-Who")
		s := mcp.NewServer(&mcp.Implementation{Name: "notes", Title: "Notes", Version: "1.4"}, &mcp.ServerOptions{Instructions: "Search before you write."})
		var tools []*mcp.Tool
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &tools)
		}
		if err != nil {
			panic(err)
		}
		for _, t := range tools {
			s.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answer := map[string]any{"tool": r.Params.Name, "arguments": r.Params.Arguments}
				if who != "" {
					answer["who"] = who
				}
				text, err := json.Marshal(answer)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
			})
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "prompt.txt")); err == nil {
			s.AddPrompt(&mcp.Prompt{Name: "summarise"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "resource.txt")); err == nil {
			for _, uri := range []string{"note:public/1", "note:private/1"} {
				s.AddResource(&mcp.Resource{Name: uri[5:], URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "text of " + uri}}}, nil
				})
			}
		}
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("X-Who")
		if allow != nil {
			who, ok := allow(w, r)
			if !ok {
				return
			}
			r.Header.Set("X-Who", who)
		}
		if r.URL.Path != "/mcp" {
			http.NotFound(w, r)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	ts.Defer(func() { closeServer(srv) })
	return srv
}

// slowServer is an MCP server of the old revision with sessions, whose tool report reports
// its progress as often as it is told and then answers, and whose tool silent does neither.
func slowServer(ts *testscript.TestScript) *httptest.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"times":{"type":"integer"}}}`)
	ended := make(chan struct{})
	s.AddTool(&mcp.Tool{Name: "report", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Times int }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := range in.Times {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("reported %d times", in.Times)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "silent", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-ended:
		}
		return nil, errors.New("nobody waits for this")
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	ts.Defer(func() { close(ended); closeServer(srv) })
	return srv
}

// withKey lets those in who show a bearer token.
func withKey(key string) func(http.ResponseWriter, *http.Request) (string, bool) {
	return func(w http.ResponseWriter, r *http.Request) (string, bool) {
		if r.URL.Path == "/mcp" && r.Header.Get("Authorization") != "Bearer "+key {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return "", false
		}
		return "", true
	}
}

// oauthServer starts an MCP server that takes the tokens of an authorization
// server only.
func (s *scripts) oauthServer(ts *testscript.TestScript, name string) {
	as, err := oauthtest.Start()
	ts.Check(err)
	ts.Defer(as.Close)
	s.servers.Store(as.Issuer(), as)
	ts.Setenv("ISSUER", as.Issuer())
	allow, shown := as.Admits, ts.MkAbs("shown.txt")
	ts.Setenv(name, mcpServer(ts, func(w http.ResponseWriter, r *http.Request) (string, bool) {
		who, ok := allow(w, r)
		if ok { // a script may ask which token was shown, and then look for it elsewhere
			ts.Check(os.WriteFile(shown, []byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), 0o600))
		}
		return who, ok
	}).URL)
}

var loginLink = regexp.MustCompile(`https?://[^\s"\\]+/oauth/login/[A-Za-z0-9_-]+`)

// follow does what a caller does with the link that a call was answered with.
func (s *scripts) follow(ts *testscript.TestScript, neg bool, args []string) {
	users := map[string]string{"one": oauthtest.OtherUser, "two": oauthtest.User}
	if len(args) != 1 || users[args[0]] == "" {
		ts.Fatalf("usage: [!] follow one|two")
	}
	link := loginLink.FindString(ts.ReadFile("stdout"))
	if link == "" {
		link = ts.Getenv("LINK")
	}
	if link == "" {
		ts.Fatalf("the last command printed no link")
	}
	ts.Setenv("LINK", link)
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(r *http.Response, err error) (int, string, string) {
		ts.Check(err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		ts.Check(err)
		return r.StatusCode, string(b), r.Header.Get("Location")
	}
	status, page, _ := get(browser.Get(link))
	fmt.Fprint(ts.Stdout(), page)
	if neg {
		if status == http.StatusOK {
			ts.Fatalf("the link is still good: %s", page)
		}
		return
	}
	if status != http.StatusOK || !strings.Contains(page, "Go on and log in") {
		ts.Fatalf("the link shows %d %s", status, page)
	}
	status, page, at := get(browser.PostForm(link, nil))
	if status != http.StatusSeeOther || at == "" {
		ts.Fatalf("the button leads to %d %s", status, page)
	}
	address, page, err := s.authorizationServer(ts).LoginAs(jar, at, users[args[0]], oauthtest.Password, "")
	if err != nil || !strings.Contains(page, "You are logged in") {
		ts.Fatalf("the browser ended at %s: %v %s", address, err, page)
	}
}

// userID sets USER to the id of the caller with a name in the last list of them.
func (s *scripts) userID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: userid NAME")
	}
	var users []struct{ ID, Name string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &users))
	for _, u := range users {
		if u.Name == args[0] {
			ts.Setenv("USER", u.ID)
			return
		}
	}
	ts.Fatalf("no caller is named %s", args[0])
}

// askingServer is an MCP server of 2026-07-28 with a tool that asks for a colour, and
// one that asks without end.
func askingServer(ts *testscript.TestScript) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Responses json.RawMessage `json:"inputResponses"`
				State     string          `json:"requestState"`
			} `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in) // what is not a request has no method
		var result string
		switch {
		case in.Method == "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case in.Method == "tools/list":
			result = `{"resultType":"complete","tools":[{"name":"paint","inputSchema":{"type":"object"}},{"name":"nag","inputSchema":{"type":"object"}},{"name":"think","inputSchema":{"type":"object"}}]}`
		case in.Params.Name == "think":
			result = `{"resultType":"input_required","inputRequests":{"model":{"method":"sampling/createMessage","params":{}}}}`
		case in.Params.Name == "nag" || in.Params.State != "colour asked":
			result = `{"resultType":"input_required","inputRequests":{"colour":{"method":"elicitation/create","params":{"mode":"form","message":"Which colour?",` +
				`"requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}}}},"requestState":"colour asked"}`
		default:
			text, _ := json.Marshal("painted " + string(in.Params.Responses))
			result = `{"resultType":"complete","content":[{"type":"text","text":` + string(text) + `}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(in.ID) + `,"result":` + result + `}`))
	}))
	ts.Defer(func() { closeServer(srv) })
	return srv
}

// closeServer ends a server that a node may listen to.
func closeServer(srv *httptest.Server) {
	_ = srv.Listener.Close() // the node must not come back
	_ = srv.Listener.Close() // or a client is back before the end
	srv.CloseClientConnections()
	srv.Close()
}

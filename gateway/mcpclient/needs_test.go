package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// choosy is a server of the official SDK that lists a tool called after what it needs only
// to clients that declare that.
//
//nolint:staticcheck // sampling and roots are deprecated and still served
func choosy(t testing.TB, modern bool) string {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "choosy", Version: "1"}, nil)
	for _, name := range []string{"roots", "any", "url", "sampling", "form", "all"} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*sdk.ListToolsResult)
			if !ok {
				return res, err
			}
			caps := req.GetSession().(*sdk.ServerSession).InitializeParams().Capabilities
			e := caps.Elicitation
			declared := map[string]bool{
				"any": true, "form": e != nil, "url": e != nil && e.URL != nil, "sampling": caps.Sampling != nil, "roots": caps.RootsV2 != nil,
			}
			declared["all"] = declared["url"] && declared["sampling"] && declared["roots"]
			shown := *list
			shown.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return !declared[t.Name] })
			return &shown, err
		}
	})
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: modern})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !modern && r.Header.Get("Mcp-Method") == "server/discover" {
			w.WriteHeader(http.StatusBadRequest) // of the older revisions only
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = up.Listener.Close(); up.CloseClientConnections(); up.Close() })
	return up.URL
}

// TestNeeds: tools that a server lists only to clients with a capability are found, with
// what they need, whatever the era.
func TestNeeds(t *testing.T) {
	for name, modern := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, safedial.Options{AllowPrivate: true})
			to := target(t, choosy(t, modern))
			var x Exchange
			l, err := c.List(&x, to)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, raw := range l.Tools {
				var tool struct{ Name string }
				if err := json.Unmarshal(raw, &tool); err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, []string{"all", "any", "form", "roots", "sampling", "url"}) { // in the order of the server
				t.Errorf("the tools are %v", names)
			}
			want := map[string]string{
				"form": "elicitation", "url": "elicitation.url", "sampling": "sampling", "roots": "roots", "all": "elicitation elicitation.url sampling roots",
			}
			got := map[string]string{}
			for tool, needs := range l.Needs {
				got[tool] = strings.Join(needs, " ")
			}
			if !maps.Equal(got, want) {
				t.Errorf("they need %v, not %v", got, want)
			}
			again, err := c.List(&x, to)
			if err != nil || string(again.Append(nil)) != string(l.Append(nil)) {
				t.Errorf("listed again it is %s (%v)", again.Append(nil), err)
			}
		})
	}
}

// TestBetween: what a server lists only to some has its place among what it lists to all,
// which stays as it came, also what has no name or one that is there twice.
func TestBetween(t *testing.T) {
	list := func(names string) (out []json.RawMessage) {
		for name := range strings.FieldsSeq(names) {
			if name == "-" {
				out = append(out, json.RawMessage(`{}`))
			} else {
				out = append(out, json.RawMessage(`{"name":"`+name+`"}`))
			}
		}
		return out
	}
	for _, c := range [][4]string{
		{"a b", "x", "a x b", "a x b"},
		{"a b", "x y", "x a b y", "x a b y"},
		{"a b", "x", "b x a", "a b x"},
		{"- a - a b", "x", "- a a x b", "- a x - a b"},
		{"a - b", "x y", "- x a y y b", "x a y - b"},
		{"", "x y", "x y", "x y"},
	} {
		if got, want := between(list(c[0]), list(c[1]), list(c[2])), list(c[3]); !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%v: %s", c, got)
		}
	}
}

// TestNeedsOfTasks: what a server of 2025-11-25 lists to clients that run tasks is found, and needs
// a task only where the same client without tasks does not see it; a server that refuses such
// clients lists what it does to others.
func TestNeedsOfTasks(t *testing.T) {
	for name, refuses := range map[string]bool{"with tasks": false, "refusing tasks": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			sessions := map[string]string{} // what was declared
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     json.RawMessage
					Method string
					Params struct{ Capabilities json.RawMessage }
				}
				_ = json.NewDecoder(r.Body).Decode(&m)
				id := r.Header.Get("Mcp-Session-Id")
				var result string
				mu.Lock()
				defer mu.Unlock()
				switch m.Method {
				case "initialize":
					if refuses && strings.Contains(string(m.Params.Capabilities), `"tasks"`) {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					id = strconv.Itoa(len(sessions))
					sessions[id] = string(m.Params.Capabilities)
					w.Header().Set("Mcp-Session-Id", id)
					result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}`
				case "tools/list":
					has := func(names ...string) bool {
						return !slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(sessions[id], `"`+n+`":`) })
					}
					var tools []string
					for name, shown := range map[string]bool{
						"any": true, "two": has("sampling", "roots"), "form": has("elicitation"), "slow": has("elicitation", "tasks", "create"),
						"model": has("sampling", "tasks", "createMessage"), "all": has("createMessage", "create", "roots"),
					} {
						if shown {
							tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
						}
					}
					result = `{"tools":[` + strings.Join(tools, ",") + `]}`
				case "server/discover":
					w.WriteHeader(http.StatusBadRequest) // of the older revisions only
					return
				default:
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			}))
			t.Cleanup(func() { up.CloseClientConnections(); up.Close() })
			var x Exchange
			l, err := newClient(t, safedial.Options{AllowPrivate: true}).List(&x, target(t, up.URL))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for tool, needs := range l.Needs {
				got[tool] = strings.Join(needs, " ")
			}
			questions := strings.Join(manifest.ClientCapabilities[:tasked], " ")
			want := map[string]string{"form": "elicitation", "two": questions}
			if !refuses {
				maps.Copy(want, map[string]string{"slow": "tasks.elicitation", "model": "tasks.sampling", "all": questions + " tasks.elicitation tasks.sampling"})
			}
			if !maps.Equal(got, want) {
				t.Errorf("they need %v, not %v", got, want)
			}
		})
	}
	if alone := len(alone) - 1; alone != len(manifest.ClientCapabilities) || !strings.HasPrefix(manifest.ClientCapabilities[tasked], "tasks.") {
		t.Errorf("%d capabilities are looked at, of %v", alone, manifest.ClientCapabilities)
	}
}

// TestModernCapabilities: that a client runs tasks is not said in 2026-07-28, which has no such thing.
func TestModernCapabilities(t *testing.T) {
	for declared, want := range map[string]string{
		`{}`: `{}`, `{"roots":{},"x":{"tasks":1}}`: `{"roots":{},"x":{"tasks":1}}`,
		`{"tasks":{}}`: `{}`, `{"roots":{},"tasks":{"list":{}},"sampling":{}}`: `{"roots":{},"sampling":{}}`,
	} {
		if got := string(appendModernCapabilities(nil, []byte(declared))); got != want {
			t.Errorf("%s: %s", declared, got)
		}
	}
}

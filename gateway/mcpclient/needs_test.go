package mcpclient

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluicegate/sluice/internal/safedial"
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

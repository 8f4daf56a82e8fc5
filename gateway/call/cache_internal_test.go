package call

import (
	"testing"

	"github.com/sluicegate/sluice/gateway/credentials"
	"github.com/sluicegate/sluice/gateway/snapshot"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestCacheKey changes one thing at a time: whatever an answer depends on is part of
// its key, or one caller is served what was meant for another.
func TestCacheKey(t *testing.T) {
	key := func(change func(x *exchange)) string {
		x := &exchange{input: input{
			ts: &snapshot.Toolset{ID: "ts_1"}, tool: &snapshot.Tool{Binding: &snapshot.Binding{Digest: "sha256:1"}},
			ready: &snapshot.Ready{Method: "GET"}, principalKey: "p1",
		}}
		x.url = []byte("https://api.example/x")
		x.built = operation.Request{
			Accept: "application/json", Header: []operation.Header{{Name: "A", Value: []byte("b")}},
			HasBody: true, ContentType: []byte("application/json"), Body: []byte("{}"),
		}
		x.bound = credentials.Bound{Rules: credentials.Rules{{ID: "c1"}, {ID: "c2", User: true}}, Values: []credentials.Credential{{Version: 1}, {Version: 1}}}
		change(x)
		return string(x.appendKey(nil))
	}
	same := func(*exchange) {}
	if again := key(same); again != key(same) {
		t.Fatal("the same call has two keys")
	}
	for name, change := range map[string]func(x *exchange){
		"toolset":          func(x *exchange) { x.ts.ID = "ts_2" },
		"connector":        func(x *exchange) { x.tool.Binding.Digest = "sha256:2" },
		"method":           func(x *exchange) { x.ready.Method = "QUERY" },
		"URL":              func(x *exchange) { x.url = []byte("https://api.example/y") },
		"accept":           func(x *exchange) { x.built.Accept = "text/csv" },
		"header":           func(x *exchange) { x.built.Header[0].Value = []byte("c") },
		"header's name":    func(x *exchange) { x.built.Header[0].Name = "B" },
		"no header":        func(x *exchange) { x.built.Header = nil },
		"name and value":   func(x *exchange) { x.built.Header[0] = operation.Header{Name: "A:", Value: nil} },
		"body":             func(x *exchange) { x.built.Body = []byte("[]") },
		"content type":     func(x *exchange) { x.built.ContentType = []byte("text/plain") },
		"no body":          func(x *exchange) { x.built.HasBody = false },
		"signing plugin":   func(x *exchange) { x.ready.Auth = &snapshot.Plugin{Key: "k1"} },
		"other plugin":     func(x *exchange) { x.ready.Auth = &snapshot.Plugin{Key: "k2"} },
		"credential":       func(x *exchange) { x.bound.Rules[0].ID = "c3" },
		"version":          func(x *exchange) { x.bound.Values[0].Version = 2 },
		"caller":           func(x *exchange) { x.principalKey = "p2" },
		"of no caller":     func(x *exchange) { x.bound.Rules[1].User = false },
		"version of users": func(x *exchange) { x.bound.Values[1].Version = 2 },
		"no credentials":   func(x *exchange) { x.bound.Values = nil },
	} {
		if key(change) == key(same) {
			t.Errorf("%s is not part of the key", name)
		}
	}
	// What does not go with the request does not divide: one answer serves all callers.
	nobody := func(x *exchange) { x.bound.Rules[1].User, x.principalKey = false, "p2" }
	if key(nobody) != key(func(x *exchange) { x.bound.Rules[1].User = false }) {
		t.Error("callers are told apart though no credential is theirs")
	}
}

package main

// A target is a package whose code is mutated.
type target struct {
	dir   string   // relative to the module
	only  []string // files to mutate; empty means all
	wider []string // packages whose tests also guard it, asked after its own
}

// targets lists the packages that refuse what must not pass. An own test names
// the fault best, so the wider packages are asked only about mutants that the
// package's own tests let live.
var targets = []target{
	{dir: "gateway/access", wider: []string{"gateway/snapshot", "gateway"}},
	{dir: "gateway/upstream", wider: []string{"gateway/call", "gateway"}},
	{dir: "gateway/credentials", wider: []string{"gateway/call", "gateway"}},
	{dir: "gateway/edge", wider: []string{"gateway"}},
	{dir: "registry/sign", wider: []string{"registry/oci", "gateway/edge"}},
	{dir: "plugins/engine", only: []string{"check.go"}, wider: []string{"plugins/projection", "plugins/enginepool"}},
	{dir: "plugins/extism", only: []string{"env.go", "limits.go", "stack.go", "turns.go"}, wider: []string{"plugins/enginepool"}},
	{dir: "internal/safedial", wider: []string{"gateway/upstream"}},
	{dir: "internal/oauth", wider: []string{"gateway/credentials"}},
	{dir: "internal/redact"},
	{dir: "internal/jsonscan", wider: []string{"gateway/mcp", "plugins/operation"}},
	{dir: "admin/store", wider: []string{"admin/publish"}},
	{dir: "admin/request/audit", wider: []string{"admin"}},
	{dir: "admin/login/credential", wider: []string{"admin"}},
	{dir: "admin/draft/binding", wider: []string{"admin"}},
	{dir: "admin/login", wider: []string{"admin"}},
	{dir: "admin/toolset/grant", wider: []string{"admin"}},
	{dir: "admin/store/cluster", wider: []string{"admin"}},
	{dir: "gateway/cache", wider: []string{"gateway/call"}},
	{dir: "gateway/held", wider: []string{"gateway/call"}},
	{dir: "gateway/certificate", wider: []string{"gateway"}},
	{dir: "gateway/call", wider: []string{"gateway"}},
	{dir: "gateway/mcp", wider: []string{"gateway"}},
	{dir: "gateway/plugin", wider: []string{"gateway"}},
	{dir: "gateway/pool", wider: []string{"gateway"}},
	{dir: "gateway/task", wider: []string{"gateway"}},
	{dir: "gateway/session", wider: []string{"gateway"}},
	{dir: "internal/http1", wider: []string{"gateway"}},
	{dir: "internal/sock", wider: []string{"gateway"}},
	{dir: "internal/textfilter", wider: []string{"gateway"}},
	{dir: "plugins/codecache"},
	{dir: "admin/change", wider: []string{"admin"}},
	{dir: "internal/secrets", wider: []string{"admin/store"}},
	{dir: "plugins/catalog", wider: []string{"admin/catalog"}},
	{dir: "plugins/script", only: []string{"engine.go", "errors.go", "host.go", "limits.go", "run.go"}, wider: []string{"gateway"}},
	{dir: "plugins/turns", wider: []string{"plugins/extism"}},
	{dir: "registry/server", wider: []string{"registry/oci"}},
}

package admin_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/login/local"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/publish"
	"github.com/sluicegate/sluice/internal/problem"
)

// programs are the commands of a node; that they run is tested where they do
// (gateway/process, cmd/sluice).
type programs struct {
	added []string // addresses
	byURL map[string]*local.Command
}

func (p *programs) Address(c *local.Command) (string, error) {
	return "stdio://" + strings.Join(c.Argv, "-"), nil
}

func (p *programs) Add(_ context.Context, c *local.Command) error {
	at, _ := p.Address(c)
	p.added = append(p.added, at)
	p.byURL[at] = c
	return nil
}

func (p *programs) Command(at string) (*local.Command, error) {
	if c := p.byURL[at]; c != nil {
		return c, nil
	}
	return nil, problem.New(problem.NotFound, "no such command")
}

func (p *programs) Output(at string) local.Output {
	return local.Output{Lines: []local.Line{{Text: "of " + at}}, Dropped: 3}
}

// localCommands are those of the world; nil: it runs none.
func (w *world) localCommands() local.Commands {
	if w.programs == nil {
		return nil
	}
	return w.programs
}

func newProgramWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.stop()
	w.programs = &programs{byURL: map[string]*local.Command{}}
	w.open()
	w.servers.set(nil, "find=Finds.")
	return w
}

func programSource(argv ...string) map[string]any {
	return map[string]any{"source": map[string]any{"mcp": map[string]any{"command": map[string]any{"argv": argv}}}}
}

// TestCommandsAreTheOperators: a command is code on the machine of the node. Nobody but
// the operator adds one, by no way, and an address of one that is there helps nobody.
func TestCommandsAreTheOperators(t *testing.T) {
	w := newProgramWorld(t)
	editor := w.apiToken("editor")
	tenant := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"tenant"}`), 201)
	tenants := []string{"Authorization", "Bearer " + tenant.Administrator.Token}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", programSource("serve", "notes")), 201)
	if ts.Connectors[0].Source.URL != "stdio://serve-notes" || len(w.programs.added) != 1 {
		t.Fatalf("made %+v, added %v", ts.Connectors[0].Source, w.programs.added)
	}
	if r := w.records("command.add"); len(r) != 1 || !strings.Contains(string(r[0].After), `"serve","notes"`) {
		t.Errorf("audited: %+v", r)
	}
	doc, _ := w.export("")
	if c := doc.Toolsets[0].Source.Command; c == nil || !slices.Equal(c.Argv, []string{"serve", "notes"}) {
		t.Fatalf("exported %+v", doc.Toolsets[0].Source)
	}
	again := doc.Toolsets[0]
	again.Slug, again.Name = "copy", "Copy"
	copied := doc
	copied.Toolsets = []declare.DeclaredToolset{again}
	api := w.create("Shop", "pets.yaml")
	ways := []struct {
		name, method, path string
		body               any
	}{
		{"toolset", "POST", "/v1/toolsets", programSource("rm", "-rf")},
		{"connector", "POST", "/v1/toolsets/" + api.ID + "/connectors", programSource("rm", "-rf")},
		{"preview", "POST", "/v1/connectors/preview", programSource("rm", "-rf")},
		{"connection", "POST", "/v1/mcp/test-connection", map[string]any{"command": map[string]any{"argv": []string{"rm"}}}},
		{"import", "POST", "/v1/import", copied},
		{"plan", "POST", "/v1/import?dryRun=true", copied},
	}
	for who, token := range map[string][]string{"editor": editor, "tenant": tenants} {
		for _, way := range ways {
			if who == "tenant" && way.name == "connector" {
				continue // the toolset is of another workspace
			}
			if a := w.do(way.method, way.path, way.body, token...); a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "only its operator") {
				t.Errorf("%s by %s: %d %s", way.name, who, a.StatusCode, a.body)
			}
		}
	}
	// The address of a command is not a URL that a request names, not the operator's either.
	for name, a := range map[string]answer{
		"toolset":    w.do("POST", "/v1/toolsets", map[string]any{"source": map[string]any{"mcp": map[string]any{"url": "stdio://serve-notes"}}}, editor...),
		"connection": w.do("POST", "/v1/mcp/test-connection", map[string]any{"url": "stdio://serve-notes"}),
		"login":      w.do("POST", "/v1/mcp/logins", map[string]any{"url": "stdio://serve-notes"}),
		"base URL":   w.send("PATCH", "/v1/toolsets/"+api.ID, map[string]any{"baseUrl": "stdio://serve-notes"}, "/v1/toolsets/"+api.ID),
		"both":       w.do("POST", "/v1/toolsets", map[string]any{"source": map[string]any{"mcp": map[string]any{"url": "https://mcp.example.com/mcp", "command": map[string]any{"argv": []string{"x"}}}}}),
		"neither":    w.do("POST", "/v1/toolsets", map[string]any{"source": map[string]any{"mcp": map[string]any{}}}),
		"OAuth":      w.do("POST", "/v1/toolsets", with(programSource("x"), "authentication", map[string]any{"authType": "bearer", "token": "t"})),
	} {
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	bare := again
	bare.Source = &declare.DeclaredSource{Kind: "mcp", URL: "stdio://serve-notes", Document: again.Source.Document}
	copied.Toolsets = []declare.DeclaredToolset{bare}
	if a := w.do("POST", "/v1/import", copied, editor...); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an import with the address alone: %d %s", a.StatusCode, a.body)
	}
	if len(w.programs.added) != 1 {
		t.Errorf("added %v", w.programs.added)
	}

	// What is there may be used by who works with the toolset: refreshed, exported, imported.
	want[change.Refreshed](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/refresh", `{}`, editor...), http.StatusOK)
	if p := w.importing("", doc, editor...); p.Changes != 0 {
		t.Errorf("its own export again: %+v", p)
	}
	copied.Toolsets = []declare.DeclaredToolset{again}
	if p := w.importing("", copied); p.Changes != 1 {
		t.Errorf("the operator's import: %+v", p)
	}

	// What it writes may hold anybody's data.
	at := "/v1/toolsets/" + ts.ID + "/connectors/" + ts.Connectors[0].Name + "/output"
	want[front.Problem](w, w.do("GET", at, nil, editor...), http.StatusForbidden)
	if out := want[local.Output](w, w.do("GET", at, nil), http.StatusOK); len(out.Lines) != 1 || out.Lines[0].Text != "of stdio://serve-notes" || out.Dropped != 3 {
		t.Errorf("output %+v", out)
	}
	want[front.Problem](w, w.do("GET", "/v1/toolsets/"+api.ID+"/connectors/"+api.Connectors[0].Name+"/output", nil), http.StatusConflict)
}

func with(m map[string]any, name string, v any) map[string]any {
	m[name] = v
	return m
}

// TestCommandsNeedPermission: a node that was not told to runs none, for anybody.
func TestCommandsNeedPermission(t *testing.T) {
	w := newWorld(t)
	if p := want[front.Problem](w, w.do("POST", "/v1/toolsets", programSource("x")), http.StatusForbidden); !strings.Contains(p.Remedy, "--allow-commands") {
		t.Errorf("%+v", p)
	}
}

// TestCommandsGoToNoEdge: an edge gets neither the credentials of a toolset with a command
// nor a release that makes it wait for them.
func TestCommandsGoToNoEdge(t *testing.T) {
	w := newProgramWorld(t)
	body := programSource("serve")
	body["authentication"] = map[string]any{"authType": "header", "headerName": "Sluice-Env-API_KEY", "apiKey": upstreamKey}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
	if ts.Status != "live" {
		want[view.Toolset](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/deploy", `{"reason":"for the test"}`), http.StatusOK)
	}
	released := w.get(ts.ID)
	if released.Status != "live" {
		t.Fatalf("status %s", released.Status)
	}
	rel, err := w.pub.Latest(t.Context(), publish.DefaultGroup)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range rel.Release().Toolsets {
		content, err := w.pub.Content(t.Context(), entry.Repository, entry.Bundle)
		if err != nil || len(content.Credentials) != 0 {
			t.Errorf("edges get %+v, %v", content, err)
		}
	}
}

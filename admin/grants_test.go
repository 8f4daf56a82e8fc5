package admin_test

import (
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/admin/member/people"
	"github.com/sluicegate/sluice/admin/toolset/grant"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
)

// reaches reports whether a toolset may dial an address.
func (w *world) reaches(toolset, hostport string) bool {
	return w.dialer.Check(safedial.WithHolder(w.t.Context(), toolset), hostport) == nil
}

func (w *world) grants(query string, headers ...string) []grant.Grant {
	w.t.Helper()
	return want[grant.Grants](w, w.do("GET", "/v1/grants"+query, nil, headers...), 200).Items
}

// apiToken makes an API token and returns its header.
func (w *world) apiToken(role string) []string {
	w.t.Helper()
	tok := want[people.APIToken](w, w.do("POST", "/v1/tokens", map[string]any{"name": role, "role": role}), 201)
	return []string{"Authorization", "Bearer " + tok.Token}
}

var here = []string{"Remote", "127.0.0.1:4711"}

// TestGrantsAreMadeByOperators: what an address in a request grants depends on who
// sends it; a connection that looks local is not enough.
func TestGrantsAreMadeByOperators(t *testing.T) {
	w := newWorld(t)
	hostport := strings.TrimPrefix(w.upstream.URL, "http://")
	editor, administrator := w.apiToken("editor"), w.apiToken("admin")
	tenant := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"tenant"}`), 201)
	tenants := []string{"Authorization", "Bearer " + tenant.Administrator.Token}
	for i, c := range []struct {
		name    string
		headers []string
		granted bool
	}{
		{"the operator, elsewhere", []string{"Remote", "192.0.2.1:4711"}, false},
		{"the operator, behind a proxy of this machine", []string{"Remote", "127.0.0.1:4711", "X-Forwarded-For", "192.0.2.1"}, false},
		{"an editor on this machine", slices.Concat(here, editor), false},
		{"a tenant's administrator on this machine", slices.Concat(here, tenants), false},
		{"an administrator on this machine", slices.Concat(here, administrator), true},
		{"the operator on this machine", here, true},
		{"the operator on this machine, IPv6", []string{"Remote", "[::1]:4711"}, true},
	} {
		body := w.createBody("Pets", "pets.yaml")
		ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, c.headers...), 201)
		if granted := len(ts.Granted) == 1 && ts.Granted[0] == hostport; granted != c.granted || w.reaches(ts.ID, hostport) != c.granted || !c.granted && len(ts.Granted) > 0 {
			t.Errorf("%s: granted %v", c.name, ts.Granted)
		}
		// The same by an edit.
		if i < 4 {
			path := "/v1/toolsets/" + ts.ID
			w.do("PATCH", path, map[string]any{"baseUrl": "http://" + hostport + "/v2"}, slices.Concat(c.headers, []string{"If-Match", "*", "Content-Type", "application/merge-patch+json"})...)
			if w.reaches(ts.ID, hostport) {
				t.Errorf("%s: granted by an edit", c.name)
			}
		}
		w.do("DELETE", "/v1/toolsets/"+ts.ID, nil, slices.Concat(c.headers, []string{"If-Match", "*"})...)
		if w.reaches(ts.ID, hostport) {
			t.Errorf("%s: the grant outlives the toolset", c.name)
		}
	}
	if got := w.grants(""); len(got) != 0 {
		t.Errorf("left: %+v", got)
	}
}

// TestGrantIsOfItsToolset: it helps no other toolset, is audited, is not made twice, and
// outlives a restart.
func TestGrantIsOfItsToolset(t *testing.T) {
	w := newWorld(t)
	body := w.createBody("Pets", "pets.yaml")
	hostport := strings.TrimPrefix(w.upstream.URL, "http://")
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, here...), 201)
	if !reflect.DeepEqual(ts.Granted, []string{hostport}) || !w.reaches(ts.ID, hostport) {
		t.Fatalf("granted %v", ts.Granted)
	}
	other := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Other", "locked.yaml"), "Remote", "192.0.2.1:4711"), 201)
	if w.reaches(other.ID, hostport) || w.reaches("", hostport) || w.dialer.Check(t.Context(), hostport) == nil {
		t.Error("the grant is not only of its toolset")
	}
	if !slices.Contains(w.audits(), "grant.add") {
		t.Error("the grant is not audited")
	}
	if again := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, here...), 200); len(again.Granted) != 0 {
		t.Errorf("granted again: %v", again.Granted)
	}
	w.stop()
	w.open()
	if !w.reaches(ts.ID, hostport) || w.reaches(other.ID, hostport) {
		t.Error("after a restart the grant is another")
	}
	g := w.grants("?toolset=pets")
	if len(g) != 1 || g[0].Address != hostport || g[0].Toolset != ts.ID || g[0].Workspace != "default" || len(w.grants("?toolset="+other.ID)) != 0 {
		t.Fatalf("listed: %+v", g)
	}
	if a := w.do("DELETE", "/v1/grants/"+g[0].ID, nil, w.apiToken("editor")...); a.StatusCode != http.StatusForbidden || !w.reaches(ts.ID, hostport) {
		t.Errorf("an editor revokes: %d", a.StatusCode)
	}
	if a := w.do("DELETE", "/v1/grants/"+g[0].ID, nil); a.StatusCode != http.StatusNoContent || w.reaches(ts.ID, hostport) || len(w.grants("")) != 0 {
		t.Errorf("revoking: %d", a.StatusCode)
	}
	if !slices.Contains(w.audits(), "grant.revoke") {
		t.Error("the revocation is not audited")
	}
	want[front.Problem](w, w.do("DELETE", "/v1/grants/"+g[0].ID, nil), 404)
	w.stop()
	w.open()
	if w.reaches(ts.ID, hostport) {
		t.Error("a revoked grant is back after a restart")
	}
}

// TestRefreshNamesNoAddress: whoever reads a source again names none. A name that has a
// private address since then is not granted by it, nor is a grant that was revoked.
func TestRefreshNamesNoAddress(t *testing.T) {
	w := newWorld(t)
	const source = "http://127.0.0.1:9/openapi.yaml"
	w.fetcher.put(source, shopSpec)
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
		"slug": "shop", "baseUrl": w.upstream.URL, "source": map[string]any{"openapi": map[string]any{"url": source}},
	}, here...), 201)
	made := w.grants("")
	if len(made) != 2 {
		t.Fatalf("the operator named two addresses; granted: %+v", made)
	}
	for _, g := range made {
		if a := w.do("DELETE", "/v1/grants/"+g.ID, nil); a.StatusCode != http.StatusNoContent {
			t.Fatalf("revoking: %d", a.StatusCode)
		}
	}
	for i, body := range []string{`{"dryRun":true}`, `{"hold":true}`, `{}`, `{"force":true}`} {
		w.fetcher.put(source, strings.Replace(shopSpec, "/orders:", "/orders"+strings.Repeat("x", i+1)+":", 1))
		want[change.Refreshed](w, w.do("POST", "/v1/toolsets/shop/refresh", body, here...), 200)
		if got := w.grants(""); len(got) != 0 || w.reaches(ts.ID, "127.0.0.1:9") {
			t.Fatalf("a refresh with %s granted %+v", body, got)
		}
	}
}

// TestGrantLeavesNothing: what does not make or change a toolset grants nothing.
func TestGrantLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.servers.tools = []string{"list_notes"}
	hostport := strings.TrimPrefix(w.upstream.URL, "http://")
	nothing := func(what string) {
		t.Helper()
		if got := w.grants(""); len(got) != 0 || slices.Contains(w.audits(), "grant.add") {
			t.Errorf("%s left %+v", what, got)
		}
	}
	want[change.Connection](w, w.do("POST", "/v1/mcp/test-connection", map[string]any{"url": w.upstream.URL + "/mcp"}, here...), 200)
	nothing("a test of a connection")
	w.servers.err = problem.New(problem.Unreachable, "it is down")
	want[front.Problem](w, w.do("POST", "/v1/toolsets", map[string]any{"source": map[string]any{"mcp": map[string]any{"url": w.upstream.URL + "/mcp"}}}, here...), 502)
	nothing("a creation that failed")
	want[front.Problem](w, w.do("POST", "/v1/toolsets", map[string]any{
		"baseUrl": w.upstream.URL, "source": map[string]any{"openapi": map[string]any{"document": "openapi: 3.1.0"}},
	}, here...), 422)
	nothing("a specification that is none")
	if w.dialer.Check(t.Context(), hostport) == nil {
		t.Error("the address is reached")
	}
}

// TestCreateGrant: by the operator only, and never of what no toolset may call.
func TestCreateGrant(t *testing.T) {
	w := newWorld(t)
	w.dialer.Protect(&net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 7301})
	w.create("Pets", "pets.yaml")
	tenant := want[people.CreatedWorkspace](w, w.do("POST", "/v1/workspaces", `{"id":"tenant"}`), 201)
	tenants := []string{"Authorization", "Bearer " + tenant.Administrator.Token}
	theirs := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", w.createBody("Theirs", "pets.yaml"), slices.Concat(tenants, []string{"Remote", "192.0.2.1:1"})...), 201)
	f := func(body map[string]any, status int, headers ...string) []grant.Grant {
		t.Helper()
		a := w.do("POST", "/v1/grants", body, headers...)
		if a.StatusCode != status {
			t.Fatalf("%v: %d %s, want %d", body, a.StatusCode, a.body, status)
		}
		if status != 201 {
			return nil
		}
		return want[grant.Grants](w, a, 201).Items
	}
	of := func(address string) map[string]any { return map[string]any{"toolset": "pets", "address": address} }
	f(of("10.1.2.3:80"), 403, w.apiToken("editor")...)
	f(of("10.1.2.3:80"), 403, w.apiToken("publisher")...)
	f(map[string]any{"toolset": "theirs", "address": "10.1.2.3:80"}, 403, tenants...)
	for address, status := range map[string]int{
		"127.0.0.1:7301": 422, "http://localhost:7301/v1": 422, "[::1]:7301": 422, "0.0.0.0:7301": 422, "127.9.9.9:7301": 422, "169.254.169.254:80": 422,
		"0.0.0.0:80": 422, "224.0.0.1:80": 422, "10.1.2.3": 400, "http://": 400, ":80": 400, "10.1.2.3:0": 502,
	} {
		f(of(address), status)
	}
	f(map[string]any{"toolset": "absent", "address": "10.1.2.3:80"}, 404)
	f(map[string]any{"toolset": "theirs", "address": "10.1.2.3:80", "workspace": "absent"}, 404)
	if got := f(of("93.184.216.34:443"), 201); len(got) != 0 {
		t.Errorf("a public address was granted: %+v", got)
	}
	first := f(of("http://10.1.2.3/v1"), 201)
	if again := f(of("10.1.2.3:80"), 201); len(first) != 1 || len(again) != 1 || first[0].Address != "10.1.2.3:80" || again[0].ID != first[0].ID {
		t.Errorf("%+v, and again %+v", first, again)
	}
	g := f(map[string]any{"toolset": "theirs", "address": "10.1.2.3:80", "workspace": "tenant", "reason": "their staging"}, 201, "Remote", "192.0.2.1:1")
	if len(g) != 1 || g[0].Workspace != "tenant" || g[0].Toolset != theirs.ID || !w.reaches(theirs.ID, "10.1.2.3:80") {
		t.Fatalf("of another workspace: %+v", g)
	}
	if mine := w.grants("", tenants...); len(mine) != 1 || mine[0].Reason != "their staging" {
		t.Errorf("the tenant sees %+v", mine)
	}
	for _, path := range []string{"?workspace=default"} {
		want[front.Problem](w, w.do("GET", "/v1/grants"+path, nil, tenants...), 403)
	}
	want[front.Problem](w, w.do("DELETE", "/v1/grants/"+first[0].ID, nil, tenants...), 404)
	want[front.Problem](w, w.do("DELETE", "/v1/grants/"+first[0].ID+"?workspace=default", nil, tenants...), 403)
	if a := w.do("DELETE", "/v1/grants/"+g[0].ID, nil, tenants...); a.StatusCode != http.StatusNoContent || w.reaches(theirs.ID, "10.1.2.3:80") {
		t.Errorf("a tenant's administrator revokes a grant of the workspace: %d", a.StatusCode)
	}
	if _, err := w.dialer.Seen(t.Context(), netip.AddrPortFrom(netip.MustParseAddr("10.1.2.3"), 80).String()); err != nil {
		t.Error(err)
	}
}

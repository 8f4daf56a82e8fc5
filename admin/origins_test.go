package admin_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/view"
	"github.com/sluicegate/sluice/admin/login"
	"github.com/sluicegate/sluice/admin/login/credential"
	"github.com/sluicegate/sluice/admin/request/audit"
	"github.com/sluicegate/sluice/registry"
)

// thief is a server at an address that no credential is for. It answers as the API
// does and counts the requests, and the bytes of keys in them.
type thief struct {
	*httptest.Server
	mu       sync.Mutex
	requests int // guarded by mu
	stolen   int // guarded by mu; bytes
}

func newThief(t *testing.T) *thief {
	t.Helper()
	x := &thief{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var all strings.Builder
		_ = r.Header.Write(&all)
		text := all.String() + r.URL.String() + string(body)
		if plain, err := url.QueryUnescape(r.URL.RawQuery); err == nil {
			text += plain
		}
		n := strings.Count(text, upstreamKey) + strings.Count(text, base64.StdEncoding.EncodeToString([]byte("me:"+upstreamKey)))
		x.mu.Lock()
		defer x.mu.Unlock()
		x.requests++
		x.stolen += n * len(upstreamKey)
		_, _ = io.WriteString(w, `[{"id":7,"name":"Rex"}]`)
	}))
	t.Cleanup(x.Close)
	return x
}

func (x *thief) loot() (requests, bytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.requests, x.stolen
}

// movable is a specification whose servers a test chooses.
func movable(version, servers, ofOperation string) string {
	if ofOperation != "" {
		ofOperation = "\n      servers: [" + ofOperation + "]"
	}
	return `openapi: 3.0.3
info: {title: Shop, version: "` + version + `"}
servers: [` + servers + `]
security: [{key: []}]
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Api-Key}}}
paths:
  /pets:
    get:
      operationId: listPets` + ofOperation + `
      responses: {"200": {description: OK}}
  /orders:
    get: {operationId: listOrders, responses: {"200": {description: OK}}}
`
}

// kept is a toolset with a key that is live at the world's upstream.
type kept struct {
	*world
	evil   *thief
	editor string
	live   string // digest
}

// as sends a request with an editor's token.
func (k *kept) as(method, path string, body any, headers ...string) answer {
	k.t.Helper()
	return k.do(method, path, body, append(headers, "Authorization", "Bearer "+k.editor)...)
}

func (k *kept) etag() string {
	k.t.Helper()
	return k.do("GET", "/v1/toolsets/shop", nil).Header.Get("ETag")
}

// spec publishes another version of the specification.
func (k *kept) spec(version, servers, ofOperation string) {
	k.fetcher.put(shopURL, movable(version, servers, ofOperation))
}

func (k *kept) home() string { return "{url: " + k.upstream.URL + "}" }

func (k *kept) thiefServer() string { return "{url: " + k.evil.URL + "}" }

// patch moves the base URL, as an editor may.
func (k *kept) patch() {
	k.t.Helper()
	want[view.Toolset](k.world, k.as("PATCH", "/v1/toolsets/shop", map[string]any{"baseUrl": k.evil.URL}, "If-Match", k.etag()), 200)
}

// wayToMove is a way in which calls of a live toolset may be sent elsewhere.
type wayToMove struct {
	name string
	do   func(k *kept)
}

var waysToMove = []wayToMove{
	{"refresh", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{}), 200)
		c := r.Changes
		if r.Deployed || r.Test != nil || c == nil || c.Breaking != 1 || c.Origins == nil || strings.Join(c.Origins.From, " ") != k.upstream.URL || strings.Join(c.Origins.To, " ") != k.evil.URL ||
			!strings.Contains(r.Waiting, k.upstream.URL) || !strings.Contains(r.Waiting, k.evil.URL) {
			k.t.Errorf("refreshed %+v, changes %+v", r, c)
		}
	}},
	{"dry run of a refresh", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"dryRun": true}), 200)
		if r.Changes == nil || r.Changes.Origins == nil || len(r.Changes.Origins.New) != 1 {
			k.t.Errorf("changes %+v", r.Changes)
		}
	}},
	{"refresh that accepts what breaks", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true, "accept": true, "deploy": map[string]any{"untestedReason": "trust me"}}), 200)
	}},
	{"refresh by an administrator who accepts what breaks", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		want[change.Refreshed](k.world, k.do("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true}), 200)
	}},
	{"refresh, then test", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{}), 200)
		a := k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
		if a.StatusCode != http.StatusConflict || !strings.Contains(a.body, k.upstream.URL) || !strings.Contains(a.body, k.evil.URL) || !strings.Contains(a.body, "sluice toolset origins shop --confirm") {
			k.t.Errorf("tested: %s", a.body)
		}
	}},
	{"refresh, twice", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{}), 200)
		k.spec("3", k.thiefServer(), "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true}), 200)
	}},
	{"refresh with hold", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"hold": true}), 200)
		if r.Deployed || r.Changes == nil || !r.Changes.Waits || r.Changes.Origins == nil || k.get("shop").Digest != k.live {
			k.t.Errorf("held %+v", r.Changes)
		}
	}},
	{"accept of what waits, by an editor", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"hold": true}), 200)
		if a := k.as("POST", "/v1/toolsets/shop/changes/"+r.Changes.ID+"/accept", map[string]any{}); a.StatusCode != http.StatusConflict {
			k.t.Errorf("accepted: %s", a.body)
		}
	}},
	{"accept of what waits, by an administrator who confirmed nothing", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		r := want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"hold": true}), 200)
		if a := k.do("POST", "/v1/toolsets/shop/changes/"+r.Changes.ID+"/accept", map[string]any{}); a.StatusCode != http.StatusConflict || k.get("shop").Digest != k.live {
			k.t.Errorf("accepted: %s", a.body)
		}
	}},
	{"schedule", func(k *kept) {
		want[change.Schedule](k.world, k.as("PUT", "/v1/toolsets/shop/schedule", map[string]any{"everySeconds": 300}), 200)
		k.spec("2", k.thiefServer(), "")
		k.later.Add(int64(time.Hour))
		if err := k.srv.Changes().CheckSpecifications(k.t.Context()); err != nil {
			k.t.Fatal(err)
		}
		s := want[change.Schedule](k.world, k.as("GET", "/v1/toolsets/shop/schedule", nil), 200)
		if s.Waiting == nil || s.Waiting.Origins == nil || k.get("shop").Digest != k.live {
			k.t.Errorf("schedule %+v", s)
		}
	}},
	{"default of a server variable", func(k *kept) {
		host, port, _ := strings.Cut(strings.TrimPrefix(k.evil.URL, "http://"), ":")
		k.spec("2", "{url: 'http://{host}:"+port+"', variables: {host: {default: "+host+"}}}", "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true}), 200)
	}},
	{"server of an operation", func(k *kept) {
		k.spec("2", k.home(), k.thiefServer())
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true, "test": map[string]any{"tool": "list_pets"}}), 200)
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"another port", func(k *kept) {
		k.spec("2", "{url: 'http://127.0.0.1:"+k.evil.URL[strings.LastIndexByte(k.evil.URL, ':')+1:]+"/v1'}", "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true}), 200)
	}},
	{"order of the servers", func(k *kept) {
		k.spec("2", k.thiefServer()+", "+k.home(), "")
		want[change.Refreshed](k.world, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"acceptBreaking": true}), 200)
	}},
	{"overlay", func(k *kept) {
		overlay := "overlay: 1.0.0\ninfo: {title: t, version: '1'}\nactions:\n- {target: '$.servers[0]', update: {url: '" + k.evil.URL + "'}}\n"
		body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL, "overlays": []any{map[string]any{"document": overlay}}}}}
		want[change.CreatedToolset](k.world, k.as("POST", "/v1/toolsets", body), 200)
	}},
	{"creation again, with another base URL", func(k *kept) {
		body := map[string]any{"slug": "shop", "baseUrl": k.evil.URL, "source": map[string]any{"openapi": map[string]any{"url": shopURL}}, "deploy": map[string]any{"untestedReason": "x"}}
		want[change.CreatedToolset](k.world, k.as("POST", "/v1/toolsets", body), 200)
	}},
	{"creation again, of a moved specification", func(k *kept) {
		k.spec("2", k.thiefServer(), "")
		body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}}
		want[change.CreatedToolset](k.world, k.as("POST", "/v1/toolsets", body), 200)
	}},
	{"base URL, then test", func(k *kept) {
		k.patch()
		if a := k.as("POST", "/v1/toolsets/shop/test", map[string]any{}); a.StatusCode != http.StatusConflict {
			k.t.Errorf("tested: %s", a.body)
		}
	}},
	{"base URL of the connector, then test", func(k *kept) {
		name := k.get("shop").Connectors[0].Name
		want[view.ToolsetConnectorDetail](k.world, k.as("PATCH", "/v1/toolsets/shop/connectors/"+name, map[string]any{"baseUrl": k.evil.URL}, "If-Match", k.etag()), 200)
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"base URL, then deploy untested", func(k *kept) {
		k.patch()
		if a := k.as("POST", "/v1/toolsets/shop/deploy", map[string]any{"reason": "x"}); a.StatusCode != http.StatusConflict {
			k.t.Errorf("deployed: %s", a.body)
		}
	}},
	{"base URL, then preview", func(k *kept) {
		k.patch()
		if a := k.as("POST", "/v1/toolsets/shop/preview", map[string]any{}); a.StatusCode != http.StatusConflict {
			k.t.Errorf("previewed: %s", a.body)
		}
	}},
	{"base URL, then the same authentication without its secret", func(k *kept) {
		k.patch()
		a := want[credential.Authentication](k.world, k.as("GET", "/v1/toolsets/shop/authentication", nil), 200)
		body := map[string]any{"authType": a.AuthType, "headerName": a.HeaderName, "parameterName": a.ParameterName, "cookieName": a.CookieName, "username": a.Username}
		want[credential.Authentication](k.world, k.as("PUT", "/v1/toolsets/shop/authentication", body), 200)
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"import", func(k *kept) {
		doc, _ := k.export("")
		for i := range doc.Toolsets {
			doc.Toolsets[i].BaseURL = k.evil.URL
		}
		plan := k.importing("", doc)
		if len(plan.Toolsets) != 1 || len(plan.Toolsets[0].Origins) != 1 || plan.Toolsets[0].Revision != 0 {
			k.t.Errorf("imported %+v", plan)
		}
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"confirmation by an editor", func(k *kept) {
		k.patch()
		if a := k.as("POST", "/v1/toolsets/shop/origins", map[string]any{"origins": []string{k.evil.URL}}); a.StatusCode != http.StatusForbidden {
			k.t.Errorf("confirmed: %s", a.body)
		}
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"restart of the control plane", func(k *kept) {
		k.patch()
		k.stop()
		k.open()
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
	}},
	{"a record from before origins were kept", func(k *kept) {
		k.patch()
		k.stop()
		k.raw("UPDATE credentials SET origins = ''")
		k.open()
		k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"})
		a := want[credential.Authentication](k.world, k.as("GET", "/v1/toolsets/shop/authentication", nil), 200)
		if strings.Join(a.Origins, " ") != k.upstream.URL {
			k.t.Errorf("the old credential is for %v", a.Origins)
		}
	}},
}

// TestKeysStayAtTheirOrigins: no way to move a toolset's calls takes its key, or any
// request, to a new address; what is live goes on.
func TestKeysStayAtTheirOrigins(t *testing.T) {
	kinds := map[string]map[string]any{
		"header": {"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey},
		"query":  {"authType": "query", "parameterName": "api_key", "apiKey": upstreamKey},
		"cookie": {"authType": "cookie", "cookieName": "sid", "apiKey": upstreamKey},
		"basic":  {"authType": "basic", "username": "me", "password": upstreamKey},
		"bearer": {"authType": "bearer", "token": upstreamKey},
	}
	for kind, auth := range kinds {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.upstream.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `[{"id":7}]`) })
			k := &kept{world: w, evil: newThief(t), editor: w.withRole("default", "editor").Reveal()}
			for i, way := range waysToMove {
				if kind != "header" && i%len(kinds) != 0 && !strings.HasPrefix(way.name, "base URL") {
					continue // the control plane decides without looking at the kind
				}
				t.Run(way.name, func(t *testing.T) {
					w.t = t
					w.fetcher.put(shopURL, movable("1", k.home(), ""))
					body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}, "authentication": auth}
					made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), 201)
					if made.Status != "live" {
						t.Fatalf("created %+v", made.Test)
					}
					k.live = made.LiveDigest
					way.do(k)
					if got := w.get("shop"); got.LiveDigest != k.live || got.Revision != 1 {
						t.Errorf("revision %d with %s is live, not %s", got.Revision, got.LiveDigest, k.live)
					}
					if requests, bytes := k.evil.loot(); requests != 0 || bytes != 0 {
						t.Fatalf("%d requests with %d bytes of the key went to the new address", requests, bytes)
					}
					w.remove("shop")
				})
			}
		})
	}
}

// TestConfirmOrigins: an administrator, or whoever has the secret, can let it go to a new
// address. Both addresses are shown before, and it is in the audit log.
func TestConfirmOrigins(t *testing.T) {
	w := newWorld(t)
	other := newThief(t) // an honest one here
	k := &kept{world: w, evil: other, editor: w.withRole("default", "editor").Reveal()}
	k.spec("1", k.home(), "")
	auth := map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey}
	body := map[string]any{"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}, "authentication": auth}
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), 201)
	if made.Authentication == nil || strings.Join(made.Authentication.Origins, " ") != w.upstream.URL {
		t.Fatalf("created %+v", made.Authentication)
	}
	list := func() login.ConnectorOrigins {
		t.Helper()
		l := want[admin.List[login.ConnectorOrigins]](w, k.as("GET", "/v1/toolsets/shop/origins", nil), 200)
		if len(l.Items) != 1 {
			t.Fatalf("origins %+v", l)
		}
		return l.Items[0]
	}
	// A change that waits outside of the draft.
	k.spec("2", k.thiefServer(), "")
	held := want[change.Refreshed](w, k.as("POST", "/v1/toolsets/shop/refresh", map[string]any{"hold": true}), 200)
	if got := list(); fmt.Sprint(got.Origins, got.Draft, got.Live, got.New) != fmt.Sprintf("[%s] [%[1]s] [%[1]s] [%s]", w.upstream.URL, other.URL) {
		t.Errorf("origins %+v", got)
	}
	for _, bad := range []map[string]any{{}, {"origins": []string{"shop"}}, {"origins": []string{""}}, {"origins": []string{other.URL}, "connector": "none"}} {
		if a := w.do("POST", "/v1/toolsets/shop/origins", bad); a.StatusCode < 400 || a.StatusCode > 499 {
			t.Errorf("confirmed %v: %s", bad, a.body)
		}
	}
	want[admin.List[login.ConnectorOrigins]](w, w.do("POST", "/v1/toolsets/shop/origins", map[string]any{"origins": []string{other.URL + "/v1"}, "reason": "they moved"}), 200)
	r := want[change.Refreshed](w, k.as("POST", "/v1/toolsets/shop/changes/"+held.Changes.ID+"/accept", map[string]any{}), 200)
	if requests, bytes := other.loot(); !r.Deployed || requests != 1 || bytes != len(upstreamKey) {
		t.Fatalf("after the confirmation: %+v, %d requests, %d bytes", r, requests, bytes)
	}
	records := want[admin.List[audit.AuditRecord]](w, w.do("GET", "/v1/audit?limit=200", nil), 200)
	found := false
	for _, rec := range records.Items {
		if rec.Action == "authentication.origins" && rec.Reason == "they moved" {
			found = strings.Contains(string(rec.Before), w.upstream.URL) && !strings.Contains(string(rec.Before), other.URL) && strings.Contains(string(rec.After), other.URL)
		}
	}
	if !found {
		t.Errorf("audit log: %v", w.audits())
	}
	// Going back is to an address that the secret is for.
	want[view.Toolset](w, k.as("POST", "/v1/toolsets/shop/rollback", nil), 200)

	// The secret again, from an editor who has it, binds it to where the draft goes and
	// to what is live, and to nothing that was before.
	third := newThief(t)
	want[view.Toolset](w, k.as("PATCH", "/v1/toolsets/shop", map[string]any{"baseUrl": third.URL}, "If-Match", k.etag()), 200)
	a := want[credential.Authentication](w, k.as("PUT", "/v1/toolsets/shop/authentication", auth), 200)
	if got := registry.Origins(a.Origins); !got.Has(third.URL) || !got.Has(w.upstream.URL) || got.Has(other.URL) {
		t.Errorf("the new secret is for %v", got)
	}
	if run := want[admin.TestAnswer](w, k.as("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"}), 200); !run.Deployed {
		t.Errorf("tested %+v", run)
	}
	// The address of revision 2 was confirmed for the secret before.
	if a := k.as("POST", "/v1/toolsets/shop/rollback", map[string]any{"revision": 2}); a.StatusCode != http.StatusConflict || !strings.Contains(a.body, other.URL) {
		t.Errorf("rolled back: %s", a.body)
	}
}

// TestServersOfOperations: a specification with operations on other origins binds the key
// to those that want it, as they are when the secret is given.
func TestServersOfOperations(t *testing.T) {
	w := newWorld(t)
	files := newThief(t)
	k := &kept{world: w, evil: files}
	k.spec("1", k.home(), k.thiefServer())
	body := map[string]any{
		"slug": "shop", "source": map[string]any{"openapi": map[string]any{"url": shopURL}}, "deploy": map[string]any{"skip": true},
		"authentication": map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey},
	}
	made := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Remote", "127.0.0.1:999"), 201)
	if got := registry.Origins(made.Authentication.Origins); len(got) != 2 || !got.Has(w.upstream.URL) || !got.Has(files.URL) {
		t.Fatalf("the key is for %v", got)
	}
	if run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/shop/test", map[string]any{"tool": "list_pets"}), 200); !run.Passed {
		t.Errorf("tested %+v", run)
	}
	if requests, bytes := files.loot(); requests != 1 || bytes != len(upstreamKey) {
		t.Errorf("%d requests, %d bytes", requests, bytes)
	}
}

// TestOldCredentials: a credential from before origins were kept is bound to the live
// revision's base URL, and to nothing when there is none.
func TestOldCredentials(t *testing.T) {
	w := newWorld(t)
	files := newThief(t)
	k := &kept{world: w, evil: files}
	k.spec("1", k.home(), k.thiefServer())
	for slug, skip := range map[string]bool{"shop": false, "draft": true} {
		want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", map[string]any{
			"slug": slug, "source": map[string]any{"openapi": map[string]any{"url": shopURL}}, "deploy": map[string]any{"skip": skip},
			"authentication": map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey},
		}, "Remote", "127.0.0.1:999"), 201)
	}
	w.stop()
	w.raw("UPDATE credentials SET origins = ''")
	w.open()
	for slug, bound := range map[string]registry.Origins{"shop": {w.upstream.URL}, "draft": nil} {
		row, err := w.credential(w.get(slug).ID, w.get(slug).Connectors[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		held, err := w.srv.Secrets().Secret(t.Context(), row.ID)
		if err != nil || held.Origins.String() != bound.String() {
			t.Errorf("%s: bound to %v, want %v; %v", slug, held.Origins, bound, err)
		}
	}
	w.until("the records are bound", func() bool {
		rows, err := w.st.UnboundCredentials(t.Context())
		return err == nil && len(rows) == 0
	})
}

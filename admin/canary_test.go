package admin_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/sluicegate/sluice/admin"
	"github.com/sluicegate/sluice/admin/change"
	"github.com/sluicegate/sluice/admin/change/declare"
	"github.com/sluicegate/sluice/admin/front"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/internal/secrets/secretstest"
)

func mustText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// search looks for every form of a secret in a text.
func search(t *testing.T, where, text, secret string) {
	t.Helper()
	if forms := secretstest.Find([]byte(text), secret); forms != nil {
		t.Errorf("%s holds the secret (%s)", where, strings.Join(forms, ", "))
	}
}

// Canaries go in wherever a secret can, and everything that is written or sent is
// searched: each answer with its headers, the log, and every file of the data
// directory (database, WAL, registry), also right after a kill.
func TestNoSecretLeaves(t *testing.T) {
	w, shownOnce := newWorld(t), map[string]string{}
	canaries := map[string]string{
		"apiKey": "cnry+key/71f0e2/9f3c", "token": "cnry+tok/8812ab/77aa", "password": "cnry+pwd/5c5c5c/0b0b", "refused": "cnry+bad/aaaaaa/1d1d\n",
		"url": "cnryurl4d4d4d4d", "idempotent": "cnry+idk/3e3e3e/2f2f", "unknown": "cnry+unk/9a9a9a/4c4c",
		"client": "cnry+cli/6b6b6b/8e8e",
	}
	w.upstream.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Error(rw, `{"message":"bad credentials"}`, http.StatusUnauthorized)
	})
	body := w.createBody("Pets", "locked.yaml")
	body["authentication"] = map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": canaries["apiKey"]}
	ts := want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body, "Idempotency-Key", "a"), 201)
	w.do("POST", "/v1/toolsets", body, "Idempotency-Key", "a")
	path := "/v1/toolsets/" + ts.ID
	w.do("POST", path+"/test", nil)
	auth := path + "/authentication"
	w.do("PUT", auth, map[string]any{"authType": "bearer", "token": canaries["token"]})
	w.do("POST", path+"/test", nil)
	w.do("POST", path+"/deploy", map[string]any{"reason": "because"})
	w.do("PUT", auth, map[string]any{"authType": "basic", "username": "u", "password": canaries["password"]})
	w.do("POST", path+"/test", nil)
	w.do("PUT", auth, map[string]any{"authType": "header", "headerName": "X", "apiKey": canaries["refused"]})
	w.do("PUT", auth, map[string]any{"authType": "header", "headerName": "X", "apikey": canaries["unknown"]})
	w.do("PUT", auth, `{"authType":"header","headerName":"X","apiKey":"`+canaries["unknown"])
	w.do("PUT", auth, map[string]any{"authType": "header", "headerName": "X", "apiKey": []string{canaries["unknown"]}})
	w.do("PATCH", path, map[string]any{"baseUrl": "https://u:" + canaries["url"] + "@api.example"}, "If-Match", "*")
	w.do("POST", "/v1/toolsets", map[string]any{"source": map[string]any{"openapi": map[string]any{"url": "https://u:" + canaries["url"] + "@api.example"}}})
	w.do("GET", "/v1/me", nil, "Authorization", "Bearer "+canaries["unknown"])
	w.faults.set(func(string, string) error { return errors.New("disk full") })
	broken := w.createBody("Broken", "locked.yaml")
	broken["authentication"] = map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": canaries["idempotent"]}
	w.do("POST", "/v1/toolsets", broken, "Idempotency-Key", "b")
	w.faults.set(nil)
	// The export of it, sealed and not, and its import with secrets that are taken and refused.
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := w.export("?recipient=" + key.Recipient().String())
	w.export("")
	given := `{"authType":"oauth2","grant":"client_credentials","clientId":"c","tokenUrl":"https://id.example/token","clientSecret":"` + canaries["client"] + `"}`
	copied := strings.Replace(strings.ReplaceAll(mustText(t, doc), `"slug":"pets"`, `"slug":"copy"`), `"authentication":[{`, `"authentication":[`+given+`,{`, 1)
	w.do("POST", "/v1/import?dryRun=true", copied)
	if p := want[declare.ImportPlan](w, w.do("POST", "/v1/import", copied), 200); p.Changes != 1 {
		t.Errorf("the import of a client secret: %+v", p)
	}
	w.do("POST", "/v1/import", strings.Replace(copied, `"tokenUrl"`, `"unknown"`, 1))
	for _, p := range []string{path, path + "/tools", auth, "/v1/toolsets", "/v1/audit?limit=200", "/v1/jobs", path + "/revisions", "/v1/me", "/v1/calls", "/v1/usage"} {
		w.do("GET", p, nil)
	}
	canaries["refused"] = strings.TrimSuffix(canaries["refused"], "\n")
	canaries["API token"] = w.token.Reveal()
	// Tokens that are shown once are in that answer and nowhere else, also when the
	// request may be repeated.
	for i, made := range [][2]string{
		{path + "/access-tokens", `{"name":"shown once"}`}, {"/v1/tokens", `{"name":"shown once","role":"viewer"}`}, {"/v1/edges/join-tokens", `{}`},
	} {
		var a struct {
			Token string `json:"token"`
		}
		if err := json.Unmarshal([]byte(w.do("POST", made[0], made[1], "Idempotency-Key", "once"+string(rune('0'+i))).body), &a); err != nil || len(a.Token) < 20 {
			t.Fatalf("%s: %q, %v", made[0], a.Token, err)
		}
		shownOnce[made[0]] = a.Token
	}
	files := 0
	check := func() {
		for name, secret := range shownOnce {
			search(t, "the log, "+name, w.log.String(), secret)
		}
		for name, secret := range canaries {
			if name != "API token" { // which nobody sends back either
				search(t, "an answer, "+name, w.seen.String(), secret)
			}
			search(t, "the log, "+name, w.log.String(), secret)
		}
		err := filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files++
			for _, all := range []map[string]string{canaries, shownOnce} {
				for canary, secret := range all {
					search(t, filepath.Base(name)+", "+canary, string(b), secret)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check()
	w.stop()
	check()
	w.open()
	if files < 10 {
		t.Errorf("only %d files were searched", files)
	}
	// Controls: what was searched is what this test did, and the secrets are there.
	if !strings.Contains(w.seen.String(), `"apiKeyLast4":"9f3c"`) {
		t.Error("the answers that were searched are not those of this test")
	}
	row, err := w.credential(ts.ID, ts.Connector.Name)
	if err != nil || row == nil {
		t.Fatalf("credential %v, %v", row, err)
	}
	if s, err := w.ring.Open(row.Record(), row.Sealed); err != nil || s.Reveal() != canaries["password"] {
		t.Fatalf("the sealed secret is not the one that was sent: %v", err)
	}
	value, _, err := w.secret(t.Context(), row.ID)
	if err != nil || value.Reveal() != "u:"+canaries["password"] {
		t.Fatalf("the gateway's value: %v", err)
	}
}

// Secret follows every change at once, and a destroyed credential is gone.
func TestSecretFollowsChanges(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Locked", "locked.yaml")
	id := func() string {
		row, err := w.credential(ts.ID, ts.Connector.Name)
		if err != nil || row == nil {
			t.Fatalf("credential %v, %v", row, err)
		}
		return row.ID
	}
	read := func(id string) string {
		s, _, err := w.secret(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return s.Reveal()
	}
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X", "apiKey": "first-secret-0000"})
	first := id()
	for range 2 { // from the store, then from memory
		if read(first) != "first-secret-0000" {
			t.Error("the first value")
		}
	}
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X", "apiKey": "second-secret-0000"})
	if id() != first || read(first) != "second-secret-0000" {
		t.Error("a new value is not seen")
	}
	// Another type is another credential: the live bundle must not send the new
	// secret under the old header.
	w.putAuth(ts.ID, map[string]any{"authType": "bearer", "token": "third-secret-0000"})
	if id() == first || read(id()) != "third-secret-0000" {
		t.Error("another type kept the credential")
	}
	if s, _, err := w.secret(t.Context(), first); err == nil {
		t.Errorf("the replaced credential still gives %v", s)
	}
	last := id()
	w.remove(ts.ID)
	if s, _, err := w.secret(t.Context(), last); err == nil || !s.IsZero() {
		t.Errorf("the credential of a deleted toolset still gives %v", s)
	}
}

// Whatever fails while a toolset is made, nothing of it remains: no record, no
// release, no credential; and the same request then works.
func TestNothingHalfCreated(t *testing.T) {
	count := func(w *world) map[string]int {
		ws := w.st.Workspace("default")
		n := map[string]int{}
		add := func(what string, k int, err error) {
			if err != nil {
				t.Fatal(err)
			}
			n[what] = k
		}
		ts, _, err := ws.Toolsets(t.Context(), page())
		add("toolsets", len(ts), err)
		cs, _, err := ws.Connectors(t.Context(), page())
		add("connectors", len(cs), err)
		cr, _, err := ws.Credentials(t.Context(), page())
		add("credentials", len(cr), err)
		js, _, err := ws.Jobs(t.Context(), page())
		add("jobs", len(js), err)
		au, _, err := ws.AuditLog(t.Context(), page())
		add("audit", len(au), err)
		return n
	}
	trigger := func(table string) func(*world) func() {
		return func(w *world) func() {
			w.raw(`CREATE TRIGGER full BEFORE INSERT ON ` + table + ` BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
			return func() { w.raw(`DROP TRIGGER full`) }
		}
	}
	registry := func(what, part string) func(*world) func() {
		return func(w *world) func() {
			w.faults.set(func(kind, repository string) error {
				if kind == what && strings.Contains(repository, part) {
					return errors.New("disk full")
				}
				return nil
			})
			return func() { w.faults.set(nil) }
		}
	}
	for name, inject := range map[string]func(*world) func(){
		"blob of the connector":     registry("blob", "/connectors/"),
		"manifest of the connector": registry("manifest", "/connectors/"),
		"blob of the bundle":        registry("blob", "/toolsets/"),
		"manifest of the bundle":    registry("manifest", "/toolsets/"),
		"specifications":            trigger("specifications"),
		"connectors":                trigger("connectors"),
		"connector_versions":        trigger("connector_versions"),
		"toolsets":                  trigger("toolsets"),
		"tool_edits":                trigger("tool_edits"),
		"credentials":               trigger("credentials"),
		"audit_records":             trigger("audit_records"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			body := w.createBody("Pets", "pets.yaml")
			body["tools"] = []string{"list_*"}
			body["authentication"] = map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey}
			before := count(w)
			undo := inject(w)
			p := want[front.Problem](w, w.do("POST", "/v1/toolsets", body), 500)
			if p.Code != "internal" || strings.Contains(p.Detail, "disk full") {
				t.Errorf("problem %+v", p)
			}
			if !strings.Contains(w.log.String(), "disk full") {
				t.Error("the log does not name the cause")
			}
			undo()
			if after := count(w); !reflect.DeepEqual(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
			if len(w.live()) != 0 {
				t.Errorf("live %v", w.live())
			}
			want[change.CreatedToolset](w, w.do("POST", "/v1/toolsets", body), 201)
		})
	}
}

// A release that cannot be made takes the deploy back; what was live stays.
func TestReleaseThatCannotBeMade(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.renameTool(ts.ID, "list_pets", "all_pets")
	w.faults.set(func(_, repository string) error {
		if strings.HasPrefix(repository, "releases/") {
			return errors.New("disk full")
		}
		return nil
	})
	path := "/v1/toolsets/" + ts.ID
	want[front.Problem](w, w.do("POST", path+"/test", nil), 500)
	d := w.get(ts.ID)
	if d.Revision != 1 || d.LiveDigest != ts.LiveDigest || !d.Changed || !d.Test.Passed {
		t.Errorf("after a deploy that failed: %+v", d.Toolset)
	}
	if r := w.pub.Current().Release().Toolsets; len(r) != 1 || string(r[0].Bundle) != ts.LiveDigest {
		t.Errorf("release %+v", r)
	}
	want[front.Problem](w, w.do("DELETE", path, nil, "If-Match", "*"), 500)
	if d := w.get(ts.ID); d.Revision != 1 || d.Status != "live" {
		t.Errorf("after a delete that failed: %+v", d.Toolset)
	}
	w.faults.set(nil)
	run := want[admin.TestAnswer](w, w.do("POST", path+"/test", nil), 200)
	if !run.Deployed || run.Toolset.Revision != 2 {
		t.Errorf("afterwards: %+v", run.Toolset)
	}
	if got := w.audits(); !reflect.DeepEqual(got[len(got)-4:], []string{"toolset.deploy", "toolset.deploy:failed", "toolset.test", "toolset.deploy"}) {
		t.Errorf("audit %v", got)
	}
	w.remove(ts.ID)
}

// The test is bound to the digest that ran: a change meanwhile is not deployed.
func TestChangedWhileTested(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Pets", "pets.yaml")
	w.renameTool(ts.ID, "list_pets", "all_pets")
	hold := make(chan struct{})
	w.tester.mu.Lock()
	w.tester.hold = hold
	w.tester.mu.Unlock()
	done := make(chan answer)
	go func() { done <- w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil) }()
	w.waitCalls(2)
	w.renameTool(ts.ID, "all_pets", "every_pet")
	close(hold)
	p := want[front.Problem](w, <-done, 409)
	if !strings.Contains(p.Detail, "changed while it was tested") {
		t.Errorf("problem %+v", p)
	}
	if d := w.get(ts.ID); d.Revision != 1 || d.Test != nil {
		t.Errorf("toolset %+v", d.Toolset)
	}
}

func TestKeyFromAnotherDirectory(t *testing.T) {
	w := newWorld(t)
	ts := w.create("Locked", "locked.yaml")
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	w.stop()
	if err := os.Remove(filepath.Join(w.dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	w.open()
	run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200)
	if run.Passed || !strings.Contains(w.log.String(), "which this keyring does not have") {
		t.Errorf("test with a lost key: %+v", run.TestRun)
	}
	var unknown *secrets.UnknownKeyError
	row, err := w.credential(ts.ID, ts.Connector.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.secret(t.Context(), row.ID); !errors.As(err, &unknown) {
		t.Errorf("Secret: %v", err)
	}
	// Setting the key again mends it.
	w.putAuth(ts.ID, map[string]any{"authType": "header", "headerName": "X-Api-Key", "apiKey": upstreamKey})
	if run := want[admin.TestAnswer](w, w.do("POST", "/v1/toolsets/"+ts.ID+"/test", nil), 200); !run.Passed {
		t.Errorf("test with a new key: %+v", run.TestRun)
	}
}

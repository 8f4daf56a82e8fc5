package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/oauth/oauthtest"
	"github.com/sluicegate/sluice/internal/secrets/secretstest"
)

// fleet is a control plane and an edge, each a process, that call APIs with secrets;
// everything they say is kept.
type fleet struct {
	*node // the control plane

	t        *testing.T
	dir      string
	edgeData string
	edge     *process
	edgeURL  string // of the gateway
	ops      string // of the edge's operations
	as       *oauthtest.Server
	canaries map[string]string

	seen bytes.Buffer  // every answer
	held chan struct{} // one for each request that /slow holds
	hold chan struct{} // closed: they are answered
	free func()
}

// kinds are what the API does with a call; all of them repeat what they were sent.
var kinds = []string{"json", "text", "page", "fail", "refused", "broken", "moved", "half", "reset", "stall", "slow"}

// echo is an API that repeats its request in every way in which APIs do.
func (f *fleet) echo(w http.ResponseWriter, r *http.Request) {
	dump, err := httputil.DumpRequest(r, true)
	if err != nil {
		f.t.Error(err)
	}
	answer, err := json.Marshal(map[string]any{"marker": "public-marker", "url": r.URL.String(), "headers": r.Header, "dump": string(dump)})
	if err != nil {
		f.t.Error(err)
	}
	write := func(status int, contentType string, body []byte) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Link", "<"+r.URL.String()+">; rel=\"next\"")
		w.Header().Set("X-Echo", strings.ReplaceAll(r.Header.Get("Authorization")+r.URL.RawQuery, "\n", " "))
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	switch r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] {
	case "json":
		write(http.StatusOK, "application/json", bytes.ReplaceAll(answer, []byte("/"), []byte(`\/`)))
	case "text":
		write(http.StatusBadRequest, "text/plain", dump)
	case "page":
		write(http.StatusOK, "text/html", []byte("<html><body><pre>"+html.EscapeString(string(dump))+"</pre></body></html>"))
	case "fail":
		write(http.StatusInternalServerError, "application/json", answer)
	case "refused":
		write(http.StatusUnauthorized, "application/json", answer)
	case "broken":
		write(http.StatusOK, "application/json", answer[:len(answer)-1])
	case "moved":
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere?"+r.URL.RawQuery)
		write(http.StatusFound, "text/plain", dump)
	case "half":
		w.Header().Set("Content-Length", "100000")
		write(http.StatusOK, "application/json", answer)
	case "reset":
		panic(http.ErrAbortHandler)
	case "stall":
		<-r.Context().Done()
	case "slow":
		f.held <- struct{}{}
		select {
		case <-f.hold:
		case <-r.Context().Done():
		}
		write(http.StatusOK, "application/json", answer)
	case "login":
		write(http.StatusForbidden, "application/json", answer)
	default:
		write(http.StatusNotFound, "text/plain", dump)
	}
}

const canarySpec = `{"openapi":"3.1.0","info":{"title":%q,"version":"1"},"servers":[{"url":%q}],"components":{"securitySchemes":{%s}},"security":[%s],"paths":{%s}}`

// add makes a toolset of operations of every kind.
func (f *fleet) add(name, url, schemes, security string) {
	f.t.Helper()
	var paths []string
	for _, k := range kinds {
		paths = append(paths, fmt.Sprintf(`"/%s":{"get":{"operationId":%q,"responses":{"200":{"description":"OK"}}}}`, k, k))
	}
	paths = append(paths, `"/login":{"post":{"operationId":"login","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"password":{"type":"string"}}}}}},"responses":{"200":{"description":"OK"}}}}`)
	spec := filepath.Join(f.dir, name+".json")
	f.write(spec, fmt.Sprintf(canarySpec, name, url, schemes, security, strings.Join(paths, ",")))
	f.cli(f.t, "add", spec, "--public", "--name", name, "--no-deploy")
}

func (f *fleet) write(name, text string) string {
	f.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return name
}

// file writes a canary where a command reads it.
func (f *fleet) file(name string) string {
	return f.write(filepath.Join(f.dir, strings.ReplaceAll(name, " ", "-")+".txt"), f.canaries[name])
}

// startEdge starts the edge, or starts it again.
func (f *fleet) startEdge(join string) {
	f.t.Helper()
	f.edge = start(f.t, func() bool { return answers("http://" + f.ops + "/readyz") }, binary, "serve", "--role", "edge", "--data", f.edgeData,
		"--control-plane", "http://"+f.admin, "--join-token-file", join, "--listen", f.edgeURL, "--ops-listen", f.ops, "--allow-private-upstreams", "--log-level", "debug")
}

func (f *fleet) startControl() {
	f.t.Helper()
	f.process = start(f.t, func() bool { return answers("http://" + f.admin + "/readyz") }, binary, "serve", "--role", "control", "--data", f.data,
		"--admin-listen", f.admin, "--allow-private-upstreams", "--log-level", "debug")
}

// call calls a tool at the edge.
func (f *fleet) call(toolset, tool, arguments string, header ...string) string {
	f.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"dev.sluice/trace":true}}}`, tool, arguments)
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://"+f.edgeURL+"/t/"+toolset, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return f.keep(http.DefaultClient.Do(req))
}

// keep keeps an answer with its headers and returns its body.
func (f *fleet) keep(res *http.Response, err error) string {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	fmt.Fprintf(&f.seen, "%s\n%v\n%s\n", res.Status, res.Header, b)
	return string(b)
}

// get keeps an answer of the admin API.
func (f *fleet) get(path string) string {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+f.admin+path, http.NoBody)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.canaries["administrator's token"])
	return f.keep(http.DefaultClient.Do(req))
}

// search looks for every canary in a text.
func (f *fleet) search(where string, text []byte) {
	f.t.Helper()
	for _, found := range secretstest.Search(text, f.canaries) {
		f.t.Errorf("%s holds %s", where, found)
	}
}

// homes are the files that hold a secret because it lives there, all of them of mode
// 0600: docs/authentication.md names them.
var homes = map[string]string{
	"administrator's token": "admin.token", "key-encryption key": "keys/master.key", "release key": "keys/release.key", "workspace key": "keys/workspace.key",
	"edge's token": "edge/identity.json", "edge's signing key": "edge/identity.json", "edge's opening key": "edge/identity.json",
}

// searchDir searches every file of a data directory, and returns how many.
func (f *fleet) searchDir(what, dir string) (files int) {
	f.t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if os.IsNotExist(err) { // a temporary file of a process that runs
			return nil
		}
		if err != nil {
			return err
		}
		files++
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		for _, found := range secretstest.Search(b, f.canaries) {
			canary, _, _ := strings.Cut(found, " (")
			if info, err := d.Info(); homes[canary] == inside && err == nil && info.Mode().Perm() == 0o600 {
				continue
			}
			f.t.Errorf("%s: %s holds %s", what, inside, found)
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}

var keyText = regexp.MustCompile(`[A-Za-z0-9+/_\-]{40,}=*`)

// own adds the secrets that the processes made for themselves.
func (f *fleet) own() {
	f.t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			f.t.Fatal(err)
		}
		return string(b)
	}
	f.canaries["administrator's token"] = strings.TrimSpace(read(filepath.Join(f.data, "admin.token")))
	for name, file := range map[string]string{"key-encryption key": "master.key", "release key": "release.key", "workspace key": "workspace.key"} {
		text := keyText.FindString(read(filepath.Join(f.data, "keys", file)))
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) < 32 {
			f.t.Fatalf("%s: %d bytes, %v", file, len(raw), err)
		}
		f.canaries[name] = string(raw[len(raw)-32:]) // of PKCS #8, the seed
	}
}

// edgeSecrets adds those of the edge's identity.
func (f *fleet) edgeSecrets() {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.edgeData, "edge", "identity.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	var identity struct {
		Token             string
		SignSeed, SealKey []byte
	}
	if err := json.Unmarshal(b, &identity); err != nil || identity.Token == "" || len(identity.SignSeed) != 32 || len(identity.SealKey) != 32 {
		f.t.Fatalf("the identity of an edge is not what it was: %v", err)
	}
	f.canaries["edge's token"], f.canaries["edge's signing key"], f.canaries["edge's opening key"] = identity.Token, string(identity.SignSeed), string(identity.SealKey)
}

// TestNoSecretLeavesFleet plants a secret wherever one can be, in a control plane and an
// edge that run as processes with their most talkative log, has APIs repeat and refuse
// them, and searches what the two wrote, said and served: directories (database and WAL,
// registry, release, the edge's cache, usage that could not be posted), logs, answers,
// metrics, call log, samples, exports, a backup and what is restored of it, and at last
// what the runtime writes when each is made to crash while calls are in flight.
func TestNoSecretLeavesFleet(t *testing.T) {
	t.Setenv("GOTRACEBACK", "all")
	f := &fleet{t: t, dir: t.TempDir(), as: oauthtest.New(t), held: make(chan struct{}, 4), hold: make(chan struct{})}
	f.free = sync.OnceFunc(func() { close(f.hold) })
	defer f.free()
	f.canaries = map[string]string{
		"header key": "cnry+hdr/71f0e2/9f3c", "query key": "cnry qry/&=8812ab/77aa", "cookie key": "cnry-sid-5c5c5c-0b0b", "password": `cnry "pwd"/aa11bb/1d1d`,
		"bearer token": "cnry.bearer/6b6b6b/8e8e", "argument": "cnry+arg/2d2d2d/3c3c", "client secret": oauthtest.ServiceSecret,
	}
	api := httptest.NewServer(http.HandlerFunc(f.echo))
	defer api.Close()
	f.node = &node{admin: freePort(t), data: filepath.Join(f.dir, "control")}
	f.edgeURL, f.ops, f.edgeData = freePort(t), freePort(t), filepath.Join(f.dir, "edge")
	f.startControl()
	f.own()
	joinFile := f.write(filepath.Join(f.dir, "join"), f.cli(t, "edge", "token"))
	f.startEdge(joinFile)
	f.edgeSecrets()
	join, err := os.ReadFile(joinFile)
	if err != nil {
		t.Fatal(err)
	}
	f.canaries["join token"] = strings.TrimSpace(string(join))

	const four = `"h":{"type":"apiKey","in":"header","name":"X-Key"},"q":{"type":"apiKey","in":"query","name":"app id"},"c":{"type":"apiKey","in":"cookie","name":"sid"},"b":{"type":"http","scheme":"basic"}`
	f.add("four", api.URL, four, `{"h":[],"q":[],"c":[],"b":[]}`)
	f.cli(t, "toolset", "auth", "four", "set", "--auth", "header:X-Key", "--auth", "query:app id", "--auth", "cookie:sid", "--auth", "basic:me",
		"--api-key-file", f.file("header key"), "--api-key-file", f.file("query key"), "--api-key-file", f.file("cookie key"), "--api-key-file", f.file("password"))
	f.add("bearer", api.URL, `"t":{"type":"http","scheme":"bearer"}`, `{"t":[]}`)
	f.cli(t, "toolset", "auth", "bearer", "set", "--auth", "bearer", "--api-key-file", f.file("bearer token"))
	issuer := fmt.Sprintf(`"o":{"type":"openIdConnect","openIdConnectUrl":"%s.well-known/openid-configuration"}`, f.as.Issuer())
	f.add("service", api.URL, issuer, `{"o":[]}`)
	f.cli(t, "toolset", "auth", "service", "set", "--auth", "oauth2:"+oauthtest.ServiceClient, "--issuer", f.as.Issuer(), "--scope", "openid", "--api-key-file", f.file("client secret"))
	f.add("person", api.URL, issuer, `{"o":[]}`)
	f.cli(t, "toolset", "auth", "person", "set", "--auth", "oidc:"+oauthtest.PublicClient, "--issuer", f.as.Issuer())
	var login struct{ AuthorizationURL string }
	f.post("/v1/toolsets/person/authentication/authorize", `{}`, &login)
	if _, text, err := f.as.Login(login.AuthorizationURL, oauthtest.Password, ""); err != nil || !strings.Contains(text, "You are logged in") {
		t.Fatalf("the login: %v %s", err, text)
	}
	toolsets := []string{"four", "bearer", "service", "person"}
	for _, ts := range toolsets {
		f.cli(t, "toolset", "deploy", ts, "--reason", "to see what leaks")
		f.cli(t, "logs", "capture", ts, "all")
	}
	var made struct{ Token string }
	f.post("/v1/toolsets/bearer/access-tokens", `{"name":"ann"}`, &made)
	f.canaries["access token"] = made.Token
	f.cli(t, "toolset", "access", "bearer", "set", "token")
	f.wait("the edge has what was published", func() bool {
		return strings.Contains(f.call("bearer", "json", "{}"), "token") && strings.Contains(f.call("person", "json", "{}"), "public-marker")
	})
	every := func() {
		for _, ts := range toolsets {
			for _, k := range kinds {
				if k == "slow" || k == "stall" {
					continue
				}
				if got := f.call(ts, k, "{}", "Authorization", "Bearer "+made.Token); k == "json" && !strings.Contains(got, "[redacted]") {
					t.Errorf("%s repeats nothing: %s", ts, got)
				}
			}
			f.call(ts, "login", fmt.Sprintf(`{"body":{"password":%q},"password":%q}`, f.canaries["argument"], f.canaries["argument"]), "Authorization", "Bearer "+made.Token)
		}
	}
	every()
	f.as.RevokeAll() // tokens are renewed
	every()
	for i, token := range f.as.Issued() {
		f.canaries[fmt.Sprint("token of the authorization server ", i)] = token
	}
	if len(f.as.Issued()) < 4 {
		t.Errorf("%d tokens were issued", len(f.as.Issued()))
	}

	// The usage and the records of calls that cannot be posted stay on the edge's disk.
	f.stop(t)
	every()
	f.wait("usage is on the disk", func() bool {
		waiting, err := filepath.Glob(filepath.Join(f.edgeData, "usage", "*"))
		return err == nil && len(waiting) > 0 && strings.Contains(f.keep(http.Get("http://"+f.ops+"/metrics")), "sluice_usage_reports_waiting")
	})
	f.keep(http.Get("http://" + f.ops + "/readyz?verbose"))
	files := f.searchDir("the edge without its control plane", f.edgeData)
	logged := f.out.String()
	f.startControl()
	f.wait("the call log is there", func() bool { return strings.Contains(f.get("/v1/calls?limit=200"), `"tool":"login"`) })

	for _, path := range []string{"/metrics", "/livez", "/readyz?verbose", "/openapi.json", "/debug/pprof/", "/debug/vars"} {
		f.get(path)
		f.keep(http.Get("http://" + f.ops + path))
		f.keep(http.Get("http://" + f.edgeURL + path))
	}
	for _, path := range []string{
		"/v1/toolsets", "/v1/connectors", "/v1/audit?limit=200", "/v1/jobs", "/v1/edges", "/v1/edges/join-tokens", "/v1/tokens", "/v1/me", "/v1/keys", "/v1/plugins",
		"/v1/usage", "/v1/usage/errors", "/v1/calls?limit=200", "/v1/export", "/v1/publisher-keys",
	} {
		f.get(path)
	}
	for _, ts := range toolsets {
		for _, below := range []string{"", "/tools", "/authentication", "/authentication/users", "/revisions", "/access-tokens", "/export", "/tests", "/answers", "/calls"} {
			f.get("/v1/toolsets/" + ts + below)
		}
	}
	captured := 0
	for _, id := range regexp.MustCompile(`"id":"(call_[0-9]+)"`).FindAllStringSubmatch(f.get("/v1/calls?limit=200"), -1) {
		if strings.Contains(f.get("/v1/calls/"+id[1]), `"answer"`) {
			captured++
		}
	}
	if captured == 0 {
		t.Error("no answer was captured: nothing of calls was searched")
	}
	f.seen.WriteString(f.cli(t, "edge", "list", "-o", "json"))
	f.seen.WriteString(f.cli(t, "usage", "four", "--samples", "-o", "json"))
	files += f.searchDir("the control plane", f.data) + f.searchDir("the edge", f.edgeData)

	f.cli(t, "export", "--to", filepath.Join(f.dir, "export"))
	phrase := f.write(filepath.Join(f.dir, "phrase"), "correct horse battery staple")
	backup := filepath.Join(f.dir, "backup", "b.age")
	if err := os.Mkdir(filepath.Dir(backup), 0o700); err != nil {
		t.Fatal(err)
	}
	f.cli(t, "backup", backup, "--passphrase-file", phrase, "--data", f.data)
	f.searchDir("the backup", filepath.Dir(backup))
	f.searchDir("the export", filepath.Join(f.dir, "export"))
	restored := filepath.Join(f.dir, "restored")
	if out, err := exec.CommandContext(t.Context(), binary, "restore", backup, "--data", restored, "--passphrase-file", phrase).CombinedOutput(); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	files += f.searchDir("what is restored", restored)
	if out, err := exec.CommandContext(t.Context(), binary, "doctor", restored).CombinedOutput(); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	} else {
		f.seen.Write(out)
	}

	// A crash while calls with credentials are in flight, at the edge and in a test of the
	// control plane.
	for _, ts := range toolsets {
		go func() {
			req, err := http.NewRequest(http.MethodPost, "http://"+f.edgeURL+"/t/"+ts,
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`))
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+made.Token)
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		}()
	}
	for range toolsets {
		<-f.held
	}
	go func() {
		// It ends with the process.
		_ = exec.Command(binary, append([]string{"toolset", "test", "four", "slow"}, f.flags()...)...).Run()
	}()
	<-f.held
	for name, p := range map[string]*process{"the edge": f.edge, "the control plane": f.process} {
		before := len(p.out.String())
		if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		<-p.done
		if dump := p.out.String()[before:]; !strings.Contains(dump, "SIGQUIT") || strings.Count(dump, "goroutine ") < 10 || !strings.Contains(dump, "gateway/upstream") {
			t.Errorf("%s wrote no stacks of its calls: %s", name, last(dump, 2000))
		}
		f.search("the log and crash of "+name, []byte(p.out.String()))
		p.once.Do(func() {}) // it has ended as it was told
	}
	f.search("the log of the control plane's first run", []byte(logged))
	f.search("an answer", f.seen.Bytes())
	files += f.searchDir("the control plane after a crash", f.data) + f.searchDir("the edge after a crash", f.edgeData)
	t.Logf("searched %d files, %d bytes of answers and %d of logs for %d secrets", files, f.seen.Len(),
		len(logged)+len(f.out.String())+len(f.edge.out.String()), len(f.canaries))

	// What was planted is seen where it stands.
	if got := f.searchable(); got != "" {
		t.Errorf("the search does not see %s", got)
	}
}

// searchable plants each canary in a file and returns one that the search misses.
func (f *fleet) searchable() string {
	for name, secret := range f.canaries {
		if text := []byte("…" + base64.StdEncoding.EncodeToString([]byte("x"+secret)) + "…"); secretstest.Find(text, secret) == nil {
			return name
		}
	}
	return ""
}

// post makes a request of the admin API whose answer may hold a secret, once.
func (f *fleet) post(path, body string, out any) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, "http://"+f.admin+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.canaries["administrator's token"])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || json.Unmarshal(b, out) != nil || res.StatusCode/100 != 2 {
		f.t.Fatalf("POST %s: %s %s, %v", path, res.Status, b, err)
	}
}

// wait waits for another process.
func (f *fleet) wait(what string, ok func() bool) {
	f.t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			f.t.Fatalf("not within a minute: %s", what)
		}
	}
}

package e2e

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// plane is a control plane of its own process, for edges of theirs.
type plane struct {
	*node

	t    *testing.T
	dir  string
	join string // file with a join token for many edges
}

func startPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{node: &node{admin: freePort(t), data: filepath.Join(t.TempDir(), "control")}, t: t, dir: t.TempDir()}
	p.again()
	p.join = p.invite()
	return p
}

// again starts the process, once more on the same data.
func (p *plane) again() {
	p.t.Helper()
	p.process = start(p.t, func() bool { return answers("http://" + p.admin + "/readyz") }, binary, "serve", "--role", "control", "--data", p.data, "--admin-listen", p.admin)
}

// invite makes a join token and returns its file.
func (p *plane) invite(flags ...string) string {
	p.t.Helper()
	name := filepath.Join(p.t.TempDir(), "join")
	if err := os.WriteFile(name, []byte(p.cli(p.t, append([]string{"edge", "token", "--uses", "10"}, flags...)...)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return name
}

// follower is an edge of its own process.
type follower struct {
	*process

	p                            *plane
	name, join, data, serve, ops string
	control                      string // URLs of control planes. Default: that of p
	flags                        []string
}

func (p *plane) edge(name, join string) *follower {
	p.t.Helper()
	e := &follower{p: p, name: name, join: join, data: filepath.Join(p.dir, name), serve: freePort(p.t), ops: freePort(p.t)}
	e.again()
	return e
}

func (e *follower) again() {
	e.p.t.Helper()
	control := cmp.Or(e.control, "http://"+e.p.admin)
	all := append([]string{
		"serve", "--role", "edge", "--data", e.data, "--edge-name", e.name,
		"--control-plane", control, "--join-token-file", e.join, "--listen", e.serve, "--ops-listen", e.ops, "--allow-private-upstreams",
	}, e.flags...)
	e.process = start(e.p.t, func() bool { return answers("http://" + e.ops + "/readyz") }, binary, all...)
}

// says is what the edge says of itself.
func (e *follower) says() string {
	return bodyOf(http.Get("http://" + e.ops + "/readyz?verbose"))
}

// row is the line of the edge in "sluice edge list".
func (e *follower) row() string {
	e.p.t.Helper()
	for line := range strings.Lines(e.p.cli(e.p.t, "edge", "list")) {
		if strings.HasPrefix(line, e.name+" ") {
			return line
		}
	}
	return ""
}

// call calls a tool of things and returns the answer.
func (e *follower) call(toolset string, header ...string) string {
	return e.post(context.Background(), toolset, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_things","arguments":{}}}`, header...)
}

// post sends a request to a toolset and returns the body of the answer, or why there is none.
func (e *follower) post(ctx context.Context, toolset, body string, header ...string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.serve+"/t/"+toolset, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return bodyOf(http.DefaultClient.Do(req))
}

// bodyOf is the body of an answer, or why there is none.
func bodyOf(res *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// until waits for other processes.
func (p *plane) until(what string, ok func() bool) {
	p.t.Helper()
	begin := time.Now()
	for ; !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			p.t.Fatalf("not within a minute: %s", what)
		}
	}
	p.t.Logf("%.1f s until %s", time.Since(begin).Seconds(), what)
}

func things(t *testing.T) (spec string, upstream *httptest.Server) {
	t.Helper()
	upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":1,"name":"anvil"}]`)
	}))
	t.Cleanup(upstream.Close)
	spec, err := filepath.Abs("testdata/things.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return spec, upstream
}

// TestFleet: labels choose what an edge serves; edges serve through an outage and a
// restart in it, also from a damaged cache, and say what is wrong where an operator
// looks; a revoked one gets nothing more.
func TestFleet(t *testing.T) {
	p := startPlane(t)
	spec, upstream := things(t)
	eu, us := p.edge("eu", p.invite("--label", "region=eu")), p.edge("us", p.invite("--label", "region=us"))
	p.cli(t, "add", spec, "--public", "--name", "all", "--base-url", upstream.URL)
	p.cli(t, "add", spec, "--public", "--name", "ours", "--base-url", upstream.URL, "--no-deploy")
	p.cli(t, "toolset", "labels", "ours", "region=eu")
	p.cli(t, "toolset", "deploy", "ours", "--reason", "labels")
	serves := func(e *follower, toolset string) bool { return strings.Contains(e.call(toolset), "anvil") }
	p.until("both edges have what is theirs", func() bool { return serves(eu, "all") && serves(eu, "ours") && serves(us, "all") })
	p.until("the list says so", func() bool {
		return strings.Contains(eu.row(), "connected") && strings.Contains(eu.row(), "region=eu") && strings.Contains(us.row(), "connected")
	})
	if serves(us, "ours") {
		t.Error("an edge serves a toolset of other labels")
	}
	b, err := os.ReadFile(filepath.Join(us.data, "edge", "release.dsse.json"))
	if err != nil || strings.Contains(string(b), "b3Vycw") { // "ours" in base64 at one alignment; the name is in no other file either
		t.Errorf("the release of the other group names it: %v", err)
	}

	// The control plane is gone; an edge starts again, then with half of its release.
	p.stop(t)
	eu.stop(t)
	eu.again()
	if !serves(eu, "all") || !serves(eu, "ours") || !serves(us, "all") {
		t.Error("edges do not serve without a control plane")
	}
	p.until("the edge says what is wrong", func() bool {
		s := eu.says()
		return strings.HasPrefix(s, "ok\n") && strings.Contains(s, "following: ") && strings.Contains(s, "does not accept connections")
	})
	eu.stop(t)
	current := filepath.Join(eu.data, "edge", "release.dsse.json")
	if b, err = os.ReadFile(current); err == nil {
		err = os.WriteFile(current, b[:len(b)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	eu.again()
	p.until("it serves the release before and says so", func() bool { return serves(eu, "all") && strings.Contains(eu.says(), "cache: ") })
	p.again()
	p.until("everything is well again", func() bool {
		return serves(eu, "ours") && !strings.Contains(eu.says(), "cache: ") && strings.Contains(eu.row(), "connected") && strings.Contains(us.row(), "connected")
	})

	p.cli(t, "edge", "revoke", "us")
	p.cli(t, "add", spec, "--public", "--name", "later", "--base-url", upstream.URL)
	p.until("the other edge has what came later, the revoked one says why not", func() bool {
		return serves(eu, "later") && strings.Contains(us.says(), "revoked")
	})
	if serves(us, "later") || !serves(us, "all") {
		t.Error("a revoked edge serves what came later, or nothing")
	}
	if row := us.row(); !strings.Contains(row, "revoked") {
		t.Errorf("the list says %q", row)
	}
}

// replaceKeys writes the file of the release key.
func (p *plane) replaceKeys(keys ...ed25519.PrivateKey) {
	p.t.Helper()
	var text []byte
	for _, k := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			p.t.Fatal(err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	}
	if err := os.WriteFile(filepath.Join(p.data, "keys", "release.key"), text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// TestReleaseKeyIsReplaced: releases are signed by another key in the end, edges serve
// and follow throughout, also one that was away while the key changed, and what was
// signed before, access included, is in force after.
func TestReleaseKeyIsReplaced(t *testing.T) {
	p := startPlane(t)
	spec, upstream := things(t)
	here, away := p.edge("here", p.join), p.edge("away", p.join)
	p.cli(t, "add", spec, "--public", "--name", "things", "--base-url", upstream.URL)
	var token struct{ Token string }
	if err := json.Unmarshal([]byte(p.cli(t, "toolset", "access", "things", "token", "create", "ci", "-o", "json")), &token); err != nil {
		t.Fatal(err)
	}
	p.cli(t, "toolset", "access", "things", "set", "token")
	serves := func(e *follower) bool {
		return strings.Contains(e.call("things", "Authorization", "Bearer "+token.Token), "anvil") && !strings.Contains(e.call("things"), "anvil")
	}
	p.until("both edges serve who has a token", func() bool { return serves(here) && serves(away) })
	away.stop(t)

	text, err := os.ReadFile(filepath.Join(p.data, "keys", "release.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	old, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		t.Fatalf("the release key: %v", err)
	}
	_, fresh, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	ended, failed := make(chan struct{}), make(chan string, 1)
	done := make(chan struct{})
	go func() { // somebody calls all the time
		defer close(done)
		for {
			select {
			case <-ended:
				return
			default:
			}
			if !serves(here) {
				select {
				case failed <- here.call("things", "Authorization", "Bearer "+token.Token):
				default:
				}
			}
		}
	}()
	revision := func(e *follower) (epoch, n int) {
		_, err := fmt.Sscanf(strings.TrimPrefix(e.says(), "ok\n"), "release %d.%d,", &epoch, &n)
		if err != nil {
			t.Errorf("%s says %q", e.name, e.says())
		}
		return epoch, n
	}
	_, before := revision(here)

	p.stop(t)
	p.replaceKeys(fresh, old)
	p.again()
	p.until("the edge follows the release with both signatures", func() bool { _, n := revision(here); return n > before && strings.Contains(here.row(), "connected") })
	away.again()
	p.until("one that was away follows too", func() bool { return serves(away) && strings.Contains(away.row(), "connected") })
	_, both := revision(here)

	p.stop(t)
	p.replaceKeys(fresh)
	p.again()
	p.until("the edges follow the new key alone", func() bool {
		_, n := revision(here)
		_, m := revision(away)
		return n > both && m == n && strings.Contains(here.row(), "connected") && strings.Contains(away.row(), "connected")
	})
	p.cli(t, "add", spec, "--public", "--name", "later", "--base-url", upstream.URL)
	p.until("what is published now arrives", func() bool {
		return strings.Contains(here.call("later"), "anvil") && strings.Contains(away.call("later"), "anvil")
	})
	if !serves(here) || !serves(away) {
		t.Error("access that was granted before is not in force")
	}
	close(ended)
	<-done
	select {
	case answer := <-failed:
		t.Errorf("a call failed while the key was replaced: %s", answer)
	default:
	}
	p.stop(t)
	if out, err := exec.CommandContext(t.Context(), binary, "doctor", p.data).CombinedOutput(); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	// The old key is of no use any more.
	p.replaceKeys(old)
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--role", "control", "--data", p.data, "--admin-listen", p.admin)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "edges of these records trust the release key") {
		t.Errorf("a start with the old key: %v\n%s", err, out)
	}
	here.stop(t)
	here.again()
	if !serves(here) {
		t.Error("an edge does not serve after a restart without the control plane")
	}
}

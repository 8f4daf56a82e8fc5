package external_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/external"
	"github.com/sluicegate/sluice/registry/oci"
	"github.com/sluicegate/sluice/registry/server"
)

// distribution starts CNCF Distribution with a password and returns its host.
func distribution(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("no CNCF Distribution on this machine: install the package docker-registry")
	}
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte("pass"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := ln.Addr().String()
	_ = ln.Close()
	for name, text := range map[string]string{
		"htpasswd": "user:" + string(hash) + "\n",
		"config.yml": fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: %s}\nhttp: {addr: %q}\n"+
			"auth:\n  htpasswd: {realm: test, path: %s}\n", filepath.Join(dir, "data"), host, filepath.Join(dir, "htpasswd")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), bin, "serve", filepath.Join(dir, "config.yml"))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Get("http://" + host + "/v2/")
		if err == nil {
			_ = resp.Body.Close()
			return host
		}
		if time.Now().After(end) {
			t.Fatalf("the registry does not start: %v\n%s", err, &out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func config(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func login(t testing.TB, host, user, password string) string {
	return config(t, fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password))))
}

func open(t testing.TB, reference, config string) *oci.Store {
	t.Helper()
	r, err := external.Open(external.Options{Reference: reference, PlainHTTP: true, Config: config, Client: &http.Client{Transport: &http.Transport{}}})
	if err != nil {
		t.Fatal(err)
	}
	return oci.NewStore(r)
}

func plugin(t testing.TB, text string) *oci.Artifact {
	t.Helper()
	a, err := oci.New(oci.KindPlugin, []byte(text), map[string]string{"org.opencontainers.image.title": "x"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// exercise pushes every kind of artifact and pulls it back.
func exercise(t *testing.T, st *oci.Store) {
	t.Helper()
	ctx := t.Context()
	for _, kind := range []oci.Kind{oci.KindPlugin, oci.KindToolset, oci.KindRelease, oci.KindAccess} {
		a, err := oci.New(kind, bytes.Repeat([]byte(kind), 20000), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"", "v1", "v1"} {
			if err := st.Push(ctx, "acme/things/x", tag, a); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		if d, err := st.Resolve(ctx, "acme/things/x", "v1"); err != nil || d != a.Digest() {
			t.Fatalf("%s: Resolve = %s, %v", kind, d, err)
		}
		got, err := st.Pull(ctx, "acme/things/x", a.Digest(), kind)
		if err != nil || !bytes.Equal(got.Layer(), a.Layer()) {
			t.Fatalf("%s: Pull: %v", kind, err)
		}
	}
	none := plugin(t, "never pushed")
	if _, err := st.Pull(ctx, "acme/things/x", none.Digest(), oci.KindPlugin); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("pull of what is missing: %v", err)
	}
	if _, err := st.Resolve(ctx, "acme/things/x", "v9"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a tag that is missing: %v", err)
	}
}

func TestDistribution(t *testing.T) {
	host := distribution(t)
	exercise(t, open(t, host+"/team/sluice", login(t, host, "user", "pass")))
	a := plugin(t, "x")
	for what, cfg := range map[string]string{
		"a wrong password": login(t, host, "user", "canary"), "no password": config(t, "{}"), "no configuration": "",
		"no such helper": config(t, `{"credsStore":"sluice-none"}`), "a broken configuration": config(t, "{"),
	} {
		err := open(t, host, cfg).Push(t.Context(), "acme/things/x", "v1", a)
		if problem.As(err) == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want a problem", what, err)
		}
	}
	// What has no tag was given one, so that a collection keeps it.
	st := open(t, host, login(t, host, "user", "pass"))
	if err := st.Push(t.Context(), "acme/things/y", "", a); err != nil {
		t.Fatal(err)
	}
	if d, err := st.Resolve(t.Context(), "acme/things/y", "keep-"+a.Digest().Hex()); err != nil || d != a.Digest() {
		t.Errorf("%s, %v", d, err)
	}
}

// A credential helper is a program that docker would run.
func TestCredentialHelper(t *testing.T) {
	host := distribution(t)
	dir := t.TempDir()
	script := "#!/bin/sh\nread server\nprintf '{\"ServerURL\":\"%s\",\"Username\":\"user\",\"Secret\":\"pass\"}' \"$server\"\n"
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-sluicetest"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	exercise(t, open(t, host+"/team", config(t, fmt.Sprintf(`{"credHelpers":{%q:"sluicetest"}}`, host))))
}

// tokens is a registry whose challenge is Bearer: it names a service that gives
// tokens for exactly the scope that is asked for.
func tokens(t *testing.T) (host string, issued *atomic.Int64) {
	t.Helper()
	store, err := server.Open(server.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	issued = new(atomic.Int64)
	h, err := server.NewHandler(server.HandlerOptions{Store: store, Authorize: func(*http.Request, string, server.Action) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			if user, password, _ := r.BasicAuth(); user != "user" || password != "pass" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			issued.Add(1)
			_ = json.NewEncoder(w).Encode(map[string]any{"token": strings.Join(r.URL.Query()["scope"], " ")})
			return
		}
		action := "pull"
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			action = "pull,push"
		}
		scope := "repository:team/acme/things/x:" + action
		if have := r.Header.Get("Authorization"); !strings.HasPrefix(have, "Bearer "+strings.TrimSuffix(scope, ",push")) || action != "pull" && have != "Bearer "+scope {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="test",scope=%q`, srv.URL, scope))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), issued
}

func TestBearerTokens(t *testing.T) {
	host, issued := tokens(t)
	exercise(t, open(t, host+"/team", login(t, host, "user", "pass")))
	if n := issued.Load(); n == 0 || n > 4 {
		t.Errorf("%d tokens were issued; want one for each scope", n)
	}
	err := open(t, host+"/team", login(t, host, "user", "canary")).Push(t.Context(), "acme/things/x", "v1", plugin(t, "x"))
	if problem.As(err) == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a wrong password: %v", err)
	}
}

// Downloads are followed to a store, without the password; pushes are not.
func TestRedirects(t *testing.T) {
	a := plugin(t, "content elsewhere")
	leaked, name := "", "localhost"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked += r.Header.Get("Authorization")
		_, _ = w.Write(a.Layer())
	}))
	defer elsewhere.Close()
	loop := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch {
		case loop:
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		case strings.Contains(r.URL.Path, "/manifests/") && r.Method == http.MethodGet:
			_, _ = w.Write(a.Manifest())
		case strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet:
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", name, 1)+"/blob", http.StatusTemporaryRedirect)
		case r.Method == http.MethodPost:
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	st := open(t, host, login(t, host, "user", "pass"))
	for _, name = range []string{"localhost", "127.0.0.1"} { // another host, and another port
		got, err := st.Pull(t.Context(), "acme/things/x", a.Digest(), oci.KindPlugin)
		if err != nil || !bytes.Equal(got.Layer(), a.Layer()) {
			t.Fatalf("Pull: %v", err)
		}
		if leaked != "" {
			t.Errorf("%s at another port got %q", name, leaked)
		}
	}
	if err := st.Push(t.Context(), "acme/things/x", "", a); err == nil {
		t.Error("a push was redirected")
	}
	if leaked != "" {
		t.Errorf("another host got %q", leaked)
	}
	loop = true
	if _, err := st.Pull(t.Context(), "acme/things/x", a.Digest(), oci.KindPlugin); err == nil {
		t.Error("an endless redirect was followed")
	}
}

func TestSplit(t *testing.T) {
	f := func(in, host, prefix string) {
		t.Helper()
		h, p, err := external.Split(in)
		if err != nil && host != "" || h != host || p != prefix {
			t.Fatalf("Split(%q) = %q, %q, %v; want %q, %q", in, h, p, err, host, prefix)
		}
	}
	f("registry.example", "registry.example", "")
	f("registry.example:5000/team/sluice/", "registry.example:5000", "team/sluice")
	f("", "", "")
	f("https://registry.example", "", "")
	f("registry.example/../x", "", "")
	f("registry.example/Upper", "", "")
	f("user:pass@registry.example", "", "")
	if _, err := external.Open(external.Options{Reference: "registry.example"}); err == nil {
		t.Fatal("no client")
	}
}

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/cmd/sluice/demo"
	"github.com/sluicegate/sluice/gateway/process"
	"github.com/sluicegate/sluice/internal/secrets/secretstest"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts")

// readyTimeout bounds the start of a node; it takes a fraction of a second on an
// idle machine.
const readyTimeout = time.Minute

func TestMain(m *testing.M) {
	if process.Keep(os.Args) {
		return
	}
	testscript.Main(m, map[string]func(){"sluice": main, "noteserver": noteServer})
}

// TestScripts runs the program as its users do. Besides the commands of testscript
// there are:
//
//	upstream VAR KIND    start an API and set VAR to its URL
//	waitready [DIR|URL]  wait until the node of DIR (sluice-data), or with its /readyz at URL, is ready
//	ports VAR…           set each VAR to 127.0.0.1 with a port that is free
//	tap VAR URL FILE     set VAR to the URL of a proxy of URL that writes what passes to FILE
//	answers PATTERN …    curl until what it prints matches
//	jwt VAR ISSUER …     set VAR to a token of an issuer (upstream VAR issuer) with CLAIM=VALUE…
//	turnkey ISSUER       make it sign with another key and forget the one before
//	exits CODE CMD …     run a command that must end with CODE
//	curl …               a small curl: -s -i -X -H -d URL
//	paste FILE           run the curl line that FILE has
//	mcp VERSION URL [TOOL [JSON]]   the MCP SDK's client: list the tools, call one
//	capture VAR          set VAR to the last stdout
//	tree DIR             list the files of DIR with their modes
//	certificate CERT KEY [NAME]   write a self-signed certificate of a name (sluice.example) and its key
//	bucket VAR           start an S3-compatible store with a bucket "artifacts", URL in VAR
//	registry VAR         start an OCI registry, its host in VAR; user "user", password "pass"
//	login TOOLSET        run sluice toolset auth TOOLSET login and log in as a person does; with
//	                     several arguments, run sluice with them
//	follow USER          open the login link that the last command printed and log in as USER (one, two);
//	                     with !, the link must not be good any more
//	userid NAME          set USER to the id of the caller of that name in the list that was printed
//	hidden SECRET PATH…  no file there holds SECRET, plain, in base64, hex or URL-encoded
//	revoke               make every access token of the authorization server bad
func TestScripts(t *testing.T) {
	s := &scripts{t: t}
	dir, files := "testdata/script", []string(nil)
	if raceEnabled {
		dir, files = "", raceScripts
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("SLUICE_PLUGIN_GRACE", "10s")  // plugins may be slow on a busy machine
			e.Setenv("GOGC", "400")                 // most of a short command would be garbage collection
			e.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector a command would wait a second at its end
			plugins, err := filepath.Abs("../../testdata/plugins")
			e.Setenv("PLUGINS", plugins)
			if err != nil {
				return err
			}
			// What a script builds with Go comes from the caches of this build.
			for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(out)))
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "mounts" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			// [mounts]: this user may mount file systems, in a namespace of its own.
			return exec.Command("unshare", "-m", "true").Run() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"upstream": s.upstream, "waitready": s.waitReady, "exits": s.exits, "curl": s.curl, "paste": s.paste, "mcp": s.mcp,
			"capture": s.capture, "tree": s.tree, "certificate": s.certificate,
			"login": s.login, "revoke": s.revoke, "hidden": s.hidden, "bucket": s.bucket, "registry": s.registry,
			"follow": s.follow, "userid": s.userID, "member": s.member, "ports": s.ports, "pooled": s.pooled, "tap": s.tap, "answers": s.answers,
			"jwt": s.jwt, "turnkey": s.turnKey, "cutaudit": s.cutAudit,
		},
	})
}

type scripts struct {
	t       *testing.T
	servers sync.Map // authorization servers by issuer
}

// upstream starts an API that lives as long as the script.
func (s *scripts) upstream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: upstream VAR KIND")
	}
	switch args[1] {
	case "demo", "demo-key":
		o := demo.Options{}
		if args[1] == "demo-key" {
			o.APIKey = "let-me-in"
		}
		d, err := demo.New(o)
		ts.Check(err)
		// Its document names a server of its own; one that is served must name itself.
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/openapi.json" {
				_, _ = w.Write(bytes.Replace(d.Document(), []byte(`"url":"https://api.workbench.example"`), []byte(`"url":"http://`+r.Host+`"`), 1))
				return
			}
			d.ServeHTTP(w, r)
		}))
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	case "schemes":
		srv := httptest.NewServer(authAPI())
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	case "model":
		srv := httptest.NewServer(http.HandlerFunc(chatCompletions))
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL+"/v1")
	case "oauth":
		api, issuer := s.oauthAPI(ts)
		ts.Setenv(args[0], api)
		ts.Setenv("ISSUER", issuer)
	case "mcp":
		ts.Setenv(args[0], mcpServer(ts, nil).URL)
	case "mcp-key":
		ts.Setenv(args[0], mcpServer(ts, withKey("let-me-in")).URL)
	case "mcp-oauth":
		s.oauthServer(ts, args[0])
	case "issuer":
		s.issuer(ts, args[0])
	case "dump":
		ts.Setenv(args[0], dumpServer(ts))
	case "flow":
		ts.Setenv(args[0], flowServer(ts).URL)
	case "mcp-slow":
		ts.Setenv(args[0], slowServer(ts).URL)
	case "mcp-asks":
		ts.Setenv(args[0], askingServer(ts).URL)
	case "wire": // answers what it was sent, in letters that no redaction knows
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			sent := r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + " " + string(body)
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(map[string]string{"sent": strings.ReplaceAll(sent, "wire-key", "WIRE_KEY")}) // the client may be gone
		}))
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	case "mutual-tls":
		srv := mutualTLS(ts)
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	case "faulty":
		ts.Setenv(args[0], s.faulty().URL)
	case "files":
		// What is in www, with an ETag; everything else is an empty list.
		dir := ts.MkAbs("www")
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := os.ReadFile(filepath.Join(dir, filepath.Clean(r.URL.Path)))
			if err != nil {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `[{"id":1}]`)
				return
			}
			sum := sha256.Sum256(b)
			w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
		}))
		ts.Defer(srv.Close)
		ts.Setenv(args[0], srv.URL)
	case "dead":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(args[0], "http://"+l.Addr().String())
		ts.Check(l.Close())
	case "vendor-github":
		ts.Setenv(args[0], vendorServer(ts, "github").URL)
	default:
		ts.Fatalf("unknown kind of upstream %s", args[1])
	}
}

// faulty is an API each of whose operations goes wrong in its own way.
func (s *scripts) faulty() *upstreamtest.Server {
	u := upstreamtest.New(s.t)
	const most = 100 << 20
	faults := map[string]http.Handler{
		"all_fine": upstreamtest.JSON(200, `{"id":1}`), "html": upstreamtest.Text(200, "text/html", "<html><title>Sorry</title><body>Maintenance</body></html>"),
		"broken": upstreamtest.JSON(200, `{"id":`), "huge": upstreamtest.Huge(most, true), "reset": upstreamtest.Reset(),
		"refused": upstreamtest.JSON(401, `{"message":"Bad credentials"}`), "failing": upstreamtest.JSON(500, `{"message":"it is on fire"}`),
	}
	paths := map[string]any{}
	for name, h := range faults {
		u.Handle("GET /"+name, h)
		paths["/"+name] = map[string]any{"get": map[string]any{"operationId": name, "responses": map[string]any{"200": map[string]any{"description": "OK"}}}}
	}
	doc, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Faulty", "version": "1"}, "servers": []any{map[string]any{"url": u.URL}}, "paths": paths,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	u.Handle("GET /openapi.json", upstreamtest.JSON(200, string(doc)))
	u.Handle("GET /page", faults["html"])
	u.Handle("GET /missing.json", upstreamtest.JSON(404, `{}`))
	u.Handle("GET /stall.json", u.Stall())
	return u
}

// waitReady waits until the node is ready.
func (s *scripts) waitReady(ts *testscript.TestScript, neg bool, args []string) {
	dir := "sluice-data"
	if len(args) == 1 {
		dir = args[0]
	}
	if neg || len(args) > 1 {
		ts.Fatalf("usage: waitready [DIR|URL]")
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), readyTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for {
		base, err := []byte(dir), error(nil)
		if !strings.HasPrefix(dir, "http://") {
			base, err = os.ReadFile(ts.MkAbs(filepath.Join(dir, datadir.Endpoint)))
		}
		if err == nil {
			resp, err := hc.Get(strings.TrimSpace(string(base)) + "/readyz")
			if err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return
				}
			}
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("the node in %s was not ready within %s", dir, readyTimeout)
		case <-tick.C:
		}
	}
}

// hidden searches files for a secret in every form it could be written in. With ! one
// must be found.
func (s *scripts) hidden(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: hidden SECRET PATH…")
	}
	secret := strings.TrimSpace(args[0])
	if i := strings.LastIndexAny(strings.TrimRight(secret, "\"}\n "), "\" "); i >= 0 { // of a JSON object, or behind a label
		secret = strings.Trim(secret[i:], "\"}\n ")
	}
	if len(secret) < secretstest.MinLength {
		ts.Fatalf("the secret %q is too short to be searched for", secret)
	}
	files, found := 0, ""
	for _, root := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a node that runs replaces its files by others
			}
			files++
			if forms := secretstest.Find(text, secret); forms != nil {
				found = fmt.Sprintf("%s holds the secret (%s)", name, strings.Join(forms, ", "))
			}
			return err
		}))
	}
	if files == 0 || (found != "") != neg {
		ts.Fatalf("searched %d files: %q", files, found)
	}
}

// exits runs a command that must end with a code.
func (s *scripts) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func (s *scripts) curl(ts *testscript.TestScript, neg bool, args []string) {
	resp, show, err := s.request(ts, args)
	if err != nil {
		if neg {
			return
		}
		ts.Fatalf("%v", err)
	}
	defer resp.Body.Close()
	if neg {
		ts.Fatalf("%s %s answered %d", resp.Request.Method, resp.Request.URL, resp.StatusCode)
	}
	if show {
		fmt.Fprintf(ts.Stdout(), "%d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
		for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
			fmt.Fprintf(ts.Stdout(), "%s: %s\n", name, strings.Join(resp.Header[name], ", "))
		}
	}
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

// fetch is what curl prints; a request that fails prints its error.
func (s *scripts) fetch(ts *testscript.TestScript, args []string) string {
	resp, _, err := s.request(ts, args)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// request does what the arguments of curl say.
func (s *scripts) request(ts *testscript.TestScript, args []string) (resp *http.Response, show bool, err error) {
	method, body, target := "", "", ""
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-s":
		case "-i":
			show = true
		case "-X", "-H", "-d":
			i++
			switch args[i-1] {
			case "-X":
				method = args[i]
			case "-d":
				body = args[i]
			default:
				name, value, _ := strings.Cut(args[i], ":")
				header.Set(name, strings.TrimSpace(value))
			}
		default:
			target = args[i]
		}
	}
	if method == "" {
		method = http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	ts.Check(err)
	if host := header.Get("Host"); host != "" {
		req.Host = host
		header.Del("Host")
	}
	req.Header = header
	resp, err = http.DefaultClient.Do(req)
	return resp, show, err
}

// paste runs the curl line of a file as a shell would.
func (s *scripts) paste(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: paste FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if _, command, ok := strings.Cut(line, " curl -s "); ok {
			s.curl(ts, false, shellSplit(strings.TrimSpace(command)))
			return
		}
	}
	ts.Fatalf("%s has no curl line", args[0])
}

// shellSplit splits words and single quotes, all that shellWord makes.
func shellSplit(s string) (words []string) {
	var word strings.Builder
	quoted, inWord := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			quoted, inWord = !quoted, true
		case c == '\\' && !quoted && i+1 < len(s):
			i++
			word.WriteByte(s[i])
		case c == ' ' && !quoted:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// mcp uses a toolset URL with the MCP SDK's client.
func (s *scripts) mcp(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: mcp VERSION URL [TOOL [JSON]]")
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), readyTimeout)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: args[1]}, &mcp.ClientSessionOptions{ProtocolVersion: args[0]})
	if err != nil {
		if neg {
			return
		}
		ts.Fatalf("connect: %v", err)
	}
	defer session.Close()
	if len(args) == 2 {
		for tool, err := range session.Tools(ctx, nil) {
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), "%s: %s\n", tool.Name, tool.Description)
		}
		return
	}
	params := &mcp.CallToolParams{Name: args[2]}
	params.SetProgressToken("script")
	if len(args) > 3 {
		params.Arguments = json.RawMessage(args[3])
	}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		if neg {
			fmt.Fprintln(ts.Stderr(), err)
			return
		}
		ts.Fatalf("call: %v", err)
	}
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Fprintln(ts.Stdout(), text.Text)
		}
	}
	if result.IsError != neg {
		ts.Fatalf("isError = %v", result.IsError)
	}
}

func (s *scripts) capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture VAR")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// member puts a member of the JSON object on stdout into a variable.
func (s *scripts) member(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: member NAME VAR")
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	text, ok := object[args[0]].(string)
	if !ok {
		ts.Fatalf("stdout has no text %s", args[0])
	}
	ts.Setenv(args[1], text)
}

func (s *scripts) certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 4 {
		ts.Fatalf("usage: certificate CERT KEY [NAME [SINCE]]")
	}
	name, until := "sluice.example", time.Now().Add(time.Hour)
	if len(args) > 2 {
		name = args[2]
	}
	if len(args) > 3 { // it has ended
		since, err := time.ParseDuration(args[3])
		ts.Check(err)
		until = time.Now().Add(-since)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until, BasicConstraintsValid: true, IsCA: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}

func (s *scripts) tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tree DIR")
	}
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		fmt.Fprintf(ts.Stdout(), "%s %s\n", info.Mode(), rel)
		return err
	}))
}

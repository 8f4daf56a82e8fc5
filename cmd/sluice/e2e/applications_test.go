//go:build interop

package e2e

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// applicationsDir is where the applications stay installed between runs.
const applicationsDir = "../../../bin/applications"

// aiApplication is an AI application of npm, and how it shows without an account that it
// reaches a server.
type aiApplication struct {
	name, pkg, version string // of sluice client --for, and of npm
	program            string
	// connected runs it and reports whether it connected, with what it wrote.
	connected func(t *testing.T, run applicationRun) (bool, string)
}

// applicationRun runs an application in a project and a home of its own.
type applicationRun struct {
	program, project string
	env              []string
}

func (r applicationRun) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir, cmd.Env = r.project, r.env
	return cmd
}

// lists runs "APPLICATION mcp list", which connects to each server.
func lists(connected string) func(*testing.T, applicationRun) (bool, string) {
	return func(t *testing.T, r applicationRun) (bool, string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := r.command(ctx, "mcp", "list").CombinedOutput()
		if err != nil {
			t.Errorf("mcp list: %v", err)
		}
		return strings.Contains(string(out), connected), string(out)
	}
}

var aiApplications = []aiApplication{
	{"claude-code", "@anthropic-ai/claude-code", "2.1.330", "claude", lists("✔ Connected")},
	{"codex", "@openai/codex", "0.171.0", "codex", codexTools},
	{"gemini", "@google/gemini-cli", "0.61.0", "gemini", lists("(http) - Connected")},
	{"opencode", "opencode-ai", "1.18.33", "opencode", lists("✓ demo")},
}

// TestApplications lets AI applications use what sluice client --install wrote, with a
// toolset URL that is open, needs an access token, or a JSON Web Token; and shows that
// they do not connect without one.
func TestApplications(t *testing.T) {
	node, _ := npm(t, "@modelcontextprotocol/sdk/package.json")
	n := startSluice(t, "--demo", "--allow-private-upstreams=127.0.0.0/8")
	url := "http://" + n.gateway + "/t/demo"
	issuer, webToken := jwtIssuer(t, url)
	for _, app := range aiApplications {
		t.Run(app.name, func(t *testing.T) {
			program := installApplication(t, app, node)
			for _, mode := range []string{"none", "token", "jwt"} {
				t.Run(mode, func(t *testing.T) {
					home := t.TempDir()
					r := applicationRun{program, filepath.Join(home, "project"), []string{
						"HOME=" + home, "PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "NO_COLOR=1",
						"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
						"GEMINI_CLI_TRUST_WORKSPACE=true", // what a person answers once
					}}
					writeFile(t, filepath.Join(r.project, "empty"), "")
					writeFile(t, filepath.Join(home, ".claude", "settings.json"), `{"enableAllProjectMcpServers":true}`) // as well

					set, use := []string{"toolset", "access", "demo", "set", mode}, []string{"client", "demo", "--for", app.name}
					if mode == "jwt" { // with a token of its user: a login needs a browser
						set = append(set, "--issuer", issuer)
						use = []string{"client", url, "--for", app.name, "--token-env", "SLUICE_DEMO_TOKEN"}
					}
					n.cli(t, set...)
					said := n.client(t, r, append(use, "--install")...)
					token := webToken
					if mode == "token" {
						if token = regexp.MustCompile(`slt_\w+`).FindString(said); token == "" {
							t.Fatalf("no access token was made:\n%s", said)
						}
					}
					if again := n.client(t, r, append(use, "--install")...); !strings.Contains(again, "has it already") {
						t.Errorf("installing twice: %s", again)
					}
					if mode != "none" {
						if ok, out := app.connected(t, r); ok {
							t.Errorf("%s connects without a token:\n%s", app.name, out)
						}
						r.env = append(r.env, "SLUICE_DEMO_TOKEN="+token)
					}
					ok, out := app.connected(t, r)
					if !ok {
						t.Errorf("%s does not connect:\n%s", app.name, out)
					}
					t.Logf("%s %s, mode %s:\n%s", app.name, app.version, mode, last(strings.TrimSpace(out), 400))

					n.client(t, r, append(use, "--uninstall")...)
					if ok, out := app.connected(t, r); ok {
						t.Errorf("%s is still configured:\n%s", app.name, out)
					}
				})
			}
		})
	}
}

// client runs a command in the home and project of an application and returns what it says.
func (n *node) client(t *testing.T, r applicationRun, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(append(args, n.flags()...), "--yes")...)
	cmd.Dir, cmd.Env = r.project, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sluice %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// installApplication installs an application with npm, once, and returns its program. It
// skips the test when npm cannot.
func installApplication(t *testing.T, app aiApplication, node string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(applicationsDir, app.name+"-"+app.version))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "node_modules", ".bin", app.program)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, app.pkg+"@"+app.version)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		t.Skipf("npm cannot install %s@%s: %v\n%s", app.pkg, app.version, err, last(string(out), 2000))
	}
	return program
}

// codexTools asks Codex for the tools of its servers, over the interface that its editors
// use: codex mcp list only shows the configuration.
func codexTools(t *testing.T, r applicationRun) (bool, string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := r.command(ctx, "app-server")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	if _, err := in.Write([]byte(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"e2e","title":"e2e","version":"1"}}}
{"method":"initialized"}
{"id":2,"method":"mcpServerStatus/list","params":{}}
`)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			ID     int
			Result struct {
				Data []struct {
					Name  string
					Tools map[string]json.RawMessage
				}
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID == 2 {
			for _, s := range m.Result.Data {
				if s.Name == "demo" && len(s.Tools) > 0 {
					return true, lines.Text()
				}
			}
			return false, lines.Text()
		}
	}
	return false, "codex app-server did not answer"
}

// jwtIssuer is an authorization server, with a token of it for an audience.
func jwtIssuer(t *testing.T, audience string) (issuer, token string) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		self := "http://" + r.Host
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": self, "jwks_uri": self + "/jwks"})
		case "/jwks":
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
				map[string]any{"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "k", "x": base64.RawURLEncoding.EncodeToString(public)},
			}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	made := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": srv.URL, "aud": audience, "sub": "alice", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	made.Header["kid"] = "k"
	if token, err = made.SignedString(key); err != nil {
		t.Fatal(err)
	}
	return srv.URL, token
}

// writeFile writes a file, and makes the directories it is in.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The official suite starts an MCP server and an authorization server for each of
// its client scenarios and then the client under test. That is a running Sluice; what
// the suite starts is this test binary once more, which does with the node what an
// operator does: log in, make a toolset of the server, call its tools.

// Environment of such a start.
const (
	driverAdmin   = "SLUICE_E2E_ADMIN"   // URL of the admin API
	driverGateway = "SLUICE_E2E_GATEWAY" // URL of the gateway
	driverToken   = "SLUICE_E2E_TOKEN"   // file of the administrator's token
)

// clientHost is the name under which the suite knows clients that have a metadata
// document. Nothing answers there; the driver is the browser and knows better.
const clientHost = "https://conformance-test.local"

// TestConformanceClient runs the client scenarios of the official suite about
// authorization against a node. What is not passed is listed with its reason in
// testdata/conformance: a failure that is not listed, and an entry that passes, fail
// the test.
func TestConformanceClient(t *testing.T) {
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	n := startSluice(t, "--allow-private-upstreams=127.0.0.0/8,::1/128", "--admin-public-url", clientHost)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(driverAdmin, "http://"+n.admin)
	t.Setenv(driverGateway, "http://"+n.gateway)
	t.Setenv(driverToken, filepath.Join(n.data, "admin.token"))
	for name, set := range map[string][]string{
		"client-auth": {"--suite", "auth"}, "client-backcompat": {"--suite", "backcompat"}, "client-extensions": {"--suite", "extensions"},
		"client-2026-07-28": {"--requirements", "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			baseline, err := filepath.Abs("testdata/conformance/" + name + ".yml")
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{suite, "client", "--command", self, "--timeout", "60000", "--expected-failures", baseline, "-o", t.TempDir()}, set...)
			out, err := runTool(t, node, args...)
			_, summary, found := strings.Cut(out, "=== SUITE SUMMARY ===")
			if err != nil || !found {
				t.Fatalf("the suite ended with %v:\n%s", err, last(out, 12000))
			}
			t.Log(summary)
		})
	}
}

// driver is an operator of a node.
type driver struct {
	admin, gateway, token string
	http                  *http.Client
}

// driveClient is the start by the suite; server is what it wants connected.
func driveClient(server string) error {
	token, err := os.ReadFile(os.Getenv(driverToken))
	if err != nil {
		return err
	}
	d := &driver{admin: os.Getenv(driverAdmin), gateway: os.Getenv(driverGateway), token: strings.TrimSpace(string(token))}
	d.http = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	return d.drive(ctx, server)
}

func (d *driver) drive(ctx context.Context, server string) error {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	auth := map[string]any{"authType": "oauth2"}
	if given.ClientID != "" {
		auth["clientId"] = given.ClientID
		if given.ClientSecret != "" {
			auth["clientSecret"] = given.ClientSecret
		}
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	slug := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(scenario, "auth/"), "/", "-"), "-") + fmt.Sprint("-", os.Getpid())
	create := map[string]any{
		"slug": slug, "name": slug, "source": map[string]any{"mcp": map[string]string{"url": server}},
		"deploy": map[string]any{"untestedReason": "conformance"},
	}
	switch {
	case !strings.HasPrefix(scenario, "auth/"):
	case strings.Contains(scenario, "client-credentials"):
		auth["grant"] = "client_credentials"
		create["authentication"] = auth
	default:
		login, err := d.login(ctx, server, auth)
		if err != nil {
			return err
		}
		create["login"] = login
	}
	var made struct {
		Status string `json:"status"`
	}
	err := d.api(ctx, http.MethodPost, "/v1/toolsets", create, &made)
	if err != nil && create["login"] != nil && strings.Contains(err.Error(), "refused the credential") {
		// The server does not take the token any more: as an operator would, log in again.
		login, again := d.login(ctx, server, auth)
		if again != nil {
			return again
		}
		create["login"] = login
		err = d.api(ctx, http.MethodPost, "/v1/toolsets", create, &made)
	}
	if err != nil {
		return err
	}
	if made.Status != "live" {
		if err := d.api(ctx, http.MethodPost, "/v1/toolsets/"+slug+"/deploy", map[string]string{"reason": "conformance"}, nil); err != nil {
			return err
		}
	}
	var tools struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
	}
	if err := d.api(ctx, http.MethodGet, "/v1/toolsets/"+slug+"/tools", nil, &tools); err != nil {
		return err
	}
	for _, t := range tools.Items {
		if err := d.call(ctx, slug, t.Name); err != nil {
			return err
		}
	}
	return nil
}

var wantedScopes = regexp.MustCompile(`login --scope (\S+?)\)?$`)

// call calls a tool, and logs in again with what the answer says is missing, twice
// at most.
func (d *driver) call(ctx context.Context, slug, tool string) error {
	for again := 0; ; again++ {
		text, bad, err := d.callOnce(ctx, slug, tool)
		if err != nil || !bad {
			return err
		}
		m := wantedScopes.FindStringSubmatch(text)
		if m == nil || again == 2 {
			return fmt.Errorf("%s answered: %s", tool, text)
		}
		var begun struct {
			AuthorizationURL string `json:"authorizationUrl"`
		}
		in := map[string]any{"scopes": strings.Split(m[1], ",")}
		if err := d.api(ctx, http.MethodPost, "/v1/toolsets/"+slug+"/authentication/authorize", in, &begun); err != nil {
			return err
		}
		if err := d.browse(ctx, begun.AuthorizationURL); err != nil {
			return err
		}
	}
}

func (d *driver) callOnce(ctx context.Context, slug, tool string) (text string, bad bool, err error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": map[string]any{}},
	})
	if err != nil {
		return "", false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.gateway+"/t/"+slug, bytes.NewReader(body))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	var out struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if err := d.do(req, &out); err != nil {
		return "", false, err
	}
	if out.Error != nil {
		return "", false, fmt.Errorf("the gateway answered %s", out.Error)
	}
	for _, c := range out.Result.Content {
		text += c.Text
	}
	return text, out.Result.IsError, nil
}

// login logs in at a server that is not a toolset yet.
func (d *driver) login(ctx context.Context, server string, auth map[string]any) (string, error) {
	var begun, now struct {
		ID               string `json:"id"`
		State            string `json:"state"`
		Error            string `json:"error"`
		AuthorizationURL string `json:"authorizationUrl"`
	}
	if err := d.api(ctx, http.MethodPost, "/v1/mcp/logins", map[string]any{"url": server, "authentication": auth}, &begun); err != nil {
		return "", err
	}
	if err := d.browse(ctx, begun.AuthorizationURL); err != nil {
		return "", err
	}
	if err := d.api(ctx, http.MethodGet, "/v1/mcp/logins/"+begun.ID, nil, &now); err != nil {
		return "", err
	}
	if now.State != "done" {
		return "", fmt.Errorf("the login is %s: %s", now.State, now.Error)
	}
	return begun.ID, nil
}

// browse does what a person's browser does: it presses the button of the node's
// page, comes to one that lets everybody in, and is sent back to the node.
func (d *driver) browse(ctx context.Context, link string) error {
	confirm, err := url.Parse(link)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.admin+confirm.Path, http.NoBody) // the name of the node is in no DNS
	if err != nil {
		return err
	}
	res, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	page, cookies := res.Header.Get("Location"), res.Cookies()
	if page == "" {
		return fmt.Errorf("the page of the node answered %d and led nowhere", res.StatusCode)
	}
	if req, err = http.NewRequestWithContext(ctx, http.MethodGet, page, http.NoBody); err != nil {
		return err
	}
	if res, err = d.http.Do(req); err != nil {
		return err
	}
	defer res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil || back.Path != "/oauth/callback" {
		return fmt.Errorf("the page of the authorization server answered %d and led to %s", res.StatusCode, back)
	}
	if req, err = http.NewRequestWithContext(ctx, http.MethodGet, d.admin+"/oauth/callback?"+back.RawQuery, http.NoBody); err != nil {
		return err
	}
	for _, c := range cookies {
		req.AddCookie(c)
	}
	if res, err = d.http.Do(req); err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the callback answered %d %s", res.StatusCode, text)
	}
	return err
}

func (d *driver) api(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.admin+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Prefer", "wait=40")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return d.do(req, out)
}

func (d *driver) do(req *http.Request, out any) error {
	res, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("%s %s answered %d %s", req.Method, req.URL.Path, res.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	if i := bytes.LastIndex(b, []byte("\ndata: ")); i >= 0 && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		b, _, _ = bytes.Cut(b[i+len("\ndata: "):], []byte("\n")) // the result comes last
	}
	if json.Unmarshal(b, out) != nil {
		return errors.New("an answer that cannot be read: " + string(b))
	}
	return nil
}

package connector_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/operation"
)

// TestTorture calls every operation of the torture documents through a real HTTP
// server, which sees exactly these requests.
func TestTorture(t *testing.T) {
	dir := os.Getenv("SLUICE_CORPUS")
	if dir == "" {
		t.Skip("SLUICE_CORPUS is not set")
	}
	var seen string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, boundary, _ := strings.Cut(r.Header.Get("Content-Type"), "; boundary=")
		lines := []string{r.Method + " " + r.RequestURI}
		for _, h := range []string{"Content-Type", "Cookie", "X-Trace-Id", "X-Key"} {
			if v := r.Header.Get(h); v != "" {
				v, _, _ = strings.Cut(v, "; boundary=")
				lines = append(lines, h+": "+v)
			}
		}
		if boundary != "" {
			body = bytes.ReplaceAll(body, []byte(boundary), []byte("B"))
		}
		if len(body) > 0 {
			lines = append(lines, string(body))
		}
		seen = strings.Join(lines, "\n")
	}))
	defer srv.Close()
	calls := []struct{ op, args, want string }{
		{
			"GET /pets", `{"limit":5,"tags":["a b","c"],"filter":{"status":"x&y"},"X-Trace-Id":"t 1","sess":"s;1"}`,
			"GET /pets?limit=5&tags=a%20b,c&filter%5Bstatus%5D=x%26y\nCookie: sess=s%3B1\nX-Trace-Id: t 1",
		},
		{
			"POST /pets", `{"name":"Rex","kind":"dog","owner":{"email":"a@b.test","address":{"zip":"9"}}}`,
			"POST /pets\nContent-Type: application/json\n" + `{"name":"Rex","kind":"dog","owner":{"email":"a@b.test","address":{"zip":"9"}}}`,
		},
		{"GET /orgs/{org-id}/pets/{petId}", `{"org-id":"../x y","petId":7}`, "GET /orgs/..%2Fx%20y/pets/7"},
		{
			"PUT /tree", `{"label":"r","children":[{"label":"c","children":[{"label":"d"}]}]}`,
			"PUT /tree\nContent-Type: application/json\n" + `{"label":"r","children":[{"label":"c","children":[{"label":"d"}]}]}`,
		},
		{"POST /bulk", `{"body":[{"email":"a"},{"email":"b"}]}`, "POST /bulk\nContent-Type: application/json\n" + `[{"email":"a"},{"email":"b"}]`},
		{
			"POST /upload", `{"file":{"data":"aGVsbG8=","filename":"a.txt","mediaType":"text/plain"},"note":"n"}`,
			"POST /upload\nContent-Type: multipart/form-data\n--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n" +
				"--B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nn\r\n--B--\r\n",
		},
		{"POST /form", `{"a":"x y&z","b":3}`, "POST /form\nContent-Type: application/x-www-form-urlencoded\na=x+y%26z&b=3"},
		{"GET /long", `{}`, "GET /long"},
	}
	swagger := []struct{ op, args, want string }{
		{"POST /pets", `{"name":"Rex","tags":["a","b"]}`, "POST /pets?tags=a,b\nContent-Type: application/json\n" + `{"name":"Rex"}`},
	}
	called := 0
	for file, list := range map[string][]struct{ op, args, want string }{"torture30.json": calls, "torture31.json": calls, "torture20.json": swagger} {
		a, refused := compileFile(t, filepath.Join(dir, file))
		c, err := connector.Open(a.Module)
		if err != nil || len(refused) > 0 || c.Len() != len(list) {
			t.Fatalf("%s: %v %v, %d tools", file, err, refused, c.Len())
		}
		for _, call := range list {
			var tool *connector.Tool
			for i := range c.Len() {
				one, err := c.Tool(i)
				if err != nil {
					t.Fatal(err)
				}
				if one.Method+" "+one.Path == call.op {
					tool = one
				}
			}
			if tool == nil {
				t.Errorf("%s: no tool for %s", file, call.op)
				continue
			}
			if len(tool.Name) > 40 {
				t.Errorf("%s: %s is named %s", file, call.op, tool.Name)
			}
			args, err := jsonscan.Parse([]byte(call.args), 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := tool.Plan.Check(args); err != nil {
				t.Errorf("%s %s %s: %v\n%s", file, call.op, call.args, err, tool.InputSchema)
				continue
			}
			var r operation.Request
			if err := tool.Plan.Build(&r, args); err != nil {
				t.Errorf("%s %s %s: %v", file, call.op, call.args, err)
				continue
			}
			req, err := http.NewRequestWithContext(t.Context(), r.Method, srv.URL+string(r.Target), bytes.NewReader(r.Body))
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Header {
				req.Header.Set(h.Name, string(h.Value))
			}
			if r.HasBody {
				req.Header.Set("Content-Type", string(r.ContentType))
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if seen != call.want {
				t.Errorf("%s %s %s\n got %q\nwant %q", file, call.op, call.args, seen, call.want)
			}
			called++
		}
	}
	t.Logf("%d torture operations", called)
}

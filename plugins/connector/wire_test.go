package connector_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/plugins/connector"
	"github.com/sluicegate/sluice/plugins/openapi"
	"github.com/sluicegate/sluice/plugins/operation"
)

// arrived is what the server saw of a request.
type arrived struct {
	method, target, contentType string
	header                      http.Header
	form                        map[string][]string // decoded form or multipart values
	files                       map[string]string   // "name/filename/type" → content
	body                        string
}

// server is a real HTTP server that records requests and has software that we did
// not write judge them against the specification.
type server struct {
	*httptest.Server
	last  arrived
	fault error
}

func newServer(t *testing.T, spec []byte) *server {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.last = arrived{
			method: r.Method, target: r.URL.RequestURI(), contentType: r.Header.Get("Content-Type"),
			header: r.Header.Clone(), body: string(body), files: map[string]string{},
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		found, params, err := route(doc, r)
		if s.fault = err; err == nil {
			s.fault = openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
				Request: r, PathParams: params, Route: found,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
			})
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasPrefix(s.last.contentType, "multipart/") {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
			} else {
				s.last.form = r.MultipartForm.Value
				for name, files := range r.MultipartForm.File {
					for _, f := range files {
						o, err := f.Open()
						if err != nil {
							t.Error(err)
							continue
						}
						content, err := io.ReadAll(o)
						if err != nil {
							t.Error(err)
						}
						s.last.files[name+"/"+f.Filename+"/"+f.Header.Get("Content-Type")] = string(content)
					}
				}
			}
		} else if err := r.ParseForm(); err == nil {
			s.last.form = r.PostForm
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(s.Close)
	return s
}

// templated finds the parameters of a path, in braces or, quoted for a pattern, in
// angle brackets.
var templated = regexp.MustCompile(`\{[^{}]*\}|<[^<>]*>`)

// route finds the operation. Segments are compared before they are unescaped: an
// encoded slash does not separate, which ready-made routers get wrong.
func route(doc *openapi3.T, r *http.Request) (*routers.Route, map[string]string, error) {
	got := strings.Split(r.URL.EscapedPath(), "/")
next:
	for path, item := range doc.Paths.Map() {
		want := strings.Split(path, "/")
		op := item.GetOperation(r.Method)
		if len(want) != len(got) || op == nil {
			continue
		}
		params := map[string]string{}
		for i, w := range want {
			g, err := url.PathUnescape(got[i])
			switch {
			case err != nil:
				return nil, nil, err
			case strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}") && strings.Count(w, "{") == 1:
				params[strings.Trim(w, "{}")] = g
			case strings.Contains(w, "{"): // "{base}...{head}"
				names := templated.FindAllString(w, -1)
				pattern := "^" + templated.ReplaceAllString(regexp.QuoteMeta(strings.NewReplacer("{", "<", "}", ">").Replace(w)), "(.*)") + "$"
				m := regexp.MustCompile(pattern).FindStringSubmatch(g)
				if m == nil {
					continue next
				}
				for j, name := range names {
					params[strings.Trim(name, "{}")] = m[j+1]
				}
			case g != w:
				continue next
			}
		}
		return &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: op}, params, nil
	}
	return nil, nil, errors.New("no such operation")
}

// TestOnTheWire takes the whole way: specification, connector, opened connector,
// arguments, HTTP request to a real server, judged by kin-openapi's validator.
func TestOnTheWire(t *testing.T) {
	spec, err := os.ReadFile("testdata/wire.json")
	if err != nil {
		t.Fatal(err)
	}
	api := new(operation.API)
	b := connector.NewBuilder(api)
	res, err := openapi.Compile(t.Context(), openapi.Source{Name: "wire.json", Data: spec}, openapi.Options{Each: b.Add})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Unsupported) > 0 {
		t.Fatalf("unsupported: %+v", res.Unsupported)
	}
	*api = *res.API
	a, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c, err := connector.Open(a.Module)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*connector.Tool{}
	for i := range c.Len() {
		tool, err := c.Tool(i)
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.OperationID] = tool
	}
	s := newServer(t, spec)

	// judged says whether the independent validator understands the case.
	f := func(id, args string, judged bool, want arrived) {
		t.Helper()
		tool := tools[id]
		if tool == nil {
			t.Fatalf("there is no tool for %s", id)
		}
		v, err := jsonscan.Parse([]byte(args), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tool.Plan.Check(v); err != nil {
			t.Fatalf("%s %s: %v\nschema %s", id, args, err, tool.InputSchema)
		}
		var r operation.Request
		if err := tool.Plan.Build(&r, v); err != nil {
			t.Fatalf("%s %s: %v", id, args, err)
		}
		var body io.Reader
		if r.HasBody {
			body = bytes.NewReader(r.Body)
		}
		req, err := http.NewRequestWithContext(t.Context(), r.Method, s.URL+string(r.Target), body)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Header {
			req.Header.Set(h.Name, string(h.Value))
		}
		if r.HasBody {
			req.Header.Set("Content-Type", string(r.ContentType))
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		got := s.last
		if judged && s.fault != nil {
			t.Errorf("%s %s: refused by the validator: %v\n%s %s", id, args, s.fault, got.target, got.body)
		}
		if got.target != want.target {
			t.Errorf("%s: target %s, want %s", id, got.target, want.target)
		}
		if want.body != "" && got.body != want.body {
			t.Errorf("%s: body %s, want %s", id, got.body, want.body)
		}
		for k := range want.header {
			if got.header.Get(k) != want.header.Get(k) {
				t.Errorf("%s: header %s is %q, want %q", id, k, got.header.Get(k), want.header.Get(k))
			}
		}
		same := func(what string, got, want any) {
			t.Helper()
			g, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			w, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(g, w) {
				t.Errorf("%s: %s %s, want %s", id, what, g, w)
			}
		}
		if want.form != nil {
			same("form", got.form, want.form)
		}
		if want.files != nil {
			same("files", got.files, want.files)
		}
	}

	f("everywhere", `{"org-id":"a/b c","petId":9007199254740993,"tags":["x y","z"],"filter":{"status":"open","by":"me"},"ids":[1,2],"trace":"t-1","sess":"s"}`, true, arrived{
		target: "/orgs/a%2Fb%20c/pets/9007199254740993?tags=x%20y,z&filter%5Bstatus%5D=open&filter%5Bby%5D=me&ids=1&ids=2",
		header: http.Header{"Trace": {"t-1"}, "Cookie": {"sess=s"}},
	})
	f("everywhere", `{"org-id":"o","petId":"7","ids":"[3]"}`, true, arrived{target: "/orgs/o/pets/7?ids=3"})
	f("delimited", `{"pipe":["a","b"],"space":["c","d"]}`, true, arrived{target: "/delimited?pipe=a%7Cb&space=c%20d"})
	f("matrix", `{"p":[1,2],"q":["a","b"]}`, true, arrived{target: "/matrix/;p=1;p=2/.a.b"})
	f("inJSON", `{"where":{"a":[1,"x&y"]}}`, true, arrived{target: "/content?where=%7B%22a%22%3A%5B1%2C%22x%26y%22%5D%7D"})
	f("createPet", `{"name":"Rex","kind":"dog","owner":{"email":"a@b.c"},"age":"3"}`, true, arrived{
		target: "/pets", body: `{"name":"Rex","kind":"dog","owner":{"email":"a@b.c"},"age":3}`, header: http.Header{"Content-Type": {"application/json"}},
	})
	f("bulk", `{"body":[{"email":"a"},{"email":"b"}]}`, true, arrived{target: "/bulk", body: `[{"email":"a"},{"email":"b"}]`})
	f("tree", `{"label":"r","children":[{"label":"c","children":[{"label":"d"}]}]}`, true, arrived{target: "/tree", body: `{"label":"r","children":[{"label":"c","children":[{"label":"d"}]}]}`})
	f("form", `{"a":"x y&z","b":5,"list":["p","q"]}`, true, arrived{
		target: "/form", form: map[string][]string{"a": {"x y&z"}, "b": {"5"}, "list": {"p", "q"}}, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
	f("formDeep", `{"metadata":{"k":"v w"},"expand":["a","b"]}`, false, arrived{
		target: "/formdeep", body: "metadata%5Bk%5D=v%20w&expand%5B%5D=a&expand%5B%5D=b",
	})
	f("upload", `{"file":{"data":"AP8K","filename":"a b.bin","mediaType":"image/png"},"note":"n\nm","meta":{"x":1}}`, true, arrived{
		target: "/upload", files: map[string]string{"file/a b.bin/image/png": "\x00\xff\n"}, form: map[string][]string{"note": {"n\nm"}, "meta": {`{"x":1}`}},
	})
	f("text", `{"body":"héllo\n"}`, true, arrived{target: "/text", body: "héllo\n", header: http.Header{"Content-Type": {"text/plain"}}})
	f("raw", `{"body":"AP8="}`, true, arrived{target: "/raw", body: "\x00\xff", header: http.Header{"Content-Type": {"application/octet-stream"}}})
	f("patch", `{"name":null}`, true, arrived{target: "/patch", body: `{"name":null}`, header: http.Header{"Content-Type": {"application/merge-patch+json"}}})
}

// TestValidatorJudges: the validator of the test above refuses what is wrong.
func TestValidatorJudges(t *testing.T) {
	spec, err := os.ReadFile("testdata/wire.json")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, spec)
	for _, target := range []string{"/orgs/o/pets/x", "/orgs/o/pets/1?ids=a", "/nowhere"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if s.fault == nil {
			t.Errorf("%s was accepted", target)
		}
	}
}

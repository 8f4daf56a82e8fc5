package guest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// rates answers the requests of the plugin reach.
type rates struct{ asked []string }

func (r *rates) Do(req *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, req.URL.String()+" "+req.Header.Get("User-Agent")+req.Header.Get("Authorization"))
	if req.Context().Value(contextKey{}) != nil {
		return nil, errors.New("the request has a value of the call's context")
	}
	switch req.URL.Path {
	case "/moved":
		return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://other.example/"}}, Body: io.NopCloser(strings.NewReader("[]"))}, nil
	case "/slow":
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"eur":1.1}`))}, nil
}

type contextKey struct{}

// TestGrants: what a binding grants works, and what it does not stops the call with its
// reason.
func TestGrants(t *testing.T) {
	by := &rates{}
	h, err := extism.New(extism.Options{Grace: 10 * time.Second, HTTP: by})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	code, err := os.ReadFile("../../testdata/plugins/reach/reach.wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(code)
	if err != nil {
		t.Fatal(err)
	}
	if p.NoAnswers || !p.Errors || !p.Arguments {
		t.Errorf("it transforms answers %v, errors %v, arguments %v", !p.NoAnswers, p.Errors, p.Arguments)
	}
	call := func(grants *manifest.Grants, config string) (string, []extism.Request, error) {
		t.Helper()
		g, err := Load(h, p, Options{Policy: NodePolicy(), Grants: grants, Config: json.RawMessage(config)})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		c := &Context{Part: "answer"}
		out, err := g.Transform(context.WithValue(t.Context(), contextKey{}, 1), nil, []byte(`{}`), c)
		return string(out), c.Requests, err
	}
	refused := func(grants *manifest.Grants, config, want string) {
		t.Helper()
		var trap *extism.TrapError
		if _, _, err := call(grants, config); !errors.As(err, &trap) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with %s: %v, want %q", config, grants, err, want)
		}
	}
	const url = `{"url":"https://rates.example/latest"}`
	refused(nil, url, "HTTP request to 'rates.example' is not allowed: the host is not granted")
	refused(&manifest.Grants{Hosts: []string{"x.api.example"}}, url, "not granted")
	refused(nil, `{"clock":"x"}`, "reads the clock")
	refused(nil, `{"random":"x"}`, "reads random numbers")
	// What the manifest does not ask for is not there, whatever the binding says.
	refused(&manifest.Grants{Hosts: []string{"other.example"}}, `{"url":"https://other.example/"}`, "not granted")
	refused(&manifest.Grants{Hosts: []string{"rates.example"}}, `{"url":"https://rates.example:8443/"}`, "not granted")
	refused(&manifest.Grants{Hosts: []string{"rates.example"}}, `{"url":"https://me:secret@rates.example/"}`, "no usable URL")
	if len(by.asked) != 0 {
		t.Errorf("sent %q", by.asked)
	}
	granted := &manifest.Grants{Hosts: []string{"rates.example", "x.api.example"}, Clock: true, Random: true}
	out, sent, err := call(granted, url)
	if err != nil || out != `{"answer":{},"status":200,"body":{"eur":1.1}}` {
		t.Errorf("%s %v", out, err)
	}
	if len(sent) != 1 || sent[0].Host != "rates.example" || sent[0].Method != http.MethodGet || sent[0].Status != 200 || sent[0].Bytes != 11 {
		t.Errorf("reported %+v", sent)
	}
	if len(by.asked) != 1 || by.asked[0] != "https://rates.example/latest sluice-plugin/reach" {
		t.Errorf("sent %q", by.asked)
	}
	if out, _, err := call(granted, `{"url":"https://x.api.example/moved"}`); err != nil || !strings.Contains(out, `"status":302`) {
		t.Errorf("a redirect: %s %v", out, err)
	}
	out, _, err = call(granted, `{"clock":"x","random":"x"}`)
	var got struct {
		Seconds int64
		Random  string
	}
	if json.Unmarshal([]byte(out), &got) != nil || err != nil || time.Since(time.Unix(got.Seconds, 0)).Abs() > time.Hour || len(got.Random) < 5 {
		t.Errorf("%s %v", out, err)
	}
	if again, _, _ := call(granted, `{"random":"x"}`); strings.Contains(again, got.Random) {
		t.Errorf("the same random number twice: %s", again)
	}
	// A call has the time that is granted of what it asks for.
	if l := LimitsWith(p.Manifest, nil); l.Deadline != time.Second {
		t.Errorf("%s without a grant", l.Deadline)
	}
	if l := LimitsWith(p.Manifest, &manifest.Grants{DeadlineMS: 60_000}); l.Deadline != 2*time.Second {
		t.Errorf("%s with one", l.Deadline)
	}
	if err := p.CheckGrants(&manifest.Grants{Hosts: []string{"rates.example", "b.example"}, DeadlineMS: 3000}); problem.As(err) == nil || !strings.Contains(err.Error(), "does not ask for hosts=b.example,deadline=3s") {
		t.Errorf("more than it asks for: %v", err)
	}
}

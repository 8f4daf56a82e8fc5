//go:build !wasip1

package sluice

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	if _, err := Run(Call{}); !errors.Is(err, errNone) {
		t.Errorf("without a transform: %v", err)
	}
	var lines []string
	Filter(func(c *Context, body []byte) ([]byte, error) {
		c.Log(Warn, "seen")
		if c.Status() != 200 {
			return nil, errors.New("status " + c.Setting("sluice.status"))
		}
		return []byte(c.Tool() + c.Operation() + c.ContentType() + string(c.Arguments()) + string(c.Config()) + strings.ToUpper(string(body))), nil
	})
	out, err := Run(Call{
		Body: "abc",
		Config: map[string]string{
			"sluice.status": "200", "sluice.tool": "t", "sluice.operation": "o", "sluice.content_type": "c", "sluice.arguments": "a", "sluice.config": "g",
		},
		Log: func(_ Level, l string) { lines = append(lines, l) },
	})
	if err != nil || string(out) != "tocagABC" || len(lines) != 1 {
		t.Errorf("%q %v %q", out, err, lines)
	}
	if out, err = Run(Call{Config: map[string]string{"sluice.status": "500"}}); err == nil || err.Error() != "status 500" || out != nil {
		t.Errorf("%q %v", out, err)
	}
}

func TestRunRequest(t *testing.T) {
	if _, err := RunRequest(Call{}); !errors.Is(err, errNoAuth) {
		t.Errorf("without a function: %v", err)
	}
	Auth(func(_ *Context, r *Request) (*Patch, error) {
		if r.Method == http.MethodPut {
			return nil, errors.New("no PUT")
		}
		if r.Method == http.MethodHead {
			return nil, nil
		}
		c := r.Credentials[0]
		return &Patch{Headers: map[string]string{"X-Sig": hex.EncodeToString(c.Key.Derive("p", "m").Sign(r.URL))}, Query: [][2]string{{"user", c.Username}}}, nil
	})
	req := func(method string) Call {
		return Call{Body: `{"method":"` + method + `","url":"https://a/","credentials":[{"handle":1,"type":"basic","username":"ada"}]}`, Secrets: []string{"s"}}
	}
	p, err := RunRequest(req("GET"))
	if want := hex.EncodeToString(mac(mac([]byte("ps"), "m"), "https://a/")); err != nil || p.Headers["X-Sig"] != want || p.Query[0] != [2]string{"user", "ada"} {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := RunRequest(req("HEAD")); err != nil || p.Headers != nil {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := RunRequest(req("PUT")); err == nil || err.Error() != "no PUT" {
		t.Error(err)
	}
	if _, err := RunRequest(Call{Body: "x"}); err == nil {
		t.Error("no request is not an error")
	}
}

func TestTokens(t *testing.T) {
	Auth(func(_ *Context, r *Request) (*Patch, error) {
		k := Token("t")
		if k == 0 {
			k = FetchToken("t", "https://id.example/token", map[string]string{"X-A": "b"}, "grant=x")
		}
		return &Patch{Tokens: map[string]HeldToken{"Authorization": {k, "Bearer "}}}, nil
	})
	asked := ""
	c := Call{Body: `{"method":"GET"}`, Fetch: func(name string, request []byte) Key {
		asked = name + " " + string(request)
		return 3
	}}
	if p, err := RunRequest(c); err != nil || p.Tokens["Authorization"] != (HeldToken{3, "Bearer "}) || asked != `t {"body":"grant=x","headers":{"X-A":"b"},"url":"https://id.example/token"}` {
		t.Errorf("%+v %v %s", p, err, asked)
	}
	c.Tokens = map[string]Key{"t": 7}
	if p, err := RunRequest(c); err != nil || p.Tokens["Authorization"].Handle != 7 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := RunRequest(Call{Body: `{}`}); err != nil || p.Tokens["Authorization"].Handle != 0 {
		t.Errorf("%+v %v", p, err)
	}
}

func TestRunWorkflow(t *testing.T) {
	if _, err := RunWorkflow(Call{}); !errors.Is(err, errNoWorkflow) {
		t.Errorf("without a function: %v", err)
	}
	Workflow(func(c *Context, arguments []byte) ([]byte, error) {
		var ids []int
		if err := c.Call("list", map[string]string{"state": "open"}).Into(&ids); err != nil {
			return nil, err
		}
		var calls []ToolCall
		for _, id := range ids {
			calls = append(calls, ToolCall{"get", map[string]int{"id": id}})
		}
		out := arguments
		for _, r := range c.CallAll(calls...) {
			out = append(append(out, r.Text...), r.Value...)
		}
		return out, nil
	})
	tools := func(tool string, arguments []byte) Result {
		switch {
		case tool == "list" && string(arguments) == `{"state":"open"}`:
			return Result{Status: 200, Value: []byte(`[1,2]`)}
		case tool == "get" && string(arguments) == `{"id":1}`:
			return Result{Status: 200, Value: []byte(`"one"`)}
		}
		return Result{Status: 200, Text: "two"}
	}
	if out, err := RunWorkflow(Call{Body: `{}`, Tools: tools}); err != nil || string(out) != `{}"one"two` {
		t.Errorf("%s %v", out, err)
	}
	if _, err := RunWorkflow(Call{Body: `{}`}); err == nil || err.Error() != "the test has no such tool" {
		t.Error(err)
	}
	if err := (&Result{Text: "x"}).Into(new(int)); err == nil {
		t.Error("text is read as JSON")
	}
}

package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/exit"
	"github.com/sluicegate/sluice/internal/problem"
)

// Problem details that came over HTTP say the same as the error they were made of.
func TestProblemDocumentRoundTrip(t *testing.T) {
	in := problem.New(problem.InvalidSpec, "a.yaml has 1 error").Fix("mend it")
	in.Parts = []*problem.Error{problem.New(problem.InvalidSpec, "bad").At("", 3, 4, "/x").Fix("do")}
	b, err := json.Marshal(exit.DocumentOf(in))
	if err != nil {
		t.Fatal(err)
	}
	got := apiError(422, "application/problem+json; charset=utf-8", b)
	p := problem.As(got)
	if p == nil || p.Kind != in.Kind || p.Detail != in.Detail || p.Remedy != in.Remedy || len(p.Parts) != 1 || p.Parts[0].Place.Line != 3 || p.Parts[0].Remedy != "do" {
		t.Errorf("%s became %+v", b, p)
	}
	if p := problem.As(apiError(401, "text/html", []byte("<p>"))); p == nil || p.Kind != problem.Unauthenticated {
		t.Errorf("an answer that is not a problem: %v", p)
	}
}

// People are told about work that takes long before it is done; a short request says nothing.
func TestProgress(t *testing.T) {
	told := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			if text := <-told; text == "" {
				t.Error("nothing was said")
			}
		}
		_, _ = w.Write([]byte("{}")) // the client has gone otherwise
	}))
	defer srv.Close()
	c := New(Options{Base: srv.URL, HTTP: srv.Client(), Timeout: time.Minute, Progress: func(text string) { told <- text }})
	if err := c.Post(t.Context(), "/long", nil, nil, Wait); err != nil {
		t.Fatal(err)
	}
	if err := c.Post(t.Context(), "/short", nil, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-told:
		t.Errorf("a short request says %q", text)
	default:
	}
}

// TestAnswerReplaces: what an answer leaves out does not stay as it was before.
func TestAnswerReplaces(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"name":"new"}`)) }))
	defer srv.Close()
	out := struct {
		Name  string
		Batch bool
	}{"old", true}
	if err := New(Options{Base: srv.URL, HTTP: srv.Client(), Timeout: time.Minute}).Patch(t.Context(), "/x", nil, &out); err != nil || out.Name != "new" || out.Batch {
		t.Errorf("%+v, %v", out, err)
	}
}

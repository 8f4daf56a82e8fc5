package call_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/gateway/gatewaytest"
	"github.com/sluicegate/sluice/internal/jsonscan"
	"github.com/sluicegate/sluice/internal/upstreamtest"
)

// TestInspectInputs: an inspection has what plugins get of the answer, also where none is
// bound: documents behind the settings of answers, texts, bodies of errors; of files the
// type alone.
func TestInspectInputs(t *testing.T) {
	var status int
	var contentType, body string
	up := upstreamtest.New(t)
	up.Handle("GET /list", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	s, err := gatewaytest.New(gatewaytest.Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c, err := gatewaytest.Connector("acme", up.URL, listOperation())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(gatewaytest.Toolset("acme", 1, c, nil)); err != nil {
		t.Fatal(err)
	}
	tool, err := s.Holder.Load().Slug("acme").Tool([]byte("list"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(code int, is, answer string, want call.InspectedInput) {
		t.Helper()
		status, contentType, body = code, is, answer
		_, outcome, err := s.Caller.Call(t.Context(), tool, jsonscan.Value{}, call.CallOptions{Inspect: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := outcome.Trace.Inspection.Inputs
		if len(got) != 1 || got[0].Part != want.Part || got[0].Type != want.Type || string(got[0].Body) != string(want.Body) || (got[0].Body == nil) != (want.Body == nil) || got[0].Cut != want.Cut {
			t.Errorf("%d %s %.40q: inputs %.300s, want %.300s", code, is, answer, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		}
	}
	input := func(part, is, body string) call.InspectedInput {
		return call.InspectedInput{Part: part, Type: is, Body: []byte(body)}
	}
	f(200, "application/json", `{"id": 1, "license": null, "self_url": "https://api.x.example"}`, input("answer", "application/json", `{"id":1}`))
	f(200, "text/csv", "a,b\n1,2\n", input("answer", "text/csv", "a,b\n1,2\n"))
	f(200, "image/png", "\x89PNG", call.InspectedInput{Part: "answer", Type: "image/png"})
	f(404, "application/json", `{ "message": "no such thing" }`, input("error", "application/json", `{"message":"no such thing"}`))
	f(500, "text/plain", "it broke", input("error", "text/plain", "it broke"))
	most := call.MaxInspected
	cut := input("answer", "text/csv", strings.Repeat("a", most))
	f(200, "text/csv", strings.Repeat("a", most), cut)
	cut.Cut = true
	f(200, "text/csv", strings.Repeat("a", most+1), cut)
}

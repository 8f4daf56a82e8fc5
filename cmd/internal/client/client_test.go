package client

import (
	"encoding/json"
	"testing"

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
		t.Errorf("an answer that is no problem: %v", p)
	}
}

package golden

import (
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/redact"
	"github.com/sluicegate/sluice/plugins/guest"
	"github.com/sluicegate/sluice/plugins/manifest"
)

// TestCapture: what is written can be read as a case, holds no secret and no header, and
// is what plugins learn of the call.
func TestCapture(t *testing.T) {
	f := func(in Captured, want string) {
		t.Helper()
		dir := t.TempDir()
		c, err := Capture("live", &in, &redact.Document{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
		cases, err := Read(dir)
		if err != nil || len(cases) != 1 {
			t.Fatalf("%v, %v", cases, err)
		}
		g := cases[0].Context.Guest()
		got := strings.Join([]string{g.Part, g.InputType, g.ContentType, string(cases[0].Body())}, " | ")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(Captured{Tool: "get", Operation: "GET /a", Status: 200, ContentType: "application/json; token=abc", Part: "answer", Type: "application/json", Arguments: []byte(`{"key":"v"}`), Body: []byte(`{"token": "abc", "n": 1}`)},
		`answer | application/json | application/json | {"token":"[redacted-1]","n":1}`)
	f(Captured{Status: 500, ContentType: "text/plain", Part: "error", Type: "text/plain", Body: []byte("password=abc failed")}, "error | text/plain | text/plain | password=[redacted-1] failed")

	c, err := Capture("live", &Captured{Part: "answer", Type: "application/json", Arguments: []byte(`{"api_key":"v"}`), Body: []byte("{}")}, &redact.Document{})
	if err != nil || string(c.Context.Arguments) != `{"api_key":"[redacted-1]"}` {
		t.Errorf("arguments %s, %v", c.Context.Arguments, err)
	}
	bad := func(kind problem.Kind, in Captured) {
		t.Helper()
		if _, err := Capture("live", &in, &redact.Document{}); !problem.Is(err, kind) {
			t.Errorf("%.40q: %v, want %s", in.Body, err, kind)
		}
	}
	bad(problem.InvalidArgument, Captured{Part: "answer", Type: "application/json", Body: []byte(`{"a":`)})
	bad(problem.InvalidArgument, Captured{Part: "answer", Type: "text/plain", Body: []byte("\xff")})
	bad(problem.TooLarge, Captured{Part: "answer", Type: "text/plain", Body: []byte(strings.Repeat("a", MaxCaptureBytes+1))})
	if _, err := Capture("live", &Captured{Part: "answer", Type: "text/plain", Body: []byte(strings.Repeat("a", MaxCaptureBytes))}, &redact.Document{}); err != nil {
		t.Errorf("MaxCaptureBytes: %v", err)
	}
}

// TestUnread: what a gateway does not give to a plugin is not run on it.
func TestUnread(t *testing.T) {
	f := func(p guest.Package, part, is, want string) {
		t.Helper()
		c := Case{Context: Context{Part: part, InputType: is}}
		if got := c.Unread(&p); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s of %s: %q, want %q", part, is, got, want)
		}
	}
	filter, projection := &manifest.Manifest{Kind: manifest.Filter}, &manifest.Manifest{Kind: manifest.Projection}
	f(guest.Package{Manifest: filter}, "", "", "")
	f(guest.Package{Manifest: filter}, "error", "", "")
	f(guest.Package{Manifest: filter}, "", "text/csv", "does not read text/csv")
	f(guest.Package{Manifest: projection}, "error", "", "gets no errors")
	f(guest.Package{Manifest: projection, Errors: true}, "error", "", "")
	yes, no := &manifest.Input{Types: []string{"*/*"}, Errors: new(bool)}, &manifest.Input{Types: []string{"*/*"}, Errors: new(bool)}
	*yes.Errors = true
	f(guest.Package{Manifest: &manifest.Manifest{Kind: manifest.Projection, Input: yes}}, "error", "", "")
	f(guest.Package{Manifest: &manifest.Manifest{Kind: manifest.Filter, Input: no}}, "error", "", "understands no errors")
	f(guest.Package{Manifest: projection, Errors: true, NoAnswers: true}, "", "", "does not export transform_response")
	f(guest.Package{Manifest: &manifest.Manifest{Kind: manifest.Auth}}, "", "", "kind auth")
}

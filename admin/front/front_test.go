package front

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/toolset/access"
	"github.com/sluicegate/sluice/internal/problem"
)

func TestFragment(t *testing.T) {
	f := func(pointer, want string) {
		t.Helper()
		got := fragment(pointer)
		if got != want {
			t.Errorf("fragment(%q) = %q, want %q", pointer, got, want)
		}
		if u, err := url.Parse("#" + got); err != nil || u.Fragment != pointer {
			t.Errorf("%q does not decode to %q: %v", got, pointer, err)
		}
	}
	f("/paths/~1pets/get", "/paths/~1pets/get")
	f("/paths/~1pets~1{id}", "/paths/~1pets~1%7Bid%7D")
	f("/a b/%/é/\"", "/a%20b/%25/%C3%A9/%22")
}

func TestHostName(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := hostName(in); got != want {
			t.Errorf("hostName(%q) = %q, want %q", in, got, want)
		}
	}
	f("LocalHost:7301", "localhost")
	f("localhost.", "localhost")
	f("[::1]:7301", "::1")
	f("[::1]", "::1")
	f("127.0.0.1", "127.0.0.1")
	f("", "")
}

// Each code that an answer can have leads to its heading in the guide.
func TestEveryCodeIsExplained(t *testing.T) {
	guide, err := os.ReadFile("../../docs/admin-api.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{CodeInternal, codeInvalidRequest, codeNotAllowed}
	for _, k := range problem.Kinds() {
		codes = append(codes, string(k))
		if p := ProblemOf(problem.New(k, "x")); p.Type != k.Type() || p.Status != k.Status() {
			t.Errorf("problem %+v", p)
		}
	}
	for _, code := range codes {
		if !strings.Contains(string(guide), "\n### "+code+"\n") {
			t.Errorf("docs/admin-api.md does not explain %s", code)
		}
	}
}

func TestValidKey(t *testing.T) {
	for key, want := range map[string]bool{
		"7f9c": true, strings.Repeat("k", MaxIdempotencyKey): true, strings.Repeat("k", MaxIdempotencyKey+1): false, "a\nb": false, "ä": false,
	} {
		if got := validKey(key); got != want {
			t.Errorf("validKey of %d bytes: %v, want %v", len(key), got, want)
		}
	}
}

// The part "request" is JSON beside the file, and no place for a second document.
func TestMaxRequestPart(t *testing.T) {
	f := func(size int, ok bool) {
		t.Helper()
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		name := strings.Repeat("n", size-len(`{"name":""}`))
		if err := errors.Join(w.WriteField("request", `{"name":"`+name+`"}`), func() error {
			part, err := w.CreateFormFile("file", "pets.json")
			if err == nil {
				_, err = part.Write([]byte("{}"))
			}
			return err
		}(), w.Close()); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, SpecificationPaths[0], &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		out, err := multipartToJSON(r, body.Bytes())
		if ok && (err != nil || !bytes.Contains(out, []byte(`"openapi":`)) || r.Header.Get("Content-Type") != "application/json") {
			t.Errorf("%d bytes: %.80s, %v", size, out, err)
		}
		if !ok && !problem.Is(err, problem.TooLarge) {
			t.Errorf("%d bytes: %v, want too large", size, err)
		}
	}
	f(maxRequestPart, true)
	f(maxRequestPart+1, false)
}

// What does not open the API is told apart, and nothing of the header is repeated.
func TestAPIToken(t *testing.T) {
	good := access.NewToken()
	for header, want := range map[string]string{
		"":                         "missing API token",
		"Basic dXNlcg==":           "not of the form Bearer",
		"Bearer slu_short":         "malformed API token",
		"Bearer " + good.Reveal():  "",
		"bearer  " + good.Reveal(): "",
	} {
		got, err := apiToken(header)
		switch {
		case want == "" && (err != nil || !got.Equal(good)):
			t.Errorf("a good token: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "slu_short")):
			t.Errorf("%q: %v, want %q", header, err, want)
		}
	}
}

// TestCancelled: a client that ended its request is no fault of the server, however deep it
// was noticed.
func TestCancelled(t *testing.T) {
	p := ProblemOf(fmt.Errorf("looking up a session: %w", context.Canceled))
	if p.Status != problem.Cancelled.Status() || p.Code != string(problem.Cancelled) {
		t.Errorf("%+v", p)
	}
	if p := ProblemOf(errors.New("disk")); p.Code != CodeInternal {
		t.Errorf("another error: %+v", p)
	}
}

// TestEnumFault: a value that an enumeration lacks is answered with those that it has, and
// never shown itself.
func TestEnumFault(t *testing.T) {
	const message = `expected value to be one of "off, lossless, concise"`
	for _, row := range []struct {
		message string
		value   any
		want    string
	}{
		{message, "losless", "the value is not one of off, lossless, concise; did you mean lossless?"},
		{message, "sk_secret", "the value is not one of off, lossless, concise"},
		{message, 7, "the value is not one of off, lossless, concise"},
		{"expected string", "losless", "expected string"},
	} {
		p := statusProblem(422, "validation failed", &huma.ErrorDetail{Message: row.message, Location: "body.profile", Value: row.value})
		if len(p.Errors) != 1 || p.Errors[0].Detail != row.want || p.Errors[0].Location != "body.profile" {
			t.Errorf("%v: %+v, want %q", row.value, p.Errors, row.want)
		}
	}
}

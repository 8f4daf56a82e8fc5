package oauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
)

// answering answers every request with one body.
type answering string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	rec.Body = http.NoBody
	if a != "" {
		rec.Body = readCloser{strings.NewReader(string(a))}
	}
	return rec, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func answered(t *testing.T, body string) *Client {
	t.Helper()
	return &Client{http: &http.Client{Transport: answering(body)}, now: time.Now, known: map[string]known{}}
}

// TestChallengeIsReadToALength: what stands behind the limit of a header is not read.
func TestChallengeIsReadToALength(t *testing.T) {
	const head, tail = `Bearer realm="`, `", error=xy`
	for over := range 2 {
		header := head + strings.Repeat("r", maxChallenge-len(head)-len(tail)+over) + tail
		if c, ok := ParseChallenge(header); !ok || (c.Error == "xy") != (over == 0) {
			t.Errorf("a header of %d bytes: %.40q, %v", len(header), c.Error, ok)
		}
	}
}

// TestWordsOfServerAreCut guards descriptions of errors.
func TestWordsOfServerAreCut(t *testing.T) {
	for over, want := range []string{strings.Repeat("ä", maxText), strings.Repeat("ä", maxText) + "…"} {
		if got := clean(strings.Repeat("ä", maxText+over)); got != want {
			t.Errorf("%d runes: %d are kept", maxText+over, len([]rune(got)))
		}
	}
}

// TestKnownServersAreBounded: names that others choose do not fill the memory.
func TestKnownServersAreBounded(t *testing.T) {
	c := answered(t, "")
	for i := range maxKnown {
		c.remember(fmt.Sprint("https://", i, ".example"), &Metadata{})
	}
	if len(c.known) != maxKnown {
		t.Fatalf("%d of %d are known", len(c.known), maxKnown)
	}
	c.remember("https://more.example", &Metadata{})
	if _, ok := c.known["https://more.example"]; !ok || len(c.known) > maxKnown {
		t.Errorf("%d are known, the last one: %v", len(c.known), ok)
	}
}

// TestRegisteredClientIsBounded guards what is kept of a registration.
func TestRegisteredClientIsBounded(t *testing.T) {
	for over := range 2 {
		for _, member := range []string{"client_id", "client_secret"} {
			a := map[string]string{"client_id": "c"}
			a[member] = strings.Repeat("x", maxClientID+over)
			body, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = readRegistration("id.example", http.StatusCreated, body, AuthNone); (err == nil) != (over == 0) {
				t.Errorf("a %s of %d bytes: %v", member, maxClientID+over, err)
			}
		}
	}
}

// TestAnswerOfServerIsBounded guards the body of every answer.
func TestAnswerOfServerIsBounded(t *testing.T) {
	for over := range 2 {
		c := answered(t, strings.Repeat(" ", maxAnswer+over))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://id.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, body, err := c.do(req, "the metadata")
		if over == 0 && (err != nil || len(body) != maxAnswer) || over == 1 && !problem.Is(err, problem.UpstreamTooLarge) {
			t.Errorf("an answer of %d bytes: %d are read, %v", maxAnswer+over, len(body), err)
		}
	}
}

// TestIssuersOfResourceAreBounded: a resource does not send us to any number of servers.
func TestIssuersOfResourceAreBounded(t *testing.T) {
	const at = "https://api.example/mcp"
	for over := range 2 {
		doc := map[string]any{"resource": at}
		var servers []string
		for i := range maxIssuers + over {
			servers = append(servers, fmt.Sprintf("https://id%d.example", i))
		}
		doc["authorization_servers"] = servers
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		r, err := answered(t, string(body)).resource(t.Context(), at, "https://api.example/.well-known/oauth-protected-resource")
		if err != nil || len(r.Issuers) != maxIssuers {
			t.Errorf("%d servers: %+v, %v", len(servers), r, err)
		}
	}
}

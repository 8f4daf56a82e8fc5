package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/plugins/extism"
	"github.com/sluicegate/sluice/plugins/guest"
)

// Request is an HTTP request that a plugin makes in a case, with its recorded answer: one
// of Value and Text, or none for an answer without a body.
type Request struct {
	Method  string            `json:"method,omitempty"` // default: GET
	URL     string            `json:"url"`
	Body    *string           `json:"body,omitempty"`   // what has to be sent; absent: anything
	Status  int               `json:"status,omitempty"` // default: 200
	Headers map[string]string `json:"headers,omitempty"`
	Value   json.RawMessage   `json:"value,omitempty"`
	Text    *string           `json:"text,omitempty"`
}

// maxRequests of one case: as many as plugins may make, many times over.
const maxRequests = 1000

func (r *Request) check() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || r.Value != nil && r.Text != nil || r.Status != 0 && (r.Status < 100 || r.Status > 599) {
		return errors.New(`it needs "url", at most one of "value" and "text", and a "status" from 100 to 599 if any`)
	}
	return nil
}

// startOfCases is the time at which cases run that name none.
var startOfCases = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Load makes a package ready for a case: what it asks for is granted, its requests get
// the answers of the case, its clock stands at the time of the case and its random numbers
// are the same each time. It fails as [guest.Load] does.
func (c *Case) Load(h *extism.Host, p *guest.Package, log func(level int, message string)) (*guest.Plugin, error) {
	at := startOfCases
	if !c.Time.IsZero() {
		at = c.Time
	}
	c.replies = &replies{list: c.Requests, made: make([]bool, len(c.Requests))}
	return guest.Load(h, p, guest.Options{Policy: guest.AuthorPolicy(p), Config: c.Config, Log: log, HTTP: c.replies, Now: func() time.Time { return at }})
}

// replies answers the requests of a plugin from a case.
type replies struct {
	list []Request

	mu   sync.Mutex
	made []bool // guarded by mu
}

var _ extism.Doer = (*replies)(nil)

// Do implements [extism.Doer].
func (r *replies) Do(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		want := &r.list[i]
		method := strings.ToUpper(want.Method)
		if method == "" {
			method = http.MethodGet
		}
		if method != req.Method || want.URL != req.URL.String() || want.Body != nil && *want.Body != string(body) {
			continue
		}
		r.made[i] = true
		return want.response(req), nil
	}
	return nil, problem.New(problem.NotFound, `"requests" of the golden case has no answer for %s %.500s %.500s`, req.Method, req.URL.String(), body)
}

func (r *Request) response(req *http.Request) *http.Response {
	out := &http.Response{StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: req}
	if r.Status != 0 {
		out.StatusCode = r.Status
	}
	var body []byte
	switch {
	case r.Text != nil:
		body = []byte(*r.Text)
	case r.Value != nil:
		var b bytes.Buffer
		_ = json.Compact(&b, r.Value) // it was decoded
		body = b.Bytes()
		out.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.Headers {
		out.Header.Set(k, v)
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out
}

// fault says which requests the plugin did not make; "" for none.
func (r *replies) fault() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	for i := range r.list {
		if !r.made[i] {
			fmt.Fprintf(&out, "- it does not request %s\n", r.list[i].URL)
		}
	}
	return out.String()
}

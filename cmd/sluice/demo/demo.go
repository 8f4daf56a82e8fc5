package demo

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configures a Server.
type Options struct {
	// APIKey, when set, is wanted in the header X-Api-Key of every request, and
	// the OpenAPI document says so. Default: no authentication.
	APIKey string
}

// KeyHeader is the header the API key travels in.
const KeyHeader = "X-Api-Key"

// maxBody of a request: the API takes small objects only.
const maxBody = 1 << 20

// maxObjects that writes may add to each collection, so that a demonstration left
// running cannot grow without end.
const maxObjects = 1000

// Server is the API. Make one with [New].
type Server struct {
	opts     Options
	document []byte
	mux      *http.ServeMux

	mu        sync.Mutex
	issues    []issue    // guarded by mu
	comments  []comment  // guarded by mu
	customers []customer // guarded by mu
	charges   []charge   // guarded by mu
	nextID    int        // guarded by mu
}

// New makes a Server with its data.
func New(opts Options) (*Server, error) {
	s := &Server{opts: opts, mux: http.NewServeMux(), nextID: 100}
	s.seed()
	doc, err := s.openAPI()
	if err != nil {
		return nil, fmt.Errorf("making the document of the demonstration API: %w", err)
	}
	s.document = doc
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.document) // a client that left needs no answer
	})
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.method+" "+r.path, s.handle(r))
	}
	return s, nil
}

// Document is the OpenAPI 3.1 document, minified JSON. Do not change it.
func (s *Server) Document() []byte { return s.document }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Listen serves on an ephemeral port of the loopback interface until ctx ends. It
// returns the base URL, and wait, which returns when the server has stopped.
func (s *Server) Listen(ctx context.Context) (baseURL string, wait func() error, err error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening for the demonstration API: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	done := make(chan error, 1)
	go func() {
		err := srv.Serve(ln)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		done <- err
	}()
	stop := context.AfterFunc(ctx, func() {
		_ = srv.Close() // the process is going; nothing is owed to anybody
	})
	return "http://" + ln.Addr().String(), func() error {
		defer stop()
		return <-done
	}, nil
}

// seed fills the collections with what every start has.
func (s *Server) seed() {
	for i, title := range issueTitles {
		body := "What I did: " + strings.ToLower(title) + ".\n\nWhat I expected: that it works as described.\n\nSteps:\n1. open the page\n2. try\n3. look at the result"
		is := newIssue(i+1, issueInput{Title: title, Body: &body, Labels: []string{labelNames[i%len(labelNames)].name}}, i)
		if i%3 == 0 {
			is.Assignees = []user{account(i + 1)}
			is.Assignee = &is.Assignees[0]
		}
		if i%4 == 3 {
			is.State, is.ClosedAt, is.StateReason = "closed", new(at(i*29+40)), new("completed")
		}
		is.Comments = i % 3
		for c := range i % 3 {
			s.comments = append(s.comments, newComment(int64(5000+i*10+c), i+1, c+1, "I can repeat this, also after a restart."))
		}
		s.issues = append(s.issues, is)
	}
	for i, name := range customerNames {
		email := strings.ToLower(strings.ReplaceAll(name, " ", ".")) + "@customer.example"
		email = strings.ReplaceAll(email, "á", "a") // addresses are ASCII
		s.customers = append(s.customers, newCustomer(i+1, customerInput{Name: name, Email: email, Metadata: map[string]string{"segment": []string{"retail", "trade"}[i%2]}}))
	}
	for i := range 20 {
		c := newCharge(i+1, s.customers[i%len(s.customers)], chargeInput{Amount: int64(1999 + i*350), Currency: "eur", Description: new(fmt.Sprintf("Order A-%d", 1001+i))})
		if i%7 == 6 {
			c.Status, c.Paid, c.Captured, c.AmountCaptured = "failed", false, false, 0
			c.FailureCode, c.FailureMessage = new("card_declined"), new("Your card was declined.")
		}
		s.charges = append(s.charges, c)
	}
}

// request is what a handler sees.
type request struct {
	*http.Request
	body []byte
}

// statusError is an answer other than success.
type statusError struct {
	status  int
	message string
}

func (e statusError) Error() string { return e.message }

func notFound() error { return statusError{http.StatusNotFound, "Not Found"} }

func unprocessable(format string, args ...any) error {
	return statusError{http.StatusUnprocessableEntity, fmt.Sprintf(format, args...)}
}

// handle wraps a route's function with authentication, limits and JSON.
func (s *Server) handle(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		answer := func(status int, v any) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(status)
			if v == nil {
				return
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(v)                                  // these types always marshal
			_, _ = w.Write(bytes.TrimSuffix(b.Bytes(), nl[:])) // a client that left needs no answer
		}
		fail := func(status int, message string) {
			answer(status, failure{Message: message, DocumentationURL: "https://docs.workbench.example/rest", Status: strconv.Itoa(status)})
		}
		if s.opts.APIKey != "" && subtle.ConstantTimeCompare([]byte(hr.Header.Get(KeyHeader)), []byte(s.opts.APIKey)) != 1 {
			fail(http.StatusUnauthorized, "Bad credentials")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
		if err != nil {
			fail(http.StatusRequestEntityTooLarge, "The body is too large")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		v, err := r.do(request{hr, body})
		if se, ok := errors.AsType[statusError](err); ok {
			fail(se.status, se.message)
			return
		}
		if err != nil {
			fail(http.StatusInternalServerError, "Internal error")
			return
		}
		answer(r.status, v)
	}
}

var nl = [1]byte{'\n'}

// decode reads the JSON body into v and refuses what is not one object.
func (r request) decode(v any) error {
	dec := json.NewDecoder(bytes.NewReader(r.body))
	if err := dec.Decode(v); err != nil {
		return statusError{http.StatusBadRequest, "Problems parsing JSON"}
	}
	return nil
}

// number reads a query parameter that is a whole number.
func (r request) number(name string, fallback, low, high int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, unprocessable("%s must be a number from %d to %d", name, low, high)
	}
	return n, nil
}

// page cuts list as per_page and page ask.
func page[T any](r request, list []T) ([]T, error) {
	size, err := r.number("per_page", 10, 1, 100)
	if err != nil {
		return nil, err
	}
	n, err := r.number("page", 1, 1, 1<<20)
	if err != nil {
		return nil, err
	}
	from := min((n-1)*size, len(list))
	return append([]T{}, list[from:min(from+size, len(list))]...), nil
}

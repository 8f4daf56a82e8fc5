package front

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicegate/sluice/admin/login/mcpserver"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/nearest"
	"github.com/sluicegate/sluice/internal/problem"
)

// maxFaults is how many single faults one answer lists: more than a person
// mends before trying again.
const maxFaults = 100

// Codes of problems that come from the API itself; all others are kinds of
// package problem.
const (
	codeInvalidRequest = "invalid_request"
	codeNotAllowed     = "method_not_allowed"
	CodeInternal       = "internal"
)

// Problem is an error answer (RFC 9457, application/problem+json). It never
// repeats a value of the request, which might be a secret.
type Problem struct { //nolint:errname // the word of RFC 9457

	Type     string  `json:"type" doc:"Address of the explanation of the code."`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail,omitempty"`
	Instance string  `json:"instance,omitempty" doc:"Identifies the request, also in the log of the server."`
	Code     string  `json:"code" example:"invalid_openapi_spec"`
	Reason   string  `json:"reason,omitempty" enum:"unreachable,timeout,blocked_address,auth,status,protocol" doc:"cannot_connect_mcp_server: what kind of cause it has."`
	Remedy   string  `json:"remedy,omitempty" doc:"What to do."`
	Errors   []Fault `json:"errors,omitempty" doc:"The single faults."`
}

// Fault is one fault of a request or of a document in it.
type Fault struct {
	Detail   string `json:"detail"`
	Pointer  string `json:"pointer,omitempty" doc:"JSON pointer as a URI fragment." example:"#/paths/~1pets/get"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Location string `json:"location,omitempty" doc:"Place in the request, such as body.source.openapi."`
	Tool     string `json:"tool,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// Error returns the detail; with GetStatus and ContentType a Problem is an error
// answer of huma.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns application/problem+json.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// ProblemOf renders an error. Only a *problem.Error shows its text; everything
// else is "internal", which the caller logs.
func ProblemOf(err error) *Problem {
	if done, ok := errors.AsType[*Problem](err); ok {
		return done
	}
	e := request.Fault(err)
	if e == nil && errors.Is(err, context.Canceled) { // by the client, who has gone, and not a fault of the server
		e = problem.New(problem.Cancelled, "the request was cancelled before its answer").Fix("try again")
	}
	if e == nil {
		return &Problem{
			Type: problem.Kind(CodeInternal).Type(), Title: "Internal error", Status: http.StatusInternalServerError, Code: CodeInternal,
			Detail: request.InternalError, Remedy: "try again, and report it if it persists",
		}
	}
	p := &Problem{
		Type: e.Kind.Type(), Title: e.Kind.Title(), Status: e.Kind.Status(), Code: string(e.Kind),
		Detail: e.Detail, Remedy: e.Remedy,
	}
	if e.Kind == problem.CannotConnectMCP {
		p.Reason = mcpserver.ReasonOf(e)
	}
	for _, part := range e.Parts {
		if len(p.Errors) == maxFaults {
			break
		}
		p.Errors = append(p.Errors, faultOf(part))
	}
	if len(e.Parts) == 0 && e.Place != (problem.Place{}) {
		p.Errors = []Fault{faultOf(e)}
	}
	return p
}

func faultOf(e *problem.Error) Fault {
	f := Fault{
		Detail: e.Detail, File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Tool: e.Place.Tool, Remedy: e.Remedy,
	}
	if e.Place.Pointer != "" {
		f.Pointer = "#" + fragment(e.Place.Pointer)
	}
	return f
}

// fragment percent-encodes a JSON pointer as a URI fragment (RFC 6901 §6).
func fragment(pointer string) string {
	const allowed = "!$&'()*+,;=:@/?-._~" // RFC 3986 §3.5
	var b strings.Builder
	for i := range len(pointer) {
		switch c := pointer[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(allowed, c) >= 0:
			b.WriteByte(c)
		default:
			const hex = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// statusProblem makes the problem of an error that huma or the router found.
func statusProblem(status int, detail string, errs ...error) *Problem {
	p := &Problem{Status: status, Title: http.StatusText(status), Detail: detail, Code: codeInvalidRequest}
	switch status {
	case http.StatusNotFound:
		p.Code = string(problem.NotFound)
	case http.StatusMethodNotAllowed:
		p.Code = codeNotAllowed
	case http.StatusRequestEntityTooLarge:
		p.Code, p.Title = string(problem.TooLarge), problem.TooLarge.Title()
	case http.StatusUnauthorized:
		p.Code = string(problem.Unauthenticated)
	case http.StatusForbidden:
		p.Code = string(problem.Forbidden)
	}
	if status >= http.StatusInternalServerError {
		p = ProblemOf(errors.New(detail))
		p.Status = status
		errs = nil
	}
	p.Type = problem.Kind(p.Code).Type()
	for _, err := range errs {
		if err == nil || len(p.Errors) == maxFaults {
			continue
		}
		f := Fault{Detail: err.Error()}
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			detail := d.ErrorDetail() // its Value is what was sent: never shown
			f.Detail, f.Location = enumFault(detail.Message, detail.Value), detail.Location
		}
		f.Detail = withoutValue(f.Detail)
		p.Errors = append(p.Errors, f)
	}
	return p
}

// enumFault words the message about a value that an enumeration lacks: the values that
// there are, and the closest one. Other messages stay as they are.
func enumFault(message string, value any) string {
	list, ok := strings.CutPrefix(message, "expected value to be one of ")
	if !ok {
		return message
	}
	list = strings.Trim(list, `"`)
	message = "the value is not one of " + list
	if sent, ok := value.(string); ok {
		if near := nearest.Name(sent, slices.Values(strings.Split(list, ", "))); near != "" {
			message += "; did you mean " + near + "?"
		}
	}
	return message
}

// withoutValue replaces messages of encoding/json that repeat a literal of the
// input.
func withoutValue(message string) string {
	if strings.HasPrefix(message, "json: ") {
		return "the value has the wrong type"
	}
	return message
}

// Adapt replaces huma's error model, which is a package variable and
// repeats the values it was sent.
var Adapt = sync.OnceFunc(func() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return statusProblem(status, msg, errs...)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		p := statusProblem(status, msg, errs...)
		if ctx != nil {
			p.Instance = instanceOf(ctx.Context())
		}
		return p
	}
	// Lists are [] when they are empty, never null; so says the API document.
	huma.DefaultArrayNullable = false
	// "apikey" is not "apiKey": what the document does not name is refused.
	huma.ValidateStrictCasing = true
})

// Fail turns the error of a handler into its answer and logs what the answer
// does not say.
func (f *Room) Fail(ctx context.Context, err error) error {
	p := *ProblemOf(err)
	if p.Status != http.StatusNotModified { // which is not an error and has no body
		p.Instance = instanceOf(ctx)
	}
	if p.Status >= http.StatusInternalServerError && (p.Code == CodeInternal || store.Fault(err) != nil) {
		f.Log.LogAttrs(ctx, slog.LevelError, "request failed", slog.String("request_id", request.Of(ctx).ID), slog.Any("error", err))
	}
	if h, ok := errors.AsType[huma.HeadersError](err); ok {
		return huma.ErrorWithHeaders(&p, h.GetHeaders())
	}
	return &p
}

// WriteProblem answers outside of huma.
func (f *Room) WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	var p *Problem
	if !errors.As(f.Fail(r.Context(), err), &p) {
		panic("BUG: fail returns a *Problem")
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic("BUG: a Problem always marshals")
	}
	h := w.Header()
	h.Set("Content-Type", p.ContentType(""))
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="sluice admin"`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(b) // the client is gone when this fails
}

// NotAllowed is the problem of a method that a resource does not know.
func NotAllowed(r *http.Request) *Problem {
	return statusProblem(http.StatusMethodNotAllowed, "the resource does not support the method "+request.SafeMethod(r.Method))
}

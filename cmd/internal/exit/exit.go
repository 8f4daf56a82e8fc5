package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/tlsfault"
)

// Exit codes. They are part of the interface: "sluice help exit-codes".
const (
	exitOK          = 0
	Failed          = 1
	exitUsage       = 2
	NotFound        = 3
	exitForbidden   = 4 // not authenticated, or not allowed
	ToolError       = 5 // the tool answered isError
	Invalid         = 6 // a document is not valid: specification, manifest
	exitConflict    = 7 // conflict, precondition, quota
	exitUnreachable = 8 // unreachable, or time-out
	Interrupted     = 130
)

// ErrInterrupted is the cause of a context that Ctrl-C ended.
var ErrInterrupted = errors.New("interrupted")

// SilentError ends the program with a code when everything was said already.
type SilentError int

// Error names the exit status.
func (e SilentError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Reason is a silent error with what was said, for those who read no text.
func Reason(e SilentError, said string) error {
	kinds := map[SilentError]problem.Kind{
		exitUsage: problem.InvalidArgument, NotFound: problem.NotFound, exitForbidden: problem.Forbidden, ToolError: problem.InvalidArguments,
		Invalid: problem.InvalidSpec, exitConflict: problem.Conflict, exitUnreachable: problem.Unreachable,
	}
	if said == "" {
		said = e.Error()
	}
	kind, ok := kinds[e]
	if !ok {
		kind = "failed"
	}
	return problem.New(kind, "%s", said)
}

// UsageError is a command line that cannot be meant.
type UsageError struct{ error }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// InvalidRequest is the kind that the admin API gives a request that its document refuses: a value
// of the command line has the wrong form.
const InvalidRequest problem.Kind = "invalid_request"

var exitCodes = map[problem.Kind]int{
	problem.InvalidArgument: exitUsage, InvalidRequest: exitUsage, problem.NotFound: NotFound,
	problem.Unauthenticated: exitForbidden, problem.Forbidden: exitForbidden,
	problem.InvalidArguments: ToolError,
	problem.InvalidSpec:      Invalid, problem.InvalidPlugin: Invalid, problem.InvalidRelease: Invalid,
	problem.Unsupported: Invalid, problem.TooLarge: Invalid,
	problem.Conflict: exitConflict, problem.Precondition: exitConflict, problem.PreconditionNeed: exitConflict,
	problem.Unreachable: exitUnreachable, problem.Timeout: exitUnreachable, problem.Unavailable: exitUnreachable,
	problem.BlockedAddress: exitUnreachable, problem.CannotConnectMCP: exitUnreachable,
}

// Code is the code err ends the program with.
func Code(ctx context.Context, err error) int {
	var silent SilentError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return int(silent)
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return Interrupted
	}
	if _, ok := errors.AsType[UsageError](err); ok {
		return exitUsage
	}
	if p := problem.As(err); p != nil {
		if code, ok := exitCodes[p.Kind]; ok {
			return code
		}
		return Failed
	}
	if AsUnreachable(err) != nil {
		return exitUnreachable
	}
	return Failed
}

// AsUnreachable returns err as a problem when it is a failure of the network.
func AsUnreachable(err error) *problem.Error {
	if p := problem.As(err); p != nil && (p.Kind == problem.Unreachable || p.Kind == problem.Timeout || p.Kind == problem.BlockedAddress) {
		return p
	}
	if p := TLSUnreachable(err); p != nil {
		return p
	}
	var nerr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &nerr) && nerr.Timeout() {
		return problem.New(problem.Timeout, "no answer in time").Fix("raise --timeout, or look whether the server is busy").Because(err)
	}
	if uerr, ok := errors.AsType[*url.Error](err); ok {
		return problem.New(problem.Unreachable, "%s cannot be reached", safehttp.Redact(uerr.URL)).Because(err)
	}
	return nil
}

// Document is an error as RFC 9457 problem details, the form the admin API
// answers with and "-o json" prints.
type Document struct {
	Type     string        `json:"type"`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail,omitempty"`
	Instance string        `json:"instance,omitempty"`
	Code     problem.Kind  `json:"code"`
	Remedy   string        `json:"remedy,omitempty"`
	Errors   []problemPart `json:"errors,omitempty"`
}

type problemPart struct {
	Detail   string `json:"detail"`
	Pointer  string `json:"pointer,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Location string `json:"location,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// DocumentOf makes problem details of any error.
func DocumentOf(err error) Document {
	p := problem.As(err)
	if p == nil {
		p = AsUnreachable(err)
	}
	if p == nil {
		kind, status := problem.Kind("failed"), 500
		if _, ok := errors.AsType[UsageError](err); ok {
			kind, status = problem.InvalidArgument, problem.InvalidArgument.Status()
		}
		d := Document{Type: kind.Type(), Title: kind.Title(), Status: status, Code: kind, Detail: err.Error()}
		if kind == problem.InvalidArgument { // people read below the error what was meant, or where it is described
			detail, remedy, _ := strings.Cut(d.Detail, "\n")
			d.Detail, d.Remedy = detail, strings.Join(strings.Fields(remedy), " ")
		}
		return d
	}
	d := Document{
		Type: p.Kind.Type(), Title: p.Kind.Title(), Status: p.Kind.Status(), Code: p.Kind,
		Detail: p.Detail, Remedy: p.Remedy,
	}
	if answer, ok := errors.AsType[answered](err); ok {
		d.Instance, d.Status = answer.instance, answer.status
	}
	if p.Place.File != "" {
		d.Detail = p.Place.File + ": " + p.Detail
	}
	parts := p.Parts
	if len(parts) == 0 && (p.Place.Pointer != "" || p.Place.Line > 0) {
		parts = []*problem.Error{p}
	}
	for _, part := range parts {
		d.Errors = append(d.Errors, problemPart{
			Detail: part.Detail, Pointer: part.Place.Pointer, Line: part.Place.Line, Column: part.Place.Column, Remedy: part.Remedy,
		})
	}
	return d
}

// answered is the cause of an error that the admin API answered with.
type answered struct {
	instance string
	status   int
}

// Error names the request, which the server's log has too.
func (a answered) Error() string { return "answer to " + a.instance }

// Problem turns problem details from the admin API back into an error.
func (d Document) Problem() *problem.Error {
	e := problem.New(d.Code, "%s", d.Detail)
	if d.Instance != "" {
		e = e.Because(answered{d.Instance, d.Status})
	}
	if d.Remedy != "" {
		e.Remedy = d.Remedy
	}
	for _, p := range d.Errors {
		part := problem.New(d.Code, "%s", p.Detail).At("", p.Line, p.Column, p.Pointer)
		if p.Remedy != "" {
			part.Remedy = p.Remedy
		}
		if p.Pointer == "" && p.Location != "" {
			part.Place.Pointer = p.Location
		}
		e.Parts = append(e.Parts, part)
	}
	return e
}

// WriteError renders an error for people: what and where on the first line, the
// single faults with their places below, each with what to do.
func WriteError(w io.Writer, err error) {
	p := problem.As(err)
	if p == nil {
		p = AsUnreachable(err)
	}
	if p == nil {
		fmt.Fprintf(w, "✗ %s\n", err)
		return
	}
	title := ""
	if p.Kind == problem.InvalidSpec || p.Kind == problem.CannotConnectMCP {
		title = p.Kind.Title() + ": "
	}
	detail := strings.TrimPrefix(p.Detail, title)
	parts := p.Parts
	if len(parts) == 0 && (p.Place.Line > 0 || p.Place.Pointer != "") {
		parts = []*problem.Error{p}
	}
	file := p.Place.File
	if file != "" && !strings.HasPrefix(detail, file) {
		detail = file + ": " + detail
	}
	switch {
	case len(parts) == 0:
		fmt.Fprintf(w, "✗ %s%s\n", title, detail)
		writeRemedy(w, p.Remedy)
		return
	case len(parts) == 1 && parts[0].Detail == p.Detail && title != "" && file != "":
		fmt.Fprintf(w, "✗ %s%s\n", title, file) // the one fault follows, with its place
	case len(parts) == 1 && parts[0].Detail == p.Detail:
		fmt.Fprintf(w, "✗ %s%s\n", title, detail)
		if at := PlaceText(p.Place, parts[0].Place); at != "" {
			fmt.Fprintf(w, "  %s\n", at)
		}
		writeRemedy(w, parts[0].Remedy)
		return
	default:
		fmt.Fprintf(w, "✗ %s%s\n", title, detail)
	}
	for _, part := range parts {
		if at := PlaceText(part.Place); at != "" {
			fmt.Fprintf(w, "  %s   %s\n", at, part.Detail)
		} else {
			fmt.Fprintf(w, "  %s\n", part.Detail)
		}
		writeRemedy(w, part.Remedy)
	}
	if p.Remedy != "" && parts[len(parts)-1].Remedy != p.Remedy {
		fmt.Fprintf(w, "  %s\n", p.Remedy)
	}
}

func writeRemedy(w io.Writer, remedy string) {
	if remedy != "" {
		fmt.Fprintf(w, "      %s\n", remedy)
	}
}

// PlaceText writes the first place that is known: line, column, pointer.
func PlaceText(places ...problem.Place) string {
	for _, p := range places {
		var b strings.Builder
		if p.Line > 0 {
			fmt.Fprintf(&b, "line %d", p.Line)
			if p.Column > 0 {
				fmt.Fprintf(&b, ", column %d", p.Column)
			}
		}
		if pointer := strings.TrimPrefix(p.Pointer, "#"); pointer != "" {
			if b.Len() > 0 {
				b.WriteString("   ")
			}
			b.WriteString(pointer)
		}
		if b.Len() > 0 {
			return b.String()
		}
	}
	return ""
}

// ErrOtherCertificate is returned when the node of a data directory shows another
// certificate than it wrote down there.
var ErrOtherCertificate = errors.New("the certificate of the admin API is not that of the node of the data directory")

// TLSUnreachable says what is wrong with the certificate of the server of a request that
// failed; nil when it is something else.
func TLSUnreachable(err error) *problem.Error {
	if errors.Is(err, ErrOtherCertificate) {
		return problem.New(problem.Unreachable, "%s", ErrOtherCertificate).Fix("see that the node of this data directory runs, and nothing else on its port").Because(err)
	}
	server := "the server"
	if uerr, ok := errors.AsType[*url.Error](err); ok {
		if u, perr := url.Parse(uerr.URL); perr == nil && u.Hostname() != "" {
			server = u.Hostname()
		}
	}
	return tlsfault.Of(err, server, "--ca", time.Now())
}

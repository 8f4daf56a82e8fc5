package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safehttp"
	"github.com/sluicegate/sluice/internal/textfilter"
)

// Exit codes. They are part of the interface: "sluice help exit-codes".
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitForbidden   = 4 // not authenticated, or not allowed
	exitToolError   = 5 // the tool answered isError
	exitInvalid     = 6 // a document is not valid: specification, manifest
	exitConflict    = 7 // conflict, precondition, quota
	exitUnreachable = 8 // unreachable, or time-out
	exitInterrupted = 130
)

// errInterrupted is the cause of a context that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// silentError ends the program with a code when everything was said already.
type silentError int

func (e silentError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

var exitCodes = map[problem.Kind]int{
	problem.InvalidArgument: exitUsage, problem.NotFound: exitNotFound,
	problem.Unauthenticated: exitForbidden, problem.Forbidden: exitForbidden,
	problem.InvalidArguments: exitToolError,
	problem.InvalidSpec:      exitInvalid, problem.InvalidPlugin: exitInvalid, problem.InvalidRelease: exitInvalid,
	problem.Unsupported: exitInvalid, problem.TooLarge: exitInvalid,
	problem.Conflict: exitConflict, problem.Precondition: exitConflict, problem.PreconditionNeed: exitConflict,
	problem.Unreachable: exitUnreachable, problem.Timeout: exitUnreachable, problem.Unavailable: exitUnreachable,
	problem.BlockedAddress: exitUnreachable, problem.CannotConnectMCP: exitUnreachable,
}

// exitCode is the code err ends the program with.
func exitCode(ctx context.Context, err error) int {
	var silent silentError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return int(silent)
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if p := problem.As(err); p != nil {
		if code, ok := exitCodes[p.Kind]; ok {
			return code
		}
		return exitFailed
	}
	if asUnreachable(err) != nil {
		return exitUnreachable
	}
	return exitFailed
}

// asUnreachable returns err as a problem when it is a failure of the network.
func asUnreachable(err error) *problem.Error {
	if p := problem.As(err); p != nil && (p.Kind == problem.Unreachable || p.Kind == problem.Timeout || p.Kind == problem.BlockedAddress) {
		return p
	}
	if p := tlsUnreachable(err); p != nil {
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

// problemDocument is an error as RFC 9457 problem details, the form the admin API
// answers with and "-o json" prints.
type problemDocument struct {
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

// problemTypes is where the codes are explained.
const problemTypes = "https://sluicegate.dev/errors/"

// problemOf makes problem details of any error.
func problemOf(err error) problemDocument {
	p := problem.As(err)
	if p == nil {
		p = asUnreachable(err)
	}
	if p == nil {
		kind, status := problem.Kind("failed"), 500
		if _, ok := errors.AsType[usageError](err); ok {
			kind, status = problem.InvalidArgument, problem.InvalidArgument.Status()
		}
		return problemDocument{Type: problemTypes + string(kind), Title: kind.Title(), Status: status, Code: kind, Detail: err.Error()}
	}
	d := problemDocument{
		Type: problemTypes + string(p.Kind), Title: p.Kind.Title(), Status: p.Kind.Status(), Code: p.Kind,
		Detail: p.Detail, Remedy: p.Remedy,
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

// error turns problem details from the admin API back into an error.
func (d problemDocument) error() *problem.Error {
	e := problem.New(d.Code, "%s", d.Detail)
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

// report tells of an error: problem details on stdout for machines, text on
// stderr for people.
func (a *app) report(err error) {
	var silent silentError
	if err == nil || errors.As(err, &silent) {
		return
	}
	if a.flags.output == "json" || a.flags.output == "jsonl" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if a.flags.output == "json" {
			enc.SetIndent("", "  ")
		}
		_ = enc.Encode(problemOf(err)) // a problem always marshals
		_, _ = a.stdout.Write(textfilter.AppendEscaped(nil, b.Bytes()))
		return
	}
	var b bytes.Buffer
	writeError(&b, err) // which may quote what an upstream wrote
	_, _ = a.stderr.Write(textfilter.Append(nil, b.Bytes()))
}

// writeError renders an error for people: what and where on the first line, the
// single faults with their places below, each with what to do.
func writeError(w io.Writer, err error) {
	p := problem.As(err)
	if p == nil {
		p = asUnreachable(err)
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
		fmt.Fprintf(w, "  %s\n", placeText(p.Place, parts[0].Place))
		writeRemedy(w, parts[0].Remedy)
		return
	default:
		fmt.Fprintf(w, "✗ %s%s\n", title, detail)
	}
	for _, part := range parts {
		if at := placeText(part.Place); at != "" {
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

// placeText writes the first place that is known: line, column, pointer.
func placeText(places ...problem.Place) string {
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

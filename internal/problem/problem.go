package problem

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is the stable machine code of an error, as in problem details "code".
// Codes are snake_case and never change once released.
type Kind string

// The kinds and the HTTP status each maps to (see [Kind.Status]).
const (
	InvalidSpec       Kind = "invalid_openapi_spec"      // 422, title "Invalid OpenAPI spec"
	CannotConnectMCP  Kind = "cannot_connect_mcp_server" // 502, title "Cannot connect to MCP server"
	InvalidArgument   Kind = "invalid_argument"          // 400: an argument of an API or CLI call
	InvalidArguments  Kind = "invalid_tool_arguments"    // 422: arguments of a tools/call
	InvalidPlugin     Kind = "invalid_plugin"            // 422: a module or manifest that is refused
	InvalidRelease    Kind = "invalid_release"           // 422: a release that is refused
	NotFound          Kind = "not_found"                 // 404
	Conflict          Kind = "conflict"                  // 409
	Precondition      Kind = "precondition_failed"       // 412
	PreconditionNeed  Kind = "precondition_required"     // 428
	Unauthenticated   Kind = "unauthenticated"           // 401
	Forbidden         Kind = "forbidden"                 // 403
	TooLarge          Kind = "too_large"                 // 413
	Unsupported       Kind = "unsupported"               // 422: valid, but not something Sluice does
	BlockedAddress    Kind = "blocked_address"           // 422: an address the SSRF guard refuses
	Unreachable       Kind = "unreachable"               // 502: DNS, refused, TLS, reset
	Timeout           Kind = "timeout"                   // 504
	UpstreamStatus    Kind = "upstream_status"           // 502: an upstream answered with an error status
	UpstreamTooLarge  Kind = "upstream_too_large"        // 502
	UpstreamMalformed Kind = "upstream_malformed"        // 502
	TestFailed        Kind = "test_failed"               // 422
	Unavailable       Kind = "unavailable"               // 503
	RateLimited       Kind = "rate_limited"              // 429: too many attempts
	Cancelled         Kind = "cancelled"                 // 499, as nginx has it: whoever asked has gone
)

var statuses = map[Kind]int{
	InvalidSpec: 422, CannotConnectMCP: 502, InvalidArgument: 400, InvalidArguments: 422, InvalidPlugin: 422,
	InvalidRelease: 422, NotFound: 404, Conflict: 409, Precondition: 412, PreconditionNeed: 428,
	Unauthenticated: 401, Forbidden: 403, TooLarge: 413, Unsupported: 422, BlockedAddress: 422,
	Unreachable: 502, Timeout: 504, UpstreamStatus: 502, UpstreamTooLarge: 502, UpstreamMalformed: 502,
	TestFailed: 422, Unavailable: 503, RateLimited: 429, Cancelled: 499,
}

var titles = map[Kind]string{
	InvalidSpec: "Invalid OpenAPI spec", CannotConnectMCP: "Cannot connect to MCP server",
}

// Status is the HTTP status code an error of this kind answers with; 500 for an
// unknown kind.
func (k Kind) Status() int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return 500
}

// Kinds are all kinds, in the order of their names.
func Kinds() []Kind { return slices.Sorted(maps.Keys(statuses)) }

// docs is the page that explains the kinds, each in a section of its name.
const docs = "https://github.com/sluicegate/sluice/blob/main/docs/admin-api.md#"

// Type is the address of the kind's explanation, the "type" of problem details.
func (k Kind) Type() string { return docs + string(k) }

// Title is the short human title of the kind: the product's fixed words where it
// has some, otherwise the code with spaces and a capital letter.
func (k Kind) Title() string {
	if t, ok := titles[k]; ok {
		return t
	}
	s := strings.ReplaceAll(string(k), "_", " ")
	if s == "" {
		return "Error"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Place is where something was wrong. Zero fields are unknown.
type Place struct {
	File    string // file name or URL as the user gave it, without credentials
	Line    int    // 1-based
	Column  int    // 1-based, in bytes
	Pointer string // JSON pointer (RFC 6901)
	Tool    string // tool name
}

// String renders the known parts: "petstore.yaml line 3, column 9, /paths".
func (p Place) String() string {
	var b strings.Builder
	sep := func() {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
	}
	if p.Tool != "" {
		b.WriteString("tool " + p.Tool)
	}
	if p.File != "" {
		sep()
		b.WriteString(p.File)
	}
	if p.Line > 0 {
		sep()
		fmt.Fprintf(&b, "line %d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ", column %d", p.Column)
		}
	}
	if p.Pointer != "" {
		sep()
		b.WriteString(p.Pointer)
	}
	return b.String()
}

// Error says what was wrong, where, and what to do. Its text may be shown to
// anybody who may use the API it came from: it never holds a secret.
type Error struct {
	Kind   Kind
	Detail string // one sentence, no trailing full stop needed
	Place  Place
	Remedy string   // what to do, imperative
	Parts  []*Error // the single faults when there are several; nil otherwise
	cause  error
}

// New makes an error of a kind; format and args make its Detail.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// At sets where it happened and returns e.
func (e *Error) At(file string, line, column int, pointer string) *Error {
	e.Place.File, e.Place.Line, e.Place.Column, e.Place.Pointer = file, line, column, pointer
	return e
}

// InTool names the tool it is about and returns e.
func (e *Error) InTool(name string) *Error {
	e.Place.Tool = name
	return e
}

// Fix sets the remedy and returns e.
func (e *Error) Fix(format string, args ...any) *Error {
	e.Remedy = fmt.Sprintf(format, args...)
	return e
}

// Because records the cause for errors.Is and errors.As, and for logs. The
// cause's text is not part of what a person reads. It returns e.
func (e *Error) Because(err error) *Error {
	e.cause = err
	return e
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Error renders title, place, detail and remedy on one line:
//
//	Invalid OpenAPI spec: a.yaml, line 3, column 9, /paths: detail (remedy)
func (e *Error) Error() string {
	var b strings.Builder
	if t, ok := titles[e.Kind]; ok {
		b.WriteString(t + ": ")
	}
	if p := e.Place.String(); p != "" {
		b.WriteString(p + ": ")
	}
	b.WriteString(e.Detail)
	if e.Remedy != "" {
		b.WriteString(" (" + e.Remedy + ")")
	}
	return b.String()
}

// As returns the *Error in err's chain, or nil.
func As(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// Is reports whether err's chain holds an *Error of the kind.
func Is(err error, kind Kind) bool {
	e := As(err)
	return e != nil && e.Kind == kind
}

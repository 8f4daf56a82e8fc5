package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

type contextKey struct{}

// Request is a request as the middleware read it. Work of the server itself, such as a
// scheduled refresh, has one with nothing but a workspace.
type Request struct {
	ID    string
	Local bool // the client is on this machine, and no proxy forwarded the request
	IP    string
	// Token is what the request may do: the API token that it carries, or what its browser
	// session stands for, which has the id of the session. nil before authentication, and
	// for work of the server itself.
	Token *store.Token
	// Session is the browser session of the request; nil: it carries an API token.
	Session *store.Session
	// Public is who confirmed an e-mail address on the public page of connector requests, of a
	// request to that page; "": of all others.
	Public string
	// Workspace is the workspace that the server itself works for.
	Workspace string
	Prefer    string // the header Prefer
	Base      string // scheme and host as the client wrote them
	// Refused is the audit record of a login that this request could not finish; nil:
	// the denied request is recorded like any other.
	Refused *RefusedLogin
}

// Of returns the request that ctx belongs to; an empty one when there is none.
func Of(ctx context.Context) *Request {
	if r, ok := ctx.Value(contextKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// With returns a context that belongs to r.
func With(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// Workspace returns the workspace that a request works in.
func Workspace(ctx context.Context, st *store.Store) *store.Workspace {
	r := Of(ctx)
	if r.Token == nil && r.Workspace != "" {
		return st.Workspace(r.Workspace)
	}
	return st.Workspace(r.Token.WorkspaceID)
}

// ActorID is the id of who asks, for records that name them: the member who is signed in,
// or the API token that the request carries or that its session stands for, or who confirmed
// an address on the public page; "" without one.
func (r *Request) ActorID() string {
	switch {
	case r.Token == nil:
		return r.Public
	case r.Session == nil:
		return r.Token.ID
	}
	return cmp.Or(r.Session.MemberID, r.Session.TokenID)
}

// ActorType is the type of the actor in the audit log whom ActorID names.
func ActorType(id string) string {
	if strings.HasPrefix(id, "mem_") {
		return "member"
	}
	return "token"
}

// SessionActor is the actor in the audit log for a browser session: its member or its API
// token, and behind a slash the session.
func SessionActor(s *store.Session) (kind, id string) {
	id = cmp.Or(s.MemberID, s.TokenID)
	return ActorType(id), id + "/" + s.ID
}

// Audit starts the audit record of a request.
func Audit(ctx context.Context, action, resource string) *store.Audit {
	r := Of(ctx)
	a := &store.Audit{ActorType: "system", ActorID: "server", ActorIP: r.IP, Action: action, Resource: resource, RequestID: r.ID, Outcome: OutcomeOK}
	switch {
	case r.Session != nil:
		a.ActorType, a.ActorID = SessionActor(r.Session)
	case r.Token != nil:
		a.ActorType, a.ActorID = "token", r.Token.ID
	case r.Public != "":
		a.ActorType, a.ActorID = "public", r.Public
	}
	return a
}

// Outcomes in the audit log.
const (
	OutcomeOK      = "ok"
	OutcomeFailed  = "failed"
	OutcomeRefused = "refused"
)

// RefusedLogin is what the audit log says of a login that came back in another
// browser; the record of the denied request names it.
type RefusedLogin struct {
	Workspace, Action, Resource, Reason string
}

// RequireRole refuses a request whose token has a lower role.
func RequireRole(ctx context.Context, need string) error {
	r := Of(ctx)
	t := r.Token
	if t == nil {
		panic("BUG: an operation runs without a token")
	}
	if store.RoleAllows(t.Role, need) {
		return nil
	}
	if r.Session != nil {
		return problem.New(problem.Forbidden, "you have the role %s, this needs %s", t.Role, need).
			Fix("ask an administrator of the workspace for that role")
	}
	return problem.New(problem.Forbidden, "the token has the role %s, this needs %s", t.Role, need).
		Fix("ask an administrator of the workspace for a token with that role")
}

// Operator is the workspace whose administrators run this control plane: they see
// to workspaces, backups and edges that serve every workspace.
const Operator = "default"

// RequireOperator refuses everybody but the operator's administrators.
func RequireOperator(ctx context.Context) error {
	if err := RequireRole(ctx, store.RoleAdmin); err != nil {
		return err
	}
	if Of(ctx).Token.WorkspaceID != Operator {
		return problem.New(problem.Forbidden, "only the administrators of workspace %q may do this", Operator)
	}
	return nil
}

// MatchInput are the headers of conditional writes (RFC 9110 §13.1).
type MatchInput struct {
	IfMatch string `header:"If-Match" maxLength:"512" doc:"ETag that was read, or *."`
}

// ETag is the strong ETag of a record's version.
func ETag(version uint64) string { return `"v` + strconv.FormatUint(version, 10) + `"` }

// Matches reports whether a list of entity tags names the version; weak tags
// never match for a write.
func Matches(header string, version uint64) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == ETag(version) {
			return true
		}
	}
	return false
}

// Check refuses a write whose precondition does not hold. Without If-Match it is
// refused when one is needed.
func (in *MatchInput) Check(version uint64, needed bool) error {
	switch {
	case in.IfMatch == "" && needed:
		return problem.New(problem.PreconditionNeed, "the request needs If-Match").
			Fix("read it first and send its ETag, now %s, so that no concurrent change is lost", ETag(version))
	case in.IfMatch != "" && !Matches(in.IfMatch, version):
		return Stale(problem.New(problem.Precondition, "it was changed meanwhile; its ETag is %s", ETag(version)).
			Fix("read it again and repeat the change"), ETag(version))
	}
	return nil
}

// Stale refuses a write for another version than the present one, whose ETag the answer
// has.
func Stale(p *problem.Error, etag string) error {
	return &staleError{error: p.Because(store.ErrStale), etag: etag}
}

type staleError struct {
	error
	etag string
}

// Unwrap returns the problem.
func (e *staleError) Unwrap() error { return e.error }

// GetHeaders returns the headers of the answer.
func (e *staleError) GetHeaders() http.Header { return http.Header{"Etag": {e.etag}} }

// Done is the answer of finished work.
type Done struct {
	Status   int
	Resource string // path
	ETag     string
	Body     any
	Kept     any // the body without what is shown only once, for a stored job; nil: body
}

// Stored is the body that a stored job has.
func (d *Done) Stored() any {
	if d.Kept != nil {
		return d.Kept
	}
	return d.Body
}

// FieldFault is an invalid field of a request; at is its JSON pointer.
func FieldFault(at, format string, args ...any) error {
	return problem.New(problem.InvalidArgument, "%s", fmt.Sprintf(format, args...)).At("", 0, 0, at)
}

// WriteJSON writes a body of JSON. It fails when v has none, before anything is written.
func WriteJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client is gone when this fails
	return nil
}

// InternalError is all that a client learns of an error that is no [problem.Error].
const InternalError = "the server met an unexpected error; its log names it by this request"

// Fault returns the problem in err, or the one that a database, a deadline or a registry made;
// nil: an internal error, whose text is not for clients.
func Fault(err error) *problem.Error {
	if e := problem.As(err); e != nil {
		return e
	}
	if e := store.Fault(err); e != nil {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "the work took too long").Fix("try again")
	}
	return registry.Damage(err)
}

// Detail is the text of an error that a client or a record may have.
func Detail(err error) string {
	if e := Fault(err); e != nil {
		return e.Detail
	}
	return InternalError
}

// Faults lists the single faults of a validation: its parts, or itself when
// there is only one.
func Faults(err error) []*problem.Error {
	e := problem.As(err)
	switch {
	case e == nil:
		return nil
	case len(e.Parts) == 0:
		return []*problem.Error{e}
	}
	return e.Parts
}

// CutText returns at most n bytes of text, cut between characters.
func CutText(b []byte, n int) (text string, cut bool) {
	if cut = len(b) > n; cut {
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		b = b[:n]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), cut
}

// ClipText is CutText of a string.
func ClipText(s string, n int) string {
	out, _ := CutText([]byte(s), n)
	return out
}

// SafeMethod keeps a method from outside printable.
func SafeMethod(m string) string {
	if len(m) > 20 || strings.ContainsFunc(m, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "it was asked for"
	}
	return m
}

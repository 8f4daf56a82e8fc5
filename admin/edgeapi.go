package admin

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/access"
	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// edgeTokenLife is how long an edge token is valid: an edge renews at half of it,
// so one that is cut off for two weeks comes back without its key being asked.
const edgeTokenLife = 30 * 24 * time.Hour

// retryAfter is when an edge asks again for what is not known yet, in seconds.
const retryAfter = "1"

// maxStatusText of what an edge says is wrong with it.
const maxStatusText = 1000

// serveEdge serves the edge protocol, see [registry.EdgeEnrolPath].
func (s *Server) serveEdge(w http.ResponseWriter, r *http.Request) {
	methods := map[string]string{
		registry.EdgeEnrolPath: http.MethodPost, registry.EdgeTokenPath: http.MethodPost, registry.EdgeStatusPath: http.MethodPost,
		registry.EdgePluginsPath: http.MethodPost, registry.EdgeUsagePath: http.MethodPost, registry.EdgeUserPath: http.MethodPost,
		registry.EdgeReleasePath: http.MethodGet, registry.EdgeCredentialsPath: http.MethodGet, registry.EdgeCertificatesPath: http.MethodGet,
		registry.EdgeChallengePath: http.MethodPost,
	}
	method, ok := methods[r.URL.Path]
	if !ok {
		s.writeProblem(w, r, notHere(r))
		return
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+request.SafeMethod(r.Method)))
		return
	}
	var err error
	switch r.URL.Path {
	case registry.EdgeEnrolPath:
		err = s.enrol(w, r)
	case registry.EdgeTokenPath:
		err = s.renewEdge(w, r)
	case registry.EdgeStatusPath:
		err = edgeReport(s, w, r, registry.MaxEdgeMessageBytes, s.edgeStatus)
	case registry.EdgePluginsPath:
		err = edgeReport(s, w, r, registry.MaxEdgePluginsBytes, s.plugins.Report)
	case registry.EdgeUsagePath:
		err = edgeAsk(s, w, r, registry.MaxUsageBytes, s.usage.PostEdge)
	case registry.EdgeUserPath:
		err = s.edgeUser(w, r)
	case registry.EdgeReleasePath:
		err = s.edgeRelease(w, r)
	case registry.EdgeCredentialsPath:
		err = s.edgeCredentials(w, r)
	case registry.EdgeCertificatesPath:
		err = s.edgeCertificates(w, r)
	case registry.EdgeChallengePath:
		err = edgeAsk(s, w, r, registry.MaxEdgeMessageBytes, s.edgeChallenge)
	}
	if p := problem.As(err); p != nil && p.Kind == problem.Unavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if err != nil {
		s.writeProblem(w, r, err)
	}
}

// edgeMessage reads the JSON body of an edge, of at most limit bytes.
func edgeMessage(w http.ResponseWriter, r *http.Request, limit int64, to any) error {
	// Not every ResponseWriter has deadlines; the server's own hold then.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return bodyError(r, err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return problem.New(problem.InvalidArgument, "the message of the edge cannot be read")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the client is gone when this fails
	return nil
}

// edgeOf authenticates an edge by its token.
func (s *Server) edgeOf(r *http.Request) (*store.Edge, error) {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token := secrets.New(strings.TrimSpace(value))
	if !strings.EqualFold(scheme, "Bearer") || !access.ValidTokenFor(access.EdgePrefix, token) {
		return nil, problem.New(problem.Unauthenticated, "the request shows no edge token")
	}
	return s.o.Store.EdgeByToken(r.Context(), access.HashToken(token))
}

func (s *Server) enrol(w http.ResponseWriter, r *http.Request) error {
	var in registry.EdgeEnrolment
	if err := edgeMessage(w, r, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	if err := in.Verify(); err != nil {
		return err
	}
	join := in.JoinToken.Secret
	if !access.ValidTokenFor(access.JoinPrefix, join) {
		return problem.New(problem.Unauthenticated, "the enrolment shows no join token").Fix("make one with: sluice edge token")
	}
	ctx := r.Context()
	jt, err := s.o.Store.JoinTokenByHash(ctx, access.HashToken(join))
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "enrolment refused", slog.String("client", request.Of(ctx).IP), slog.Any("error", err))
		return err
	}
	labels, err := jt.Labels()
	if err != nil {
		return err
	}
	token := access.NewTokenFor(access.EdgePrefix)
	row := &store.Edge{
		Name: in.Name, AllWorkspaces: jt.AllWorkspaces, SealKey: in.SealKey, SignKey: in.SignKey, TokenHash: access.HashToken(token),
	}
	row.SetLabels(jt.WorkspaceID, labels)
	err = s.o.Store.Workspace(jt.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		row.TokenExpires = store.Time{Time: tx.Now().Add(edgeTokenLife)}
		if err := tx.Enrol(ctx, jt.ID, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.enrol", row.ID)
		rec.ActorType, rec.ActorID = "join-token", jt.ID
		rec.After = store.JSON(map[string]any{"name": row.Name, "labels": labels, "group": row.Group})
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	if _, err := s.o.Publisher.ReleaseGroup(ctx, row.Group); err != nil {
		return err
	}
	return writeJSON(w, s.identity(row, token, labels))
}

func (s *Server) identity(row *store.Edge, token secrets.Secret, labels store.Labels) registry.EdgeIdentity {
	return registry.EdgeIdentity{
		Edge: row.ID, Token: secrets.Wire{Secret: token}, Expires: row.TokenExpires.Time, Group: row.Group, Labels: labels, Trusted: s.o.Publisher.Trusted(),
	}
}

// renewEdge gives an edge a new token for a request that its key signed.
func (s *Server) renewEdge(w http.ResponseWriter, r *http.Request) error {
	var in registry.EdgeRenewal
	if err := edgeMessage(w, r, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	ctx := r.Context()
	row, err := s.o.Store.EdgeByID(ctx, in.Edge)
	if err != nil {
		return err
	}
	if !ed25519.Verify(row.SignKey, in.Signed(), in.Signature) {
		return problem.New(problem.Unauthenticated, "the renewal is not signed with the edge's key")
	}
	labels, err := row.Labels()
	if err != nil {
		return err
	}
	token := access.NewTokenFor(access.EdgePrefix)
	err = s.o.Store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		if row, err = tx.Edge(ctx, row.ID); err != nil {
			return err
		}
		now := tx.Now()
		switch {
		case !row.RevokedAt.IsZero():
			return store.EdgeRevoked()
		case in.Time.Before(now.Add(-registry.EdgeRenewalSkew)) || in.Time.After(now.Add(registry.EdgeRenewalSkew)):
			return problem.New(problem.Unauthenticated, "the clock of the edge is %s off", now.Sub(in.Time).Abs().Round(time.Second)).
				Fix("set the clock of the edge right")
		case !in.Time.Truncate(time.Millisecond).After(row.RenewedAt.Time):
			return problem.New(problem.Unauthenticated, "this renewal was used before")
		}
		row.TokenHash, row.TokenExpires, row.RenewedAt = access.HashToken(token), store.Time{Time: now.Add(edgeTokenLife)}, store.Time{Time: in.Time}
		if err := tx.SaveEdge(ctx, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.renew", row.ID)
		rec.ActorType, rec.ActorID = "edge", row.ID
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	return writeJSON(w, s.identity(row, token, labels))
}

// edgeRead authenticates an edge and reads its message, of at most limit bytes.
func edgeRead[T any](s *Server, w http.ResponseWriter, r *http.Request, limit int64) (e *store.Edge, in *T, err error) {
	if e, err = s.edgeOf(r); err != nil {
		return nil, nil, err
	}
	in = new(T)
	return e, in, edgeMessage(w, r, limit, in)
}

// edgeAsk answers the message of an edge with what answer returns.
func edgeAsk[T, A any](s *Server, w http.ResponseWriter, r *http.Request, limit int64, answer func(context.Context, *store.Edge, *T) (A, error)) error {
	e, in, err := edgeRead[T](s, w, r, limit)
	if err != nil {
		return err
	}
	out, err := answer(r.Context(), e, in)
	if err != nil {
		return err
	}
	return writeJSON(w, out)
}

// edgeReport takes a message of an edge that is answered with nothing.
func edgeReport[T any](s *Server, w http.ResponseWriter, r *http.Request, limit int64, take func(context.Context, *store.Edge, *T) error) error {
	e, in, err := edgeRead[T](s, w, r, limit)
	if err != nil {
		return err
	}
	if err := take(r.Context(), e, in); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) edgeStatus(ctx context.Context, e *store.Edge, in *registry.EdgeStatus) error {
	for _, text := range []*string{&in.Version, &in.Following, &in.Cache, &in.Secrets, &in.Usage} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxStatusText)], "")
	}
	return s.o.Store.ReportEdge(ctx, e.WorkspaceID, e.ID, store.JSON(in))
}

// hold calls answer until it says it is done, at once and whenever something may
// have changed, at most as long as the request asks for. The edge is looked up
// each time: one that was revoked meanwhile learns no more.
func (s *Server) hold(w http.ResponseWriter, r *http.Request, answer func(ctx context.Context, e *store.Edge) (done bool, err error)) error {
	wait := time.Duration(0)
	if v := r.URL.Query().Get("wait"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return problem.New(problem.InvalidArgument, "wait must be a number of seconds")
		}
		wait = min(time.Duration(min(n, 3600))*time.Second, registry.MaxEdgeWait)
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		changed, rung := s.o.Publisher.Changed(), s.edgeBell.Wait()
		e, err := s.edgeOf(r)
		if err != nil {
			return err
		}
		if done, err := answer(r.Context(), e); done || err != nil {
			return err
		}
		select {
		case <-changed:
			continue
		case <-rung:
			continue
		case <-deadline.C:
		case <-s.stopping:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
}

func (s *Server) edgeRelease(w http.ResponseWriter, r *http.Request) error {
	known := registry.Digest(r.URL.Query().Get("known"))
	return s.hold(w, r, func(ctx context.Context, e *store.Edge) (bool, error) {
		rel := s.o.Publisher.Newest(e.Group)
		if rel == nil {
			var err error
			if rel, err = s.o.Publisher.ReleaseGroup(ctx, e.Group); err != nil {
				return false, notYet(err, "the newest release of this edge cannot be read yet")
			}
		}
		nameRelease(w, nameOf(rel))
		if rel.Digest() == known {
			return false, nil
		}
		w.Header().Set("Content-Type", "application/vnd.dsse.envelope.v1+json")
		w.Header().Set("Content-Length", strconv.Itoa(len(rel.Envelope())))
		w.Header().Set("Sluice-Group", e.Group)
		_, _ = w.Write(rel.Envelope()) // the edge is gone when this fails
		return true, nil
	})
}

func (s *Server) edgeCredentials(w http.ResponseWriter, r *http.Request) error {
	known := r.URL.Query().Get("known")
	return s.hold(w, r, func(ctx context.Context, e *store.Edge) (bool, error) {
		doc, err := s.credentialsFor(ctx, e)
		if err != nil {
			return false, err
		}
		nameRelease(w, *doc.Release)
		if doc.ETag == known {
			return false, nil
		}
		plain, err := json.Marshal(doc)
		if err != nil {
			return false, err
		}
		defer clear(plain)
		sealed, err := secrets.SealTo(e.SealKey, registry.SealInfo(e.ID), plain)
		if err != nil {
			return false, err
		}
		return true, writeJSON(w, registry.SealedCredentials{ETag: doc.ETag, Sealed: sealed})
	})
}

// edgeUser gives an edge the token of one caller of a toolset that it serves, or
// the link at which that caller must log in. Either is sealed to the edge.
func (s *Server) edgeUser(w http.ResponseWriter, r *http.Request) error {
	e, in, err := edgeRead[registry.EdgeUserRequest](s, w, r, registry.MaxEdgeMessageBytes)
	if err != nil {
		return err
	}
	ctx := r.Context()
	needs, err := s.edges.of(ctx, e.Group)
	if err != nil {
		return err
	}
	nameRelease(w, needs.release)
	if !slices.Contains(needs.users, in.Credential) {
		return problem.New(problem.Forbidden, "the edge serves no toolset that uses this credential")
	}
	// Renewing outlives a connection: the flight goes on for who asks next.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(renewTimeout + listTimeout)) // not every ResponseWriter has one
	answer := registry.EdgeUserAnswer{}
	v, err := s.userSecret(ctx, in.Credential, in.User, in.Rejected, in.Scopes)
	login, mustLogIn := errors.AsType[*registry.LoginError](err)
	switch {
	case mustLogIn:
		p := problem.As(err)
		answer.Login, answer.Detail, answer.Remedy = login.URL, p.Detail, p.Remedy
	case err != nil:
		return err
	default:
		c := &registry.EdgeCredential{ID: in.Credential, Version: v.version, Value: secrets.Wire{Secret: v.value}, Origins: v.origins}
		if !v.expires.IsZero() {
			c.Expires = v.expires.Unix()
		}
		if !v.renew.IsZero() {
			c.Renew = v.renew.Unix()
		}
		answer.Credential = c
	}
	plain, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	defer clear(plain)
	sealed, err := secrets.SealTo(e.SealKey, registry.SealUserInfo(e.ID, in.Credential, &in.User), plain)
	if err != nil {
		return err
	}
	return writeJSON(w, registry.SealedCredentials{Sealed: sealed})
}

package admin

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// edgeTokenLife is how long an edge token is valid: an edge renews at half of it,
// so one that is cut off for two weeks comes back without its key being asked.
const edgeTokenLife = 30 * 24 * time.Hour

// maxStatusText of what an edge says is wrong with it.
const maxStatusText = 1000

// serveEdge serves the edge protocol, see [registry.EdgeEnrolPath].
func (s *Server) serveEdge(w http.ResponseWriter, r *http.Request) {
	methods := map[string]string{
		registry.EdgeEnrolPath: http.MethodPost, registry.EdgeTokenPath: http.MethodPost, registry.EdgeStatusPath: http.MethodPost,
		registry.EdgePluginsPath: http.MethodPost, registry.EdgeUsagePath: http.MethodPost, registry.EdgeUserPath: http.MethodPost,
		registry.EdgeReleasePath: http.MethodGet, registry.EdgeCredentialsPath: http.MethodGet,
	}
	method, ok := methods[r.URL.Path]
	if !ok {
		s.writeProblem(w, r, notHere(r))
		return
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		s.writeProblem(w, r, statusProblem(http.StatusMethodNotAllowed, "the resource does not know the method "+safeMethod(r.Method)))
		return
	}
	var err error
	switch r.URL.Path {
	case registry.EdgeEnrolPath:
		err = s.enrol(w, r)
	case registry.EdgeTokenPath:
		err = s.renewEdge(w, r)
	case registry.EdgeStatusPath:
		err = s.edgeStatus(w, r)
	case registry.EdgePluginsPath:
		err = s.edgePlugins(w, r)
	case registry.EdgeUsagePath:
		err = s.edgeUsage(w, r)
	case registry.EdgeUserPath:
		err = s.edgeUser(w, r)
	case registry.EdgeReleasePath:
		err = s.edgeRelease(w, r)
	case registry.EdgeCredentialsPath:
		err = s.edgeCredentials(w, r)
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
		return bodyError(err)
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
	if !strings.EqualFold(scheme, "Bearer") || !validToken(edgePrefix, token) {
		return nil, problem.New(problem.Unauthenticated, "the request shows no edge token")
	}
	return s.o.Store.EdgeByToken(r.Context(), HashToken(token))
}

func (s *Server) enrol(w http.ResponseWriter, r *http.Request) error {
	var in registry.EdgeEnrolment
	if err := edgeMessage(w, r, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	if err := in.Verify(); err != nil {
		return err
	}
	join := secrets.New(in.JoinToken)
	if !validToken(joinPrefix, join) {
		return problem.New(problem.Unauthenticated, "the enrolment shows no join token").Fix("make one with: sluice edge token")
	}
	ctx := r.Context()
	jt, err := s.o.Store.JoinTokenByHash(ctx, HashToken(join))
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "enrolment refused", slog.String("client", requestOf(ctx).ip), slog.Any("error", err))
		return err
	}
	labels, err := jt.Labels()
	if err != nil {
		return err
	}
	token := newToken(edgePrefix)
	row := &store.Edge{
		Name: in.Name, AllWorkspaces: jt.AllWorkspaces, SealKey: in.SealKey, SignKey: in.SignKey, TokenHash: HashToken(token),
	}
	row.SetLabels(jt.WorkspaceID, labels)
	err = s.o.Store.Workspace(jt.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		row.TokenExpires = store.Time{Time: tx.Now().Add(edgeTokenLife)}
		if err := tx.Enrol(ctx, jt.ID, row); err != nil {
			return err
		}
		rec := audit(ctx, "edge.enrol", row.ID)
		rec.ActorType, rec.ActorID = "join-token", jt.ID
		rec.After = mustJSON(map[string]any{"name": row.Name, "labels": labels, "group": row.Group})
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
		Edge: row.ID, Token: token.Reveal(), Expires: row.TokenExpires.Time, Group: row.Group, Labels: labels, Trusted: s.o.Publisher.Trusted(),
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
	token := newToken(edgePrefix)
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
		row.TokenHash, row.TokenExpires, row.RenewedAt = HashToken(token), store.Time{Time: now.Add(edgeTokenLife)}, store.Time{Time: in.Time}
		if err := tx.SaveEdge(ctx, row); err != nil {
			return err
		}
		rec := audit(ctx, "edge.renew", row.ID)
		rec.ActorType, rec.ActorID = "edge", row.ID
		return tx.Audit(ctx, rec)
	})
	if err != nil {
		return err
	}
	return writeJSON(w, s.identity(row, token, labels))
}

func (s *Server) edgeStatus(w http.ResponseWriter, r *http.Request) error {
	e, err := s.edgeOf(r)
	if err != nil {
		return err
	}
	var in registry.EdgeStatus
	if err := edgeMessage(w, r, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	for _, text := range []*string{&in.Version, &in.Following, &in.Cache, &in.Secrets, &in.Usage} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxStatusText)], "")
	}
	if err := s.o.Store.ReportEdge(r.Context(), e.WorkspaceID, e.ID, mustJSON(in)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
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
		changed, rung := s.o.Publisher.Changed(), s.edgeBell.wait()
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
				return false, err
			}
		}
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
		if err != nil || doc.ETag == known {
			return false, err
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
	e, err := s.edgeOf(r)
	if err != nil {
		return err
	}
	var in registry.EdgeUserRequest
	if err := edgeMessage(w, r, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	ctx := r.Context()
	needs, err := s.needsOf(ctx, e.Group)
	if err != nil {
		return err
	}
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
		c := &registry.EdgeCredential{ID: in.Credential, Version: v.version, Value: v.value.Reveal()}
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

// credentialsFor collects the credentials of the toolsets in an edge's release,
// and of no other.
func (s *Server) credentialsFor(ctx context.Context, e *store.Edge) (*registry.EdgeCredentials, error) {
	needs, err := s.needsOf(ctx, e.Group)
	if err != nil {
		return nil, err
	}
	doc := &registry.EdgeCredentials{Edge: e.ID, Credentials: []registry.EdgeCredential{}}
	h := sha256.New()
	h.Write(e.SealKey)
	if len(needs.users) > 0 {
		doc.Users = s.userEpoch.Load()
		h.Write(binary.BigEndian.AppendUint64(nil, doc.Users))
	}
	for _, id := range needs.credentials {
		v, err := s.secret(ctx, id)
		if problem.Is(err, problem.NotFound) {
			continue // deleted; the next release does not use it
		}
		if p := problem.As(err); p != nil {
			// An access token that cannot be got must not keep the other credentials
			// from the edge. What the edge then answers says that it is missing.
			s.log.LogAttrs(ctx, slog.LevelDebug, "an edge gets no access token", slog.String("credential", id), slog.Any("error", err))
			continue
		}
		if err != nil {
			return nil, err
		}
		c := registry.EdgeCredential{ID: id, Version: v.version, Value: v.value.Reveal()}
		if !v.expires.IsZero() {
			c.Expires = v.expires.Unix()
		}
		doc.Credentials = append(doc.Credentials, c)
		_, _ = io.WriteString(h, id+"@"+strconv.FormatUint(v.version, 10)+"\n") // a hash does not fail
	}
	doc.ETag = hex.EncodeToString(h.Sum(nil)[:16])
	return doc, nil
}

// needsOf lists the credentials and the contents of a group's newest release. The
// caller must not change the answer.
func (s *Server) needsOf(ctx context.Context, group string) (*groupNeeds, error) {
	rel := s.o.Publisher.Newest(group)
	if rel == nil {
		return &groupNeeds{}, nil
	}
	s.edges.mu.Lock()
	n := s.edges.needs[group]
	s.edges.mu.Unlock()
	if n != nil && n.release == rel.Digest() {
		return n, nil
	}
	n = &groupNeeds{release: rel.Digest(), digests: map[registry.Digest]bool{}}
	for i := range rel.Release().Toolsets {
		t := &rel.Release().Toolsets[i]
		c, err := s.o.Publisher.Content(ctx, t.Repository, t.Bundle)
		if err != nil {
			return nil, err
		}
		access, err := s.o.Publisher.AccessContent(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, d := range slices.Concat(access, c.Digests) {
			n.digests[d] = true
		}
		n.credentials = append(n.credentials, c.Credentials...)
		n.users = append(n.users, c.Users...)
	}
	slices.Sort(n.credentials)
	n.credentials = slices.Compact(n.credentials)
	s.edges.mu.Lock()
	defer s.edges.mu.Unlock()
	if s.edges.needs == nil {
		s.edges.needs = map[string]*groupNeeds{}
	}
	// The release before stays allowed: an edge may still be fetching it.
	if old := s.edges.needs[group]; old != nil {
		n.before = old.digests
	}
	s.edges.needs[group] = n
	return n, nil
}

// mayPull reports whether the newest release of a group, or the one before, needs
// a content.
func (s *Server) mayPull(ctx context.Context, group string, d registry.Digest) (bool, error) {
	needs, err := s.needsOf(ctx, group)
	if err != nil || needs.digests[d] {
		return err == nil, err
	}
	s.edges.mu.Lock()
	defer s.edges.mu.Unlock()
	n := s.edges.needs[group]
	return n != nil && n.before[d], nil
}

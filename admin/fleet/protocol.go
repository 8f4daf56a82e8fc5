package fleet

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/admin/toolset/access"
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

// Method is the method of the message at a path of the edge protocol, see
// [registry.EdgeEnrolPath].
func Method(path string) (method string, known bool) {
	switch path {
	case registry.EdgeEnrolPath, registry.EdgeTokenPath, registry.EdgeStatusPath, registry.EdgePluginsPath, registry.EdgeUsagePath,
		registry.EdgeUserPath, registry.EdgeChallengePath:
		return http.MethodPost, true
	case registry.EdgeReleasePath, registry.EdgeCredentialsPath, registry.EdgeCertificatesPath:
		return http.MethodGet, true
	}
	return "", false
}

// Serve answers a message of the edge protocol, at a path and with a method of [Method].
// When it fails, nothing is written but headers.
func (r *Room) Serve(w http.ResponseWriter, req *http.Request) error {
	err := r.serve(w, req)
	if p := problem.As(err); p != nil && p.Kind == problem.Unavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	return err
}

func (r *Room) serve(w http.ResponseWriter, req *http.Request) error {
	switch req.URL.Path {
	case registry.EdgeEnrolPath:
		return r.enrol(w, req)
	case registry.EdgeTokenPath:
		return r.renew(w, req)
	case registry.EdgeStatusPath:
		return report(r, w, req, registry.MaxEdgeMessageBytes, r.status)
	case registry.EdgePluginsPath:
		return report(r, w, req, registry.MaxEdgePluginsBytes, r.o.Plugins.Report)
	case registry.EdgeUsagePath:
		return ask(r, w, req, registry.MaxUsageBytes, r.o.Usage.PostEdge)
	case registry.EdgeUserPath:
		return r.user(w, req)
	case registry.EdgeReleasePath:
		return r.release(w, req)
	case registry.EdgeCredentialsPath:
		return r.credentials(w, req)
	case registry.EdgeCertificatesPath:
		return r.certificates(w, req)
	case registry.EdgeChallengePath:
		return ask(r, w, req, registry.MaxEdgeMessageBytes, r.challenge)
	}
	panic("BUG: a message of no edge at " + req.URL.Path)
}

// message reads the JSON body of an edge, of at most limit bytes.
func (r *Room) message(w http.ResponseWriter, req *http.Request, limit int64, to any) error {
	b, err := r.o.ReadBody(w, req, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return problem.New(problem.InvalidArgument, "the message of the edge cannot be read")
	}
	return nil
}

// edgeOf authenticates an edge by its token.
func (r *Room) edgeOf(req *http.Request) (*store.Edge, error) {
	scheme, value, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	token := secrets.New(strings.TrimSpace(value))
	if !strings.EqualFold(scheme, "Bearer") || !access.ValidTokenFor(access.EdgePrefix, token) {
		return nil, problem.New(problem.Unauthenticated, "missing edge token")
	}
	return r.o.Store.EdgeByToken(req.Context(), access.HashToken(token))
}

// still fails when the edge that asks was revoked meanwhile: what it is to get may have taken long
// to make, and is then newer than that.
func (r *Room) still(req *http.Request) error {
	_, err := r.edgeOf(req)
	return err
}

func (r *Room) enrol(w http.ResponseWriter, req *http.Request) error {
	var in registry.EdgeEnrolment
	if err := r.message(w, req, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	if err := in.Verify(); err != nil {
		return err
	}
	join := in.JoinToken.Secret
	if !access.ValidTokenFor(access.JoinPrefix, join) {
		return problem.New(problem.Unauthenticated, "missing join token").Fix("make one with: sluice edge token")
	}
	ctx := req.Context()
	jt, err := r.o.Store.JoinTokenByHash(ctx, access.HashToken(join))
	if err != nil {
		return r.refused(ctx, err)
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
	err = r.o.Store.Workspace(jt.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
		row.TokenExpires = store.Time{Time: tx.Now().Add(edgeTokenLife)}
		if err := tx.Enrol(ctx, jt.ID, row); err != nil {
			return err
		}
		rec := request.Audit(ctx, "edge.enrol", row.ID)
		rec.ActorType, rec.ActorID = "join-token", jt.ID
		rec.After = store.JSON(map[string]any{"name": row.Name, "labels": labels, "group": row.Group})
		return tx.Audit(ctx, rec)
	})
	if problem.Is(err, problem.Unauthenticated) { // used up
		return r.refused(ctx, err)
	}
	if err != nil {
		return err
	}
	// It is enrolled: an error would only lose the answer, and with it the join token. The
	// release that cannot be made now is made when the edge asks for it.
	if _, err := r.o.Publisher.ReleaseGroup(ctx, row.Group); err != nil {
		r.o.Log.LogAttrs(ctx, slog.LevelWarn, "the release of a new edge cannot be made yet", slog.String("edge", row.ID), slog.String("group", row.Group), slog.Any("error", err))
	}
	return request.WriteJSON(w, r.identity(row, token, labels))
}

// refused logs that somebody was not enrolled.
func (r *Room) refused(ctx context.Context, err error) error {
	r.o.Log.LogAttrs(ctx, slog.LevelWarn, "enrolment refused", slog.String("client", request.Of(ctx).IP), slog.Any("error", err))
	return err
}

func (r *Room) identity(row *store.Edge, token secrets.Secret, labels store.Labels) registry.EdgeIdentity {
	return registry.EdgeIdentity{
		Edge: row.ID, Token: secrets.Wire{Secret: token}, Expires: row.TokenExpires.Time, Group: row.Group, Labels: labels, Trusted: r.o.Publisher.Trusted(),
	}
}

// renew gives an edge a new token for a request that its key signed.
func (r *Room) renew(w http.ResponseWriter, req *http.Request) error {
	var in registry.EdgeRenewal
	if err := r.message(w, req, registry.MaxEdgeMessageBytes, &in); err != nil {
		return err
	}
	ctx := req.Context()
	row, err := r.o.Store.EdgeByID(ctx, in.Edge)
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
	err = r.o.Store.Workspace(row.WorkspaceID).Update(ctx, func(tx *store.Tx) error {
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
	return request.WriteJSON(w, r.identity(row, token, labels))
}

// read authenticates an edge and reads its message, of at most limit bytes.
func read[T any](r *Room, w http.ResponseWriter, req *http.Request, limit int64) (e *store.Edge, in *T, err error) {
	if e, err = r.edgeOf(req); err != nil {
		return nil, nil, err
	}
	in = new(T)
	return e, in, r.message(w, req, limit, in)
}

// ask answers the message of an edge with what answer returns.
func ask[T, A any](r *Room, w http.ResponseWriter, req *http.Request, limit int64, answer func(context.Context, *store.Edge, *T) (A, error)) error {
	e, in, err := read[T](r, w, req, limit)
	if err != nil {
		return err
	}
	out, err := answer(req.Context(), e, in)
	if err != nil {
		return err
	}
	return request.WriteJSON(w, out)
}

// report takes a message of an edge that is answered with nothing.
func report[T any](r *Room, w http.ResponseWriter, req *http.Request, limit int64, take func(context.Context, *store.Edge, *T) error) error {
	e, in, err := read[T](r, w, req, limit)
	if err != nil {
		return err
	}
	if err := take(req.Context(), e, in); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (r *Room) status(ctx context.Context, e *store.Edge, in *registry.EdgeStatus) error {
	clipStatus(in)
	return r.o.Store.ReportEdge(ctx, e.WorkspaceID, e.ID, store.JSON(in))
}

// clipStatus cuts what an edge says of itself.
func clipStatus(in *registry.EdgeStatus) {
	for _, text := range []*string{&in.Version, &in.Following, &in.Cache, &in.Disk, &in.Secrets, &in.Usage} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), maxStatusText)], "")
	}
}

// waitOf is how long a request asks to be held, in seconds; "": it does not.
func waitOf(seconds string) (time.Duration, error) {
	if seconds == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(seconds)
	if err != nil || n < 0 {
		return 0, problem.New(problem.InvalidArgument, "wait must be a number of seconds")
	}
	return min(time.Duration(min(n, 3600))*time.Second, registry.MaxEdgeWait), nil
}

// hold calls answer until it says it is done, at once and whenever something may
// have changed, at most as long as the request asks for. The edge is looked up
// each time: one that was revoked meanwhile learns no more.
func (r *Room) hold(w http.ResponseWriter, req *http.Request, answer func(ctx context.Context, e *store.Edge) (done bool, err error)) error {
	wait, err := waitOf(req.URL.Query().Get("wait"))
	if err != nil {
		return err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		changed, rung := r.o.Publisher.Changed(), r.bell.Wait()
		e, err := r.edgeOf(req)
		if err != nil {
			return err
		}
		if done, err := answer(req.Context(), e); done || err != nil {
			return err
		}
		select {
		case <-changed:
			continue
		case <-rung:
			continue
		case <-deadline.C:
		case <-r.o.Stopping:
		case <-req.Context().Done():
		}
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
}

func (r *Room) release(w http.ResponseWriter, req *http.Request) error {
	known := registry.Digest(req.URL.Query().Get("known"))
	return r.hold(w, req, func(ctx context.Context, e *store.Edge) (bool, error) {
		rel := r.o.Publisher.Newest(e.Group)
		if rel == nil {
			var err error
			if rel, err = r.o.Publisher.ReleaseGroup(ctx, e.Group); err != nil {
				return false, notYet(err, "the newest release of this edge cannot be read yet")
			}
		}
		if rel.Digest() == known {
			nameRelease(w, nameOf(rel))
			return false, nil
		}
		if err := r.still(req); err != nil {
			return false, err
		}
		nameRelease(w, nameOf(rel))
		w.Header().Set("Content-Type", "application/vnd.dsse.envelope.v1+json")
		w.Header().Set("Content-Length", strconv.Itoa(len(rel.Envelope())))
		w.Header().Set("Sluice-Group", e.Group)
		_, _ = w.Write(rel.Envelope()) //nolint:gosec // what this server signed, and no HTML; the edge is gone when it fails
		return true, nil
	})
}

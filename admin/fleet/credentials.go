package fleet

import (
	"context"
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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// secretsParallel is how many credentials are opened at a time: one whose authorization
// server does not answer must not keep the others waiting.
const secretsParallel = 16

// etagFormat is in every ETag of credentials, and changes with the form of the answer:
// an edge that has one of another form is sent all of them again.
const etagFormat = "2\n"

// credentials gives an edge the credentials of the toolsets in its release, sealed to it.
func (r *Room) credentials(w http.ResponseWriter, req *http.Request) error {
	known := req.URL.Query().Get("known")
	return r.hold(w, req, func(ctx context.Context, e *store.Edge) (bool, error) {
		doc, err := r.credentialsFor(ctx, e)
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
		if err := r.still(req); err != nil {
			return false, err
		}
		return true, request.WriteJSON(w, registry.SealedCredentials{ETag: doc.ETag, Sealed: sealed})
	})
}

// user gives an edge the token of one caller of a toolset that it serves, or
// the link at which that caller must log in. Either is sealed to the edge.
func (r *Room) user(w http.ResponseWriter, req *http.Request) error {
	e, in, err := read[registry.EdgeUserRequest](r, w, req, registry.MaxEdgeMessageBytes)
	if err != nil {
		return err
	}
	ctx := req.Context()
	needs, err := r.needs.of(ctx, e.Group)
	if err != nil {
		return err
	}
	nameRelease(w, needs.release)
	if !slices.Contains(needs.users, in.Credential) {
		return problem.New(problem.Forbidden, "the edge serves no toolset that uses this credential")
	}
	// Renewing outlives a connection: the flight goes on for who asks next.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(r.o.UserWait)) // not every ResponseWriter has one
	answer := registry.EdgeUserAnswer{}
	c, err := r.o.Secrets.UserCredential(ctx, in)
	login, mustLogIn := errors.AsType[*registry.LoginError](err)
	switch {
	case mustLogIn:
		p := problem.As(err)
		answer.Login, answer.Detail, answer.Remedy = login.URL, p.Detail, p.Remedy
	case err != nil:
		return err
	default:
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
	return request.WriteJSON(w, registry.SealedCredentials{Sealed: sealed})
}

// credentialsFor collects the credentials of the toolsets in an edge's release, and
// of no other. The answer accounts for each of them: it has its value, or a signed
// notice says why it does not. What is not known is an error.
func (r *Room) credentialsFor(ctx context.Context, e *store.Edge) (*registry.EdgeCredentials, error) {
	needs, err := r.needs.of(ctx, e.Group)
	if err != nil {
		return nil, err
	}
	if r.o.Publisher.Stopped(e.Group) != nil {
		// A credential that the records lost would look deleted, and one that was rotated
		// would go back.
		return nil, problem.New(problem.Unavailable, "the records of the control plane are older than the release of this edge; the credentials are not known").
			Fix("have the operator of the control plane look at: sluice release")
	}
	opened, absent, err := r.openCredentials(ctx, needs.credentials)
	if err != nil {
		return nil, notYet(err, "the credentials of release %s cannot be read", needs.release)
	}
	doc := &registry.EdgeCredentials{Edge: e.ID, Credentials: opened, Release: &needs.release, Pool: r.o.Keyring.PoolKey()}
	h := sha256.New()
	_, _ = io.WriteString(h, etagFormat)
	h.Write(e.SealKey)
	h.Write(doc.Pool)
	if len(needs.users) > 0 {
		doc.Users = r.o.Secrets.Users()
		h.Write(binary.BigEndian.AppendUint64(nil, doc.Users))
	}
	// A hash does not fail.
	for i := range opened {
		_, _ = io.WriteString(h, opened[i].ID+"@"+strconv.FormatUint(opened[i].Version, 10)+" "+opened[i].Origins.String()+"\n")
	}
	for _, a := range absent {
		_, _ = io.WriteString(h, a.Credential+" "+a.Reason+"\n")
	}
	doc.ETag = hex.EncodeToString(h.Sum(nil)[:16])
	if len(absent) > 0 {
		doc.Absent, err = r.o.Publisher.Absence(&registry.AbsenceNotice{Edge: e.ID, Release: needs.release, Absent: absent})
	}
	return doc, err
}

// openCredentials opens credentials in the form that a gateway applies, and says
// which have no value and why.
func (r *Room) openCredentials(ctx context.Context, ids []string) ([]registry.EdgeCredential, []registry.Absence, error) {
	values, reasons := make([]registry.EdgeCredential, len(ids)), make([]string, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(secretsParallel)
	for i, id := range ids {
		g.Go(func() (err error) {
			values[i], err = r.o.Secrets.Credential(gctx, id)
			switch p := problem.As(err); {
			case err == nil || gctx.Err() != nil:
			case problem.Is(err, problem.NotFound):
				reasons[i], err = registry.AbsentDeleted, nil // the next release does not use it
			case p != nil:
				// An access token that cannot be got must not keep the other credentials from
				// the edge. What the edge then answers says that it is missing.
				r.o.Log.LogAttrs(ctx, slog.LevelDebug, "an edge gets no access token", slog.String("credential", id), slog.Any("error", err))
				reasons[i], err = registry.AbsentUnavailable, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	opened, absent := []registry.EdgeCredential{}, []registry.Absence(nil)
	for i, id := range ids {
		if reasons[i] != "" {
			absent = append(absent, registry.Absence{Credential: id, Reason: reasons[i]})
			continue
		}
		opened = append(opened, values[i])
	}
	return opened, absent, nil
}

// certificates gives an edge the certificates of the domains in its release, sealed to
// it.
func (r *Room) certificates(w http.ResponseWriter, req *http.Request) error {
	known := req.URL.Query().Get("known")
	return r.hold(w, req, func(ctx context.Context, e *store.Edge) (bool, error) {
		rel, err := r.o.Publisher.Latest(ctx, e.Group)
		if err != nil {
			return false, notYet(err, "the newest release of this edge cannot be read yet")
		}
		name := nameOf(rel)
		nameRelease(w, name)
		list, etag := r.o.Domains.For(rel.Release())
		if etag == known {
			r.o.Domains.Told()
			return false, nil
		}
		plain, err := json.Marshal(&registry.EdgeCertificates{Edge: e.ID, ETag: etag, Release: &name, Certificates: list, Own: r.o.Domains.Own})
		if err != nil {
			return false, err
		}
		defer clear(plain)
		sealed, err := secrets.SealTo(e.SealKey, registry.CertificateSealInfo(e.ID), plain)
		if err != nil {
			return false, err
		}
		if err := r.still(req); err != nil {
			return false, err
		}
		return true, request.WriteJSON(w, registry.SealedCredentials{ETag: etag, Sealed: sealed})
	})
}

// challenge tells an edge what a certificate authority wants to see at one of its
// domains.
func (r *Room) challenge(ctx context.Context, e *store.Edge, in *registry.EdgeChallengeRequest) (*registry.EdgeChallenge, error) {
	rel, err := r.o.Publisher.Latest(ctx, e.Group)
	if err != nil {
		return nil, notYet(err, "the newest release of this edge cannot be read yet")
	}
	c, err := r.o.Domains.Challenge(ctx, rel.Release(), in.Host)
	if err == nil && c == nil {
		err = problem.New(problem.NotFound, "no challenge is open for %.80q", in.Host)
	}
	return c, err
}

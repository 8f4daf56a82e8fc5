package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"

	"github.com/sluicegate/sluice/admin/request"
	"github.com/sluicegate/sluice/admin/store"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
)

// maxIdempotencyKey is the longest key: a UUID has 36 characters, some clients
// put a path before it.
const maxIdempotencyKey = 255

// keptHeaders are the headers of an answer that are stored with it.
var keptHeaders = []string{"Content-Type", "Etag", "Location", "Retry-After", "Preference-Applied"}

// keptAnswer is what is stored of the answer of a POST, sealed: an answer may hold
// a token that is shown once, and whoever repeats the request gets it again.
type keptAnswer struct {
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

// idempotent answers a repeated POST with the same Idempotency-Key from the
// stored answer of the first (IETF draft-ietf-httpapi-idempotency-key-header-07).
// Answers of the server's own faults are not kept, so that the request can be
// tried again.
func (s *Server) idempotent(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if r.Method != http.MethodPost || key == "" {
			next(w, r)
			return
		}
		if !validKey(key) {
			s.writeProblem(w, r, problem.New(problem.InvalidArgument, "the Idempotency-Key must have 1 to %d printable characters", maxIdempotencyKey))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.writeProblem(w, r, bodyError(r, err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx := r.Context()
		identity := requestPrint(r, body)
		row := &store.IdempotencyKey{TokenID: request.Of(ctx).Token.ID, Key: key, Fingerprint: s.o.Keyring.Fingerprint(identity)}
		var old *store.IdempotencyKey
		err = s.workspace(ctx).Update(ctx, func(tx *store.Tx) (err error) {
			old, err = tx.BeginKey(ctx, row)
			return err
		})
		switch {
		case err != nil:
			s.writeProblem(w, r, err)
		case old == nil:
			s.first(w, r, row, next)
		case !s.o.Keyring.HasFingerprint(identity, old.Fingerprint):
			s.writeProblem(w, r, statusProblem(http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request"))
		case old.State != store.KeyDone:
			w.Header().Set("Retry-After", "1")
			s.writeProblem(w, r, problem.New(problem.Conflict, "the first request with this Idempotency-Key still runs").Fix("repeat it in a moment"))
		default:
			s.replay(w, r, old)
		}
	}
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= maxIdempotencyKey
}

// requestPrint is what identifies a request. It is a secret: a body may hold a short
// one, which the plain hash of the body would let somebody guess.
func requestPrint(r *http.Request, body []byte) secrets.Secret {
	sum := sha256.Sum256(body)
	return secrets.New(r.Method + " " + r.URL.RequestURI() + " " + hex.EncodeToString(sum[:]))
}

// first handles the request that took a key, and stores its answer before
// anybody sees it.
func (s *Server) first(w http.ResponseWriter, r *http.Request, row *store.IdempotencyKey, next http.HandlerFunc) {
	// The client may leave; the key must be stored or freed all the same.
	ctx := context.WithoutCancel(r.Context())
	ws := s.workspace(ctx)
	drop := func() {
		err := ws.Update(ctx, func(tx *store.Tx) error { return tx.DropKey(ctx, row.TokenID, row.Key) })
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "an idempotency key stays taken until the next start", slog.Any("error", err))
		}
	}
	rec := &recorder{header: http.Header{}}
	func() {
		defer func() {
			if v := recover(); v != nil {
				drop()
				panic(v)
			}
		}()
		next(rec, r)
	}()
	if rec.status >= http.StatusInternalServerError {
		drop()
		rec.send(w)
		return
	}
	if err := s.keepAnswer(ctx, row, rec); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the answer to a request with an Idempotency-Key was not stored", slog.Any("error", err))
		drop()
	}
	rec.send(w)
}

// keepAnswer stores an answer, sealed under the key-encryption key.
func (s *Server) keepAnswer(ctx context.Context, row *store.IdempotencyKey, rec *recorder) error {
	kept := keptAnswer{Headers: map[string]string{}, Body: rec.body.Bytes()}
	for _, name := range keptHeaders {
		if v := rec.header.Get(name); v != "" {
			kept.Headers[name] = v
		}
	}
	ws := s.workspace(ctx)
	row.WorkspaceID, row.Status = ws.ID(), max(rec.status, http.StatusOK)
	var err error
	if row.Sealed, err = s.o.Keyring.SealBytes(row.Record(), []byte(store.JSON(kept))); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.EndKey(ctx, row) })
}

func (s *Server) replay(w http.ResponseWriter, r *http.Request, old *store.IdempotencyKey) {
	plain, err := s.o.Keyring.OpenBytes(old.Record(), old.Sealed)
	if err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "the stored answer of an Idempotency-Key does not open", slog.Any("error", err))
		s.writeProblem(w, r, problem.New(problem.Conflict, "the first request with this Idempotency-Key was answered, but the stored answer cannot be opened any more").
			Fix("look at what the first request made, then use a new key"))
		return
	}
	var kept keptAnswer
	if err := json.Unmarshal(plain, &kept); err != nil {
		s.writeProblem(w, r, err)
		return
	}
	for k, v := range kept.Headers {
		w.Header().Set(k, v)
	}
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(old.Status)
	_, _ = w.Write(kept.Body) // the client is gone when this fails
}

package front

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

// MaxIdempotencyKey is the longest key: a UUID has 36 characters, some clients
// put a path before it.
const MaxIdempotencyKey = 255

// keptHeaders are the headers of an answer that are stored with it.
var keptHeaders = []string{"Content-Type", "Etag", "Location", "Retry-After", "Preference-Applied"}

// keptAnswer is what is stored of the answer of a POST, sealed: an answer may hold
// a token that is shown once, and whoever repeats the request gets it again.
type keptAnswer struct {
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

// Idempotent answers a repeated POST with the same Idempotency-Key from the
// stored answer of the first (IETF draft-ietf-httpapi-idempotency-key-header-07).
// Answers of the server's own faults are not kept, so that the request can be
// tried again.
func (f *Room) Idempotent(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if r.Method != http.MethodPost || key == "" {
			next(w, r)
			return
		}
		if !validKey(key) {
			f.WriteProblem(w, r, problem.New(problem.InvalidArgument, "the Idempotency-Key must have 1 to %d printable characters", MaxIdempotencyKey))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.WriteProblem(w, r, bodyError(r, err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx := r.Context()
		identity := requestPrint(r, body)
		row := &store.IdempotencyKey{TokenID: request.Of(ctx).Token.ID, Key: key, Fingerprint: f.Keyring.Fingerprint(identity)}
		var old *store.IdempotencyKey
		err = f.workspace(ctx).Update(ctx, func(tx *store.Tx) (err error) {
			old, err = tx.BeginKey(ctx, row)
			return err
		})
		switch {
		case err != nil:
			f.WriteProblem(w, r, err)
		case old == nil:
			f.first(w, r, row, next)
		case !f.Keyring.HasFingerprint(identity, old.Fingerprint):
			f.WriteProblem(w, r, statusProblem(http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request"))
		case old.State != store.KeyDone:
			w.Header().Set("Retry-After", "1")
			f.WriteProblem(w, r, problem.New(problem.Conflict, "the first request with this Idempotency-Key still runs").Fix("repeat it in a moment"))
		default:
			f.replay(w, r, old)
		}
	}
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= MaxIdempotencyKey
}

// requestPrint is what identifies a request. It is a secret: a body may hold a short
// one, which the plain hash of the body would let somebody guess.
func requestPrint(r *http.Request, body []byte) secrets.Secret {
	sum := sha256.Sum256(body)
	return secrets.New(r.Method + " " + r.URL.RequestURI() + " " + hex.EncodeToString(sum[:]))
}

// first handles the request that took a key, and stores its answer before
// anybody sees it.
func (f *Room) first(w http.ResponseWriter, r *http.Request, row *store.IdempotencyKey, next http.HandlerFunc) {
	// The client may leave; the key must be stored or freed all the same.
	ctx := context.WithoutCancel(r.Context())
	ws := f.workspace(ctx)
	drop := func() {
		err := ws.Update(ctx, func(tx *store.Tx) error { return tx.DropKey(ctx, row.TokenID, row.Key) })
		if err != nil {
			f.Log.LogAttrs(ctx, slog.LevelWarn, "an idempotency key stays taken until the next start", slog.Any("error", err))
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
	if err := f.keepAnswer(ctx, row, rec); err != nil {
		f.Log.LogAttrs(ctx, slog.LevelWarn, "the answer to a request with an Idempotency-Key was not stored", slog.Any("error", err))
		drop()
	}
	rec.send(w)
}

// keepAnswer stores an answer, sealed under the key-encryption key.
func (f *Room) keepAnswer(ctx context.Context, row *store.IdempotencyKey, rec *recorder) error {
	kept := keptAnswer{Headers: map[string]string{}, Body: rec.body.Bytes()}
	for _, name := range keptHeaders {
		if v := rec.header.Get(name); v != "" {
			kept.Headers[name] = v
		}
	}
	ws := f.workspace(ctx)
	row.WorkspaceID, row.Status = ws.ID(), max(rec.status, http.StatusOK)
	var err error
	if row.Sealed, err = f.Keyring.SealBytes(row.Record(), []byte(store.JSON(kept))); err != nil {
		return err
	}
	return ws.Update(ctx, func(tx *store.Tx) error { return tx.EndKey(ctx, row) })
}

func (f *Room) replay(w http.ResponseWriter, r *http.Request, old *store.IdempotencyKey) {
	plain, err := f.Keyring.OpenBytes(old.Record(), old.Sealed)
	if err != nil {
		f.Log.LogAttrs(r.Context(), slog.LevelWarn, "the stored answer of an Idempotency-Key does not open", slog.Any("error", err))
		f.WriteProblem(w, r, problem.New(problem.Conflict, "the first request with this Idempotency-Key was answered, but the stored answer cannot be opened any more").
			Fix("look at what the first request made, then use a new key"))
		return
	}
	var kept keptAnswer
	if err := json.Unmarshal(plain, &kept); err != nil {
		f.WriteProblem(w, r, err)
		return
	}
	for k, v := range kept.Headers {
		w.Header().Set(k, v)
	}
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(old.Status)
	_, _ = w.Write(kept.Body) // the client is gone when this fails
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

// Action is what a request wants to do with a repository.
type Action string

// The actions. Push covers uploads, mounts and manifests.
const (
	Pull   Action = "pull"
	Push   Action = "push"
	Delete Action = "delete"
)

var (
	// ErrUnauthenticated is what Authorize returns for a request that does not say
	// who it is: 401 with a challenge.
	ErrUnauthenticated = errors.New("authentication is required")
	// ErrDenied is what Authorize returns for a request that may not: 403.
	ErrDenied = errors.New("access to the repository is denied")
)

// HandlerOptions configure a Handler.
type HandlerOptions struct {
	Store *Store // Required
	// Authorize decides about every request before anything else. repository is
	// empty for GET /v2/ itself. It returns nil, ErrUnauthenticated or ErrDenied.
	// Required: there is no open registry.
	Authorize func(r *http.Request, repository string, action Action) error
	Logger    *slog.Logger // Default: discard
}

// Handler serves the OCI Distribution Specification 1.1 below /v2/: pull, push
// (monolithic, chunked, mounted), ranges, tags, referrers and delete. It may be
// used by many goroutines.
type Handler struct {
	store     *Store
	authorize func(*http.Request, string, Action) error
	log       *slog.Logger
}

// NewHandler makes a Handler.
func NewHandler(opts HandlerOptions) (*Handler, error) {
	if opts.Store == nil || opts.Authorize == nil {
		return nil, errors.New("serve the registry: a store and a decision who may use it are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{store: opts.Store, authorize: opts.Authorize, log: opts.Logger.With(slog.String("component", "registry"))}, nil
}

// Error codes of the specification ("Error Codes").
const (
	codeBlobUnknown         = "BLOB_UNKNOWN"
	codeUploadInvalid       = "BLOB_UPLOAD_INVALID"
	codeUploadUnknown       = "BLOB_UPLOAD_UNKNOWN"
	codeDigestInvalid       = "DIGEST_INVALID"
	codeManifestBlobUnknown = "MANIFEST_BLOB_UNKNOWN"
	codeManifestInvalid     = "MANIFEST_INVALID"
	codeManifestUnknown     = "MANIFEST_UNKNOWN"
	codeNameInvalid         = "NAME_INVALID"
	codeNameUnknown         = "NAME_UNKNOWN"
	codeSizeInvalid         = "SIZE_INVALID"
	codeUnauthorized        = "UNAUTHORIZED"
	codeDenied              = "DENIED"
	codeUnsupported         = "UNSUPPORTED"
	codeTooMany             = "TOOMANYREQUESTS"
)

// fault is an answer of the specification's error form.
type fault struct {
	status        int
	code, message string
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func refuse(status int, code, format string, args ...any) error {
	return &fault{status, code, fmt.Sprintf(format, args...)}
}

// target is what a path names.
type target struct {
	kind       string // "", blobs, uploads, manifests, tags, referrers
	repository string
	rest       string // digest, upload id or reference
}

// parseTarget reads the path behind /v2/. Repository names may hold words of the
// protocol, so the last one counts.
func parseTarget(path string) (target, bool) {
	path, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return target{}, false
	}
	if path == "" {
		return target{}, true
	}
	if name, ok := strings.CutSuffix(path, "/tags/list"); ok {
		return target{kind: "tags", repository: name}, true
	}
	if i := strings.LastIndex(path, "/blobs/uploads/"); i >= 0 && !strings.Contains(path[i+len("/blobs/uploads/"):], "/") {
		return target{kind: "uploads", repository: path[:i], rest: path[i+len("/blobs/uploads/"):]}, true
	}
	if name, ok := strings.CutSuffix(path, "/blobs/uploads"); ok {
		return target{kind: "uploads", repository: name}, true
	}
	for _, kind := range []string{"blobs", "manifests", "referrers"} {
		if i := strings.LastIndex(path, "/"+kind+"/"); i >= 0 {
			if rest := path[i+len(kind)+2:]; rest != "" && !strings.Contains(rest, "/") {
				return target{kind: kind, repository: path[:i], rest: rest}, true
			}
		}
	}
	return target{}, false
}

func actionOf(method string) Action {
	switch method {
	case http.MethodGet, http.MethodHead:
		return Pull
	case http.MethodDelete:
		return Delete
	}
	return Push
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := h.serve(w, r); err != nil {
		h.fail(w, r, err)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	t, ok := parseTarget(r.URL.Path)
	if !ok {
		return refuse(http.StatusNotFound, codeNameUnknown, "no such end point")
	}
	action := actionOf(r.Method)
	if t.kind == "uploads" {
		action = Push // reading or cancelling an upload is part of pushing
	}
	if err := h.authorize(r, t.repository, action); err != nil {
		return err
	}
	if t.kind == "" {
		if action != Pull {
			return notAllowed(w, "GET, HEAD")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}") // fails when the client went away
		return nil
	}
	if !registry.ValidRepository(t.repository) {
		return refuse(http.StatusBadRequest, codeNameInvalid, "%.80q is not a repository name", t.repository)
	}
	switch t.kind {
	case "blobs":
		return h.serveBlob(w, r, t)
	case "uploads":
		return h.serveUpload(w, r, t)
	case "manifests":
		return h.serveManifest(w, r, t)
	case "tags":
		return h.serveTags(w, r, t)
	default:
		return h.serveReferrers(w, r, t)
	}
}

func notAllowed(w http.ResponseWriter, allow string) error {
	w.Header().Set("Allow", allow)
	return refuse(http.StatusMethodNotAllowed, codeUnsupported, "the end point knows %s only", allow)
}

// fail answers in the form of the specification. What is not made for a client is
// logged and answered as an internal error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var f *fault
	p := problem.As(err)
	switch {
	case errors.As(err, &f):
	case errors.Is(err, ErrUnauthenticated):
		w.Header().Set("WWW-Authenticate", `Basic realm="sluice", charset="UTF-8"`)
		f = &fault{http.StatusUnauthorized, codeUnauthorized, "authentication is required"}
	case errors.Is(err, ErrDenied):
		f = &fault{http.StatusForbidden, codeDenied, "access to the repository is denied"}
	case errors.Is(err, errUploadUnknown):
		f = &fault{http.StatusNotFound, codeUploadUnknown, "the upload is not known in this repository"}
	case errors.Is(err, errUploadRange):
		f = &fault{http.StatusRequestedRangeNotSatisfiable, codeUploadInvalid, "the chunk does not start where the upload ended"}
	case errors.Is(err, registry.ErrDigest):
		f = &fault{http.StatusBadRequest, codeDigestInvalid, "digests are sha256 in lower-case hex"}
	case p != nil && p.Kind == problem.TooLarge:
		f = &fault{http.StatusRequestEntityTooLarge, codeSizeInvalid, p.Detail}
	case p != nil && p.Kind == problem.Unavailable:
		w.Header().Set("Retry-After", "60")
		f = &fault{http.StatusTooManyRequests, codeTooMany, p.Error()}
	default:
		if r.Context().Err() == nil {
			h.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("method", r.Method),
				slog.String("path", r.URL.Path), slog.Any("error", err))
		}
		f = &fault{http.StatusInternalServerError, "UNKNOWN", "internal error"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	if r.Method == http.MethodHead {
		return
	}
	type item struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	_ = json.NewEncoder(w).Encode(map[string][]item{"errors": {{f.code, f.message}}}) // the client went away
}

// serveBlob: end-2, end-10.
func (h *Handler) serveBlob(w http.ResponseWriter, r *http.Request, t target) error {
	d, err := registry.ParseDigest(t.rest)
	if err != nil {
		return err
	}
	ctx := r.Context()
	has, err := h.store.index.HasBlob(ctx, t.repository, d)
	if err != nil {
		return err
	}
	unknown := refuse(http.StatusNotFound, codeBlobUnknown, "%s has no blob %s", t.repository, d)
	if !has {
		return unknown
	}
	switch r.Method {
	case http.MethodDelete:
		// Only this repository forgets it; the content goes with the last one.
		if err := h.store.index.UnlinkBlob(ctx, t.repository, d); err != nil {
			return err
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	case http.MethodGet:
		// Hashed before the first byte is sent: what is damaged is never served.
		if err := h.store.blobs.Verify(d); err != nil {
			if errors.Is(err, registry.ErrNotFound) {
				return unknown
			}
			return err
		}
	case http.MethodHead:
	default:
		return notAllowed(w, "GET, HEAD, DELETE")
	}
	f, err := h.store.blobs.Open(d)
	if errors.Is(err, registry.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", string(d))
	w.Header().Set("ETag", `"`+string(d)+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

// serveUpload: end-4a, 4b, 5, 6, 11, 13 and cancelling.
func (h *Handler) serveUpload(w http.ResponseWriter, r *http.Request, t target) error {
	if t.rest == "" {
		if r.Method != http.MethodPost {
			return notAllowed(w, "POST")
		}
		return h.startUpload(w, r, t.repository)
	}
	up := h.store.uploads
	switch r.Method {
	case http.MethodGet:
		n, err := up.offset(t.repository, t.rest)
		if err != nil {
			return err
		}
		uploadAt(w, t.repository, t.rest, n)
		w.WriteHeader(http.StatusNoContent)
		return nil
	case http.MethodPatch:
		from, err := chunkStart(r)
		if err != nil {
			return err
		}
		n, err := up.appendTo(t.repository, t.rest, from, http.MaxBytesReader(w, r.Body, MaxBlobBytes+1))
		if errors.Is(err, errUploadRange) {
			if at, oerr := up.offset(t.repository, t.rest); oerr == nil {
				uploadAt(w, t.repository, t.rest, at)
			}
			return err
		}
		if err != nil {
			return readFault(err)
		}
		uploadAt(w, t.repository, t.rest, n)
		w.WriteHeader(http.StatusAccepted)
		return nil
	case http.MethodPut:
		return h.finishUpload(w, r, t.repository, t.rest)
	case http.MethodDelete:
		if err := up.cancel(t.repository, t.rest); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return notAllowed(w, "GET, PATCH, PUT, DELETE")
}

func (h *Handler) startUpload(w http.ResponseWriter, r *http.Request, repository string) error {
	q := r.URL.Query()
	if q.Has("mount") {
		done, err := h.mount(r, repository, q.Get("mount"), q.Get("from"))
		if err != nil {
			return err
		}
		if done != "" {
			blobCreated(w, repository, done)
			return nil
		}
	}
	if a := q.Get("digest-algorithm"); a != "" && a != "sha256" {
		return refuse(http.StatusBadRequest, codeUnsupported, "digests are sha256")
	}
	id, err := h.store.uploads.start(repository)
	if err != nil {
		return err
	}
	if q.Has("digest") {
		return h.finishUpload(w, r, repository, id)
	}
	uploadAt(w, repository, id, 0)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// mount links a blob of another repository; "" when that has it not, or the
// client may not read it, and an upload is to be started instead.
func (h *Handler) mount(r *http.Request, repository, digest, from string) (registry.Digest, error) {
	d, err := registry.ParseDigest(digest)
	if err != nil {
		return "", err
	}
	if !registry.ValidRepository(from) || h.authorize(r, from, Pull) != nil {
		return "", nil
	}
	has, err := h.store.index.HasBlob(r.Context(), from, d)
	if err != nil || !has {
		return "", err
	}
	return d, h.store.index.LinkBlob(r.Context(), repository, d)
}

func (h *Handler) finishUpload(w http.ResponseWriter, r *http.Request, repository, id string) error {
	d, err := registry.ParseDigest(r.URL.Query().Get("digest"))
	if err != nil {
		return err
	}
	from, err := chunkStart(r)
	if err != nil {
		return err
	}
	err = h.store.uploads.finish(r.Context(), repository, id, from, http.MaxBytesReader(w, r.Body, MaxBlobBytes+1), d)
	if errors.Is(err, registry.ErrCorrupt) {
		return refuse(http.StatusBadRequest, codeDigestInvalid, "what was uploaded is not %s", d)
	}
	if err != nil {
		return readFault(err)
	}
	if err := h.store.index.LinkBlob(r.Context(), repository, d); err != nil {
		return err
	}
	blobCreated(w, repository, d)
	return nil
}

// readFault tells a body that broke off or was too large from a fault of ours.
func readFault(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refuse(http.StatusRequestEntityTooLarge, codeSizeInvalid, "the content has more than %d bytes", large.Limit-1)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(http.StatusBadRequest, codeSizeInvalid, "the body ended early")
	}
	return err
}

// chunkStart reads where a chunk starts from Content-Range: "<start>-<end>", both
// inclusive (end-5); -1 when the client does not say.
func chunkStart(r *http.Request) (int64, error) {
	v := r.Header.Get("Content-Range")
	if v == "" {
		return -1, nil
	}
	v = strings.TrimPrefix(v, "bytes ")
	v, _, _ = strings.Cut(v, "/")
	a, b, ok := strings.Cut(v, "-")
	from, err1 := strconv.ParseInt(a, 10, 64)
	to, err2 := strconv.ParseInt(b, 10, 64)
	if !ok || err1 != nil || err2 != nil || from < 0 || to < from-1 {
		return 0, refuse(http.StatusBadRequest, codeUploadInvalid, "Content-Range must be <start>-<end>")
	}
	if r.ContentLength >= 0 && r.ContentLength != to-from+1 {
		return 0, refuse(http.StatusBadRequest, codeSizeInvalid, "Content-Range and Content-Length differ")
	}
	return from, nil
}

func uploadAt(w http.ResponseWriter, repository, id string, n int64) {
	w.Header().Set("Location", "/v2/"+repository+"/blobs/uploads/"+id)
	w.Header().Set("Docker-Upload-UUID", id)
	// "0-0" also means nothing yet: the specification has no form for that.
	w.Header().Set("Range", "0-"+strconv.FormatInt(max(n-1, 0), 10))
}

func blobCreated(w http.ResponseWriter, repository string, d registry.Digest) {
	w.Header().Set("Location", "/v2/"+repository+"/blobs/"+string(d))
	w.Header().Set("Docker-Content-Digest", string(d))
	w.WriteHeader(http.StatusCreated)
}

// resolve finds the digest a reference, tag or digest, means in a repository.
func (h *Handler) resolve(ctx context.Context, t target) (registry.Digest, string, error) {
	unknown := refuse(http.StatusNotFound, codeManifestUnknown, "%s has no manifest %.128s", t.repository, t.rest)
	d := registry.Digest(t.rest)
	if strings.Contains(t.rest, ":") {
		if !d.Valid() {
			return "", "", registry.ErrDigest
		}
	} else {
		if !validTag(t.rest) {
			return "", "", unknown
		}
		var err error
		d, err = h.store.index.Tag(ctx, t.repository, t.rest)
		if errors.Is(err, registry.ErrNotFound) {
			return "", "", unknown
		}
		if err != nil {
			return "", "", err
		}
	}
	mediaType, err := h.store.index.MediaType(ctx, t.repository, d)
	if errors.Is(err, registry.ErrNotFound) {
		return "", "", unknown
	}
	return d, mediaType, err
}

// validTag: OCI Distribution Specification 1.1, "Pulling manifests".
func validTag(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '.' || s[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
	})
}

// serveManifest: end-3, end-7, end-9.
func (h *Handler) serveManifest(w http.ResponseWriter, r *http.Request, t target) error {
	switch r.Method {
	case http.MethodPut:
		return h.putManifest(w, r, t)
	case http.MethodDelete:
		return h.deleteManifest(w, r, t)
	case http.MethodGet, http.MethodHead:
	default:
		return notAllowed(w, "GET, HEAD, PUT, DELETE")
	}
	d, mediaType, err := h.resolve(r.Context(), t)
	if err != nil {
		return err
	}
	b, err := h.store.blobs.Read(d, MaxManifestBytes)
	if errors.Is(err, registry.ErrNotFound) {
		return refuse(http.StatusNotFound, codeManifestUnknown, "the manifest %s is gone", d)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", string(d))
	w.Header().Set("ETag", `"`+string(d)+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	return nil
}

func (h *Handler) putManifest(w http.ResponseWriter, r *http.Request, t target) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxManifestBytes))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return refuse(http.StatusRequestEntityTooLarge, codeSizeInvalid, "the manifest has more than %d bytes", MaxManifestBytes)
	}
	if err != nil {
		return readFault(err)
	}
	d, tag := registry.DigestOf(b), t.rest
	if strings.Contains(t.rest, ":") {
		named, err := registry.ParseDigest(t.rest)
		if err != nil {
			return err
		}
		if named != d {
			return refuse(http.StatusBadRequest, codeDigestInvalid, "the manifest is %s", d)
		}
		tag = ""
	} else if !validTag(tag) {
		return refuse(http.StatusBadRequest, codeManifestInvalid, "%.128q is not a tag", tag)
	}
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	desc, err := h.store.putManifest(r.Context(), t.repository, tag, d, strings.TrimSpace(mediaType), b)
	if p := problem.As(err); p != nil {
		switch p.Kind {
		case problem.NotFound:
			return refuse(http.StatusBadRequest, codeManifestBlobUnknown, "%s", p.Error())
		case problem.InvalidArgument:
			return refuse(http.StatusBadRequest, codeManifestInvalid, "%s", p.Error())
		}
	}
	if err != nil {
		return err
	}
	if desc.Subject != "" {
		w.Header().Set("OCI-Subject", string(desc.Subject))
	}
	w.Header().Set("Location", "/v2/"+t.repository+"/manifests/"+string(d))
	w.Header().Set("Docker-Content-Digest", string(d))
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (h *Handler) deleteManifest(w http.ResponseWriter, r *http.Request, t target) error {
	ctx := r.Context()
	d, mediaType, err := h.resolve(ctx, t)
	if err != nil {
		return err
	}
	if !strings.Contains(t.rest, ":") {
		if err := h.store.index.DeleteTag(ctx, t.repository, t.rest); err != nil {
			return err
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	desc := Descriptor{Digest: d, MediaType: mediaType}
	// What it referred to is in the manifest; one that cannot be read any more
	// leaves a referrer that says so when it is pulled.
	if b, err := h.store.blobs.Read(d, MaxManifestBytes); err == nil {
		if m, err := readManifest(b, mediaType); err == nil {
			desc = m.describe(d, mediaType, int64(len(b)))
		}
	}
	if err := h.store.index.UnlinkManifest(ctx, t.repository, desc); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// maxTagPage is how many tags one answer has at most; the rest follows by Link.
const maxTagPage = 1000

// serveTags: end-8a, end-8b.
func (h *Handler) serveTags(w http.ResponseWriter, r *http.Request, t target) error {
	if actionOf(r.Method) != Pull {
		return notAllowed(w, "GET, HEAD")
	}
	q := r.URL.Query()
	n := maxTagPage
	if q.Has("n") {
		v, err := strconv.Atoi(q.Get("n"))
		if err != nil || v < 0 {
			return refuse(http.StatusBadRequest, codeUnsupported, "n must be a number")
		}
		n = min(v, maxTagPage)
	}
	tags, err := h.store.index.Tags(r.Context(), t.repository, q.Get("last"), n+1)
	if errors.Is(err, registry.ErrNotFound) {
		return refuse(http.StatusNotFound, codeNameUnknown, "no repository %s", t.repository)
	}
	if err != nil {
		return err
	}
	if len(tags) > n {
		tags = tags[:n]
		if n > 0 {
			next := url.Values{"n": {strconv.Itoa(n)}, "last": {tags[n-1]}}
			w.Header().Set("Link", "</v2/"+t.repository+"/tags/list?"+next.Encode()+`>; rel="next"`)
		}
	}
	return writeJSON(w, "application/json", map[string]any{"name": t.repository, "tags": tags})
}

// serveReferrers: end-12a, end-12b. An unknown subject has no referrers; that is
// not an error.
func (h *Handler) serveReferrers(w http.ResponseWriter, r *http.Request, t target) error {
	if actionOf(r.Method) != Pull {
		return notAllowed(w, "GET, HEAD")
	}
	d, err := registry.ParseDigest(t.rest)
	if err != nil {
		return err
	}
	all, err := h.store.index.Referrers(r.Context(), t.repository, d)
	if err != nil {
		return err
	}
	list := make([]Descriptor, 0, len(all))
	want := r.URL.Query().Get("artifactType")
	for _, x := range all {
		if want == "" || x.ArtifactType == want {
			list = append(list, x)
		}
	}
	if want != "" {
		w.Header().Set("OCI-Filters-Applied", "artifactType")
	}
	return writeJSON(w, typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": list})
}

func writeJSON(w http.ResponseWriter, contentType string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // fails when the client went away
	return nil
}

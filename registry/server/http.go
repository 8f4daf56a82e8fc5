package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

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
	// ErrUnavailable is what Authorize returns while it cannot decide: 503, and the
	// client asks again.
	ErrUnavailable = errors.New("what the request needs cannot be read at the moment")
)

// HandlerOptions configure a Handler.
type HandlerOptions struct {
	Store *Store // Required
	// Authorize decides about every request before anything else. repository is
	// empty for GET /v2/ itself. It returns nil, ErrUnauthenticated, ErrDenied,
	// ErrUnavailable or a problem of kind Conflict, whose text is shown.
	// Required: there is no open registry.
	Authorize func(r *http.Request, repository string, action Action) error
	// Changed is called with each manifest that was pushed and of each manifest, tag and
	// blob that was deleted, before the answer is written. Default: nobody is told.
	Changed func(r *http.Request, c Change)
	Logger  *slog.Logger // Default: discard
}

// Change is what a request did to a repository.
type Change struct {
	Action     Action // Push or Delete
	Kind       string // manifests or blobs
	Repository string
	Tag        string          // "" when the request named a digest
	Digest     registry.Digest // of what was pushed or deleted; of a tag, what it named
}

// Handler serves the OCI Distribution Specification 1.1 below /v2/: pull, push
// (monolithic, chunked, mounted), ranges, tags, referrers and delete. It may be
// used by many goroutines.
type Handler struct {
	store     *Store
	mirrored  Fetcher // instead of store
	authorize func(*http.Request, string, Action) error
	changed   func(*http.Request, Change) // never nil
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
	if opts.Changed == nil {
		opts.Changed = func(*http.Request, Change) {}
	}
	return &Handler{store: opts.Store, authorize: opts.Authorize, changed: opts.Changed, log: opts.Logger.With(slog.String("component", "registry"))}, nil
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
	codeUnavailable         = "UNAVAILABLE" // not of the specification, which has none for 503
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
	if h.mirrored != nil {
		return h.mirror(w, r, t)
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
	case errors.Is(err, ErrUnavailable):
		w.Header().Set("Retry-After", "1")
		f = &fault{http.StatusServiceUnavailable, codeUnavailable, ErrUnavailable.Error()}
	case p != nil && p.Kind == problem.Conflict:
		f = &fault{http.StatusConflict, codeDenied, p.Error()}
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
		if errors.Is(err, registry.ErrCorrupt) {
			f.message = "this content is damaged in the registry: push the same bytes again, or restore a backup; the disk may be failing"
		}
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

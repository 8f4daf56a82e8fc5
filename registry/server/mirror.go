package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/sluicegate/sluice/registry"
)

// Fetcher reads exact contents from a registry elsewhere; what it returns is not
// believed. Missing things give [registry.ErrNotFound].
type Fetcher interface {
	FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
	FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error)
}

// MirrorOptions configure a mirror.
type MirrorOptions struct {
	From Fetcher // Required
	// Authorize decides as in [HandlerOptions]. Required.
	Authorize func(r *http.Request, repository string, action Action) error
	Logger    *slog.Logger // Default: discard
}

// NewMirror makes a handler that serves, below /v2/, what another registry has, by
// digest alone: nodes without credentials for that registry pull from here. Tags,
// lists, pushes and deletes belong to the registry itself.
func NewMirror(opts MirrorOptions) (*Handler, error) {
	if opts.From == nil || opts.Authorize == nil {
		return nil, errors.New("mirror a registry: the registry and a decision who may pull are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{mirrored: opts.From, authorize: opts.Authorize, log: opts.Logger.With(slog.String("component", "registry"))}, nil
}

// mirror serves one content by digest.
func (h *Handler) mirror(w http.ResponseWriter, r *http.Request, t target) error {
	if actionOf(r.Method) != Pull || t.kind != "blobs" && t.kind != "manifests" || !strings.Contains(t.rest, ":") {
		return refuse(http.StatusMethodNotAllowed, codeUnsupported, "artifacts of this control plane are in another registry; here they are pulled by digest only")
	}
	d, err := registry.ParseDigest(t.rest)
	if err != nil {
		return err
	}
	var b []byte
	code := codeBlobUnknown
	if t.kind == "manifests" {
		code = codeManifestUnknown
		b, err = h.mirrored.FetchManifest(r.Context(), t.repository, d, MaxManifestBytes)
	} else {
		b, err = h.mirrored.FetchBlob(r.Context(), t.repository, d, MaxBlobBytes)
	}
	if errors.Is(err, registry.ErrNotFound) {
		return refuse(http.StatusNotFound, code, "%s has no %s", t.repository, d)
	}
	if err != nil {
		return err
	}
	if !d.Matches(b) {
		return registry.ErrCorrupt
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if t.kind == "manifests" {
		w.Header().Set("Content-Type", typeManifest)
	}
	w.Header().Set("Docker-Content-Digest", string(d))
	w.Header().Set("ETag", `"`+string(d)+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	return nil
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
)

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
	b, err := read(r.Context(), h.store.content, d, MaxManifestBytes)
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
	if err := h.store.uploads.room(); err != nil {
		return err
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxManifestBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
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
	h.changed(r, Change{Action: Push, Kind: t.kind, Repository: t.repository, Tag: tag, Digest: d})
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
		h.changed(r, Change{Action: Delete, Kind: t.kind, Repository: t.repository, Tag: t.rest, Digest: d})
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	desc := Descriptor{Digest: d, MediaType: mediaType}
	// What it referred to is in the manifest; one that cannot be read any more
	// leaves a referrer that says so when it is pulled.
	if b, err := read(ctx, h.store.content, d, MaxManifestBytes); err == nil {
		if m, err := readManifest(b, mediaType); err == nil {
			desc = m.describe(d, mediaType, int64(len(b)))
		}
	}
	if err := h.store.index.UnlinkManifest(ctx, t.repository, desc); err != nil {
		return err
	}
	h.changed(r, Change{Action: Delete, Kind: t.kind, Repository: t.repository, Digest: d})
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

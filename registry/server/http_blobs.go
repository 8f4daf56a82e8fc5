package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluice/registry"
)

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
		h.changed(r, Change{Action: Delete, Kind: t.kind, Repository: t.repository, Digest: d})
		w.WriteHeader(http.StatusAccepted)
		return nil
	case http.MethodGet, http.MethodHead:
	default:
		return notAllowed(w, "GET, HEAD, DELETE")
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", string(d))
	w.Header().Set("ETag", `"`+string(d)+`"`)
	w.Header().Set("Accept-Ranges", "bytes")
	if r.Method == http.MethodHead {
		n, err := h.sound(ctx, d)
		if err != nil {
			return absent(w, err, unknown)
		}
		w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		return nil
	}
	// Hashed before the first byte is sent: what is damaged is never served.
	f, err := h.store.content.Open(ctx, d)
	if err != nil {
		return absent(w, err, unknown)
	}
	defer func() { _ = f.Close() }() // only read
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

// sound is the size of a content that is stored as its digest says. Other bytes are as good
// as none for who asks before a push, which then heals them; a read says that they are damaged.
func (h *Handler) sound(ctx context.Context, d registry.Digest) (int64, error) {
	if err := h.store.content.Verify(ctx, d); errors.Is(err, registry.ErrCorrupt) {
		return 0, fmt.Errorf("%w: %w", registry.ErrNotFound, err)
	} else if err != nil {
		return 0, err
	}
	return h.store.content.Size(ctx, d)
}

// absent takes the headers of a content back that cannot be served, and returns
// unknown for one that is missing.
func absent(w http.ResponseWriter, err, unknown error) error {
	for _, name := range []string{"Docker-Content-Digest", "ETag", "Accept-Ranges"} {
		w.Header().Del(name)
	}
	if errors.Is(err, registry.ErrNotFound) {
		return unknown
	}
	return err
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
	if !registry.ValidRepository(from) {
		return "", nil
	}
	if denied := h.authorize(r, from, Pull); denied != nil {
		return "", nil //nolint:nilerr // the specification: a mount that may not be is an upload
	}
	has, err := h.store.index.HasBlob(r.Context(), from, d)
	if err != nil || !has {
		return "", err
	}
	if _, err := h.sound(r.Context(), d); errors.Is(err, registry.ErrNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return d, h.store.linkBlob(r.Context(), repository, d)
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
	if err := h.store.linkBlob(r.Context(), repository, d); err != nil {
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

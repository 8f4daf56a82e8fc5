package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/secrets"
	"github.com/sluicegate/sluice/registry"
)

// maxErrorBytes of an error answer are read, so that its connection can be used again.
const maxErrorBytes = 64 << 10

// RemoteOptions configure a Remote.
type RemoteOptions struct {
	URL    string // scheme and host of the registry, such as https://control.example:7301. Required
	Client Doer   // Required; *http.Client is one
	// Prefix stands before the name of every repository. Default: none.
	Prefix string
	// KeepTags gives what is pushed without a tag one that is made of its digest: many
	// registries remove manifests without a tag when they collect.
	KeepTags bool
	// Authorize puts credentials on a request. It is called for every request, so
	// that a renewed token is used at once. nil: requests carry none.
	Authorize func(*http.Request)
}

// Doer sends requests.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Remote is a Backend that speaks to a registry over HTTP (OCI Distribution
// Specification 1.1): a node that pulls from its control plane. It sends
// credentials with every request and follows no redirect to another origin with
// them. It may be used by many goroutines.
type Remote struct {
	base      string
	prefix    string // "" or ends in a slash
	keepTags  bool
	client    Doer
	authorize func(*http.Request)
}

var _ Backend = (*Remote)(nil)

// NewRemote makes a Remote.
func NewRemote(o RemoteOptions) (*Remote, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, problem.New(problem.InvalidArgument, "the registry's address is not an http or https URL")
	}
	if o.Client == nil {
		return nil, errors.New("make a remote registry: no HTTP client is given")
	}
	if o.Authorize == nil {
		o.Authorize = func(*http.Request) {}
	}
	if o.Prefix != "" {
		if !registry.ValidRepository(o.Prefix) {
			return nil, problem.New(problem.InvalidArgument, "%.120q cannot stand before the names of repositories", o.Prefix)
		}
		o.Prefix += "/"
	}
	return &Remote{base: strings.TrimSuffix(o.URL, "/"), prefix: o.Prefix, keepTags: o.KeepTags, client: o.Client, authorize: o.Authorize}, nil
}

// Basic is an Authorize that sends a token as the password of HTTP Basic.
func Basic(user string, token func() secrets.Secret) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, token().Reveal()) }
}

// do sends a request and returns an answer with one of the wanted statuses. The
// caller closes its body.
func (r *Remote) do(ctx context.Context, method, target string, header http.Header, body []byte, want ...int) (*http.Response, error) {
	var rd io.Reader = http.NoBody
	if body != nil {
		rd = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, rd)
	if err != nil {
		return nil, fmt.Errorf("ask the registry: %w", err)
	}
	maps.Copy(req.Header, header)
	r.authorize(req)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the registry: %w", err)
	}
	if slices.Contains(want, resp.StatusCode) {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // its error says nothing that matters now
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBytes))
	switch resp.StatusCode {
	case http.StatusNotFound:
		return nil, registry.ErrNotFound
	case http.StatusUnauthorized:
		return nil, problem.New(problem.Unauthenticated, "the registry does not accept this node's credentials").
			Fix("log in to it where this node reads its credentials")
	case http.StatusForbidden:
		return nil, problem.New(problem.Forbidden, "the registry refuses this node access")
	}
	return nil, problem.New(problem.Unavailable, "the registry answered %d", resp.StatusCode)
}

// at is the URL of a repository.
func (r *Remote) at(repository string) string { return r.base + "/v2/" + r.prefix + repository + "/" }

// fetch reads one content.
func (r *Remote) fetch(ctx context.Context, kind, repository string, d registry.Digest, accept string, limit int64) ([]byte, error) {
	if !registry.ValidRepository(repository) || !d.Valid() {
		return nil, registry.ErrDigest
	}
	h := http.Header{}
	if accept != "" {
		h.Set("Accept", accept)
	}
	resp, err := r.do(ctx, http.MethodGet, r.at(repository)+kind+"/"+string(d), h, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	if resp.ContentLength > limit {
		return nil, problem.New(problem.TooLarge, "the registry would send %d bytes, the limit is %d", resp.ContentLength, limit)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read from the registry after %d bytes: %w", len(b), err)
	}
	if int64(len(b)) > limit {
		return nil, problem.New(problem.TooLarge, "the registry sent more than %d bytes", limit)
	}
	return b, nil
}

// FetchBlob implements [Backend].
func (r *Remote) FetchBlob(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	return r.fetch(ctx, "blobs", repository, d, "", limit)
}

// FetchManifest implements [Backend].
func (r *Remote) FetchManifest(ctx context.Context, repository string, d registry.Digest, limit int64) ([]byte, error) {
	return r.fetch(ctx, "manifests", repository, d, MediaTypeManifest, limit)
}

// PutBlob implements [Backend] with a monolithic upload (end-4a, end-6).
func (r *Remote) PutBlob(ctx context.Context, repository string, d registry.Digest, b []byte) error {
	at := r.at(repository) + "blobs/"
	if resp, err := r.do(ctx, http.MethodHead, at+string(d), nil, nil, http.StatusOK); err == nil {
		return resp.Body.Close()
	}
	resp, err := r.do(ctx, http.MethodPost, at+"uploads/", nil, []byte{}, http.StatusAccepted)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // empty
	to, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
	if err != nil || to.Host != resp.Request.URL.Host {
		return problem.New(problem.Unavailable, "the registry sends the upload to another place")
	}
	q := to.Query()
	q.Set("digest", string(d))
	to.RawQuery = q.Encode()
	h := http.Header{"Content-Type": {"application/octet-stream"}, "Content-Length": {strconv.Itoa(len(b))}}
	if resp, err = r.do(ctx, http.MethodPut, to.String(), h, b, http.StatusCreated); err != nil {
		return err
	}
	return resp.Body.Close()
}

// PutManifest implements [Backend].
func (r *Remote) PutManifest(ctx context.Context, repository, tag string, d registry.Digest, mediaType string, b []byte) error {
	reference := tag
	switch {
	case reference == "" && r.keepTags:
		reference = "keep-" + d.Hex()
	case reference == "":
		reference = string(d)
	}
	resp, err := r.do(ctx, http.MethodPut, r.at(repository)+"manifests/"+reference,
		http.Header{"Content-Type": {mediaType}}, b, http.StatusCreated)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Referrers implements [Backend] (end-12a), by the tag schema where the registry does
// not have the end point.
func (r *Remote) Referrers(ctx context.Context, repository string, subject registry.Digest) ([]registry.Digest, error) {
	if !registry.ValidRepository(repository) || !subject.Valid() {
		return nil, registry.ErrDigest
	}
	b, err := r.index(ctx, r.at(repository)+"referrers/"+string(subject))
	if errors.Is(err, registry.ErrNotFound) {
		b, err = r.index(ctx, r.at(repository)+"manifests/"+referrersTag(subject))
	}
	if err != nil {
		return nil, err
	}
	return listed(b), nil
}

// index fetches a list of manifests.
func (r *Remote) index(ctx context.Context, target string) ([]byte, error) {
	resp, err := r.do(ctx, http.MethodGet, target, http.Header{"Accept": {ocispec.MediaTypeImageIndex}}, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it matters
	b, err := io.ReadAll(io.LimitReader(resp.Body, MaxManifestBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read a list of manifests from the registry: %w", err)
	}
	if len(b) > MaxManifestBytes { // a part of it would read as none
		return nil, problem.New(problem.TooLarge, "the registry's list of manifests has more than %d bytes", MaxManifestBytes)
	}
	return b, nil
}

// ResolveTag implements [Backend].
func (r *Remote) ResolveTag(ctx context.Context, repository, tag string) (registry.Digest, error) {
	resp, err := r.do(ctx, http.MethodHead, r.at(repository)+"manifests/"+tag, http.Header{"Accept": {MediaTypeManifest}}, nil, http.StatusOK)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close() // empty
	d, err := registry.ParseDigest(resp.Header.Get("Docker-Content-Digest"))
	if err != nil {
		return "", problem.New(problem.Unavailable, "the registry does not say which manifest the tag names")
	}
	return d, nil
}

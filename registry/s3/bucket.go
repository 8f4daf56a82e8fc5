package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

const (
	// partBytes of a multipart upload. Larger contents go up in parts, so that a part
	// that fails is all that is sent again; smaller than 5 MiB S3 does not allow.
	partBytes = 16 << 20
	// putParallel is how many contents of one batch go up at a time.
	putParallel = 8
	// deleteParallel is how many contents of one batch are removed at a time.
	deleteParallel = 8
	// retries of a request that the store or the line failed.
	retries = 4
	// grain is what Last-Modified is exact to (RFC 9110 §5.6.7).
	grain = time.Second
	// staleAfter is how old an upload must be that a crash left over: none of what
	// fits the limits takes a day.
	staleAfter = 24 * time.Hour
)

// Options configure a Bucket.
type Options struct {
	Endpoint  string // URL of the store, scheme and host. Default: https://s3.<region>.amazonaws.com
	Bucket    string // Required; it must exist
	Prefix    string // put before every key, such as "sluice/"
	Region    string // Default: us-east-1
	PathStyle bool   // the bucket is in the path and not in the host name
	// CredentialsFile and Profile name shared credentials. Default: the access key of the
	// environment, as S3's own tools read it (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
	// AWS_SESSION_TOKEN), else AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, and
	// AWS_PROFILE or "default".
	CredentialsFile, Profile string
	Transport                http.RoundTripper // Required
	TempDir                  string            // for contents while they are checked. Default: the system's
}

// Validate reports everything that is wrong.
func (o *Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, problem.New(problem.InvalidArgument, format, args...))
	}
	if n := len(o.Bucket); n < 3 || n > 63 || strings.ContainsFunc(o.Bucket, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}) {
		bad("%.80q is not the name of a bucket: 3 to 63 lower-case letters, digits, hyphens and dots", o.Bucket)
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
			bad("the endpoint of the store is not an http or https URL of a host")
		}
	}
	if len(o.Prefix) > 512 || strings.HasPrefix(o.Prefix, "/") || strings.Contains(o.Prefix, "..") || strings.ContainsFunc(o.Prefix, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		bad("the prefix %.80q cannot be used: at most 512 printable characters, not beginning with a slash", o.Prefix)
	}
	if o.Transport == nil {
		errs = append(errs, errors.New("use a bucket: no transport is given"))
	}
	return errors.Join(errs...)
}

// Bucket keeps contents in a bucket.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string // of the keys of contents
	temp   string
	// locks keep a content from being removed at the moment it is made young, by the
	// first byte of its digest: pushes hold them for reading.
	locks [256]sync.RWMutex
}

var _ server.Content = (*Bucket)(nil)

// Open connects to a bucket and checks that it can be read. Uploads that a crash left
// over are removed.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Endpoint == "" {
		o.Endpoint = "https://s3." + o.Region + ".amazonaws.com"
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err)
	}
	lookup := minio.BucketLookupDNS
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	keys := o.credentials()
	if _, err := keys.GetWithContext(nil); err != nil {
		return nil, err
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds: keys, Secure: u.Scheme == "https", Transport: o.Transport, Region: o.Region, BucketLookup: lookup, MaxRetries: retries,
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", o.Bucket, err)
	}
	b := &Bucket{client: c, bucket: o.Bucket, prefix: o.Prefix + "blobs/sha256/", temp: o.TempDir}
	ok, err := c.BucketExists(ctx, o.Bucket)
	if err != nil {
		return nil, b.fault(err, "open the bucket")
	}
	if !ok {
		return nil, problem.New(problem.NotFound, "there is no bucket %s at %s", o.Bucket, u.Host).Fix("make it, or name another")
	}
	b.removeStale(ctx)
	return b, nil
}

// removeStale ends uploads in parts that nobody will finish: their parts cost space
// and nothing else, so a store that does not let us is none of our concern.
func (b *Bucket) removeStale(ctx context.Context) {
	core := minio.Core{Client: b.client}
	keyMarker, idMarker := "", ""
	for {
		list, err := core.ListMultipartUploads(ctx, b.bucket, b.prefix, keyMarker, idMarker, "", 1000)
		if err != nil {
			return
		}
		for _, u := range list.Uploads {
			if time.Since(u.Initiated) > staleAfter && strings.HasPrefix(u.Key, b.prefix) {
				_ = core.AbortMultipartUpload(ctx, b.bucket, u.Key, u.UploadID) // tried again at the next start
			}
		}
		if !list.IsTruncated || list.NextKeyMarker == keyMarker && list.NextUploadIDMarker == idMarker {
			return
		}
		keyMarker, idMarker = list.NextKeyMarker, list.NextUploadIDMarker
	}
}

func (b *Bucket) key(d registry.Digest) string { return b.prefix + d.Hex() }

func (b *Bucket) lock(d registry.Digest) *sync.RWMutex {
	n, _ := strconv.ParseUint(d.Hex()[:2], 16, 8) // a digest is hex
	return &b.locks[n]
}

// fault makes an error of the store one of ours. What the store says is left out:
// it may name hosts and keys.
func (b *Bucket) fault(err error, doing string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == minio.NoSuchKey || r.Code == "NotFound" || r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket:
		return registry.ErrNotFound
	case r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized || r.Code == "AccessDenied" || r.Code == "SignatureDoesNotMatch" || r.Code == "InvalidAccessKeyId":
		return problem.New(problem.Forbidden, "%s: the store refuses the credentials for %s (%.40s)", doing, b.bucket, r.Code).
			Fix("check the access key, its rights on the bucket, and this machine's clock").Because(err)
	}
	return problem.New(problem.Unavailable, "%s: the store of %s failed (%d %.40s)", doing, b.bucket, r.StatusCode, r.Code).Because(err)
}

// get opens the object of d for reading, unchecked.
func (b *Bucket) get(ctx context.Context, d registry.Digest) (io.ReadCloser, minio.ObjectInfo, error) {
	if !d.Valid() {
		return nil, minio.ObjectInfo{}, registry.ErrDigest
	}
	core := minio.Core{Client: b.client}
	body, info, _, err := core.GetObject(ctx, b.bucket, b.key(d), minio.GetObjectOptions{})
	if err != nil {
		return nil, info, fmt.Errorf("%s: %w", d, b.fault(err, "read"))
	}
	return body, info, nil
}

// Fetch implements [server.ContentReader].
func (b *Bucket) Fetch(ctx context.Context, d registry.Digest, limit int64) ([]byte, error) {
	body, info, err := b.get(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // only read
	if info.Size > limit {
		return nil, problem.New(problem.TooLarge, "the content %s has %d bytes, the limit is %d", d.Short(), info.Size, limit)
	}
	data := make([]byte, info.Size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", d, b.fault(err, "read"))
	}
	return data, nil
}

// Verify implements [server.ContentReader].
func (b *Bucket) Verify(ctx context.Context, d registry.Digest) error {
	return b.copyTo(ctx, d, io.Discard)
}

// copyTo copies the content of d and checks its hash at the end.
func (b *Bucket) copyTo(ctx context.Context, d registry.Digest, w io.Writer) error {
	body, _, err := b.get(ctx, d)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), body); err != nil {
		return fmt.Errorf("read %s: %w", d, b.fault(err, "read"))
	}
	if registry.DigestOfSum(h.Sum(nil)) != d {
		return fmt.Errorf("%s: %w", d, registry.ErrCorrupt)
	}
	return nil
}

// Open implements [server.ContentReader]: the content is in a file without a name
// while it is read.
func (b *Bucket) Open(ctx context.Context, d registry.Digest) (io.ReadSeekCloser, error) {
	if !d.Valid() {
		return nil, registry.ErrDigest
	}
	f, err := os.CreateTemp(b.temp, "sluice-content-")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d, err)
	}
	t := &tempFile{f}
	err = b.copyTo(ctx, d, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = t.Close() // err says why
		return nil, err
	}
	return t, nil
}

// tempFile is removed when it is closed.
type tempFile struct{ *os.File }

func (t *tempFile) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// Size implements [server.ContentReader].
func (b *Bucket) Size(ctx context.Context, d registry.Digest) (int64, error) {
	info, err := b.stat(ctx, d)
	return info.Size, err
}

func (b *Bucket) stat(ctx context.Context, d registry.Digest) (minio.ObjectInfo, error) {
	if !d.Valid() {
		return minio.ObjectInfo{}, registry.ErrDigest
	}
	info, err := b.client.StatObject(ctx, b.bucket, b.key(d), minio.StatObjectOptions{})
	if err != nil {
		return info, fmt.Errorf("%s: %w", d, b.fault(err, "look for a content"))
	}
	return info, nil
}

// Put implements [server.ContentWriter].
func (b *Bucket) Put(ctx context.Context, blobs ...server.Blob) error {
	for _, x := range blobs {
		if !x.Digest.Matches(x.Data) {
			return fmt.Errorf("put %.80s: %w", x.Digest, registry.ErrCorrupt)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(putParallel)
	for _, x := range blobs {
		g.Go(func() error {
			return b.put(ctx, x.Digest, bytes.NewReader(x.Data), int64(len(x.Data)))
		})
	}
	return g.Wait()
}

// put stores what r holds, n bytes that are known to have the digest. The hash of all
// that is sent is signed with each request, and the store compares it.
func (b *Bucket) put(ctx context.Context, d registry.Digest, r io.ReaderAt, n int64) error {
	l := b.lock(d)
	l.RLock()
	defer l.RUnlock()
	core := minio.Core{Client: b.client}
	var err error
	if n <= partBytes {
		_, err = core.PutObject(ctx, b.bucket, b.key(d), io.NewSectionReader(r, 0, n), n, "", d.Hex(), putOptions)
	} else {
		err = b.putParts(ctx, d, r, n)
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", d.Short(), b.fault(err, "write"))
	}
	return nil
}

// putOptions: the digest of the whole body stands in for digests of pieces of it.
var putOptions = minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}

// putParts is put in parts. Nothing is seen of it before the last request.
func (b *Bucket) putParts(ctx context.Context, d registry.Digest, r io.ReaderAt, n int64) error {
	core := minio.Core{Client: b.client}
	id, err := core.NewMultipartUpload(ctx, b.bucket, b.key(d), putOptions)
	if err != nil {
		return err
	}
	var parts []minio.CompletePart
	for at := int64(0); at < n && err == nil; at += partBytes {
		part := io.NewSectionReader(r, at, min(partBytes, n-at))
		h := sha256.New()
		if _, err = io.Copy(h, part); err != nil {
			break
		}
		if _, err = part.Seek(0, io.SeekStart); err != nil {
			break
		}
		var done minio.ObjectPart
		done, err = core.PutObjectPart(ctx, b.bucket, b.key(d), id, len(parts)+1, part, part.Size(),
			minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(h.Sum(nil)), DisableContentSha256: true})
		parts = append(parts, minio.CompletePart{PartNumber: done.PartNumber, ETag: done.ETag})
	}
	if err == nil {
		_, err = core.CompleteMultipartUpload(ctx, b.bucket, b.key(d), id, parts, putOptions)
	}
	if err != nil { // what stays costs space, until the next start
		_ = core.AbortMultipartUpload(context.WithoutCancel(ctx), b.bucket, b.key(d), id)
	}
	return err
}

// PutReader implements [server.ContentWriter]: what arrives is in a file until its
// digest is known.
func (b *Bucket) PutReader(ctx context.Context, d registry.Digest, r io.Reader) error {
	if !d.Valid() {
		return registry.ErrDigest
	}
	f, err := os.CreateTemp(b.temp, "sluice-content-")
	if err != nil {
		return fmt.Errorf("put %s: %w", d, err)
	}
	t := &tempFile{f}
	defer func() { _ = t.Close() }() // a file nobody needs
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, server.MaxBlobBytes+1))
	if err != nil {
		return fmt.Errorf("put %s: %w", d, err)
	}
	if n > server.MaxBlobBytes {
		return problem.New(problem.TooLarge, "the blob has more than %d bytes", server.MaxBlobBytes)
	}
	if registry.DigestOfSum(h.Sum(nil)) != d {
		return fmt.Errorf("put %s (%d bytes received): %w", d, n, registry.ErrCorrupt)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("put %s: %w", d, err)
	}
	return b.put(ctx, d, f, n)
}

// Keep implements [server.ContentKeeper]: an object that is copied onto itself is young.
func (b *Bucket) Keep(ctx context.Context, d registry.Digest) (bool, error) {
	if !d.Valid() {
		return false, registry.ErrDigest
	}
	l := b.lock(d)
	l.RLock()
	defer l.RUnlock()
	_, err := b.client.CopyObject(ctx,
		minio.CopyDestOptions{Bucket: b.bucket, Object: b.key(d), ReplaceMetadata: true, UserMetadata: map[string]string{"Content-Type": "application/octet-stream"}},
		minio.CopySrcOptions{Bucket: b.bucket, Object: b.key(d)})
	if err = b.fault(err, "keep a content"); errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// OlderThan implements [server.ContentKeeper].
func (b *Bucket) OlderThan(ctx context.Context, d registry.Digest, t time.Time) (bool, error) {
	info, err := b.stat(ctx, d)
	if errors.Is(err, registry.ErrNotFound) {
		return true, nil
	}
	return err == nil && info.LastModified.Add(grain).Before(t), err
}

// DeleteOld implements [server.ContentKeeper]. What is near a content that is being
// pushed stays until the next collection.
func (b *Bucket) DeleteOld(ctx context.Context, t time.Time, all ...registry.Digest) ([]registry.Digest, error) {
	removed := make([]bool, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deleteParallel)
	for i, d := range all {
		g.Go(func() (err error) {
			removed[i], err = b.deleteOld(ctx, d, t)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var gone []registry.Digest
	for i, d := range all {
		if removed[i] {
			gone = append(gone, d)
		}
	}
	return gone, nil
}

func (b *Bucket) deleteOld(ctx context.Context, d registry.Digest, t time.Time) (bool, error) {
	if !d.Valid() {
		return false, registry.ErrDigest
	}
	l := b.lock(d)
	if !l.TryLock() {
		return false, nil
	}
	defer l.Unlock()
	if old, err := b.OlderThan(ctx, d, t); err != nil || !old {
		return false, err
	}
	err := b.client.RemoveObject(ctx, b.bucket, b.key(d), minio.RemoveObjectOptions{})
	if err = b.fault(err, "remove a content"); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return false, err
	}
	return true, nil
}

// Walk implements [server.ContentKeeper].
func (b *Bucket) Walk(ctx context.Context, fn func(d registry.Digest, size int64, modified time.Time) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
		if o.Err != nil {
			return b.fault(o.Err, "list the contents")
		}
		d, err := registry.ParseDigest("sha256:" + strings.TrimPrefix(o.Key, b.prefix))
		if err != nil {
			continue // somebody else's object
		}
		if err := fn(d, o.Size, o.LastModified); err != nil {
			return err
		}
	}
	return nil
}

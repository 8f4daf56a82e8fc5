package artifacts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicegate/sluice/cmd/internal/datadir"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/s3"
	"github.com/sluicegate/sluice/registry/server"
)

// contentFile, in the registry's directory, says where its contents are when they are
// not in it: a control plane that is started without its bucket would miss them.
const contentFile = "content"

// openEmbedded opens the embedded registry of a data directory, with its contents at
// blobs, an s3 URL; "" is the directory. Contents that are in the directory when a
// bucket is named for the first time are copied there.
func (o Opener) openEmbedded(ctx context.Context, dir, blobs string) (*server.Store, error) {
	known, err := contentOf(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(known, externalScheme):
		return nil, problem.New(problem.InvalidArgument, "the artifacts of this control plane are at %s", known).Fix("start with --registry '%s'", known)
	case blobs == "" && known != "":
		return nil, problem.New(problem.InvalidArgument, "the contents of this registry are at %s", known).Fix("start with --blobs '%s'", known)
	case blobs == "":
		return server.Open(server.Options{Dir: dir, Free: datadir.Free})
	case known != "" && bucketOf(known) != bucketOf(blobs):
		return nil, problem.New(problem.Conflict, "the contents of this registry are at %s, not at %s", bucketOf(known), bucketOf(blobs)).
			Fix("copy them there with a tool of the store, then write the new URL into %s", filepath.Join(dir, contentFile))
	}
	bucket, err := o.openBucket(ctx, blobs)
	if err != nil {
		return nil, err
	}
	if known == "" {
		if err := o.moveContents(ctx, dir, bucket); err != nil {
			return nil, err
		}
	}
	if known != blobs {
		if err := remember(dir, blobs); err != nil {
			return nil, err
		}
	}
	return server.Open(server.Options{Dir: dir, Content: bucket, Free: datadir.Free})
}

// contentOf is where the contents of a registry are; "" in its directory.
func contentOf(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, contentFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find where the contents of the registry are: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// bucketOf is the part of an s3 URL that says which contents are meant.
func bucketOf(blobs string) string {
	blobs, _, _ = strings.Cut(blobs, "?")
	return strings.TrimSuffix(blobs, "/")
}

// moveContents copies what is in the directory into a bucket. The directory stays as
// it was: an operator removes it when the bucket is known to be good.
func (o Opener) moveContents(ctx context.Context, dir string, to server.Content) error {
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	from, err := server.OpenBlobs(dir, nil)
	if err != nil {
		return err
	}
	n, size := 0, int64(0)
	err = from.Walk(ctx, func(d registry.Digest, bytes int64, _ time.Time) error {
		f, err := from.Open(ctx, d)
		if errors.Is(err, registry.ErrCorrupt) {
			logger.LogAttrs(ctx, slog.LevelWarn, "content is damaged and was not copied into the bucket", slog.String("digest", string(d)))
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		n, size = n+1, size+bytes
		return to.PutReader(ctx, d, f)
	})
	if err != nil {
		return fmt.Errorf("copy the contents of the registry into the bucket: %w", err)
	}
	if n > 0 {
		logger.LogAttrs(ctx, slog.LevelInfo, "contents copied into the bucket", slog.Int("contents", n), slog.Int64("bytes", size))
	}
	return nil
}

// openBucket opens the bucket of an s3 URL.
func (o Opener) openBucket(ctx context.Context, blobs string) (*s3.Bucket, error) {
	bucket, err := parseBucket(blobs)
	if err != nil {
		return nil, err
	}
	bucket.Transport = o.Client.Transport
	return s3.Open(ctx, bucket)
}

// parseBucket reads s3://BUCKET/PREFIX?endpoint=URL&region=R&path-style=true&profile=P&credentials-file=F.
func parseBucket(text string) (s3.Options, error) {
	var o s3.Options
	bad := func(format string, args ...any) (s3.Options, error) {
		return s3.Options{}, problem.New(problem.InvalidArgument, "--blobs: "+format, args...).
			Fix("write it as s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Port() != "" || u.Fragment != "" {
		return bad("%.200q is not an s3 URL", bucketOf(text))
	}
	if u.User != nil {
		return bad("credentials do not belong in the URL; they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a credentials file")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("what follows the question mark cannot be read")
	}
	o.Bucket, o.Prefix = u.Host, strings.Trim(u.Path, "/")
	if o.Prefix != "" {
		o.Prefix += "/"
	}
	insecure := false
	for name, values := range q {
		v := values[len(values)-1]
		switch name {
		case "endpoint":
			o.Endpoint = v
		case "region":
			o.Region = v
		case "profile":
			o.Profile = v
		case "credentials-file":
			o.CredentialsFile = v
		case "path-style", "insecure":
			if v != "true" && v != "false" {
				return bad("%s is true or false", name)
			}
			if name == "insecure" {
				insecure = v == "true"
			} else {
				o.PathStyle = v == "true"
			}
		default:
			return bad("%.80q is not one of endpoint, region, path-style, profile, credentials-file, insecure", name)
		}
	}
	if e, err := url.Parse(o.Endpoint); err == nil && e.Scheme == "http" && !insecure && !safedial.Loopback(e.Hostname()) {
		return bad("the store %.200q would be reached without TLS; use https, or say insecure=true", e.Host)
	}
	return o, nil
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
)

// maxFetchedFile bounds a file that an agent names by URL: what multipart uploads of real
// APIs take in one request.
const maxFetchedFile = 16 << 20

// files gets files that agents name by URL. Agents choose these addresses,
// so that its dialer has none of the grants that the operator gave: public
// addresses only.
type files struct {
	http  *http.Client
	agent string
}

var _ call.Files = files{}

func newFiles(agent string) (files, error) {
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		return files{}, fmt.Errorf("making the fetcher of files: %w", err)
	}
	return files{safehttp.NewClient(d), agent}, nil
}

// FetchFile implements [call.Files].
func (f files) FetchFile(ctx context.Context, target string) (data []byte, mediaType, filename string, err error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, "", "", errors.New("it is not an http or https URL without credentials")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, "", "", errors.New("it is not a URL")
	}
	req.Header.Set("User-Agent", f.agent)
	res, err := f.http.Do(req)
	if err != nil {
		if p := problem.As(err); p != nil {
			return nil, "", "", errors.New(p.Detail)
		}
		return nil, "", "", errors.New("the host does not answer")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, "", "", fmt.Errorf("the host answered %d", res.StatusCode)
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, maxFetchedFile+1))
	if err != nil {
		return nil, "", "", errors.New("the transfer ended early")
	}
	if len(data) > maxFetchedFile {
		return nil, "", "", fmt.Errorf("it has more than %d MiB", maxFetchedFile>>20)
	}
	if filename = path.Base(u.Path); filename == "/" || filename == "." || strings.ContainsFunc(filename, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		filename = ""
	}
	return data, res.Header.Get("Content-Type"), filename, nil
}

// specifications fetches specifications for the admin API, through the same guarded
// dialer as calls.
type specifications struct {
	http  *http.Client
	agent string
}

var _ source.Fetcher = specifications{}

// Fetch implements [source.Fetcher].
func (f specifications) Fetch(ctx context.Context, in source.FetchRequest) (source.Document, error) {
	name, limit := safehttp.Redact(in.URL), in.Limit
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, http.NoBody)
	if err != nil {
		return source.Document{}, problem.New(problem.InvalidArgument, "%q is not a URL", name).Because(err)
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", f.agent)
	conditional := in.Since != (source.Validators{})
	if in.Since.ETag != "" {
		req.Header.Set("If-None-Match", in.Since.ETag)
	} else if conditional {
		req.Header.Set("If-Modified-Since", in.Since.LastModified)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return source.Document{}, fetchError(name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && conditional {
		return source.Document{URL: resp.Request.URL.String(), Validators: in.Since, NotModified: true}, nil
	}
	if resp.StatusCode != http.StatusOK {
		return source.Document{}, problem.New(problem.UpstreamStatus, "%s answered %d %s", name, resp.StatusCode, http.StatusText(resp.StatusCode)).
			Fix("check the URL; a page that needs a login must be downloaded and added as a file")
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return source.Document{}, fetchError(name, err)
	}
	if int64(len(b)) > limit {
		return source.Document{}, problem.New(problem.UpstreamTooLarge, "%s has more than %s", name, fmt.Sprintf("%.1f MiB", float64(limit)/(1<<20))).Fix("split the specification")
	}
	v := source.Validators{ETag: validator(resp.Header.Get("ETag")), LastModified: validator(resp.Header.Get("Last-Modified"))}
	return source.Document{Data: b, URL: resp.Request.URL.String(), Validators: v}, nil
}

// validator keeps a header value that is sent back later short.
func validator(s string) string {
	const longest = 256 // more than any server writes
	if len(s) > longest {
		return ""
	}
	return s
}

func fetchError(name string, err error) error {
	if p := problem.As(err); p != nil {
		return problem.New(p.Kind, "%s cannot be fetched: %s", name, p.Detail).Fix("%s", p.Remedy).Because(err)
	}
	var uerr *url.Error
	if errors.As(err, &uerr) && uerr.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return problem.New(problem.Timeout, "%s did not answer in time", name).Fix("try again, or download it and add the file").Because(err)
	}
	return problem.New(problem.Unreachable, "%s cannot be fetched", name).Fix("check the URL and the network, or download it and add the file").Because(err)
}

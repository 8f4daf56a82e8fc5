package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/sluicegate/sluice/cmd/internal/terminal"
	"github.com/sluicegate/sluice/gateway/call"
	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/internal/safedial"
	"github.com/sluicegate/sluice/internal/safehttp"
)

// maxFetchedFile bounds a file that an agent names by URL: what multipart uploads of real
// APIs take in one request.
const maxFetchedFile = 16 << 20

// fileFetcher gets files that agents name by URL. Agents choose these addresses,
// so that its dialer has none of the grants that the operator gave: public
// addresses only.
type fileFetcher struct{ http *http.Client }

var _ call.Files = fileFetcher{}

func newFileFetcher() (fileFetcher, error) {
	d, err := safedial.New(safedial.Options{})
	if err != nil {
		return fileFetcher{}, fmt.Errorf("making the fetcher of files: %w", err)
	}
	return fileFetcher{safehttp.NewClient(d)}, nil
}

// FetchFile implements [call.Files].
func (f fileFetcher) FetchFile(ctx context.Context, target string) (data []byte, mediaType, filename string, err error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, "", "", errors.New("it is not an http or https URL without credentials")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, "", "", errors.New("it is not a URL")
	}
	req.Header.Set("User-Agent", "sluice/"+versionOrDevel())
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
		return nil, "", "", errors.New("it ended before its time")
	}
	if len(data) > maxFetchedFile {
		return nil, "", "", fmt.Errorf("it has more than %s", terminal.ByteSize(maxFetchedFile))
	}
	if filename = path.Base(u.Path); filename == "/" || filename == "." || strings.ContainsFunc(filename, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		filename = ""
	}
	return data, res.Header.Get("Content-Type"), filename, nil
}

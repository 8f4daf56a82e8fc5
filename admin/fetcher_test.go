package admin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/sluicegate/sluice/admin/catalog/source"
	"github.com/sluicegate/sluice/internal/problem"
)

// fetcher gets specifications with net/http, and fails when told to.
type fetcher struct {
	mu   sync.Mutex
	docs map[string]string // guarded by mu
	// asked are the requests so far; guarded by mu.
	asked []source.FetchRequest
	// meanwhile is called once, while the next document is read; guarded by mu.
	meanwhile func()
}

func (f *fetcher) put(url, doc string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.docs[url] = doc
}

// during has f called while the next document is read.
func (f *fetcher) during(meanwhile func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.meanwhile = meanwhile
}

// count is how many documents were read.
func (f *fetcher) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// Fetch answers with a hash of the document as its ETag.
func (f *fetcher) Fetch(_ context.Context, in source.FetchRequest) (source.Document, error) {
	f.mu.Lock()
	meanwhile := f.meanwhile
	f.meanwhile = nil
	f.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	doc, ok := f.docs[in.URL]
	if !ok {
		return source.Document{}, problem.New(problem.Unreachable, "%s cannot be reached", in.URL).Fix("check the address")
	}
	f.asked = append(f.asked, in)
	sum := sha256.Sum256([]byte(doc))
	v := source.Validators{ETag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	if in.Since.ETag == v.ETag {
		return source.Document{URL: in.URL, Validators: v, NotModified: true}, nil
	}
	return source.Document{Data: []byte(doc), URL: in.URL, Validators: v}, nil
}

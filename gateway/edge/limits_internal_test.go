package edge

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfTheCacheAreBounded: a file that was made larger is not read into memory.
func TestFilesOfTheCacheAreBounded(t *testing.T) {
	for _, c := range []struct {
		file  string
		limit int
		read  func(dir string) error
	}{
		{fileIdentity, maxIdentityBytes, func(dir string) error { _, err := readIdentity(dir); return err }},
		{fileRatchet, maxRatchetBytes, func(dir string) error { _, err := (&cache{dir: dir}).remembered("main"); return err }},
	} {
		for over := range 2 {
			dir := t.TempDir()
			doc := "{}" + strings.Repeat(" ", c.limit-2+over)
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(doc), 0o600); err != nil {
				t.Fatal(err)
			}
			// The document lacks its fields: what fits is refused for that.
			err := c.read(dir)
			for cause := err; cause != nil; {
				err = cause
				u, ok := cause.(interface{ Unwrap() error })
				if !ok {
					break
				}
				cause = u.Unwrap()
			}
			if err == nil || strings.Contains(err.Error(), "larger than") != (over == 1) {
				t.Errorf("%s of %d bytes: %v", c.file, len(doc), err)
			}
		}
	}
}

// TestProblemOfControlPlaneIsBounded: an error answer is read up to its limit.
func TestProblemOfControlPlaneIsBounded(t *testing.T) {
	const head, tail = `{"code":"conflict","detail":"said"`, `}`
	for over := range 2 {
		body := head + strings.Repeat(" ", maxProblemBytes-len(head)-len(tail)+over) + tail
		err := problemIn(&http.Response{StatusCode: http.StatusConflict, Body: io.NopCloser(strings.NewReader(body))})
		if got := strings.Contains(err.Error(), "said"); got != (over == 0) {
			t.Errorf("an error answer of %d bytes: %v", len(body), err)
		}
	}
}

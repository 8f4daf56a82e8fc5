package edge

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/atomicfile"
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

// TestPacksAreBounded: a pack may have maxPackBytes and not one more, which is known before
// any of it is written. The contents share their memory.
func TestPacksAreBounded(t *testing.T) {
	const each = 8 << 20
	shared := make([]byte, each)
	var contents []content
	left := int64(maxPackBytes - len(packMagic))
	for i := 0; left > 0; i++ {
		n := min(left-packHeader, each)
		if left-packHeader-n > 0 && left-packHeader-n < packHeader { // room for another header
			n -= packHeader
		}
		contents = append(contents, content{digest: sum{byte(i), byte(i >> 8)}.digest(), data: shared[:n]})
		left -= packHeader + n
	}
	if n, err := packSize(contents); n != maxPackBytes || err != nil {
		t.Fatalf("at the limit: %d, %v", n, err)
	}
	last := &contents[len(contents)-1]
	last.data = shared[:len(last.data)+1]
	dir := t.TempDir()
	p, err := openPacks(dir, atomicfile.OS)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.add(contents); err == nil || !strings.Contains(err.Error(), "more than a pack holds") {
		t.Errorf("one byte more: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
}

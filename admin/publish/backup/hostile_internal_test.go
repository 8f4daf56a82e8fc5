package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicegate/sluice/internal/problem"
	"github.com/sluicegate/sluice/registry"
	"github.com/sluicegate/sluice/registry/server"
)

// entry is an entry of an archive. The body may be shorter than the header says.
func entry(t *testing.T, h *tar.Header, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if h.Typeflag == 0 {
		h.Typeflag = tar.TypeReg
	}
	h.Mode = 0o600
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if n := len(body) % 512; n > 0 && int64(len(body)) == h.Size {
		_, _ = b.Write(make([]byte, 512-n))
	}
	return b.Bytes()
}

// sparseEntry is a file of one byte and a hole. archive/tar reads such entries and writes none.
func sparseEntry(t *testing.T, name string, size int64) []byte {
	t.Helper()
	records := ""
	for _, kv := range []string{"major=0", "minor=1", "name=" + name, "size=" + strconv.FormatInt(size, 10), "numblocks=1", "map=0,1"} {
		text := " GNU.sparse." + kv + "\n"
		n := len(text) + 2 // the length counts its own two digits
		records += strconv.Itoa(n) + text
	}
	extended := entry(t, &tar.Header{Name: "x", Size: int64(len(records))}, records)
	extended[156] = tar.TypeXHeader
	sum := 0
	copy(extended[148:156], "        ") // the sum is of a header without it
	for _, c := range extended[:512] {
		sum += int(c)
	}
	copy(extended[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return append(extended, entry(t, &tar.Header{Name: name, Size: 1}, "x")...)
}

// TestHostileArchives: an archive that somebody else made for the key of a recipient, which
// is no secret, writes nothing outside of the directory, and no more than it brings.
func TestHostileArchives(t *testing.T) {
	restore := func(archive []byte) (written int64, err error) {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		s := &restorer{ctx: t.Context(), root: root, tar: tar.NewReader(bytes.NewReader(archive)), hash: sha256.New(), out: &staged{}}
		h, err := s.next()
		if err == nil {
			err = s.file(h)
		}
		if werr := fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
			if info, ierr := d.Info(); ierr == nil && info.Mode().IsRegular() {
				written += info.Size()
			}
			return err
		}); werr != nil {
			t.Fatal(werr)
		}
		return written, err
	}
	refused := func(name string, archive []byte) {
		t.Helper()
		if n, err := restore(archive); !problem.Is(err, problem.InvalidArgument) || n > 10 {
			t.Errorf("%s: %d bytes are restored, %v", name, n, err)
		}
	}
	for _, at := range []string{"../keys/x", "keys/../../x", "/etc/x", "keys/../x", "registry/../../../x", "keys//x", "keys/./x", "sluice.db", "x", "keys", "registry", ".restore"} {
		n, err := restore(entry(t, &tar.Header{Name: at, Size: 1}, "x"))
		if err == nil {
			t.Errorf("%s: %d bytes are restored", at, n)
		}
	}
	refused("symlink", entry(t, &tar.Header{Name: "keys/x", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, ""))
	refused("link", entry(t, &tar.Header{Name: "keys/x", Typeflag: tar.TypeLink, Linkname: "../x"}, ""))
	refused("directory", entry(t, &tar.Header{Name: "keys/x/", Typeflag: tar.TypeDir}, ""))
	refused("fifo", entry(t, &tar.Header{Name: "keys/x", Typeflag: tar.TypeFifo}, ""))
	refused("sparse file", sparseEntry(t, "registry/x", 20<<20))
	refused("sparse key", sparseEntry(t, "keys/x", 10))
	refused("large key", entry(t, &tar.Header{Name: "keys/x", Size: maxKeyFileBytes + 1}, ""))
	refused("large content", entry(t, &tar.Header{Name: dirContents + "/x", Size: server.MaxBlobBytes + 1}, ""))
	refused("other content", entry(t, &tar.Header{Name: dirContents + "/" + strings.Repeat("0", 64), Size: 1}, "x"))
	refused("cut", entry(t, &tar.Header{Name: "keys/x", Size: 10}, "abc"))

	if n, err := restore(entry(t, &tar.Header{Name: "keys/x", Size: maxKeyFileBytes}, strings.Repeat("k", maxKeyFileBytes))); n != maxKeyFileBytes || err != nil {
		t.Errorf("the largest key: %d bytes, %v", n, err)
	}
	if n, err := restore(entry(t, &tar.Header{Name: dirContents + "/" + registry.DigestOf([]byte("x")).Hex(), Size: 1}, "x")); n != 1 || err != nil {
		t.Errorf("a content: %d bytes, %v", n, err)
	}
}

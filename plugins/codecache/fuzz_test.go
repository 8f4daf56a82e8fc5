package codecache

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// FuzzFiles: whatever is in the directory in the place of code and its checksum, the module is
// compiled again and does what it did, or its code is what it was.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	c, err := Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close(f.Context()) })
	var code, check []byte
	var name string
	f.Add([]byte(""), []byte(""))
	f.Add([]byte("WAZERO"), []byte("00000000 6\n"))
	f.Add([]byte("WAZERO"), []byte(""))
	f.Fuzz(func(t *testing.T, text, checksum []byte) {
		if name == "" {
			if got, err := run(t, c); err != nil || got != 42 {
				t.Fatal(got, err)
			}
			all := files(t, c)
			if len(all) != 1 {
				t.Fatal(all)
			}
			var err error
			if name, err = filepath.Rel(dir, all[0]); err != nil {
				t.Fatal(err)
			}
			if code, err = os.ReadFile(all[0]); err != nil {
				t.Fatal(err)
			}
			if check, err = os.ReadFile(all[0] + sumEnding); err != nil {
				t.Fatal(err)
			}
		}
		try := func(text, checksum []byte) {
			t.Helper()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, b := range map[string][]byte{path: text, path + sumEnding: checksum} {
				if err := os.WriteFile(name, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := run(t, open(t, dir)); err != nil || got != 42 {
				t.Fatalf("%q with the checksum %q: %d, %v", text, checksum, got, err)
			}
		}
		own := fmt.Sprintf("%08x %d\n", crc32.Checksum(text, castagnoli), len(text))
		if string(checksum) == string(check) || string(checksum) == own || string(check) == own {
			return // no accident
		}
		try(code, checksum)
		try(text, checksum)
		try(text, check)
	})
}

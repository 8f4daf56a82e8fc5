package tlsfiles

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluice/internal/tlsfiles/tlsfilestest"
)

// TestBounds: of the size of a file and the length of a chain, at the limit and past it.
func TestBounds(t *testing.T) {
	issued, dir := tlsfilestest.Must(t, "authority").Must(t, time.Hour, "a.example"), t.TempDir()
	cert, key := issued.Write(t, dir, "gw")
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"chain at the limit":  {bytes.Repeat(issued.Certificate, maxChain), ""},
		"chain past it":       {bytes.Repeat(issued.Certificate, maxChain+1), "11 certificates, more than 10"},
		"a file at the limit": {append(bytes.Repeat([]byte("\n"), maxFileBytes-len(issued.Certificate)), issued.Certificate...), ""},
		"a file past it":      {append(bytes.Repeat([]byte("\n"), maxFileBytes-len(issued.Certificate)+1), issued.Certificate...), "larger than 1048576 bytes"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "gw.pem"), c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Leaf(Options{Files: Files{Certificate: cert, Key: key}, Name: "the gateway"})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

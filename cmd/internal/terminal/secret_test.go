package terminal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicegate/sluice/cmd/internal/terminal"
)

// TestReadSecretFile: a key is one line; what is PEM is all of it, as one line.
func TestReadSecretFile(t *testing.T) {
	for text, want := range map[string]string{
		"key\n":           "key",
		" key \r\nmore\n": "key",
		"-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n":       `-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----`,
		"-----BEGIN PRIVATE KEY-----\r\nabc\r\n-----END PRIVATE KEY-----\r\n": `-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----`,
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := new(terminal.Terminal).ReadSecretFile(path)
		if err != nil || got.Reveal() != want {
			t.Errorf("%q: %q, %v, want %q", text, got.Reveal(), err, want)
		}
	}
}

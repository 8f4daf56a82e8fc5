package secrets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMaxWrapped: a wrapped key as long is taken, a character more is not.
func TestMaxWrapped(t *testing.T) {
	for n, ok := range map[int]bool{maxWrapped: true, maxWrapped + 1: false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "kek")
		// The key of the request is kept beside it, and given back.
		text := fmt.Sprintf(`#!/bin/sh
read in
case $in in
*unwrap*) printf '{"key":"%%s"}' "$(cat %q)" ;;
*) printf '%%s' "$in" | sed 's/.*"key":"\([^"]*\)".*/\1/' >%q; printf '{"wrapped":"%s"}' ;;
esac
`, filepath.Join(dir, "key"), filepath.Join(dir, "key"), strings.Repeat("w", n))
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		wrapped, err := (&Command{Args: []string{path}}).wrap(make([]byte, 32))
		if (err == nil) != ok || ok && len(wrapped) != n {
			t.Errorf("%d characters: %d, %v", n, len(wrapped), err)
		}
	}
}

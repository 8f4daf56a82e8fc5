package secrets

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeysAreBounded: a keyring holds no more keys than wait for re-wrapping.
func TestKeysAreBounded(t *testing.T) {
	for over := range 2 {
		var text strings.Builder
		for i := range maxKeys + over {
			key := sha256.Sum256(fmt.Append(nil, i))
			text.WriteString(base64.StdEncoding.EncodeToString(key[:]) + "\n")
		}
		if list, err := parseKeys(text.String()); (err == nil) != (over == 0) {
			t.Errorf("%d of %d keys: %v", len(list), maxKeys+over, err)
		}
		wrapped := fmt.Sprintf(`{"format":%q,"version":1,"keys":[%s{}]}`, wrappedFormat, strings.Repeat("{},", maxKeys+over-1))
		if _, ok := parseWrapped([]byte(wrapped)); ok != (over == 0) {
			t.Errorf("%d wrapped keys: %v", maxKeys+over, ok)
		}
	}
}

// TestKeyFilesAreBounded: a file that holds something else is not read into memory.
func TestKeyFilesAreBounded(t *testing.T) {
	for over := range 2 {
		path := filepath.Join(t.TempDir(), "keys")
		write := func(n int) {
			t.Helper()
			if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(maxKeyFile + over)
		if text, err := readKeyFile(path); (err == nil) != (over == 0) {
			t.Errorf("a key file of %d bytes: %d are read, %v", maxKeyFile+over, len(text), err)
		}
		write(maxWrappedFile + over)
		if b, err := readWrapped(path); (err == nil) != (over == 0) {
			t.Errorf("a file of wrapped keys of %d bytes: %d are read, %v", maxWrappedFile+over, len(b), err)
		}
	}
}

// TestOutputOfCommandIsBounded guards what is kept of the command that wraps keys.
func TestOutputOfCommandIsBounded(t *testing.T) {
	for over := range 2 {
		var c capped
		for range 2 { // an answer may come in parts
			n := (maxCommandOutput + over) / 2
			if len(c.b) > 0 {
				n = maxCommandOutput + over - n
			}
			if _, err := c.Write(make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.b) != maxCommandOutput || c.more != (over == 1) {
			t.Errorf("%d of %d bytes are kept, more: %v", len(c.b), maxCommandOutput+over, c.more)
		}
	}
}

// TestSealedTextIsBounded guards the largest answer that is sealed.
func TestSealedTextIsBounded(t *testing.T) {
	key := sha256.Sum256(nil)
	k, err := Parse(New(base64.StdEncoding.EncodeToString(key[:])))
	if err != nil {
		t.Fatal(err)
	}
	for over := range 2 {
		_, err := k.SealBytes(Record{Key: "k", Version: 1}, make([]byte, MaxSealedText+over))
		if over == 0 && err != nil || over == 1 && !errors.Is(err, ErrTooLarge) {
			t.Errorf("a text of %d bytes: %v", MaxSealedText+over, err)
		}
	}
}

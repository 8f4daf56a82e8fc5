package secrets_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

func TestSealTo(t *testing.T) {
	key, err := secrets.NewSealKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := secrets.NewSealKey()
	if err != nil {
		t.Fatal(err)
	}
	plain, info := []byte("hunter2-canary"), []byte("edge_1")
	sealed, err := secrets.SealTo(key.Public(), info, plain)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, plain) {
		t.Fatal("the sealed form holds the text")
	}
	again, err := secrets.ParseSealKey(key.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Open(info, sealed); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("opened %q, %v; want %q", got, err, plain)
	}
	refused := func(k secrets.SealKey, info, sealed []byte) {
		t.Helper()
		if got, err := k.Open(info, sealed); !errors.Is(err, secrets.ErrSealed) {
			t.Fatalf("opened %q, %v; want ErrSealed", got, err)
		}
	}
	refused(other, info, sealed)
	refused(key, []byte("edge_2"), sealed)
	refused(key, info, sealed[:len(sealed)-1])
	refused(key, info, nil)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		refused(key, info, changed)
	}
	if s := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); bytes.Contains([]byte(s), key.Bytes()) || s != "[redacted] [redacted] [redacted] [redacted]" {
		t.Fatalf("a key prints as %s", s)
	}
	if _, err := secrets.SealTo([]byte("short"), info, plain); err == nil {
		t.Fatal("a wrong public key was accepted")
	}
}

package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParseDigest(t *testing.T) {
	good := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	f := func(s string, ok bool) {
		t.Helper()
		d, err := ParseDigest(s)
		if (err == nil) != ok || ok && string(d) != s || !ok && !errors.Is(err, ErrDigest) {
			t.Fatalf("ParseDigest(%q) = %q, %v; want ok %v", s, d, err, ok)
		}
		if Digest(s).Valid() != ok {
			t.Fatalf("Digest(%q).Valid() = %v", s, !ok)
		}
		var got Digest
		text, _ := json.Marshal(s)
		if err := json.Unmarshal(text, &got); (err == nil) != ok {
			t.Fatalf("unmarshal %s: %v; want ok %v", text, err, ok)
		}
	}
	f(good, true)
	f("", false)
	f(good[:len(good)-1], false)
	f(good+"0", false)
	f(strings.ToUpper(good), false)
	f("sha256:"+strings.Repeat("0123456789ABCDEF", 4), false)
	f("sha512:"+strings.Repeat("0123456789abcdef", 4), false)
	f("sha256:"+strings.Repeat("0123456789abcdeg", 4), false)
}

func TestDigestOf(t *testing.T) {
	// FIPS 180-4 example "abc".
	const want = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	d := DigestOf([]byte("abc"))
	if d != want || !d.Matches([]byte("abc")) || d.Matches([]byte("abd")) || d.Short() != "ba7816bf8f01" {
		t.Fatalf("DigestOf(abc) = %s, short %s", d, d.Short())
	}
	if Digest("x").Hex() != "" || Digest("x").Short() != "" {
		t.Fatal("an invalid digest must have no hex")
	}
}

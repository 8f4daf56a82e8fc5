package credentials

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	stdhex "encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluicegate/sluice/internal/secrets"
)

// referenceRedact is Redact without anything worked out before: one walk for each form
// of the secret.
func referenceRedact(r Rule, body []byte, c Credential) []byte {
	switch r.Type {
	case None, Certificate: // the private key is never sent
		return body
	case Basic:
		body = referenceSecret(body, appendBasic(nil, c.Value))
		if _, password, ok := strings.Cut(c.Value.Reveal(), ":"); ok {
			body = referenceSecret(body, []byte(password))
		}
		return body
	case Header, Query, Cookie, Bearer, Token:
	}
	return referenceSecret(body, []byte(c.Value.Reveal()))
}

func referenceSecret(body, secret []byte) []byte {
	if len(secret) < minRedact || len(body) < minRedact {
		return body
	}
	for _, f := range forms(secret) {
		body = referenceForm(body, f.text, f.fold, f.escaped)
	}
	return body
}

func referenceForm(body, secret []byte, fold bool, escaped [][]byte) []byte {
	// Few encodings change letters and digits, so a body without the longest run of them
	// is without the secret.
	probe, small := longestPlain(secret), lowered(body)
	there := !fold && bytes.Contains(body, probe) || fold && bytes.Contains(small, probe)
	for _, p := range escaped {
		there = there || bytes.Contains(small, p)
	}
	if !there {
		return body
	}
	if !fold && len(probe) == len(secret) {
		return bytes.ReplaceAll(body, secret, []byte(secrets.Redacted))
	}
	var out []byte
	kept := 0 // what is before it is in out
	for i := 0; i < len(body); {
		n := encodedPrefix(body[i:], secret, fold)
		if n == 0 {
			i++
			continue
		}
		out = append(append(out, body[kept:i]...), secrets.Redacted...)
		i += n
		kept = i
	}
	if out == nil {
		return body
	}
	return append(out, body[kept:]...)
}

// checkReference compares the redaction of body, prepared and not, with the reference.
func checkReference(t *testing.T, typ Type, secret, body string) (found bool) {
	t.Helper()
	r, c := Rule{Type: typ, Name: "X"}, Credential{Value: secrets.New(secret)}
	want := string(referenceRedact(r, []byte(body), c))
	var rs Redactors
	for i := range 2 {
		if got := string(r.Redact([]byte(body), rs.Prepare(r, c))); got != want {
			t.Fatalf("prepared, round %d: %q in %q became %q, want %q", i, secret, body, got, want)
		}
	}
	if got := string(r.Redact([]byte(body), c)); got != want {
		t.Fatalf("%q in %q became %q, want %q", secret, body, got, want)
	}
	return want != body
}

// Secrets of all lengths and of many kinds of characters, in all forms, wherever they
// stand, are found as the reference finds them.
func TestRedactAsReference(t *testing.T) {
	secrets := 1000
	if raceEnabled { // one goroutine: make test takes all of them without the detector, too
		secrets = 100
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	const letters, others = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", `+/=&"'<>%\ -_.~!`
	found, total := 0, 0
	for range secrets {
		n := 1 + rnd.IntN(60)
		odd := rnd.IntN(4)
		secret := make([]byte, n)
		for i := range secret {
			if set := letters; odd > 0 && rnd.IntN(12) < odd*odd {
				secret[i] = others[rnd.IntN(len(others))]
			} else {
				secret[i] = set[rnd.IntN(len(set))]
			}
		}
		typ := []Type{Header, Basic, Bearer}[rnd.IntN(3)]
		value := string(secret)
		if typ == Basic && n > 3 {
			value = value[:n/4] + ":" + value[n/4+1:]
		}
		shown := []string{
			value, strings.ToUpper(value), strings.ToLower(value), strings.ToTitle(value[:n/2]) + strings.ToLower(value[n/2:]), stdhex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte("x" + value)),
			base64.URLEncoding.EncodeToString([]byte("xy" + value)), value[:n/2], value[n/2:] + value, strconv.QuoteToASCII(value),
			base64.StdEncoding.EncodeToString([]byte("x" + base64.StdEncoding.EncodeToString([]byte("xyz"+value)))), base32.StdEncoding.EncodeToString([]byte("xyz" + value)),
		}
		if _, password, ok := strings.Cut(value, ":"); ok {
			shown = append(shown, password)
		}
		for _, text := range escapes([]byte(value)) {
			shown = append(shown, string(text), "k"+string(text))
		}
		for name, text := range writings(t, value) {
			if name != "" {
				shown = append(shown, text)
			}
		}
		for range 4 {
			var b strings.Builder
			for range 1 + rnd.IntN(3) {
				b.WriteString(strings.Repeat("a", rnd.IntN(40)))
				b.WriteString(shown[rnd.IntN(len(shown))])
			}
			b.WriteString(strings.Repeat("z", rnd.IntN(5)))
			total++
			if checkReference(t, typ, value, b.String()) {
				found++
			}
		}
	}
	if found < total/4 || found > total*9/10 {
		t.Errorf("%d of %d texts have the secret", found, total)
	}
}

func FuzzRedactAsReference(f *testing.F) {
	f.Add("plain-key-0001", `{"you":"plain-key-0001","a":"PLAIN-KEY-0001"}`, true)
	f.Add("user:back\\slash\\key", `back\\slash\\key`, true)
	f.Add("12345678", "3132333435363738", false)
	f.Fuzz(func(t *testing.T, secret, body string, basic bool) {
		typ := Bearer
		if basic {
			typ = Basic
		}
		checkReference(t, typ, secret, body)
		checkReference(t, typ, secret, body+secret+body)
	})
}

// What is kept is bounded by number and by size, and what is used stays.
func TestRedactorsAreBounded(t *testing.T) {
	r := Rule{Type: Bearer}
	secret := func(i, size int) Credential {
		return Credential{Value: secrets.New(strconv.Itoa(i) + strings.Repeat("k", size))}
	}
	var rs Redactors
	first := rs.Prepare(r, secret(-1, 40)).redactor
	for i := range 3 * maxKept {
		rs.Prepare(r, secret(i, 40))
		if i%(maxKept/2) == 0 && rs.Prepare(r, secret(-1, 40)).redactor != first {
			t.Fatalf("what is used is lost after %d others", i)
		}
		if len(rs.recent) > maxKept || len(rs.older) > maxKept {
			t.Fatalf("%d and %d are kept", len(rs.recent), len(rs.older))
		}
	}
	const large = 20 << 10
	for i := range 3 * maxKeptBytes / large {
		if rs.Prepare(r, secret(i, large)); rs.size > maxKeptBytes {
			t.Fatalf("%d bytes are kept", rs.size)
		}
	}
	if len(rs.recent)+len(rs.older) > 2*maxKeptBytes/large {
		t.Errorf("%d large secrets are kept", len(rs.recent)+len(rs.older))
	}
	if c := rs.Prepare(Rule{Type: Certificate}, secret(0, 40)); c.redactor != nil {
		t.Error("a certificate is searched for")
	}
}

func TestRedactorsConcurrently(t *testing.T) {
	var rs Redactors
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				secret := "key-of-caller-" + strconv.Itoa(i%20)
				c := rs.Prepare(Rule{Type: Header}, Credential{Value: secrets.New(secret)})
				if got := (Rule{Type: Header}).Redact([]byte("<"+secret+">"), c); string(got) != "<"+secrets.Redacted+">" {
					t.Errorf("%s became %s", secret, got)
				}
			}
		})
	}
	wg.Wait()
}

// TestRedactorsKeepWhatFits: secrets that fill the memory to its last byte stay, and one
// more makes room.
func TestRedactorsKeepWhatFits(t *testing.T) {
	var rs Redactors
	r := Rule{Type: Header, Name: "X"}
	const parts = 16
	for i := range parts {
		rs.Prepare(r, Credential{Value: secrets.New(strings.Repeat(string(rune('a'+i)), maxKeptBytes/parts))})
	}
	if rs.size != maxKeptBytes || len(rs.recent) != parts || len(rs.older) != 0 {
		t.Errorf("full: %d bytes, %d recent and %d older", rs.size, len(rs.recent), len(rs.older))
	}
	rs.Prepare(r, Credential{Value: secrets.New("one more secret")})
	if len(rs.recent) != 1 || len(rs.older) != parts {
		t.Errorf("one more: %d recent and %d older", len(rs.recent), len(rs.older))
	}
}
